"""How the worlds of ``benchmarks/structural.py`` write latent numbers into cells: units, counts, levels."""

# ruff: noqa: D102 - what a form's methods do is said once, in ``Form``

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from scipy.stats import poisson

from cfad_core.core.arrays import Bools, Floats

LEVELS = ("alpha", "beta", "gamma", "delta", "epsilon", "zeta")

Cells: TypeAlias = NDArray[Any]


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
