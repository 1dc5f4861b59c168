"""From rows to a structural causal model: the front door of Phase One."""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from cfad_core.causal.graph import (
    Mask,
    allowed_edges,
    break_cycles,
    membership,
    prune,
    required_edges,
    spread,
    strength_between,
    topological_order,
)
from cfad_core.causal.joint import learn_jointly
from cfad_core.causal.moments import collect_moments
from cfad_core.causal.refit import fit_on_graph, fit_weights, supported_edges
from cfad_core.causal.scm import StructuralModel
from cfad_core.causal.spline import Spline, SplineBasis
from cfad_core.config import DiscoveryConfig, Knowledge
from cfad_core.errors import InvalidDataError
from cfad_core.progress import Progress

if TYPE_CHECKING:
    from cfad_core.causal.paper import GraphAutoencoder

Floats = NDArray[np.float64]

MIN_ROWS = 50
_WIDE = 100  # columns from which f gets fewer splines: the moments grow with the square of both
_FINE_BASIS = 200  # splines that carry the paper mode's network f, to within its own precision
_CONTINUOUS = 200  # distinct values that make a column continuous for score matching


def learn_scm(
    x: Floats,
    names: Sequence[str],
    sensitive: str,
    *,
    variables: Sequence[str] | None = None,
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
    variables : the variable that each column belongs to, where some have several columns; knowledge, pruning and
        acyclicity are about variables
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
    distinct, belongs = membership(variables or names)
    allowed = spread(allowed_edges(distinct, sensitive, knowledge), belongs)
    required = required_edges(distinct, knowledge)
    column_variables = tuple(variables) if variables is not None and len(distinct) < len(names) else ()
    build = functools.partial(StructuralModel, tuple(names), sensitive, variables=column_variables)
    if config.mode == "paper":
        autoencoder, weights = _graph_autoencoder(x, config, allowed, required, belongs, seed, progress)
        return build(weights, *_second_decoder(x, autoencoder, weights, progress))

    l1 = config.l1 if config.l1 is not None else (0.05 if comparable_units else 0.01)
    share = config.prune if config.prune is not None else (0.2 if comparable_units else 0.1)
    rng = np.random.default_rng(seed)
    size = config.basis_size if config.basis_size is not None else (24 if len(names) <= _WIDE else 10)
    moments = collect_moments(x, size, config.batch_size, progress)
    if not allowed.any():  # knowledge leaves nothing to learn
        nothing = Spline(moments.basis, np.zeros(moments.basis.size))
        return build(np.zeros(allowed.shape), moments.mean, nothing, moments.slope)
    weights, c = learn_jointly(moments, allowed, belongs, l1, config.rounds, rng, progress)
    candidates = spread(_forward_edges(strength_between(weights, belongs), required), belongs) & allowed
    s = list(names).index(sensitive)
    supported = supported_edges(moments, candidates, c, belongs)
    weights = fit_weights(moments, candidates & spread(supported | required, belongs), c)
    if rows_were_selected and comparable_units and _is_continuous(np.delete(x, s, axis=1)):
        from cfad_core.causal.score_matching import score_matching_weights

        weights = score_matching_weights(x, moments, candidates, weights, c, sensitive=s, rng=rng, progress=progress)
    strong = (prune(strength_between(weights, belongs), share) != 0.0) & supported
    edges = candidates & spread(strong | required, belongs)
    weights, c = fit_on_graph(moments, edges, c, progress)
    return build(weights, moments.intercept(weights, c), Spline(moments.basis, c), moments.slope)


def _forward_edges(strength: Floats, required: Mask) -> Mask:
    """All edges between variables along the causal order that their strengths imply: acyclic by construction."""
    backbone = np.where(required & (strength == 0.0), 1e-12, prune(strength, 0.1, keep=required))
    order = topological_order(break_cycles(backbone, keep=required) != 0.0)
    place = np.argsort(order)
    forward: Mask = place[:, None] < place[None, :]
    return forward


def learn_plain_autoencoder(
    x: Floats, names: Sequence[str], sensitive: str, config: DiscoveryConfig, seed: int, progress: Progress
) -> tuple[GraphAutoencoder, StructuralModel]:
    """The graph autoencoder alone, its pruned graph in the model with the paper's second decoder: both on one graph."""
    x = _checked(x, names, sensitive)
    _, belongs = membership(names)
    allowed = allowed_edges(names, sensitive, Knowledge())
    autoencoder, weights = _graph_autoencoder(x, config, allowed, np.zeros_like(allowed), belongs, seed, progress)
    intercept, f = _second_decoder(x, autoencoder, weights, progress)
    return autoencoder, StructuralModel(tuple(names), sensitive, weights, intercept, f)


def _graph_autoencoder(
    x: Floats,
    config: DiscoveryConfig,
    allowed: Mask,
    required: Mask,
    belongs: Floats,
    seed: int,
    progress: Progress,
) -> tuple[GraphAutoencoder, Floats]:
    """The trained graph autoencoder, and its weights (d, d), pruned and acyclic."""
    from cfad_core.causal.paper import GraphAutoencoder

    # A mixes hidden representations here, whose scale is free: it takes a stronger l1 to make it sparse
    l1 = config.l1 if config.l1 is not None else 0.3
    share = config.prune if config.prune is not None else 0.3
    autoencoder = GraphAutoencoder(x, allowed, belongs, config, l1, seed)
    weights = autoencoder.learn_graph(progress)
    strength = strength_between(weights, belongs)
    # measured against the d-th strongest: single weights into nearly constant codes can be huge
    enough = share * np.sort(strength, axis=None)[-len(strength)]
    strength = np.where((strength >= enough) | required, np.maximum(strength, 1e-12), 0.0)
    return autoencoder, np.where(spread(break_cycles(strength, keep=required) != 0.0, belongs), weights, 0.0)


def _second_decoder(
    x: Floats, autoencoder: GraphAutoencoder, weights: Floats, progress: Progress
) -> tuple[Floats, Spline]:
    """Intercepts and f of the paper's variable-wise decoder on the graph."""
    autoencoder.learn_function(weights, progress)
    basis = SplineBasis.covering(x, _FINE_BASIS)
    points = np.linspace(basis.low, basis.high, 10 * _FINE_BASIS)
    f = Spline.interpolating(basis, points, autoencoder.function(points))
    return x.mean(axis=0) - f(x).mean(axis=0) @ weights, f


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
