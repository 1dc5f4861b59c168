"""Numbers as a report shows them: what is written and what is read from JSON cannot differ."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from cfad_core.core.formats import HIDDEN_SIZE, SMALLEST_GROUP, percent
from cfad_core.evaluation.intervals import Interval


@dataclass(frozen=True)
class Number:
    """A number as a reader sees it.

    Attributes
    ----------
    shown : all of it as text, with unit and interval
    value : rounded as it is shown; None where it is undefined or hidden
    unit : ``%`` or ``points``; empty for counts and plain numbers
    low, high : of its interval, rounded as they are shown
    """

    shown: str
    value: float | int | None = None
    unit: str = ""
    low: float | None = None
    high: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """With only what there is."""
        found: dict[str, Any] = {"value": self.value, "shown": self.shown}
        more = {"unit": self.unit, "low": self.low, "high": self.high}
        return found | {name: value for name, value in more.items() if value not in (None, "")}


def count(n: int | None) -> Number:
    """How many people or rows; fewer than ten are ``<10``, None is hidden already."""
    if n is None or 0 < n < SMALLEST_GROUP:
        return Number(HIDDEN_SIZE)
    return amount(n)


def amount(n: int) -> Number:
    """How many of anything that is no person."""
    return Number(f"{n:,}", int(n))


def share(value: float | None, interval: Interval | None = None, *, undefined: str = "n/a") -> Number:
    """A share of people, as a percentage with one digit."""
    if value is None or not math.isfinite(value):
        return Number(undefined)
    text, ends = percent(value), _ends(interval)
    if ends is None:
        return Number(text, _value(text), "%")
    low, high = (percent(end) for end in ends)
    return Number(f"{text} ({low} to {high})", _value(text), "%", _value(low), _value(high))


def share_range(low: float, high: float) -> Number:
    """Two shares with nothing between them."""
    texts = percent(low), percent(high)
    return Number(" to ".join(texts), None, "%", *(_value(text) for text in texts))


def decimal(
    value: float | None, interval: Interval | None = None, digits: int = 2, *, undefined: str = "n/a"
) -> Number:
    """A plain number."""
    if value is None or not math.isfinite(value):
        return Number(undefined)
    text, ends = f"{value:z.{digits}f}", _ends(interval)
    if ends is None:
        return Number(text, _value(text))
    low, high = (f"{end:z.{digits}f}" for end in ends)
    return Number(f"{text} ({low} to {high})", _value(text), "", _value(low), _value(high))


def points(value: float | None, interval: Interval | None = None) -> Number:
    """A difference of shares, in percentage points."""
    if value is None or not math.isfinite(value):
        return Number("n/a")
    text, ends = f"{100.0 * value:z.1f}", _ends(interval)
    if ends is None:
        return Number(f"{text} points", _value(text), "points")
    low, high = (f"{100.0 * end:z.1f}" for end in ends)
    return Number(f"{text} points ({low} to {high})", _value(text), "points", _value(low), _value(high))


def _ends(interval: Interval | None) -> tuple[float, float] | None:
    """Of an interval that has both."""
    if interval is None or not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return None
    return interval.low, interval.high


def _value(text: str) -> float:
    """The number that a text shows."""
    return float(text.removesuffix(" %"))
