"""Worlds of structural equations whose twins are known: what ``benchmarks/worlds.py`` draws at random.

Every attribute is an explicit function of its causes' cells and of each person's own noise: its causes and its noise
make latent numbers, its form writes them into a cell (a unit, a count, a level). A twin has the same noise and another
group, recomputed in causal order. An anomaly is somebody with one or two noises that are unusually large, so odd for
their causes; their twin is one, too.

There may be several sensitive attributes, which depend on each other without one being a cause of another: the state of
a person, one group of each, is drawn at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd

from benchmarks.forms import Cells, Count, Form
from cfad_core.causal.graph import descendants
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.states import Codes, States

SENSITIVE, GROUPS = "group", ("a", "b")
LABEL, ANOMALY, NORMAL = "anomaly", "yes", "no"
ANOMALY_SHARE = 0.05
SEED = 20261117
KNOTS = (-2.0, -1.0, 0.0, 1.0, 2.0)

Signals: TypeAlias = Mapping[str, Floats]
"""What each cause sends, (n,): the value of the group, else about mean 0 and variance 1."""

State: TypeAlias = tuple[int, ...]
"""One group of each sensitive attribute, from 0."""


class NoiseLaw(NamedTuple):
    """A noise of mean 0 and variance 1, and how large an unusual one is at least."""

    draw: Callable[[np.random.Generator, tuple[int, int]], Floats]
    far: float
    one_sided: bool = False


NOISES = {
    "normal": NoiseLaw(lambda rng, shape: rng.standard_normal(shape), 3.5),
    "t3": NoiseLaw(lambda rng, shape: rng.standard_t(3, shape) / np.sqrt(3.0), 6.0),
    "laplace": NoiseLaw(lambda rng, shape: rng.laplace(size=shape) / np.sqrt(2.0), 5.0),
    "exponential": NoiseLaw(lambda rng, shape: rng.exponential(size=shape) - 1.0, 6.0, one_sided=True),
    "uniform": NoiseLaw(lambda rng, shape: rng.uniform(-np.sqrt(3.0), np.sqrt(3.0), shape), 2.5),
    "logistic": NoiseLaw(lambda rng, shape: rng.logistic(size=shape) * np.sqrt(3.0) / np.pi, 4.5),
    "gumbel": NoiseLaw(
        lambda rng, shape: (rng.gumbel(size=shape) - np.euler_gamma) * np.sqrt(6.0) / np.pi, 6.0, one_sided=True
    ),
}


@dataclass(frozen=True)
class Effect:
    """What one cause adds to the latent numbers of its effect.

    Attributes
    ----------
    weights : (k,), one for each latent number
    knots : heights of the piecewise linear shape ``spline``
    at : where these are, increasing; by default at -2, -1, 0, 1 and 2. At the values of a sensitive attribute's groups,
        every group has a weight of its own
    by, change : another cause of the same effect that this one's strength depends on, and how much
    """

    cause: str
    weights: tuple[float, ...]
    shape: Literal["linear", "tanh", "root", "spline"] = "linear"
    knots: tuple[float, ...] = ()
    at: tuple[float, ...] = KNOTS
    by: str | None = None
    change: float = 0.0

    def of(self, signals: Signals) -> Floats:
        """(n, k)."""
        strength = self._shaped(signals[self.cause])
        if self.by is not None:
            strength = strength * (1.0 + self.change * np.tanh(signals[self.by]))
        return np.outer(strength, self.weights)

    def _shaped(self, signal: Floats) -> Floats:
        if self.shape == "tanh":
            return np.asarray(1.5 * np.tanh(signal))
        if self.shape == "root":
            return np.asarray(np.sign(signal) * np.sqrt(np.abs(signal)))
        return np.interp(signal, self.at, self.knots) if self.shape == "spline" else signal


@dataclass(frozen=True)
class Attribute:
    """One structural equation.

    Attributes
    ----------
    noise, spread : the law of its noise in ``NOISES``, and its scale
    spread_by, change : a cause that the scale depends on, and how much
    center, scale : that its message is standardised with
    hidden : whether it is no column of the table
    """

    name: str
    form: Form
    effects: tuple[Effect, ...] = ()
    noise: str = "normal"
    spread: float = 1.0
    spread_by: str | None = None
    change: float = 0.0
    center: float = 0.0
    scale: float = 1.0
    hidden: bool = False

    @property
    def causes(self) -> set[str]:
        """Of its latent numbers; that of its spread is among them."""
        return {effect.cause for effect in self.effects}

    def latents(self, signals: Signals, noise: Floats) -> tuple[Floats, Floats]:
        """What the causes say (n, k), and the noise (n, noises) in its own spread."""
        index = sum((effect.of(signals) for effect in self.effects), np.zeros((len(noise), 1)))
        spread = np.full(len(noise), self.spread)
        if self.spread_by is not None:
            spread *= np.exp(self.change * np.tanh(signals[self.spread_by]))
        scaled = noise * spread[:, None]
        if isinstance(self.form, Count):
            scaled[:, 1:] = noise[:, 1:]  # the quantile of a Poisson law has no scale
        return index, scaled

    def cells(self, signals: Signals, noise: Floats) -> Cells:
        """(n,), from what the causes send and the standard noise (n, noises)."""
        return self.form.cells(*self.latents(signals, noise))

    def signal(self, cells: Cells) -> Floats:
        """What it sends to its effects, (n,)."""
        return (self.form.message(cells) - self.center) / self.scale


@dataclass(frozen=True)
class Sensitive:
    """A sensitive attribute.

    Attributes
    ----------
    groups : what its cells hold
    values : what each group sends to its effects
    """

    name: str = SENSITIVE
    groups: tuple[str, ...] = GROUPS
    values: tuple[float, ...] = (-1.0, 1.0)


@dataclass(frozen=True)
class Exogenous:
    """All that is a person's own, whatever their group: n people."""

    noise: dict[str, Floats]
    group: Floats
    gaps: dict[str, Floats]
    is_anomaly: Bools


