"""Read a file that somebody uploaded without ever opening it here.

A process of its own reads it, with limits of memory and time, and writes the table as an Arrow file, which this process
maps. Whatever the file does there (it unpacks to more than there is room for, it crashes the library that reads it, it
never ends) ends in a sentence here.
"""

from __future__ import annotations

import dataclasses
import secrets
import signal
import threading
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from cfad_core.core.errors import AuditCancelled, InvalidDataError, WorkerDied
from cfad_core.core.progress import Progress
from cfad_core.data.first_lines import FirstLines
from cfad_core.data.tables import MappedTable
from cfad_core.runs.child import Child, Deadline

_WARM = ("cfad_core.runs.reading_child", "pyarrow.parquet", "python_calamine")
_CGROUP = Path("/sys/fs/cgroup")
_LEAST, _USUAL, _A_BYTE = 1024, 4096, 8  # megabytes, megabytes, bytes for each byte of the file
_FREE_SHARE = 0.75
_SECONDS, _BYTES_A_SECOND = 120.0, 2e6


@dataclass(frozen=True)
class Bounds:
    """What reading a file may take: processor time and time in seconds, memory in megabytes."""

    seconds: float
    megabytes: int

    @staticmethod
    def of(size: int) -> Bounds:
        """For a file of so many bytes.

        Two minutes, and a second for every 2 MB. 4 GB of memory, and eight times the file (reading a CSV file takes
        about four times its size; packed formats unpack to more), but at most three quarters of what is free, and
        at least 1 GB.
        """
        wanted = min(_USUAL + _A_BYTE * size / 2**20, _FREE_SHARE * _free() / 2**20)
        return Bounds(_SECONDS + size / _BYTES_A_SECOND, max(_LEAST, int(wanted)))


def _free() -> int:
    """Bytes of memory that this machine, or the container that it is, can still give."""
    free = int(psutil.virtual_memory().available)
    with suppress(OSError, ValueError):  # no container, or one without a limit
        most, used = (int((_CGROUP / name).read_text("ascii")) for name in ("memory.max", "memory.current"))
        free = min(free, most - used)
    return free


@dataclass(frozen=True)
class FileRead:
    """What came of a file.

    Attributes
    ----------
    table : None if there is a problem
    sheets, sheet : of an Excel file, and the one that was read
    problem : why it has no table, or this sheet has none
    begins : its first lines, and whether they look like those of a table with names of columns
    """

    table: MappedTable | None
    sheets: tuple[str, ...] = ()
    sheet: str | None = None
    problem: str = ""
    begins: FirstLines = field(default_factory=FirstLines)


class Reader:
    """Reads files, each in a process of its own; with ``ahead``, the next process waits already, its imports done."""

    def __init__(self, folder: Path, *, ahead: bool = True) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._folder, self._ahead = folder, ahead
        self._spare: Child | None = None
        self._lock = threading.Lock()

    def close(self) -> None:
        """End the process that waits."""
        with self._lock:
            self._ahead = False
            if self._spare is not None:
                self._spare.close()
            self._spare = None

    def get_ready(self) -> None:
        """Start the next process, if none waits."""
        with self._lock:
            if self._ahead and (self._spare is None or not self._spare.is_ready):
                self._spare = self._start()

    def read(
        self,
        path: Path,
        name: str,
        sheet: str | None = None,
        *,
        header: bool = True,
        bounds: Bounds | None = None,
        progress: Progress | None = None,
    ) -> FileRead:
        """The table in a file; beside it, files are written and removed again.

        Parameters
        ----------
        name : of the file, by which the format is recognised
        sheet : of an Excel file; the largest one by default
        header : whether the first line holds the columns' names
        bounds : ``Bounds.of`` its size by default
        progress : may ask to stop

        Raises
        ------
        AuditCancelled
            If ``progress`` asked to stop.
        """
        bounds = bounds or Bounds.of(path.stat().st_size)
        out = path.with_name(f"{secrets.token_hex(6)}.arrow")
        arguments = {"path": str(path), "name": name, "sheet": sheet, "header": header, "out": str(out)}
        try:
            with self._child() as child:
                answer = _run(child, {**arguments, "within": dataclasses.asdict(bounds)}, progress)
            return _understand(answer, out)
        except (InvalidDataError, WorkerDied) as error:
            return FileRead(None, problem=str(error))
        finally:
            out.unlink(missing_ok=True)  # a table that is mapped stays
            self.get_ready()

    def _child(self) -> Child:
        with self._lock:
            taken, self._spare = self._spare, None
        if taken is not None and taken.is_ready:
            return taken
        return self._start()

    def _start(self) -> Child:
        return Child(1, warm=_WARM, folder=self._folder)


def _run(child: Child, arguments: Mapping[str, Any], progress: Progress | None) -> Any:
    """Read it in the child, in time."""
    deadline = Deadline(arguments["within"]["seconds"], progress)
    try:
        return child.run("cfad_core.runs.reading_child:read", arguments, deadline)
    except AuditCancelled:
        if deadline.is_over:
            raise _too_long(arguments) from None
        raise
    except WorkerDied as error:
        if error.code is None:
            raise
        raise _death(error.code, arguments) from None


def _understand(answer: Any, out: Path) -> FileRead:
    """What a child answered; it wrote the file."""
    try:
        sheets = tuple(str(sheet) for sheet in answer["sheets"])
        sheet = None if answer["sheet"] is None else str(answer["sheet"])
        if "problem" in answer:
            return FileRead(None, sheets, sheet, str(answer["problem"]))
        digests = {str(part): str(digest) for part, digest in answer["digests"].items()}
        lines = tuple(tuple(str(cell) for cell in line) for line in answer["lines"])
        begins = FirstLines(tuple(map(str, answer["titles"])), lines, str(answer["doubt"]))
        return FileRead(MappedTable(out, (digests, str(answer["digest"]))), sheets, sheet, begins=begins)
    except (KeyError, TypeError, AttributeError, OSError, ValueError) as error:
        raise WorkerDied("The process that read the file gave no table. Upload the file again.") from error


def _too_long(arguments: Mapping[str, Any]) -> InvalidDataError:
    seconds = arguments["within"]["seconds"]
    return InvalidDataError(
        f"'{arguments['name']}' was not read within {seconds:,.0f} seconds. Use a sample of it, or save "
        "it as a CSV or Parquet file."
    )


def _death(code: int, arguments: Mapping[str, Any]) -> InvalidDataError:
    """Why a child ended without an answer."""
    name, megabytes = arguments["name"], arguments["within"]["megabytes"]
    if code == -getattr(signal, "SIGXCPU", 0):
        return _too_long(arguments)
    if code == -getattr(signal, "SIGKILL", 0):
        return InvalidDataError(
            f"The process that read '{name}' was killed, most likely because the machine ran out of memory. Close "
            "other programs or use a sample of the file, and upload it again."
        )
    try:
        how = signal.Signals(-code).name
    except ValueError:
        how = f"exit code {code}"
    return InvalidDataError(
        f"'{name}' made the program that reads such files crash ({how}), perhaps for want of memory: it may use "
        f"{megabytes:,} MB. The file may be damaged: save it again as a CSV or Parquet file, or use a sample of it."
    )
