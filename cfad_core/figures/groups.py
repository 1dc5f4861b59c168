"""Groups beside each other: between which of them outcomes change, and one metric of each with its interval."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import HIDDEN_SIZE, number, percent
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.group_metrics import Group, GroupTable, shown
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.metrics import GROUP_METRICS, GroupMetric
from cfad_core.evaluation.pair_table import Pair, PairTable
from cfad_core.figures.style import HOVER_LIMIT, PALETTE, STRONG_GREY, dressed, escaped, fill, hover

_TALLEST = 520
_LOW = "rgb(228,228,228)"  # shows on white and on black, and is clearly lighter than the other end of the scale
_ROOMY = 9  # groups up to which a cell has room for a digit behind the point
_ROOM = 0.05  # of the axis, behind the longest whisker


def pairs_figure(table: PairTable) -> go.Figure:
    """The share of people whose outcome changes, for every ordered pair of groups.

    Rows are people's own groups, columns those that they are moved to; two groups that are not compared have no cell.
    The cell with the highest share is framed.
    """
    k, ratios = len(table.names), table.ratios()
    says, cells = ([[""] * k for _ in range(k)] for _ in range(2))
    for pair in table.pairs:
        says[pair.source][pair.target] = _pair_says(table, pair)
        cells[pair.source][pair.target] = _cell(pair, k)
    largest = float(np.nanmax(ratios, initial=0.0))
    figure = go.Figure(
        go.Heatmap(
            z=ratios,
            zmin=0.0,
            zmax=largest or 1.0,
            text=np.array(cells, dtype=object),
            texttemplate="%{text}",
            colorscale=[[0.0, _LOW], [1.0, PALETTE[0]]],
            colorbar={"title": {"text": "outcome changes"}, "thickness": 12, "tickformat": ".0%"},
            xgap=2,
            ygap=2,
            hoverongaps=False,
            **hover(says),
        )
    )
    unknown = [pair for pair in table.pairs if pair.ratio is None]
    if unknown:
        figure.add_trace(_unknown_cells(unknown, [says[pair.source][pair.target] for pair in unknown]))
    if table.worst is not None and largest > 0.0:
        figure.add_trace(_frame(table.worst))
    names = [escaped(name, 22) for name in table.names]
    ends = [-0.5, max(1, k) - 0.5]
    ticks = {"tickvals": np.arange(k), "ticktext": names, "showgrid": False, "zeroline": False}
    figure.update_xaxes(title="had they been", range=ends, **ticks)
    figure.update_yaxes(title="people who are", range=ends[::-1], **ticks)
    return dressed(figure, min(_TALLEST, 190 + 44 * max(2, k)))


def _cell(pair: Pair, groups: int) -> str:
    """The number of a cell, with a question mark where the flag rates contradict it."""
    if pair.ratio is None:
        return ""
    text = percent(pair.ratio, 1 if groups <= _ROOMY or 0.0 < pair.ratio < 0.0995 else 0)
    return f"{text} ?" if pair.is_impossible else text


def _pair_says(table: PairTable, pair: Pair) -> str:
    """What a cell says when it is pointed at."""
    source, target = (escaped(table.names[group], HOVER_LIMIT) for group in (pair.source, pair.target))
    lines = [f"{source}, had they been {target}", _people(pair.n)]
    lines.append(f"outcome changes: {percent(pair.ratio)}")
    if pair.simultaneous is not None:
        lines.append(f"{_range(pair.simultaneous)}, allowing for looking at {table.looked_at} pairs")
    elif pair.interval is not None:
        lines.append(_range(pair.interval))
    if pair.bounds is not None:
        lines.append(f"flag rates alone allow {percent(pair.bounds.low)} to {percent(pair.bounds.high)}")
    if pair.is_impossible:
        lines.append("which this number contradicts: it is a guess")
    return "<br>".join(lines)


def _people(n: int | None) -> str:
    return escaped(f"n {HIDDEN_SIZE}") if n is None else f"n = {n:,}"


def _range(found: Interval) -> str:
    return f"interval {percent(found.low)} to {percent(found.high)}"


def _unknown_cells(pairs: list[Pair], says: list[str]) -> go.Scatter:
    """Pairs without a number, which would be a hole among the others."""
    places = np.array([(pair.source, pair.target) for pair in pairs])
    look = {"mode": "text", "text": np.full(len(pairs), "n/a", dtype=object), "showlegend": False}
    return go.Scatter(x=places[:, 1], y=places[:, 0], name="n/a", **look, **hover(says))


def _frame(pair: Pair) -> go.Scatter:
    """A line around a cell: a mark that needs no colour."""
    corners = 0.48 * np.array([[-1, -1], [-1, 1], [1, 1], [1, -1], [-1, -1]]) + (pair.source, pair.target)
    look = {"mode": "lines", "line": {"color": PALETTE[1], "width": 4}, "name": "most outcomes change"}
    return go.Scatter(x=corners[:, 1], y=corners[:, 0], hoverinfo="skip", **look)


def group_bars_figure(table: GroupTable, metric: str, overall: float | None = None) -> go.Figure:
    """One metric of each group, below each other, with its 90 % interval.

    Parameters
    ----------
    metric : of ``GROUP_METRICS``; a group without the number says so
    overall : of all people, a dashed line
    """
    about, groups = GROUP_METRICS[metric], table.groups
    found = [group.metrics[metric] for group in groups]
    values, low, high = _columns(found)
    rows = np.arange(len(groups))
    whiskers = {"type": "data", "symmetric": False, "array": high - values, "arrayminus": values - low}
    whiskers |= {"color": STRONG_GREY, "thickness": 2, "width": 5}
    says = [_group_says(group, one, about) for group, one in zip(groups, found, strict=True)]
    marker = {**fill(0), "color": PALETTE[5]}  # whiskers show on it, and it on any page
    look: dict[str, Any] = {"orientation": "h", "marker": marker, "error_x": whiskers, "showlegend": False}
    figure = go.Figure(go.Bar(x=values, y=rows, name=escaped(about.label), **look, **hover(says)))
    if overall is not None:
        figure.add_trace(_overall_line(overall, len(groups), about))
    furthest = max(float(high.max(initial=0.0)), overall or 0.0) or 1.0
    figure.update_xaxes(title=escaped(about.label), range=[0.0, (1.0 + _ROOM) * furthest])
    if about.is_share:
        figure.update_xaxes(tickformat=".0%")
    # Beside the name: at the end of a bar, a value would lie under whiskers or the line of all people
    names = [_named(group, one, about) for group, one in zip(groups, found, strict=True)]
    ticks = {"tickvals": rows, "ticktext": names, "range": [max(1, len(groups)) - 0.4, -0.6]}
    figure.update_yaxes(title="group", showgrid=False, zeroline=False, **ticks)
    figure.update_layout(bargap=0.35)
    return dressed(figure, min(_TALLEST, 150 + 30 * max(2, len(groups))))


def _columns(found: list[Estimate]) -> tuple[Floats, Floats, Floats]:
    """The values and the ends of their intervals, (k,) each: 0 without a value, the value itself without interval."""
    values = np.array([one.value or 0.0 for one in found], dtype=np.float64)
    low = np.array([one.interval.low if one.interval else one.value or 0.0 for one in found], dtype=np.float64)
    high = np.array([one.interval.high if one.interval else one.value or 0.0 for one in found], dtype=np.float64)
    return values, low, high


def _named(group: Group, found: Estimate, about: GroupMetric) -> str:
    if found.value is None:
        return f"{escaped(group.name, 30)}: {escaped(shown(None, group.n))}"
    return f"{escaped(group.name, 30)} ({_people(group.n)}): {_value(found.value, about)}"


def _group_says(group: Group, found: Estimate, about: GroupMetric) -> str:
    """What a bar says when it is pointed at."""
    lines = [escaped(group.name, HOVER_LIMIT), f"{escaped(about.label)}: {_value(found.value, about)}"]
    if found.interval is not None:
        ends = (_value(end, about) for end in (found.interval.low, found.interval.high))
        lines.append(f"90 % interval {' to '.join(ends)}")
    anomalies = "" if group.n_anomaly is None else f", anomalies: {group.n_anomaly:,}"
    return "<br>".join([*lines, f"{_people(group.n)}{anomalies}"])


def _value(value: float | None, about: GroupMetric) -> str:
    return percent(value) if about.is_share else number(value)


def _overall_line(overall: float, groups: int, about: GroupMetric) -> go.Scatter:
    """A trace rather than a shape: it has a legend entry and a hover text."""
    text = f"all people: {_value(overall, about)}"
    line = {"color": PALETTE[1], "dash": "dash", "width": 2}
    ends = np.array([-0.5, max(1, groups) - 0.5])
    return go.Scatter(x=np.full(2, overall), y=ends, mode="lines", line=line, name=text, **hover([text] * 2))
