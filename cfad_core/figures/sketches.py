"""Small pictures as SVG text, for places without a script: the output of a notebook.

They stand on light and on dark pages: nothing is filled behind them, text and lines take the page's colour, and nothing
is shown by colour alone. Rows have names, twins are dashed, and every picture says in words what it shows. Names that
come from a table pass through ``plain``. Nothing has an id, as several pictures may share a page.
"""

from __future__ import annotations

import html
import math
import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import SMALLEST_GROUP, percent, percent_range
from cfad_core.core.looks import Look
from cfad_core.evaluation.densities import Densities
from cfad_core.evaluation.intervals import Interval
from cfad_core.figures.style import COUNTERFACTUAL, PALETTE, color_of

MOST_ROWS = 12  # of a picture; of two attributes there may be many more groups
_WIDTH = 440.0
_LEFT, _RIGHT = 122.0, 384.0  # between which numbers are drawn; names are on the left, values on the right
_TOP, _BELOW = 8.0, 62.0  # of the rows: room above, and for the axis and the legend
_NAME_ROOM = 15.0  # letters of a usual width that a name has
# What a page may not be given as text: control characters, those that turn the direction of what follows, and halves of
# characters and others that XML does not allow
_UNFIT = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028\u2029\u202a-\u202e\u2066-\u2069\ud800-\udfff\ufffe\uffff]"
)


def plain(text: object, limit: int = 60) -> str:
    """Text from a table for HTML and SVG: one line, shortened, and nothing in it but text."""
    return html.escape(_short(_one_line(text), limit))


def _one_line(text: object) -> str:
    return " ".join(_UNFIT.sub(" ", str(text)).split())


def _short(text: str, limit: int) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


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


@dataclass(frozen=True)
class _Axis:
    """Numbers from left to right."""

    low: float
    high: float
    log: bool = False

    def at(self, value: float) -> float:
        low, high, here = (math.log10(some) if self.log else some for some in (self.low, self.high, value))
        return _LEFT + (_RIGHT - _LEFT) * min(1.0, max(0.0, (here - low) / ((high - low) or 1.0)))

    def ticks(self) -> list[float]:
        """A few round numbers."""
        if not self.log:
            return _round_numbers(self.low, self.high)
        powers = range(math.floor(math.log10(self.low)), math.ceil(math.log10(self.high)) + 1)
        for digits in ((1, 2, 5), (1, 3), (1,)):
            inside = [d * 10.0**p for p in powers for d in digits if self.low <= d * 10.0**p <= self.high]
            if len(inside) <= 5:
                break
        kept = inside[:: max(1, math.ceil(len(inside) / 5))]
        return kept if len(kept) > 1 else [self.low, self.high]


def _round_numbers(low: float, high: float) -> list[float]:
    raw = (high - low) / 4.0
    power = 10.0 ** math.floor(math.log10(raw)) if raw > 0.0 else 1.0
    step = next(digit * power for digit in (1.0, 2.0, 5.0, 10.0) if digit * power >= raw)
    return [k * step for k in range(math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9) + 1)]


def ratios_sketch(rows: Sequence[RatioRow], interval_name: str = "90 % interval") -> str:
    """The changing ratio of every method: a dot, its interval a line, and the graph-free bounds a dashed bracket."""
    shown, height = list(rows[:MOST_ROWS]), 26.0
    ends = [end for row in shown for end in _ends(row)]
    axis = _Axis(0.0, max([*ends, 0.01]) * 1.04)
    bottom = _TOP + height * len(shown)
    parts = [*_frame(axis, bottom, [_percent_tick(tick) for tick in axis.ticks()], "share of people")]
    for k, row in enumerate(shown):
        parts += _ratio_marks(row, axis, _TOP + height * (k + 0.5))
    marks = [("dot", "outcome changes")]
    marks += [("line", interval_name)] if any(row.interval for row in shown) else []
    marks += [("bracket", "flag rates allow")] if any(row.bounds for row in shown) else []
    said = "; ".join(f"{_short(_one_line(row.look.label), 60)}: {_ratio_said(row)}" for row in shown)
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


def _ratio_marks(row: RatioRow, axis: _Axis, y: float) -> Iterator[str]:
    color = color_of(row.look)
    yield _name(row.look.label, y + 4.0)
    if row.bounds is not None:
        low, high = (axis.at(end) for end in row.bounds)
        yield _path(
            f"M{low:.1f} {y:.1f}H{high:.1f}", 'stroke="currentColor" stroke-opacity=".6" stroke-dasharray="3 3"'
        )
        caps = "".join(f"M{x:.1f} {y - 5.0:.1f}v10" for x in (low, high))
        yield _path(caps, 'stroke="currentColor" stroke-opacity=".6"')
    if row.interval is not None:
        low, high = axis.at(row.interval.low), axis.at(row.interval.high)
        yield _path(f"M{low:.1f} {y:.1f}H{high:.1f}", f'stroke="{color}" stroke-width="4" stroke-linecap="round"')
    if row.ratio is not None:
        yield (
            f'<circle cx="{axis.at(row.ratio):.1f}" cy="{y:.1f}" r="5" fill="{color}" stroke="currentColor" '
            'stroke-width="1.2"/>'
        )
    yield _text(_RIGHT + 8.0, y + 4.0, percent(row.ratio))


