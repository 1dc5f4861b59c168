"""Which directions the data leave open: a walk over graphs that differ by edges turned round.

An edge from j to i is covered if i has no other causes than those of j: turned round, the graph implies the same
independences, and only the shape of the noise and of the effects can say which way it points. The walk turns covered
edges with the odds that the likelihoods give (Metropolis), so an edge's share of directions is about its probability.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cfad_core.causal.discovery.local_score import LocalScores
from cfad_core.causal.discovery.parents import CauseSearch
from cfad_core.causal.discovery.quick_score import Causes
from cfad_core.core.arrays import Bools, Floats

_STEPS_AN_EDGE = 60


def direction_shares(
    search: CauseSearch, scores: LocalScores, causes: Mapping[int, Causes], turnable: Bools, rng: np.random.Generator
) -> Floats:
    """Share of the walk (v, v) in which j causes i.

    Parameters
    ----------
    search, scores : of the same rows
    causes : the graph to start from, by variable
    turnable : (v, v), edges that may be turned round
    """
    v = len(turnable)
    names = {i: frozenset(j for j, _ in some) for i, some in causes.items()}
    known = {(i, names[i]): scores.score(i, some) for i, some in causes.items()}

    def score(i: int, some: frozenset[int]) -> float:
        if (i, some) not in known:
            known[i, some] = scores.score(i, search.given(i, some))
        return known[i, some]

    edges = [(j, i) for i in range(v) for j in sorted(names[i])]
    share = np.zeros((v, v))
    if not edges:
        return share
    steps = _STEPS_AN_EDGE * len(edges)
    picks, chances = rng.integers(len(edges), size=steps), np.log(rng.random(steps))
    for pick, chance in zip(picks, chances, strict=True):
        j, i = edges[pick]
        if turnable[j, i] and names[i] - {j} == names[j]:
            fewer, more = names[i] - {j}, names[j] | {i}
            gain = score(i, fewer) + score(j, more) - score(i, names[i]) - score(j, names[j])
            if chance < gain:
                names[i], names[j] = fewer, more
                edges[pick] = (i, j)
        for cause, effect in edges:
            share[cause, effect] += 1.0
    return share / steps
