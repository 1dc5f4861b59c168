"""The controls that choose a method and its threshold."""

from __future__ import annotations

from typing import Any

import streamlit as st

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.services import curves_of
from cfad_core.apps.dashboard.thresholds import quantile, threshold_for
from cfad_core.audit.result import AuditResult
from cfad_core.core.config import METHOD_NAMES
from cfad_core.runs.store import AuditRecord


def choose(record: AuditRecord, result: AuditResult) -> dict[str, Any]:
    """Method, threshold, and how it was chosen, as it would be saved. Every audit has widgets of its own."""
    saved, key = record.threshold or {}, record.id
    methods = list(result.scores)
    if len(methods) < 4:
        left, middle, right = st.columns([1, 1.4, 2])
    else:  # their names need a line of their own
        left = st.container()
        middle, right = st.columns([1.4, 3])
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