def rates_sketch(rows: Sequence[RateRow]) -> str:
    """The flag rate of every group beside that of its twins: full bars, and dashed ones."""
    shown, height = list(rows[:MOST_ROWS]), 38.0
    rates = [rate for row in shown for rate in (row.flagged, row.twins_flagged) if rate is not None]
    axis = _Axis(0.0, max([*rates, 0.01]) * 1.04)
    bottom = _TOP + height * len(shown)
    parts = [*_frame(axis, bottom, [_percent_tick(tick) for tick in axis.ticks()], "share of the group")]
    for k, row in enumerate(shown):
        parts += _rate_bars(row, axis, _TOP + height * k, PALETTE[k % len(PALETTE)])
    said = "; ".join(f"{_short(_one_line(row.name), 60)}: {_rate_said(row)}" for row in shown)
    marks = [("bar", "people"), ("dashed bar", "their twins")]
    return _picture("Flag rates by group, of people and of their twins", said + _more(rows), parts, marks, bottom)


def _rate_said(row: RateRow) -> str:
    if row.is_hidden:
        return f"fewer than {SMALLEST_GROUP} people"
    return f"{percent(row.flagged)} of people flagged, {percent(row.twins_flagged)} of their twins"


def _rate_bars(row: RateRow, axis: _Axis, top: float, color: str) -> Iterator[str]:
    yield _name(row.name, top + 15.0)
    yield _text(_LEFT - 8.0, top + 29.0, _size(row.people), 'text-anchor="end" fill-opacity=".65" font-size="10.5"')
    if row.is_hidden:
        yield _text(_LEFT + 6.0, top + 22.0, f"fewer than {SMALLEST_GROUP} people: not shown", 'fill-opacity=".65"')
        return
    looks = (f'fill="{color}"', f'fill="{color}" fill-opacity=".18" stroke="{color}" stroke-dasharray="4 2"')
    for y, rate, look in zip((top + 5.0, top + 20.0), (row.flagged, row.twins_flagged), looks, strict=True):
        right = axis.at(rate or 0.0)
        if rate is not None:
            yield f'<rect x="{_LEFT:.1f}" y="{y:.1f}" width="{max(right - _LEFT, 0.5):.1f}" height="11" {look}/>'
        yield _text(right + 6.0, y + 9.5, percent(rate), 'font-size="11"')


def densities_sketch(densities: Densities, threshold: float, people: Mapping[str, int], *, log: bool = False) -> str:
    """Score densities, a row for each group: people a full line, their twins a dashed one; the threshold is dotted.

    Parameters
    ----------
    densities : the density of the twins of group "g" is named "g (counterfactual)"
    people : how many each group has; of fewer than ten nothing is shown
    log : whether the bins are logarithmic
    """
    shown, height = list(people)[:MOST_ROWS], 56.0
    axis = _Axis(float(densities.edges[0]), float(densities.edges[-1]), log)
    drawn = [name for name in shown if people[name] >= SMALLEST_GROUP]
    lines = [densities.density[f"{name}{world}"] for name in drawn for world in ("", COUNTERFACTUAL)]
    tops = [float(np.nanmax(line)) for line in lines if np.isfinite(line).any()]
    bottom, top = _TOP + 14.0 + height * len(shown), max(tops, default=0.0) or 1.0
    parts = [*_frame(axis, bottom, [f"{tick:.4g}" for tick in axis.ticks()], "score")]
    for k, name in enumerate(shown):
        base, color = _TOP + 14.0 + height * (k + 1), PALETTE[k % len(PALETTE)]
        parts += [_name(name, base - 22.0), _text(_LEFT - 8.0, base - 8.0, _size(people[name]), _SMALL)]
        parts.append(_path(f"M{_LEFT:.1f} {base:.1f}H{_RIGHT:.1f}", 'stroke="currentColor" stroke-opacity=".35"'))
        if name in drawn:
            both = [densities.density[f"{name}{world}"] * (height - 8.0) / top for world in ("", COUNTERFACTUAL)]
            parts += _ridge(both, densities.edges, axis, base, color)
    parts += _threshold_mark(threshold, axis, bottom)
    said = f"{len(shown)} groups; the threshold is {threshold:.4g}{_more(list(people))}"
    marks = [("line", "people"), ("dashed line", "their twins")]
    return _picture("How scores are spread, by group", said, parts, marks, bottom)


_SMALL = 'text-anchor="end" fill-opacity=".65" font-size="10.5"'


def _ridge(both: Sequence[Floats], edges: Floats, axis: _Axis, base: float, color: str) -> Iterator[str]:
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
        yield _path(f"M{line}", look)


