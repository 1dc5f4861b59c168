"""What an audit said without knowing the truth, beside the truth."""

from __future__ import annotations

from dataclasses import dataclass

from cfad_core.core.formats import percent, rounded_percent
from cfad_core.evaluation.intervals import Interval

_NARROW = 0.1  # width of an interval, in shares, below which its ends need a digit more


@dataclass(frozen=True)
class TruthCheck:
    """The changing ratio of one method at a threshold: as it is, and as the audit said.

    Attributes
    ----------
    true : by the true twins, which the audit did not see
    said : by the audit; None where it judged nobody
    interval : of what it said; None if it was not measured
    """

    true: float
    said: float | None
    interval: Interval | None

    @property
    def holds(self) -> bool | None:
        """Whether the interval contains the truth; None if there is none."""
        return None if self.interval is None else self.interval.low <= self.true <= self.interval.high

    @property
    def line(self) -> str:
        """``the true share is 9.0 %; the interval, 7.8 % to 9.9 %, contains it``."""
        truth = f"The true share is {percent(self.true)}"
        if self.interval is None:
            said = "nothing" if self.said is None else percent(self.said)
            return f"{truth}; the audit said {said}, and measured no interval."
        low, high = self.interval.low, self.interval.high
        write = percent if high - low < _NARROW else rounded_percent
        ends = f"{write(low)} to {write(high)}"
        if self.holds:
            return f"{truth}; the interval, {ends}, contains it."
        by = 100.0 * (low - self.true if self.true < low else self.true - high)
        size = f"{by:.1f} points" if by >= 0.05 else "less than 0.1 points"
        return f"{truth}; the interval, {ends}, misses it by {size}."
