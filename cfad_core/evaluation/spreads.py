"""How the values of one column are spread in each group, and where one value lies among them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from cfad_core.core.arrays import Floats

_OUTERMOST = 0.005  # share of people on either side that a picture may leave out
_MOST_WHOLE = 30  # whole numbers that have a bin each
_BINS = 32
_SMOOTH = np.array([1.0, 4.0, 6.0, 4.0, 1.0]) / 16.0


@dataclass(frozen=True)
class NumberSpread:
    """A column of numbers.

    Attributes
    ----------
    values : by group, the known ones in ascending order
    seconds : of a date, how many its unit has; None of other numbers
    """

    values: Mapping[str, Floats]
    seconds: float | None = None

    def below(self, group: str, value: float) -> float | None:
        """The share of a group's people who have less, half of those who have the same among them; None if nobody."""
        values = self.values[group]
        if not len(values):
            return None
        low, high = (np.searchsorted(values, value, side=side) for side in ("left", "right"))
        return float((low + high) / (2.0 * len(values)))

    def bins(self, groups: Sequence[str], marked: Sequence[float]) -> Bins:
        """The density in some groups on shared bins, which reach to all marked values."""
        every = np.sort(np.concatenate([self.values[group] for group in groups]))
        low, high = np.quantile(every, [_OUTERMOST, 1.0 - _OUTERMOST]) if len(every) else (0.0, 1.0)
        low, high = float(min([low, *marked])), float(max([high, *marked]))
        inside = np.unique(every[(every >= low) & (every <= high)])
        if len(inside) and (inside == np.rint(inside)).all() and high - low < _MOST_WHOLE:
            edges, smooth = np.arange(np.floor(low), np.ceil(high) + 2.0) - 0.5, False
        else:
            room = 0.02 * (high - low) or max(0.5, 0.01 * abs(low))
            edges, smooth = np.linspace(low - room, high + room, _BINS + 1), True
        heights = {group: _shares(self.values[group], edges, smooth=smooth) for group in groups}
        return Bins(edges, heights, is_smooth=smooth)


@dataclass(frozen=True)
class Bins:
    """Shares of groups in bins.

    Attributes
    ----------
    edges : (b + 1,)
    shares : by group, (b,)
    is_smooth : whether they are smoothed, as there are more values than bins
    """

    edges: Floats
    shares: Mapping[str, Floats]
    is_smooth: bool


@dataclass(frozen=True)
class LevelSpread:
    """A column of categories.

    Attributes
    ----------
    levels : the most frequent first
    shares : by group, (levels,)
    """

    levels: tuple[str, ...]
    shares: Mapping[str, Floats]

    def share(self, group: str, level: str) -> float:
        """The share of a group that has a level."""
        return float(self.shares[group][self.levels.index(level)]) if level in self.levels else 0.0


Spread: TypeAlias = NumberSpread | LevelSpread


def _shares(values: Floats, edges: Floats, *, smooth: bool) -> Floats:
    counts = np.histogram(values, edges)[0].astype(np.float64)
    if smooth:
        padded = np.pad(counts, 2)
        counts = np.convolve(padded, _SMOOTH, mode="valid")
    shares: Floats = counts / max(1, len(values))
    return shares
