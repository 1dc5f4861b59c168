"""From a table to numbers and back.

``S`` becomes -1 (first group) and +1 (second group) and comes first. A number is one column, a category one column
for each level (one alone for two levels), a date its number of days; missing numbers are filled with the median and,
where they are many, marked in a column of their own. However many columns it has, a variable stays one variable.
The paper's way with categories, the most frequent value or not, is an option.

Scale matters for causal discovery. Where all attributes are continuous and share a scale, their noise levels tell
causes from effects: all are divided by one common factor (``raw``), so that the unit of measurement does not matter
but proportions stay. Elsewhere the widest column would drown the rest: each is mapped to [-3, 3] (``range``).
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.config import Categories, Scaling
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.settings import from_plain
from cfad_core.data.groups import Groups
from cfad_core.data.roles import ColumnRoles

Kind = Literal["number", "date", "category"]

MISSING = "(missing)"
OTHER = "(other)"
MAX_LEVELS = 30
_HALF_RANGE = 3.0
_COMMON_SPREAD = 3.0  # root mean square of the standard deviations after raw scaling
_COMPARABLE = 10.0  # largest ratio of standard deviations that counts as one scale
_CONTINUOUS = 20  # fewer distinct values make a column discrete
_MARK_MISSING = 0.01  # share of missing numbers from which they are marked
_MAX_LISTED = 5
_DAY = 86_400.0
_BOOLEANS = {"1": "True", "1.0": "True", "true": "True", "0": "False", "0.0": "False", "false": "False"}
_LARGEST = 1e100  # beyond, a number is as good as infinite: its square is not one any more
_LARGEST_INTEGER = 2.0**62


@dataclass(frozen=True)
class Variable:
    """One attribute and its columns.

    Attributes
    ----------
    kind : ``number``, ``date`` (a number of days) or ``category``
    offset, scale : of a number: column = (cell - offset) / scale
    low, high : the numbers that were seen, and what a counterfactual one is clipped to
    integer : whether the numbers (or days) are whole
    fill : stands for a missing number
    marks_missing : whether a second column marks missing numbers
    levels : of a category, the most frequent first; it also stands for unknown ones
    """

    name: str
    kind: Kind
    offset: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    fill: float = 0.0
    marks_missing: bool = False
    levels: tuple[str, ...] = ()

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        if self.kind == "category":
            if len(self.levels) <= 2:
                return (self.name,)
            return tuple(f"{self.name} = {level}" for level in self.levels)
        return (self.name, f"{self.name} is missing") if self.marks_missing else (self.name,)

    def encode(self, cells: pd.Series[Any]) -> Floats:
        """Columns (n, k) of a table's cells."""
        if self.kind == "category":
            return self._codes(self._positions(cells))
        numbers = as_numbers(cells, self.kind)
        missing = np.isnan(numbers)
        values = (np.where(missing, self.fill, numbers) - self.offset) / self.scale
        marks = np.where(missing, _HALF_RANGE, -_HALF_RANGE)
        return np.column_stack([values, marks]) if self.marks_missing else values[:, None]

    def decode(
        self, columns: Floats, original: Floats, cells: pd.Series[Any], *, clip: bool
    ) -> tuple[pd.Series[Any], int]:
        """Cells with new values where columns (n, k) differ from the original ones, and how many were clipped.

        A missing cell stays missing, and no cell becomes missing: a value is always one that the table knows.
        """
        moved = (columns != original).any(axis=1)
        if self.kind == "category":
            return self._decode_category(columns, original, cells, moved), 0
        moved &= cells.notna().to_numpy()
        if not moved.any():
            return cells, 0
        numbers = columns[:, 0] * self.scale + self.offset
        beyond = moved & self.is_out_of_range(columns)
        if clip:
            numbers = np.clip(numbers, self.low, self.high)
        if self.integer:
            numbers = np.clip(np.rint(numbers), -_LARGEST_INTEGER, _LARGEST_INTEGER)
        if self.kind == "date":
            new = _dates_like(numbers, cells)
        elif self.integer and pd.api.types.is_integer_dtype(cells):
            new = pd.Series(np.where(moved, numbers, 0.0).astype(np.int64), index=cells.index)
        else:
            cells = pd.to_numeric(cells).astype(np.float64)
            new = pd.Series(numbers, index=cells.index)
        return cells.mask(moved, new), int(beyond.sum()) if clip else 0

    def is_out_of_range(self, columns: Floats) -> NDArray[np.bool_]:
        """Which numbers lie beyond all that training saw."""
        numbers = columns[:, 0] * self.scale + self.offset
        slack = 1e-9 * max(1.0, abs(self.low), abs(self.high))
        return (numbers < self.low - slack) | (numbers > self.high + slack)

    def is_between_levels(self, columns: Floats) -> NDArray[np.bool_]:
        """Which rows are more than a quarter of the way from their nearest level to another one.

        Of a number that is its mark for missing cells, if it has one.
        """
        if self.kind != "category":
            between: NDArray[np.bool_] = np.abs(np.abs(columns[:, 1:]) - _HALF_RANGE).max(axis=1, initial=0.0) > (
                _HALF_RANGE / 2.0
            )
            return between
        far: NDArray[np.bool_] = np.abs(columns - self._codes(self._nearest(columns))).max(axis=1) > _HALF_RANGE / 2.0
        return far

    def _codes(self, position: NDArray[np.intp]) -> Floats:
        """The columns (n, k) of levels by their position."""
        if len(self.levels) <= 2:
            return np.where(position == 0, -_HALF_RANGE, _HALF_RANGE)[:, None]
        return np.where(position[:, None] == np.arange(len(self.levels)), _HALF_RANGE, -_HALF_RANGE)

    def _decode_category(
        self, columns: Floats, original: Floats, cells: pd.Series[Any], moved: NDArray[np.bool_]
    ) -> pd.Series[Any]:
        before, after = self._nearest(original), self._nearest(columns)
        changed = moved & (before != after) & ~np.isin(np.array(self.levels)[after], (MISSING, OTHER))
        if not changed.any():
            return cells
        values: list[Any] = list(self.levels)
        if _holds_booleans(cells):
            values = [level == "True" for level in self.levels]
        new = pd.Series([values[k] for k in after], index=cells.index, dtype=object)
        if pd.api.types.is_bool_dtype(cells):
            return cells.mask(changed, new.astype(np.bool_))
        return cells.astype(object).mask(changed, new)

    def _nearest(self, columns: Floats) -> NDArray[np.intp]:
        if len(self.levels) <= 2:
            return np.where(columns[:, 0] > 0.0, len(self.levels) - 1, 0).astype(np.intp)
        largest: NDArray[np.intp] = columns.argmax(axis=1)
        return largest

    def _positions(self, cells: pd.Series[Any]) -> NDArray[np.intp]:
        codes, texts = pd.factorize(as_texts(cells))
        unknown = self.levels.index(OTHER) if OTHER in self.levels else 0
        places = np.array([self._place(str(text), unknown) for text in texts], dtype=np.intp)
        return places[codes]

    def _place(self, text: str, unknown: int) -> int:
        if text in self.levels:
            return self.levels.index(text)
        spelled = _BOOLEANS.get(text.lower()) if {"True", "False"} <= set(self.levels) else None
        return self.levels.index(spelled) if spelled is not None else unknown

    def count_unknown(self, cells: pd.Series[Any]) -> int:
        """How many cells hold a category that was not there in training."""
        if self.kind != "category" or OTHER in self.levels:
            return 0
        counts = as_texts(cells).value_counts()
        return int(sum(count for text, count in counts.items() if self._place(str(text), -1) < 0))


