"""What flagging more people does: whose outcome changes, who is found, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import percent
from cfad_core.core.looks import Look
from cfad_core.evaluation.choosing import Costs
from cfad_core.figures.style import PALETTE, STRONG_GREY, color_of, dressed, faded, hover, name_of


@dataclass(frozen=True)
class ShareCurve:
    """What a method does, by the share of people that it flags.

    Attributes
    ----------
    share : (t,), of the people who are flagged, ascending
    changing_ratio : (t,), share of people whose outcome changes
    found : (t,), share of the anomalies that are flagged; None without labels
    low, high : (t,), the interval of the changing ratio, drawn as a band; None if there is none
    """

    share: Floats
    changing_ratio: Floats
    found: Floats | None = None
    low: Floats | None = None
    high: Floats | None = None


def shares_figure(
    curves: Mapping[Look, ShareCurve], chosen: Mapping[Look, tuple[float, float, float | None]]
) -> go.Figure:
    """Over the share of people flagged: whose outcome changes, and below, if there are labels, how many are found.

    Parameters
    ----------
    chosen : (share flagged, changing ratio, share of the anomalies found) by method, marked with a star
    """
    rows = 2 if any(curve.found is not None for curve in curves.values()) else 1
    figure = make_subplots(rows=rows, cols=1, shared_xaxes=True, vertical_spacing=0.09)
    for method, curve in curves.items():
        if curve.low is not None and curve.high is not None:
            figure.add_trace(_band(method, curve), row=1, col=1)
    for method, curve in curves.items():
        figure.add_trace(_line(method, curve.share, curve.changing_ratio, "outcome changes", legend=True), row=1, col=1)
        if curve.found is not None and rows > 1:
            figure.add_trace(_line(method, curve.share, curve.found, "of the anomalies found"), row=2, col=1)
    for method, point in chosen.items():
        for row, star in enumerate(_stars(method, *point), start=1):
            if row <= rows:
                figure.add_trace(star, row=row, col=1)
    figure.add_trace(_star_in_legend(), row=1, col=1)
    figure.update_xaxes(tickformat=".0%", rangemode="tozero").update_yaxes(tickformat=".0%", rangemode="tozero")
    figure.update_xaxes(title="share of people flagged", row=rows, col=1)
    figure.update_yaxes(title="outcome changes", row=1, col=1)
    if rows > 1:
        figure.update_yaxes(title="anomalies found", row=2, col=1)
    return dressed(figure, 520 if rows > 1 else 400)


def _band(method: Look, curve: ShareCurve) -> go.Scatter:
    """Between the bounds, all the way there and back; its edges are drawn, as a fill alone is faint on a dark page."""
    assert curve.low is not None
    assert curve.high is not None
    known = np.isfinite(curve.low) & np.isfinite(curve.high)
    x = np.concatenate([curve.share[known], curve.share[known][::-1]])
    y = np.concatenate([curve.low[known], curve.high[known][::-1]])
    line = {"color": faded(color_of(method), 0.75), "width": 1}
    look = {"name": f"{name_of(method)}, interval", "legendgroup": f"band of {name_of(method)}", "mode": "lines"}
    fill = {"fill": "toself", "fillcolor": faded(color_of(method), 0.3)}
    return go.Scatter(x=x, y=y, line=line, hoverinfo="skip", **look, **fill)


def _line(method: Look, share: Floats, values: Floats, what: str, *, legend: bool = False) -> go.Scatter:
    line = {"color": color_of(method), "dash": method.dash, "width": 2}
    look = {"name": name_of(method), "legendgroup": name_of(method), "showlegend": legend, "mode": "lines"}
    says = [
        f"{name_of(method)}: {percent(value)} {what}<br>at {percent(flagged)} flagged"
        for flagged, value in zip(share.tolist(), values.tolist(), strict=True)
    ]
    return go.Scatter(x=share, y=values, line=line, **look, **hover(says))


def _stars(method: Look, share: float, ratio: float, found: float | None) -> Iterator[go.Scatter]:
    outline = {"width": 1.5, "color": STRONG_GREY}
    marker = {"color": color_of(method), "symbol": "star", "size": 15, "line": outline}
    for value, what in ((ratio, "outcome changes"), (found, "of the anomalies found")):
        if value is not None:
            says = [f"{name_of(method)}, chosen: {percent(value)} {what}<br>at {percent(share)} flagged"]
            look = {"mode": "markers", "marker": marker, "legendgroup": name_of(method), "showlegend": False}
            yield go.Scatter(x=np.array([share]), y=np.array([value]), **look, **hover(says))


def _star_in_legend() -> go.Scatter:
    marker = {"color": STRONG_GREY, "symbol": "star", "size": 13}
    return go.Scatter(x=[None], y=[None], mode="markers", marker=marker, name="chosen", hoverinfo="skip")


def costs_figure(costs: Costs, chosen: tuple[float, float], people: int = 1000) -> go.Figure:
    """What each share flagged costs for so many people; the cheapest, where else it may be, and what is chosen.

    Parameters
    ----------
    chosen : share flagged, and the cost for each person there
    """
    figure = go.Figure()
    line = {"color": PALETTE[0], "width": 2.5}
    says = [
        f"{percent(share)} flagged: {people * cost:,.0f} needless checks' worth"
        for share, cost in zip(costs.share.tolist(), costs.cost.tolist(), strict=True)
    ]
    look: dict[str, Any] = {"mode": "lines", "line": line, "name": "cost"}
    figure.add_scatter(x=costs.share, y=people * costs.cost, **look, **hover(says))
    band = {"fillcolor": faded(PALETTE[2], 0.25), "line": {"width": 1, "color": faded(PALETTE[2], 0.8)}}
    figure.add_vrect(x0=costs.range.low, x1=costs.range.high, layer="below", **band)
    outline = {"width": 1.5, "color": STRONG_GREY}
    marker = {"color": PALETTE[0], "symbol": "star", "size": 16, "line": outline}
    at = [f"chosen: {percent(chosen[0])} flagged"]
    figure.add_scatter(
        x=np.array([chosen[0]]),
        y=np.array([people * chosen[1]]),
        mode="markers",
        marker=marker,
        name="chosen",
        **hover(at),
    )
    square = {"color": faded(PALETTE[2], 0.5), "symbol": "square", "size": 14}
    name = "where the cheapest may lie"
    figure.add_scatter(x=[None], y=[None], mode="markers", marker=square, name=name, hoverinfo="skip")
    figure.update_xaxes(title="share of people flagged", tickformat=".0%", rangemode="tozero")
    figure.update_yaxes(title=f"cost for {people:,} people", rangemode="tozero")
    return dressed(figure, 340)
