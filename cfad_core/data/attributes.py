"""Sensitive attributes as they are asked for, and as a table settles them."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.columns import as_numbers
from cfad_core.data.findings import Finding
from cfad_core.data.groups import Groups, band_names, listed, matches
from cfad_core.data.kinds import kind_of

MAX_GROUPS = 12
MAX_BANDS = 6
_OWN_GROUP = 100  # rows that make a value a group of its own where nobody chose the groups
_OTHER_GROUP = 60  # rows that make the others a group
_OTHER = "other"


@dataclass(frozen=True)
class Attribute:
    """A sensitive attribute: a column, its groups, and which of them are compared.

    Without ``groups``, ``cuts`` and ``bands`` every value is a group, the rarer ones taken together as *other*.

    Attributes
    ----------
    groups : its values to compare, in order, of two the disadvantaged one first; or one value, against all others
    merged : by name of a group, the values that it holds, where that is not the one it is named after
    others : the name of a group of all values that no other one holds
    cuts : of a column of numbers: cut points between groups, ascending
    bands : of a column of numbers: so many groups of about the same size
    reference : the group that each other one is compared with, and it with them; by default each with each
    compare : the groups that people are moved to; by default all

    Values are given as text and match a cell that reads the same or is the same number.
    """

    column: str
    groups: tuple[str, ...] | None = None
    merged: Mapping[str, tuple[str, ...]] = field(default_factory=dict, hash=False)
    others: str | None = None
    cuts: tuple[float, ...] = ()
    bands: int | None = None
    reference: str | None = None
    compare: tuple[str, ...] = ()

    @property
    def is_settled(self) -> bool:
        """Whether it is known which groups there are."""
        return self.bands is None and (bool(self.cuts) or self.groups is not None)

    @property
    def grouping(self) -> Groups:
        """The groups, once ``settle`` or ``validate`` settled them."""
        if not self.is_settled:
            raise InvalidDataError(f"The groups of the sensitive column '{self.column}' must be settled first.")
        if self.cuts:
            return Groups(self.column, band_names(self.cuts), cuts=self.cuts)
        names = self.groups or ()
        values = tuple(tuple(self.merged.get(name, (name,))) for name in names)
        others = f"not {names[0]}" if len(names) == 1 and self.others is None else self.others
        return Groups(self.column, names if others is None else (*names, others), (*values, *(((),) if others else ())))


def settle(column: pd.Series[Any], asked: Attribute) -> Attribute:
    """The attribute with its groups; there must be no finding about it."""
    if asked.bands is not None:
        shares = np.linspace(0.0, 1.0, asked.bands + 1)[1:-1]
        return dataclasses.replace(asked, cuts=_quantiles(column, shares), bands=None)
    if asked.is_settled:
        return asked
    values = _distinct(column)
    if len(values) == 2 and not asked.merged:
        return dataclasses.replace(asked, groups=(str(values[0]), str(values[1])))
    return _own_groups(column, asked)


def _own_groups(column: pd.Series[Any], asked: Attribute) -> Attribute:
    """Every value that many people have is a group, the most frequent first; the rarer ones are taken together."""
    counts = _called(column, asked.merged)
    counts = counts.sort_index().sort_values(ascending=False, kind="stable")  # whatever the order of the rows
    own = [str(name) for name in counts.index if name in asked.merged or counts[name] >= _OWN_GROUP]
    if len(own) < 2:  # of few people
        own = [str(name) for name in counts.index]
    if len(own) > MAX_GROUPS or (len(own) == MAX_GROUPS and len(counts) > len(own)):
        own = own[: MAX_GROUPS - 1]
    rare = [str(name) for name in counts.index if str(name) not in own]
    called = next((name for name in own if name.strip().casefold() in ("other", "others")), None)
    merged = dict(asked.merged)
    if called is not None and rare:
        merged[called] = (*merged.get(called, (called,)), *rare)
        return dataclasses.replace(asked, groups=tuple(own), merged=merged)
    others = asked.others
    if others is None and sum(int(counts[name]) for name in rare) >= _OTHER_GROUP:
        others = _OTHER
    return dataclasses.replace(asked, groups=tuple(own), others=others)


def _called(column: pd.Series[Any], merged: Mapping[str, tuple[str, ...]]) -> pd.Series[Any]:
    """By what its known cells read, or by the merged group that they belong to, how many a column has."""
    counts = column.dropna().value_counts()
    distinct = pd.Series(counts.index)
    names = distinct.map(str)
    for name, values in merged.items():
        for value in values:
            names[matches(distinct, value)] = name
    return pd.Series(counts.to_numpy()).groupby(names.to_numpy()).sum()


def attribute_findings(column: pd.Series[Any], asked: Attribute) -> list[Finding]:
    """Everything that is wrong with an attribute."""

    def wrong(code: str, message: str, remedy: str = "") -> list[Finding]:
        return [Finding(code, "error", message, remedy, column=asked.column)]

    ways = [asked.groups is not None or bool(asked.merged) or asked.others is not None, bool(asked.cuts)]
    if sum([*ways, asked.bands is not None]) > 1:
        ways_given = "cut point" if asked.bands is None else "band"
        return wrong("two-groupings", f"Groups are given by values or by a {ways_given}, not by both.", "Drop one.")
    if asked.cuts or asked.bands is not None:
        found = _number_problem(column, asked)
        if found:
            return wrong("bad-cut", *found)
    elif asked.groups is None and (found := _value_problem(column, asked)):
        return wrong("no-groups", *found)
    settled = settle(column, asked)
    problems = _group_problems(column, asked) or _group_problems(column, settled)
    if problems and not settled.cuts:
        return [Finding(code, "error", message, "", column=asked.column) for code, message in problems]
    return [
        Finding("unknown-reference", "error", message, "Name one of them.", column=asked.column)
        for message in _choice_problems(settled)
    ]


def _number_problem(column: pd.Series[Any], asked: Attribute) -> tuple[str, str] | None:
    """What is wrong with cut points or bands, and what to do."""
    if asked.bands is not None and not 2 <= asked.bands <= MAX_BANDS:
        return f"Expected 2 to {MAX_BANDS} bands of '{asked.column}'; got {asked.bands}.", ""
    if not np.isfinite(asked.cuts).all():
        return "The cut point must be a finite number.", ""
    if len(asked.cuts) >= MAX_GROUPS or list(asked.cuts) != sorted(set(asked.cuts)):
        texts = ", ".join(f"{cut:g}" for cut in asked.cuts)
        return f"Expected ascending cut points of '{asked.column}', at most {MAX_GROUPS - 1}; got {texts}.", ""
    if not np.isfinite(as_numbers(column)).any():
        return f"Column '{asked.column}' holds {listed(column)}, not numbers.", "Name its groups by their values."
    if asked.bands is not None and len(settle(column, asked).cuts) < asked.bands - 1:
        message = f"Column '{asked.column}' has too few different numbers for {asked.bands} bands of people."
        return message, "Give fewer bands, or cut points."
    return None


def _value_problem(column: pd.Series[Any], asked: Attribute) -> tuple[str, str] | None:
    """Why the values of a column make no groups by themselves, and what to do."""
    values = _distinct(column)
    if len(values) < 2:
        counted = f"{len(values)} {'value' if len(values) == 1 else 'values'}"
        message = f"The sensitive column '{asked.column}' has {counted} ({listed(column)})."
        return message, "There is nobody to compare with."
    if len(values) > MAX_GROUPS and kind_of(column) == "number":
        message = f"The sensitive column '{asked.column}' holds {len(values)} different numbers."
        return message, "Give cut points between groups, or a number of bands."
    return None


def _group_problems(column: pd.Series[Any], asked: Attribute) -> list[tuple[str, str]]:
    """Codes and messages about groups that are named, or at least merged."""
    groups, others = tuple(asked.merged) if asked.groups is None else asked.groups, asked.others
    count = len(groups) + (others is not None)
    if count > MAX_GROUPS or asked.groups == ():
        return [("no-groups", f"Expected 1 to {MAX_GROUPS} groups of '{asked.column}'; got {count if groups else 0}.")]
    stray = [name for name in asked.merged if name not in groups]
    if stray:
        return [("no-groups", f"The merged group '{stray[0]}' is not among the groups {', '.join(groups)}.")]
    held = {name: tuple(asked.merged.get(name, (name,))) for name in groups}
    taken: dict[str, str] = {}
    distinct = pd.Series(column.dropna().unique())
    for name, values in held.items():
        if not values:
            return [("no-groups", f"The merged group '{name}' has no values.")]
        if name == others:
            return [("same-group", f"The groups must differ; '{name}' is there twice.")]
        for value in values:
            for cell in distinct[matches(distinct, value)].map(str):
                if taken.setdefault(cell, name) != name:
                    return [("same-group", f"The two groups must differ; '{taken[cell]}' and '{name}' do not.")]
    if len(set(groups)) < len(groups):
        twice = next(name for name in groups if groups.count(name) > 1)
        return [("same-group", f"The two groups must differ; '{twice}' and '{twice}' do not.")]
    if called := _called_like_others(distinct, held, others, taken):
        message = f"Group '{called}' of '{asked.column}' is called like a value that it does not hold."
        return [("same-group", f"{message} Call it something else, or add the value.")]
    return [
        ("unknown-group", f"No row of '{asked.column}' holds the group '{value}'; it holds {listed(column)}.")
        for values in held.values()
        for value in values
        if not matches(distinct, value).any()
    ]


def _called_like_others(
    distinct: pd.Series[Any], held: Mapping[str, tuple[str, ...]], others: str | None, taken: Mapping[str, str]
) -> str | None:
    """A group whose name is a value that it does not hold: nobody could say what a cell with that value means.

    Parameters
    ----------
    distinct : the values of the column
    held : by group, its values
    taken : by value, its group
    """
    for name in held:
        if any(taken.get(value) != name for value in distinct[matches(distinct, name)].map(str)):
            return name
    return others if others is not None and (matches(distinct, others) & distinct.map(str).isin(taken)).any() else None


def _choice_problems(settled: Attribute) -> list[str]:
    """Of the reference, and of the groups that people are moved to."""
    names = settled.grouping.names
    chosen = [("reference", settled.reference), *(("compare", name) for name in settled.compare)]
    return [
        f"'{name}' ({what}) is no group of '{settled.column}'; its groups are {', '.join(names)}."
        for what, name in chosen
        if name is not None and name not in names
    ]


def _quantiles(column: pd.Series[Any], shares: np.typing.NDArray[np.float64]) -> tuple[float, ...]:
    """Different cut points such that about these shares of the people are under them, and some under the first."""
    numbers = np.sort(as_numbers(column.dropna()))
    numbers = numbers[np.isfinite(numbers)]
    found = np.unique(np.quantile(numbers, shares, method="higher"))
    return tuple(float(cut) for cut in found if cut > numbers[0])


def _distinct(column: pd.Series[Any]) -> list[Any]:
    return sorted(column.dropna().unique(), key=lambda value: (str(type(value)), value))
