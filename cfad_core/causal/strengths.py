"""How strongly each cause acts: the share of what its effect's other causes leave open that it explains."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.mechanisms.basis import Basis, LevelBasis, NumberBasis
from cfad_core.causal.mechanisms.design import Functions
from cfad_core.core.arrays import Bools, Floats

_RIDGE = 1e-6


def edge_strengths(cells: Floats, bases: Mapping[int, Basis], functions: Functions, edges: Bools) -> Floats:
    """(v, v), the partial correlation of each edge: its square is the share explained, its sign the direction.

    Categories count through the indicators of their levels, numbers through splines of their normal scores. Of two
    levels the second is the larger; categories with more of them have no sign.
    """
    strengths = np.zeros(edges.shape)
    for i in range(len(edges)):
        causes = [int(j) for j in np.flatnonzero(edges[:, i])]
        if causes:
            strengths[causes, i] = _into(cells, i, causes, bases, functions)
    return strengths


def _into(cells: Floats, i: int, causes: list[int], bases: Mapping[int, Basis], functions: Functions) -> Floats:
    """(causes,), of the edges into one variable."""
    targets = _targets(cells[:, i], bases[i])
    nothing = np.zeros((len(cells), 0))  # of a cause that is constant in these rows
    blocks = [np.column_stack([nothing, *(functions[j][k] for k in _curved(bases[j]))]) for j in causes]
    belongs = np.repeat(np.arange(len(causes)), [block.shape[1] for block in blocks])
    columns = np.concatenate([*blocks, targets], axis=1)
    columns = columns - columns.mean(axis=0)
    gram = columns.T @ columns / len(columns)
    q = len(belongs)
    whole, weights = _rest(gram, np.arange(q), q)
    found = np.zeros(len(causes))
    for place, j in enumerate(causes):
        without, _ = _rest(gram, np.flatnonzero(belongs != place), q)
        share = float(np.clip(1.0 - (whole / np.maximum(without, 1e-300)).mean(), 0.0, 1.0))
        sign = 1.0
        if targets.shape[1] == 1 and (isinstance(bases[j], NumberBasis) or blocks[place].shape[1] == 1):
            spread = blocks[place] @ weights[belongs == place, 0]
            rises = np.dot(spread - spread.mean(), blocks[place][:, 0]) * _direction(bases[j]) * _direction(bases[i])
            sign = -1.0 if rises < 0.0 else 1.0
        found[place] = sign * max(float(np.sqrt(share)), 1e-3)  # an edge that is there is never invisible
    return found


def _direction(basis: Basis) -> float:
    """1 if the first function rises with the variable; -1 if it is the indicator of the first of two levels."""
    return -1.0 if isinstance(basis, LevelBasis) and len(basis.table.T) and basis.table[0, 0] > 0.0 else 1.0


def _targets(cells: Floats, basis: Basis) -> Floats:
    """What a variable is as an effect: its normal score, or the indicators of its levels, (n, k)."""
    shown = basis.functions(cells)
    kept = shown if isinstance(basis, LevelBasis) else [shown[1]]
    return np.stack(kept, axis=1) if kept else np.zeros((len(cells), 1))


def _curved(basis: Basis) -> tuple[int, ...]:
    return basis.options[min(2, len(basis.options) - 1)]


def _rest(gram: Floats, own: NDArray[np.intp], q: int) -> tuple[Floats, Floats]:
    """Variance of the targets that these columns leave, and their weights."""
    variance = np.diag(gram)[q:]
    if not len(own):
        return variance, np.zeros((0, len(variance)))
    towards = gram[np.ix_(own, np.arange(q, len(gram)))]
    weights = np.linalg.solve(gram[np.ix_(own, own)] + _RIDGE * np.eye(len(own)), towards).astype(np.float64)
    rest: Floats = np.maximum(variance - np.sum(weights * towards, axis=0), 1e-12)
    return rest, weights
