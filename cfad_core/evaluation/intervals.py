"""How far a number can be trusted: its value by the models of many subsamples, as an interval.

Each model has a causal graph of its own and its own sample of the people, so an interval holds both what the graph and
what the choice of people leave open.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.evaluation.densities import distances
from cfad_core.evaluation.outcomes import Outcomes, ScoreCurve

CONFIDENCE = 0.9
ENOUGH = 19  # values; the bounds of fewer are the smallest and the largest


@dataclass(frozen=True)
class Interval:
    """Bounds that one more value of the same kind falls between with 90 % probability.

    Fewer than 19 values cannot say as much: the bounds are then the smallest and the largest of them.
    """

    low: float
    high: float


def interval(values: Floats) -> Interval | None:
    """Of values (models,); None if any is undefined.

    One more value lies below the k-th smallest of B with probability k / (B + 1), whatever their distribution: that
    rank, interpolated, is the bound. With B = 20 it is all but the smallest and the largest value.
    """
    if not len(values) or np.isnan(values).any():
        return None
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(values, (tail, 1.0 - tail), method="weibull")
    return Interval(float(low), float(high))


def bounds_name(models: int) -> str:
    """What the bounds of so many models' values are: few have no 90 % interval."""
    return "90 % interval" if models >= ENOUGH else "lowest to highest"


def draw_people(people: int, seed: int, model: int) -> tuple[NDArray[np.int32], int]:
    """A model's own sample of the people: their positions (people,), and how often the unknown person changes in it.

    It is drawn from the people at hand and one unknown person more, whose outcome is as likely to change as not.
    """
    rng = np.random.default_rng([seed, model])
    return rng.integers(0, people, people).astype(np.int32), int(rng.poisson(0.5))


def with_unknown(changes: Floats, people: int, unseen: Floats) -> Floats:
    """The share of people whose outcome changes, from how many change in samples, and the unknown person in each."""
    share: Floats = np.minimum(1.0, (changes + unseen) / (people + 1.0))
    return share


@dataclass(frozen=True)
class Intervals:
    """A detector at a threshold, each with what it may be; None where it is undefined.

    Attributes
    ----------
    changing_ratio : share of people whose outcome changes
    flag_rate_shift : share of twins flagged minus share of people flagged
    flag_rate_difference : largest minus smallest flag rate of the groups
    distance : Kolmogorov-Smirnov, between the scores of people and of their twins, of the group where it is largest
    """

    changing_ratio: Interval | None
    flag_rate_shift: Interval | None
    flag_rate_difference: Interval | None
    distance: Interval | None


@dataclass(frozen=True)
class Difference:
    """By how much the changing ratio of one method differs from another's, over the same people and models.

    Attributes
    ----------
    value : negative if the outcome of fewer people changes
    interval : None if that is not known
    """

    value: float
    interval: Interval | None


def difference(value: float, mine: Floats | None, other: Floats | None) -> Difference:
    """Of two changing ratios that differ by ``value``, and by each model are these (models,)."""
    found = None if mine is None or other is None else interval(mine - other)
    if found is not None:  # it holds its own number
        found = Interval(min(found.low, value), max(found.high, value))
    return Difference(value, found)


