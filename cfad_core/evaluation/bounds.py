"""Graph-free bounds: what the flag rates of the two groups alone say about the changing ratio.

They hold for every detector and every causal model whose twins of one group are, as a population, the other group (what
the twin test tests), and not for rows that were chosen by their label.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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
        if not 0.0 <= rate <= 1.0:
            raise ValueError(f"The flag rate of the {name} group must be between 0 and 1; it is {rate}.")
        if n < 1:
            raise ValueError(f"The {name} group must have at least one person; it has {n}. Leave the bounds out.")
    total = first_rate + second_rate
    variance = _variance(first_rate, n_first) + _variance(second_rate, n_second)
    return Bounds(abs(first_rate - second_rate), min(total, 2.0 - total), float(np.sqrt(variance)))


def _variance(rate: float, n: int) -> float:
    smoothed = (rate * n + 1.0) / (n + 2.0)
    return smoothed * (1.0 - smoothed) / (n + 2.0)
