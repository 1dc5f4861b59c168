"""From a file, or from bytes with a name, to a table: CSV, TSV, Parquet, Excel, and gzip of the text ones."""

from __future__ import annotations

import csv
import gzip
import io
import re
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
import pandas as pd

from cfad_core.core.errors import InvalidDataError

TEXT_SUFFIXES = (".csv", ".tsv", ".txt")
EXCEL_SUFFIXES = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
SUFFIXES = (*TEXT_SUFFIXES, *(f"{suffix}.gz" for suffix in TEXT_SUFFIXES), ".parquet", *EXCEL_SUFFIXES)

_SAMPLE = 256 * 1024  # bytes from which delimiter, decimal mark and encoding are recognised
_DELIMITERS = ",;\t|"
_MAX_NAME = 100
_DECIMAL_COMMA = re.compile(r"^[+-]?\d{1,3}(\.\d{3})*,\d+$|^[+-]?\d+,\d+$")
_THOUSANDS = re.compile(r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$")
_MISSING = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A", "<NA>")


@dataclass(frozen=True)
class Limits:
    """How large a table may be."""

    rows: int = 5_000_000
    columns: int = 1_000
    bytes: int = 2_000_000_000


def read_table(
    source: Path | bytes, *, name: str | None = None, sheet: str | None = None, limits: Limits | None = None
) -> pd.DataFrame:
    """Read a table with a header line.

    Parameters
    ----------
    source : a path, or the content of a file
    name : the file's name, by which the format is recognised; needed for bytes
    sheet : of an Excel file; the first one by default
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
    with reading(label, suffix):
        if suffix == ".parquet":
            table = _read_parquet(source, limits, label)
        elif suffix in EXCEL_SUFFIXES:
            table = _read_excel(source, sheet, label)
        else:
            table = _read_text(source, suffix, limits, label)
    check_shape(table.shape, limits, label)
    if table.empty:
        raise InvalidDataError(f"'{label}' has a header but no rows.")
    return table


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


def distinct_names(names: list[Any]) -> list[str]:
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


def excel_sheets(source: Path | bytes) -> list[str]:
    """The names of an Excel file's sheets."""
    from python_calamine import CalamineWorkbook

    with _open(source) as stream, CalamineWorkbook.from_filelike(stream) as book:
        return list(book.sheet_names)


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


def _open(source: Path | bytes) -> IO[bytes]:
    return io.BytesIO(source) if isinstance(source, bytes) else source.open("rb")


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

    with _open(source) as stream:
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


def _read_excel(source: Path | bytes, sheet: str | None, label: str) -> pd.DataFrame:
    from python_calamine import CalamineError

    try:
        sheets = excel_sheets(source)
        if sheet is not None and sheet not in sheets:
            raise InvalidDataError(f"'{label}' has no sheet '{sheet}'; it has: {', '.join(sheets)}.")
        with _open(source) as stream:
            cells = pd.read_excel(stream, sheet_name=sheet or 0, header=None, engine="calamine")
    except CalamineError as error:
        raise InvalidDataError(f"Cannot read '{label}' as an Excel file: {error}") from error
    if cells.empty:
        raise InvalidDataError(f"Sheet '{sheet or sheets[0]}' of '{label}' is empty.")
    table = cells.iloc[1:].reset_index(drop=True)
    table.columns = pd.Index(distinct_names(list(cells.iloc[0])))
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


def text_format(source: Path | bytes, suffix: str, limits: Limits, label: str) -> TextFormat:
    """Recognise encoding, delimiter, decimal mark and names of columns by how a text file begins."""
    packed = suffix.endswith(".gz")
    with _open(source) as stream:
        raw: IO[bytes] = gzip.GzipFile(fileobj=stream) if packed else stream  # type: ignore[assignment]
        sample = raw.read(_SAMPLE)
    if not sample.strip():
        raise InvalidDataError(f"'{label}' is empty.")
    encoding = _encoding(sample, whole=len(sample) < _SAMPLE)
    text = sample.decode(encoding, errors="ignore" if len(sample) == _SAMPLE else "strict")
    if "\0" in text:
        raise InvalidDataError(f"'{label}' is not a text file, whatever its name says.")
    options = _dialect(text, "\t" if suffix.startswith(".tsv") else _delimiter(text), limits, label)
    others = ("cp1252", "latin-1") if encoding == "utf-8" else ()  # latin-1 reads anything
    return TextFormat(packed, (encoding, *others), options)


def _read_text(source: Path | bytes, suffix: str, limits: Limits, label: str) -> pd.DataFrame:
    found = text_format(source, suffix, limits, label)
    for guess in found.encodings:
        with _open(source) as stream:
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


def _dialect(text: str, delimiter: str, limits: Limits, label: str) -> dict[str, Any]:
    """How pandas should read a file that begins with this text; refuses lines longer than the header."""
    records = _records(text, delimiter, 200)
    if not records:
        raise InvalidDataError(f"'{label}' is empty.")
    header = records[0]
    check_shape((0, len(header)), limits, label)
    for number, record in enumerate(records[1:], start=2):
        if len(record) > len(header):
            raise InvalidDataError(
                f"In '{label}', line {number} has {len(record)} fields but the header has {len(header)}; fix that "
                "line, or quote cells that hold the delimiter."
            )
    decimal_comma = _has_decimal_comma(records[1:], delimiter)
    return {
        "sep": delimiter,
        "decimal": "," if decimal_comma else ".",
        "thousands": "." if decimal_comma else None,
        "header": 0,
        "names": distinct_names(header),
        "index_col": False,
        "na_values": list(_MISSING),
        "keep_default_na": False,
        "skipinitialspace": True,
        "low_memory": False,
    }


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


def _encoding(sample: bytes, whole: bool) -> str:
    """By its byte order mark, else UTF-8 if it is that, else a code page of western languages."""
    for mark, name in ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16")):
        if sample.startswith(mark):
            return name
    try:
        sample.decode("utf-8")
    except UnicodeDecodeError as error:
        if not whole and error.start >= len(sample) - 3:
            return "utf-8"  # the sample ends inside a character
    else:
        return "utf-8"
    try:
        sample.decode("cp1252")
    except UnicodeDecodeError:
        return "latin-1"
    return "cp1252"


def _records(text: str, delimiter: str, count: int) -> list[list[str]]:
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    records: list[list[str]] = []
    for record in reader:
        if record:
            records.append(record)
        if len(records) >= count:
            break
    return records


def _delimiter(text: str) -> str:
    """The mark that cuts the first lines into the same number of fields, as many as possible."""

    def quality(mark: str) -> tuple[float, int]:
        records = _records(text, mark, 50)
        widths = [len(record) for record in records[:-1] or records]  # the last one may be cut
        common = max(set(widths), key=widths.count)
        return (widths.count(common) / len(widths), common) if common > 1 else (0.0, 1)

    return max(_DELIMITERS, key=quality)


def _has_decimal_comma(records: list[list[str]], delimiter: str) -> bool:
    """Numbers such as 3,14 and none such as 3.14 (with another delimiter than the comma); 3.140 may be thousands."""
    if delimiter == ",":
        return False
    cells = [cell.strip() for record in records for cell in record]
    return any(_DECIMAL_COMMA.match(cell) for cell in cells) and not any(
        re.match(r"^[+-]?\d+\.\d+$", cell) and not _THOUSANDS.match(cell) for cell in cells
    )
