"""From a person to their twin, step by step."""

from __future__ import annotations

from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

from cfad_core.audit.explanation import columns_of
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.nearest import inputs_of
from cfad_core.audit.notebook import view_of
from cfad_core.audit.result import AuditResult
from cfad_core.audit.walk import Move, Step, Walk, causal_order, columns_that_move, rows_on_the_way
from cfad_core.detectors.protocol import score_people
from cfad_core.evaluation.plausibility import distance_to_real
from tests.audit.worlds import make_jobs


def test_causes_come_before_effects() -> None:
    edges = [("sex", "job"), ("job", "pay"), ("sex", "pay"), ("pay", "debt")]
    moved = {"sex", "job", "pay", "debt"}
    table = ["sex", "debt", "pay", "job", "age"]
    assert causal_order(edges, moved, table) == [("sex",), ("job",), ("pay",), ("debt",)]


def test_of_two_that_could_be_next_the_table_decides() -> None:
    edges = [("sex", "pay"), ("sex", "job"), ("sex", "car"), ("car", "debt")]
    names = ["sex", "car", "pay", "debt", "job"]
    orders = {tuple(causal_order(some, set(names), names)) for some in permutations(edges)}
    assert orders == {(("sex",), ("car",), ("pay",), ("debt",), ("job",))}
    assert causal_order(edges, {"job", "pay"}, ["sex", "job", "pay", "car", "debt"]) == [("job",), ("pay",)]


def test_a_column_that_stays_passes_the_order_on() -> None:
    edges = [("sex", "b"), ("b", "still"), ("still", "a"), ("sex", "a")]
    assert causal_order(edges, {"sex", "a", "b"}, ["sex", "a", "b", "still"]) == [("sex",), ("b",), ("a",)]


def test_columns_that_cause_each_other_move_together() -> None:
    edges = [("sex", "b"), ("a", "b"), ("b", "a"), ("a", "c")]
    assert causal_order(edges, {"sex", "a", "b", "c"}, ["sex", "c", "a", "b"]) == [("sex",), ("a", "b"), ("c",)]


