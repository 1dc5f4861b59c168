"""How many people score above a threshold, whatever the threshold: from all of their scores, or from counts of them.

Scores that are sorted answer exactly. Of people who are too many to keep all their scores, it is counted how many fall
into each of many bins; such counts of parts of the people add up to those of all. A count above the upper edge of a bin
is exact; between two edges it is too high by less than the people of that bin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats

Counts = NDArray[np.int64]


@dataclass(frozen=True)
class Tally:
    """Scores of people.

    Attributes
    ----------
    ascending : (b,), their scores; or the upper edges of bins, each of which stands for all scores in it
    counts : (b,), people in each bin; None: ``ascending`` are the scores themselves
    """

    ascending: Floats
    counts: Counts | None = None

    @staticmethod
    def of(scores: Floats) -> Tally:
        """Of scores (n,) in any order."""
        return Tally(np.sort(scores))

    @staticmethod
    def total(parts: Sequence[Tally]) -> Tally:
        """Of the people of several tallies; those of bins must have the same bins."""
        counts = [part.counts for part in parts if part.counts is not None]
        if not counts:
            return Tally.of(np.concatenate([np.zeros(0), *(part.ascending for part in parts)]))
        return Tally(parts[0].ascending, np.sum(counts, axis=0))

    @cached_property
    def n(self) -> int:
        """How many people there are."""
        return len(self.ascending) if self.counts is None else int(self.counts.sum())

    @cached_property
    def _up_to(self) -> Counts:
        """(b + 1,), how many people are in the first bins."""
        assert self.counts is not None
        return np.concatenate([[0], np.cumsum(self.counts)])

    @cached_property
    def weights(self) -> Floats:
        """(b,), how many people each of ``ascending`` stands for."""
        return np.ones(len(self.ascending)) if self.counts is None else self.counts.astype(np.float64)

    def below(self, threshold: Floats, side: Literal["left", "right"] = "left") -> Counts:
        """How many score below each threshold; or, on the right side, not above it."""
        place = np.searchsorted(self.ascending, threshold, side=side)
        return place.astype(np.int64) if self.counts is None else self._up_to[place]

    def above(self, threshold: Floats | float) -> Floats:
        """How many exceed each threshold."""
        count: Floats = (self.n - self.below(np.asarray(threshold), "right")).astype(np.float64)
        return count

    def place(self, rank: NDArray[np.integer]) -> NDArray[np.integer]:
        """Where in ``ascending`` the people with these ranks are, from 0, ascending."""
        return rank if self.counts is None else np.searchsorted(self._up_to[1:], rank, side="right")

    def at_rank(self, rank: NDArray[np.integer]) -> Floats:
        """The scores of the people with these ranks."""
        found: Floats = self.ascending[self.place(rank)]
        return found

    def quantile(self, share: Floats) -> Floats:
        """As ``np.quantile`` of the scores."""
        if self.counts is None:
            found: Floats = np.quantile(self.ascending, share)
            return found
        place = np.asarray(share) * (self.n - 1)
        low, high = self.at_rank(np.floor(place).astype(np.int64)), self.at_rank(np.ceil(place).astype(np.int64))
        between: Floats = low + (high - low) * (place - np.floor(place))
        return between

    @cached_property
    def median(self) -> float:
        """Nan without people."""
        if not self.n:
            return float("nan")
        return float(self.at_rank(np.array([(self.n - 1) // 2, self.n // 2])).mean())

    @cached_property
    def error(self) -> float:
        """By which share of the people a count may be wrong, at most."""
        return 0.0 if self.counts is None or not self.n else float(self.counts.max() / self.n)


def average_precision(anomalies: Tally, everybody: Tally) -> float | None:
    """AUC-PR, whatever the threshold; None unless there are anomalies and normal rows.

    The mean over the anomalies of the precision at a threshold just below them.
    """
    if not 0 < anomalies.n < everybody.n:
        return None
    scores = anomalies.ascending
    found = anomalies.n - anomalies.below(scores)  # (a,), anomalies that score at least as high
    flagged = everybody.n - everybody.below(scores)
    return float((anomalies.weights * (found / np.maximum(flagged, 1))).sum() / anomalies.n)


def area_under_roc(anomalies: Tally, everybody: Tally) -> float | None:
    """The chance that an anomaly scores higher than a normal row; None unless there are both.

    Equal scores count half, as do those of one bin.
    """
    if not 0 < anomalies.n < everybody.n:
        return None
    scores = anomalies.ascending
    below, up_to = (everybody.below(scores, side) - anomalies.below(scores, side) for side in ("left", "right"))
    return float((anomalies.weights * (below + up_to)).sum() / anomalies.n / 2.0 / (everybody.n - anomalies.n))
