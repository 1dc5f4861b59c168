"""A first guess at what each column is for, from its name and its cells, with the reason."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd

from cfad_core.data.columns import as_numbers, as_texts
from cfad_core.data.kinds import MAX_LEVELS, kind_of
from cfad_core.data.roles import ColumnRoles

Role = Literal["sensitive", "label", "feature", "ignore"]

_NEARLY_CONSTANT = 0.995  # share of one value
_MOSTLY_DISTINCT = 0.5
_LONG_TEXT = 40  # characters, on average
_MANY_GROUPS = 12
# In order of preference; words of a name, whole
_SENSITIVE = (
    ("sex", "gender"),
    ("race", "ethnicity", "ethnic"),
    ("religion",),
    ("nationality", "citizenship", "foreign", "migrant", "immigrant"),
    ("disability", "disabled"),
    ("age",),
    ("group", "protected", "sensitive"),
)
_LABEL = (
    ("anomaly", "anomalous", "outlier", "fraud", "fraudulent"),
    ("label", "target", "class", "y"),
    ("default", "defaulted", "recid", "recidivism", "recidivist", "churn", "outcome", "risk", "income"),
)
_ROOTS = {"age", "sex", "gender", "race", "ethnicity", "ethnic", "born", "birth", "birthyear", "native"}
_ANOMALY = ("1", "true", "yes", "y", "fraud", "anomaly", "anomalous", "outlier", "bad", "positive")
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
        """Attributes that nothing else in a table causes, such as age, recognised by their names."""
        return tuple(e.column for e in self.columns if e.role == "feature" and _words(e.column) & _ROOTS)

    @property
    def ignored(self) -> tuple[str, ...]:
        """Columns that had better be left out."""
        return tuple(entry.column for entry in self.columns if entry.role == "ignore")


def suggest_roles(table: pd.DataFrame, sensitive: str | None = None, label: str | None = None) -> Suggestion:
    """Suggest roles; ``sensitive`` and ``label`` are settled by who gives them."""
    kinds = {str(name): kind_of(table[name]) for name in table.columns}
    reasons = {name: _reason_to_ignore(table[name], kind) for name, kind in kinds.items()}
    chosen_label = label or _by_name(table, _LABEL, reasons, _can_be_label)
    others = {name: reason or ("is the label" if name == chosen_label else "") for name, reason in reasons.items()}
    chosen = sensitive or _by_name(table, _SENSITIVE, others, _can_be_sensitive)
    columns = []
    for name, kind in kinds.items():
        role: Role = "ignore" if reasons[name] else "feature"
        reason = reasons[name]
        if name == chosen:
            role, reason = "sensitive", "" if sensitive else "is named so"
        elif name == chosen_label:
            role, reason = "label", "" if label else "is named so, and has two values"
        columns.append(ColumnSuggestion(name, kind, role, reason))
    roles = None
    if chosen in kinds and chosen is not None:
        ignore = tuple(entry.column for entry in columns if entry.role == "ignore")
        anomaly = suggest_anomaly(table[chosen_label]) if chosen_label in kinds else None
        groups, cut = suggest_groups(table[chosen])
        roles = ColumnRoles(chosen, groups=groups, label=chosen_label, anomaly=anomaly, ignore=ignore, cut=cut)
    return Suggestion(tuple(columns), roles)


def suggest_groups(column: pd.Series[Any]) -> tuple[tuple[str, ...] | None, float | None]:
    """The two most frequent values, the rarer first; or a cut point at the middle of many numbers."""
    known = column.dropna()
    if kind_of(column) == "number" and known.nunique() > _MANY_GROUPS:
        return None, float(np.rint(np.median(as_numbers(known))))
    most = [str(value) for value in known.value_counts().index[:2]]
    return (tuple(reversed(most)), None) if len(most) == 2 else (None, None)


def suggest_anomaly(column: pd.Series[Any]) -> str | None:
    """The value that reads like an anomaly, else the rarer one."""
    values = [str(value) for value in column.dropna().value_counts().index]
    speaking = [value for value in values if value.strip().lower() in _ANOMALY]
    if len(speaking) == 1 and not (
        speaking == ["1"] and "2" in values
    ):  # 1 and 2 are two names, 0 and 1 are no and yes
        return speaking[0]
    return values[-1] if values else None


def _reason_to_ignore(cells: pd.Series[Any], kind: str) -> str:
    """Why the column had better be left out; empty if it need not."""
    known = cells.dropna()
    if known.empty:
        return "has no values"
    if kind == "date":
        return "is a date"
    counts = as_texts(known).value_counts()
    if len(counts) == 1:
        return "has one value only"
    if len(known) >= 1 / (1 - _NEARLY_CONSTANT) and counts.iloc[0] >= _NEARLY_CONSTANT * len(known):
        return f"is '{str(counts.index[0])[:40]}' in {counts.iloc[0] / len(known):.1%} of the rows"
    if kind == "category" and len(counts) > MAX_LEVELS:
        if len(counts) > _MOSTLY_DISTINCT * len(known):
            return f"is a name or free text ({len(counts)} different values)"
        if as_texts(known.head(1000)).str.len().mean() > _LONG_TEXT:
            return "is free text"
    if kind == "number" and len(counts) == len(known) > 1:
        numbers = np.sort(as_numbers(known))
        whole = bool((numbers == np.rint(numbers)).all())
        if whole and (_words(str(cells.name)) & set(_IDENTIFIER) or bool((np.diff(numbers) == 1.0).all())):
            return "is an identifier: a different whole number in every row"
    return ""


def _by_name(table: pd.DataFrame, words: tuple[tuple[str, ...], ...], taken: dict[str, str], fits: Any) -> str | None:
    for wanted in words:
        for name in table.columns:
            if _words(str(name)) & set(wanted) and not taken[str(name)] and fits(table[name]):
                return str(name)
    return None


def _can_be_sensitive(column: pd.Series[Any]) -> bool:
    return 2 <= column.nunique() <= _MANY_GROUPS or kind_of(column) == "number"


def _can_be_label(column: pd.Series[Any]) -> bool:
    return int(column.nunique()) == 2


def _words(name: str) -> set[str]:
    """The words of a column name: 'isFraud_2' has is and fraud."""
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", name)
    return {word for word in re.split(r"[^a-z]+", spaced.lower()) if word}
