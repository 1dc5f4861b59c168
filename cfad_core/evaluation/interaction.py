"""Two sensitive attributes at once: whose outcome changes if one changes, the other one, or both.

Each attribute may leave an outcome as it is, while both together change it; or one changes it, and the other one takes
that back. Neither can be seen in audits of one attribute after the other.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any

import numpy as np

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.formats import SMALLEST_GROUP, percent_range, share_of_people
from cfad_core.evaluation.intervals import Interval, draw_people, interval, with_unknown


@dataclass(frozen=True)
class Share:
    """Of people; None where that is undefined or suppressed, or the uncertainty was not measured."""

    value: float | None = None
    interval: Interval | None = None


@dataclass(frozen=True)
class Interaction:
    """Shares of people whose outcome changes, at a threshold: the mean over models and draws.

    Attributes
    ----------
    n : people; None if that is suppressed
    first, second : if that attribute alone changes
    both : if both change at once
    only_both : if both change, but in neither single move: the interaction excess
    cancels : in a single move, but not if both change
    """

    threshold: float
    n: int | None
    first: Share
    second: Share
    both: Share
    only_both: Share
    cancels: Share

    def suppressed(self) -> Interaction:
        """As it may leave the program: nothing about fewer than 10 people."""
        if self.n is None or not 0 < self.n < SMALLEST_GROUP:
            return self
        return Interaction(self.threshold, None, *(Share() for _ in range(5)))

    def to_dict(self) -> dict[str, Any]:
        """For files: plain numbers."""
        return dataclasses.asdict(self)


def interaction(
    score: Floats, first: Floats, second: Floats, both: Floats, threshold: float, models: int, seed: int | None
) -> Interaction:
    """Whose outcome changes if two sensitive attributes do.

    Parameters
    ----------
    score : (m,), of the people as they are
    first, second, both : (R, m), of their twins in another group of the first attribute, of the second, and of both; R
        = models x draws, those of one model next to each other, and in all three the same model, draw and groups
    threshold : flagged means score > threshold
    models : how many causal models made the twins
    seed : of each model's sample of the people; None for no intervals

    Returns
    -------
    Interaction
        Each share with an interval as ``ResampledScores`` makes them, which holds the share itself.

    Raises
    ------
    ValueError
        If shapes do not fit each other, or the models do not divide the twins.
    """
    _check(score, (first, second, both), models)
    alone, other, together = ((twins > threshold) != (score > threshold) for twins in (first, second, both))
    either = alone | other
    seen = (alone, other, together, together & ~either, either & ~together)
    samples = None
    if seed is not None and len(score):
        samples = [draw_people(len(score), seed, b) for b in range(models)]
    return Interaction(float(threshold), len(score), *(_share(changes, models, samples) for changes in seen))


def _share(changes: Bools, models: int, samples: list[tuple[Any, int]] | None) -> Share:
    """Of changes (R, m), with each model's sample of the people."""
    if not changes.size:
        return Share()
    value, people = float(changes.mean()), changes.shape[1]
    if samples is None:
        return Share(value)
    by_model = changes.reshape(models, -1, people).mean(axis=1)
    counted = np.array([person[rows].sum() for person, (rows, _) in zip(by_model, samples, strict=True)])
    found = interval(with_unknown(counted, people, np.array([unseen for _, unseen in samples], dtype=np.float64)))
    assert found is not None
    return Share(value, Interval(min(found.low, value), max(found.high, value)))


def interaction_line(found: Interaction, first_name: str, second_name: str) -> str:
    """``For 1.2 % of people (0.6 % to 2.1 %) the outcome changes only if sex and race both change.``"""
    if found.only_both.value is None:
        return "Nobody was judged."
    return f"For {_people(found.only_both)} the outcome changes only if {first_name} and {second_name} both change."


def cancelling_line(found: Interaction, first_name: str, second_name: str) -> str:
    """``For 0.4 % of people (0 % to 0.9 %) the outcome changes if sex or race changes alone, but not if both do.``"""
    if found.cancels.value is None:
        return "Nobody was judged."
    return (
        f"For {_people(found.cancels)} the outcome changes if {first_name} or {second_name} changes alone, but not if "
        "both do."
    )


def _people(share: Share) -> str:
    assert share.value is not None
    text = f"{share_of_people(share.value)} of people"
    return text if share.interval is None else f"{text} ({percent_range(share.interval.low, share.interval.high)})"


def _check(score: Floats, twins: tuple[Floats, ...], models: int) -> None:
    shapes = {one.shape for one in twins}
    if len(shapes) > 1 or twins[0].ndim != 2 or twins[0].shape[1:] != score.shape:
        raise ValueError(
            f"Expected three times the scores of the same twins, (twins, people), of {len(score)} people; got shapes "
            f"{', '.join(str(one.shape) for one in twins)}."
        )
    if models < 1 or not len(twins[0]) or len(twins[0]) % models:
        raise ValueError(
            f"Expected as many twins of a person by each of {models} models; got {len(twins[0])} twins in all."
        )
