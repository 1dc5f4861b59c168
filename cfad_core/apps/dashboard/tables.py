"""Tables that several pages show."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from datetime import datetime

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.audit.result import AuditResult
from cfad_core.core.config import METHOD_NAMES, OURS
from cfad_core.runs.model import AuditRecord


def audits_table(records: Sequence[AuditRecord], key: str = "audits") -> AuditRecord | None:
    """Audits as rows; choosing one opens it."""
    rows = [
        {
            "name": record.name,
            "verdict": verdict(record),
            "status": record.status,
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
            "verdict": st.column_config.TextColumn(width="large"),
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
    """What a finished audit found, in one careful line."""
    if not record.metrics:
        return ""
    chosen = record.metrics.get("cfad") or next(iter(record.metrics.values()))
    if chosen.get("verdict"):
        return str(chosen["verdict"])
    parts, n = [], 0
    ours = {method: record.metrics[method] for method in OURS if method in record.metrics}
    for method, metrics in (ours or record.metrics).items():
        ratio, n = metrics["changing_ratio_independent"], metrics["n"]
        if ratio is not None:
            parts.append(f"{METHOD_NAMES.get(method, method)} {100 * ratio:.1f} %")
    return f"outcome changes for {', '.join(parts)} of {n:,} people"


METRIC_NAMES = {
    "auc_pr": "AUC-PR",
    "auc_roc": "AUC-ROC",
    "macro_f1": "Macro-F1",
    "flag_rate": "flagged",
    "changing_ratio": "changed, own SCM",
    "changing_ratio_independent": "changed, independent judge",
}


def metrics_table(result: AuditResult, methods: Sequence[str] | None = None) -> pd.DataFrame:
    """A row for each method, or for some of them."""
    rows = {}
    for method in result.scores if methods is None else methods:
        metrics = result.metrics(method)
        rows[METHOD_NAMES.get(method, method)] = {shown: getattr(metrics, name) for name, shown in METRIC_NAMES.items()}
    return pd.DataFrame(rows).T.dropna(axis=1, how="all").astype(float)  # without labels there is no F1 or AUC


def show_metrics(table: pd.DataFrame) -> None:
    """Metrics with three digits, the best of each column in bold, and what each of them is."""
    names = {name: name for name in ("AUC-PR", "AUC-ROC", "Macro-F1", "flagged")}
    names |= {
        METRIC_NAMES["changing_ratio"]: "changed, own",
        METRIC_NAMES["changing_ratio_independent"]: "changed, judge",
    }
    high: list[Hashable] = [name for name in ("AUC-PR", "AUC-ROC", "Macro-F1") if name in table]
    low: list[Hashable] = [
        METRIC_NAMES[name] for name in ("changing_ratio", "changing_ratio_independent") if METRIC_NAMES[name] in table
    ]
    styled = table.style.format("{:.3f}", na_rep="n/a").highlight_max(subset=high, props="font-weight: bold")
    styled = styled.highlight_min(subset=low, props="font-weight: bold")
    config = {name: st.column_config.Column(help=HELP[term]) for name, term in names.items() if name in table}
    st.dataframe(styled, width="stretch", column_config=config)
