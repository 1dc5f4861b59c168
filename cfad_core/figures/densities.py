"""How scores are spread: a panel for each group and method, or all groups of a method in one picture."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import SMALLEST_GROUP, percent
from cfad_core.core.looks import Look
from cfad_core.evaluation.shapes import GroupShape, Shapes
from cfad_core.figures.style import (
    CLEAR,
    HOVER_LIMIT,
    MIDDLE_GREY,
    PALETTE,
    STRONG_GREY,
    dressed,
    escaped,
    faded,
    hover,
    name_of,
)

_HEIGHTS = {2: 170, 4: 136}  # pixels of a panel, by how many groups there are at most
_LOWEST, _GAP = 108, 46  # of more groups, and of what is between two panels
_ABOVE, _BELOW = 86, 62
_HEADROOM = 1.5  # above the highest peak: there the shares are written
_WINDOW = 1.0 / 40.0  # of the width of a picture, to either side of what is pointed at
_PLAIN, _STRONG = 0.28, 0.72  # how opaque what is not flagged is, and what is
TWINS = "their twins"


def score_panels_figure(panels: Mapping[Look, Shapes], units: Sequence[int] | None = None) -> go.Figure:
    """A row of panels for each group, a column for each method: people filled, their twins a line.

    Parameters
    ----------
    panels : by method, of the same groups
    units : of each method's scores: those with the same number share their axes; by default all do
    """
    shapes, alike = list(panels.values()), [0] * len(panels) if units is None else list(units)
    rows = len(shapes[0].groups) if shapes else 0
    if not rows:
        return dressed(go.Figure(), 200)
    panel = next((pixels for most, pixels in _HEIGHTS.items() if rows <= most), _LOWEST)
    height = _ABOVE + _BELOW + rows * panel + (rows - 1) * _GAP
    inner = height - _ABOVE - _BELOW
    figure = make_subplots(
        rows=rows, cols=len(panels), horizontal_spacing=0.03, vertical_spacing=_GAP / inner if rows > 1 else 0.0
    )
    for col, one in enumerate(shapes):
        top = max(other.top for other, unit in zip(shapes, alike, strict=True) if unit == alike[col]) or 1.0
        for row, group in enumerate(one.groups):
            cell = {"row": row + 1, "col": col + 1}
            figure.add_traces([*_panel(one, group, PALETTE[row % len(PALETTE)], top)], rows=row + 1, cols=col + 1)
            figure.update_yaxes(range=[0.0, _HEADROOM * top], **cell)
            if not group.is_hidden and group.people is not None:
                _write_shares(figure, group, cell)
        _draw_axes(figure, [o for o, unit in zip(shapes, alike, strict=True) if unit == alike[col]], one, rows, col + 1)
    _write_titles(figure, [name_of(method) for method in panels], shapes[0].groups, inner)
    figure.add_traces([*_legend(shapes[0])])
    dressed(figure, height).update_layout(
        margin={"t": _ABOVE, "b": _BELOW, "l": 34, "r": 12}, barmode="group", bargap=0.3
    )
    return figure.update_layout(legend={"y": 1.0 + (_ABOVE - 30) / inner, "itemclick": False, "itemdoubleclick": False})


def _panel(one: Shapes, group: GroupShape, color: str, top: float) -> Iterator[go.Scatter | go.Bar]:
    """What is drawn of one group."""
    if group.people is None:
        return
    name = escaped(group.name, HOVER_LIMIT)
    if one.kind == "bars":
        yield from _bars(one, group, color, name)
    else:
        x, y = _outline(one, group.people)
        shape = {"color": faded(color, 0.9), "width": 1, "shape": "hv" if one.kind == "steps" else "linear"}
        right = _right_of(x, y, one)
        look = {"mode": "lines", "showlegend": False, "fill": "tozeroy"}
        says = _pointed_at(one, group.people, name)
        yield go.Scatter(x=x, y=y, line=shape, fillcolor=faded(color, _PLAIN), **look, **says)
        yield go.Scatter(
            x=right[0],
            y=right[1],
            line={**shape, "width": 0},
            fillcolor=faded(color, _STRONG),
            hoverinfo="skip",
            **look,
        )
        if group.twins is not None:
            x, y = _outline(one, group.twins)
            says = _pointed_at(one, group.twins, f"{name}, {TWINS}")
            yield go.Scatter(
                x=x, y=y, mode="lines", line={**shape, "color": color, "width": 2.5}, showlegend=False, **says
            )
    yield from _threshold(one, _HEADROOM * top)


def _bars(one: Shapes, group: GroupShape, color: str, name: str) -> Iterator[go.Bar]:
    """The share of people with each of a few scores, at even distances."""
    places, flagged = np.arange(len(one.scores)), one.scores > one.threshold
    colors = [faded(color, _STRONG if is_flagged else _PLAIN) for is_flagged in flagged]
    for whose, heights, fills in ((name, group.people, colors), (f"{name}, {TWINS}", group.twins, CLEAR)):
        if heights is None:
            continue
        marker = {"color": fills, "line": {"color": color, "width": 1 if fills is colors else 2.5}}
        says = [f"{whose}<br>{percent(h)} score {v:.4g}" for h, v in zip(heights, one.scores, strict=True)]
        yield go.Bar(x=places, y=heights, marker=marker, showlegend=False, **hover(says))


def _outline(one: Shapes, heights: Floats) -> tuple[Floats, Floats]:
    """Points of a line; of bins, their edges."""
    return one.scores, np.append(heights, heights[-1:]) if one.kind == "steps" else heights


def _right_of(x: Floats, y: Floats, one: Shapes) -> tuple[Floats, Floats]:
    """The part of a line right of the threshold."""
    if one.kind == "steps":
        kept = x >= one.threshold * (1.0 - 1e-9 * np.sign(one.threshold))
        return x[kept], y[kept]
    if not x[0] <= one.threshold <= x[-1]:
        return (x, y) if one.threshold < x[0] else (x[:0], y[:0])
    at = np.interp(one.threshold, x, y)
    return np.append(one.threshold, x[x > one.threshold]), np.append(at, y[x > one.threshold])


def _pointed_at(one: Shapes, heights: Floats, name: str) -> dict[str, Any]:
    """What a place says: how many people score about there."""
    places = np.log10(one.scores) if one.log else one.scores
    if one.kind == "steps":
        low, high, share = places[:-1], places[1:], heights * np.diff(places)
        low, high, share = (np.append(some, some[-1:]) for some in (low, high, share))
    else:
        below = np.concatenate([[0.0], np.cumsum((heights[1:] + heights[:-1]) / 2.0 * np.diff(places))])
        room = _WINDOW * (places[-1] - places[0])
        low, high = (np.clip(places + side, places[0], places[-1]) for side in (-room, room))
        share = np.interp(high, places, below) - np.interp(low, places, below)
    ends = (10.0**low, 10.0**high) if one.log else (low, high)
    words = "%{text}<br>%{customdata[2]:.1%} score %{customdata[0]:.3g} to %{customdata[1]:.3g}<extra></extra>"
    return {"text": name, "customdata": np.stack([*ends, share], axis=1), "hovertemplate": words}


def _threshold(one: Shapes, top: float) -> Iterator[go.Scatter]:
    """A trace rather than a shape, as it says more when it is pointed at."""
    place = one.place_of_threshold
    if place is not None:
        line = {"color": STRONG_GREY, "dash": "dot", "width": 2}
        says = hover([f"threshold {one.threshold:.4g}"] * 2)
        yield go.Scatter(
            x=np.array([place] * 2), y=np.array([0.0, top]), mode="lines", line=line, showlegend=False, **says
        )


def _write_shares(figure: go.Figure, group: GroupShape, cell: dict[str, int]) -> None:
    """The shares on each side of the threshold, above the curves."""
    twins = group.twins_flagged
    for side, name, people, of_twins in (
        ("right", "flagged", group.flagged, twins),
        ("left", "not flagged", _rest(group.flagged), _rest(twins)),
    ):
        words = f"{name} {percent(people)}" + ("" if of_twins is None else f"<br>twins {percent(of_twins)}")
        x = 0.995 if side == "right" else 0.005
        place = {"xref": "x domain", "yref": "y domain", "x": x, "y": 1.0, "xanchor": side, "yanchor": "top"}
        figure.add_annotation(text=words, showarrow=False, align=side, font={"size": 12}, **place, **cell)


def _rest(share: float | None) -> float | None:
    return None if share is None else 1.0 - share


def _draw_axes(figure: go.Figure, alike: Sequence[Shapes], one: Shapes, rows: int, col: int) -> None:
    """The scale of a column of panels: that of all methods whose scores mean the same."""
    if one.kind == "bars":
        scale: dict[str, Any] = {
            "tickvals": np.arange(len(one.scores)),
            "ticktext": [f"{value:.4g}" for value in one.scores],
            "range": [-0.7, len(one.scores) - 0.3],
        }
    else:
        same = [other for other in alike if other.kind != "bars" and other.log == one.log]
        ends = np.array([min(other.scores[0] for other in same), max(other.scores[-1] for other in same)])
        scale = {"type": "log" if one.log else "linear", "range": list(np.log10(ends) if one.log else ends)}
        scale |= log_ticks(*ends.tolist()) if one.log else {"nticks": 6}
    figure.update_xaxes(**scale, col=col, showgrid=False, showticklabels=False)
    title = "score (logarithmic scale)" if one.log else "score"
    figure.update_xaxes(title={"text": title, "standoff": 6}, showticklabels=True, row=rows, col=col)
    line = {"zeroline": True, "zerolinecolor": MIDDLE_GREY, "zerolinewidth": 1}
    figure.update_yaxes(showticklabels=False, showgrid=False, col=col, **line)
    figure.update_xaxes(showline=False, zeroline=False, col=col)
    figure.update_yaxes(title={"text": "more people →", "font": {"size": 11}, "standoff": 2}, col=1)


def _write_titles(figure: go.Figure, methods: Sequence[str], groups: Sequence[GroupShape], inner: int) -> None:
    """The method above each column, and the group above each row."""
    for col, name in enumerate(methods, start=1):
        left, right = figure.get_subplot(1, col).xaxis.domain
        place = {"xref": "paper", "yref": "paper", "x": (left + right) / 2.0, "y": 1.0 + 22.0 / inner}
        font = {"size": 15, "weight": 700}
        figure.add_annotation(text=name, showarrow=False, yanchor="bottom", font=font, **place)
    for row, group in enumerate(groups, start=1):
        top = figure.get_subplot(row, 1).yaxis.domain[1]
        size = f"fewer than {SMALLEST_GROUP} people: not drawn" if group.is_hidden else f"{group.n:,} people"
        words = f"{escaped(group.name)} · {size}"
        place = {"xref": "paper", "yref": "paper", "x": 0.0, "y": top + 2.0 / inner}
        figure.add_annotation(
            text=words,
            showarrow=False,
            xanchor="left",
            yanchor="bottom",
            align="left",
            font={"size": 13, "weight": 600},
            **place,
        )


def _legend(one: Shapes) -> Iterator[go.Scatter]:
    """What the forms mean, whatever the colour."""
    nowhere = {"x": [None], "y": [None], "hoverinfo": "skip", "showlegend": True}
    for name, opaque in (("people as they are", _PLAIN), ("flagged", _STRONG)):
        marker = {"symbol": "square", "size": 14, "color": faded("#808080", opaque)}
        yield go.Scatter(name=name, mode="markers", marker=marker, **nowhere)
    line = {"color": "#808080", "width": 2.5}
    if one.kind == "bars":
        marker = {"symbol": "square-open", "size": 12, "color": "#808080", "line": {"width": 2.5}}
        yield go.Scatter(name=TWINS, mode="markers", marker=marker, **nowhere)
    else:
        yield go.Scatter(name=TWINS, mode="lines", line=line, **nowhere)
    yield go.Scatter(name="threshold", mode="lines", line={**line, "width": 2, "dash": "dot"}, **nowhere)


def densities_figure(panels: Mapping[Look, Shapes], units: Sequence[int] | None = None) -> go.Figure:
    """All groups of a method in one picture, as in the paper: groups by colour, their twins dashed.

    Parameters
    ----------
    panels, units : as of ``score_panels_figure``
    """
    shapes, alike = list(panels.values()), [0] * len(panels) if units is None else list(units)
    figure = make_subplots(cols=max(1, len(panels)), subplot_titles=[*map(name_of, panels)], horizontal_spacing=0.03)
    groups = list(dict.fromkeys(group.name for one in shapes for group in one.groups))
    seen: set[str] = set()
    for col, one in enumerate(shapes, start=1):
        same = [other for other, unit in zip(shapes, alike, strict=True) if unit == alike[col - 1]]
        top = 1.06 * (max(other.top for other in same) or 1.0)
        figure.add_traces([*_lines(one, groups, seen), *_threshold(one, top)], rows=1, cols=col)
        _draw_axes(figure, same, one, 1, col)
        figure.update_yaxes(range=[0.0, top], row=1, col=col)
    figure.add_traces([*_legend(shapes[0])][-1:] if shapes else [])
    dressed(figure, 420, above_titles=True).update_layout(margin={"l": 34}, barmode="group")
    return figure


def _lines(one: Shapes, groups: Sequence[str], seen: set[str]) -> Iterator[go.Scatter | go.Bar]:
    """A line for each group and a dashed one for its twins; of few different scores, bars."""
    for group in one.groups:
        k = groups.index(group.name)
        color, width = PALETTE[k % len(PALETTE)], 1.5 + 1.5 * (k % 2)
        for heights, whose, dash in ((group.people, "", "solid"), (group.twins, " (twins)", "dash")):
            if heights is None:
                continue
            look: dict[str, Any] = {"name": escaped(group.name) + whose, "legendgroup": f"{k}{whose}"}
            look["showlegend"] = look["legendgroup"] not in seen
            seen.add(look["legendgroup"])
            if one.kind == "bars":
                marker = {"color": faded(color, _STRONG) if not whose else CLEAR, "line": {"color": color, "width": 2}}
                says = [
                    f"{look['name']}<br>{percent(h)} score {v:.4g}" for h, v in zip(heights, one.scores, strict=True)
                ]
                yield go.Bar(x=np.arange(len(one.scores)), y=heights, marker=marker, **look, **hover(says))
                continue
            x, y = _outline(one, heights)
            line = {"color": color, "width": width, "dash": dash, "shape": "hv" if one.kind == "steps" else "linear"}
            look |= _pointed_at(one, heights, escaped(group.name, HOVER_LIMIT) + whose)
            yield go.Scatter(x=x, y=y, mode="lines", line=line, **look)


def log_ticks(low: float, high: float) -> dict[str, Any]:
    """1, 2, 5, 10, 20, 50 ...: a lone digit between powers of ten would be misread. Ten ticks at most."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1,) if len(powers) > 4 else (1, 2, 5)
    ticks = np.array([digit * 10.0**power for power in powers for digit in digits])
    inside = ticks[(ticks >= low) & (ticks <= high)]
    inside = inside[:: max(1, math.ceil(len(inside) / 8))]
    return {"tickvals": inside, "ticktext": [_tick(tick) for tick in inside.tolist()]}


def _tick(value: float) -> str:
    """A power of ten, written out where that is short."""
    return np.format_float_positional(value, trim="-") if 1e-6 < value < 1e7 else f"{value:g}"
