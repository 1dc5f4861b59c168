"""Threshold: what it costs and what it saves, moving together."""

from __future__ import annotations

from typing import Any

import streamlit as st

from cfad_core.config import METHOD_NAMES
from cfad_core.dashboard import frame
from cfad_core.dashboard.glossary import HELP
from cfad_core.dashboard.services import curves_of, store
from cfad_core.dashboard.text import number, percent
from cfad_core.dashboard.thresholds import confusion, group_rates, quantile, threshold_for, tradeoff
from cfad_core.figures import rates_figure, tradeoff_figure
from cfad_core.result import AuditResult
from cfad_core.store import AuditRecord

_USELESS = 0.005  # share flagged


def choose(record: AuditRecord, result: AuditResult) -> dict[str, Any]:
    """Method, threshold, and how it was chosen, as it would be saved. Every audit has widgets of its own."""
    saved, key = record.threshold or {}, record.id
    left, middle, right = st.columns([1, 1.4, 2])
    methods = list(result.scores)
    default = saved.get("method", "cfad" if "cfad" in methods else methods[0])
    method = left.segmented_control(
        "Method",
        methods,
        default=default,
        format_func=lambda name: METHOD_NAMES.get(name, name),
        required=True,
        key=f"method-{key}",
        help=HELP["methods"],
    )
    method = method or default
    curves = curves_of(record, method)
    ways = ["quantile", "score", "investigations"]
    by = middle.segmented_control(
        "Choose by", ways, default=saved.get("by", "quantile"), required=True, key=f"by-{key}"
    )
    mine = saved if saved.get("method") == method and saved.get("by") == by else {}
    chosen: dict[str, Any] = {"method": method, "by": by or "quantile"}
    with right:
        if by == "score":
            low, high = float(curves.scores[0]), float(quantile(curves.scores, 0.99))
            if high <= low:  # all scores are the same
                return chosen | {"value": low, "how": f"score {low:.4g}"}
            first = min(high, max(low, float(mine.get("value", result.threshold(method)))))
            value = st.slider(
                "Score above which people are flagged",
                low,
                high,
                first,
                step=(high - low) / 1000.0,
                format="%.4g",
                key=f"s-{key}-{method}",
            )
            return chosen | {"value": float(value), "how": f"score {value:.4g}"}
        if by == "investigations":
            total = len(curves.scores)
            first = int(mine.get("count", round(total * (1.0 - result.config.quantile))))
            count = int(
                st.number_input("How many people can be investigated", 0, total, first, key=f"n-{key}-{method}")
            )
            return chosen | {
                "value": threshold_for(curves.scores, count),
                "count": count,
                "how": f"{count} investigations",
            }
        first = float(mine.get("quantile", result.config.quantile))
        share = st.slider(
            "Quantile of training scores",
            0.5,
            0.999,
            first,
            0.001,
            format="%.3f",
            key=f"q-{key}-{method}",
            help=HELP["quantile"],
        )
        return chosen | {"value": quantile(curves.train, share), "quantile": share, "how": f"quantile {share:g}"}


@st.fragment
def operate(audit: str, result: AuditResult) -> None:
    """The controls and all that moves with them."""
    record = store().get(audit)  # what was saved a moment ago, too
    chosen = choose(record, result)
    method, threshold = chosen["method"], chosen["value"]
    curves, with_labels = curves_of(record, method), result.people.is_anomaly is not None
    own, judged = curves.own.at(threshold), curves.independent.at(threshold)
    flagged = round(float(own.flag_rate) * own.n)
    judge = "truth" if result.judge is None else "judge"
    tiles = st.columns(5 if with_labels else 4)
    tiles[0].metric(f"flagged of {own.n:,}", f"{flagged:,}", border=True, help=HELP["flagged"])
    tiles[1].metric("changed (own)", percent(float(own.changing_ratio)), border=True, help=HELP["changed, own"])
    tiles[2].metric(
        f"changed ({judge})", percent(float(judged.changing_ratio)), border=True, help=HELP["changed, judge"]
    )
    tiles[3].metric("threshold", number(threshold), border=True, help=HELP["threshold"])
    if with_labels:
        tiles[4].metric("Macro-F1", number(float(own.macro_f1)), border=True, help=HELP["Macro-F1"])
    words, action = st.columns([4, 1], vertical_alignment="center")
    words.caption(
        f"Of {own.n:,} people, {percent(float(own.newly_flagged))} would be flagged only in the other group, "
        f"{percent(float(own.newly_cleared))} only in their own (own causal model)."
    )
    if action.button("Save this threshold", type="primary", width="stretch"):
        store().choose_threshold(record.id, chosen)
        st.success(f"Saved: {METHOD_NAMES.get(method, method)}, {chosen['how']}.")
    elif record.threshold:
        saved = record.threshold
        st.caption(f"Saved with this audit: {METHOD_NAMES.get(saved['method'], saved['method'])}, {saved['how']}.")
    if float(own.flag_rate) < _USELESS:
        st.warning("Almost nobody is flagged here, so almost nobody's outcome can change: fair because useless.")
    curve, groups = st.columns([3, 2], gap="large")
    with curve:
        lines = {m: tradeoff(curves_of(record, m), with_labels=with_labels, independent=True) for m in result.scores}
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
