"""Small pictures of one column: where the person's value lies among their group, and the twin's among the other one.

As SVG: a person's card may have dozens of them. The person is a filled dot, the twin a diamond with a hole.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import percent
from cfad_core.evaluation.spreads import Bins, LevelSpread, NumberSpread, Spread
from cfad_core.figures.style import PALETTE
from cfad_core.figures.svg import NAME, Axis, fitting, one_line, path, picture, text, titled

PERSON_COLOR, TWIN_COLOR = PALETTE[0], PALETTE[1]
_WIDTH, _LEFT, _RIGHT = 300.0, 76.0, 290.0
_RIDGE = 34.0  # height of one group's density
_NAMED = 4  # levels besides those of the two that have a bar of their own
_QUIET = 'fill-opacity=".78" font-size="10.5"'
_DAY = 86_400.0


@dataclass(frozen=True)
class Marked:
    """Two values of a column.

    Attributes
    ----------
    groups : of the person, and of the twin
    values : of the person, and of the twin: numbers, or levels; None is missing
    """

    groups: tuple[str, str]
    values: tuple[float | str | None, float | str | None]


def spread_sketch(column: str, spread: Spread, marked: Marked) -> str:
    """Where the two values lie, each among the people of its group."""
    title = f"{one_line(column)}: where the two values lie"
    if isinstance(spread, LevelSpread):
        parts, height = _levels(spread, marked)
    else:
        parts, height = _numbers(spread, marked)
    said = spread_words(spread, marked) or "Both values are missing."
    return picture(title, said, parts, _WIDTH, height)


def spread_words(spread: Spread, marked: Marked) -> str:
    """The same in a sentence; empty if nothing is known of either."""
    said = []
    for group, value, who in zip(marked.groups, marked.values, ("The person", "the twin"), strict=True):
        if isinstance(spread, LevelSpread) and isinstance(value, str):
            said.append(f"{value}: {percent(spread.share(group, value), 0)} of the group {group}")
        elif isinstance(spread, NumberSpread) and isinstance(value, float):
            below = spread.below(group, value)
            if below is not None:
                said.append(f"{who} has {_than(below)} of the group {group}")
    words = "; ".join(dict.fromkeys(said))
    return f"{words}." if words else ""


def _than(share: float) -> str:
    """``more than 62 %``; at the ends in words, as a rounded share would say too much."""
    if share >= 0.995:
        return "more than nearly everybody"
    return "less than nearly everybody" if share <= 0.005 else f"more than {percent(share, 0)}"


# Numbers: a density for each group, one above the other


def _numbers(spread: NumberSpread, marked: Marked) -> tuple[list[str], float]:
    values = [value for value in marked.values if isinstance(value, float)]
    bins = spread.bins(list(dict.fromkeys(marked.groups)), values)
    axis = Axis(float(bins.edges[0]), float(bins.edges[-1]), _LEFT, _RIGHT)
    top = max((float(shares.max(initial=0.0)) for shares in bins.shares.values()), default=0.0) or 1.0
    bases = (_RIDGE + 4.0, 2.0 * _RIDGE + 16.0)
    parts: list[str] = []
    for group, base, color in zip(marked.groups, bases, (PERSON_COLOR, TWIN_COLOR), strict=True):
        parts += [_group_name(group, base - 6.0), _area(bins, bins.shares[group] / top, axis, base, color)]
        parts.append(path(f"M{_LEFT:.1f} {base:.1f}H{_RIGHT:.1f}", 'stroke="currentColor" stroke-opacity=".4"'))
    parts += _marks(marked, axis, bases)
    bottom = bases[1]
    places = _tick_places(axis)
    for place, words in zip(places, _tick_words(places, spread.seconds), strict=True):
        anchor = "end" if axis.at(place) > _RIGHT - 14.0 else "start" if axis.at(place) < _LEFT + 10.0 else "middle"
        parts.append(text(axis.at(place), bottom + 18.0, words, f'text-anchor="{anchor}" {_QUIET}'))
    return parts, bottom + 24.0


def _area(bins: Bins, heights: Floats, axis: Axis, base: float, color: str) -> str:
    """The density of one group: smooth, or a bar for each whole number."""
    tall = base - (_RIDGE - 6.0) * heights
    look = f'fill="{color}" fill-opacity=".3" stroke="{color}" stroke-width="1.2"'
    if bins.is_smooth:
        middle = (bins.edges[1:] + bins.edges[:-1]) / 2.0
        points = "L".join(f"{axis.at(x):.1f} {y:.1f}" for x, y in zip(middle.tolist(), tall.tolist(), strict=True))
        first, last = axis.at(float(middle[0])), axis.at(float(middle[-1]))
        return f'<path d="M{first:.1f} {base:.1f}L{points}L{last:.1f} {base:.1f}Z" {look}/>'
    wide = (axis.end - axis.start) / len(heights)
    bars = [
        f"M{axis.at(x + 0.5) - 0.4 * wide:.1f} {base:.1f}V{y:.1f}h{0.8 * wide:.1f}V{base:.1f}Z"
        for x, y in zip(bins.edges[:-1].tolist(), tall.tolist(), strict=True)
        if y < base
    ]
    return f'<path d="{"".join(bars)}" {look}/>'


def _marks(marked: Marked, axis: Axis, bases: tuple[float, float]) -> Iterator[str]:
    """The two values; a dashed line leads from the one to the other."""
    person, twin = [axis.at(value) if isinstance(value, float) else None for value in marked.values]
    if person is not None and twin is not None:
        line = f"M{person:.1f} {bases[0]:.1f}L{twin:.1f} {bases[1]:.1f}"
        yield path(line, 'stroke="currentColor" stroke-width="1.4" stroke-dasharray="3 3"')
    for x, base, mark in ((person, bases[0], person_mark), (twin, bases[1], twin_mark)):
        if x is None:
            yield text(_RIGHT, base - 6.0, "missing", f'text-anchor="end" {_QUIET}')
        else:
            yield path(f"M{x:.1f} {base:.1f}V{base - _RIDGE + 4.0:.1f}", 'stroke="currentColor" stroke-width="1.4"')
            yield mark(x, base)


def person_mark(x: float, y: float) -> str:
    """A filled dot."""
    return f'<circle cx="{x:.1f}" cy="{y:.1f}" r="5.5" fill="{PERSON_COLOR}" stroke="currentColor" stroke-width="1.4"/>'


def twin_mark(x: float, y: float) -> str:
    """A diamond with a hole."""
    d = f"M{x - 6.5:.1f} {y:.1f}l6.5 -6.5l6.5 6.5l-6.5 6.5Z"
    hole = f'<circle cx="{x:.1f}" cy="{y:.1f}" r="1.8" fill="currentColor"/>'
    return f'<path d="{d}" fill="{TWIN_COLOR}" stroke="currentColor" stroke-width="1.4"/>{hole}'


def _tick_places(axis: Axis) -> list[float]:
    ticks = axis.ticks()
    while len(ticks) > 3:
        ticks = ticks[:: 2 if len(ticks) < 6 else 3]
    return ticks or [axis.low]


def _tick_words(places: Sequence[float], seconds: float | None) -> list[str]:
    if seconds is None:
        return [_short_number(place) for place in places]
    days = [np.datetime64(int(place * seconds // _DAY), "D") for place in places]
    months = [str(day.astype("datetime64[M]")) for day in days]
    return months if len(set(months)) == len(months) else [str(day) for day in days]


def _short_number(value: float) -> str:
    """``12,000`` or ``1.5e+06``: as much as an axis has room for."""
    if value == int(value) and abs(value) < 1e6:
        return f"{int(value):,}"
    return f"{value:.3g}"


# Categories: a pair of bars for each level


def _levels(spread: LevelSpread, marked: Marked) -> tuple[list[str], float]:
    own = [value for value in marked.values if isinstance(value, str) and value in spread.levels]
    others = [level for level in spread.levels if level not in own]
    shown = [*dict.fromkeys(own), *others[:_NAMED]]
    rest = others[_NAMED:]
    rows = [(level, [spread.share(group, level) for group in marked.groups]) for level in shown]
    if rest:
        rest_share = [sum(spread.share(group, level) for level in rest) for group in marked.groups]
        rows.append((f"{len(rest)} others", rest_share))
    largest = max((share for _, shares in rows for share in shares), default=0.0) or 1.0
    axis = Axis(0.0, largest, _LEFT + 34.0, _RIGHT - 32.0)
    parts: list[str] = []
    for k, (level, shares) in enumerate(rows):
        y = 4.0 + 27.0 * k
        parts += _level_row(level, shares, axis, y, marked if k < len(shown) else None)
    return parts, 4.0 + 27.0 * len(rows)


def _level_row(level: str, shares: Sequence[float], axis: Axis, y: float, marked: Marked | None) -> Iterator[str]:
    left = axis.start - 6.0
    if marked is not None and level == marked.values[0]:
        yield person_mark(7.0, y + 9.0)
    if marked is not None and level == marked.values[1]:
        yield twin_mark(22.0 if level == marked.values[0] else 7.0, y + 9.0)
    whole = one_line(level)
    name = fitting(whole, 10.5)
    label = text(left, y + 13.0, name, f'text-anchor="end" font-size="11" {NAME}')
    yield label if name == whole else titled(whole, label)
    looks = (
        f'fill="{PERSON_COLOR}"',
        f'fill="{TWIN_COLOR}" fill-opacity=".25" stroke="{TWIN_COLOR}" stroke-width="1.2"',
    )
    for place, share, look in zip((y, y + 10.0), shares, looks, strict=True):
        right = axis.at(share)
        yield (
            f'<rect x="{axis.start:.1f}" y="{place:.1f}" width="{max(0.8, right - axis.start):.1f}" height="8" {look}/>'
        )
        yield text(right + 4.0, place + 8.0, percent(share, 0 if share >= 0.0095 or share == 0.0 else 1), _QUIET)


def _group_name(group: str, y: float) -> str:
    whole = one_line(group)
    name = fitting(whole, 10.0)
    label = text(_LEFT - 8.0, y, name, f'text-anchor="end" {_QUIET} {NAME}')
    return label if name == whole else titled(whole, label)
