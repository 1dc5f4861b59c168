"""How all figures look: colours, dashes and marks, texts that are safe to show, and the dress of the axes."""

from __future__ import annotations

import html
import zlib
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.core.config import METHOD_NAMES

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
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "pentagon", "triangle-down", "hexagon")
PATTERNS = ("", "/", "x", ".", "-", "\\", "|", "+")
COUNTERFACTUAL = " (counterfactual)"
HOVER_LIMIT = 200


class Style(NamedTuple):
    """How a method looks in every figure."""

    color: str
    dash: str
    symbol: str


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


def method_name(method: str) -> str:
    return METHOD_NAMES.get(method, escaped(method))


def hover(says: Sequence[Any]) -> dict[str, Any]:
    """Hover texts as they are: in a hover template a name with ``%{`` in it would be filled in."""
    return {"hovertext": np.array(says, dtype=object), "hoverinfo": "text"}


def fill(k: int) -> dict[str, Any]:
    """Colour and pattern of the k-th bar of a group."""
    pattern = {"shape": PATTERNS[k % len(PATTERNS)], "fillmode": "replace", "solidity": 0.5}
    return {"color": PALETTE[k % len(PALETTE)], "pattern": pattern, "line": {"width": 1, "color": STRONG_GREY}}


def signed(value: float) -> str:
    return f"{value:+.2f}" if abs(value) >= 0.005 or value == 0.0 else f"{value:+.0e}"


def dressed(figure: go.Figure, height: int, *, above_titles: bool = False) -> go.Figure:
    """What all figures share; ``above_titles`` keeps the legend clear of the panels' titles."""
    legend = {"orientation": "h", "x": 0.0, "xanchor": "left", "y": 1.1 if above_titles else 1.02, "yanchor": "bottom"}
    margin = {"l": 50, "r": 20, "t": 70 if above_titles else 40, "b": 45}
    figure.update_layout(height=height, margin=margin, legend={**legend, "bgcolor": CLEAR}, showlegend=True)
    figure.update_layout(paper_bgcolor=CLEAR, plot_bgcolor=CLEAR, hoverlabel={"namelength": -1})
    figure.update_xaxes(gridcolor=GREY, zerolinecolor=GREY, automargin=True)
    return figure.update_yaxes(gridcolor=GREY, zerolinecolor=GREY, automargin=True)
