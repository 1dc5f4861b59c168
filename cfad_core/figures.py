"""Pictures of an audit: arrays that are already computed go in, plotly figures come out.

Figures stand on light and on dark pages: backgrounds are transparent, text takes the page's colour, and nothing is
told by colour alone. Plotly renders a subset of HTML wherever it shows text, so names that come from a table pass
through ``escaped``; they are shown at numbered positions, as two of them may be the same once shortened.
"""

from __future__ import annotations

import html
import math
import zlib
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import networkx as nx
import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from numpy.typing import NDArray
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from cfad_core.evaluation.densities import Densities

Floats = NDArray[np.float64]

# Okabe and Ito's colours without black and yellow, which vanish on a dark and on a white page, and four that stay
# apart from them for colour-blind readers.
PALETTE: tuple[str, ...] = (
    "#0072B2",
    "#D55E00",
    "#009E73",
    "#CC79A7",
    "#E69F00",
    "#56B4E9",
    "#7B5CE0",
    "#C00030",
    "#8C5A2B",
    "#C0A860",
)
GREY = "rgba(128,128,128,0.35)"
MIDDLE_GREY = "rgba(128,128,128,0.6)"
STRONG_GREY = "rgba(128,128,128,0.9)"
CLEAR = "rgba(0,0,0,0)"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
PATTERNS = ("", "/", "x", ".", "-", "\\", "|", "+")
COUNTERFACTUAL = " (counterfactual)"
HOVER_LIMIT = 200

_ROWS = 10  # nodes above each other in a drawn graph; beyond that labels touch
_CURVE = np.linspace(0.0, 1.0, 9)


class Style(NamedTuple):
    """How a method looks in every figure."""

    color: str
    dash: str
    symbol: str


METHOD_NAMES = {
    "pca": "PCA",
    "ocsvm": "OC-SVM",
    "iforest": "iForest",
    "ae": "AE",
    "dcfod": "DCFOD",
    "fairod": "FairOD",
    "cfad": "CFAD",
    "twin": "Twin",
}
METHOD_STYLE = {
    "pca": Style(PALETTE[3], "dot", "cross"),
    "ocsvm": Style(PALETTE[4], "longdash", "triangle-up"),
    "iforest": Style(PALETTE[5], "longdashdot", "triangle-down"),
    "ae": Style(PALETTE[1], "dash", "square"),
    "dcfod": Style(PALETTE[6], "dot", "pentagon"),
    "fairod": Style(PALETTE[8], "dash", "hexagon"),
    "cfad": Style(PALETTE[0], "solid", "circle"),
    "twin": Style(PALETTE[2], "dashdot", "diamond"),
}


@dataclass(frozen=True)
class Tradeoff:
    """A method's trade-off between usefulness and fairness, over thresholds.

    Attributes
    ----------
    changing_ratio, quality, flag_rate : (t,), along the curve; quality is the Macro-F1, or the flag rate without labels
    quantiles : (q,), marked on the curve
    quantile_changing_ratio, quantile_quality : (q,), at these quantiles
    quantile_flag_rate : (q,); if None it is read off the curve where that is unambiguous
    """

    changing_ratio: Floats
    quality: Floats
    flag_rate: Floats
    quantiles: Floats
    quantile_changing_ratio: Floats
    quantile_quality: Floats
    quantile_flag_rate: Floats | None = None


def escaped(text: str, limit: int = 40) -> str:
    """Text from a table, shortened, such that plotly shows it as it is."""
    short = text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"
    # Plotly knows numbered entities but not &quot;, and would hand $...$ to MathJax.
    return html.escape(short, quote=False).replace('"', "&#34;").replace("'", "&#39;").replace("$", "&#36;")


def method_style(method: str) -> Style:
    """The method's style; unknown methods get one that depends on their name only."""
    spare = (PALETTE[7], PALETTE[9])
    unknown = Style(spare[zlib.crc32(method.encode("utf-8", "replace")) % len(spare)], "longdashdot", "x")
    return METHOD_STYLE.get(method, unknown)


