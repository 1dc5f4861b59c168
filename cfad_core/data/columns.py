"""The cells of a column as numbers, days or texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.arrays import Bools, Floats

MISSING = "(missing)"
DAY = 86_400.0  # seconds
MICROSECOND = 1e-6  # seconds; the finest that is read of a date
_FIRST = 200  # cells that are looked at before all are
_LARGEST = 1e100  # beyond, a number is as good as infinite: its square is not one any more


def as_numbers(cells: pd.Series[Any]) -> Floats:
    """Numbers; missing cells and those that hold no number are nan."""
    if isinstance(cells.dtype, pd.StringDtype):  # a text is read once, however many cells have it
        places, texts = pd.factorize(cells)
        return np.append(as_numbers(pd.Series(texts, dtype=object)), np.nan)[places]
    return pd.to_numeric(cells, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)


def as_dates(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Moments in UTC; missing cells and those that hold no date are NaT. Days with and without a time may be mixed."""
    dates = pd.to_datetime(cells, errors="coerce", utc=True, format="ISO8601")
    if (dates.isna() & cells.notna()).any():  # written in another way, which the first cell shows
        return pd.to_datetime(cells, errors="coerce", utc=True)
    return dates


def as_time(cells: pd.Series[Any], unit: float = DAY) -> Floats:
    """Time since 1970 in units of so many seconds; missing cells and those that hold no date are nan."""
    dates = as_dates(cells).dt.as_unit("us")
    microseconds = dates.astype(np.int64).to_numpy(dtype=np.float64)
    return np.where(dates.isna(), np.nan, microseconds / np.rint(unit / MICROSECOND))


def as_texts(cells: pd.Series[Any]) -> pd.Series[Any]:
    """Categories as text; missing cells are a category of their own."""
    return cells.astype(str).astype(object).mask(cells.isna(), MISSING)


def unreadable(cells: pd.Series[Any], read: Callable[[pd.Series[Any]], Floats] = as_numbers) -> Bools:
    """Cells that hold something, but nothing that can be read as a number (or day)."""
    mask: Bools = np.isnan(read(cells)) & cells.notna().to_numpy(dtype=np.bool_)
    return mask


def too_large(cells: pd.Series[Any]) -> Bools:
    """Numbers that are infinite, or as good as that."""
    mask: Bools = np.abs(as_numbers(cells)) > _LARGEST
    return mask


def holds_booleans(cells: pd.Series[Any]) -> bool:
    """Whether every cell that is not missing is True or False."""
    if pd.api.types.is_bool_dtype(cells):
        return True
    return (
        cells.dtype == object and bool(cells.notna().any()) and all(isinstance(cell, bool) for cell in cells.dropna())
    )


def holds_numbers(cells: pd.Series[Any]) -> bool:
    """Whether every cell that is not missing is a number, also written as text; booleans and dates are none."""
    if holds_booleans(cells) or pd.api.types.is_datetime64_any_dtype(cells):
        return False
    if pd.api.types.is_numeric_dtype(cells):
        return True
    known = cells.dropna()
    if np.isnan(as_numbers(known.head(_FIRST))).any():  # most texts show it at once
        return False
    return len(known) > 0 and not bool(np.isnan(as_numbers(known)).any())


def holds_dates(cells: pd.Series[Any]) -> bool:
    """Whether every cell that is not missing is a date, also written as text that begins with year-month-day."""
    if pd.api.types.is_datetime64_any_dtype(cells):
        return True
    known = cells.dropna()
    sample = known.head(_FIRST).astype(str)
    if not len(sample) or not sample.str.match(r"^\d{4}-\d{2}-\d{2}").all():
        return False
    if isinstance(known.dtype, pd.StringDtype):
        known = pd.Series(known.unique())
    return bool(as_dates(known).notna().all())
