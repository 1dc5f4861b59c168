"""Methods: all detectors on this table, and their spread over seeds."""

from __future__ import annotations

import streamlit as st

from cfad_core.dashboard import frame
from cfad_core.dashboard.comparison import PAPER, same_but_seed, spread
from cfad_core.dashboard.progress import run_with_seeds
from cfad_core.dashboard.tables import metrics_table, show_metrics
from cfad_core.figures import METHOD_NAMES, comparison_figure

frame.open_page("Methods")
st.title("Methods")
record, result = frame.finished_audit()
show_metrics(metrics_table(result))
st.caption(
    f"{len(result.people.row):,} people judged, threshold at the {result.config.quantile:g} quantile of training "
    f"scores; the best of each "
    "column is bold. Twin scoring is 0 under its own SCM by construction: look at the independent judge."
)
siblings = same_but_seed(record)
st.subheader("Mean and spread over seeds")
if len(siblings) > 1:
    st.plotly_chart(comparison_figure(spread(siblings)), width="stretch", key="spread")
    st.caption(
        f"{len(siblings)} audits of this table that differ by their seed alone; bars are one standard deviation."
    )
else:
    st.caption("Run this audit with other seeds as well, and their mean and spread will stand here.")
    run_with_seeds(record)
paper = PAPER.get(record.source)
if paper is not None:
    st.subheader("The paper's numbers")
    st.dataframe(paper.style.format("{:.3f}"), width="stretch")
    st.caption(
        "Han, Zhang, Wu, Yuan (PAKDD 2023), five runs, 0.95 quantile, on its own selection of rows; judged by "
        "its own SCM."
    )
with st.expander("What the methods are"):
    st.markdown(
        f"**{METHOD_NAMES['ae']}**: an autoencoder trained on normal rows; the worse it reconstructs a person, "
        f"the more anomalous. "
        f"**{METHOD_NAMES['cfad']}**: the same, fine-tuned so that nothing in its code tells a person from their "
        f"counterfactual. "
        f"**{METHOD_NAMES['twin']}**: the mean of CFAD's scores of a person and of their counterfactual; it needs "
        f"the sensitive attribute "
        "and the causal model when it scores."
    )
