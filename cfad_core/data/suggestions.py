"""A first guess at what each column is for, from its name and its cells, with the reason."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from cfad_core.data.attributes import MAX_GROUPS, Attribute, settle
from cfad_core.data.columns import as_numbers, as_texts, holds_booleans
from cfad_core.data.kinds import MAX_LEVELS, kind_of
from cfad_core.data.known_names import (
    anomaly_among,
    first_named,
    outcome_by_name,
    protected_by_name,
    protected_by_values,
    words_of,
)
from cfad_core.data.repairs import written_numbers
from cfad_core.data.roles import ColumnRoles, roles_of

Role = Literal["sensitive", "label", "score", "feature", "ignore"]

_SCORED = {"anomaly", "outlier", "fraud", "detector", "suspicion", "novelty"}  # beside the word score

_NEARLY_CONSTANT = 0.995  # share of one value
_MOSTLY_DISTINCT = 0.5
_LONG_TEXT = 40  # characters, on average
# What a person is born with: nothing else in a table causes it
_BORN_WITH = (
    "age sex gender race ethnicity ethnic colour color born birth birthdate birthday birthyear birthplace dob native "
    "nationality origin black white hispanic latino minority"
)
# Whose age or colour it is, or when: with one of these words a column is something else
_NOT_BORN_WITH = (
    "account building car child children claim collar company diagnosis house loan marriage policy property retirement "
    "vehicle"
)
# What comes after that in a life, in this order; a name with words of several is of the last of them
_LATER = (
    "education educational school schooling degree college university grade grades gpa lsat study",
    "marital married marriage spouse husband wife relationship family child children kids dependents dependants "
    "divorced household",
    "work working workclass occupation job jobs employment employed employer unemployed profession hours "
    "industry sector",
    "income wage wages salary pay earnings capital balance savings checking wealth assets property housing house "
    "homeowner rent mortgage debt debts loan loans credit credits prior priors juv history arrests convictions "
    "customer insured",
    "score scores decile amount claim claims",
)
_IDENTIFIER = ("id", "uuid", "guid", "key", "index", "number", "no", "nr", "ssn", "email", "phone", "name", "unnamed")


@dataclass(frozen=True)
class ColumnSuggestion:
    """What a column holds, what it is taken for, and why."""

    column: str
    kind: str
    role: Role
    reason: str


@dataclass(frozen=True)
class Suggestion:
    """A role for every column, and the roles they add up to (None if no column looks sensitive)."""

    columns: tuple[ColumnSuggestion, ...]
    roles: ColumnRoles | None

    @property
    def roots(self) -> tuple[str, ...]:
        """Columns that nothing else in a table causes, such as age, by their names and whatever role is suggested.

        A role may change; what a column is does not. Who needs those of some columns alone calls ``suggest_roots``.
        """
        return suggest_roots(entry.column for entry in self.columns if entry.role != "ignore")

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that had better be left out, and one that holds a detector's scores."""
        return tuple(entry.column for entry in self.columns if entry.role in ("ignore", "score"))


def suggest_roles(
    table: pd.DataFrame, sensitive: str | Sequence[str] | None = None, label: str | None = None
) -> Suggestion:
    """Suggest roles; ``sensitive``, one column or several, and ``label`` are settled by who gives them."""
    given = [sensitive] if isinstance(sensitive, str) else list(sensitive or ())
    kinds = {str(name): kind_of(table[name]) for name in table.columns}
    reasons = {name: _reason_to_ignore(table[name], kind) for name, kind in kinds.items()}
    usable = [name for name in kinds if not reasons[name] and not _looks_like_score(table[name], kinds[name])]
    chosen_label = label or first_named((name, _outcome(table[name])) for name in usable)
    protected = {name: why for name in usable if name != chosen_label and (why := _protected(table[name]))}
    named = None if given else first_named((name, place) for name, (place, _) in protected.items())
    chosen = given if named is None else [named]
    columns: list[ColumnSuggestion] = []
    for name, kind in kinds.items():
        role: Role = "ignore" if reasons[name] else "feature"
        reason = reasons[name]
        if name in chosen:
            role, reason = "sensitive", "" if given else protected[name][1]
        elif name == chosen_label:
            role, reason = "label", "" if label else "is named like an outcome"
        elif name in protected:
            reason = f"could be sensitive: it {protected[name][1]}"
        elif not reasons[name] and _looks_like_score(table[name], kind):
            is_first = all(entry.role != "score" for entry in columns)
            role, reason = "score" if is_first else "ignore", "is named like what a detector says of people"
        columns.append(ColumnSuggestion(name, kind, role, reason))
    roles = None
    if chosen and set(chosen) <= set(kinds):
        ignore = tuple(entry.column for entry in columns if entry.role == "ignore")
        anomaly = suggest_anomaly(table[chosen_label]) if chosen_label in kinds else None
        score = next((entry.column for entry in columns if entry.role == "score"), None)
        roles = roles_of([suggest_attribute(table[name]) for name in chosen], chosen_label, anomaly, ignore, score)
    return Suggestion(tuple(columns), roles)


def suggest_roots(columns: Iterable[str]) -> tuple[str, ...]:
    """Those of the columns that people are born with, by their names: nothing else in a table causes them."""
    return tuple(column for column in columns if time_rank(column) == 1)


