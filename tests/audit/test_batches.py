"""New people by the audit's own estimators, and whether its causal model still fits them."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.batch import Batch
from cfad_core.audit.batches import measure_batch
from cfad_core.audit.folder import load_audit, load_judges, save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from tests.audit.worlds import (
    CROSSED,
    JOBS,
    PCA,
    QUICK,
    ROLES,
    SUBSAMPLED,
    THREE,
    make_crossed,
    make_jobs,
    make_three,
    without_judges,
)
from tests.conftest import make_people


def assert_is_headline(batch: Batch, result: AuditResult) -> None:
    """Every number of every comparison is the audit's own."""
    for comparison in batch.comparisons:
        for method, found in comparison.methods.items():
            report = result.report(method, comparison.name)
            assert found.threshold == report.threshold
            assert found.changing_ratio == pytest.approx(report.metrics.changing_ratio, abs=1e-12)
            assert found.interval == report.changing_ratio_interval(report.threshold)
            assert found.flag_rate.value == pytest.approx(report.metrics.flag_rate, abs=1e-12)
            for name, group in report.metrics.groups.items():
                if comparison.groups[name] is not None:
                    assert found.flag_rates[name].value == group["flag_rate"]


def test_the_audits_own_people_get_the_audits_own_numbers(judged: AuditResult) -> None:
    result = judged
    own = make_people(800, seed=0).iloc[result.people.row]
    batch = measure_batch(result, own, source="own.csv", at=86_400.0)
    assert_is_headline(batch, result)
    assert (batch.source, batch.date, batch.n, batch.judged, batch.judges) == ("own.csv", "1970-01-02", 201, 201, 4)
    assert batch.comparisons[0].groups == {name: int(rows.sum()) for name, rows in result.groups.items()}
    assert batch.comparisons[0].twin_test == result.checks[0].twin_test == batch.comparisons[0].audit_twin_test
    assert batch.fit is not None
    assert set(batch.fit) == set(result.model.affected_names)
    assert all(one.drop == 0.0 and one.shift.size == 0.0 for one in batch.fit.values())
    assert (batch.alarm, batch.misfits, batch.remarks) == (None, (), ())


@pytest.mark.slow
def test_so_they_do_by_methods_that_score_with_twins_and_with_three_groups(tmp_path: Path) -> None:
    table = make_three(600, seed=0)
    config = SUBSAMPLED.replace(methods=("pca", "ae", "cfad", "twin", "surprise", "ae-rank"))
    result = run_audit(table, THREE, config)
    save_audit(result, tmp_path)
    own = table.iloc[result.people.row]
    for audit in (result, load_audit(tmp_path)):
        batch = measure_batch(audit, own)
        assert_is_headline(batch, result)
        assert len(batch.comparisons[0].groups) == 3
        assert Batch.from_dict(json.loads(json.dumps(batch.to_dict()))) == batch


@pytest.mark.slow
def test_so_they_do_with_two_attributes() -> None:
    table = make_crossed(900, seed=0)
    result = run_audit(table, CROSSED, PCA)
    batch = measure_batch(result, table.iloc[result.people.row])
    assert [one.name for one in batch.comparisons] == [one.name for one in result.plan.comparisons]
    assert_is_headline(batch, result)
    assert [one.twin_test is None for one in batch.comparisons] == [False, False, True]  # of both at once there is none
    assert [one.twin_test for one in batch.comparisons] == [one.twin_test for one in result.checks]
    assert batch.alarm is None


@pytest.mark.slow
def test_nothing_changed_and_other_people_raise_no_alarm(judged: AuditResult) -> None:
    result = judged
    for seed in range(100, 105):
        assert measure_batch(result, make_people(400, seed)).alarm is None
    many = make_people(3_000, seed=105)
    for some in (many[many["schooling"] > 0.3], many[(many["group"] == "a") | (many.index % 4 == 0)]):
        assert measure_batch(result, some).alarm is None


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t.assign(income=t["income"] + 0.3), "income is 0.6 standard deviations higher on average among"),
        (lambda t: t.assign(income=t["income"] - 0.5 * (t["group"] == "b")), "lower on average among b"),
        (lambda t: t.assign(debt=-1.6 * t["income"] + (t["debt"] + t["income"])), "debt is "),
        (lambda t: t.assign(income=3.0 * t["income"]), "income"),
    ],
)
def test_what_has_changed_is_named(judged: AuditResult, change: object, words: str) -> None:
    assert callable(change)
    batch = measure_batch(judged, change(make_people(600, seed=50)))
    alarm = batch.alarm
    assert alarm is not None
    assert alarm.startswith("The causal model no longer fits these rows: ")
    assert words in alarm
    assert alarm.endswith("The changing ratio of this batch is not reliable. Audit again with new rows.")


