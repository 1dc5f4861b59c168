"""What is known of every column of a table after one look at its rows; the profiles of parts add up."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.arrays import Floats
from cfad_core.data.findings import Finding

MOST_LEVELS = 1_000  # values of a column that are counted, at most


@dataclass(frozen=True)
class Moments:
    """Of the finite numbers of a column: how many, their mean, the sum of squared distances to it, and their range."""

    n: int
    mean: float
    spread: float
    low: float
    high: float

    @staticmethod
    def of(numbers: Floats) -> Moments:
        """Of numbers (n,), none of them missing."""
        if not len(numbers):
            return Moments(0, 0.0, 0.0, np.inf, -np.inf)
        mean = float(numbers.mean())
        spread = float(((numbers - mean) ** 2).sum())
        return Moments(len(numbers), mean, spread, float(numbers.min()), float(numbers.max()))

    def __add__(self, other: Moments) -> Moments:
        n = self.n + other.n
        if not n:
            return self
        apart = other.mean - self.mean
        return Moments(
            n,
            self.mean + apart * other.n / n,
            self.spread + other.spread + apart**2 * self.n * other.n / n,
            min(self.low, other.low),
            max(self.high, other.high),
        )

    @property
    def deviation(self) -> float:
        """Standard deviation."""
        return float(np.sqrt(self.spread / self.n)) if self.n else float("nan")


@dataclass(frozen=True)
class ColumnProfile:
    """One column.

    Attributes
    ----------
    missing, infinite : how many cells are
    moments : of numbers; None of other columns
    levels : how often each value is there, of columns that are no numbers; None if they are more than are counted
    """

    missing: int
    infinite: int
    moments: Moments | None
    levels: Mapping[str, int] | None

    def __add__(self, other: ColumnProfile) -> ColumnProfile:
        moments = None if self.moments is None or other.moments is None else self.moments + other.moments
        levels = None
        if self.levels is not None and other.levels is not None:
            levels = _bounded(Counter(self.levels) + Counter(other.levels))
        return ColumnProfile(self.missing + other.missing, self.infinite + other.infinite, moments, levels)


@dataclass(frozen=True)
class Profile:
    """All columns of some rows."""

    rows: int
    columns: Mapping[str, ColumnProfile]

    def __add__(self, other: Profile) -> Profile:
        return Profile(self.rows + other.rows, {name: one + other.columns[name] for name, one in self.columns.items()})

    def findings(self, features: list[str], label: str | None) -> list[Finding]:
        """What a sample of the rows may not show, but prevents an audit."""
        found = []
        for name in features:
            if count := self.columns[name].infinite:
                message = f"Column '{name}' has {count:,} infinite cells among {self.rows:,}."
                remedy = "Correct them, or ignore the column."
                found.append(Finding("infinite", "error", message, remedy, name, count))
        if label is not None and (count := self.columns[label].missing):
            message, remedy = (
                f"The label column '{label}' has {count:,} missing cells.",
                "Fill these, or drop their rows.",
            )
            found.append(Finding("label-missing", "error", message, remedy, label, count))
        return found

    def furthest(self, sample: Profile) -> tuple[str, float] | None:
        """The column in which a sample differs most from all rows, and by how many standard errors of its mean.

        By the means of numbers, and the shares of values; None if no column can be compared.
        """
        apart: dict[str, float] = {}
        for name, whole in self.columns.items():
            some = sample.columns[name]
            if whole.moments is not None and some.moments is not None and some.moments.n and whole.moments.spread > 0.0:
                error = whole.moments.deviation / np.sqrt(some.moments.n)
                apart[name] = abs(some.moments.mean - whole.moments.mean) / error
            elif whole.levels and some.levels is not None:
                apart[name] = max(self._apart(count, some.levels.get(level, 0), sample.rows)
                                  for level, count in whole.levels.items())  # fmt: skip
        return max(apart.items(), key=lambda one: one[1], default=None)

    def _apart(self, count: int, seen: int, rows: int) -> float:
        share = count / self.rows
        error = np.sqrt(max(share * (1.0 - share), 1.0 / self.rows) / rows)
        return float(abs(seen / rows - share) / error)


def profile_of(table: pd.DataFrame) -> Profile:
    """The profile of rows that are in memory."""
    return Profile(len(table), {str(name): _column(cells) for name, cells in table.items()})


def _column(cells: pd.Series[Any]) -> ColumnProfile:
    known = cells.dropna()
    missing = len(cells) - len(known)
    if pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells):
        numbers = known.to_numpy(dtype=np.float64)
        finite = np.isfinite(numbers)
        return ColumnProfile(missing, int((~finite).sum()), Moments.of(numbers[finite]), None)
    if pd.api.types.is_datetime64_any_dtype(cells):
        return ColumnProfile(missing, 0, None, None)
    counts = known.value_counts()
    levels = {str(level): int(count) for level, count in counts.items()} if len(counts) <= MOST_LEVELS else None
    return ColumnProfile(missing, 0, None, levels)


def _bounded(levels: Counter[str]) -> Mapping[str, int] | None:
    return dict(levels) if len(levels) <= MOST_LEVELS else None
