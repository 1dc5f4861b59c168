"""What the tutorial says to type works, in the order in which it says so."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from cfad_core.apps import cli
from tests.apps.commands import ROOT


def commands() -> list[list[str]]:
    """The lines after a ``$`` in the tutorial's blocks of commands, without the program's name."""
    text = (ROOT / "docs" / "TUTORIAL.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL)
    lines = [line for block in blocks for line in block.splitlines()]
    assert all(line.startswith("$ cfad ") for line in lines)
    return [shlex.split(line)[2:] for line in lines]


@pytest.mark.slow
def test_its_commands_work(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], quick_presets: None
) -> None:
    monkeypatch.chdir(tmp_path)
    said = []
    for arguments in commands():
        if arguments[0] == "audit":  # 20 take longer
            arguments = [*arguments, "--subsamples", "4"]
        if arguments[0] == "gate":  # of training for a moment anything may come out
            arguments = ["gate", "audit/", "--method", "ae", "--max-changing-ratio", "1"]
        assert cli.main(arguments) == 0, arguments
        said.append(capsys.readouterr().out)
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"sample.csv", "report/report.html", "graph.csv", "audit/audit.json"} <= made
    shown = " ".join(said[2].split())
    assert "199 people judged" in shown
    for part in ("method AUC-PR AUC-ROC Macro-F1 flagged outcome changes", "model error ae", "Evidence for cfad:"):
        assert part in shown
