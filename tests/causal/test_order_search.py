from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.causal.discovery.order_search import LearnedGraph, OrderSearch, VariableKind
from cfad_core.causal.graph import find_cycle
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from tests.conftest import Recorder


def free(v: int) -> np.ndarray:
    """All edges but those into the first variable."""
    allowed = ~np.eye(v, dtype=bool)
    allowed[:, 0] = False
    return allowed


def prepare(
    cells: np.ndarray,
    kinds: Sequence[VariableKind] | None = None,
    allowed: np.ndarray | None = None,
    required: np.ndarray | None = None,
) -> OrderSearch:
    v = cells.shape[1]
    kinds = kinds or ["category", *["number"] * (v - 1)]  # type: ignore[list-item]
    required = np.zeros((v, v), dtype=bool) if required is None else required
    return OrderSearch.prepare(cells, kinds, free(v) if allowed is None else allowed, required, Progress())


def learn(
    cells: np.ndarray,
    kinds: Sequence[VariableKind] | None = None,
    allowed: np.ndarray | None = None,
    required: np.ndarray | None = None,
    seed: int = 0,
) -> LearnedGraph:
    return prepare(cells, kinds, allowed, required).learn(None, seed, Progress())


def edges_of(graph: LearnedGraph) -> set[tuple[int, int]]:
    return {(int(j), int(i)) for j, i in np.argwhere(graph.edges)}


def draw(n: int = 1_500, seed: int = 0) -> np.ndarray:
    """S -> a -> b, S -> c, and d on its own; effects bend."""
    rng = np.random.default_rng(seed)
    s = rng.integers(2, size=n).astype(float)
    a = 1.5 * s + rng.standard_normal(n)
    b = np.sin(1.5 * a) * 2.0 + rng.standard_normal(n)
    c = -s + rng.laplace(size=n)
    return np.column_stack([s, a, b, c, rng.standard_normal(n)])


TRUE = {(0, 1), (1, 2), (0, 3)}


def promises(graph: LearnedGraph, allowed: np.ndarray, required: np.ndarray) -> None:
    """What every graph must be."""
    v = len(allowed)
    assert not (graph.edges & ~allowed).any()
    assert not (required & ~graph.edges).any()
    assert not find_cycle(graph.edges)
    assert sorted(graph.order) == list(range(v))
    place = {i: k for k, i in enumerate(graph.order)}
    assert all(place[int(j)] < place[int(i)] for j, i in np.argwhere(graph.edges))
    assert np.isfinite(graph.gains).all()
    assert (graph.gains >= 0.0).all()
    assert not graph.gains[~graph.edges].any()
    joined = graph.edges | graph.edges.T
    np.testing.assert_allclose((graph.direction + graph.direction.T)[joined], 1.0)
    assert not graph.direction[~joined].any()
    assert not (graph.direction[~allowed] > 0.0).any()
    assert (graph.direction[required] == 1.0).all()


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.data())
def test_the_rules_hold(data: st.DataObject) -> None:
    v = data.draw(st.integers(2, 6))
    bits = st.lists(st.booleans(), min_size=v * v, max_size=v * v)
    allowed = np.array(data.draw(bits)).reshape(v, v) & ~np.eye(v, dtype=bool)
    order = np.array(data.draw(st.permutations(range(v))))
    later = np.zeros((v, v), dtype=bool)
    later[np.ix_(order, order)] = np.triu(np.ones((v, v), dtype=bool), k=1)
    required = np.array(data.draw(bits)).reshape(v, v) & allowed & later
    rng = np.random.default_rng(data.draw(st.integers(0, 100)))
    cells = rng.standard_normal((120, v)) @ rng.standard_normal((v, v))
    cells[:, 0] = cells[:, 0] > 0.0
    promises(learn(cells, allowed=allowed, required=required), allowed, required)
    promises(learn(cells, allowed=required, required=required), required, required)


@pytest.mark.parametrize("seed", range(3))
def test_a_known_graph_is_found(seed: int) -> None:
    graph = learn(draw(seed=seed))
    assert edges_of(graph) == TRUE
    assert graph.order[0] == 0
    assert graph.direction[1, 2] > 0.95  # the sine says which way
    promises(graph, free(5), np.zeros((5, 5), dtype=bool))


def test_a_collider_shows_its_directions_even_if_all_is_linear() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(2, size=2_000).astype(float)
    a, b = rng.standard_normal((2, 2_000))
    cells = np.column_stack([s, a, b, a + b + s + rng.standard_normal(2_000)])
    graph = learn(cells)
    assert edges_of(graph) == {(0, 3), (1, 3), (2, 3)}
    assert graph.direction[1, 3] == 1.0


def test_linear_gaussian_directions_are_open() -> None:
    rng = np.random.default_rng(1)
    a = rng.standard_normal(3_000)
    cells = np.column_stack([rng.integers(2, size=3_000), a, 0.8 * a + rng.standard_normal(3_000)])
    graph = learn(cells)
    assert graph.edges[1, 2] or graph.edges[2, 1]
    assert 0.05 < graph.direction[1, 2] < 0.95


