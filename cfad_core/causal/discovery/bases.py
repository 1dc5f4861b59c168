"""What one variable is, as a cause and as an effect, whatever its unit.

As a cause: a few orthonormal functions of it, smooth ones first, so that the first k of them are a model of their own.
As an effect: a number has a few *goals*, monotone maps of it whose slope is known, so that likelihoods in any of them
can be compared; a category has levels. A number whose cells are often one value (0, mostly) or missing is both: a level
(an ordinary number, that value, missing) and, where it is an ordinary one, a number.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from cfad_core.causal.density import DEGREE, fit_density
from cfad_core.causal.logit import Levels
from cfad_core.core.arrays import Bools, Floats

VariableKind = Literal["number", "category"]
SIZES = (1, 2, 4, 8, 16)  # of a number's functions, nested
_FEWER_SIZES_BELOW = 600  # rows
_MOST_LEVELS = 12  # of a category; the rarest are taken together
_RARE_SHARE, _RARE_ROWS = 0.01, 15
_ATOM_SHARE, _ATOM_DISTINCT, _ATOM_LEAD = 0.1, 20, 5.0
_CLIPPED = 0.001  # of each end of a number as its own first function
_NEARLY_SAME = 0.02  # share of a function's variance that must be its own
_WIDE = 3.0  # ratio of the 99 % to the 1 % quantile from which a logarithm is worth a try
_COARSE = 0.1  # step of a lattice, in standard deviations, from which cells have probabilities, not densities
_SHIFT, _LOWEST = 0.5, 0.1  # steps that are added before a logarithm is taken of counts from 0, and the least then
_ROUGHNESS_GRID = 401


@dataclass(frozen=True)
class VariableBasis:
    """One variable of n rows.

    Attributes
    ----------
    functions : (k, n), mean 0, variance 1, uncorrelated; none if the variable is constant
    sizes : how many of them a model may use
    goals : (g, n), of a number's ordinary cells, mean 0 and variance 1; 0 in other cells
    slopes : (g,), mean log slope of each goal against the first
    tolls : (g,), free numbers that each goal costs
    quick_goals : (t, n), what stands for it in the quick scores: its rank as a normal score and indicators of its other
        levels, or a category's indicators
    cells : (2, g, n), of a number on a coarse lattice, between which values its goals would be written into the same
        cell; None of other variables
    levels : (n,), a category's, or whether a number is ordinary (0) or which special cell it is; None: all ordinary
    n_levels : of them
    is_number : whether it has goals
    """

    functions: Floats
    sizes: tuple[int, ...]
    goals: Floats
    slopes: Floats
    tolls: Floats
    quick_goals: Floats
    levels: Levels | None
    n_levels: int
    is_number: bool
    cells: Floats | None = None

    @property
    def is_constant(self) -> bool:
        """Whether it can have neither causes nor effects."""
        return len(self.functions) == 0


def describe(cells: Floats, kind: VariableKind, rng: np.random.Generator) -> VariableBasis:
    """The basis of a variable of cells (n,), nan where a number is missing; ``rng`` breaks ties."""
    missing = np.isnan(cells)
    values, codes = np.unique(cells[~missing], return_inverse=True)
    if kind == "category" or len(values) <= 2:  # every function of two values is linear: a yes or no
        levels = np.full(len(cells), len(values), dtype=np.intp)
        levels[~missing] = codes
        return _category(_without_rare(levels))
    exponent = np.frexp(np.abs(values[[0, -1]]).max())[1]  # a power of two changes no digit, and squares stay finite
    return _number(np.ldexp(cells, -exponent), missing, rng)


def _category(levels: Levels) -> VariableBasis:
    n_levels = int(levels.max()) + 1
    nothing = np.zeros((0, len(levels)))
    functions = indicators(levels, n_levels) if n_levels > 1 else nothing
    return VariableBasis(
        functions=functions,
        sizes=(len(functions),),
        goals=nothing,
        slopes=np.zeros(0),
        tolls=np.zeros(0),
        quick_goals=functions,
        levels=levels,
        n_levels=n_levels,
        is_number=False,
    )


def _without_rare(levels: Levels) -> Levels:
    """Levels from 0, the most frequent first; those too rare to say anything are one."""
    counts = np.bincount(levels)
    order = np.argsort(-counts, kind="stable")
    order = order[counts[order] > 0]
    frequent = counts[order] >= min(max(_RARE_ROWS, _RARE_SHARE * len(levels)), len(levels) / 4.0)
    n_frequent = min(max(int(frequent.sum()), 1), _MOST_LEVELS - 1)
    place = np.full(len(counts), n_frequent, dtype=np.intp)
    place[order[:n_frequent]] = np.arange(n_frequent)
    result: Levels = place[levels]
    return result


def indicators(levels: Levels, n_levels: int) -> Floats:
    """(n_levels - 1, n): which level a row has, of all but level 0, made uncorrelated with variance 1."""
    from scipy.linalg import solve_triangular

    which = (levels == np.arange(1, n_levels)[:, None]).astype(np.float64)
    which -= which.mean(axis=1, keepdims=True)
    gram = which @ which.T / len(levels)
    root = np.linalg.cholesky(gram + 1e-12 * np.eye(len(gram)))
    result: Floats = solve_triangular(root, which, lower=True)
    return result


# Numbers


@dataclass
class _Goals:
    """Goals of a number while they are collected, (m,) each, and between which values (2, m) its cells lie.

    Attributes
    ----------
    logarithm : what to add before taking it, where the logarithm is more like a Gaussian than the number is
    """

    rows: list[Floats] = field(default_factory=list)
    cells: list[Floats] = field(default_factory=list)
    slopes: list[float] = field(default_factory=list)
    tolls: list[float] = field(default_factory=list)
    logarithm: float | None = None

    def add(self, values: Floats, cells: Floats, mean_log_slope: float, toll: float) -> None:
        mean, deviation = float(values.mean()), float(values.std())
        self.rows.append((values - mean) / deviation)
        self.cells.append((cells - mean) / deviation)
        self.slopes.append(mean_log_slope - float(np.log(deviation)))
        self.tolls.append(toll)


def _number(cells: Floats, missing: Bools, rng: np.random.Generator) -> VariableBasis:
    special = _special_cells(cells, missing)
    ordinary = special == 0
    found = _goals(cells[ordinary], rng)
    if (ordinary | missing).sum() < len(cells):  # the logarithm of an atom at 0 is none
        found.logarithm = None
    goals = np.zeros((len(found.rows), len(cells)))
    goals[:, ordinary] = np.stack(found.rows)
    cells_of = None
    if found.cells[0].shape[1]:
        cells_of = np.zeros((2, *goals.shape))
        cells_of[:, :, ordinary] = np.stack(found.cells, axis=1)
    known = ~missing
    scores = np.zeros(len(cells))
    scores[known] = normal_scores(cells[known])
    n_special = int(special.max())
    marks = [(special == level).astype(np.float64) for level in range(1, n_special + 1)]
    head = cells if found.logarithm is None else np.log(cells + found.logarithm)
    functions = number_functions(head, scores, known, marks)
    centred_marks = [mark - mark.mean() for mark in marks]
    return VariableBasis(
        functions=functions,
        sizes=tuple(sorted({min(size, len(functions)) for size in SIZES})),
        goals=goals,
        slopes=np.array(found.slopes),
        tolls=np.array(found.tolls),
        quick_goals=np.stack([scores / scores.std(), *(mark / mark.std() for mark in centred_marks)]),
        levels=special if n_special else None,
        n_levels=n_special + 1,
        is_number=True,
        cells=cells_of,
    )


def _special_cells(cells: Floats, missing: Bools) -> Levels:
    """(n,): 0 an ordinary number, then the value that very many have, if there is one, then missing, if some are."""
    special = np.zeros(len(cells), dtype=np.intp)
    values, counts = np.unique(cells[~missing], return_counts=True)
    top = int(np.argmax(counts))
    second = np.partition(counts, -2)[-2]
    if (
        len(values) >= _ATOM_DISTINCT
        and counts[top] >= _ATOM_SHARE * len(cells)
        and counts[top] > _ATOM_LEAD * second
        and counts.sum() - counts[top] >= _ATOM_DISTINCT
    ):
        special[cells == values[top]] = 1
    if missing.any():
        special[missing] = special.max() + 1
    return special


def _goals(x: Floats, rng: np.random.Generator) -> _Goals:
    """As it is, its logarithm if it is positive and wide, its normal score; ties broken at random inside their gap."""
    from scipy.special import ndtri

    step, spread = break_ties(x, rng)
    mean, deviation = float(spread.mean()), float(spread.std())
    between = lattice_cells(x, step) if step > _COARSE * deviation else np.zeros((2, 0))
    z = (spread - mean) / deviation
    found = _Goals()
    found.add(z, (between - mean) / deviation, 0.0, 0.0)
    lowest = float(x.min())
    shift = _SHIFT * step if lowest == 0.0 else 0.0
    positive = np.maximum(spread + shift, _LOWEST * step)
    if lowest >= 0.0 and positive.min() > 0.0:
        low, high = np.quantile(positive, [0.01, 0.99])
        if high > _WIDE * low:
            slope = float(np.log(deviation) - np.log(positive).mean())
            with np.errstate(divide="ignore"):
                found.add(np.log(positive), np.log(np.maximum(between + shift, 0.0)), slope, 1.0)
            if found.slopes[1] > found.slopes[0]:
                found.logarithm = shift
    density = fit_density(z)
    score = ndtri(density.cdf(z))
    slope = float((density.logpdf(z) + 0.5 * score * score).mean()) + 0.5 * float(np.log(2.0 * np.pi))
    ends = np.where(np.isfinite(between), (between - mean) / deviation, 0.0)
    scores_between = np.where(np.isfinite(between), ndtri(density.cdf(ends.ravel())).reshape(ends.shape), between)
    found.add(score, scores_between, slope, float(DEGREE))
    return found


def lattice_cells(x: Floats, step: float) -> Floats:
    """(2, n), the ends of the cell of each of x (n,); those of the lowest and of the highest are open."""
    cells = np.stack([x - step / 2.0, x + step / 2.0])
    cells[0, x == x.min()] = -np.inf
    cells[1, x == x.max()] = np.inf
    return cells


def break_ties(x: Floats, rng: np.random.Generator) -> tuple[float, Floats]:
    """The usual distance of tied values, and x (n,) with values that several rows share spread evenly over their gap.

    A density of values on a lattice could grow spikes there and be as large as one likes; of values spread over the
    gaps it cannot, and its likelihood is at most that of the lattice.
    """
    values, codes, counts = np.unique(x, return_inverse=True, return_counts=True)
    gaps = np.diff(values)
    nearest = np.minimum(np.append(gaps, gaps[-1]), np.append(gaps[0], gaps))
    width = np.where(counts > 1, nearest, 0.0)
    step = float(np.median(nearest[counts > 1])) if (counts > 1).any() else 0.0
    return step, x + width[codes] * (rng.random(len(x)) - 0.5)


def normal_scores(x: Floats) -> Floats:
    """Normal scores (n,) of the ranks of x, the same for ties."""
    from scipy.special import ndtri

    _, codes, counts = np.unique(x, return_inverse=True, return_counts=True)
    middle = np.cumsum(counts) - counts / 2.0
    scores = ndtri(middle / len(x))[codes]
    result: Floats = scores - scores.mean()
    return result


def number_functions(cells: Floats, scores: Floats, known: Bools, marks: Sequence[Floats]) -> Floats:
    """Orthonormal functions (k, n): the number itself (ends clipped), its special cells, then splines of its score."""
    x = cells[known]
    x = (x - np.median(x)) / max(float(x.std()), 1e-300)
    clipped = np.zeros(len(cells))
    clipped[known] = np.clip(x, *np.quantile(x, [_CLIPPED, 1.0 - _CLIPPED]))
    if clipped[known].std() < 1e-9:  # all but a few are the same
        clipped[known] = scores[known]
    clipped[known] -= clipped[known].mean()
    most = SIZES[-1] if len(cells) >= _FEWER_SIZES_BELOW else SIZES[-2]
    columns = [clipped, *(mark - mark.mean() for mark in marks), *_splines(scores, known, most)]
    return _orthonormal(np.stack(columns))[:most]


def _splines(scores: Floats, known: Bools, most: int) -> list[Floats]:
    """Natural splines of the scores, smooth ones first; none if there are too few values to bend between."""
    inner = scores[known]
    distinct = np.unique(inner)
    points = inner if len(distinct) > 50 else distinct
    knots = np.unique(np.quantile(points, np.linspace(0.0, 1.0, min(most + 1, len(distinct)))))
    if len(knots) < 3:
        return []
    basis, roughness = natural_splines(inner, knots)
    basis -= basis.mean(axis=1, keepdims=True)
    deviation = basis.std(axis=1)
    basis /= deviation[:, None]
    roughness /= np.outer(deviation, deviation)
    variances, directions = np.linalg.eigh(basis @ basis.T / len(inner))
    kept = variances > 1e-10 * variances.max()
    white = directions[:, kept] / np.sqrt(variances[kept])
    _, turn = np.linalg.eigh(white.T @ roughness @ white)
    smooth = (white @ turn).T @ basis  # rough ones last
    result = np.zeros((len(smooth), len(scores)))
    result[:, known] = smooth
    return list(result)


def natural_splines(x: Floats, knots: Floats) -> tuple[Floats, Floats]:
    """Cubic splines (K - 1, n), linear beyond the ends, without the constant; and their second derivatives' Gram."""
    low, width = knots[0], knots[-1] - knots[0]
    at, z = (knots - low) / width, (x - low) / width
    grid = np.linspace(0.0, 1.0, _ROUGHNESS_GRID)

    def bent(points: Floats, k: int, power: int) -> Floats:
        raised: Floats = np.maximum(points - at[k], 0.0) ** power - np.maximum(points - at[-1], 0.0) ** power
        return np.asarray(raised / (at[-1] - at[k]))

    inner = range(len(knots) - 2)
    values = [z, *(bent(z, k, 3) - bent(z, len(knots) - 2, 3) for k in inner)]
    second = [np.zeros_like(grid), *(6.0 * (bent(grid, k, 1) - bent(grid, len(knots) - 2, 1)) for k in inner)]
    curves = np.stack(second)
    return np.stack(values), curves @ curves.T / len(grid)


def _orthonormal(columns: Floats) -> Floats:
    """Columns (m, n) made uncorrelated with variance 1 in their order, without those that the earlier ones tell."""
    n = columns.shape[1]
    kept: list[Floats] = []
    for column in columns:
        own = column - column.mean()
        size = float(own @ own)
        if size <= 0.0:
            continue
        for _ in range(2):  # twice is enough for rounding
            if kept:
                earlier = np.stack(kept)
                own = own - earlier.T @ (earlier @ own) / n
        left = float(own @ own)
        if left > (_NEARLY_SAME if kept else 0.0) * size:
            kept.append(own * np.sqrt(n / left))
    return np.stack(kept)
