"""How sure an audit is, from the table to the folder."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.neighbors import LocalOutlierFactor

from cfad_core.audit.notices import result_notices
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit, stages
from cfad_core.core.config import AuditConfig, DetectorConfig, DiscoveryConfig, Knowledge
from cfad_core.core.errors import AuditCancelled, InvalidArtifactError, InvalidConfigError
from cfad_core.core.progress import Progress, Share
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import generate_synthetic
from cfad_core.evaluation.intervals import ResampledScores
from tests.conftest import Recorder, make_people

CONFIG = AuditConfig(bootstrap=4, detector=DetectorConfig(width=8, epochs=2, fair_epochs=1, batch_size=64))
PCA = dataclasses.replace(CONFIG, methods=("pca",))
JOBS = dataclasses.replace(PCA, knowledge=Knowledge(tiers=(("group",), ("job",), ("schooling", "income"), ("debt",))))
ROLES = ColumnRoles("group", label="fraud", anomaly="yes")
METHODS = ("ae", "cfad", "twin", "lof")


def make_jobs(n: int, seed: int) -> pd.DataFrame:
    """People with a job that the group has a say in."""
    table = make_people(n, seed)
    rng = np.random.default_rng(seed)
    likely = rng.random(n) < np.where(table["group"] == "b", 0.8, 0.3)
    return table.assign(job=np.where(likely, "clerk", rng.choice(["nurse", "smith"], n)))


@pytest.fixture(scope="module")
def result() -> AuditResult:
    detectors = {"lof": LocalOutlierFactor(novelty=True)}
    return run_audit(make_people(400, seed=0), ROLES, CONFIG, detectors=detectors)


@pytest.fixture(scope="module")
def mixed() -> AuditResult:
    return run_audit(make_jobs(500, seed=3), ROLES, JOBS)


def test_every_method_is_judged_by_every_graph(result: AuditResult) -> None:
    sure = result.uncertainty
    assert sure is not None
    assert sure.graphs.shape == (4, 4, 4)
    assert sure.variables == ("group", "schooling", "income", "debt")
    assert sure.sensitive == "group"
    assert tuple(sure.worlds) == tuple(sure.returned) == METHODS
    for method in METHODS:
        assert sure.worlds[method].shape == (4, 100)
        assert sure.returned[method].shape == (2, 100)
    assert sure.reach["income"] == 1.0
    assert len(sure.validity.distance) == 100
    assert ("group", "income") in sure.what_if.edges
    assert "uncertainty" in result.seconds


def test_numbers_come_from_the_worlds(result: AuditResult) -> None:
    sure = result.uncertainty
    assert sure is not None
    for method in METHODS:
        scores, threshold = result.scores[method], result.threshold(method)
        expected = ResampledScores(scores.factual, sure.worlds[method], result.people.factual[:, 0], seed=0)
        assert result.intervals(method) == expected.at(threshold)
        assert result.intervals(method, 2.0 * threshold) == expected.at(2.0 * threshold)
        assert result.floor(method) == sure.floor(method, scores.factual, threshold)
        near = ~sure.validity.far
        flips = (scores.factual > threshold) != (scores.counterfactual > threshold)
        assert result.changing_ratio_of_near(method) == pytest.approx(flips[near].mean())
        assert sure.what_if.whole[method] == pytest.approx(flips.mean())  # no categories, nobody left out
    assert result.metrics("ae").changing_ratio == pytest.approx(sure.what_if.whole["ae"])
    assert sure.what_if.whole["twin"] == 0.0


def test_graphs_score_with_the_audits_own_detectors(result: AuditResult) -> None:
    """Twins by the own model, drawn by ``what_if`` with every edge, are those of the audit; here one graph by hand."""
    sure = result.uncertainty
    assert sure is not None
    assert not result.draws_categories
    score = result.detectors["ae"].anomaly_score
    here = result.scores["ae"].factual
    np.testing.assert_array_equal(score(result.people.factual[:, 1:]), here)
    for world in sure.worlds["ae"]:
        assert not np.array_equal(world, here)
        assert np.corrcoef(world, result.scores["ae"].counterfactual)[0, 1] > 0.8  # all found much the same graph


def test_audit_json_tells_how_sure_it_is(result: AuditResult, tmp_path: Path) -> None:
    result.save(tmp_path / "audit")
    text = json.loads((tmp_path / "audit" / "audit.json").read_text(encoding="utf-8"))
    assert text["schema_version"] == 4
    assert text["config"]["bootstrap"] == 4
    assert tuple(text["methods"]) == METHODS
    for method, found in text["methods"].items():
        assert set(found["intervals"]) == {"changing_ratio", "flag_rate_shift", "flag_rate_difference", "distance"}
        for one in found["intervals"].values():
            assert one["low"] <= one["median"] <= one["high"]
        assert found["placebo_floor"] == result.floor(method)
        assert found["changing_ratio_without_far"] == result.changing_ratio_of_near(method)
        assert found["verdict"] == result.verdict(method)
        assert "had they belonged to the other group" in found["verdict"]
    assert text["uncertainty"]["graphs"] == 4
    assert text["uncertainty"]["people"] == 100
    assert text["uncertainty"] == json.loads(json.dumps(result.uncertainty.summary() if result.uncertainty else None))
    json.dumps(result.summary(), allow_nan=False)


@pytest.mark.parametrize("which", ["result", "mixed"])
def test_save_and_load_give_the_same_sureness(which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found: AuditResult = request.getfixturevalue(which)
    found.save(tmp_path / "audit")
    again = AuditResult.load(tmp_path / "audit")
    assert again.summary() == found.summary()
    assert found.uncertainty is not None
    assert again.uncertainty is not None
    for method in found.scores:
        assert np.array_equal(again.uncertainty.worlds[method], found.uncertainty.worlds[method])
        assert again.intervals(method, 0.1) == found.intervals(method, 0.1)
        assert again.evidence(method) == found.evidence(method)


def test_the_evidence_is_that_of_the_method(result: AuditResult) -> None:
    found, sure = result.evidence("ae"), result.uncertainty
    assert sure is not None
    metrics, at = result.metrics("ae"), result.intervals("ae")
    assert at is not None
    assert (found.method, found.sensitive, found.has_path) == ("AE", "group", True)
    assert (found.changing_ratio, found.changing_ratio_independent) == (
        metrics.changing_ratio,
        metrics.changing_ratio_independent,
    )
    assert (found.flag_rate, found.auc_roc) == (metrics.flag_rate, metrics.auc_roc)
    assert found.interval == at.changing_ratio
    assert (found.floor, found.graphs, found.graphs_without_path) == (result.floor("ae"), 4, sure.without_path)
    assert found.carrier == sure.what_if.carrier("ae")
    assert found.far == sure.validity.far.mean()
    assert result.evidence("lof").method == "lof"
    elsewhere = result.evidence("ae", 1e9)
    assert (elsewhere.flag_rate, elsewhere.floor) == (0.0, 0.0)
    assert "Fair because useless" in result.verdict("ae", 1e9)


def test_the_same_seed_gives_the_same_sureness(mixed: AuditResult) -> None:
    again = run_audit(make_jobs(500, seed=3), ROLES, JOBS)
    assert again.uncertainty is not None
    assert mixed.uncertainty is not None
    assert np.array_equal(again.uncertainty.graphs, mixed.uncertainty.graphs)
    assert np.array_equal(again.uncertainty.worlds["pca"], mixed.uncertainty.worlds["pca"])
    assert again.uncertainty.summary() == mixed.uncertainty.summary()
    assert again.intervals("pca") == mixed.intervals("pca")


def test_asking_how_sure_it_is_changes_nothing_else(mixed: AuditResult, tmp_path: Path) -> None:
    plain = run_audit(make_jobs(500, seed=3), ROLES, dataclasses.replace(JOBS, bootstrap=0))
    assert plain.uncertainty is None
    assert plain.intervals("pca") is None
    assert plain.floor("pca") is None
    assert plain.changing_ratio_of_near("pca") is None
    assert plain.resampled("pca") is None
    assert plain.metrics("pca") == mixed.metrics("pca")
    assert np.array_equal(plain.scores["pca"].independent, mixed.scores["pca"].independent)
    assert plain.verdict("pca").endswith("how sure that is was not measured.")
    plain.save(tmp_path)
    assert not [path.name for path in tmp_path.iterdir() if path.name.startswith("uncertainty")]
    text = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    assert text["uncertainty"] is None
    assert not {"intervals", "placebo_floor"} & set(text["methods"]["pca"])
    assert AuditResult.load(tmp_path).summary() == plain.summary()


def test_saving_over_a_surer_audit_leaves_nothing_of_it(mixed: AuditResult, tmp_path: Path) -> None:
    mixed.save(tmp_path / "audit")
    dataclasses.replace(mixed, uncertainty=None).save(tmp_path / "audit")
    assert AuditResult.load(tmp_path / "audit").uncertainty is None


@pytest.mark.parametrize(
    ("bootstrap", "message"),
    [
        (1, r"'bootstrap' must be 0 or an even number from 4 on \(graphs come in pairs\); got 1\."),
        (2, r"'bootstrap' must be 0 or an even number from 4 on \(graphs come in pairs\); got 2\."),
        (7, r"'bootstrap' must be 0 or an even number from 4 on \(graphs come in pairs\); got 7\."),
        (-4, "'bootstrap' must lie between 0 and 200; got -4"),
        (-3, "'bootstrap' must .*; got -3"),
        (1002, "'bootstrap' must lie between 0 and 200; got 1002"),
    ],
)
def test_numbers_of_graphs_that_are_refused(bootstrap: int, message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        dataclasses.replace(CONFIG, bootstrap=bootstrap)


def test_settings_from_before_ask_for_no_graphs() -> None:
    values = AuditConfig().to_dict()
    assert AuditConfig.from_dict(values).bootstrap == 20
    del values["bootstrap"]
    assert AuditConfig.from_dict(values).bootstrap == 0
    with pytest.raises(InvalidConfigError, match=r"'config\.bootstrap' must be of type int; got 4\.5"):
        AuditConfig.from_dict(values | {"bootstrap": 4.5})


def test_audits_of_schema_3_are_read(result: AuditResult, tmp_path: Path) -> None:
    result.save(tmp_path)
    text = json.loads((tmp_path / "audit.json").read_text(encoding="utf-8"))
    del text["uncertainty"], text["config"]["bootstrap"]
    for method in text["methods"].values():
        for key in ("verdict", "intervals", "placebo_floor", "changing_ratio_without_far"):
            del method[key]
    (tmp_path / "audit.json").write_text(json.dumps(text | {"schema_version": 3}), encoding="utf-8")
    (tmp_path / "uncertainty.json").unlink()
    (tmp_path / "uncertainty.safetensors").unlink()
    again = AuditResult.load(tmp_path)
    assert again.uncertainty is None
    assert again.config.bootstrap == 0
    assert again.metrics("cfad") == result.metrics("cfad")
    assert again.verdict("cfad").endswith("how sure that is was not measured.")
    again.save(tmp_path / "new")
    assert AuditResult.load(tmp_path / "new").summary() == again.summary()


@pytest.mark.parametrize("name", ["uncertainty.json", "uncertainty.safetensors"])
def test_an_audit_that_lost_a_part_is_damaged(mixed: AuditResult, tmp_path: Path, name: str) -> None:
    mixed.save(tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InvalidArtifactError, match="is damaged"):
        AuditResult.load(tmp_path)


def test_without_a_path_the_verdict_says_nothing_of_the_detector(tmp_path: Path) -> None:
    cut = Knowledge(forbidden=(("group", "schooling"), ("group", "income"), ("group", "debt")))
    found = run_audit(make_people(300, seed=4), ROLES, dataclasses.replace(PCA, knowledge=cut))
    sure = found.uncertainty
    assert sure is not None
    assert sure.without_path == 4
    assert set(sure.reach.values()) == {0.0}
    assert sure.what_if.edges == ()
    assert sure.what_if.whole == {"pca": 0.0}
    assert found.floor("pca") == 0.0
    for world in sure.worlds["pca"]:
        assert np.array_equal(world, found.scores["pca"].factual)
    said = found.verdict("pca")
    assert said.startswith("No path from group: in the learned graph it affects nothing")
    assert said.endswith("nothing about PCA. None of 4 other graphs sees a path either.")
    found.save(tmp_path)
    assert AuditResult.load(tmp_path).summary() == found.summary()


def test_graphs_are_looked_for_with_the_audits_settings() -> None:
    """Weaker edges than the strongest are dropped here: one edge is left; and what is forbidden is so everywhere."""
    config = dataclasses.replace(
        PCA, discovery=DiscoveryConfig(prune=1.0), knowledge=Knowledge(forbidden=(("group", "income"),))
    )
    sure = run_audit(make_people(300, seed=4), ROLES, config).uncertainty
    assert sure is not None
    assert [int(np.count_nonzero(graph)) for graph in sure.graphs] == [1, 1, 1, 1]
    assert sure.edge_frequency[0, 2] == 0.0


@pytest.mark.slow
def test_true_counterfactuals_do_not_keep_it_from_asking() -> None:
    data = generate_synthetic(4, n_train=300, n_test_normal=80, n_test_anomaly=20)
    roles = ColumnRoles("S", label="label", anomaly="1")
    recorder = Recorder()
    found = run_audit(data.train, roles, PCA, recorder, test=data.test, test_counterfactual=data.test_counterfactual)
    assert found.uncertainty is not None
    assert found.uncertainty.worlds["pca"].shape == (4, 100)
    heard = [stage for stage in recorder.stages() if stage in ("evaluation", "subsample models", "how sure")]
    assert heard == ["evaluation", "subsample models", "how sure"]


def test_stages_and_progress() -> None:
    shares = stages(PCA, knows_truth=False)
    assert list(shares)[-3:] == ["evaluation", "subsample models", "how sure"]
    assert (shares["subsample models"], shares["how sure"]) == (8.0, 2.0)  # by the graph
    assert "subsample models" not in stages(dataclasses.replace(PCA, bootstrap=0), knows_truth=False)
    recorder = Recorder()
    run_audit(make_people(200, seed=9), ROLES, PCA, recorder)
    assert recorder.stages()[-3:] == ["evaluation", "subsample models", "how sure"]
    assert set(recorder.stages()) <= set(shares)
    share = Share(shares)
    done = [share.after(stage, step, total) for stage, step, total, _ in recorder.heard]
    assert done == sorted(done)
    assert done[-1] == pytest.approx(1.0)
    places = [list(shares).index(stage) for stage, *_ in recorder.heard]
    assert places == sorted(places)  # no stage is heard of again after the next
    for stage in ("subsample models", "how sure"):
        steps = [(step, total) for heard, step, total, _ in recorder.heard if heard == stage]
        assert steps == sorted(steps)
        assert steps[-1][0] == steps[-1][1]


@pytest.mark.parametrize("stage", ["subsample models", "how sure"])
def test_the_new_stages_can_be_cancelled(stage: str) -> None:
    recorder = Recorder(stop_in=stage)
    with pytest.raises(AuditCancelled, match=f"during '{stage}'"):
        run_audit(make_people(200, seed=9), ROLES, PCA, recorder)
    assert [heard for heard, *_ in recorder.heard].count(stage) == 1


class Later(Progress):
    """Asks to stop the n-th time it is asked after it first heard of a stage."""

    def __init__(self, stage: str, n: int) -> None:
        self.stage, self.left, self.last = stage, n, ""

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        self.last = stage

    def stop_requested(self) -> bool:
        self.left -= self.last == self.stage
        return self.left < 0


@pytest.mark.parametrize("n", [1, 2, 4])
def test_who_stops_it_in_the_middle_of_a_stage_hears_that_stage(n: int) -> None:
    """Not that of the scoring, which is over by then."""
    with pytest.raises(AuditCancelled, match="during 'how sure'"):
        run_audit(make_people(200, seed=9), ROLES, PCA, Later("how sure", n))


def test_a_detectors_name_is_not_that_of_a_stage() -> None:
    """Its time would be overwritten by the time that it took to tell how sure the audit is."""
    with pytest.raises(InvalidConfigError, match="needs a name of letters"):
        run_audit(make_people(200, seed=9), ROLES, PCA, detectors={"uncertainty": LocalOutlierFactor(novelty=True)})


def test_categories_of_twins_are_drawn(mixed: AuditResult) -> None:
    sure = mixed.uncertainty
    assert sure is not None
    assert mixed.draws_categories
    assert sure.reach["job"] == 1.0
    assert sure.variables.count("job") == 1
    assert ("group", "job") in sure.what_if.edges
    assert sure.validity.between_levels.mean() > 0.3  # the own twins are nobody


def test_a_ratio_that_drawn_categories_contradict_is_told(mixed: AuditResult) -> None:
    sure, own = mixed.uncertainty, mixed.metrics("pca").changing_ratio
    assert sure is not None
    assert own is not None
    assert own > 0.0

    def told(worlds: np.ndarray, **changes: object) -> list[str]:
        other = dataclasses.replace(mixed, uncertainty=dataclasses.replace(sure, worlds={"pca": worlds}), **changes)
        return [notice.message for notice in result_notices(other) if notice.code == "own-outside-interval"]

    nobody = np.tile(mixed.scores["pca"].factual, (4, 1))
    found = told(np.full_like(nobody, 1e9))
    assert len(found) == 1
    assert f"the outcome changes for {100 * own:.1f} %, by graphs whose categories are drawn for" in found[0]
    assert told(np.tile(mixed.scores["pca"].counterfactual, (400, 1))) == []
    numbers = dataclasses.replace(mixed.scm, weights=np.zeros_like(mixed.scm.weights))
    assert told(np.full_like(nobody, 1e9), scm=numbers) == []  # there is no category to draw
    twin = dataclasses.replace(
        mixed,
        scores={"twin": mixed.scores["pca"]},
        uncertainty=dataclasses.replace(sure, worlds={"twin": np.full_like(nobody, 1e9)}),
    )
    assert "own-outside-interval" not in {notice.code for notice in result_notices(twin)}  # its own ratio is always 0
