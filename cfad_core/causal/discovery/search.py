"""From rows to a structural causal model: the front door of Phase One."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from cfad_core.causal.discovery.joint import learn_jointly, starting_point
from cfad_core.causal.discovery.moments import Moments, collect_moments
from cfad_core.causal.discovery.refit import fit_on_graph, fit_weights, supported_edges
from cfad_core.causal.graph import (
    allowed_edges,
    break_cycles,
    membership,
    prune,
    required_edges,
    spread,
    strength_between,
    topological_order,
)
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.spline import Spline, SplineBasis
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.core.threads import one_thread

if TYPE_CHECKING:
    from cfad_core.causal.discovery.paper import GraphAutoencoder


MIN_ROWS = 50
_WIDE = 100  # columns from which f gets fewer splines: the moments grow with the square of both
_FINE_BASIS = 200  # splines that carry the paper mode's network f, to within its own precision
_SAMPLED = {"max_rows": 3_000, "iterations": 30}  # of score matching, where one of many graphs is learned
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
    config, progress = config or DiscoveryConfig(), progress or Progress()
    search = Search.prepare(
        x, names, sensitive, variables, config, knowledge or Knowledge(), comparable_units, rows_were_selected
    )
    if config.mode == "paper":
        return search.with_graph_autoencoder(x, seed, progress)
    moments = collect_moments(x, search.basis_size, config.batch_size, progress)
    return search.learn(x, moments, np.random.default_rng(seed), progress)


@dataclass(frozen=True)
class Search:
    """How a graph is looked for: settled once, then used on all rows, or on samples of them.

    Attributes
    ----------
    names, sensitive, column_variables : of the model
    allowed : (d, d), edges between columns that knowledge leaves open
    required : (v, v), edges between variables that must be
    belongs : (d, v), which column belongs to which variable
    by_score : whether edges are told by score matching
    """

    names: tuple[str, ...]
    sensitive: str
    column_variables: tuple[str, ...]
    config: DiscoveryConfig
    allowed: Bools
    required: Bools
    belongs: Floats
    comparable_units: bool
    by_score: bool

    @staticmethod
    def prepare(
        x: Floats,
        names: Sequence[str],
        sensitive: str,
        variables: Sequence[str] | None,
        config: DiscoveryConfig,
        knowledge: Knowledge,
        comparable_units: bool,
        rows_were_selected: bool,
    ) -> Search:
        """See ``learn_scm``."""
        _check(x, names, sensitive)
        distinct, belongs = membership(variables or names)
        attributes = np.delete(x, list(names).index(sensitive), axis=1)
        return Search(
            names=tuple(names),
            sensitive=sensitive,
            column_variables=tuple(variables) if variables is not None and len(distinct) < len(names) else (),
            config=config,
            allowed=spread(allowed_edges(distinct, sensitive, knowledge), belongs),
            required=required_edges(distinct, knowledge),
            belongs=belongs,
            comparable_units=comparable_units,
            by_score=rows_were_selected and comparable_units and _is_continuous(attributes),
        )

    @property
    def basis_size(self) -> int:
        if self.config.basis_size is not None:
            return self.config.basis_size
        return 24 if len(self.names) <= _WIDE else 10

    @property
    def l1(self) -> float:
        if self.config.l1 is not None:
            return self.config.l1
        return 0.05 if self.comparable_units else 0.01

    @one_thread()
    def starting_point(self, moments: Moments, rng: np.random.Generator, progress: Progress) -> Floats | None:
        """Where to start in samples of the rows that the moments are of."""
        if not self.allowed.any():
            return None
        return starting_point(moments, self.allowed, self.belongs, self.l1, rng, progress)

    @one_thread()
    def learn(
        self,
        x: Floats,
        moments: Moments,
        rng: np.random.Generator,
        progress: Progress,
        start: Floats | None = None,
        emphasis: Floats | None = None,
    ) -> StructuralModel:
        """The model of rows x with the given moments; ``start`` and ``emphasis`` as in ``learn_jointly``."""
        config, belongs = self.config, self.belongs
        share = config.prune if config.prune is not None else (0.2 if self.comparable_units else 0.1)
        if not self.allowed.any():  # knowledge leaves nothing to learn
            nothing = Spline(moments.basis, np.zeros(moments.basis.size))
            return self._model(np.zeros(self.allowed.shape), moments.mean, nothing, moments.slope)
        weights, c = learn_jointly(
            moments, self.allowed, belongs, self.l1, config.rounds, rng, progress, start, emphasis
        )
        candidates = spread(_forward_edges(strength_between(weights, belongs), self.required), belongs) & self.allowed
        supported = supported_edges(moments, candidates, c, belongs)
        weights = fit_weights(moments, candidates & spread(supported | self.required, belongs), c)
        if self.by_score:
            from cfad_core.causal.discovery.score_matching import score_matching_weights

            weights = score_matching_weights(
                x,
                moments,
                candidates,
                weights,
                c,
                sensitive=self.names.index(self.sensitive),
                rng=rng,
                progress=progress,
                **({} if start is None else _SAMPLED),
            )
        strong = (prune(strength_between(weights, belongs), share) != 0.0) & supported
        edges = candidates & spread(strong | self.required, belongs)
        weights, c = fit_on_graph(moments, edges, c, progress)
        return self._model(weights, moments.intercept(weights, c), Spline(moments.basis, c), moments.slope)

    def with_graph_autoencoder(self, x: Floats, seed: int, progress: Progress) -> StructuralModel:
        """The model of rows x by the paper's way."""
        autoencoder, weights = _graph_autoencoder(
            x, self.config, self.allowed, self.required, self.belongs, seed, progress
        )
        return self._model(weights, *_second_decoder(x, autoencoder, weights, progress))

    def _model(self, weights: Floats, intercept: Floats, f: Spline, slope: Floats | None = None) -> StructuralModel:
        return StructuralModel(self.names, self.sensitive, weights, intercept, f, slope, self.column_variables)


