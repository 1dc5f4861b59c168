"""Causal graph: what causes what, where the sensitive attribute reaches, and how certain that is."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.graph_compare import show_comparison
from cfad_core.apps.dashboard.graph_component import bring_library
from cfad_core.apps.dashboard.graph_edits import show_changes
from cfad_core.apps.dashboard.graph_views import (
    ask_for_directions,
    edge_by_edge,
    edges_table,
    in_subsamples,
    show_edges,
)
from cfad_core.apps.dashboard.instrument import show_instrument
from cfad_core.apps.dashboard.knowledge import edit_knowledge, offer_graph
from cfad_core.apps.dashboard.path_view import show_paths
from cfad_core.apps.dashboard.uncertainty import offer_measuring
from cfad_core.apps.dashboard.views import choose_view, looked_at, reached
from cfad_core.core.markdown import as_text
from cfad_core.data.roles import joint_name
from cfad_core.figures import adjacency_figure

frame.open_page("Causal graph")
record, whole = frame.finished_audit()
result = choose_view(record, whole, pairs=False)
variables, strengths = result.model.strengths()
if not reached(result):
    st.warning(
        f"In this graph {as_text(joint_name(looked_at(result)))} affects nothing, so every twin equals the person and "
        "every detector looks fair. This is a statement about the graph, not about the detector."
    )

bring_library()
picture, paths, table, certainty, other = st.tabs(["Graph", "Paths", "Edges", "How certain", "Compare"])
edges, stability = edges_table(result), result.stability
with st.container():  # before the picture, which shows what is changed here
    ask_for_directions(result)
    edit_knowledge(record, result, edges)
with picture:
    show_instrument(record, result)
    show_changes(record, result)
with paths:
    show_paths(record, result)
    with st.expander("Edge by edge: what if one arrow carried nothing?"):
        if stability is None:
            st.info("What each arrow carries was not measured; you can measure it in the tab *How certain*.")
        else:
            edge_by_edge(record, result, stability.edge_cuts[0])
with table:
    show_edges(edges)
    offer_graph(record, result)
    with st.expander("As a matrix"):
        show_chart(
            adjacency_figure(variables, strengths),
            "matrix",
            "The strength of each edge of the causal graph, from the row to the column.",
        )
        st.caption("Rows cause columns; each cell is the strength of an arrow, if there is one.", help=HELP["strength"])
with certainty:
    if stability is None:
        offer_measuring(record)
    else:
        in_subsamples(result, stability)
with other:
    show_comparison(record, result)
