"""What all sessions of the server share: the store, the executor, and results that were loaded."""

from __future__ import annotations

import os
from pathlib import Path

import pandas as pd
import psutil
import streamlit as st

from cfad_core.apps.dashboard.visitor import visitor
from cfad_core.audit.result import AuditResult
from cfad_core.runs.database import url_from_environment
from cfad_core.runs.executor import Executor
from cfad_core.runs.index import home_folder
from cfad_core.runs.model import AuditRecord
from cfad_core.runs.reading import Reader
from cfad_core.runs.start import start_executor
from cfad_core.runs.store import Store

_MEMORY_FOR_TWO = 6 * 10**9  # bytes
_OPENED = "opened"  # in the session: audits of which the log says so


def store() -> Store:
    """The store, as whoever looks at the page sees it."""
    return program_store().seen_by(visitor())


def program_store() -> Store:
    """The store as the program sees it, with what works its queue off (``CFAD_WORKERS``; 0: another program does)."""
    return _services(str(home_folder()), url_from_environment(), workers())[0]


def close() -> None:
    """Stop what the queue is worked off by, and close the store."""
    _services.clear()


def workers() -> int:
    """How many audits this server runs at once: two, one of which must be short, unless there is memory for one."""
    wanted = os.environ.get("CFAD_WORKERS", "")
    if wanted.isdecimal():
        return int(wanted)
    return 2 if psutil.virtual_memory().total >= _MEMORY_FOR_TWO else 1


def _close(services: tuple[Store, Executor | None]) -> None:
    opened, executor = services
    if executor is not None:
        executor.close()
    opened.close()


@st.cache_resource(show_spinner=False, on_release=_close)
def _services(home: str, url: str, workers: int) -> tuple[Store, Executor | None]:
    opened = Store(Path(home), url or None)
    return opened, start_executor(opened, workers) if workers else None


def reader() -> Reader:
    """Who reads uploaded files; a process waits for the next one where this server works at all."""
    return _reader(str(uploads_folder()), workers() > 0)


def uploads_folder() -> Path:
    """Where files that are uploaded are while they are needed."""
    return program_store().home / "uploads"


@st.cache_resource(show_spinner=False, on_release=Reader.close)
def _reader(folder: str, ahead: bool) -> Reader:
    return Reader(Path(folder), ahead=ahead)


def note_opened(audit: str) -> None:
    """Write into the log that somebody looks at an audit: once in a session."""
    opened = st.session_state.setdefault(_OPENED, set())
    if audit not in opened:
        store().note("opened", audit)
        opened.add(audit)


def result_of(record: AuditRecord) -> AuditResult:
    """What a finished audit found; whoever has its record may see it, and the log says that they did."""
    note_opened(record.id)
    return _result(record.id, record.finished, str(program_store().home))


@st.cache_resource(show_spinner="Loading the audit ...", max_entries=4)
def _result(audit: str, finished: float | None, home: str) -> AuditResult:  # noqa: ARG001 - they are the key
    return program_store().result(audit)


def people_table(record: AuditRecord) -> pd.DataFrame:
    """The table that the judged people come from."""
    return stored_table(record.tables.get("test", record.tables["table"]))


def stored_table(digest: str) -> pd.DataFrame:
    """A table by its digest, if it belongs to something that whoever looks may see."""
    store().table_path(digest)
    return _table(digest, str(program_store().home))


@st.cache_resource(show_spinner="Loading the table ...", max_entries=4)
def _table(digest: str, home: str) -> pd.DataFrame:  # noqa: ARG001 - it is part of the key
    return program_store().table(digest)
