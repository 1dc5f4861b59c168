"""The form for what only a person can say about an audit, saved with it."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import networkx as nx
import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.services import store
from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import LONGEST, PARTS, STATEMENTS, JustifiedPath, Statement, Statements
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.core.markdown import as_text
from cfad_core.report.document import NOT_STATED
from cfad_core.runs.model import AuditRecord

_MOST_PATHS = 200  # that can be chosen from
_LONGEST_PATH = 5  # arrows


def with_readable_statements(record: AuditRecord) -> tuple[AuditRecord, bool]:
    """The record, without its statements if these cannot be read, and whether they can; the page says if not."""
    try:
        _ = record.statements
    except CfadError as error:
        st.error(f"{as_text(error, 400)} The form is empty; saving it replaces what is stored.")
        return dataclasses.replace(record, statements_entry=None), False
    return record, True


def edit_statements(record: AuditRecord, result: AuditResult) -> tuple[Statements | None, bool]:
    """The form; returns what it says now (None if that cannot be saved), and whether that is saved."""
    saved = record.statements
    base = st.session_state.setdefault(_key(record, "base"), saved)
    texts = {}
    for part in PARTS:
        fields = {name: one for name, one in STATEMENTS.items() if one.part == part}
        known = sum(bool(getattr(saved, name).strip()) for name in fields)
        label = f"{part} ({known} of {len(fields)} saved)"
        with st.expander(label, expanded=part == PARTS[0], key=f"said-part-{record.id}-{part}"):
            for name, one in fields.items():
                texts[name] = _ask(one, getattr(base, name), _key(record, name))
            if part == "Causal graph":
                paths = _edit_paths(record, result, base.justified_paths)
    try:
        now = Statements(**texts, justified_paths=paths)
    except CfadError as error:
        st.error(as_text(error, 400))
        return None, False
    if saved != base and now == base:  # somebody else stated more, and nothing was typed here
        _load_anew(record)
    _offer_to_save(record, now, base)
    return now, now == saved


def _ask(one: Statement, value: str, key: str) -> str:
    if one.is_long:
        return st.text_area(
            one.label, value, 90, LONGEST, key, one.help, placeholder=NOT_STATED, persist_state="session"
        )
    return st.text_input(one.label, value, LONGEST, key, help=one.help, placeholder=NOT_STATED, persist_state="session")


def _key(record: AuditRecord, name: str) -> str:
    turn = st.session_state.get(f"said-turn-{record.id}", 0)  # another turn forgets what was typed
    return f"said-{record.id}-{turn}-{name}"


def _edit_paths(record: AuditRecord, result: AuditResult, known: Sequence[JustifiedPath]) -> tuple[JustifiedPath, ...]:
    """Paths that somebody calls justified, each with a reason."""
    choices = {" → ".join(path): path for path in paths_from_sensitive(result)} | {one.text: one.path for one in known}
    st.caption(
        "Paths from the sensitive attribute that you call justified, and why. The report says what remains without "
        "them; its verdict counts them all the same. What each path carries: on the page Causal graph."
    )
    key, first, last = (_key(record, name) for name in ("paths", "paths-first", "paths-last"))
    if key not in st.session_state:  # the page was just opened, perhaps anew: the editor itself remembers nothing
        st.session_state[first] = st.session_state.get(last, [(one.text, one.reason) for one in known])
    edited = st.data_editor(
        pd.DataFrame(st.session_state[first], columns=["path", "reason"], dtype=object),
        key=key,
        num_rows="dynamic",
        hide_index=True,
        width="stretch",
        column_config={
            "path": st.column_config.SelectboxColumn("Path", options=list(choices), required=True),
            "reason": st.column_config.TextColumn("Reason", max_chars=LONGEST, required=True),
        },
    )
    rows = [row for row in edited.to_dict("records") if row["path"] in choices and str(row["reason"] or "").strip()]
    st.session_state[last] = [(row["path"], row["reason"]) for row in rows]
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


def _load_anew(record: AuditRecord) -> None:
    turn = f"said-turn-{record.id}"
    st.session_state[turn] = st.session_state.get(turn, 0) + 1
    st.rerun()


def _offer_to_save(record: AuditRecord, now: Statements, base: Statements) -> None:
    saved = record.statements
    if saved != base:  # somebody else did
        st.warning(
            "Somebody changed these statements since you opened this page. Nothing is saved over theirs: load them, "
            "then add yours. What you typed here is lost then; copy what you need."
        )
        if st.button("Load what is saved now", key=_key(record, "reload")):
            _load_anew(record)
        return
    words, action = st.columns([3, 2], vertical_alignment="center")
    if now == saved:
        words.caption(f"Saved with the audit: {saved.said} of {len(STATEMENTS)} statements.")
    else:
        words.warning("Not saved yet.")
    # Never disabled: what was typed last counts only once the box is left, which clicking here does
    if action.button("Save statements", type="primary", key=_key(record, "save"), width="stretch"):
        _save(record, now)


def _save(record: AuditRecord, now: Statements) -> None:
    try:
        if _stored(record) == record.statements:  # else the page says who was faster
            store().state(record.id, now)
            st.session_state[_key(record, "base")] = now
    except CfadError as error:
        st.error(as_text(error, 400))
        return
    st.rerun()


def _stored(record: AuditRecord) -> Statements:
    """What is stored at this moment; nothing if it cannot be read."""
    now = store().get(record.id)
    try:
        return now.statements
    except InvalidArtifactError:
        return Statements()
