"""Small pictures as SVG text, for places without a script: the output of a notebook.

They stand on light and on dark pages: nothing is filled behind them, text and lines take the page's colour, and nothing
is shown by colour alone. Rows have names, twins are dashed, and every picture says in words what it shows. Names that
come from a table pass through ``plain``. Nothing has an id, as several pictures may share a page.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import SMALLEST_GROUP, percent, percent_range
from cfad_core.core.looks import Look
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.shapes import GroupShape, Shapes
from cfad_core.figures.style import PALETTE, color_of
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
    truth : what is true, where that is known
    """

    look: Look
    ratio: float | None
    interval: Interval | None = None
    bounds: tuple[float, float] | None = None
    truth: float | None = None


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
    marks += [("cross", "the truth")] if any(row.truth is not None for row in shown) else []
    said = "; ".join(f"{short(one_line(row.look.label), 60)}: {_ratio_said(row)}" for row in shown)
    return _picture("Share of people whose outcome changes, by method", said, parts, marks, bottom)


def _ends(row: RatioRow) -> Iterator[float]:
    yield from () if row.ratio is None else (row.ratio,)
    yield from () if row.interval is None else (row.interval.high,)
    yield from () if row.bounds is None else (row.bounds[1],)
    yield from () if row.truth is None else (row.truth,)


def _ratio_said(row: RatioRow) -> str:
    words = percent(row.ratio)
    if row.interval is not None:
        words += f", interval {percent_range(row.interval.low, row.interval.high)}"
    words += "" if row.truth is None else f", in truth {percent(row.truth)}"
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
    if row.truth is not None:
        yield f'<g transform="translate({axis.at(row.truth):.1f} {y:.1f})">{_CROSS}</g>'
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


def densities_sketch(shapes: Shapes) -> str:
    """How scores are spread, a row for each group: people filled, their twins a dashed line; the threshold is dotted.

    The shares that are flagged stand at the right.
    """
    shown, height = shapes.groups[:MOST_ROWS], 56.0
    ends = (
        (-0.7, len(shapes.scores) - 0.3)
        if shapes.kind == "bars"
        else (float(shapes.scores[0]), float(shapes.scores[-1]))
    )
    axis = Axis(*ends, _LEFT, _RIGHT, shapes.log)
    bottom, top = _TOP + 14.0 + height * len(shown), shapes.top or 1.0
    ticks = [f"{tick:.4g}" for tick in axis.ticks()]
    parts = [*_frame(axis, bottom, ticks, "score")] if shapes.kind != "bars" else []
    for k, group in enumerate(shown):
        base, color = _TOP + 14.0 + height * (k + 1), PALETTE[k % len(PALETTE)]
        parts += [_name(group.name, base - 22.0), text(_LEFT - 8.0, base - 8.0, _size(group.n or 0), _SMALL)]
        parts.append(path(f"M{_LEFT:.1f} {base:.1f}H{_RIGHT:.1f}", 'stroke="currentColor" stroke-opacity=".35"'))
        parts += _ridge(shapes, group, axis, base, (height - 8.0) / top, color)
        parts += _flagged(group, base)
    parts += _threshold_mark(shapes.place_of_threshold, axis, bottom)
    said = "; ".join(f"{short(one_line(group.name), 60)}: {_flagged_said(group)}" for group in shown)
    parts.append(text(_RIGHT + 8.0, _TOP + 4.0, "flagged", _FAINT))
    marks = [("bar", "people"), ("dashed line", "their twins (flagged: in brackets)")]
    rest = len(shapes.groups) - len(shown)
    more = f"; and {rest} more groups" if rest > 0 else ""
    words = f"{said}; the threshold is {shapes.threshold:.4g}{more}"
    return _picture("How scores are spread, by group", words, parts, marks, bottom)


_FAINT = 'fill-opacity=".65" font-size="10.5"'
_SMALL = f'text-anchor="end" {_FAINT}'
_POINTS = 140  # of a curve


def _ridge(shapes: Shapes, group: GroupShape, axis: Axis, base: float, scale: float, color: str) -> Iterator[str]:
    """What is drawn of one group, its heights so many pixels each."""
    if group.people is None:
        words = f"fewer than {SMALLEST_GROUP} people: not shown" if group.is_hidden else "nobody"
        yield text(_LEFT + 6.0, base - 14.0, words, 'fill-opacity=".65"')
        return
    fill = f'fill="{color}" fill-opacity=".3"'
    look, twins = (
        f'stroke="{color}" stroke-width="1"',
        'stroke="currentColor" stroke-width="1.6" stroke-dasharray="4 3"',
    )
    if shapes.kind == "bars":
        for k, height in enumerate(group.people * scale):
            left, right = axis.at(k - 0.35), axis.at(k + 0.35)
            size = f'width="{right - left:.1f}" height="{height:.1f}"'
            yield f'<rect x="{left:.1f}" y="{base - height:.1f}" {size} {fill}/>'
            yield text(
                (left + right) / 2.0, base + 11.0, f"{shapes.scores[k]:.3g}", 'text-anchor="middle" font-size="9"'
            )
            if group.twins is not None:
                yield path(f"M{left:.1f} {base - scale * group.twins[k]:.1f}H{right:.1f}", twins)
        return
    kept = np.unique(np.linspace(0, len(shapes.scores) - 1, _POINTS).astype(np.intp))
    x = [axis.at(score) for score in shapes.scores[kept].tolist()]
    line = _through(x, base - scale * group.people[kept])
    yield f'<path d="M{x[0]:.1f} {base:.1f}L{line}L{x[-1]:.1f} {base:.1f}Z" {fill} {look}/>'
    if group.twins is not None:
        yield path(f"M{_through(x, base - scale * group.twins[kept])}", twins)


def _through(x: Sequence[float], y: Floats) -> str:
    return "L".join(f"{px:.1f} {py:.1f}" for px, py in zip(x, y.tolist(), strict=True))


def _flagged(group: GroupShape, base: float) -> Iterator[str]:
    if group.people is not None:
        yield text(_RIGHT + 8.0, base - 22.0, percent(group.flagged), 'font-size="11"')
        yield text(_RIGHT + 8.0, base - 8.0, f"({percent(group.twins_flagged)})", _FAINT)


def _flagged_said(group: GroupShape) -> str:
    if group.people is None:
        return f"fewer than {SMALLEST_GROUP} people" if group.is_hidden else "nobody"
    return f"{percent(group.flagged)} of people flagged, {percent(group.twins_flagged)} of their twins"


def _threshold_mark(threshold: float | None, axis: Axis, bottom: float) -> Iterator[str]:
    if threshold is None:
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


_CROSS = '<path d="M-6 -6l12 12m0 -12l-12 12" fill="none" stroke="currentColor" stroke-width="2.2"/>'
_MARKS = {
    "cross": f'<g transform="translate(11 0)">{_CROSS}</g>',
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
