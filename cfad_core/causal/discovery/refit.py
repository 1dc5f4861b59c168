"""With the edges decided: the weights, f and intercepts that fit best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.discovery.joint import SMOOTHING
from cfad_core.causal.discovery.moments import Moments
from cfad_core.causal.spline import roughness_penalty
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.progress import Progress

STAGE = "refit"
_TOLERANCE = 1e-10


def fit_weights(moments: Moments, edges: Bools, c: Floats) -> Floats:
    """Least-squares weights (d, d) on the given edges, f held fixed."""
    between, towards = moments.contract(c)
    weights = np.zeros(edges.shape)
    for i in range(len(edges)):
        parents = np.flatnonzero(edges[:, i])
        if len(parents):
            weights[parents, i] = np.linalg.solve(_ridged(between[np.ix_(parents, parents)]), towards[parents, i])
    return weights


def supported_edges(moments: Moments, edges: Bools, c: Floats, belongs: Floats) -> Bools:
    """Edges between variables whose weights earn their number by the fit, by the Bayesian information criterion.

    An edge j -> i does not if n log(RSS without / RSS with it), summed over the columns of i, is less than log n for
    each of its weights. In small tables this is what distinguishes an edge from chance. The least supported edge of a
    variable is dropped, the others are weighed again, and so on: of two causes with the same information, one stays.

    Parameters
    ----------
    edges : (d, d), between columns
    belongs : (d, variables)
    """
    between, towards = moments.contract(c)
    columns = [np.flatnonzero(member) for member in belongs.T]
    supported = np.zeros((len(columns), len(columns)), dtype=np.bool_)
    for i, effects in enumerate(columns):
        causes = [j for j, own in enumerate(columns) if edges[own[0], effects[0]]]
        while causes:
            gains = _gains(moments, between, towards, [columns[j] for j in causes], effects)
            worst = int(np.argmin(gains))
            if gains[worst] > 0.0:
                break
            causes.pop(worst)
        supported[causes, i] = True
    return supported


def _gains(
    moments: Moments, between: Floats, towards: Floats, causes: list[NDArray[np.intp]], effects: NDArray[np.intp]
) -> list[float]:
    """By how much each cause (its columns) improves the criterion for an effect (its columns), beside all others."""
    parents = np.concatenate(causes)
    inverse = np.linalg.inv(_ridged(between[np.ix_(parents, parents)]))
    weights = inverse @ towards[np.ix_(parents, effects)]
    variance = np.diag(moments.covariance)[effects]
    explained = np.sum(weights * towards[np.ix_(parents, effects)], axis=0)
    rest = np.maximum(variance - explained, 1e-9 * variance + 1e-300)
    gains = []
    for own in causes:
        here = np.flatnonzero(np.isin(parents, own))
        lost = np.sum(weights[here] * np.linalg.solve(inverse[np.ix_(here, here)], weights[here]), axis=0)
        gain = moments.n_rows * float(np.log1p(np.maximum(lost, 0.0) / rest).sum())
        gains.append(gain - len(own) * len(effects) * float(np.log(moments.n_rows)))
    return gains


def _ridged(system: Floats) -> Floats:
    ridge: Floats = system + 1e-9 * (np.trace(system) / len(system) + 1e-12) * np.eye(len(system))
    return ridge


def fit_on_graph(
    moments: Moments, edges: Bools, c: Floats, progress: Progress, max_sweeps: int = 100
) -> tuple[Floats, Floats]:
    """Weights (d, d) and f's coefficients (K,): alternate their two least-squares problems until still."""
    weights = fit_weights(moments, edges, c)
    if not edges.any():
        return weights, c
    loss = np.inf
    for sweep in range(max_sweeps):
        if edges[moments.curved].any():
            c = _fit_function(moments, weights)
            weights = fit_weights(moments, edges, c)
        loss_before, loss = loss, squared_error(moments, weights, c)
        progress.tick(STAGE, sweep + 1, max_sweeps, loss=loss, edges=int(edges.sum()))
        if loss_before - loss <= _TOLERANCE * abs(loss):
            break
    return weights, c


def _fit_function(moments: Moments, weights: Floats) -> Floats:
    """Least-squares coefficients (K,) of f, the weights held fixed; then scaled to unit variance."""
    smooth = 2.0 * SMOOTHING * roughness_penalty(moments.basis.size) + 1e-10 * np.eye(moments.basis.size)
    pairs = weights @ weights.T
    inner = pairs[np.ix_(moments.curved, moments.curved)]
    gram = np.einsum("jl,jklm->km", inner, moments.splines, optimize=True)
    nothing = np.zeros(moments.basis.size)
    c = np.linalg.solve(gram + smooth, -moments.gradient(nothing, pairs, weights))
    return moments.normalised(c) if c.any() else nothing


def squared_error(moments: Moments, weights: Floats, c: Floats) -> float:
    """``1/2 E ||x - A^T f(x) - b||^2`` with the best intercepts."""
    between, towards = moments.contract(c)
    return 0.5 * float(moments.total_variance - 2.0 * np.sum(weights * towards) + np.sum(weights * (between @ weights)))
