"""From a table to numbers and back.

``S`` becomes -1 (first group) and +1 (second group) and comes first. Profile attributes are divided by one common
factor (``raw``), so that the unit of measurement does not matter but their proportions stay, or are mapped to
[-3, 3] each (``range``). Scale matters for causal discovery: where columns share a
scale, their noise levels tell causes from effects and scaling would destroy that; where they do not, the widest
column would drown the rest.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.config import Scaling, from_plain
from cfad_core.data.roles import ColumnRoles, matches
from cfad_core.errors import InvalidDataError

Floats = NDArray[np.float64]

_HALF_RANGE = 3.0
_COMMON_SPREAD = 3.0  # root mean square of the standard deviations after raw scaling
_COMPARABLE = 10.0  # largest ratio of standard deviations that counts as one scale
_CONTINUOUS = 20  # fewer distinct values make a column discrete
_MAX_LISTED = 5


@dataclass(frozen=True)
class Encoding:
    """How the table's columns map to variables: ``variable = (cell - offset) / scale``.

    Attributes
    ----------
    sensitive, groups : the column of ``S`` and its two values
    features : the attributes' columns
    scaling : ``raw`` or ``range``
    offsets, scales : one for each feature
    """

    sensitive: str
    groups: tuple[str, str]
    features: tuple[str, ...]
    scaling: Literal["raw", "range"]
    offsets: tuple[float, ...]
    scales: tuple[float, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The variables' names, ``S`` first."""
        return (self.sensitive, *self.features)

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Encoding:
        return from_plain(Encoding, values, "encoding")

    def in_groups(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows belong to one of the two groups."""
        self._require_columns(table)
        return matches(table[self.sensitive], self.groups[0]) | matches(table[self.sensitive], self.groups[1])

    def encode(self, table: pd.DataFrame) -> Floats:
        """Variables (n, d) of rows that all belong to one of the two groups.

        Raises
        ------
        InvalidDataError
            If a column is missing or a cell is not a finite number.
        """
        self._require_columns(table)
        s = np.where(matches(table[self.sensitive], self.groups[1]), 1.0, -1.0)
        cells = numeric_cells(table, list(self.features))
        return np.column_stack([s, (cells - np.array(self.offsets)) / np.array(self.scales)])

    def decode(self, x: Floats, original: Floats, table: pd.DataFrame) -> pd.DataFrame:
        """Rows in the table's own columns and units.

        A variable that does not differ from ``original`` (n, d), the encoded table, keeps its cell as it is;
        so do columns that are no variables.
        """
        result = table.copy()
        flipped = x[:, 0] != original[:, 0]
        if flipped.any():
            column = result[self.sensitive]
            for sign, value in zip((-1.0, 1.0), _cells_for(self.groups, column), strict=True):
                column = column.mask(flipped & (x[:, 0] == sign), value)
            result[self.sensitive] = column
        for k, name in enumerate(self.features, start=1):
            moved = x[:, k] != original[:, k]
            if moved.any():
                values = x[:, k] * self.scales[k - 1] + self.offsets[k - 1]
                result[name] = np.where(moved, values, pd.to_numeric(result[name]).to_numpy(dtype=np.float64))
        return result

    def _require_columns(self, table: pd.DataFrame) -> None:
        missing = [name for name in self.names if name not in table.columns]
        if missing:
            raise InvalidDataError(
                f"The table lacks the column{'s' if len(missing) > 1 else ''} {_joined(missing)} of the audit; "
                f"it has: {', '.join(map(str, table.columns))}."
            )


def fit_encoding(table: pd.DataFrame, roles: ColumnRoles, scaling: Scaling) -> Encoding:
    """Learn offsets and scales from training rows; ``roles`` must have their groups settled."""
    if roles.groups is None:
        raise InvalidDataError("The two groups of the sensitive column must be settled first.")
    features = roles.features(table)
    cells = numeric_cells(table, features)
    chosen = choose_scaling(cells) if scaling == "auto" else scaling
    offsets, scales = np.zeros(len(features)), np.ones(len(features))
    if chosen == "raw":
        scales *= np.sqrt(cells.var(axis=0).mean()) / _COMMON_SPREAD
    else:
        low, high = cells.min(axis=0), cells.max(axis=0)
        offsets = (low + high) / 2.0
        scales = np.where(high > low, (high - low) / (2.0 * _HALF_RANGE), 1.0)
    return Encoding(
        sensitive=roles.sensitive,
        groups=roles.groups,
        features=tuple(features),
        scaling=chosen,
        offsets=tuple(offsets.tolist()),
        scales=tuple(scales.tolist()),
    )


def choose_scaling(cells: Floats) -> Literal["raw", "range"]:
    """``raw`` if every column is continuous and the columns share a scale, else ``range``."""
    spread = cells.std(axis=0)
    continuous = all(len(np.unique(column)) >= _CONTINUOUS for column in cells.T)
    return "raw" if continuous and 0.0 < spread.max() <= _COMPARABLE * spread.min() else "range"


def numeric_cells(table: pd.DataFrame, columns: list[str]) -> Floats:
    """The cells (n, m) as finite numbers.

    Raises
    ------
    InvalidDataError
        Naming every column with text, missing or infinite cells, and how many.
    """
    as_text: list[str] = []
    not_finite: list[str] = []
    cells = np.empty((len(table), len(columns)))
    for k, name in enumerate(columns):
        numbers = pd.to_numeric(table[name], errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
        unreadable = np.isnan(numbers) & table[name].notna().to_numpy()
        infinite = int(np.isinf(numbers).sum())
        missing = int(table[name].isna().sum())
        if unreadable.any():
            as_text.append(f"'{name}' ({int(unreadable.sum())} rows, such as '{table[name][unreadable].iloc[0]}')")
        elif missing or infinite:
            not_finite.append(f"'{name}' ({missing} missing, {infinite} infinite)")
        cells[:, k] = numbers
    problems = []
    if as_text:
        problems.append(
            f"Expected numbers, found text in {_joined(as_text)}; ignore these columns or encode them as numbers."
        )
    if not_finite:
        problems.append(
            f"Expected finite numbers in {_joined(not_finite)}; fill or drop these rows, or ignore the columns."
        )
    if problems:
        raise InvalidDataError(" ".join(problems))
    return cells


def _cells_for(groups: tuple[str, str], column: pd.Series[Any]) -> list[Any]:
    """The groups' values as the column would hold them."""
    if pd.api.types.is_bool_dtype(column):
        return [bool(matches(pd.Series([True]), group)[0]) for group in groups]
    if pd.api.types.is_integer_dtype(column):
        return [int(float(group)) for group in groups]
    if pd.api.types.is_float_dtype(column):
        return [float(group) for group in groups]
    return list(groups)


def _joined(items: list[str]) -> str:
    shown = ", ".join(items[:_MAX_LISTED])
    return shown if len(items) <= _MAX_LISTED else f"{shown} and {len(items) - _MAX_LISTED} more"
