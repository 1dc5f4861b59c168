"""From rows to a causal model: the front door of Phase One.

The graph comes from a search that needs no common scale (``order_search``); where the columns share one, least squares
decides the directions that likelihood leaves open (``shared_scale``). Then every variable that a sensitive attribute
reaches gets its mechanism. What an attribute reaches is what depends on it: where a dependence is left that the graph
does not explain, the attribute becomes a cause.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.dependence import depends_on, holm
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.order_search import LearnedGraph, OrderSearch
from cfad_core.causal.discovery.search import Search
from cfad_core.causal.discovery.shared_scale import SharedScale
from cfad_core.causal.graph import allowed_edges, descendants, required_edges, topological_order
from cfad_core.causal.layout import Layout
from cfad_core.causal.logit import fit_logit
from cfad_core.causal.mechanisms import Mechanism
from cfad_core.causal.mechanisms.basis import Basis
from cfad_core.causal.mechanisms.design import Functions
from cfad_core.causal.mechanisms.shared import shared_mechanisms
from cfad_core.causal.model import Graph, StructuralModel, fit_bases, fit_mechanism
from cfad_core.causal.strengths import edge_strengths
from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.progress import Only, Progress
from cfad_core.core.threads import one_thread

CausalModel: TypeAlias = StructuralModel | AdditiveModel

STAGE = "mechanisms"
DISCOVERY = "discovery"  # all of the search, whichever way
_MOST_FITTED = 50_000  # rows that mechanisms are fitted to: more say nothing new of a few dozen numbers
_MOST_ROWS = 10_000  # that saturated mechanisms are fitted to
_MOST_CAUSES = 8  # of a saturated mechanism
_AS_GOOD = 10.0  # log-likelihood that a graph may lack and still be as good: about the price of an edge
DEPENDS = 0.01  # adjusted p-value below which a variable depends on the sensitive attribute beyond chance


def learn_additive(
    x: Floats, columns: Columns, config: DiscoveryConfig, knowledge: Knowledge, seed: int, progress: Progress
) -> AdditiveModel:
    """The paper's model of rows x (n, d): a graph autoencoder, and additive noise."""
    return Search.prepare(x, columns, config, knowledge).with_graph_autoencoder(x, seed, progress)


