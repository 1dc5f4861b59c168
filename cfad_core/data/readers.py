"""From a file, or from bytes with a name, to a table: CSV, TSV, Parquet, Excel, and gzip of the text ones."""

from __future__ import annotations

import csv
import gzip
import io
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.dialect import LINES, delimiter_of, dialect, encoding_of, records
from cfad_core.data.excel import excel_cells, opened
from cfad_core.data.first_lines import FirstLines, doubt_about_names, title_lines

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
EXCEL_SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
SUFFIXES = (*TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES), ".parquet", *EXCEL_SUFFIXES)

_SAMPLE = 256 * 1024  # bytes from which delimiter, decimal mark and encoding are recognised
_MAX_NAME = 100


@dataclass(frozen=True)
class Limits:
    """How large a table may be."""

    rows: int = 5_000_000
    columns: int = 1_000
    bytes: int = 2_000_000_000


def read_table(
    source: Path | bytes,
    *,
    name: str | None = None,
    sheet: str | None = None,
    header: bool = True,
    limits: Limits | None = None,
) -> pd.DataFrame:
    """Read a table; title lines above it are left out.

    Parameters
    ----------
    source : a path, or the content of a file
    name : the file's name, by which the format is recognised; needed for bytes
    sheet : of an Excel file; the largest one by default
    header : whether its first line holds the columns' names; without, they are called ``column 1`` and so on
    limits : refused beyond; checked on the file's size before it is read

    Returns
    -------
    DataFrame whose column names are distinct, not empty and at most 100 characters long.

    Raises
    ------
    InvalidDataError
        If there is no such file, it holds no table, or a table beyond the limits.
    """
    limits = limits or Limits()
    label, suffix = _checked(source, name, limits)
    with reading(label, suffix):
        if suffix == ".parquet":
            table = _read_parquet(source, limits, label)
        elif suffix in EXCEL_SUFFIXES:
            table = _read_excel(source, sheet, label, header=header)
        else:
            table = _read_text(source, suffix, limits, label, header=header)
    check_shape(table.shape, limits, label)
    if table.empty:
        raise InvalidDataError(f"'{label}' has a header but no rows.")
    return table


def _checked(source: Path | bytes, name: str | None, limits: Limits) -> tuple[str, str]:
    """What a file is called, and its known ending; refuses one that is not there, or too large."""
    if isinstance(source, bytes):
        if name is None:
            raise InvalidDataError("Bytes need the name of the file they come from: the format is recognised by it.")
        label, size = name, len(source)
    else:
        if not source.is_file():
            raise InvalidDataError(f"There is no file '{source}'.")
        label, size = name or str(source), source.stat().st_size
    suffix = suffix_of(label)
    if size > limits.bytes:
        raise InvalidDataError(f"'{label}' has {size:,} bytes; at most {limits.bytes:,} are read. Use a sample of it.")
    return label, suffix


def first_lines(source: Path | bytes, *, name: str | None = None, sheet: str | None = None) -> FirstLines:
    """How a file begins, and whether its first line looks like names of columns; of a text file only that is read.

    Raises
    ------
    InvalidDataError
        If there is no such file, or it holds no table.
    """
    label, suffix = _checked(source, name, Limits())
    if suffix == ".parquet":
        return FirstLines()
    with reading(label, suffix):
        if suffix in EXCEL_SUFFIXES:
            cells = excel_cells(source, sheet, label, rows=LINES)
            lines = [["" if pd.isna(cell) else str(cell) for cell in line] for line in cells.itertuples(index=False)]
        else:
            _, _, text = _beginning(source, suffix, label)
            lines = records(text, _delimiter_of(text, suffix), LINES)
    start = title_lines(lines)
    titles = tuple(" ".join(cell for cell in line if cell.strip()) for line in lines[:start])
    rest = lines[start:]
    doubt = doubt_about_names(rest[0], rest[1:]) if rest else ""
    return FirstLines(titles, tuple(tuple(line) for line in rest), doubt)


