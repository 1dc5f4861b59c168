"""Two methods beside each other: for how many people fewer, or more, the outcome changes with one of them."""

from __future__ import annotations

from cfad_core.evaluation.intervals import Difference

_NOTHING = 0.0005  # a difference that would be printed as 0.0 points


def comparison_line(method: str, plain: str, found: Difference) -> str:
    """What a difference means, in a sentence; the methods by what people call them."""
    value, interval = found.value, found.interval
    size = f"The outcome of {_points(value)} people changes with {method} than with {plain}"
    if abs(value) < _NOTHING:
        size = f"The outcome of as many people changes with {method} as with {plain}"
    if interval is None:
        return f"{size}; the uncertainty was not measured."
    if interval.low < 0.0 < interval.high:
        ends = f"it may be from {_points(interval.low)} to {_points(interval.high)}"
        return f"{size}, but that may be chance: {ends}."
    low, high = sorted((abs(interval.low), abs(interval.high)))
    return f"{size} ({100.0 * low:.1f} to {100.0 * high:.1f} points)."


def _points(difference: float) -> str:
    return f"{100.0 * abs(difference):.1f} points {'fewer' if difference < 0.0 else 'more'}"
