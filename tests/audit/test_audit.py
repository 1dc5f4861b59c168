from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit, stages
from cfad_core.core.config import (
    METHODS,
    OURS,
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    DiscoveryConfig,
    FairodConfig,
    Knowledge,
    preset,
)
from cfad_core.core.errors import AuditCancelled, InvalidArtifactError, InvalidConfigError, InvalidDataError
from cfad_core.core.progress import Share
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import generate_synthetic
from cfad_core.detectors.adapter import ForeignDetector
from tests.conftest import Recorder, make_people

QUICK = AuditConfig(bootstrap=0, detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64))
SMALL = BaselineConfig(
    iforest_trees=10,
    dcfod=DcfodConfig(widths=(16, 16), code_size=4, epochs=1),
    fairod=FairodConfig(steps=20, candidates=((0.5, 0.1),)),
)
EVERYTHING = dataclasses.replace(QUICK, methods=METHODS, baselines=SMALL)
ROLES = ColumnRoles("group", label="fraud", anomaly="yes")


def codes(result: AuditResult) -> set[str]:
    return {notice.code for notice in result.notices}


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return run_audit(make_people(600, seed=0), ROLES, QUICK)


def test_an_audit_holds_what_pages_show(result: AuditResult) -> None:
    assert len(result.people.row) == 150
    assert result.n_train == 450
    assert tuple(result.scores) == OURS
    signs = result.people.factual[:, 0]
    sizes = {"a": int((signs < 0.0).sum()), "b": int((signs > 0.0).sum())}
    assert {name: int(rows.sum()) for name, rows in result.groups.items()} == sizes
    assert min(sizes.values()) > 30
    assert sum(sizes.values()) == 150
    assert "income" in result.scm.affected_names
    for method in OURS:
        metrics = result.metrics(method)
        assert metrics.n == 150
        assert metrics.macro_f1 is not None
        assert len(result.quantile_curve(method)) == 9
        densities = result.densities(method)
        assert set(densities.density) == {"a", "a (counterfactual)", "b", "b (counterfactual)"}
    assert len(result.data_digest) == 64
    assert result.versions["torch"]
    assert {"discovery", "autoencoder", "fair fine-tuning", "evaluation"} == set(result.seconds)


def test_counterfactuals_differ_and_the_twin_is_scored_alike(result: AuditResult) -> None:
    people = result.people
    assert (people.counterfactual[:, 0] == -people.factual[:, 0]).all()
    table = make_people(50, seed=3)
    found = result.counterfactuals(table, clip=False)
    twins = found.rows
    assert found.clipped == {}
    moved = (twins["income"] - table["income"]) * np.where(table["group"] == "a", 1.0, -1.0)
    np.testing.assert_allclose(moved, 3.0, atol=0.5)  # income = 1.5 S + ...: the flip moves it by 3
    twin = result.scores["twin"]
    assert np.array_equal(twin.factual, twin.counterfactual)
    assert result.metrics("twin").changing_ratio == 0.0
    assert not np.array_equal(twin.factual, twin.independent)


def test_the_judge_is_independent(result: AuditResult) -> None:
    assert result.judge is not None
    assert not np.array_equal(result.judge.weights, result.scm.weights)
    assert result.summary()["judge"] == "independent SCM"


def test_the_sensitive_column_is_never_scored(result: AuditResult) -> None:
    """Flipping the group alone, with nothing else moved, changes no score of AE and CFAD."""
    table = make_people(50, seed=3)
    flipped = table.assign(group=np.where(table["group"] == "a", "b", "a"))
    first, second = result.score(table), result.score(flipped)
    for method in ("ae", "cfad"):
        assert first[f"{method}_score"].equals(second[f"{method}_score"])


def test_save_and_load_give_the_same_audit(result: AuditResult, tmp_path: Path) -> None:
    result.save(tmp_path / "audit")
    again = AuditResult.load(tmp_path / "audit")
    assert again.summary() == result.summary()
    table = make_people(40, seed=5)
    assert again.score(table).equals(result.score(table))
    assert again.counterfactuals(table).rows.equals(result.counterfactuals(table).rows)
    for world in ("factual", "counterfactual", "independent"):
        assert np.array_equal(getattr(again.people, world), getattr(result.people, world))
    text = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert text["schema_version"] == 4
    assert text["methods"]["cfad"]["metrics"]["groups"]["a"]["n"] > 0


