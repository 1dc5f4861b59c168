"""Twins that are legal people: in the other group, with categories that exist.

``StructuralModel.counterfactual`` adds noise to what is expected, so the counterfactual of a category, or of any column
with two values, lies between its levels, where no person is. Here its level is drawn: with p the probabilities of the
levels in this world and q those in the other, somebody at level l stays with probability min(1, q_l / p_l) and else
moves to a level that gains. No way to get from p to q moves fewer people. p and q are a logistic regression on what the
category's causes send.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.discovery.moments import has_three_values
from cfad_core.causal.graph import topological_order
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats
from cfad_core.core.threads import one_thread

_MAX_ROWS = 3_000  # to fit the levels' probabilities to
_SMALLEST = 1e-6  # probability of a level
_WEAK_PRIOR = 10.0  # keeps weights finite where causes tell the levels apart without fail


@dataclass(frozen=True)
class _Category:
    """Columns with two values each that hold one level.

    Attributes
    ----------
    columns : one for each level; a single one stands for two levels
    codes : (levels, columns), what its columns hold at each level
    causes : the columns that act on it
    weights, intercept : (causes, levels) and (levels,), of the logarithm of the probabilities
    """

    columns: tuple[int, ...]
    codes: Floats
    causes: tuple[int, ...]
    weights: Floats
    intercept: Floats

    def level(self, x: Floats) -> NDArray[np.intp]:
        """Of each person, (n,)."""
        if len(self.columns) == 1:
            found: NDArray[np.intp] = (x[:, self.columns[0]] > self.codes.mean()).astype(np.intp)
        else:
            found = x[:, list(self.columns)].argmax(axis=1)
        return found

    def probabilities(self, messages: dict[int, Floats]) -> Floats:
        """(n, levels), given what the causes send."""
        logits = np.stack([messages[j] for j in self.causes], axis=1) @ self.weights + self.intercept
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True) + _SMALLEST
        scaled: Floats = shares / shares.sum(axis=1, keepdims=True)
        return scaled


@dataclass(frozen=True)
class TwinDraws:
    """A causal model, and how likely each level of each category is that the sensitive attribute reaches."""

    scm: StructuralModel
    categories: dict[str, tuple[_Category, ...]]  # by variable

    @staticmethod
    @one_thread()
    def fit(scm: StructuralModel, x: Floats, rng: np.random.Generator) -> TwinDraws:
        """Fit the probabilities to the rows x (n, d) that the model was learned from, or to some of them."""
        rows = x if len(x) <= _MAX_ROWS else x[np.sort(rng.choice(len(x), _MAX_ROWS, replace=False))]
        categories: dict[str, list[_Category]] = {}
        for variable in scm.affected_names:
            for columns in _levels_of(scm, x, variable):
                categories.setdefault(variable, []).append(_fit_category(scm, rows, x, columns))
        return TwinDraws(scm, {variable: tuple(found) for variable, found in categories.items()})

    def draw(self, x: Floats, rng: np.random.Generator, cut: tuple[str, str] | None = None) -> Floats:
        """Each person had ``S`` been the other value, shape (n, d), every category at one of its levels.

        Parameters
        ----------
        cut : an edge (cause, effect) that carries nothing: its effect hears its cause as it is in this world
        """
        scm, n = self.scm, len(x)
        before = scm.messages(x)
        after = dict(before)
        result = x.copy()
        result[:, scm.sensitive_index] = -x[:, scm.sensitive_index]
        self._send(after, result, scm.sensitive)
        for variable in self._order():
            heard = after
            if cut is not None and cut[1] == variable:
                kept = {j: before[j] for j in before if scm.column_variables[j] == cut[0]}
                heard = after | kept
            drawn: set[int] = set()
            for category in self.categories.get(variable, ()):
                result[:, list(category.columns)] = self._moved(category, x, before, heard, rng)
                drawn.update(category.columns)
            for i in scm.affected:
                if scm.column_variables[i] == variable and i not in drawn:
                    result[:, i] = x[:, i] + (scm.expected(heard, i, n) - scm.expected(before, i, n))
            self._send(after, result, variable)
        return result

    def snapped(self, x: Floats) -> Floats:
        """People with every category at its nearest level."""
        result = x.copy()
        for category in (category for found in self.categories.values() for category in found):
            result[:, list(category.columns)] = category.codes[category.level(x)]
        return result

    def _order(self) -> list[str]:
        """The variables that are affected, causes before effects; all columns of one are drawn together."""
        variables, strengths = self.scm.strengths()
        reached = set(self.scm.affected_names)
        order = topological_order(strengths != 0.0)
        return [variables[k] for k in order if variables[k] in reached]

    def _send(self, messages: dict[int, Floats], x: Floats, variable: str) -> None:
        for j in messages:
            if self.scm.column_variables[j] == variable:
                messages[j] = self.scm.message(j, x)

    def _moved(
        self,
        category: _Category,
        x: Floats,
        before: dict[int, Floats],
        after: dict[int, Floats],
        rng: np.random.Generator,
    ) -> Floats:
        """What the category's columns hold in the other world; as they are for everybody who stays."""
        everybody, level = np.arange(len(x)), category.level(x)
        p, q = category.probabilities(before), category.probabilities(after)
        stays = rng.random(len(x)) < q[everybody, level] / p[everybody, level]
        gains = np.cumsum(np.maximum(q - p, 0.0), axis=1)
        chosen = (gains <= rng.random(len(x))[:, None] * gains[:, -1:]).sum(axis=1)
        moved = category.codes[np.minimum(chosen, len(category.codes) - 1)]
        return np.where((stays | (gains[:, -1] <= 0.0))[:, None], x[:, list(category.columns)], moved)


