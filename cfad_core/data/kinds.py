"""The kinds of column: how each is recognised, learned, encoded and decoded.

A number is one column, a date its number of days, a category one column for each level (one alone for two levels).
Missing numbers are filled with the median and, where they are many, marked in a column of their own; missing
categories are a level. A new kind is one class here and one entry in ``KINDS``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import pandas as pd

from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.config import Categories
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.data.columns import (
    DAY,
    MISSING,
    as_days,
    as_numbers,
    as_texts,
    holds_booleans,
    holds_dates,
    holds_numbers,
    too_large,
    unreadable,
)
from cfad_core.data.scaling import HALF_RANGE, Scale

if TYPE_CHECKING:
    from cfad_core.data.variables import Variable

OTHER = "(other)"
MAX_LEVELS = 30
_MARK_MISSING = 0.01  # share of missing numbers from which they are marked
_LARGEST_INTEGER = 2.0**62
_CALENDAR = (-719_162.0, 2_932_896.0)  # days from year 1 to 9999, since 1970
_BOOLEANS = {"1": "True", "1.0": "True", "true": "True", "0": "False", "0.0": "False", "false": "False"}


@dataclass(frozen=True)
class Choices:
    """What is settled for all variables before each is learned."""

    scale: Scale
    categories: Categories = "levels"


class Kind(ABC):
    """One kind of column. What was learned is in the variable; a kind itself holds nothing.

    Attributes
    ----------
    name : what a variable's ``kind`` says
    missing : what becomes of missing cells, for a message
    """

    name: ClassVar[str]
    missing: ClassVar[str]

    @abstractmethod
    def recognises(self, cells: pd.Series[Any]) -> bool:
        """Whether a column is of this kind, none of the kinds before it in ``KINDS`` being it."""

    @abstractmethod
    def numbers(self, cells: pd.Series[Any]) -> Floats | None:
        """The cells as numbers (n,), nan where there is none; None of a kind that holds no numbers."""

    @abstractmethod
    def fit(self, variable: Variable, cells: pd.Series[Any], choices: Choices) -> Variable:
        """The variable, with what its training cells show filled in."""

    @abstractmethod
    def columns(self, variable: Variable) -> tuple[str, ...]:
        """Names of the variable's columns."""

    @abstractmethod
    def encode(self, variable: Variable, cells: pd.Series[Any]) -> Floats:
        """Columns (n, k) of cells."""

    @abstractmethod
    def decode(
        self, variable: Variable, columns: Floats, original: Floats, cells: pd.Series[Any], *, clip: bool
    ) -> tuple[pd.Series[Any], int]:
        """Cells with new values where columns (n, k) differ from the original ones, and how many were clipped."""

    @abstractmethod
    def is_between_levels(self, variable: Variable, columns: Floats) -> Bools:
        """Which rows are more than a quarter of the way from their nearest level to another one."""

    def is_out_of_range(self, variable: Variable, columns: Floats) -> Bools:  # noqa: ARG002 - of other kinds
        """Which rows lie beyond all that training saw; without numbers there is no such range."""
        return np.zeros(len(columns), dtype=np.bool_)

    def count_unknown(self, variable: Variable, cells: pd.Series[Any]) -> int:  # noqa: ARG002 - of other kinds
        """How many cells hold a level that was not there in training."""
        return 0

    def unreadable(self, cells: pd.Series[Any]) -> Bools:
        """Cells that hold something, but nothing of this kind."""
        return np.zeros(len(cells), dtype=np.bool_)

    def too_large(self, cells: pd.Series[Any]) -> Bools:
        """Cells that hold infinity, or as good as that."""
        return np.zeros(len(cells), dtype=np.bool_)