def _forward_edges(strength: Floats, required: Bools) -> Bools:
    """All edges between variables along the causal order that their strengths imply: acyclic by construction."""
    backbone = np.where(required & (strength == 0.0), 1e-12, prune(strength, 0.1, keep=required))
    order = topological_order(break_cycles(backbone, keep=required) != 0.0)
    place = np.argsort(order)
    forward: Bools = place[:, None] < place[None, :]
    return forward


def learn_plain_autoencoder(
    x: Floats, names: Sequence[str], sensitive: str, config: DiscoveryConfig, seed: int, progress: Progress
) -> tuple[GraphAutoencoder, StructuralModel]:
    """The graph autoencoder alone, its pruned graph in the model with the paper's second decoder: both on one graph."""
    _check(x, names, sensitive)
    _, belongs = membership(names)
    allowed = allowed_edges(names, sensitive, Knowledge())
    autoencoder, weights = _graph_autoencoder(x, config, allowed, np.zeros_like(allowed), belongs, seed, progress)
    intercept, f = _second_decoder(x, autoencoder, weights, progress)
    return autoencoder, StructuralModel(tuple(names), sensitive, weights, intercept, f)


def _graph_autoencoder(
    x: Floats,
    config: DiscoveryConfig,
    allowed: Bools,
    required: Bools,
    belongs: Floats,
    seed: int,
    progress: Progress,
) -> tuple[GraphAutoencoder, Floats]:
    """The trained graph autoencoder, and its weights (d, d), pruned and acyclic."""
    from cfad_core.causal.discovery.paper import GraphAutoencoder

    # A mixes hidden representations here, whose scale is free: it takes a stronger l1 to make it sparse
    l1 = config.l1 if config.l1 is not None else 0.3
    share = config.prune if config.prune is not None else 0.3
    autoencoder = GraphAutoencoder(x, allowed, belongs, config, l1, seed)
    weights = autoencoder.learn_graph(progress)
    strength = strength_between(weights, belongs)
    # measured against the d-th strongest: single weights into nearly constant codes can be huge
    enough = share * np.sort(strength, axis=None)[-len(strength)]
    strong = ((strength >= enough) & (strength > 0.0)) | required
    strength = np.where(strong, np.maximum(strength, 1e-12), 0.0)
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


def _check(x: Floats, names: Sequence[str], sensitive: str) -> None:
    if x.ndim != 2 or x.shape[1] != len(names):
        raise InvalidDataError(f"Expected rows of {len(names)} variables; got an array of shape {x.shape}.")
    if len(x) < MIN_ROWS:
        raise InvalidDataError(f"Learning a causal graph needs at least {MIN_ROWS} rows; got {len(x)}.")
    if not np.isfinite(x).all():
        raise InvalidDataError("Learning a causal graph needs finite numbers; there are missing or infinite cells.")
    if set(np.unique(x[:, list(names).index(sensitive)])) != {-1.0, 1.0}:
        raise InvalidDataError(f"The sensitive column '{sensitive}' must hold -1 and +1, and both of them.")
