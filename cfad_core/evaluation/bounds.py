"""Graph-free bounds: what the flag rates of the groups alone say about the share of people whose outcome changes.

They hold for every detector and every causal model whose twins in a group are, as a population, that group (what the
twin test tests), and not for rows that were chosen by their label.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.core.formats import capital
from cfad_core.evaluation.intervals import Interval

USUAL_ERRORS = 1.6449  # standard errors that a number is beyond by chance once in twenty times
REFUTING_ERRORS = 3.0  # by chance once in 700 times: several numbers are looked at
_ROUNDING = 1e-12  # of sums of rates


@dataclass(frozen=True)
class Bounds:
    """The lowest and the highest changing ratio that is possible.

    Attributes
    ----------
    low, high : by the flag rates as they were counted
    error : standard error of either, as the flag rates were counted on a sample of people
    """

    low: float
    high: float
    error: float = 0.0

    def with_sampling(self, errors: float = USUAL_ERRORS) -> Bounds:
        """The bounds, each moved outwards by some standard errors."""
        return Bounds(max(0.0, self.low - errors * self.error), min(1.0, self.high + errors * self.error))

    def contains(self, interval: Interval) -> bool:
        """Whether the whole interval lies within the bounds, up to sampling."""
        wide = self.with_sampling()
        return wide.low - _ROUNDING <= interval.low and interval.high <= wide.high + _ROUNDING

    def excludes(self, interval: Interval) -> bool:
        """Whether no value of the interval lies within the bounds, up to sampling."""
        wide = self.with_sampling()
        return interval.high < wide.low - _ROUNDING or interval.low > wide.high + _ROUNDING

    def clip(self, interval: Interval) -> Interval:
        """The part of an interval that is possible, up to sampling.

        An interval that lies outside altogether has none, and comes back as it is: it must be seen, not repaired.
        """
        if self.excludes(interval):
            return interval
        wide = self.with_sampling()
        low, high = np.clip((interval.low, interval.high), wide.low, wide.high)
        return Interval(float(low), float(high))


def flag_rate_bounds(first_rate: float, second_rate: float, n_first: int, n_second: int) -> Bounds:
    """The bounds of the changing ratio over all people, from the flag rate of each group and its number of people.

    Of the people of group a, a share ``r_a`` is flagged, and of their twins ``r_b``: they are as a population the other
    group. If a share ``p`` of the group is flagged together with its twin, the outcome of ``r_a + r_b - 2 p`` of it
    changes, and all that is known of ``p`` is ``max(0, r_a + r_b - 1) <= p <= min(r_a, r_b)`` (Fréchet, Hoeffding). So
    the ratio within group a lies between

        |r_a - r_b|  and  min(r_a + r_b, 2 - r_a - r_b),

    and either is reached. For group b the two rates change places, and the bounds are the same. The ratio over all
    people is the mean of the two, weighted by the groups' shares ``w_a + w_b = 1``. As both lie within the same bounds,
    so does every weighted mean of them, whatever the shares, and it reaches either bound where both do. Twins that are
    drawn are covered, too: ``p`` is then a mean over the draws.

    The difference and the sum of the two rates have the same standard error. It is that of rates to which two more
    people are added, one flagged and one not, as a rate of 0 among ten people does not mean that nobody is flagged.

    Raises
    ------
    ValueError
        If a rate is no share, or a group has nobody.
    """
    for name, rate, n in (("first", first_rate, n_first), ("second", second_rate, n_second)):
        _check(f"the {name} group", rate, n)
    total = first_rate + second_rate
    variance = _variance(first_rate, n_first) + _variance(second_rate, n_second)
    return Bounds(abs(first_rate - second_rate), min(total, 2.0 - total), float(np.sqrt(variance)))


def flag_rates_bounds(rates: Sequence[float], counts: Sequence[int]) -> Bounds:
    """The bounds of the share of people whose outcome changes in at least one other group.

    A person has an outcome in each of k worlds: their own, and one for each other group. Whatever their own group is,
    a share ``r_j`` of them is flagged in world j, as twins in a group are, as a population, that group. The outcome
    changes somewhere unless all k are equal:

        P(not all equal) = 1 - P(all flagged) - P(none flagged).

    It is at least what any two worlds make, ``|r_i - r_j|`` (see ``flag_rate_bounds``), so at least the largest minus
    the smallest rate: reached if whoever is flagged in one world is flagged in all worlds with a higher rate. Of the
    two others it is known that ``P(all flagged) >= max(0, sum r - (k - 1))`` and ``P(none flagged) >= max(0, sum (1 -
    r) - (k - 1)) = max(0, 1 - sum r)`` (Fréchet). For k of 2 or more, not both are above 0, so that the share is at
    most

        min(1, sum r, sum (1 - r)):

    reached if as few people as possible are flagged twice or, if the rates add up to more than k - 1, are not flagged
    twice. Both bounds hold within each group, hence for every mean over groups. For two groups they are those of
    ``flag_rate_bounds``.

    The error is that of the sum of all rates. It serves the low bound, too: the largest minus the smallest of rates
    that were counted is on average too large, as it is chosen, and of k equal rates it is beyond 1.64 such errors about
    as often as the difference of two rates is beyond 1.64 of its own.

    Parameters
    ----------
    rates : (k,), the flag rate of each group
    counts : (k,), how many people each was counted on

    Raises
    ------
    ValueError
        If there are fewer than two groups, a rate is no share, or a group has nobody.
    """
    if len(rates) < 2 or len(rates) != len(counts):
        raise ValueError(
            f"Expected the flag rates of at least two groups, each with its number of people; got {len(rates)} rates "
            f"and {len(counts)} numbers of people."
        )
    for position, (rate, n) in enumerate(zip(rates, counts, strict=True), start=1):
        _check(f"group {position}", rate, n)
    total, variance = sum(rates), sum(_variance(rate, n) for rate, n in zip(rates, counts, strict=True))
    return Bounds(max(rates) - min(rates), min(1.0, total, len(rates) - total), float(np.sqrt(variance)))


def _check(group: str, rate: float, n: int) -> None:
    if not 0.0 <= rate <= 1.0:
        raise ValueError(f"The flag rate of {group} must be between 0 and 1; it is {rate}.")
    if n < 1:
        raise ValueError(f"{capital(group)} must have at least one person; it has {n}. Leave the bounds out.")


def _variance(rate: float, n: int) -> float:
    smoothed = (rate * n + 1.0) / (n + 2.0)
    return smoothed * (1.0 - smoothed) / (n + 2.0)
