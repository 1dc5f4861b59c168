"""The columns that people are sliced by: numbers cut into bands, categories by their levels.

Where a number is cut depends on that column alone, never on who is flagged, so that cutting is no search.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats, Rows

FEWEST = 50  # people of a cell; fewer are no cell
BANDS = 5  # of a number, at most, besides its common values
FEW_VALUES = 6  # so many different numbers, or fewer, are cells of their own
COMMON = 1.0 / BANDS  # a number that so many people have, as many as a band would hold, is a cell of its own
MISSING = "missing"
_FROM_FIVE_DIGITS = 10_000.0  # thousands have a comma where numbers are that large: years do not
_DIGITS = 14  # that count; what is further behind comes from scaling forth and back


@dataclass(frozen=True, eq=False)
class SliceColumn:
    """A column of people, cut into cells.

    Attributes
    ----------
    name : of the column
    labels : (k,), of its cells: ``north``, ``25 to 39``
    cells : (n,), the cell of everybody, from 0; -1 for people in none
    """

    name: str
    labels: tuple[str, ...]
    cells: Rows

    @property
    def texts(self) -> tuple[str, ...]:
        """(k,), with the name of the column: ``region: north``."""
        return tuple(f"{self.name}: {label}" for label in self.labels)


def level_column(name: str, levels: NDArray[np.integer], labels: Sequence[str]) -> SliceColumn:
    """A category, with a cell for each level that 50 people or more have.

    Parameters
    ----------
    levels : (n,), the position of everybody's level among ``labels``; -1 for none
    labels : of the levels

    Raises
    ------
    ValueError
        If there is a level without a label.
    """
    if len(levels) and not -1 <= levels.min() <= levels.max() < len(labels):
        raise ValueError(
            f"Expected levels of '{name}' from -1 to {len(labels) - 1}; got {levels.min()} to {levels.max()}. "
            "Give every level a label."
        )
    counts = np.bincount(levels.astype(np.intp) + 1, minlength=len(labels) + 1)[1:]
    kept = np.flatnonzero(counts >= FEWEST)
    place = np.full(len(labels) + 1, -1, dtype=np.intp)  # the last stands for people without a level, who are at -1
    place[kept] = np.arange(len(kept))
    return SliceColumn(name, tuple(labels[int(k)] for k in kept), place[levels])


def number_column(name: str, numbers: Floats) -> SliceColumn:
    """A number, cut into bands that about as many people each are in.

    A number that a fifth of the people have (0, as a rule) is a cell of its own, and bands do not reach across it. Up
    to six different numbers are a cell each. Borders are rounded as far as hardly moves them. Cells of fewer than 50
    people are left out.

    Parameters
    ----------
    numbers : (n,), in the table's own units; those that are nan or infinite are the cell ``missing``
    """
    known = np.isfinite(numbers)
    exact = _without_noise(numbers[known])
    bands = _bands(exact)
    whole = bool((exact == np.rint(exact)).all())
    commas = bool(np.abs(exact).max(initial=0.0) >= _FROM_FIVE_DIGITS)
    levels = np.full(len(numbers), len(bands), dtype=np.intp)
    of_known = np.full(len(exact), -1, dtype=np.intp)
    for k, band in enumerate(bands):
        of_known[band.holds(exact)] = k
    levels[known] = of_known
    return level_column(name, levels, [*(band.label(whole, commas) for band in bands), MISSING])


@dataclass(frozen=True)
class _Band:
    """Numbers from ``low``, or above it if that is left out, and below ``high``; a single number if both are equal."""

    low: float
    high: float
    without_low: bool = False

    def holds(self, numbers: Floats) -> Bools:
        from_low = numbers > self.low if self.without_low else numbers >= self.low
        to_high = numbers == self.high if self.low == self.high else numbers < self.high
        held: Bools = from_low & to_high
        return held

    def label(self, whole: bool, commas: bool) -> str:
        """``25 to 39`` of whole numbers, ``0.5 to under 2``, ``under 25``, ``40 or more``, ``over 0``, ``0``."""
        low, high = (_written(end, commas) for end in (self.low, self.high))
        if self.low == self.high:
            return low
        if self.low == -np.inf:
            return "known" if self.high == np.inf else f"under {high}"
        if self.high == np.inf:
            return f"over {low}" if self.without_low else f"{low} or more"
        if whole:
            ends = _written(self.low + self.without_low, commas), _written(self.high - 1.0, commas)
            return ends[0] if ends[0] == ends[1] else f"{ends[0]} to {ends[1]}"
        return f"over {low} to under {high}" if self.without_low else f"{low} to under {high}"


def _without_noise(numbers: Floats) -> Floats:
    """With 14 digits, counted from the first one of the largest number; -0 becomes 0."""
    largest = float(np.abs(numbers).max(initial=0.0))
    if largest == 0.0:
        return np.zeros(len(numbers))
    exact: Floats = np.round(numbers, _DIGITS - 1 - int(np.floor(np.log10(largest)))) + 0.0
    return exact


def _bands(numbers: Floats) -> list[_Band]:
    """Ascending; a number (n,) is in one of them at most."""
    values, counts = np.unique(numbers, return_counts=True)
    if len(values) <= FEW_VALUES:
        return [_Band(float(value), float(value)) for value in values]
    common = [float(value) for value in values[counts >= COMMON * len(numbers)]]
    found, low = [], -np.inf
    for high in (*common, np.inf):
        found += _between(numbers, low, high)
        if high != np.inf:
            found.append(_Band(high, high))
        low = high
    return found


def _between(numbers: Floats, low: float, high: float) -> list[_Band]:
    """The bands of the numbers above ``low`` and below ``high``."""
    part = numbers[(numbers > low) & (numbers < high)]
    count = min(round(BANDS * len(part) / len(numbers)), len(part) // FEWEST)
    ends = [low, *(_borders(part, count) if count > 1 else []), high]
    return [_Band(start, end, without_low=k == 0 and start != -np.inf) for k, (start, end) in enumerate(pairwise(ends))]


def _borders(part: Floats, count: int) -> list[float]:
    """Between so many bands, or fewer where many people have the same number; each is the start of a band.

    They are rounded by a quarter, at most, of the way to the next one: far less than a band.
    """
    ends = np.unique(np.quantile(part, np.linspace(0.0, 1.0, count + 1), method="higher"))
    inner = ends[1:-1]
    room = np.minimum(inner - ends[:-2], ends[2:] - inner)
    decimals = -np.floor(np.log10(room / 2.0)).astype(np.intp)
    return [float(np.round(border, place)) + 0.0 for border, place in zip(inner, decimals, strict=True)]


def _written(number: float, commas: bool) -> str:
    """All its digits, and no more."""
    whole, point, behind = np.format_float_positional(abs(number), trim="-").partition(".")
    if commas and whole.isdigit():
        whole = f"{int(whole):,}"
    return f"{'-' if number < 0.0 else ''}{whole}{point}{behind}"
