"""What the columns of encoded rows mean: which variable they belong to, and which values exist.

A causal model speaks of *cells*, one a variable: the number itself (nan where it is missing), or the position of a
level. Rows (n, d) become cells (n, v) and back without losing a bit.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, TypeAlias

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.states import States

VariableKind: TypeAlias = Literal["number", "category"]


@dataclass(frozen=True)
class Levels:
    """A variable that has one of a few levels.

    Attributes
    ----------
    columns : positions of its columns
    patterns : (levels, columns), what they hold at each level
    """

    columns: tuple[int, ...]
    patterns: Floats

    kind = "category"

    @property
    def positions(self) -> list[int]:
        """Of all its columns."""
        return list(self.columns)

    def cells(self, x: Floats) -> Floats:
        """The level of each row of x (n, d), (n,): the one whose pattern is nearest."""
        if self._is_one_hot:  # what all levels have in common need not be added up
            own = x[:, list(self.columns)]
            farther = np.abs(own - self.patterns[0, 0]) - np.abs(own - self.patterns[0, 1])
            level: Floats = farther.argmin(axis=1).astype(np.float64)
            return level
        distance = np.zeros((len(x), len(self.patterns)))
        for k, column in enumerate(self.columns):
            distance += np.abs(x[:, [column]] - self.patterns[:, k])
        nearest: Floats = distance.argmin(axis=1).astype(np.float64)
        return nearest

    @cached_property
    def _is_one_hot(self) -> bool:
        """Whether every level has a column of its own."""
        on, off = np.diag(self.patterns), self.patterns[~np.eye(*self.patterns.shape, dtype=np.bool_)]
        square = self.patterns.shape[0] == self.patterns.shape[1] > 1
        return bool(square and (on == on[0]).all() and (off == off[0]).all() and on[0] != off[0])

    def write(self, x: Floats, cells: Floats) -> None:
        """Write levels (n,) into rows x (n, d)."""
        x[:, list(self.columns)] = self.patterns[cells.astype(np.intp)]


@dataclass(frozen=True)
class Part(Levels):
    """One of several sensitive attributes: the first column holds the groups of all of them together, as a state.

    Attributes
    ----------
    attribute : which one it is
    sizes : how many groups each attribute has
    """

    attribute: int = 0
    sizes: tuple[int, ...] = ()

    @cached_property
    def states(self) -> States:
        return States(self.sizes)

    def cells(self, x: Floats) -> Floats:
        """The group of each row of x (n, d), (n,)."""
        groups: Floats = self.states.levels[self.states.of_codes(x[:, 0]), self.attribute].astype(np.float64)
        return groups

    def write(self, x: Floats, cells: Floats) -> None:
        """Write groups (n,) into rows x (n, d); those of the other attributes stay."""
        states = self.states
        moved = states.moved(states.of_codes(x[:, 0]), {self.attribute: cells.astype(np.intp)})
        x[:, 0] = states.codes[moved]


@dataclass(frozen=True)
class Amount:
    """A variable that is a number.

    Attributes
    ----------
    column : position of its column
    mark : position of the column that marks missing cells; -1 if there is none
    fill, absent, present : what the two columns hold where the cell is missing, and the mark of one that is not
    """

    column: int
    mark: int = -1
    fill: float = 0.0
    absent: float = 0.0
    present: float = 0.0

    kind = "number"

    @property
    def positions(self) -> list[int]:
        """Of all its columns."""
        return [self.column, self.mark] if self.mark >= 0 else [self.column]

    def cells(self, x: Floats) -> Floats:
        """The number of each row of x (n, d), nan where it is missing, (n,)."""
        if self.mark < 0:
            return x[:, self.column].copy()
        missing = np.abs(x[:, self.mark] - self.absent) < np.abs(x[:, self.mark] - self.present)
        return np.where(missing, np.nan, x[:, self.column])

    def write(self, x: Floats, cells: Floats) -> None:
        """Write numbers (n,), nan for a missing one, into rows x (n, d)."""
        missing = np.isnan(cells)
        x[:, self.column] = np.where(missing, self.fill, cells)
        if self.mark >= 0:
            x[:, self.mark] = np.where(missing, self.absent, self.present)


Shape: TypeAlias = Levels | Amount


@dataclass(frozen=True)
class Layout:
    """The variables of encoded rows.

    Attributes
    ----------
    names : of the v variables, the sensitive attributes first
    shapes : what each of them is
    """

    names: tuple[str, ...]
    shapes: tuple[Shape, ...]

    @cached_property
    def states(self) -> States:
        """What the first column of rows says about all sensitive attributes."""
        first = self.shapes[0]
        if isinstance(first, Part):
            return first.states
        assert isinstance(first, Levels)
        return States((len(first.patterns),))

    @property
    def attributes(self) -> int:
        """How many sensitive attributes there are."""
        return self.states.attributes

    @property
    def kinds(self) -> tuple[VariableKind, ...]:
        return tuple("category" if isinstance(shape, Levels) else "number" for shape in self.shapes)

    def cells(self, x: Floats) -> Floats:
        """(n, v), of rows x (n, d)."""
        return np.column_stack([shape.cells(x) for shape in self.shapes])

    def rows(self, x: Floats, cells: Mapping[int, Floats], known: Floats | None = None) -> Floats:
        """The rows x (n, d) with other cells (n,), by variable; all others keep every bit.

        Parameters
        ----------
        known : ``cells(x)``, if they need not be worked out again
        """
        result = x.copy()
        for i, values in cells.items():
            before = self.shapes[i].cells(x) if known is None else known[:, i]
            moved = (values != before) & ~(np.isnan(values) & np.isnan(before))
            columns = self.shapes[i].positions
            own = result[:, columns]
            self.shapes[i].write(result, values)
            result[:, columns] = np.where(moved[:, None], result[:, columns], own)
        return result


def fit_layout(
    x: Floats,
    variables: Sequence[str],
    kinds: Mapping[str, VariableKind],
    marks: Mapping[str, tuple[float, float]],
    attributes: Mapping[str, int] | None = None,
) -> Layout:
    """The layout of rows x (n, d), given the variable of each column; the first one is sensitive.

    Parameters
    ----------
    attributes : the sensitive attributes that the first column holds, and how many groups each has; None if it holds
        one, whose groups are those in the rows
    kinds : by variable
    marks : by number that marks missing cells, what its two columns hold where the cell is missing
    """
    names = tuple(dict.fromkeys(variables))
    belongs = {name: tuple(k for k, variable in enumerate(variables) if variable == name) for name in names}
    shapes = tuple(_shape(x, belongs[name], kinds[name], marks.get(name)) for name in names)
    if attributes is None:
        return Layout(names, shapes)
    return Layout((*attributes, *names[1:]), (*_sensitive(tuple(attributes.values())), *shapes[1:]))


def _sensitive(sizes: tuple[int, ...]) -> tuple[Shape, ...]:
    if len(sizes) == 1:
        return (Levels((0,), States(sizes).codes[:, None]),)
    groups = (np.arange(size, dtype=np.float64)[:, None] for size in sizes)
    return tuple(Part((0,), values, attribute, sizes) for attribute, values in enumerate(groups))


def _shape(x: Floats, columns: tuple[int, ...], kind: VariableKind, missing: tuple[float, float] | None) -> Shape:
    """A number with two values at most is a variable with levels, too: nothing lies between them."""
    if kind == "category":
        return Levels(columns, _level_patterns(x, columns))
    amount = _amount(x, columns, missing)
    cells = amount.cells(x)
    known = np.unique(cells[~np.isnan(cells)])
    if len(known) > 2:
        return amount
    values = np.concatenate([known, [np.nan] if np.isnan(cells).any() else []])
    patterns = np.zeros((len(values), x.shape[1]))
    amount.write(patterns, values)
    return Levels(columns, patterns[:, list(columns)])


def _amount(x: Floats, columns: tuple[int, ...], missing: tuple[float, float] | None) -> Amount:
    if missing is None or len(columns) == 1:
        return Amount(columns[0])
    fill, absent = missing
    marks = x[:, columns[1]]
    others = marks[marks != absent]
    return Amount(columns[0], columns[1], fill, absent, float(others[0]) if len(others) else -absent)


def _level_patterns(x: Floats, columns: tuple[int, ...]) -> Floats:
    if len(columns) == 1:
        seen: Floats = np.unique(x[:, columns[0]])
        return seen[:, None]
    chosen = x[:, list(columns)]
    patterns: Floats = np.where(np.eye(len(columns)) > 0.0, chosen.max(), chosen.min())
    return patterns
