"""Audits that are kept for some days go by themselves."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
import sqlalchemy as sa

from cfad_core.apps import cli
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import InvalidConfigError
from cfad_core.runs.access import NotAllowedError, Viewer
from cfad_core.runs.archive import export_audit, import_audit
from cfad_core.runs.executor import Executor
from cfad_core.runs.model import AUDITS, Status
from cfad_core.runs.retention import keep_days
from cfad_core.runs.store import Store
from tests.runs.conftest import TABLES, claim, finish, put

DAY = 24 * 3600.0


def aged(store: Store, audit: str, days: float, status: Status = "done") -> str:
    """As if it had come to its end so many days ago."""
    at = time.time() - days * DAY
    values = {"status": status, "created": at, "finished": at, "heartbeat": at}
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(values))
    return audit


def test_the_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CFAD_KEEP_DAYS", raising=False)
    assert keep_days() is None
    monkeypatch.setenv("CFAD_KEEP_DAYS", "365")
    assert keep_days() == 365
    for text in ("0", "-5", "1.5", "a year", "9999999", "\u00b2"):
        monkeypatch.setenv("CFAD_KEEP_DAYS", text)
        with pytest.raises(InvalidConfigError, match="CFAD_KEEP_DAYS is a whole number of days above 0"):
            keep_days()


def test_what_has_ended_goes_and_what_has_not_stays(store: Store, result: AuditResult) -> None:
    old = finish(store, result, "Old")
    store.sign(old, lambda *_: {"report.json": b"{}"}, "Ada")
    aged(store, old, 31)
    ended = [aged(store, put(store), 31, status) for status in ("failed", "cancelled", "interrupted")]
    living = [aged(store, put(store), 3_000, status) for status in ("planned", "queued", "running", "waiting")]
    young = aged(store, put(store), 29)
    assert store.tidy() == []  # kept for ever
    assert store.goes_at(store.get(old)) is None
    store.keep_days = 30
    assert store.goes_at(store.get(young)) == pytest.approx(time.time() + DAY, abs=60.0)
    assert [store.goes_at(store.get(audit)) for audit in living] == [None] * 4
    assert set(store.tidy()) == {old, *ended}
    assert {record.id for record in store.find()} == {*living, young}
    assert not store.folder(old).exists()
    assert store.table_path(TABLES.digest).is_file()
    (trace,) = store.deleted()
    assert (trace.id, trace.status) == (old, "done")
    (line, *_) = store.log(audit=old)
    assert (line.who, line.via, line.deed, line.about) == ("", "program", "deleted", "Old, kept for 30 days")
    assert store.tidy() == []
    for audit in (*living, young):
        aged(store, audit, 31)
    store.tidy()
    assert not store.table_path(TABLES.digest).exists()
    with pytest.raises(NotAllowedError):
        store.seen_by(Viewer("root", role="admin")).tidy()


def test_what_is_started_again_meanwhile_stays(store: Store) -> None:
    audit = aged(store, put(store), 31, "failed")
    store.keep_days = 30
    old = store.get(audit)
    store.requeue(audit)
    assert not store._deleted_if_old(old)
    claim(store, audit=audit)
    store.stop(audit, "failed")
    assert store.tidy() == []  # it ended just now
    gone = store.get(aged(store, audit, 31))
    store.delete(audit)
    assert not store._deleted_if_old(gone)


def test_an_audit_from_elsewhere_is_kept_since_it_came(store: Store, result: AuditResult, tmp_path: Path) -> None:
    export_audit(store, aged(store, finish(store, result), 3_000), tmp_path / "old.zip")
    audit = import_audit(store, tmp_path / "old.zip")
    assert store.get(audit).finished == pytest.approx(time.time() - 3_000 * DAY, abs=60.0)
    store.keep_days = 30
    assert len(store.tidy()) == 1
    assert [record.id for record in store.find()] == [audit]


def test_a_server_tidies_up(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    aged(store, put(store), 31, "failed")
    store.keep_days = 30
    executor = object.__new__(Executor)
    rounds = iter([False, True])
    executor.store = store
    executor._closed = type("Closed", (), {"wait": lambda _, __: next(rounds)})()
    executor._look_after()
    assert store.find() == []


def test_the_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CFAD_KEEP_DAYS", raising=False)
    assert cli.main(["store", "tidy"]) == 0
    assert "audits are kept for ever, as CFAD_KEEP_DAYS is not set" in capsys.readouterr().out
    monkeypatch.setenv("CFAD_KEEP_DAYS", "30")
    with Store() as store:
        store.arrive(Viewer("ada", role="admin"))
        aged(store, put(store), 31)
        token = store.make_token("x", "admin", 1, owner="ada")
    monkeypatch.setenv("CFAD_TOKEN", token)
    assert cli.main(["store", "tidy"]) == 2
    assert "Only the program itself, and whoever runs it, may do this" in capsys.readouterr().err
    monkeypatch.delenv("CFAD_TOKEN")
    assert cli.main(["store", "tidy"]) == 0
    assert capsys.readouterr().out == "1 audit deleted, kept for 30 days after the end.\n"