class NumberColumn(Kind):
    """Numbers, also written as text."""

    name: ClassVar[str] = "number"
    missing: ClassVar[str] = "are filled with the median"

    def recognises(self, cells: pd.Series[Any]) -> bool:
        return holds_numbers(cells)

    def numbers(self, cells: pd.Series[Any]) -> Floats:
        return as_numbers(cells)

    def unreadable(self, cells: pd.Series[Any]) -> Bools:
        return unreadable(cells, self.numbers)

    def too_large(self, cells: pd.Series[Any]) -> Bools:
        return too_large(cells)

    def fit(self, variable: Variable, cells: pd.Series[Any], choices: Choices) -> Variable:
        values = self.numbers(cells)
        missing = np.isnan(values)
        known = values[~missing]
        low, high = float(known.min()), float(known.max())
        offset, scale = choices.scale.of(low, high)
        return replace(
            variable,
            offset=offset,
            scale=scale,
            low=low,
            high=high,
            integer=bool((known == np.rint(known)).all()),
            fill=float(np.median(known)),
            marks_missing=bool(missing.mean() >= _MARK_MISSING),
        )

    def columns(self, variable: Variable) -> tuple[str, ...]:
        name = variable.name
        return (name, f"{name} is missing") if variable.marks_missing else (name,)

    def encode(self, variable: Variable, cells: pd.Series[Any]) -> Floats:
        numbers = self.numbers(cells)
        missing = np.isnan(numbers)
        values = (np.where(missing, variable.fill, numbers) - variable.offset) / variable.scale
        marks = np.where(missing, HALF_RANGE, -HALF_RANGE)
        return np.column_stack([values, marks]) if variable.marks_missing else values[:, None]

    def decode(
        self, variable: Variable, columns: Floats, original: Floats, cells: pd.Series[Any], *, clip: bool
    ) -> tuple[pd.Series[Any], int]:
        moved: Bools = (columns != original).any(axis=1) & cells.notna().to_numpy()
        if not moved.any():
            return cells, 0
        numbers = columns[:, 0] * variable.scale + variable.offset
        beyond = moved & self.is_out_of_range(variable, columns)
        if clip:
            numbers = np.clip(numbers, variable.low, variable.high)
        if variable.integer:
            numbers = np.clip(np.rint(numbers), -_LARGEST_INTEGER, _LARGEST_INTEGER)
        return self._write(variable, numbers, moved, cells), int(beyond.sum()) if clip else 0

    def _write(self, variable: Variable, numbers: Floats, moved: Bools, cells: pd.Series[Any]) -> pd.Series[Any]:
        """The cells with the numbers where they moved, of the type that the column has if it can hold them."""
        if variable.integer and pd.api.types.is_integer_dtype(cells):
            whole = pd.Series(np.where(moved, numbers, 0.0).astype(np.int64), index=cells.index)
            return cells.mask(moved, whole)
        return pd.to_numeric(cells).astype(np.float64).mask(moved, pd.Series(numbers, index=cells.index))

    def is_out_of_range(self, variable: Variable, columns: Floats) -> Bools:
        numbers = columns[:, 0] * variable.scale + variable.offset
        slack = 1e-9 * max(1.0, abs(variable.low), abs(variable.high))
        return (numbers < variable.low - slack) | (numbers > variable.high + slack)

    def is_between_levels(self, variable: Variable, columns: Floats) -> Bools:
        """Of a number: where its mark for missing cells is, if it has one."""
        if not variable.marks_missing:
            return np.zeros(len(columns), dtype=np.bool_)
        between: Bools = np.abs(np.abs(columns[:, 1]) - HALF_RANGE) > HALF_RANGE / 2.0
        return between


class DateColumn(NumberColumn):
    """Dates, also written as text, as numbers of days."""

    name: ClassVar[str] = "date"

    def recognises(self, cells: pd.Series[Any]) -> bool:
        return holds_dates(cells)

    def numbers(self, cells: pd.Series[Any]) -> Floats:
        return as_days(cells)

    def too_large(self, cells: pd.Series[Any]) -> Bools:
        return np.zeros(len(cells), dtype=np.bool_)

    def _write(
        self,
        variable: Variable,  # noqa: ARG002 - of numbers
        numbers: Floats,
        moved: Bools,
        cells: pd.Series[Any],
    ) -> pd.Series[Any]:
        return cells.mask(moved, _dates_like(numbers, cells))


class CategoryColumn(Kind):
    """Anything else: levels by their text, the most frequent first."""

    name: ClassVar[str] = "category"
    missing: ClassVar[str] = "are a category of their own"

    def recognises(self, cells: pd.Series[Any]) -> bool:  # noqa: ARG002 - any cells can be texts
        return True

    def numbers(self, cells: pd.Series[Any]) -> None:  # noqa: ARG002 - there are none
        return None

    def fit(self, variable: Variable, cells: pd.Series[Any], choices: Choices) -> Variable:
        levels = [str(level) for level in as_texts(cells).value_counts().index]
        most = MAX_LEVELS if choices.categories == "levels" else 2
        if len(levels) > most:
            levels = [*levels[: most - 1], OTHER]
        return replace(variable, levels=tuple(levels))

    def columns(self, variable: Variable) -> tuple[str, ...]:
        if len(variable.levels) <= 2:
            return (variable.name,)
        return tuple(f"{variable.name} = {level}" for level in variable.levels)

    def encode(self, variable: Variable, cells: pd.Series[Any]) -> Floats:
        codes, texts = pd.factorize(as_texts(cells))
        unknown = variable.levels.index(OTHER) if OTHER in variable.levels else 0
        positions = np.array([_position(variable.levels, str(text), unknown) for text in texts], dtype=np.intp)
        return _level_columns(variable.levels, positions[codes])

    def decode(
        self,
        variable: Variable,
        columns: Floats,
        original: Floats,
        cells: pd.Series[Any],
        *,
        clip: bool,  # noqa: ARG002
    ) -> tuple[pd.Series[Any], int]:
        levels = variable.levels
        before, after = _nearest_levels(levels, original), _nearest_levels(levels, columns)
        moved = (columns != original).any(axis=1)
        changed = moved & (before != after) & ~np.isin(np.array(levels)[after], (MISSING, OTHER))
        if not changed.any():
            return cells, 0
        values: list[Any] = [level == "True" for level in levels] if holds_booleans(cells) else list(levels)
        new = pd.Series([values[k] for k in after], index=cells.index, dtype=object)
        if pd.api.types.is_bool_dtype(cells):
            return cells.mask(changed, new.astype(np.bool_)), 0
        return cells.astype(object).mask(changed, new), 0

    def is_between_levels(self, variable: Variable, columns: Floats) -> Bools:
        nearest = _level_columns(variable.levels, _nearest_levels(variable.levels, columns))
        far: Bools = np.abs(columns - nearest).max(axis=1) > HALF_RANGE / 2.0
        return far

    def count_unknown(self, variable: Variable, cells: pd.Series[Any]) -> int:
        if OTHER in variable.levels:
            return 0
        counts = as_texts(cells).value_counts()
        return int(sum(count for text, count in counts.items() if _position(variable.levels, str(text), -1) < 0))


