"""What a cause can do to its effects: functions of one variable, of which mechanisms choose how many they need.

A number acts through itself, its normal score, and splines of that score; a missing cell and a value that many people
have act on their own. A level acts by being there. All functions have mean 0 and variance 1 over the training rows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, TypeAlias

import numpy as np

from cfad_core.causal.mechanisms.marginal import Marginal, fit_marginal
from cfad_core.causal.spline import Spline
from cfad_core.core.arrays import Floats

_COARSE, _FINE = 5, 17  # knots of the two splines
_FAR = 5.0  # standard deviations from the middle, that a straight line does not follow people beyond
_COMMON = 0.1  # share of people that have one value, from which it acts on its own
_DISTINCT = 20  # values of a number that may have such an atom


class Lazy(Sequence[Floats]):
    """Arrays that are made when somebody asks for them, once: a mechanism listens to few of a variable's functions."""

    def __init__(self, count: int, make: Callable[[int], Floats]) -> None:
        self._count, self._make = count, make
        self._made: dict[int, Floats] = {}

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, k: Any) -> Any:
        if not 0 <= k < self._count:
            raise IndexError(k)
        if k not in self._made:
            self._made[k] = self._make(k)
        return self._made[k]


@dataclass(frozen=True)
class LevelBasis:
    """Levels that act by being there.

    Attributes
    ----------
    table : (levels, functions)
    """

    table: Floats

    @property
    def options(self) -> tuple[tuple[int, ...], ...]:
        """Choices of functions, from the simplest: all at once here."""
        return (tuple(range(self.table.shape[1])),)

    def functions(self, cells: Floats) -> Lazy:
        """Each function of the cells (n,), (n,)."""
        level = np.minimum(cells.astype(np.intp), len(self.table) - 1)
        return Lazy(self.table.shape[1], lambda k: np.ascontiguousarray(self.table[:, k])[level])


@dataclass(frozen=True)
class NumberBasis:
    """A number: itself, its normal score, coarse and fine splines of that, then an atom and missing cells.

    Attributes
    ----------
    clip : (2,), the line is followed between these numbers
    coarse, fine : knots of the splines, among normal scores
    atom : the value that many people have, or nan
    has_missing : whether cells were missing in training
    shift, scale : (functions,)
    """

    marginal: Marginal
    clip: Floats
    coarse: Floats
    fine: Floats
    atom: float
    has_missing: bool
    shift: Floats
    scale: Floats

    @property
    def options(self) -> tuple[tuple[int, ...], ...]:
        """Choices of functions, from the simplest."""
        coarse, fine = max(0, len(self.coarse) - 2), max(0, len(self.fine) - 2)
        extra = tuple(range(2 + coarse + fine, len(self.shift)))
        line, bent = (0, *extra), (0, 1, *extra)
        choices = [line, bent]
        if coarse:
            choices.append((0, 1, *range(2, 2 + coarse), *extra))
        if fine > coarse:
            choices.append((0, 1, *range(2 + coarse, 2 + coarse + fine), *extra))
        return tuple(choices)

    def functions(self, cells: Floats) -> Lazy:
        """Each function of the cells (n,), (n,)."""
        raw: list[Lazy] = []  # most variables are nobody's cause

        def make(k: int) -> Floats:
            if not raw:
                raw.append(self._raw(cells))
            found: Floats = (raw[0][k] - self.shift[k]) / self.scale[k]
            return found

        return Lazy(len(self.shift), make)

    def _raw(self, cells: Floats) -> Lazy:
        missing = np.isnan(cells)
        x = np.where(missing, self.marginal.center, cells)
        score = cache(lambda: self.marginal.score(x))
        makers: list[Callable[[], Floats]] = [lambda: np.clip(x, *self.clip), score]
        makers += [*_natural_spline(score, self.coarse), *_natural_spline(score, self.fine)]
        if not np.isnan(self.atom):
            makers.append(lambda: (x == self.atom).astype(np.float64))
        if self.has_missing:
            makers.append(lambda: missing.astype(np.float64))
        return Lazy(len(makers), lambda k: makers[k]())


