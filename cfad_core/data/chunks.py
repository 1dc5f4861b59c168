"""From a table of any size to tables of some of its rows, one after the other, in memory that does not grow.

Every chunk holds the cells that the same rows have when the whole table is read: of the same types, too. A column's
type is a matter of all its cells (``1`` is another category than ``1.0``), so text files are read twice, first to see
what each column holds; of Parquet files it is enough to know which columns have missing cells. Whole numbers of more
than 64 bits are the one exception: they are read as text.
"""

from __future__ import annotations

import gzip
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.errors import InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.data.readers import (
    EXCEL_SUFFIXES,
    Limits,
    TextFormat,
    cell_text,
    check_shape,
    distinct_names,
    read_table,
    reading,
    suffix_of,
    text_format,
    unknown_encoding,
)

STAGE = "reading"
_CELLS = 1_500_000  # of a chunk
_FEWEST, _MOST = 1_024, 65_536  # rows of one
_BUFFER = 1 << 20  # bytes of a Parquet column that are read at once


@dataclass(frozen=True)
class Chunks:
    """A table that is read chunk by chunk, as often as somebody iterates over it.

    The chunks' index is the position of their rows in the whole table.

    Attributes
    ----------
    rows : of the whole table
    columns : their names
    """

    rows: int
    columns: tuple[str, ...]
    _read: Callable[[], Iterator[pd.DataFrame]] = field(repr=False)

    def __iter__(self) -> Iterator[pd.DataFrame]:
        done = 0
        for chunk in self._read():
            chunk.index = pd.RangeIndex(done, done + len(chunk))
            done += len(chunk)
            yield chunk


def open_chunks(
    source: Path,
    *,
    sheet: str | None = None,
    header: bool = True,
    rows: int | None = None,
    progress: Progress | None = None,
) -> Chunks:
    """Look at a table that will be read chunk by chunk.

    Parameters
    ----------
    source : a file as ``read_table`` reads, or a folder: all its Parquet files, in the order of their names
    sheet : of an Excel file, which is read whole and in one chunk; the largest one by default
    header : whether the first line holds the columns' names
    rows : of a chunk; by default as many as have about a million cells

    Raises
    ------
    InvalidDataError
        If there is no such file, or it holds no table.
    """
    if source.is_dir():
        parts = sorted(source.glob("*.parquet"))
        if not parts:
            raise InvalidDataError(f"There is no Parquet file in the folder '{source}'.")
        return _parquet(parts, rows)
    if not source.is_file():
        raise InvalidDataError(f"There is no file '{source}'.")
    suffix = suffix_of(str(source))
    if suffix in EXCEL_SUFFIXES:
        table = read_table(source, sheet=sheet, header=header)
        return Chunks(len(table), tuple(table.columns), lambda: iter([table.copy()]))
    if suffix == ".parquet":
        return _parquet([source], rows)
    return _text(source, suffix, rows, progress or Progress(), header=header)