@dataclass(frozen=True)
class Learner:
    """All that models of the same rows, or of parts of them, share.

    Attributes
    ----------
    x : (n, d), the rows
    cells : (n, v), the same by variable
    allowed, required : (v, v), what knowledge leaves open, and what it demands
    orders : the search without a common scale; None where it is not needed
    shared : the search on a shared scale; None where the columns do not share one
    trusts_shared : whether the latter decides alone, because rows were chosen by their label
    sensitive_is_root : whether no other variable causes a sensitive attribute
    """

    x: Floats
    layout: Layout
    cells: Floats
    allowed: Bools
    required: Bools
    orders: OrderSearch | None
    shared: SharedScale | None
    trusts_shared: bool
    sensitive_is_root: bool

    @staticmethod
    @one_thread()
    def prepare(
        x: Floats, columns: Columns, config: DiscoveryConfig, knowledge: Knowledge, progress: Progress
    ) -> Learner:
        """Check the rows x (n, d), whose first column holds their state, and settle how to look for the graph.

        Raises
        ------
        InvalidDataError, InvalidConfigError
            If the rows or the knowledge cannot be used.
        """
        columns.check(x)
        layout = columns.layout(x)
        allowed = allowed_edges(layout.names, columns.sensitive_names, knowledge)
        cells = layout.cells(x)
        required = required_edges(layout.names, knowledge)
        selected = columns.suit_score_matching(x)
        open_question = bool((allowed & ~required).any())
        shared = open_question and columns.share_a_scale(x)
        return Learner(
            x=x,
            layout=layout,
            cells=cells,
            allowed=allowed,
            required=required,
            orders=OrderSearch.prepare(cells, layout.kinds, allowed, required, progress)
            if open_question and not selected
            else None,
            shared=SharedScale.prepare(x, columns, config, knowledge, progress) if shared else None,
            trusts_shared=selected,
            sensitive_is_root=not allowed[layout.attributes :, : layout.attributes].any(),
        )

    @one_thread()
    def learn(
        self, rows: Rows | None, seed: int, progress: Progress, start: LearnedGraph | None = None
    ) -> tuple[StructuralModel, LearnedGraph | None]:
        """The model of all rows, or of some, and the graph that searches on parts of the rows start from.

        Only the model of all rows has a mechanism for every variable; others make twins, and need those that the
        sensitive attributes reach.
        """
        shared = None if self.shared is None else self.shared.learn(rows, seed, Only(progress, DISCOVERY))
        if shared is not None and self.trusts_shared:
            return self._of_chosen_rows(shared, rows, seed), None
        edges, direction, found = self._graph(rows, seed, progress, start, shared)
        cells = self._some(rows, seed)
        bases = fit_bases(cells, self.layout)
        functions = {j: basis.functions(cells[:, j]) for j, basis in bases.items()}
        edges, mechanisms = self._mechanisms(edges, cells, (bases, functions), progress)
        attributes = range(self.layout.attributes)
        wanted = sorted(frozenset().union(*(descendants(edges, s) for s in attributes)))
        if rows is None:
            wanted = sorted({*wanted, *range(len(attributes), len(edges))})
            mechanisms |= self._unreached(edges, mechanisms, cells, (bases, functions), progress)
        strengths = edge_strengths(cells, bases, functions, edges)
        graph = Graph(edges, strengths, np.where(edges, np.where(direction > 0.0, direction, 1.0), 0.0))
        heard = {*attributes, *(int(j) for i in wanted for j in np.flatnonzero(edges[:, i]))}
        model = StructuralModel(
            layout=self.layout,
            graph=graph,
            bases={j: bases[j] for j in sorted(heard)},
            mechanisms={i: mechanisms[i] for i in wanted},
            seed=seed,
        )
        return model, found

    def _some(self, rows: Rows | None, seed: int) -> Floats:
        """The cells (m, v) that mechanisms are fitted to: of these rows, or of a sample where they are very many."""
        cells = self.cells if rows is None else self.cells[rows]
        if len(cells) <= _MOST_FITTED:
            return cells
        chosen = np.random.default_rng(seed).choice(len(cells), _MOST_FITTED, replace=False)
        return cells[np.sort(chosen)]

    def _of_chosen_rows(self, shared: AdditiveModel, rows: Rows | None, seed: int) -> StructuralModel:
        """The model of rows that were chosen by their label."""
        assert self.shared is not None
        x, cells = (some if rows is None else some[rows] for some in (self.x, self.cells))
        bases, mechanisms = shared_mechanisms(shared, self.shared.unit, x)
        edges: Bools = shared.weights != 0.0
        usual = fit_bases(cells, self.layout)
        functions = {j: basis.functions(cells[:, j]) for j, basis in usual.items()}
        graph = Graph(edges, edge_strengths(cells, usual, functions, edges), edges.astype(np.float64))
        return StructuralModel(self.layout, graph, bases, mechanisms, seed)

    def _graph(
        self,
        rows: Rows | None,
        seed: int,
        progress: Progress,
        start: LearnedGraph | None,
        shared: AdditiveModel | None,
    ) -> tuple[Bools, Floats, LearnedGraph | None]:
        """Edges (v, v), the share of equally good graphs in which each points this way, and what the search found."""
        if self.orders is None:
            return self.required, self.required.astype(np.float64), None
        found = self.orders.learn(rows, seed, progress, start)
        if shared is not None:
            edges: Bools = shared.weights != 0.0
            theirs, ours = (self.orders.criterion(some, rows, progress) for some in (edges, found.edges))
            if theirs > ours - _AS_GOOD:
                return edges, edges.astype(np.float64), found
        return found.edges, found.direction, found

    def _mechanisms(
        self, edges: Bools, cells: Floats, parts: tuple[dict[int, Basis], Functions], progress: Progress
    ) -> tuple[Bools, dict[int, Mechanism]]:
        """The mechanism of every variable that may be reached, and the graph with what they add to it."""
        edges = edges.copy()
        attributes = range(self.layout.attributes)
        depends = self._depends(cells)
        fitted: dict[int, Mechanism] = {}
        order = topological_order(edges)
        for place, i in enumerate(order):
            progress.check(STAGE)
            causes = {int(j) for j in np.flatnonzero(edges[:, i])}
            reached = [descendants(edges, s) for s in attributes]
            near = [bool(depends[s, i]) or bool(causes & (reached[s] | {s})) for s in attributes]
            if not any(near) or (i in attributes and not causes):
                continue  # nothing suggests that a sensitive attribute reaches it
            acts: list[bool | None] = []
            for s in attributes:
                must = bool(edges[s, i]) or bool(depends[s, i] and not causes & reached[s])
                may = near[s] and bool(self.allowed[s, i]) and self._dependence_means_effect
                acts.append(True if must else None if may else False)
            fitted[i] = fit_mechanism(i, sorted(causes), cells, self.layout, parts, acts)
            edges[[s for s in attributes if s in fitted[i].causes], i] = True
            progress.tick(STAGE, place + 1, len(order))
        return edges, fitted

    def _unreached(
        self,
        edges: Bools,
        known: dict[int, Mechanism],
        cells: Floats,
        parts: tuple[dict[int, Basis], Functions],
        progress: Progress,
    ) -> dict[int, Mechanism]:
        """The mechanisms of variables that no sensitive attribute reaches."""
        found, attributes = {}, self.layout.attributes
        for i in range(attributes, len(edges)):
            if i not in known:
                progress.check(STAGE)
                causes = [int(j) for j in np.flatnonzero(edges[:, i])]
                found[i] = fit_mechanism(i, causes, cells, self.layout, parts, [False] * attributes)
        return found

    @property
    def _dependence_means_effect(self) -> bool:
        """Whether what depends on a sensitive attribute must be an effect of it.

        Not if something causes an attribute; and not if rows were chosen by their label, which ties together whatever
        causes the label.
        """
        return self.sensitive_is_root and not self.trusts_shared

    def differing(self, model: StructuralModel, attribute: int = 0) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Variables that differ between an attribute's groups beyond chance although it does not reach them.

        First those that twins keep, because knowledge says that nothing causes them, or because something causes the
        attribute; then those that contradict the graph.
        """
        if self.trusts_shared:
            return (), ()
        adjusted, attributes = self._adjusted(self.cells, attribute), self.layout.attributes
        reached = model.reached_from([attribute])
        found = [i for i in range(attributes, len(adjusted)) if adjusted[i] < DEPENDS and i not in reached]
        was_given = np.array_equal(self.allowed, self.required)
        roots = [i for i in found if not was_given and not self.allowed[:, i].any()]
        kept = roots if self.sensitive_is_root else found
        names = self.layout.names
        return tuple(names[i] for i in kept), tuple(names[i] for i in found if i not in kept)

    @one_thread()
    def group_probability(self, kept: Sequence[str], x: Floats) -> Floats:
        """How likely people x (n, d) are in each state, given the variables that twins keep, (n, states)."""
        return group_probability(self.layout, kept, self.x, x)

    @one_thread()
    def saturated(self, model: StructuralModel, progress: Progress) -> StructuralModel:
        """The same model, but that every variable listens to those before it in the causal order.

        What the sensitive attribute does not reach comes before all that it does, also where no edge says so. Where
        there are many, it listens to the ones that say most about it alone.
        """
        bases = fit_bases(self.cells, self.layout)
        some = self.cells if len(self.cells) <= _MOST_ROWS else self.cells[:: -(-len(self.cells) // _MOST_ROWS)]
        functions = {j: basis.functions(some[:, j]) for j, basis in bases.items()}
        edges, mechanisms, attributes = model.graph.edges.copy(), {}, range(self.layout.attributes)
        affected = [i for i in model.affected if i not in attributes]
        first = [j for j in model.order if j not in affected]
        for place, i in enumerate(affected):
            progress.check(STAGE)
            earlier = [*first, *affected[:place]]
            own = [int(j) for j in np.flatnonzero(edges[:, i])]
            says = {
                j: abs(float(edge_strengths(some, bases, functions, _single(edges.shape, j, i))[j, i]))
                for j in earlier
                if j not in own
            }
            more = sorted(says, key=lambda j: -says[j])[: max(0, _MOST_CAUSES - len(own))]
            acts = [True if self.sensitive_is_root and s in earlier else bool(edges[s, i]) for s in attributes]
            mechanisms[i] = fit_mechanism(i, sorted({*own, *more}), some, self.layout, (bases, functions), acts)
        others = {i: model.mechanisms[i] for i in model.affected if i in attributes}
        return replace(model, bases=bases, mechanisms=others | mechanisms)

    def _depends(self, cells: Floats) -> Bools:
        """(attributes, v), which variables differ between whose groups beyond chance and may be caused by it."""
        attributes = self.layout.attributes
        if not self._dependence_means_effect:
            return np.zeros((attributes, len(self.allowed)), dtype=np.bool_)
        adjusted = np.stack([self._adjusted(cells, s) for s in range(attributes)])
        found: Bools = (adjusted < DEPENDS) & self.allowed[:attributes]
        found[:, :attributes] = False
        return found

    def _adjusted(self, cells: Floats, attribute: int) -> Floats:
        """P-values (v,) of independence from one sensitive attribute among people alike in the others."""
        others = [cells[:, s] for s in range(self.layout.attributes) if s != attribute]
        strata = np.unique(np.column_stack(others), axis=0, return_inverse=True)[1].reshape(-1) if others else None
        return holm(depends_on(cells, self.layout.kinds, attribute, strata))


def group_probability(layout: Layout, kept: Sequence[str], rows: Floats, x: Floats) -> Floats:
    """How likely people x (n, d) are in each state given some variables, (n, states), as in these rows (m, d)."""
    cells = layout.cells(rows)
    bases = fit_bases(cells, layout)
    chosen = [layout.names.index(name) for name in kept]

    def columns(cells: Floats) -> Floats:
        functions = [(j, bases[j].functions(cells[:, j])) for j in chosen]
        return np.stack([some[k] for j, some in functions for k in bases[j].options[-1]], axis=1)

    states = layout.states
    fit = fit_logit(columns(cells), states.of_codes(rows[:, 0]), states.count)
    return fit.probabilities(columns(layout.cells(x)))


def _single(shape: tuple[int, ...], j: int, i: int) -> Bools:
    """A graph with one edge."""
    edge = np.zeros(shape, dtype=np.bool_)
    edge[j, i] = True
    return edge
