"""What each column of a table is for."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.config import from_plain
from cfad_core.errors import InvalidDataError

_MAX_LISTED = 8


@dataclass(frozen=True)
class ColumnRoles:
    """The roles of columns; every column without one is a profile attribute.

    Attributes
    ----------
    sensitive : the column whose value is flipped
    groups : its two values to compare, disadvantaged first; None if it has exactly two values
    label : the column that says who is an anomaly, or None
    anomaly : the label's value that means anomaly
    ignore : columns to leave out

    Values are given as text and match a cell that reads the same or is the same number.
    """

    sensitive: str
    groups: tuple[str, str] | None = None
    label: str | None = None
    anomaly: str | None = None
    ignore: tuple[str, ...] = ()

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


def resolve_roles(table: pd.DataFrame, roles: ColumnRoles) -> ColumnRoles:
    """Check the roles against the table and settle the two groups.

    Raises
    ------
    InvalidDataError
        If a column does not exist or plays two parts, or the groups cannot be told.
    """
    _check_columns(table, roles)
    if roles.label is None:
        if roles.anomaly is not None:
            raise InvalidDataError(
                f"The anomaly value '{roles.anomaly}' needs a label column; name it, or drop the value."
            )
    elif roles.anomaly is None:
        raise InvalidDataError(
            f"Say which value of the label column '{roles.label}' means anomaly; it holds {listed(table[roles.label])}."
        )
    column = table[roles.sensitive]
    if roles.groups is None:
        values = sorted(column.dropna().unique(), key=lambda value: (str(type(value)), value))
        if len(values) != 2:
            raise InvalidDataError(
                f"The sensitive column '{roles.sensitive}' has {len(values)} "
                f"{'value' if len(values) == 1 else 'values'} ({listed(column)}); "
                + ("there is nobody to compare with." if len(values) < 2 else "pick the two groups to compare.")
            )
        return dataclasses.replace(roles, groups=(str(values[0]), str(values[1])))
    first, second = roles.groups
    if first == second:
        raise InvalidDataError(f"The two groups must differ; both are '{first}'.")
    for group in roles.groups:
        if not matches(column, group).any():
            raise InvalidDataError(
                f"No row of '{roles.sensitive}' holds the group '{group}'; the column holds {listed(column)}."
            )
    return roles


def matches(column: pd.Series[Any], text: str) -> NDArray[np.bool_]:
    """Which cells read as the text, or are the number it spells."""
    same: NDArray[np.bool_] = (column.astype(str) == text).to_numpy(dtype=np.bool_)
    try:
        wanted = float(text)
    except ValueError:
        return same
    numeric = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64)
    equal: NDArray[np.bool_] = numeric == wanted
    return same | equal


def _check_columns(table: pd.DataFrame, roles: ColumnRoles) -> None:
    parts = [("sensitive", roles.sensitive), ("label", roles.label), *(("ignored", name) for name in roles.ignore)]
    seen: dict[str, str] = {}
    for part, name in parts:
        if name is None:
            continue
        if name not in table.columns:
            raise InvalidDataError(
                f"The {part} column '{name}' is not in the table; it has: {', '.join(map(str, table.columns))}."
            )
        if name in seen and seen[name] != part:
            raise InvalidDataError(f"Column '{name}' cannot be both {seen[name]} and {part}.")
        seen[name] = part
    if not roles.features(table):
        raise InvalidDataError("No profile attribute is left besides the sensitive, label and ignored columns.")


def listed(column: pd.Series[Any]) -> str:
    """Some of the values of a column, for a message."""
    values = [str(value) for value in column.dropna().unique()[: _MAX_LISTED + 1]]
    shown = ", ".join(f"'{value[:40]}'" for value in values[:_MAX_LISTED])
    return (shown + ", ..." if len(values) > _MAX_LISTED else shown) or "nothing"
