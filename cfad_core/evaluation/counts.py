"""Counts of scores by group and label: what is kept of people who are too many to keep their scores.

The counts of parts of a table add up to those of the table, in whatever order the parts come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

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

    @cached_property
    def cells(self) -> ScoreCells:
        """What they say of scores."""
        upper = self.edges.copy()
        upper[-1] = max(self.highest, *self.edges[-2:-1])
        return ScoreCells(tuple(tuple(Tally(upper, counts) for counts in group) for group in self.counts))

    @property
    def people(self) -> Counts:
        """(groups,), how many there are."""
        return np.asarray(self.counts.sum(axis=(1, 2)))

    @property
    def error(self) -> float:
        """By which share of all people a count may be too high, at most, at a threshold that is no edge."""
        return self.cells.tallies()[0].error


@dataclass(frozen=True)
class ScoreCells:
    """The scores of people by group and label.

    Attributes
    ----------
    tallies_of : by group, those of normal people and of anomalies; of all people alone without labels
    """

    tallies_of: tuple[tuple[Tally, ...], ...]

    @staticmethod
    def of(score: Floats, group: NDArray[np.intp], groups: int, is_anomaly: Bools | None) -> ScoreCells:
        """Of people (n,) in one of so many groups each."""
        labels = 1 if is_anomaly is None else 2
        cell = group if is_anomaly is None else 2 * group + is_anomaly
        cell = cell.astype(np.min_scalar_type(labels * groups))  # small numbers are sorted in linear time
        ends = np.cumsum(np.bincount(cell, minlength=labels * groups))
        parts = [Tally.of(part) for part in np.split(score[np.argsort(cell, kind="stable")], ends[:-1])]
        return ScoreCells(tuple(tuple(parts[labels * k : labels * (k + 1)]) for k in range(groups)))

    def grouped(self, rows: NDArray[np.intp], group: NDArray[np.intp], groups: int) -> ScoreCells:
        """Some of the groups (r,), each taken into another one (r,)."""
        if rows.tolist() == group.tolist() == list(range(len(self.tallies_of))):
            return self
        taken = [[self.tallies_of[row] for row in rows[group == k]] for k in range(groups)]
        return ScoreCells(tuple(self._together(some) for some in taken))

    def _together(self, groups: list[tuple[Tally, ...]]) -> tuple[Tally, ...]:
        """Some groups as one, by label."""
        return tuple(Tally.total([one[k] for one in groups] or [self._nobody]) for k in range(self.labels))

    @property
    def labels(self) -> int:
        return len(self.tallies_of[0])

    @property
    def _nobody(self) -> Tally:
        first = self.tallies_of[0][0]
        return Tally(np.zeros(0)) if first.counts is None else Tally(first.ascending, np.zeros_like(first.counts))

    def tallies(self, group: int | None = None) -> Tallies:
        """Of all people and of the anomalies among them; or of one group's."""
        if group is None:
            whole = [self.tallies(k) for k in range(len(self.tallies_of))]
            anomalies = [odd for _, odd in whole if odd is not None]
            return Tally.total([people for people, _ in whole]), Tally.total(anomalies) if self.labels > 1 else None
        found = self.tallies_of[group]
        return (Tally.total(found), found[1]) if self.labels > 1 else (found[0], None)

    def group_scores(self, names: Sequence[str], seed: int) -> GroupScores:
        """The metrics of the groups."""
        normal, anomalies = ([one[label] for one in self.tallies_of] for label in (0, -1))
        median = self.tallies()[0].median
        return GroupScores.counted(normal, anomalies if self.labels > 1 else None, median, names, seed)


def edges_for(scores: Floats, thresholds: Floats) -> Floats:
    """Bins for people like those with these scores (n,): many where many are, and where thresholds are.

    The thresholds (k,) are edges: what is counted above them is exact. The last edge is infinite.
    """
    body = np.linspace(0.0, 1.0 - _TAIL, _BINS // 2)
    tail = np.linspace(1.0 - _TAIL, 1.0, _BINS // 2)
    known = scores[np.isfinite(scores)]
    spread = np.quantile(known, np.concatenate([body, tail])) if len(known) else np.zeros(0)
    return np.unique(np.concatenate([spread, thresholds[np.isfinite(thresholds)], [np.inf]]))
