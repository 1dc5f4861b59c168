"""From rows to a structural causal model: the front door of Phase One."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.graph import (
    Mask,
    allowed_edges,
    break_cycles,
    prune,
    required_edges,
    topological_order,
)
from cfad_core.causal.joint import learn_jointly
from cfad_core.causal.moments import Moments, collect_moments
from cfad_core.causal.refit import fit_on_graph, fit_weights
from cfad_core.causal.scm import StructuralModel
from cfad_core.causal.spline import Spline, SplineBasis
from cfad_core.config import DiscoveryConfig, Knowledge
from cfad_core.errors import InvalidDataError
from cfad_core.progress import Progress

Floats = NDArray[np.float64]

MIN_ROWS = 50
_FINE_BASIS = 200  # splines that carry the paper mode's network f, to within its own precision
_CONTINUOUS = 200  # distinct values that make a column continuous for score matching


def learn_scm(
    x: Floats,
    names: Sequence[str],
    sensitive: str,
    *,
    config: DiscoveryConfig | None = None,
    knowledge: Knowledge | None = None,
    comparable_units: bool = True,
    rows_were_selected: bool = False,
    seed: int = 0,
    progress: Progress | None = None,
) -> StructuralModel:
    """Learn the graph, the weights and f.

    Parameters
    ----------
    x : array of shape (n, d), finite; the sensitive column holds -1 and +1
    comparable_units : whether the columns share a scale (raw), or were mapped to a common range
    rows_were_selected : whether rows were chosen by their label; edges are then told by score matching where
        every column is continuous and the units are comparable

    Raises
    ------
    InvalidDataError, InvalidConfigError
        If the rows or the knowledge cannot be used.
    """
    config, knowledge, progress = config or DiscoveryConfig(), knowledge or Knowledge(), progress or Progress()
    x = _checked(x, names, sensitive)
    allowed = allowed_edges(names, sensitive, knowledge)
    required = required_edges(names, knowledge)
    if config.mode == "paper":
        return _learn_as_in_paper(x, names, sensitive, config, allowed, required, seed, progress)

    l1 = config.l1 if config.l1 is not None else (0.05 if comparable_units else 0.01)
    share = config.prune if config.prune is not None else (0.2 if comparable_units else 0.1)

    rng = np.random.default_rng(seed)
    moments = collect_moments(x, SplineBasis.covering(x, config.basis_size), config.batch_size, progress)
    if not allowed.any():  # knowledge leaves nothing to learn
        return StructuralModel(
            tuple(names), sensitive, np.zeros_like(allowed, dtype=np.float64), moments.mean, _flat(moments)
        )
    weights, c = learn_jointly(moments, allowed, l1, config.rounds, rng, progress)
    candidates = _forward_edges(weights, allowed, required)
    s = list(names).index(sensitive)
    weights = fit_weights(moments, candidates, c)
    if rows_were_selected and comparable_units and _is_continuous(np.delete(x, s, axis=1)):
        from cfad_core.causal.score_matching import score_matching_weights

        weights = score_matching_weights(
            x, moments.basis, candidates, weights, c, sensitive=s, rng=rng, progress=progress
        )
    edges = (prune(weights, share, keep=required) != 0.0) | required
    weights, c = fit_on_graph(moments, edges, c, progress)
    return StructuralModel(
        names=tuple(names),
        sensitive=sensitive,
        weights=weights,
        intercept=moments.intercept(weights, c),
        f=Spline(moments.basis, c),
    )


def _forward_edges(weights: Floats, allowed: Mask, required: Mask) -> Mask:
    """All allowed edges along the causal order that the learned weights imply: acyclic by construction."""
    backbone = np.where(required & (weights == 0.0), 1e-12, prune(weights, 0.1, keep=required))
    order = topological_order(break_cycles(backbone, keep=required) != 0.0)
    place = np.argsort(order)
    forward: Mask = place[:, None] < place[None, :]
    return forward & allowed


def _learn_as_in_paper(
    x: Floats,
    names: Sequence[str],
    sensitive: str,
    config: DiscoveryConfig,
    allowed: Mask,
    required: Mask,
    seed: int,
    progress: Progress,
) -> StructuralModel:
    from cfad_core.causal.paper import GraphAutoencoder

    # A mixes hidden representations here, whose scale is free: it takes a stronger l1 to make it sparse
    l1 = config.l1 if config.l1 is not None else 0.3
    share = config.prune if config.prune is not None else 0.3
    autoencoder = GraphAutoencoder(x, allowed, config, l1, seed)
    weights = autoencoder.learn_graph(progress)
    strength = np.sort(np.abs(weights), axis=None)
    # measured against the d-th strongest: single weights into nearly constant codes can be huge
    weights = np.where((np.abs(weights) >= share * strength[-len(names)]) | required, weights, 0.0)
    weights = break_cycles(weights, keep=required)
    autoencoder.learn_function(weights, progress)
    basis = SplineBasis.covering(x, _FINE_BASIS)
    points = np.linspace(basis.low, basis.high, 10 * _FINE_BASIS)
    f = Spline.interpolating(basis, points, autoencoder.function(points))
    return StructuralModel(
        names=tuple(names),
        sensitive=sensitive,
        weights=weights,
        intercept=x.mean(axis=0) - f(x).mean(axis=0) @ weights,
        f=f,
    )


def _flat(moments: Moments) -> Spline:
    return Spline(moments.basis, np.zeros(moments.basis.size))


def _is_continuous(x: Floats) -> bool:
    needed = min(_CONTINUOUS, len(x) // 2)
    return all(len(np.unique(column)) >= needed for column in x.T)


def _checked(x: Floats, names: Sequence[str], sensitive: str) -> Floats:
    x = np.asarray(x, dtype=np.float64)
    if x.ndim != 2 or x.shape[1] != len(names):
        raise InvalidDataError(f"Expected rows of {len(names)} variables; got an array of shape {x.shape}.")
    if len(x) < MIN_ROWS:
        raise InvalidDataError(f"Learning a causal graph needs at least {MIN_ROWS} rows; got {len(x)}.")
    if not np.isfinite(x).all():
        raise InvalidDataError("Learning a causal graph needs finite numbers; there are missing or infinite cells.")
    if set(np.unique(x[:, list(names).index(sensitive)])) != {-1.0, 1.0}:
        raise InvalidDataError(f"The sensitive column '{sensitive}' must hold -1 and +1, and both of them.")
    return x
