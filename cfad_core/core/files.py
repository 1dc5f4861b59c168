"""Writing files so that nobody ever sees half of them, and reading small ones."""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cfad_core.core.errors import CfadError

_UMASK = os.umask(0)  # it can only be read by setting it, which no two threads may do at once
os.umask(_UMASK)
_LONGEST = 60  # letters of an audit's name in that of a file


def file_slug(name: str) -> str:
    """A name as part of a file's: its letters and digits in any language, in lower case, with dashes between."""
    words = re.findall(r"[^\W_]+", unicodedata.normalize("NFC", name).lower())
    return "-".join(words)[:_LONGEST].strip("-") or "audit"


@contextmanager
def staged_folder(folder: Path, last: str | None = None) -> Iterator[Path]:
    """A temporary folder whose files move into ``folder`` when the block ends well, and vanish otherwise.

    Other files in ``folder`` stay. The file ``last`` is removed first and moved last: where it is, all are.
    """
    is_new = not folder.exists()
    check_folder(folder)
    _make(folder)
    stage = Path(tempfile.mkdtemp(prefix=".staged-", dir=folder))  # inside: the same file system, whatever is mounted
    try:
        yield stage
        if last is not None:
            (folder / last).unlink(missing_ok=True)
        for path in sorted(stage.iterdir(), key=lambda path: path.name == last):
            path.chmod(0o666 & ~_UMASK)  # some writers are more private than the user's umask
            os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)
        if is_new and not any(folder.iterdir()):
            folder.rmdir()


@contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that becomes ``folder`` in one step when the block ends well, and vanishes otherwise.

    Raises
    ------
    CfadError
        If there is such a folder already, or it cannot be made.
    """
    if folder.exists():
        raise CfadError(f"'{folder}' is there already; nothing is written over it.")
    check_folder(folder)
    _make(folder.parent)
    stage = Path(tempfile.mkdtemp(prefix=".staged-", dir=folder.parent))
    try:
        yield stage
        for path in stage.iterdir():
            path.chmod(0o666 & ~_UMASK)
        stage.chmod(0o777 & ~_UMASK)
        os.replace(stage, folder)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def read_bytes(path: Path, most: int) -> bytes:
    """What is in a file that a person named.

    Raises
    ------
    CfadError
        If it cannot be read, or is larger than ``most`` bytes.
    """
    try:
        with path.open("rb") as stream:
            content = stream.read(most + 1)
    except OSError as error:
        raise CfadError(f"Cannot read '{path}': {error.strerror}.") from error
    if len(content) > most:
        raise CfadError(f"'{path}' is larger than {most / 1e6:g} MB; that is no file of this kind.")
    return content


def check_folder(folder: Path) -> None:
    """Fail before the work rather than after it, if nothing can be written to ``folder``. Leaves no trace.

    Raises
    ------
    CfadError
    """
    if folder.exists() and not folder.is_dir():
        raise CfadError(f"'{folder}' is a file; choose a folder to write to.")
    _check_writable(folder)


def check_file(path: Path) -> None:
    """The same for a single file."""
    if path.is_dir():
        raise CfadError(f"'{path}' is a folder; choose a file to write to.")
    _check_writable(path.parent)


@contextmanager
def staged_file(path: Path, mode: int = 0o666) -> Iterator[Path]:
    """A temporary file that becomes ``path`` when the block ends well, and vanishes otherwise.

    ``mode``: who may read it then, if the user's umask lets them.
    """
    check_file(path)
    _make(path.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        raise CfadError(f"Cannot write to '{path.parent}': {error.strerror}.") from error
    os.close(handle)
    try:
        yield Path(name)
        Path(name).chmod(mode & ~_UMASK)
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def _check_writable(folder: Path) -> None:
    existing = folder.absolute()
    while not existing.exists():
        existing = existing.parent
    if not existing.is_dir() or not os.access(existing, os.W_OK | os.X_OK):
        raise CfadError(f"Cannot write to '{folder}': '{existing}' is not a folder that can be written to.")


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CfadError(f"Cannot create the folder '{folder}': {error.strerror}.") from error
