"""Choosing a threshold: by how many people it should flag, or by what missed anomalies and needless checks cost.

Costs are counted in needless checks: a needless check costs 1, a missed anomaly as much as so many of them. The cost
only falls where one more anomaly is flagged, so the cheapest of all thresholds lies just below an anomaly's score.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.intervals import Interval, interval
from cfad_core.evaluation.tally import Tally

_CELLS = 200  # of people ordered by score, for samples of them
_SAMPLES = 200


def threshold_flagging(people: Tally, flagged: int, near: float | None = None) -> float:
    """The threshold that flags this many people (fewer, where scores tie).

    Any number between two people's scores does: it is the score of the first who is not flagged, unless ``near`` does.
    """
    if near is not None and int(people.above(near)) == flagged:
        return near
    if flagged <= 0:
        return float(people.at_rank(np.array(people.n - 1)))
    if flagged >= people.n:
        return float(np.nextafter(people.at_rank(np.array(0)), -np.inf))
    return float(people.at_rank(np.array(people.n - flagged - 1)))


@dataclass(frozen=True)
class Costs:
    """What each threshold costs, in needless checks.

    Attributes
    ----------
    share : (t,), of the people who are flagged, ascending
    cost : (t,), for each person
    cheapest : how many people are flagged where it costs least
    least : the cost for each person there
    nobody : the cost for each person if nobody is flagged
    range : shares flagged that cost least in other samples of the people, in 90 % of them
    """

    share: Floats
    cost: Floats
    cheapest: int
    least: float
    nobody: float
    range: Interval


def costs(people: Tally, anomalies: Tally, missed: float, seed: int, points: int = 121, most: float = 1.0) -> Costs:
    """What thresholds cost if a missed anomaly costs as much as so many needless checks.

    Parameters
    ----------
    points, most : of the curve, and the highest share that it is drawn to
    """
    n = people.n
    flagged = np.linspace(0.0, most * n, points).astype(np.int64)
    thresholds = np.array([threshold_flagging(people, int(count)) for count in flagged])
    candidates = np.append(_just_below(people, anomalies), people.at_rank(np.array(n - 1)))
    each = _cost(people, anomalies, candidates, missed)
    best = int(each.argmin())
    return Costs(
        share=people.above(thresholds) / n,
        cost=_cost(people, anomalies, thresholds, missed) / n,
        cheapest=int(people.above(candidates[best])),
        least=float(each[best]) / n,
        nobody=missed * anomalies.n / n,
        range=_range(people, anomalies, missed, seed),
    )


def _just_below(people: Tally, anomalies: Tally) -> Floats:
    """The highest thresholds at which each anomaly is flagged: the score of the next person below."""
    below = people.below(anomalies.ascending[anomalies.weights > 0.0])
    lowest = float(np.nextafter(people.at_rank(np.array(0)), -np.inf))
    return np.where(below > 0, people.at_rank(np.maximum(below - 1, 0)), lowest)


def _cost(people: Tally, anomalies: Tally, thresholds: Floats, missed: float) -> Floats:
    found = anomalies.above(thresholds)
    total: Floats = missed * (anomalies.n - found) + people.above(thresholds) - found
    return total


def _range(people: Tally, anomalies: Tally, missed: float, seed: int) -> Interval:
    """Where the cheapest threshold lies in other samples of the people, drawn with replacement, by cells of scores."""
    ranks = np.unique(np.linspace(0, people.n - 1, min(_CELLS, people.n)).astype(np.int64))
    edges = np.unique(people.at_rank(ranks))
    everybody, odd = (-np.diff(np.r_[float(one.n), one.above(edges)]) for one in (people, anomalies))
    cells = np.concatenate([odd, everybody - odd])  # anomalies, then normal people, up to each edge from the last one
    drawn = np.random.default_rng(seed).multinomial(people.n, cells / cells.sum(), _SAMPLES).astype(np.float64)
    odd, normal = drawn[:, : len(edges)], drawn[:, len(edges) :]
    not_flagged = np.cumsum(odd, axis=1)  # (samples, edges): anomalies up to each edge, which a threshold there misses
    needless = normal.sum(axis=1, keepdims=True) - np.cumsum(normal, axis=1)
    best = (missed * not_flagged + needless).argmin(axis=1)
    rows = np.arange(_SAMPLES)
    flagged = 1.0 - (not_flagged + np.cumsum(normal, axis=1))[rows, best] / people.n
    found = interval(flagged)
    assert found is not None
    return found


def usual_range(share: float, of: int) -> tuple[int, int]:
    """Between how many of so many people are flagged, nine times in ten, by chance alone."""
    from scipy.stats import binom

    low, high = binom.ppf((0.05, 0.95), of, share)
    return int(low), int(high)
