"""How much of the changing ratio goes with a path from the sensitive attribute, and how much is left without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import SMALLEST_GROUP
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.intervals import Interval, draw_people, interval, with_unknown

Path = tuple[str, ...]


@dataclass(frozen=True)
class PathShare:
    """One path, and all that follows from it.

    Attributes
    ----------
    path : from a sensitive attribute on; empty: all paths that are not listed by themselves
    graphs : in how many graphs it is
    remaining : share of people whose outcome still changes if it carries nothing
    gone : what no longer changes then, as a share of all that changes; below 0 if more outcomes change
    alone : share of people whose outcome changes if it alone carries anything
    """

    path: Path
    graphs: int
    remaining: Estimate
    gone: Estimate
    alone: Estimate

    @property
    def name(self) -> str:
        """``gender → income → debt``."""
        return " → ".join(self.path) or "all other paths"

    @property
    def is_direct(self) -> bool:
        """Whether it begins with a column that others may listen to, and names no further one."""
        return len(self.path) == 2


@dataclass(frozen=True)
class PathShares:
    """All paths of one method at one threshold.

    Attributes
    ----------
    people : that it was counted on
    models : causal models, each with a graph of its own
    whole : share of these people whose outcome changes by all paths
    direct : if the sensitive attribute acted by its own arrows alone, and no column passed anything on
    passed_on : if only what columns pass on were seen
    told : if no column changed, but the group did; of a method that is given the group
    rows : the paths, those that carry most first
    """

    people: int
    models: int
    whole: Estimate
    direct: Estimate
    passed_on: Estimate
    told: Estimate | None
    rows: tuple[PathShare, ...]

    @property
    def says_enough(self) -> bool:
        """Whether enough outcomes change to compare paths at all."""
        return (self.whole.value or 0.0) * self.people >= SMALLEST_GROUP


@dataclass(frozen=True)
class RemainingRatio:
    """What is left without some paths.

    Attributes
    ----------
    people : that it was counted on
    models : causal models
    whole : share of these people whose outcome changes by all paths
    remaining : the same without these paths
    gone : the difference of the two
    graphs : by path, in how many of the models' graphs it is
    """

    people: int
    models: int
    whole: Estimate
    remaining: Estimate
    gone: Estimate
    graphs: tuple[int, ...]


@dataclass(frozen=True)
class ChangingRatios:
    """Ratios of the same people by the same models, each model with a sample of the people of its own.

    Attributes
    ----------
    whole : (B, m), how likely each person's outcome changes by each model
    seed : of the samples, as of all other intervals; None: without intervals
    """

    whole: Floats
    seed: int | None

    @cached_property
    def _samples(self) -> list[tuple[Floats, int]]:
        """By model, how often each person is in its sample (m,), and the unknown person."""
        models, people = self.whole.shape
        found = []
        for b in range(models if self.seed is not None else 0):
            rows, unseen = draw_people(people, self.seed or 0, b)
            found.append((np.bincount(rows, minlength=people).astype(np.float64), unseen))
        return found

    def ratio(self, changes: Floats) -> Estimate:
        """The share of people whose outcome changes, from how likely each one's does by each model, (B, m)."""
        people = changes.shape[1]
        found = [
            with_unknown(np.array([times @ one]), people, np.array([float(unseen)]))[0]
            for (times, unseen), one in zip(self._samples, changes, strict=False)
        ]
        return _estimate(float(changes.mean()), np.array(found))

    def gone(self, changes: Floats) -> Estimate:
        """What no longer changes, in shares of people: paired, as both are about the same twins but for the paths."""
        differ = self.whole - changes
        found = [times @ one / len(one) for (times, _), one in zip(self._samples, differ, strict=False)]
        return _estimate(float(differ.mean()), np.array(found))

    def gone_share(self, changes: Floats) -> Estimate:
        """The same as a share of all that changes."""
        whole, gone = float(self.whole.mean()), self.gone(changes)
        if not whole or gone.value is None:
            return Estimate(None)
        ends = None if gone.interval is None else Interval(gone.interval.low / whole, gone.interval.high / whole)
        return Estimate(gone.value / whole, ends)


def _estimate(value: float, by_model: Floats) -> Estimate:
    """A number and its interval, which holds it; without models of their own samples there is none."""
    found = interval(by_model)
    return Estimate(value, None if found is None else Interval(min(found.low, value), max(found.high, value)))


def sorted_rows(rows: Sequence[PathShare]) -> tuple[PathShare, ...]:
    """Those that carry most first, what is left over last."""
    return tuple(sorted(rows, key=lambda row: (not row.path, -(row.gone.value or 0.0), row.path)))
