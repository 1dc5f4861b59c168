"""Files to take away; each is made when it is asked for."""

from __future__ import annotations

import io
import json
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.knowledge import graph_file
from cfad_core.apps.dashboard.services import people_table, result_of, store
from cfad_core.apps.dashboard.thresholds import operating_threshold
from cfad_core.audit.folder import graph_summary
from cfad_core.audit.result import AuditResult
from cfad_core.data.tables import safe_for_spreadsheets
from cfad_core.runs.archive import export_audit
from cfad_core.runs.model import AuditRecord


def offer_downloads(record: AuditRecord) -> None:
    """Buttons for everything that can be taken away."""
    result = result_of(record)
    files: list[tuple[str, str, str, Callable[[], bytes]]] = [
        ("Scored rows (CSV)", "scores.csv", "text/csv", lambda: _csv(_scored(record, result))),
        (
            "Scored rows (Parquet)",
            "scores.parquet",
            "application/octet-stream",
            lambda: _parquet(_scored(record, result)),
        ),
        ("Twins (CSV)", "twins.csv", "text/csv", lambda: _csv(_twins(record, result))),
        ("Graph (GraphML)", "graph.graphml", "application/xml", lambda: graph_file(result, ".graphml")),
        ("Graph (JSON)", "graph.json", "application/json", lambda: _graph_json(result)),
        ("Whole audit (zip)", "audit.zip", "application/zip", lambda: _zip(record)),
    ]
    for start in range(0, len(files), 3):
        for place, (label, name, mime, make) in zip(st.columns(3), files[start : start + 3], strict=True):
            place.download_button(
                label, make, f"{record.id}-{name}", mime, key=f"{record.id}-{name}", width="stretch", on_click="ignore"
            )
    st.caption(
        "Flags are those at the saved threshold, if there is one; *change* is how likely the outcome changes, by the "
        "same twins as on the pages. In CSV files, cells that a spreadsheet would take for a formula begin with an "
        "apostrophe."
    )


def _judged(record: AuditRecord, result: AuditResult) -> pd.DataFrame:
    return people_table(record).iloc[result.people.row].reset_index(drop=True)


def _scored(record: AuditRecord, result: AuditResult) -> pd.DataFrame:
    """The judged people with every method's scores and outcomes."""
    columns: dict[str, object] = {"row": result.people.row + 1}
    for method, scores in result.scores.items():
        threshold, _ = operating_threshold(record, result, method)
        report = result.report(method)
        here, _ = report.flags_at(threshold)
        columns[f"{method}_threshold"] = np.full(len(scores.factual), threshold)
        columns[f"{method}_score"] = scores.factual
        columns[f"{method}_score_counterfactual"] = scores.counterfactual
        columns[f"{method}_flag"] = here.astype(np.int64)
        columns[f"{method}_change"] = report.change_probability(threshold)
    return pd.concat([_judged(record, result), pd.DataFrame(columns)], axis=1)


def _twins(record: AuditRecord, result: AuditResult) -> pd.DataFrame:
    people = result.people
    rows = result.encoding.decode(people.counterfactual, people.factual, _judged(record, result)).rows
    return pd.concat([pd.DataFrame({"row": people.row + 1}), rows], axis=1)


def _csv(table: pd.DataFrame) -> bytes:
    return (
        safe_for_spreadsheets(table).to_csv(index=False).encode("utf-8-sig")
    )  # the mark names the encoding to spreadsheets


def _parquet(table: pd.DataFrame) -> bytes:
    stream = io.BytesIO()
    table.to_parquet(stream, index=False)
    return stream.getvalue()


def _graph_json(result: AuditResult) -> bytes:
    return json.dumps(graph_summary(result.model), indent=2).encode()


def _zip(record: AuditRecord) -> bytes:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "audit.zip"
        export_audit(store(), record.id, path)
        return path.read_bytes()