def _threshold_mark(threshold: float, axis: _Axis, bottom: float) -> Iterator[str]:
    if not axis.low <= threshold <= axis.high:
        return
    x = axis.at(threshold)
    yield _path(f"M{x:.1f} {_TOP + 8.0:.1f}V{bottom:.1f}", 'stroke="currentColor" stroke-dasharray="1.5 3"')
    side = "end" if x > (_LEFT + _RIGHT) / 2.0 else "start"
    yield _text(x, _TOP + 4.0, "threshold", f'text-anchor="{side}" font-size="10.5"')


# Parts that all of them have


def _frame(axis: _Axis, bottom: float, ticks: Sequence[str], title: str) -> Iterator[str]:
    for place, words in zip(axis.ticks(), ticks, strict=True):
        x = axis.at(place)
        yield _path(f"M{x:.1f} {_TOP:.1f}V{bottom:.1f}", 'stroke="currentColor" stroke-opacity=".14"')
        yield _text(x, bottom + 15.0, words, 'text-anchor="middle" fill-opacity=".75" font-size="11"')
    yield _text((_LEFT + _RIGHT) / 2.0, bottom + 31.0, title, 'text-anchor="middle" fill-opacity=".75" font-size="11"')


def _picture(title: str, said: str, parts: Iterable[str], legend: Sequence[tuple[str, str]], bottom: float) -> str:
    height = bottom + _BELOW
    body = "".join([*parts, *_legend(legend, bottom + 51.0)])
    label, words = html.escape(title), html.escape(_one_line(said))
    return (
        f'<svg viewBox="0 0 {_WIDTH:.0f} {height:.0f}" width="{_WIDTH:.0f}" height="{height:.0f}" role="img" '
        f'aria-label="{label}" style="max-width:100%;height:auto;background:transparent" fill="currentColor" '
        'font-family="system-ui, sans-serif" font-size="12">'
        f"<title>{label}</title><desc>{words}</desc>{body}</svg>"
    )


def _legend(marks: Sequence[tuple[str, str]], y: float) -> Iterator[str]:
    """Marks and what they mean, side by side."""
    x = 12.0
    for kind, words in marks:
        yield _LEGEND_MARKS[kind].format(x=x, y=y - 4.0)
        yield _text(x + 29.0, y, words, 'font-size="11"')
        x += 47.0 + 6.0 * len(words)


def _path(d: str, look: str) -> str:
    return f'<path d="{d}" fill="none" {look}/>'


_INK = 'fill="none" stroke="currentColor"'
_LEGEND_MARKS = {
    "dot": '<g transform="translate({x} {y})"><circle cx="11" r="5" fill-opacity=".6" stroke="currentColor"/></g>',
    "bar": '<g transform="translate({x} {y})"><rect y="-5" width="22" height="10" fill-opacity=".6"/></g>',
    "dashed bar": '<g transform="translate({x} {y})"><rect y="-5" width="22" height="10" fill-opacity=".12" '
    'stroke="currentColor" stroke-dasharray="4 2"/></g>',
    "line": f'<g transform="translate({{x}} {{y}})"><path d="M0 0h22" {_INK} stroke-width="3"/></g>',
    "dashed line": f'<g transform="translate({{x}} {{y}})"><path d="M0 0h22" {_INK} stroke-dasharray="4 3"/></g>',
    "bracket": f'<g transform="translate({{x}} {{y}})" stroke-opacity=".6"><path d="M0 0h22" {_INK} '
    f'stroke-dasharray="3 3"/><path d="M0 -5v10m22 -10v10" {_INK}/></g>',
}


def _text(x: float, y: float, words: str, look: str = "") -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" {look}>{html.escape(words)}</text>' if words else ""


def _name(name: str, y: float) -> str:
    """A name on the left, as much of it as there is room for; pointed at, more of it."""
    whole = _one_line(name)
    short = _fitting(whole)
    more = "" if short == whole else f"<title>{html.escape(_short(whole, 200))}</title>"
    look = 'text-anchor="end" direction="ltr" unicode-bidi="isolate"'
    return f'<text x="{_LEFT - 8.0:.1f}" y="{y:.1f}" {look}>{html.escape(short)}{more}</text>'


def _fitting(text: str) -> str:
    """The beginning of a text that the room for names holds: some letters take more of it."""
    room = _NAME_ROOM
    for k, letter in enumerate(text[:200]):
        wide = unicodedata.east_asian_width(letter) in "WF"
        room -= 1.8 if wide else 1.5 if letter in "MWmw@%—" else 1.2 if letter.isupper() else 1.0
        if room < 0.0:
            return text[: max(1, k - 1)].rstrip() + "…"
    return _short(text, 200)


def _size(people: int) -> str:
    return f"<{SMALLEST_GROUP} people" if 0 < people < SMALLEST_GROUP else f"{people:,} people"


def _more(rows: Sequence[object]) -> str:
    rest = len(rows) - MOST_ROWS
    return f"; and {rest} more groups" if rest > 0 else ""


def _percent_tick(share: float) -> str:
    return f"{100.0 * share:.3g} %"
