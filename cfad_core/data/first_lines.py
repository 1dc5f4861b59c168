"""How a table begins: title lines above the names of its columns, and whether there are names at all."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

MISSING_TEXTS = ("", "?", "NA", "N/A", "n/a", "NaN", "nan", "null", "NULL", "None", "#N/A", "<NA>")

Line = Sequence[str]
Vote = Literal["data", "name", ""]

_MOST_TITLES = 20  # lines
_FEWEST_FIELDS = 3  # of a table that may have a title: of two columns one may have no name
_FEWEST_ROWS = 5  # below the first line, to compare it with
_MOSTLY = 0.9  # of the cells of a column
_DISTINCT = 0.2  # share of distinct values up to which a text is a category
_OUTVOTED = 4  # cells that look like data for each one that looks like a name
_YEARS = (1800, 2100)
_NEXT = 1.5  # usual distances between numbers
_SHOWN = 3
_NUMBER = re.compile(r"^[-+]?[$€£]? ?(\d+([.,' ]\d{3})*([.,]\d*)?|[.,]\d+)(e[-+]?\d+)? ?[%$€£]?$", re.IGNORECASE)
_DATE = re.compile(r"^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{2,4})([ T].*)?$")


@dataclass(frozen=True)
class FirstLines:
    """What the first lines of a file say about it.

    Attributes
    ----------
    titles : lines above the names that belong to no column; they are left out
    lines : the line of names, and those after it
    doubt : why the line of names looks like one of data; empty if it does not
    """

    titles: tuple[str, ...] = ()
    lines: tuple[tuple[str, ...], ...] = ()
    doubt: str = ""


def title_lines(lines: Sequence[Line]) -> int:
    """How many of the first lines are a title: they fill at most half as many fields as is usual below."""
    filled = [sum(bool(cell.strip()) for cell in line) for line in lines]
    usual = Counter(filled).most_common(1)[0][0] if filled else 0
    if usual < _FEWEST_FIELDS:
        return 0
    first = next((place for place, count in enumerate(filled) if 2 * count > usual), 0)
    return first if first <= _MOST_TITLES else 0


def doubt_about_names(first: Line, below: Sequence[Line]) -> str:
    """Why a line that should hold the columns' names looks like one of data; empty if it does not.

    Each cell is compared with the column below it. A text above numbers or dates, or one that is none of the few values
    below it, looks like a name; a number among the numbers below it, or a text that is there again, like data.
    """
    if len(below) < _FEWEST_ROWS:
        return ""
    columns = [[line[place] for line in below if place < len(line)] for place in range(len(first))]
    votes = [_vote(cell, column) for cell, column in zip(first, columns, strict=True)]
    numbers = [place for place, cell in enumerate(first) if _is_number(cell) and votes[place] == "data"]
    if _are_counted([first[place] for place in numbers], [columns[place] for place in numbers]):
        votes = ["" if place in numbers else vote for place, vote in enumerate(votes)]  # years, or 0, 1, 2: names
    data, names, unclear = (votes.count(vote) for vote in ("data", "name", ""))
    if not data or data < _OUTVOTED * names or _OUTVOTED * data < unclear:
        return ""
    shown = [f"'{cell[:30]}'" for cell, vote in zip(first, votes, strict=True) if vote == "data"][:_SHOWN]
    which = "all" if data == len(first) else f"{data} of"
    return (
        f"{which} its {len(first)} cells look like those below them, such as {', '.join(shown)}"
        if len(first) > 1
        else f"its cell, {shown[0]}, looks like those below it"
    )


def _vote(cell: str, column: Sequence[str]) -> Vote:
    """Whether a cell looks like the others of its column, or like its name."""
    cell = cell.strip()
    known = [text for other in column if (text := other.strip()) not in MISSING_TEXTS]
    if cell in MISSING_TEXTS or not known:
        return ""
    for looks_so in (_is_number, _is_date):
        if sum(map(looks_so, known)) >= _MOSTLY * len(known):
            if not looks_so(cell):
                return "name"
            return "data" if looks_so is _is_date or _is_within(cell, known) else ""
    if cell in known:
        return "data"
    return "name" if len(set(known)) <= max(2, _DISTINCT * len(known)) else ""


def _is_number(text: str) -> bool:
    return _NUMBER.match(text.strip()) is not None


def _is_date(text: str) -> bool:
    return _DATE.match(text.strip()) is not None


def _value(text: str) -> float:
    """The number that a text means, whichever of its marks is the decimal one: all are read alike."""
    plain = re.sub(r"[$€£%' ]", "", text).replace(",", ".")
    whole, _, rest = plain.rpartition(".")
    try:
        return float(f"{whole.replace('.', '')}.{rest}" if whole else plain)
    except ValueError:
        return float("nan")


def _is_within(cell: str, known: Sequence[str]) -> bool:
    """Whether a number lies among the others, or next to them as the first of numbers that count up does."""
    numbers = [_value(text) for text in known if _is_number(text)]
    low, high = min(numbers), max(numbers)
    step = (high - low) / max(1, len(set(numbers)) - 1)
    return low - _NEXT * step <= _value(cell) <= high + _NEXT * step


def _are_counted(cells: Sequence[str], columns: Sequence[Sequence[str]]) -> bool:
    """Whether numbers in the first line are names: years above numbers that are none, or counted up."""
    numbers = [_value(cell) for cell in cells]
    if not numbers or not all(number.is_integer() for number in numbers):
        return False
    steps = {later - earlier for earlier, later in pairwise(numbers)}
    if len(steps) == 1 and (steps <= {1.0, -1.0} or (len(numbers) > 2 and steps != {0.0})):
        return True
    values = [_value(text) for column in columns for text in column if _is_number(text)]
    years = [_YEARS[0] <= value <= _YEARS[1] for value in values]
    return all(_YEARS[0] <= number <= _YEARS[1] for number in numbers) and sum(years) < len(years) / 2
