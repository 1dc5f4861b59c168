"""Threshold: how many to flag, what it costs and what it saves, moving together."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.rights import press, refusal, refusals_in_words
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.threshold_choice import choose
from cfad_core.apps.dashboard.threshold_view import (
    Chosen,
    show_chart_and_groups,
    show_costs,
    show_impact,
    show_tiles,
)
from cfad_core.apps.dashboard.truth import show_truth
from cfad_core.apps.dashboard.uncertainty import show_evidence
from cfad_core.apps.dashboard.views import choose_view
from cfad_core.audit.result import AuditResult
from cfad_core.detectors.registry import label_of
from cfad_core.runs.model import AuditRecord, ChosenThreshold


@st.fragment
def operate(audit: str, whole: AuditResult, result: AuditResult) -> None:
    """The controls, which are about everybody, and all that moves with them, about the groups that are looked at."""
    record = frame.with_usable_threshold(frame.record_or_stop(audit))  # what was saved a moment ago, too
    chosen = Chosen(whole, result, choose(record, whole))
    show_impact(chosen)
    show_tiles(chosen)
    show_truth(record, result, chosen.report, chosen.value)
    save(record, chosen.choice.threshold)
    show_costs(chosen)
    show_chart_and_groups(chosen)
    show_evidence(result, chosen.report, chosen.value, "How far to trust these numbers")


def save(record: AuditRecord, chosen: ChosenThreshold) -> None:
    """Keep the threshold with the audit."""
    words, action = st.columns([4, 1], vertical_alignment="center")
    with action:
        pressed = press("Save this threshold", why := refusal(record, "tune"), primary=True, width="stretch")
    if why:
        st.caption(f"You can try thresholds here, and not save one. {why}")
    if pressed:
        with words, refusals_in_words():
            store().choose_threshold(record.id, chosen)
            st.success(f"Saved: {label_of(chosen.method)}, {chosen.how}.")
    elif (saved := record.threshold) is not None:
        words.caption(f"Saved with this audit: {label_of(saved.method)}, {saved.how}.")
    else:
        words.caption("Not saved yet: other pages and the report show the audit's own threshold.")


frame.open_page("Threshold")
shown, found = frame.finished_audit()
operate(shown.id, found, choose_view(shown, found))
