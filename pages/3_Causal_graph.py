"""Causal graph: what causes what, where the sensitive attribute reaches, and how certain that is."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.graph_views import (
    ask_for_directions,
    edge_by_edge,
    edges_table,
    in_subsamples,
    marks,
    show_edges,
    weakest_shown,
)
from cfad_core.apps.dashboard.knowledge import edit_knowledge, offer_graph
from cfad_core.apps.dashboard.uncertainty import offer_measuring
from cfad_core.apps.dashboard.views import choose_view, looked_at, reached
from cfad_core.audit.directions import open_directions, times_found
from cfad_core.core.markdown import as_text
from cfad_core.data.roles import joint_name
from cfad_core.figures import adjacency_figure, graph_figure

frame.open_page("Causal graph")
st.title("Causal graph")
record, whole = frame.finished_audit()
result = choose_view(record, whole, pairs=False)
variables, strengths = result.model.strengths()
attributes, affected, stability = looked_at(result), reached(result), result.stability
sensitive = as_text(joint_name(attributes))
if not affected:
    st.warning(
        f"In this graph {sensitive} affects nothing, so every twin equals the person and every detector looks "
        "fair. This is a statement about the graph, not about the detector."
    )

picture, matrix, table, subsamples, cuts = st.tabs(["Graph", "Matrix", "Edges", "Uncertainty", "Edge by edge"])
with picture:
    weakest = weakest_shown(result, f"weakest-{record.id}")
    found = None if stability is None else (times_found(stability), len(stability.graphs))
    is_open = open_directions(result)
    drawn = graph_figure(variables, strengths, attributes, affected, weakest=weakest, found=found, is_open=is_open)
    st.plotly_chart(drawn, width="stretch", key="graph")
    diamond = "diamond is" if len(attributes) == 1 else "diamonds are"
    others, named = len(variables) - len(result.model.attributes), as_text(", ".join(affected), 600)
    reach = f"It reaches {len(affected)} of {others} attributes: {named}." if affected else ""
    st.caption(
        f"Arrows lead from cause to effect, thicker where stronger. The {diamond} {sensitive}; what it "
        f"reaches stands out. {reach}{marks(result)}"
    )
with matrix:
    st.plotly_chart(adjacency_figure(variables, strengths), width="stretch", key="matrix")
    st.caption("Rows cause columns; each cell is the strength of an edge, where there is one.", help=HELP["strength"])
edges = edges_table(result)
with table:
    show_edges(edges)
    offer_graph(record, result)
with subsamples:
    if stability is None:
        offer_measuring(record)
    else:
        in_subsamples(result, stability)
with cuts:
    if stability is None:
        st.info("What each edge carries was not measured; you can measure it in the tab *Uncertainty*.")
    else:
        edge_by_edge(record, result, stability.edge_cuts[0])
ask_for_directions(result)
edit_knowledge(record, result, edges)
