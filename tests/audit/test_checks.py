"""Tests that a causal model must pass: right models pass, wrong ones do not."""

from __future__ import annotations

import dataclasses
import json

import numpy as np
import pytest

from cfad_core.audit import checks
from cfad_core.audit.checks import ModelChecks, check_model
from cfad_core.audit.comparisons import plan_comparisons
from cfad_core.audit.judging import UNSEEN
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.learning import Learner
from cfad_core.causal.mechanisms import Category
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.evaluation.twin_test import TwinTest
from tests.audit.worlds import TWO_GROUPS
from tests.causal.test_several_groups import TWO, TWO_EDGES, two_attributes
from tests.causal.worlds import MIXED_EDGES, MIXED_VARIABLES, Edges, given, groups, mixed_columns, mixed_rows, prepare
from tests.conftest import Recorder

NAMES = ("S", "A", "B", "C")
COLUMNS = Columns(NAMES, "S", comparable_units=False)
QUIET = Progress()


def rows(n: int, seed: int) -> Floats:
    """S -> A -> B, and C -> B."""
    rng = np.random.default_rng(seed)
    s, c = groups(n, rng), rng.normal(size=n)
    a = s + rng.normal(size=n)
    return np.column_stack([s, a, a + 1.5 * c + rng.normal(size=n), c])


def score(people: Floats, whose: Rows | None = None) -> dict[str, Floats]:
    return {"a": people[:, 1], "b": np.abs(people[:, 2])}


def subject(knowledge: Knowledge, *, selected: bool = False) -> checks.Tested:
    learner = prepare(rows(2000, seed=0), COLUMNS, knowledge)
    model = learner.learn(None, 0, QUIET)[0]
    people = rows(1000, seed=1)
    return examined(model, learner, people, selected=selected)


def examined(model: StructuralModel, learner: Learner, people: Floats, *, selected: bool = False) -> checks.Tested:
    twins, thresholds = model.twins(people)[None], {"a": 1.0, "b": 2.0}
    return checks.Tested(model, learner, people, twins, TWO_GROUPS, NAMES, score, thresholds, selected)


TRUE = given((("S", "A"), ("A", "B"), ("C", "B")))


def test_the_true_model_passes() -> None:
    (found,) = check_model(subject(TRUE), 0, QUIET)
    assert found.twin_test is not None
    assert abs(found.twin_test.auc - 0.5) < 0.05
    assert (found.unexplained, found.better_fit, found.spans) == ((), (), {})
    assert found.groups_are_comparable


def test_a_graph_without_an_effect_is_caught() -> None:
    (found,) = check_model(subject(given((("S", "A"),))), 0, QUIET)
    assert found.unexplained == ("B",)
    assert found.twin_test is not None
    assert found.twin_test.auc > 0.55  # twins whose B stayed behind are no people of the other group


def test_a_mechanism_that_misses_a_cause_is_caught() -> None:
    """C says much about B; a graph that leaves it out predicts B clearly worse."""
    (found,) = check_model(subject(given((("S", "A"), ("A", "B")))), 0, QUIET)
    assert "B" in found.better_fit


def test_what_rests_on_groups_alike_is_left_out_where_they_are_not() -> None:
    (found,) = check_model(subject(TRUE, selected=True), 0, QUIET)
    assert (found.twin_test, found.better_fit, found.rows_were_selected) == (None, (), True)
    assert not found.groups_are_comparable
    rng = np.random.default_rng(2)
    a = rng.normal(size=800)
    s = np.where(a + rng.normal(size=800) > 0.0, 1.0, -1.0)
    x = np.column_stack([s, a, s + rng.normal(size=800), rng.normal(size=800)])
    learner = prepare(x, COLUMNS, given((("A", "S"), ("S", "B"))))
    model = learner.learn(None, 0, QUIET)[0]
    (no_root,) = check_model(examined(model, learner, x), 0, QUIET)
    assert no_root.kept == ("A",)
    assert not no_root.groups_are_comparable
    assert no_root.twin_test is not None  # among people whom A lets expect in either group
    assert no_root.twin_test.passes()
    assert no_root.twin_test.people < 2 * len(x)


def test_couplings_span_what_data_cannot_decide() -> None:
    """Against a loop over the couplings; a method that looks at nothing drawn has no span."""
    x = mixed_rows(1200)
    learner = prepare(x, mixed_columns(), given(MIXED_EDGES))
    model = learner.learn(None, 0, QUIET)[0]
    people = mixed_rows(600, seed=1)

    def levels(some: Floats, whose: Rows) -> dict[str, Floats]:
        return {"job": some[:, 4], "pay": some[:, 1]}

    thresholds = {"job": 0.0, "pay": 3.0}
    twins = model.twins(people)[None]
    audit = checks.Tested(model, learner, people, twins, TWO_GROUPS, MIXED_VARIABLES, levels, thresholds, False)
    (found,) = check_model(audit, 0, QUIET)
    assert any(isinstance(one, Category) and len(one.places) == 3 for one in model.mechanisms.values())

    def ratio(way: str | None, column: int, threshold: float) -> float:
        changed = [
            (model.twins(people, UNSEEN + draw, coupling=way)[:, column] > threshold) != (people[:, column] > threshold)  # type: ignore[arg-type]
            for draw in range(4)
        ]
        return float(np.mean(changed))

    usual = ratio(None, 4, 0.0)
    others = [ratio(way, 4, 0.0) - usual for way in ("fewest", "nominal", "ordered")]
    assert found.spans["job"] == pytest.approx((min(0.0, *others), max(0.0, *others)))
    assert found.spans["job"][1] - found.spans["job"][0] > 0.0
    assert found.spans["pay"] == (0.0, 0.0)


