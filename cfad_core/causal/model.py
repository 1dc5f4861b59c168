"""The structural causal model: a graph with one mechanism for each variable that a sensitive attribute reaches.

A twin is made by abduction, action and prediction, one variable after the other, causes before effects: what is a
person's own (noise, its rank, the place inside a level's share) stays, a sensitive attribute changes, and each
mechanism says what follows. Twins are legal rows. Where chance is involved (levels, ties), it belongs to the row and
the seed: the same row always has the same twin, and draw 1, 2, ... are further ones.

Variables that what changes does not reach keep every bit; and a row's twin never depends on other rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from cfad_core.causal.chance import Keys, row_keys, uniforms
from cfad_core.causal.graph import descendants, find_cycle, topological_order
from cfad_core.causal.layout import Layout, Levels
from cfad_core.causal.mechanisms import FITS, Mechanism, Sample
from cfad_core.causal.mechanisms.basis import Basis, fit_level_basis, fit_number_basis
from cfad_core.causal.mechanisms.design import Functions
from cfad_core.causal.mechanisms.protocol import Coupling, Worlds
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.states import Codes, States


@dataclass(frozen=True)
class Graph:
    """A causal graph over variables.

    Attributes
    ----------
    edges : (v, v), row causes column
    strengths : (v, v), how strongly, between -1 and 1
    direction : (v, v), for each edge the share of equally good graphs in which it points this way
    """

    edges: Bools
    strengths: Floats
    direction: Floats

    def __post_init__(self) -> None:
        cycle = find_cycle(self.edges)
        if cycle:
            path = " -> ".join(str(j) for j, _ in [*cycle, cycle[0]])
            raise InvalidDataError(f"A structural causal model needs a graph without cycles; this one has {path}.")


@dataclass(frozen=True)
class StructuralModel:
    """A learned causal model.

    Attributes
    ----------
    layout : what the columns of its rows mean
    graph : over the variables
    bases : by variable, the functions through which it acts
    mechanisms : by variable: of those that a sensitive attribute reaches, or of all
    seed : of the draws
    """

    layout: Layout
    graph: Graph
    bases: dict[int, Basis]
    mechanisms: dict[int, Mechanism]
    seed: int

    @property
    def variables(self) -> tuple[str, ...]:
        return self.layout.names

    @property
    def attributes(self) -> tuple[str, ...]:
        """The sensitive attributes."""
        return self.layout.names[: self.layout.attributes]

    @property
    def sensitive(self) -> str:
        """What the sensitive attributes are called together."""
        return " and ".join(self.attributes)  # as data.roles.joint_name, which this room may not use

    @property
    def states(self) -> States:
        """Which groups people may belong to."""
        return self.layout.states

    @cached_property
    def order(self) -> list[int]:
        """Causes before effects."""
        return topological_order(self.graph.edges)

    @cached_property
    def affected(self) -> tuple[int, ...]:
        """The variables that a sensitive attribute reaches, causes before effects."""
        return self.reached_from(range(len(self.attributes)))

    def reached_from(self, attributes: Iterable[int]) -> tuple[int, ...]:
        """The variables that some of the sensitive attributes reach, causes before effects."""
        reached = frozenset().union(*(self._reached[s] for s in attributes))
        return tuple(i for i in self.order if i in reached)

    @cached_property
    def _reached(self) -> tuple[frozenset[int], ...]:
        return tuple(descendants(self.graph.edges, s) for s in range(len(self.attributes)))

    @property
    def affected_names(self) -> tuple[str, ...]:
        return self.affected_by(self.attributes)

    def affected_by(self, attributes: Sequence[str]) -> tuple[str, ...]:
        """The names of the variables that some of the sensitive attributes reach."""
        return tuple(self.variables[i] for i in self.reached_from(self.attributes.index(name) for name in attributes))

    def strengths(self) -> tuple[list[str], Floats]:
        """The variables, and how strongly each acts on each other."""
        return list(self.variables), self.graph.strengths

    def edges(self) -> dict[tuple[str, str], float]:
        """How strongly each cause acts on each of its effects, by the names of the two variables."""
        found = np.argwhere(self.graph.edges)
        return {(self.variables[j], self.variables[i]): float(self.graph.strengths[j, i]) for j, i in found}

    def twins(
        self,
        x: Floats,
        draw: int = 0,
        *,
        to: Codes | None = None,
        cut: tuple[str, str] | None = None,
        coupling: Coupling | None = None,
    ) -> Floats:
        """Each person had they belonged to another group, shape (n, d); every cell is one that exists.

        Parameters
        ----------
        x : people (n, d)
        draw : which of the person's possible twins
        to : (n,), the state that each is moved to. By default the other one; of several others each in turn: with k of
            them, draw 0 to k - 1 are the first twin in each, and so on
        cut : an edge (cause, effect) that carries nothing: the twin's effect hears the person's cause
        coupling : of levels, instead of what fits best
        """
        return self.possible_twins(x)(draw, to=to, cut=cut, coupling=coupling)

    def possible_twins(self, x: Floats) -> PossibleTwins:
        """All possible twins of people x (n, d), one draw at a time; what is known of the people is worked out once."""
        self._check(x)
        cells = self.layout.cells(x)
        here = {j: basis.functions(cells[:, j]) for j, basis in self.bases.items()}
        return PossibleTwins(self, x, cells, here, row_keys(x, self.seed))

    def log_likelihoods(self, x: Floats) -> dict[str, Floats]:
        """By variable that a sensitive attribute reaches, the log-likelihood of each person's cell, (n,)."""
        self._check(x)
        cells = self.layout.cells(x)
        functions = {j: basis.functions(cells[:, j]) for j, basis in self.bases.items()}
        return {self.variables[i]: self.mechanisms[i].log_likelihood(cells[:, i], functions) for i in self.affected}

    def residuals(self, x: Floats) -> dict[str, dict[str, Floats]]:
        """By variable that a sensitive attribute reaches, what its causes do not explain of each person's cell.

        Each (n,), and on average the same for all causes if the mechanism holds; therefore also the first of them times
        each cause (``of CAUSE``).
        """
        self._check(x)
        cells = self.layout.cells(x)
        functions = {j: basis.functions(cells[:, j]) for j, basis in self.bases.items()}
        found: dict[str, dict[str, Floats]] = {}
        for i in self.affected:
            own = self.mechanisms[i].residuals(cells[:, i], functions)
            first = next(iter(own.values()))
            causes = sorted(j for j in self.mechanisms[i].causes if j >= len(self.attributes))
            found[self.variables[i]] = own | {f"of {self.variables[j]}": first * functions[j][0] for j in causes}
        return found

    def oddness(self, x: Floats, *, drawn: bool = False) -> tuple[Floats, Floats]:
        """What is unusual about people x (n, d) with their causes, by column: noise, and ``-2 log p`` of levels.

        Both (n, d - 1), without the sensitive attributes; a variable of several columns has it in its first one, and
        the noise is nan wherever there is none.

        Parameters
        ----------
        drawn : whether only of ``drawn_columns``; others have nothing then

        Raises
        ------
        InvalidDataError
            If some variable has no mechanism: the model was learned for twins alone.
        """
        self._check(x)
        own = {i: mechanism for i, mechanism in self.mechanisms.items() if i >= len(self.attributes)}
        if len(own) < len(self.variables) - len(self.attributes):
            raise InvalidDataError("This causal model has mechanisms only for what the sensitive attribute reaches.")
        cells = self.layout.cells(x)
        functions = {j: basis.functions(cells[:, j]) for j, basis in self.bases.items()}
        group = self.states.of_codes(x[:, 0])
        noise, levels = np.full((len(x), x.shape[1] - 1), np.nan), np.zeros((len(x), x.shape[1] - 1))
        for i, mechanism in own.items():
            column = _columns(self.layout.shapes[i])[0] - 1
            if not drawn or self.drawn_columns[column]:
                found = mechanism.oddness(cells[:, i], functions, group)
                noise[:, column], levels[:, column] = found.noise, found.levels
        return noise, levels

    @cached_property
    def drawn_columns(self) -> Bools:
        """(d - 1,), where chance has a part in what twins have: only there a twin's oddness is not the person's."""
        found = np.zeros(max(max(_columns(shape)) for shape in self.layout.shapes), dtype=np.bool_)
        drawn = [i for i in self.affected if i >= len(self.attributes) and self.mechanisms[i].draws]
        found[[_columns(self.layout.shapes[i])[0] - 1 for i in drawn]] = True
        return found

    @property
    def draws(self) -> bool:
        """Whether a person has several possible twins."""
        return any(self.mechanisms[i].draws for i in self.affected)

    def _check(self, x: Floats) -> None:
        columns = 1 + max(max(_columns(shape)) for shape in self.layout.shapes)
        if x.ndim != 2 or x.shape[1] != columns:
            raise InvalidDataError(f"Expected rows of {columns} columns; got an array of shape {x.shape}.")


