"""Causal graph: what the table says causes what, and where the sensitive attribute reaches."""

from __future__ import annotations

import dataclasses

import numpy as np
import pandas as pd
import streamlit as st

from cfad_core.causal.graph import allowed_edges
from cfad_core.dashboard import frame
from cfad_core.dashboard.drafts import again
from cfad_core.dashboard.text import plain
from cfad_core.errors import CfadError
from cfad_core.figures import adjacency_figure, graph_figure

frame.open_page("Causal graph")
st.title("Causal graph")
record, result = frame.finished_audit()
variables, strengths = result.scm.strengths()
sensitive, affected = result.scm.sensitive, result.scm.affected_names
if not affected:
    st.warning(
        f"In this graph {plain(sensitive)} affects nothing, so every counterfactual equals the person and every "
        f"detector looks "
        "fair. This is a statement about the graph, not about the detector."
    )

picture, matrix, table = st.tabs(["Graph", "Matrix", "Edges"])
with picture:
    share = st.slider(
        "Hide edges weaker than this share of the strongest", 0.0, 1.0, 0.0, 0.05, key=f"share-{record.id}"
    )
    st.plotly_chart(
        graph_figure(variables, strengths, sensitive, affected, min_share=share), width="stretch", key="graph"
    )
    reach = (
        f"It reaches {len(affected)} of {len(variables) - 1} attributes: {plain(', '.join(affected), 600)}."
        if affected
        else ""
    )
    st.caption(
        f"Arrows lead from cause to effect, thicker where stronger. The diamond is {plain(sensitive)}; what it "
        f"reaches stands out. {reach}"
    )
with matrix:
    st.plotly_chart(adjacency_figure(variables, strengths), width="stretch", key="matrix")
    st.caption("Rows cause columns. Between categories with several values the strength has no sign.")
edges = pd.DataFrame(
    [(variables[j], variables[i], float(strengths[j, i])) for j, i in np.argwhere(strengths != 0.0)],
    columns=["cause", "effect", "strength"],
)
edges = edges.reindex(edges["strength"].abs().sort_values(ascending=False).index)
with table:
    st.dataframe(edges, hide_index=True, width="stretch")
    st.caption(f"{len(edges)} edges, the strongest first. Download the table with the button in its corner.")

st.subheader("You know better?")
known = record.config.knowledge
st.caption(
    "Say what cannot be, or must be, and run the audit again; it becomes a new audit that names this one as its parent."
)
ends = {
    f"{cause} → {effect}": (cause, effect)
    for cause in variables
    for effect in variables
    if effect not in (cause, sensitive)
}  # nothing causes the sensitive attribute
pairs = list(ends)
present = [f"{cause} → {effect}" for cause, effect in zip(edges["cause"], edges["effect"], strict=True)]
one, two, three = st.columns(3)
forbidden = one.multiselect(
    "Edges that cannot be", [*present, *(pair for pair in pairs if pair not in present)],
    default=[f"{a} → {b}" for a, b in known.forbidden if f"{a} → {b}" in ends],
)  # fmt: skip
required = two.multiselect(
    "Edges that must be", pairs, default=[f"{a} → {b}" for a, b in known.required if f"{a} → {b}" in ends]
)
roots = three.multiselect(
    "Columns without causes",
    [v for v in variables if v != sensitive],
    default=[r for r in known.roots if r in variables],
)
new = dataclasses.replace(
    known,
    roots=tuple(roots),
    forbidden=tuple(ends[pair] for pair in forbidden),
    required=tuple(ends[pair] for pair in required),
)
if st.button("Run again with this knowledge", disabled=new == known):
    try:
        allowed_edges(variables, sensitive, new)
        frame.choose_audit(
            again(record.id, dataclasses.replace(record.config, knowledge=new), f"{record.name} (other graph)")
        )
    except CfadError as error:
        st.error(plain(error, 500))
    else:
        st.switch_page(frame.TRAIN)
