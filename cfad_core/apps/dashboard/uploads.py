"""From an uploaded file to a draft: the file goes to disk, a process of its own reads it, and the table is mapped."""

from __future__ import annotations

import dataclasses
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd
import streamlit as st
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx

from cfad_core.apps.dashboard.broken import DISK_FULL
from cfad_core.apps.dashboard.services import reader, uploads_folder
from cfad_core.apps.dashboard.state import Draft, draft, drop_draft, keep
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.formats import counted
from cfad_core.core.markdown import as_text
from cfad_core.core.progress import Progress
from cfad_core.data.first_lines import FirstLines
from cfad_core.data.readers import SUFFIXES
from cfad_core.data.tables import MappedTable
from cfad_core.runs.outages import outage
from cfad_core.runs.reading import FileRead
from cfad_core.runs.scratch import Scratch

if TYPE_CHECKING:
    from streamlit.delta_generator import DeltaGenerator
    from streamlit.runtime.uploaded_file_manager import UploadedFile

_UPLOAD, _TURN = "upload", "upload-turn"
_SHOWN_AFTER = 1.0  # seconds of reading, and between two looks at whether the person left
_GONE = "The file is not here any more. Upload it again."


@dataclass(frozen=True)
class Upload:
    """A file that somebody uploaded.

    Attributes
    ----------
    path : where it is; an Excel file stays there, so that another sheet can be read
    is_read : whether the following are known
    key : of the draft that was made of it; None if there is a problem, or a question
    sheets, sheet : of an Excel file, and the one that was read
    problem : why there is no table
    header : whether its first line holds the columns' names
    begins : how it begins
    asked : the table while it is not known whether its first line holds names
    """

    path: Path
    name: str
    size: int
    is_read: bool = False
    key: str | None = None
    sheets: tuple[str, ...] = ()
    sheet: str | None = None
    problem: str = ""
    header: bool = True
    begins: FirstLines = field(default_factory=FirstLines)
    asked: MappedTable | None = None


def upload_table() -> bool:
    """The widget that takes a file, and what became of the last one; whether there is a question about it."""
    reader().get_ready()
    turn = st.session_state.get(_TURN, 0)
    file = st.file_uploader(
        "Upload a table, one row a person",
        type=sorted({suffix.split(".")[-1] for suffix in SUFFIXES}),
        help="CSV or TSV (delimiter, decimal mark and encoding are recognised; .gz too), Parquet or Excel.",
        key=f"table-{turn}",
    )
    if file is not None:
        st.session_state[_UPLOAD] = _taken(file)
        st.session_state[_TURN] = turn + 1  # a new widget, as this one would hold the file
        del st.session_state[f"table-{turn}"]  # at once, and not when the page is there
        st.rerun()
    upload = st.session_state.get(_UPLOAD)
    if not isinstance(upload, Upload):
        return False
    now = draft()
    if upload.is_read and upload.asked is None and upload.key != (now and now.origin):  # another table was chosen
        _forget()
        return False
    sheet = upload.sheet
    if len(upload.sheets) > 1:
        place = upload.sheets.index(upload.sheet) if upload.sheet in upload.sheets else 0
        sheet = st.selectbox("Sheet", upload.sheets, index=place, key=f"sheet-{turn}")
    if not upload.is_read or sheet != upload.sheet:
        st.session_state[_UPLOAD] = _read(dataclasses.replace(upload, header=True), sheet)
        st.rerun()
    if upload.problem:
        st.error(as_text(upload.problem, 500))
    elif upload.asked is not None:
        _ask_about_names(upload)
        return True
    else:
        st.caption(" ".join(_what_was_read(upload)))
    return False


def read_upload(file: UploadedFile, key: str) -> MappedTable:
    """The table in a file that a widget holds: a process of its own reads it, once.

    Raises
    ------
    InvalidDataError
        If it holds none that can be read.
    """
    kept, found = st.session_state.get(f"read-{key}", (None, None))
    if kept != file.file_id or not isinstance(found, FileRead):
        path = _scratch(str(uploads_folder())).path / secrets.token_hex(6)
        path.write_bytes(file.getvalue())
        try:
            with st.spinner("Reading ..."):
                found = reader().read(path, file.name, progress=_Watched(st.empty()))
        finally:
            path.unlink(missing_ok=True)
        st.session_state[f"read-{key}"] = file.file_id, found
    if found.table is None:
        raise InvalidDataError(found.problem)
    return found.table


