"""Folders for files that are needed for a while: none outlives who needs it, nor a killed program."""

from __future__ import annotations

import shutil
import tempfile
import weakref
from pathlib import Path

from filelock import FileLock, Timeout

_HELD = ".held"


class Scratch:
    """A folder that is there until it is closed or forgotten, at the latest until this program ends.

    Whoever makes one removes those that a program left behind when it was killed: a folder that is in use is locked.
    """

    def __init__(self, root: Path) -> None:
        root.mkdir(parents=True, exist_ok=True)
        with FileLock(root / ".lock"):
            _sweep(root)
            self.path = Path(tempfile.mkdtemp(dir=root))  # for this user alone
            held = FileLock(self.path / _HELD, thread_local=False)
            held.acquire()
        self._end = weakref.finalize(self, _remove, self.path, held)

    def close(self) -> None:
        """Remove it with all that is in it."""
        self._end()


def _sweep(root: Path) -> None:
    for folder in root.iterdir():
        if folder.is_dir():
            held = FileLock(folder / _HELD, thread_local=False)
            try:
                held.acquire(timeout=0)
            except Timeout:
                continue
            _remove(folder, held)


def _remove(folder: Path, held: FileLock) -> None:
    shutil.rmtree(folder, ignore_errors=True)
    held.release()
