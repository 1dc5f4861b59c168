"""Any row of a table that is too large for memory: its scores, read from their files, some rows at a time."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.services import store
from cfad_core.audit.result import AuditResult
from cfad_core.core.markdown import as_text
from cfad_core.runs.large import has_rows, read_rows
from cfad_core.runs.model import AuditRecord

_SHOWN = 200


def show_everybody(record: AuditRecord, result: AuditResult, method: str, threshold: float, row: int) -> None:
    """Rows of the whole table from this one on, and the twins of the first; nothing where the audit has all rows."""
    if result.everybody is None:
        return
    total = result.everybody.rows
    st.subheader(f"All {total:,} rows")
    if not has_rows(store().folder(record.id)):
        st.info("The scores and twins of all rows are not here: they stay where the audit was made.")
        return
    first = int(st.number_input("From row", 1, total, min(row, total), key=f"from-{record.id}-{row}"))
    folder = store().folder(record.id)
    scores = read_rows(folder, "scores", first - 1, _SHOWN)
    if not len(scores):
        st.info("The rows from here on belong to none of the groups. Go back some rows.")
        return
    st.dataframe(_shown(result, scores, method, threshold), hide_index=True, width="stretch", height=245)
    st.caption(
        f"{len(scores):,} rows of '{as_text(result.everybody.source)}', with the twins that the audit's own causal "
        "model makes. How likely an outcome changes is known of the rows that were drawn, above."
    )
    with st.expander(f"The twin of row {int(scores['row'].iloc[0]) + 1:,}"):
        for name in _twin_folders(folder):
            twin = read_rows(folder, name, int(scores["row"].iloc[0]), 1).drop(columns="row")
            st.dataframe(twin, hide_index=True, width="stretch")


def _shown(result: AuditResult, scores: pd.DataFrame, method: str, threshold: float) -> pd.DataFrame:
    """The scores of rows as people read them."""
    names = [result.encoding.state_name(state) for state in range(result.plan.states.count)]
    shown = {
        "row": scores["row"] + 1,
        result.encoding.sensitive: [names[state] for state in scores["state"]],
        "score": scores[f"{method}_score"],
        "flagged": scores[f"{method}_score"] > threshold,
    }
    for column in scores:
        if str(column).startswith(f"{method}_twin_score"):
            number = str(column).removeprefix(f"{method}_twin_score").replace("_", " ")
            shown[f"score of twin{number}"] = scores[column]
            shown[f"twin{number} flagged"] = scores[column] > threshold
    if "is_anomaly" in scores:
        shown["labelled anomaly"] = scores["is_anomaly"]
    return pd.DataFrame(shown)


def _twin_folders(folder: Path) -> list[str]:
    """Where the twins of every move are."""
    return sorted(path.name for path in (folder / "everybody").glob("twins*"))
