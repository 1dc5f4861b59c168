"""Ranks within the group: a post-processing of any detector's scores that gives all groups one flag rate.

The score is the share of normal people of one's own group (of all sensitive attributes together) who score lower. One
threshold then flags as many of every group (demographic parity), whatever the detector. It promises nothing for a
person: the groups are ranked apart, so a person and their twin can have quite different places.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.states import States
from cfad_core.detectors.protocol import AnyDetector, Fitting, State, Surroundings, explain_people, score_people

_QUANTILES = 1001


@dataclass(frozen=True)
class RankDetector:
    """The rank of a base detector's score within the person's group.

    Attributes
    ----------
    quantiles : (states, k), of the base's scores of normal people of each state, ascending
    """

    base: AnyDetector
    quantiles: Floats

    @property
    def states(self) -> States:
        """What the first column of people holds."""
        return States((len(self.quantiles),))

    def score_people(self, people: Floats, base_score: Floats | None = None) -> Floats:
        """The rank of each person (n, d), (n,); ``base_score`` is theirs by the base, if it is known."""
        score = score_people(self.base, people) if base_score is None else base_score
        rank, state = np.empty(len(score)), self.states.of_codes(people[:, 0])
        for own, quantiles in enumerate(self.quantiles):
            rank[state == own] = _rank(score[state == own], quantiles)
        return rank

    @property
    def explained_by(self) -> AnyDetector:
        """The base: the rank follows its score."""
        return self.base

    def explain_people(self, people: Floats) -> Floats | None:
        """What the base's score is made of."""
        return explain_people(self.base, people)

    def state(self) -> dict[str, NDArray[np.generic]]:
        return {"quantiles": self.quantiles}


@dataclass(frozen=True)
class Ranking:
    """How the ranks of one method are fitted and restored.

    Attributes
    ----------
    method : whose scores are ranked
    """

    method: str

    def fit(self, task: Fitting) -> RankDetector:
        return fit_rank(task.fitted[self.method], task)

    def restore(self, arrays: State, known: Surroundings) -> RankDetector:
        return RankDetector(known.fitted[self.method], arrays["quantiles"].astype(np.float64))


def fit_rank(base: AnyDetector, task: Fitting) -> RankDetector:
    """Remember how the base's scores of normal people are spread in every state."""
    score = score_people(base, task.rows.people)
    shares = np.linspace(0.0, 1.0, _QUANTILES)
    groups = [score[task.rows.sensitive == code] for code in task.causes.states.codes]
    known = [group if len(group) else score for group in groups]  # a group without normal people has all others' ranks
    return RankDetector(base, np.stack([np.maximum.accumulate(np.quantile(group, shares)) for group in known]))


def _rank(score: Floats, quantiles: Floats) -> Floats:
    """Share of people below each score (n,); who is above everybody keeps their order, between 1 and 2."""
    spread = float(quantiles[-1] - quantiles[0]) or 1.0
    beyond = np.maximum(score - quantiles[-1], 0.0) / spread
    low, high = (np.searchsorted(quantiles, score, side=side) for side in ("left", "right"))
    inside = np.interp(score, quantiles, np.linspace(0.0, 1.0, len(quantiles)))
    tied = high > low  # several quantiles are this score: people have the middle of their places
    found = np.where(tied, 0.5 * (low + high - 1) / (len(quantiles) - 1), inside)
    rank: Floats = np.where(score > quantiles[-1], 1.0 + beyond / (1.0 + beyond), found)
    return rank
