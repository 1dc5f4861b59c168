"""What every mechanism offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.mechanisms.basis import Basis
from cfad_core.causal.mechanisms.design import Functions
from cfad_core.core.arrays import Floats

Coupling: TypeAlias = Literal["fewest", "nominal", "ordered"]
"""How the levels of a person and of their twin hang together, where the data cannot decide it."""


@dataclass(frozen=True)
class Worlds:
    """People and their twins, as far as the twins are made: what a mechanism makes a variable's cells of.

    Attributes
    ----------
    here, there : functions of the causes, of people and of twins
    group, twin_group : (n,), their states, from 0: which groups they belong to
    chance : numbers between 0 and 1 (n,), the same for the same purpose; they belong to the person
    coupling : instead of the mechanism's own
    known : what mechanisms found out about the people as they are; all draws share it
    """

    here: Functions
    there: Functions
    group: NDArray[np.intp]
    twin_group: NDArray[np.intp]
    chance: Callable[[int], Floats]
    coupling: Coupling | None = None
    known: dict[int, Floats] = field(default_factory=dict)


@dataclass(frozen=True)
class Sample:
    """What a mechanism is fitted to.

    Attributes
    ----------
    cells : (n,), of the variable itself
    levels : how many it has; 0 of a number
    functions : of all variables that may be causes
    bases : the same, to choose functions from
    causes : in the graph; which of the sensitive attributes, the first variables, are causes is said by ``acts``
    group : (n,), the state of each person, from 0: which groups they belong to
    acts : whether each sensitive attribute acts; None: if the data support it
    states : how many there are
    """

    cells: Floats
    levels: int
    functions: Functions
    bases: Mapping[int, Basis]
    causes: tuple[int, ...]
    group: NDArray[np.intp]
    acts: tuple[bool | None, ...] = (None,)
    states: int = 2


AVERAGE, SPREAD, MISSING, COMMON, LEVEL = "average", "spread", "missing", "common value", "level"
"""What residuals are about; a level's have its position behind them."""
_FAR = 4.0  # standard deviations of the noise, beyond which nobody counts for more


def noise_residuals(noise: Floats) -> dict[str, Floats]:
    """Of noise (n,), nan where there is none: where it lies, and how far it spreads."""
    found = np.clip(noise, -_FAR, _FAR)
    return {AVERAGE: np.nan_to_num(found), SPREAD: np.nan_to_num(found**2 - 1.0)}  # whoever has none counts as usual


@dataclass(frozen=True)
class Oddness:
    """What is a person's own in one variable: how unusual it is for somebody with their causes.

    Attributes
    ----------
    noise : (n,), of numbers, or what a twin keeps of it; nan where the cell is none
    levels : (n,), ``-2 log p`` of what is drawn: a level, whether the cell is missing, whether it is the common value
    """

    noise: Floats
    levels: Floats


class Mechanism(Protocol):
    """How one variable comes from its causes: one class for each kind of variable."""

    @property
    def causes(self) -> frozenset[int]:
        """The variables that it listens to."""

    def twins(self, cells: Floats, worlds: Worlds) -> Floats:
        """The cells (n,) of the twins of people who have these cells (n,); the same number where nothing changes."""

    def log_likelihood(self, cells: Floats, functions: Functions) -> Floats:
        """Of each person's cell, given their causes, (n,); on one scale for all mechanisms of a variable."""

    def oddness(self, cells: Floats, functions: Functions, group: NDArray[np.intp]) -> Oddness:
        """What is each person's own in this variable; ``group`` (n,) is their state, from 0."""

    def residuals(self, cells: Floats, functions: Functions) -> dict[str, Floats]:
        """What the causes do not explain of each person's cell, (n,) each, by name.

        If the mechanism holds, each of them is on average the same for all causes.
        """

    @property
    def draws(self) -> bool:
        """Whether chance has a part in what twins have."""
