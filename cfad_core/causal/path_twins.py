"""Path-specific twins: a sensitive attribute takes another group's value along some of its paths, and along no others.

A *path* is a chain of arrows from a sensitive attribute, named by its variables. A closed path carries nothing: along
it, everybody hears what they would have heard had nothing changed. What follows from a path is closed with it: if
``S -> A`` is closed, so is ``S -> A -> B``.

Effects along a set of paths are those of Avin, Shpitser and Pearl (2005). All noise is abducted, so they are defined
whatever the paths have in common (also where a "recanting witness" makes them unidentified from data alone): one
variable may have several values at once, one for each set of closed paths that those who hear it leave.

    value(v, C) = f_v(value(p, C_p) for each cause p of v; the person's own noise, the same in every world)
    C_p         = {c in C that end before v, at p or where p can be reached} + {c without v: c in C ends with p -> v}
    value(s, C) = the other group; the person's own if (s,) is in C        of an attribute s that is moved

C_p is decided by what closed paths still have to go, so there are at most as many worlds of a variable as closed paths
have steps, and not as many as the graph has paths.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import TypeAlias

import numpy as np

from cfad_core.causal.graph import descendants
from cfad_core.causal.mechanisms.protocol import Coupling
from cfad_core.causal.model import PossibleTwins, StructuralModel
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.states import Codes

Path: TypeAlias = tuple[str, ...]
_Steps: TypeAlias = tuple[int, ...]
_World: TypeAlias = tuple[int, frozenset[_Steps]]  # a variable, and the closed paths that matter to it


@dataclass(frozen=True)
class ClosedPaths:
    """Paths that carry nothing.

    Attributes
    ----------
    onward : closed with all that follows from them
    ends : closed where they end, as who sees that variable is concerned; what follows from them is open
    """

    onward: frozenset[Path] = frozenset()
    ends: frozenset[Path] = frozenset()


OPEN = ClosedPaths()
"""Nothing is closed: twins are the ordinary ones."""


def without(paths: Iterable[Path]) -> ClosedPaths:
    """All paths but these, and but what follows from them."""
    return ClosedPaths(frozenset(map(tuple, paths)))


def alone(model: StructuralModel, path: Path, moved: Sequence[str]) -> ClosedPaths:
    """A path and what follows from it, and no other one.

    Parameters
    ----------
    moved : the sensitive attributes that change
    """
    effects = _effects(model)
    onward: set[Path] = {(s, effect) for s in moved if s != path[0] for effect in effects[s]}
    for k in range(1, len(path)):
        onward |= {(*path[:k], effect) for effect in effects.get(path[k - 1], ()) if effect != path[k]}
    return ClosedPaths(frozenset(onward), frozenset(path[:k] for k in range(2, len(path))))


def direct(model: StructuralModel, moved: Sequence[str]) -> ClosedPaths:
    """What sensitive attributes do by their own arrows alone: no other variable passes anything on."""
    effects = _effects(model)
    return ClosedPaths(frozenset((s, a, b) for s in moved for a in effects[s] for b in effects[a]))


def passed_on(model: StructuralModel, moved: Sequence[str]) -> ClosedPaths:
    """What other variables pass on alone: nobody sees what an attribute does by its own arrows."""
    effects = _effects(model)
    return ClosedPaths(ends=frozenset((s, a) for s in moved for a in effects[s]))


def _effects(model: StructuralModel) -> dict[str, list[str]]:
    """By variable, what it causes."""
    names = model.variables
    return {name: [names[i] for i in np.flatnonzero(model.graph.edges[j])] for j, name in enumerate(names)}


def has_path(model: StructuralModel, path: Path) -> bool:
    """Whether a model's graph has all arrows of a path."""
    return _steps(model, path) is not None


def _steps(model: StructuralModel, path: Path) -> _Steps | None:
    """A path by the positions of its variables; None if the graph lacks one of its arrows."""
    if not set(path) <= set(model.variables):
        return None
    steps = tuple(model.variables.index(name) for name in path)
    return steps if all(model.graph.edges[j, i] for j, i in pairwise(steps)) else None


