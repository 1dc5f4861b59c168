"""Reading tables, and telling two of them apart."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from cfad_core.errors import InvalidDataError
from cfad_core.files import staged_file


def read_table(path: Path) -> pd.DataFrame:
    """Read a CSV file with a header line.

    Raises
    ------
    InvalidDataError
        If there is no such file, or it holds no table.
    """
    if not path.is_file():
        raise InvalidDataError(f"There is no file '{path}'.")
    try:
        table = pd.read_csv(path)
    except (pd.errors.EmptyDataError, pd.errors.ParserError, UnicodeDecodeError) as error:
        raise InvalidDataError(f"Cannot read '{path}' as a CSV table: {str(error).strip()}") from error
    if table.empty:
        raise InvalidDataError(f"'{path}' has a header but no rows.")
    return table


def digest(*tables: pd.DataFrame) -> str:
    """sha256 of the tables' contents: column names, types and every cell, in order."""
    summary = hashlib.sha256()
    for table in tables:
        summary.update(repr([(str(name), str(kind)) for name, kind in table.dtypes.items()]).encode())
        summary.update(pd.util.hash_pandas_object(table, index=False).to_numpy().tobytes())
    return summary.hexdigest()


def write_table(table: pd.DataFrame, path: Path) -> None:
    """Write a CSV file, whole or not at all."""
    with staged_file(path) as stage:
        table.to_csv(stage, index=False)