def time_rank(column: str) -> int | None:
    """When in a life a column comes about, by its name; None if the name does not say.

    1 what a person is born with, 2 education, 3 family, 4 work, 5 money, possessions and history, 6 what a decision is
    about: scores, amounts and claims.
    """
    words = words_of(column)
    if words & words_of(_BORN_WITH) and not words & words_of(_NOT_BORN_WITH):
        return 1
    return max((rank for rank, known in enumerate(_LATER, start=2) if words & words_of(known)), default=None)


def suggest_tiers(table: pd.DataFrame, roles: ColumnRoles) -> tuple[tuple[str, ...], ...]:
    """A time order of the attributes whose names are recognised, the earliest first; the others are left out.

    It is a guess, for a person to check: no arrow of a causal graph runs from a later tier to an earlier one.
    """
    ranks = {name: time_rank(name) for name in roles.features(table)}
    found = sorted({rank for rank in ranks.values() if rank is not None})
    return tuple(tuple(name for name, rank in ranks.items() if rank == tier) for tier in found)


def suggest_attribute(column: pd.Series[Any]) -> Attribute:
    """The groups of a sensitive column: two values, the rarer first; of several, all, and the rarer ones together.

    Of many numbers there are two groups, under and over their middle; never two of the numbers.
    """
    known, name = column.dropna(), str(column.name)
    distinct = int(known.nunique())
    if distinct < 2:
        return Attribute(name)
    is_number = kind_of(column) == "number" and distinct > 2
    if is_number and (distinct > MAX_GROUPS or "age" in words_of(name)):
        return _cut(known, name)
    groups = settle(column, Attribute(name))
    if len(groups.grouping.names) > 2:
        return groups
    if is_number:
        return _cut(known, name)
    return Attribute(name, groups=tuple(str(value) for value in reversed(known.value_counts().index[:2])))


def _cut(known: pd.Series[Any], name: str) -> Attribute:
    """Under and over the middle of different numbers, with somebody on either side."""
    numbers = as_numbers(known)
    numbers = numbers[np.isfinite(numbers)]
    middle = float(np.rint(np.median(numbers)))
    if not numbers.min() < middle <= numbers.max():  # half of them are the least, or all within one unit
        above = np.unique(numbers[numbers > np.median(numbers)])
        middle = float(above[0]) if len(above) else float(numbers.max())
    return Attribute(name, cuts=(middle,))


def suggest_anomaly(column: pd.Series[Any]) -> str | None:
    """The value that reads like an anomaly, else the rarer one."""
    counts = column.dropna().value_counts()
    return anomaly_among(str(column.name), {str(value): int(count) for value, count in counts.items()})


def _reason_to_ignore(cells: pd.Series[Any], kind: str) -> str:
    """Why the column had better be left out; empty if it need not."""
    known = cells.dropna()
    if known.empty:
        return "has no values"
    if kind == "date":
        return "is a date"
    usual, rows = _in_most_rows(known)
    if rows == len(known):
        return "has one value only"
    if len(known) >= 1 / (1 - _NEARLY_CONSTANT) and rows >= _NEARLY_CONSTANT * len(known):
        return f"is '{usual[:40]}' in {rows / len(known):.1%} of the rows"
    if kind == "category" and (distinct := _distinct(known)) > MAX_LEVELS and written_numbers(known) is None:
        if distinct > _MOSTLY_DISTINCT * len(known):
            return f"is a name or free text ({distinct} different values)"
        if as_texts(known.head(1000)).str.len().mean() > _LONG_TEXT:
            return "is free text"
    return "is an identifier: a different whole number in every row" if kind == "number" and _counts_up(known) else ""


def _in_most_rows(known: pd.Series[Any]) -> tuple[str, int]:
    """The value that more than half of the cells have, as text, and how many; any value if none has so many."""
    if known.dtype != object and pd.api.types.is_numeric_dtype(known):
        cells = known.to_numpy()
        usual = np.partition(cells, len(cells) // 2)[len(cells) // 2]  # it must be the middle one, then
        return str(known.dtype.type(usual)), int((cells == usual).sum())
    counts = (as_texts(known) if known.dtype == object else known).value_counts()
    return str(counts.index[0]), int(counts.iloc[0])


def _distinct(known: pd.Series[Any]) -> int:
    """How many different texts there are."""
    return int((as_texts(known) if known.dtype == object else known).nunique())


def _counts_up(known: pd.Series[Any]) -> bool:
    """Whether every cell has a whole number of its own, by name an identifier or one after the other."""
    named = bool(words_of(str(known.name)) & set(_IDENTIFIER))
    for cells in (known.head(1000), known):  # the first ones often show that it has not
        numbers = np.sort(as_numbers(cells))
        whole = np.isfinite(numbers) & (numbers == np.rint(numbers))
        if not whole.all() or not (np.diff(numbers) > 0.0).all():
            return False
    return named or bool((np.diff(numbers) == 1.0).all())


def _protected(column: pd.Series[Any]) -> tuple[int, str] | None:
    """Which protected property a column is about; its place among them, and why."""
    named = protected_by_name(str(column.name))
    if named is not None:
        return named if 2 <= column.nunique() <= MAX_GROUPS or kind_of(column) == "number" else None
    return protected_by_values(column) if kind_of(column) == "category" and column.nunique() <= MAX_GROUPS else None


def _outcome(column: pd.Series[Any]) -> int | None:
    """How well a column serves as the label, by its name."""
    return outcome_by_name(str(column.name), int(column.nunique()))


def _looks_like_score(column: pd.Series[Any], kind: str) -> bool:
    words = words_of(str(column.name))
    named = "flagged" in words or ("score" in words and bool(words & _SCORED))
    return named and (kind == "number" or holds_booleans(column))
