"""Twin scoring: judge a person by their own score and by those of their possible twins.

A symmetric function of ``g(x)`` and ``g(twin of x)`` is the same for a person and for their twin wherever the twin's
twin is the person again: for all numbers. Where levels are drawn, a person has several possible twins, and the mean
over some of them is nearly so. The price: the sensitive attribute and the causal model are needed when it scores, and
by *another* causal model the promise is only as good as the two models agree.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.config import TwinRule
from cfad_core.detectors.protocol import (
    AnyDetector,
    Causes,
    Fitting,
    State,
    Surroundings,
    explain_people,
    score_people,
)


@dataclass(frozen=True)
class TwinDetector:
    """A base detector that is given the map from people to their twins.

    Attributes
    ----------
    draws : how many of a person's possible twins count
    """

    base: AnyDetector
    causes: Causes
    rule: TwinRule
    draws: int = 1

    def score_people(self, people: Floats, base_score: Floats | None = None) -> Floats:
        """One score of each person (n, d) and their twins, (n,); ``base_score`` is the person's own, if it is known."""
        here = score_people(self.base, people) if base_score is None else base_score
        return mean_over_twins(
            lambda twins: twin_score(here, score_people(self.base, twins), self.rule), people, self.causes, self.draws
        )

    def explain_people(self, people: Floats) -> Floats | None:
        """The mean of the two explanations (n, m), or that of the score which counts; over all twins."""
        here = explain_people(self.base, people)
        if here is None:
            return None

        def with_twin(twins: Floats) -> Floats:
            there = explain_people(self.base, twins)
            assert there is not None
            if self.rule == "mean":
                return 0.5 * (here + there)
            sign = 1.0 if self.rule == "max" else -1.0
            counts_here = sign * here.sum(axis=1) >= sign * there.sum(axis=1)
            return np.where(counts_here[:, None], here, there)

        return mean_over_twins(with_twin, people, self.causes, self.draws)


def fit(task: Fitting) -> TwinDetector:
    """Nothing is learned."""
    return restore({}, task)


def restore(_: State, known: Surroundings) -> TwinDetector:
    settings = known.config.detector
    return TwinDetector(known.fitted["cfad"], known.causes, settings.twin or "mean", settings.twin_draws)


def mean_over_twins(value: Callable[[Floats], Floats], people: Floats, causes: Causes, draws: int) -> Floats:
    """The mean of ``value`` over so many possible twins of people (n, d); one where nothing is drawn."""
    count = draws if causes.draws else 1
    total = value(causes.twins(people, 0))
    for draw in range(1, count):
        total = total + value(causes.twins(people, draw))
    return total / count if count > 1 else total


def twin_score(score: Floats, score_twin: Floats, rule: TwinRule) -> Floats:
    """One score from the scores (n,) of people and of their twins; symmetric in them.

    ``mean`` weighs both alike; ``max`` flags whoever is anomalous in either group, ``min`` only who is in both.
    """
    if rule == "mean":
        return 0.5 * (score + score_twin)
    if rule == "max":
        return np.maximum(score, score_twin)
    return np.minimum(score, score_twin)
