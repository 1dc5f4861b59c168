from __future__ import annotations

import dataclasses
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfad_core.audit import report as report_module
from cfad_core.audit.folder import load_audit, save_audit, summary
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.stability import Stability
from cfad_core.core.config import Knowledge
from cfad_core.evaluation.bounds import REFUTING_ERRORS
from cfad_core.evaluation.intervals import Interval, ResampledScores
from cfad_core.runs.model import headline
from tests.audit.worlds import AUDITED, JOBS, PCA, ROLES, SUBSAMPLED, make_jobs
from tests.conftest import make_people


def test_numbers_come_from_the_worlds(measured: AuditResult) -> None:
    sure = measured.stability
    assert sure is not None
    (cuts,) = sure.edge_cuts
    for method in AUDITED:
        report, scores = measured.report(method), measured.scores[method]
        threshold = report.threshold
        twins = scores.judged.reshape(4, 4, 1, 100)
        expected = ResampledScores(scores.factual, twins, measured.people.factual[:, 0], seed=0)
        for at in (threshold, 2.0 * threshold):
            bounds, plain = report.bounds_at(at), expected.at(at).changing_ratio
            assert bounds is not None
            assert plain is not None
            ratio = report.metrics_at(at).changing_ratio
            assert ratio is not None
            whole = Interval(min(plain.low, ratio), max(plain.high, ratio))
            assert report.changing_ratio_interval(at) == bounds.clip(whole)
        assert report.intervals is not None
        found, unbounded = report.intervals, expected.at(threshold)
        assert dataclasses.replace(found, changing_ratio=None) == dataclasses.replace(unbounded, changing_ratio=None)
        assert found.changing_ratio == report.changing_ratio_interval(threshold)
        assert report.model_error(threshold) == sure.model_error(method, scores.factual, threshold)
        near = ~sure.plausibility.far
        flagged = scores.factual > threshold
        changes = (scores.judged[:, 0] > threshold) != flagged
        assert report.plausible_changing_ratio(threshold) == pytest.approx(changes[:, near].mean())
        shown = flagged != (scores.counterfactual > threshold)
        assert cuts.whole[method] == pytest.approx(shown.mean())  # by the own model, nobody left out
        halves = changes.reshape(4, 4, 100).mean(axis=(1, 2))
        assert report.halves_differ(threshold) == pytest.approx(np.median(np.abs(halves[0::2] - halves[1::2])))


def test_the_evidence_is_that_of_the_method(measured: AuditResult) -> None:
    report, sure = measured.report("ae"), measured.stability
    found = report.evidence_at(report.threshold)
    assert sure is not None
    assert report.intervals is not None
    metrics = report.metrics
    assert (found.method, found.sensitive, found.has_path) == ("the plain detector (AE)", "group", True)
    assert found.ratio == metrics.changing_ratio
    assert (found.flag_rate, found.auc_roc) == (metrics.flag_rate, metrics.auc_roc)
    assert found.interval == report.intervals.changing_ratio
    assert found.model_error == report.model_error(report.threshold)
    assert (found.graphs, found.graphs_without_path) == (4, sure.without_path)
    assert found.carrier == sure.edge_cuts[0].carrier("ae")
    (checks,), bounds = measured.checks, report.bounds_at(report.threshold)
    assert bounds is not None
    wide = bounds.with_sampling(REFUTING_ERRORS)  # a verdict must not be refuted by chance
    assert found.bounds == (wide.low, wide.high)
    assert (found.twin_test, found.unexplained, found.better_fit) == (
        checks.twin_test,
        checks.unexplained,
        checks.better_fit,
    )
    assert found.halves_differ == report.halves_differ(report.threshold)
    assert (found.known_truth, found.additive, found.was_given, found.selected_rows) == (False, False, False, False)
    assert measured.report("lof").evidence_at(0.0).method == "lof"
    elsewhere = report.evidence_at(1e9)
    assert (elsewhere.flag_rate, elsewhere.model_error, elsewhere.carrier) == (0.0, 0.0, None)
    assert "Fair because useless" in report.verdict_at(1e9)
    assert report.verdict == report.verdict_at(report.threshold)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["result", "measured", "mixed", "everything"])
