"""What changes for whom: the flagged people of each group, and those who would be flagged as their twin."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.core.formats import percent
from cfad_core.evaluation.changes import GroupChanges
from cfad_core.figures.style import HOVER_LIMIT, PALETTE, STRONG_GREY, dressed, escaped, hover

# Name, colour and pattern; outcomes that change are striped, in both directions
_PARTS = (
    ("either_way", "flagged, and so is their twin", "rgb(140,150,160)", ""),
    ("only_person", "flagged, but their twin is not", PALETTE[4], "/"),
    ("only_twin", "not flagged, but their twin is", PALETTE[5], "\\"),
)
_NARROW = 0.09  # of the widest bar: a part that is narrower has no room for its number


def changes_figure(groups: Sequence[GroupChanges]) -> go.Figure:
    """A bar for each group, in parts: flagged either way, flagged only as they are, flagged only as their twin."""
    figure, places = go.Figure(), np.arange(len(groups))
    widest = max((one.flag_rate + one.only_twin for one in groups), default=0.0)
    for name, words, color, pattern in _PARTS:
        shares = np.array([getattr(one, name) for one in groups], dtype=np.float64)
        says = [
            f"{escaped(one.name, HOVER_LIMIT)}, n = {one.n:,}<br>{words}: {percent(share)}"
            for one, share in zip(groups, shares, strict=True)
        ]
        text = [percent(share) if share >= _NARROW * widest and share > 0.0 else "" for share in shares]
        figure.add_bar(
            x=shares,
            y=places,
            orientation="h",
            name=words,
            text=np.array(text, dtype=object),
            textposition="inside",
            insidetextanchor="middle",
            textangle=0,
            textfont={"color": "#111111", "size": 13},
            marker={
                "color": color,
                "pattern": {"shape": pattern, "fillmode": "overlay", "fgcolor": "rgba(255,255,255,0.45)", "size": 7},
                "line": {"width": 1, "color": STRONG_GREY},
            },
            **hover(says),
        )
    names = [f"{escaped(one.name, 28)}<br>n = {one.n:,}" for one in groups]
    figure.update_yaxes(tickvals=places, ticktext=names, autorange="reversed", showgrid=False)
    figure.update_xaxes(title="share of the group", tickformat=".1%" if widest < 0.05 else ".0%", rangemode="tozero")
    figure.update_layout(barmode="stack", bargap=0.35)
    dressed(figure, 130 + 62 * max(2, len(groups)))
    return figure.update_layout(legend_traceorder="normal")
