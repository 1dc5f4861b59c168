"""How far apart groups are: the largest difference and the smallest ratio between any two of them, with intervals.

Of several groups that are all alike, some two differ in any sample, the more the more groups there are, and in samples
of the sample they differ more still. An interval around the two groups that happen to be extreme therefore holds the
truth far too rarely (of twelve equal groups in one sample of five). Here an interval is about the largest difference
between *any* two groups of everybody whom the people at hand were drawn from:

- no difference is larger than the largest upper end that any pair of groups has, each by itself at 95 %: whichever
  two groups are furthest apart in truth, theirs is among them;
- some difference is as large as the largest lower end that any pair has, all of them together at 90 %: in so many
  draws, no pair is further from where it belongs (as in Tukey's comparison of means). It is 0 where all groups may
  be equal.

Ratios are bounded in the same way, by Fieller's solution: a ratio of two groups is below r if the first minus r times
the second is below 0. So 1 is outside the interval of the ratio just where 0 is outside that of the difference.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.intervals import CONFIDENCE, Interval, interval

ONE_SIDED = 1.6449  # standard errors that a number is above by chance once in twenty times


@dataclass(frozen=True)
class Estimate:
    """A number and its interval; None where either is undefined."""

    value: float | None
    interval: Interval | None = None


@dataclass(frozen=True)
class Spread:
    """How far apart groups are in one number.

    Attributes
    ----------
    lowest, highest : the names of the two groups that are furthest apart; the first of several
    difference : highest minus lowest
    ratio : lowest over highest; undefined where the highest is 0
    """

    lowest: str
    highest: str
    difference: Estimate
    ratio: Estimate


@dataclass(frozen=True)
class AgainstReference:
    """A group beside a reference group.

    Attributes
    ----------
    difference : group minus reference
    ratio : group over reference, undefined where that is 0; its interval has no upper end (it is infinite) where few
        people leave open whether the reference is 0
    """

    difference: Estimate
    ratio: Estimate


def estimate(value: float | None, draws: Floats) -> Estimate:
    """A number with the interval of its draws (B,); those where it is undefined are left out."""
    found = None if value is None else interval(draws[~np.isnan(draws)])
    if value is None or found is None:
        return Estimate(value)
    return Estimate(value, _holding(value, found.low, found.high))


def against_reference(
    value: float | None, reference: float | None, draws: Floats, of_reference: Floats
) -> AgainstReference:
    """Of a group beside a reference, from the draws (B,) of either.

    Each is about these two groups, which were named before anybody looked: its interval is that of the draws.
    """
    if value is None or reference is None:
        return AgainstReference(Estimate(None), Estimate(None))
    difference = estimate(value - reference, draws - of_reference)
    if reference <= 0.0:
        return AgainstReference(difference, Estimate(None))
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = draws / of_reference
    ratio = value / reference
    return AgainstReference(difference, Estimate(ratio, _holding(ratio, *_outer(ratios[~np.isnan(ratios)]))))


def _outer(draws: Floats) -> tuple[float, float]:
    """The draws next to the bounds of their interval, outside it; some may be infinite, so nothing lies between two."""
    tail = (1.0 - CONFIDENCE) / 2.0 * (len(draws) + 1)
    place = max(0, int(tail) - 1)
    ascending = np.sort(draws)
    return float(ascending[place]), float(ascending[-1 - place])


def spread(names: Sequence[str], values: Sequence[float | None], draws: Sequence[Floats]) -> Spread | None:
    """Over the groups in which the number is defined; None if these are fewer than two.

    Parameters
    ----------
    names : (k,)
    values : (k,), shares, or other numbers between 0 and 1
    draws : (k,) arrays (B,), the number in samples of each group; nan where a sample leaves it undefined
    """
    known = [(name, value, some) for name, value, some in zip(names, values, draws, strict=True) if value is not None]
    if len(known) < 2:
        return None
    value = np.array([one[1] for one in known])
    low, high = int(value.argmin()), int(value.argmax())
    if low == high:  # all are equal
        high = 1
    drawn = np.array([one[2] for one in known])
    centre = np.nanmean(drawn, axis=1)
    deviation, variance = drawn - centre[:, None], np.nanvar(drawn, axis=1)
    together = _together(deviation, variance)
    difference = float(value[high] - value[low])
    ratio = float(value[low] / value[high]) if value[high] > 0.0 else None
    return Spread(
        lowest=known[low][0],
        highest=known[high][0],
        difference=Estimate(difference, _holding(difference, *_differences(centre, variance, together))),
        ratio=Estimate(ratio, None if ratio is None else _holding(ratio, *_ratios(centre, variance, together))),
    )


def _holding(value: float, low: float, high: float) -> Interval:
    """An interval that holds its own number."""
    return Interval(float(min(low, value)), float(max(high, value)))


def _together(deviation: Floats, variance: Floats) -> float:
    """How many standard errors all differences of two groups stay within, together, in 90 % of the draws.

    Parameters
    ----------
    deviation : (k, B), of the draws from their mean
    variance : (k,)
    """
    furthest = np.full(deviation.shape[1], np.nan)
    for k in range(1, len(deviation)):
        error = np.sqrt(variance[:k] + variance[k])[:, None]
        apart = np.abs(deviation[:k] - deviation[k]) / np.where(error > 0.0, error, 1.0)
        furthest = np.fmax(furthest, np.fmax.reduce(apart))  # without the draws that are undefined in one of the two
    return float(np.quantile(furthest[~np.isnan(furthest)], CONFIDENCE, method="weibull"))


def _differences(centre: Floats, variance: Floats, together: float) -> tuple[float, float]:
    """Bounds of the largest difference, of values and variances (k,)."""
    apart = centre[:, None] - centre
    error = np.sqrt(variance[:, None] + variance)
    np.fill_diagonal(error, 0.0)
    low, high = (apart - together * error).max(), (apart + ONE_SIDED * error).max()
    return float(np.clip(low, 0.0, 1.0)), float(np.clip(high, 0.0, 1.0))


def _ratios(centre: Floats, variance: Floats, together: float) -> tuple[float, float]:
    """Bounds of the smallest ratio, of values and variances (k,)."""
    low = _fieller(centre, variance, -ONE_SIDED)
    high = _fieller(centre, variance, together)
    return float(np.clip(low.min(), 0.0, 1.0)), float(np.clip(high.min(), 0.0, 1.0))


def _fieller(centre: Floats, variance: Floats, errors: float) -> Floats:
    """The ratio (k, k) of every group to every other, moved by so many standard errors.

    That is the r for which ``a - r b`` lies that many standard errors below 0; nothing bounds the ratio if b itself may
    be 0.
    """
    a, b = centre[:, None], centre[None, :]
    var_a, var_b = variance[:, None], variance[None, :]
    bottom = b**2 - errors**2 * var_b
    root = var_a * b**2 + var_b * a**2 - errors**2 * var_a * var_b
    known = (bottom > 0.0) & (root >= 0.0)
    top = a * b + errors * np.sqrt(np.where(known, root, 0.0))
    ratio: Floats = np.where(known, top / np.where(known, bottom, 1.0), 0.0 if errors < 0.0 else np.inf)
    np.fill_diagonal(ratio, 1.0)
    return ratio