def test_kinds_can_be_mixed() -> None:
    rng = np.random.default_rng(0)
    n = 3_000
    s = rng.integers(2, size=n).astype(float)
    income = np.exp(0.8 * s + rng.standard_normal(n))
    owns = (rng.logistic(size=n) < 1.5 * np.log(income)).astype(float)
    job = np.argmax(rng.gumbel(size=(n, 4)) + np.outer(owns, [0.0, 1.5, -1.0, 0.5]), axis=1).astype(float)
    spent = np.exp(np.array([0.0, 0.6, 1.4, -0.7])[job.astype(int)] + 0.5 * rng.standard_normal(n))
    graph = learn(
        np.column_stack([s, income, owns, job, spent]), ["category", "number", "category", "category", "number"]
    )
    joined = graph.edges | graph.edges.T
    assert {(int(j), int(i)) for j, i in np.argwhere(np.triu(joined))} == {(0, 1), (1, 2), (2, 3), (3, 4)}
    assert graph.edges[0, 1]
    assert graph.edges[3, 4]


@pytest.mark.parametrize(
    "change",
    [
        lambda x: x * [1, 1e6, 1e-6, 1, 1],
        lambda x: np.column_stack([x[:, :2], -5e3 - 70.0 * x[:, 2], x[:, 3:]]),
        lambda x: np.column_stack([x[:, :2], np.exp(x[:, 2]), x[:, 3:]]),
        lambda x: np.column_stack([x[:, :3], np.exp(x[:, 3] / 2.0) * 1e5, x[:, 4:]]),
    ],
)
def test_units_do_not_matter(change: Callable[[np.ndarray], np.ndarray]) -> None:
    plain, other = learn(draw()), learn(change(draw()))
    assert edges_of(plain) == edges_of(other) == TRUE
    np.testing.assert_allclose(plain.gains, other.gains, atol=0.02)


def test_the_same_seed_gives_the_same_graph_to_the_bit() -> None:
    first, second = (learn(draw(400), seed=3) for _ in range(2))
    for name in ("edges", "gains", "direction"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name))
    assert first.order == second.order


def test_the_order_of_the_rows_does_not_matter() -> None:
    cells = draw()
    shuffled = cells[np.random.default_rng(5).permutation(len(cells))]
    first, second = learn(cells), learn(shuffled)
    np.testing.assert_array_equal(first.edges, second.edges)
    np.testing.assert_allclose(first.gains, second.gains, atol=1e-6)


def test_inputs_are_left_alone() -> None:
    cells, allowed, required = draw(300), free(5), np.zeros((5, 5), dtype=bool)
    before = cells.copy(), allowed.copy()
    learn(cells, allowed=allowed, required=required)
    np.testing.assert_array_equal(cells, before[0])
    np.testing.assert_array_equal(allowed, before[1])


# Columns that people bring


def awkward(name: str, x: np.ndarray, rng: np.random.Generator) -> tuple[np.ndarray, VariableKind]:
    n, a = len(x), x[:, 1]
    columns: dict[str, tuple[np.ndarray, VariableKind]] = {
        "missing": (np.where(rng.random(n) < 0.2, np.nan, a + rng.standard_normal(n)), "number"),
        "all missing": (np.full(n, np.nan), "number"),
        "one known": (np.where(np.arange(n) == 3, 1.0, np.nan), "number"),
        "missing or two values": (np.where(rng.random(n) < 0.2, np.nan, (a > 0).astype(float)), "number"),
        "atom": (np.maximum(a - 1.0, 0.0), "number"),
        "atom and missing": (np.where(rng.random(n) < 0.1, np.nan, np.maximum(a - 1.0, 0.0)), "number"),
        "duplicate": (a.copy(), "number"),
        "sum": (a + x[:, 2], "number"),
        "duplicate of s": (1.0 - x[:, 0], "category"),
        "constant": (np.full(n, 4.2), "number"),
        "constant category": (np.zeros(n), "category"),
        "one row differs": (np.where(np.arange(n) == 7, 1e9, 0.0), "number"),
        "three values": (np.round(np.clip(a, -1, 1)), "number"),
        "heavy": (a + rng.standard_cauchy(n) ** 3, "number"),
        "huge": (a * 1e200, "number"),
        "tiny": (a * 1e-200, "number"),
        "ids": (np.arange(n, dtype=float), "number"),
        "ids as levels": (np.arange(n, dtype=float), "category"),
        "30 levels": (np.digitize(a, np.quantile(a, np.linspace(0, 1, 31)[1:-1])).astype(float), "category"),
        "level of one group": (x[:, 0] * rng.integers(3, size=n), "category"),
    }
    return columns[name]


AWKWARD = (
    *("missing", "all missing", "one known", "missing or two values", "atom", "atom and missing", "duplicate", "sum"),
    *("duplicate of s", "constant", "constant category", "one row differs", "three values", "heavy", "huge", "tiny"),
    *("ids", "ids as levels", "30 levels", "level of one group"),
)


