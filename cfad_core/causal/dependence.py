"""Which variables depend on one with two levels: tests that assume no shape, no unit and no graph."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import numpy as np

from cfad_core.causal.logit import Levels
from cfad_core.core.arrays import Bools, Floats

_BINS = 10  # of a number, by quantiles
_LEAST_EXPECTED = 5.0  # people of the smaller group in a bin or level, by independence


def depends_on(cells: Floats, kinds: Sequence[Literal["number", "category"]], position: int = 0) -> Floats:
    """P-values (v,) of independence of each variable from the one at ``position``, which has two levels.

    A number is tested twice, and the smaller p-value counts double: by the ranks' mean (Mann-Whitney), which sees a
    shift best, and by a chi-square test on quantile bins, which sees spread and shape, too. With missing cells, which
    are a bin, it is tested three times, whether a cell is missing being the third, and the smallest counts threefold. A
    category is tested by chi-square, rare levels taken together. A variable that is constant, and the one at
    ``position`` itself, have 1.

    Parameters
    ----------
    cells : (n, v), a number in its own unit, nan where it is missing; a category's level, from 0
    kinds : of the variables
    """
    group: Bools = cells[:, position] == cells[:, position].max()
    p_values = np.ones(cells.shape[1])
    if group.all() or not group.any():
        return p_values
    for i, kind in enumerate(kinds):
        if i != position:
            test = _category_p_value if kind == "category" else _number_p_value
            p_values[i] = test(cells[:, i], group)
    return p_values


def holm(p_values: Floats) -> Floats:
    """P-values adjusted for their number by Holm's method: below 0.05 in any of true independences at most 5 %."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def _category_p_value(column: Floats, group: Bools) -> float:
    return _chi_square(np.unique(column, return_inverse=True)[1], group)


def _number_p_value(column: Floats, group: Bools) -> float:
    known = ~np.isnan(column)
    codes = np.full(len(column), _BINS, dtype=np.intp)  # the last bin: missing
    if known.any():
        borders = np.unique(np.quantile(column[known], np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
        codes[known] = np.searchsorted(borders, column[known], side="left")
    tests = [_chi_square(codes, group), _mann_whitney(column[known], group[known])]
    if known.any() and not known.all():
        tests.append(_chi_square(known.astype(np.intp), group))
    return min(len(tests) * min(tests), 1.0)


def _mann_whitney(x: Floats, group: Bools) -> float:
    """Two-sided, by the normal approximation with ties."""
    from scipy.special import ndtr

    first, n = int(group.sum()), len(x)
    if first in (0, n):
        return 1.0
    _, codes, counts = np.unique(x, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[codes]
    tied = float((counts.astype(np.float64) ** 3 - counts).sum()) / (n * (n - 1.0))
    variance = first * (n - first) / 12.0 * (n + 1.0 - tied)
    if variance <= 0.0:
        return 1.0
    distance = abs(float(ranks[group].sum()) - first * (n + 1) / 2.0)
    return 2.0 * float(ndtr(-distance / np.sqrt(variance)))


def _chi_square(codes: Levels, group: Bools) -> float:
    """Of independence of levels and group; levels that are too rare to test are taken together."""
    from scipy.special import chdtrc

    share = min(float(group.mean()), 1.0 - float(group.mean()))
    counts = np.stack([np.bincount(codes[one], minlength=int(codes.max()) + 1) for one in (group, ~group)])  # (2, L)
    counts = counts[:, counts.sum(axis=0) > 0]
    counts = counts[:, np.argsort(-counts.sum(axis=0), kind="stable")]
    rare = counts.sum(axis=0) * share < _LEAST_EXPECTED
    merged = np.column_stack([counts[:, ~rare], counts[:, rare].sum(axis=1)])
    while merged.shape[1] > 1 and merged[:, -1].sum() * share < _LEAST_EXPECTED:  # together still too rare
        merged = np.column_stack([merged[:, :-2], merged[:, -2:].sum(axis=1)])
    if merged.shape[1] < 2:
        return 1.0
    expected = np.outer(merged.sum(axis=1), merged.sum(axis=0)) / merged.sum()
    statistic = float(((merged - expected) ** 2 / expected).sum())
    return float(chdtrc(merged.shape[1] - 1, statistic))
