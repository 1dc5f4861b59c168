from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
import pytest
from safetensors.numpy import load_file, save_file

from cfad_core.audit.batches import measure_batch
from cfad_core.audit.folder import load_audit, save_audit, summary
from cfad_core.audit.history import append_batch, read_history
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.scoring import score_rows, twin_rows
from cfad_core.audit.stability_files import load_stability, save_stability
from cfad_core.causal.additive import AdditiveModel
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.detectors.registry import METHODS
from cfad_core.evaluation.edge_cuts import EdgeCuts
from tests.audit.older import write_older, write_two_groups
from tests.audit.worlds import AUDITED, PCA, QUICK, ROLES, codes, make_jobs, make_stability
from tests.conftest import make_people


def test_save_and_load_give_the_same_audit(result: AuditResult, tmp_path: Path) -> None:
    save_audit(result, tmp_path / "audit")
    again = load_audit(tmp_path / "audit")
    assert summary(again) == summary(result)
    table = make_people(40, seed=5)
    assert score_rows(again, table).equals(score_rows(result, table))
    assert twin_rows(again, table).rows.equals(twin_rows(result, table).rows)
    for whose in ("factual", "counterfactual", "judged", "row", "is_anomaly"):
        assert np.array_equal(getattr(again.people, whose), getattr(result.people, whose))
    assert again.people.truth is None
    for method, scores in result.scores.items():
        for what in ("train", "factual", "counterfactual", "judged"):
            assert np.array_equal(getattr(again.scores[method], what), getattr(scores, what))
    assert again.checks == result.checks
    assert not again.is_of_older_engine
    text = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert text["schema_version"] == 6
    assert text["methods"]["cfad"]["metrics"]["groups"]["a"]["n"] > 0


def test_damaged_audits_are_refused(result: AuditResult, tmp_path: Path) -> None:
    with pytest.raises(InvalidArtifactError, match=r"holds no audit: there is no audit\.json"):
        load_audit(tmp_path)
    save_audit(result, tmp_path)
    (tmp_path / "people.parquet").unlink()
    with pytest.raises(InvalidArtifactError, match="is damaged"):
        load_audit(tmp_path)
    save_audit(result, tmp_path)
    text = json.loads((tmp_path / "audit.json").read_text())
    (tmp_path / "audit.json").write_text(json.dumps(text | {"schema_version": 7}))
    with pytest.raises(InvalidArtifactError, match="schema version 7; this program reads 2 to 6"):
        load_audit(tmp_path)


def test_every_method_is_audited_saved_and_scores_again(everything: AuditResult, tmp_path: Path) -> None:
    assert tuple(everything.scores) == tuple(METHODS)
    save_audit(everything, tmp_path / "audit")
    again = load_audit(tmp_path / "audit")
    assert summary(again) == summary(everything)
    table = make_people(40, seed=5)
    scored = score_rows(everything, table)
    assert score_rows(again, table).equals(scored)
    assert {f"{method}_change" for method in METHODS} <= set(scored.columns)
    assert "kernel" in codes(everything)


@pytest.mark.slow
def test_a_messy_table_is_audited(tmp_path: Path) -> None:
    table = make_people(600, seed=7)
    rng = np.random.default_rng(0)
    sign = np.where(table["group"] == "b", 1.0, -1.0)
    table["job"] = np.where(sign + rng.normal(0, 1, 600) > 0.5, "clerk", rng.choice(["nurse", "smith"], 600))
    table["since"] = pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 600), unit="D")
    table["owner"] = rng.random(600) < 0.5
    table.loc[rng.random(600) < 0.1, "schooling"] = np.nan
    found = run_audit(table, ROLES, QUICK)
    assert "missing" in codes(found)
    assert "job" in found.model.affected_names
    edges = {(edge["cause"], edge["effect"]): edge["weight"] for edge in summary(found)["graph"]["edges"]}
    assert edges == found.model.edges()
    assert {name for edge in edges for name in edge} <= set(table.columns)
    twins = twin_rows(found, table).rows
    assert set(twins["job"]) <= {"clerk", "nurse", "smith"}
    assert (twins["job"] != table["job"]).any()
    save_audit(found, tmp_path)
    again = load_audit(tmp_path)
    assert summary(again) == summary(found)
    assert score_rows(again, table).equals(score_rows(found, table))


def test_names_of_methods_from_elsewhere_are_checked(result: AuditResult, tmp_path: Path) -> None:
    save_audit(result, tmp_path)
    text = json.loads((tmp_path / "audit.json").read_text())
    text["methods"]["![x](http://evil.example)"] = text["methods"]["ae"]
    (tmp_path / "audit.json").write_text(json.dumps(text))
    with pytest.raises(InvalidArtifactError, match=r"names an impossible method '!\[x\]\(http://evil\.example\)'"):
        load_audit(tmp_path)