@dataclass(frozen=True)
class Encoding:
    """How the table's columns map to variables and their columns.

    Attributes
    ----------
    sensitive, grouping : the column of ``S`` and its two groups
    variables : the attributes
    scaling : ``raw`` or ``range``
    """

    sensitive: str
    grouping: Groups
    variables: tuple[Variable, ...]
    scaling: Literal["raw", "range"]

    @property
    def groups(self) -> tuple[str, str]:
        """What the two groups are called, that of -1 first."""
        return self.grouping.names

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, ``S`` first."""
        return _distinct((self.sensitive, *(column for variable in self.variables for column in variable.columns)))

    @property
    def column_variables(self) -> tuple[str, ...]:
        """The variable of each column."""
        return (self.sensitive, *(variable.name for variable in self.variables for _ in variable.columns))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Encoding:
        return from_plain(Encoding, values, "encoding")

    def unknown(self, table: pd.DataFrame) -> dict[str, int]:
        """Categories that were not there in training, counted by column; they stand for the most frequent one."""
        counts = {variable.name: variable.count_unknown(table[variable.name]) for variable in self.variables}
        return {name: count for name, count in counts.items() if count}

    def in_groups(self, table: pd.DataFrame) -> NDArray[np.bool_]:
        """Which rows belong to one of the two groups."""
        self._require_columns(table)
        inside: NDArray[np.bool_] = self.grouping.signs(table[self.sensitive]) != 0.0
        return inside

    def encode(self, table: pd.DataFrame) -> Floats:
        """Columns (n, d) of rows that all belong to one of the two groups.

        Raises
        ------
        InvalidDataError
            If a column is missing, a number is infinite or text, or a date cannot be read.
        """
        self._require_columns(table)
        check_readable(table, {v.name: v.kind for v in self.variables if v.kind != "category"})
        s = self.grouping.signs(table[self.sensitive])
        return np.column_stack([s, *(variable.encode(table[variable.name]) for variable in self.variables)])

    def decode(self, x: Floats, original: Floats, table: pd.DataFrame, *, clip: bool = True) -> Decoded:
        """Rows in the table's own columns and units.

        A variable that does not differ from ``original`` (n, d), the encoded table, keeps its cell as it is;
        so do columns of the table that are no variables. Numbers beyond all that were seen in training are clipped,
        and counted.
        """
        rows = table.copy()
        rows[self.sensitive] = self.grouping.flip(rows[self.sensitive], x[:, 0])
        clipped: dict[str, int] = {}
        start = 1
        for variable in self.variables:
            end = start + len(variable.columns)
            cells = table[variable.name]
            rows[variable.name], count = variable.decode(x[:, start:end], original[:, start:end], cells, clip=clip)
            if count:
                clipped[variable.name] = count
            start = end
        return Decoded(rows, clipped)

    def _require_columns(self, table: pd.DataFrame) -> None:
        needed = (self.sensitive, *(variable.name for variable in self.variables))
        missing = [name for name in needed if name not in table.columns]
        if missing:
            raise InvalidDataError(
                f"The table lacks the column{'s' if len(missing) > 1 else ''} {_joined(missing)} of the audit; "
                f"it has: {', '.join(map(str, table.columns))}."
            )


@dataclass(frozen=True)
class Decoded:
    """Rows in a table's own units, and how many cells of which columns were clipped to what was seen in training."""

    rows: pd.DataFrame
    clipped: dict[str, int]


