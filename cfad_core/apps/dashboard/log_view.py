"""The log, as pages show it and as a file: who did what with which audit. It holds nothing of a table."""

from __future__ import annotations

import gzip
import io
from collections.abc import Iterable
from dataclasses import dataclass

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.moments import moment_columns, seconds_as_moments
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.runs.log import Entry, json_line
from cfad_core.runs.model import AuditRecord

_SHOWN = 500
_NAMED = 1_000  # audits that can be chosen by name
_PROGRAM = "the program itself"
_WAYS = {"page": "a page", "api": "the API", "command": "a command"}


@dataclass(frozen=True)
class Part:
    """The part of the log that is looked at; None stands for all."""

    who: str | None = None
    audit: str | None = None


def choose_part() -> Part:
    """Whose deeds, and with which audit."""
    seen = store()
    names = {record.id: f"{record.name} · {record.id}" for record in seen.find(limit=_NAMED)}
    person, audit = st.columns(2)
    who = person.selectbox(
        "Who",
        ["", *(one.name for one in seen.people())],
        index=None,
        format_func=lambda name: name or _PROGRAM,
        placeholder="everybody",
        key="log-who",
    )
    which = audit.selectbox(
        "Audit",
        list(names),
        index=None,
        format_func=lambda one: names.get(one, one),
        accept_new_options=True,
        placeholder="all; type the id of one that was deleted",
        key="log-audit",
    )
    return Part(who, which.strip() if which else None)


def show_whole_log(part: Part) -> None:
    """The latest entries, and all of them as a file."""
    entries = list(store().log(audit=part.audit, who=part.who, limit=_SHOWN + 1))
    if not entries:
        st.info("Nothing was done of which the log could tell, or not by them, or not with this audit.")
        return
    _show(entries[:_SHOWN], with_audit=True)
    if len(entries) > _SHOWN:
        st.caption(f"The latest {_SHOWN:,} entries. The file has all of them.")
    offer_file(
        "All of it (JSON lines, gzip)",
        lambda: _packed(store().log(audit=part.audit, who=part.who)),
        "log.jsonl.gz",
        "application/gzip",
        audit=None,
        key="log-file",
    )
    st.caption(
        "The log only grows: the database refuses to change it. It says what was done, and holds no cell of a table. "
        "Times are those of this server; in the file, seconds since 1970."
    )


def show_log_of(record: AuditRecord) -> None:
    """What was done with one audit, for its owner."""
    with st.expander("What was done with it"):
        _show(list(store().log(audit=record.id, limit=_SHOWN)), with_audit=False)
        st.caption(f"The latest {_SHOWN:,} entries at most; the file has all of them.")
        offer_file(
            "Its log (JSON lines)",
            lambda: "".join(f"{json_line(one)}\n" for one in store().log(audit=record.id)).encode("utf-8"),
            record.file("log.jsonl"),
            "application/jsonl",
            audit=record.id,
            key=f"log-{record.id}",
        )


def _show(entries: list[Entry], *, with_audit: bool) -> None:
    names = {record.id: record.name for record in store().find(limit=_NAMED)} if with_audit else {}
    audits = [f"{names[one.audit]} · {one.audit}" if one.audit in names else one.audit or "" for one in entries]
    rows = {
        "when": seconds_as_moments(one.at for one in entries),
        "who": [one.who or _PROGRAM for one in entries],
        "did": [one.deed for one in entries],
        **({"audit": audits} if with_audit else {}),
        "what": [one.about for one in entries],
        "by": [_WAYS[one.via] for one in entries],
        "request": [one.request for one in entries],
    }
    config = moment_columns("when") | {
        **{name: st.column_config.TextColumn(width="medium") for name in ("audit", "what")},
        "request": st.column_config.TextColumn(help="The id of the request, as in what the server writes of itself."),
    }
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", column_config=config)


def _packed(entries: Iterable[Entry]) -> bytes:
    """The entries as lines of JSON, packed while they are read: only what is packed is in memory."""
    stream = io.BytesIO()
    with gzip.open(stream, "wt", encoding="utf-8") as lines:
        lines.writelines(f"{json_line(one)}\n" for one in entries)
    return stream.getvalue()
