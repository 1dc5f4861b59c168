"""Sheets of an Excel file, and their cells."""

from __future__ import annotations

import io
from pathlib import Path
from typing import IO

import pandas as pd

from cfad_core.core.errors import InvalidDataError


def excel_sheets(source: Path | bytes) -> list[str]:
    """The names of an Excel file's sheets."""
    from python_calamine import CalamineWorkbook

    with opened(source) as stream, CalamineWorkbook.from_filelike(stream) as book:
        return list(book.sheet_names)


def largest_sheet(source: Path | bytes) -> str:
    """The sheet of an Excel file with most cells."""
    from python_calamine import CalamineWorkbook

    with opened(source) as stream, CalamineWorkbook.from_filelike(stream) as book:
        sizes = {}
        for name in book.sheet_names:
            sheet = book.get_sheet_by_name(name)
            sizes[name] = sheet.height * sheet.width
    return max(sizes, key=lambda name: sizes[name])  # the first of them


def excel_cells(source: Path | bytes, sheet: str | None, label: str, rows: int | None = None) -> pd.DataFrame:
    """The cells of a sheet, its first line among them."""
    from python_calamine import CalamineError

    try:
        sheets = excel_sheets(source)
        if sheet is not None and sheet not in sheets:
            raise InvalidDataError(f"'{label}' has no sheet '{sheet}'; it has: {', '.join(sheets)}.")
        chosen = sheet or (largest_sheet(source) if len(sheets) > 1 else sheets[0])
        with opened(source) as stream:
            cells = pd.read_excel(stream, sheet_name=chosen, header=None, engine="calamine", nrows=rows)
    except CalamineError as error:
        raise InvalidDataError(f"Cannot read '{label}' as an Excel file: {error}") from error
    if cells.empty:
        raise InvalidDataError(f"Sheet '{chosen}' of '{label}' is empty.")
    return cells


def opened(source: Path | bytes) -> IO[bytes]:
    """The bytes of a file, or those that are given."""
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")
