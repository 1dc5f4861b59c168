"""Findings: what the audit found, for whom it matters, where to look next, and how far to trust it."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.findings import (
    Seen,
    about_threshold,
    looks,
    other_detector,
    show_changes,
    show_disparity,
    show_looks,
    show_other_detector,
    show_trust,
    show_verdict,
)
from cfad_core.apps.dashboard.method_choice import choose_page_method
from cfad_core.apps.dashboard.truth import show_truth, show_truth_of_all
from cfad_core.apps.dashboard.views import choose_view
from cfad_core.runs.model import operating_threshold

frame.open_page("Findings")
record, whole = frame.finished_audit()
result = choose_view(record, whole)
method = choose_page_method(record, result, usual="ae") if len(result.scores) > 1 else next(iter(result.scores))
seen = Seen(record, whole, result, method, *operating_threshold(record, whole, method))
with st.container(border=True):
    show_verdict(seen)
    other = other_detector(result, method)
    if other is not None and (seen.evidence.sees_path or seen.evidence.known_truth):
        show_other_detector(seen, other)
    show_truth(record, result, seen.report, seen.threshold)
st.caption(about_threshold(seen))
changes, disparity = st.columns(2, gap="large")
with changes:
    show_changes(seen)
with disparity:
    show_disparity(seen)
show_looks(looks(seen))
show_trust(seen)
show_truth_of_all(record, result)
