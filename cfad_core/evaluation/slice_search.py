"""The search for slices in one half of the people: every cell, every two cells, and the few that are worth a test.

A slice is one cell of a column, or what two cells of two columns have in common. For two columns all slices are counted
at once, as one table of their cells: that takes as long as reading the two columns, and adds up everybody's values in
the order of the people, so nothing depends on the order of the columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.progress import Progress
from cfad_core.evaluation.slice_columns import FEWEST, SliceColumn

STAGE = "slices"
FEWEST_IN_HALF = (FEWEST + 1) // 2  # people of a slice in each half, so that there are 50 in both
CHOSEN = 10  # slices at most that the other half is asked about: the more, the stricter each is tested
CLEAR = 2.0  # standard errors that a slice is above all others where it is found; lower ones would hardly be confirmed
CLEARLY_ABOVE_CELL = 3.0  # and two cells above the rest of each; a cell has dozens of parts, some high by chance
ALIKE = 0.8  # two slices are alike that share so many of all people in either
_CONSIDERED = 200  # of the slices that are clear, the first
_CHANCE = 0.05  # that any lower bound in the search is above the truth


@dataclass(frozen=True)
class Sums:
    """Of values from 0 to 1, over the people of each of some slices, arrays of one shape.

    Attributes
    ----------
    n : people
    total, squares : sum of their values, and of the squares
    """

    n: Floats
    total: Floats
    squares: Floats

    @staticmethod
    def of(values: Floats) -> Sums:
        """Of everybody (n,)."""
        return Sums(np.array(float(len(values))), values.sum(), np.square(values).sum())

    def take(self, places: Rows | Bools) -> Sums:
        return Sums(self.n[places], self.total[places], self.squares[places])

    def without(self, part: Sums) -> Sums:
        """Of the same people but for those of a part."""
        return Sums(self.n - part.n, self.total - part.total, self.squares - part.squares)

    @property
    def mean(self) -> Floats:
        mean: Floats = self.total / np.maximum(self.n, 1.0)
        return mean

    @property
    def mean_with_unknown(self) -> Floats:
        """With two unknown people more, a 0 and a 1: that nobody of few is flagged does not mean that nobody is."""
        mean: Floats = (self.total + 1.0) / (self.n + 2.0)
        return mean

    @property
    def variance(self) -> Floats:
        """Of the mean, with the same two unknown people; of flags that is the one of Agresti and Caffo (2000)."""
        spread = (self.squares + 1.0) / (self.n + 2.0) - np.square(self.mean_with_unknown)
        variance: Floats = spread / (self.n + 2.0)
        return variance


class Cells:
    """The cells of all columns, numbered through, by the names of the columns.

    Parameters
    ----------
    columns : of all people
    people : (m,), positions of those who are looked at
    """

    def __init__(self, columns: Sequence[SliceColumn], people: Rows) -> None:
        ordered = sorted(columns, key=lambda column: column.name)
        self.texts = tuple(text for column in ordered for text in column.texts)
        self.widths = [len(column.labels) for column in ordered]
        self.starts = [sum(self.widths[:k]) for k in range(len(ordered))]
        # (m,) each; people in no cell are in one more
        self.codes = [np.where(column.cells < 0, len(column.labels), column.cells)[people] for column in ordered]
        self._place = [(k, cell) for k, width in enumerate(self.widths) for cell in range(width)]

    def members(self, numbers: Sequence[int]) -> Bools:
        """Who of the people (m,) is in all of these cells."""
        found = np.ones(len(self.codes[0]), dtype=np.bool_)
        for number in numbers:
            k, cell = self._place[number]
            found &= self.codes[k] == cell
        return found


@dataclass(frozen=True)
class Subgroups:
    """The slices that are large enough, S of them.

    Attributes
    ----------
    first, second : (S,), the numbers of their cells; the second is -1 where there is one alone
    sums : (S,), in the first half
    cells : (C,), of every cell by itself, in the first half
    everybody : of all people of the first half
    """

    first: Rows
    second: Rows
    sums: Sums
    cells: Sums
    everybody: Sums

    def __len__(self) -> int:
        return len(self.first)

    def numbers(self, place: int) -> tuple[int, ...]:
        """Of the cells of a slice."""
        both = int(self.first[place]), int(self.second[place])
        return both[:1] if both[1] < 0 else both


def count_slices(cells: Cells, values: Floats, half: int, progress: Progress) -> Subgroups:
    """All slices of at least 50 people, 25 in each half, and as many others.

    Parameters
    ----------
    values : (m,), of the people whom the cells are of; of the second half nothing is read
    half : how many of them, from the first, are the first half
    """
    counter = _Counter(values, half)
    singles = [counter.count(code, width + 1)[:, :width] for code, width in zip(cells.codes, cells.widths, strict=True)]
    alone = np.concatenate([np.zeros((4, 0)), *singles], axis=1)  # (4, C)
    large = np.flatnonzero(counter.are_large(alone))
    found, first, second = [alone[:, large]], [large], [np.full(len(large), -1, dtype=np.intp)]
    for i, j in combinations(range(len(cells.codes)), 2):
        progress.check(STAGE)
        wide, narrow = cells.widths[i] + 1, cells.widths[j] + 1
        both = counter.count(cells.codes[i] * narrow + cells.codes[j], wide * narrow).reshape(4, wide, narrow)
        both = both[:, :-1, :-1]
        a, b = np.nonzero(counter.are_large(both))
        found.append(both[:, a, b])
        first.append(a + cells.starts[i])
        second.append(b + cells.starts[j])
    n, _, total, squares = np.concatenate(found, axis=1)
    return Subgroups(
        np.concatenate(first),
        np.concatenate(second),
        Sums(n, total, squares),
        Sums(alone[0], alone[2], alone[3]),
        Sums.of(values[:half]),
    )


class _Counter:
    """Counts people of both halves, and adds up the values of the first."""

    def __init__(self, values: Floats, half: int) -> None:
        self.half, self.others = half, len(values) - half
        self._positive = np.flatnonzero(values[:half])  # most people are not flagged: they add nothing
        self._values = values[self._positive]
        self._squares = np.square(self._values)

    def count(self, code: Rows, size: int) -> Floats:
        """By code (m,), (4, size): people of the first half, of the second, sums of values and of squares."""
        positive = code[self._positive]
        found: Floats = np.array(
            [
                np.bincount(code[: self.half], minlength=size),
                np.bincount(code[self.half :], minlength=size),
                np.bincount(positive, self._values, size),
                np.bincount(positive, self._squares, size),
            ]
        )
        return found

    def are_large(self, counts: Floats) -> Bools:
        """Which slices (4, ...) have 25 people or more in each half, so 50 in both, and leave as many others."""
        here, there = counts[0], counts[1]
        inside, outside = np.minimum(here, there), np.minimum(self.half - here, self.others - there)
        large: Bools = np.minimum(inside, outside) >= FEWEST_IN_HALF
        return large


def choose_slices(found: Subgroups, cells: Cells) -> list[tuple[int, ...]]:
    """The worst slices by the first half, ten at most, each as the numbers of its cells.

    The worst are those whose value is above that of all others by the most, as far as that is known: by the lower bound
    of the difference, all bounds together at 95 %, so that a small slice does not win by chance. Where the bound is not
    above 0, they follow by their difference in standard errors; those below two are left out. Two cells must be three
    standard errors above the rest of either cell: otherwise that cell says as much. Of slices with nearly the same
    people the first stays.
    """
    if not len(found):
        return []
    from scipy.special import ndtri

    gap, error = apart(found.sums, found.everybody.without(found.sums))
    allowed = (gap > CLEAR * error) & _adds_to_cells(found)
    lower = gap + float(ndtri(_CHANCE / len(found))) * error

    def rank(place: int) -> tuple[float, float, int, list[str]]:
        numbers = found.numbers(place)
        texts = [cells.texts[number] for number in numbers]
        return -max(0.0, float(lower[place])), -float(gap[place] / error[place]), len(numbers), texts

    ranked = sorted((int(place) for place in np.flatnonzero(allowed)), key=rank)
    return _distinct([found.numbers(place) for place in ranked[:_CONSIDERED]], cells)


def apart(part: Sums, rest: Sums) -> tuple[Floats, Floats]:
    """By how much the mean of a part is above that of the rest, and the standard error of that."""
    return part.mean - rest.mean, np.sqrt(part.variance + rest.variance)


def _adds_to_cells(found: Subgroups) -> Bools:
    """Which slices (S,) are clearly above what remains of either of their cells; a single cell always is."""
    allowed: Bools = np.ones(len(found), dtype=np.bool_)
    pairs = np.flatnonzero(found.second >= 0)
    inside = found.sums.take(pairs)
    for numbers in (found.first[pairs], found.second[pairs]):
        remaining = found.cells.take(numbers).without(inside)
        gap, error = apart(inside, remaining)
        allowed[pairs] &= (gap > CLEARLY_ABOVE_CELL * error) & (remaining.n >= FEWEST_IN_HALF)
    return allowed


def _distinct(ranked: list[tuple[int, ...]], cells: Cells) -> list[tuple[int, ...]]:
    """The first ten of the slices that are not alike."""
    chosen: list[tuple[int, ...]] = []
    taken: list[Bools] = []
    for numbers in ranked:
        inside = cells.members(numbers)
        if all((inside & other).sum() < ALIKE * (inside | other).sum() for other in taken):
            chosen.append(numbers)
            taken.append(inside)
        if len(chosen) == CHOSEN:
            break
    return chosen
