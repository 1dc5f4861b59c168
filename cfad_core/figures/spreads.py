"""How the values of one column are spread in each group."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import percent
from cfad_core.figures.style import DASHES, HOVER_LIMIT, PALETTE, dressed, escaped, fill, hover

_BINS = 24
_SOME = 40  # different numbers, up to which each has a bin of its own
_MIDDLE = (0.005, 0.995)  # shares of the people whom the axis reaches from and to
_HEIGHT = 230


def numbers_figure(values: Mapping[str, Floats]) -> go.Figure:
    """The numbers of the people of each group: which share of it lies where.

    Parameters
    ----------
    values : by group, its numbers; nan where there is none
    """
    known = {group: some[~np.isnan(some)] for group, some in values.items()}
    everything = np.concatenate([*known.values(), np.zeros(0)])
    edges = _edges(everything)
    figure = go.Figure()
    for k, (group, some) in enumerate(known.items()):
        shares = np.histogram(np.clip(some, edges[0], edges[-1]), edges)[0] / max(1, len(some))
        middles = (edges[:-1] + edges[1:]) / 2.0
        says = [
            f"{escaped(group, HOVER_LIMIT)}<br>around {x:.4g}: {percent(y)}"
            for x, y in zip(middles, shares, strict=True)
        ]
        line = {"color": PALETTE[k % len(PALETTE)], "dash": DASHES[k % len(DASHES)], "width": 2, "shape": "hvh"}
        look = {"mode": "lines", "line": line, "fill": "tozeroy" if not k else None, "name": escaped(group)}
        figure.add_scatter(x=middles, y=shares, **look, **hover(says))
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", title="share of the group")
    return _small(figure)


def levels_figure(shares: Mapping[str, Mapping[str, float]]) -> go.Figure:
    """Which share of each group has which value; values that are not there count as none."""
    figure = go.Figure()
    levels = list(dict.fromkeys(level for by_level in shares.values() for level in by_level))
    for k, (group, by_level) in enumerate(shares.items()):
        lengths = np.array([by_level.get(level, 0.0) for level in levels])
        says = [
            f"{escaped(group, HOVER_LIMIT)}<br>{escaped(level, HOVER_LIMIT)}: {percent(length)}"
            for level, length in zip(levels, lengths, strict=True)
        ]
        figure.add_bar(x=np.arange(len(levels)), y=lengths, name=escaped(group), marker=fill(k), **hover(says))
    figure.update_xaxes(tickvals=np.arange(len(levels)), ticktext=[escaped(level, 14) for level in levels])
    figure.update_yaxes(tickformat=".0%", rangemode="tozero", title="share of the group")
    return _small(figure)


def _edges(values: Floats) -> Floats:
    """Bins (b + 1,) over nearly everybody; few different numbers have one each."""
    if not len(values):
        return np.array([0.0, 1.0])
    different = np.unique(values)
    if 1 < len(different) <= _SOME:
        between = (different[:-1] + different[1:]) / 2.0
        ends = [2.0 * different[0] - between[0]], [2.0 * different[-1] - between[-1]]
        found: Floats = np.concatenate([ends[0], between, ends[1]])
        return found
    low, high = np.quantile(values, _MIDDLE)
    return np.linspace(low, high if high > low else low + 1.0, _BINS + 1)


def _small(figure: go.Figure) -> go.Figure:
    dressed(figure, _HEIGHT)
    return figure.update_layout(margin={"l": 40, "r": 10, "t": 30, "b": 30})