@pytest.mark.slow
def test_levels_are_tested_and_named() -> None:
    table = make_jobs(800, seed=3)
    result = run_audit(table, ROLES, JOBS)
    new = make_jobs(800, seed=4)
    assert measure_batch(result, new).alarm is None
    smiths = new.assign(job=new["job"].where(np.arange(800) % 4 > 0, "smith"))
    batch = measure_batch(result, smiths)
    assert batch.misfits[0] == "job"
    assert "job is more often 'smith' among" in str(batch.alarm)
    strangers = new.assign(job=new["job"].where(np.arange(800) % 10 > 0, "pilot"))
    batch = measure_batch(result, strangers)
    assert batch.unknown == {"job": 0.1}
    assert batch.unknown_rows == 0.1
    assert "10.0 % of the rows have a category that the audit does not know (job)" in str(batch.alarm)
    few = new.assign(job=new["job"].where(np.arange(800) % 25 > 0, "pilot"))
    assert measure_batch(result, few).unknown_rows == 0.04
    assert "does not know" not in str(measure_batch(result, few).alarm)


def test_small_batches_are_recorded_and_not_tested(judged: AuditResult) -> None:
    shifted = make_people(60, seed=7).assign(income=40.0)
    batch = measure_batch(judged, shifted)
    assert (batch.fit, batch.comparisons[0].twin_test, batch.alarm) == (None, None, None)
    assert batch.comparisons[0].methods["pca"].changing_ratio is not None
    assert batch.comparisons[0].methods["pca"].interval is not None
    assert batch.remarks[0].startswith("The causal model was not tested on these rows: that takes at least 50 people")


def test_small_groups_are_not_shown(judged: AuditResult) -> None:
    people = make_people(200, seed=8)
    few = pd.concat([people[people["group"] == "a"], people[people["group"] == "b"].head(7)])
    seen = measure_batch(judged, few).comparisons[0]
    assert (seen.groups["b"], seen.methods["pca"].flag_rates["b"].value) == (None, None)
    alone = measure_batch(judged, people[people["group"] == "a"]).comparisons[0]
    assert (alone.groups["b"], alone.methods["pca"].flag_rates["b"].value) == (0, None)
    assert alone.methods["pca"].changing_ratio is not None


def test_labels_are_not_needed_and_other_columns_do_not_matter(judged: AuditResult) -> None:
    new = make_people(300, seed=9)
    plain = measure_batch(judged, new, at=0.0)
    other = measure_batch(judged, new.drop(columns="fraud").assign(note="x"), at=0.0)
    assert other.digest != plain.digest
    assert dataclasses.replace(other, digest=plain.digest) == plain


def test_an_audit_without_its_judges_is_measured_by_its_own_model(judged: AuditResult, tmp_path: Path) -> None:
    result = judged
    new = make_people(300, seed=10)
    save_audit(result, tmp_path)
    save_audit(without_judges(result), tmp_path)  # the models of before do not belong to it any more
    assert load_judges(tmp_path) == ()
    batch = measure_batch(load_audit(tmp_path), new)
    found = batch.comparisons[0].methods["pca"]
    assert (batch.judges, found.interval) == (0, None)
    by_judges = measure_batch(result, new).comparisons[0].methods["pca"].changing_ratio
    assert by_judges is not None
    assert found.changing_ratio == pytest.approx(by_judges, abs=0.05)
    assert batch.remarks == (
        "The changing ratio is by the audit's own causal model and has no interval, as the audit was saved without its "
        "judges; run the audit again to have both.",
    )