def test_damaged_audits_are_refused(result: AuditResult, tmp_path: Path) -> None:
    with pytest.raises(InvalidArtifactError, match=r"holds no audit: there is no audit\.json"):
        AuditResult.load(tmp_path)
    result.save(tmp_path)
    (tmp_path / "people.parquet").unlink()
    with pytest.raises(InvalidArtifactError, match="is damaged"):
        AuditResult.load(tmp_path)
    result.save(tmp_path)
    text = json.loads((tmp_path / "audit.json").read_text())
    (tmp_path / "audit.json").write_text(json.dumps(text | {"schema_version": 7}))
    with pytest.raises(InvalidArtifactError, match="schema version 7; this program reads 2 and 3 and 4"):
        AuditResult.load(tmp_path)


def test_the_same_seed_gives_the_same_audit(result: AuditResult) -> None:
    again = run_audit(make_people(600, seed=0), ROLES, QUICK)
    for method in OURS:
        for world in ("train", "factual", "counterfactual", "independent"):
            assert np.array_equal(getattr(again.scores[method], world), getattr(result.scores[method], world))
    other = run_audit(make_people(600, seed=0), ROLES, dataclasses.replace(QUICK, seed=1))
    assert not np.array_equal(other.scores["ae"].train, result.scores["ae"].train)


def test_the_table_is_left_as_it_was() -> None:
    table = make_people(300, seed=1)
    before = table.copy()
    run_audit(table, ROLES, QUICK)
    pd.testing.assert_frame_equal(table, before)


def test_without_labels_it_still_works() -> None:
    table = make_people(400, seed=2).drop(columns="fraud")
    found = run_audit(table, ColumnRoles("group"), QUICK)
    metrics, scores, threshold = found.metrics("cfad"), found.scores["cfad"], found.threshold("cfad")
    flagged = scores.factual > threshold
    assert metrics.flag_rate == flagged.mean() > 0.0
    assert metrics.changing_ratio == ((scores.counterfactual > threshold) != flagged).mean()
    assert metrics.macro_f1 is None
    assert metrics.auc_roc is None
    assert found.n_train_normal == found.n_train
    assert "no-labels" in codes(found)
    json.dumps(found.summary(), allow_nan=False)


def test_the_detector_learns_from_normal_rows_only(result: AuditResult) -> None:
    assert result.n_train_normal < result.n_train
    assert len(result.scores["ae"].train) == result.n_train_normal
    assert len(result.scores["cfad"].train) == 2 * result.n_train_normal  # its threshold comes from both worlds


def test_true_counterfactuals_are_the_judge() -> None:
    data = generate_synthetic(4, n_train=800, n_test_normal=200, n_test_anomaly=40)
    roles = ColumnRoles("S", label="label", anomaly="1")
    truth = data.test_counterfactual
    found = run_audit(data.train, roles, QUICK, test=data.test, test_counterfactual=truth)
    assert found.judge is None
    assert found.encoding.scaling == "raw"
    assert np.array_equal(found.people.independent, found.encoding.encode(truth))
    assert {"scaling", "selected-rows"} <= codes(found)
    with pytest.raises(InvalidDataError, match="must match the test table row by row; they have 239 rows"):
        run_audit(data.train, roles, QUICK, test=data.test, test_counterfactual=truth[1:])
    with pytest.raises(InvalidDataError, match="every person must belong to the other group"):
        run_audit(data.train, roles, QUICK, test=data.test, test_counterfactual=data.test)
    with pytest.raises(InvalidDataError, match="True counterfactuals need the test table"):
        run_audit(data.train, roles, QUICK, test_counterfactual=truth)


def test_a_graph_without_a_path_is_said_loudly() -> None:
    table = make_people(400, seed=4)
    cut = Knowledge(forbidden=(("group", "schooling"), ("group", "income"), ("group", "debt")))
    found = run_audit(table, ROLES, dataclasses.replace(QUICK, knowledge=cut))
    assert found.metrics("ae").changing_ratio == 0.0
    assert {"no-path-from-sensitive", "no-path-in-judge"} <= codes(found)


