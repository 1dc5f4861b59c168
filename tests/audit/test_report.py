from __future__ import annotations

import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from cfad_core.audit import report, stability
from cfad_core.audit.folder import load_audit, save_audit, summary
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.stability import Stability
from cfad_core.core.config import Knowledge
from cfad_core.evaluation.intervals import ResampledScores
from cfad_core.runs.model import headline
from tests.audit.worlds import AUDITED, JOBS, PCA, ROLES, SUBSAMPLED, make_jobs
from tests.conftest import make_people


def test_numbers_come_from_the_worlds(measured: AuditResult) -> None:
    sure = measured.stability
    assert sure is not None
    for method in AUDITED:
        report, scores = measured.report(method), measured.scores[method]
        threshold = report.threshold
        expected = ResampledScores(scores.factual, sure.twin_scores[method], measured.people.factual[:, 0], seed=0)
        assert report.intervals == expected.at(threshold)
        assert report.changing_ratio_interval(2.0 * threshold) == expected.at(2.0 * threshold).changing_ratio
        assert report.model_error(threshold) == sure.model_error(method, scores.factual, threshold)
        near = ~sure.plausibility.far
        flips = (scores.factual > threshold) != (scores.counterfactual > threshold)
        assert report.plausible_changing_ratio(threshold) == pytest.approx(flips[near].mean())
        assert sure.edge_cuts.whole[method] == pytest.approx(flips.mean())  # no categories, nobody left out
    assert measured.report("ae").metrics.changing_ratio == pytest.approx(sure.edge_cuts.whole["ae"])
    assert sure.edge_cuts.whole["twin"] == 0.0


def test_the_evidence_is_that_of_the_method(measured: AuditResult) -> None:
    report, sure = measured.report("ae"), measured.stability
    found = report.evidence_at(report.threshold)
    assert sure is not None
    assert report.intervals is not None
    metrics = report.metrics
    assert (found.method, found.sensitive, found.has_path) == ("AE", "group", True)
    assert (found.changing_ratio, found.changing_ratio_independent) == (
        metrics.changing_ratio,
        metrics.changing_ratio_independent,
    )
    assert (found.flag_rate, found.auc_roc) == (metrics.flag_rate, metrics.auc_roc)
    assert found.interval == report.intervals.changing_ratio
    assert found.model_error == report.model_error(report.threshold)
    assert (found.graphs, found.graphs_without_path) == (4, sure.without_path)
    assert found.carrier == sure.edge_cuts.carrier("ae")
    assert found.implausible == sure.plausibility.far.mean()
    assert measured.report("lof").evidence_at(0.0).method == "lof"
    elsewhere = report.evidence_at(1e9)
    assert (elsewhere.flag_rate, elsewhere.model_error, elsewhere.carrier) == (0.0, 0.0, None)
    assert "Fair because useless" in report.verdict_at(1e9)
    assert report.verdict == report.verdict_at(report.threshold)


def test_measuring_the_uncertainty_changes_nothing_else(mixed: AuditResult, tmp_path: Path) -> None:
    plain = run_audit(make_jobs(500, seed=3), ROLES, JOBS.replace(subsamples=0))
    assert plain.stability is None
    assert plain.report("pca").intervals is None
    assert plain.report("pca").model_error(0.0) is None
    assert plain.report("pca").plausible_changing_ratio(0.0) is None
    assert plain.report("pca").resampled is None
    assert plain.report("pca").metrics == mixed.report("pca").metrics
    assert np.array_equal(plain.scores["pca"].independent, mixed.scores["pca"].independent)
    assert plain.report("pca").verdict.endswith("the uncertainty was not measured.")
    save_audit(plain, tmp_path)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("uncertainty")]
    text = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert text["uncertainty"] is None
    assert not {"intervals", "placebo_floor"} & set(text["methods"]["pca"])
    assert summary(load_audit(tmp_path)) == summary(plain)


def test_without_a_path_the_verdict_says_nothing_of_the_detector(tmp_path: Path) -> None:
    cut = Knowledge(forbidden=(("group", "schooling"), ("group", "income"), ("group", "debt")))
    found = run_audit(make_people(300, seed=4), ROLES, PCA.replace(knowledge=cut))
    sure = found.stability
    assert sure is not None
    assert sure.without_path == 4
    assert set(sure.reach.values()) == {0.0}
    assert sure.edge_cuts.edges == ()
    assert sure.edge_cuts.whole == {"pca": 0.0}
    assert found.report("pca").model_error(found.report("pca").threshold) == 0.0
    for world in sure.twin_scores["pca"]:
        assert np.array_equal(world, found.scores["pca"].factual)
    said = found.report("pca").verdict
    assert said.startswith("No path from group: in the learned graph it affects nothing")
    assert said.endswith("nothing about PCA. None of 4 other graphs sees a path either.")
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


def test_every_number_of_a_job_is_computed_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """By the audit, its folder and the headline together; and reading a headline again costs nothing."""
    calls = Calls(monkeypatch)
    calls.count(report, "evaluate")
    calls.count(report, "ScoreCurve")
    calls.count(report, "verdict")
    calls.count(stability, "ResampledScores")
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
        "ScoreCurve": 4 * once,  # by the own model, by the judge, and of each group
        "verdict": once,
        "ResampledScores": once,
        "at": once,
        "changing_ratio": once,
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
