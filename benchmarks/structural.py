"""Worlds of structural equations whose twins are known: what ``benchmarks/worlds.py`` draws at random.

Every attribute is an explicit function of its causes' cells and of each person's own noise: its causes and its noise
make latent numbers, its form writes them into a cell (a unit, a count, a level). A twin has the same noise and the
other group, recomputed in causal order. An anomaly is somebody with one or two noises that are unusually large, so odd
for their causes; their twin is one, too.
"""

# ruff: noqa: D102 - what a form's methods do is said once, in ``Form``

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal, NamedTuple, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import poisson

from cfad_core.causal.graph import descendants
from cfad_core.core.arrays import Bools, Floats

SENSITIVE, GROUPS = "group", ("a", "b")
LABEL, ANOMALY, NORMAL = "anomaly", "yes", "no"
ANOMALY_SHARE = 0.05
SEED = 20261117
LEVELS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")
KNOTS = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])

Cells: TypeAlias = NDArray[Any]
Signals: TypeAlias = Mapping[str, Floats]
"""What each cause sends, (n,): -1 or +1 of the group, else about mean 0 and variance 1."""


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
    knots : heights of the piecewise linear shape ``spline`` at -2, -1, 0, 1 and 2
    by, change : another cause of the same effect that this one's strength depends on, and how much
    """

    cause: str
    weights: tuple[float, ...]
    shape: Literal["linear", "tanh", "root", "spline"] = "linear"
    knots: tuple[float, ...] = ()
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
        return np.interp(signal, KNOTS, self.knots) if self.shape == "spline" else signal


@dataclass(frozen=True)
class Form(ABC):
    """How latent numbers are written into a cell.

    Attributes
    ----------
    center, scale : of the latent number, so that ``z`` is about a standard one
    """

    kind: ClassVar[str]
    center: float = 0.0
    scale: float = 1.0

    @property
    def noises(self) -> int:
        """How many noises each person has in this attribute."""
        return 1

    def z(self, index: Floats, noise: Floats) -> Floats:
        """The latent number, (n,)."""
        return np.asarray((index[:, 0] + noise[:, 0] - self.center) / self.scale)

    @abstractmethod
    def cells(self, index: Floats, noise: Floats) -> Cells:
        """(n,), from what the causes say (n, k) and the noise in its own spread."""

    def message(self, cells: Cells) -> Floats:
        """What the effects of this attribute depend on, (n,)."""
        return cells.astype(np.float64)


@dataclass(frozen=True)
class Number(Form):
    """In a unit and from an origin of its own."""

    kind: ClassVar[str] = "number"
    offset: float = 0.0
    unit: float = 1.0

    def cells(self, index: Floats, noise: Floats) -> Cells:
        return np.asarray(self.offset + self.unit * self.z(index, noise))


@dataclass(frozen=True)
class LogNormal(Form):
    """Money: the exponential of a latent number, in cents; it acts by its logarithm."""

    kind: ClassVar[str] = "lognormal"
    unit: float = 1.0
    width: float = 1.0

    def cells(self, index: Floats, noise: Floats) -> Cells:
        return np.round(self.unit * np.exp(np.clip(self.width * self.z(index, noise), -12.0, 12.0)), 2)

    def message(self, cells: Cells) -> Floats:
        return np.log(np.maximum(cells, 0.01))


@dataclass(frozen=True)
class Count(Form):
    """A rate cut to a whole number, or the Poisson quantile of a second noise that the person keeps."""

    kind: ClassVar[str] = "count"
    base: float = 1.0
    width: float = 1.0
    is_poisson: bool = False

    @property
    def noises(self) -> int:
        return 2 if self.is_poisson else 1

    def cells(self, index: Floats, noise: Floats) -> Cells:
        rate = self.base * np.exp(np.clip(self.width * self.z(index, noise), -6.0, 6.0))
        if self.is_poisson:
            rate = poisson.ppf(np.clip(ndtr(noise[:, 1]), 1e-12, 1.0 - 1e-12), rate)
        return np.floor(rate).astype(np.int64)

    def message(self, cells: Cells) -> Floats:
        return np.log1p(cells.astype(np.float64))


@dataclass(frozen=True)
class Rounded(Form):
    """A number rounded to a step."""

    kind: ClassVar[str] = "rounded"
    offset: float = 0.0
    unit: float = 1.0
    step: int = 1

    def cells(self, index: Floats, noise: Floats) -> Cells:
        return np.rint((self.offset + self.unit * self.z(index, noise)) / self.step).astype(np.int64) * self.step


@dataclass(frozen=True)
class Atom(Form):
    """A number cut at 0: mostly 0, else positive."""

    kind: ClassVar[str] = "atom"
    unit: float = 1.0
    cut: float = 0.0

    def cells(self, index: Floats, noise: Floats) -> Cells:
        return np.round(self.unit * np.maximum(self.z(index, noise) - self.cut, 0.0), 2)

    def message(self, cells: Cells) -> Floats:
        return np.log1p(cells.astype(np.float64) / self.unit)


@dataclass(frozen=True)
class YesNo(Form):
    """Whether the latent number is above a cut."""

    kind: ClassVar[str] = "yesno"
    cut: float = 0.0
    as_text: bool = False

    def cells(self, index: Floats, noise: Floats) -> Cells:
        above: Bools = self.z(index, noise) > self.cut
        return np.where(above, "yes", "no").astype(object) if self.as_text else above

    def message(self, cells: Cells) -> Floats:
        return np.asarray((cells == "yes") if self.as_text else cells, dtype=np.float64)


@dataclass(frozen=True)
class Ordered(Form):
    """Levels cut from a latent number; they act by their rank."""

    kind: ClassVar[str] = "ordered"
    cuts: tuple[float, ...] = ()

    @property
    def levels(self) -> tuple[str, ...]:
        """All that a cell may hold."""
        return LEVELS[: len(self.cuts) + 1]

    def cells(self, index: Floats, noise: Floats) -> Cells:
        return np.array(LEVELS, dtype=object)[np.digitize(self.z(index, noise), self.cuts)]

    def message(self, cells: Cells) -> Floats:
        return _ranks(cells).astype(np.float64)


@dataclass(frozen=True)
class Nominal(Form):
    """Levels without an order: the one whose index and Gumbel noise are largest together."""

    kind: ClassVar[str] = "nominal"
    base: tuple[float, ...] = ()
    values: tuple[float, ...] = ()

    @property
    def levels(self) -> tuple[str, ...]:
        """All that a cell may hold."""
        return LEVELS[: len(self.base)]

    @property
    def noises(self) -> int:
        return len(self.base)

    def cells(self, index: Floats, noise: Floats) -> Cells:
        best: NDArray[np.intp] = np.argmax(np.array(self.base) + index + noise, axis=1)
        cells: Cells = np.array(LEVELS, dtype=object)[best]
        return cells

    def message(self, cells: Cells) -> Floats:
        return np.array(self.values)[_ranks(cells)]


def _ranks(cells: Cells) -> NDArray[np.intp]:
    return pd.Index(LEVELS).get_indexer(pd.Index(cells))


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
    attributes : causes before effects; the first ``before`` of them come before the sensitive attribute
    group_effects, group_cut : somebody belongs to the first group if these and a logistic noise are below the cut
    gaps : by column, the share of missing cells in the first and in the second group
    identified : whether the sensitive attribute is a root without a hidden common cause, as audits assume
    """

    number: int
    family: str
    rows: int
    attributes: tuple[Attribute, ...]
    group_cut: float
    group_effects: tuple[Effect, ...] = ()
    before: int = 0
    gaps: dict[str, tuple[float, float]] = field(default_factory=dict)
    identified: bool = True

    @property
    def table(self) -> pd.DataFrame:
        """What an audit sees."""
        return self._rows[0]

    @property
    def twins(self) -> pd.DataFrame:
        """The same rows, had these people belonged to the other group."""
        return self._rows[1]

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
        names = [SENSITIVE, *self.columns]
        graph = pd.DataFrame(data=False, index=names, columns=names)
        for name, attribute in self.columns.items():
            graph.loc[[cause for cause in attribute.causes if cause in graph.index], name] = True
        graph.loc[[one.cause for one in self.group_effects if one.cause in graph.index], SENSITIVE] = True
        graph.loc[SENSITIVE, [name for name, (first, second) in self.gaps.items() if first != second]] = True
        return graph

    @cached_property
    def reached(self) -> set[str]:
        """The columns that the sensitive attribute reaches."""
        # A gap is seen in its own column only: effects depend on what the cell would have held
        names = [name for name, (first, second) in self.gaps.items() if first != second]
        graph = self.graph.copy()
        graph.loc[SENSITIVE, [name for name in names if SENSITIVE not in self.columns[name].causes]] = False
        found = descendants(graph.to_numpy(), 0)
        return {*names, *(graph.columns[i] for i in found)}

    def people(self, n: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
        """New people of this world, and their twins."""
        return self._draw(n, np.random.default_rng([SEED, self.number, 1, seed]))

    @cached_property
    def _rows(self) -> tuple[pd.DataFrame, pd.DataFrame]:
        return self._draw(self.rows, np.random.default_rng([SEED, self.number, 0]))

    def _draw(self, n: int, rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame]:
        own = Exogenous(
            noise={one.name: NOISES[one.noise].draw(rng, (n, one.form.noises)) for one in self.attributes},
            group=rng.logistic(size=n),
            gaps={name: rng.random(n) for name in self.gaps},
            is_anomaly=rng.random(n) < ANOMALY_SHARE,
        )
        self._make_odd(own, rng)
        signs, cells = self._solve(own, None)
        return self._frame(own, signs, cells), self._frame(own, *self._solve(own, -signs))

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

    def _solve(self, own: Exogenous, signs: Floats | None) -> tuple[Floats, dict[str, Cells]]:
        """Groups (n,) and cells in causal order; groups that are given are set from outside."""
        signals: dict[str, Floats] = {}
        cells: dict[str, Cells] = {}
        for k, attribute in enumerate((*self.attributes, None)):
            if k == self.before:
                drawn = sum((effect.of(signals)[:, 0] for effect in self.group_effects), own.group)
                signs = np.where(drawn < self.group_cut, -1.0, 1.0) if signs is None else signs
                signals[SENSITIVE] = signs
            if attribute is not None:
                cells[attribute.name] = attribute.cells(signals, own.noise[attribute.name])
                signals[attribute.name] = attribute.signal(cells[attribute.name])
        return signals[SENSITIVE], cells

    def _frame(self, own: Exogenous, signs: Floats, cells: Mapping[str, Cells]) -> pd.DataFrame:
        columns: dict[str, Cells] = {SENSITIVE: np.where(signs < 0.0, *GROUPS).astype(object)}
        for name in self.columns:
            columns[name] = cells[name]
            if name in self.gaps:
                first, second = self.gaps[name]
                columns[name] = _with_gaps(cells[name], own.gaps[name] < np.where(signs < 0.0, first, second))
        columns[LABEL] = np.where(own.is_anomaly, ANOMALY, NORMAL).astype(object)
        return pd.DataFrame(columns)


def _with_gaps(cells: Cells, missing: Bools) -> Cells:
    if cells.dtype.kind in "fi":
        return np.where(missing, np.nan, cells)
    found = cells.astype(object)
    found[missing] = None
    return found
