"""What jobs do with saved audits."""

from __future__ import annotations

import multiprocessing
from multiprocessing.sharedctypes import Synchronized
from multiprocessing.synchronize import Event
from pathlib import Path

import pytest

from cfad_core.audit.folder import save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import InvalidDataError
from cfad_core.runs.model import Report
from cfad_core.runs.store import Store
from tests.runs.conftest import TABLES, claim, put, worker_of


def test_the_queue_is_first_in_first_out_and_each_is_taken_once(store: Store) -> None:
    ids = [put(store) for _ in range(3)]
    taken = [claim(store) for _ in range(3)]
    assert [(record.id, record.status) for record in taken] == [(audit, "running") for audit in ids]
    assert store.claim("me") is None


def test_reports_and_heartbeats(store: Store) -> None:
    audit = put(store)
    store.claim("me")
    store.report(audit, Report("discovery", 1, 20, {"loss": 2.5, "h": 0.1}), 0.05)
    store.report(audit, Report("discovery", 2, 20, {"loss": 2.0, "h": 0.01}), 0.10, seconds_left=9.0)
    reports = store.reports(audit)
    assert [(r.stage, r.step, r.total, r.values["loss"]) for r in reports] == [
        ("discovery", 1, 20, 2.5),
        ("discovery", 2, 20, 2.0),
    ]
    assert [r.step for r in store.reports(audit, after=reports[0].id)] == [2]
    record = store.get(audit)
    assert (record.stage, record.progress) == ("discovery", 0.10)
    assert record.seconds_left == 9.0
    assert store.beat(audit) is False
    store.request_cancel(audit)
    assert store.beat(audit) is True
    assert store.get(audit).status == "running"  # until its worker has stopped
    with pytest.raises(InvalidDataError, match="is running; cancel it first"):
        store.delete(audit)
    store.stop(audit, "cancelled")
    assert store.get(audit).status == "cancelled"
    store.delete(audit)
    assert store.reports(audit) == []
    assert store.beat(audit) is True  # whoever still works on it may stop


def test_cancelling_what_waits_and_starting_it_again(store: Store) -> None:
    audit = put(store)
    store.request_cancel(audit)
    assert store.get(audit).status == "cancelled"
    assert store.claim("me") is None
    store.requeue(audit)
    assert store.get(audit).status == "queued"
    with pytest.raises(InvalidDataError, match="is queued; it cannot be started again"):
        store.requeue(audit)
    assert claim(store).cancel_requested is False


def test_an_audit_that_starts_again_forgets_how_it_ended(store: Store) -> None:
    audit = put(store)
    before = store.get(audit)
    claim(store)
    store.report(audit, Report("discovery", 1, 20), 0.05)
    store.request_cancel(audit)
    store.stop(audit, "failed", "A sentence.", "details")
    store.requeue(audit)
    assert store.get(audit) == before
    assert store.reports(audit) == []


def test_an_audit_that_was_given_up_cannot_end_twice(store: Store) -> None:
    audit = put(store)
    store.claim("me")
    store.stop(audit, "interrupted", "gone")
    store.finish(audit, {})
    assert store.get(audit).status == "interrupted"


def test_a_run_that_was_given_up_cannot_end_the_next_one(store: Store) -> None:
    audit = put(store)
    first = worker_of(claim(store, "one"))
    store.stop(audit, "interrupted", worker=first)
    store.requeue(audit)
    second = worker_of(claim(store, "one"))
    assert first != second
    assert store.beat(audit, first) is True  # it is to stop
    assert store.beat(audit, second) is False
    store.report(audit, Report("discovery", 1, 2), 0.5, first)
    assert store.reports(audit) == []
    store.stop(audit, "cancelled", worker=first)
    assert store.get(audit).status == "running"
    store.finish(audit, {}, first)
    assert store.get(audit).status == "running"
    store.finish(audit, {}, second)
    assert store.get(audit).status == "done"


def test_taking_over(store: Store) -> None:
    audit = put(store)
    first = worker_of(claim(store, "first"))
    assert first.startswith("first#")
    assert store.take_over(audit, first, "second")
    assert not store.take_over(audit, first, "third")
    assert store.get(audit).worker == "second"


def test_recovery(store: Store, result: AuditResult) -> None:
    lost, finished, damaged, alive = audits = [put(store) for _ in range(4)]
    for worker, own in {"dead": (lost, finished, damaged), "alive": (alive,)}.items():
        for audit in own:
            claim(store, worker, audit)
    (store.folder(lost) / ".staged-xyz").mkdir(parents=True)
    save_audit(result, store.folder(finished))  # it died after its last file
    (store.folder("nobody")).mkdir()
    (store.home / "tables" / "left.parquet").write_text("x")
    store.folder(damaged).mkdir()
    (store.folder(damaged) / "audit.json").write_text("")  # as a power cut may leave it
    interrupted = store.recover(lambda record: worker_of(record).startswith("alive#"))
    assert set(interrupted) == {lost, damaged}
    assert [store.get(audit).status for audit in audits] == [*("interrupted", "done", "interrupted", "running")]
    assert "Start it again" in store.get(lost).error
    metrics = store.get(finished).metrics
    assert metrics is not None
    assert metrics["cfad"]["changing_ratio"] == result.report("cfad").metrics.changing_ratio
    assert not store.folder(lost).exists()
    assert not store.folder("nobody").exists()
    assert [path.stem for path in (store.home / "tables").iterdir()] == [TABLES.digest]


WRITTEN = 50


def read_all(home: Path, url: str, audit: str, ready: Event, seen: Synchronized[int]) -> None:
    """Read until all reports are there; what is seen of them is always the first so many, whole."""
    with Store(home, url) as store:
        while seen.value < WRITTEN:
            assert [record.id for record in store.find()] == [audit]
            found = [(report.step, report.values) for report in store.reports(audit)]
            assert found == [(step, {"loss": 1.0 / step}) for step in range(1, len(found) + 1)]
            seen.value = len(found)
            ready.set()


@pytest.mark.slow
def test_two_readers_and_a_writer_at_once(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    audit = put(store)
    claim(store)
    ready = [context.Event() for _ in range(2)]
    seen = [context.Value("i", 0) for _ in range(2)]
    readers = [
        context.Process(target=read_all, args=(store.home, store.url, audit, *shared))
        for shared in zip(ready, seen, strict=True)
    ]
    for reader in readers:
        reader.start()
    assert all(event.wait(60.0) for event in ready)
    for step in range(1, WRITTEN + 1):
        store.report(audit, Report("autoencoder", step, WRITTEN, {"loss": 1.0 / step}), 0.5)
    for reader in readers:
        reader.join(60.0)
        assert reader.exitcode == 0
    assert [value.value for value in seen] == [WRITTEN, WRITTEN]
