"""What can be mended in a table before an audit: numbers that are written with signs, rows of totals."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.arrays import Bools, Floats
from cfad_core.data.columns import as_numbers, as_texts
from cfad_core.data.findings import Finding

_SIGNS = re.compile(r"[%$€£\s\u00a0\u202f']")
_NUMBER = re.compile(r"^[-+]?(\d+([.,]\d+)?|\d{1,3}(,\d{3})+(\.\d+)?|\d{1,3}(\.\d{3})+(,\d+)?)$")
_MOSTLY = 0.95  # of the cells
_FIRST = 200  # cells that are looked at before all are
_SIGNED = 0.1  # of the numbers
_TOTALS = re.compile(r"^\s*(grand )?(totals?|sum|overall|totaal|gesamt|summe|insgesamt|totale|somme)\b", re.IGNORECASE)
_REMEDY = "Write plain numbers, such as 12 for 12 %; the Data page does so with a click."
_LAST = 3  # rows in which totals are looked for


def written_numbers(cells: pd.Series[Any]) -> Floats | None:
    """The numbers of texts such as '12 %', '€ 1.200' or '3,5', (n,), nan for the rest; None of other columns."""
    known = cells.dropna()
    if not len(known) or not (known.dtype == object or isinstance(known.dtype, (pd.StringDtype, pd.CategoricalDtype))):
        return None
    for part in (known.head(_FIRST), known):
        distinct = pd.Series(part.astype(str).unique())
        plain = distinct.map(_plain)
        is_number = plain != ""
        is_signed = np.isnan(as_numbers(distinct)) & is_number
        if is_number.mean() < _MOSTLY or is_signed.mean() < _SIGNED:
            return None
    read = {text: _value(_plain(text)) for text in known.astype(str).unique()}
    return cells.map(lambda cell: read.get(str(cell), np.nan)).to_numpy(dtype=np.float64, na_value=np.nan)


def _plain(text: str) -> str:
    """A number without its signs, or nothing."""
    bare = _SIGNS.sub("", text)
    return bare if _NUMBER.match(bare) else ""


def _value(bare: str) -> float:
    if not bare:
        return float("nan")
    last = max(bare.rfind("."), bare.rfind(","))
    if last < 0:
        return float(bare)
    whole, mark, rest = bare[:last], bare[last], bare[last + 1 :]
    is_thousands = len(rest) == 3 and (mark == "," or mark in whole)
    digits = whole.replace(".", "").replace(",", "")
    return float(digits + rest) if is_thousands else float(f"{digits}.{rest}")


def rows_of_totals(table: pd.DataFrame) -> Bools:
    """Which of the last rows are sums of those above them, by what their cells say; shape (n,)."""
    found = np.zeros(len(table), dtype=np.bool_)
    for place in range(max(0, len(table) - _LAST), len(table)):
        texts = [str(cell) for cell in table.iloc[place].dropna() if isinstance(cell, str)]
        found[place] = any(_TOTALS.match(text) for text in texts[:2])
    return found


def repair_findings(table: pd.DataFrame, features: list[str]) -> list[Finding]:
    """What can be mended with one click, or by hand."""
    found = []
    for name in features:
        if written_numbers(table[name]) is not None:
            example = as_texts(table[name].dropna()).iloc[0]
            message = f"Column '{name}' holds numbers that are written as text, such as '{example[:40]}'."
            found.append(Finding("numbers-as-text", "warning", message, _REMEDY, name))
    totals = rows_of_totals(table)
    if totals.any():
        place = int(np.flatnonzero(totals)[0])
        example = next(str(cell) for cell in table.iloc[place] if isinstance(cell, str) and _TOTALS.match(cell))
        message = f"The last rows hold totals and not people: row {place + 1} says '{example[:40]}'."
        found.append(Finding("totals", "warning", message, "Leave them out.", count=int(totals.sum())))
    return found