@dataclass(frozen=True)
class World:
    """Structural equations in causal order, and the rows of a table drawn from them.

    Attributes
    ----------
    attributes : causes before effects; the first ``before`` of them come before the sensitive attributes
    group_cuts : (states - 1,), increasing; they cut ``group_effects`` and a logistic noise into states, so that with
        two groups somebody belongs to the first if these are below the cut
    gaps : by column, the share of missing cells in each state
    sensitive : the sensitive attributes; states are numbered as ``States`` does
    identified : whether the sensitive attributes are roots without a hidden common cause with others, as audits assume
    """

    number: int
    family: str
    rows: int
    attributes: tuple[Attribute, ...]
    group_cuts: tuple[float, ...]
    group_effects: tuple[Effect, ...] = ()
    before: int = 0
    gaps: dict[str, tuple[float, ...]] = field(default_factory=dict)
    sensitive: tuple[Sensitive, ...] = (Sensitive(),)
    identified: bool = True

    @cached_property
    def table(self) -> pd.DataFrame:
        """What an audit sees."""
        return self._people(self._rows)

    @cached_property
    def twins(self) -> pd.DataFrame:
        """The same rows, had these people belonged to the other group, where there is one other."""
        return self._twins(self._rows)

    @cached_property
    def states(self) -> States:
        """All combinations of groups."""
        return States(tuple(len(one.groups) for one in self.sensitive))

    @cached_property
    def kinds(self) -> dict[str, str]:
        """By attribute, the ``kind`` of its form."""
        return {name: attribute.form.kind for name, attribute in self.columns.items()}

    @cached_property
    def columns(self) -> dict[str, Attribute]:
        """The attributes that are columns of the table, in its order, which says nothing about causes."""
        return {one.name: one for one in sorted(self.attributes, key=lambda one: one.name) if not one.hidden}

    @cached_property
    def graph(self) -> pd.DataFrame:
        """Which column (row) is a cause of which (column); what makes cells missing is a cause of theirs."""
        roots = [one.name for one in self.sensitive]
        names = [*roots, *self.columns]
        graph = pd.DataFrame(data=False, index=names, columns=names)
        for name, attribute in self.columns.items():
            graph.loc[[cause for cause in attribute.causes if cause in graph.index], name] = True
        graph.loc[[one.cause for one in self.group_effects if one.cause in graph.index], roots] = True
        for root in roots:
            graph.loc[root, self._gaps_by(root)] = True
        return graph

    @cached_property
    def reached(self) -> set[str]:
        """The columns that the sensitive attributes reach."""
        return set().union(*(self.reached_by(one.name) for one in self.sensitive))

    def reached_by(self, sensitive: str) -> set[str]:
        """The columns that one of the sensitive attributes reaches."""
        # A gap is seen in its own column only: effects depend on what the cell would have held
        names = self._gaps_by(sensitive)
        graph = self.graph.copy()
        graph.loc[sensitive, [name for name in names if sensitive not in self.columns[name].causes]] = False
        found = descendants(graph.to_numpy(), list(graph.index).index(sensitive))
        return {*names, *(graph.columns[i] for i in found)}

    def _gaps_by(self, sensitive: str) -> list[str]:
        """The columns whose gaps depend on a sensitive attribute."""
        axis = [one.name for one in self.sensitive].index(sensitive)
        return [name for name, some in self.gaps.items() if np.ptp(np.reshape(some, self.states.sizes), axis).any()]

    def people(self, n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """New people of this world, and their twins in the other group, where there is one other."""
        own = self._new(n, seed)
        return self._people(own), self._twins(own)

    def people_in_all_states(self, n: int, seed: int) -> tuple[pd.DataFrame, dict[State, pd.DataFrame]]:
        """New people of this world, those of ``people``; and by state, the same people had they belonged to it."""
        own = self._new(n, seed)
        everywhere = {
            tuple(levels): self._frame(own, *self._solve(own, np.full(n, state)))
            for state, levels in enumerate(self.states.levels.tolist())
        }
        return self._people(own), everywhere

    def twins_without(self, n: int, seed: int, closed: Collection[tuple[str, ...]]) -> pd.DataFrame:
        """The twins of ``people``, of two groups, where these paths and what follows from them carry nothing.

        By the definition: every cell is worked out anew for each way on from it to the column that is seen.
        """
        own = self._new(n, seed)
        state, _ = self._solve(own, None)
        here, there = (group_signals(self.sensitive, some) for some in (state, 1 - state))
        attributes = {one.name: one for one in self.attributes}
        root = self.sensitive[0].name

        def cells(way: tuple[str, ...]) -> Cells:
            """Of the first attribute of a way, as the last one hears it along the way."""
            signals: dict[str, Floats] = {}
            for cause in attributes[way[0]].causes:
                path = (cause, *way)
                if cause == root:
                    is_closed = any(path[:k] in closed for k in range(2, len(path) + 1))
                    signals[cause] = (here if is_closed else there)[cause]
                else:
                    signals[cause] = attributes[cause].signal(cells(path))
            return attributes[way[0]].cells(signals, own.noise[way[0]])

        whole = self._frame(own, 1 - state, {name: cells((name,)) for name in self.columns})
        gaps = self._frame(own, state, {name: cells((name,)) for name in self.columns})
        for name in self.gaps:  # a gap is seen in its own column only
            whole[name] = gaps[name] if (root, name) in closed else whole[name]
        return whole

    @cached_property
    def _rows(self) -> Exogenous:
        return self._draw(self.rows, np.random.default_rng([SEED, self.number, 0]))

    def _new(self, n: int, seed: int) -> Exogenous:
        return self._draw(n, np.random.default_rng([SEED, self.number, 1, seed]))

    def _draw(self, n: int, rng: np.random.Generator) -> Exogenous:
        own = Exogenous(
            noise={one.name: NOISES[one.noise].draw(rng, (n, one.form.noises)) for one in self.attributes},
            group=rng.logistic(size=n),
            gaps={name: rng.random(n) for name in self.gaps},
            is_anomaly=rng.random(n) < ANOMALY_SHARE,
        )
        self._make_odd(own, rng)
        return own

    def _people(self, own: Exogenous) -> pd.DataFrame:
        """As they are."""
        return self._frame(own, *self._solve(own, None))

    def _twins(self, own: Exogenous) -> pd.DataFrame:
        if self.states.count > 2:
            raise ValueError(
                f"People of this world have {self.states.others} twins each, in {self.states.count} states: take those "
                "of 'people_in_all_states'."
            )
        state, _ = self._solve(own, None)
        return self._frame(own, *self._solve(own, 1 - state))

    def _make_odd(self, own: Exogenous, rng: np.random.Generator) -> None:
        """Give anomalies one or two unusually large noises."""
        n, seen = len(own.group), list(self.columns.values())
        first, second = rng.integers(0, len(seen), (2, n))
        second = np.where(rng.random(n) < 0.5, first, second)
        for k, attribute in enumerate(seen):
            law, noise = NOISES[attribute.noise], own.noise[attribute.name]
            size = law.far + rng.exponential(size=n)
            sign = np.where(law.one_sided | (rng.random(n) < 0.5), 1.0, -1.0)
            which = rng.integers(0, noise.shape[1], n)
            rows = np.flatnonzero(own.is_anomaly & ((first == k) | (second == k)))
            noise[rows, which[rows]] = (sign * size)[rows]

    def _solve(self, own: Exogenous, state: Codes | None) -> tuple[Codes, dict[str, Cells]]:
        """States (n,) and cells in causal order; states that are given are set from outside."""
        signals: dict[str, Floats] = {}
        cells: dict[str, Cells] = {}
        found = np.zeros(len(own.group), dtype=np.intp)
        for k, attribute in enumerate((*self.attributes, None)):
            if k == self.before:
                drawn = sum((effect.of(signals)[:, 0] for effect in self.group_effects), own.group)
                found = np.digitize(drawn, self.group_cuts) if state is None else state
                signals |= group_signals(self.sensitive, found)
            if attribute is not None:
                cells[attribute.name] = attribute.cells(signals, own.noise[attribute.name])
                signals[attribute.name] = attribute.signal(cells[attribute.name])
        return found, cells

    def _frame(self, own: Exogenous, state: Codes, cells: Mapping[str, Cells]) -> pd.DataFrame:
        columns: dict[str, Cells] = {}
        for one, level in zip(self.sensitive, self.states.levels[state].T, strict=True):
            columns[one.name] = np.array(one.groups, dtype=object)[level]
        for name in self.columns:
            columns[name] = cells[name]
            if name in self.gaps:
                columns[name] = _with_gaps(cells[name], own.gaps[name] < np.array(self.gaps[name])[state])
        columns[LABEL] = np.where(own.is_anomaly, ANOMALY, NORMAL).astype(object)
        return pd.DataFrame(columns)


def group_signals(sensitive: Sequence[Sensitive], state: Codes) -> dict[str, Floats]:
    """What the groups of people in these states (n,) send, by sensitive attribute."""
    levels = States(tuple(len(one.groups) for one in sensitive)).levels[state].T
    return {one.name: np.array(one.values)[level] for one, level in zip(sensitive, levels, strict=True)}


def _with_gaps(cells: Cells, missing: Bools) -> Cells:
    if cells.dtype.kind in "fi":
        return np.where(missing, np.nan, cells)
    found = cells.astype(object)
    found[missing] = None
    return found
