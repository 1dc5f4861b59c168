"""Score densities: each group and its twins, method by method, on one scale."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.tables import kept_here
from cfad_core.apps.dashboard.uncertainty import interval_name, no_path, span
from cfad_core.apps.dashboard.views import choose_view
from cfad_core.core.config import DEFAULT_METHODS
from cfad_core.core.formats import percent
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import label_of, look_of
from cfad_core.figures import densities_figure
from cfad_core.runs.model import operating_threshold

_PANELS = 4
_READABLE = 4  # groups whose lines can be followed

frame.open_page("Score densities")
st.title("Score densities")
record, whole = frame.finished_audit()
result = choose_view(record, whole)
left, right = st.columns([3, 1])
methods = left.multiselect(
    "Methods",
    list(result.scores),
    default=[method for method in DEFAULT_METHODS if method in result.scores] or list(result.scores)[:_PANELS],
    max_selections=_PANELS,
    format_func=label_of,
)
wanted = right.toggle("Logarithmic scores", value=True)
if not methods:
    st.info("Choose a method.")
    st.stop()
reports = [result.report(method) for method in methods]
shared = set(methods) <= set(DEFAULT_METHODS)
log = wanted and all(report.is_positive for report in reports)
panels = {look_of(report.method): report.densities(log=log) for report in reports}
thresholds = {look_of(method): operating_threshold(record, result, method)[0] for method in methods}
st.plotly_chart(densities_figure(panels, thresholds, log=log, shared=shared), width="stretch", key="densities")
st.caption(
    "Solid: people as they are. Dashed: their twins, "
    + ("which are known here" if result.people.truth is not None else "all that other causal models make of them")
    + ". The closer a solid line is to its dashed one, the less the score depends on the group. Dotted: the threshold."
    + ("" if shared else " Scores of different methods have different units: every panel has its own scale.")
    + (" There are scores of 0 or less, so the scale is not logarithmic." if wanted and not log else "")
    + (" Choose two groups above to see them without the others." if len(result.groups) > _READABLE else "")
)
distances = [(report, group, found) for report in reports for group, found in report.distances.items()]
rows = [
    {
        "method": report.label,
        "group": group,
        "people": result.group_sizes[group],
        "Kolmogorov-Smirnov": found.kolmogorov_smirnov,
        "Wasserstein": found.wasserstein,
    }
    for report, group, found in distances
]
shown = pd.DataFrame(rows).style.format({"Kolmogorov-Smirnov": "{:.3f}", "Wasserstein": "{:.3g}"})
with kept_here("distances", result):
    st.dataframe(shown, hide_index=True, width="stretch")
worst, where, largest = max(distances, key=lambda row: row[2].kolmogorov_smirnov)
st.caption(
    "Distances between people's scores and their twins', the mean over the twins. Kolmogorov-Smirnov: the largest "
    f"difference between the shares of people above any one threshold; at most {percent(largest.kolmogorov_smirnov)} "
    f"here ({worst.label}, {as_text(where)}). Wasserstein: how far scores move on average, in units of the score."
)
known = {report.label: report.resampled.distance for report in reports if report.resampled is not None}
spans = [f"{name} {span(found)}" for name, found in known.items() if found is not None]
if spans and not no_path(result):
    st.caption(
        f"Kolmogorov-Smirnov, {interval_name(result)}, in the group where it is largest: {'; '.join(spans)}.",
        help=HELP["interval"],
    )
