"""Tables that are written chunk by chunk, whole or not at all."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any, Protocol

import pandas as pd

from cfad_core.core.files import staged_file
from cfad_core.data.tables import safe_for_spreadsheets, to_arrow


class TableWriter(Protocol):
    """A file that a table is added to, some rows after the other."""

    def add(self, chunk: pd.DataFrame) -> None:
        """The next rows."""


@contextmanager
def chunk_writer(path: Path, *, for_spreadsheets: bool = False) -> Iterator[TableWriter]:
    """A file that is there when the block ends well, and not otherwise: Parquet by its ending, else CSV.

    Parameters
    ----------
    for_spreadsheets : whether texts in CSV that a spreadsheet would take for a formula get an apostrophe
    """
    with staged_file(path) as stage:
        if path.suffix.lower() == ".parquet":
            parquet = _ParquetFile(stage)
            try:
                yield parquet
            finally:
                parquet.close()
        else:
            with stage.open("w", encoding="utf-8", newline="") as stream:
                yield _CsvFile(stream, for_spreadsheets)


class _CsvFile:
    def __init__(self, stream: IO[str], for_spreadsheets: bool) -> None:
        self._stream, self._for_spreadsheets, self._is_new = stream, for_spreadsheets, True

    def add(self, chunk: pd.DataFrame) -> None:
        """The next rows."""
        safe = safe_for_spreadsheets(chunk) if self._for_spreadsheets else chunk
        safe.to_csv(self._stream, index=False, header=self._is_new)
        self._is_new = False


class _ParquetFile:
    """Its columns have the types of the first chunk until another one does not fit.

    A column of twins may be numbers for a long time, and text once somebody's was changed. What is written so far is
    then copied with the wider types, which happens rarely, and needs no more memory than a chunk.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._writer: Any = None
        self._schema: Any = None
        self._copy = path.with_name(f"{path.name}-copy")

    def add(self, chunk: pd.DataFrame) -> None:
        """The next rows."""
        import pyarrow as pa

        table = to_arrow(chunk).replace_schema_metadata(None)
        if self._schema is None:
            self._open(table.schema)
        elif not table.schema.equals(self._schema):
            both = zip(self._schema, table.schema, strict=True)
            wider = pa.schema([pa.field(old.name, _common(old.type, new.type)) for old, new in both])
            if not wider.equals(self._schema):
                self._widen(wider)
            table = _as_types(table, wider)
        self._writer.write_table(table)

    def close(self) -> None:
        """No more rows."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
        self._copy.unlink(missing_ok=True)

    def _open(self, schema: Any) -> None:
        import pyarrow.parquet as pq

        self._schema, self._writer = schema, pq.ParquetWriter(self._path, schema)

    def _widen(self, schema: Any) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self.close()
        os.replace(self._path, self._copy)
        self._open(schema)
        with pq.ParquetFile(self._copy) as file:
            for batch in file.iter_batches():
                self._writer.write_table(_as_types(pa.Table.from_batches([batch]), schema))
        self._copy.unlink()


def _common(old: Any, new: Any) -> Any:
    """A type that holds the cells of both."""
    import pyarrow as pa

    if old.equals(new) or pa.types.is_null(new):
        return old
    if pa.types.is_null(old):
        return new
    numbers = [pa.types.is_integer(one) or pa.types.is_floating(one) for one in (old, new)]
    return pa.float64() if all(numbers) else pa.string()


def _as_types(table: Any, schema: Any) -> Any:
    """The table with the columns' types; what becomes text reads as in a CSV file."""
    import pyarrow as pa

    columns = []
    for column, field in zip(table.columns, schema, strict=True):
        if pa.types.is_string(field.type) and not pa.types.is_null(column.type):
            cells = column.to_pandas()
            column = pa.chunked_array([pa.array(cells.astype(str).where(cells.notna()), field.type, from_pandas=True)])
        columns.append(column.cast(field.type))
    return pa.Table.from_arrays(columns, schema=schema)
