"""Numbers as people read them, in the same way on pages, in pictures, sentences and commands."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from math import ceil, floor

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


def exceeded_by(quantile: float) -> str:
    """What a quantile of training scores is: ``the score that 5 % of the people learned from exceed``."""
    return f"the score that {100.0 * (1.0 - quantile):.4g} % of the people learned from exceed"


def percent_range(low: float, high: float) -> str:
    """``0.6 % to 2.1 %``; both ends are always there."""
    if high < 0.001:
        return "under 0.1 %"
    if low < 0.0005:
        return f"0 % to {percent(high)}"
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


def remaining(seconds: float) -> str:
    """How much time is left: 'a few seconds', 'about 25 seconds', 'about 3 minutes'. It never rises as time passes."""
    if seconds < 8.0:
        return "a few seconds"
    if seconds < 57.5:
        return f"about {5.0 * ceil(seconds / 5.0 - 0.5):.0f} seconds"
    minutes = max(1, ceil(seconds / 60.0 - 0.25))
    if minutes < 60:
        return f"about {counted(minutes, 'minute')}"
    return f"about {counted(minutes // 60, 'hour')} and {counted(minutes % 60, 'minute')}"


def about(seconds: float, low: float, high: float) -> str:
    """An estimate and its bounds: ``about 2 minutes (1 to 4)``, ``about 20 seconds (10 to 50)``."""
    unit, size = next((one for one in (("second", 1.0), ("minute", 60.0)) if seconds < 90.0 * one[1]), ("hour", 3600.0))
    few, middle, many = (_few_digits(value / size, up) for value, up in ((low, False), (seconds, None), (high, True)))
    return f"about {middle} {unit}{'' if middle == '1' else 's'} ({few} to {many})"


def _few_digits(value: float, up: bool | None) -> str:
    """As a person says a number of minutes: 1, 2, ..., 10, 15, 20, ..., 60, 70; a bound away from the middle."""
    step = 1.0 if value < 10.0 else 5.0 if value < 60.0 else 10.0
    steps = value / step
    whole = round(steps) if up is None else ceil(steps) if up else floor(steps)
    return f"{max(1, whole) * step:.0f}"


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


def capital(text: str) -> str:
    """The same with a capital first letter; nothing stays nothing."""
    return f"{text[:1].upper()}{text[1:]}"


def listed(names: Sequence[str], most: int = 3) -> str:
    """``age``, ``age and job``, ``age, job and city``, ``age, job, city and 2 more``."""
    shown, rest = list(names[:most]), len(names) - most
    if rest > 0:
        shown.append(f"{rest} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def cell_text(cell: object, unlike: object = None) -> str:
    """A cell of a table: numbers with six digits, or with as many as distinguish them from another cell; days alone."""
    if cell is None:
        return "missing"
    if isinstance(cell, datetime):
        return str(cell).removesuffix(" 00:00:00")
    if not isinstance(cell, float):
        return str(cell)
    short = f"{cell:.6g}"
    return repr(cell) if isinstance(unlike, float) and cell != unlike and short == f"{unlike:.6g}" else short


def cells_differ(one: object, other: object) -> bool:
    """Whether two cells hold something else, not only in another type."""
    return one != other and str(one) != str(other)