@pytest.mark.parametrize("unit", [1e-3, 1.0, 1e4])
def test_the_unit_of_measurement_does_not_matter(unit: float) -> None:
    table = make_people(1500, seed=4)
    table[["schooling", "income", "debt"]] *= unit
    found = run_audit(table, ROLES, QUICK)
    assert found.encoding.scaling == "raw"
    edges = {(found.scm.names[j], found.scm.names[i]) for j, i in np.argwhere(found.scm.weights != 0)}
    assert {("group", "income"), ("schooling", "income"), ("income", "debt")} <= edges
    assert ("debt", "income") not in edges


def test_an_absurd_cell_does_not_break_the_audit() -> None:
    table = make_people(400, seed=4)
    test = make_people(100, seed=5)
    test.loc[3, "debt"] = 1e21
    found = run_audit(table, ROLES, QUICK, test=test)
    assert np.isfinite(found.scores["ae"].factual).all()
    assert found.scores["ae"].factual.argmax() == 3


def test_knowledge_that_leaves_no_edge_gives_an_empty_graph() -> None:
    roots = Knowledge(roots=("schooling", "income", "debt"))
    found = run_audit(make_people(300, seed=4), ROLES, dataclasses.replace(QUICK, knowledge=roots))
    assert not found.scm.weights.any()
    assert "no-path-from-sensitive" in codes(found)


def test_a_mistyped_anomaly_value_is_refused() -> None:
    with pytest.raises(InvalidDataError, match="No cell of the label column 'fraud' is 'Yes'; it holds 'no', 'yes'"):
        run_audit(make_people(300, seed=4), dataclasses.replace(ROLES, anomaly="Yes"), QUICK)


def test_a_test_table_may_lack_what_is_ignored_but_nothing_else() -> None:
    table = make_people(300, seed=4).assign(id=1)
    roles = dataclasses.replace(ROLES, ignore=("id",))
    test = make_people(100, seed=5)
    assert len(run_audit(table, roles, QUICK, test=test).people.row) == 100
    with pytest.raises(InvalidDataError, match="The test table lacks columns of the training table: income"):
        run_audit(table, roles, QUICK, test=test.drop(columns="income"))


def test_useless_detectors_are_called_out() -> None:
    table = make_people(2000, seed=4)
    table["fraud"] = np.where(np.random.default_rng(0).random(2000) < 0.3, "yes", "no")  # labels that mean nothing
    found = run_audit(table, ROLES, QUICK)
    assert "fair-because-useless" in codes(found)


def test_rows_outside_the_groups_are_left_out_and_counted() -> None:
    table = make_people(500, seed=6)
    table.loc[table.index[:40], "group"] = "c"
    found = run_audit(table, dataclasses.replace(ROLES, groups=("b", "a")), QUICK)
    assert found.n_train + len(found.people.row) == 460
    notice = next(notice for notice in found.notices if notice.code == "rows-outside-groups")
    assert notice.message == "40 of 500 rows are left out: their 'group' is neither 'b' nor 'a'."
    assert found.encoding.groups == ("b", "a")
    with pytest.raises(InvalidDataError, match="40 of 500 rows have a 'group' that is neither 'b' nor 'a'"):
        found.score(table)


def test_everything_that_is_wrong_is_told_at_once() -> None:
    table = make_people(300, seed=8).assign(who=[f"person {k}" for k in range(300)], empty=np.nan)
    table.loc[5, "debt"] = np.inf
    with pytest.raises(InvalidDataError) as caught:
        run_audit(table, dataclasses.replace(ROLES, anomaly="Yes"), QUICK)
    assert [line.split("'")[1] for line in str(caught.value).splitlines()] == ["fraud", "debt", "who", "empty"]


@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"groups": ("a",)}, ("a", "not a")),
        ({"sensitive": "years", "cut": 40.0, "ignore": ("group",)}, ("under 40", "40 or more")),
    ],
)
def test_one_against_all_and_cut_points(change: dict, names: tuple[str, str]) -> None:
    table = make_people(500, seed=6)
    table["years"] = np.where(table["group"] == "a", 30, 50) + np.random.default_rng(0).integers(0, 10, 500)
    table.loc[table["income"] > 2.0, "group"] = "c"
    found = run_audit(table, dataclasses.replace(ROLES, **change), QUICK)
    assert found.encoding.groups == names
    assert found.n_train + len(found.people.row) == 500
    twins = found.counterfactuals(table).rows
    assert len(found.score(twins)) == 500  # counterfactual rows can be scored like any others
    assert json.loads(json.dumps(found.summary()))["roles"]["cut"] == change.get("cut")