def test_audit_json_holds_the_uncertainty(measured: AuditResult, tmp_path: Path) -> None:
    save_audit(measured, tmp_path / "audit")
    text = json.loads((tmp_path / "audit" / "audit.json").read_text(encoding="utf-8"))
    assert text["schema_version"] == 6
    assert text["config"]["bootstrap"] == 4
    assert tuple(text["methods"]) == AUDITED
    for method, found in text["methods"].items():
        assert set(found["intervals"]) == {"changing_ratio", "flag_rate_shift", "flag_rate_difference", "distance"}
        for one in found["intervals"].values():
            assert one["low"] <= one["high"]
        report = measured.report(method)
        assert found["model_error"] == report.model_error(report.threshold)
        assert found["changing_ratio_without_far"] == report.plausible_changing_ratio(report.threshold)
        assert found["verdict"] == report.verdict
        assert "had they belonged to the other group" in found["verdict"]
    assert measured.stability is not None
    assert text["uncertainty"]["graphs"] == 4
    assert text["judges"] == 4
    assert text["checks"]["kept"] == []
    assert text["uncertainty"] == json.loads(json.dumps(measured.stability.to_dict()))
    json.dumps(summary(measured), allow_nan=False)


@pytest.mark.parametrize("which", ["measured", "mixed"])
def test_save_and_load_give_the_same_uncertainty(which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found: AuditResult = request.getfixturevalue(which)
    save_audit(found, tmp_path / "audit")
    again = load_audit(tmp_path / "audit")
    assert summary(again) == summary(found)
    assert found.stability is not None
    assert again.stability is not None
    for method in found.scores:
        assert np.array_equal(again.scores[method].judged, found.scores[method].judged)
        assert np.array_equal(again.stability.returned[method], found.stability.returned[method])
        assert again.report(method).changing_ratio_interval(0.1) == found.report(method).changing_ratio_interval(0.1)
        assert again.report(method).intervals == found.report(method).intervals
        assert again.report(method).evidence_at(0.1) == found.report(method).evidence_at(0.1)
        assert again.report(method).verdict == found.report(method).verdict


def test_saving_over_an_audit_with_uncertainty_leaves_nothing_of_it(mixed: AuditResult, tmp_path: Path) -> None:
    save_audit(mixed, tmp_path / "audit")
    save_audit(dataclasses.replace(mixed, stability=None), tmp_path / "audit")
    assert load_audit(tmp_path / "audit").stability is None


def test_findings_that_follow_from_the_numbers_are_not_read_twice(tmp_path: Path) -> None:
    table = make_people(300, seed=4)
    table["fraud"] = np.where(np.random.default_rng(0).random(300) < 0.3, "yes", "no")  # labels that mean nothing
    found = run_audit(table, ROLES, QUICK.replace(methods=("pca",)))
    save_audit(found, tmp_path)
    again = load_audit(tmp_path)
    assert [finding.code for finding in found.findings].count("fair-because-useless") == 1
    assert [finding.code for finding in again.findings] == [finding.code for finding in found.findings]
    assert "fair-because-useless" not in {notice.code for notice in again.notices}


@pytest.mark.parametrize(
    "name", ["uncertainty.json", "uncertainty.safetensors", "judged.safetensors", "scm.json", "counterfactual.parquet"]
)
def test_an_audit_that_lost_a_part_is_damaged(mixed: AuditResult, tmp_path: Path, name: str) -> None:
    save_audit(mixed, tmp_path)
    (tmp_path / name).unlink()
    with pytest.raises(InvalidArtifactError, match="is damaged|Cannot read the causal model"):
        load_audit(tmp_path)


@pytest.mark.parametrize("empty", [False, True], ids=["with edges", "without a path"])
def test_save_and_load_keep_every_bit(tmp_path: Path, empty: bool) -> None:
    found = make_stability()
    if empty:
        nothing = EdgeCuts(400, (), {"ae": 0.0, "lof-2": 0.0}, {"ae": np.zeros(0), "lof-2": np.zeros(0)})
        found = dataclasses.replace(found, graphs=np.zeros((4, 3, 3)), edge_cuts=(nothing,))
    save_stability(found, tmp_path / "uncertainty")
    assert {path.name for path in tmp_path.iterdir()} == {"uncertainty.json", "uncertainty.safetensors"}
    again = load_stability(tmp_path / "uncertainty", judged=3)
    assert np.array_equal(again.graphs, found.graphs)
    for mine, theirs in (
        (found.returned_by_same, again.returned_by_same),
        (found.returned, again.returned),
        (found.edge_cuts[0].without, again.edge_cuts[0].without),
    ):
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[method], theirs[method]) for method in mine)
    for name in ("out_of_range", "between_levels", "distance", "far"):
        assert getattr(again.plausibility, name).dtype == getattr(found.plausibility, name).dtype
        assert np.array_equal(getattr(again.plausibility, name), getattr(found.plausibility, name))
    assert again.plausibility.real_median == found.plausibility.real_median
    np.testing.assert_array_equal(again.plausibility.usual, found.plausibility.usual)
    (own,), (cuts,) = found.edge_cuts, again.edge_cuts
    assert (cuts.people, cuts.edges, cuts.whole) == (own.people, own.edges, own.whole)
    assert np.array_equal(again.went, found.went)
    assert (again.variables, again.sensitive, again.seed) == (found.variables, found.sensitive, found.seed)
    assert again.to_dict() == found.to_dict()


