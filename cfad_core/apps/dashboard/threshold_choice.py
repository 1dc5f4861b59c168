"""The controls that choose a method and its threshold."""

from __future__ import annotations

from typing import get_args

import numpy as np
import streamlit as st

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.method_choice import choose_method
from cfad_core.apps.dashboard.thresholds import threshold_for
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.runs.model import AuditRecord, ChosenThreshold, WayOfChoosing

_LOWEST, _HIGHEST = 0.5, 0.999  # quantiles that can be chosen


def choose(record: AuditRecord, result: AuditResult) -> ChosenThreshold:
    """The method and its threshold, as they would be saved. Every audit has widgets of its own."""
    saved = record.threshold
    if len(result.scores) < 4:
        left, middle, right = st.columns([1, 1.4, 2])
    else:  # their names need a line of their own
        left = st.container()
        middle, right = st.columns([1.4, 3])
    method = choose_method(result, f"method-{record.id}", None if saved is None else saved.method, left)
    ways: list[WayOfChoosing] = list(get_args(WayOfChoosing))
    by = middle.segmented_control(
        "Choose by", ways, default="quantile" if saved is None else saved.by, required=True, key=f"by-{record.id}"
    )
    before = saved if saved is not None and (saved.method, saved.by) == (method, by) else None
    report, key = result.report(method), f"{record.id}-{method}"
    with right:
        if by == "score":
            return _by_score(report, report.threshold if before is None else before.value, key)
        if by == "investigations":
            usual = round(report.people.n * (1.0 - result.config.quantile))
            return _by_investigations(report, usual if before is None else before.count or 0, key)
        share = None if before is None else before.quantile
        return _by_quantile(report, result.config.quantile if share is None else share, key)


def _by_score(report: MethodReport, first: float, key: str) -> ChosenThreshold:
    low, high = report.people.quantile(np.array([0.0, 0.99])).tolist()
    if high <= low:  # all scores are the same
        return ChosenThreshold(report.method, "score", low)
    value = st.slider(
        "Score above which people are flagged",
        low,
        high,
        min(high, max(low, first)),
        step=(high - low) / 1000.0,
        format="%.4g",
        key=f"s-{key}",
    )
    return ChosenThreshold(report.method, "score", float(value))


def _by_investigations(report: MethodReport, first: int, key: str) -> ChosenThreshold:
    total = report.people.n
    count = int(st.number_input("How many people can be investigated", 0, total, min(total, first), key=f"n-{key}"))
    return ChosenThreshold(report.method, "investigations", threshold_for(report.people, count), count=count)


def _by_quantile(report: MethodReport, first: float, key: str) -> ChosenThreshold:
    share = st.slider(
        "Quantile of training scores",
        _LOWEST,
        _HIGHEST,
        min(_HIGHEST, max(_LOWEST, first)),
        0.001,
        format="%.3f",
        key=f"q-{key}",
        help=HELP["quantile"],
    )
    return ChosenThreshold(report.method, "quantile", report.threshold_at(share), quantile=share)