def test_columns_may_be_numbered() -> None:
    table = make_people(300, seed=8)
    table.columns = [0, 1, 2, 3, 4]
    found = run_audit(table, ColumnRoles("0", label="4", anomaly="yes"), QUICK)
    assert found.encoding.names == ("0", "1", "2", "3")


def test_unknown_categories_of_test_rows_are_told() -> None:
    table = make_people(300, seed=8).assign(job=["x", "y", "z"] * 100)
    test = make_people(100, seed=9).assign(job=["x", "new"] * 50)
    found = run_audit(table, ROLES, QUICK, test=test)
    notice = next(notice for notice in found.notices if notice.code == "unknown-categories")
    assert notice.message.startswith("50 test rows have a 'job' that training rows do not")


def test_a_messy_table_is_audited(tmp_path: Path) -> None:
    table = make_people(600, seed=7)
    rng = np.random.default_rng(0)
    sign = np.where(table["group"] == "b", 1.0, -1.0)
    table["job"] = np.where(sign + rng.normal(0, 1, 600) > 0.5, "clerk", rng.choice(["nurse", "smith"], 600))
    table["since"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 600), unit="D")
    table["owner"] = rng.random(600) < 0.5
    table.loc[rng.random(600) < 0.1, "schooling"] = np.nan
    found = run_audit(table, ROLES, QUICK)
    assert {"missing", "scaling"} <= codes(found)
    assert "job" in found.scm.affected_names
    edges = {(edge["cause"], edge["effect"]): edge["weight"] for edge in found.summary()["graph"]["edges"]}
    assert edges == found.scm.edges()
    assert {name for edge in edges for name in edge} <= set(table.columns)
    twins = found.counterfactuals(table).rows
    assert set(twins["job"]) <= {"clerk", "nurse", "smith"}
    assert (twins["job"] != table["job"]).any()
    found.save(tmp_path)
    again = AuditResult.load(tmp_path)
    assert again.summary() == found.summary()
    assert again.score(table).equals(found.score(table))


def test_oddities_become_notices() -> None:
    table = make_people(300, seed=7).assign(same=1.0)
    found = run_audit(table, ROLES, QUICK)
    assert {"constant", "few-rows", "scaling"} <= codes(found)
    normal = table[table["fraud"] == "no"]
    assert "one-test-label" in codes(run_audit(table, ROLES, QUICK, test=normal))


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda t: t.assign(group="a"), "has 1 value \\('a'\\). There is nobody to compare with"),
        (lambda t: t.assign(debt=t["debt"].where(t["debt"] > 0, np.inf)), "Column 'debt' has [0-9]+ infinite cells"),
        (
            lambda t: t.assign(who=[f"person {k}" for k in range(len(t))]),
            "'who' looks like names or free text \\(300 values in 300 rows\\)",
        ),
        (lambda t: t[:120], "There are 90 training rows; at least 100 are needed"),
        (lambda t: pd.concat([t[t["group"] == "a"], t[t["group"] == "b"][:20]]), "Group 'b' of 'group' has 20 rows"),
        (lambda t: pd.concat([t[t["group"] == "a"], t[t["group"] == "b"][:32]]), "Group 'b' has 24 training rows"),
        (lambda t: t.assign(fraud="yes"), "All 300 rows to learn from are anomalies by 'fraud'"),
        (lambda t: t.assign(fraud=t["fraud"].where(t["income"] > 0)), "'fraud' has .* missing cells"),
    ],
)
def test_tables_that_cannot_be_audited_are_refused(spoil, message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        run_audit(spoil(make_people(300, seed=8)), ROLES, QUICK)


@pytest.mark.parametrize(
    "stage", ["discovery", "refit", "judge: discovery", "judge: refit", "autoencoder", "fair fine-tuning", "evaluation"]
)
def test_every_stage_can_be_cancelled(stage: str) -> None:
    recorder = Recorder(stop_in=stage)
    with pytest.raises(AuditCancelled, match=f"during '{stage}'"):
        run_audit(make_people(300, seed=9), ROLES, QUICK, recorder)
    assert recorder.heard[-1][0] == stage


def test_progress_tells_every_stage(people: pd.DataFrame) -> None:
    recorder = Recorder()
    run_audit(people, ROLES, QUICK, recorder)
    judged = ["judge: discovery", "judge: refit"]
    assert recorder.stages() == ["discovery", "refit", *judged, "autoencoder", "fair fine-tuning", "evaluation"]
    shares = stages(QUICK, knows_truth=False)
    assert set(recorder.stages()) <= set(shares)
    share = Share(shares)
    done = [share.after(stage, step, total) for stage, step, total, _ in recorder.heard]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)
    for _, step, total, _ in recorder.heard:
        assert 0 <= step <= total
    discovery = [values for stage, _, _, values in recorder.heard if stage == "discovery"]
    assert {"loss", "h", "edges"} <= set(discovery[-1])
    assert discovery[-1]["h"] < 1e-6