def graph_figure(
    variables: Sequence[str], strengths: Floats, sensitive: str, affected: Collection[str], *, min_share: float = 0.0
) -> go.Figure:
    """The causal graph, causes to the left of their effects.

    Parameters
    ----------
    strengths : (v, v), acyclic; ``strengths[j, i] != 0`` means j causes i
    affected : the variables that the sensitive one has a path to
    min_share : hide edges weaker than this share of the strongest; nodes stay where they are
    """
    place = _places(strengths)
    size = np.abs(strengths) / (np.abs(strengths).max(initial=0.0) or 1.0)
    edges = np.argwhere((strengths != 0.0) & (size >= min_share))
    kinds = np.array([0 if name == sensitive else 1 if name in affected else 2 for name in variables], dtype=np.int64)
    figure = go.Figure([*_edge_traces(place, edges, kinds < 2, size), _edge_hovers(variables, strengths, place, edges)])
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
    return _dressed(figure, 520 if high - low > 4.0 else 420)


def _places(strengths: Floats) -> Floats:
    """Positions (v, 2) of the nodes: layers by longest path from a root, each ordered by its parents' heights.

    A layer of many nodes takes several columns; as its nodes are not connected, causes stay left of effects.
    """
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(strengths)))
    graph.add_edges_from((int(j), int(i)) for j, i in np.argwhere(strengths != 0.0))
    place = np.zeros((len(strengths), 2))
    column = 0
    for layer in nx.topological_generations(graph):
        heights = {k: np.mean([place[j, 1] for j in sorted(graph.pred[k])] or [0.0]) for k in layer}
        nodes = sorted(layer, key=lambda k: (-heights[k], k))
        columns = math.ceil(len(nodes) / _ROWS)
        rows = math.ceil(len(nodes) / columns)
        for position, k in enumerate(nodes):
            place[k] = column + position % columns, (rows - 1) / 2.0 - position // columns
        column += columns
    return place


def _curve(start: Floats, end: Floats) -> Floats:
    """Points (p, 2) of an edge; one that passes other columns bows outwards, so that it does not cross their nodes."""
    span = end[0] - start[0]
    if span < 2.0:
        return np.stack([start, end])
    points: Floats = start + _CURVE[:, None] * (end - start)
    bow = min(0.3 + 0.15 * (span - 2.0), 0.8)
    points[:, 1] += 4.0 * _CURVE * (1.0 - _CURVE) * (bow if start[1] + end[1] >= 0.0 else -bow)
    return points


def _edge_traces(place: Floats, edges: NDArray[np.int64], touched: NDArray[np.bool_], size: Floats) -> list[go.Scatter]:
    """Edges with arrow heads: one trace for those of the same kind and width, so that large graphs stay quick."""
    groups: dict[tuple[bool, int], list[Floats]] = {}
    for j, i in edges:
        kind = bool(touched[j] and touched[i]), round(1.0 + 5.0 * float(size[j, i]))
        groups.setdefault(kind, []).append(_curve(place[j], place[i]))
    gap = np.full((1, 2), np.nan)
    traces = []
    for (causal, width), curves in sorted(groups.items(), key=lambda item: item[0]):
        points = np.concatenate([part for curve in curves for part in (curve, gap)])
        heads = np.concatenate([np.append(np.zeros(len(curve) - 1), [8.0 + width, 0.0]) for curve in curves])
        color, dash = (PALETTE[1], "solid") if causal else (MIDDLE_GREY, "dot")
        # Heads point along the line on the screen, whatever the page's width, and stop at the node's rim.
        marker: dict[str, Any] = {"symbol": "arrow", "size": heads, "angleref": "previous", "color": color}
        marker |= {"standoff": np.where(heads > 0.0, 12.0, 0.0), "opacity": 1.0, "line": {"width": 0}}
        look = {"mode": "lines+markers", "line": {"color": color, "width": width, "dash": dash}, "marker": marker}
        traces.append(go.Scatter(x=points[:, 0], y=points[:, 1], hoverinfo="skip", showlegend=False, **look))
    return traces


