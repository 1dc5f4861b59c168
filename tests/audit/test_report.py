from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from cfad_core.audit.folder import load_audit, save_audit, summary
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.config import Knowledge
from cfad_core.evaluation.intervals import ResampledScores
from tests.audit.worlds import AUDITED, JOBS, PCA, ROLES, make_jobs
from tests.conftest import make_people


def test_numbers_come_from_the_worlds(measured: AuditResult) -> None:
    sure = measured.stability
    assert sure is not None
    for method in AUDITED:
        report, scores = measured.report(method), measured.scores[method]
        threshold = report.threshold
        expected = ResampledScores(scores.factual, sure.worlds[method], measured.people.factual[:, 0], seed=0)
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
    for world in sure.worlds["pca"]:
        assert np.array_equal(world, found.scores["pca"].factual)
    said = found.report("pca").verdict
    assert said.startswith("No path from group: in the learned graph it affects nothing")
    assert said.endswith("nothing about PCA. None of 4 other graphs sees a path either.")
    save_audit(found, tmp_path)
    assert summary(load_audit(tmp_path)) == summary(found)
