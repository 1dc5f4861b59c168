"""The paper's experiments: how well rows are generated, how settings matter, what was learned, what it trades."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from numpy.typing import NDArray
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from cfad_core.core.arrays import Floats
from cfad_core.core.looks import Look
from cfad_core.figures.graphs import adjacency_heatmap, with_adjacency_axes
from cfad_core.figures.style import (
    DASHES,
    GREY,
    HOVER_LIMIT,
    PALETTE,
    STRONG_GREY,
    SYMBOLS,
    color_of,
    dressed,
    escaped,
    fill,
    hover,
    name_of,
    signed,
)

_HEIGHT = 460
_GROUP = 0.7  # of the distance between two groups of bars
_NUDGE = 0.05  # lines over the same values stand beside each other, so that their error bars do not touch


def generation_error_figure(errors: Mapping[str, Mapping[str, tuple[float, float]]]) -> go.Figure:
    """How far generated rows are from the true ones, (mean, standard deviation) by model and by kind of row."""
    figure = go.Figure()
    kinds = list(dict.fromkeys(kind for by_kind in errors.values() for kind in by_kind))
    models = [escaped(model, HOVER_LIMIT) for model in errors]
    width = _GROUP / max(1, len(kinds))
    for k, kind in enumerate(kinds):
        found = [by_kind.get(kind, (np.nan, np.nan)) for by_kind in errors.values()]
        means, deviations = np.array(found, dtype=np.float64).T
        middle = np.arange(len(models)) + (k - (len(kinds) - 1) / 2.0) * width
        says = [
            f"{model}<br>{escaped(kind, HOVER_LIMIT)}: {_spread(mean, deviation)}"
            for model, mean, deviation in zip(models, means, deviations, strict=True)
        ]
        look: dict[str, Any] = {"name": escaped(kind), "legendgroup": str(k)}
        bars = {"width": 0.9 * width, "marker": fill(k), "error_y": _error_bars(deviations, STRONG_GREY)}
        figure.add_bar(x=middle, y=np.nan_to_num(means), **bars, **look, **hover(says))
        # Labels of the bars themselves would lie under the error bars.
        labels = np.array([_three_digits(mean) for mean in means], dtype=object)
        tops = np.nan_to_num(means) + np.nan_to_num(deviations)
        look |= {"mode": "text", "textposition": "top center", "showlegend": False, "cliponaxis": False}
        figure.add_scatter(x=middle, y=tops, text=labels, hoverinfo="skip", **look)
    ticks = {"tickvals": np.arange(len(models)), "ticktext": [escaped(model) for model in errors]}
    ticks["range"] = [-0.5, max(1, len(models)) - 0.5]
    figure.update_xaxes(title="model", showgrid=False, zeroline=False, **ticks)
    figure.update_yaxes(title="Euclidean distance ± standard deviation", rangemode="tozero")
    return dressed(figure, _HEIGHT)


def sensitivity_figure(
    name: str, values: Floats, lines: Mapping[str, tuple[Floats, Floats]], *, log: bool = True
) -> go.Figure:
    """What comes out over the values of a setting: means as lines, a standard deviation to each side as error bars.

    Parameters
    ----------
    name : of the setting
    values : (k,), in any order
    lines : (mean (k,), standard deviation (k,)) by what is measured
    log : the values stand at even distances, as suits values that grow by factors; unlike a log axis this has a
        place for 0. Else the axis is linear.
    """
    order = np.argsort(values, kind="stable")
    ascending = values[order]
    places = np.arange(float(len(values))) if log else ascending
    figure = go.Figure()
    for k, (measure, (means, deviations)) in enumerate(lines.items()):
        color = PALETTE[k % len(PALETTE)]
        nudge = _NUDGE * (k - (len(lines) - 1) / 2.0) if log else 0.0
        says = [
            f"{escaped(name, HOVER_LIMIT)} {value:g}<br>{escaped(measure, HOVER_LIMIT)}: {_spread(mean, deviation)}"
            for value, mean, deviation in zip(ascending, means[order], deviations[order], strict=True)
        ]
        look = {"name": escaped(measure), "mode": "lines+markers", "error_y": _error_bars(deviations[order], color)}
        look["line"] = {"color": color, "dash": DASHES[k % len(DASHES)], "width": 2}
        look["marker"] = {"color": color, "symbol": SYMBOLS[k % len(SYMBOLS)], "size": 10}
        figure.add_scatter(x=places + nudge, y=means[order], **look, **hover(says))
    ticks = {"tickvals": places, "ticktext": [f"{value:g}" for value in ascending]} if log else {}
    figure.update_xaxes(title=escaped(name) + (", values evenly spaced" if log else ""), zeroline=False, **ticks)
    has_spread = any(np.isfinite(deviations).any() for _, deviations in lines.values())
    figure.update_yaxes(title="mean ± standard deviation" if has_spread else "value", rangemode="tozero")
    return dressed(figure, _HEIGHT)


def adjacency_pair_figure(variables: Sequence[str], true: Floats, learned: Floats) -> go.Figure:
    """The true and the learned strengths (v, v) on one colour scale; edges that only one of them has are marked.

    Such an edge is framed where it is, and a mark stands in the other table's blank cell: no number is hidden.
    """
    figure = make_subplots(cols=2, subplot_titles=["true", "learned"], shared_yaxes=True, horizontal_spacing=0.04)
    largest = float(max(np.abs(true).max(initial=0.0), np.abs(learned).max(initial=0.0)))
    for col, strengths in enumerate((true, learned), start=1):
        heatmap = adjacency_heatmap(variables, strengths, largest)
        figure.add_trace(heatmap.update(showscale=col == 2), row=1, col=col)
    missed, extra = (np.argwhere((a != 0.0) & (b == 0.0)) for a, b in ((true, learned), (learned, true)))
    for edges, strengths, col, symbol, kind in (
        (missed, true, 1, "x", "missed: true, not learned"),
        (extra, learned, 2, "cross", "extra: learned, not true"),
    ):
        figure.add_trace(_frames(edges, kind), row=1, col=col)
        figure.add_trace(_marks(variables, edges, strengths, symbol, kind), row=1, col=3 - col)
    with_adjacency_axes(figure, variables, named=20).update_yaxes(title="", col=2)
    low, high = -0.5, max(1, len(variables)) - 0.5
    border = {"showline": True, "mirror": True, "linecolor": GREY}
    figure.update_xaxes(range=[low, high], **border).update_yaxes(autorange=False, range=[high, low], **border)
    figure.update_annotations(yshift=4)  # the panels' titles would touch the border
    return dressed(figure, _HEIGHT, above_titles=True)


def _frames(edges: NDArray[np.int64], kind: str) -> go.Scatter:
    """A line around each cell, just inside of it, as its neighbour may be framed too."""
    corners = 0.47 * np.array([[-1, -1], [-1, 1], [1, 1], [1, -1], [-1, -1], [np.nan, np.nan]])
    points = (edges[:, None, :] + corners).reshape(-1, 2)
    look = {"name": kind, "legendgroup": kind, "showlegend": False, "mode": "lines", "line": {"color": PALETTE[7]}}
    return go.Scatter(x=points[:, 1], y=points[:, 0], hoverinfo="skip", **look)


def _marks(variables: Sequence[str], edges: NDArray[np.int64], strengths: Floats, symbol: str, kind: str) -> go.Scatter:
    names = [escaped(name, HOVER_LIMIT) for name in variables]
    says = [f"{names[j]} → {names[i]}: {signed(strengths[j, i])}<br>{kind}" for j, i in edges]
    marker = {"symbol": symbol, "size": min(12.0, 4.0 + 80.0 / max(1, len(names))), "color": PALETTE[7]}
    look = {"name": kind, "legendgroup": kind, "showlegend": True, "mode": "markers", "marker": marker}
    return go.Scatter(x=edges[:, 1], y=edges[:, 0], **look, **hover(says))


def tradeoff_points_figure(
    curves: Mapping[Look, tuple[Floats, Floats, Floats]], paper: Mapping[Look, tuple[float, float]] | None = None
) -> go.Figure:
    """Usefulness against fairness by method, at some quantiles.

    Parameters
    ----------
    curves : (quantiles, changing ratio, Macro-F1), (q,) each, by method
    paper : the paper's (changing ratio, Macro-F1) by method, as a hollow mark
    """
    figure = go.Figure()
    for method, (quantiles, ratios, qualities) in curves.items():
        color, name = color_of(method), name_of(method)
        says = [
            f"{name}, quantile {quantile:.4g}: {_point_says(ratio, quality)}"
            for quantile, ratio, quality in zip(quantiles, ratios, qualities, strict=True)
        ]
        look: dict[str, Any] = {"name": name, "legendgroup": name, "mode": "lines+markers"}
        look["line"] = {"color": color, "dash": method.dash}
        look["marker"] = {"color": color, "symbol": method.symbol, "size": 9}
        figure.add_scatter(x=ratios, y=qualities, **look, **hover(says))
    for method, (ratio, quality) in (paper or {}).items():
        color, name = color_of(method), f"{name_of(method)}, paper"
        marker = {"color": color, "symbol": f"{method.symbol}-open", "size": 15, "line": {"width": 2.5}}
        look = {"name": name, "legendgroup": name_of(method), "mode": "markers", "marker": marker}
        says = [f"{name}: {_point_says(ratio, quality)}"]
        figure.add_scatter(x=np.array([ratio]), y=np.array([quality]), **look, **hover(says))
    figure.update_xaxes(title="changing ratio (lower is fairer)")
    figure.update_yaxes(title="Macro-F1")
    return dressed(figure, _HEIGHT)


def _point_says(ratio: float, quality: float) -> str:
    return f"Macro-F1 {quality:.3f}, changing ratio {ratio:.3f}"


def _error_bars(deviations: Floats, color: str) -> dict[str, Any]:
    return {"type": "data", "array": np.nan_to_num(deviations), "color": color, "thickness": 2, "width": 6}


def _spread(mean: float, deviation: float) -> str:
    spread = f" ± {_three_digits(deviation)}" if np.isfinite(deviation) else ""
    return f"{_three_digits(mean)}{spread}"


def _three_digits(value: float) -> str:
    return f"{value:#.3g}".rstrip(".") if np.isfinite(value) else "n/a"