def beyond_limits(source: Path, limits: Limits | None = None) -> bool:
    """Whether a file is too large to be read whole."""
    limits = limits or Limits()
    if not source.is_file():
        return False
    if source.stat().st_size > limits.bytes:
        return True
    if source.suffix.lower() != ".parquet":
        return False
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        return bool(pq.read_metadata(source).num_rows > limits.rows)
    except (pa.ArrowException, OSError):
        return False  # whoever reads it says what is wrong


def distinct_names(names: Sequence[Any]) -> list[str]:
    """Names without control characters, not empty, at most 100 characters long and all different.

    Nothing else is changed: what a name would mean as Markdown, HTML or a formula is a matter of showing it.
    """
    clean: list[str] = []
    taken: set[str] = set()
    for position, raw in enumerate(names, start=1):
        text = "" if raw is None or (isinstance(raw, float) and np.isnan(raw)) else str(raw)
        text = " ".join("".join(c if c.isprintable() else " " for c in text).split())
        base = (text if len(text) <= _MAX_NAME else text[: _MAX_NAME - 1] + "…") or f"column {position}"
        name, count = base, 1
        while name in taken:
            count += 1
            tail = f" ({count})"
            name = base[: _MAX_NAME - len(tail)] + tail
        taken.add(name)
        clean.append(name)
    return clean


@contextmanager
def reading(label: str, suffix: str) -> Iterator[None]:
    """Whatever is wrong with a file while it is read, said as one thing."""
    try:
        yield
    except InvalidDataError:
        raise
    except (OSError, EOFError, zlib.error, ValueError, UnicodeError, csv.Error, pd.errors.ParserError) as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise InvalidDataError(f"Cannot read '{label}' as {_kind(suffix)}: {reason[:300]}") from error


def suffix_of(label: str) -> str:
    """The known ending of a file's name, by which its format is recognised."""
    lower = label.lower()
    for suffix in sorted(SUFFIXES, key=len, reverse=True):
        if lower.endswith(suffix):
            return suffix
    raise InvalidDataError(f"'{label}' has no known format; known are: {', '.join(SUFFIXES)}.")


def _kind(suffix: str) -> str:
    if suffix == ".parquet":
        return "a Parquet file"
    return "an Excel file" if suffix in EXCEL_SUFFIXES else "a CSV table"


def check_shape(shape: tuple[int, ...], limits: Limits, label: str) -> None:
    """Refuse a table beyond the limits."""
    rows, columns = shape
    if rows > limits.rows:
        raise InvalidDataError(f"'{label}' has {rows:,} rows; at most {limits.rows:,} are read. Use a sample of it.")
    if columns > limits.columns:
        raise InvalidDataError(
            f"'{label}' has {columns:,} columns; at most {limits.columns:,} are read. Leave out what is not needed."
        )


def _read_parquet(source: Path | bytes, limits: Limits, label: str) -> pd.DataFrame:
    import pyarrow.parquet as pq

    with opened(source) as stream:
        file = pq.ParquetFile(stream)
        check_shape((file.metadata.num_rows, file.metadata.num_columns), limits, label)
        table = _plain_cells(file.read().to_pandas())
    table.columns = pd.Index(distinct_names(list(table.columns)))
    return table.reset_index(drop=True)


def _plain_cells(table: pd.DataFrame) -> pd.DataFrame:
    """Cells that an audit can compare: spans of time as seconds; lists, records and bytes as text."""
    plain = {}
    for position in range(table.shape[1]):
        cells = table.iloc[:, position]
        if pd.api.types.is_timedelta64_dtype(cells):
            cells = cells.dt.total_seconds()
        elif cells.dtype == object and cells.map(lambda cell: isinstance(cell, (np.ndarray, list, dict, bytes))).any():
            cells = cells.map(cell_text)
        plain[position] = cells
    result = pd.DataFrame(plain)
    result.columns = table.columns
    return result


