"""What a server says of its store to those who watch over it."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import get_args

import pytest
import sqlalchemy as sa

from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import CfadError
from cfad_core.runs.access import NotAllowedError, Viewer
from cfad_core.runs.counts import StageTime
from cfad_core.runs.log import entry
from cfad_core.runs.model import AUDITS, REPORTS, Report, Status
from cfad_core.runs.store import Store
from cfad_core.runs.team_tables import LOG
from tests.runs.conftest import claim, finish, put


def test_an_empty_store_has_nothing_of_anything(store: Store) -> None:
    found = store.counts()
    assert found.audits == dict.fromkeys(get_args(Status), 0)
    assert (found.oldest_queued, found.stages, found.failed) == (None, {}, 0)


def test_audits_are_counted_by_status(store: Store, result: AuditResult) -> None:
    finish(store, result)
    failing = put(store)
    claim(store, audit=failing)
    store.stop(failing, "failed", "It broke.")
    put(store)
    put(store)
    found = store.counts()
    assert {status: count for status, count in found.audits.items() if count} == {"done": 1, "failed": 1, "queued": 2}
    assert found.failed == 1


def test_the_queue_waits_since_an_audit_came_into_it(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    audit, other = put(store), put(store)
    with store._engine.begin() as connection:  # made long ago; put into the queue again later
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(created=1_000.0))
        rows = [entry(store.viewer, "started", audit) | {"at": at} for at in (4e9, 5e9)]
        connection.execute(sa.insert(LOG), rows)
    monkeypatch.setattr("cfad_core.runs.counts.time.time", lambda: 5e9 + 30.0)
    age = store.counts().oldest_queued
    assert age is not None
    assert 3e9 < age < 4e9  # since the other one was made
    store.request_cancel(other)
    assert store.counts().oldest_queued == pytest.approx(30.0)


def test_an_audit_from_before_there_was_a_log_waits_since_it_was_made(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"id": "old", "name": "Old", "created": 1_000.0, "status": "queued", "data_digest": "", "tables": {}}
    with store._engine.begin() as connection:
        connection.execute(sa.insert(AUDITS).values(row | {"roles": "{}", "config": "{}", "schema_version": 7}))
    monkeypatch.setattr("cfad_core.runs.counts.time.time", lambda: 1_060.0)
    assert store.counts().oldest_queued == pytest.approx(60.0)


def report(store: Store, audit: str, stages: dict[str, float], started: float) -> None:
    """A run with stages that ended so many seconds after it started."""
    claim(store, audit=audit)
    for stage in stages:
        store.report(audit, Report(stage, 1, 2), 0.5)
        store.report(audit, Report(stage, 2, 2), 0.5)
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(started=started))
        for stage, end in stages.items():
            same = (REPORTS.c.audit == audit, REPORTS.c.stage == stage)
            connection.execute(sa.update(REPORTS).where(*same, REPORTS.c.step == 1).values(at=started + end - 0.5))
            connection.execute(sa.update(REPORTS).where(*same, REPORTS.c.step == 2).values(at=started + end))


def test_stages_take_from_the_end_of_one_to_the_end_of_the_next(store: Store) -> None:
    done, other, failed = put(store), put(store), put(store)
    report(store, done, {"graph": 10.0, "train": 25.0, "twins": 26.0}, 1_000.0)
    report(store, other, {"graph": 4.0, "train": 5.0}, 5_000.0)
    report(store, failed, {"graph": 100.0}, 9_000.0)
    assert store.counts().stages == {}  # of audits that are done
    store.finish(done, {})
    store.finish(other, {})
    store.stop(failed, "failed")
    expected = {"graph": StageTime(14.0, 2), "train": StageTime(16.0, 2), "twins": StageTime(1.0, 1)}
    assert store.counts().stages == expected


def test_a_store_that_can_be_used_is_well_and_stays_as_it_is(store: Store) -> None:
    put(store)
    before = sorted(store.home.rglob("*"))
    store.health()
    assert sorted(store.home.rglob("*")) == before


def test_a_store_without_a_folder_to_write_to_says_so(store: Store) -> None:
    shutil.rmtree(store.home / "audits")
    with pytest.raises(
        CfadError, match=r"Nothing can be written to the store in '.*home': No such file or directory\."
    ):
        store.health()


def test_a_database_that_does_not_answer_says_so(tmp_path: Path) -> None:
    with Store(tmp_path / "home") as store:
        with store._engine.begin() as connection:
            connection.execute(sa.text("ALTER TABLE audits RENAME TO elsewhere"))
        with pytest.raises(CfadError, match="The database of the store does not answer: no such table: audits"):
            store.health()


@pytest.mark.parametrize("viewer", [Viewer("ada"), Viewer("root", role="admin"), Viewer("", role="auditor")])
def test_only_the_program_itself_asks(store: Store, viewer: Viewer) -> None:
    for ask in (store.seen_by(viewer).health, store.seen_by(viewer).counts):
        with pytest.raises(NotAllowedError):
            ask()
