"""Numbers as people read them, in the same way on pages, in pictures, sentences and commands."""

from __future__ import annotations


def percent(share: float | None, digits: int = 1) -> str:
    """``12.3 %``; ``n/a`` where it is undefined."""
    return "n/a" if share is None or share != share else f"{100.0 * share:.{digits}f} %"


def rounded_percent(share: float) -> str:
    """For sentences: whole percents, ``3 %``; one digit more below 2 %."""
    return percent(share, 0 if share >= 0.02 else 1)


def number(value: float | None, digits: int = 3) -> str:
    """With so many digits behind the point, or as many significant ones if it is small."""
    if value is None or value != value:
        return "n/a"
    return f"{value:.{digits}f}" if abs(value) >= 0.1 or value == 0.0 else f"{value:.{digits}g}"


def duration(seconds: float | None) -> str:
    """About how long: '40 s', '3 min', '1 h 20 min'."""
    if seconds is None:
        return "unknown"
    if seconds < 100.0:
        return f"{max(1, round(seconds))} s"
    minutes = round(seconds / 60.0)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def counted(count: int, thing: str) -> str:
    """``1 edge``, ``2 edges``."""
    return f"{count:,} {thing}{'' if count == 1 else 's'}"
