"""What each column of a table is for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.errors import InvalidDataError
from cfad_core.core.settings import from_plain
from cfad_core.data.findings import Finding, refuse_errors
from cfad_core.data.groups import Groups, listed, matches


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of columns; every column without one is a profile attribute.

    Attributes
    ----------
    sensitive : the column whose value is changed
    groups : its two values to compare, disadvantaged first; or one value, against all others; None with a cut point,
        or if the column has exactly two values
    cut : of a column of numbers: those under it against the others
    label : the column that says who is an anomaly, or None
    anomaly : the label's value that means anomaly
    ignore : columns to leave out

    Values are given as text and match a cell that reads the same or is the same number.
    """

    sensitive: str
    groups: tuple[str, ...] | None = None
    label: str | None = None
    anomaly: str | None = None
    ignore: tuple[str, ...] = ()
    cut: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> ColumnRoles:
        return from_plain(ColumnRoles, values, "roles")

    def features(self, table: pd.DataFrame) -> list[str]:
        """The profile attributes, in the table's order."""
        special = {self.sensitive, self.label, *self.ignore}
        return [name for name in table.columns if name not in special]

    @property
    def grouping(self) -> Groups:
        """The two groups, once ``resolve_roles`` or ``validate`` settled them."""
        if self.cut is None and self.groups is None:
            raise InvalidDataError("The two groups of the sensitive column must be settled first.")
        return Groups(self.groups or (), self.cut)


def resolve_roles(table: pd.DataFrame, roles: ColumnRoles) -> ColumnRoles:
    """Check the roles against the table and settle the two groups.

    Raises
    ------
    InvalidDataError
        With all that is wrong: columns that do not exist or have two roles, groups that cannot be found.
    """
    refuse_errors(role_findings(table, roles))
    return settle_groups(table, roles)


def settle_groups(table: pd.DataFrame, roles: ColumnRoles) -> ColumnRoles:
    """Name the two groups of a column with two values; the roles must be free of errors."""
    if roles.groups is None and roles.cut is None:
        first, second = _distinct(table[roles.sensitive])
        return dataclasses.replace(roles, groups=(str(first), str(second)))
    return roles


def role_findings(table: pd.DataFrame, roles: ColumnRoles) -> list[Finding]:
    """Every error of these roles, all at once; none if the table can be used with them."""
    twice = sorted({str(name) for name in table.columns[table.columns.duplicated()]})
    if twice:
        message = f"Several columns have the same name: {', '.join(twice[:10])}."
        return [Finding("duplicate-columns", "error", message, "Rename them.", twice[0], len(twice))]
    findings = _column_findings(table, roles)
    if roles.sensitive in table.columns:
        findings += _group_findings(table[roles.sensitive], roles)
    if roles.label is None:
        if roles.anomaly is not None:
            message = f"The anomaly value '{roles.anomaly}' needs a label column."
            findings.append(Finding("no-label", "error", message, "Name it, or drop the value."))
    elif roles.label in table.columns and roles.anomaly is None:
        message = f"The label column '{roles.label}' holds {listed(table[roles.label])}."
        remedy = f"Say which value of the label column '{roles.label}' means anomaly."
        findings.append(Finding("no-anomaly-value", "error", message, remedy, column=roles.label))
    return findings


def _column_findings(table: pd.DataFrame, roles: ColumnRoles) -> list[Finding]:
    findings = []
    parts = [("sensitive", roles.sensitive), ("label", roles.label), *(("ignored", name) for name in roles.ignore)]
    seen: dict[str, str] = {}
    for part, name in parts:
        if name is None:
            continue
        if name not in table.columns:
            message = f"The {part} column '{name}' is not in the table; it has: {', '.join(map(str, table.columns))}."
            findings.append(Finding("unknown-column", "error", message, column=name))
        elif seen.get(name, part) != part:
            message = f"Column '{name}' cannot be both {seen[name]} and {part}."
            findings.append(Finding("two-roles", "error", message, column=name))
        seen[name] = part
    if not roles.features(table):
        message = "No profile attribute is left besides the sensitive, label and ignored columns."
        findings.append(Finding("no-attributes", "error", message, "Ignore fewer columns."))
    return findings


def _group_findings(column: pd.Series[Any], roles: ColumnRoles) -> list[Finding]:
    def wrong(code: str, message: str, remedy: str = "") -> list[Finding]:
        return [Finding(code, "error", message, remedy, column=roles.sensitive)]

    if roles.cut is not None:
        if roles.groups is not None:
            return wrong("two-groupings", "Groups are given by values or by a cut point, not by both.", "Drop one.")
        return [] if np.isfinite(roles.cut) else wrong("bad-cut", "The cut point must be a finite number.")
    if roles.groups is None:
        values = _distinct(column)
        if len(values) == 2:
            return []
        counted = f"{len(values)} {'value' if len(values) == 1 else 'values'}"
        remedy = "There is nobody to compare with." if len(values) < 2 else "Pick the two groups to compare."
        return wrong("no-groups", f"The sensitive column '{roles.sensitive}' has {counted} ({listed(column)}).", remedy)
    if len(roles.groups) not in (1, 2):
        return wrong("no-groups", f"Expected one or two group values; got {len(roles.groups)}.")
    if len(roles.groups) == 2 and (
        roles.groups[0] == roles.groups[1]
        or (matches(column, roles.groups[0]) & matches(column, roles.groups[1])).any()
    ):
        return wrong("same-group", f"The two groups must differ; '{roles.groups[0]}' and '{roles.groups[1]}' do not.")
    return [
        finding
        for group in roles.groups
        if not matches(column, group).any()
        for finding in wrong(
            "unknown-group", f"No row of '{roles.sensitive}' holds the group '{group}'; it holds {listed(column)}."
        )
    ]


def _distinct(column: pd.Series[Any]) -> list[Any]:
    return sorted(column.dropna().unique(), key=lambda value: (str(type(value)), value))