def _what_was_read(upload: Upload) -> Iterator[str]:
    """A sentence each about the file, its sheet and its title lines."""
    yield f"Read: {as_text(upload.name)} ({upload.size / 1e6:,.1f} MB)."
    if len(upload.sheets) > 1:
        yield f"Shown is '{as_text(upload.sheet, 60)}', one of {len(upload.sheets)} sheets; the largest opens first."
    if upload.begins.titles:
        titles = as_text(" / ".join(upload.begins.titles), 120)
        yield f"Left out above the names of the columns: {counted(len(upload.begins.titles), 'line')} ({titles})."


def _ask_about_names(upload: Upload) -> None:
    """One question: does the first line hold the columns' names?"""
    with st.container(border=True, key="first-line"):
        st.subheader("Does the first line hold the names of the columns?", anchor=False)
        st.markdown(f"It looks like data: {as_text(upload.begins.doubt, 300)}. The file begins like this:")
        lines = pd.DataFrame(upload.begins.lines, dtype=str)
        lines.columns = pd.Index([f"column {place}" for place in range(1, lines.shape[1] + 1)])
        lines.index = pd.Index([f"line {place}" for place in range(1, len(lines) + 1)])
        st.dataframe(lines, width="stretch")
        data, names, _ = st.columns([2, 2, 2])
        if data.button("No, the first line is a person", type="primary", width="stretch"):
            st.session_state[_UPLOAD] = _read(dataclasses.replace(upload, header=False), upload.sheet)
            st.rerun()
        if names.button("Yes, these are the names", width="stretch"):
            st.session_state[_UPLOAD] = _accept(upload, upload.asked)
            st.rerun()
        st.caption("Without names the columns are called column 1, column 2 and so on; you can name them afterwards.")


def _forget() -> None:
    upload = st.session_state.pop(_UPLOAD, None)
    if isinstance(upload, Upload):
        upload.path.unlink(missing_ok=True)


def _taken(file: UploadedFile) -> Upload:
    """The file on disk; or why it cannot be put there."""
    try:
        return _take(file)
    except OSError as error:
        _drop(file)
        problem = DISK_FULL if outage(error) == "full" else f"The file could not be kept here: {error.strerror}."
        return Upload(uploads_folder() / "gone", file.name, file.size, is_read=True, problem=problem)


def _take(file: UploadedFile) -> Upload:
    """Put the file on disk, and make Streamlit let go of it: it would keep it in memory until the session ends."""
    _forget()
    path = _scratch(str(uploads_folder())).path / "upload"
    try:
        path.write_bytes(file.getvalue())
    except OSError:
        path.unlink(missing_ok=True)  # half of it
        raise
    taken = Upload(path, file.name, file.size)
    _drop(file)
    return taken


def _drop(file: UploadedFile) -> None:
    """Make Streamlit let go of it."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
    file.close()


@st.cache_resource(show_spinner=False, scope="session", on_release=Scratch.close)
def _scratch(folder: str) -> Scratch:
    """The session's folder; it goes when the browser does."""
    return Scratch(Path(folder))


def _read(upload: Upload, sheet: str | None) -> Upload:
    """Read it, and make a draft of it; or say what is wrong with it."""
    drop_draft()  # not the table before it
    upload = dataclasses.replace(upload, is_read=True, key=None, sheet=sheet, asked=None)
    if not upload.path.is_file():
        return dataclasses.replace(upload, problem=_GONE)
    with st.spinner("Reading ..."):
        watched = _Watched(st.empty())
        found = reader().read(upload.path, upload.name, sheet, header=upload.header, progress=watched)
    done = dataclasses.replace(
        upload, sheets=found.sheets, sheet=found.sheet, problem=found.problem, begins=found.begins
    )
    if found.table is not None and upload.header and found.begins.doubt:
        return dataclasses.replace(done, asked=found.table)
    return _accept(done, found.table)


def _accept(upload: Upload, table: MappedTable | None) -> Upload:
    """Make a draft of a table; the file goes, unless another of its sheets may be asked for."""
    if not upload.sheets:
        upload.path.unlink(missing_ok=True)
    if table is None:
        return upload
    new = Draft(table, source=upload.name)
    keep(dataclasses.replace(new, origin=new.key))
    return dataclasses.replace(upload, key=new.key, asked=None)


class _Watched(Progress):
    """Says how long it takes. Saying so also ends the reading, when the person has left or does something else."""

    def __init__(self, place: DeltaGenerator) -> None:
        self._place, self._begin, self._last = place, time.monotonic(), time.monotonic()

    def stop_requested(self) -> bool:
        now = time.monotonic()
        if now - self._last >= _SHOWN_AFTER:
            self._last = now
            self._place.caption(f"{now - self._begin:.0f} seconds")  # Streamlit leaves the script here, if it is to
        return False
