"""From a table to numbers and back.

The sensitive attributes come first, as one column: the code of a person's state, which is -1 (first group) and +1
(second group) where there are two groups of one attribute, else 0, 1, 2, ... (``core.states``). The columns of each
profile attribute follow, as its kind says (``kinds``), numbers in their own units unless another ``scaling`` is chosen.
The paper's way with categories, the most frequent value or not, is an option.

In own units the row shown is the row scored: decoding a legal row and encoding it again gives the same bits. A row is
legal if each number is one that was seen or lies between the smallest and the largest seen (and is whole where all
are), a number marked as missing has its fill value, and each category is exactly at one of its levels.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import Categories, Scaling
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.settings import from_plain
from cfad_core.core.states import States
from cfad_core.data.attributes import Attribute
from cfad_core.data.groups import OUTSIDE, Groups
from cfad_core.data.kinds import Choices, VariableKind, kind_named, kind_of
from cfad_core.data.readable import Unreadable, refuse_unreadable, unreadable_columns
from cfad_core.data.roles import ColumnRoles, joint_name, state_codes
from cfad_core.data.scaling import ScalingName, fit_scale
from cfad_core.data.variables import Variable, fit_variable

_MAX_LISTED = 5


@dataclass(frozen=True)
class Encoding:
    """How the table's columns map to variables and their columns.

    Attributes
    ----------
    attributes : the sensitive columns and their groups
    variables : the profile attributes
    scaling : ``own``, ``raw`` or ``range``
    """

    attributes: tuple[Groups, ...]
    variables: tuple[Variable, ...]
    scaling: ScalingName

    @property
    def attribute_names(self) -> tuple[str, ...]:
        """The sensitive attributes."""
        return tuple(one.column for one in self.attributes)

    @property
    def sensitive(self) -> str:
        """What they are called together."""
        return joint_name(self.attribute_names)

    def group_names(self, attribute: int) -> tuple[str, ...]:
        """What the groups of an attribute are called."""
        return self.attributes[attribute].names

    @cached_property
    def states(self) -> States:
        """All combinations of groups."""
        return States(tuple(len(one.names) for one in self.attributes))

    def state_name(self, state: int) -> str:
        """The groups of a state: ``female, Black``."""
        return ", ".join(one.names[k] for one, k in zip(self.attributes, self.states.levels[state], strict=True))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the columns, that of the state first."""
        return _distinct((self.sensitive, *(column for variable in self.variables for column in variable.columns)))

    @property
    def column_variables(self) -> tuple[str, ...]:
        """The variable of each column."""
        return (self.sensitive, *(variable.name for variable in self.variables for _ in variable.columns))

    @property
    def variable_kinds(self) -> dict[str, VariableKind]:
        """Whether each variable is a number or a category, by its name, the sensitive one first; dates are numbers."""
        kinds = {variable.name: kind_named(variable.kind).holds for variable in self.variables}
        return {self.sensitive: "category", **kinds}

    @property
    def marks(self) -> dict[str, tuple[float, float]]:
        """What the two columns of a missing number hold, the fill value and the mark, by variable that marks them."""
        found = {variable.name: variable.missing_as() for variable in self.variables}
        return {name: columns for name, columns in found.items() if columns is not None}

    def to_dict(self) -> dict[str, Any]:
        """JSON-able."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> Encoding:
        """Read what ``to_dict`` gave, also what it gave when there were two groups of one attribute."""
        return from_plain(Encoding, _as_today(values), "encoding")

    def unknown(self, table: pd.DataFrame) -> dict[str, int]:
        """Categories that were not there in training, counted by column; they stand for the most frequent one."""
        return {name: int(cells.sum()) for name, cells in self.unknown_cells(table).items()}

    def unknown_cells(self, table: pd.DataFrame) -> dict[str, Bools]:
        """Which cells (n,) these are, by column that has any."""
        found = {variable.name: variable.is_unknown(table[variable.name]) for variable in self.variables}
        return {name: cells for name, cells in found.items() if cells.any()}

    def in_groups(self, table: pd.DataFrame) -> Bools:
        """Which rows belong to a group of every sensitive attribute."""
        self._require_columns(table)
        inside: Bools = state_codes(table, self.attributes) != OUTSIDE
        return inside

    def unreadable(self, table: pd.DataFrame, skip: int = 0) -> list[Unreadable]:
        """The variables with cells that cannot be encoded; the first ``skip`` rows do not count."""
        return unreadable_columns(table, {variable.name: variable.kind for variable in self.variables}, skip)

    def encode(self, table: pd.DataFrame) -> Floats:
        """Columns (n, d) of rows; the state of those that do not belong to a group of every sensitive attribute is nan.

        Raises
        ------
        InvalidDataError
            If a column is missing, a number is infinite or text, or a date cannot be read.
        """
        self._require_columns(table)
        refuse_unreadable(self.unreadable(table))
        codes = np.append(self.states.codes, np.nan)[state_codes(table, self.attributes)]  # OUTSIDE is the last
        return np.column_stack([codes, *(variable.encode(table[variable.name]) for variable in self.variables)])

    def decode(self, x: Floats, original: Floats, table: pd.DataFrame, *, clip: bool = True) -> DecodedRows:
        """Rows in the table's own columns and units.

        A variable that does not differ from ``original`` (n, d), the encoded table, keeps its cell as it is;
        so do columns of the table that are no variables. Cells can become missing, and missing ones known. Numbers
        beyond all that training saw, which legal rows do not have, are clipped and counted.
        """
        rows = table.copy()
        state = self.states.of_codes(x[:, 0])
        for s, one in enumerate(self.attributes):
            rows[one.column] = one.move(rows[one.column], self.states.levels[state, s])
        clipped: dict[str, int] = {}
        start = 1
        for variable in self.variables:
            end = start + len(variable.columns)
            cells = table[variable.name]
            rows[variable.name], count = variable.decode(x[:, start:end], original[:, start:end], cells, clip=clip)
            if count:
                clipped[variable.name] = count
            start = end
        return DecodedRows(rows, clipped)

    def recall(self, x: Floats) -> pd.DataFrame:
        """Rows (n, d) in the table's units, as well as that can be known without the table: (n, columns) of objects.

        Dates are written out, levels that were merged are ``(other)``, and missing cells None. A number that was
        missing where too few were to be marked has the value that stands for it.
        """
        state = self.states.of_codes(x[:, 0])
        levels = self.states.levels[state]
        rows = {one.column: [one.names[k] for k in levels[:, s]] for s, one in enumerate(self.attributes)}
        start = 1
        for variable in self.variables:
            end = start + len(variable.columns)
            rows[variable.name] = variable.recall(x[:, start:end])
            start = end
        return pd.DataFrame(rows, dtype=object)

    def _require_columns(self, table: pd.DataFrame) -> None:
        needed = (*self.attribute_names, *(variable.name for variable in self.variables))
        missing = [name for name in needed if name not in table.columns]
        if missing:
            raise InvalidDataError(
                f"The table lacks the column{'s' if len(missing) > 1 else ''} {_joined(missing)} of the audit; "
                f"it has: {', '.join(map(str, table.columns))}."
            )


@dataclass(frozen=True)
class DecodedRows:
    """Rows in a table's own units, and how many cells of which columns were clipped to what was seen in training."""

    rows: pd.DataFrame
    clipped: dict[str, int]


