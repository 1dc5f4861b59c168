"""How a text file writes a table: encoding, delimiter, decimal mark, and where the names of columns are."""

from __future__ import annotations

import csv
import io
import re
from typing import Any

from cfad_core.core.errors import InvalidDataError
from cfad_core.data.first_lines import MISSING_TEXTS, title_lines

LINES = 200  # of a file, by which it is judged
_DELIMITERS = ",;\t|"
_DECIMAL_COMMA = re.compile(r"^[+-]?\d{1,3}(\.\d{3})*,\d+$|^[+-]?\d+,\d+$")
_THOUSANDS = re.compile(r"^[+-]?[1-9]\d{0,2}(\.\d{3})+$")
_THOUSANDS_COMMA = re.compile(r"^[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d+)?$")
_COMMA_IN_NUMBER = re.compile(r"^[+-]?\d[\d,]*,[\d,]*(\.\d+)?$")


def dialect(text: str, delimiter: str, label: str, *, header: bool) -> tuple[list[str | None], dict[str, Any]]:
    """The names of columns, None where there are none, and how pandas should read a file that begins with this text.

    Raises
    ------
    InvalidDataError
        If it is empty, or a line is longer than the first one of the table.
    """
    lines = records(text, delimiter, LINES, blank=True)
    start = first = _place(lines, title_lines([line for line in lines if line]))
    known = [line for line in lines[start:] if line]
    if not known:
        raise InvalidDataError(f"'{label}' is empty.")
    names: list[str | None] = list(known[0])
    ends_in_delimiter = header and _ends_in_delimiter(names, known[1:])
    if ends_in_delimiter:
        start += 1 + lines[start:].index(known[0])
        names = [*names, None]
    else:
        _refuse_longer(known, first, label, "the header" if header else "the first line")
    decimal_comma = _has_decimal_comma(known[1:], delimiter)
    thousands_comma = not decimal_comma and _has_thousands_comma(known[1:])
    return names if header else [None] * len(names), {
        "sep": delimiter,
        "decimal": "," if decimal_comma else ".",
        "thousands": "." if decimal_comma else "," if thousands_comma else None,
        "header": 0 if header and not ends_in_delimiter else None,
        "skiprows": start,
        "index_col": False,
        "na_values": list(MISSING_TEXTS),
        "keep_default_na": False,
        "skipinitialspace": True,
        "low_memory": False,
    }


def _place(lines: list[list[str]], titles: int) -> int:
    """How many lines the first so many that are not blank take."""
    taken = 0
    for place, line in enumerate(lines):
        if taken == titles:
            return place
        taken += bool(line)
    return len(lines)


def _ends_in_delimiter(names: list[str | None], below: list[list[str]]) -> bool:
    """Whether every line but that of the names has one empty cell more; the last one may be cut."""
    return len(below) > 1 and all(len(line) == len(names) + 1 and not line[-1] for line in below[:-1])


def _refuse_longer(known: list[list[str]], first: int, label: str, what: str) -> None:
    for number, line in enumerate(known[1:], start=first + 2):
        if len(line) > len(known[0]):
            raise InvalidDataError(
                f"In '{label}', line {number} has {len(line)} fields but {what} has {len(known[0])}; fix that "
                "line, or quote cells that hold the delimiter."
            )


def _has_thousands_comma(lines: list[list[str]]) -> bool:
    """Numbers such as 1,234.5 and no other digits with commas between them."""
    with_comma = [cell.strip() for line in lines for cell in line if _COMMA_IN_NUMBER.match(cell.strip())]
    return bool(with_comma) and all(map(_THOUSANDS_COMMA.match, with_comma))


def encoding_of(sample: bytes, whole: bool) -> str:
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


def records(text: str, delimiter: str, count: int, *, blank: bool = False) -> list[list[str]]:
    """The cells of the first lines, with or without blank ones."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, skipinitialspace=True)
    found: list[list[str]] = []
    for record in reader:
        if record or blank:
            found.append(record)
        if len(found) >= count:
            break
    return found


def delimiter_of(text: str) -> str:
    """The mark that cuts the first lines into the same number of fields, as many as possible."""

    def quality(mark: str) -> tuple[float, int]:
        found = records(text, mark, 50)
        widths = [len(record) for record in found[:-1] or found]  # the last one may be cut
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
