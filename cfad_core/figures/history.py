"""An audit over time: for whom outcomes change in each batch of new people, and how many of each group are flagged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
from plotly.subplots import make_subplots  # type: ignore[import-untyped]

from cfad_core.core.formats import percent
from cfad_core.evaluation.intervals import Interval
from cfad_core.figures.style import (
    DASHES,
    HOVER_LIMIT,
    PALETTE,
    STRONG_GREY,
    SYMBOLS,
    dressed,
    escaped,
    hover,
)

_HEIGHT = 520
_AUDIT, _ALARM = "star", "x"  # marks, whatever their colour


@dataclass(frozen=True)
class Moment:
    """The people of one date: those of the audit, or a batch.

    Attributes
    ----------
    at : seconds since 1970
    label : what it is called
    ratio, interval : share of people whose outcome changes; None where it is unknown
    rates : by group, the share of people who are flagged
    is_audit : whether these are the people of the audit itself
    has_alarm : whether the causal model does not fit them
    """

    at: float
    label: str
    ratio: float | None
    interval: Interval | None = None
    rates: dict[str, float | None] = field(default_factory=dict)
    is_audit: bool = False
    has_alarm: bool = False

    @property
    def date(self) -> datetime:
        return datetime.fromtimestamp(self.at, UTC).replace(tzinfo=None)


def history_figure(moments: Sequence[Moment]) -> go.Figure:
    """Two panels over the dates: the changing ratio with its interval, and the flag rate of each group.

    The audit's own number is a star and a dashed line; a batch that the causal model does not fit has a cross.
    """
    ordered = sorted(moments, key=lambda one: one.at)
    titles = ["outcome changes", "flagged, by group"]
    figure = make_subplots(rows=2, shared_xaxes=True, subplot_titles=titles, vertical_spacing=0.14)
    own = next((one.ratio for one in ordered if one.is_audit), None)
    if own is not None and len(ordered) > 1:
        figure.add_trace(_own_line(own, ordered), row=1, col=1)
    for trace in _ratios(ordered):
        figure.add_trace(trace, row=1, col=1)
    groups = list(dict.fromkeys(name for one in ordered for name in one.rates))
    for k, name in enumerate(groups):
        figure.add_trace(_rates(ordered, name, k), row=2, col=1)
    figure.update_yaxes(tickformat=".0%", rangemode="tozero")
    figure.update_xaxes(title="date of the batch", row=2, col=1)
    return dressed(figure, _HEIGHT, above_titles=True)


def _own_line(ratio: float, moments: Sequence[Moment]) -> go.Scatter:
    text = f"the audit's own people: {percent(ratio)}"
    line = {"color": STRONG_GREY, "dash": "dash", "width": 2}
    ends = [moments[0].date, moments[-1].date]
    return go.Scatter(x=ends, y=[ratio] * 2, mode="lines", line=line, name=text, **hover([text] * 2))


def _ratios(moments: Sequence[Moment]) -> list[go.Scatter]:
    """A trace for each mark, and a line through all of them."""
    known = [one for one in moments if one.ratio is not None]
    line = {"color": PALETTE[2], "width": 2}
    found = [go.Scatter(x=_dates(known), y=_known(known), mode="lines", line=line, showlegend=False, hoverinfo="skip")]
    for name, symbol, color, some in (
        ("audit", _AUDIT, 2, [one for one in known if one.is_audit]),
        ("batch", "circle", 2, [one for one in known if not (one.is_audit or one.has_alarm)]),
        ("batch that the causal model does not fit", _ALARM, 7, [one for one in known if one.has_alarm]),
    ):
        if some:
            marker = {"symbol": symbol, "size": 12, "color": PALETTE[color]}
            look: dict[str, Any] = {"mode": "markers", "marker": marker, "name": name, "error_y": _whiskers(some)}
            found.append(go.Scatter(x=_dates(some), y=_known(some), **look, **hover([_says(one) for one in some])))
    return found


def _whiskers(moments: Sequence[Moment]) -> dict[str, Any]:
    values = np.array(_known(moments))
    ends = [
        (value, value) if one.interval is None else (one.interval.low, one.interval.high)
        for one, value in zip(moments, values, strict=True)
    ]
    low, high = np.array(ends).T
    bars = {"type": "data", "symmetric": False, "array": high - values, "arrayminus": values - low}
    return {**bars, "color": STRONG_GREY, "thickness": 2, "width": 5}


def _rates(moments: Sequence[Moment], group: str, k: int) -> go.Scatter:
    some = [one for one in moments if one.rates.get(group) is not None]
    says = [
        f"{escaped(one.label, HOVER_LIMIT)}, {one.date:%Y-%m-%d}<br>{escaped(group, HOVER_LIMIT)}: "
        f"{percent(one.rates[group])} flagged"
        for one in some
    ]
    color = PALETTE[k % len(PALETTE)]
    look: dict[str, Any] = {"mode": "lines+markers", "name": escaped(group, 30)}
    look["line"] = {"color": color, "dash": DASHES[k % len(DASHES)], "width": 2}
    look["marker"] = {"color": color, "symbol": SYMBOLS[k % len(SYMBOLS)], "size": 9}
    return go.Scatter(x=_dates(some), y=[one.rates[group] for one in some], **look, **hover(says))


def _says(one: Moment) -> str:
    lines = [f"{escaped(one.label, HOVER_LIMIT)}, {one.date:%Y-%m-%d}", f"outcome changes: {percent(one.ratio)}"]
    if one.interval is not None:
        lines.append(f"interval {percent(one.interval.low)} to {percent(one.interval.high)}")
    if one.has_alarm:
        lines.append("not reliable: the causal model does not fit")
    return "<br>".join(lines)


def _dates(moments: Sequence[Moment]) -> list[datetime]:
    return [one.date for one in moments]


def _known(moments: Sequence[Moment]) -> list[float]:
    return [float(one.ratio or 0.0) for one in moments]
