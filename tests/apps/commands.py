"""Commands as a user types them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from cfad_core.apps import cli

ROOT = Path(__file__).resolve().parents[2]


def exit_code(arguments: Sequence[str]) -> int | str | None:
    """Of a command, also where argparse ends the program itself."""
    try:
        return cli.main(arguments)
    except SystemExit as stopped:
        return stopped.code


def refusal(
    arguments: Sequence[str],
    audit: Path,
    here: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> str:
    """The one line that a command with wrong arguments says, typed in a folder with an empty one; AUDIT is an audit."""
    monkeypatch.setenv("CFAD_HOME", str(here / "home"))
    (here / "here" / "empty").mkdir(parents=True)
    monkeypatch.chdir(here / "here")
    code = exit_code([str(audit) if argument == "AUDIT" else argument for argument in arguments])
    printed = capsys.readouterr()
    assert (code, printed.out) == (2, "")
    assert len(printed.err.strip().splitlines()) == 1
    return printed.err


def audit_arguments(table: Path, *more: str | Path, subsamples: int | None = 0) -> list[str]:
    """An audit of what the ``table`` fixture wrote; None leaves the number of subsamples to the command."""
    roles = ["--sensitive", "group", "--label", "fraud", "--anomaly", "yes", "--ignore", "id"]
    uncertainty = [] if subsamples is None else ["--subsamples", str(subsamples)]
    return ["audit", str(table), *roles, *uncertainty, *map(str, more)]