@pytest.mark.parametrize(
    "spoil",
    [
        lambda arrays: arrays | {"people": arrays["people"] + 1000},
        lambda arrays: arrays | {"people": arrays["people"] - 1},
        lambda arrays: arrays | {"people": arrays["people"].astype(float)},
        lambda arrays: arrays | {"people": arrays["people"][1:]},
        lambda arrays: arrays | {"scores.pca": arrays["scores.pca"][1:]},
        lambda arrays: arrays | {"scores.pca": arrays["scores.pca"][:0]},
        lambda arrays: arrays | {"scores.pca": np.full_like(arrays["scores.pca"], np.nan)},
        lambda arrays: {"people": arrays["people"]},
    ],
)
def test_judges_of_another_audit_are_refused(mixed: AuditResult, tmp_path: Path, spoil: Any) -> None:
    save_audit(mixed, tmp_path)
    path = tmp_path / "judged.safetensors"
    save_file({name: np.ascontiguousarray(array) for name, array in spoil(load_file(path)).items()}, path)
    with pytest.raises(InvalidArtifactError, match="does not belong to the audit|is damaged"):
        load_audit(tmp_path)


@pytest.fixture(scope="module")
def scaled() -> AuditResult:
    """As older programs had it: all columns divided by one factor."""
    return run_audit(make_people(400, seed=0), ROLES, QUICK.replace(scaling="raw", methods=("ae", "cfad", "twin")))


@pytest.fixture(scope="module")
def scaled_and_measured() -> AuditResult:
    return run_audit(make_people(400, seed=0), ROLES, PCA.replace(scaling="raw"))


@pytest.mark.slow
@pytest.mark.parametrize("schema", [2, 3, 4])
def test_audits_of_an_older_engine_are_read(scaled: AuditResult, tmp_path: Path, schema: Literal[2, 3, 4]) -> None:
    """Their twins are additive; the one judge's twins give the number; and the reader is told."""
    older = write_older(scaled, tmp_path, schema)
    again = load_audit(tmp_path)
    assert again.is_of_older_engine
    assert "older-engine" in codes(again)
    assert isinstance(again.model, AdditiveModel)
    assert (again.judges, again.checks, again.stability) == (1, (), None)
    assert np.array_equal(again.people.counterfactual, older.twins)
    assert np.array_equal(again.people.judged, np.arange(100))
    people = pd.read_parquet(tmp_path / "people.parquet")
    for method in ("ae", "cfad", "twin"):
        report, scores = again.report(method), again.scores[method]
        assert np.array_equal(scores.counterfactual, people[f"{method}_counterfactual"])
        assert np.array_equal(scores.judged, people[f"{method}_independent"].to_numpy()[None, None, :])
        flagged = scores.factual > report.threshold
        expected = (flagged != (people[f"{method}_independent"].to_numpy() > report.threshold)).mean()
        assert report.metrics.changing_ratio == pytest.approx(expected)
        assert (report.intervals, report.bounds_at(report.threshold)) == (None, None)
        assert report.evidence_at(report.threshold).additive
    table = make_people(400, seed=0).iloc[again.people.row]
    scored = score_rows(again, table)
    np.testing.assert_allclose(scored["ae_score"], scaled.scores["ae"].factual)
    np.testing.assert_allclose(scored["ae_score_counterfactual"], again.scores["ae"].counterfactual)
    assert set(np.unique(scored["ae_change"])) <= {0.0, 1.0}
    twins = twin_rows(again, table).rows
    assert len(twins) == 100
    batch = measure_batch(again, table)  # of its own model: judges were not saved
    assert (batch.judges, batch.fit, batch.alarm) == (0, None, None)
    found = batch.comparisons[0].methods["ae"]
    assert found.changing_ratio == pytest.approx(scored["ae_change"].mean())
    assert found.interval is None
    append_batch(tmp_path, batch)
    assert read_history(tmp_path) == [batch]
    as_a, own = twin_rows(again, table, {"group": "a"}).rows, table["group"] == "a"
    assert as_a[own].equals(table[own])
    assert as_a[~own].equals(twins[~own])


