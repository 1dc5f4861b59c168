"""How a column of the table is spread among the people of an audit, by group and in the table's own units."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from cfad_core.audit.explanation import columns_of
from cfad_core.audit.stability import evenly
from cfad_core.core.arrays import Floats, Rows
from cfad_core.data.columns import MISSING
from cfad_core.data.variables import Variable
from cfad_core.evaluation.spreads import LevelSpread, NumberSpread, Spread

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult

MOST_PEOPLE = 20_000  # whose values are looked at; more would not change a picture
MISSING_NAME = "missing"


def spread_of(result: AuditResult, column: str) -> Spread:
    """How one column is spread among the people of a view, by group; numbers that are missing are left out.

    Raises
    ------
    KeyError
        If the column is no variable of the audit.
    """
    assert result.view is not None
    variable, columns = variable_of(result, column)
    chosen = evenly(len(result.people.row), MOST_PEOPLE)
    cells = result.people.factual[np.ix_(chosen, columns)]
    groups = {name: rows[chosen] for name, rows in result.groups.items()}
    if variable.levels:
        codes, count = variable.level_codes(cells), len(variable.levels)
        names = tuple(MISSING_NAME if level == MISSING else level for level in variable.levels)
        shares = {
            name: np.bincount(codes[rows], minlength=count) / max(1, int(rows.sum())) for name, rows in groups.items()
        }
        return LevelSpread(names, shares)
    numbers = numbers_of(variable, cells)
    values = {name: np.sort(numbers[rows & ~np.isnan(numbers)]) for name, rows in groups.items()}
    return NumberSpread(values, variable.seconds if variable.kind == "date" else None)


def value_in(result: AuditResult, column: str, row: Floats) -> float | str | None:
    """What an encoded row (1, d) has in a column, as its spread has it: a number, or a level; None if it is missing."""
    variable, columns = variable_of(result, column)
    cells = row[:, columns]
    if variable.levels:
        level = variable.levels[int(variable.level_codes(cells)[0])]
        return MISSING_NAME if level == MISSING else level
    number = float(numbers_of(variable, cells)[0])
    return None if np.isnan(number) else number


def variable_of(result: AuditResult, column: str) -> tuple[Variable, Rows]:
    """A variable by its name, and the positions of its columns in encoded rows."""
    encoding = result.encoding
    for variable, columns in zip(encoding.variables, columns_of(encoding), strict=True):
        if variable.name == column:
            return variable, columns
    raise KeyError(column)


def numbers_of(variable: Variable, cells: Floats) -> Floats:
    """The numbers (n,) of a variable's columns (n, k) in its own unit; nan where one is marked as missing."""
    numbers = np.clip(cells[:, 0] * variable.scale + variable.offset, variable.low, variable.high)
    found: Floats = np.where(cells[:, 1] > 0.0, np.nan, numbers) if variable.marks_missing else numbers
    return found