def test_the_paper_preset_runs() -> None:
    config = preset(
        "paper",
        bootstrap=4,
        detector=dataclasses.replace(preset("paper").detector, width=16, epochs=2, fair_epochs=1),
        discovery=DiscoveryConfig(mode="paper", batch_size=128, rounds=3, steps_per_round=30, decoder_steps=50),
    )
    found = run_audit(make_people(400, seed=10), ROLES, config)
    assert found.scm.slope is None  # by the graph autoencoder every column acts through f
    assert found.uncertainty is not None
    assert found.uncertainty.graphs.shape == (4, 4, 4)
    assert "bootstrap-joint" in codes(found)  # the graph autoencoder would take too long


@pytest.fixture(scope="module")
def everything() -> AuditResult:
    return run_audit(make_people(500, seed=4), ROLES, EVERYTHING)


def test_every_method_is_audited_saved_and_scores_again(everything: AuditResult, tmp_path: Path) -> None:
    assert tuple(everything.scores) == METHODS
    everything.save(tmp_path / "audit")
    again = AuditResult.load(tmp_path / "audit")
    assert again.summary() == everything.summary()
    table = make_people(40, seed=5)
    scored = everything.score(table)
    assert again.score(table).equals(scored)
    assert {f"{method}_flip" for method in METHODS} <= set(scored.columns)
    assert "kernel" in codes(everything)


