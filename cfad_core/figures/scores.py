"""The trade-off between usefulness and fairness, over thresholds."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import percent
from cfad_core.core.looks import Look
from cfad_core.figures.style import STRONG_GREY, color_of, dressed, faded, hover, name_of


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
        marker = {"color": color_of(method), "symbol": "star", "size": 16, "line": outline}
        look = {"name": name, "legendgroup": name_of(method), "mode": "markers", "marker": marker}
        look["showlegend"] = len(chosen or {}) == 1
        says = [f"{name}: {_quality_says(quality, with_labels)}, outcome changes for {percent(ratio)}"]
        figure.add_scatter(x=np.array([ratio]), y=np.array([quality]), **look, **hover(says))
    reached = [c.changing_ratio if c.high is None else np.fmax(c.changing_ratio, c.high) for c in curves.values()]
    widest = max((float(np.nanmax(ratios, initial=0.0)) for ratios in reached), default=0.0) or 1.0
    # a little room on the left: marks at 0 would be cut in half
    figure.update_xaxes(title="outcome changes (less is fairer)", range=[-0.03 * widest, 1.05 * widest])
    figure.update_xaxes(tickformat=".0%" if widest > 0.05 else ".1%")
    figure.update_yaxes(title="flags match labels (Macro-F1)" if with_labels else "share of people flagged")
    if not with_labels:
        figure.update_yaxes(tickformat=".0%")
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
    look = {"mode": "lines", "line": {"width": 0}, "fill": "toself", "fillcolor": faded(color_of(method), 0.35)}
    look |= {"name": f"{name_of(method)}, interval", "legendgroup": f"band of {name_of(method)}"}
    return go.Scatter(x=x, y=y, hoverinfo="skip", **look)


def _quality_says(quality: float, with_labels: bool) -> str:
    return f"Macro-F1 {quality:.2f}" if with_labels else f"flagged {percent(quality)}"


def _quantile_says(curve: Tradeoff, k: int, with_labels: bool) -> str:
    ratio, quality = curve.quantile_changing_ratio[k], curve.quantile_quality[k]
    text = f"above {100.0 * curve.quantiles[k]:.4g} % of training scores: {_quality_says(quality, with_labels)}"
    text += f", outcome changes for {percent(ratio)}"
    if not with_labels:
        return text
    if curve.quantile_flag_rate is None:
        rates = curve.flag_rate[np.isclose(curve.changing_ratio, ratio) & np.isclose(curve.quality, quality)]
    else:
        rates = curve.quantile_flag_rate[k : k + 1]
    # Several thresholds may share both coordinates; no flag rate is better than the wrong one.
    return f"{text}, flagged {percent(rates[0])}" if len(rates) and np.ptp(rates) < 1e-9 else text