def assert_the_same_audit(again: AuditResult, result: AuditResult) -> None:
    """To the last bit."""
    assert summary(again) == summary(result)
    for whose in ("factual", "twins", "judged", "row", "is_anomaly"):
        assert np.array_equal(getattr(again.people, whose), getattr(result.people, whose))
    for method, scores in result.scores.items():
        for what in ("train", "factual", "twins", "judged"):
            assert np.array_equal(getattr(again.scores[method], what), getattr(scores, what))
    assert again.checks == result.checks
    assert (again.stability is None) == (result.stability is None)
    if again.stability is None or result.stability is None:
        return
    for name in ("variables", "sensitive", "seed"):
        assert getattr(again.stability, name) == getattr(result.stability, name)
    for name in ("graphs", "went"):
        assert np.array_equal(getattr(again.stability, name), getattr(result.stability, name))
    for name in ("out_of_range", "between_levels", "distance", "real_median", "usual"):
        mine, theirs = getattr(again.stability.plausibility, name), getattr(result.stability.plausibility, name)
        assert np.array_equal(mine, theirs)
    for mine, theirs in (
        (again.stability.returned, result.stability.returned),
        (again.stability.returned_by_same, result.stability.returned_by_same),
        *((a.without, b.without) for a, b in zip(again.stability.edge_cuts, result.stability.edge_cuts, strict=True)),
    ):
        assert mine.keys() == theirs.keys()
        assert all(np.array_equal(mine[method], theirs[method]) for method in mine)
    for one, other in zip(again.stability.edge_cuts, result.stability.edge_cuts, strict=True):
        assert (one.people, one.edges, one.whole) == (other.people, other.edges, other.whole)


@pytest.mark.slow
@pytest.mark.parametrize("which", ["result", "mixed"])
def test_audits_of_two_groups_of_one_attribute_are_read(
    which: str, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    """Schema 5 knew no more; nothing of such an audit is different."""
    found: AuditResult = request.getfixturevalue(which)
    write_two_groups(found, tmp_path)
    again = load_audit(tmp_path)
    assert not again.is_of_older_engine
    assert again.encoding == found.encoding
    assert_the_same_audit(again, found)
    table = make_jobs(40, seed=5)
    assert score_rows(again, table).equals(score_rows(found, table))
    assert twin_rows(again, table).rows.equals(twin_rows(found, table).rows)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("change", "names"),
    [
        ({"groups": ("a",)}, ("a", "not a")),
        ({"sensitive": "schooling", "cut": 0.5, "ignore": ("group",)}, ("under 0.5", "0.5 or more")),
    ],
)
def test_one_against_all_and_cut_points_of_older_audits_are_read(
    change: dict[str, Any], names: tuple[str, str], tmp_path: Path
) -> None:
    found = run_audit(make_people(300, seed=6), dataclasses.replace(ROLES, **change), QUICK.replace(methods=("pca",)))
    write_two_groups(found, tmp_path)
    again = load_audit(tmp_path)
    assert again.encoding.group_names(0) == names
    assert_the_same_audit(again, found)


def test_saved_again_an_older_audit_is_a_new_folder(scaled: AuditResult, tmp_path: Path) -> None:
    write_older(scaled, tmp_path / "old", 4)
    again = load_audit(tmp_path / "old")
    save_audit(again, tmp_path / "new")
    newer = load_audit(tmp_path / "new")
    assert json.loads((tmp_path / "new" / "audit.json").read_text(encoding="utf-8"))["schema_version"] == 6
    assert newer.is_of_older_engine
    assert summary(newer) == summary(again)
    assert [finding.code for finding in newer.findings].count("older-engine") == 1
    table = make_people(20, seed=1)
    assert score_rows(newer, table).equals(score_rows(again, table))


def test_the_uncertainty_of_an_older_engine_is_read(scaled_and_measured: AuditResult, tmp_path: Path) -> None:
    """The models of its subsamples are its judges, one twin each; nothing was drawn on the way back."""
    write_older(scaled_and_measured, tmp_path, 4)
    again = load_audit(tmp_path)
    assert again.is_of_older_engine
    assert again.judges == 4
    assert again.stability is not None
    assert again.stability.returned_by_same == {}
    report, scores = again.report("pca"), again.scores["pca"]
    assert scores.judged.shape == (4, 1, 100)
    assert report.intervals is not None
    assert report.intervals.changing_ratio is not None
    flagged = scores.factual > report.threshold
    expected = (flagged != (scores.judged > report.threshold)).mean()
    assert report.metrics.changing_ratio == pytest.approx(expected)
    assert report.model_error(report.threshold) is not None
    save_audit(again, tmp_path / "new")
    assert summary(load_audit(tmp_path / "new")) == summary(again)
