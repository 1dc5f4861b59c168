"""How something that is drawn many times looks, so that it is recognised in every figure."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """A label and how its line is drawn.

    Attributes
    ----------
    label : what people call it
    color : position in the figures' palette
    dash, symbol : of its line and its marks, in plotly's words
    """

    label: str
    color: int
    dash: str
    symbol: str
