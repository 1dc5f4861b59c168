"""Telling tables apart, writing and reading them."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pandas as pd

from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.files import staged_file

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


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


def safe_for_spreadsheets(table: pd.DataFrame) -> pd.DataFrame:
    """The table with an apostrophe before texts (and names) that a spreadsheet would take for a formula."""
    safe = table.copy()
    for position in range(table.shape[1]):
        cells = table.iloc[:, position]
        if not (pd.api.types.is_numeric_dtype(cells) or pd.api.types.is_datetime64_any_dtype(cells)):
            safe.isetitem(position, cells.map(_harmless, na_action="ignore").array)
    safe.columns = pd.Index([_harmless(name) for name in table.columns])
    return safe


def _harmless(cell: object) -> object:
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA) else cell


def storable(table: pd.DataFrame) -> pd.DataFrame:
    """The table as it comes back from a Parquet file: the same cells, in types that last.

    A column that mixes types (as spreadsheets do) becomes text.
    """
    import pyarrow as pa

    table = table.reset_index(drop=True)
    table.columns = pd.Index([str(name) for name in table.columns])
    for name in table.columns:
        cells = table[name]
        if isinstance(cells.dtype, pd.CategoricalDtype):
            cells = cells.astype(object).infer_objects()
        try:
            lasts = not pa.types.is_nested(pa.array(cells, from_pandas=True).type)
        except (pa.ArrowException, OverflowError, TypeError, ValueError):
            lasts = False
        table[name] = cells if lasts else cells.astype(str).where(cells.notna())
    result: pd.DataFrame = pa.Table.from_pandas(table, preserve_index=False).to_pandas()
    return result


def save_parquet(table: pd.DataFrame, path: Path) -> None:
    """Write a ``storable`` table, whole or not at all."""
    with staged_file(path) as stage:
        table.to_parquet(stage, index=False)


def load_parquet(path: Path) -> pd.DataFrame:
    """Read what ``save_parquet`` wrote.

    Raises
    ------
    InvalidArtifactError
        If the file is missing or damaged.
    """
    try:
        return pd.read_parquet(path)
    except Exception as error:  # whatever is wrong with the file, it is one thing to the reader
        raise InvalidArtifactError(f"The stored table '{path.name}' is missing or damaged.") from error
