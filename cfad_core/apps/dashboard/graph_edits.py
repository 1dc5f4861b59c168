"""What a person changes of an audit's causal graph, before it is run again: one truth for the picture and the table."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.rights import no_making, press
from cfad_core.audit.result import AuditResult
from cfad_core.causal.edits import History, edited, says_the_same
from cfad_core.causal.graph import allowed_edges
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import CfadError
from cfad_core.core.formats import counted
from cfad_core.core.markdown import as_text
from cfad_core.runs.model import AuditRecord

_LONGEST = 1200  # of a refusal
_NAMED = 4  # changes that are named


@dataclass(frozen=True)
class Edits:
    """The knowledge that is being changed.

    Attributes
    ----------
    history : of its steps
    version : counts the steps that widgets did not make: they begin anew with what these say
    refused : why the latest edit of the picture cannot be
    mark, before : the file that was brought, and what was known before
    """

    history: History
    version: int = 0
    refused: str = ""
    mark: str = ""
    before: Knowledge | None = None


def edits_of(record: AuditRecord) -> Edits:
    """What was changed so far; at first what the audit was given."""
    found = st.session_state.get(_place(record))
    return found if isinstance(found, Edits) else Edits(History(record.config.knowledge))


def _keep(record: AuditRecord, edits: Edits) -> Edits:
    st.session_state[_place(record)] = edits
    return edits


def _place(record: AuditRecord) -> str:
    return f"edits-{record.id}"


def edit_graph(record: AuditRecord, result: AuditResult, edit: Mapping[str, Any]) -> None:
    """One edit of the picture; one that cannot be changes nothing, and the page says why."""
    edits = edits_of(record)
    try:
        new = edited(edits.history.now, edit, result.model.strengths()[0], result.model.attributes)
    except CfadError as error:
        _keep(record, replace(edits, refused=str(error)))
    else:
        _keep(record, replace(edits, history=edits.history.changed(new), version=edits.version + 1, refused=""))


def typed(record: AuditRecord, new: Knowledge) -> None:
    """What the widgets below the picture say now."""
    edits = edits_of(record)
    if not says_the_same(new, edits.history.now):
        _keep(record, replace(edits, history=edits.history.changed(new), refused=""))


def brought(record: AuditRecord, knowledge: Knowledge | None, mark: str) -> Edits:
    """A file that was brought, once; one that was taken away leaves what was known before it."""
    edits = edits_of(record)
    if mark == edits.mark:
        return edits
    before = edits.history.now if not edits.mark else edits.before
    new = knowledge if knowledge is not None else before if not mark else None
    history = edits.history if new is None else edits.history.changed(new)
    return _keep(record, Edits(history, edits.version + 1, "", mark, before))


def _step(record: AuditRecord, *, back: bool) -> None:
    edits = edits_of(record)
    history = edits.history.undone() if back else edits.history.redone()
    _keep(record, replace(edits, history=history, version=edits.version + 1, refused=""))


def show_changes(record: AuditRecord, result: AuditResult) -> None:
    """What is changed, the steps back and on, and the run with it."""
    edits = edits_of(record)
    history, begin = edits.history, record.config.knowledge
    if edits.refused:
        st.warning(as_text(edits.refused, _LONGEST))
    with st.container(horizontal=True, vertical_alignment="center"):
        st.button("Undo", disabled=not history.past, on_click=lambda: _step(record, back=True), key=f"undo-{record.id}")
        st.button(
            "Redo", disabled=not history.future, on_click=lambda: _step(record, back=False), key=f"redo-{record.id}"
        )
        if not says_the_same(history.now, begin):
            run = press("Run again with these", no_making(), primary=True, key=f"rerun-{record.id}")
            st.caption(changes_sentence(begin, history.now))
            if run:
                run_again(record, result, history.now)
        elif not edits.refused:
            st.caption("Nothing is changed. Choose an arrow to turn or forbid it, or draw one.")


def changes_sentence(begin: Knowledge, now: Knowledge) -> str:
    """What differs from what the audit was given, for Markdown."""

    def added(some: tuple[tuple[str, str], ...], before: tuple[tuple[str, str], ...], words: str) -> list[str]:
        return [f"{as_text(a, 40)} → {as_text(b, 40)} {words}" for a, b in some if (a, b) not in before]

    parts = added(now.required, begin.required, "must be") + added(now.forbidden, begin.forbidden, "cannot be")
    parts += added(begin.required, now.required, "need not be") + added(begin.forbidden, now.forbidden, "may be")
    if [frozenset(tier) for tier in now.tiers] != [frozenset(tier) for tier in begin.tiers]:
        parts.append(f"a time order of {counted(len(now.tiers), 'step')}" if now.tiers else "no time order")
    if set(now.roots) != set(begin.roots) or set(now.from_sensitive) != set(begin.from_sensitive):
        parts.append("other columns without causes")
    if now.complete != begin.complete:
        parts.append("a ready graph" if now.complete else "no ready graph")
    rest = len(parts) - _NAMED
    return f"Changed: {'; '.join(parts[:_NAMED])}" + (f"; and {rest} more." if rest > 0 else ".")


def run_again(record: AuditRecord, result: AuditResult, knowledge: Knowledge) -> None:
    """A new audit with this knowledge, as a child of this one; what contradicts itself is refused."""
    try:
        allowed_edges(result.model.strengths()[0], result.model.attributes, knowledge)
        config = record.config.replace(knowledge=knowledge)
        frame.choose_audit(again(record.id, config, f"{record.name} (other graph)"))
    except CfadError as error:
        st.error(as_text(error, _LONGEST))
    else:
        st.switch_page(frame.TRAIN)