def of_two_attributes(edges: Edges) -> checks.Tested:
    """S acts on B and C, T on A, B and C; C is about both at once."""
    plan = plan_comparisons(("S", "T"), (("0", "1"), ("0", "1", "2")))
    learner = prepare(two_attributes(2500, seed=0), TWO, given(edges))
    model, people = learner.learn(None, 0, QUIET)[0], two_attributes(1200, seed=1)
    state = plan.states.of_codes(people[:, 0])
    twins = np.stack([model.twins(people, to=plan.targets(state, move)) for move in range(4)])
    variables = ("S and T", "A", "B", "C", "D")
    return checks.Tested(model, learner, people, twins, plan, variables, score, {"a": 1.0, "b": 2.0}, False)


@pytest.mark.slow
def test_every_comparison_is_checked_by_itself() -> None:
    sex, race, both = check_model(of_two_attributes(TWO_EDGES), 0, QUIET)
    for found in (sex, race):
        assert found.twin_test is not None
        assert found.twin_test.passes()
        assert found.twin_test.columns == ()
        assert (found.kept, found.unexplained, found.better_fit) == ((), (), ())
    assert both.twin_test is None  # people with other groups of both are no population of their own
    assert (both.kept, both.unexplained) == ((), ())


@pytest.mark.slow
def test_a_missing_effect_of_one_attribute_is_caught_there() -> None:
    """Without T -> A, only comparisons of T see that A differs; the test of S is among people alike in T."""
    edges = tuple(edge for edge in TWO_EDGES if edge != ("T", "A"))
    first, second, both = check_model(of_two_attributes(edges), 0, QUIET)
    assert first.unexplained == ()
    assert first.twin_test is not None
    assert first.twin_test.passes()
    assert second.unexplained == both.unexplained == ("A",)
    assert second.twin_test is not None
    assert not second.twin_test.passes()
    assert "A" in [name for name, _ in second.twin_test.columns]


def test_what_twins_keep_of_three_groups_has_the_same_share_on_both_sides() -> None:
    """A causes which of three groups people are in: among people whom A lets expect in any, twins pass."""
    rng = np.random.default_rng(3)
    a = rng.normal(size=4000)
    s = np.digitize(a + rng.logistic(size=4000), [-0.7, 0.7])
    x = np.column_stack([s, a, 0.8 * s + rng.normal(size=4000), rng.normal(size=4000)])
    columns = Columns(NAMES, "S", comparable_units=False, attributes={"S": 3})
    learner = prepare(x, columns, given((("A", "S"), ("S", "B"))))
    model = learner.learn(None, 0, QUIET)[0]
    plan = plan_comparisons(("S",), (("0", "1", "2"),))
    twins = np.stack([model.twins(x, to=plan.targets(s, move)) for move in range(2)])
    (found,) = check_model(
        checks.Tested(model, learner, x, twins, plan, NAMES, score, {"a": 1.0, "b": 2.0}, False), 0, QUIET
    )
    assert found.kept == ("A",)
    assert found.twin_test is not None
    assert found.twin_test.passes()
    assert found.twin_test.columns == ()  # A itself gives nobody away


def test_a_span_stays_a_share() -> None:
    found = ModelChecks(None, (), (), (), {"a": (-0.1, 0.2)}, False)
    assert found.span_of("a", 0.3) == pytest.approx((0.2, 0.5))
    assert found.span_of("a", 0.05) == pytest.approx((0.0, 0.25))
    assert found.span_of("a", 0.9) == pytest.approx((0.8, 1.0))
    assert found.span_of("a", None) is None
    assert found.span_of("b", 0.3) is None


def test_they_are_plain_json() -> None:
    (found,) = check_model(subject(given((("S", "A"),))), 0, QUIET)
    assert isinstance(found.twin_test, TwinTest)
    full = dataclasses.replace(found, spans={"a": (-0.1, 0.1 + 0.2)}, better_fit=("B",))
    for one in (full, dataclasses.replace(full, twin_test=None)):
        assert ModelChecks.from_dict(json.loads(json.dumps(one.to_dict(), allow_nan=False))) == one


def test_progress_and_stopping(monkeypatch: pytest.MonkeyPatch) -> None:
    audit, recorder = subject(TRUE), Recorder()
    check_model(audit, 0, recorder)
    assert recorder.heard == [("checks", k, 2, {}) for k in (1, 2)]
    with pytest.raises(AuditCancelled, match="during 'checks'"):
        check_model(audit, 0, Recorder(stop_in="checks"))
    monkeypatch.setattr(checks, "_MOST_PEOPLE", 10)
    (few,) = check_model(audit, 0, QUIET)
    assert few.spans == {}
