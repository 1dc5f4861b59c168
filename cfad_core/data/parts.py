"""A table that is too large for memory: Parquet files that are read part by part, always in the same parts.

What the parts are depends on the files alone, not on who reads them: a part is some row groups of a file, or a stretch
of one that is too large. So whatever is drawn or counted by part is the same wherever it is done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.chunks import as_in_whole, common_schema, missing_cells
from cfad_core.data.readers import distinct_names, reading

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.parquet as pq

MOST_CELLS = 4_000_000  # of a part, about: a worker holds a few copies of them
_LEAST_ROWS = 1_000
_BLOCK = 2**23  # bytes that are hashed at once


@dataclass(frozen=True)
class Part:
    """Some rows of a file.

    Attributes
    ----------
    number : among all parts
    file : that they are in
    row_groups : of the file, in order
    skipped : rows of these row groups before the first one of the part
    rows : how many
    first : position of the first one in the whole table
    """

    number: int
    file: Path
    row_groups: tuple[int, ...]
    skipped: int
    rows: int
    first: int


@dataclass(frozen=True)
class PartedTable:
    """A table in parts.

    Attributes
    ----------
    source : the folder or file that was named
    columns : their names
    parts : all of them; none where single parts are given out to be read
    schema : what the columns hold, in types for all files
    missing, rows : by column of the files, how many cells are missing; and how many rows there are
    """

    source: Path
    files: tuple[Path, ...]
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    schema: pa.Schema
    missing: Mapping[str, int]
    rows: int

    def read(self, part: Part, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The rows of a part, or some of their columns: the cells that they have if the whole table is read at once.

        Raises
        ------
        InvalidDataError
            If the file cannot be read, or has changed.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        names = dict(zip(self.columns, self.schema.names, strict=True))
        wanted = list(self.columns if columns is None else columns)
        with reading(str(part.file), ".parquet"), pq.ParquetFile(part.file) as file:
            table = _rows(file, part, [names[name] for name in wanted])
            table = table.select([names[name] for name in wanted])
            fields = [self.schema.field(names[name]) for name in wanted]
            table = table.cast(pa.schema(fields))
        if len(table) != part.rows:
            raise InvalidDataError(f"'{part.file}' has changed while it was read. Start again.")
        found = as_in_whole(table.to_pandas(), table, self.missing, self.rows)
        found.columns = pd.Index(wanted)
        return found


def open_parts(source: Path) -> PartedTable:
    """The table in a Parquet file, or in all Parquet files of a folder, in the order of their names.

    Raises
    ------
    InvalidDataError
        If there is none, or the files do not have the same columns.
    """
    import pyarrow.parquet as pq

    files = tuple(sorted(source.glob("*.parquet"))) if source.is_dir() else (source,)
    if not files:
        raise InvalidDataError(f"Expected Parquet files (*.parquet) in the folder '{source}'; there are none.")
    parts: list[Part] = []
    with reading(str(source), ".parquet"):
        schema = common_schema(files)
        missing, total = missing_cells(files, schema.names)
        for path in files:
            with pq.ParquetFile(path) as file:
                parts += _parts_of(path, file.metadata, parts[-1] if parts else None)
    if not parts:
        raise InvalidDataError(f"'{source}' has columns but no rows.")
    return PartedTable(
        source.absolute(), files, tuple(distinct_names(schema.names)), tuple(parts), schema, missing, total
    )


def digest_of(files: Sequence[Path]) -> str:
    """sha256 of what is in the files, one after the other; their names do not count."""
    found = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                found.update(block)
    return found.hexdigest()


def _parts_of(path: Path, metadata: pq.FileMetaData, last: Part | None) -> Iterator[Part]:
    """Row groups in a row as long as they are small; stretches of those that are large."""
    number, first = (0, 0) if last is None else (last.number + 1, last.first + last.rows)
    most = max(_LEAST_ROWS, MOST_CELLS // max(1, metadata.num_columns))
    kept: list[int] = []
    held = 0
    sizes = [metadata.row_group(k).num_rows for k in range(metadata.num_row_groups)]
    for k, rows in enumerate([*sizes, most + 1]):  # the last one is a mark
        if kept and held + rows > most:
            yield Part(number, path, tuple(kept), 0, held, first)
            number, first, kept, held = number + 1, first + held, [], 0
        if k == len(sizes) or not rows:
            continue
        if rows > most:
            even = -(-rows // -(-rows // most))  # as few stretches as there must be, as long as each other
            for start in range(0, rows, even):
                stretch = min(even, rows - start)
                yield Part(number, path, (k,), start, stretch, first)
                number, first = number + 1, first + stretch
        else:
            kept, held = [*kept, k], held + rows


def _rows(file: pq.ParquetFile, part: Part, columns: list[str]) -> pa.Table:
    import pyarrow as pa

    groups = list(part.row_groups)
    if part.skipped == 0 and sum(file.metadata.row_group(k).num_rows for k in groups) == part.rows:
        return file.read_row_groups(groups, columns=columns)
    batches, seen, end = [], 0, part.skipped + part.rows
    for batch in file.iter_batches(batch_size=65_536, row_groups=groups, columns=columns):
        low, high = max(0, part.skipped - seen), min(len(batch), end - seen)
        if high > low:
            batches.append(batch.slice(low, high - low))
        seen += len(batch)
        if seen >= end:
            break
    return pa.Table.from_batches(batches)
