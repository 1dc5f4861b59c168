"""The methods of an audit that are ticked, side by side."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard.charts import TRADEOFF, show_chart
from cfad_core.apps.dashboard.method_choice import tick_methods
from cfad_core.apps.dashboard.tables import improvement_lines, show_metrics
from cfad_core.audit.drawing import tradeoff
from cfad_core.audit.result import AuditResult
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import look_of
from cfad_core.figures import tradeoff_figure
from cfad_core.runs.model import AuditRecord


@st.fragment  # a tick runs nothing else on this page
def ticked_methods(record: AuditRecord, result: AuditResult, seen: AuditResult) -> None:
    """What they came to, side by side."""
    ticked = tick_methods(list(result.scores), result.scores, lambda method: f"show-{record.id}-{method}")
    if not ticked:
        st.info("Tick a method.")
    else:
        show_metrics(seen, ticked)
        st.caption(
            f"{seen.judged_people:,} people judged, threshold: {as_text(result.threshold_rule)}; "
            "the best of each column is bold."
        )
        if differences := improvement_lines(seen, ticked):
            st.markdown("\n".join(f"- {as_text(line, 400)}" for line in differences))
        with_labels = result.people.is_anomaly is not None
        lines = {look_of(m): tradeoff(seen.report(m), with_labels=with_labels) for m in ticked}
        show_chart(tradeoff_figure(lines, with_labels=with_labels), "methods-tradeoff", TRADEOFF)
        better = "Left and up is better." if with_labels else "At the same share flagged, further left is fairer."
        st.caption(f"Each point is a threshold; marks: the paper's. {better} Those that flag too many are left out.")