KINDS: tuple[Kind, ...] = (NumberColumn(), DateColumn(), CategoryColumn())


def kind_named(name: str) -> Kind:
    """The kind that a variable names.

    Raises
    ------
    InvalidConfigError
        If there is no such kind.
    """
    for kind in KINDS:
        if kind.name == name:
            return kind
    known = ", ".join(kind.name for kind in KINDS)
    raise InvalidConfigError(f"The kind of a column must be one of {known}; got {name!r}.")


def kind_of(cells: pd.Series[Any]) -> str:
    """The name of what a column holds: numbers (also written as text), dates, or categories."""
    return next(kind.name for kind in KINDS if kind.recognises(cells))


def check_readable(table: pd.DataFrame, kinds: Mapping[str, str]) -> None:
    """Refuse text and infinity where numbers or dates are expected.

    Raises
    ------
    InvalidDataError
        Naming every such column, and how many cells.
    """
    wrong = []
    for name, kind in kinds.items():
        text, infinite = kind_named(kind).unreadable(table[name]), kind_named(kind).too_large(table[name])
        if text.any():
            found = f"found something else in {int(text.sum())} rows, such as '{table[name][text].iloc[0]}'"
            wrong.append(f"Expected {kind}s in '{name}', {found}.")
        if infinite.any():
            wrong.append(f"Expected finite {kind}s in '{name}', found infinite ones in {int(infinite.sum())} rows.")
    if wrong:
        raise InvalidDataError("\n".join(f"{sentence} Correct these cells." for sentence in wrong))


def _dates_like(days: Floats, cells: pd.Series[Any]) -> pd.Series[Any]:
    """Days since 1970 as cells of the type that the column has."""
    try:
        dates = pd.to_datetime(pd.Series(days * DAY, index=cells.index), unit="s", utc=True).dt.round("s")
    except pd.errors.OutOfBoundsDatetime:  # nanoseconds end in 2262
        seconds = np.rint(np.clip(days, *_CALENDAR) * DAY).astype(np.int64)
        dates = pd.Series(seconds.astype("datetime64[s]"), index=cells.index).dt.tz_localize("UTC")
    if pd.api.types.is_datetime64_any_dtype(cells):
        zone = cells.dt.tz
        return dates.dt.tz_convert(zone) if zone is not None else dates.dt.tz_localize(None)
    has_time = (days != np.rint(days)).any()
    return dates.dt.strftime("%Y-%m-%d %H:%M:%S" if has_time else "%Y-%m-%d").astype(object)


def _position(levels: tuple[str, ...], text: str, unknown: int) -> int:
    """Where a text is among the levels; True and False may also be spelled 1 and 0."""
    if text in levels:
        return levels.index(text)
    spelled = _BOOLEANS.get(text.lower()) if {"True", "False"} <= set(levels) else None
    return levels.index(spelled) if spelled is not None else unknown


def _level_columns(levels: tuple[str, ...], positions: Rows) -> Floats:
    """The columns (n, k) of levels by their positions (n,)."""
    if len(levels) <= 2:
        return np.where(positions == 0, -HALF_RANGE, HALF_RANGE)[:, None]
    return np.where(positions[:, None] == np.arange(len(levels)), HALF_RANGE, -HALF_RANGE)


def _nearest_levels(levels: tuple[str, ...], columns: Floats) -> Rows:
    """The position (n,) of the level that each row of columns (n, k) is nearest to."""
    if len(levels) <= 2:
        return np.where(columns[:, 0] > 0.0, len(levels) - 1, 0).astype(np.intp)
    largest: Rows = columns.argmax(axis=1)
    return largest
