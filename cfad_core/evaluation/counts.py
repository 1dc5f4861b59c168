"""Counts of scores by group and label: what is kept of people who are too many to keep their scores.

The counts of parts of a table add up to those of the table, in whatever order the parts come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.evaluation.group_metrics import GroupScores
from cfad_core.evaluation.outcomes import Tallies
from cfad_core.evaluation.tally import Counts, Tally

_BINS = 8_192
_TAIL = 0.1  # of the people with the highest scores, who get half of the bins: thresholds lie among them


@dataclass(frozen=True)
class ScoreCounts:
    """How many people of each group have a score in each bin.

    Attributes
    ----------
    edges : (b,), ascending, the upper edges of the bins; the last one is infinite
    counts : (groups, labels, b): of normal people and of anomalies; one row, of all people, without labels
    highest : score that anybody has
    """

    edges: Floats
    counts: Counts
    highest: float = -np.inf

    @staticmethod
    def none(edges: Floats, groups: int, *, labelled: bool) -> ScoreCounts:
        """Of nobody yet."""
        return ScoreCounts(edges, np.zeros((groups, 1 + labelled, len(edges)), dtype=np.int64))

    def with_people(self, score: Floats, group: NDArray[np.intp], is_anomaly: Bools | None) -> ScoreCounts:
        """These and people (n,), whose scores are finite or infinite, but known."""
        groups, labels, bins = self.counts.shape
        place = np.searchsorted(self.edges, score)
        cell = group * labels + (0 if is_anomaly is None else is_anomaly)
        found = np.bincount(cell * bins + place, minlength=groups * labels * bins)
        highest = max(self.highest, float(score.max(initial=-np.inf)))
        return replace(self, counts=self.counts + found.reshape(self.counts.shape), highest=highest)

    def __add__(self, other: ScoreCounts) -> ScoreCounts:
        return replace(self, counts=self.counts + other.counts, highest=max(self.highest, other.highest))

    def grouped(self, rows: NDArray[np.intp], group: NDArray[np.intp], groups: int) -> ScoreCounts:
        """Some of the groups (r,), each taken into another one (r,)."""
        counts = np.zeros((groups, *self.counts.shape[1:]), dtype=np.int64)
        np.add.at(counts, group, self.counts[rows])
        return replace(self, counts=counts)

    def tallies(self, group: int | None = None) -> Tallies:
        """Of all people and of the anomalies among them; or of one group's."""
        counts = self.counts.sum(axis=0) if group is None else self.counts[group]
        everybody = self._tally(counts.sum(axis=0))
        return everybody, self._tally(counts[1]) if len(counts) > 1 else None

    def _tally(self, counts: Counts) -> Tally:
        upper = self.edges.copy()
        upper[-1] = max(self.highest, *self.edges[-2:-1])
        return Tally(upper, counts)

    def group_scores(self, names: Sequence[str], seed: int) -> GroupScores:
        """The metrics of the groups."""
        normal = [self._tally(counts[0]) for counts in self.counts]
        labelled = self.counts.shape[1] > 1
        anomalies = [self._tally(counts[1]) for counts in self.counts] if labelled else None
        return GroupScores.counted(normal, anomalies, self.tallies()[0].median, names, seed)

    @property
    def people(self) -> Counts:
        """(groups,), how many there are."""
        return np.asarray(self.counts.sum(axis=(1, 2)))

    @property
    def error(self) -> float:
        """By which share of all people a count may be too high, at most, at a threshold that is no edge."""
        return self.tallies()[0].error


def edges_for(scores: Floats, thresholds: Floats) -> Floats:
    """Bins for people like those with these scores (n,): many where many are, and where thresholds are.

    The thresholds (k,) are edges: what is counted above them is exact. The last edge is infinite.
    """
    body = np.linspace(0.0, 1.0 - _TAIL, _BINS // 2)
    tail = np.linspace(1.0 - _TAIL, 1.0, _BINS // 2)
    known = scores[np.isfinite(scores)]
    spread = np.quantile(known, np.concatenate([body, tail])) if len(known) else np.zeros(0)
    return np.unique(np.concatenate([spread, thresholds[np.isfinite(thresholds)], [np.inf]]))
