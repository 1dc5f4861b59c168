"""The shift test: is what a causal model leaves unexplained distributed among new people as it was before?

What its causes do not explain of a variable (its residuals) is on average the same, whoever the people are, as long as
the mechanism holds. So people may change (more of one group, older ones) without a shift, and a mechanism may not. The
mean log-likelihood, which comes to mind first, is a poor test of that: where a level had a probability of one half, it
does not move at all however frequent the level becomes, and a number that moves by d standard deviations lowers it by
d^2 / 2 only.

Whether a difference is beyond chance is decided by exchanging people: if nothing has changed, it does not matter who
came before and who after. All residuals of all variables in all groups are looked at together, and the probability is
that of the largest of their differences (Westfall, Young, 1993), so that it is at most ``LEVEL`` to name any variable,
however many there are and however they hang together.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats, Rows

FEWEST = 50  # people of a group before, and after; fewer say nothing
LEVEL = 0.01  # probability to name any variable if nothing has changed
LEAST = 0.2  # standard deviations that matter: 0.02 nats a person, as in the fit test
_MOST = 4_000  # people of a group, before and after
_EXCHANGES = 999
_AT_ONCE = 100  # exchanges, for the memory
_NOTHING = 1e-9  # standard deviation that is none

Residuals = Mapping[str, Mapping[str, Floats]]


@dataclass(frozen=True)
class Shift:
    """The residual of a variable that differs most.

    Attributes
    ----------
    what : which residual
    group : in which group
    size : mean after minus mean before, in standard deviations before
    p_value : probability of as large a difference of any residual of any variable, if nothing has changed
    """

    what: str
    group: int
    size: float
    p_value: float

    @property
    def matters(self) -> bool:
        """Whether it is beyond chance, and large enough to matter."""
        return self.p_value <= LEVEL and abs(self.size) >= LEAST


def shift_test(
    before: Residuals, after: Residuals, groups: tuple[NDArray[np.intp], NDArray[np.intp]], seed: int
) -> dict[str, Shift] | None:
    """Compare residuals of people whom the model did not learn from with those of new ones, within each group.

    Parameters
    ----------
    before, after : by variable and name, (n,) and (m,)
    groups : (n,) and (m,), the group of each
    seed : of the exchanges, and of who is drawn where there are many

    Returns
    -------
    dict or None
        By variable. None if no group has 50 people before and after, or there is no variable.
    """
    keys = [(name, what) for name, some in before.items() for what in some]
    known = [np.bincount(one, minlength=1 + max(int(some.max(initial=0)) for some in groups)) for one in groups]
    tested = np.flatnonzero(np.minimum(*known) >= FEWEST)
    if not keys or not len(tested):
        return None
    columns = [np.stack([some[name][what] for name, what in keys], axis=1) for some in (before, after)]
    rng = np.random.default_rng([seed, 11])
    found, largest = [], np.zeros(_EXCHANGES)
    for group in tested:
        sides = [_draw(some[one == group], rng) for some, one in zip(columns, groups, strict=True)]
        observed, exchanged = _compare(sides[0], sides[1], rng)
        largest = np.maximum(largest, exchanged)
        found.append((observed, _sizes(*sides)))
    shifts: dict[str, Shift] = {}
    for name in before:
        own = [k for k, (variable, _) in enumerate(keys) if variable == name]
        strongest = [(found[g][0][k], g, k) for g in range(len(tested)) for k in own]
        distance, g, k = max(strongest)
        p_value = float((1 + (largest >= distance).sum()) / (1 + _EXCHANGES))
        shifts[name] = Shift(keys[k][1], int(tested[g]), float(found[g][1][k]), p_value)
    return shifts


def _draw(rows: Floats, rng: np.random.Generator) -> Floats:
    return rows if len(rows) <= _MOST else rows[np.sort(rng.choice(len(rows), _MOST, replace=False))]


def _compare(before: Floats, after: Floats, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """The difference of each column (c,) in standard errors; and the largest of them after each exchange."""
    n, m = len(before), len(after)
    both = np.concatenate([before, after])
    spread = both.std(axis=0)
    standard = np.where(spread > _NOTHING, (both - both.mean(axis=0)) / np.maximum(spread, _NOTHING), 0.0)
    unit = np.sqrt(1.0 / n + 1.0 / m)  # the columns add up to 0, so a sum over one side says it all
    observed: Floats = np.abs(standard[n:].sum(axis=0)) * unit
    standard = standard.astype(np.float32)
    largest = np.zeros(_EXCHANGES)
    for start in range(0, _EXCHANGES, _AT_ONCE):
        count = min(_AT_ONCE, _EXCHANGES - start)
        chosen = np.zeros((count, n + m), dtype=np.float32)
        places: Rows = rng.random((count, n + m)).argpartition(m - 1, axis=1)[:, :m]
        np.put_along_axis(chosen, places, 1.0, axis=1)
        largest[start : start + count] = np.abs(chosen @ standard).max(axis=1) * unit
    return observed, largest


def _sizes(before: Floats, after: Floats) -> Floats:
    """By how much the means differ, (c,), in standard deviations before; of what never varied, in its largest."""
    spread = before.std(axis=0)
    spread = np.where(spread > _NOTHING, spread, np.maximum(np.abs(after).max(axis=0), _NOTHING))
    sizes: Floats = (after.mean(axis=0) - before.mean(axis=0)) / spread
    return sizes
