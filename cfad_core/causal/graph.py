"""Directed graphs over columns: what knowledge allows, what is strong enough, and no cycles.

Matrices read ``weights[j, i] != 0``: j causes i.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import networkx as nx
import numpy as np

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import InvalidConfigError


@dataclass(frozen=True)
class EdgeRules:
    """Which edges there may be, and which there must be.

    Attributes
    ----------
    allowed : (d, d), edges between columns that knowledge leaves open
    required : (v, v), edges between variables that must be
    belongs : (d, v), which column belongs to which variable
    """

    allowed: Bools
    required: Bools
    belongs: Floats

    @staticmethod
    def of(variables: Sequence[str], sensitive: str | Sequence[str], knowledge: Knowledge) -> EdgeRules:
        """The rules that knowledge sets for columns, given the variable of each.

        Raises
        ------
        InvalidConfigError
            If the knowledge names unknown variables or contradicts itself.
        """
        distinct, belongs = membership(variables)
        return EdgeRules(
            allowed=spread(allowed_edges(distinct, sensitive, knowledge), belongs),
            required=required_edges(distinct, knowledge),
            belongs=belongs,
        )


def allowed_edges(names: Sequence[str], sensitive: str | Sequence[str], knowledge: Knowledge) -> Bools:
    """Edges that domain knowledge leaves open, shape (d, d): of complete knowledge the required ones alone.

    One sensitive attribute is never found to cause another: such an edge is there only if knowledge requires it.

    Raises
    ------
    InvalidConfigError
        If the knowledge names unknown columns or contradicts itself.
    """
    position = {name: k for k, name in enumerate(names)}
    attributes = [sensitive] if isinstance(sensitive, str) else list(sensitive)
    _check_names(names, knowledge)
    _check_causes(attributes, knowledge)
    own = np.isin(np.arange(len(names)), [position[name] for name in attributes])
    allowed = ~np.eye(len(names), dtype=np.bool_)
    for effect in knowledge.from_sensitive:
        allowed[:, position[effect]] = own
    for root in {*knowledge.roots, *(attributes if knowledge.sensitive_is_root else [])}:
        allowed[:, position[root]] = False
    allowed[np.ix_(own, own)] = False
    for cause, effect in knowledge.required:  # what is known of two attributes
        if {cause, effect} <= set(attributes) and cause != effect and effect not in knowledge.roots:
            allowed[position[cause], position[effect]] = True
    for later in range(1, len(knowledge.tiers)):
        for earlier in range(later):
            for cause in knowledge.tiers[later]:
                for effect in knowledge.tiers[earlier]:
                    allowed[position[cause], position[effect]] = False
    for cause, effect in knowledge.forbidden:
        allowed[position[cause], position[effect]] = False
    required = required_edges(names, knowledge)
    for cause, effect in knowledge.required:
        if not allowed[position[cause], position[effect]]:
            raise InvalidConfigError(
                f"The edge {cause} -> {effect} is required, but forbidden by a root, a tier or the list of "
                "forbidden edges; remove one of the two."
            )
    cycle = find_cycle(required)
    if cycle:
        path = " -> ".join(names[j] for j, _ in [*cycle, cycle[0]])
        raise InvalidConfigError(f"The required edges form a cycle ({path}); remove one of them.")
    return required if knowledge.complete else allowed


def required_edges(names: Sequence[str], knowledge: Knowledge) -> Bools:
    """Edges that must be in the graph, shape (d, d)."""
    position = {name: k for k, name in enumerate(names)}
    required = np.zeros((len(names), len(names)), dtype=np.bool_)
    for cause, effect in knowledge.required:
        required[position[cause], position[effect]] = True
    return required


def _check_names(names: Sequence[str], knowledge: Knowledge) -> None:
    mentioned: list[str] = [*knowledge.roots, *knowledge.from_sensitive]
    for group in (*knowledge.tiers, *knowledge.forbidden, *knowledge.required):
        mentioned.extend(group)
    unknown = sorted(set(mentioned) - set(names))
    if unknown:
        raise InvalidConfigError(
            f"Domain knowledge names columns that are not in the graph: {', '.join(unknown[:20])}. "
            f"The graph has: {', '.join(names)}."
        )
    in_tiers = Counter(name for tier in knowledge.tiers for name in tier)
    twice = sorted(name for name, count in in_tiers.items() if count > 1)
    if twice:
        raise InvalidConfigError(f"A column belongs to one tier only; in several: {', '.join(twice)}.")


def _check_causes(attributes: Sequence[str], knowledge: Knowledge) -> None:
    """Refuse contradictions about what only the sensitive columns may cause."""
    sensitive = " and ".join(attributes)
    for name in attributes:
        if name in knowledge.from_sensitive:
            column = "the sensitive column" if len(attributes) == 1 else "a sensitive column"
            raise InvalidConfigError(
                f"{name} is {column} and cannot cause itself; remove it from the columns that nothing but "
                f"{sensitive} causes."
            )
    both = [name for name in knowledge.from_sensitive if name in knowledge.roots]
    if both:
        raise InvalidConfigError(
            f"Either nothing in the table causes a column, or nothing but {sensitive} does; both are said of: "
            f"{', '.join(both)}. Remove one of the two."
        )
    for cause, effect in knowledge.required:
        if effect in knowledge.from_sensitive and cause not in attributes:
            raise InvalidConfigError(
                f"The edge {cause} -> {effect} is required, but nothing except {sensitive} may cause {effect}; remove "
                "one of the two."
            )


def membership(variables: Sequence[str]) -> tuple[list[str], Floats]:
    """The distinct variables, and which column belongs to which: shape (columns, variables), 0 or 1.

    A variable may have several columns, as a category has one for each level.
    """
    distinct = list(dict.fromkeys(variables))
    belongs = np.zeros((len(variables), len(distinct)))
    belongs[np.arange(len(variables)), [distinct.index(name) for name in variables]] = 1.0
    return distinct, belongs


def strength_between(weights: Floats, belongs: Floats) -> Floats:
    """Euclidean norm of the weights from each variable to each other, shape (variables, variables)."""
    strength: Floats = np.sqrt(belongs.T @ (weights * weights) @ belongs)
    return strength


def spread(edges: Bools, belongs: Floats) -> Bools:
    """Edges between variables as edges between their columns."""
    columns: Bools = (belongs @ edges.astype(np.float64) @ belongs.T) > 0.0
    return columns


def prune(weights: Floats, share: float, keep: Bools | None = None) -> Floats:
    """Drop edges weaker than ``share`` of the strongest, except those to ``keep``."""
    strength = np.abs(weights)
    strong = strength >= share * strength.max(initial=0.0)
    if keep is not None:
        strong = strong | keep
    return np.where(strong, weights, 0.0)


def break_cycles(weights: Floats, keep: Bools | None = None) -> Floats:
    """Drop the weakest edge of each cycle until none is left; edges to ``keep`` are never dropped.

    Every turn removes an edge, so this ends, and what it returns is acyclic.
    """
    weights = weights.copy()
    kept = np.zeros(weights.shape, dtype=np.bool_) if keep is None else keep
    while cycle := find_cycle(weights != 0.0):
        weakest = min((edge for edge in cycle if not kept[edge]), key=lambda edge: abs(weights[edge]))
        weights[weakest] = 0.0
    return weights


def find_cycle(edges: Bools) -> list[tuple[int, int]]:
    """The edges of one cycle, or none."""
    try:
        return [(int(j), int(i)) for j, i in nx.find_cycle(_digraph(edges))]
    except nx.NetworkXNoCycle:
        return []


def topological_order(edges: Bools) -> list[int]:
    """Causes before effects; ties by position, so the order is stable."""
    return [int(i) for i in nx.lexicographical_topological_sort(_digraph(edges))]


def descendants(edges: Bools, node: int) -> frozenset[int]:
    """Every variable that ``node`` reaches."""
    return frozenset(int(i) for i in nx.descendants(_digraph(edges), node))


def structural_hamming_distance(first: Bools, second: Bools) -> int:
    """Pairs of variables that the two graphs join differently; a reversed edge counts once."""
    differs = (first != second) | (first != second).T
    return int(np.count_nonzero(np.triu(differs, k=1)))


def _digraph(edges: Bools) -> nx.DiGraph[int]:
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(edges)))
    pairs: Iterable[tuple[int, int]] = ((int(j), int(i)) for j, i in np.argwhere(edges))
    graph.add_edges_from(pairs)
    return graph