def ends_of(seen: AuditResult, person: int, move: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rows = seen.people.encoded.some(np.array([person]))
    return rows.factual, rows.twins[move]


@pytest.mark.parametrize("which", ["mixed", "three", "crossed", "known"])
def test_it_begins_with_the_person_and_ends_with_the_twin(which: str, request: pytest.FixtureRequest) -> None:
    result: AuditResult = request.getfixturevalue(which)
    encoding = result.encoding
    columns = {one.name: found for one, found in zip(encoding.variables, columns_of(encoding), strict=True)}
    for comparison in result.plan.comparisons:
        seen = result.seen(comparison.name)
        for person in range(0, 40, 8):
            ends = ends_of(seen, person)
            moved = columns_that_move(encoding, ends)
            parts = causal_order(result.model.edges(), moved, [*encoding.attribute_names, *columns])
            rows = rows_on_the_way(encoding, ends, parts)
            assert rows[0].tobytes() == ends[0][0].tobytes()
            assert rows[-1].tobytes() == ends[1][0].tobytes()
            for part, before, after in zip(parts, rows[:-1], rows[1:], strict=True):
                changed = set(np.flatnonzero(before != after).tolist())
                assert changed
                assert changed <= {int(k) for name in part for k in columns.get(name, np.array([0]))}


@pytest.mark.slow
def test_scores_are_those_of_the_rows_on_the_way(everything: AuditResult) -> None:
    seen = everything.seen()
    names = [*everything.encoding.attribute_names, *(one.name for one in everything.encoding.variables)]
    for method, detector in everything.detectors.items():
        for person in (0, 5, 11):
            ends = ends_of(seen, person)
            moved = columns_that_move(everything.encoding, ends)
            rows = rows_on_the_way(everything.encoding, ends, causal_order(everything.model.edges(), moved, names))
            found = everything.explain(int(seen.people.row[person]), method)
            (way,) = found.walks.values()
            scores = [way.score, *(step.score for step in way.steps)]
            np.testing.assert_allclose(np.array(scores, float), score_people(detector, rows), rtol=1e-9, atol=1e-12)
            assert (way.score, way.steps[-1].score) == (found.score, *found.twin_scores.values())
            flagged = np.array(scores) > found.threshold
            assert way.turns == tuple(np.flatnonzero(flagged[1:] != flagged[:-1]).tolist())


def test_each_step_names_the_causes_that_changed(mixed: AuditResult) -> None:
    table, edges = make_jobs(500, seed=3), mixed.model.edges()
    for row in mixed.people.row[:30].tolist():
        found = mixed.explain(row, table=table)
        (way,) = found.walks.values()
        cells = {one.column: one for one in found.columns}
        done: set[str] = set()
        assert [move.column for move in way.steps[0].moves] == ["group"]
        assert way.steps[0].because == ()
        for step in way.steps[1:]:
            (move,) = step.moves
            assert (move.before, move.after) == (cells[move.column].value, cells[move.column].twins[way.other])
            named = {cause for cause, _ in step.because}
            assert named == {cause for cause, effect in edges if effect == move.column} & (done | {"group"})
            assert all(value == cells[cause].twins[way.other] for cause, value in step.because)
            done.add(move.column)
        assert done == {one.column for one in found.columns if one.moved} - {"group"}


def test_two_attributes_that_change_at_once_are_one_step(crossed: AuditResult) -> None:
    row = int(crossed.people.row[0])
    (both,) = crossed.seen("sex and region").explain(row).walks.values()
    assert [move.column for move in both.steps[0].moves] == ["sex", "region"]
    (alone,) = crossed.seen("sex").explain(row).walks.values()
    assert [move.column for move in alone.steps[0].moves] == ["sex"]


def test_sentences() -> None:
    first = Step((Move("sex", "f", "m"),), (), 0.41)
    steps = (
        first,
        Step((Move("job", "clerk", "engineer"),), (("sex", "m"),), 0.62),
        Step((Move("pay", 10.0, None),), (("sex", "m"), ("job", "engineer")), 0.7),
        Step((Move("debt", 1.0, 2.0),), (("pay", None),), 0.3),
        Step((Move("car", 1.0, 1.0),), (("pay", None),), 0.3),
    )
    way = Walk("f", "m", 0.41, 0.3, 0.5, sees_group=False, steps=steps)
    assert way.sentences == (
        "Suppose nothing but this were different: sex f → m; the detector does not see it, so the score stays 0.410.",
        "Because sex is m: job clerk → engineer; score 0.410 → 0.620, now above the threshold.",
        "Because sex is m and job is engineer: pay 10 → missing; score 0.620 → 0.700, still above the threshold.",
        "Because pay is missing: debt 1 → 2; score 0.700 → 0.300, no longer above the threshold.",
        "Because pay is missing: car moves, and 1 is still the nearest value; the score stays 0.300.",
    )
    assert way.turns == (1, 3)
    seen = Walk("f", "m", 0.41, 0.2, 0.5, sees_group=True, steps=(Step(first.moves, (), 0.2),))
    assert seen.sentences[0].endswith("sex f → m; score 0.410 → 0.200, still not above the threshold.")


def test_a_detector_that_is_elsewhere_scores_no_steps(measured: AuditResult, tmp_path: Path) -> None:
    save_audit(measured, tmp_path / "audit")
    row = int(measured.people.row[0])
    found = load_audit(tmp_path / "audit").explain(row, "lof")
    (way,) = found.walks.values()
    assert not way.is_scored
    assert way.turns == ()
    assert {step.score for step in way.steps} == {None}
    assert way.sentences[0].endswith("its score is not known.")
    (before,) = measured.explain(row, "lof").walks.values()
    assert before.is_scored
    assert [step.moves for step in way.steps] == [step.moves for step in before.steps]


def test_the_nearest_real_people_are_those_of_the_twins_group(measured: AuditResult) -> None:
    seen, inputs = measured.seen(), inputs_of(measured)
    people = measured.people
    for person in (0, 3, 8):
        found = measured.explain(int(people.row[person]), "ae")
        ((other, nearest),) = found.nearest.items()
        _, twin = ends_of(seen, person)
        assert view_of(seen).names[int(twin[0, 0] > 0.0)] == other
        same = people.codes == twin[0, 0]
        apart = np.linalg.norm(inputs(people.factual[same, 1:]) - inputs(twin[:, 1:]), axis=1)
        assert [one.distance for one in nearest] == pytest.approx(np.sort(apart)[:3].tolist())
        real = distance_to_real(
            inputs(twin[:, 1:]), twin[:, 0], inputs(people.factual[:, 1:]), people.codes, np.random.default_rng(0)
        )
        assert nearest[0].distance == pytest.approx(real[0])  # the same distance as tells implausible twins
        for one in nearest:
            assert people.codes[one.person] == twin[0, 0]
            assert people.row[one.person] == one.row
            assert one.flagged == (one.score > found.threshold)
            assert one.score == measured.scores["ae"].factual[one.person]
            cells = {column.column: column.twins[other] for column in found.columns}
            assert {name for name in cells if cells[name] != one.cells[name]} == set(one.differs)


def test_the_largest_difference_comes_first(measured: AuditResult) -> None:
    found = measured.explain(int(measured.people.row[2]), "ae")
    ((other, nearest),) = found.nearest.items()
    inputs, twins = inputs_of(measured), {one.column: one.twins[other] for one in found.columns}
    names = [one.name for one in measured.encoding.variables]
    for one in nearest:
        sizes = {
            name: abs(float(str(one.cells[name])) - float(str(twins[name]))) / inputs.scale[names.index(name)]
            for name in one.differs
        }
        assert list(one.differs) == sorted(sizes, key=lambda name: -sizes[name])