class ResampledScores:
    """The scores of people and of their twins by every model, each model with its own sample of the people.

    Parameters
    ----------
    score : (m,), of the people as they are
    twin_scores : (B, K, m), of K twins each by every model; or (B, K, k, m), in each of k other groups
    group : (m,), whatever tells the groups apart
    seed : of the samples
    """

    def __init__(self, score: Floats, twin_scores: Floats, group: NDArray[Any], seed: int) -> None:
        twin_scores = twin_scores if twin_scores.ndim == 4 else twin_scores[:, :, None]
        self._people = [(score, twins, group) for twins in twin_scores]
        drawn = [draw_people(len(score), seed, b) for b in range(len(twin_scores))]
        self._rows = [rows for rows, _ in drawn]  # the samples themselves would take several times the room
        self._unseen = np.array([unseen for _, unseen in drawn], dtype=np.float64).reshape(-1, 1)
        self._curves = [ScoreCurve(here, there) for here, there, _ in self._samples()]
        self._whole = (score, twin_scores)

    def _samples(self) -> Iterator[tuple[Floats, Floats, NDArray[Any]]]:
        """Scores, twins' scores and groups of each model's sample."""
        for (score, twins, group), rows in zip(self._people, self._rows, strict=True):
            yield score[rows], twins[..., rows], group[rows]

    def changing_ratio(self, threshold: Floats) -> Floats:
        """By each model at each threshold, (B, thresholds).

        That nobody's outcome changes among the people at hand does not mean that nobody's does: each sample is drawn
        from them and one unknown person more, whose outcome is as likely to change as not.
        """
        ratio, m = self._of_curves(threshold, lambda at: at.changing_ratio), self._curves[0].n
        return with_unknown(ratio * m, m, self._unseen)

    def ratios_of_models(self, threshold: float) -> Floats:
        """The changing ratio by each model over all people, (B,)."""
        score, twins = self._whole
        ratios: Floats = ((twins > threshold) != (score > threshold)).any(axis=2).mean(axis=(1, 2))
        return ratios

    def band(self, threshold: Floats) -> tuple[Floats, Floats]:
        """Bounds of the changing ratio at each threshold."""
        found = [interval(column) for column in self.changing_ratio(threshold).T]
        low, high = np.array([(np.nan, np.nan) if one is None else (one.low, one.high) for one in found]).T
        return low, high

    def at(self, threshold: float) -> Intervals:
        """Everything at one threshold."""
        shift = self._of_curves(np.array([threshold]), lambda at: at.flag_rate_counterfactual - at.flag_rate)
        return Intervals(
            changing_ratio=interval(self.changing_ratio(np.array([threshold]))[:, 0]),
            flag_rate_shift=interval(shift[:, 0]),
            flag_rate_difference=self._flag_rate_difference(threshold),
            distance=self.distance,
        )

    def _flag_rate_difference(self, threshold: float) -> Interval | None:
        """Between the two groups with the highest and the lowest flag rate."""
        score, _, group = self._people[0]
        rates = {name: float((score[group == name] > threshold).mean()) for name in np.unique(group)}
        if len(rates) < 2:
            return None
        low, high = (choose(rates, key=lambda name: rates[name]) for choose in (min, max))
        if len(rates) == 2:
            low, high = rates
        gaps = [_gap(here > threshold, there_group, low, high) for here, _, there_group in self._samples()]
        return _size(interval(np.array(gaps)))

    @cached_property
    def distance(self) -> Interval | None:
        """See ``Intervals``; it does not depend on the threshold.

        Two samples lie further apart than what they were drawn from, and samples of them again by as much: what
        sampling adds once more is taken off.
        """
        names = np.unique(self._people[0][2])
        if len(names) < 2:
            return None
        whole = np.array([_distance(*one, names) for one in self._people])
        sampled = np.array([_distance(*one, names) for one in self._samples()])
        return interval(np.clip(2.0 * whole - sampled, 0.0, 1.0))

    def _of_curves(self, threshold: Floats, value: Callable[[Outcomes], Floats]) -> Floats:
        return np.array([value(curve.at(threshold)) for curve in self._curves]).reshape(-1, len(threshold))


def _gap(flagged: Bools, group: NDArray[Any], first: Any, second: Any) -> float:
    """Flag rate of the second group minus that of the first."""
    if not (group == first).any() or not (group == second).any():
        return float("nan")
    return float(flagged[group == second].mean() - flagged[group == first].mean())


def _size(signed: Interval | None) -> Interval | None:
    """How large something is whose sign is of no interest; nothing, if it may have either."""
    if signed is None:
        return None
    low, high = sorted((abs(signed.low), abs(signed.high)))
    return Interval(0.0 if signed.low <= 0.0 <= signed.high else low, high)


def _distance(here: Floats, there: Floats, group: NDArray[Any], names: NDArray[Any]) -> float:
    """Of the group, and the other group that it is compared with, where it is largest."""
    first = there[0]  # one twin of each person, as a distance is between two samples of one size
    groups = [group == name for name in names]
    found = [distances(here[rows], twins[rows]).kolmogorov_smirnov for rows in groups for twins in first]
    return float(np.max(found))  # nan stays nan
