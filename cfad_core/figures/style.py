"""How all figures look: colours, dashes and marks, texts that are safe to show, and the dress of the axes."""

from __future__ import annotations

import html
from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.core.looks import Look

# Okabe and Ito's colours without black and yellow, which vanish on a dark and on a white page, and five that stay
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
    "#BB0099",
)
GREY = "rgba(128,128,128,0.35)"
MIDDLE_GREY = "rgba(128,128,128,0.6)"
STRONG_GREY = "rgba(128,128,128,0.9)"
CLEAR = "rgba(0,0,0,0)"
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
SYMBOLS = ("circle", "square", "diamond", "triangle-up", "cross", "pentagon", "triangle-down", "hexagon")
PATTERNS = ("", "/", "x", ".", "-", "\\", "|", "+")
HOVER_LIMIT = 200


def escaped(text: str, limit: int = 40) -> str:
    """Text from a table, shortened, such that plotly shows it as it is."""
    short = text if len(text) <= limit else text[: max(limit - 1, 0)] + "…"
    # Plotly knows numbered entities but not &quot;, and would hand $...$ to MathJax.
    return html.escape(short, quote=False).replace('"', "&#34;").replace("'", "&#39;").replace("$", "&#36;")


def color_of(look: Look) -> str:
    """The colour of a look, as plotly writes it."""
    return PALETTE[look.color % len(PALETTE)]


def faded(color: str, opacity: float) -> str:
    """A colour of the palette that lets through what is behind it."""
    return f"rgba({','.join(str(int(color[k : k + 2], 16)) for k in (1, 3, 5))},{opacity})"


def name_of(look: Look) -> str:
    """The label of a look, such that plotly shows it as it is."""
    return escaped(look.label)


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
