"""Categories, and all columns with two values: a level is drawn.

With p the probabilities of a person's levels and q those of the twin's, the twin of somebody at level l stays there
with probability min(1, q_l / p_l) and else moves to a level that gains. No way to get from p to q moves fewer people. p
and q are a logistic regression on what the category's causes send.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.discovery.moments import has_three_values
from cfad_core.causal.mechanisms.protocol import Messages
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats

_SMALLEST = 1e-6  # probability of a level
_WEAK_PRIOR = 10.0  # keeps weights finite where the causes determine the level


@dataclass(frozen=True)
class Category:
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

    @staticmethod
    def claims(model: StructuralModel, x: Floats, left: tuple[int, ...]) -> list[tuple[int, ...]]:
        """The columns that have two values: together if they are the levels of a category, else one by one.

        A number with many missing cells has a second column that marks them, and may have two values itself.
        """
        if model.slope is not None:
            discrete = tuple(i for i in left if model.slope[i] != 0.0)
        else:
            discrete = tuple(i for i in left if not has_three_values(x[:, i]))
        codes = x[:, list(discrete)]
        if len(discrete) > 1 and discrete == left and ((codes == codes.max()).sum(axis=1) == 1).all():
            return [discrete]
        return [(i,) for i in discrete if i in model.affected]

    @classmethod
    def fit(cls, model: StructuralModel, columns: tuple[int, ...], everybody: Floats, sample: Floats) -> Self:
        """Logistic regression of the sample's levels on what their causes send."""
        low, high = (bound(everybody[:, list(columns)], axis=0) for bound in (np.min, np.max))
        codes = np.stack([low, high]) if len(columns) == 1 else np.where(np.eye(len(columns)) > 0.0, high, low)
        causes = tuple(int(j) for j in np.flatnonzero((model.weights[:, list(columns)] != 0.0).any(axis=1)))
        alike = cls(columns, codes, causes, np.zeros((len(causes), len(codes))), np.zeros(len(codes)))
        level = alike.level(sample)
        if len(np.unique(level)) < 2:  # in these rows there is one level only, and nobody moves
            return alike
        messages = model.messages(sample)
        heard = np.stack([messages[j] for j in causes], axis=1)
        return cls(columns, codes, causes, *_logistic_regression(heard, level, len(codes)))

    def level(self, x: Floats) -> NDArray[np.intp]:
        """Of each person, (n,)."""
        if len(self.columns) == 1:
            found: NDArray[np.intp] = (x[:, self.columns[0]] > self.codes.mean()).astype(np.intp)
        else:
            found = x[:, list(self.columns)].argmax(axis=1)
        return found

    def probabilities(self, messages: Messages) -> Floats:
        """(n, levels), given what the causes send."""
        logits = np.stack([messages[j] for j in self.causes], axis=1) @ self.weights + self.intercept
        odds = np.exp(logits - logits.max(axis=1, keepdims=True))
        shares = odds / odds.sum(axis=1, keepdims=True) + _SMALLEST
        scaled: Floats = shares / shares.sum(axis=1, keepdims=True)
        return scaled

    def twins(self, x: Floats, before: Messages, after: Messages, rng: np.random.Generator) -> Floats:
        """At another level, or as they are for everybody who stays."""
        everybody, level = np.arange(len(x)), self.level(x)
        p, q = self.probabilities(before), self.probabilities(after)
        stays = rng.random(len(x)) < q[everybody, level] / p[everybody, level]
        gains = np.cumsum(np.maximum(q - p, 0.0), axis=1)
        chosen = (gains <= rng.random(len(x))[:, None] * gains[:, -1:]).sum(axis=1)
        moved = self.codes[np.minimum(chosen, len(self.codes) - 1)]
        return np.where((stays | (gains[:, -1] <= 0.0))[:, None], x[:, list(self.columns)], moved)

    def snapped(self, x: Floats) -> Floats:
        """At the nearest level."""
        return self.codes[self.level(x)]


def _logistic_regression(heard: Floats, level: NDArray[np.intp], levels: int) -> tuple[Floats, Floats]:
    """Weights (causes, levels) and intercepts (levels,); a level that nobody has is impossible."""
    from sklearn.exceptions import ConvergenceWarning
    from sklearn.linear_model import LogisticRegression

    seen = np.unique(level)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # after a hundred steps the probabilities are close enough
        model = LogisticRegression(C=_WEAK_PRIOR, max_iter=100, tol=1e-3).fit(heard, level)
    weights, intercept = np.zeros((heard.shape[1], levels)), np.full(levels, -np.inf)
    if len(seen) == 2:  # scikit-learn has one line for two levels
        weights[:, seen[1]], intercept[seen] = model.coef_[0], [0.0, model.intercept_[0]]
    else:
        weights[:, seen], intercept[seen] = model.coef_.T, model.intercept_
    return weights, intercept
