"""Scores and what follows from a threshold on them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import percent
from cfad_core.core.looks import Look
from cfad_core.evaluation.densities import Densities
from cfad_core.figures.style import (
    COUNTERFACTUAL,
    HOVER_LIMIT,
    PALETTE,
    STRONG_GREY,
    color_of,
    dressed,
    escaped,
    hover,
    name_of,
)


@dataclass(frozen=True)
class Tradeoff:
    """A method's trade-off between usefulness and fairness, over thresholds.

    Attributes
    ----------
    changing_ratio, quality, flag_rate : (t,), along the curve; quality is the Macro-F1, or the flag rate without labels
    quantiles : (q,), marked on the curve
    quantile_changing_ratio, quantile_quality : (q,), at these quantiles
    quantile_flag_rate : (q,); if None it is read off the curve where that is unambiguous
    low, high : (t,), between which the changing ratio lies by the models of most subsamples; drawn as a band
    """

    changing_ratio: Floats
    quality: Floats
    flag_rate: Floats
    quantiles: Floats
    quantile_changing_ratio: Floats
    quantile_quality: Floats
    quantile_flag_rate: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None


def densities_figure(
    panels: Mapping[Look, Densities],
    thresholds: Mapping[Look, float] | None = None,
    *,
    log: bool = False,
    shared: bool = True,
) -> go.Figure:
    """Score densities by method, side by side: groups by colour, their twins dashed.

    Parameters
    ----------
    panels : by method; the density of the twins of group "g" is named "g (counterfactual)"
    thresholds : by method, dotted lines
    shared : one scale for all panels; methods whose scores mean different things need one each
    """
    titles = [name_of(method) for method in panels]
    axes = {"shared_xaxes": "all", "shared_yaxes": "all", "horizontal_spacing": 0.02}
    figure = make_subplots(cols=max(1, len(panels)), subplot_titles=titles, **(axes if shared else {}))
    groups = list(dict.fromkeys(name.removesuffix(COUNTERFACTUAL) for p in panels.values() for name in p.density))
    seen: set[str] = set()
    for col, panel in enumerate(panels.values(), start=1):
        for name, density in panel.density.items():
            group = name.removesuffix(COUNTERFACTUAL)
            k, world = groups.index(group), name[len(group) :]
            line = {"color": PALETTE[k % len(PALETTE)], "width": 1.5 + 1.5 * (k % 2), "shape": "hv"}
            line["dash"] = "dash" if world else "solid"
            look = {"mode": "lines", "line": line, "legendgroup": f"{k}{world}", "showlegend": name not in seen}
            of_whom = " (twins)" if world else ""
            look |= {"name": escaped(group) + of_whom, "text": escaped(group, HOVER_LIMIT) + of_whom}
            look["hovertemplate"] = "%{text}<br>score %{x:.4g}<br>density %{y:.4g}<extra></extra>"
            figure.add_scatter(x=panel.edges, y=np.append(density, density[-1:]), row=1, col=col, **look)
            seen.add(name)
    shown = {m: t for m, t in (thresholds or {}).items() if m in panels and np.isfinite(t) and (t > 0.0 or not log)}
    for k, (method, threshold) in enumerate(shown.items()):
        top = _top(panels.values() if shared else [panels[method]])
        figure.add_trace(_threshold_trace(threshold, top, k == 0), row=1, col=list(panels).index(method) + 1)
    figure.update_xaxes(title="score", type="log" if log else "linear")
    for col, panel in enumerate(panels.values() if log else (), start=1):
        figure.update_xaxes(col=col, **_log_ticks(list(panels.values()) if shared else [panel]))
    figure.update_yaxes(rangemode="tozero").update_yaxes(title="density per factor of 10" if log else "density", col=1)
    return dressed(figure, 440, above_titles=True)


def _top(panels: Iterable[Densities]) -> float:
    """The highest density."""
    tops = [density.max(initial=0.0) for panel in panels for density in panel.density.values()]
    return float(np.nanmax(tops)) if np.isfinite(tops).any() else 1.0


def _log_ticks(panels: Sequence[Densities]) -> dict[str, Any]:
    """1, 2, 5, 10, 20, 50 ...: a lone digit between powers of ten would be misread. Ten ticks at most."""
    low = min(float(densities.edges[0]) for densities in panels)
    high = max(float(densities.edges[-1]) for densities in panels)
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    digits = (1,) if len(powers) > 4 else (1, 2, 5)
    ticks = np.array([digit * 10.0**power for power in powers for digit in digits])
    return {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}


def _threshold_trace(threshold: float, top: float, legend: bool) -> go.Scatter:
    """A trace rather than a shape: the axes then reach it, and it has a legend entry and a hover text."""
    line = {"color": STRONG_GREY, "dash": "dot", "width": 2}
    look = {"name": "threshold", "legendgroup": "threshold", "showlegend": legend, "mode": "lines", "line": line}
    says = [f"threshold {threshold:.4g}"] * 2
    return go.Scatter(x=np.array([threshold, threshold]), y=np.array([0.0, top]), **look, **hover(says))


def tradeoff_figure(
    curves: Mapping[Look, Tradeoff],
    chosen: Mapping[Look, tuple[float, float]] | None = None,
    *,
    with_labels: bool = True,
) -> go.Figure:
    """Usefulness against fairness by method, with the quantiles marked.

    Parameters
    ----------
    chosen : (changing ratio, quality) by method, marked with a star
    with_labels : quality is the Macro-F1; else it is the flag rate
    """
    figure = go.Figure([_band_trace(method, curve) for method, curve in curves.items() if curve.low is not None])
    for method, curve in curves.items():
        color, name = color_of(method), name_of(method)
        look: dict[str, Any] = {"name": name, "legendgroup": name}
        line = {"color": color, "dash": method.dash}
        marker = {"color": color, "symbol": method.symbol, "size": 9}
        figure.add_scatter(x=curve.changing_ratio, y=curve.quality, mode="lines", line=line, hoverinfo="skip", **look)
        says = [f"{name}, {_quantile_says(curve, k, with_labels)}" for k in range(len(curve.quantiles))]
        look |= {"mode": "markers", "marker": marker, "showlegend": False}
        figure.add_scatter(x=curve.quantile_changing_ratio, y=curve.quantile_quality, **look, **hover(says))
    for method, (ratio, quality) in (chosen or {}).items():
        name = f"{name_of(method)}, chosen"
        outline = {"width": 1.5, "color": STRONG_GREY}
        marker = {"color": color_of(method), "symbol": "star", "size": 18, "line": outline}
        look = {"name": name, "legendgroup": name_of(method), "mode": "markers", "marker": marker}
        says = [f"{name}: {_quality_says(quality, with_labels)}, changing ratio {ratio:.2f}"]
        figure.add_scatter(x=np.array([ratio]), y=np.array([quality]), **look, **hover(says))
    reached = [c.changing_ratio if c.high is None else np.fmax(c.changing_ratio, c.high) for c in curves.values()]
    widest = max((float(np.nanmax(ratios, initial=0.0)) for ratios in reached), default=0.0) or 1.0
    # a little room on the left: marks at 0 would be cut in half
    figure.update_xaxes(title="changing ratio (lower is fairer)", range=[-0.03 * widest, 1.05 * widest])
    figure.update_yaxes(title="Macro-F1" if with_labels else "flag rate")
    return dressed(figure, 460)


def _band_trace(method: Look, curve: Tradeoff) -> go.Scatter:
    """What lies between the bounds, piece by piece along the curve: where it turns back, pieces overlap.

    All pieces go round the same way, as the parts where two opposite ones overlap would stay empty.
    """
    assert curve.low is not None
    assert curve.high is not None
    rising = np.diff(curve.quality) >= 0.0
    left, right = (np.where(rising, curve.low[k], curve.high[k]) for k in (slice(0, -1), slice(1, None)))
    back, front = (np.where(rising, curve.high[k], curve.low[k]) for k in (slice(1, None), slice(0, -1)))
    first, second, gap = curve.quality[:-1], curve.quality[1:], np.full(len(rising), np.nan)
    x = np.stack([left, right, back, front, left, gap], axis=1).ravel()
    y = np.stack([first, second, second, first, first, gap], axis=1).ravel()
    rgb = ",".join(str(int(color_of(method)[k : k + 2], 16)) for k in (1, 3, 5))
    look = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": f"rgba({rgb},0.28)"}
    look |= {"name": f"{name_of(method)}, subsamples", "legendgroup": f"band of {name_of(method)}"}
    return go.Scatter(x=x, y=y, hoverinfo="skip", **look)


def _quality_says(quality: float, with_labels: bool) -> str:
    return f"Macro-F1 {quality:.2f}" if with_labels else f"flagged {percent(quality)}"


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
    return f"{text}, flagged {percent(rates[0])}" if len(rates) and np.ptp(rates) < 1e-9 else text
