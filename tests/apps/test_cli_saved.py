"""audits: those that are saved."""

from __future__ import annotations

from pathlib import Path
from typing import Protocol

import pytest

from cfad_core.apps import cli
from cfad_core.runs.store import Store
from tests.apps.commands import audit_arguments


class Say(Protocol):
    """An ``audits`` command that works; what it prints."""

    def __call__(self, *arguments: str | Path) -> str: ...


@pytest.fixture
def say(capsys: pytest.CaptureFixture[str]) -> Say:
    def typed(*arguments: str | Path) -> str:
        assert cli.main(["audits", *map(str, arguments)]) == 0
        return capsys.readouterr().out

    return typed


@pytest.mark.usefixtures("home")
def test_no_saved_audits(say: Say) -> None:
    assert say("list") == "No audit is saved here.\n"


@pytest.mark.slow
@pytest.mark.usefixtures("home", "quick_presets")
def test_an_audit_is_saved(table: Path, say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(audit_arguments(table, "--save", "Claims 2025")) == 0
    printed = capsys.readouterr().out
    assert "125 people judged" in printed
    audit = printed.split("saved as ")[1].split(".")[0]
    assert audit in say("list")
    assert "done" in say("list", "--status", "done", "--text", "claims")
    shown = say("show", audit)
    assert "Claims 2025" in shown
    assert "people.csv" in shown
    assert "outcome changes" in shown


@pytest.mark.slow
def test_saved_audits(done: tuple[str, str], tmp_path: Path, say: Say, capsys: pytest.CaptureFixture[str]) -> None:
    audit, other = done
    assert audit in say("list")
    listed = say("list", "--status", "done", "--text", "with labels")
    assert "done" in listed
    assert other not in listed
    assert say("list", "--text", "nothing of the kind") == "No saved audit matches.\n"
    shown = say("show", audit)
    assert "With labels" in shown
    assert "people.csv" in shown
    assert "outcome changes" in shown
    assert say("cancel", audit) == f"Audit {audit} is done already.\n"
    say("export", audit, tmp_path / "audit.zip")
    copy = say("import", tmp_path / "audit.zip").split("saved as ")[1].split(".")[0]
    assert say("list").count("With labels") == 2
    assert say("delete", audit) == f"Audit {audit} is deleted.\n"
    assert "With labels" in say("show", copy)
    for action in ("show", "cancel", "delete", "restart"):
        assert cli.main(["audits", action, audit]) == 2
        assert capsys.readouterr().err == f"error: There is no audit '{audit}'.\n"
    assert cli.main(["audits", "restart", copy]) == 2
    assert "is done; it cannot be started again" in capsys.readouterr().err
    assert cli.main(["audits", "list", "--status", "finished"]) == 2
    assert "There is no status 'finished'" in capsys.readouterr().err


def test_signed_reports_are_listed_and_go_with_their_audit(done: tuple[str, str], home: Path, say: Say) -> None:
    with Store(home) as store:
        first = store.sign(done[0], lambda *_: {"report.json": b"{}"}, "Ada", "internal audit")
        store.sign(done[0], lambda *_: {"report.json": b"{}"}, "Grace")
        for version in ("0002", "0003"):
            (store.folder(done[0]) / "signed" / version).mkdir(exist_ok=True)
            (store.folder(done[0]) / "signed" / version / "report.json").write_text("[]")
    shown = say("show", done[0])
    assert "report 1: by Ada (internal audit), " in shown
    assert f"sha256 {first.digest}\n" in shown
    assert "; changed since: report.json\n" in shown
    assert "report 3: The signature is damaged: 'signature.json' is missing or cannot be read." in shown
    assert say("delete", done[0]) == f"Audit {done[0]} is deleted, and 3 signed reports with it.\n"
