"""A figure in words, for whoever does not see it."""

from __future__ import annotations

import html
import re

import plotly.graph_objects as go  # type: ignore[import-untyped]

Figure = go.Figure
MOST_SAID = 16  # marks that are read out one by one
_LONGEST = 1500  # characters


def described(figure: go.Figure, about: str) -> str:
    """What a figure is about, its axes, and what it says of its marks where they are few.

    The words are those that stand beside a mark when somebody points at it. Of many marks, the names of the lines or
    bars alone are said; the tables beside the figure have all numbers.
    """
    said = [_plain(text) for trace in figure.data for text in _texts(trace)]
    axes = [axis.title.text for axis in [*figure.select_xaxes(), *figure.select_yaxes()] if axis.title.text]
    parts = [about]
    if axes:
        parts.append(f"Axes: {'; '.join(dict.fromkeys(_plain(name) for name in axes))}.")
    if 0 < len(said) <= MOST_SAID:
        parts.append("; ".join(said) + ".")
    else:
        names = dict.fromkeys(_plain(trace.name) for trace in figure.data if trace.name)
        if names:
            parts.append(f"Shown: {', '.join(names)}.")
    text = " ".join(parts)
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def _texts(trace: go.Trace) -> list[str]:
    texts = getattr(trace, "hovertext", None)
    if texts is None or isinstance(texts, str):
        return [texts] if texts else []
    return [str(text) for text in texts if isinstance(text, str) and text]


def _plain(text: str) -> str:
    """Without the marks of plotly's text."""
    return html.unescape(re.sub(r"<[^>]*>", "", re.sub(r"<br ?/?>", ", ", text))).strip()