def test_there_is_one_number(which: str, request: pytest.FixtureRequest) -> None:
    """The mean of each judged person's probability; and the groups' add up to it, by their judged people."""
    found: AuditResult = request.getfixturevalue(which)
    for method, report in found.reports.items():
        for threshold in (report.threshold, float(np.median(found.scores[method].factual))):
            ratio = report.metrics_at(threshold).changing_ratio
            assert ratio is not None
            probability = report.change_probability(threshold)
            assert ratio == pytest.approx(np.nanmean(probability), abs=1e-12)
            assert np.array_equal(np.flatnonzero(~np.isnan(probability)), found.people.judged)
            weighted = 0.0
            for name, rows in found.groups.items():
                part = report.metrics_at(threshold).groups[name]["changing_ratio"]
                assert part == pytest.approx(np.nanmean(probability[rows]), abs=1e-12)
                weighted += (part or 0.0) * rows[found.people.judged].sum()
            assert ratio == pytest.approx(weighted / len(found.people.judged), abs=1e-12)
            assert report.evidence_at(threshold).ratio == ratio
        said = summary(found)["methods"][method]["metrics"]["changing_ratio"]
        assert said == headline(found)[method]["changing_ratio"] == report.metrics.changing_ratio


def test_of_many_people_the_judged_ones_speak(mixed: AuditResult) -> None:
    """As if only every third person had been judged: the number is about them, what is about people about all."""
    judged = np.arange(0, 125, 3)
    scores = mixed.scores["pca"]
    some = dataclasses.replace(
        mixed,
        people=dataclasses.replace(mixed.people, judged=judged),
        scores={"pca": dataclasses.replace(scores, judged=scores.judged[:, :, judged])},
        stability=None,
    )
    report = some.report("pca")
    flagged = scores.factual > report.threshold
    changes = (scores.judged[:, 0, judged] > report.threshold) != flagged[judged]
    assert report.metrics.changing_ratio == pytest.approx(changes.mean())
    assert report.metrics.flag_rate == pytest.approx(flagged.mean())
    assert (report.metrics.n, report.curves.people.n_twins) == (125, 16 * len(judged))
    assert np.isnan(report.change_probability(report.threshold)).sum() == 125 - len(judged)
    for name, rows in some.groups.items():
        part = changes[:, rows[judged]].mean()
        assert report.metrics.groups[name]["changing_ratio"] == pytest.approx(part)


def test_an_interval_lies_within_what_the_flag_rates_allow(measured: AuditResult, mixed: AuditResult) -> None:
    for found in (measured, mixed):
        for method, report in found.reports.items():
            first, second = (found.scores[method].factual[rows] for rows in found.groups.values())
            for threshold in (report.threshold, *np.quantile(found.scores[method].factual, [0.1, 0.5, 0.9])):
                bounds, interval = report.bounds_at(threshold), report.changing_ratio_interval(threshold)
                assert bounds is not None
                assert interval is not None
                a, b = float((first > threshold).mean()), float((second > threshold).mean())
                assert (bounds.low, bounds.high) == pytest.approx((abs(a - b), min(a + b, 2.0 - a - b)))
                wide = bounds.with_sampling()
                inside = wide.low - 1e-12 <= interval.low <= interval.high <= wide.high + 1e-12
                assert inside or bounds.excludes(interval)  # what is impossible must be seen, not repaired
                if threshold == report.threshold:
                    assert inside


def test_where_groups_cannot_be_compared_there_are_no_bounds(measured: AuditResult) -> None:
    (checks,) = measured.checks
    selected = dataclasses.replace(checks, rows_were_selected=True)
    kept = dataclasses.replace(checks, kept=("age",))
    for changed in (selected, kept):
        other = dataclasses.replace(measured, checks=(changed,))
        assert other.report("ae").bounds_at(0.5) is None
        assert other.report("ae").evidence_at(0.5).bounds is None
    assert dataclasses.replace(measured, checks=()).report("ae").bounds_at(0.5) is None


