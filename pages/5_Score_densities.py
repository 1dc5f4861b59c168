"""Score densities: each group in both worlds, method by method, on one scale."""

from __future__ import annotations

import numpy as np
import pandas as pd
import streamlit as st
from numpy.typing import NDArray

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.sureness import distance_of, kind, no_path, span
from cfad_core.apps.dashboard.text import as_text
from cfad_core.apps.dashboard.thresholds import operating_threshold
from cfad_core.audit.result import MethodScores
from cfad_core.core.config import METHOD_NAMES, OURS
from cfad_core.core.formats import percent
from cfad_core.evaluation.densities import distances
from cfad_core.figures import densities_figure

_PANELS = 4


def _worlds(scores: MethodScores) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    return scores.factual, scores.counterfactual


frame.open_page("Score densities")
st.title("Score densities")
record, result = frame.finished_audit()
left, right = st.columns([3, 1])
methods = left.multiselect(
    "Methods",
    list(result.scores),
    default=[method for method in OURS if method in result.scores] or list(result.scores)[:_PANELS],
    max_selections=_PANELS,
    format_func=lambda m: METHOD_NAMES.get(m, m),
)
wanted = right.toggle("Logarithmic scores", value=True)
if not methods:
    st.info("Choose a method.")
    st.stop()
shared = set(methods) <= set(OURS)
log = wanted and all(scores.min() > 0.0 for m in methods for scores in _worlds(result.scores[m]))
bins = int(min(100, max(12, 2 * len(result.people.row) ** 0.5)))  # few people make ragged lines
panels = {method: result.densities(method, bins=bins, log=log) for method in methods}
thresholds = {method: operating_threshold(record, result, method)[0] for method in methods}
st.plotly_chart(densities_figure(panels, thresholds, log=log, shared=shared), width="stretch", key="densities")
st.caption(
    "Solid: people as they are. Dashed: the same people in the other group, by the audit's own causal model. The "
    "closer a solid line is to "
    "its dashed one, the less the score depends on the group. Dotted: the threshold."
    + (" Twin's two lines coincide by construction." if "twin" in methods else "")
    + ("" if shared else " Scores of different methods have different units: every panel has its own scale.")
    + (" There are scores of 0 or less, so the scale is not logarithmic." if wanted and not log else "")
)
rows = []
for method in methods:
    scores = result.scores[method]
    for group, members in result.groups.items():
        found = distances(scores.factual[members], scores.counterfactual[members])
        rows.append(
            {
                "method": METHOD_NAMES.get(method, method),
                "group": group,
                "people": int(members.sum()),
                "Kolmogorov-Smirnov": found.kolmogorov_smirnov,
                "Wasserstein": found.wasserstein,
            }
        )
st.dataframe(
    pd.DataFrame(rows).style.format({"Kolmogorov-Smirnov": "{:.3f}", "Wasserstein": "{:.3g}"}),
    hide_index=True,
    width="stretch",
)
worst = max(rows, key=lambda row: row["Kolmogorov-Smirnov"])
st.caption(
    f"Distances between the two worlds. Kolmogorov-Smirnov: the largest difference between the shares of people "
    f"above any one "
    f"threshold; at most {percent(worst['Kolmogorov-Smirnov'])} here ({worst['method']}, "
    f"{as_text(worst['group'])}). Wasserstein: how "
    "far scores move on average, in units of the score."
)
known = {METHOD_NAMES.get(method, method): distance_of(record, method) for method in methods}
told = [f"{name} {span(found)}" for name, found in known.items() if found is not None]
if told and not no_path(result):
    st.caption(
        f"Kolmogorov-Smirnov, {kind(result)}, in the group where it is largest: {'; '.join(told)}.",
        help=HELP["interval"],
    )
