"""Models of halves."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.learning import Learner
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.subsampling import learn_from_halves
from cfad_core.core.arrays import Floats
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from tests.causal.test_discovery import NAMES, TRUE, draw_world
from tests.causal.worlds import given, groups, mixed_columns, mixed_rows, prepare
from tests.conftest import Recorder

QUIET = Progress()
Splits = list[tuple[np.ndarray, np.ndarray]]


def learner_of(x: Floats, knowledge: Knowledge | None = None) -> Learner:
    return prepare(x, Columns(tuple(NAMES[: x.shape[1]]), "S", comparable_units=False), knowledge)


def halve(n: int, pairs: int, seed: int = 0) -> Splits:
    rng = np.random.default_rng(seed)
    orders = [rng.permutation(n) for _ in range(pairs)]
    return [(np.sort(order[: n // 2]), np.sort(order[n // 2 :])) for order in orders]


def models_of(x: Floats, splits: Splits, seed: int = 0, knowledge: Knowledge | None = None) -> list[StructuralModel]:
    learner = learner_of(x, knowledge)
    return learn_from_halves(learner, learner.learn(None, seed, QUIET)[1], splits, seed, QUIET)


@pytest.mark.slow
def test_a_warm_start_finds_what_a_cold_one_finds() -> None:
    x = draw_world(6000)
    splits = halve(len(x), 1)
    learner = learner_of(x)
    warm = learn_from_halves(learner, learner.learn(None, 0, QUIET)[1], splits, 3, QUIET)
    cold = learn_from_halves(learner, None, splits, 3, QUIET)
    assert len(warm) == len(cold) == 2
    for one, other in zip(warm, cold, strict=True):
        assert set(one.edges()) == set(other.edges())
        assert (one.graph.edges == (TRUE != 0.0)).all()
        moved, expected = (some.twins(x[:200]) - x[:200] for some in (one, other))
        assert np.abs(moved - expected).mean() < 0.05  # of moves that are 2 on average
    assert warm[0].twins(x).tobytes() != warm[1].twins(x).tobytes()


def test_each_model_knows_its_own_half_only() -> None:
    """In the first half of the rows S lifts A by 2, in the second it lowers A by 2."""
    rng = np.random.default_rng(0)
    s = groups(800, rng)
    regime = np.where(np.arange(800) < 400, 2.0, -2.0)
    x = np.column_stack([s, regime * s + rng.normal(size=800)])
    early, late = np.arange(400), np.arange(400, 800)
    people = np.array([[-1.0, 0.0], [1.0, 0.0]])
    models = models_of(x, [(early, late), (late, early)], knowledge=given((("S", "A"),)))
    moved = [model.twins(people)[0, 1] for model in models]
    gap = [x[rows][s[rows] > 0, 1].mean() - x[rows][s[rows] < 0, 1].mean() for rows in (early, late)]
    np.testing.assert_allclose(moved, [gap[0], gap[1], gap[1], gap[0]], atol=0.4)
    np.testing.assert_allclose(gap, [4.0, -4.0], atol=0.4)


@pytest.mark.slow
def test_the_same_seed_gives_the_same_models() -> None:
    x = mixed_rows(500)
    learner = prepare(x, mixed_columns())
    start, splits = learner.learn(None, 5, QUIET)[1], halve(500, 1)
    first, again, other = (learn_from_halves(learner, start, splits, seed, QUIET) for seed in (5, 5, 6))
    for one, two, three in zip(first, again, other, strict=True):
        assert np.array_equal(one.twins(x), two.twins(x))
        assert one.seed != three.seed
    assert first[0].seed != first[1].seed


def test_knowledge_holds_in_every_half() -> None:
    known = Knowledge(forbidden=(("S", "A"), ("S", "C")), required=(("C", "B"),))
    for model in models_of(draw_world(600), halve(600, 2), knowledge=known):
        assert not {("S", "A"), ("S", "C")} & set(model.edges())
        assert ("C", "B") in model.edges()
        assert not model.graph.edges[:, 0].any()


def test_a_complete_graph_is_the_graph_of_every_half() -> None:
    ready = (("S", "A"), ("A", "B"), ("S", "D"))
    for model in models_of(draw_world(600), halve(600, 2), knowledge=given(ready)):
        assert set(model.edges()) == set(ready)


def test_knowledge_that_leaves_no_edge() -> None:
    x = draw_world(300)
    for model in models_of(x, halve(300, 1), knowledge=Knowledge(roots=tuple(NAMES[1:]))):
        assert model.edges() == {}
        assert np.array_equal(model.twins(x)[:, 1:], x[:, 1:])


@pytest.mark.parametrize("seed", range(4))
def test_a_half_may_lack_the_only_row_with_a_value(seed: int) -> None:
    """A column that is constant in one half, whether of two values or of three, breaks nothing and is alone there."""
    x = draw_world(240, seed)
    rare = np.zeros((240, 2))
    rare[7], rare[11, 1] = 1.0, 2.0
    x = np.column_stack([x[:, :3], rare])
    splits = halve(240, 2, seed)
    models = models_of(x, splits, seed)
    assert any(np.ptp(x[rows, 3]) == 0.0 for split in splits for rows in split)
    for model, rows in zip(models, (rows for split in splits for rows in split), strict=True):
        constant = np.flatnonzero(np.ptp(x[rows], axis=0) == 0.0)
        assert not model.graph.edges[constant].any()
        assert not model.graph.edges[:, constant].any()
        twins = model.twins(x)
        assert np.array_equal(twins[:, constant], x[:, constant])
        assert np.isfinite(twins).all()


def test_a_level_may_be_missing_in_a_half() -> None:
    """Nobody enters a level that a half does not have; who has it gets a legal twin."""
    x = mixed_rows(600)
    x[x[:, 6] > 0.0, 4:7] = [3.0, -3.0, -3.0]
    x[5, 4:7] = [-3.0, -3.0, 3.0]
    learner = prepare(x, mixed_columns(), given((("S", "job"), ("job", "visits"))))
    splits = [(np.arange(300), np.arange(300, 600))]
    with_it, without = learn_from_halves(learner, None, splits, 0, QUIET)
    assert not (without.twins(np.delete(x, 5, axis=0))[:, 6] > 0.0).any()
    for model in (with_it, without):
        assert np.isfinite(model.twins(x)).all()
        assert {tuple(row) for row in model.twins(x)[:, 4:7]} <= {tuple(row) for row in x[:, 4:7]}


def test_progress_reports_each_model_and_nothing_else() -> None:
    x = draw_world(300)
    recorder, learner = Recorder(), learner_of(x)
    learn_from_halves(learner, learner.learn(None, 0, QUIET)[1], halve(300, 2), 0, recorder)
    assert recorder.heard == [("subsample models", k, 4, {}) for k in (1, 2, 3, 4)]


class Impatient(Progress):
    """Asks to stop when it was asked for the n-th time."""

    def __init__(self, n: int) -> None:
        self.left, self.heard = n, 0

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        self.heard += 1

    def stop_requested(self) -> bool:
        self.left -= 1
        return self.left <= 0


@pytest.mark.parametrize("n", [1, 2, 5])
def test_it_stops_in_the_middle_of_a_model(n: int) -> None:
    learner, impatient = learner_of(draw_world(300)), Impatient(n)
    with pytest.raises(AuditCancelled, match="during 'subsample models'"):
        learn_from_halves(learner, None, halve(300, 2), 0, impatient)
    assert impatient.left == 0
    assert impatient.heard == 0  # no model was finished yet


def test_it_stops_after_a_model() -> None:
    recorder = Recorder(stop_in="subsample models")
    with pytest.raises(AuditCancelled, match="during 'subsample models'"):
        learn_from_halves(learner_of(draw_world(300)), None, halve(300, 2), 0, recorder)
    assert len(recorder.heard) == 1
