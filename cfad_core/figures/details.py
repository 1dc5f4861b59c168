"""A training as it runs, one person's score, the groups' rates, and methods side by side."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.formats import percent
from cfad_core.core.looks import Look
from cfad_core.figures.style import (
    DASHES,
    HOVER_LIMIT,
    PALETTE,
    STRONG_GREY,
    color_of,
    dressed,
    escaped,
    fill,
    hover,
    name_of,
)

_ROOMY = 6  # groups whose bars have room for a number each


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
    return dressed(figure.update_layout(uirevision="training"), 260)  # a zoom survives the next step


def contributions_figure(
    variables: Sequence[str],
    factual: Floats,
    counterfactual: Floats,
    *,
    named: Bools | None = None,
    adds_up: bool = True,
    top: int = 12,
) -> go.Figure:
    """Each variable's part in a person's score and in their twin's, (v,) each: the largest, those that raise first.

    Parameters
    ----------
    named : (v,), the variables that may have a bar of their own; by default all
    adds_up : whether the parts add up to the score; if so, those of all other variables are summed
    """
    size = np.maximum(np.abs(factual), np.abs(counterfactual))
    order = np.argsort(-size, kind="stable")
    worth = np.ones(len(order), dtype=np.bool_) if named is None else named[order]
    largest = order[worth][:top]
    largest = largest[np.argsort(-np.maximum(factual, counterfactual)[largest], kind="stable")]
    rest = order[~np.isin(order, largest)] if adds_up else order[:0]
    labels, names = ([escaped(variables[k], limit) for k in largest] for limit in (40, HOVER_LIMIT))
    if len(rest):
        labels, names = [*labels, "all others"], [*names, f"all {len(rest)} others"]
    figure = go.Figure()
    for k, (world, parts) in enumerate((("the person", factual), ("the twin", counterfactual))):
        lengths = np.append(parts[largest], parts[rest].sum()) if len(rest) else parts[largest]
        says = [f"{name}<br>{world}: {length:.4g}" for name, length in zip(names, lengths, strict=True)]
        figure.add_bar(x=lengths, y=np.arange(len(lengths)), orientation="h", name=world, marker=fill(k), **hover(says))
    figure.update_xaxes(title="part in the score" if adds_up else "how much the score falls")
    ticks = {"tickvals": np.arange(len(labels)), "ticktext": labels}
    figure.update_yaxes(title="column", autorange="reversed", showgrid=False, zeroline=False, **ticks)
    drawn = dressed(figure, min(520, 200 + 28 * len(labels)))
    return drawn.update_xaxes(zeroline=True, zerolinecolor=STRONG_GREY)  # some bars may go to its left


def rates_figure(rates: Mapping[str, Mapping[str, float | None]]) -> go.Figure:
    """Rates by group, then by what is counted; one that is None has no bar and says so."""
    figure = go.Figure()
    groups = [escaped(group, HOVER_LIMIT) for group in rates]
    for k, name in enumerate(dict.fromkeys(name for by_name in rates.values() for name in by_name)):
        values = np.array([by_name.get(name) for by_name in rates.values()], dtype=np.float64)
        # Beside each other there is room for three digits or so; pointed at, a bar says more.
        shown = np.array([percent(value, 0 if value >= 0.0995 else 1) for value in values], dtype=object)
        if len(groups) > _ROOMY:
            shown[:] = ["n/a" if np.isnan(value) else "" for value in values]
        says = [
            f"{group}<br>{escaped(name, HOVER_LIMIT)}: {percent(value)}"
            for group, value in zip(groups, values, strict=True)
        ]
        # A bar of height 0 draws nothing, but unlike a missing one it can say n/a.
        look = {"name": escaped(name), "text": shown, "textposition": "outside", "cliponaxis": False, **hover(says)}
        look |= {"textangle": 0, "textfont": {"size": 10}, "constraintext": "none"}  # all of one size
        figure.add_bar(x=np.arange(len(groups)), y=np.nan_to_num(values), marker=fill(k), **look)
    ticks = {"tickvals": np.arange(len(groups)), "ticktext": [escaped(group) for group in rates]}
    figure.update_xaxes(title="group", showgrid=False, ticklabeloverflow="allow", **ticks)
    figure.update_yaxes(title="share of the group", tickformat=".0%", rangemode="tozero")
    return dressed(figure.update_layout(hovermode="x"), 420)


def comparison_figure(values: Mapping[str, Mapping[Look, tuple[float, float] | None]]) -> go.Figure:
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
        names = [name_of(method) for method in methods]
        ticks = {"tickvals": np.arange(len(names)), "ticktext": names, "range": [-0.5, len(names) - 0.5]}
        figure.update_xaxes(title="method", **ticks, **cell)
        figure.update_yaxes(title=escaped(metric), **cell)
    return dressed(figure, max(420, 260 * rows))


def _dot(position: int, method: Look, metric: str, mean: float, deviation: float) -> go.Scatter:
    spread = f" ± {deviation:.3f}" if np.isfinite(deviation) else ""
    says = [f"{name_of(method)}<br>{escaped(metric, HOVER_LIMIT)}: {mean:.3f}{spread}"]
    error = {"type": "data", "array": np.nan_to_num(np.array([deviation])), "color": color_of(method)}
    marker = {"color": color_of(method), "symbol": method.symbol, "size": 12}
    look = {"name": name_of(method), "mode": "markers", "marker": marker, "error_y": error}
    # The axis names the methods; a legend would repeat it.
    return go.Scatter(x=np.array([position]), y=np.array([mean]), showlegend=False, **look, **hover(says))
