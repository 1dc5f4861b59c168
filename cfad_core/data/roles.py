"""What each column of a table is for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.errors import InvalidDataError
from cfad_core.core.settings import from_plain
from cfad_core.core.states import Codes, States
from cfad_core.data.attributes import Attribute, attribute_findings, settle
from cfad_core.data.columns import unreadable
from cfad_core.data.findings import Finding, refuse_errors
from cfad_core.data.groups import OUTSIDE, Groups, listed

MAX_ATTRIBUTES = 3


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of columns; every column without one is a profile attribute.

    Attributes
    ----------
    sensitive : the column whose value is changed; or several, each by its name or as an ``Attribute``
    groups : of one sensitive column: its values to compare, in order, of two the disadvantaged one first; or one value,
        against all others; by default every value, the rarer ones taken together
    cut : of one sensitive column of numbers: those under it against the others
    label : the column that says who is an anomaly, or None
    anomaly : the label's value that means anomaly
    ignore : columns to leave out
    score : the column with the scores (or flags) of a detector outside this program; it is no attribute either

    Values are given as text and match a cell that reads the same or is the same number.
    """

    sensitive: str | tuple[Attribute | str, ...]
    groups: tuple[str, ...] | None = None
    label: str | None = None
    anomaly: str | None = None
    ignore: tuple[str, ...] = ()
    cut: float | None = None
    score: str | None = None

    def __post_init__(self) -> None:
        if isinstance(self.sensitive, str):
            return
        given = (self.sensitive,) if isinstance(self.sensitive, Attribute) else tuple(self.sensitive)
        if not given:
            raise InvalidDataError("Expected a sensitive column; got none. Name one.")
        if self.groups is not None or self.cut is not None:
            raise InvalidDataError(
                "Groups and a cut point belong to an attribute where attributes are given. Put them there."
            )
        attributes = tuple(one if isinstance(one, Attribute) else Attribute(one) for one in given)
        object.__setattr__(self, "sensitive", attributes)

    @property
    def attributes(self) -> tuple[Attribute, ...]:
        """The sensitive attributes, whichever way they were given."""
        if isinstance(self.sensitive, str):
            cuts = () if self.cut is None else (self.cut,)
            return (Attribute(self.sensitive, groups=self.groups, cuts=cuts),)
        return tuple(one for one in self.sensitive if isinstance(one, Attribute))

    @property
    def sensitive_columns(self) -> tuple[str, ...]:
        return tuple(one.column for one in self.attributes)

    @property
    def sensitive_name(self) -> str:
        """What the sensitive attributes are called together: ``sex and race``."""
        return joint_name(self.sensitive_columns)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> ColumnRoles:
        return from_plain(ColumnRoles, values, "roles")

    def features(self, table: pd.DataFrame) -> list[str]:
        """The profile attributes, in the table's order."""
        special = {*self.sensitive_columns, self.label, self.score, *self.ignore}
        return [name for name in table.columns if name not in special]

    @property
    def groupings(self) -> tuple[Groups, ...]:
        """The groups of every attribute, once ``resolve_roles`` or ``validate`` settled them."""
        return tuple(one.grouping for one in self.attributes)

    @property
    def are_settled(self) -> bool:
        """Whether it is known which groups there are."""
        return all(one.is_settled for one in self.attributes)


def roles_of(
    attributes: Sequence[Attribute],
    label: str | None = None,
    anomaly: str | None = None,
    ignore: Sequence[str] = (),
    score: str | None = None,
) -> ColumnRoles:
    """The roles of these sensitive attributes, as short as they can be written."""
    rest: dict[str, Any] = {"label": label, "anomaly": anomaly, "ignore": tuple(ignore), "score": score}
    first = attributes[0]
    cut = first.cuts[0] if len(first.cuts) == 1 else None
    short = ColumnRoles(first.column, groups=first.groups, cut=cut, **rest)
    return short if short.attributes == tuple(attributes) else ColumnRoles(tuple(attributes), **rest)


def joint_name(names: Sequence[str]) -> str:
    return " and ".join(names)


def resolve_roles(table: pd.DataFrame, roles: ColumnRoles) -> ColumnRoles:
    """Check the roles against the table and settle the groups.

    Raises
    ------
    InvalidDataError
        With all that is wrong: columns that do not exist or have two roles, groups that cannot be found.
    """
    refuse_errors(role_findings(table, roles))
    return settle_groups(table, roles)


def settle_groups(table: pd.DataFrame, roles: ColumnRoles) -> ColumnRoles:
    """Name the groups of every attribute; the roles must be free of errors.

    What needs no more than its groups' values, or one cut point, stays as short as it was given.
    """
    if roles.are_settled:
        return roles
    settled = tuple(settle(table[one.column], one) for one in roles.attributes)
    first = settled[0]
    if isinstance(roles.sensitive, str) and first == Attribute(roles.sensitive, groups=first.groups):
        return dataclasses.replace(roles, groups=first.groups)
    return dataclasses.replace(roles, sensitive=settled, groups=None, cut=None)


def state_codes(table: pd.DataFrame, groupings: Sequence[Groups]) -> Codes:
    """The state (n,) of each row, and -1 for those that belong to no group of some attribute."""
    levels = [one.codes(table[one.column]) for one in groupings]
    states = States(tuple(len(one.names) for one in groupings)).of_levels(levels)
    outside = np.any([level == OUTSIDE for level in levels], axis=0)
    return np.where(outside, OUTSIDE, states)


def role_findings(table: pd.DataFrame, roles: ColumnRoles) -> list[Finding]:
    """Every error of these roles, all at once; none if the table can be used with them."""
    twice = sorted({str(name) for name in table.columns[table.columns.duplicated()]})
    if twice:
        message = f"Several columns have the same name: {', '.join(twice[:10])}."
        return [Finding("duplicate-columns", "error", message, "Rename them.", twice[0], len(twice))]
    findings = _column_findings(table, roles)
    for one in roles.attributes:
        if one.column in table.columns:
            findings += attribute_findings(table[one.column], one)
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
    findings: list[Finding] = []
    columns = roles.sensitive_columns
    parts = [
        *(("sensitive", name) for name in columns),
        ("label", roles.label),
        ("score", roles.score),
        *(("ignored", name) for name in roles.ignore),
    ]
    if len(columns) > MAX_ATTRIBUTES or len(set(columns)) < len(columns):
        message = f"Expected 1 to {MAX_ATTRIBUTES} different sensitive columns; got {', '.join(columns)}."
        findings.append(Finding("sensitive-columns", "error", message, "Name fewer of them."))
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
    if roles.score in table.columns and (bad := unreadable(table[roles.score])).any():
        example = str(table[roles.score][bad].iloc[0])[:40]
        message = (
            f"Expected numbers in the score column '{roles.score}'; got {int(bad.sum())} cells such as '{example}'."
        )
        findings.append(Finding("no-scores", "error", message, "Correct them, or choose another.", roles.score))
    if not roles.features(table):
        message = "No profile attribute is left besides the sensitive, label and ignored columns."
        findings.append(Finding("no-attributes", "error", message, "Ignore fewer columns."))
    return findings
