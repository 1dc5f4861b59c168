"""With the edges decided: the weights, f and intercepts that fit best."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.graph import Mask
from cfad_core.causal.joint import SMOOTHING
from cfad_core.causal.moments import Moments
from cfad_core.causal.spline import roughness_penalty
from cfad_core.progress import Progress

Floats = NDArray[np.float64]

STAGE = "refit"
_TOLERANCE = 1e-10


def fit_weights(moments: Moments, edges: Mask, c: Floats) -> Floats:
    """Least-squares weights (d, d) on the given edges, f held fixed."""
    between, towards = moments.contract(c)
    weights = np.zeros(edges.shape)
    for i in range(len(edges)):
        parents = np.flatnonzero(edges[:, i])
        if len(parents):
            system = between[np.ix_(parents, parents)]
            ridge = 1e-9 * (np.trace(system) / len(parents) + 1e-12) * np.eye(len(parents))
            weights[parents, i] = np.linalg.solve(system + ridge, towards[parents, i])
    return weights


def fit_on_graph(
    moments: Moments, edges: Mask, c: Floats, progress: Progress, max_sweeps: int = 100
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