@pytest.mark.slow
@pytest.mark.parametrize("name", AWKWARD)
def test_awkward_columns_do_no_harm(name: str) -> None:
    x = draw(400)
    column, kind = awkward(name, x, np.random.default_rng(0))
    search = prepare(np.column_stack([x, column]), ["category", *["number"] * 4, kind])  # type: ignore[list-item]
    graph = search.learn(None, 0, Progress())
    half = np.random.default_rng(1).permutation(400)[:200]
    for found in (graph, search.learn(np.sort(half), 1, Progress(), graph)):
        promises(found, free(6), np.zeros((6, 6), dtype=bool))
    if "constant" in name or name == "all missing":
        assert not graph.edges[5].any()
        assert not graph.edges[:, 5].any()
    if name in ("missing", "atom", "three values", "30 levels"):
        assert graph.edges[1, 5] or graph.edges[5, 1]


def test_constant_columns_may_have_required_edges() -> None:
    cells = np.column_stack([draw(200), np.zeros(200)])
    required = np.zeros((6, 6), dtype=bool)
    required[5, 1] = required[2, 5] = True
    promises(learn(cells, required=required), free(6), required)


def test_a_group_that_hides_its_cells_more_often_is_their_cause() -> None:
    rng = np.random.default_rng(0)
    s = rng.integers(2, size=2_000).astype(float)
    x = np.where(rng.random(2_000) < 0.05 + 0.15 * s, np.nan, rng.standard_normal(2_000))
    assert edges_of(learn(np.column_stack([s, x]))) == {(0, 1)}


def test_whether_it_is_zero_and_how_large_it_is_can_have_causes_of_their_own() -> None:
    rng = np.random.default_rng(0)
    n = 3_000
    s, a = rng.integers(2, size=n).astype(float), rng.standard_normal(n)
    gain = np.where(rng.logistic(size=n) < 1.5 * s - 1.0, np.exp(a + rng.standard_normal(n)), 0.0)
    assert edges_of(learn(np.column_stack([s, a, gain]))) == {(0, 2), (1, 2)}


def test_the_sensitive_attribute_need_not_be_a_root() -> None:
    rng = np.random.default_rng(0)
    a = rng.standard_normal(2_000)
    s = (rng.logistic(size=2_000) < 2.0 * a).astype(float)
    allowed = ~np.eye(2, dtype=bool)
    allowed[0, 1] = False
    assert edges_of(learn(np.column_stack([s, a]), allowed=allowed)) == {(1, 0)}


# Halves


def test_graphs_of_halves_are_like_the_whole() -> None:
    cells = draw(3_000)
    search = prepare(cells)
    whole = search.learn(None, 0, Progress())
    for seed in range(4):
        half = np.sort(np.random.default_rng(seed).permutation(3_000)[:1_500])
        warm, cold = search.learn(half, seed, Progress(), whole), search.learn(half, seed, Progress())
        assert edges_of(warm) >= TRUE
        assert edges_of(cold) >= TRUE
        assert (warm.edges ^ cold.edges).sum() <= 1
        assert warm.edges.sum() <= len(TRUE) + 1
        assert warm.gains[0, 1] == pytest.approx(whole.gains[0, 1], rel=0.4)


def test_only_the_rows_that_are_asked_for_count() -> None:
    cells = draw(1_000)
    other = cells.copy()
    other[500:, 2] = other[500:, 2][::-1]  # the same values, the effect gone
    kept = np.arange(500)
    search, changed = prepare(cells), prepare(other)
    assert search.learn(kept, 0, Progress()).edges[1, 2]
    first, second = (one.learn(kept, 0, Progress()) for one in (search, changed))
    np.testing.assert_array_equal(first.edges, second.edges)


# Progress


def test_progress_is_told_and_ends_complete() -> None:
    recorder = Recorder()
    prepare(draw(300)).learn(None, 0, recorder)
    steps = [(step, total) for _, step, total, _ in recorder.heard]
    assert recorder.stages() == ["discovery"]
    assert steps == sorted(steps)
    assert steps[-1][0] == steps[-1][1]


class StopLater(Progress):
    """Asks to stop some checks after the start."""

    def __init__(self, checks: int) -> None:
        self.left = checks

    def stop_requested(self) -> bool:
        self.left -= 1
        return self.left < 0


@pytest.mark.parametrize("checks", [0, 5, 40])
def test_it_can_be_cancelled_anywhere(checks: int) -> None:
    with pytest.raises(AuditCancelled, match="during 'discovery'"):
        prepare(draw(500)).learn(None, 0, StopLater(checks))


def test_preparing_can_be_cancelled() -> None:
    kinds: list[VariableKind] = ["category", "number", "number", "number", "number"]
    with pytest.raises(AuditCancelled):
        OrderSearch.prepare(draw(100), kinds, free(5), np.zeros((5, 5), dtype=bool), StopLater(1))
