"""What a wrong command says, and how a command is stopped."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from unittest.mock import Mock

import pytest

from cfad_core.apps import cli
from tests.apps.commands import ROOT, audit_arguments, exit_code
from tests.conftest import make_people


def run(*arguments: str | Path, cwd: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "cfad_core", *map(str, arguments)]
    environment = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, capture_output=True, text=True, cwd=cwd, env=environment, check=False)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["dashboard", "--port", "80000"], "a port is a number from 1 to 65535, not '80000'"),
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
        (["score", "nowhere", "people.csv", "--out", "x.csv"], "'nowhere' is neither an audit folder nor the id"),
        (
            ["counterfactuals", "nowhere", "people.csv", "--out", "x.csv"],
            "'nowhere' is neither an audit folder nor the id",
        ),
        (["benchmark", "--datasets", "mars", "--out", "r.json"], "Unknown data set: mars. Known: synthetic"),
        (
            ["benchmark", "--methods", "magic", "--out", "r.json"],
            "Unknown method: magic. Known: pca, ocsvm, iforest, ae, dcfod, fairod, fairad, cfad, twin",
        ),
        (["benchmark", "--workers", "0", "--out", "r.json"], "At least one worker is needed; got 0"),
        (["audit", "people.csv", "--sensitive", "group"], "one of the arguments --out --save is required"),
        (["synthesize", "--out", "people.csv"], "is a file; choose a folder"),
    ],
)
def test_bad_usage_is_one_line_and_exit_code_2(
    table: Path,
    arguments: list[str],
    message: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path_factory.mktemp("home")))
    names = make_people(200, seed=0).assign(name=[f"person {k}" for k in range(200)])
    names.to_csv(table.parent / "names.csv", index=False)
    monkeypatch.chdir(table.parent)
    before = sorted(table.parent.iterdir())
    code = exit_code(arguments)
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert message in printed.err
    assert len(printed.err.strip().splitlines()) == 1
    assert sorted(table.parent.iterdir()) == before  # nothing half-written


AUDIT = ["audit", "missing.csv", "--sensitive", "group", "--out", "audit"]  # slow, for it imports torch


@pytest.mark.parametrize(
    "arguments", [["paint"], ["inspect", "missing.csv"], pytest.param(AUDIT, marks=pytest.mark.slow)]
)
def test_the_command_as_it_is_typed(tmp_path: Path, arguments: list[str]) -> None:
    finished = run(*arguments, cwd=tmp_path)
    assert (finished.returncode, finished.stdout) == (2, "")
    assert finished.stderr.startswith("error: ")
    assert len(finished.stderr.strip().splitlines()) == 1


def test_an_interrupted_audit_writes_nothing(
    table: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("cfad_core.audit.run.run_audit", Mock(side_effect=KeyboardInterrupt))
    assert cli.main(audit_arguments(table, "--out", table.parent / "audit")) == 130
    assert capsys.readouterr() == ("", "Cancelled; nothing was written.\n")
    assert list(table.parent.iterdir()) == [table]


@pytest.mark.parametrize("arguments", [[], ["dashboard"]])
def test_no_command_opens_the_dashboard(arguments: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    become = Mock()
    monkeypatch.setattr(os, "execv", become)
    assert cli.main(arguments) == 0
    expected = [sys.executable, "-P", "-m", "streamlit", "run", str(ROOT / "app.py")]
    become.assert_called_once_with(sys.executable, expected)


def test_the_dashboard_can_be_opened_on_another_port_without_a_browser(monkeypatch: pytest.MonkeyPatch) -> None:
    become = Mock()
    monkeypatch.setattr(os, "execv", become)
    assert cli.main(["dashboard", "--port", "8600", "--no-browser"]) == 0
    assert become.call_args.args[1][-4:] == ["--server.port", "8600", "--server.headless", "true"]


@pytest.mark.parametrize(
    ("called", "name"), [("/usr/bin/cfad", "cfad"), ("cfad_core/__main__.py", "python -m cfad_core")]
)
def test_help_says_what_to_type(
    called: str, name: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", [called])
    assert exit_code(["--help"]) == 0
    assert capsys.readouterr().out.startswith(f"usage: {name} ")


@pytest.mark.slow
def test_ctrl_c_ends_quietly_and_writes_nothing(tmp_path: Path) -> None:
    table = tmp_path / "people.csv"
    make_people(100_000, seed=0).to_csv(table, index=False)
    arguments = audit_arguments(table, "--out", tmp_path / "audit", subsamples=None)
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
