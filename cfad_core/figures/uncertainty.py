"""What is uncertain about an audit: what the graphs of subsamples reach, and what goes with single edges and paths."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import percent
from cfad_core.evaluation.path_shares import PathShare
from cfad_core.figures.style import HOVER_LIMIT, STRONG_GREY, dressed, escaped, fill, hover

MOST_BARS = 14  # beyond that they become too thin for their names
_BAR = 24
_LOWEST, _HIGHEST = -1.0, 1.5  # shares beyond which bars and intervals are cut: their texts say how far they go
_LABEL = 0.12  # of the axis, the room that a label takes


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


def edge_cuts_figure(edges: Sequence[tuple[str, str]], carried: Floats) -> go.Figure:
    """The share of the change that goes with each edge, (edges,); the largest first, those below 0 work against it."""
    order = np.argsort(-carried, kind="stable")[:MOST_BARS]
    shares = carried[order]
    texts = [percent(share, 0) for share in shares]
    says = [
        f"{escaped(edges[k][0], HOVER_LIMIT)} → {escaped(edges[k][1], HOVER_LIMIT)}<br>{_goes(carried[k])}"
        for k in order
    ]
    figure = go.Figure()
    _add_bars(figure, "goes with the edge", 0, np.arange(len(order)), shares, texts, says)
    low, high = min(0.0, float(shares.min(initial=0.0))), max(1.0, float(shares.max(initial=0.0)))
    room = _LABEL * (high - low)  # for the texts at the ends of the bars
    figure.update_xaxes(
        title="share of the change", tickformat=".0%", range=[low - (room if low < 0.0 else 0.0), high + room]
    )
    labels = [f"{escaped(edges[k][0], 18)} → {escaped(edges[k][1], 18)}" for k in order]
    return _with_names(figure, "edge", labels)


def path_shares_figure(rows: Sequence[PathShare]) -> go.Figure:
    """The share of the change that goes with each path, with its interval; in the order of the rows."""
    shown = [row for row in rows if row.gone.value is not None][:MOST_BARS]
    shares = np.array([row.gone.value for row in shown], dtype=np.float64)
    says = [f"{escaped(row.name, HOVER_LIMIT)}<br>{_goes(row.gone.value or 0.0)}" for row in shown]
    figure = go.Figure()
    lengths = np.clip(shares, _LOWEST, None)
    _add_bars(figure, "goes with the path", 0, np.arange(len(shown)), lengths, [""] * len(shown), says)
    figure.data[0].error_x = _reach_of_intervals(shown, lengths)
    ends = [row.gone.interval.high for row in shown if row.gone.interval is not None]
    low, high = min(0.0, float(lengths.min(initial=0.0))), max([1.0, *ends, *lengths])
    figure.update_xaxes(title="share of the change", tickformat=".0%", range=[low - 0.05, min(high, _HIGHEST) + 0.05])
    labels = [f"{_shortened(row.path) or row.name}  <b>{percent(row.gone.value, 0)}</b>" for row in shown]
    return _with_names(figure, "path", labels).update_layout(showlegend=False)


def _reach_of_intervals(rows: Sequence[PathShare], lengths: Floats) -> dict[str, Any]:
    """How far intervals go to either side; none where there are no intervals."""
    ends = [(row.gone.interval.low, row.gone.interval.high) if row.gone.interval else (np.nan,) * 2 for row in rows]
    low, high = np.clip(np.array(ends, dtype=np.float64).reshape(-1, 2).T, _LOWEST, _HIGHEST)
    look = {"color": STRONG_GREY, "thickness": 1.5, "width": 4}
    return {"type": "data", "array": high - lengths, "arrayminus": lengths - low, **look}


def _shortened(path: Sequence[str]) -> str:
    """The names of a path, each cut so that all of them fit."""
    return " → ".join(escaped(name, max(8, 44 // max(1, len(path)))) for name in path)


def _goes(share: float) -> str:
    if share < 0.0:
        return f"works against the others: without it, {percent(-share, 0)} more outcomes change"
    return f"{percent(share, 0)} of the change goes with it"


def _add_bars(
    figure: go.Figure, name: str, k: int, rows: Any, lengths: Floats, texts: Sequence[str], says: Sequence[str]
) -> None:
    look: dict[str, Any] = {"orientation": "h", "name": name, "marker": fill(k)}
    look |= {"text": np.array(texts, dtype=object), "textposition": "outside"}
    look |= {"cliponaxis": False, "constraintext": "none"}
    figure.add_bar(x=lengths, y=rows, **look, **hover(says))


def _with_names(figure: go.Figure, title: str, labels: Sequence[str]) -> go.Figure:
    """Bars below each other, the first on top, one on each line."""
    ticks = {"tickvals": np.arange(len(labels)), "ticktext": list(labels), "range": [max(1, len(labels)) - 0.4, -0.6]}
    figure.update_yaxes(title=title, showgrid=False, zeroline=False, **ticks)
    figure.update_layout(barmode="overlay", bargap=0.3)
    return dressed(figure, 150 + _BAR * max(3, len(labels)))
