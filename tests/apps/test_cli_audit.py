"""inspect, audit, score, counterfactuals, synthesize and demo, as a user types them."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.apps import cli
from cfad_core.audit.folder import load_audit
from cfad_core.core.config import DEFAULT_METHODS, AuditConfig
from cfad_core.data.sets.demo import generate_demo
from cfad_core.data.sets.synthetic import SyntheticData, generate_synthetic
from tests.apps.commands import ROOT, audit_arguments
from tests.apps.pages import mixed_people
from tests.conftest import make_people

pytestmark = pytest.mark.usefixtures("quick_presets")


@pytest.fixture(scope="module")
def small_world() -> SyntheticData:
    return generate_synthetic(4, n_train=800, n_test_normal=200, n_test_anomaly=40)


@pytest.mark.slow
def test_audit_score_and_counterfactuals(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "audit"
    settings = ["--roots", "schooling", "--groups", "b", "a", "--seed", "3"]
    assert cli.main(audit_arguments(table, *settings, "--out", out, subsamples=4)) == 0
    printed = capsys.readouterr()
    assert "125 people judged" in printed.out
    assert printed.out.count("outcome changes") == 3  # of the methods, explained, of the groups
    assert "own model" not in printed.out
    assert "Evidence for cfad:" in printed.out
    assert "lowest to highest" in printed.out
    assert printed.err == ""  # no bar where there is no terminal
    text = json.loads((out / "audit.json").read_text())
    assert text["seed"] == 3
    assert text["roles"]["groups"] == ["b", "a"]
    assert text["config"]["knowledge"]["roots"] == ["schooling"]
    assert not any(edge["effect"] == "schooling" for edge in text["graph"]["edges"])

    assert cli.main(["score", str(out), str(table), "--out", str(tmp_path / "scores.csv")]) == 0
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert len(scores) == 500
    kinds = ("score", "flag", "score_counterfactual", "change", "reasons")
    assert list(scores.columns) == [f"{method}_{kind}" for method in DEFAULT_METHODS for kind in kinds]
    assert scores["ae_reasons"].str.fullmatch(r"((schooling|income|debt) \d+ %(, |$)){1,3}").all()
    threshold = text["methods"]["cfad"]["threshold"]
    assert ((scores["cfad_score"] > threshold) == scores["cfad_flag"]).all()
    assert scores["cfad_change"].between(0.0, 1.0).all()
    assert np.allclose(16.0 * scores["cfad_change"] % 1.0, 0.0)  # the share of 16 possible twins
    differs = (scores["cfad_score"] > threshold) != (scores["cfad_score_counterfactual"] > threshold)
    assert (scores["cfad_change"][differs] > 0.0).all()
    assert (scores["cfad_change"][~differs] < 1.0).all()

    assert cli.main(["counterfactuals", str(out), str(table), "--out", str(tmp_path / "cf.csv")]) == 0
    original, twins = pd.read_csv(table), pd.read_csv(tmp_path / "cf.csv")
    assert list(twins.columns) == list(original.columns)
    assert (twins["group"] != original["group"]).all()
    assert twins["id"].equals(original["id"])
    assert twins["schooling"].equals(original["schooling"])
    assert not np.allclose(twins["income"], original["income"])


@pytest.mark.slow
def test_a_twin_that_is_written_gets_the_score_that_was_said(tmp_path: Path) -> None:
    """Missing cells, rare levels, whole numbers, many zeros, dates: the file of twins is what was scored."""
    table, out = tmp_path / "mixed.csv", tmp_path / "audit"
    mixed_people().to_csv(table, index=False)
    assert cli.main(["audit", str(table), "--sensitive", "group", "--subsamples", "0", "--out", str(out)]) == 0
    assert cli.main(["counterfactuals", str(out), str(table), "--out", str(tmp_path / "twins.csv")]) == 0
    found = {}
    for name in ("mixed", "twins"):
        scored = tmp_path / f"scores of {name}.csv"
        assert cli.main(["score", str(out), str(tmp_path / f"{name}.csv"), "--out", str(scored)]) == 0
        found[name] = pd.read_csv(scored)
    for method in DEFAULT_METHODS:
        expected = found["mixed"][f"{method}_score_counterfactual"]
        np.testing.assert_allclose(found["twins"][f"{method}_score"], expected, rtol=1e-9, atol=1e-9)
    people, twins = pd.read_csv(table), pd.read_csv(tmp_path / "twins.csv")
    assert (people["group"] != twins["group"]).all()
    assert set(twins["hours"]) <= set(people["hours"])
    assert len(people.compare(twins).columns) > 4  # other columns moved, too


@pytest.mark.slow
def test_the_uncertainty_is_measured_unless_it_is_declined(
    table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "audit"
    assert cli.main(audit_arguments(table, "--out", out, subsamples=None)) == 0
    assert "90 % interval" in capsys.readouterr().out
    stability = load_audit(out).stability
    assert stability is not None
    assert len(stability.graphs) == AuditConfig().subsamples == 20
    assert cli.main(audit_arguments(table, "--out", out, subsamples=0)) == 0
    assert "90 % interval" not in capsys.readouterr().out
    assert load_audit(out).stability is None


@pytest.mark.slow
def test_reasons_are_harmless_whatever_columns_are_called(tmp_path: Path) -> None:
    table, out = tmp_path / "people.csv", tmp_path / "audit"
    names = {"income": "=income", "debt": "debt, all of it", "schooling": '+"school"'}
    make_people(300, seed=0).assign(id=range(300)).rename(columns=names).to_csv(table, index=False)
    assert cli.main(audit_arguments(table, "--methods", "iforest", "pca", "--out", out)) == 0
    assert cli.main(["score", str(out), str(table), "--out", str(tmp_path / "scores.csv")]) == 0
    scores = pd.read_csv(tmp_path / "scores.csv", keep_default_na=False)
    for method in ("iforest", "pca"):
        reasons = scores[f"{method}_reasons"]
        assert not reasons.str.match(r"[=+@-]").any()
        assert reasons.str.startswith("'=income ").any()
        assert reasons.str.contains("debt, all of it ", regex=False).any()
    assert scores["iforest_reasons"].str.startswith('\'+"school" ').any()


@pytest.mark.slow
def test_methods_of_an_audit(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = tmp_path / "audit"
    assert cli.main(audit_arguments(table, "--methods", "iforest", "pca", "--out", out)) == 0
    assert list(json.loads((out / "audit.json").read_text())["methods"]) == ["iforest", "pca"]
    assert cli.main(["score", str(out), str(table), "--out", str(tmp_path / "scores.csv")]) == 0
    scores = pd.read_csv(tmp_path / "scores.csv")
    kinds = ("score", "flag", "score_counterfactual", "change", "reasons")
    assert list(scores.columns) == [f"{method}_{kind}" for method in ("iforest", "pca") for kind in kinds]
    assert cli.main(["score", str(out), str(table), "--out", str(tmp_path / "short.csv"), "--no-reasons"]) == 0
    pd.testing.assert_frame_equal(
        pd.read_csv(tmp_path / "short.csv"), scores.drop(columns=["iforest_reasons", "pca_reasons"])
    )


@pytest.mark.slow
def test_a_table_is_audited_as_suggested(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    sample, quickly = str(ROOT / "assets" / "sample.csv"), ["--methods", "pca", "--subsamples", "0"]
    options = ["--groups", "female", "male", "--label", "fraud", "--anomaly", "yes", "--categories", "most-frequent"]
    assert cli.main(["audit", sample, "--sensitive", "gender", *options, *quickly, "--out", str(tmp_path / "a")]) == 0
    printed = capsys.readouterr().out
    assert "Left out, as suggested (--ignore says otherwise): claim_id, reported_on, remark." in printed
    assert "Taken to have no causes in the table (--roots says otherwise): age." in printed
    text = json.loads((tmp_path / "a" / "audit.json").read_text())
    assert text["config"]["categories"] == "most-frequent"
    pd.read_csv(sample).query("gender != 'not stated'").to_csv(tmp_path / "people.csv", index=False)
    assert (
        cli.main(
            ["counterfactuals", str(tmp_path / "a"), str(tmp_path / "people.csv"), "--out", str(tmp_path / "x.csv")]
        )
        == 0
    )
    assert "clipped" not in capsys.readouterr().out  # twins are legal rows

    cut = ["--sensitive", "age", "--cut", "40", "--ignore", "claim_id", "reported_on", "remark", "gender", "fraud"]
    assert cli.main(["audit", sample, *cut, *quickly, "--out", str(tmp_path / "b")]) == 0
    assert "'under 40'" in capsys.readouterr().out
    rest = ["--sensitive", "region", "--groups", "north", "--roots", "age", "--out", str(tmp_path / "c")]
    assert cli.main(["audit", sample, *rest, *quickly]) == 0
    assert "'not north'" in capsys.readouterr().out


@pytest.mark.slow
def test_a_terminal_gets_a_bar(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert cli.main(audit_arguments(table, "--out", tmp_path / "audit")) == 0
    bar = capsys.readouterr().err
    assert "discovery" in bar
    assert "100%" in bar


def test_inspect_of_a_file_without_names_of_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "people.csv"
    make_people(200, seed=0).to_csv(path, index=False, header=False)
    assert cli.main(["inspect", str(path)]) == 0
    printed = capsys.readouterr().out
    assert "199 rows" in printed
    assert "warning: The first line looks like data and not like the names of columns: all its 5 cells" in printed
    assert cli.main(["inspect", str(path), "--no-header", "--sensitive", "column 1"]) == 0
    printed = capsys.readouterr().out
    assert "200 rows" in printed
    assert "The first line" not in printed
    assert "Groups of 'column 1': 'a' and 'b'." in printed
    path.write_text("People of 2021,,,,\n" + make_people(200, seed=0).to_csv(index=False))
    assert cli.main(["inspect", str(path)]) == 0
    assert "info: The first line is a title, and left out: People of 2021.\n" in capsys.readouterr().out


def test_inspect(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["inspect", str(ROOT / "assets" / "sample.csv")]) == 0
    printed = capsys.readouterr().out
    assert "800 rows, 15 columns." in printed
    assert "Groups of 'gender': 'female' and 'male'. Anomaly: 'fraud' is 'yes'." in printed
    assert "info: <10 rows are left out" in printed
    assert cli.main(["inspect", str(table), "--sensitive", "gruop"]) == 0
    assert "error: The sensitive column 'gruop' is not in the table" in capsys.readouterr().out
    make_people(20, seed=0)[["income", "debt"]].to_csv(tmp_path / "few.csv", index=False)
    assert cli.main(["inspect", str(tmp_path / "few.csv")]) == 0
    assert "No column looks sensitive; name one with --sensitive." in capsys.readouterr().out


@pytest.mark.slow
def test_synthesize_and_audit_its_files(
    small_world: SyntheticData, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cfad_core.data.sets.synthetic.generate_synthetic", lambda seed: small_world)
    assert cli.main(["synthesize", "--seed", "4", "--out", str(tmp_path / "world")]) == 0
    world = tmp_path / "world"
    assert {p.name for p in world.iterdir()} == {"train.csv", "test.csv", "test_counterfactual.csv", "adjacency.csv"}
    here, there = pd.read_csv(world / "test.csv"), pd.read_csv(world / "test_counterfactual.csv")
    assert list(here.columns) == ["S", *(f"X{i}" for i in range(1, 20)), "label"]
    assert (here["S"] == -there["S"]).all()
    pd.testing.assert_frame_equal(here, small_world.test)
    adjacency = pd.read_csv(world / "adjacency.csv", index_col=0)
    assert list(adjacency.index) == list(adjacency.columns) == ["S", *(f"X{i}" for i in range(1, 20))]

    tables = [str(world / "train.csv"), "--test", str(world / "test.csv")]
    truth = ["--test-counterfactual", str(world / "test_counterfactual.csv")]
    roles = ["--sensitive", "S", "--label", "label", "--anomaly", "1", "--out", str(tmp_path / "audit")]
    assert cli.main(["audit", *tables, *truth, *roles, "--subsamples", "0"]) == 0
    assert "by their true twins" in capsys.readouterr().out


@pytest.mark.slow
def test_demo(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    few = generate_demo(n_train=300, n_test=200)
    monkeypatch.setattr("cfad_core.data.sets.demo.generate_demo", lambda: few)
    assert cli.main(["demo", "--out", str(tmp_path / "audit")]) == 0
    said = capsys.readouterr().out
    assert "by causal models that no detector knows" in said  # as people's own audits are
    assert "The true twins are known, and the audit did not see them:" in said
    assert re.search(r"^ae: The true share is \d+\.\d %; the audit said", said, re.MULTILINE)
    assert (tmp_path / "audit" / "audit.json").is_file()
