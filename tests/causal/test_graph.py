from __future__ import annotations

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cfad_core.causal.discovery.joint import acyclicity
from cfad_core.causal.graph import (
    allowed_edges,
    break_cycles,
    descendants,
    find_cycle,
    prune,
    structural_hamming_distance,
    topological_order,
)
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import InvalidConfigError

NAMES = ["S", "A", "B", "C"]
MATRICES = st.integers(2, 7).flatmap(
    lambda d: hnp.arrays(np.float64, (d, d), elements=st.floats(-3.0, 3.0, allow_subnormal=False))
)


def test_the_sensitive_column_is_a_root_unless_knowledge_says_otherwise() -> None:
    allowed = allowed_edges(NAMES, "S", Knowledge())
    assert not allowed[:, 0].any()
    assert allowed.sum() == 4 * 3 - 3
    assert allowed_edges(NAMES, "S", Knowledge(sensitive_is_root=False))[1, 0]


def test_knowledge_closes_edges() -> None:
    knowledge = Knowledge(roots=("A",), tiers=(("S", "A"), ("B",), ("C",)), forbidden=(("S", "C"),))
    allowed = allowed_edges(NAMES, "S", knowledge)
    open_edges = {(NAMES[j], NAMES[i]) for j, i in np.argwhere(allowed)}
    assert open_edges == {("S", "B"), ("A", "B"), ("A", "C"), ("B", "C")}


def test_only_the_sensitive_column_may_point_into_these() -> None:
    allowed = allowed_edges(NAMES, "S", Knowledge(from_sensitive=("A", "C")))
    assert {(NAMES[j], NAMES[i]) for j, i in np.argwhere(allowed)} == {
        ("S", "A"),
        ("S", "B"),
        ("S", "C"),
        ("A", "B"),
        ("C", "B"),
    }
    must = Knowledge(from_sensitive=("A",), required=(("S", "A"),), complete=True)
    assert np.argwhere(allowed_edges(NAMES, "S", must)).tolist() == [[0, 1]]
    late = Knowledge(from_sensitive=("A",), tiers=(("A",), ("S",)), sensitive_is_root=False)
    assert not allowed_edges(NAMES, "S", late)[:, 1].any()  # what came first is not caused by what came later


@pytest.mark.parametrize(
    ("knowledge", "message"),
    [
        (Knowledge(from_sensitive=("Z",)), "not in the graph: Z. The graph has: S, A, B, C"),
        (
            Knowledge(roots=("B", "A"), from_sensitive=("A", "C")),
            "nothing in the table causes a column, or nothing but S does; both are said of: A. Remove one",
        ),
        (
            Knowledge(from_sensitive=("A",), required=(("B", "A"),)),
            "B -> A is required, but nothing except S may cause A; remove one",
        ),
        (Knowledge(from_sensitive=("S",)), "S is the sensitive column and cannot cause itself"),
        (Knowledge(roots=("Z",)), "not in the graph: Z. The graph has: S, A, B, C"),
        (Knowledge(tiers=(("A",), ("A", "B"))), "one tier only; in several: A"),
        (Knowledge(required=(("A", "S"),)), "A -> S is required, but forbidden"),
        (Knowledge(required=(("A", "B"), ("B", "C"), ("C", "A"))), "form a cycle .*remove one"),
    ],
)
def test_contradictory_knowledge_is_refused(knowledge: Knowledge, message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        allowed_edges(NAMES, "S", knowledge)


def test_pruning_is_relative_and_keeps_what_must_stay() -> None:
    weights = np.array([[0.0, 1.0], [-0.1, 0.0]])
    assert (prune(weights, 0.2) != 0).sum() == 1
    assert (prune(weights, 0.2, keep=np.array([[False, False], [True, False]])) != 0).sum() == 2


@settings(max_examples=150, deadline=None)
@given(MATRICES)
def test_breaking_cycles_always_gives_a_dag_and_only_removes(weights: np.ndarray) -> None:
    np.fill_diagonal(weights, 0.0)
    result = break_cycles(weights)
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array((result != 0).astype(int), create_using=nx.DiGraph))
    kept = result != 0
    assert np.array_equal(result[kept], weights[kept])
    assert acyclicity(result)[0] == pytest.approx(0.0, abs=1e-9)


def test_breaking_cycles_drops_the_weakest_and_never_a_required_edge() -> None:
    weights = np.array([[0.0, 0.1, 0.0], [0.0, 0.0, 2.0], [1.0, 0.0, 0.0]])
    assert break_cycles(weights)[0, 1] == 0.0
    keep = np.zeros((3, 3), dtype=bool)
    keep[0, 1] = True
    spared = break_cycles(weights, keep)
    assert spared[0, 1] == 0.1
    assert spared[2, 0] == 0.0


def test_acyclicity_by_hand_and_by_finite_differences() -> None:
    assert acyclicity(np.array([[0.0, 5.0], [0.0, 0.0]]))[0] == pytest.approx(0.0)
    two_cycle = np.array([[0.0, 1.0], [1.0, 0.0]])
    assert acyclicity(two_cycle)[0] == pytest.approx(2 * np.cosh(1.0) - 2)
    weights = np.random.default_rng(0).normal(size=(4, 4)) * 0.5
    _, gradient = acyclicity(weights)
    for j, i in np.ndindex(4, 4):
        step = np.zeros((4, 4))
        step[j, i] = 1e-6
        slope = (acyclicity(weights + step)[0] - acyclicity(weights - step)[0]) / 2e-6
        assert gradient[j, i] == pytest.approx(slope, abs=1e-5)


def test_acyclicity_of_enormous_weights_is_finite_and_points_back() -> None:
    h, gradient = acyclicity(np.array([[0.0, 1e3], [-1e3, 0.0]]))
    assert np.isfinite(h)
    assert h > 1e20
    assert np.array_equal(np.sign(gradient), [[0.0, 1.0], [-1.0, 0.0]])


def test_structural_hamming_distance_counts_a_reversal_once() -> None:
    first = np.array([[0, 1, 0], [0, 0, 1], [0, 0, 0]], dtype=bool)
    second = np.array([[0, 0, 0], [1, 0, 1], [0, 0, 0]], dtype=bool)
    assert structural_hamming_distance(first, first) == 0
    assert structural_hamming_distance(first, second) == 1
    assert structural_hamming_distance(first, np.zeros((3, 3), dtype=bool)) == 2


def test_orders_and_descendants() -> None:
    edges = np.array([[0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 0], [0, 0, 1, 0]], dtype=bool)
    order = topological_order(edges)
    assert order.index(0) < order.index(1) < order.index(2)
    assert descendants(edges, 0) == {1, 2}
    assert find_cycle(edges) == []
