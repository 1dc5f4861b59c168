"""Threshold: what it costs and what it saves, moving together."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.tables import kept_here, show_groups
from cfad_core.apps.dashboard.threshold_choice import choose
from cfad_core.apps.dashboard.thresholds import confusion
from cfad_core.apps.dashboard.uncertainty import LONGEST, interval_caption, interval_name, no_path, show_evidence
from cfad_core.apps.dashboard.views import choose_view, if_otherwise, otherwise
from cfad_core.audit.drawing import group_rates, tradeoff
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import number, percent
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import label_of, look_of
from cfad_core.evaluation.metrics import Metrics
from cfad_core.figures import rates_figure, tradeoff_figure
from cfad_core.runs.model import AuditRecord, ChosenThreshold


@st.fragment
def operate(audit: str, whole: AuditResult, result: AuditResult) -> None:
    """The controls, which are about everybody, and all that moves with them, about the groups that are looked at."""
    record = frame.with_usable_threshold(store().get(audit))  # what was saved a moment ago, too
    chosen = choose(record, whole)
    report = result.report(chosen.method)
    metrics = report.metrics_at(chosen.value)
    st.container(border=True).markdown(as_text(report.verdict_at(chosen.value), LONGEST))
    tiles(metrics, interval_caption(result, report, chosen.value))
    show_evidence(result, report, chosen.value, "How far to trust this number")
    save(record, chosen, metrics, if_otherwise(result))
    curve, groups = st.columns([3, 2], gap="large")
    with curve:
        show_tradeoff(result, report, metrics)
    with groups:
        with kept_here("rates", result):
            st.plotly_chart(rates_figure(group_rates(report, chosen.value)), width="stretch", key="rates")
        st.caption(f"Each group, and the twins of its people: {otherwise(result)}.")
    with kept_here("groups", result):
        show_groups(report, chosen.value)
    if metrics.n_anomaly is not None:
        st.dataframe(confusion(report.curves.people.at(chosen.value)), width="content")


def tiles(metrics: Metrics, interval: str) -> None:
    """The numbers that people look at first; below the one that leads, its interval."""
    places = st.columns(4 if metrics.n_anomaly is not None else 3)
    flagged = round((metrics.flag_rate or 0.0) * metrics.n)
    shown = [
        (f"flagged of {metrics.n:,}", f"{flagged:,}", "flagged"),
        ("outcome changes", percent(metrics.changing_ratio), "changing ratio"),
        ("threshold", number(metrics.threshold), "threshold"),
        ("Macro-F1", number(metrics.macro_f1), "Macro-F1"),
    ]
    for place, (label, value, term) in zip(places, shown, strict=False):
        place.metric(label, value, border=True, help=HELP[term])
    if interval:
        places[1].caption(interval, help=HELP["interval"])


def save(record: AuditRecord, chosen: ChosenThreshold, metrics: Metrics, condition: str) -> None:
    """Keep the threshold with the audit."""
    words, action = st.columns([4, 1], vertical_alignment="center")
    words.caption(
        f"Of {metrics.n:,} people, {percent(metrics.newly_flagged)} would be flagged only {condition}, "
        f"{percent(metrics.newly_cleared)} only as they are."
    )
    if action.button("Save this threshold", type="primary", width="stretch"):
        store().choose_threshold(record.id, chosen)
        st.success(f"Saved: {label_of(chosen.method)}, {chosen.how}.")
    elif (saved := record.threshold) is not None:
        st.caption(f"Saved with this audit: {label_of(saved.method)}, {saved.how}.")


def show_tradeoff(result: AuditResult, chosen: MethodReport, metrics: Metrics) -> None:
    """Every method's curve, and where the chosen threshold lies on it."""
    with_labels, with_band = metrics.n_anomaly is not None, chosen.stability is not None and not no_path(result)
    lines = {
        look_of(name): tradeoff(report, with_labels=with_labels, with_band=with_band and report is chosen)
        for name, report in result.reports.items()
    }
    quality = metrics.macro_f1 if with_labels else metrics.flag_rate
    star = {look_of(chosen.method): (metrics.changing_ratio or 0.0, quality or 0.0)}
    st.plotly_chart(tradeoff_figure(lines, star, with_labels=with_labels), width="stretch", key="tradeoff")
    better = (
        "Left and up is better: outcomes change less often, and more anomalies are recognised."
        if with_labels
        else "At the same share flagged, further left is fairer: outcomes change less often."
    )
    band = f" Band: {chosen.label}, {interval_name(result)}." if with_band else ""
    st.caption(
        f"Each point is a threshold, {metrics.n:,} people. {better} Marks: the paper's quantiles. Star: the threshold "
        f"chosen above.{band}"
    )


frame.open_page("Threshold")
st.title("Threshold")
shown, found = frame.finished_audit()
operate(shown.id, found, choose_view(shown, found))
