"""A table that is too large for memory: Parquet files that are read part by part, always in the same parts.

What the parts are depends on the files alone, not on who reads them: a part is some row groups of a file, or a stretch
of one that is too large. So whatever is drawn or counted by part is the same wherever it is done.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pandas as pd

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.readers import distinct_names, plain_cells

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
    """

    source: Path
    files: tuple[Path, ...]
    columns: tuple[str, ...]
    parts: tuple[Part, ...]

    @property
    def rows(self) -> int:
        return sum(part.rows for part in self.parts)

    def read(self, part: Part, columns: Sequence[str] | None = None) -> pd.DataFrame:
        """The rows of a part, or some of their columns; a worker may call this for a table that another one opened.

        Raises
        ------
        InvalidDataError
            If the file cannot be read, or has changed.
        """
        import pyarrow as pa
        import pyarrow.parquet as pq

        wanted = list(self.columns if columns is None else columns)
        try:
            with pq.ParquetFile(part.file) as file:
                names = dict(zip(self.columns, file.schema_arrow.names, strict=True))
                found = _rows(file, part, [names[name] for name in wanted]).to_pandas()
        except (pa.ArrowException, OSError, ValueError) as error:
            raise InvalidDataError(f"Cannot read '{part.file}': {' '.join(str(error).split())[:300]}") from error
        if len(found) != part.rows:
            raise InvalidDataError(f"'{part.file}' has changed while it was read. Start again.")
        found = plain_cells(found[[names[name] for name in wanted]])
        found.columns = pd.Index(wanted)
        return found


def open_parts(source: Path) -> PartedTable:
    """The table in a Parquet file, or in all Parquet files of a folder, in the order of their names.

    Raises
    ------
    InvalidDataError
        If there is none, or the files do not have the same columns.
    """
    import pyarrow as pa
    import pyarrow.parquet as pq

    files = tuple(sorted(source.glob("*.parquet"))) if source.is_dir() else (source,)
    if not files:
        raise InvalidDataError(f"Expected Parquet files (*.parquet) in the folder '{source}'; there are none.")
    parts: list[Part] = []
    schema: pa.Schema | None = None
    for path in files:
        try:
            with pq.ParquetFile(path) as file:
                _check_alike(path, file.schema_arrow, files[0], schema or file.schema_arrow)
                schema = schema or file.schema_arrow
                parts += _parts_of(path, file.metadata, parts[-1] if parts else None)
        except (pa.ArrowException, OSError) as error:
            raise InvalidDataError(f"Cannot read '{path}' as a Parquet file: {str(error)[:300]}") from error
    if schema is None or not parts:
        raise InvalidDataError(f"'{source}' has columns but no rows.")
    return PartedTable(source.absolute(), files, tuple(distinct_names(schema.names)), tuple(parts))


def digest_of(files: Sequence[Path]) -> str:
    """sha256 of what is in the files, one after the other; their names do not count."""
    found = hashlib.sha256()
    for path in files:
        with path.open("rb") as stream:
            while block := stream.read(_BLOCK):
                found.update(block)
    return found.hexdigest()


def _check_alike(path: Path, schema: Any, first: Path, expected: Any) -> None:
    """Refuse a file whose columns are not those of the first one; an integer may be a longer one elsewhere."""
    if list(schema.names) != list(expected.names):
        odd = sorted(set(schema.names) ^ set(expected.names))
        what = f"they differ in {', '.join(map(repr, odd[:5]))}" if odd else "they are in another order"
        raise InvalidDataError(f"All files of a table must have the same columns; in '{path.name}' and "
                               f"'{first.name}' {what}.")  # fmt: skip
    for name, kind, other in zip(schema.names, schema.types, expected.types, strict=True):
        if _family(kind) != _family(other):
            raise InvalidDataError(
                f"Column '{name}' holds {other} in '{first.name}', but {kind} in '{path.name}'; expected one kind in "
                "all files. Write them anew."
            )


def _family(kind: Any) -> str:
    import pyarrow.types as types

    if types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind):
        return "number"
    if types.is_dictionary(kind):
        return _family(kind.value_type)
    return "text" if types.is_string(kind) or types.is_large_string(kind) else str(kind)


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
            for start in range(0, rows, most):
                stretch = min(most, rows - start)
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