@dataclass(frozen=True)
class PossibleTwins:
    """People whose twins are made.

    Attributes
    ----------
    x, cells : (n, d) and (n, v), the people
    here : functions of their cells
    keys : (n,), of the chance that belongs to each of them
    known : what mechanisms found out about them
    """

    model: StructuralModel
    x: Floats
    cells: Floats
    here: Functions
    keys: Keys
    known: dict[int, Floats] = field(default_factory=dict)

    def __call__(
        self,
        draw: int = 0,
        *,
        to: Codes | None = None,
        cut: tuple[str, str] | None = None,
        coupling: Coupling | None = None,
    ) -> Floats:
        """One twin of each, (n, d); see ``StructuralModel.twins``."""
        model, here, states = self.model, self.here, self.model.states
        group = states.of_codes(self.x[:, 0])
        if to is None:
            draw, number = divmod(draw, states.others)
            to = states.other(group, number)
        moved = {s: states.levels[to, s] for s in range(states.attributes)}  # Action
        moved = {s: level for s, level in moved.items() if (level != states.levels[group, s]).any()}
        changed = {s: level.astype(np.float64) for s, level in moved.items()}
        there = {**here, **{s: model.bases[s].functions(level) for s, level in changed.items()}}
        for i in model.reached_from(moved):  # Abduction and prediction, one variable after the other
            heard, there_group = there, to
            if cut is not None and cut[1] == model.variables[i]:
                j = model.variables.index(cut[0])
                heard = {**there, j: here[j]}
                there_group = states.moved(to, {j: states.levels[group, j]}) if j < states.attributes else to
            found = self.cells_in(i, heard, group, there_group, draw, coupling)
            if i < states.attributes:  # one attribute causes another: who was not moved in that follows
                found = np.where(states.levels[to, i] != states.levels[group, i], states.levels[to, i], found)
                to = states.moved(to, {i: found.astype(np.intp)})
            changed[i] = found
            if i in model.bases:
                there[i] = model.bases[i].functions(found)
        return model.layout.rows(self.x, changed, self.cells)

    def cells_in(
        self, i: int, heard: Functions, group: Codes, there_group: Codes, draw: int, coupling: Coupling | None
    ) -> Floats:
        """The cells (n,) of one variable in a world where it hears these functions of its causes.

        Whatever the world, a person's noise and chance in it are the same.
        """
        chance = _Chance(self.keys, draw, i)
        worlds = Worlds(self.here, heard, group, there_group, chance, coupling, self.known)
        return self.model.mechanisms[i].twins(self.cells[:, i], worlds)