def _size(columns: int, rows: int | None) -> int:
    """Rows of a chunk."""
    return rows or int(np.clip(_CELLS // max(1, columns), _FEWEST, _MOST)) // _FEWEST * _FEWEST


# Parquet


def _parquet(parts: Sequence[Path], rows: int | None) -> Chunks:
    import pyarrow as pa

    label, suffix = str(parts[0] if len(parts) == 1 else parts[0].parent), ".parquet"
    with reading(label, suffix):
        schema = common_schema(parts)
        missing, total = missing_cells(parts, schema.names)
        names = distinct_names(list(schema.empty_table().to_pandas().columns))
    check_shape((0, len(names)), Limits(), label)
    if not total:
        raise InvalidDataError(f"'{label}' has a header but no rows.")
    size = _size(len(names), rows)

    def read() -> Iterator[pd.DataFrame]:
        for part in parts:
            with reading(str(part), suffix), _opened(part) as file:
                for batch in file.iter_batches(batch_size=size):
                    table = pa.Table.from_batches([batch])
                    if not table.schema.equals(schema):
                        table = table.select(schema.names).cast(schema)
                    chunk = as_in_whole(table.to_pandas(), table, missing, total)
                    chunk.columns = pd.Index(names)
                    yield chunk

    return Chunks(total, tuple(names), read)


def _opened(part: Path) -> Any:
    import pyarrow.parquet as pq

    return pq.ParquetFile(part, buffer_size=_BUFFER, pre_buffer=False)


def common_schema(parts: Sequence[Path]) -> Any:
    """The columns of all files: the same, in types that hold all of them."""
    import pyarrow as pa

    schemas = []
    for part in parts:
        with _opened(part) as file:
            schemas.append(file.schema_arrow)
        if sorted(schemas[-1].names) != sorted(schemas[0].names):
            other = sorted(set(schemas[-1].names) ^ set(schemas[0].names))
            raise InvalidDataError(
                f"All Parquet files of a folder must have the same columns; '{part.name}' and '{parts[0].name}' differ "
                f"in: {', '.join(other[:5])}."
            )
    try:
        return pa.unify_schemas(schemas, promote_options="permissive") if len(parts) > 1 else schemas[0]
    except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
        raise InvalidDataError(
            f"The Parquet files of '{parts[0].parent}' differ in a column's type: {error}"
        ) from error


def missing_cells(parts: Sequence[Path], names: Sequence[str]) -> tuple[dict[str, int], int]:
    """By column, how many cells are missing; and how many rows there are."""
    missing, total = dict.fromkeys(names, 0), 0
    for part in parts:
        with _opened(part) as file:
            about = file.metadata
            total += about.num_rows
            groups = [about.row_group(k) for k in range(about.num_row_groups)]
            counted: dict[str, int] = {}
            for place in range(about.num_columns if groups else 0):
                found = [group.column(place) for group in groups]
                if all(one.statistics is not None and one.statistics.has_null_count for one in found):
                    nulls = sum(one.statistics.null_count for one in found)
                    counted[found[0].path_in_schema] = nulls
            for name in names:
                missing[name] += counted[name] if name in counted else _count_missing(file, name)
    return missing, total


def _count_missing(file: Any, name: str) -> int:
    """Where the file itself does not say; of lists and records it does not."""
    return sum(batch.column(0).null_count for batch in file.iter_batches(batch_size=_MOST, columns=[name]))


def as_in_whole(chunk: pd.DataFrame, table: Any, missing: Mapping[str, int], total: int) -> pd.DataFrame:
    """The cells in the types that they have if all rows are read at once, as ``read_table`` does."""
    import pyarrow as pa

    found: dict[int, pd.Series[Any]] = {}
    for place, name in enumerate(chunk.columns):
        cells = chunk.iloc[:, place]
        kind = table.schema.field(name).type if name in missing else None
        if pd.api.types.is_timedelta64_dtype(cells):
            cells = cells.dt.total_seconds()
        elif kind is not None and (pa.types.is_nested(kind) or _holds_bytes(kind)) and missing[name] < total:
            cells = cells.astype(object).map(cell_text)
        elif kind is not None and missing[name] and isinstance(cells.dtype, np.dtype):
            # numpy has no missing whole numbers, and no missing True and False
            cells = cells.astype({"i": np.float64, "u": np.float64, "b": object}.get(cells.dtype.kind, cells.dtype))
        found[place] = cells
    return pd.DataFrame(found)


def _holds_bytes(kind: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_binary(kind) or pa.types.is_large_binary(kind) or pa.types.is_fixed_size_binary(kind))


# Text


def _text(source: Path, suffix: str, rows: int | None, progress: Progress, *, header: bool) -> Chunks:
    label = str(source)
    with reading(label, suffix):
        form = text_format(source, suffix, Limits(), label, header=header)
        names = form.options["names"]
        size = _size(len(names), rows)
        encoding, kinds, total = _first_reading(source, form, size, progress)
    if not total:
        raise InvalidDataError(f"'{label}' has a header but no rows.")

    def read() -> Iterator[pd.DataFrame]:
        given = {name: kind for name, kind in kinds.items() if kind != "object"}
        with reading(label, suffix), source.open("rb") as stream:
            for chunk in _pieces(stream, form, size, encoding=encoding, dtype=given):
                for name, kind in kinds.items():
                    if kind == "object":  # True, False and missing
                        chunk[name] = chunk[name].astype(object)
                yield chunk

    return Chunks(total, tuple(names), read)


def _pieces(stream: Any, form: TextFormat, size: int, **more: Any) -> Iterator[pd.DataFrame]:
    raw: Any = gzip.GzipFile(fileobj=stream) if form.packed else stream
    with pd.read_csv(raw, chunksize=size, **form.options, **more) as pieces:
        yield from pieces


def _first_reading(source: Path, form: TextFormat, size: int, progress: Progress) -> tuple[str, dict[str, str], int]:
    """The encoding in which a text file can be read to its end, the type of each column, and the number of rows."""
    for encoding in form.encodings:
        seen: dict[str, set[str]] = {name: set() for name in form.options["names"]}
        total, all_bytes = 0, source.stat().st_size
        try:
            with source.open("rb") as stream:
                for piece in _pieces(stream, form, size, encoding=encoding):
                    total += len(piece)
                    for name, cells in piece.items():
                        seen[str(name)] |= _seen(cells)
                    progress.tick(STAGE, min(stream.tell(), all_bytes), all_bytes)
        except UnicodeDecodeError:
            continue
        return encoding, {name: _type_of(found) for name, found in seen.items()}, total
    raise unknown_encoding(str(source))


def _seen(cells: pd.Series[Any]) -> set[str]:
    """What a piece of a column holds, as pandas reads it."""
    found = {"missing"} if cells.isna().any() else set()
    kind = cells.dtype.kind if isinstance(cells.dtype, np.dtype) else "O"
    if kind == "i":
        return found | {"int"} | ({"negative"} if (cells < 0).any() else set())
    if kind == "f":
        return found | ({"float"} if cells.notna().any() else set())
    if kind in "ub":
        return found | {"large" if kind == "u" else "bool"}
    types = set(map(type, cells.dropna().unique())) if cells.dtype == object else {str}
    return found | ({"bool"} if types == {bool} else {"larger"} if types == {int} else {"text"})


def _type_of(seen: set[str]) -> str:
    """The type that pandas gives a column in which all of this was seen: ``object`` is True, False and missing."""
    known = seen - {"missing", "negative"}
    if "text" in known or ("bool" in known and len(known) > 1):
        return "str"
    if "bool" in known:
        return "object" if "missing" in seen else "bool"
    if "float" in known or not known:
        return "float64"
    if known == {"int"}:
        return "float64" if "missing" in seen else "int64"
    return "uint64" if "larger" not in known and not seen & {"missing", "negative"} else "str"
