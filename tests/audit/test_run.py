from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import LocalOutlierFactor

from cfad_core.audit.estimate import stages
from cfad_core.audit.folder import load_audit, save_audit, summary
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.scoring import score_rows
from cfad_core.causal.additive import AdditiveModel
from cfad_core.core.config import DEFAULT_METHODS, AuditConfig, DiscoveryConfig, Knowledge, preset
from cfad_core.core.errors import AuditCancelled, InvalidConfigError
from cfad_core.core.progress import DoneShare
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import generate_synthetic
from cfad_core.detectors.rank import RankDetector
from tests.audit.worlds import EVERYTHING, PCA, QUICK, ROLES, codes
from tests.conftest import Recorder, make_people

STAGES = [
    *("preparation", "discovery", "mechanisms", "autoencoder", "fair fine-tuning", "surprise"),
    *("subsample models", "judging", "evaluation", "checks", "slices"),
]


def test_an_audit_holds_what_pages_show(result: AuditResult) -> None:
    assert len(result.people.row) == 150
    assert result.provenance.n_train == 450
    assert tuple(result.scores) == DEFAULT_METHODS
    signs = result.people.factual[:, 0]
    sizes = {"a": int((signs < 0.0).sum()), "b": int((signs > 0.0).sum())}
    assert {name: int(rows.sum()) for name, rows in result.groups.items()} == sizes
    assert min(sizes.values()) > 30
    assert sum(sizes.values()) == 150
    assert "income" in result.model.affected_names
    for method in DEFAULT_METHODS:
        metrics = result.report(method).metrics
        assert metrics.n == 150
        assert metrics.macro_f1 is not None
        assert len(result.report(method).quantile_curve) == 9
        densities = result.report(method).densities()
        assert set(densities.density) == {"a", "a (counterfactual)", "b", "b (counterfactual)"}
    assert len(result.provenance.data_digest) == 64
    assert result.provenance.versions["torch"]
    assert list(result.provenance.seconds) == [
        *("discovery", "tuning model", "autoencoder", "fair fine-tuning", "surprise"),
        *("subsamples", "evaluation", "checks", "slices"),
    ]


def test_the_judges_are_independent(result: AuditResult) -> None:
    """Two models of the two halves of the rows, eight twins each; none of them is the audit's own."""
    assert result.judges == 2
    assert summary(result)["judge"] == "causal models of other rows"
    for scores in result.scores.values():
        assert scores.judged.shape == (16, 1, 150)
        assert len({twins.tobytes() for twins in (*scores.judged, scores.counterfactual)}) > 2
        first, second = scores.judged[:8], scores.judged[8:]
        assert not np.array_equal(first, second)
    assert np.array_equal(result.people.judged, np.arange(150))


@pytest.mark.slow
def test_the_same_seed_gives_the_same_audit(result: AuditResult) -> None:
    again = run_audit(make_people(600, seed=0), ROLES, QUICK)
    for method in DEFAULT_METHODS:
        for world in ("train", "factual", "counterfactual", "judged"):
            assert np.array_equal(getattr(again.scores[method], world), getattr(result.scores[method], world))
    other = run_audit(make_people(600, seed=0), ROLES, QUICK.replace(seed=1))
    assert not np.array_equal(other.scores["ae"].train, result.scores["ae"].train)


@pytest.mark.slow
def test_without_labels_it_still_works() -> None:
    table = make_people(400, seed=2).drop(columns="fraud")
    found = run_audit(table, ColumnRoles("group"), QUICK)
    metrics, scores, threshold = found.report("cfad").metrics, found.scores["cfad"], found.report("cfad").threshold
    flagged = scores.factual > threshold
    assert metrics.flag_rate == flagged.mean() > 0.0
    assert metrics.changing_ratio == pytest.approx(((scores.judged > threshold) != flagged).mean())
    assert metrics.macro_f1 is None
    assert metrics.auc_roc is None
    assert found.provenance.n_train_normal == found.provenance.n_train
    assert "no-labels" in codes(found)
    json.dumps(summary(found), allow_nan=False)


@pytest.mark.slow
@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_the_unit_of_measurement_does_not_matter(unit: float) -> None:
    table = make_people(1500, seed=4)
    table[["schooling", "income", "debt"]] *= unit
    found = run_audit(table, ROLES, QUICK)
    assert found.encoding.scaling == "own"
    edges = found.model.edges()
    assert {("group", "income"), ("schooling", "income"), ("income", "debt")} <= set(edges)
    assert ("debt", "income") not in edges
    moved = (found.people.counterfactual - found.people.factual)[:, 2] * -found.people.factual[:, 0] / unit
    assert np.median(moved) == pytest.approx(3.0, abs=0.2)


@pytest.mark.slow
def test_an_absurd_cell_does_not_break_the_audit() -> None:
    table = make_people(400, seed=4)
    test = make_people(100, seed=5)
    test.loc[3, "debt"] = 1e21
    found = run_audit(table, ROLES, QUICK, test=test)
    assert np.isfinite(found.scores["ae"].factual).all()
    assert found.scores["ae"].factual.argmax() == 3


