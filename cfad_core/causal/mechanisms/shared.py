"""Numbers on a shared scale whose rows were chosen by their label: one function for all causes, and additive noise.

    x_i = sum_j A[j, i] f(x_j) + b_i + u_i

Choosing rows by a label ties together whatever causes it, and equations that are fitted one by one learn these ties;
one function for all is stiff enough not to. The range of chosen rows is not that of people, so twins may leave it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.density import Density, fit_density
from cfad_core.causal.mechanisms.basis import Basis, LevelBasis, SharedBasis
from cfad_core.causal.mechanisms.design import Functions, Term, linear
from cfad_core.causal.mechanisms.protocol import Mechanism, Oddness, Worlds, noise_residuals
from cfad_core.core.arrays import Floats


@dataclass(frozen=True)
class Additive:
    """A number with additive noise.

    Attributes
    ----------
    terms, weights : of what the causes expect, in units of the shared scale
    unit : of the number, that one such unit is
    density : of the noise
    """

    terms: tuple[Term, ...]
    weights: Floats
    unit: float
    density: Density

    @property
    def causes(self) -> frozenset[int]:
        return frozenset(variable for term in self.terms for variable, _ in term)

    def twins(self, cells: Floats, worlds: Worlds) -> Floats:
        """Moved by what the causes expect more or less; the noise stays."""
        n = len(cells)
        before, after = (linear(self.weights, self.terms, world, n) for world in (worlds.here, worlds.there))
        return np.where(before == after, cells, cells + self.unit * (after - before))

    def log_likelihood(self, cells: Floats, functions: Functions) -> Floats:
        return self.density.logpdf(self._noise(cells, functions))

    def oddness(self, cells: Floats, functions: Functions, group: NDArray[np.intp]) -> Oddness:  # noqa: ARG002
        return Oddness(self._noise(cells, functions), np.zeros(len(cells)))

    def residuals(self, cells: Floats, functions: Functions) -> dict[str, Floats]:
        return noise_residuals((self._noise(cells, functions) - self.density.centre) / self.density.scale)

    @property
    def draws(self) -> bool:
        return False

    def _noise(self, cells: Floats, functions: Functions) -> Floats:
        return cells / self.unit - linear(self.weights, self.terms, functions, len(cells))


def shared_mechanisms(model: AdditiveModel, unit: float, x: Floats) -> tuple[dict[int, Basis], dict[int, Mechanism]]:
    """The bases and mechanisms of an additive model, learned from the rows x (n, d) divided by ``unit``.

    Of every variable: they cost next to nothing.
    """
    assert model.slope is not None
    bases: dict[int, Basis] = {j: SharedBasis(model.f, unit) for j in range(1, len(model.names))}
    bases[0] = LevelBasis(np.array([[-model.slope[0]], [model.slope[0]]]))
    noise = model.abduct(np.column_stack([x[:, :1], x[:, 1:] / unit]))
    mechanisms: dict[int, Mechanism] = {}
    for i in range(1, len(model.names)):
        causes = [int(j) for j in np.flatnonzero(model.weights[:, i])]
        weights = np.concatenate([[model.intercept[i]], model.weights[causes, i]])
        terms: tuple[Term, ...] = tuple(((j, 0),) for j in causes)
        mechanisms[i] = Additive(terms, weights, unit, fit_density(noise[:, i]))
    return bases, mechanisms
