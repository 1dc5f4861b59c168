"""From rows to a model: the graph, what the sensitive attribute reaches, and what knowledge allows."""

from __future__ import annotations

import dataclasses
from dataclasses import replace

import numpy as np
import pytest

from cfad_core.causal import learning
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.order_search import LearnedGraph, OrderSearch
from cfad_core.causal.discovery.shared_scale import SharedScale
from cfad_core.causal.graph import find_cycle
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import AuditCancelled, InvalidConfigError, InvalidDataError
from cfad_core.core.progress import Progress
from tests.causal.worlds import given, groups, learn, mixed_columns, mixed_rows, prepare
from tests.conftest import Recorder

NAMES = ("S", "A", "B", "C")
COLUMNS = Columns(NAMES, "S", comparable_units=False)
QUIET = Progress()


def rows(n: int = 1500, seed: int = 0) -> Floats:
    """S -> A -> B, in units of their own; C is alone."""
    rng = np.random.default_rng(seed)
    s = groups(n, rng)
    a = np.exp(0.8 * s + rng.normal(size=n))
    return np.column_stack([s, a, 20.0 * np.sqrt(a) + 10.0 * rng.normal(size=n), rng.uniform(size=n)])


def finding(*edges: tuple[int, int]) -> LearnedGraph:
    """What a search found."""
    graph = np.zeros((4, 4), dtype=bool)
    for j, i in edges:
        graph[j, i] = True
    present = graph.astype(np.float64)
    return LearnedGraph(edges=graph, order=(0, 1, 2, 3), gains=present, direction=present)


def with_search(monkeypatch: pytest.MonkeyPatch, found: LearnedGraph) -> None:
    monkeypatch.setattr(OrderSearch, "learn", lambda *_: found)


def test_a_small_world_is_found() -> None:
    model = learn(rows(4000), COLUMNS)
    assert set(model.edges()) == {("S", "A"), ("A", "B")}
    assert model.affected_names == ("A", "B")


def test_what_depends_on_the_attribute_is_reached_even_where_no_edge_was_found(monkeypatch: pytest.MonkeyPatch) -> None:
    with_search(monkeypatch, finding())
    learner = prepare(rows(), COLUMNS)
    model, found = learner.learn(None, 0, QUIET)
    assert found is not None
    assert not found.edges.any()
    assert set(model.edges()) == {("S", "A"), ("S", "B")}  # both differ between the groups; C does not
    assert learner.differing(model) == ((), ())
    twins = model.twins(rows(300, seed=1))
    assert (twins[:, 1:3] != rows(300, seed=1)[:, 1:3]).any(axis=0).all()
    assert np.array_equal(twins[:, 3], rows(300, seed=1)[:, 3])


def test_an_effect_that_is_reached_already_needs_no_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    with_search(monkeypatch, finding((0, 1), (1, 2)))
    assert set(prepare(rows(), COLUMNS).learn(None, 0, QUIET)[0].edges()) == {("S", "A"), ("A", "B")}


def test_what_the_graph_leaves_unexplained_makes_the_attribute_a_cause(monkeypatch: pytest.MonkeyPatch) -> None:
    """A and B both depend on S, the search found A -> B alone: S is added where it is missed."""
    x = rows()
    x[:, 2] += 40.0 * x[:, 0]
    with_search(monkeypatch, finding((0, 1), (1, 2)))
    model = prepare(x, COLUMNS).learn(None, 0, QUIET)[0]
    assert ("S", "B") in model.edges()