class PathTwins:
    """Twins of some people along any paths; what several sets of paths have in common is worked out once.

    Parameters
    ----------
    people : whose twins they are
    to : (n,), the state that each is moved to
    draw : which of a person's possible twins
    coupling : of levels, instead of what fits best
    """

    def __init__(self, people: PossibleTwins, to: Codes, draw: int = 0, coupling: Coupling | None = None) -> None:
        self._people, self._model, self._draw, self._coupling = people, people.model, draw, coupling
        states = people.model.states
        self._group, self._to = states.of_codes(people.x[:, 0]), to
        differs = {s: states.levels[to, s] != states.levels[self._group, s] for s in range(states.attributes)}
        self._moved: dict[int, Bools] = {s: rows for s, rows in differs.items() if rows.any()}
        self._cells: dict[_World, Floats | None] = {}
        self._functions: dict[_World, Sequence[Floats]] = {}

    def __call__(self, closed: ClosedPaths = OPEN) -> Floats:
        """(n, d). Who sees a twin's group sees the other one, whatever is closed: that is no path between columns."""
        onward, ends = frozenset(self._known(closed.onward)), frozenset(self._known(closed.ends))
        changed = {s: self._model.states.levels[self._to, s].astype(np.float64) for s in self._moved}
        for i in self._model.reached_from(self._moved):
            found = self._value(i, self._before(i, onward) | {path for path in ends if path[-1] == i})
            if found is not None:
                changed[i] = found
        return self._model.layout.rows(self._people.x, changed, self._people.cells)

    def _known(self, paths: Iterable[Path]) -> Iterator[_Steps]:
        """Those that this graph has, from an attribute that is moved."""
        for path in paths:
            steps = _steps(self._model, path)
            if steps is not None and len(steps) > 1 and steps[0] in self._moved:
                yield steps

    def _value(self, i: int, closed: frozenset[_Steps]) -> Floats | None:
        """The cells (n,) of a variable in a world; None where everybody has their own."""
        if (i, closed) not in self._cells:
            self._cells[i, closed] = self._action(i, closed) if i in self._moved else self._prediction(i, closed)
        return self._cells[i, closed]

    def _action(self, s: int, closed: frozenset[_Steps]) -> Floats | None:
        """The group of an attribute that is moved: other attributes may cause it, for whoever is not moved in it."""
        levels, moved, is_closed = self._model.states.levels, self._moved[s], (s,) in closed
        if moved.all():
            return None if is_closed else levels[self._to, s].astype(np.float64)
        found = self._prediction(s, closed)
        own = self._people.cells[:, s]
        there = own if is_closed else levels[self._to, s].astype(np.float64)
        return np.where(moved, there, own if found is None else found)

    def _prediction(self, i: int, closed: frozenset[_Steps]) -> Floats | None:
        model, people = self._model, self._people
        if i not in self._reached:
            return None
        heard, changes = dict(people.here), False
        for j in np.flatnonzero(model.graph.edges[:, i]):
            world = (int(j), self._of_cause(int(j), i, closed))
            cells = self._value(*world)
            if cells is None:
                continue
            changes = True
            if j in model.bases:
                if world not in self._functions:
                    self._functions[world] = model.bases[int(j)].functions(cells)
                heard[int(j)] = self._functions[world]
        if not changes:
            return None
        return people.cells_in(i, heard, self._group, self._heard_group(i, closed), self._draw, self._coupling)

    def _heard_group(self, i: int, closed: frozenset[_Steps]) -> Codes:
        """(n,), the state that a variable believes everybody to be in."""
        states, levels = self._model.states, {}
        for s in range(states.attributes):
            if self._place[s] >= self._place[i]:  # an attribute that others cause comes later than some of them
                continue
            cells = self._value(s, self._of_cause(s, i, closed))
            levels[s] = states.levels[self._group, s] if cells is None else cells.astype(np.intp)
        return states.moved(self._to, levels)

    def _of_cause(self, j: int, i: int, closed: frozenset[_Steps]) -> frozenset[_Steps]:
        """The closed paths that matter to j, as i hears it."""
        cut = {path[:-1] for path in closed if len(path) > 1 and path[-1] == i and path[-2] == j}
        return self._before(j, {path for path in closed if path[-1] != i}) | cut

    def _before(self, i: int, paths: Iterable[_Steps]) -> frozenset[_Steps]:
        """Those of the paths that end at i, or where i can be reached."""
        return frozenset(path for path in paths if path[-1] == i or i in self._after[path[-1]])

    @cached_property
    def _after(self) -> list[frozenset[int]]:
        edges = self._model.graph.edges
        return [descendants(edges, j) for j in range(len(edges))]

    @cached_property
    def _reached(self) -> frozenset[int]:
        return frozenset(self._model.reached_from(self._moved))

    @cached_property
    def _place(self) -> dict[int, int]:
        return {i: place for place, i in enumerate(self._model.order)}
