"""Threshold: what it costs and what it saves, moving together."""

from __future__ import annotations

import streamlit as st

from cfad_core.dashboard import frame
from cfad_core.dashboard.services import curves_of, store
from cfad_core.dashboard.text import number, percent
from cfad_core.dashboard.thresholds import confusion, group_rates, quantile, threshold_for, tradeoff
from cfad_core.figures import METHOD_NAMES, rates_figure, tradeoff_figure
from cfad_core.result import AuditResult
from cfad_core.store import AuditRecord

_USELESS = 0.005  # share flagged


def choose(record: AuditRecord, result: AuditResult) -> tuple[str, float, str]:
    """Method, threshold, and how it was chosen."""
    saved = record.threshold or {}
    left, middle, right = st.columns([1, 1.4, 2])
    methods = list(result.scores)
    default = saved.get("method", "cfad" if "cfad" in methods else methods[0])
    method = (
        left.segmented_control(
            "Method", methods, default=default, format_func=lambda m: METHOD_NAMES.get(m, m), required=True
        )
        or default
    )
    curves = curves_of(record, method)
    ways = ["quantile", "score", "investigations"]
    by = middle.segmented_control("Choose by", ways, default=saved.get("by", "quantile"), required=True) or "quantile"
    mine = saved.get("method") == method
    with right:
        if by == "quantile":
            first = float(saved["quantile"]) if mine and saved.get("by") == "quantile" else result.config.quantile
            share = st.slider("Quantile of training scores", 0.5, 0.999, first, 0.001, format="%.3f", key=f"q-{method}")
            return method, quantile(curves.train, share), f"quantile {share:g}"
        if by == "score":
            low, high = float(curves.scores[0]), float(quantile(curves.scores, 0.999))
            first = min(high, max(low, float(saved["value"]) if mine else result.threshold(method)))
            return (
                method,
                st.slider("Score above which people are flagged", low, high, first, key=f"s-{method}"),
                "score",
            )
        total = len(curves.scores)
        first = round(total * (1.0 - result.config.quantile))
        count = int(st.number_input("How many people can be investigated", 0, total, first, key=f"n-{method}"))
        return method, threshold_for(curves.scores, count), f"{count} investigations"


@st.fragment
def operate(record: AuditRecord, result: AuditResult) -> None:
    """The controls and all that moves with them."""
    method, threshold, how = choose(record, result)
    curves, with_labels = curves_of(record, method), result.people.is_anomaly is not None
    own, judged = curves.own.at(threshold), curves.independent.at(threshold)
    flagged = round(float(own.flag_rate) * own.n)
    judge = "the truth" if result.judge is None else "independent SCM"
    tiles = st.columns(5)
    tiles[0].metric(
        "flagged", f"{flagged:,}", border=True, help=f"of {own.n:,} people, {percent(float(own.flag_rate))}"
    )
    tiles[1].metric("Macro-F1", number(float(own.macro_f1)), border=True, help="Needs labels of both kinds.")
    tiles[2].metric("changed (own SCM)", percent(float(own.changing_ratio)), border=True)
    tiles[3].metric(f"changed ({judge})", percent(float(judged.changing_ratio)), border=True)
    tiles[4].metric("threshold", number(threshold), border=True)
    st.caption(
        f"Of {own.n:,} people at this threshold: {percent(float(own.newly_flagged))} would be flagged only in the "
        f"other group, "
        f"{percent(float(own.newly_cleared))} only in their own (own SCM)."
    )
    if float(own.flag_rate) < _USELESS:
        st.warning("Almost nobody is flagged here, so almost nobody's outcome can change: fair because useless.")
    curve, groups = st.columns([3, 2], gap="large")
    with curve:
        lines = {m: tradeoff(curves_of(record, m), with_labels=with_labels, independent=True) for m in result.scores}
        star = {method: (float(judged.changing_ratio), float(own.macro_f1 if with_labels else own.flag_rate))}
        st.plotly_chart(tradeoff_figure(lines, star, with_labels=with_labels), width="stretch", key="tradeoff")
        st.caption(
            f"Each point is a threshold: how often outcomes change (judged by {judge}) against "
            + ("how well anomalies are told." if with_labels else "how many are flagged.")
            + " Left and up is better. Marks: the paper's quantiles. Star: the threshold chosen above."
        )
    with groups:
        st.plotly_chart(
            rates_figure(group_rates(curves, threshold, with_labels=with_labels)), width="stretch", key="rates"
        )
        st.caption("Who is flagged, group by group, and had they belonged to the other one.")
        if with_labels:
            st.dataframe(confusion(own), width="stretch")
    if st.button("Save this threshold", type="primary"):
        chosen = {
            "method": method,
            "value": threshold,
            "how": how,
            "by": how.split()[0] if how[0].isalpha() else "investigations",
        }
        if how.startswith("quantile"):
            chosen["quantile"] = float(how.split()[1])
        store().choose_threshold(record.id, chosen)
        st.toast("The threshold is saved with the audit.")
        st.success(f"Saved: {METHOD_NAMES.get(method, method)}, {how}.")
    elif record.threshold:
        st.caption(
            f"Saved with this audit: {METHOD_NAMES.get(record.threshold['method'], '?')}, {record.threshold['how']}."
        )


frame.open_page("Threshold")
st.title("Threshold")
operate(*frame.finished_audit())
