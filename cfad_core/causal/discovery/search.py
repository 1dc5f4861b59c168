"""From rows to a structural causal model: the front door of Phase One."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.joint import JointFit, learn_jointly, starting_point
from cfad_core.causal.discovery.moments import Moments, collect_moments
from cfad_core.causal.discovery.refit import fit_on_graph, fit_weights, supported_edges
from cfad_core.causal.graph import EdgeRules, break_cycles, prune, spread, strength_between, topological_order
from cfad_core.causal.spline import Spline
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.progress import Progress
from cfad_core.core.threads import one_thread

_WIDE = 100  # columns from which f gets fewer splines: the moments grow with the square of both


def learn_model(
    x: Floats,
    columns: Columns,
    *,
    config: DiscoveryConfig | None = None,
    knowledge: Knowledge | None = None,
    seed: int = 0,
    progress: Progress | None = None,
) -> AdditiveModel:
    """Learn the graph, the weights and f.

    Parameters
    ----------
    x : array of shape (n, d), finite; the sensitive column holds -1 and +1

    Raises
    ------
    InvalidDataError, InvalidConfigError
        If the rows or the knowledge cannot be used.
    """
    config, progress = config or DiscoveryConfig(), progress or Progress()
    search = Search.prepare(x, columns, config, knowledge or Knowledge())
    if config.mode == "paper":
        return search.with_graph_autoencoder(x, seed, progress)
    moments = collect_moments(x, search.basis_size, config.batch_size, progress)
    return search.learn(x, moments, np.random.default_rng(seed), progress)


@dataclass(frozen=True)
class Search:
    """How a graph is looked for: settled once, then used on all rows, or on subsamples of them.

    Attributes
    ----------
    rules : which edges knowledge leaves open
    by_score : whether score matching decides which edges there are
    """

    columns: Columns
    config: DiscoveryConfig
    rules: EdgeRules
    by_score: bool

    @staticmethod
    def prepare(x: Floats, columns: Columns, config: DiscoveryConfig, knowledge: Knowledge) -> Search:
        """Settle how to look for the graph of the rows x (n, d); see ``learn_model``."""
        columns.check(x)
        if columns.states.count > 2:
            raise InvalidConfigError(
                "Additive twins, as in the paper, are of one sensitive attribute with two groups; use preset fast, or "
                "name two groups."
            )
        rules = EdgeRules.of(columns.column_variables, columns.sensitive, knowledge)
        return Search(columns, config, rules, columns.suit_score_matching(x))

    @property
    def basis_size(self) -> int:
        if self.config.basis_size is not None:
            return self.config.basis_size
        return 24 if len(self.columns.names) <= _WIDE else 10

    @property
    def l1(self) -> float:
        if self.config.l1 is not None:
            return self.config.l1
        return 0.05 if self.columns.comparable_units else 0.01

    @property
    def least_share(self) -> float:
        """Of the strongest edge's strength, that an edge needs to stay."""
        if self.config.prune is not None:
            return self.config.prune
        return 0.2 if self.columns.comparable_units else 0.1

    @one_thread()
    def starting_point(self, moments: Moments, rng: np.random.Generator, progress: Progress) -> Floats | None:
        """Where to start in subsamples of the rows that the moments are of."""
        if not self.rules.allowed.any():
            return None
        return starting_point(self._problem(moments), rng, progress)

    @one_thread()
    def learn(
        self,
        x: Floats,
        moments: Moments,
        rng: np.random.Generator,
        progress: Progress,
        start: Floats | None = None,
        emphasis: Floats | None = None,
    ) -> AdditiveModel:
        """The model of rows x with the given moments.

        Parameters
        ----------
        start : see ``learn_jointly``; where it is given, this is one of many graphs
        emphasis : see ``JointFit``
        """
        allowed, required, belongs = self.rules.allowed, self.rules.required, self.rules.belongs
        if not allowed.any():  # knowledge leaves nothing to learn
            nothing = Spline(moments.basis, np.zeros(moments.basis.size))
            return self._model(np.zeros(allowed.shape), moments.mean, nothing, moments.slope)
        weights, c = learn_jointly(self._problem(moments, emphasis), self.config.rounds, rng, progress, start)
        candidates = spread(_forward_edges(strength_between(weights, belongs), required), belongs) & allowed
        supported = supported_edges(moments, candidates, c, belongs)
        weights = fit_weights(moments, candidates & spread(supported | required, belongs), c)
        if self.by_score:
            from cfad_core.causal.discovery import score_matching as score

            fit = score.LeastSquaresFit(moments, candidates, weights, c)
            effort = score.ONE_GRAPH if start is None else score.ONE_OF_MANY
            weights = score.score_matching_weights(x, fit, self.columns.sensitive_index, rng, progress, effort)
        strong = (prune(strength_between(weights, belongs), self.least_share) != 0.0) & supported
        edges = candidates & spread(strong | required, belongs)
        weights, c = fit_on_graph(moments, edges, c, progress)
        return self._model(weights, moments.intercept(weights, c), Spline(moments.basis, c), moments.slope)

    def with_graph_autoencoder(self, x: Floats, seed: int, progress: Progress) -> AdditiveModel:
        """The model of rows x by the paper's way."""
        from cfad_core.causal.discovery.paper import learn_graph_autoencoder, learn_second_decoder

        autoencoder, weights = learn_graph_autoencoder(x, self.rules, self.config, seed, progress)
        return self._model(weights, *learn_second_decoder(x, autoencoder, weights, progress))

    def _problem(self, moments: Moments, emphasis: Floats | None = None) -> JointFit:
        return JointFit(moments, self.rules.allowed, self.rules.belongs, self.l1, emphasis)

    def _model(self, weights: Floats, intercept: Floats, f: Spline, slope: Floats | None = None) -> AdditiveModel:
        names, sensitive, variables = self.columns.names, self.columns.sensitive, self.columns.variables
        several = variables if len(set(variables)) < len(names) else ()
        return AdditiveModel(names, sensitive, weights, intercept, f, slope, several)


def _forward_edges(strength: Floats, required: Bools) -> Bools:
    """All edges between variables along the causal order that their strengths imply: acyclic by construction."""
    backbone = np.where(required & (strength == 0.0), 1e-12, prune(strength, 0.1, keep=required))
    order = topological_order(break_cycles(backbone, keep=required) != 0.0)
    place = np.argsort(order)
    forward: Bools = place[:, None] < place[None, :]
    return forward
