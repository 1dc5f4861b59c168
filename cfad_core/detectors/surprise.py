"""Surprise: how unusual is a person for somebody with their causes?

The causal model takes every cell apart into what the causes make of it and what is the person's own. A number's own
part is its noise e; its surprise is ``z(e)^2``, where z makes the noise of normal people a standard normal number. A
level's is ``-2 log p`` of it, given the causes. The score is the sum over all variables, so it comes with its reasons.

Noise is what a twin keeps (or its rank, where the groups' noises differ in shape), so numbers have the same surprise in
all groups. A level's probability differs between the groups wherever a sensitive attribute reaches it: there the score
is the mean of a person's and of their twins'.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from cfad_core.core.arrays import Bools, Floats
from cfad_core.detectors.protocol import Causes, Fitting, State, Surroundings
from cfad_core.detectors.twin import mean_over_draws

STAGE = "surprise"
_TAIL = 0.01  # share of normal people on either side, beyond whom z goes straight on
_KNOTS = 99
_SMALLEST = 1e-9  # distance between two knots, in spreads of the noise
_LEAST_UNIT = 0.1  # spreads of the noise that z goes on by beyond the outermost knots, at least


@dataclass(frozen=True)
class SurpriseDetector:
    """The sum of each variable's surprise.

    Attributes
    ----------
    causes : the causal model
    knots : (m, k), by column, quantiles of the noise of normal people; all the same where there is none
    draws : how many of a person's possible twins count
    """

    causes: Causes
    knots: Floats
    draws: int

    @property
    def base(self) -> None:
        """None: it has scores of its own."""

    def score_people(self, people: Floats, base_score: Floats | None = None) -> Floats:  # noqa: ARG002 - it has no base
        """The surprise of each person (n, d), (n,)."""
        total: Floats = self.explain_people(people).sum(axis=1)
        return total

    def explain_people(self, people: Floats) -> Floats:
        """By column, (n, m); a variable of several columns has its surprise in the first one."""
        here = self._surprise(people)
        drawn = self.causes.drawn_columns
        if not drawn.any():  # noise is all there is, and a twin's is the same
            return here

        def of_one_draw(worlds: Sequence[Floats]) -> Floats:
            total = self._surprise(worlds[0], drawn)
            for twins in worlds[1:]:
                total = total + self._surprise(twins, drawn)
            return total

        there = mean_over_draws(of_one_draw, people, self.causes, self.draws)
        return np.where(drawn, (here + there) / self.causes.states.count, here)

    def _surprise(self, people: Floats, drawn: Bools | None = None) -> Floats:
        """(n, m), of all columns or of some."""
        noise, levels = self.causes.oddness(people, drawn=drawn is not None)
        for column, knots in enumerate(self.knots):
            if knots[0] < knots[-1] and (drawn is None or drawn[column]):
                known = ~np.isnan(noise[:, column])
                # Who has no number here, where others do, is as surprising as people are on average
                levels[:, column] += np.where(known, standard_score(noise[:, column], knots) ** 2, 1.0)
        return levels

    def state(self) -> dict[str, NDArray[np.generic]]:
        return {"knots": self.knots}


def standard_score(noise: Floats, knots: Floats) -> Floats:
    """What the noise (n,) would be, were it normal among the people whose quantiles the ``knots`` (k,) are.

    Between the outermost knots by rank; beyond them straight on, in units of that side's spread: a rank cannot say how
    far beyond everybody else a person is.
    """
    z = ndtri(_shares())
    middle = knots[len(knots) // 2]
    below, above = (middle - knots[0]) / -z[0], (knots[-1] - middle) / z[-1]
    found = np.interp(noise, knots, z)
    found = np.where(noise < knots[0], z[0] - (knots[0] - noise) / below, found)
    score: Floats = np.where(noise > knots[-1], z[-1] + (noise - knots[-1]) / above, found)
    return score


def fit(task: Fitting) -> SurpriseDetector:
    """Remember how the noise of normal people is spread."""
    task.progress.check(STAGE)
    noise, _ = task.causes.oddness(task.rows.people)
    knots = np.stack([_knots(column[~np.isnan(column)]) for column in noise.T])
    task.progress.tick(STAGE, 1, 1)
    return SurpriseDetector(task.causes, knots, task.config.detector.twin_draws)


def restore(arrays: State, known: Surroundings) -> SurpriseDetector:
    return SurpriseDetector(known.causes, arrays["knots"].astype(np.float64), known.config.detector.twin_draws)


def _shares() -> Floats:
    return np.linspace(_TAIL, 1.0 - _TAIL, _KNOTS)


def _knots(noise: Floats) -> Floats:
    """Quantiles of the noise (n,), each beyond the one before; all 0 if it does not vary.

    Noise that repeats is several quantiles at once, and in the middle of them.
    """
    spread = float(noise.std()) if len(noise) else 0.0
    if spread == 0.0 or not np.isfinite(spread):
        return np.zeros(_KNOTS)
    found = np.quantile(noise, _shares())
    low, high = (np.searchsorted(found, found, side=side) for side in ("left", "right"))
    place = np.arange(_KNOTS) - 0.5 * (low + high - 1)  # among those that are the same, from the middle
    knots: Floats = np.maximum.accumulate(found + _SMALLEST * spread * place)
    reach = _LEAST_UNIT * spread * float(ndtri(1.0 - _TAIL))  # where nearly all have the same noise, others are far
    middle = knots[_KNOTS // 2]
    knots[0], knots[-1] = min(knots[0], middle - reach), max(knots[-1], middle + reach)
    return knots
