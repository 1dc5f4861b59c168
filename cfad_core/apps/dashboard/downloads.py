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
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.apps.dashboard.views import is_simple, view_of
from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.folder import graph_summary
from cfad_core.audit.result import AuditResult
from cfad_core.core.arrays import Floats
from cfad_core.data.tables import safe_for_spreadsheets
from cfad_core.runs.archive import export_audit
from cfad_core.runs.model import AuditRecord, operating_threshold


def offer_downloads(record: AuditRecord) -> None:
    """Buttons for everything that can be taken away."""
    result = result_of(record)
    files: list[tuple[str, str, str, Callable[[], bytes]]] = [
        ("Scored rows (CSV)", "scores.csv", "text/csv", lambda: csv_file(_scored(record, result))),
        (
            "Scored rows (Parquet)",
            "scores.parquet",
            "application/octet-stream",
            lambda: parquet_file(_scored(record, result)),
        ),
        ("Twins (CSV)", "twins.csv", "text/csv", lambda: csv_file(_twins(record, result))),
        ("Graph (GraphML)", "graph.graphml", "application/xml", lambda: graph_file(result, ".graphml")),
        ("Graph (JSON)", "graph.json", "application/json", lambda: _graph_json(result)),
        ("Whole audit (zip)", "whole.zip", "application/zip", lambda: _zip(record)),
    ]
    for start in range(0, len(files), 3):
        for place, (label, name, mime, make) in zip(st.columns(3), files[start : start + 3], strict=True):
            with place:
                file, key = record.file(name), f"{record.id}-{name}"
                offer_file(label, make, file, mime, audit=record.id, key=key, width="stretch")
    st.caption(
        "Flags are those at the saved threshold, if there is one; *change* is how likely the outcome changes, by the "
        "same twins as on the pages. In CSV files, cells that a spreadsheet would take for a formula begin with an "
        "apostrophe."
    )


def _judged(record: AuditRecord, result: AuditResult) -> pd.DataFrame:
    return people_table(record).iloc[result.people.row].reset_index(drop=True)


def _scored(record: AuditRecord, result: AuditResult) -> pd.DataFrame:
    """The judged people with every method's scores and outcomes."""
    columns: dict[str, object] = {"row": result.row_numbers}
    for method, scores in result.scores.items():
        threshold, _ = operating_threshold(record, result, method)
        columns[f"{method}_threshold"] = np.full(len(scores.factual), threshold)
        columns[f"{method}_score"] = scores.factual
        flagged = {f"{method}_flag": (scores.factual > threshold).astype(np.int64)}
        if is_simple(result.plan):
            columns[f"{method}_score_counterfactual"] = scores.counterfactual
            columns |= flagged | {f"{method}_change": result.report(method).change_probability(threshold)}
            continue
        columns |= flagged
        for comparison in result.plan.comparisons:  # named as the command score names them
            columns |= {} if comparison.is_joint else _by_group(result, method, comparison)
            columns[f"{method}_change_{comparison.name}"] = _change(result, method, comparison, threshold)
    return pd.concat([_judged(record, result), pd.DataFrame(columns)], axis=1)


def _by_group(result: AuditResult, method: str, comparison: Comparison) -> dict[str, Floats]:
    """By group, the score (n,) of everybody had they belonged to it: their own, or that of the twin that is shown."""
    scores, (attribute,), states = result.scores[method], comparison.attributes, result.plan.states
    own = states.levels[states.of_codes(result.people.codes), attribute]
    found = {}
    for k, name in enumerate(comparison.groups):
        score = scores.factual.copy()
        for number, move in enumerate(comparison.moves):
            there = number + (number >= own) == k
            score[there] = scores.twins[move][there]
        found[f"{method}_score_if_{comparison.name}_{name}"] = score
    return found


def _change(result: AuditResult, method: str, comparison: Comparison, threshold: float) -> Floats:
    """How likely the outcome of everybody changes, (n,); nan for people who are compared with nobody."""
    seen = result.seen(comparison.name)
    found = np.full(len(result.people.row), np.nan)
    found[view_of(seen).rows] = seen.report(method).change_probability(threshold)
    return found


def _twins(record: AuditRecord, result: AuditResult) -> pd.DataFrame:
    """The twins that are shown, in the table's own units: a row for each group that a person was moved to."""
    people, judged = result.people, _judged(record, result)
    parts = []
    for (comparison, _), twins in zip(result.plan.moves, people.twins, strict=True):
        rows = result.encoding.decode(twins, people.factual, judged).rows
        first = {"row": result.row_numbers}
        if not is_simple(result.plan):
            first["moved in"] = np.full(len(rows), comparison.name, dtype=object)
        parts.append(pd.concat([pd.DataFrame(first), rows], axis=1))
    return pd.concat(parts, ignore_index=True)


def csv_file(table: pd.DataFrame) -> bytes:
    """A table as a file that a spreadsheet opens without surprises."""
    return (
        safe_for_spreadsheets(table).to_csv(index=False).encode("utf-8-sig")
    )  # the mark names the encoding to spreadsheets


def parquet_file(table: pd.DataFrame) -> bytes:
    """A table as a Parquet file."""
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