def _levels_of(scm: StructuralModel, x: Floats, variable: str) -> list[tuple[int, ...]]:
    """The columns of a variable that have two values: together if they are the levels of a category, else one by one.

    A number with many missing cells has a second column that marks them, and may have two values itself.
    """
    own = tuple(i for i, name in enumerate(scm.column_variables) if name == variable)
    if scm.slope is not None:
        discrete = tuple(i for i in own if scm.slope[i] != 0.0)
    else:
        discrete = tuple(i for i in own if not has_three_values(x[:, i]))
    codes = x[:, list(discrete)]
    if len(discrete) > 1 and discrete == own and ((codes == codes.max()).sum(axis=1) == 1).all():
        return [discrete]
    return [(i,) for i in discrete if i in scm.affected]


def _fit_category(scm: StructuralModel, rows: Floats, everybody: Floats, columns: tuple[int, ...]) -> _Category:
    """Logistic regression of the levels on what their causes send."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    low, high = (bound(everybody[:, list(columns)], axis=0) for bound in (np.min, np.max))
    codes = np.stack([low, high]) if len(columns) == 1 else np.where(np.eye(len(columns)) > 0.0, high, low)
    causes = tuple(int(j) for j in np.flatnonzero((scm.weights[:, list(columns)] != 0.0).any(axis=1)))
    category = _Category(columns, codes, causes, np.zeros((len(causes), len(codes))), np.zeros(len(codes)))
    level = category.level(rows)
    seen = np.unique(level)
    if len(seen) < 2:  # in these rows there is one level only, and nobody moves
        return category
    messages = scm.messages(rows)
    heard = np.stack([messages[j] for j in causes], axis=1)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a hundred steps tell the probabilities well enough
        model = LogisticRegression(C=_WEAK_PRIOR, max_iter=100, tol=1e-3).fit(heard, level)
    weights, intercept = np.zeros_like(category.weights), np.full(len(codes), -np.inf)
    if len(seen) == 2:  # scikit-learn has one line for two levels
        weights[:, seen[1]], intercept[seen] = model.coef_[0], [0.0, model.intercept_[0]]
    else:
        weights[:, seen], intercept[seen] = model.coef_.T, model.intercept_
    return _Category(columns, codes, causes, weights, intercept)