def test_knowledge_that_leaves_no_edge_gives_an_empty_graph() -> None:
    roots = Knowledge(roots=("schooling", "income", "debt"))
    found = run_audit(make_people(300, seed=4), ROLES, QUICK.replace(knowledge=roots))
    assert found.model.edges() == {}
    assert np.array_equal(found.people.counterfactual[:, 1:], found.people.factual[:, 1:])
    assert "no-path-from-sensitive" in codes(found)


@pytest.mark.slow
@pytest.mark.parametrize("stage", STAGES)
def test_every_stage_can_be_cancelled(stage: str) -> None:
    recorder = Recorder(stop_in=stage)
    with pytest.raises(AuditCancelled, match=f"during '{stage}'"):
        run_audit(make_people(300, seed=9), ROLES, QUICK, recorder)
    assert recorder.heard[-1][0] == stage


@pytest.mark.slow
def test_progress_reports_every_stage(people: pd.DataFrame) -> None:
    recorder = Recorder()
    run_audit(people, ROLES, QUICK, recorder)
    assert recorder.stages() == STAGES
    shares = stages(QUICK, knows_truth=False)
    assert set(recorder.stages()) <= set(shares)
    share = DoneShare(shares)
    done = [share.after(stage, step, total) for stage, step, total, _ in recorder.heard]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)
    for _, step, total, _ in recorder.heard:
        assert 0 <= step <= total
    shared = [values for stage, _, _, values in recorder.heard if stage == "discovery" and values]
    assert {"loss", "h", "edges"} <= set(shared[-1])  # these columns share a scale
    assert shared[-1]["h"] < 1e-6


def test_the_paper_preset_runs(tmp_path: Path) -> None:
    config = preset(
        "paper",
        subsamples=4,
        detector=preset("paper").detector.replace(width=16, epochs=2, fair_epochs=1),
        discovery=DiscoveryConfig(mode="paper", batch_size=128, rounds=3, steps_per_round=30, decoder_steps=50),
    )
    recorder = Recorder()
    found = run_audit(make_people(400, seed=10), ROLES, config, recorder)
    assert isinstance(found.model, AdditiveModel)
    assert found.model.slope is None  # by the graph autoencoder every column acts through f
    assert "additive-twins" in codes(found)
    assert "older-engine" not in codes(found)  # the paper's way was asked for
    assert not found.is_of_older_engine
    assert (found.stability, found.checks, found.judges) == (None, (), 1)  # it would take too long
    judged = ["judge: discovery", "judge: refit"]
    rest = ["autoencoder", "fair fine-tuning", "surprise", "judging", "evaluation", "slices"]
    assert (
        recorder.stages()
        == ["preparation", "discovery", "refit", *judged, *rest]
        == list(stages(config, knows_truth=False))
    )
    report = found.report("cfad")
    assert (report.intervals, report.bounds_at(report.threshold)) == (None, None)
    evidence = report.evidence_at(report.threshold)
    assert evidence.additive
    assert "additive" in report.verdict
    save_audit(found, tmp_path)
    again = load_audit(tmp_path)
    assert summary(again) == summary(found)
    assert not again.is_of_older_engine
    table = make_people(20, seed=1)
    assert score_rows(again, table).equals(score_rows(found, table))


@pytest.mark.slow
def test_stages_follow_the_methods(people: pd.DataFrame) -> None:
    recorder = Recorder()
    run_audit(people, ROLES, EVERYTHING, recorder)
    fits = ["pca", "ocsvm", "iforest", "autoencoder", "dcfod", "fairod", "fairad", "fair fine-tuning"]
    assert [stage for stage in recorder.stages() if stage in fits] == fits
    assert set(recorder.stages()) <= set(stages(EVERYTHING, knows_truth=False))
    assert list(stages(QUICK.replace(methods=("pca",)), knows_truth=True)) == [
        *("preparation", "discovery", "mechanisms", "pca"),
        *("judging", "evaluation", "checks", "slices"),
    ]


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["pca", "ocsvm", "iforest", "dcfod", "fairod", "fairad"])
def test_every_baseline_can_be_cancelled(people: pd.DataFrame, stage: str) -> None:
    with pytest.raises(AuditCancelled, match=stage):
        run_audit(people, ROLES, EVERYTHING, Recorder(stop_in=stage))


@pytest.mark.slow
def test_methods_are_the_same_alone_and_together(everything: AuditResult) -> None:
    for methods in (("pca", "dcfod"), ("twin",)):
        alone = run_audit(make_people(500, seed=4), ROLES, EVERYTHING.replace(methods=methods))
        assert tuple(alone.scores) == methods
        for method in methods:
            assert np.array_equal(alone.scores[method].factual, everything.scores[method].factual)


