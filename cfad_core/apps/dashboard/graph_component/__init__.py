"""The component that draws a causal graph to work with: cytoscape.js in the page itself, loaded from this folder.

Cytoscape is a component of its own, as it never changes: Streamlit sends it once to a browser, and not with each graph.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import streamlit as st

_FOLDER = Path(__file__).parent


def _text(name: str) -> str:
    return (_FOLDER / name).read_text("utf-8")


_LIBRARY = st.components.v2.component(
    "cfad_cytoscape", js=_text("cytoscape.min.js") + "\nexport default () => {};", isolate_styles=False
)
_GRAPH = st.components.v2.component(
    "cfad_graph", html=_text("graph.html"), css=_text("graph.css"), js=_text("graph.js"), isolate_styles=False
)


def bring_library() -> None:
    """Once on a page that draws graphs, however many."""
    with st.container(key="graph-library"):
        _LIBRARY(key="cytoscape")


def draw_graph(data: Mapping[str, Any], key: str, tell: Callable[[str, Any], None] | None = None) -> None:
    """Draw a graph, as ``figures.graph_elements`` describes it.

    Parameters
    ----------
    tell : is called with what a person did, and with what: ``picked`` and the id of a node or an edge; ``edit`` and
        what is changed; ``failed``, if the browser cannot draw
    """

    def heard(event: str) -> Callable[[], None]:
        def call() -> None:
            value = st.session_state[key].get(event)
            if tell is not None and value is not None:
                tell(event, value)

        return call

    _GRAPH(
        key=key,
        data=dict(data),
        on_picked_change=heard("picked"),
        on_edit_change=heard("edit"),
        on_failed_change=heard("failed"),
    )
