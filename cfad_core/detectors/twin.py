"""Twin scoring: judge a person by their own score and by those of their possible twins in all other groups.

A symmetric function of ``g(x)`` and ``g(twins of x)`` is the same for a person and for their twins wherever the twin's
twin is the person again: for all numbers. Where levels are drawn, a person has several possible twins, and the mean
over some of them is nearly so. The price: the sensitive attribute and the causal model are needed when it scores, and
by *another* causal model the promise is only as good as the two models agree.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.config import TwinRule
from cfad_core.core.distinct import distinct_rows
from cfad_core.detectors.protocol import (
    AnyDetector,
    Causes,
    Fitting,
    State,
    Surroundings,
    explain_people,
    score_people,
    seen_by,
    twins_wanted,
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
        """One score of each person (n, d) and their twins, (n,); ``base_score`` is the person's own, if it is known.

        Twins are often alike, and like one of the people: the base scores every row once.
        """
        every = np.concatenate([people, *(twins := self._twins(people))])
        rows = distinct_rows(seen_by(self.base, every))
        is_known = (rows.first < len(people)) & (base_score is not None)
        scores = np.empty(len(rows.first))
        if base_score is not None:
            scores[is_known] = base_score[rows.first[is_known]]
        if not is_known.all():
            scores[~is_known] = score_people(self.base, every[rows.first[~is_known]])
        here, *there = scores[rows.place.reshape(1 + len(twins), len(people))]  # (1 + twins, n)
        others = self.causes.states.others
        return mean_of_draws(
            twin_score([here, *there[k : k + others]], self.rule) for k in range(0, len(there), others)
        )

    def explain_people(self, people: Floats) -> Floats | None:
        """The mean of all explanations (n, m), or that of the score which counts; over all twins."""
        every = np.concatenate([people, *(twins := self._twins(people))])
        rows = distinct_rows(seen_by(self.base, every))
        found = explain_people(self.base, every[rows.first])
        if found is None:
            return None
        here, *there = found[rows.place.reshape(1 + len(twins), len(people))]  # (1 + twins, n, m)

        def of_one_draw(parts: Sequence[Floats]) -> Floats:
            if self.rule == "mean":
                return _mean(parts)
            sign = 1.0 if self.rule == "max" else -1.0
            counts = np.argmax([sign * part.sum(axis=1) for part in parts], axis=0)
            chosen: Floats = np.stack(parts)[counts, np.arange(len(people))]
            return chosen

        others = self.causes.states.others
        return mean_of_draws(of_one_draw([here, *there[k : k + others]]) for k in range(0, len(there), others))

    def _twins(self, people: Floats) -> list[Floats]:
        """All twins that count, (n, d) each: one in each other group, then another one in each of them, ..."""
        return [self.causes.twins(people, k) for k in range(twins_wanted(self.causes, self.draws))]


def fit(task: Fitting) -> TwinDetector:
    """Nothing is learned."""
    return restore({}, task)


def restore(_: State, known: Surroundings) -> TwinDetector:
    settings = known.config.detector
    return TwinDetector(known.fitted["cfad"], known.causes, settings.twin or "mean", settings.twin_draws)


def mean_over_draws(value: Callable[[Sequence[Floats]], Floats], people: Floats, causes: Causes, twins: int) -> Floats:
    """The mean of ``value`` of one twin of the people (n, d) in each other group, over so many twins in all."""
    others = causes.states.others
    draws = range(twins_wanted(causes, twins) // others)
    return mean_of_draws(value([causes.twins(people, draw * others + k) for k in range(others)]) for draw in draws)


def mean_of_draws(found: Iterable[Floats]) -> Floats:
    """The mean of what was found in each draw."""
    total, count = None, 0
    for one in found:
        total, count = one if total is None else total + one, count + 1
    assert total is not None
    return total / count if count > 1 else total


def twin_score(scores: Sequence[Floats], rule: TwinRule) -> Floats:
    """One score from the scores (n,) of people and of a twin in each other group; symmetric in them.

    ``mean`` weighs all alike; ``max`` flags whoever is anomalous in any group, ``min`` only who is in all.
    """
    if rule == "mean":
        return _mean(scores)
    found: Floats = np.max(scores, axis=0) if rule == "max" else np.min(scores, axis=0)
    return found


def _mean(parts: Sequence[Floats]) -> Floats:
    if len(parts) == 2:
        return 0.5 * (parts[0] + parts[1])
    mean: Floats = np.sort(parts, axis=0).sum(axis=0) / len(parts)  # in one order, whoever of them is the person
    return mean