def test_measuring_the_uncertainty_changes_nothing_else(mixed: AuditResult, tmp_path: Path) -> None:
    plain = run_audit(make_jobs(500, seed=3), ROLES, JOBS.replace(subsamples=0))
    assert plain.stability is None
    assert plain.report("pca").intervals is None
    assert plain.report("pca").model_error(0.0) is None
    assert plain.report("pca").plausible_changing_ratio(0.0) is None
    assert plain.report("pca").resampled is None
    for what in ("train", "factual", "counterfactual"):
        assert np.array_equal(getattr(plain.scores["pca"], what), getattr(mixed.scores["pca"], what))
    assert (plain.judges, mixed.judges) == (2, 4)
    first, second = (found.report("pca").metrics for found in (plain, mixed))
    assert dataclasses.asdict(first).items() >= {"flag_rate": second.flag_rate, "macro_f1": second.macro_f1}.items()
    assert first.changing_ratio == pytest.approx(second.changing_ratio, abs=0.02)
    assert plain.checks == mixed.checks
    assert "; the uncertainty was not measured." in plain.report("pca").verdict
    save_audit(plain, tmp_path)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("uncertainty")]
    text = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert text["uncertainty"] is None
    assert not {"intervals", "model_error"} & set(text["methods"]["pca"])
    assert summary(load_audit(tmp_path)) == summary(plain)


@pytest.mark.slow
def test_without_a_path_the_verdict_says_nothing_of_the_detector(tmp_path: Path) -> None:
    cut = Knowledge(forbidden=(("group", "schooling"), ("group", "income"), ("group", "debt")))
    found = run_audit(make_people(300, seed=4), ROLES, PCA.replace(knowledge=cut))
    sure = found.stability
    assert sure is not None
    assert sure.without_path == 4
    assert set(sure.reach.values()) == {0.0}
    assert [(cuts.edges, cuts.whole) for cuts in sure.edge_cuts] == [((), {"pca": 0.0})]
    assert found.report("pca").model_error(found.report("pca").threshold) == 0.0
    for twins in found.scores["pca"].judged:
        assert np.array_equal(twins[0], found.scores["pca"].factual)
    said = found.report("pca").verdict
    assert said.startswith("Not reliable: in the learned graph group affects nothing")
    assert "the graph has no path to income" in said  # the table contradicts what was forbidden
    assert said.endswith("None of 4 other graphs has a path either.")
    save_audit(found, tmp_path)
    assert summary(load_audit(tmp_path)) == summary(found)


class Calls:
    """Counts how often each function is called, and lets it work."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.monkeypatch, self.counted = monkeypatch, Counter[str]()

    def count(self, place: Any, name: str) -> None:
        original = getattr(place, name)

        def counting(*given: Any, **named: Any) -> Any:
            self.counted[name] += 1
            return original(*given, **named)

        self.monkeypatch.setattr(place, name, counting)


@pytest.mark.slow
def test_every_number_of_a_job_is_computed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the audit, its folder and the headline together; and reading a headline again costs nothing."""
    calls = Calls(monkeypatch)
    calls.count(report_module, "evaluate")
    calls.count(report_module, "ScoreCurve")
    calls.count(report_module, "verdict")
    calls.count(report_module, "ResampledScores")
    calls.count(ResampledScores, "at")
    calls.count(ResampledScores, "changing_ratio")
    calls.count(Stability, "model_error")
    methods = ("pca", "ae", "twin")
    result = run_audit(make_people(300, seed=0), ROLES, SUBSAMPLED.replace(methods=methods))
    save_audit(result, tmp_path / "audit")
    found = headline(result)
    once = len(methods)
    assert calls.counted == {
        "evaluate": once,
        "ScoreCurve": 4 * once,  # of all people, of each group, and of those with a plausible twin
        "verdict": once,
        "ResampledScores": once,
        "at": once,
        "changing_ratio": once + 2 * (once - 1),  # by each model also for the difference from AE
        "model_error": once,
    }
    assert headline(result) == found
    assert summary(result)["methods"]["ae"]["metrics"]["changing_ratio"] == found["ae"]["changing_ratio"]
    assert calls.counted["evaluate"] == once
    result.report("ae").verdict_at(result.report("ae").threshold + 1.0)
    assert calls.counted["evaluate"] == once + 1  # another threshold is another question


def test_at_its_own_threshold_every_way_to_ask_gives_the_same(measured: AuditResult) -> None:
    for method in AUDITED:
        found = measured.report(method)
        assert found.intervals is not None
        own, close = found.threshold, np.nextafter(found.threshold, np.inf)
        assert found.metrics_at(own) is found.metrics
        assert found.changing_ratio_interval(own) == found.intervals.changing_ratio
        if not ({own, close} & set(found.scores.factual)):  # nobody lies between the two
            assert found.changing_ratio_interval(close) == found.changing_ratio_interval(own)
            assert found.model_error(close) == found.model_error(own)
            assert found.metrics_at(close).changing_ratio == found.metrics.changing_ratio
