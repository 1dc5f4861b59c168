"""Tables that several pages show."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import SMALLEST_GROUP, percent
from cfad_core.detectors.registry import METHODS
from cfad_core.evaluation.intervals import bounds_name
from cfad_core.evaluation.metrics import GROUP_METRICS, HEADLINE, GroupMetric
from cfad_core.runs.model import AuditRecord

_VERDICT_HELP = (
    f"{HELP['verdict']} Of your own detector, or else of CFAD, if the audit has it, at the audit's own threshold."
)


def audits_table(records: Sequence[AuditRecord], key: str = "audits") -> AuditRecord | None:
    """Audits as rows; choosing one opens it."""
    rows = [
        {
            "name": record.name,
            "verdict": verdict(record),
            "status": frame.STATUS_NAMES.get(record.status, record.status),
            "source": record.source,
            "created": datetime.fromtimestamp(record.created),
        }
        for record in records
    ]
    chosen = st.dataframe(
        pd.DataFrame(rows),
        hide_index=True,
        width="stretch",
        on_select="rerun",
        selection_mode="single-row",
        key=f"{key}-{hash(tuple(record.id for record in records))}",  # another list, another selection
        column_config={
            "verdict": st.column_config.TextColumn(width="large", help=_VERDICT_HELP),
            "created": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm"),
        },
    )
    picked = chosen["selection"]["rows"]
    if not picked or picked[0] >= len(records):
        return None
    record = records[picked[0]]
    if st.button("Open the chosen audit", type="primary", key=f"{key}-open"):
        frame.choose_audit(record.id)
        st.switch_page(frame.THRESHOLD if record.status == "done" else frame.TRAIN)
    return record


def verdict(record: AuditRecord) -> str:
    """What a finished audit found, in one careful line; of more than two groups, also between which most changes."""
    if not record.metrics:
        return ""
    if record.is_of_older_engine:  # the numbers that were stored then are others than those its pages show now
        return "Made by an older version: run it again."
    own = next((method for method in record.metrics if method not in METHODS), "cfad")
    chosen = record.metrics.get(own) or next(iter(record.metrics.values()))
    return " ".join([str(chosen.get("verdict", "")), *map(str, chosen.get("worst_pairs", {}).values())])


def metrics_table(result: AuditResult, methods: Sequence[str] | None = None) -> pd.DataFrame:
    """A row for each method, or for some of them."""
    rows = {}
    for method in result.scores if methods is None else methods:
        report = result.report(method)
        rows[report.label] = {metric.label: getattr(report.metrics, name) for name, metric in HEADLINE.items()}
    return pd.DataFrame(rows).T.dropna(axis=1, how="all").astype(float)  # without labels there is no F1 or AUC


def intervals_of(result: AuditResult, methods: Sequence[str] | None = None) -> dict[str, str]:
    """By the label of each method, the interval of how often the outcome changes; empty if it was not measured."""
    found = {}
    for method in result.scores if methods is None else methods:
        report = result.report(method)
        if report.intervals is not None:
            span = report.intervals.changing_ratio
            found[report.label] = "n/a" if span is None else f"{span.low:.3f} to {span.high:.3f}"
    return found


def improvement_lines(result: AuditResult, methods: Sequence[str]) -> list[str]:
    """How each of the methods compares with AE, a sentence each."""
    return [line for method in methods if (line := result.improvement_line(method)) is not None]


def show_metrics(result: AuditResult, methods: Sequence[str] | None = None) -> None:
    """Metrics with three digits, the best of each column in bold, and what each of them is; the interval last."""
    table, spans = metrics_table(result, methods), intervals_of(result, methods)
    shown = [metric for metric in HEADLINE.values() if metric.label in table]
    high: list[Hashable] = [metric.label for metric in shown if metric.good == "high"]
    low: list[Hashable] = [metric.label for metric in shown if metric.good == "low"]
    numbers: list[Hashable] = list(table)
    config = {metric.label: st.column_config.Column(help=HELP[metric.term]) for metric in shown}
    if spans:
        name = interval_kind(result)
        table[name] = [spans[label] for label in table.index]
        config[name] = st.column_config.Column(help=HELP["interval"])
    styled = table.style.format("{:.3f}", subset=numbers, na_rep="n/a")
    styled = styled.highlight_max(subset=high, props="font-weight: bold")
    styled = styled.highlight_min(subset=low, props="font-weight: bold")
    st.dataframe(styled, width="stretch", column_config=config)


def interval_kind(result: AuditResult) -> str:
    """What the bounds are: few subsamples have no 90 % interval."""
    count = 0 if result.stability is None else len(result.stability.graphs)
    return bounds_name(count)


def kept_here(name: str, result: AuditResult) -> DeltaGenerator:
    """A place for a table or a chart about groups: without a download button if one of them is too small for that."""
    small = any(0 < size < SMALLEST_GROUP for size in result.group_sizes.values())
    return st.container(key=f"kept-here-{name}") if small else st.container()


def show_groups(report: MethodReport, threshold: float) -> None:
    """Every group metric at a threshold, a row for each group."""
    found = report.metrics_at(threshold).groups
    shown = {
        name: metric
        for name, metric in GROUP_METRICS.items()
        if any(values[name] is not None for values in found.values())
    }
    rows = {
        group: {metric.label: _group_cell(metric, values[name]) for name, metric in shown.items()}
        for group, values in found.items()
    }
    config = {metric.label: st.column_config.TextColumn(help=metric.help) for metric in shown.values()}
    st.dataframe(pd.DataFrame.from_dict(rows, orient="index"), width="stretch", column_config=config)


def _group_cell(metric: GroupMetric, value: float | None) -> str:
    if value is None:
        return "n/a"
    return percent(value) if metric.is_share else f"{value:,}" if isinstance(value, int) else f"{value:.3f}"
