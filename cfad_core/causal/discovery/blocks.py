"""The functions of all variables of a table side by side, and their covariances in any of its rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.causal.discovery.bases import VariableBasis, VariableKind, describe
from cfad_core.causal.logit import Levels
from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.progress import Progress

MOST_ROWS = 20_000  # that anything is computed from: more change nothing, as scores count at most 5,000
_SEED = 20_231  # of the rows that are kept and of how ties are broken: a table's, not a run's


@dataclass(frozen=True)
class Blocks:
    """The bases of v variables, prepared once for all graphs that are learned from a table.

    Attributes
    ----------
    bases : one a variable, without their arrays' rows
    kept : (m,), the rows of the table that are used, ascending
    n_table : rows of the table
    values : (P, m), the functions of all variables, then their quick goals, then their goals
    functions, quick_goals, goals : by variable, the rows of ``values`` that are theirs
    padded : (v, k), the rows of ``values`` of each variable's functions; P where it has fewer than k
    """

    bases: tuple[VariableBasis, ...]
    kept: Rows
    n_table: int
    values: Floats
    functions: tuple[Rows, ...]
    quick_goals: tuple[Rows, ...]
    goals: tuple[Rows, ...]
    padded: Rows

    @staticmethod
    def prepare(cells: Floats, kinds: Sequence[VariableKind], progress: Progress) -> Blocks:
        """From the cells (n, v) of a table."""
        rng = np.random.default_rng(_SEED)
        n = len(cells)
        kept = np.arange(n) if n <= MOST_ROWS else np.sort(rng.choice(n, MOST_ROWS, replace=False))
        bases = []
        for column, kind in zip(cells[kept].T, kinds, strict=True):
            progress.check("discovery")
            bases.append(describe(np.ascontiguousarray(column), kind, rng))
        parts = [[basis.functions for basis in bases], [basis.quick_goals for basis in bases]]
        parts.append([basis.goals for basis in bases])
        places: list[tuple[Rows, ...]] = []
        start = 0
        for part in parts:
            ends = start + np.cumsum([len(rows) for rows in part])
            places.append(tuple(np.arange(end - len(rows), end) for rows, end in zip(part, ends, strict=True)))
            start = int(ends[-1])
        padded = np.full((len(bases), max(1, *(len(rows) for rows in places[0]))), start)
        for i, rows in enumerate(places[0]):
            padded[i, : len(rows)] = rows
        values = np.concatenate([rows for part in parts for rows in part])
        return Blocks(tuple(bases), kept, n, values, places[0], places[1], places[2], padded)

    @property
    def n_variables(self) -> int:
        """How many there are."""
        return len(self.bases)


@dataclass(frozen=True)
class Sample:
    """Rows that one graph is learned from.

    Attributes
    ----------
    n : how many rows
    covariance : (P + 1, P + 1), of all values in these rows; the last row and column are 0, for padding
    values : (P, m), in the rows that likelihoods are computed from
    levels : by variable, (m,) or None
    cells : by variable, (2, g, m) or None
    """

    n: int
    covariance: Floats
    values: Floats
    levels: tuple[Levels | None, ...]
    cells: tuple[Floats | None, ...]

    @staticmethod
    def of(blocks: Blocks, rows: Rows | None, most: int) -> Sample:
        """All rows, or those of the table at ``rows``; likelihoods from at most ``most`` of them."""
        chosen = np.arange(len(blocks.kept))
        values = blocks.values
        if rows is not None:
            wanted: Bools = np.zeros(blocks.n_table, dtype=np.bool_)
            wanted[rows] = True
            chosen = np.flatnonzero(wanted[blocks.kept])
            values = np.ascontiguousarray(values[:, chosen])
        n = len(chosen)
        few = np.arange(n)
        if n > most:
            few = np.sort(np.random.default_rng(_SEED).choice(n, most, replace=False))
        mean = values.mean(axis=1)
        size = len(values)
        covariance = np.zeros((size + 1, size + 1))
        covariance[:size, :size] = values @ values.T / n - np.outer(mean, mean)
        levels = tuple(None if one.levels is None else one.levels[chosen[few]] for one in blocks.bases)
        cells = tuple(None if one.cells is None else one.cells[:, :, chosen[few]] for one in blocks.bases)
        return Sample(n, covariance, np.ascontiguousarray(values[:, few]), levels, cells)
