"""Intervals of many shares at once: with 90 % probability, all of them hold their own number.

Whoever looks at twenty pairs of groups and reports the worst has looked for a large error, too: of twenty intervals
that each hold their number nine times in ten, one or two are wrong. Intervals that are right together are wider.
"""

from __future__ import annotations

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.intervals import CONFIDENCE, Interval

LEAST_MODELS = 4  # two pairs: the spread beside one of them comes from the other


def simultaneous_intervals(ratio: Floats, resampled: Floats, people: Floats) -> list[Interval]:
    """Intervals that all together hold their numbers with 90 % probability, by the largest of all errors.

    A share is looked at as ``arcsin(sqrt(share))``, whose spread hardly depends on the share. What a model with a
    sample of people says differs from what all say together by an error as large as that of all together from the
    truth: models are those of half the rows. In units of each share's spread, the largest error over all shares then
    has the same distribution as the largest error of what is reported. The shares of one model and sample stay
    together, so shares that are wrong together are not counted as independent ones.

    The spread is itself taken from few models. If a model's error is measured in units of a spread that it is part of,
    it looks too small; so the spread beside it is that of the others, without its neighbour, which was learned from the
    rows that it was not learned from.

    Parameters
    ----------
    ratio : (P,), the shares
    resampled : (B, R, P), by each of B models with each of R samples of the people; models 2 j and 2 j + 1 have no row
        in common
    people : (P,), how many each share was counted on

    Returns
    -------
    list of Interval
        Their ends lie within 0 and 1. They hold the share itself.

    Raises
    ------
    ValueError
        If there are fewer than four models, or an odd number.
    """
    models = len(resampled)
    if models < LEAST_MODELS or models % 2:
        raise ValueError(
            f"Expected the shares of an even number of models, {LEAST_MODELS} or more; got those of {models}. "
            "Learn more models, or leave these intervals out."
        )
    if not len(ratio):
        return []
    centre, least = _stabilised(ratio), 0.5 * _stabilised(1.0 / (people + 1.0))  # somewhat less than one person
    errors = _stabilised(resampled) - centre
    by_pair = np.square(errors).mean(axis=1).reshape(models // 2, 2, -1).mean(axis=1)
    spread = np.maximum(np.sqrt(by_pair.mean(axis=0)), least)
    others = np.maximum(by_pair.sum(axis=0) - by_pair, 0.0) / (models // 2 - 1)  # rounding may leave less than nothing
    beside = np.maximum(np.sqrt(others), least)
    largest = np.abs(errors / np.repeat(beside, 2, axis=0)[:, None, :]).max(axis=2)
    # With each sample of its own, the models are as many values as there are; the mean over samples is less noisy
    width = np.quantile(largest, CONFIDENCE, axis=0, method="weibull").mean() * spread
    low, high = (np.square(np.sin(np.clip(end, 0.0, np.pi / 2.0))) for end in (centre - width, centre + width))
    return [Interval(float(a), float(b)) for a, b in zip(np.minimum(low, ratio), np.maximum(high, ratio), strict=True)]


def _stabilised(share: Floats) -> Floats:
    angle: Floats = np.arcsin(np.sqrt(share))
    return angle
