"""The twin test: do twins pass for real people of the group that they belong to?

Where the sensitive attribute has no causes, and shares none with the other columns, the twins of one group are as a
population the other group, ``P(X[S <- b] | S = a) = P(X | S = b)``. No truth is needed to test that: a classifier must
distinguish the twins of group a from the real people of group b, on people whom it did not learn from. The area under
its ROC curve (AUC) is 0.5 if twins are right, and 1 if none of them passes (a classifier two-sample test: Lopez-Paz,
Oquab, 2017). The test does not hold for rows that were chosen by their label.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.progress import Progress

STAGE = "twin test"
LIMIT = 0.55  # AUC; below it a classifier is right hardly more often than by chance
FEWEST = 30  # twins, and as many real people; fewer say nothing
MOST = 4_000  # twins, and as many real people, in each of two directions; fewer where there are more
FOLDS = 5
SHOWN = 5  # variables that give twins away
_Z = 1.6449  # a 90 % interval is so many standard errors to either side
_STRICT = 0.01  # probability to name any variable, if none gives twins away
_BINS = 16  # of a number, for the classifier of one variable
_PAIRS = 6  # products of columns that the classifier sees besides the columns
# The folds share their training rows: fold k learns from l what l learns from k, and all areas err together. Where
# twins cannot be distinguished, that doubles the variance of their mean: of d_1, ..., d_K that differ by chance, the
# sum of d_k * d_l over all ordered pairs has twice the variance that as many independent terms would have.
_SHARED = 2.0
# The same people are twins in one direction and real in the other. If a twin's twin is the person, both directions make
# the same comparison, but for the folds: their correlation was then 0.55, over 300 simulated tables. Of more directions
# each shares that much with all others together
_ALIKE = 0.5


@dataclass(frozen=True)
class TwinTest:
    """How well a classifier distinguishes twins from real people of the group that they belong to.

    Attributes
    ----------
    auc : area under its ROC curve on people whom it did not learn from; 0.5 is chance
    low, high : 90 % interval of it
    people : twins and real people who were compared
    columns : variables that give twins away most, largest first, each with the AUC of a classifier that sees only it;
        none of them if only combinations of variables do
    """

    auc: float
    low: float
    high: float
    people: int
    columns: tuple[tuple[str, float], ...] = ()

    def passes(self) -> bool:
        """Whether the AUC may be below 0.55."""
        return self.low < LIMIT

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``."""
        columns = [{"name": name, "auc": auc} for name, auc in self.columns]
        return {"auc": self.auc, "low": self.low, "high": self.high, "people": self.people, "columns": columns}

    @classmethod
    def from_dict(cls, stored: Mapping[str, Any]) -> TwinTest:
        columns = tuple((str(one["name"]), float(one["auc"])) for one in stored["columns"])
        auc, low, high = (float(stored[name]) for name in ("auc", "low", "high"))
        return cls(auc, low, high, int(stored["people"]), columns)


@dataclass(frozen=True)
class _Direction:
    """Twins who belong to a group, and real people of that group; their people differ, as twins come from the other.

    Attributes
    ----------
    rows : (k, d), all columns but the sensitive attribute
    is_twin : (k,)
    fold : (k,), 0 to 4, each with about the same share of twins
    twins : how many there were before some were drawn
    """

    rows: Floats
    is_twin: Bools
    fold: Rows
    twins: int


