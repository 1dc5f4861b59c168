"""Which variables depend on one with a few levels: tests that assume no shape, no unit and no graph."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.logit import Levels
from cfad_core.core.arrays import Bools, Floats

_BINS = 10  # of a number, by quantiles
_LEAST_EXPECTED = 5.0  # people of the smaller group in a bin or level, by independence


def depends_on(
    cells: Floats,
    kinds: Sequence[Literal["number", "category"]],
    position: int = 0,
    strata: NDArray[np.intp] | None = None,
) -> Floats:
    """P-values (v,) of independence of each variable from the one at ``position``, which has a few levels.

    A number is tested twice, and the smaller p-value counts double: by the ranks' mean (Mann-Whitney), which sees a
    shift best, and by a chi-square test on quantile bins, which sees spread and shape, too. With missing cells, which
    are a bin, it is tested three times, whether a cell is missing being the third, and the smallest counts threefold. A
    category is tested by chi-square, rare levels taken together. Of more than two groups, each is tested against all
    others, and the smallest p-value counts as often as there are groups (Bonferroni). A variable that is constant, and
    the one at ``position`` itself, have 1.

    Parameters
    ----------
    cells : (n, v), a number in its own unit, nan where it is missing; a category's level, from 0
    kinds : of the variables
    strata : (n,), people who may be compared with each other, from 0; by default all. Those of several strata are
        tested apart, and their p-values, which are independent, combined by Fisher's method
    """
    if strata is None:
        return np.nan_to_num(_p_values(cells, kinds, position), nan=1.0)
    return _combined(np.stack([_p_values(cells[strata == k], kinds, position) for k in range(int(strata.max()) + 1)]))


def _combined(p_values: Floats) -> Floats:
    """Fisher's method: (tests, v) independent p-values as (v,); one that could not be tested, nan, says nothing."""
    from scipy.special import chdtrc

    tests = np.maximum(1, (~np.isnan(p_values)).sum(axis=0))
    statistic = -2.0 * np.nansum(np.log(np.maximum(p_values, 1e-300)), axis=0)
    found: Floats = chdtrc(2.0 * tests, statistic)
    return found


def _p_values(cells: Floats, kinds: Sequence[Literal["number", "category"]], position: int) -> Floats:
    """See ``depends_on``, of people who may all be compared; nan where there is nothing to test."""
    groups = list(_groups(cells[:, position]))
    p_values = np.full(cells.shape[1], np.nan)
    for i, kind in enumerate(kinds):
        if i != position and groups:
            test = _category_p_values if kind == "category" else _number_p_values
            p_values[i] = _smallest(test(cells[:, i], groups))
    return p_values


def _smallest(p_values: Sequence[float]) -> float:
    """The smallest of several p-values, adjusted for their number (Bonferroni); nan if all are."""
    known = [value for value in p_values if not np.isnan(value)]
    return min(1.0, len(p_values) * min(known)) if known else float("nan")


def _groups(levels: Floats) -> Iterator[Bools]:
    """Who belongs to each group, (n,); of two groups the second is enough, of one there is nothing to test."""
    found = np.unique(levels)
    for level in found[-1:] if len(found) == 2 else found if len(found) > 2 else []:
        yield levels == level


def holm(p_values: Floats) -> Floats:
    """P-values adjusted for their number by Holm's method: below 0.05 in any of true independences at most 5 %."""
    order = np.argsort(p_values, kind="stable")
    factors = np.arange(len(p_values), 0, -1)
    adjusted = np.empty(len(p_values))
    adjusted[order] = np.minimum(np.maximum.accumulate(p_values[order] * factors), 1.0)
    return adjusted


def _category_p_values(column: Floats, groups: Sequence[Bools]) -> list[float]:
    """Of each group against all others."""
    codes = np.unique(column, return_inverse=True)[1]
    return [_chi_square(codes, group) for group in groups]


def _number_p_values(column: Floats, groups: Sequence[Bools]) -> list[float]:
    """Of each group against all others."""
    known = ~np.isnan(column)
    codes = np.full(len(column), _BINS, dtype=np.intp)  # the last bin: missing
    if known.any():
        borders = np.unique(np.quantile(column[known], np.linspace(0.0, 1.0, _BINS + 1)[1:-1]))
        codes[known] = np.searchsorted(borders, column[known], side="left")
    ranks = np.unique(column[known], return_inverse=True, return_counts=True)[1:]
    found = []
    for group in groups:
        tests = [_chi_square(codes, group), _mann_whitney(*ranks, group[known])]
        if known.any() and not known.all():
            tests.append(_chi_square(known.astype(np.intp), group))
        found.append(_smallest(tests))
    return found


def _mann_whitney(codes: Levels, counts: NDArray[np.intp], group: Bools) -> float:
    """Two-sided, by the normal approximation with ties, of numbers that are the codes' (n,), each so often.

    nan where there is nothing to test.
    """
    from scipy.special import ndtr

    first, n = int(group.sum()), len(codes)
    if first in (0, n):
        return float("nan")
    ranks = (np.cumsum(counts) - (counts - 1) / 2.0)[codes]
    tied = float((counts.astype(np.float64) ** 3 - counts).sum()) / (n * (n - 1.0))
    variance = first * (n - first) / 12.0 * (n + 1.0 - tied)
    if variance <= 0.0:
        return float("nan")
    distance = abs(float(ranks[group].sum()) - first * (n + 1) / 2.0)
    return 2.0 * float(ndtr(-distance / np.sqrt(variance)))


def _chi_square(codes: Levels, group: Bools) -> float:
    """Of independence of levels and group; levels that are too rare to test are taken together, nan if all are."""
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
        return float("nan")
    expected = np.outer(merged.sum(axis=1), merged.sum(axis=0)) / merged.sum()
    statistic = float(((merged - expected) ** 2 / expected).sum())
    return float(chdtrc(merged.shape[1] - 1, statistic))