def test_judges_last(judged: AuditResult, tmp_path: Path) -> None:
    result = judged
    save_audit(result, tmp_path)
    again = load_judges(tmp_path)
    for before, after in zip(result.judge_models, again, strict=True):
        assert np.array_equal(before.twins(result.people.factual), after.twins(result.people.factual))
    (tmp_path / "judges.json").write_text("{}")
    with pytest.raises(InvalidArtifactError, match="Cannot read the causal model at"):
        load_judges(tmp_path)
    load_audit(tmp_path)  # which does not need them
    with pytest.raises(InvalidArtifactError, match="holds no audit"):
        load_judges(tmp_path / "nowhere")
    save_audit(dataclasses.replace(result, judge_models=result.judge_models[:1]), tmp_path)
    text = json.loads((tmp_path / "audit.json").read_text("utf-8"))
    (tmp_path / "audit.json").write_text(json.dumps(text | {"judge_models": 3}))
    with pytest.raises(InvalidArtifactError, match="do not belong to its audit"):
        load_judges(tmp_path)


@pytest.mark.slow
def test_the_papers_model_is_measured_but_not_tested(tmp_path: Path) -> None:
    config = QUICK.replace(methods=("pca",), discovery=DiscoveryConfig(mode="paper", rounds=1, steps_per_round=20))
    table = make_people(500, seed=0)
    result = run_audit(table, ROLES, config)
    save_audit(result, tmp_path)
    batch = measure_batch(load_audit(tmp_path), table.iloc[result.people.row])
    assert_is_headline(batch, result)
    assert (batch.judges, batch.fit, batch.comparisons[0].twin_test) == (1, None, None)


@pytest.mark.slow
def test_where_twins_keep_what_differs_the_twin_test_allows_for_it() -> None:
    table = make_people(1_600, seed=0)
    old = table.assign(age=np.where(table["group"] == "b", 1.0, 0.0) + np.random.default_rng(0).normal(size=1_600))
    config = PCA.replace(knowledge=Knowledge(roots=("age", "schooling")))
    result = run_audit(old, ROLES, config)
    assert result.checks[0].kept == ("age",)
    batch = measure_batch(result, old.iloc[result.people.row])
    test = batch.comparisons[0].twin_test
    assert test is not None
    assert test.passes()
    assert batch.alarm is None


def test_who_is_outside_the_groups_and_empty_tables_are_refused(judged: AuditResult) -> None:
    new = make_people(100, seed=1)
    with pytest.raises(InvalidDataError, match="1 of 100 rows have a 'group' that is neither"):
        measure_batch(judged, new.assign(group=["c", *new["group"][1:]]))
    with pytest.raises(InvalidDataError, match="The table has no rows"):
        measure_batch(judged, new.head(0))
    with pytest.raises(InvalidDataError, match="lacks the column income"):
        measure_batch(judged, new.drop(columns="income"))


def test_twins_that_never_passed_are_a_remark_and_no_alarm(judged: AuditResult) -> None:
    batch = measure_batch(judged, make_people(400, seed=60))
    (seen,) = batch.comparisons
    assert seen.twin_test is not None
    wrong = dataclasses.replace(seen.twin_test, auc=0.6, low=0.57, high=0.63)
    as_before = dataclasses.replace(seen, twin_test=wrong, audit_twin_test=dataclasses.replace(wrong, auc=0.58))
    found = dataclasses.replace(batch, comparisons=(as_before,))
    assert found.alarm is None
    assert found.remarks[0].startswith(
        "Twins do not pass for real people of another group of group (a classifier distinguishes them in 60 of 100 "
        "pairs; in the audit, in 58 of 100 pairs). That is no clear change"
    )
    right = dataclasses.replace(wrong, auc=0.5, low=0.48, high=0.52)
    worse = dataclasses.replace(seen, twin_test=wrong, audit_twin_test=right)
    assert "in 60 of 100 pairs; in the audit, in 50 of 100 pairs)" in str(
        dataclasses.replace(batch, comparisons=(worse,)).alarm
    )
    unknown = dataclasses.replace(
        batch, comparisons=(dataclasses.replace(seen, twin_test=wrong, audit_twin_test=None),)
    )
    assert unknown.alarm is None
    assert "in 60 of 100 pairs). That is no clear change" in unknown.remarks[0]


def test_a_method_without_its_detector_is_left_out(measured: AuditResult, tmp_path: Path) -> None:
    new = make_people(120, seed=1)
    assert "lof" in measure_batch(without_judges(measured), new).comparisons[0].methods
    save_audit(measured, tmp_path)  # another library's detector is not saved
    found = measure_batch(without_judges(load_audit(tmp_path)), new)
    assert tuple(found.comparisons[0].methods) == tuple(method for method in measured.scores if method != "lof")
    bare = dataclasses.replace(measured, detectors={})
    assert measure_batch(without_judges(bare), new).comparisons[0].methods == {}
