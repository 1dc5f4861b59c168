"""One attribute and its columns. However many columns it has, a variable stays one variable."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.data.columns import DAY, MISSING
from cfad_core.data.kinds import Choices, kind_named


@dataclass(frozen=True)
class Variable:
    """What was learned of one attribute: a flat record, as JSON stores it. What it does is up to its kind.

    Attributes
    ----------
    kind : a name of ``kinds.KINDS``: ``number``, ``date`` (as a number, of days or smaller units) or ``category``
    offset, scale : of a number: column = (cell - offset) / scale
    low, high : the numbers that were seen, and what a counterfactual one is clipped to
    integer : whether the numbers are whole
    fill : stands for a missing number: the median, in own units the lower one of two
    marks_missing : whether a second column marks missing numbers
    levels : of a category, the most frequent first; it also stands for unknown ones
    other : of a category: what is written where a cell becomes one of the merged levels, the most frequent of them;
        None if no levels are merged, or if the variable is from before this was remembered
    seconds : of a date: how many seconds its unit has
    """

    name: str
    kind: str
    offset: float = 0.0
    scale: float = 1.0
    low: float = 0.0
    high: float = 0.0
    integer: bool = False
    fill: float = 0.0
    marks_missing: bool = False
    levels: tuple[str, ...] = ()
    other: str | None = None
    seconds: float = DAY

    def __post_init__(self) -> None:
        kind_named(self.kind)  # refuses a kind that does not exist

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of the columns."""
        return kind_named(self.kind).columns(self)

    def encode(self, cells: pd.Series[Any]) -> Floats:
        """Columns (n, k) of a table's cells."""
        return kind_named(self.kind).encode(self, cells)

    def decode(
        self, columns: Floats, original: Floats, cells: pd.Series[Any], *, clip: bool
    ) -> tuple[pd.Series[Any], int]:
        """Cells with new values where columns (n, k) differ from the original ones, and how many were clipped.

        A cell becomes missing where the columns say so, and a missing one known where they differ from the original.
        """
        return kind_named(self.kind).decode(self, columns, original, cells, clip=clip)

    def recall(self, columns: Floats) -> list[Any]:
        """The cells of columns (n, k), as well as they can be known without the table; None where one is missing."""
        if self.levels:
            levels = [self.levels[code] for code in self.level_codes(columns)]
            return [None if level == MISSING else level for level in levels]
        blank = pd.Series(np.full(len(columns), np.nan))
        cells, _ = self.decode(columns, np.full_like(columns, np.nan), blank, clip=True)
        numbers = cells.astype(object).where(cells.notna(), None).tolist()
        return [int(cell) if self.integer and isinstance(cell, float) else cell for cell in numbers]

    def missing_as(self) -> tuple[float, float] | None:
        """The columns of a missing number, its fill value and its mark; None of a variable that marks none."""
        return kind_named(self.kind).missing_as(self)

    def level_codes(self, columns: Floats) -> Rows:
        """The position (n,) among its levels of each row of a category's columns (n, k): one column of two levels."""
        if len(self.levels) <= 2:
            return np.where(columns[:, 0] > 0.0, len(self.levels) - 1, 0)
        codes: Rows = columns.argmax(axis=1)
        return codes

    def is_out_of_range(self, columns: Floats) -> Bools:
        """Which rows of columns (n, k) have a number beyond all that training saw."""
        return kind_named(self.kind).is_out_of_range(self, columns)

    def is_between_levels(self, columns: Floats) -> Bools:
        """Which rows are more than a quarter of the way from their nearest level to another one.

        Of a number that is its mark for missing cells, if it has one.
        """
        return kind_named(self.kind).is_between_levels(self, columns)

    def is_unknown(self, cells: pd.Series[Any]) -> Bools:
        """Which cells hold a category that was not there in training."""
        return kind_named(self.kind).is_unknown(self, cells)


def fit_variable(cells: pd.Series[Any], kind: str, choices: Choices) -> Variable:
    """Learn a variable from the training cells of one column."""
    return kind_named(kind).fit(Variable(str(cells.name), kind), cells, choices)
