"""A hundred people, some of them marked: a share that is seen and not read, as SVG text."""

from __future__ import annotations

from cfad_core.core.formats import percent
from cfad_core.figures.style import PALETTE
from cfad_core.figures.svg import picture

_IN_A_ROW, _ROWS = 20, 5
_WIDE, _HIGH = 22.0, 34.0  # of the place that a person has
_HEAD, _BODY = 5.2, "M-8 14a8 9 0 0 1 16 0z"
MARKED = PALETTE[1]


def people_sketch(share: float, about: str, *, color: str = MARKED) -> str:
    """One person in a hundred for each percent, full and in colour; the others are outlines.

    Parameters
    ----------
    share : of people, from 0 to 1
    about : what is true of those who are marked, in words, for who cannot see the picture
    """
    marked = hundredths(share)
    people = [_person(k, marked=k < marked, color=color) for k in range(_IN_A_ROW * _ROWS)]
    said = f"{marked} of 100 people {'is' if marked == 1 else 'are'} marked: {about} ({percent(share)})."
    return picture(f"{marked} of 100 people", said, people, _IN_A_ROW * _WIDE, _ROWS * _HIGH)


def hundredths(share: float) -> int:
    """How many of a hundred people that is, to the nearest one."""
    return round(100.0 * min(1.0, max(0.0, share)))


def _person(k: int, *, marked: bool, color: str) -> str:
    x, y = _WIDE * (k % _IN_A_ROW + 0.5), _HIGH * (k // _IN_A_ROW) + 10.0
    look = f'fill="{color}"' if marked else 'fill="none" stroke="currentColor" stroke-opacity=".4"'
    return f'<g transform="translate({x:.1f} {y:.1f})" {look}><circle r="{_HEAD}"/><path d="{_BODY}"/></g>'
