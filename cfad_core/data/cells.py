"""New values in the cells of a column, which keeps its type wherever that can hold them exactly.

The row that is shown must be the row that was scored: what is written here is read back by ``columns`` as the same
number or text, to the bit.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.data.columns import as_dates, as_numbers

MICROSECONDS_A_DAY = 86_400_000_000
_BOOLEANS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
_EXACT_INTEGER = 2.0**53  # beyond, whole numbers written digit by digit are no floats any more
_CALENDAR = (-719_162 * MICROSECONDS_A_DAY, 2_932_897 * MICROSECONDS_A_DAY - 1)  # the years 1 to 9999, since 1970


def with_missing(cells: pd.Series[Any], which: Bools) -> pd.Series[Any]:
    """The cells, missing where ``which`` (n,) says so."""
    if not which.any():
        return cells
    if isinstance(cells.dtype, np.dtype) and cells.dtype.kind in "iub":  # these types know no missing cells
        cells = cells.convert_dtypes()
    return cells.mask(which)


def with_numbers(cells: pd.Series[Any], which: Bools, numbers: Floats, *, whole: bool) -> pd.Series[Any]:
    """The cells, with ``numbers`` (n,) where ``which`` (n,) says so.

    Parameters
    ----------
    whole : whether the numbers are
    """
    if not which.any():
        return cells
    if _holds_objects(cells):
        known = cells.dropna()
        style = _text_style(known) if all(isinstance(cell, str) for cell in known) else None
        return with_values(cells, which, [_written(number, style, whole=whole) for number in numbers[which]])
    if whole and pd.api.types.is_integer_dtype(cells) and _fit_into(numbers[which], cells):
        integers = pd.Series(np.where(which, numbers, 0.0), index=cells.index).astype(cells.dtype)
        return cells.mask(which, integers)
    kind = np.float64 if isinstance(cells.dtype, np.dtype) else pd.Float64Dtype()
    return cells.astype(kind).mask(which, pd.Series(numbers, index=cells.index).astype(kind))


DateUnit = Literal["D", "s", "us"]


def with_dates(cells: pd.Series[Any], which: Bools, microseconds: NDArray[np.int64], unit: DateUnit) -> pd.Series[Any]:
    """The cells, with dates where ``which`` (n,) says so: ``microseconds`` (n,) since 1970, in UTC.

    Parameters
    ----------
    unit : to which dates are written that are text: days, seconds or microseconds
    """
    if not which.any():
        return cells
    chosen = np.clip(microseconds[which], *_CALENDAR)
    if pd.api.types.is_datetime64_any_dtype(cells):
        return _with_timestamps(cells, which, chosen.astype("datetime64[us]"))
    known = cells.dropna()
    if unit == "D" and len(known) and all(type(cell) is dt.date for cell in known):
        return with_values(cells, which, chosen.astype("datetime64[us]").astype("datetime64[D]").tolist())
    texts = np.datetime_as_string(chosen.astype("datetime64[us]"), unit=unit)  # pads years to four digits
    return with_values(cells, which, [str(text).replace("T", " ") for text in texts])


def with_values(cells: pd.Series[Any], which: Bools, values: Sequence[Any]) -> pd.Series[Any]:
    """The cells, with one of ``values`` for each of ``which`` (n,), in order."""
    if not which.any():
        return cells
    if pd.api.types.is_bool_dtype(cells) and all(isinstance(value, bool) for value in values):
        kind: Any = cells.dtype
    elif isinstance(cells.dtype, pd.StringDtype) and all(isinstance(value, str) for value in values):
        kind = cells.dtype
    else:
        kind = object
        # as text: what another type shows of a cell is not always what its objects would show
        cells = cells if _holds_objects(cells) else cells.astype(str).astype(object).mask(cells.isna())
    new = np.empty(len(cells), dtype=object)
    new[which] = values
    return cells.astype(kind).mask(which, pd.Series(np.where(which, new, values[0]), cells.index).astype(kind))


def _holds_objects(cells: pd.Series[Any]) -> bool:
    return cells.dtype == object or isinstance(cells.dtype, (pd.StringDtype, pd.CategoricalDtype))


@dataclass(frozen=True)
class _TextStyle:
    """How numbers are written that are texts: all with so many decimals, or padded with zeros to one width."""

    decimals: int | None
    width: int


def _text_style(texts: pd.Series[Any]) -> _TextStyle:
    written = [str(text).strip() for text in texts.unique()]
    decimals, widths = {len(text.partition(".")[2]) for text in written}, {len(text) for text in written}
    padded = len(widths) == 1 and any(text[:1] == "0" and text[1:2].isdecimal() for text in written)
    return _TextStyle(decimals.pop() if len(decimals) == 1 else None, widths.pop() if padded else 0)


def _written(number: float, style: _TextStyle | None, *, whole: bool) -> Any:
    """The number as an object, or as a text that means it, written as the others if it can be."""
    value: Any = int(number) if whole and abs(number) < _EXACT_INTEGER else float(number)
    if style is None:
        return value
    text = repr(value)
    if style.decimals and float(alike := f"{number:.{style.decimals}f}") == number:
        text = alike
    return text.zfill(style.width)


def _fit_into(numbers: Floats, cells: pd.Series[Any]) -> bool:
    """Whether the column's type of integers can hold the whole numbers."""
    limits = np.iinfo(getattr(cells.dtype, "numpy_dtype", cells.dtype))
    return bool((numbers >= float(limits.min)).all() and (numbers < float(int(limits.max) + 1)).all())


def _with_timestamps(cells: pd.Series[Any], which: Bools, chosen: NDArray[np.datetime64]) -> pd.Series[Any]:
    """In the column's own resolution and time zone; in microseconds if its resolution cannot hold the new ones."""
    dates = np.full(len(cells), np.datetime64(0, "us"))
    dates[which] = chosen
    new = pd.Series(dates, index=cells.index).dt.tz_localize("UTC").dt.tz_convert(cells.dt.tz)
    try:
        fine = new.dt.as_unit(cells.dt.unit)
        exact = bool((fine.dt.as_unit("us") == new).all())
    except pd.errors.OutOfBoundsDatetime:  # nanoseconds end in 2262
        exact = False
    return cells.mask(which, fine) if exact else cells.dt.as_unit("us").mask(which, new)


def as_held_by(cells: pd.Series[Any], other: pd.Series[Any]) -> pd.Series[Any]:
    """The cells in the type of another column that holds the same kind of thing.

    Raises
    ------
    InvalidDataError
        If one of them cannot be.
    """
    if cells.dtype == other.dtype or (_is_number(cells) and _is_number(other)):
        return cells
    if pd.api.types.is_bool_dtype(other):
        found: pd.Series[Any] = cells.map(lambda cell: _BOOLEANS.get(str(cell).strip().casefold()), na_action="ignore")
    elif _is_number(other):
        found = pd.Series(as_numbers(cells), index=cells.index)
    elif pd.api.types.is_datetime64_any_dtype(other):
        found = as_dates(cells).dt.tz_convert(other.dt.tz)
    else:
        found = cells.astype(str).mask(cells.isna())
    lost = found.isna() & cells.notna()
    if lost.any():
        raise InvalidDataError(
            f"Column '{cells.name}' holds {other.dtype} in the table, but the test table has {int(lost.sum())} other "
            f"cells, such as '{str(cells[lost].iloc[0])[:40]}'. Give both the same type."
        )
    return found if found.isna().any() else found.astype(other.dtype)


def _is_number(cells: pd.Series[Any]) -> bool:
    return pd.api.types.is_numeric_dtype(cells) and not pd.api.types.is_bool_dtype(cells)
