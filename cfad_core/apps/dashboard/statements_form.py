"""The form for what only a person can say about an audit, saved with it."""

from __future__ import annotations

from collections.abc import Sequence

import networkx as nx
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.services import store
from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import LONGEST, PARTS, STATEMENTS, JustifiedPath, Statement, Statements
from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text
from cfad_core.report.document import NOT_STATED
from cfad_core.runs.model import AuditRecord

_MOST_PATHS = 200  # that can be chosen from
_LONGEST_PATH = 5  # arrows


def edit_statements(record: AuditRecord, result: AuditResult) -> tuple[Statements | None, bool]:
    """The form; returns what it says now (None if that cannot be saved), and whether that is saved."""
    saved = record.statements
    base = st.session_state.setdefault(_key(record, "base"), saved)
    texts = {}
    for part in PARTS:
        fields = {name: one for name, one in STATEMENTS.items() if one.part == part}
        known = sum(bool(getattr(saved, name).strip()) for name in fields)
        with st.expander(f"{part} ({known} of {len(fields)} saved)", expanded=part == PARTS[0]):
            for name, one in fields.items():
                texts[name] = _ask(one, getattr(base, name), _key(record, name))
            if part == "Causal graph":
                paths = _edit_paths(record, result, base.justified_paths)
    try:
        now = Statements(**texts, justified_paths=paths)
    except CfadError as error:
        st.error(as_text(error, 400))
        return None, False
    _offer_to_save(record, now, base)
    return now, now == saved


def _ask(one: Statement, value: str, key: str) -> str:
    if one.is_long:
        return st.text_area(one.label, value, 90, LONGEST, key, one.help, placeholder=NOT_STATED)
    return st.text_input(one.label, value, LONGEST, key, help=one.help, placeholder=NOT_STATED)


def _key(record: AuditRecord, name: str) -> str:
    turn = st.session_state.get(f"said-turn-{record.id}", 0)  # another turn forgets what was typed
    return f"said-{record.id}-{turn}-{name}"


def _edit_paths(record: AuditRecord, result: AuditResult, known: Sequence[JustifiedPath]) -> tuple[JustifiedPath, ...]:
    """Paths that somebody calls justified, each with a reason."""
    choices = {" → ".join(path): path for path in paths_from_sensitive(result)} | {one.text: one.path for one in known}
    st.caption(
        "Paths from the sensitive attribute that you call justified, and why. The report names them; its numbers count "
        "them all the same."
    )
    table = pd.DataFrame(
        [{"path": one.text, "reason": one.reason} for one in known], columns=["path", "reason"], dtype=object
    )
    edited = st.data_editor(
        table,
        key=_key(record, "paths"),
        num_rows="dynamic",
        hide_index=True,
        width="stretch",
        column_config={
            "path": st.column_config.SelectboxColumn("Path", options=list(choices), required=True),
            "reason": st.column_config.TextColumn("Reason", max_chars=LONGEST, required=True),
        },
    )
    rows = [row for row in edited.to_dict("records") if row["path"] in choices and str(row["reason"] or "").strip()]
    return tuple(JustifiedPath(choices[row["path"]], str(row["reason"])) for row in rows)


def paths_from_sensitive(result: AuditResult) -> list[tuple[str, ...]]:
    """Paths of the audit's graph that begin at a sensitive attribute, the shorter first."""
    graph: nx.DiGraph[str] = nx.DiGraph(list(result.model.edges()))
    found: list[tuple[str, ...]] = []
    for start in result.model.attributes:
        if start not in graph:
            continue
        for length in range(1, _LONGEST_PATH + 1):
            for path in nx.all_simple_paths(graph, start, nx.descendants(graph, start), cutoff=length):
                if len(path) == length + 1:
                    found.append(tuple(path))
                if len(found) >= _MOST_PATHS:
                    return found
    return found


def _offer_to_save(record: AuditRecord, now: Statements, base: Statements) -> None:
    saved = record.statements
    if saved != base:  # somebody else did
        st.warning("These statements were changed elsewhere since you opened this page.")
        if st.button("Load what is saved now", key=_key(record, "reload")):
            st.session_state[f"said-turn-{record.id}"] = st.session_state.get(f"said-turn-{record.id}", 0) + 1
            st.rerun()
        return
    words, action = st.columns([3, 2], vertical_alignment="center")
    if now == saved:
        words.caption(f"Saved with the audit: {saved.said} of {len(STATEMENTS)} statements.")
    else:
        words.warning("Not saved yet.")
    if action.button(
        "Save statements", type="primary", disabled=now == saved, key=_key(record, "save"), width="stretch"
    ):
        store().state(record.id, now)
        st.session_state[_key(record, "base")] = now
        st.rerun()