def fit_encoding(
    table: pd.DataFrame, roles: ColumnRoles, scaling: Scaling, categories: Categories = "levels"
) -> Encoding:
    """Learn variables from training rows in which ``validate`` found no error; the groups must be settled."""
    kinds = {name: kind_of(table[name]) for name in roles.features(table)}
    numbers = {name: as_numbers(table[name], kind) for name, kind in kinds.items() if kind != "category"}
    only_numbers = len(numbers) == len(kinds) and not any(np.isnan(values).any() for values in numbers.values())
    chosen: Literal["raw", "range"] = "range" if scaling != "raw" else "raw"
    if scaling == "auto" and only_numbers:
        chosen = choose_scaling(np.column_stack(list(numbers.values())))
    common = 1.0
    if chosen == "raw" and numbers:
        common = float(np.sqrt(np.mean([np.nanvar(values) for values in numbers.values()]))) / _COMMON_SPREAD or 1.0
    variables = tuple(
        _fit_category(table[name], categories)
        if kind == "category"
        else _fit_number(name, kind, numbers[name], chosen, common)
        for name, kind in kinds.items()
    )
    return Encoding(sensitive=roles.sensitive, grouping=roles.grouping, variables=variables, scaling=chosen)


def _fit_number(name: str, kind: Kind, values: Floats, scaling: str, common: float) -> Variable:
    missing = np.isnan(values)
    known = values[~missing]
    low, high = float(known.min()), float(known.max())
    offset, scale = 0.0, common
    if scaling == "range":
        offset, scale = (low + high) / 2.0, ((high - low) / (2.0 * _HALF_RANGE)) or 1.0
    return Variable(
        name=name,
        kind=kind,
        offset=offset,
        scale=scale,
        low=low,
        high=high,
        integer=bool((known == np.rint(known)).all()),
        fill=float(np.median(known)),
        marks_missing=bool(missing.mean() >= _MARK_MISSING),
    )


def _fit_category(cells: pd.Series[Any], categories: Categories) -> Variable:
    levels = [str(level) for level in as_texts(cells).value_counts().index]
    most = MAX_LEVELS if categories == "levels" else 2
    if len(levels) > most:
        levels = [*levels[: most - 1], OTHER]
    return Variable(name=str(cells.name), kind="category", levels=tuple(levels))


