"""How scores are spread, by group, for people and their twins, on one shared scale."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.tally import Tally

COUNTERFACTUAL = " (counterfactual)"  # behind a group's name: its twins


@dataclass(frozen=True)
class Densities:
    """Binned densities on shared bins.

    Attributes
    ----------
    edges : (bins + 1,), of the bins, on the scores' own scale
    density : by name, (bins,): share of the people in a bin divided by its width, which is that of its logarithm to the
        base 10 for logarithmic bins: areas are shares on the axis that the bins are even on
    """

    edges: Floats
    density: dict[str, Floats]


def score_densities(scores: Mapping[str, Floats | Tally], *, bins: int = 100, log: bool = False) -> Densities:
    """Densities of several sets of scores on the same bins, which cover all of them.

    Parameters
    ----------
    scores : by name, or counts of them
    log : bins of equal width in log score (scores of 0 fall into the first bin)

    Each density integrates to 1, unless its set is empty: then it is ``nan``.
    """
    sets = {name: some if isinstance(some, Tally) else Tally.of(some) for name, some in scores.items()}
    everything = np.concatenate([one.ascending[one.weights > 0.0] for one in sets.values()])
    low, high = float(everything.min()), float(everything.max())
    if log:
        positive = everything[everything > 0.0]
        low, high = (float(positive.min()), high) if len(positive) else (1.0, 1.0)
        edges = np.geomspace(low, high if high > low else low * 2.0, bins + 1)
    else:
        edges = np.linspace(low, high if high > low else low + 1.0, bins + 1)
    widths = np.diff(np.log10(edges) if log else edges)
    return Densities(edges, {name: _density(one, edges, widths) for name, one in sets.items()})


@dataclass(frozen=True)
class Distances:
    """Between two sets of scores.

    Attributes
    ----------
    kolmogorov_smirnov : the largest difference between the shares above any one threshold
    wasserstein : how far scores move on average, in units of the score
    """

    kolmogorov_smirnov: float
    wasserstein: float


def distances(first: Floats, second: Floats) -> Distances:
    """How far two sets of scores are apart; ``nan`` if one is empty."""
    if not len(first) or not len(second):
        return Distances(float("nan"), float("nan"))
    a, b = np.sort(first), np.sort(second)
    points = np.sort(np.concatenate([a, b]))
    gap = np.abs(np.searchsorted(a, points, side="right") / len(a) - np.searchsorted(b, points, side="right") / len(b))
    return Distances(float(gap.max()), float((gap[:-1] * np.diff(points)).sum()))


def _density(people: Tally, edges: Floats, widths: Floats) -> Floats:
    if not people.n:
        return np.full(len(edges) - 1, np.nan)
    below = people.below(edges)
    below[0], below[-1] = 0, people.n  # the outer bins take what rounding put beyond them
    density: Floats = np.diff(below) / people.n / widths
    return density
