"""Ordered logit: levels cut from one latent number.

``P(level <= k | x) = sigma(cut_k - x @ weights)``. Compared with a multinomial logit by an information criterion, it
says whether the levels of a category have an order; and which one, as the levels are first put in the order in which a
linear fit places them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from cfad_core.core.arrays import Floats

_RIDGE = 0.5  # on standardised columns, in units of log-likelihood summed over the rows
_SMALLEST = 1e-12
_PRECISION = 0.1  # log-likelihood over all rows that is not worth another step


@dataclass(frozen=True)
class OrderedFit:
    """A fitted ordered logit.

    Attributes
    ----------
    weights : (q,), of the columns
    cuts : (levels - 1,), ascending
    mean_log_likelihood : of the levels that it was fitted to
    """

    weights: Floats
    cuts: Floats
    mean_log_likelihood: float


def shares_of(latent: Floats, cuts: Floats) -> Floats:
    """Probability of each level (n, levels), given the latent number's middle (n,)."""
    below = expit(cuts[None, :] - latent[:, None])
    edges = np.concatenate([np.zeros((len(latent), 1)), below, np.ones((len(latent), 1))], axis=1)
    shares: Floats = np.maximum(np.diff(edges, axis=1), _SMALLEST)
    whole: Floats = shares / shares.sum(axis=1, keepdims=True)
    return whole


def level_order(X: Floats, y: NDArray[np.intp], levels: int) -> NDArray[np.intp]:
    """The place (levels,) of each level along the direction that the columns X (n, q) explain best."""
    member = np.eye(levels)[y]
    centred = X - X.mean(axis=0)
    fitted = centred @ np.linalg.lstsq(centred, member - member.mean(axis=0), rcond=None)[0]
    leading = np.linalg.svd(fitted, full_matrices=False)[0][:, 0]
    means = leading @ (member / np.maximum(member.sum(axis=0), 1.0))
    places = np.empty(levels, dtype=np.intp)
    places[np.argsort(means, kind="stable")] = np.arange(levels)
    return places


def fit_ordered(X: Floats, y: NDArray[np.intp], levels: int) -> OrderedFit:
    """Fit by maximum likelihood to ordered levels y (n,), all of which occur."""
    n, q = X.shape
    center, scale = X.mean(axis=0), X.std(axis=0)
    scale = np.where(scale > 1e-12, scale, 1.0)
    columns = (X - center) / scale
    below = np.cumsum(np.bincount(y, minlength=levels))[:-1] / n
    first = np.log(below / (1.0 - below))
    start = np.concatenate([[first[0]], np.log(np.maximum(np.diff(first), 1e-3)), np.zeros(q)])

    def unpack(z: Floats) -> tuple[Floats, Floats]:
        cuts = np.cumsum(np.concatenate([z[:1], np.exp(z[1 : levels - 1])]))
        return cuts, z[levels - 1 :]

    def value_and_gradient(z: Floats) -> tuple[float, Floats]:
        cuts, weights = unpack(z)
        latent = columns @ weights
        edges = np.concatenate([[-np.inf], cuts, [np.inf]])
        upper, lower = expit(edges[y + 1] - latent), expit(edges[y] - latent)
        share = np.maximum(upper - lower, _SMALLEST)
        rise, fall = upper * (1.0 - upper) / share, lower * (1.0 - lower) / share
        value = -float(np.log(share).mean()) + 0.5 * _RIDGE / n * float(weights @ weights)
        for_edges = (np.bincount(y, fall, levels)[1:] - np.bincount(y, rise, levels)[:-1]) / n  # of the cuts
        from_here = np.cumsum(for_edges[::-1])[::-1]  # a gap moves all cuts above it
        for_cuts = np.concatenate([from_here[:1], from_here[1:] * np.exp(z[1 : levels - 1])])
        for_weights = columns.T @ (rise - fall) / n + _RIDGE / n * weights
        return value, np.concatenate([for_cuts, for_weights])

    found = minimize(
        value_and_gradient, start, jac=True, method="L-BFGS-B", options={"maxiter": 200, "ftol": _PRECISION / n}
    )
    cuts, weights = unpack(found.x)
    weights = weights / scale
    likelihood = -float(found.fun) + 0.5 * _RIDGE / n * float((weights * scale) @ (weights * scale))
    return OrderedFit(weights, cuts + float(center @ weights), likelihood)
