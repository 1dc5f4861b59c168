"""Usefulness against fairness as SVG text, for pages without a script and for print."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import counted, percent
from cfad_core.core.looks import Look
from cfad_core.figures.routes import inside
from cfad_core.figures.scores import Tradeoff
from cfad_core.figures.style import color_of
from cfad_core.figures.svg import (
    NAME,
    Axis,
    fitting,
    legend,
    letters_in,
    one_line,
    path,
    percent_tick,
    picture,
    short,
    text,
    titled,
    width_of,
)

MOST_METHODS = 12
_WIDTH = 680.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 66.0, 664.0, 12.0, 312.0  # of the area between the axes
_COLUMNS, _ROW = 3, 34.0  # of the legend
_CLEAR = 9.0  # pixels from a label to another line, at least: more than to its own
_FAINT = 'fill-opacity=".75" font-size="11"'
_GRID = 'stroke="currentColor" stroke-opacity=".14"'
_DASHES = {
    "solid": "",
    "dash": "8 4",
    "dot": "2 3",
    "dashdot": "8 3 2 3",
    "longdash": "14 4",
    "longdashdot": "14 3 2 3",
}


def tradeoff_sketch(
    curves: Mapping[Look, Tradeoff], chosen: Mapping[Look, tuple[float, float]], *, with_labels: bool
) -> str:
    """Usefulness against fairness, a line for each method; of more than 12 methods the first.

    Parameters
    ----------
    chosen : (changing ratio, quality) of methods that have a curve, marked with a star
    with_labels : quality is the Macro-F1; else it is the share of people who are flagged
    """
    shown = list(curves)[:MOST_METHODS]
    stars = {look: chosen[look] for look in shown if look in chosen and np.isfinite(chosen[look]).all()}
    across, up = _axes([curves[look] for look in shown], list(stars.values()))
    lines = [_Line(look, *_pixels(curves[look], across, up), stars.get(look)) for look in shown]
    parts = [*_frame(across, up, with_labels)]
    for part in (_band, _curve):
        parts += [titled(one_line(line.look.label), drawn) for line in lines if (drawn := part(line))]
    parts += [_star(across.at(ratio), up.at(quality), color_of(look)) for look, (ratio, quality) in stars.items()]
    parts += _labels(lines, [(across.at(ratio), up.at(quality)) for ratio, quality in stars.values()])
    parts += _entries(lines, with_labels)
    height = _BOTTOM + 48.0 + _ROW * math.ceil(len(lines) / _COLUMNS) + (23.0 if _keys(lines) else 0.0)
    note = _not_drawn(len(lines), len(curves))
    parts.append(text(12.0, height + 12.0, note, 'font-size="11"'))
    said = f"{_said(lines, with_labels)}. {note}"
    return picture(_title(with_labels), said, parts, _WIDTH, height + (23.0 if note else 0.0))


def _title(with_labels: bool) -> str:
    quality = "Macro-F1" if with_labels else "Share of people flagged"
    return f"{quality} against the share of people whose outcome changes, by method"


@dataclass(frozen=True)
class _Line:
    """A method's curve in pixels, without points that are not defined.

    Attributes
    ----------
    pieces : (p, 2) each, between gaps
    bands : (p, 3) each: left and right end of the band, and the height
    star : what was chosen, as numbers
    """

    look: Look
    pieces: Sequence[Floats]
    bands: Sequence[Floats]
    star: tuple[float, float] | None


def _axes(curves: Sequence[Tradeoff], stars: Sequence[tuple[float, float]]) -> tuple[Axis, Axis]:
    ratios = [star[0] for star in stars]
    qualities = [star[1] for star in stars]
    for curve in curves:
        is_drawn = np.isfinite(curve.changing_ratio) & np.isfinite(curve.quality)
        qualities += curve.quality[is_drawn].tolist()
        ends = (curve.changing_ratio,) if curve.high is None else (curve.changing_ratio, curve.high)
        ratios += [ratio for end in ends for ratio in end[is_drawn].tolist() if math.isfinite(ratio)]
    low, high = min(qualities, default=0.0), max(qualities, default=1.0)
    room = max(0.06 * (high - low), 0.03)
    widest = max([*ratios, 0.001])
    # a little room on the left: marks at 0 would be cut in half
    across = Axis(-0.02 * widest, 1.04 * widest, _LEFT, _RIGHT)
    return across, Axis(low - room, high + room, _BOTTOM, _TOP)


def _pixels(curve: Tradeoff, across: Axis, up: Axis) -> tuple[list[Floats], list[Floats]]:
    """The pieces of a curve and of its band."""
    x, y = _at(across, curve.changing_ratio), _at(up, curve.quality)
    pieces = _pieces(np.stack([x, y], axis=1))
    if curve.low is None or curve.high is None:
        return pieces, []
    return pieces, _pieces(np.stack([_at(across, curve.low), _at(across, curve.high), y], axis=1))


def _at(axis: Axis, values: Floats) -> Floats:
    return np.array([axis.at(value) if math.isfinite(value) else math.nan for value in values.tolist()])


def _pieces(rows: Floats) -> list[Floats]:
    """Rows of pixels (t, k) between gaps, without rows that differ from the one before by less than a pixel."""
    finite = np.isfinite(rows).all(axis=1)
    ends = np.flatnonzero(np.diff(np.concatenate([[False], finite, [False]]).astype(np.int64)))
    pieces = []
    for first, after in ends.reshape(-1, 2).tolist():
        kept = [first]
        for k in range(first + 1, after):
            if k == after - 1 or np.abs(rows[k] - rows[kept[-1]]).max() >= 1.0:
                kept.append(k)
        pieces.append(rows[kept])
    return pieces


def _frame(across: Axis, up: Axis, with_labels: bool) -> Iterator[str]:
    for tick in across.ticks():
        x = across.at(tick)
        yield path(f"M{x:.1f} {_TOP:.1f}V{_BOTTOM:.1f}", _GRID)
        yield text(x, _BOTTOM + 16.0, percent_tick(abs(tick)), f'text-anchor="middle" {_FAINT}')
    for tick in up.ticks():
        y = up.at(tick)
        yield path(f"M{_LEFT:.1f} {y:.1f}H{_RIGHT:.1f}", _GRID)
        words = f"{tick:.3g}" if with_labels else percent_tick(tick)
        yield text(_LEFT - 8.0, y + 4.0, words, f'text-anchor="end" {_FAINT}')
    middle = (_TOP + _BOTTOM) / 2.0
    title = "Macro-F1 (higher is better)" if with_labels else "share of people flagged"
    yield f'<g transform="translate(16 {middle:.1f}) rotate(-90)">{text(0.0, 0.0, title, _CENTRED)}</g>'
    below = "share of people whose outcome changes (lower is fairer)"
    yield text((_LEFT + _RIGHT) / 2.0, _BOTTOM + 34.0, below, _CENTRED)


_CENTRED = f'text-anchor="middle" {_FAINT}'


def _band(line: _Line) -> str:
    """What lies between the bounds, piece by piece along the curve: where it turns back, pieces overlap.

    All pieces go round the same way, as the parts where two opposite ones overlap would stay empty.
    """
    parts = []
    for band in line.bands:
        for (low, high, y), (next_low, next_high, next_y) in zip(band[:-1].tolist(), band[1:].tolist(), strict=True):
            corners = [(low, y), (next_low, next_y), (next_high, next_y), (high, y)]
            corners = corners if next_y >= y else corners[::-1]
            parts.append("M" + "L".join(f"{x:.1f} {height:.1f}" for x, height in corners) + "Z")
    return f'<path d="{"".join(parts)}" fill="{color_of(line.look)}" fill-opacity=".2"/>' if parts else ""


def _curve(line: _Line) -> str:
    """The curve; a point that stands alone is a dot."""
    color, dots = color_of(line.look), ""
    d = "".join(
        "M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in piece.tolist()) for piece in line.pieces if len(piece) > 1
    )
    for (x, y), *rest in (piece.tolist() for piece in line.pieces):
        dots += "" if rest else f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{color}"/>'
    return (path(d, _stroke(line.look)) if d else "") + dots


def _stroke(look: Look) -> str:
    dash = _DASHES.get(look.dash, "")
    return f'stroke="{color_of(look)}" stroke-width="2"' + (f' stroke-dasharray="{dash}"' if dash else "")


def _star(x: float, y: float, color: str) -> str:
    tips = [(9.0 if k % 2 == 0 else 3.8, math.pi * k / 5.0) for k in range(10)]
    d = "L".join(f"{x + radius * math.sin(turn):.1f} {y - radius * math.cos(turn):.1f}" for radius, turn in tips)
    return f'<path d="M{d}Z" fill="{color}" stroke="currentColor" stroke-width="1"/>'


def _labels(lines: Sequence[_Line], stars: Sequence[tuple[float, float]]) -> Iterator[str]:
    """A method's name beside its line, where there is room and no other line is near; the legend has them all."""
    marks = np.array([(x + a, y + b) for x, y in stars for a in (-8, 0, 8) for b in (-8, 0, 8)]).reshape(-1, 2)
    drawn = [np.concatenate([np.zeros((0, 2)), *map(_dense, line.pieces)]) for line in lines]
    for k, line in enumerate(lines):
        name = fitting(one_line(line.look.label), 16.0)
        half = width_of(name, 11.0) / 2.0 + 3.0
        spots = drawn[k][:: max(1, len(drawn[k]) // 60)]
        away = half + (5.0 if len(spots) > 2 else 19.0)  # beside a lone point is its star
        spots = np.concatenate([spots + np.array([a * away, b]) for a in (1, -1) for b in (-9.0, 0.0, 9.0)])
        is_on = (spots[:, 0] - half > _LEFT) & (spots[:, 0] + half < _RIGHT)
        is_on &= (spots[:, 1] > _TOP + 8.0) & (spots[:, 1] < _BOTTOM - 8.0)
        others = np.concatenate([*(some for j, some in enumerate(drawn) if j != k), np.zeros((0, 2)), marks])
        x, y, gap = _freest(spots[is_on], half, drawn[k], others)
        if gap > _CLEAR:
            yield text(x, y + 4.0, name, f'text-anchor="middle" font-size="11" {NAME}')
            marks = np.concatenate([marks, _outline(x, y, half)])


def _dense(piece: Floats) -> Floats:
    """Points (p, 2) along a piece of a curve, a few pixels apart."""
    steps = np.append(0.0, np.hypot(*np.diff(piece, axis=0).T).cumsum())
    times = np.linspace(0.0, steps[-1], 1 + int(steps[-1] / 4.0))
    return np.stack([np.interp(times, steps, piece[:, 0]), np.interp(times, steps, piece[:, 1])], axis=1)


def _outline(x: float, y: float, half: float) -> Floats:
    """Points over the box of a label."""
    return np.array([(x + a * half, y + b) for a in np.linspace(-1.0, 1.0, 9) for b in (-7.0, 0.0, 7.0)])


def _freest(spots: Floats, half: float, own: Floats, others: Floats) -> tuple[float, float, float]:
    """The middle of a label that its own line does not cross and that is far from all others, and how far."""
    best = (0.0, 0.0, -1.0)
    for x, y in spots.tolist():
        box = np.array([[x - half, y - 7.0, x + half, y + 7.0]])
        if inside(own, box).any():
            continue
        beyond = np.maximum(np.abs(others - (x, y)) - (half, 7.0), 0.0)
        gap = float(np.hypot(*beyond.T).min(initial=40.0))
        if gap > best[2]:
            best = x, y, gap
    return best


def _entries(lines: Sequence[_Line], with_labels: bool) -> Iterator[str]:
    """The legend: how each line looks, and what its star stands for."""
    keys, wide = _keys(lines), (_WIDTH - 24.0) / _COLUMNS
    parts, last = legend(keys, _BOTTOM + 60.0, _WIDTH)
    yield from parts
    top = last + 23.0 if keys else last
    for k, line in enumerate(lines):
        x, y = 12.0 + wide * (k % _COLUMNS), top + _ROW * (k // _COLUMNS)
        whole = one_line(line.look.label)
        name = fitting(whole, letters_in(wide - 46.0, 12.0))
        entry = path(f"M{x:.1f} {y - 4.0:.1f}h34", _stroke(line.look)) + text(x + 40.0, y, name, NAME)
        yield titled(whole, entry)
        if line.star is not None:
            yield text(x + 40.0, y + 14.0, _star_says(line.star, with_labels), _FAINT)


def _keys(lines: Sequence[_Line]) -> list[tuple[str, str]]:
    """Marks that all lines share, and what they mean."""
    keys = [(_star(11.0, 0.0, "currentColor"), "at the chosen threshold")] if any(line.star for line in lines) else []
    if any(line.bands for line in lines):
        swatch = '<rect y="-5" width="22" height="10" fill-opacity=".2"/>'
        keys.append((swatch, "where the line runs by the models of most subsamples"))
    return keys


def _star_says(star: tuple[float, float], with_labels: bool) -> str:
    ratio, quality = star
    return f"{percent(ratio)} change, " + (f"Macro-F1 {quality:.2f}" if with_labels else f"{percent(quality)} flagged")


def _not_drawn(drawn: int, count: int) -> str:
    if not count:
        return "There are no methods."
    return f"Not drawn: {counted(count - drawn, 'more method')}." if count > drawn else ""


def _said(lines: Sequence[_Line], with_labels: bool) -> str:
    """The picture in words."""
    said = [
        f"{short(one_line(line.look.label), 60)}: "
        + ("no threshold chosen" if line.star is None else _star_says(line.star, with_labels))
        for line in lines
    ]
    return "; ".join(said) or "Nothing to show"
