"""The two groups of a sensitive column, and which rows belong to them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats

_MAX_LISTED = 8


@dataclass(frozen=True)
class Groups:
    """Two groups, the first stored as -1 and the second as +1.

    Attributes
    ----------
    values : two values of the column; or one, against all others; or none, with a cut point
    cut : numbers under it against the others
    """

    values: tuple[str, ...] = ()
    cut: float | None = None

    @property
    def names(self) -> tuple[str, str]:
        """What the groups are called."""
        if self.cut is not None:
            return f"under {self.cut:.12g}", f"{self.cut:.12g} or more"
        return (self.values[0], self.values[1]) if len(self.values) == 2 else (self.values[0], f"not {self.values[0]}")

    def signs(self, column: pd.Series[Any]) -> Floats:
        """-1 or +1 for each cell, 0 for those of neither group; shape (n,).

        A cell may also hold a group's name, as counterfactual rows do where no single value stands for the group.
        """
        if self.cut is not None:
            numbers = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
            signs = np.where(np.isnan(numbers), 0.0, np.where(numbers < self.cut, -1.0, 1.0))
            first, second = (matches(column, name) for name in self.names)
            return np.where(first, -1.0, np.where(second, 1.0, signs))
        first = matches(column, self.values[0])
        second = matches(column, self.values[1]) if len(self.values) == 2 else column.notna().to_numpy(dtype=np.bool_)
        return np.where(first, -1.0, np.where(second, 1.0, 0.0))

    def flip(self, column: pd.Series[Any], signs: Floats) -> pd.Series[Any]:
        """The column with each cell in the group that its sign says."""
        moved = signs != self.signs(column)
        if not moved.any():
            return column
        if isinstance(column.dtype, pd.CategoricalDtype):
            column = column.astype(object)
        cells: list[Any] = list(self.names)
        if len(self.values) == 2:
            cells = [_as_held(value, column) for value in self.values]
        else:
            column = column.astype(object)
            if self.values:
                cells[0] = _as_held(self.values[0], column)
        for sign, cell in zip((-1.0, 1.0), cells, strict=True):
            column = column.mask(moved & (signs == sign), cell)
        return column


def matches(column: pd.Series[Any], text: str) -> NDArray[np.bool_]:
    """Which cells read as the text, or are the number it spells."""
    same: NDArray[np.bool_] = (column.astype(str) == text).to_numpy(dtype=np.bool_) & column.notna().to_numpy(np.bool_)
    try:
        wanted = float(text)
    except ValueError:
        return same
    numeric = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    equal: NDArray[np.bool_] = numeric == wanted
    return same | equal


def listed(column: pd.Series[Any]) -> str:
    """Some of the values of a column, for a message."""
    values = [str(value) for value in column.dropna().unique()[: _MAX_LISTED + 1]]
    shown = ", ".join(f"'{value[:40]}'" for value in values[:_MAX_LISTED])
    return (shown + ", ..." if len(values) > _MAX_LISTED else shown) or "nothing"


def _as_held(value: str, column: pd.Series[Any]) -> Any:
    """The value as the column holds it."""
    if pd.api.types.is_bool_dtype(column):
        return bool(matches(pd.Series([True]), value)[0])
    if pd.api.types.is_integer_dtype(column):
        return int(float(value))
    if pd.api.types.is_float_dtype(column):
        return float(value)
    held = column[matches(column, value)]
    return value if held.empty else held.iloc[0]
