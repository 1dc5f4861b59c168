"""What a process of its own does with a file that somebody uploaded: read it, and write the table for its parent.

Whatever the file does to the libraries that read it, it does here, under limits of memory and time.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from cfad_core.core.errors import CfadError, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.data.excel import excel_sheets, largest_sheet
from cfad_core.data.readers import EXCEL_SUFFIXES, first_lines, read_table
from cfad_core.data.tables import MappedTable, write_mapped
from cfad_core.runs.limits import limit_memory_and_time

_SHOWN = 4  # lines of a file whose first one is in doubt
_MEMORY = re.compile(
    r"bad.alloc|out of memory|(cannot|unable to|failed to|fail to) (re)?allocat|alloc of size|length_error",
    re.IGNORECASE,
)


def read(
    progress: Progress,
    *,
    path: str,
    name: str,
    sheet: str | None,
    header: bool,
    out: str,
    within: Mapping[str, Any],
) -> dict[str, Any]:
    """Write the table in a file to ``out``; its digests, how it begins, and the sheets of an Excel file.

    A file whose sheets can be listed, and the sheet not be read, is answered by them and the ``problem``.
    """
    pa.set_memory_pool(pa.system_memory_pool())  # others take room ahead of its use, which counts
    limit_memory_and_time(seconds=within["seconds"], megabytes=within["megabytes"])
    progress.report("reading", 0, 1, {})
    sheets: list[str] = []
    try:
        if name.lower().endswith(EXCEL_SUFFIXES):
            sheets = excel_sheets(Path(path))
            sheet = sheet or largest_sheet(Path(path))
        write_mapped(read_table(Path(path), name=name, sheet=sheet, header=header), Path(out))
        mapped, begins = MappedTable(Path(out)), first_lines(Path(path), name=name, sheet=sheet)
        answer = {"sheets": sheets, "sheet": sheet, "digests": mapped.digests, "digest": mapped.digest}
        lines = [list(line) for line in begins.lines[:_SHOWN]]
        return {**answer, "titles": list(begins.titles), "lines": lines, "doubt": begins.doubt}
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:  # of any library, in any of its ways
        problem = _sentence(error, name, within["megabytes"])
    if not sheets:
        raise InvalidDataError(problem)
    return {"sheets": sheets, "sheet": sheet, "problem": problem}


def _sentence(error: BaseException, name: str, megabytes: int) -> str:
    if isinstance(error, MemoryError) or _MEMORY.search(str(error)):
        return too_large(name, megabytes)
    if isinstance(error, CfadError):
        return str(error)
    if isinstance(error, OSError) and error.strerror:
        return f"'{name}' could not be read, or its table not be written: {error.strerror}."
    return "This file holds no table that can be read, whatever its name says. Save it again as CSV or Excel."


def too_large(name: str, megabytes: int) -> str:
    """What is said of a file that does not fit into memory."""
    return (
        f"'{name}' needs more memory than the {megabytes:,} MB that reading it may take here. Use a sample of it, or "
        "leave out columns that are not needed."
    )
