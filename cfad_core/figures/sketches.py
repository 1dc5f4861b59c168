"""Small pictures as SVG text, for places without a script: the output of a notebook.

They stand on light and on dark pages: nothing is filled behind them, text and lines take the page's colour, and nothing
is shown by colour alone. Rows have names, twins are dashed, and every picture says in words what it shows. Names that
come from a table pass through ``plain``. Nothing has an id, as several pictures may share a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import SMALLEST_GROUP, percent, percent_range
from cfad_core.core.looks import Look
from cfad_core.evaluation.densities import Densities
from cfad_core.evaluation.intervals import Interval
from cfad_core.figures.style import COUNTERFACTUAL, PALETTE, color_of
from cfad_core.figures.svg import (
    INK,
    NAME,
    Axis,
    fitting,
    legend,
    one_line,
    path,
    percent_tick,
    picture,
    plain,
    short,
    text,
    titled,
)

__all__ = ["MOST_ROWS", "RateRow", "RatioRow", "densities_sketch", "plain", "rates_sketch", "ratios_sketch"]

MOST_ROWS = 12  # of a picture; of two attributes there may be many more groups
_WIDTH = 440.0
_LEFT, _RIGHT = 122.0, 384.0  # between which numbers are drawn; names are on the left, values on the right
_TOP, _BELOW = 8.0, 62.0  # of the rows: room above, and for the axis and the legend
_NAME_ROOM = 15.0  # letters of a usual width that a name has


@dataclass(frozen=True)
class RatioRow:
    """The changing ratio of one method.

    Attributes
    ----------
    look : what the method is called, and its colour
    ratio : None where it is undefined
    interval : None if it was not measured
    bounds : graph-free ones; None where they do not hold
    """

    look: Look
    ratio: float | None
    interval: Interval | None = None
    bounds: tuple[float, float] | None = None


@dataclass(frozen=True)
class RateRow:
    """The flag rates of one group.

    Attributes
    ----------
    name : of the group
    people : how many there are; of fewer than ten nothing is shown
    flagged, twins_flagged : shares of the group and of its twins; None where they are undefined
    """

    name: str
    people: int
    flagged: float | None
    twins_flagged: float | None

    @property
    def is_hidden(self) -> bool:
        """Whether the group is too small to say anything about it."""
        return 0 < self.people < SMALLEST_GROUP


def ratios_sketch(rows: Sequence[RatioRow], interval_name: str = "90 % interval") -> str:
    """The changing ratio of every method: a dot, its interval a line, and the graph-free bounds a dashed bracket."""
    shown, height = list(rows[:MOST_ROWS]), 26.0
    ends = [end for row in shown for end in _ends(row)]
    axis = Axis(0.0, max([*ends, 0.01]) * 1.04, _LEFT, _RIGHT)
    bottom = _TOP + height * len(shown)
    parts = [*_frame(axis, bottom, [percent_tick(tick) for tick in axis.ticks()], "share of people")]
    for k, row in enumerate(shown):
        parts += _ratio_marks(row, axis, _TOP + height * (k + 0.5))
    marks = [("dot", "outcome changes")]
    marks += [("line", interval_name)] if any(row.interval for row in shown) else []
    marks += [("bracket", "flag rates allow")] if any(row.bounds for row in shown) else []
    said = "; ".join(f"{short(one_line(row.look.label), 60)}: {_ratio_said(row)}" for row in shown)
    return _picture("Share of people whose outcome changes, by method", said, parts, marks, bottom)


def _ends(row: RatioRow) -> Iterator[float]:
    yield from () if row.ratio is None else (row.ratio,)
    yield from () if row.interval is None else (row.interval.high,)
    yield from () if row.bounds is None else (row.bounds[1],)


def _ratio_said(row: RatioRow) -> str:
    words = percent(row.ratio)
    if row.interval is not None:
        words += f", interval {percent_range(row.interval.low, row.interval.high)}"
    return words if row.bounds is None else f"{words}, flag rates allow {percent_range(*row.bounds)}"


def _ratio_marks(row: RatioRow, axis: Axis, y: float) -> Iterator[str]:
    color = color_of(row.look)
    yield _name(row.look.label, y + 4.0)
    if row.bounds is not None:
        low, high = (axis.at(end) for end in row.bounds)
        yield path(f"M{low:.1f} {y:.1f}H{high:.1f}", 'stroke="currentColor" stroke-opacity=".6" stroke-dasharray="3 3"')
        caps = "".join(f"M{x:.1f} {y - 5.0:.1f}v10" for x in (low, high))
        yield path(caps, 'stroke="currentColor" stroke-opacity=".6"')
    if row.interval is not None:
        low, high = axis.at(row.interval.low), axis.at(row.interval.high)
        yield path(f"M{low:.1f} {y:.1f}H{high:.1f}", f'stroke="{color}" stroke-width="4" stroke-linecap="round"')
    if row.ratio is not None:
        yield (
            f'<circle cx="{axis.at(row.ratio):.1f}" cy="{y:.1f}" r="5" fill="{color}" stroke="currentColor" '
            'stroke-width="1.2"/>'
        )
    yield text(_RIGHT + 8.0, y + 4.0, percent(row.ratio))


def rates_sketch(rows: Sequence[RateRow]) -> str:
    """The flag rate of every group beside that of its twins: full bars, and dashed ones."""
    shown, height = list(rows[:MOST_ROWS]), 38.0
    rates = [rate for row in shown for rate in (row.flagged, row.twins_flagged) if rate is not None]
    axis = Axis(0.0, max([*rates, 0.01]) * 1.04, _LEFT, _RIGHT)
    bottom = _TOP + height * len(shown)
    parts = [*_frame(axis, bottom, [percent_tick(tick) for tick in axis.ticks()], "share of the group")]
    for k, row in enumerate(shown):
        parts += _rate_bars(row, axis, _TOP + height * k, PALETTE[k % len(PALETTE)])
    said = "; ".join(f"{short(one_line(row.name), 60)}: {_rate_said(row)}" for row in shown)
    marks = [("bar", "people"), ("dashed bar", "their twins")]
    return _picture("Flag rates by group, of people and of their twins", said + _more(rows), parts, marks, bottom)


def _rate_said(row: RateRow) -> str:
    if row.is_hidden:
        return f"fewer than {SMALLEST_GROUP} people"
    return f"{percent(row.flagged)} of people flagged, {percent(row.twins_flagged)} of their twins"


def _rate_bars(row: RateRow, axis: Axis, top: float, color: str) -> Iterator[str]:
    yield _name(row.name, top + 15.0)
    yield text(_LEFT - 8.0, top + 29.0, _size(row.people), 'text-anchor="end" fill-opacity=".65" font-size="10.5"')
    if row.is_hidden:
        yield text(_LEFT + 6.0, top + 22.0, f"fewer than {SMALLEST_GROUP} people: not shown", 'fill-opacity=".65"')
        return
    looks = (f'fill="{color}"', f'fill="{color}" fill-opacity=".18" stroke="{color}" stroke-dasharray="4 2"')
    for y, rate, look in zip((top + 5.0, top + 20.0), (row.flagged, row.twins_flagged), looks, strict=True):
        right = axis.at(rate or 0.0)
        if rate is not None:
            yield f'<rect x="{_LEFT:.1f}" y="{y:.1f}" width="{max(right - _LEFT, 0.5):.1f}" height="11" {look}/>'
        yield text(right + 6.0, y + 9.5, percent(rate), 'font-size="11"')


def densities_sketch(densities: Densities, threshold: float, people: Mapping[str, int], *, log: bool = False) -> str:
    """Score densities, a row for each group: people a full line, their twins a dashed one; the threshold is dotted.

    Parameters
    ----------
    densities : the density of the twins of group "g" is named "g (counterfactual)"
    people : how many each group has; of fewer than ten nothing is shown
    log : whether the bins are logarithmic
    """
    shown, height = list(people)[:MOST_ROWS], 56.0
    axis = Axis(float(densities.edges[0]), float(densities.edges[-1]), _LEFT, _RIGHT, log)
    drawn = [name for name in shown if people[name] >= SMALLEST_GROUP]
    lines = [densities.density[f"{name}{world}"] for name in drawn for world in ("", COUNTERFACTUAL)]
    tops = [float(np.nanmax(line)) for line in lines if np.isfinite(line).any()]
    bottom, top = _TOP + 14.0 + height * len(shown), max(tops, default=0.0) or 1.0
    parts = [*_frame(axis, bottom, [f"{tick:.4g}" for tick in axis.ticks()], "score")]
    for k, name in enumerate(shown):
        base, color = _TOP + 14.0 + height * (k + 1), PALETTE[k % len(PALETTE)]
        parts += [_name(name, base - 22.0), text(_LEFT - 8.0, base - 8.0, _size(people[name]), _SMALL)]
        parts.append(path(f"M{_LEFT:.1f} {base:.1f}H{_RIGHT:.1f}", 'stroke="currentColor" stroke-opacity=".35"'))
        if name in drawn:
            both = [densities.density[f"{name}{world}"] * (height - 8.0) / top for world in ("", COUNTERFACTUAL)]
            parts += _ridge(both, densities.edges, axis, base, color)
    parts += _threshold_mark(threshold, axis, bottom)
    said = f"{len(shown)} groups; the threshold is {threshold:.4g}{_more(list(people))}"
    marks = [("line", "people"), ("dashed line", "their twins")]
    return _picture("How scores are spread, by group", said, parts, marks, bottom)


_SMALL = 'text-anchor="end" fill-opacity=".65" font-size="10.5"'


def _ridge(both: Sequence[Floats], edges: Floats, axis: Axis, base: float, color: str) -> Iterator[str]:
    """The density of people, filled, and that of their twins; one that is not defined is left out."""
    middle = np.sqrt(edges[1:] * edges[:-1]) if axis.log else (edges[1:] + edges[:-1]) / 2.0
    x = [axis.at(float(value)) for value in middle]
    looks = (f'stroke="{color}" stroke-width="1.8"', 'stroke="currentColor" stroke-width="1.3" stroke-dasharray="4 3"')
    for k, (heights, look) in enumerate(zip(both, looks, strict=True)):
        if not np.isfinite(heights).all():
            continue
        line = "L".join(f"{px:.1f} {base - h:.1f}" for px, h in zip(x, heights.tolist(), strict=True))
        if k == 0:
            yield f'<path d="M{x[0]:.1f} {base:.1f}L{line}L{x[-1]:.1f} {base:.1f}Z" fill="{color}" fill-opacity=".22"/>'
        yield path(f"M{line}", look)


def _threshold_mark(threshold: float, axis: Axis, bottom: float) -> Iterator[str]:
    if not axis.low <= threshold <= axis.high:
        return
    x = axis.at(threshold)
    yield path(f"M{x:.1f} {_TOP + 8.0:.1f}V{bottom:.1f}", 'stroke="currentColor" stroke-dasharray="1.5 3"')
    side = "end" if x > (_LEFT + _RIGHT) / 2.0 else "start"
    yield text(x, _TOP + 4.0, "threshold", f'text-anchor="{side}" font-size="10.5"')


# Parts that all of them have


def _frame(axis: Axis, bottom: float, ticks: Sequence[str], title: str) -> Iterator[str]:
    for place, words in zip(axis.ticks(), ticks, strict=True):
        x = axis.at(place)
        yield path(f"M{x:.1f} {_TOP:.1f}V{bottom:.1f}", 'stroke="currentColor" stroke-opacity=".14"')
        yield text(x, bottom + 15.0, words, 'text-anchor="middle" fill-opacity=".75" font-size="11"')
    yield text((_LEFT + _RIGHT) / 2.0, bottom + 31.0, title, 'text-anchor="middle" fill-opacity=".75" font-size="11"')


def _picture(title: str, said: str, parts: Iterable[str], marks: Sequence[tuple[str, str]], bottom: float) -> str:
    entries, last = legend([(_MARKS[kind], words) for kind, words in marks], bottom + 51.0, _WIDTH)
    return picture(title, said, [*parts, *entries], _WIDTH, last + _BELOW - 51.0)


_MARKS = {
    "dot": '<circle cx="11" r="5" fill-opacity=".6" stroke="currentColor"/>',
    "bar": '<rect y="-5" width="22" height="10" fill-opacity=".6"/>',
    "dashed bar": '<rect y="-5" width="22" height="10" fill-opacity=".12" stroke="currentColor" '
    'stroke-dasharray="4 2"/>',
    "line": f'<path d="M0 0h22" {INK} stroke-width="3"/>',
    "dashed line": f'<path d="M0 0h22" {INK} stroke-dasharray="4 3"/>',
    "bracket": f'<g stroke-opacity=".6"><path d="M0 0h22" {INK} stroke-dasharray="3 3"/>'
    f'<path d="M0 -5v10m22 -10v10" {INK}/></g>',
}


def _name(name: str, y: float) -> str:
    """A name on the left, as much of it as there is room for; pointed at, more of it."""
    whole = one_line(name)
    shown = fitting(whole, _NAME_ROOM)
    label = text(_LEFT - 8.0, y, shown, f'text-anchor="end" {NAME}')
    return label if shown == whole else titled(whole, label)


def _size(people: int) -> str:
    return f"<{SMALLEST_GROUP} people" if 0 < people < SMALLEST_GROUP else f"{people:,} people"


def _more(rows: Sequence[object]) -> str:
    rest = len(rows) - MOST_ROWS
    return f"; and {rest} more groups" if rest > 0 else ""