def fit_encoding(
    table: pd.DataFrame, roles: ColumnRoles, scaling: Scaling, categories: Categories = "levels"
) -> Encoding:
    """Learn variables from training rows in which ``validate`` found no error; the groups must be settled."""
    kinds = {name: kind_of(table[name]) for name in roles.features(table)}
    read = [kind_named(kind).numbers(table[name]) for name, kind in kinds.items()]
    numbers = [values for values in read if values is not None]
    scale = fit_scale(numbers, scaling, only_numbers=len(numbers) == len(kinds))
    variables = tuple(fit_variable(table[name], kind, Choices(scale, categories)) for name, kind in kinds.items())
    return Encoding(attributes=roles.groupings, variables=variables, scaling=scale.scaling)


def _as_today(values: Mapping[str, Any]) -> Mapping[str, Any]:
    """Where an encoding has two groups of one attribute, as all of them had: the same as today's."""
    if "grouping" not in values:
        return values
    column, given = values["sensitive"], values["grouping"]
    cuts = () if given.get("cut") is None else (given["cut"],)
    groups = Attribute(column, groups=tuple(given.get("values", ())) or None, cuts=cuts).grouping
    rest = {name: value for name, value in values.items() if name not in ("sensitive", "grouping")}
    return {"attributes": [dataclasses.asdict(groups)], **rest}


def _distinct(names: tuple[str, ...]) -> tuple[str, ...]:
    """The names, with a number after one that is already taken: a level's column may be called like another."""
    taken: dict[str, int] = {}
    result = []
    for name in names:
        taken[name] = taken.get(name, 0) + 1
        result.append(name if taken[name] == 1 else f"{name} ({taken[name]})")
    return tuple(result)


def _joined(items: list[str]) -> str:
    shown = ", ".join(items[:_MAX_LISTED])
    return shown if len(items) <= _MAX_LISTED else f"{shown} and {len(items) - _MAX_LISTED} more"
