"""Charts on pages: each with what it shows in words."""

from __future__ import annotations

from typing import Any

import streamlit as st

from cfad_core.figures.words import Figure, described

TRADEOFF = "How often outcomes change, against how well anomalies are recognised, by threshold."


def show_chart(figure: Figure, key: str, about: str, *, toolbar: bool = True) -> None:
    """Draw a figure as wide as there is room.

    Parameters
    ----------
    about : what it shows, in one sentence; a screen reader reads it out, with what the figure says of its marks
    toolbar : the buttons over it, to zoom and to keep the picture
    """
    config: dict[str, Any] = {} if toolbar else {"displayModeBar": False}
    st.plotly_chart(figure, width="stretch", key=key, config=config, alt=described(figure, about))
