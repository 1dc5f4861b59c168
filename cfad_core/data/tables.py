"""Telling tables apart, and writing them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from cfad_core.files import staged_file


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
