"""audits: those that are saved."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfad_core.apps import cli


@pytest.mark.usefixtures("quick_presets")
def test_saved_audits(
    table: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
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