@dataclass(frozen=True)
class SharedBasis:
    """A number on a shared scale, that acts through one function as all others do.

    Attributes
    ----------
    unit : that numbers are divided by first
    """

    function: Spline
    unit: float

    @property
    def options(self) -> tuple[tuple[int, ...], ...]:
        return ((0,),)

    def functions(self, cells: Floats) -> Lazy:
        """The function of the cells (n,), (n,)."""
        return Lazy(1, lambda _: self.function(cells / self.unit))


Basis: TypeAlias = LevelBasis | NumberBasis | SharedBasis


def fit_level_basis(cells: Floats, levels: int) -> LevelBasis:
    """Indicators of all levels but the most frequent one, of cells (n,)."""
    shares = np.bincount(cells.astype(np.intp), minlength=levels) / len(cells)
    kept = [k for k in np.argsort(-shares, kind="stable")[1:] if shares[k] > 0.0]
    table = np.zeros((levels, len(kept)))
    for place, k in enumerate(kept):
        table[:, place] = -shares[k]
        table[k, place] += 1.0
        table[:, place] /= np.sqrt(shares[k] * (1.0 - shares[k]))
    return LevelBasis(table)


def fit_number_basis(cells: Floats) -> NumberBasis:
    """Of cells (n,), nan where they are missing; at least two numbers differ."""
    missing = np.isnan(cells)
    known = cells[~missing]
    marginal = fit_marginal(known)
    z = marginal.score(known)
    distinct = len(np.unique(known))
    blank = NumberBasis(
        marginal=marginal,
        clip=_usual_range(known),
        coarse=_spline_knots(z, min(_COARSE, distinct)),
        fine=_spline_knots(z, min(_FINE, distinct)),
        atom=common_value(known),
        has_missing=bool(missing.any()),
        shift=np.zeros(0),
        scale=np.zeros(0),
    )
    raw = np.stack(blank._raw(cells))
    spread = raw.std(axis=1)
    fields = {name: getattr(blank, name) for name in ("marginal", "clip", "coarse", "fine", "atom", "has_missing")}
    return NumberBasis(**fields, shift=raw.mean(axis=1), scale=np.where(spread > 1e-9, spread, 1.0))


def _usual_range(known: Floats) -> Floats:
    """(2,), within which a straight line follows the numbers: one far outlier would set its slope otherwise."""
    low, middle, high = np.quantile(known, [0.25, 0.5, 0.75])
    spread = float(high - low) / 1.349 or float(known.std())  # of the middle half, as if it were normal
    return np.array([max(known.min(), middle - _FAR * spread), min(known.max(), middle + _FAR * spread)])


def common_value(known: Floats) -> float:
    """The value that a tenth of the numbers or more have (zero, mostly), five times as many as any other; else nan."""
    values, counts = np.unique(known, return_counts=True)
    most = int(np.argmax(counts))
    second = int(np.partition(counts, -2)[-2]) if len(counts) > 1 else 0
    stands_out = len(values) >= _DISTINCT and counts[most] >= _COMMON * len(known) and counts[most] > 5 * second
    return float(values[most]) if stands_out else float("nan")


def _spline_knots(z: Floats, most: int) -> Floats:
    """Knots at even shares of the scores, where at least three differ."""
    ends = 0.5 / max(most, 1)
    knots = np.unique(np.quantile(z, np.linspace(ends, 1.0 - ends, most))) if most >= 3 else np.zeros(0)
    return knots if len(knots) >= 3 else np.zeros(0)


def _natural_spline(score: Callable[[], Floats], knots: Floats) -> list[Callable[[], Floats]]:
    """The curved functions of a natural cubic spline of a score (n,): straight beyond its end knots."""
    if len(knots) < 3:
        return []

    def beyond(k: int) -> Floats:
        above = np.maximum(score() - knots[k], 0.0)
        cube: Floats = above * above * above
        return cube

    def bend(k: int) -> Floats:
        found: Floats = (beyond(k) - last()) / (knots[-1] - knots[k])
        return found

    last = cache(lambda: beyond(len(knots) - 1))
    end = cache(lambda: bend(len(knots) - 2))
    return [lambda k=k: bend(k) - end() for k in range(len(knots) - 2)]  # type: ignore[misc]
