"""What discovery has to know of a table beside its numbers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from cfad_core.causal.layout import Layout, VariableKind, fit_layout
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.states import States

MIN_ROWS = 50
_CONTINUOUS = 200  # distinct values that make a column continuous for score matching


@dataclass(frozen=True)
class Columns:
    """The columns of an encoded table, and where its rows come from.

    Attributes
    ----------
    names : of the d columns
    sensitive : the column that holds who belongs to which groups
    variables : the variable that each column belongs to, where some have several columns; knowledge, pruning and
        acyclicity are about variables. By default each column is a variable
    kinds : by variable, whether it is a number or a category; without them, what has two values in every column is a
        category
    marks : by number that marks missing cells in a second column, what its columns hold where the cell is missing
    comparable_units : whether the columns share a scale
    rows_were_selected : whether rows were chosen by their label; score matching then decides which edges there are,
        where every column is continuous and the units are comparable
    attributes : the sensitive attributes that the sensitive column holds, and how many groups each has, if that is not
        one with two groups
    """

    names: tuple[str, ...]
    sensitive: str
    variables: tuple[str, ...] = ()
    kinds: Mapping[str, VariableKind] = field(default_factory=dict)
    marks: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    comparable_units: bool = True
    rows_were_selected: bool = False
    attributes: Mapping[str, int] = field(default_factory=dict)

    @property
    def sensitive_names(self) -> tuple[str, ...]:
        """The sensitive attributes."""
        return tuple(self.attributes) or (self.sensitive,)

    @property
    def states(self) -> States:
        return States(tuple(self.attributes.values()) or (2,))

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
        self._check_groups(np.unique(x[:, self.sensitive_index]))

    def _check_groups(self, codes: Floats) -> None:
        states = self.states
        if states.count == 2:
            if set(codes) != {-1.0, 1.0}:
                message = f"The sensitive column '{self.sensitive}' must hold -1 and +1, and both of them."
                raise InvalidDataError(message)
            return
        if not set(codes) <= set(states.codes):
            message = f"The sensitive column '{self.sensitive}' must hold whole numbers from 0 to {states.count - 1}."
            raise InvalidDataError(message)
        seen = states.levels[states.of_codes(codes)]
        for attribute, (name, size) in enumerate(self.attributes.items()):
            if len(np.unique(seen[:, attribute])) < size:
                raise InvalidDataError(
                    f"The sensitive attribute '{name}' must have people in all of its {size} groups."
                )

    def layout(self, x: Floats) -> Layout:
        """What the columns of rows x (n, d) mean."""
        kinds = dict(self.kinds)
        for name in dict.fromkeys(self.column_variables):
            if name not in kinds:
                own = [k for k, variable in enumerate(self.column_variables) if variable == name]
                kinds[name] = "category" if all(len(np.unique(x[:, k])) <= 2 for k in own) else "number"
        return fit_layout(x, self.column_variables, kinds, self.marks, self.attributes or None)

    def share_a_scale(self, x: Floats) -> bool:
        """Whether all attributes are continuous numbers, measured in one unit, and there are two groups."""
        attributes = np.delete(x, self.sensitive_index, axis=1)
        single = len(set(self.column_variables)) == len(self.names) and self.states.count == 2
        return single and self.comparable_units and _is_continuous(attributes)

    def suit_score_matching(self, x: Floats) -> bool:
        """Whether score matching decides which edges there are."""
        return self.rows_were_selected and self.share_a_scale(x)


def _is_continuous(x: Floats) -> bool:
    needed = min(_CONTINUOUS, len(x) // 2)
    return all(len(np.unique(column)) >= needed for column in x.T)