@pytest.mark.slow
def test_other_libraries_detectors_are_audited(tmp_path: Path) -> None:
    from sklearn.ensemble import IsolationForest
    from sklearn.neighbors import LocalOutlierFactor

    foreign = {"lof": LocalOutlierFactor(novelty=True), "forest": IsolationForest(random_state=0)}
    pca = QUICK.replace(methods=("pca",))
    found = run_audit(make_people(500, seed=4), ROLES, pca, detectors=foreign)
    assert tuple(found.scores) == ("pca", "lof", "forest")
    assert (found.report("lof").metrics.auc_roc or 0.0) > 0.8
    assert (found.report("forest").metrics.auc_roc or 0.0) > 0.8
    assert "foreign-detector" in codes(found)
    assert "lof_score" in score_rows(found, make_people(10, seed=1)).columns
    save_audit(found, tmp_path / "audit")
    again = load_audit(tmp_path / "audit")
    assert summary(again) == summary(found)
    parts = ("score", "flag", "score_counterfactual", "change", "reasons")
    assert list(score_rows(again, make_people(10, seed=1)).columns) == [f"pca_{part}" for part in parts]
    for name in ("twin", "PCA", "OC-SVM", "evaluation", "ae-rank", "AE-rank", "ocsvm-Rank", "a b", "www.x", ""):
        with pytest.raises(InvalidConfigError, match="needs a name of letters"):
            run_audit(make_people(500, seed=4), ROLES, pca, detectors={name: LocalOutlierFactor(novelty=True)})


@pytest.mark.slow
def test_scores_of_other_libraries_are_ranked(tmp_path: Path) -> None:
    config, foreign = QUICK.replace(methods=("pca", "lof-rank")), {"lof": LocalOutlierFactor(novelty=True)}
    found = run_audit(make_people(500, seed=4), ROLES, config, detectors=foreign)
    assert tuple(found.scores) == ("pca", "lof-rank", "lof")
    rank, base = found.detectors["lof-rank"], found.detectors["lof"]
    assert isinstance(rank, RankDetector)
    assert rank.base is rank.explained_by is base
    scores = found.scores["lof-rank"].factual
    assert np.array_equal(scores, rank.score_people(found.people.factual))
    for rows in found.groups.values():  # of either group in the order of the base
        order = np.argsort(found.scores["lof"].factual[rows], kind="stable")
        assert (np.diff(scores[rows][order]) >= 0.0).all()
    assert "lof-rank_score" in score_rows(found, make_people(10, seed=1)).columns
    save_audit(found, tmp_path / "audit")
    again = load_audit(tmp_path / "audit")
    assert summary(again) == summary(found)
    assert set(again.detectors) == {"pca"}  # neither it nor its rank is saved
    for methods, given in ((("pca", "xyz-rank"), foreign), (("pca", "lof-rank"), {})):
        with pytest.raises(InvalidConfigError, match=rf"^Unknown method: {methods[1]}\. Known: pca, "):
            run_audit(make_people(200, seed=4), ROLES, QUICK.replace(methods=methods), detectors=given)


def test_a_detectors_name_is_not_that_of_a_stage() -> None:
    """Its time would be overwritten by the time that it took to tell uncertainty the audit is."""
    with pytest.raises(InvalidConfigError, match="needs a name of letters"):
        run_audit(make_people(200, seed=9), ROLES, PCA, detectors={"uncertainty": LocalOutlierFactor(novelty=True)})


@pytest.mark.slow
def test_what_is_left_to_the_data_is_reported(result: AuditResult) -> None:
    assert (result.settings.inputs, result.settings.fairness_weight, result.settings.twin) == ("variance", 1.0, "mean")
    assert result.config.detector.twin is None
    table = make_people(500, seed=6)
    job = np.where((table["group"] == "b") ^ (np.arange(500) % 5 == 0), "clerk", "smith")
    mixed = run_audit(table.assign(job=job), ROLES, QUICK)
    assert "job" in mixed.model.affected_names
    assert (mixed.settings.inputs, mixed.settings.fairness_weight, mixed.settings.twin) == ("range", 0.5, "mean")
    given = QUICK.with_detector(inputs="variance", fairness_weight=2.0, twin="max")
    chosen = run_audit(table.assign(job=job), ROLES, given).settings
    assert (chosen.inputs, chosen.fairness_weight, chosen.twin) == ("variance", 2.0, "max")


@pytest.mark.slow
def test_the_synthetic_bars_are_met() -> None:
    """One seed of what docs/METHOD.md reports for five."""
    data = generate_synthetic(4)
    found = run_audit(
        data.train,
        ColumnRoles("S", label="label", anomaly="1"),
        AuditConfig(seed=4),
        test=data.test,
        test_counterfactual=data.test_counterfactual,
    )
    for method, quantile, most in (("cfad", 0.99, 0.20), ("twin", 0.995, 0.05)):
        point = next(point for point in found.report(method).quantile_curve if point["quantile"] == quantile)
        assert point["macro_f1"] is not None
        assert point["changing_ratio"] is not None
        assert point["macro_f1"] > 0.95
        assert point["changing_ratio"] < most
