"""Numbers as people read them, in the same way on pages, in pictures, sentences and commands."""

from __future__ import annotations

from collections.abc import Sequence

SMALLEST_GROUP = 10  # people; numbers about fewer may tell who they are, and do not leave the program
HIDDEN_SIZE = f"<{SMALLEST_GROUP}"


def percent(share: float | None, digits: int = 1) -> str:
    """``12.3 %``; ``n/a`` where it is undefined."""
    return "n/a" if share is None or share != share else f"{100.0 * share:.{digits}f} %"


def rounded_percent(share: float) -> str:
    """For sentences: whole percents, ``3 %``; one digit more below 2 %."""
    return percent(share, 0 if share >= 0.02 else 1)


def share_of_people(share: float) -> str:
    """``1.2 %``; ``under 0.1 %`` where that would be 0.0 %."""
    return "under 0.1 %" if 0.0 < share < 0.001 else percent(share)


def suppressed_size(n: int) -> int | str:
    """How many people a group has, as it may leave the program: ``<10`` where the number may tell who they are."""
    return HIDDEN_SIZE if 0 < n < SMALLEST_GROUP else n


def percent_range(low: float, high: float) -> str:
    """``0.6 % to 2.1 %``; ``up to 2.1 %`` if the low end is nothing."""
    if high < 0.001:
        return "under 0.1 %"
    if low < 0.0005:
        return f"up to {percent(high)}"
    return percent(high) if percent(low) == percent(high) else f"{percent(low)} to {percent(high)}"


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


def one_in(share: float) -> str:
    """What a share of people means for a person: ``about 1 in 20``; of many, ``about 3 in 10``."""
    if share < 0.001:
        return "fewer than 1 in 1,000"
    if share >= 0.95:
        return "nearly everybody"
    if 0.45 <= share < 0.55:
        return "about 1 in 2"
    if share >= 0.275:
        return f"about {round(10.0 * share)} in 10"
    return f"about 1 in {float(f'{1.0 / share:.2g}'):,.0f}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """``age``, ``age and job``, ``age, job and city``, ``age, job, city and 2 more``."""
    shown, rest = list(names[:most]), len(names) - most
    if rest > 0:
        shown.append(f"{rest} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