@dataclass(frozen=True)
class _Chance:
    """Numbers between 0 and 1 that belong to rows, by purpose."""

    keys: Keys
    draw: int
    variable: int

    def __call__(self, purpose: int) -> Floats:
        return uniforms(self.keys, self.draw, self.variable, purpose)


def _columns(shape: object) -> tuple[int, ...]:
    if isinstance(shape, Levels):
        return shape.columns
    return (shape.column, shape.mark)  # type: ignore[attr-defined]


def fit_bases(cells: Floats, layout: Layout) -> dict[int, Basis]:
    """The functions through which every variable acts, from cells (n, v)."""
    found: dict[int, Basis] = {}
    for j, shape in enumerate(layout.shapes):
        values = cells[:, j]
        found[j] = (
            fit_level_basis(values, len(shape.patterns)) if isinstance(shape, Levels) else fit_number_basis(values)
        )
    return found


def fit_mechanism(
    i: int,
    causes: Sequence[int],
    cells: Floats,
    layout: Layout,
    parts: tuple[Mapping[int, Basis], Functions],
    acts: Sequence[bool | None],
) -> Mechanism:
    """The mechanism of variable i with these causes in the graph, fitted to cells (n, v).

    Parameters
    ----------
    parts : all variables' bases, and their functions of the cells
    acts : whether each sensitive attribute acts; None: if the data support it
    """
    shape, (bases, functions) = layout.shapes[i], parts
    sample = Sample(
        cells=cells[:, i],
        levels=len(shape.patterns) if isinstance(shape, Levels) else 0,
        functions={j: functions[j] for j in {*range(layout.attributes), *causes}},
        bases=bases,
        causes=tuple(causes),
        group=layout.states.of_levels([cells[:, s].astype(np.intp) for s in range(layout.attributes)]),
        acts=tuple(acts),
        states=layout.states.count,
    )
    return FITS[layout.kinds[i]](sample)
