"""A detector outside this program: asked with one of our own behind it, it must be audited as that one is."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.answering import answer_audit, audit_detector, scored
from cfad_core.audit.answers import match_answers
from cfad_core.audit.asking import PendingAudit, ask_audit
from cfad_core.audit.folder import summary
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AskedDetector, AuditConfig, Knowledge, preset
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import generate_synthetic
from cfad_core.data.tables import Tables
from cfad_core.detectors.protocol import score_people
from cfad_core.detectors.registry import called
from tests.audit.worlds import CROSSED, JOBS, PCA, ROLES, THREE, codes, make_crossed, make_jobs, make_three
from tests.conftest import make_people

ASKED = AskedDetector(name="theirs")
PLAIN = PCA.replace(subsamples=0)  # of two judges

TABLES: dict[str, tuple[Callable[[], pd.DataFrame], ColumnRoles, AuditConfig]] = {
    "two groups": (lambda: make_people(400, seed=1), ROLES, PCA),
    "a category": (lambda: make_jobs(500, seed=3), ROLES, JOBS),
    "no uncertainty": (lambda: make_people(300, seed=2), ROLES, PCA.replace(subsamples=0)),
    "three groups": (lambda: make_three(600, seed=0), THREE, PCA),
    "two attributes": (lambda: make_crossed(900, seed=0), CROSSED, PCA),
    "bands": (
        lambda: make_people(400, seed=5),
        ColumnRoles((Attribute("schooling", bands=3),), label="fraud", anomaly="yes", ignore=("group",)),
        PCA,
    ),
    "a merged group": (
        lambda: make_three(600, seed=1),
        ColumnRoles((Attribute("group", merged={"rest": ("b", "c")}),), label="fraud", anomaly="yes"),
        PCA,
    ),
}


@cache
def plain() -> PendingAudit:
    return ask_audit(Tables.of(make_people(300, seed=0)), ROLES, PCA.replace(asked=ASKED))


def by_own(result: AuditResult, method: str = "pca") -> Callable[[pd.DataFrame], Floats]:
    """Scores a table with a detector that an audit fitted."""
    return lambda rows: score_people(result.detectors[method], result.encoding.encode(rows))


def ask_own(pending: PendingAudit) -> AuditResult:
    """The audit, once one of its own detectors answered as if it were outside."""
    lines = scored(pending.questions, by_own(pending.result))
    return answer_audit(pending, match_answers(pending.questions, lines, "anomalous", door="function"))


@pytest.fixture(
    scope="module",
    params=[
        name if name in ("two groups", "a category") else pytest.param(name, marks=pytest.mark.slow) for name in TABLES
    ],
)
def asked(request: pytest.FixtureRequest) -> PendingAudit:
    make, roles, config = TABLES[request.param]
    return ask_audit(Tables.of(make()), roles, config.replace(asked=ASKED))


def test_everything_is_said_of_it_that_is_said_of_the_same_detector_inside(asked: PendingAudit) -> None:
    """Scores, ratios, intervals, couplings, edges, slices and groups: to the bit."""
    result = ask_own(asked)
    assert list(result.scores) == ["theirs", "pca"]
    mine, own = result.scores["theirs"], result.scores["pca"]
    for field in ("train", "factual", "twins", "judged"):
        assert np.array_equal(getattr(mine, field), getattr(own, field)), field
    said = json.loads(json.dumps(summary(result)))
    without_comparison = {key: value for key, value in said["methods"]["pca"].items() if key != "improvement"}
    assert by_one_name(said["methods"]["theirs"]) == by_one_name(without_comparison)
    assert by_one_name(said["slices"]["theirs"]) == by_one_name(said["slices"]["pca"])
    for comparison in said["comparisons"]:
        assert by_one_name(comparison["methods"]["theirs"]) == by_one_name(comparison["methods"]["pca"])
        spans = comparison["checks"]["coupling_spans"]
        assert spans.get("theirs") == spans.get("pca")
    if result.stability is not None:
        for cuts in result.stability.edge_cuts:
            assert cuts.whole["theirs"] == cuts.whole["pca"]
            assert np.array_equal(cuts.without["theirs"], cuts.without["pca"])
        for part in (result.stability.returned, result.stability.returned_by_same):
            assert np.array_equal(part["theirs"], part["pca"])


def by_one_name(said: Any) -> Any:
    """What is said of the detector outside, or of the one inside, with one name for both."""
    return json.loads(json.dumps(said).replace(called("pca"), "it").replace("theirs", "it"))


def test_the_rows_are_those_of_the_table_in_its_columns_and_types(asked: PendingAudit) -> None:
    questions, result = asked.questions, asked.result
    batch = questions.batch.drop(columns=questions.id_column)
    shown = [*result.encoding.attribute_names, *(variable.name for variable in result.encoding.variables)]
    assert set(batch.columns) == set(shown)  # no label, nothing that is ignored
    assert result.encoding.in_groups(batch).all()
    for groups in result.encoding.attributes:
        if groups.cuts:
            assert pd.api.types.is_numeric_dtype(batch[groups.column])
        else:
            values = {value for some in groups.values for value in some}  # noqa: PD011 - no table
            assert set(batch[groups.column].astype(str)) <= values  # no twin has the name of a group
    assert len(batch.drop_duplicates()) == questions.rows
    assert questions.repeated == min(questions.rows, 2000)


def test_people_are_asked_about_as_they_are() -> None:
    table = make_jobs(500, seed=3)
    pending = ask_audit(Tables.of(table), ROLES, JOBS.replace(asked=ASKED))
    questions = pending.questions
    line_of = {row: line for line, row in enumerate(questions.row_of.tolist())}
    lines = [line_of[row] for row in questions.numbers.factual.tolist()]
    columns = [name for name in table.columns if name != "fraud"]
    judged = table.iloc[pending.result.people.row].reset_index(drop=True)[columns]
    pd.testing.assert_frame_equal(questions.batch.iloc[lines].reset_index(drop=True)[columns], judged)


@pytest.mark.slow
def test_nobody_can_know_the_ids_the_order_or_the_repeats() -> None:
    table = Tables.of(make_people(300, seed=0))
    first, second = (ask_audit(table, ROLES, PLAIN.replace(asked=ASKED)).questions for _ in range(2))
    assert first.rows == second.rows
    assert not set(first.batch["row_id"]) & set(second.batch["row_id"])
    assert first.batch["row_id"].is_unique
    assert first.batch["row_id"].str.fullmatch("r[0-9a-f]{14}").all()
    assert not np.array_equal(first.row_of, second.row_of)
    is_person = np.isin(first.row_of, first.numbers.factual)
    halves = is_person[: len(is_person) // 2].mean(), is_person[len(is_person) // 2 :].mean()
    assert abs(halves[0] - halves[1]) < 6 * np.sqrt(is_person.mean() / len(is_person))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_audit_whatever_the_order_of_the_rows() -> None:
    table, config = make_people(300, seed=0), PLAIN.replace(asked=ASKED)
    found = [audit_detector(table, ROLES, lambda rows: rows["debt"], config) for _ in range(2)]
    first, second = (summary(result) | {"seconds": 0} for result in found)
    assert first == second


@pytest.mark.slow
def test_scores_with_an_index_are_put_in_order() -> None:
    config = PLAIN.replace(asked=ASKED)
    found = [
        audit_detector(make_people(300, seed=0), ROLES, score, config).scores["theirs"].factual
        for score in (lambda rows: rows["debt"], lambda rows: rows["debt"].sort_values())
    ]
    assert np.array_equal(found[0], found[1])


@pytest.mark.slow
def test_an_audit_needs_no_method_of_ours() -> None:
    config = PLAIN.replace(asked=ASKED, methods=())
    alone = audit_detector(make_people(300, seed=0), ROLES, lambda rows: rows["debt"], config)
    beside = audit_detector(make_people(300, seed=0), ROLES, lambda rows: rows["debt"], PLAIN.replace(asked=ASKED))
    assert list(alone.scores) == ["theirs"]
    assert alone.report("theirs").to_dict() == beside.report("theirs").to_dict()


@pytest.mark.slow
def test_true_twins_are_asked_about_where_they_are_known() -> None:
    data = generate_synthetic(3, n_train=400, n_test_normal=160, n_test_anomaly=20)
    roles = ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1")
    tables = Tables.of(data.train, data.test, data.test_counterfactual)
    result = ask_own(ask_audit(tables, roles, PLAIN.replace(asked=ASKED)))
    mine, own = result.report("theirs"), result.report("pca")
    assert mine.scores.truth is not None
    assert own.scores.truth is not None
    assert np.array_equal(mine.scores.truth, own.scores.truth)
    assert mine.metrics.changing_ratio == own.metrics.changing_ratio


def test_ignored_columns_are_carried_along_if_they_are_needed() -> None:
    table = make_people(300, seed=0).assign(branch=lambda people: [f"b{k % 7}" for k in range(len(people))])
    roles = dataclasses.replace(ROLES, ignore=("branch",))
    asked = AskedDetector(name="theirs", carried=("branch",))
    config = PLAIN.replace(asked=asked, knowledge=Knowledge(roots=("schooling",)))
    questions = ask_audit(Tables.of(table), roles, config).questions
    assert "branch" in questions.batch
    seen = questions.batch.iloc[:: len(questions.batch) // 50]
    for _, row in seen.iterrows():  # a twin has the schooling of its person, and the branch
        assert ((table["branch"] == row["branch"]) & (table["schooling"] == row["schooling"])).any()


@pytest.mark.slow
def test_a_column_of_scores_is_no_attribute_and_is_compared_with_the_answers() -> None:
    table = make_people(300, seed=0).assign(risk=lambda people: people["debt"] * 2.0)
    roles = dataclasses.replace(ROLES, score="risk")
    config = PLAIN.replace(asked=ASKED)
    same = audit_detector(table, roles, lambda rows: rows["debt"] * 2.0, config)
    other = audit_detector(table, roles, lambda rows: rows["debt"] * 2.1, config)
    assert "risk" not in {variable.name for variable in same.encoding.variables}
    assert same.asked is not None
    assert other.asked is not None
    assert (same.asked.known, same.asked.unlike_known) == (other.asked.known, 0)
    assert other.asked.known > 200
    assert other.asked.unlike_known > 0.9 * other.asked.known
    assert "other-scores" not in codes(same)
    assert "other-scores" in codes(other)


def with_test(test: pd.DataFrame, roles: ColumnRoles = ROLES, **asked: Any) -> pd.DataFrame:
    """The rows to score where the people to judge are in a table of their own."""
    table = make_three(500, seed=0) if roles is not ROLES else make_people(300, seed=0)
    config = PLAIN.replace(asked=ASKED.replace(**asked))
    return ask_audit(Tables.of(table, test), roles, config).questions.batch


@pytest.mark.slow
def test_the_test_table_may_have_other_columns_in_another_order() -> None:
    test = make_people(100, seed=1).assign(extra=1)
    batch = with_test(test[test.columns[::-1]])
    assert list(batch.columns) == ["row_id", "group", "schooling", "income", "debt"]


def test_twins_have_values_of_the_table_also_where_nobody_judged_has_them() -> None:
    merged = ColumnRoles((Attribute("group", merged={"rest": ("b", "c")}),), label="fraud", anomaly="yes")
    test = make_three(200, seed=1).query("group == 'a'")
    assert set(with_test(test, merged)["group"]) <= {"a", "b", "c"}


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["text", "float32"])
def test_the_test_tables_types_are_the_tables(kind: str) -> None:
    test = make_people(100, seed=1)
    test["income"] = test["income"].map(str) if kind == "text" else test["income"].astype(np.float32)
    batch = with_test(test)
    assert batch["income"].dtype == np.float64
    with pytest.raises(InvalidDataError):
        with_test(test.assign(income="much"))


def test_columns_that_are_needed_must_be_in_every_table() -> None:
    test = make_people(100, seed=1)
    roles = dataclasses.replace(ROLES, ignore=("branch",))
    table = make_people(300, seed=0).assign(branch="x")
    config = PLAIN.replace(asked=ASKED.replace(carried=("branch",)))
    with pytest.raises(InvalidDataError, match="The test table lacks the column 'branch'"):
        ask_audit(Tables.of(table, test.assign(other=1)), roles, config)


@pytest.mark.slow
def test_numbers_have_the_digits_of_their_column() -> None:
    table = make_people(300, seed=0)
    table["income"] = table["income"].astype(np.float32)
    batch = ask_audit(Tables.of(table), ROLES, PLAIN.replace(asked=ASKED)).questions.batch
    assert batch["income"].dtype == np.float32


@pytest.mark.slow
def test_fewer_people_can_be_asked_about() -> None:
    tables = Tables.of(make_people(900, seed=0))
    all_of_them = ask_audit(tables, ROLES, PLAIN.replace(asked=ASKED))
    some = ask_audit(tables, ROLES, PLAIN.replace(asked=ASKED.replace(people=100)))
    assert len(some.result.people.judged) == 100
    assert some.questions.rows < all_of_them.questions.rows


@pytest.mark.parametrize(
    ("config", "message"),
    [
        (PCA, "Expected a detector to ask in the settings ('asked'); got none. Name one."),
        (preset("paper", asked=ASKED), "the paper's twins need not be. Use preset fast."),
        (PLAIN.replace(asked=AskedDetector(name="pca")), "A detector of your own needs a name"),
        (PLAIN.replace(asked=AskedDetector(name="a/b")), "A detector of your own needs a name"),
        (PLAIN.replace(asked=AskedDetector(carried=("debt",))), "'debt' is not. Ignore it, or do not carry it"),
    ],
)
def test_what_cannot_be_asked_is_refused(config: AuditConfig, message: str) -> None:
    with pytest.raises(InvalidConfigError) as error:
        ask_audit(Tables.of(make_people(300, seed=0)), ROLES, config)
    assert message in str(error.value)


def test_an_audit_that_cannot_wait_asks_nobody() -> None:
    with pytest.raises(InvalidConfigError, match="use audit_detector, or ask_audit and answer_audit"):
        run_audit(make_people(300, seed=0), ROLES, PLAIN.replace(asked=ASKED))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("score", "message"),
    [
        (lambda rows: rows["debt"].to_numpy()[1:], "got an array of shape"),
        (lambda rows: rows["debt"].where(rows["debt"] > rows["debt"].min()), "got some that are infinite or nan"),
        (lambda rows: ["high"] * len(rows), "Expected numbers as scores"),
        (lambda rows: rows[["debt", "income"]], "got an array of shape"),
        (lambda rows: {"debt": 1}, "got dict"),
        (lambda rows: rows["debt"].to_numpy() + 1j, "got complex128"),
        (lambda rows: pd.to_datetime(rows["debt"]), "Expected numbers as scores; got datetime64"),
        (lambda rows: rows["debt"] * 1e300, "got some that are infinite or nan"),
    ],
)
def test_a_function_must_give_one_finite_number_a_row(score: Callable[[pd.DataFrame], Any], message: str) -> None:
    with pytest.raises(InvalidDataError) as error:
        scored(plain().questions, score)
    assert message in str(error.value)
