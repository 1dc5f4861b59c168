"""Files that come with a request: they go to disk, and a process of its own with limits reads them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from fastapi import UploadFile

from cfad_core.apps.api.services import Services
from cfad_core.core.errors import InvalidDataError
from cfad_core.data.readers import SUFFIXES
from cfad_core.runs.reading import FileRead
from cfad_core.runs.scratch import Scratch

_LONGEST = 100  # characters of a file's name that are kept


@contextmanager
def scratch_of(tools: Services) -> Iterator[Path]:
    """A folder that is there while it is needed."""
    scratch = Scratch(tools.uploads())
    try:
        yield scratch.path
    finally:
        scratch.close()


def read_upload(tools: Services, file: UploadFile, *, sheet: str | None = None, header: bool = True) -> FileRead:
    """The table in an uploaded file; it is never opened in this process.

    Raises
    ------
    InvalidDataError
        If it holds none.
    """
    name = file_name(file)
    if not name.lower().endswith(SUFFIXES):
        raise InvalidDataError(f"'{name}' is no table by its name; expected one that ends in {', '.join(SUFFIXES)}.")
    with scratch_of(tools) as folder:
        path = folder / "upload"
        with path.open("wb") as out:
            shutil.copyfileobj(file.file, out, 2**20)
        found = tools.reader().read(path, name, sheet, header=header)
    if found.table is None:
        raise InvalidDataError(found.problem)
    return found


def file_name(file: UploadFile) -> str:
    """What a file is called, as it may be shown and kept: without folders, and with nothing that cannot be seen."""
    last = (file.filename or "").replace("\\", "/").rpartition("/")[2]
    return "".join(letter if letter.isprintable() else " " for letter in last)[-_LONGEST:].strip() or "table"
