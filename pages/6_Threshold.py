"""Threshold: what it costs and what it saves, moving together."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.services import curves_of, store
from cfad_core.apps.dashboard.sureness import kind, no_path, show_sureness, sure_of, verdict_at
from cfad_core.apps.dashboard.threshold_choice import choose
from cfad_core.apps.dashboard.thresholds import confusion, group_rates, tradeoff
from cfad_core.audit.result import AuditResult
from cfad_core.core.config import METHOD_NAMES
from cfad_core.core.formats import number, percent
from cfad_core.figures import rates_figure, tradeoff_figure


@st.fragment
def operate(audit: str, result: AuditResult) -> None:
    """The controls and all that moves with them."""
    record = store().get(audit)  # what was saved a moment ago, too
    chosen = choose(record, result)
    method, threshold = chosen.method, chosen.value
    curves, with_labels = curves_of(record, method), result.people.is_anomaly is not None
    own, judged = curves.own.at(threshold), curves.independent.at(threshold)
    flagged = round(float(own.flag_rate) * own.n)
    judge = "truth" if result.judge is None else "judge"
    st.container(border=True).markdown(verdict_at(record, method, threshold, own, judged))
    tiles = st.columns(5 if with_labels else 4)
    tiles[0].metric(f"flagged of {own.n:,}", f"{flagged:,}", border=True, help=HELP["flagged"])
    tiles[1].metric("changed (own)", percent(float(own.changing_ratio)), border=True, help=HELP["changed, own"])
    tiles[2].metric(
        f"changed ({judge})", percent(float(judged.changing_ratio)), border=True, help=HELP["changed, judge"]
    )
    tiles[3].metric("threshold", number(threshold), border=True, help=HELP["threshold"])
    if with_labels:
        tiles[4].metric("Macro-F1", number(float(own.macro_f1)), border=True, help=HELP["Macro-F1"])
    show_sureness(record, method, threshold)
    words, action = st.columns([4, 1], vertical_alignment="center")
    words.caption(
        f"Of {own.n:,} people, {percent(float(own.newly_flagged))} would be flagged only in the other group, "
        f"{percent(float(own.newly_cleared))} only in their own (own causal model)."
    )
    if action.button("Save this threshold", type="primary", width="stretch"):
        store().choose_threshold(record.id, chosen)
        st.success(f"Saved: {METHOD_NAMES.get(method, method)}, {chosen.how}.")
    elif (saved := record.threshold) is not None:
        st.caption(f"Saved with this audit: {METHOD_NAMES.get(saved.method, saved.method)}, {saved.how}.")
    curve, groups = st.columns([3, 2], gap="large")
    with curve:
        sure, name = None if no_path(result) else sure_of(record, method), METHOD_NAMES.get(method, method)
        bands = {} if sure is None else {method: (sure.low, sure.high)}
        lines = {
            m: tradeoff(curves_of(record, m), with_labels=with_labels, independent=True, band=bands.get(m))
            for m in result.scores
        }
        star = {method: (float(judged.changing_ratio), float(own.macro_f1 if with_labels else own.flag_rate))}
        st.plotly_chart(tradeoff_figure(lines, star, with_labels=with_labels), width="stretch", key="tradeoff")
        st.caption(
            f"Each point is a threshold, {own.n:,} people. "
            + (
                "Left and up is better: outcomes change less often, and anomalies are told better. "
                if with_labels
                else "At the same share flagged, further left is fairer: outcomes change less often. "
            )
            + "Marks: the paper's quantiles. Star: the threshold chosen above."
            + (f" Band: {name} by other graphs, {kind(result)}; lines: by the {judge}." if sure is not None else "")
        )
    with groups:
        rates = group_rates(curves, threshold, with_labels=with_labels)
        st.plotly_chart(rates_figure(rates), width="stretch", key="rates")
        st.caption("Who is flagged, group by group, and had they belonged to the other one.")
        if with_labels:
            st.dataframe(confusion(own), width="stretch")


frame.open_page("Threshold")
st.title("Threshold")
shown, found = frame.finished_audit()
operate(shown.id, found)