def kind_of(cells: pd.Series[Any]) -> Kind:
    """What a column holds: numbers (also written as text), dates, or categories."""
    if _holds_booleans(cells):
        return "category"
    if pd.api.types.is_datetime64_any_dtype(cells):
        return "date"
    if pd.api.types.is_numeric_dtype(cells):
        return "number"
    known = cells.dropna()
    if len(known) and pd.to_numeric(known, errors="coerce").notna().all():
        return "number"
    sample = known.astype(str).head(200)
    if len(sample) and sample.str.match(r"^\d{4}-\d{2}-\d{2}").all():
        return "date" if pd.to_datetime(known, errors="coerce", utc=True).notna().all() else "category"
    return "category"


def _holds_booleans(cells: pd.Series[Any]) -> bool:
    if pd.api.types.is_bool_dtype(cells):
        return True
    return (
        cells.dtype == object and bool(cells.notna().any()) and all(isinstance(cell, bool) for cell in cells.dropna())
    )


def as_numbers(cells: pd.Series[Any], kind: Kind) -> Floats:
    """Numbers, or days since 1970; missing cells are nan."""
    if kind == "date":
        dates = pd.to_datetime(cells, errors="coerce", utc=True)
        seconds = (dates - pd.Timestamp(0, tz="UTC")).dt.total_seconds()
        return np.asarray(seconds.to_numpy(dtype=np.float64, na_value=np.nan) / _DAY, dtype=np.float64)
    return pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def as_texts(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Categories as text; missing cells are a category of their own."""
    return cells.astype(str).astype(object).mask(cells.isna(), MISSING)


def _dates_like(days: Floats, cells: pd.Series[Any]) -> pd.Series[Any]:
    """Days since 1970 as cells of the kind that the column holds."""
    dates = pd.to_datetime(pd.Series(days * _DAY, index=cells.index), unit="s", utc=True).dt.round("s")
    if pd.api.types.is_datetime64_any_dtype(cells):
        zone = cells.dt.tz
        return dates.dt.tz_convert(zone) if zone is not None else dates.dt.tz_localize(None)
    has_time = (days != np.rint(days)).any()
    return dates.dt.strftime("%Y-%m-%d %H:%M:%S" if has_time else "%Y-%m-%d").astype(object)


def choose_scaling(cells: Floats) -> Literal["raw", "range"]:
    """``raw`` if every column is continuous and the columns share a scale, else ``range``."""
    spread = cells.std(axis=0)
    continuous = all(len(np.unique(column)) >= _CONTINUOUS for column in cells.T)
    return "raw" if continuous and 0.0 < spread.max() <= _COMPARABLE * spread.min() else "range"


def check_readable(table: pd.DataFrame, kinds: Mapping[str, Kind]) -> None:
    """Refuse text and infinity where numbers or dates are expected.

    Raises
    ------
    InvalidDataError
        Naming every such column, and how many cells.
    """
    problems = []
    for name, kind in kinds.items():
        text = unreadable(table[name], kind)
        if text.any():
            example = table[name][text].iloc[0]
            wanted = f"Expected {kind}s in '{name}'"
            problems.append(f"{wanted}, found something else in {int(text.sum())} rows, such as '{example}'.")
        if kind == "number" and (infinite := too_large(table[name])).any():
            problems.append(f"Expected finite numbers in '{name}', found infinite ones in {int(infinite.sum())} rows.")
    if problems:
        raise InvalidDataError("\n".join(f"{problem} Correct these cells." for problem in problems))


def unreadable(cells: pd.Series[Any], kind: Kind = "number") -> NDArray[np.bool_]:
    """Cells that hold something, but no number (or date)."""
    mask: NDArray[np.bool_] = np.isnan(as_numbers(cells, kind)) & cells.notna().to_numpy(dtype=np.bool_)
    return mask


def too_large(cells: pd.Series[Any]) -> NDArray[np.bool_]:
    """Numbers that are infinite, or as good as that."""
    mask: NDArray[np.bool_] = np.abs(as_numbers(cells, "number")) > _LARGEST
    return mask


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """A level's column may be called like another column: then it gets a number."""
    taken: dict[str, int] = {}
    result = []
    for name in names:
        taken[name] = taken.get(name, 0) + 1
        result.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return tuple(result)


def _joined(items: list[str]) -> str:
    shown = ", ".join(items[:_MAX_LISTED])
    return shown if len(items) <= _MAX_LISTED else f"{shown} and {len(items) - _MAX_LISTED} more"
