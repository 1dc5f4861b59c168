"""The command as a user types it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.apps import cli
from cfad_core.core.config import AuditConfig
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import generate_synthetic
from cfad_core.paper import problems as benchmark
from cfad_core.paper.problems import Problem
from tests.conftest import make_people

ROOT = Path(__file__).resolve().parents[2]


def run(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cfad_core", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)


@pytest.fixture
def quick_presets(monkeypatch: pytest.MonkeyPatch, quick: AuditConfig) -> None:
    def quick_preset(name: str, **changes) -> AuditConfig:
        return AuditConfig(**({"detector": quick.detector} | changes))

    for module in (cli.audit, cli.benchmark, cli.demo):
        monkeypatch.setattr(module, "preset", quick_preset)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    make_people(500, seed=0).assign(id=range(500)).to_csv(path, index=False)
    return path


def audit_arguments(table: Path, out: Path, *more: str) -> list[str]:
    labels = ["--label", "fraud", "--anomaly", "yes"]
    return ["audit", str(table), "--sensitive", "group", *labels, "--ignore", "id", "--out", str(out), *more]


def test_audit_score_and_counterfactuals(quick_presets, table: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "audit"
    assert cli.main(audit_arguments(table, out, "--roots", "schooling", "--groups", "b", "a", "--seed", "3")) == 0
    printed = capsys.readouterr()
    assert "125 people judged" in printed.out
    assert "changes (own model)" in printed.out
    assert printed.err == ""  # no bar where there is no terminal
    text = json.loads((out / "audit.json").read_text())
    assert text["seed"] == 3
    assert text["roles"]["groups"] == ["b", "a"]
    assert text["config"]["knowledge"]["roots"] == ["schooling"]
    assert not any(edge["effect"] == "schooling" for edge in text["graph"]["edges"])

    assert cli.main(["score", str(out), str(table), "--out", str(tmp_path / "scores.csv")]) == 0
    scores = pd.read_csv(tmp_path / "scores.csv")
    assert len(scores) == 500
    expected = [f"{m}_{c}" for m in ("ae", "cfad", "twin") for c in ("score", "flag", "score_counterfactual", "flip")]
    assert list(scores.columns) == expected
    threshold = text["methods"]["cfad"]["threshold"]
    assert ((scores["cfad_score"] > threshold) == scores["cfad_flag"]).all()
    differs = (scores["cfad_score"] > threshold) != (scores["cfad_score_counterfactual"] > threshold)
    assert (differs == scores["cfad_flip"]).all()

    assert cli.main(["counterfactuals", str(out), str(table), "--out", str(tmp_path / "cf.csv")]) == 0
    original, twins = pd.read_csv(table), pd.read_csv(tmp_path / "cf.csv")
    assert list(twins.columns) == list(original.columns)
    assert (twins["group"] != original["group"]).all()
    assert twins["id"].equals(original["id"])
    assert twins["schooling"].equals(original["schooling"])
    assert not np.allclose(twins["income"], original["income"])


def test_inspect(table: Path, tmp_path: Path, capsys) -> None:
    assert cli.main(["inspect", str(ROOT / "assets" / "sample.csv")]) == 0
    printed = capsys.readouterr().out
    assert "800 rows, 15 columns." in printed
    assert "Groups of 'gender': 'female' and 'male'. Anomaly: 'fraud' is 'yes'." in printed
    assert "info: 8 of 800 rows are left out" in printed
    assert cli.main(["inspect", str(table), "--sensitive", "gruop"]) == 0
    assert "error: The sensitive column 'gruop' is not in the table" in capsys.readouterr().out
    make_people(20, seed=0)[["income", "debt"]].to_csv(tmp_path / "few.csv", index=False)
    assert cli.main(["inspect", str(tmp_path / "few.csv")]) == 0
    assert "No column looks sensitive; name one with --sensitive." in capsys.readouterr().out


def test_a_table_is_audited_as_suggested(quick_presets, tmp_path: Path, capsys) -> None:
    sample = str(ROOT / "assets" / "sample.csv")
    options = ["--groups", "female", "male", "--label", "fraud", "--anomaly", "yes", "--categories", "most-frequent"]
    assert cli.main(["audit", sample, "--sensitive", "gender", *options, "--out", str(tmp_path / "a")]) == 0
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
    counted = [line for line in capsys.readouterr().out.splitlines() if "clipped to the range seen in training" in line]
    assert counted

    cut = ["--sensitive", "age", "--cut", "40", "--ignore", "claim_id", "reported_on", "remark", "gender", "fraud"]
    assert cli.main(["audit", sample, *cut, "--out", str(tmp_path / "b")]) == 0
    assert "'under 40'" in capsys.readouterr().out
    rest = ["--sensitive", "region", "--groups", "north", "--roots", "age", "--out", str(tmp_path / "c")]
    assert cli.main(["audit", sample, *rest]) == 0
    assert "'not north'" in capsys.readouterr().out


def test_synthesize_and_audit_its_files(quick_presets, tmp_path: Path, monkeypatch, capsys) -> None:
    small = generate_synthetic(4, n_train=800, n_test_normal=200, n_test_anomaly=40)
    monkeypatch.setattr("cfad_core.data.sets.synthetic.generate_synthetic", lambda seed: small)
    assert cli.main(["synthesize", "--seed", "4", "--out", str(tmp_path / "world")]) == 0
    world = tmp_path / "world"
    assert {p.name for p in world.iterdir()} == {"train.csv", "test.csv", "test_counterfactual.csv", "adjacency.csv"}
    here, there = pd.read_csv(world / "test.csv"), pd.read_csv(world / "test_counterfactual.csv")
    assert list(here.columns) == ["S", *(f"X{i}" for i in range(1, 20)), "label"]
    assert (here["S"] == -there["S"]).all()
    pd.testing.assert_frame_equal(here, small.test)
    adjacency = pd.read_csv(world / "adjacency.csv", index_col=0)
    assert list(adjacency.index) == list(adjacency.columns) == ["S", *(f"X{i}" for i in range(1, 20))]

    tables = [str(world / "train.csv"), "--test", str(world / "test.csv")]
    truth = ["--test-counterfactual", str(world / "test_counterfactual.csv")]
    roles = ["--sensitive", "S", "--label", "label", "--anomaly", "1", "--out", str(tmp_path / "audit")]
    assert cli.main(["audit", *tables, *truth, *roles]) == 0
    assert "changes (truth)" in capsys.readouterr().out


@pytest.mark.slow
def test_benchmark_rows(quick_presets, tmp_path: Path, monkeypatch, capsys) -> None:
    def small_world(seed: int, progress: object) -> Problem:
        data = generate_synthetic(seed + 4, n_train=800, n_test_normal=200, n_test_anomaly=40)
        roles = ColumnRoles("S", label="label", anomaly="1")
        return Problem(data.train, data.test, roles, data.test_counterfactual, data.adjacency)

    monkeypatch.setitem(benchmark.DATASETS, "synthetic", small_world)
    out = tmp_path / "results.json"
    arguments = ["--datasets", "synthetic", "--methods", "ae", "twin", "--seeds", "0", "--out", str(out)]
    assert cli.main(["benchmark", *arguments]) == 0
    rows = json.loads(out.read_text())
    assert [(row["dataset"], row["method"], row["seed"]) for row in rows] == [
        ("synthetic", "ae", 0),
        ("synthetic", "twin", 0),
    ]
    columns = "dataset method seed auc_pr auc_roc macro_f1 changing_ratio changing_ratio_independent shd cf_error"
    assert set(rows[0]) == {*columns.split(), "flag_rate", "cf_error_flip", "fit_seconds", "curve"}
    assert [point["quantile"] for point in rows[0]["curve"]] == [0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999]
    point = {"quantile", "macro_f1", "changing_ratio", "changing_ratio_independent", "flag_rate"}
    assert all(set(entry) == point for entry in rows[0]["curve"])
    assert 0 < rows[0]["cf_error"] < rows[0]["cf_error_flip"]
    assert "macro_f1" in capsys.readouterr().out


def test_saved_audits(quick_presets, table: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))

    def say(*arguments: str | Path) -> str:
        assert cli.main(["audits", *map(str, arguments)]) == 0
        return capsys.readouterr().out

    assert say("list") == "No audit is saved here.\n"
    labels = ["--label", "fraud", "--anomaly", "yes", "--ignore", "id"]
    assert cli.main(["audit", str(table), "--sensitive", "group", *labels, "--save", "Claims 2025"]) == 0
    printed = capsys.readouterr().out
    assert "125 people judged" in printed
    audit = printed.split("saved as ")[1].split(".")[0]
    assert audit in say("list")
    assert "done" in say("list", "--status", "done", "--text", "claims")
    assert say("list", "--text", "nothing of the kind") == "No saved audit is like that.\n"
    shown = say("show", audit)
    assert "Claims 2025" in shown
    assert "people.csv" in shown
    assert "changes (own model)" in shown
    assert say("cancel", audit) == f"Audit {audit} is done already.\n"
    say("export", audit, tmp_path / "audit.zip")
    copy = say("import", tmp_path / "audit.zip").split("saved as ")[1].split(".")[0]
    assert say("list").count("Claims 2025") == 2
    assert say("delete", audit) == f"Audit {audit} is deleted.\n"
    assert "Claims 2025" in say("show", copy)
    for action in ("show", "cancel", "delete", "restart"):
        assert cli.main(["audits", action, audit]) == 2
        assert capsys.readouterr().err == f"error: There is no audit '{audit}'.\n"
    assert cli.main(["audits", "restart", copy]) == 2
    assert "is done; it cannot be started again" in capsys.readouterr().err
    assert cli.main(["audits", "list", "--status", "finished"]) == 2
    assert "No status is 'finished'" in capsys.readouterr().err


def test_benchmark_with_workers(tmp_path: Path, monkeypatch, capsys) -> None:
    def pretend(tasks: list, workers: int, scheduler: str | None, progress: object) -> list:
        assert (workers, scheduler) == (2, None)
        return [[{"dataset": t.arguments["dataset"], "seed": t.arguments["seed"]}] for t in tasks]

    monkeypatch.setattr("cfad_core.runs.tasks.run_many", pretend)
    monkeypatch.setattr(cli.benchmark, "_cells", lambda row, columns: [row["dataset"], str(row["seed"]), *columns, ""])
    out = tmp_path / "r.json"
    runs = ["--datasets", "adult", "compas", "--seeds", "3", "4", "--workers", "2", "--out", str(out)]
    assert cli.main(["benchmark", *runs]) == 0
    expected = [{"dataset": name, "seed": seed} for name in ("adult", "compas") for seed in (3, 4)]
    assert json.loads(out.read_text()) == expected


def test_the_whole_experiment_section(tmp_path: Path, monkeypatch, capsys) -> None:
    from tests.paper.test_reproduction import Pretender

    monkeypatch.setattr("cfad_core.paper.plan.run_many", Pretender())
    out = tmp_path / "paper"
    assert cli.main(["benchmark", "--all", "--no-images", "--seeds", "0", "1", "--out", str(out)]) == 0
    printed = capsys.readouterr().out
    assert "| Adult, 0.95 quantile |" in printed
    assert "runs (0 of an earlier start)" in printed
    assert (out / "results.json").is_file()
    assert (out / "results.md").is_file()
    assert (out / "figures" / "tradeoff-adult.html").is_file()
    assert cli.main(["benchmark", "--all", "--no-images", "--seeds", "0", "1", "--out", str(out)]) == 0
    assert f"{len(list((out / 'runs').iterdir()))} of an earlier start" in capsys.readouterr().out


def test_methods_of_an_audit(quick_presets, table: Path, tmp_path: Path, capsys) -> None:
    out = tmp_path / "audit"
    roles = ["--sensitive", "group", "--label", "fraud", "--anomaly", "yes", "--ignore", "id"]
    assert cli.main(["audit", str(table), *roles, "--methods", "iforest", "pca", "--out", str(out)]) == 0
    assert list(json.loads((out / "audit.json").read_text())["methods"]) == ["iforest", "pca"]
    assert cli.main(["score", str(out), str(table), "--out", str(tmp_path / "scores.csv")]) == 0
    scores = pd.read_csv(tmp_path / "scores.csv")
    kinds = ("score", "flag", "score_counterfactual", "flip")
    assert list(scores.columns) == [f"{method}_{kind}" for method in ("iforest", "pca") for kind in kinds]


def test_demo(quick_presets, tmp_path: Path, monkeypatch, capsys) -> None:
    small = generate_synthetic(4, n_train=800, n_test_normal=200, n_test_anomaly=40)
    monkeypatch.setattr("cfad_core.data.sets.synthetic.generate_synthetic", lambda seed: small)
    assert cli.main(["demo", "--out", str(tmp_path / "audit")]) == 0
    assert "changes (truth)" in capsys.readouterr().out
    assert (tmp_path / "audit" / "audit.json").is_file()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "the following arguments are required: COMMAND"),
        (["paint"], "invalid choice: 'paint'"),
        (["audit", "people.csv", "--out", "audit"], "the following arguments are required: --sensitive"),
        (["audit", "missing.csv", "--sensitive", "group", "--out", "audit"], "There is no file 'missing.csv'"),
        (
            ["audit", "people.csv", "--sensitive", "gender", "--out", "audit"],
            "sensitive column 'gender' is not in the table",
        ),
        (
            ["audit", "people.csv", "--sensitive", "group", "--label", "x", "--anomaly", "1", "--out", "audit"],
            "label column 'x'",
        ),
        (
            ["audit", "people.csv", "--sensitive", "group", "--ignore", "nope", "--out", "audit"],
            "ignored column 'nope'",
        ),
        (
            ["audit", "people.csv", "--sensitive", "group", "--ignore", "fraud", "--roots", "zzz", "--out", "audit"],
            "not in the graph: zzz",
        ),
        (
            ["audit", "names.csv", "--sensitive", "group", "--ignore", "--out", "audit"],
            "'name' looks like names or free text",
        ),
        (
            ["audit", "people.csv", "--sensitive", "group", "--label", "fraud", "--out", "audit"],
            "Say which value of the label column",
        ),
        (
            ["audit", "people.csv", "--sensitive", "group", "--groups", "a", "z", "--out", "audit"],
            "holds the group 'z'",
        ),
        (
            ["audit", "people.csv", "--sensitive", "group", "--preset", "slow", "--out", "audit"],
            "invalid choice: 'slow'",
        ),
        (["audit", "people.csv", "--sensitive", "group", "--seed", "-1", "--out", "audit"], "a seed is a whole number"),
        (["audit", "people.csv", "--sensitive", "group", "--out", "people.csv"], "is a file; choose a folder"),
        (["score", "nowhere", "people.csv", "--out", "x.csv"], "'nowhere' holds no audit"),
        (["counterfactuals", "nowhere", "people.csv", "--out", "x.csv"], "'nowhere' holds no audit"),
        (["benchmark", "--datasets", "mars", "--out", "r.json"], "Unknown data set: mars. Known: synthetic"),
        (
            ["benchmark", "--methods", "magic", "--out", "r.json"],
            "Unknown method: magic. Known: pca, ocsvm, iforest, ae, dcfod, fairod, cfad, twin",
        ),
        (["benchmark", "--workers", "0", "--out", "r.json"], "At least one worker is needed; got 0"),
        (["audit", "people.csv", "--sensitive", "group"], "one of the arguments --out --save is required"),
        (["synthesize", "--out", "people.csv"], "is a file; choose a folder"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(
    table: Path, arguments: list[str], message: str, monkeypatch, capsys
) -> None:
    names = make_people(200, seed=0).assign(name=[f"person {k}" for k in range(200)])
    names.to_csv(table.parent / "names.csv", index=False)
    monkeypatch.chdir(table.parent)
    before = sorted(table.parent.iterdir())
    try:
        code = cli.main(arguments)
    except SystemExit as stopped:  # argparse ends the program itself
        code = stopped.code
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert message in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert sorted(table.parent.iterdir()) == before  # nothing half-written


@pytest.mark.parametrize("arguments", [[], ["audit", "missing.csv", "--sensitive", "group", "--out", "audit"]])
def test_the_command_as_it_is_typed(tmp_path: Path, arguments: list[str]) -> None:
    finished = run(*arguments, cwd=tmp_path)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("error: ")
    assert len(finished.stderr.strip().splitlines()) == 1


def test_ctrl_c_ends_quietly_and_writes_nothing(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    make_people(100_000, seed=0).to_csv(table, index=False)
    arguments = audit_arguments(table, tmp_path / "audit")
    arguments.remove("--ignore")
    arguments.remove("id")
    command = [sys.executable, "-m", "cfad_core", *arguments]
    process = subprocess.Popen(
        command,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # shells start background jobs deaf to it
    )
    maps = Path(f"/proc/{process.pid}/maps")
    deadline = time.monotonic() + 60.0
    while "libtorch_cpu" not in maps.read_text() and time.monotonic() < deadline:
        time.sleep(0.1)
    time.sleep(3.0)  # reading or learning by now, and far from done
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    # a shell sees 130 in both cases: Python dies of the signal itself if it struck inside an exec() of some import
    assert process.returncode in (130, -signal.SIGINT), errors
    assert errors == "Cancelled; nothing was written.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["people.csv"]


def test_a_terminal_gets_a_bar(quick_presets, table: Path, tmp_path: Path, monkeypatch, capsys) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert cli.main(audit_arguments(table, tmp_path / "audit")) == 0
    bar = capsys.readouterr().err
    assert "discovery" in bar
    assert "100%" in bar