@pytest.mark.slow
def test_stages_follow_the_methods(people: pd.DataFrame) -> None:
    recorder = Recorder()
    run_audit(people, ROLES, EVERYTHING, recorder)
    fits = ["pca", "ocsvm", "iforest", "autoencoder", "dcfod", "fairod", "fair fine-tuning"]
    assert [stage for stage in recorder.stages() if stage in fits] == fits
    assert set(recorder.stages()) <= set(stages(EVERYTHING, knows_truth=False))
    assert list(stages(dataclasses.replace(QUICK, methods=("pca",)), knows_truth=True)) == [
        "discovery",
        "edge selection",
        "refit",
        "pca",
        "evaluation",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("stage", ["pca", "ocsvm", "iforest", "dcfod", "fairod"])
def test_every_baseline_can_be_cancelled(people: pd.DataFrame, stage: str) -> None:
    with pytest.raises(AuditCancelled, match=stage):
        run_audit(people, ROLES, EVERYTHING, Recorder(stop_in=stage))


@pytest.mark.slow
def test_methods_are_the_same_alone_and_together(everything: AuditResult) -> None:
    for methods in (("pca", "dcfod"), ("twin",)):
        alone = run_audit(make_people(500, seed=4), ROLES, dataclasses.replace(EVERYTHING, methods=methods))
        assert tuple(alone.scores) == methods
        for method in methods:
            assert np.array_equal(alone.scores[method].factual, everything.scores[method].factual)


def test_other_libraries_detectors_are_audited(tmp_path: Path) -> None:
    from sklearn.ensemble import IsolationForest
    from sklearn.neighbors import LocalOutlierFactor

    foreign = {"lof": LocalOutlierFactor(novelty=True), "forest": IsolationForest(random_state=0)}
    pca = dataclasses.replace(QUICK, methods=("pca",))
    found = run_audit(make_people(500, seed=4), ROLES, pca, detectors=foreign)
    assert tuple(found.scores) == ("pca", "lof", "forest")
    assert found.metrics("lof").auc_roc > 0.8
    assert found.metrics("forest").auc_roc > 0.8
    assert "foreign-detector" in codes(found)
    assert "lof_score" in found.score(make_people(10, seed=1)).columns
    found.save(tmp_path / "audit")
    again = AuditResult.load(tmp_path / "audit")
    assert again.summary() == found.summary()
    assert list(again.score(make_people(10, seed=1)).columns)[::4] == ["pca_score"]
    for name in ("twin", "PCA", "OC-SVM", "evaluation", "a b", "www.x", ""):
        with pytest.raises(InvalidConfigError, match="needs a name of letters"):
            run_audit(make_people(500, seed=4), ROLES, pca, detectors={name: LocalOutlierFactor(novelty=True)})


class Ranker:
    """Ranks the rows it is given among each other."""

    def fit(self, x: np.ndarray) -> Ranker:
        return self

    def score_samples(self, x: np.ndarray) -> np.ndarray:
        return np.argsort(np.argsort(x[:, 0])) / len(x)


def test_detectors_that_look_at_the_company_are_told() -> None:
    pca = dataclasses.replace(QUICK, methods=("pca",))
    found = run_audit(
        make_people(500, seed=4), ROLES, pca, detectors={"ranker": ForeignDetector(Ranker(), high_means="anomalous")}
    )
    assert "not-row-by-row" in codes(found)


def test_names_of_methods_from_elsewhere_are_checked(result: AuditResult, tmp_path: Path) -> None:
    result.save(tmp_path)
    text = json.loads((tmp_path / "audit.json").read_text())
    text["methods"]["![x](http://evil.example)"] = text["methods"]["ae"]
    (tmp_path / "audit.json").write_text(json.dumps(text))
    with pytest.raises(InvalidArtifactError, match="names a method"):
        AuditResult.load(tmp_path)


def test_fairod_without_its_losses_is_told(everything: AuditResult) -> None:
    assert "fairod-base" not in codes(everything)
    base = dataclasses.replace(SMALL, fairod=FairodConfig(steps=5, candidates=()))
    config = dataclasses.replace(EVERYTHING, methods=("fairod",), baselines=base)
    assert "fairod-base" in codes(run_audit(make_people(500, seed=4), ROLES, config))


def test_what_is_left_to_the_data_is_told(result: AuditResult) -> None:
    assert (result.detector.inputs, result.detector.fairness_weight, result.detector.twin) == ("variance", 1.0, "mean")
    assert result.config.detector.twin is None
    table = make_people(500, seed=6)
    job = np.where((table["group"] == "b") ^ (np.arange(500) % 5 == 0), "clerk", "smith")
    mixed = run_audit(table.assign(job=job), ROLES, QUICK)
    assert "job" in mixed.scm.affected_names
    assert (mixed.detector.inputs, mixed.detector.fairness_weight, mixed.detector.twin) == ("range", 0.5, "min")
    given = QUICK.with_detector(inputs="variance", fairness_weight=2.0, twin="max")
    chosen = run_audit(table.assign(job=job), ROLES, given).detector
    assert (chosen.inputs, chosen.fairness_weight, chosen.twin) == ("variance", 2.0, "max")


def test_audits_of_the_version_before_are_read(result: AuditResult, tmp_path: Path) -> None:
    result.save(tmp_path)
    text = json.loads((tmp_path / "audit.json").read_text())
    del text["detector"]  # its inputs had the same variance
    del text["config"]["methods"], text["config"]["baselines"], text["config"]["detector"]["inputs"]
    text["config"]["detector"] |= {"twin": "mean", "fairness_weight": 1.0}
    (tmp_path / "audit.json").write_text(json.dumps(text | {"schema_version": 2}))
    again = AuditResult.load(tmp_path)
    table = make_people(20, seed=1)
    assert again.score(table).equals(result.score(table))


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
    cfad = next(point for point in found.quantile_curve("cfad") if point["quantile"] == 0.99)
    twin = next(point for point in found.quantile_curve("twin") if point["quantile"] == 0.995)
    assert cfad["macro_f1"] > 0.95
    assert cfad["changing_ratio_independent"] < 0.20
    assert twin["macro_f1"] > 0.95
    assert twin["changing_ratio_independent"] < 0.05
