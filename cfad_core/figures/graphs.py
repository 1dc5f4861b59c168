"""Causal graphs: drawn, and as a table of strengths."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.figures.graph_board import FONT, SCREEN, Board, Edge, Graph, board_of, edges_of
from cfad_core.figures.routes import points
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

_CURVE = np.linspace(0.0, 1.0, 17)


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
    own = {sensitive} if isinstance(sensitive, str) else set(sensitive)
    graph = Graph.of(variables, strengths, list(own), affected)
    board = board_of(graph, SCREEN)
    drawn = [
        edge for edge in edges_of(graph, board, found) if abs(float(strengths[edge.cause, edge.effect])) >= weakest
    ]
    says = [_edge_says(variables, strengths, (edge.cause, edge.effect), found, is_open) for edge in drawn]
    figure = go.Figure(_edge_traces(drawn))
    unsure = [edge for edge in drawn if is_open is not None and is_open[edge.cause, edge.effect]]
    if unsure:
        figure.add_trace(_open_marks(unsure))
    figure.add_trace(_edge_hovers(drawn, says))
    looks = (
        ("sensitive attribute", "diamond", 26, PALETTE[1], {"width": 1, "color": STRONG_GREY}),
        ("affected by it", "circle", 18, PALETTE[5], {"width": 3, "color": PALETTE[0]}),
        ("not affected", "circle", 16, "rgb(150,150,150)", {"width": 1, "color": STRONG_GREY}),
    )
    for kind, (name, symbol, width, color, outline) in enumerate(looks):
        marker = {"symbol": symbol, "size": width, "color": color, "line": outline}
        if (graph.kinds == kind).any():
            figure.add_trace(_node_trace(variables, board, np.flatnonzero(graph.kinds == kind), name, marker))
    low, high = (float(x) for x in (board.boxes[:, 1].min(initial=0.0), board.boxes[:, 3].max(initial=0.0)))
    bare = {"showgrid": False, "zeroline": False, "showticklabels": False}
    figure.update_xaxes(title="causes → effects", range=[0.0, SCREEN.width], **bare)
    figure.update_yaxes(range=[high + 20.0, low - 20.0], **bare)
    return dressed(figure, round(min(max(320.0, high - low + 140.0), 520.0)))


def _edge_traces(edges: Sequence[Edge]) -> list[go.Scatter]:
    """Edges with arrow heads: one trace for those of the same kind and width, so that large graphs stay quick."""
    groups: dict[tuple[bool, bool, int], list[Floats]] = {}
    for edge in edges:
        kind = edge.is_causal, edge.is_rare, 1 if edge.is_rare else max(1, round(1.4 * edge.width))
        groups.setdefault(kind, []).append(points(edge.curve, _CURVE))
    gap = np.full((1, 2), np.nan)
    traces = []
    for (causal, seldom, width), curves in sorted(groups.items(), key=lambda item: item[0]):
        spots = np.concatenate([part for curve in curves for part in (curve, gap)])
        heads = np.concatenate([np.append(np.zeros(len(curve) - 1), [8.0 + width, 0.0]) for curve in curves])
        color, dash = (PALETTE[1], "solid") if causal else (MIDDLE_GREY, "dot")
        dash = "dash" if seldom else dash
        # Heads point along the line on the screen, whatever the page's width
        marker: dict[str, Any] = {"symbol": "arrow", "size": heads, "angleref": "previous", "color": color}
        marker |= {"opacity": 1.0, "line": {"width": 0}}
        look = {"mode": "lines+markers", "line": {"color": color, "width": width, "dash": dash}, "marker": marker}
        traces.append(go.Scatter(x=spots[:, 0], y=spots[:, 1], hoverinfo="skip", showlegend=False, **look))
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


def _middles(edges: Sequence[Edge]) -> Floats:
    """(e, 2), a point of each edge halfway between its ends."""
    middle: Floats = np.array([points(edge.curve, np.array([0.5]))[0] for edge in edges]).reshape(-1, 2)
    return middle


def _open_marks(edges: Sequence[Edge]) -> go.Scatter:
    """A question mark on edges whose direction is open: neither colour nor a dash, which mean other things."""
    middle = _middles(edges)
    marker = {"symbol": "square", "size": 15, "color": "rgb(235,235,235)", "line": {"width": 1, "color": STRONG_GREY}}
    look = {"mode": "markers+text", "text": ["?"] * len(edges), "textfont": {"size": 12, "color": "black"}}
    look |= {"name": "direction open (?)", "marker": marker, "textposition": "middle center", "hoverinfo": "skip"}
    return go.Scatter(x=middle[:, 0], y=middle[:, 1], legendrank=2000, **look)  # the legend begins with the nodes


def _edge_hovers(edges: Sequence[Edge], says: Sequence[str]) -> go.Scatter:
    """Invisible markers in the middle of the edges that say what each is."""
    middle = _middles(edges)
    look = {"name": "edges", "mode": "markers", "marker": {"size": 16, "opacity": 0.0}, "showlegend": False}
    return go.Scatter(x=middle[:, 0], y=middle[:, 1], **look, **hover(says))


def _node_trace(
    variables: Sequence[str], board: Board, nodes: NDArray[np.int64], kind: str, marker: dict[str, Any]
) -> go.Scatter:
    names = [variables[k] for k in nodes.tolist()]
    labels = np.array(["<br>".join(escaped(line) for line in board.lines[k]) for k in nodes.tolist()], dtype=object)
    look = {"name": kind, "mode": "markers+text", "textposition": "bottom center", "textfont": {"size": FONT}}
    says = [f"{escaped(name, HOVER_LIMIT)}<br>{kind}" for name in names]
    place = board.place[nodes]
    return go.Scatter(x=place[:, 0], y=place[:, 1], text=labels, marker=marker, cliponaxis=False, **look, **hover(says))


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
