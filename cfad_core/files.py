"""Writing files so that nobody ever sees half of them."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from cfad_core.errors import CfadError


@contextmanager
def staged_folder(folder: Path, last: str | None = None) -> Iterator[Path]:
    """A temporary folder whose files move into ``folder`` when the block ends well, and vanish otherwise.

    Other files in ``folder`` stay. The file ``last`` is removed first and moved last: where it is, all are.
    """
    check_folder(folder)
    _make(folder.parent)
    try:
        stage = Path(tempfile.mkdtemp(prefix=f".{folder.name}-", dir=folder.parent))
    except OSError as error:
        raise CfadError(f"Cannot write to '{folder.parent}': {error.strerror}.") from error
    try:
        yield stage
        _make(folder)
        if last is not None:
            (folder / last).unlink(missing_ok=True)
        for path in sorted(stage.iterdir(), key=lambda path: path.name == last):
            path.chmod(0o666 & ~_umask())  # some writers are more private than the user's umask
            os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def check_folder(folder: Path) -> None:
    """Fail before the work rather than after it, if ``folder`` cannot be one.

    Raises
    ------
    CfadError
    """
    if folder.exists() and not folder.is_dir():
        raise CfadError(f"'{folder}' is a file; choose a folder to write to.")


@contextmanager
def staged_file(path: Path) -> Iterator[Path]:
    """A temporary file that becomes ``path`` when the block ends well, and vanishes otherwise."""
    if path.is_dir():
        raise CfadError(f"'{path}' is a folder; choose a file to write to.")
    _make(path.parent)
    try:
        handle, name = tempfile.mkstemp(prefix=f".{path.name}-", dir=path.parent)
    except OSError as error:
        raise CfadError(f"Cannot write to '{path.parent}': {error.strerror}.") from error
    os.close(handle)
    try:
        yield Path(name)
        Path(name).chmod(0o666 & ~_umask())
        os.replace(name, path)
    finally:
        Path(name).unlink(missing_ok=True)


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _make(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise CfadError(f"Cannot create the folder '{folder}': {error.strerror}.") from error
