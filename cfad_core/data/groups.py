"""The groups of a sensitive column, and which rows belong to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.core.states import Codes

_MAX_LISTED = 8
_MANY_CELLS = 1000
OUTSIDE = -1  # the code of a cell of no group


@dataclass(frozen=True)
class Groups:
    """The groups of one column, in their order, as they are settled.

    Attributes
    ----------
    names : what the groups are called
    values : by group, the values of the column that belong to it; one group may have none: all other values are its own
    cuts : of a column of numbers, ascending, instead of values: the first group is under the first cut point
    """

    column: str
    names: tuple[str, ...]
    values: tuple[tuple[str, ...], ...] = ()
    cuts: tuple[float, ...] = ()

    def codes(self, column: pd.Series[Any]) -> Codes:
        """The number of each cell's group from 0, and -1 for those of none; shape (n,).

        A cell may also hold a group's name, as twins' rows do where no single value stands for the group.
        """
        places, distinct = pd.factorize(column)
        cells = pd.Series(distinct)
        found = self._by_cuts(cells) if self.cuts else np.full(len(cells), OUTSIDE)
        for k, values in enumerate(self.values):
            if not values:
                found[:] = k
        for k, name in enumerate(self.names):
            found[matches(cells, name)] = k
        for k, values in enumerate(self.values):
            for value in values:
                found[matches(cells, value)] = k
        codes: Codes = np.append(found, OUTSIDE)[places].astype(np.intp)
        return codes

    def _by_cuts(self, cells: pd.Series[Any]) -> NDArray[np.intp]:
        numbers = pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        found = np.searchsorted(np.array(self.cuts), numbers, side="right")
        return np.where(np.isnan(numbers), OUTSIDE, found)

    def move(self, column: pd.Series[Any], codes: Codes) -> pd.Series[Any]:
        """The column with each cell in the group that its code says; cells that are in it already stay."""
        moved = codes != self.codes(column)
        if not moved.any():
            return column
        single = [len(values) == 1 for values in self.values] or [False] * len(self.names)
        if isinstance(column.dtype, pd.CategoricalDtype) or not all(single):
            column = column.astype(object)
        for k, name in enumerate(self.names):
            cell = _as_held(self.values[k][0], column) if single[k] else name
            column = column.mask(moved & (codes == k), cell)
        return column


def band_names(cuts: Sequence[float]) -> tuple[str, ...]:
    """What the groups between cut points are called: ``under 25``, ``25 to under 40``, ``40 or more``."""
    texts = [f"{cut:.12g}" for cut in cuts]
    between = [f"{low} to under {high}" for low, high in pairwise(texts)]
    return f"under {texts[0]}", *between, f"{texts[-1]} or more"


def matches(column: pd.Series[Any], text: str) -> NDArray[np.bool_]:
    """Which cells read as the text, or are the number it spells."""
    if (
        column.dtype != object and len(column) > _MANY_CELLS
    ):  # a value is read once; objects may be equal, yet read differently
        places, distinct = pd.factorize(column)
        return np.append(matches(pd.Series(distinct, dtype=object).infer_objects(), text), False)[places]
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
