"""Twin scoring: judge a person by their own score and by that of their twin.

A symmetric function of ``g(x)`` and ``g(twin of x)`` is the same for a person and for their twin wherever the twin's
twin is the person again: for all numbers, and but for chance where levels are drawn. The price: the sensitive
attribute and the causal model are needed when it scores, and by *another* causal model the promise is only as good as
the two models agree.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.config import TwinRule
from cfad_core.detectors.protocol import (
    AnyDetector,
    Fitting,
    State,
    Surroundings,
    TwinMap,
    explain_people,
    score_people,
)


@dataclass(frozen=True)
class TwinDetector:
    """A base detector that is given the map from people to their twins."""

    base: AnyDetector
    twins_of: TwinMap
    rule: TwinRule

    def score_people(self, people: Floats, base_score: Floats | None = None) -> Floats:
        """One score of each person (n, d) and their twin, (n,); ``base_score`` is the person's own, if it is known."""
        here = score_people(self.base, people) if base_score is None else base_score
        return twin_score(here, score_people(self.base, self.twins_of(people)), self.rule)

    def explain_people(self, people: Floats) -> Floats | None:
        """The mean of the two explanations (n, m), or that of the score which counts."""
        here, there = (explain_people(self.base, some) for some in (people, self.twins_of(people)))
        if here is None or there is None:
            return None
        if self.rule == "mean":
            return 0.5 * (here + there)
        sign = 1.0 if self.rule == "max" else -1.0
        counts_here = sign * here.sum(axis=1) >= sign * there.sum(axis=1)
        return np.where(counts_here[:, None], here, there)


def fit(task: Fitting) -> TwinDetector:
    """Nothing is learned."""
    return restore({}, task)


def restore(_: State, known: Surroundings) -> TwinDetector:
    return TwinDetector(known.fitted["cfad"], known.twins_of, known.config.detector.twin or "mean")


def twin_score(score: Floats, score_twin: Floats, rule: TwinRule) -> Floats:
    """One score from the scores (n,) of people and of their twins; symmetric in them.

    ``mean`` weighs both alike; ``max`` flags whoever is anomalous in either group, ``min`` only who is in both.
    """
    if rule == "mean":
        return 0.5 * (score + score_twin)
    if rule == "max":
        return np.maximum(score, score_twin)
    return np.minimum(score, score_twin)