def _edge_hovers(variables: Sequence[str], strengths: Floats, place: Floats, edges: NDArray[np.int64]) -> go.Scatter:
    """Invisible markers in the middle of the edges that say what each is."""
    curves = [_curve(place[j], place[i]) for j, i in edges]
    middle = np.array([c[len(c) // 2] if len(c) > 2 else c.mean(axis=0) for c in curves]).reshape(-1, 2)
    names = [escaped(name, HOVER_LIMIT) for name in variables]
    says = [f"{names[j]} → {names[i]}: {_signed(strengths[j, i])}" for j, i in edges]
    look = {"name": "edges", "mode": "markers", "marker": {"size": 16, "opacity": 0.0}, "showlegend": False}
    return go.Scatter(x=middle[:, 0], y=middle[:, 1], **look, **_hover(says))


def _node_trace(
    variables: Sequence[str], place: Floats, nodes: NDArray[np.int64], kind: str, marker: dict[str, Any]
) -> go.Scatter:
    columns = int(place[:, 0].max()) + 1
    limit, font = min(40, 120 // columns), 12
    if columns > 8:  # what fits into a column becomes too little to tell names apart
        limit, font = max(8, 200 // columns), 9
    names = [variables[k] for k in nodes.tolist()]
    labels = np.array([escaped(name, limit) for name in names], dtype=object)
    look = {"name": kind, "mode": "markers+text", "textposition": "bottom center", "textfont": {"size": font}}
    says = [f"{escaped(name, HOVER_LIMIT)}<br>{kind}" for name in names]
    return go.Scatter(
        x=place[nodes, 0], y=place[nodes, 1], text=labels, marker=marker, cliponaxis=False, **look, **_hover(says)
    )


def adjacency_figure(variables: Sequence[str], strengths: Floats) -> go.Figure:
    """The strengths (v, v) of all edges: rows are causes, columns effects, and cells without an edge are blank."""
    names = [escaped(name, HOVER_LIMIT) for name in variables]
    pairs = [zip(names, row, strict=True) for row in strengths]
    says = [[f"{names[j]} → {name}: {_signed(value)}" for name, value in row] for j, row in enumerate(pairs)]
    largest = float(np.abs(strengths).max(initial=0.0)) or 1.0
    figure = go.Figure().add_heatmap(
        z=np.where(strengths == 0.0, np.nan, strengths),
        zmin=-largest,
        zmax=largest,
        colorscale=[[0.0, PALETTE[0]], [0.5, "rgb(165,165,165)"], [1.0, PALETTE[1]]],  # its middle shows on any page
        colorbar={"title": {"text": "strength"}, "thickness": 12},
        hoverongaps=False,
        **_hover(says),
    )
    if 0 < len(names) <= 12:
        numbers = [["" if value == 0.0 else _signed(value) for value in row] for row in strengths]
        figure.update_traces(text=np.array(numbers, dtype=object), texttemplate="%{text}")
    shown = range(0, len(names), math.ceil(len(names) / 40) or 1)
    ticks = {"tickvals": np.array(shown), "ticktext": [escaped(variables[k], 20) for k in shown]}
    figure.update_xaxes(title="effect", showgrid=False, zeroline=False, **ticks)
    figure.update_yaxes(title="cause", showgrid=False, zeroline=False, autorange="reversed", **ticks)
    return _dressed(figure, 520)


def densities_figure(
    panels: Mapping[str, Densities], thresholds: Mapping[str, float] | None = None, *, log: bool = False
) -> go.Figure:
    """Score densities by method, side by side on shared axes: groups by colour, the other world dashed.

    Parameters
    ----------
    panels : by method; the counterfactual of density "g" is named "g (counterfactual)"
    thresholds : by method, dotted lines
    """
    titles = [_method_name(method) for method in panels]
    shared = {"shared_xaxes": "all", "shared_yaxes": "all", "horizontal_spacing": 0.02}
    figure = make_subplots(cols=max(1, len(panels)), subplot_titles=titles, **shared)
    groups = list(dict.fromkeys(name.removesuffix(COUNTERFACTUAL) for p in panels.values() for name in p.density))
    seen: set[str] = set()
    for col, panel in enumerate(panels.values(), start=1):
        for name, density in panel.density.items():
            group = name.removesuffix(COUNTERFACTUAL)
            k, world = groups.index(group), name[len(group) :]
            line = {"color": PALETTE[k % len(PALETTE)], "width": 1.5 + 1.5 * (k % 2), "shape": "hv"}
            line["dash"] = "dash" if world else "solid"
            look = {"mode": "lines", "line": line, "legendgroup": f"{k}{world}", "showlegend": name not in seen}
            look |= {"name": escaped(group) + world, "text": escaped(group, HOVER_LIMIT) + world}
            look["hovertemplate"] = "%{text}<br>score %{x:.4g}<br>density %{y:.4g}<extra></extra>"
            figure.add_scatter(x=panel.edges, y=np.append(density, density[-1:]), row=1, col=col, **look)
            seen.add(name)
    tops = [density.max(initial=0.0) for panel in panels.values() for density in panel.density.values()]
    top = float(np.nanmax(tops)) if np.isfinite(tops).any() else 1.0
    shown = {m: t for m, t in (thresholds or {}).items() if m in panels and np.isfinite(t) and (t > 0.0 or not log)}
    for k, (method, threshold) in enumerate(shown.items()):
        figure.add_trace(_threshold_trace(threshold, top, k == 0), row=1, col=list(panels).index(method) + 1)
    figure.update_xaxes(title="score", type="log" if log else "linear", **(_log_ticks(panels) if log else {}))
    figure.update_yaxes(rangemode="tozero").update_yaxes(title="density", col=1)
    return _dressed(figure, 440, above_titles=True)


def _log_ticks(panels: Mapping[str, Densities]) -> dict[str, Any]:
    """1, 2, 5, 10, 20, 50 ...: a lone digit between powers of ten would be misread. Ten ticks at most."""
    low = min(float(densities.edges[0]) for densities in panels.values())
    high = max(float(densities.edges[-1]) for densities in panels.values())
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1,) if len(powers) > 4 else (1, 2, 5)
    ticks = np.array([digit * 10.0**power for power in powers for digit in digits])
    return {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _threshold_trace(threshold: float, top: float, legend: bool) -> go.Scatter:
    """A trace rather than a shape: the axes then reach it, and it has a legend entry and a hover text."""
    line = {"color": STRONG_GREY, "dash": "dot", "width": 2}
    look = {"name": "threshold", "legendgroup": "threshold", "showlegend": legend, "mode": "lines", "line": line}
    says = [f"threshold {threshold:.4g}"] * 2
    return go.Scatter(x=np.array([threshold, threshold]), y=np.array([0.0, top]), **look, **_hover(says))


def tradeoff_figure(
    curves: Mapping[str, Tradeoff], chosen: Mapping[str, tuple[float, float]] | None = None, *, with_labels: bool = True
) -> go.Figure:
    """Usefulness against fairness by method, with the quantiles marked.

    Parameters
    ----------
    chosen : (changing ratio, quality) by method, marked with a star
    with_labels : quality is the Macro-F1; else it is the flag rate
    """
    figure = go.Figure()
    for method, curve in curves.items():
        style, name = method_style(method), _method_name(method)
        look: dict[str, Any] = {"name": name, "legendgroup": escaped(method)}
        line = {"color": style.color, "dash": style.dash}
        marker = {"color": style.color, "symbol": style.symbol, "size": 9}
        figure.add_scatter(x=curve.changing_ratio, y=curve.quality, mode="lines", line=line, hoverinfo="skip", **look)
        says = [f"{name}, {_quantile_says(curve, k, with_labels)}" for k in range(len(curve.quantiles))]
        look |= {"mode": "markers", "marker": marker, "showlegend": False}
        figure.add_scatter(x=curve.quantile_changing_ratio, y=curve.quantile_quality, **look, **_hover(says))
    for method, (ratio, quality) in (chosen or {}).items():
        name = f"{_method_name(method)}, chosen"
        outline = {"width": 1.5, "color": STRONG_GREY}
        marker = {"color": method_style(method).color, "symbol": "star", "size": 18, "line": outline}
        look = {"name": name, "legendgroup": escaped(method), "mode": "markers", "marker": marker}
        says = [f"{name}: {_quality_says(quality, with_labels)}, changing ratio {ratio:.2f}"]
        figure.add_scatter(x=np.array([ratio]), y=np.array([quality]), **look, **_hover(says))
    widest = max((float(np.nanmax(curve.changing_ratio, initial=0.0)) for curve in curves.values()), default=0.0) or 1.0
    # a little room on the left: marks at 0 would be cut in half
    figure.update_xaxes(title="changing ratio (lower is fairer)", range=[-0.03 * widest, 1.05 * widest])
    figure.update_yaxes(title="Macro-F1" if with_labels else "flag rate")
    return _dressed(figure, 460)


def _quality_says(quality: float, with_labels: bool) -> str:
    return f"Macro-F1 {quality:.2f}" if with_labels else f"flagged {_percent(quality)}"


def _quantile_says(curve: Tradeoff, k: int, with_labels: bool) -> str:
    ratio, quality = curve.quantile_changing_ratio[k], curve.quantile_quality[k]
    text = f"quantile {curve.quantiles[k]:.4g}: {_quality_says(quality, with_labels)}, changing ratio {ratio:.2f}"
    if not with_labels:
        return text
    if curve.quantile_flag_rate is None:
        rates = curve.flag_rate[np.isclose(curve.changing_ratio, ratio) & np.isclose(curve.quality, quality)]
    else:
        rates = curve.quantile_flag_rate[k : k + 1]
    # Several thresholds may share both coordinates; no flag rate is better than the wrong one.
    return f"{text}, flagged {_percent(rates[0])}" if len(rates) and np.ptp(rates) < 1e-9 else text


def training_figure(series: Mapping[str, tuple[Floats, Floats]], name: str, *, log: bool = False) -> go.Figure:
    """Live curves of a training: by stage, (seconds, values), both of shape (steps,)."""
    figure = go.Figure()
    for k, (stage, (seconds, values)) in enumerate(series.items()):
        line = {"color": PALETTE[k % len(PALETTE)], "dash": DASHES[k % len(DASHES)], "width": 2}
        mode = "lines" if len(values) > 1 else "markers"  # a line needs two points
        figure.add_scatter(x=seconds, y=values, mode=mode, line=line, name=escaped(stage))
    figure.update_traces(hovertemplate="%{x:.1f} s: %{y:.4g}")
    figure.update_xaxes(title="seconds")
    figure.update_yaxes(title=escaped(name), type="log" if log else "linear", exponentformat="power")
    if log:
        figure.update_yaxes(dtick=2)  # powers of ten alone: digits between them would collide
    return _dressed(figure.update_layout(uirevision="training"), 260)  # a zoom survives the next step


def contributions_figure(
    variables: Sequence[str], factual: Floats, counterfactual: Floats, *, top: int = 12
) -> go.Figure:
    """Each variable's part in a score in both worlds, (v,) each: the largest ones, and all others summed."""
    order = np.argsort(-np.maximum(factual, counterfactual), kind="stable")
    largest, rest = order[:top], order[top:]
    labels, names = ([escaped(variables[k], limit) for k in largest] for limit in (40, HOVER_LIMIT))
    if len(rest):
        labels, names = [*labels, "all others"], [*names, f"all {len(rest)} others"]
    figure = go.Figure()
    for k, (world, parts) in enumerate((("as observed", factual), ("counterfactual", counterfactual))):
        lengths = np.append(parts[largest], parts[rest].sum()) if len(rest) else parts[largest]
        says = [f"{name}<br>{world}: {length:.4g}" for name, length in zip(names, lengths, strict=True)]
        figure.add_bar(
            x=lengths, y=np.arange(len(lengths)), orientation="h", name=world, marker=_fill(k), **_hover(says)
        )
    figure.update_xaxes(title="part in the score")
    ticks = {"tickvals": np.arange(len(labels)), "ticktext": labels}
    figure.update_yaxes(title="variable", autorange="reversed", showgrid=False, **ticks)
    return _dressed(figure, min(520, 200 + 28 * len(labels)))


def rates_figure(rates: Mapping[str, Mapping[str, float | None]]) -> go.Figure:
    """Rates by group, then by what is counted; one that is None has no bar and says so."""
    figure = go.Figure()
    groups = [escaped(group, HOVER_LIMIT) for group in rates]
    for k, name in enumerate(dict.fromkeys(name for by_name in rates.values() for name in by_name)):
        values = np.array([by_name.get(name) for by_name in rates.values()], dtype=np.float64)
        shown = np.array([_percent(value) for value in values], dtype=object)
        says = [f"{group}<br>{escaped(name, HOVER_LIMIT)}: {text}" for group, text in zip(groups, shown, strict=True)]
        # A bar of height 0 draws nothing, but unlike a missing one it can say n/a.
        look = {"name": escaped(name), "text": shown, "textposition": "outside", "cliponaxis": False, **_hover(says)}
        look |= {"textangle": 0, "textfont": {"size": 10}, "constraintext": "none"}  # all of one size
        figure.add_bar(x=np.arange(len(groups)), y=np.nan_to_num(values), marker=_fill(k), **look)
    ticks = {"tickvals": np.arange(len(groups)), "ticktext": [escaped(group) for group in rates]}
    figure.update_xaxes(title="group", showgrid=False, **ticks)
    figure.update_yaxes(title="share of the group", tickformat=".0%", rangemode="tozero")
    return _dressed(figure.update_layout(hovermode="x"), 420)


def comparison_figure(values: Mapping[str, Mapping[str, tuple[float, float] | None]]) -> go.Figure:
    """Methods side by side, one panel per metric: (mean, standard deviation) by metric and method."""
    methods = list(dict.fromkeys(method for by_method in values.values() for method in by_method))
    columns = max(1, min(4, len(values)))
    rows = max(1, math.ceil(len(values) / columns))
    figure = make_subplots(rows=rows, cols=columns, horizontal_spacing=0.3 / columns, vertical_spacing=0.3 / rows)
    for panel, (metric, by_method) in enumerate(values.items()):
        cell = {"row": panel // columns + 1, "col": panel % columns + 1}
        for position, method in enumerate(methods):
            found = by_method.get(method)
            if found is not None:
                figure.add_trace(_dot(position, method, metric, *found), **cell)
        names = [_method_name(method) for method in methods]
        ticks = {"tickvals": np.arange(len(names)), "ticktext": names, "range": [-0.5, len(names) - 0.5]}
        figure.update_xaxes(title="method", **ticks, **cell)
        figure.update_yaxes(title=escaped(metric), **cell)
    return _dressed(figure, max(420, 260 * rows))


def _dot(position: int, method: str, metric: str, mean: float, deviation: float) -> go.Scatter:
    style = method_style(method)
    spread = f" ± {deviation:.3f}" if np.isfinite(deviation) else ""
    says = [f"{_method_name(method)}<br>{escaped(metric, HOVER_LIMIT)}: {mean:.3f}{spread}"]
    error = {"type": "data", "array": np.nan_to_num(np.array([deviation])), "color": style.color}
    marker = {"color": style.color, "symbol": style.symbol, "size": 12}
    look = {"name": _method_name(method), "mode": "markers", "marker": marker, "error_y": error}
    # The axis names the methods; a legend would repeat it.
    return go.Scatter(x=np.array([position]), y=np.array([mean]), showlegend=False, **look, **_hover(says))


def _method_name(method: str) -> str:
    return METHOD_NAMES.get(method, escaped(method))


def _hover(says: Sequence[Any]) -> dict[str, Any]:
    """Hover texts as they are: in a hover template a name with ``%{`` in it would be filled in."""
    return {"hovertext": np.array(says, dtype=object), "hoverinfo": "text"}


def _fill(k: int) -> dict[str, Any]:
    """Colour and pattern of the k-th bar of a group."""
    pattern = {"shape": PATTERNS[k % len(PATTERNS)], "fillmode": "replace", "solidity": 0.5}
    return {"color": PALETTE[k % len(PALETTE)], "pattern": pattern, "line": {"width": 1, "color": STRONG_GREY}}


def _signed(value: float) -> str:
    return f"{value:+.2f}" if abs(value) >= 0.005 or value == 0.0 else f"{value:+.0e}"


def _percent(value: float) -> str:
    return f"{100.0 * value:.3g} %" if np.isfinite(value) else "n/a"


def _dressed(figure: go.Figure, height: int, *, above_titles: bool = False) -> go.Figure:
    """What all figures share; ``above_titles`` keeps the legend clear of the panels' titles."""
    legend = {"orientation": "h", "x": 0.0, "xanchor": "left", "y": 1.1 if above_titles else 1.02, "yanchor": "bottom"}
    margin = {"l": 50, "r": 20, "t": 70 if above_titles else 40, "b": 45}
    figure.update_layout(height=height, margin=margin, legend={**legend, "bgcolor": CLEAR}, showlegend=True)
    figure.update_layout(paper_bgcolor=CLEAR, plot_bgcolor=CLEAR, hoverlabel={"namelength": -1})
    figure.update_xaxes(gridcolor=GREY, zerolinecolor=GREY, automargin=True)
    return figure.update_yaxes(gridcolor=GREY, zerolinecolor=GREY, automargin=True)
