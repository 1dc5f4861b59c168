"""Who is compared with whom: the moves that twins are made for, and views of an audit through some of them.

A *move* takes everybody to another group of one sensitive attribute; a person of k groups has k - 1 of them, in the
order of the groups. Two attributes that change together have one move, whose target takes turns among all combinations
of other groups, from person to person and from one causal model to the next.

A *comparison* is what people ask about: had they belonged to another group of this attribute, or of both. A *view* is a
comparison seen as a whole, or through one pair of its groups, which looks as an audit of two groups does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.states import Codes, States
from cfad_core.data.encoding import Encoding
from cfad_core.data.roles import ColumnRoles

Pair = tuple[str, str]


@dataclass(frozen=True)
class Comparison:
    """What is compared.

    Attributes
    ----------
    name : the attribute; or both
    attributes : their positions among the sensitive attributes
    moves : positions of its moves among all
    groups : names of its groups; of two attributes, of their combinations
    compared : (k, k), which groups (rows) are compared with which
    """

    name: str
    attributes: tuple[int, ...]
    moves: tuple[int, ...]
    groups: tuple[str, ...]
    compared: Bools

    @property
    def is_joint(self) -> bool:
        """Whether two attributes change at once."""
        return len(self.attributes) > 1

    @property
    def is_complete(self) -> bool:
        """Whether every group is compared with every other one."""
        return bool((self.compared | np.eye(len(self.groups), dtype=np.bool_)).all())

    def other(self, group: int, number: int) -> int:
        """The group that a move with this number takes people of a group to."""
        return number + int(number >= group)

    @cached_property
    def numbers(self) -> Codes:
        """(k, w), by group the numbers of the moves to those that it is compared with, or to all if it is with none.

        Some are there several times where other groups have more.
        """
        every = range(len(self.moves))
        asked = [
            [number for number in every if compared[self.other(group, number)]]
            for group, compared in enumerate(self.compared)
        ]
        most = max(len(some) for some in asked)
        found = [some or list(every) for some in asked]
        return np.array([[some[k % len(some)] for k in range(most)] for some in found], dtype=np.intp)

    def check_pair(self, pair: Pair) -> tuple[int, int]:
        """The positions of two groups.

        Raises
        ------
        InvalidConfigError
            If they are no two different groups of this comparison.
        """
        if self.is_joint or len(set(pair)) != 2 or not set(pair) <= set(self.groups):
            raise InvalidConfigError(
                f"Expected two different groups of '{self.name}' out of: {', '.join(self.groups)}; got "
                f"{' and '.join(pair)}."
            )
        return self.groups.index(pair[0]), self.groups.index(pair[1])


@dataclass(frozen=True)
class Plan:
    """All comparisons of an audit.

    Attributes
    ----------
    states : of all sensitive attributes
    comparisons : each attribute by itself, then each pair of them
    """

    states: States
    comparisons: tuple[Comparison, ...]

    @cached_property
    def moves(self) -> list[tuple[Comparison, int]]:
        """Every move: its comparison, and its number there."""
        return [(one, number) for one in self.comparisons for number in range(len(one.moves))]

    def targets(self, state: Codes, move: int, turn: int = 0) -> Codes:
        """The states (n,) that a move takes people to, who are in these states (n,)."""
        comparison, number = self.moves[move]
        if comparison.is_joint:
            return self.in_turn(state, comparison, turn)
        (s,) = comparison.attributes
        own = self.states.levels[state, s]
        return self.states.moved(state, {s: number + (number >= own)})

    def groups_of(self, state: Codes, comparison: Comparison) -> Codes:
        """The group (n,) of people in these states (n,), among those of a comparison."""
        levels = [self.states.levels[state, s] for s in comparison.attributes]
        return States(tuple(self.states.sizes[s] for s in comparison.attributes)).of_levels(levels)

    def is_compared(self, state: Codes, move: int) -> Bools:
        """Whether the groups of people in these states (n,) are compared with those that a move takes them to, (n,)."""
        comparison, number = self.moves[move]
        if comparison.is_joint:
            return np.ones(len(state), dtype=np.bool_)
        own = self.groups_of(state, comparison)
        return np.asarray(comparison.compared[own, number + (number >= own)])

    def in_turn(self, state: Codes, comparison: Comparison, turn: int = 0) -> Codes:
        """One other state (n,) for each person: other groups of all attributes that are compared, in turn."""
        if comparison.is_joint:
            numbers = self.numbers_in_turn(len(state), comparison, turn)
        else:
            choices = comparison.numbers[self.groups_of(state, comparison)]  # (n, w)
            everybody = np.arange(len(state))
            numbers = [choices[everybody, (everybody + turn) % choices.shape[1]]]
        groups: dict[int, Codes | int] = {}
        for s, number in zip(comparison.attributes, numbers, strict=True):
            own = self.states.levels[state, s]
            groups[s] = number + (number >= own)
        return self.states.moved(state, groups)

    def numbers_in_turn(self, people: int, comparison: Comparison, turn: int) -> list[Codes]:
        """By attribute that is compared, the number (n,) of the other group whose turn it is."""
        others = [self.states.sizes[s] - 1 for s in comparison.attributes]
        place = (np.arange(people) + turn) % int(np.prod(others))
        return [np.asarray(one, dtype=np.intp) for one in np.unravel_index(place, others)]

    def comparison(self, name: str | None = None) -> Comparison:
        """The comparison of this name; by default the first.

        Raises
        ------
        InvalidConfigError
            If there is none.
        """
        if name is None:
            return self.comparisons[0]
        for one in self.comparisons:
            if one.name == name:
                return one
        known = ", ".join(f"'{one.name}'" for one in self.comparisons)
        raise InvalidConfigError(f"The audit does not compare '{name}'; it compares: {known}.")


def plan_comparisons(
    names: Sequence[str], groups: Sequence[Sequence[str]], compared: Sequence[Bools] | None = None
) -> Plan:
    """The comparisons of sensitive attributes with these names and groups.

    Parameters
    ----------
    compared : by attribute, (k, k), which groups are compared with which; by default all with each other
    """
    states = States(tuple(len(some) for some in groups))
    found: list[Comparison] = []
    start = 0
    for s, name in enumerate(names):
        k = len(groups[s])
        every = ~np.eye(k, dtype=np.bool_)
        which = every if compared is None else compared[s]
        found.append(Comparison(name, (s,), tuple(range(start, start + k - 1)), tuple(groups[s]), which))
        start += k - 1
    for s, t in combinations(range(len(names)), 2):
        both = tuple(f"{one}, {other}" for one in groups[s] for other in groups[t])
        differ = np.array(
            [
                [
                    a // len(groups[t]) != b // len(groups[t]) and a % len(groups[t]) != b % len(groups[t])
                    for b in range(len(both))
                ]
                for a in range(len(both))
            ]
        )
        found.append(Comparison(f"{names[s]} and {names[t]}", (s, t), (start,), both, differ))
        start += 1
    return Plan(states, tuple(found))


def plan_of(encoding: Encoding, roles: ColumnRoles) -> Plan:
    """The comparisons of an audit whose roles are settled."""
    names = encoding.attribute_names
    groups = [encoding.group_names(s) for s in range(len(names))]
    wanted = {one.column: one for one in roles.attributes}
    compared = [
        compared_groups(some, wanted[name].reference, wanted[name].compare)
        for name, some in zip(names, groups, strict=True)
    ]
    return plan_comparisons(names, groups, compared)


def compared_groups(groups: Sequence[str], reference: str | None, compare: Sequence[str]) -> Bools:
    """(k, k), which groups (rows) are compared with which: all, those with the reference, or those with some."""
    k = len(groups)
    found: Bools = ~np.eye(k, dtype=np.bool_)
    if reference is not None:
        is_reference = np.array([name == reference for name in groups])
        found &= is_reference[:, None] | is_reference
    if compare:
        found &= np.array([name in compare for name in groups])
    return found


@dataclass(frozen=True)
class View:
    """An audit seen through one comparison, or one pair of its groups.

    Attributes
    ----------
    plan, comparison, pair : what is seen, and of what
    rows : (v,), positions of the people who are seen
    group : (v,), the group of each among ``names``
    names : of the groups
    columns : (v, w), for each of them the moves to the groups that they are compared with, some of them several times
        where others have more
    """

    plan: Plan
    comparison: Comparison
    pair: Pair | None
    rows: NDArray[np.intp]
    group: Codes
    names: tuple[str, ...]
    columns: NDArray[np.intp]

    @cached_property
    def groups(self) -> dict[str, Bools]:
        """Who of the people seen belongs to each group."""
        return {name: self.group == k for k, name in enumerate(self.names)}

    @property
    def is_of_one_attribute(self) -> bool:
        """Whether the audit has no other sensitive attribute."""
        return self.plan.states.attributes == 1

    @cached_property
    def states(self) -> tuple[Codes, Codes]:
        """Which states people who are seen may be in, and the group of each among ``names``."""
        found = view_of(self.plan, np.arange(self.plan.states.count), self.comparison, self.pair)
        return found.rows, found.group

    @property
    def others(self) -> int:
        """How many other groups a person may be compared with at most."""
        return int(self.columns.shape[1])

    @property
    def otherwise(self) -> str:
        """What people and their twins differ in."""
        if self.comparison.is_joint:
            return f"had both {self.comparison.name} been different"
        are_two = len(self.comparison.groups) == 2 or self.pair is not None
        if are_two and self.is_of_one_attribute:
            return "had they belonged to the other group"
        if self.pair is not None:
            return f"had they belonged to the other of the groups {self.pair[0]} and {self.pair[1]}"
        return f"had they belonged to another group of {self.comparison.name}"

    def take(self, by_move: NDArray[Any], people: NDArray[np.int64] | None = None) -> NDArray[Any]:
        """Of numbers (..., moves, n), those of the people seen in the groups they are compared with, (..., w, v).

        Parameters
        ----------
        people : (n,), positions of these people among all, if they are not all; those who are seen are taken
        """
        place, columns = self.rows, self.columns
        if people is not None:
            place, seen = self.among(people)
            columns = columns[seen]
        if self._same_moves is not None and len(place) == by_move.shape[-1]:  # no copy where nobody is left out
            return by_move[..., self._same_moves, :]
        return by_move[..., columns.T, place]

    @cached_property
    def _same_moves(self) -> slice | None:
        """The moves that everybody seen is compared by, if these are the same, one after the other."""
        if not len(self.columns):
            return None
        first = int(self.columns[0, 0])
        same = (self.columns == np.arange(first, first + self.others)).all()
        return slice(first, first + self.others) if same else None

    def is_everything(self, people: int, moves: int) -> bool:
        """Whether nobody of so many people, and none of so many moves, is left out."""
        return len(self.rows) == people and self._same_moves == slice(0, moves)

    def among(self, people: NDArray[np.int64]) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        """Who of some people, by their positions (n,) among all, is seen: positions among the n, and among the seen."""
        place = np.full(1 + max(int(people.max(initial=-1)), int(self.rows.max(initial=-1))), -1)
        place[self.rows] = np.arange(len(self.rows))
        seen = place[people]
        return np.flatnonzero(seen >= 0), seen[seen >= 0]


def view_of(plan: Plan, state: Codes, comparison: Comparison, pair: Pair | None = None) -> View:
    """The view of people in these states (n,)."""
    groups = plan.groups_of(state, comparison)
    everybody = np.arange(len(state))
    if comparison.is_joint:
        columns = np.full((len(state), 1), comparison.moves[0])
        return View(plan, comparison, None, everybody, groups, comparison.groups, columns)
    if pair is not None:
        first, second = comparison.check_pair(pair)
        rows = np.flatnonzero((groups == first) | (groups == second))
        other = np.where(groups[rows] == first, second, first)
        number = other - (other > groups[rows])
        columns = np.array(comparison.moves)[number][:, None]
        return View(plan, comparison, pair, rows, (groups[rows] == second).astype(np.intp), pair, columns)
    moved = np.flatnonzero(comparison.compared.any(axis=1))  # some groups may only be compared with
    place = np.full(len(comparison.groups), -1)
    place[moved] = np.arange(len(moved))
    rows = everybody if len(moved) == len(place) else np.flatnonzero(place[groups] >= 0)
    own = place[groups[rows]]
    names = tuple(comparison.groups[k] for k in moved)
    columns = np.array(comparison.moves, dtype=np.intp)[comparison.numbers[groups[rows]]]
    return View(plan, comparison, None, rows, own, names, columns)
