"""What discovery has to know of a table beside its numbers."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError

MIN_ROWS = 50
_CONTINUOUS = 200  # distinct values that make a column continuous for score matching


@dataclass(frozen=True)
class Columns:
    """The columns of an encoded table, and where its rows come from.

    Attributes
    ----------
    names : of the d columns
    sensitive : the column that holds -1 and +1
    variables : the variable that each column belongs to, where some have several columns; knowledge, pruning and
        acyclicity are about variables. By default each column is a variable
    comparable_units : whether the columns share a scale (raw), or were mapped to a common range
    rows_were_selected : whether rows were chosen by their label; score matching then decides which edges there are,
        where every column is continuous and the units are comparable
    """

    names: tuple[str, ...]
    sensitive: str
    variables: tuple[str, ...] = ()
    comparable_units: bool = True
    rows_were_selected: bool = False

    @property
    def column_variables(self) -> tuple[str, ...]:
        """The variable of each column."""
        return self.variables or self.names

    @property
    def sensitive_index(self) -> int:
        return self.names.index(self.sensitive)

    def check(self, x: Floats) -> None:
        """See that a graph can be learned from the rows x (n, d).

        Raises
        ------
        InvalidDataError
            If it cannot.
        """
        if x.ndim != 2 or x.shape[1] != len(self.names):
            raise InvalidDataError(f"Expected rows of {len(self.names)} variables; got an array of shape {x.shape}.")
        if len(x) < MIN_ROWS:
            raise InvalidDataError(f"Learning a causal graph needs at least {MIN_ROWS} rows; got {len(x)}.")
        if not np.isfinite(x).all():
            raise InvalidDataError("Learning a causal graph needs finite numbers; there are missing or infinite cells.")
        if set(np.unique(x[:, self.sensitive_index])) != {-1.0, 1.0}:
            raise InvalidDataError(f"The sensitive column '{self.sensitive}' must hold -1 and +1, and both of them.")

    def suit_score_matching(self, x: Floats) -> bool:
        """Whether score matching decides which edges there are."""
        attributes = np.delete(x, self.sensitive_index, axis=1)
        return self.rows_were_selected and self.comparable_units and _is_continuous(attributes)


def _is_continuous(x: Floats) -> bool:
    needed = min(_CONTINUOUS, len(x) // 2)
    return all(len(np.unique(column)) >= needed for column in x.T)
