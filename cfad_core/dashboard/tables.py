"""Tables that several pages show."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import pandas as pd
import streamlit as st

from cfad_core.dashboard import frame
from cfad_core.figures import METHOD_NAMES
from cfad_core.result import AuditResult
from cfad_core.store import AuditRecord


def audits_table(records: Sequence[AuditRecord], key: str = "audits") -> AuditRecord | None:
    """Audits as rows; choosing one opens it."""
    rows = [
        {
            "name": record.name,
            "verdict": verdict(record),
            "status": frame.STATUS_WORDS[record.status],
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
        key=key,
        column_config={"created": st.column_config.DatetimeColumn(format="YYYY-MM-DD HH:mm")},
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
    if record.metrics is None:
        return ""
    parts = []
    for method, metrics in record.metrics.items():
        ratio = metrics["changing_ratio_independent"]
        if ratio is not None:
            parts.append(f"{METHOD_NAMES.get(method, method)} {100 * ratio:.1f} %")
    return "outcome changes for: " + ", ".join(parts)


METRIC_NAMES = {
    "auc_pr": "AUC-PR",
    "auc_roc": "AUC-ROC",
    "macro_f1": "Macro-F1",
    "flag_rate": "flagged",
    "changing_ratio": "changed, own SCM",
    "changing_ratio_independent": "changed, independent judge",
}


def metrics_table(result: AuditResult) -> pd.DataFrame:
    """A row for each method."""
    rows = {}
    for method in result.scores:
        metrics = result.metrics(method)
        rows[METHOD_NAMES.get(method, method)] = {shown: getattr(metrics, name) for name, shown in METRIC_NAMES.items()}
    return pd.DataFrame(rows).T
