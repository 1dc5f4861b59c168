"""Numbers: ``t = m(causes) + s(causes) e``, where t is the number or its normal score.

A twin keeps its noise e, or the rank of it within the group where the groups' noises differ in shape. Missing cells,
and a value that many people have (capital gain: mostly 0), are yes/no parts; where that value is the smallest or the
largest one, it and the number are one latent number that keeps its rank.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.mechanisms.basis import common_value
from cfad_core.causal.mechanisms.category import Category, fit_category
from cfad_core.causal.mechanisms.design import Functions
from cfad_core.causal.mechanisms.latent import Latent, fit_latent
from cfad_core.causal.mechanisms.protocol import COMMON, MISSING, Oddness, Sample, Worlds, noise_residuals
from cfad_core.core.arrays import Bools, Floats

_LEAST = 20  # people with and without something, that a part for it is fitted to
_DETERMINED = 1e-3  # spread around what the causes say, in spreads of the number itself, that is none
_TIE, _MISSING, _ATOM, _DRAWN = 10, 20, 30, 40  # purposes of chance


@dataclass(frozen=True)
class Number:
    """A variable that is a number.

    Attributes
    ----------
    latent : the number where it is one
    missing : whether the cell is missing, if that was modelled
    atom : the value that many people have, nan if there is none
    at_atom : whether the number is that value
    """

    latent: Latent
    missing: Category | None
    atom: float
    at_atom: Category | None

    @property
    def causes(self) -> frozenset[int]:
        parts = (self.latent.equation, self.missing, self.at_atom)
        return frozenset().union(*(part.causes for part in parts if part is not None))

    def twins(self, cells: Floats, worlds: Worlds) -> Floats:
        """The number of each twin, nan where its cell is missing, (n,)."""
        absent = np.isnan(cells)
        x = np.where(absent, self.latent.marginal.center, cells)
        gone = absent
        if self.missing is not None:
            gone = self.missing.twins(absent.astype(np.float64), _shifted(worlds, _MISSING)) > 0.5
        if self.at_atom is None:
            moved = self._numbers(x, worlds, drawn=absent)
        elif self.latent.marginal.low <= self.atom <= self.latent.marginal.high:
            moved = self._mixed(x, worlds, drawn=absent)
        else:
            moved = self._censored(x, worlds, drawn=absent)
        return np.where(gone, np.nan, moved)

    def _numbers(self, x: Floats, worlds: Worlds, drawn: Bools) -> Floats:
        equation = self.latent.equation
        there = equation.expected(worlds.there, len(x))
        noise = self.latent.noise(x, equation.expected_here(worlds), worlds.chance(_TIE))
        if drawn.any():
            noise = np.where(drawn, equation.quantile(worlds.chance(_DRAWN)), noise)
        moved = self.latent.value(equation.noise_of_twin(noise, worlds), there)
        return np.where(equation.stays(worlds, there) & ~drawn, x, moved)

    def _mixed(self, x: Floats, worlds: Worlds, drawn: Bools) -> Floats:
        """The atom or not, then a number if not."""
        assert self.at_atom is not None
        at_atom = np.where(drawn, worlds.chance(_ATOM + 5) < self._share(worlds.here, len(x)), x == self.atom)
        stays_at = self.at_atom.twins(at_atom.astype(np.float64), _shifted(worlds, _ATOM)) > 0.5
        return np.where(stays_at, self.atom, self._numbers(x, worlds, drawn=drawn | at_atom))

    def _censored(self, x: Floats, worlds: Worlds, drawn: Bools) -> Floats:
        """One latent number whose end is the atom: everybody keeps their rank in it."""
        latent, equation, n = self.latent, self.latent.equation, len(x)
        p, q = self._share(worlds.here, n), self._share(worlds.there, n)
        expected = equation.expected(worlds.there, n)
        noise = latent.noise(x, equation.expected_here(worlds), worlds.chance(_TIE))
        at_low = self.atom < latent.marginal.low
        rank = equation.rank(noise)
        inside = rank if at_low else 1.0 - rank
        at_atom = x == self.atom
        place = np.where(at_atom, p * worlds.chance(_ATOM), p + (1.0 - p) * inside)
        place = np.where(drawn, worlds.chance(_DRAWN), place)
        left = np.clip((place - q) / np.maximum(1.0 - q, 1e-12), 0.0, 1.0)
        there = left if at_low else 1.0 - left
        moved = equation.noise_at(noise, there, fresh=drawn | at_atom)
        numbers = latent.value(equation.noise_of_twin(moved, worlds), expected)
        same = equation.stays(worlds, expected) & (p == q) & ~drawn
        return np.where(same, x, np.where(place <= q, self.atom, numbers))

    def _share(self, functions: Functions, n: int) -> Floats:
        assert self.at_atom is not None
        return np.ascontiguousarray(self.at_atom.probabilities(functions, n)[:, 1])

    def log_likelihood(self, cells: Floats, functions: Functions) -> Floats:
        absent = np.isnan(cells)
        total = np.zeros(len(cells))
        if self.missing is not None:
            total += self.missing.log_likelihood(absent.astype(np.float64), functions)
        at_atom = cells == self.atom
        if self.at_atom is not None:
            total += np.where(absent, 0.0, self.at_atom.log_likelihood(at_atom.astype(np.float64), functions))
        x = np.where(absent, self.latent.marginal.center, cells)
        return total + np.where(absent | at_atom, 0.0, self.latent.log_likelihood(x, functions))

    def oddness(self, cells: Floats, functions: Functions, group: NDArray[np.intp]) -> Oddness:
        """Of numbers that repeat, the noise in the middle of the value's gap.

        A number that its causes determine, as a copy of another column, has no noise of its own: what is left of it is
        rounding, and people would differ by that alone.
        """
        n, absent = len(cells), np.isnan(cells)
        at_atom = cells == self.atom
        levels = np.zeros(n)
        if self.missing is not None:
            levels -= 2.0 * self.missing.log_likelihood(absent.astype(np.float64), functions)
        if self.at_atom is not None:
            levels -= np.where(absent, 0.0, 2.0 * self.at_atom.log_likelihood(at_atom.astype(np.float64), functions))
        x = np.where(absent | at_atom, self.latent.marginal.center, cells)
        expected = self.latent.equation.expected(functions, n)
        noise = self.latent.equation.shared_noise(self.latent.noise(x, expected, np.full(n, 0.5)), group)
        determined = expected[1] < _DETERMINED
        return Oddness(np.where(absent | at_atom | determined, np.nan, noise), levels)

    def residuals(self, cells: Floats, functions: Functions) -> dict[str, Floats]:
        """Of the noise, where the cell is a number; and of whether it is missing, or the common value."""
        n, absent, at_atom = len(cells), np.isnan(cells), cells == self.atom
        x = np.where(absent | at_atom, self.latent.marginal.center, cells)
        noise = self.latent.noise(x, self.latent.equation.expected(functions, n), np.full(n, 0.5))
        found = noise_residuals(np.where(absent | at_atom, np.nan, noise))
        expected = 0.0 if self.missing is None else self.missing.probabilities(functions, n)[:, 1]
        found[MISSING] = absent - expected
        if self.at_atom is not None:
            found[COMMON] = np.where(absent, 0.0, at_atom - self._share(functions, n))
        return found

    @property
    def draws(self) -> bool:
        return self.latent.marginal.tied or self.missing is not None or self.at_atom is not None


def fit_number(sample: Sample) -> Number:
    """Fit the parts that the cells have, each to the people whom it is about.

    Where a sensitive attribute must act, it must do so in one of the parts.
    """
    missing = np.isnan(sample.cells)
    atom = common_value(sample.cells[~missing])
    at_atom = sample.cells == atom
    by_data = replace(sample, acts=tuple(must and None for must in sample.acts))
    for_missing = _part(by_data, np.ones(len(missing), dtype=np.bool_), missing)
    for_atom = None if np.isnan(atom) else _part(by_data, ~missing, at_atom)
    acting = frozenset().union(*(part.causes for part in (for_missing, for_atom) if part is not None))
    left = tuple(must and None if s in acting else must for s, must in enumerate(sample.acts))
    rest = ~missing & ~at_atom if for_atom is not None else ~missing
    return Number(
        latent=fit_latent(_of(replace(sample, acts=left), rest, sample.cells)),
        missing=for_missing,
        atom=atom if for_atom is not None else float("nan"),
        at_atom=for_atom,
    )


def _part(sample: Sample, rows: Bools, answer: Bools) -> Category | None:
    """The yes/no part of some rows; None if too few say yes or no."""
    yes, no = int((answer & rows).sum()), int((~answer & rows).sum())
    return fit_category(_of(sample, rows, answer.astype(np.float64), levels=2)) if min(yes, no) >= _LEAST else None


def _of(sample: Sample, rows: Bools, cells: Floats, levels: int = 0) -> Sample:
    functions = {j: [np.ascontiguousarray(one[rows]) for one in some] for j, some in sample.functions.items()}
    return replace(sample, cells=cells[rows], levels=levels, functions=functions, group=sample.group[rows])


def _shifted(worlds: Worlds, purpose: int) -> Worlds:
    """The same worlds, with chance of their own for a part."""
    return replace(worlds, chance=lambda k: worlds.chance(purpose + k), coupling=None)