def test_knowledge_is_stronger_than_dependence(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where it forbids an edge there is none, and the contradiction is reported."""
    with_search(monkeypatch, finding())
    knowledge = Knowledge(forbidden=(("S", "A"), ("S", "B")))
    learner = prepare(rows(), COLUMNS, knowledge)
    model = learner.learn(None, 0, QUIET)[0]
    assert model.affected_names == ()
    assert learner.differing(model) == ((), ("A", "B"))
    only = prepare(rows(), COLUMNS, Knowledge(forbidden=(("S", "A"),)))
    assert only.differing(only.learn(None, 0, QUIET)[0]) == ((), ("A",))


def test_a_root_that_differs_between_the_groups_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Knowledge says that nothing causes A: that is no contradiction, and B still follows from S."""
    with_search(monkeypatch, finding())
    learner = prepare(rows(), COLUMNS, Knowledge(roots=("A",)))
    model = learner.learn(None, 0, QUIET)[0]
    assert model.affected_names == ("B",)
    assert learner.differing(model) == (("A",), ())
    second = learner.group_probability(("A",), rows(500, seed=1))[:, 1]
    group = rows(500, seed=1)[:, 0]
    assert second[group > 0.0].mean() > second[group < 0.0].mean() + 0.1  # A says something about the group
    assert second[group > 0.0].mean() < 0.99  # but not everything


def test_a_given_graph_that_misses_an_effect_is_contradicted() -> None:
    learner = prepare(rows(), COLUMNS, given((("S", "A"),)))
    model = learner.learn(None, 0, QUIET)[0]
    assert set(model.edges()) == {("S", "A")}
    assert learner.differing(model) == ((), ("B",))
    assert prepare(rows(), COLUMNS, given((("S", "A"), ("A", "B")))).differing(model) == ((), ("B",))


def test_an_attribute_that_is_no_root_reaches_what_the_graph_says() -> None:
    """A -> S: that A differs between the groups is no effect of S: twins keep it, and nothing is unexplained."""
    rng = np.random.default_rng(2)
    a = rng.normal(size=1500)
    s = np.where(a + rng.normal(size=1500) > 0.0, 1.0, -1.0)
    x = np.column_stack([s, a, s + rng.normal(size=1500), rng.normal(size=1500)])
    learner = prepare(x, COLUMNS, given((("A", "S"), ("S", "B"))))
    assert not learner.sensitive_is_root
    model = learner.learn(None, 0, QUIET)[0]
    assert set(model.edges()) == {("A", "S"), ("S", "B")}
    assert model.affected_names == ("B",)
    assert learner.differing(model) == (("A",), ())
    assert np.array_equal(model.twins(x)[:, 1], x[:, 1])


@pytest.mark.slow
def test_rows_that_were_chosen_depend_on_the_attribute_without_being_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    """S -> A <- C: among people with a usual A, S and C differ together. That makes S no cause of C."""
    rng = np.random.default_rng(3)
    s, c = groups(4000, rng), 2.0 * rng.normal(size=4000)
    a = 2.0 * s + c + rng.normal(size=4000)
    x = np.column_stack([s, a, rng.normal(size=4000), c])[np.abs(a) < 2.0]
    with_search(monkeypatch, finding((0, 1), (3, 1)))
    learn_shared = SharedScale.learn

    def true_graph(self: SharedScale, chosen: Rows | None, seed: int, progress: Progress) -> AdditiveModel:
        model = learn_shared(self, chosen, seed, progress)
        weights = np.zeros((4, 4))
        weights[0, 1] = weights[3, 1] = 1.0
        return dataclasses.replace(model, weights=weights)

    monkeypatch.setattr(SharedScale, "learn", true_graph)
    for selected in (True, False):
        learner = prepare(x, Columns(NAMES, "S", rows_were_selected=selected))
        model = learner.learn(None, 0, QUIET)[0]
        assert (("S", "C") in model.edges()) is not selected
        assert learner.differing(model) == ((), ())


@pytest.mark.parametrize(
    "knowledge",
    [
        Knowledge(tiers=(("S",), ("C", "B"), ("A",))),
        Knowledge(required=(("C", "A"),), forbidden=(("A", "B"), ("S", "B"))),
        Knowledge(roots=("B", "C")),
    ],
)
def test_knowledge_holds(knowledge: Knowledge) -> None:
    model = learn(rows(), COLUMNS, knowledge)
    edges = set(model.edges())
    assert set(knowledge.required) <= edges
    assert not set(knowledge.forbidden) & edges
    assert not any(effect in ("S", *knowledge.roots) for _, effect in edges)
    tier = {name: k for k, names in enumerate(knowledge.tiers) for name in names}
    assert all(tier.get(cause, 0) <= tier.get(effect, 9) for cause, effect in edges)
    assert find_cycle(model.graph.edges) == []


def test_knowledge_that_leaves_no_edge_moves_nobody() -> None:
    x = rows(300)
    model = learn(x, COLUMNS, Knowledge(roots=("A", "B", "C")))
    assert model.edges() == {}
    assert np.array_equal(model.twins(x)[:, 1:], x[:, 1:])


def test_the_same_seed_gives_the_same_model() -> None:
    x = mixed_rows(600)
    first, again = (learn(x, mixed_columns(), seed=3) for _ in range(2))
    assert np.array_equal(first.graph.edges, again.graph.edges)
    assert np.array_equal(first.graph.strengths, again.graph.strengths)
    assert np.array_equal(first.twins(x), again.twins(x))


def test_very_many_rows_are_sampled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Mechanisms of a sample make nearly the twins that those of all rows do, the same for the same seed."""
    x = rows(6000)
    whole = learn(x, COLUMNS)
    monkeypatch.setattr(learning, "_MOST_FITTED", 2000)
    sampled, again = learn(x, COLUMNS), learn(x, COLUMNS)
    assert set(sampled.edges()) == set(whole.edges())
    assert np.array_equal(sampled.twins(x), again.twins(x))
    assert not np.array_equal(sampled.twins(x), whole.twins(x))
    apart = np.abs(sampled.twins(x) - whole.twins(x))[:, 1:3] / x[:, 1:3].std(axis=0)
    assert np.median(apart) < 0.05


def test_units_do_not_matter() -> None:
    """Each column in another unit: the same graph, the same twins in it. Zero matters where effects multiply (A)."""
    x = rows()
    factor, shift = np.array([1.0, 1e-4, 300.0, 7.0]), np.array([0.0, 0.0, -80.0, 1.0])
    here, there = learn(x, COLUMNS), learn(x * factor + shift, COLUMNS)
    assert set(here.edges()) == set(there.edges())
    spread = x.std(axis=0)
    np.testing.assert_allclose(
        (there.twins(x * factor + shift) - shift) / factor / spread, here.twins(x) / spread, atol=1e-3
    )


def test_columns_on_one_scale_are_directed_by_it() -> None:
    """Gaussian and linear: likelihood leaves all directions open, equal noise does not."""
    rng = np.random.default_rng(4)
    s = groups(3000, rng)
    a = rng.normal(size=3000)
    b = 0.9 * a + rng.normal(size=3000)
    x = np.column_stack([s, a, b, 0.8 * b + 0.7 * s + rng.normal(size=3000)])
    model = learn(x, Columns(NAMES, "S", comparable_units=True))
    assert set(model.edges()) == {("A", "B"), ("B", "C"), ("S", "C")}


def test_rows_of_a_half_are_all_that_is_learned_from() -> None:
    x = rows(1000)
    learner = prepare(x, COLUMNS, given((("S", "A"), ("A", "B"))))
    half = np.arange(0, 1000, 2)
    by_rows = learner.learn(half, 5, QUIET)[0]
    alone = learn(x[half], COLUMNS, given((("S", "A"), ("A", "B"))), seed=5)
    assert np.array_equal(by_rows.twins(x), alone.twins(x))
    assert not np.array_equal(by_rows.twins(x), learner.learn(None, 5, QUIET)[0].twins(x))


def test_a_saturated_model_listens_to_all_that_is_earlier() -> None:
    x = mixed_rows(1000)
    learner = prepare(x, mixed_columns(), given((("S", "pay"), ("pay", "score"))))
    model = learner.learn(None, 0, QUIET)[0]
    full = learner.saturated(model, QUIET)
    assert np.array_equal(full.graph.edges, model.graph.edges)
    assert set(full.mechanisms) == set(model.affected)
    assert set(model.mechanisms) == set(range(1, len(model.variables)))  # twins need less than surprise does
    score = model.variables.index("score")
    assert full.mechanisms[score].causes >= model.mechanisms[score].causes - {0}
    assert set(full.log_likelihoods(x)) == set(model.log_likelihoods(x))


@pytest.mark.parametrize("stage", ["discovery", "mechanisms"])
def test_learning_can_be_cancelled(stage: str) -> None:
    recorder = Recorder(stop_in=stage)
    learner = prepare(mixed_rows(500), mixed_columns())
    with pytest.raises(AuditCancelled, match=f"cancelled during '{stage}'"):
        learner.learn(None, 0, recorder)
    assert recorder.heard[-1][0] == stage


def test_progress_never_goes_back() -> None:
    recorder = Recorder()
    learner = prepare(mixed_rows(500), mixed_columns())
    learner.learn(None, 0, recorder)
    assert recorder.stages() == ["discovery", "mechanisms"]
    for name in recorder.stages():
        steps = [step for stage, step, total, _ in recorder.heard if stage == name and 0 <= step <= total]
        assert steps == sorted(steps)
        assert len(steps) == sum(stage == name for stage, *_ in recorder.heard)


def test_unusable_rows_and_knowledge_are_refused() -> None:
    x = rows(300)
    with pytest.raises(InvalidDataError, match="at least 50 rows; got 20"):
        prepare(x[:20], COLUMNS)
    with pytest.raises(InvalidDataError, match="finite numbers"):
        prepare(np.where(x == x[0, 1], np.nan, x), COLUMNS)
    with pytest.raises(InvalidDataError, match="'S' must hold -1 and \\+1"):
        prepare(np.column_stack([np.ones(300), x[:, 1:]]), COLUMNS)
    with pytest.raises(InvalidDataError, match=r"Expected rows of 4 variables; got an array of shape \(300, 3\)"):
        prepare(x[:, :3], COLUMNS)
    with pytest.raises(InvalidConfigError, match="A -> S is required, but forbidden"):
        prepare(x, COLUMNS, Knowledge(required=(("A", "S"),)))


def test_the_rows_are_left_as_they_were() -> None:
    x = mixed_rows(400)
    before = x.copy()
    model: StructuralModel = learn(x, mixed_columns())
    model.twins(x)
    assert np.array_equal(x, before)
    assert replace(model, seed=1).seed == 1
