"""Causal graphs: drawn, and as a table of strengths."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.figures.places import places
from cfad_core.figures.style import (
    HOVER_LIMIT,
    MIDDLE_GREY,
    PALETTE,
    STRONG_GREY,
    dressed,
    escaped,
    hover,
    signed,
)

_CURVE = np.linspace(0.0, 1.0, 9)
_BOWS = (1.0, 1.6, 0.4, -1.0, -0.4, -1.6)  # shares of the usual bow that an edge may take, the best first
_CLEAR, _NAME = 0.25, 0.35  # distance from a node that is enough, and how far its name reaches below it


def graph_figure(
    variables: Sequence[str],
    strengths: Floats,
    sensitive: str | Sequence[str],
    affected: Collection[str],
    *,
    weakest: float = 0.0,
    found: tuple[NDArray[np.int64], int] | None = None,
    is_open: Bools | None = None,
) -> go.Figure:
    """The causal graph, causes to the left of their effects.

    Parameters
    ----------
    strengths : (v, v), acyclic; ``strengths[j, i] != 0`` means j causes i
    sensitive : the sensitive attribute, or several
    affected : the variables that a sensitive one has a path to
    weakest : hide edges whose strength, without its sign, is below this; nodes stay where they are
    found : (v, v), in how many subsamples each edge was found, and how many there are; those in fewer than half are
        dashed
    is_open : (v, v), edges whose direction the data leave open; they are marked with a question mark
    """
    place = places(strengths)
    size = np.abs(strengths) / (np.abs(strengths).max(initial=0.0) or 1.0)
    edges = np.argwhere((strengths != 0.0) & (np.abs(strengths) >= weakest))
    own = {sensitive} if isinstance(sensitive, str) else set(sensitive)
    kinds = np.array([0 if name in own else 1 if name in affected else 2 for name in variables], dtype=np.int64)
    says = [_edge_says(variables, strengths, (int(j), int(i)), found, is_open) for j, i in edges]
    rare = np.zeros(strengths.shape, dtype=np.bool_) if found is None else 2 * found[0] < found[1]
    figure = go.Figure(_edge_traces(place, edges, kinds < 2, size, rare))
    unsure = [edge for edge in edges if is_open is not None and is_open[tuple(edge)]]
    if unsure:
        figure.add_trace(_open_marks(place, np.array(unsure)))
    figure.add_trace(_edge_hovers(place, edges, says))
    looks = (
        ("sensitive attribute", "diamond", 26, PALETTE[1], {"width": 1, "color": STRONG_GREY}),
        ("affected by it", "circle", 18, PALETTE[5], {"width": 3, "color": PALETTE[0]}),
        ("not affected", "circle", 16, "rgb(150,150,150)", {"width": 1, "color": STRONG_GREY}),
    )
    for kind, (name, symbol, width, color, outline) in enumerate(looks):
        marker = {"symbol": symbol, "size": width, "color": color, "line": outline}
        if (kinds == kind).any():
            figure.add_trace(_node_trace(variables, place, np.flatnonzero(kinds == kind), name, marker))
    corners = np.concatenate([place, np.zeros((1, 2))])  # the origin lies within; without variables it is all there is
    (left, low), (right, high) = corners.min(axis=0), corners.max(axis=0)
    bare = {"showgrid": False, "zeroline": False, "showticklabels": False}
    figure.update_xaxes(title="causes → effects", range=[left - 0.5, right + 0.5], **bare)
    figure.update_yaxes(range=[low - 0.9, high + 0.9], **bare)
    return dressed(figure, 520 if high - low > 4.0 else 420)


def _curve(place: Floats, j: int, i: int) -> Floats:
    """Points (p, 2) of an edge; one that passes other columns bows, so that it does not cross their nodes."""
    start, end = place[j], place[i]
    span = end[0] - start[0]
    if span < 2.0:
        return np.stack([start, end])
    between = place[(place[:, 0] > start[0]) & (place[:, 0] < end[0])]
    along = (between[:, 0] - start[0]) / span
    outwards = 1.0 if start[1] + end[1] >= 0.0 else -1.0
    usual = outwards * min(0.3 + 0.15 * (span - 2.0), 0.8)

    def clearance(bow: float) -> float:
        """How far the edge stays from the nodes that it passes, and from the names below them."""
        height = start[1] + along * (end[1] - start[1]) + 4.0 * along * (1.0 - along) * bow - between[:, 1]
        return float(np.min(np.where(height > 0.0, height, np.maximum(-height - _NAME, 0.0)), initial=np.inf))

    bows = [usual * share for share in _BOWS]
    bow = next((one for one in bows if clearance(one) >= _CLEAR), max(bows, key=clearance))
    points: Floats = start + _CURVE[:, None] * (end - start)
    points[:, 1] += 4.0 * _CURVE * (1.0 - _CURVE) * bow
    return points


def _edge_traces(
    place: Floats, edges: NDArray[np.int64], touched: NDArray[np.bool_], size: Floats, rare: NDArray[np.bool_]
) -> list[go.Scatter]:
    """Edges with arrow heads: one trace for those of the same kind and width, so that large graphs stay quick."""
    groups: dict[tuple[bool, bool, int], list[Floats]] = {}
    for j, i in edges:
        width = 1 if rare[j, i] else round(1.0 + 5.0 * float(size[j, i]))
        kind = bool(touched[j] and touched[i]), bool(rare[j, i]), width
        groups.setdefault(kind, []).append(_curve(place, j, i))
    gap = np.full((1, 2), np.nan)
    traces = []
    for (causal, seldom, width), curves in sorted(groups.items(), key=lambda item: item[0]):
        points = np.concatenate([part for curve in curves for part in (curve, gap)])
        heads = np.concatenate([np.append(np.zeros(len(curve) - 1), [8.0 + width, 0.0]) for curve in curves])
        color, dash = (PALETTE[1], "solid") if causal else (MIDDLE_GREY, "dot")
        dash = "dash" if seldom else dash
        # Heads point along the line on the screen, whatever the page's width, and stop at the node's rim.
        marker: dict[str, Any] = {"symbol": "arrow", "size": heads, "angleref": "previous", "color": color}
        marker |= {"standoff": np.where(heads > 0.0, 12.0, 0.0), "opacity": 1.0, "line": {"width": 0}}
        look = {"mode": "lines+markers", "line": {"color": color, "width": width, "dash": dash}, "marker": marker}
        traces.append(go.Scatter(x=points[:, 0], y=points[:, 1], hoverinfo="skip", showlegend=False, **look))
    return traces


def _edge_says(
    variables: Sequence[str],
    strengths: Floats,
    edge: tuple[int, int],
    found: tuple[NDArray[np.int64], int] | None,
    is_open: Bools | None,
) -> str:
    """What an edge says when it is pointed at."""
    cause, effect = (escaped(variables[k], HOVER_LIMIT) for k in edge)
    text = f"{cause} → {effect}: {signed(strengths[edge])}"
    if found is not None:
        text += f"<br>found in {found[0][edge]} of {found[1]} subsamples"
    if is_open is not None and is_open[edge]:
        text += "<br>direction open: either may be the cause"
    return text


def _middles(place: Floats, edges: NDArray[np.int64]) -> Floats:
    """(e, 2), a point of each edge halfway between its ends."""
    curves = [_curve(place, j, i) for j, i in edges]
    middle: Floats = np.array([c[len(c) // 2] if len(c) > 2 else c.mean(axis=0) for c in curves]).reshape(-1, 2)
    return middle


def _open_marks(place: Floats, edges: NDArray[np.int64]) -> go.Scatter:
    """A question mark on edges whose direction is open: neither colour nor a dash, which mean other things."""
    middle = _middles(place, edges)
    marker = {"symbol": "square", "size": 15, "color": "rgb(235,235,235)", "line": {"width": 1, "color": STRONG_GREY}}
    look = {"mode": "markers+text", "text": ["?"] * len(edges), "textfont": {"size": 12, "color": "black"}}
    look |= {"name": "direction open (?)", "marker": marker, "textposition": "middle center", "hoverinfo": "skip"}
    return go.Scatter(x=middle[:, 0], y=middle[:, 1], legendrank=2000, **look)  # the legend begins with the nodes


def _edge_hovers(place: Floats, edges: NDArray[np.int64], says: Sequence[str]) -> go.Scatter:
    """Invisible markers in the middle of the edges that say what each is."""
    middle = _middles(place, edges)
    look = {"name": "edges", "mode": "markers", "marker": {"size": 16, "opacity": 0.0}, "showlegend": False}
    return go.Scatter(x=middle[:, 0], y=middle[:, 1], **look, **hover(says))


def _node_trace(
    variables: Sequence[str], place: Floats, nodes: NDArray[np.int64], kind: str, marker: dict[str, Any]
) -> go.Scatter:
    columns = int(place[:, 0].max()) + 1
    limit, font = min(40, 120 // columns), 12
    if columns > 8:  # what fits into a column becomes too little to distinguish names
        limit, font = max(8, 200 // columns), 9
    names = [variables[k] for k in nodes.tolist()]
    labels = np.array([escaped(name, limit) for name in names], dtype=object)
    look = {"name": kind, "mode": "markers+text", "textposition": "bottom center", "textfont": {"size": font}}
    says = [f"{escaped(name, HOVER_LIMIT)}<br>{kind}" for name in names]
    return go.Scatter(
        x=place[nodes, 0], y=place[nodes, 1], text=labels, marker=marker, cliponaxis=False, **look, **hover(says)
    )


def adjacency_figure(variables: Sequence[str], strengths: Floats) -> go.Figure:
    """The strengths (v, v) of all edges: rows are causes, columns effects, and cells without an edge are blank."""
    figure = go.Figure(adjacency_heatmap(variables, strengths, float(np.abs(strengths).max(initial=0.0))))
    return dressed(with_adjacency_axes(figure, variables), 520)


def adjacency_heatmap(variables: Sequence[str], strengths: Floats, largest: float) -> go.Heatmap:
    """The cells alone, coloured between ``-largest`` and ``largest``; a small table also gets its numbers."""
    names = [escaped(name, HOVER_LIMIT) for name in variables]
    pairs = [zip(names, row, strict=True) for row in strengths]
    says = [[f"{names[j]} → {name}: {signed(value)}" for name, value in row] for j, row in enumerate(pairs)]
    heatmap = go.Heatmap(
        z=np.where(strengths == 0.0, np.nan, strengths),
        zmin=-(largest or 1.0),
        zmax=largest or 1.0,
        colorscale=[[0.0, PALETTE[0]], [0.5, "rgb(165,165,165)"], [1.0, PALETTE[1]]],  # its middle shows on any page
        colorbar={"title": {"text": "strength"}, "thickness": 12},
        hoverongaps=False,
        **hover(says),
    )
    if 0 < len(names) <= 12:
        numbers = [["" if value == 0.0 else signed(value) for value in row] for row in strengths]
        heatmap.update(text=np.array(numbers, dtype=object), texttemplate="%{text}")
    return heatmap


def with_adjacency_axes(figure: go.Figure, variables: Sequence[str], *, named: int = 40) -> go.Figure:
    """Causes downwards, effects to the right; about ``named`` of many variables have their names shown."""
    shown = range(0, len(variables), math.ceil(len(variables) / named) or 1)
    ticks = {"tickvals": np.array(shown), "ticktext": [escaped(variables[k], 20) for k in shown]}
    figure.update_xaxes(title="effect", showgrid=False, zeroline=False, **ticks)
    return figure.update_yaxes(title="cause", showgrid=False, zeroline=False, autorange="reversed", **ticks)
