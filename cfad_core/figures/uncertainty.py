"""What is uncertain about an audit: what the graphs of subsamples reach, and what goes with single edges."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import percent
from cfad_core.figures.style import HOVER_LIMIT, STRONG_GREY, dressed, escaped, fill, hover

MOST_BARS = 14  # beyond that they become too thin for their names
_BAR = 24
_LABEL = 0.1  # of the widest bar, the room that a label takes


def reach_figure(reach: Mapping[str, float], affected: Collection[str], graphs: int) -> go.Figure:
    """The share of the subsamples in whose graph the sensitive attribute reaches each variable; the most reached ones.

    Parameters
    ----------
    reach : by variable
    affected : the variables that it reaches in the audit's own graph
    graphs : how many subsamples there are
    """
    names = sorted(reach, key=lambda name: -reach[name])[:MOST_BARS]
    figure = go.Figure()
    for k, kind in enumerate(("reached in this graph, too", "not reached in this graph")):
        rows = [row for row, name in enumerate(names) if (name in affected) == (k == 0)]
        shares = np.array([reach[names[row]] for row in rows])
        says = [
            f"{escaped(names[row], HOVER_LIMIT)}<br>{kind}<br>reached in {share * graphs:.0f} of {graphs} subsamples"
            for row, share in zip(rows, shares, strict=True)
        ]
        _add_bars(figure, kind, k, np.array(rows), shares, [f"{share * graphs:.0f}" for share in shares], says)
    figure.update_xaxes(title="share of the subsamples", tickformat=".0%", range=[0.0, 1.08])
    return _with_names(figure, "variable", [escaped(name, 30) for name in names])


def edge_cuts_figure(edges: Sequence[tuple[str, str]], without: Floats, whole: float) -> go.Figure:
    """The changing ratio without each edge, (edges,), and with all of them; those with which most goes first."""
    order = np.argsort(without, kind="stable")[:MOST_BARS]
    ratios = without[order]
    says = [
        f"without {escaped(edges[k][0], HOVER_LIMIT)} → {escaped(edges[k][1], HOVER_LIMIT)}<br>"
        f"changed: {percent(without[k])}, with all edges {percent(whole)}"
        for k in order
    ]
    figure = go.Figure()
    _add_bars(figure, "without the edge", 0, np.arange(len(order)), ratios, None, says)
    look: dict[str, Any] = {"name": "with all edges", "mode": "lines"}
    look["line"] = {"color": STRONG_GREY, "dash": "dot", "width": 2}
    ends = np.array([-0.6, max(1, len(order)) - 0.4])
    figure.add_scatter(x=np.full(2, whole), y=ends, **look, **hover([f"with all edges: {percent(whole)}"] * 2))
    widest = max(whole, float(ratios.max(initial=0.0))) or 0.01
    near = (ratios < whole) & (whole - ratios < _LABEL * widest)  # the line would run through these labels
    look = {"mode": "text", "textposition": "middle right", "showlegend": False, "cliponaxis": False}
    texts = np.array([f"\u2002{percent(ratio)}" for ratio in ratios], dtype=object)
    figure.add_scatter(x=np.where(near, whole, ratios), y=np.arange(len(order)), text=texts, hoverinfo="skip", **look)
    figure.update_xaxes(title="changing ratio", tickformat=".3~p", range=[0.0, 1.18 * widest])
    labels = [f"{escaped(edges[k][0], 18)} → {escaped(edges[k][1], 18)}" for k in order]
    return _with_names(figure, "edge", labels)


def _add_bars(
    figure: go.Figure, name: str, k: int, rows: Any, lengths: Floats, texts: Sequence[str] | None, says: Sequence[str]
) -> None:
    look: dict[str, Any] = {"orientation": "h", "name": name, "marker": fill(k)}
    if texts is not None:
        look |= {"text": np.array(texts, dtype=object), "textposition": "outside"}
        look |= {"cliponaxis": False, "constraintext": "none"}
    figure.add_bar(x=lengths, y=rows, **look, **hover(says))


def _with_names(figure: go.Figure, title: str, labels: Sequence[str]) -> go.Figure:
    """Bars below each other, the first on top, one on each line."""
    ticks = {"tickvals": np.arange(len(labels)), "ticktext": list(labels), "range": [max(1, len(labels)) - 0.4, -0.6]}
    figure.update_yaxes(title=title, showgrid=False, zeroline=False, **ticks)
    figure.update_layout(barmode="overlay", bargap=0.3)
    return dressed(figure, 150 + _BAR * max(3, len(labels)))
