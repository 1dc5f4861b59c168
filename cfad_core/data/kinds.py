"""The kinds of column: how each is recognised, learned, encoded and decoded.

A number is one column, and so is a date (its number of days or, where the cells have times, of a smaller unit); a
category has one column for each level (one alone for two levels).
Missing numbers are filled with the median and, where they are many, marked in a column of their own; missing
categories are a level. A new kind is one class here and one entry in ``KINDS``.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, ClassVar, Literal, TypeAlias

import numpy as np
import pandas as pd

from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.config import Categories
from cfad_core.core.errors import InvalidConfigError
from cfad_core.data.cells import DateUnit, with_dates, with_missing, with_numbers, with_values
from cfad_core.data.columns import (
    DAY,
    MICROSECOND,
    MISSING,
    as_numbers,
    as_texts,
    as_time,
    holds_booleans,
    holds_dates,
    holds_numbers,
    too_large,
    unreadable,
)
from cfad_core.data.scaling import HALF_RANGE, Scale

if TYPE_CHECKING:
    from cfad_core.data.variables import Variable

VariableKind: TypeAlias = Literal["number", "category"]

OTHER = "(other)"
MAX_LEVELS = 30
_MARK_MISSING = 0.01  # share of missing numbers from which they are marked
_UNITS = (DAY, 1.0, 1e-3, MICROSECOND)  # of dates, in seconds: the largest in which all are whole is taken
_LARGEST_TIME = 2.0**62  # in microseconds, so that it is an integer
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
    holds : what a causal model takes it for
    missing : what becomes of missing cells, for a message
    """

    name: ClassVar[str]
    holds: ClassVar[VariableKind]
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

    def missing_as(self, variable: Variable) -> tuple[float, float] | None:  # noqa: ARG002 - of other kinds
        """The columns of a missing number, its fill value and its mark; None of a variable that marks none."""
        return None

    def is_out_of_range(self, variable: Variable, columns: Floats) -> Bools:  # noqa: ARG002 - of other kinds
        """Which rows lie beyond all that training saw; without numbers there is no such range."""
        return np.zeros(len(columns), dtype=np.bool_)

    def is_unknown(self, variable: Variable, cells: pd.Series[Any]) -> Bools:  # noqa: ARG002 - of other kinds
        """Which cells hold a level that was not there in training."""
        return np.zeros(len(cells), dtype=np.bool_)

    def unreadable(self, cells: pd.Series[Any]) -> Bools:
        """Cells that hold something, but nothing of this kind."""
        return np.zeros(len(cells), dtype=np.bool_)

    def too_large(self, cells: pd.Series[Any]) -> Bools:
        """Cells that hold infinity, or as good as that."""
        return np.zeros(len(cells), dtype=np.bool_)


class NumberColumn(Kind):
    """Numbers, also written as text."""

    name: ClassVar[str] = "number"
    holds: ClassVar[VariableKind] = "number"
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
        values = self._values(variable, cells)
        missing = np.isnan(values)
        known = values[~missing]
        low, high = float(known.min()), float(known.max())
        offset, scale = choices.scale.of(low, high)
        in_own_units = choices.scale.scaling == "own"  # there the fill is a number that was seen, so that all are legal
        return replace(
            variable,
            offset=offset,
            scale=scale,
            low=low,
            high=high,
            integer=_are_whole(known),
            fill=float(np.quantile(known, 0.5, method="lower")) if in_own_units else float(np.median(known)),
            marks_missing=bool(missing.mean() >= _MARK_MISSING),
        )

    def columns(self, variable: Variable) -> tuple[str, ...]:
        name = variable.name
        return (name, f"{name} is missing") if variable.marks_missing else (name,)

    def encode(self, variable: Variable, cells: pd.Series[Any]) -> Floats:
        numbers = self._values(variable, cells)
        missing = np.isnan(numbers)
        # adding 0 makes -0 a 0, so that equal numbers have equal bits
        values = (np.where(missing, variable.fill, numbers) - variable.offset) / variable.scale + 0.0
        marks = np.where(missing, HALF_RANGE, -HALF_RANGE)
        return np.column_stack([values, marks]) if variable.marks_missing else values[:, None]

    def decode(
        self, variable: Variable, columns: Floats, original: Floats, cells: pd.Series[Any], *, clip: bool
    ) -> tuple[pd.Series[Any], int]:
        moved: Bools = (columns != original).any(axis=1)
        missing: Bools = moved & (columns[:, 1] > 0.0) if variable.marks_missing else np.zeros_like(moved)
        known = moved & ~missing
        numbers = columns[:, 0] * variable.scale + variable.offset
        beyond = known & self.is_out_of_range(variable, columns)
        if clip:
            numbers = np.clip(numbers, variable.low, variable.high)
        if variable.integer:
            numbers = np.rint(numbers)
        written = self._write(variable, numbers, known, cells)
        # a cell that is missing already stays as it is
        return with_missing(written, missing & cells.notna().to_numpy()), int(beyond.sum()) if clip else 0

    def missing_as(self, variable: Variable) -> tuple[float, float] | None:
        if not variable.marks_missing:
            return None
        return (variable.fill - variable.offset) / variable.scale + 0.0, HALF_RANGE

    def _values(self, variable: Variable, cells: pd.Series[Any]) -> Floats:  # noqa: ARG002 - of other kinds
        """The numbers (n,) in the variable's unit."""
        return self.numbers(cells)

    def _write(self, variable: Variable, numbers: Floats, moved: Bools, cells: pd.Series[Any]) -> pd.Series[Any]:
        """The cells with the numbers where they moved, of the type that the column has if it can hold them."""
        return with_numbers(cells, moved, numbers, whole=variable.integer)

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
    """Dates, also written as text, as numbers: of days, or in own units of the largest unit in which all are whole."""

    name: ClassVar[str] = "date"

    def recognises(self, cells: pd.Series[Any]) -> bool:
        return holds_dates(cells)

    def numbers(self, cells: pd.Series[Any]) -> Floats:
        return as_time(cells)

    def too_large(self, cells: pd.Series[Any]) -> Bools:
        return np.zeros(len(cells), dtype=np.bool_)

    def fit(self, variable: Variable, cells: pd.Series[Any], choices: Choices) -> Variable:
        if choices.scale.scaling == "own":
            variable = replace(variable, seconds=next(unit for unit in _UNITS if _are_whole(as_time(cells, unit))))
        return super().fit(variable, cells, choices)

    def _values(self, variable: Variable, cells: pd.Series[Any]) -> Floats:
        return as_time(cells, variable.seconds)

    def _write(self, variable: Variable, numbers: Floats, moved: Bools, cells: pd.Series[Any]) -> pd.Series[Any]:
        unit = np.rint(variable.seconds / MICROSECOND)
        if not variable.integer:  # parts of a day, to the second
            numbers, unit = np.rint(numbers * variable.seconds), np.rint(1.0 / MICROSECOND)
        time = np.where(moved, np.clip(numbers * unit, -_LARGEST_TIME, _LARGEST_TIME), 0.0)
        written: DateUnit = "s"  # whatever the other rows hold: a row is written the same in any company
        if variable.integer and variable.seconds != 1.0:
            written = "D" if variable.seconds == DAY else "us"
        return with_dates(cells, moved, time.astype(np.int64), written)