def twin_test(
    twins: Floats, real: Floats, variables: Sequence[str], seed: int, progress: Progress | None = None
) -> TwinTest | None:
    """Compare twins with real people of the group that the twins belong to.

    Parameters
    ----------
    twins : (n, d), encoded rows, twins of people; the first column is the code of their group: one that the person does
        not belong to
    real : (m, d), people as they are; they may be those whom the twins come from, best such that no causal model
        learned from them
    variables : (d,), the variable of every column, the sensitive attribute first; a category may have several columns
    seed : of who is drawn, and of the folds

    Returns
    -------
    TwinTest or None
        The mean of the directions, one for each group that twins belong to, weighted by their twins. A direction with
        fewer than 30 twins or real people does not count; None if none does.
    """
    _check(twins, real, variables)
    progress = progress or Progress()
    rng = np.random.default_rng(seed)
    groups = np.unique(twins[:, 0])
    most = max(FEWEST, 2 * MOST // max(2, len(groups)))
    drawn = [_direction(twins, real, group, most, rng) for group in groups]
    directions = [one for one in drawn if one is not None]
    if not directions:
        return None
    areas, steps = [], FOLDS * len(directions) + 1
    for k, one in enumerate(directions):
        score = np.zeros(len(one.rows))
        for fold in range(FOLDS):
            held_out = one.fold == fold
            score[held_out] = _scores(one.rows[~held_out], one.is_twin[~held_out], one.rows[held_out], seed)
            progress.tick(STAGE, FOLDS * k + fold + 1, steps)
        areas.append(_area(score, one))
    auc, error = _mean(areas, directions)
    low, high = max(0.0, auc - _Z * error), min(1.0, auc + _Z * error)
    columns = _giveaways(directions, list(variables)[1:])
    progress.tick(STAGE, steps, steps)
    return TwinTest(auc, low, high, sum(len(one.rows) for one in directions), columns)


def _check(twins: Floats, real: Floats, variables: Sequence[str]) -> None:
    for name, rows in (("twins", twins), ("real", real)):
        if rows.ndim != 2 or rows.shape[1] != len(variables):
            raise ValueError(
                f"'{name}' must have a column for each of {len(variables)} entries of 'variables'; it has shape "
                f"{rows.shape}. Name the variable of every column, the sensitive attribute first."
            )
        if (rows[:, 0] != np.rint(rows[:, 0])).any():
            raise ValueError(
                f"The first column of '{name}' must be the code of the group, a whole number. Encode it so."
            )
        if not np.isfinite(rows).all():
            raise ValueError(f"'{name}' has missing or infinite values. Encode missing cells as columns of their own.")


def _direction(twins: Floats, real: Floats, group: float, most: int, rng: np.random.Generator) -> _Direction | None:
    count = int((twins[:, 0] == group).sum())
    parts = [_draw(rows[rows[:, 0] == group, 1:], most, rng) for rows in (twins, real)]
    if min(len(part) for part in parts) < FEWEST:
        return None
    is_twin = np.repeat([True, False], [len(part) for part in parts])
    fold = np.concatenate([rng.permutation(len(part)) % FOLDS for part in parts])
    return _Direction(np.concatenate(parts), is_twin, fold, count)


def _draw(rows: Floats, most: int, rng: np.random.Generator) -> Floats:
    return rows if len(rows) <= most else rows[np.sort(rng.choice(len(rows), most, replace=False))]


def _scores(train: Floats, is_twin: Bools, test: Floats, seed: int) -> Floats:
    """How much each test row looks like a twin, by boosted trees.

    Trees see where a column lies, how it spreads and its shape, but seldom find two columns whose correlation alone is
    wrong, as neither of the two is of any use without the other. The products of columns that differ most between the
    training rows of either kind are therefore given to them as columns.
    """
    from sklearn.ensemble import HistGradientBoostingClassifier
    from threadpoolctl import threadpool_limits

    centre, spread = train.mean(axis=0), train.std(axis=0)
    spread[spread == 0.0] = 1.0
    inside = [(rows - centre) / spread for rows in (train, test)]
    first, second = _pairs(inside[0], is_twin)
    train, test = (np.hstack([rows, rows[:, first] * rows[:, second]]) for rows in inside)
    fewest = int(min(is_twin.sum(), (~is_twin).sum()))
    model = HistGradientBoostingClassifier(
        max_iter=30,
        max_leaf_nodes=4,
        learning_rate=0.1,
        max_bins=63,
        min_samples_leaf=max(5, min(40, fewest // 5)),
        l2_regularization=1.0,
        early_stopping=False,
        random_state=seed,
    )
    with threadpool_limits(limits=1, user_api="openmp"):
        score: Floats = model.fit(train, is_twin).decision_function(test)
    return score


def _pairs(rows: Floats, is_twin: Bools) -> tuple[Rows, Rows]:
    """Two columns each of the products whose means differ most, in standard errors, between twins and real people."""
    first, second = np.triu_indices(rows.shape[1], 1)
    difference, variance = np.zeros(len(first)), np.zeros(len(first))
    for sign, part in ((1.0, rows[is_twin]), (-1.0, rows[~is_twin])):
        part = np.clip(part - part.mean(axis=0), -4.0, 4.0)  # means are seen anyway; and no outlier decides
        mean = (part.T @ part)[first, second] / len(part)
        square = ((part**2).T @ part**2)[first, second] / len(part)
        difference += sign * mean
        variance += (square - mean**2) / len(part)
    size = np.abs(difference) / np.sqrt(np.maximum(variance, 1e-12))
    best = np.argsort(-size, kind="stable")[:_PAIRS]
    return first[best], second[best]


def _area(score: Floats, direction: _Direction) -> tuple[float, float]:
    """AUC and its variance: the mean over the folds, as scores of two folds' classifiers cannot be compared.

    The variance is DeLong's, from the share of the others that each person scores above; where a classifier gives
    everybody the same score, or separates all of them, it would be 0, and is Hanley and McNeil's instead.
    """
    aucs, variance = [], 0.0
    for fold in range(FOLDS):
        here = direction.fold == fold
        twin, real = score[here & direction.is_twin], score[here & ~direction.is_twin]
        above, below = _share_below(twin, real), 1.0 - _share_below(real, twin)
        aucs.append(float(above.mean()))
        variance += float(above.var(ddof=1)) / len(twin) + float(below.var(ddof=1)) / len(real)
    auc, count = float(np.mean(aucs)), int(direction.is_twin.sum())
    usual = _usual_variance(auc, count, len(score) - count)
    return auc, max(variance / FOLDS**2, usual)


def _share_below(values: Floats, others: Floats) -> Floats:
    """Of the others, for each value; ties count half."""
    others = np.sort(others)
    below, up_to = (np.searchsorted(others, values, side) for side in ("left", "right"))
    share: Floats = (below + up_to) / (2.0 * len(others))
    return share


def _usual_variance(auc: float, m: int, n: int) -> float:
    """Hanley and McNeil (1982), at 0.5 (m + n + 1) / (12 m n); as if at least half a person were on the wrong side."""
    area = min(max(auc, 1.0 - auc), 1.0 - 0.5 / min(m, n))
    both_twins, both_real = area / (2.0 - area), 2.0 * area**2 / (1.0 + area)
    spread = (m - 1) * (both_twins - area**2) + (n - 1) * (both_real - area**2)
    return (area * (1.0 - area) + spread) / (m * n)


def _mean(areas: Sequence[tuple[float, float]], directions: Sequence[_Direction]) -> tuple[float, float]:
    """AUC over the directions, weighted by their twins, and its standard error."""
    weights = np.array([one.twins for one in directions], dtype=np.float64)
    weights /= weights.sum()
    auc, variance = np.array(areas).T
    errors, alike = weights * np.sqrt(_SHARED * variance), _ALIKE / max(1, len(directions) - 1)
    total = (1.0 - alike) * (errors**2).sum() + alike * errors.sum() ** 2
    return float(weights @ auc), float(np.sqrt(total))


def _giveaways(directions: Sequence[_Direction], variables: Sequence[str]) -> tuple[tuple[str, float], ...]:
    """The variables that alone distinguish twins from real people, beyond what chance would find in so many."""
    from scipy.stats import norm

    names = list(dict.fromkeys(variables))
    strict = float(norm.isf(_STRICT / max(1, len(names))))
    found = []
    for name in names:
        columns = [k for k, one in enumerate(variables) if one == name]
        areas = [_area(_scores_of_one(one.rows[:, columns], one), one) for one in directions]
        auc, error = _mean(areas, directions)
        if auc - strict * error > 0.5:
            found.append((name, auc))
    return tuple(sorted(found, key=lambda one: -one[1])[:SHOWN])


def _scores_of_one(columns: Floats, direction: _Direction) -> Floats:
    """How much each row looks like a twin by one variable: by how many twins share its bin in the other folds."""
    cells = _cells(columns)
    count = int(cells.max()) + 1
    twin, real = (
        np.array([np.bincount(cells[rows & (direction.fold == k)], minlength=count) for k in range(FOLDS)])
        for rows in (direction.is_twin, ~direction.is_twin)
    )  # each (folds, cells)
    rates = []
    for counts in (twin, real):
        others = counts.sum(axis=0) - counts
        rates.append((others + 1.0) / (others.sum(axis=1, keepdims=True) + count))
    score: Floats = np.log(rates[0] / rates[1])[direction.fold, cells]
    return score


def _cells(columns: Floats) -> NDArray[np.intp]:
    """Each row's bin, (k,): of a number by its quantiles, of a category its level (all its columns together)."""
    cells = np.zeros(len(columns), dtype=np.intp)
    for values in columns.T:
        edges = np.unique(np.quantile(values, np.arange(1, _BINS) / _BINS, method="inverted_cdf"))
        here = np.searchsorted(edges, values, side="left")
        cells = np.unique(cells * (_BINS + 1) + here, return_inverse=True)[1].reshape(-1)
    return cells