def cell_text(cell: Any) -> str:
    """A list, a record or bytes as text."""
    return str(cell.tolist() if isinstance(cell, np.ndarray) else cell)


def _read_excel(source: Path | bytes, sheet: str | None, label: str, *, header: bool) -> pd.DataFrame:
    cells = excel_cells(source, sheet, label)
    start = title_lines(
        [["" if pd.isna(cell) else str(cell) for cell in line] for line in cells.head(LINES).itertuples(index=False)]
    )
    names = list(cells.iloc[start]) if header else [None] * cells.shape[1]
    table = cells.iloc[start + header :].reset_index(drop=True)
    table.columns = pd.Index(distinct_names(names))
    inferred: pd.DataFrame = table.infer_objects()
    return inferred


@dataclass(frozen=True)
class TextFormat:
    """How a text file is read.

    Attributes
    ----------
    packed : by gzip
    encodings : to try in turn: a file may turn out not to be UTF-8 long after the sample
    options : of pandas
    """

    packed: bool
    encodings: tuple[str, ...]
    options: Mapping[str, Any]


def text_format(source: Path | bytes, suffix: str, limits: Limits, label: str, *, header: bool = True) -> TextFormat:
    """Recognise encoding, delimiter, decimal mark and names of columns by how a text file begins."""
    packed, encoding, text = _beginning(source, suffix, label)
    names, options = dialect(text, _delimiter_of(text, suffix), label, header=header)
    check_shape((0, len(names)), limits, label)
    options["names"] = distinct_names(names)
    others = ("cp1252", "latin-1") if encoding == "utf-8" else ()  # latin-1 reads anything
    return TextFormat(packed, (encoding, *others), options)


def _beginning(source: Path | bytes, suffix: str, label: str) -> tuple[bool, str, str]:
    """Whether a text file is packed, its encoding, and its first lines."""
    packed = suffix.endswith(".gz")
    with opened(source) as stream:
        raw: IO[bytes] = gzip.GzipFile(fileobj=stream) if packed else stream  # type: ignore[assignment]
        sample = raw.read(_SAMPLE)
    if not sample.strip():
        raise InvalidDataError(f"'{label}' is empty.")
    encoding = encoding_of(sample, whole=len(sample) < _SAMPLE)
    text = sample.decode(encoding, errors="ignore" if len(sample) == _SAMPLE else "strict")
    if "\0" in text:
        raise InvalidDataError(f"'{label}' is not a text file, whatever its name says.")
    return packed, encoding, text


def _delimiter_of(text: str, suffix: str) -> str:
    return "\t" if suffix.startswith(".tsv") else delimiter_of(text)


def _read_text(source: Path | bytes, suffix: str, limits: Limits, label: str, *, header: bool) -> pd.DataFrame:
    found = text_format(source, suffix, limits, label, header=header)
    for guess in found.encodings:
        with opened(source) as stream:
            unpacked: Any = _Bounded(gzip.GzipFile(fileobj=stream), limits.bytes, label) if found.packed else stream
            try:
                table: pd.DataFrame = pd.read_csv(unpacked, encoding=guess, nrows=limits.rows + 1, **found.options)
            except UnicodeDecodeError:
                continue
            return table
    raise unknown_encoding(label)


def unknown_encoding(label: str) -> InvalidDataError:
    """What to say of a text file in none of the encodings."""
    return InvalidDataError(f"'{label}' is in no encoding that can be read; save it as UTF-8.")


class _Bounded(io.RawIOBase):
    """A stream that refuses to give more than its limit: a small gzip file can hold a huge table."""

    def __init__(self, stream: gzip.GzipFile, limit: int, label: str) -> None:
        self._stream, self._left, self._limit, self._label = stream, limit, limit, label

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self._stream.read(size)
        self._left -= len(data)
        if self._left < 0:
            raise InvalidDataError(f"'{self._label}' unpacks to more than {self._limit:,} bytes. Use a sample of it.")
        return data