class CategoryColumn(Kind):
    """Anything else: levels by their text, the most frequent first."""

    name: ClassVar[str] = "category"
    holds: ClassVar[VariableKind] = "category"
    missing: ClassVar[str] = "are a category of their own"

    def recognises(self, cells: pd.Series[Any]) -> bool:  # noqa: ARG002 - any cells can be texts
        return True

    def numbers(self, cells: pd.Series[Any]) -> None:  # noqa: ARG002 - there are none
        return None

    def fit(self, variable: Variable, cells: pd.Series[Any], choices: Choices) -> Variable:
        levels = [str(level) for level in as_texts(cells).value_counts().index]
        most = MAX_LEVELS if choices.categories == "levels" else 2
        if len(levels) > most:
            kept = [level for level in levels if level != OTHER][: most - 1]
            merged = [level for level in levels if level not in kept]
            return replace(variable, levels=(*kept, OTHER), other=_stand_in((*kept, OTHER), merged))
        return replace(variable, levels=tuple(levels), other=OTHER if OTHER in levels else None)

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
        before, after = (_nearest_levels(variable.levels, found) for found in (original, columns))
        changed = (columns != original).any(axis=1) & (before != after)
        # what is written for each level: None keeps the cell
        written = [variable.other if level == OTHER else level for level in variable.levels]
        missing = np.array([level == MISSING for level in written])[after]
        known = np.array([level not in (MISSING, None) for level in written])[after]
        booleans = {"True": True, "False": False} if holds_booleans(cells) else {}
        values: list[Any] = [booleans.get(str(level), level) for level in written]
        new = with_values(cells, changed & known, [values[level] for level in after[changed & known]])
        return with_missing(new, changed & missing & cells.notna().to_numpy()), 0

    def is_between_levels(self, variable: Variable, columns: Floats) -> Bools:
        nearest = _level_columns(variable.levels, _nearest_levels(variable.levels, columns))
        far: Bools = np.abs(columns - nearest).max(axis=1) > HALF_RANGE / 2.0
        return far

    def is_unknown(self, variable: Variable, cells: pd.Series[Any]) -> Bools:
        if OTHER in variable.levels:
            return np.zeros(len(cells), dtype=np.bool_)
        codes, texts = pd.factorize(as_texts(cells))
        unknown = np.array([_position(variable.levels, str(text), -1) < 0 for text in texts], dtype=np.bool_)
        found: Bools = unknown[codes]
        return found


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


def _are_whole(values: Floats) -> bool:
    known = values[~np.isnan(values)]
    return bool((known == np.rint(known)).all())


def _stand_in(levels: tuple[str, ...], merged: list[str]) -> str | None:
    """The most frequent of the merged texts that is encoded as one of them; a missing cell if there is no other."""
    unknown = levels.index(OTHER)
    fitting = [text for text in merged if _position(levels, text, unknown) == unknown]
    return next((text for text in fitting if text != MISSING), MISSING if MISSING in fitting else None)


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
