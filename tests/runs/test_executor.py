"""Audits in real processes, on this machine and on a real Dask cluster."""

from __future__ import annotations

import dataclasses
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import psutil
import pytest
import sqlalchemy as sa

from cfad_core.audit.estimate import stages as planned_stages
from cfad_core.audit.folder import summary
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.config import AuditConfig, DiscoveryConfig
from cfad_core.core.errors import CfadError, InvalidConfigError, InvalidDataError
from cfad_core.data.tables import Tables
from cfad_core.runs import dask, executor
from cfad_core.runs.child import Child
from cfad_core.runs.dask import DaskExecutor
from cfad_core.runs.executor import Executor, is_alive, wait_for, watched, work_on, worker_name
from cfad_core.runs.model import AUDITS, AuditRecord
from cfad_core.runs.start import start_executor
from cfad_core.runs.store import Store
from tests.runs.conftest import (
    CROSSED,
    CROSSED_TABLES,
    QUICK,
    ROLES,
    TABLE,
    claim,
    computing,
    new_cluster,
    put,
    worker_of,
)

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parents[2]
WAIT = 90.0


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "home") as made:
        yield made


@pytest.fixture(params=["local", "dask"])
def start(request: pytest.FixtureRequest, store: Store) -> Iterator[Callable[[], Executor]]:
    """Start an executor of either kind on the store."""
    running: list[Executor] = []

    def begin() -> Executor:
        if request.param == "dask":
            running.append(DaskExecutor(store, request.getfixturevalue("cluster")))
        else:
            running.append(Executor(store))
        return running[-1]

    yield begin
    for one in running:
        one.close()


def endless(stage: str) -> AuditConfig:
    """Settings that keep an audit in one stage for minutes."""
    detector = QUICK.detector
    if stage == "autoencoder":
        return QUICK.replace(detector=detector.replace(epochs=10**6))
    if stage == "fair fine-tuning":
        return QUICK.replace(detector=detector.replace(fair_epochs=10**6))
    slow = DiscoveryConfig(mode="paper", rounds=1000, steps_per_round=10**6)
    return QUICK.replace(discovery=slow)


def until(store: Store, audit: str, condition: Callable[[AuditRecord], bool]) -> AuditRecord:
    deadline = time.monotonic() + WAIT
    while not condition(record := store.get(audit)):
        assert time.monotonic() < deadline, record
        time.sleep(0.05)
    return record


def in_stage(stage: str) -> Callable[[AuditRecord], bool]:
    return lambda record: record.stage == stage


def test_an_audit_runs_off_the_page(store: Store, start: Callable[[], Executor]) -> None:
    audits = [put(store), put(store, config=QUICK.replace(seed=1))]
    start()
    for audit in audits:
        record = wait_for(store, audit, WAIT)
        assert (record.status, record.progress, record.error) == ("done", 1.0, ""), record
        assert record.seconds is not None
    result = store.result(audits[0])
    direct = run_audit(TABLE, ROLES, QUICK)
    assert np.array_equal(result.people.factual, direct.people.factual)
    assert list(result.scores) == list(direct.scores)
    for method, scores in direct.scores.items():  # the job may compute with more threads
        np.testing.assert_allclose(result.scores[method].factual, scores.factual, rtol=1e-4)
        np.testing.assert_allclose(result.scores[method].counterfactual, scores.counterfactual, rtol=1e-4)
    assert store.get(audits[0]).data_digest == result.provenance.data_digest
    reports = store.reports(audits[0])
    stages = list(dict.fromkeys(report.stage for report in reports))
    assert stages[:3] == ["preparation", "discovery", "mechanisms"]
    assert stages[-6:] == ["subsample models", "judging", "evaluation", "checks", "uncertainty", "slices"]
    assert set(stages) == set(planned_stages(QUICK, knows_truth=False))
    values = next(report.values for report in reports if report.stage == "autoencoder")
    assert np.isfinite(values["loss"])


def test_an_audit_of_several_attributes_runs_off_the_page(
    store: Store, start: Callable[[], Executor], crossed: AuditResult
) -> None:
    audit = store.create(CROSSED_TABLES, CROSSED, crossed.config, name="Two attributes")
    start()
    record = wait_for(store, audit, WAIT)
    assert (record.status, record.error) == ("done", ""), record
    assert record.metrics is not None
    assert set(record.metrics["pca"]["worst_pairs"]) == {"sex", "region"}
    result = store.result(audit)
    assert result.roles == crossed.roles
    np.testing.assert_allclose(result.scores["pca"].judged, crossed.scores["pca"].judged, rtol=1e-4)


def test_cancelling_stops_an_audit_in_the_middle_of_a_stage_and_is_no_error(
    store: Store, start: Callable[[], Executor]
) -> None:
    start()
    for stage in ("discovery", "autoencoder", "fair fine-tuning"):
        audit = put(store, config=endless(stage))
        until(store, audit, in_stage(stage))
        (child,) = computing()
        store.request_cancel(audit)
        record = wait_for(store, audit, WAIT)  # the stage itself would take much longer
        assert (record.status, record.stage, record.error) == ("cancelled", stage, "")
        assert not child.is_running()
        assert not store.folder(audit).exists()
    assert wait_for(store, put(store), WAIT).status == "done"


def test_a_killed_process_fails_with_a_sentence_and_the_next_audit_runs(
    store: Store, start: Callable[[], Executor]
) -> None:
    audit = put(store, config=endless("autoencoder"))
    start()
    until(store, audit, in_stage("autoencoder"))
    (child,) = computing()
    child.kill()
    record = wait_for(store, audit, WAIT)
    assert record.status == "failed"
    assert record.error.startswith("The process that computed this was killed, most likely because the machine ran out")
    assert "during 'autoencoder'" in record.error
    assert wait_for(store, put(store), WAIT).status == "done"
    with pytest.raises(InvalidDataError, match="is done; it cannot be started again"):
        store.requeue(store.find(status="done")[0].id)


def test_a_table_that_cannot_be_audited_fails_with_its_problems(store: Store, start: Callable[[], Executor]) -> None:
    table = TABLE.assign(extra=np.inf, name=[f"person {k}" for k in range(300)])
    audit = store.create(Tables.of(table), ROLES, QUICK, name="An audit")
    start()
    record = wait_for(store, audit, WAIT)
    assert record.status == "failed"
    assert [line.split("'")[1] for line in record.error.splitlines()] == ["extra", "name"]


def test_a_dask_worker_that_dies_fails_its_audit(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_RECOVERY", 600.0)  # the cluster says it, however slow this machine is
    with new_cluster() as address, DaskExecutor(store, address):
        audit = put(store, config=endless("autoencoder"))
        until(store, audit, in_stage("autoencoder"))
        (child,) = computing()
        os.kill(int(worker_of(store.get(audit)).partition("#")[0].split(":")[-2]), signal.SIGKILL)
        record = wait_for(store, audit, WAIT)
        assert record.status == "failed"
        assert "The cluster's worker that computed this died" in record.error
        psutil.wait_procs([child], timeout=10.0)
        assert not child.is_running()  # nothing goes on computing
        assert wait_for(store, put(store), WAIT).status == "done"


def test_audits_stay_in_the_queue_while_the_cluster_is_away(store: Store) -> None:
    with ExitStack() as cluster:
        address = cluster.enter_context(new_cluster())
        with (running := DaskExecutor(store, address)):
            audit = put(store, config=endless("autoencoder"))
            until(store, audit, in_stage("autoencoder"))
            cluster.close()
            record = wait_for(store, audit, WAIT)
            assert (record.status, record.error) == ("failed", dask._CLUSTER_LOST)
            waits = put(store)
            with pytest.raises(CfadError):
                while True:
                    running._find_cluster()
            assert store.get(waits).status == "queued"
            with new_cluster(int(address.rpartition(":")[2])):
                assert wait_for(store, waits, WAIT).status == "done"


def test_a_cluster_without_workers_takes_nothing(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with new_cluster(workers=0) as address, (running := DaskExecutor(store, address)):
        with pytest.raises(CfadError, match="has no workers"):
            running._find_cluster()
        monkeypatch.setattr(running, "_find_cluster", lambda: None)  # the last worker went a moment later
        audit = put(store)
        until(store, audit, lambda record: record.status == "running")
        store.request_cancel(audit)
        assert wait_for(store, audit, WAIT).status == "cancelled"


def test_an_unreachable_cluster_is_a_clear_error(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFAD_DASK_SCHEDULER", "tcp://127.0.0.1:1")
    with pytest.raises(CfadError, match="Cannot reach the Dask scheduler at 'tcp://127.0.0.1:1'"):
        start_executor(store)


SERVER = """
import sys, time
from pathlib import Path
from cfad_core.runs.executor import Executor
from cfad_core.runs.store import Store
Executor(Store(Path(sys.argv[1])))
time.sleep(600)
"""


def test_a_killed_server_loses_nothing(store: Store) -> None:
    running, waiting = put(store, config=endless("fair fine-tuning")), put(store)
    server = subprocess.Popen([sys.executable, "-c", SERVER, str(store.home)], cwd=ROOT)
    until(store, running, in_stage("fair fine-tuning"))
    (child,) = computing()
    server.kill()
    server.wait()
    psutil.wait_procs([child], timeout=10.0)
    assert not child.is_running()
    assert store.get(running).status == "running"  # nobody is there to say otherwise
    with Executor(store):  # the next server
        record = until(store, running, lambda record: record.status == "interrupted")
        assert "Start it again" in record.error
        assert wait_for(store, waiting, WAIT).status == "done"  # the queue goes on
        store.requeue(running)
        until(store, running, in_stage("fair fine-tuning"))
        store.request_cancel(running)
        assert wait_for(store, running, WAIT).status == "cancelled"
        assert store.reports(running)[0].stage == "preparation"  # from the beginning


def test_closing_interrupts_what_runs(store: Store) -> None:
    audit = put(store, config=endless("autoencoder"))
    with Executor(store):
        until(store, audit, in_stage("autoencoder"))
    record = store.get(audit)
    assert (record.status, record.error) == ("interrupted", "The program was closed. Start it again.")
    assert not computing()


def test_two_workers_work_at_once(store: Store) -> None:
    audits = [put(store, config=endless("autoencoder")) for _ in range(3)]
    with Executor(store, workers=2) as crew:
        assert crew.threads == max(1, (os.cpu_count() or 1) // 2)
        for audit in audits[:2]:
            until(store, audit, in_stage("autoencoder"))
        assert store.get(audits[2]).status == "queued"
        store.request_cancel(audits[2])
        assert store.get(audits[2]).status == "cancelled"
        assert len(computing()) == 2
        for audit in audits[:2]:
            store.request_cancel(audit)
            assert wait_for(store, audit, WAIT).status == "cancelled"
    with pytest.raises(InvalidConfigError, match="At least one worker is needed; got 0"):
        Executor(store, workers=0)


def test_waiting_has_an_end(store: Store) -> None:
    with pytest.raises(CfadError, match="is still queued after 0.3 seconds"):
        wait_for(store, put(store), 0.3)


def test_who_is_alive(store: Store) -> None:
    put(store)
    claimed = claim(store, worker_name())

    def alive(worker: str) -> bool | None:
        return is_alive(dataclasses.replace(claimed, worker=worker))

    host, process, began = worker_name().rsplit(":", 2)
    assert alive(worker_of(claimed)) is None  # of this process, and nobody here watches it (yet)
    with watched(claimed):
        assert alive(worker_of(claimed)) is True
    assert alive(f"{host}:{os.getppid()}:0.01#1") is False  # the same number, another process
    assert alive(f"{host}:999999999:{began}#1") is False
    assert alive(f"elsewhere:{process}:{began}#1") is None
    assert alive("") is None


def test_a_process_is_known_when_the_clock_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    before = psutil.boot_time()
    code = "from cfad_core.runs.executor import worker_name; print(worker_name(), flush=True); input()"
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as other:
        assert other.stdout is not None
        record = Mock(worker=f"{other.stdout.readline().decode().strip()}#1")
        assert is_alive(record) is True
        for name in ("psutil.boot_time", "psutil._psplatform.boot_time"):  # as once the clock was set back by an hour
            monkeypatch.setattr(name, lambda: before - 3600.0)
        assert is_alive(record) is True
        other.kill()


def test_a_run_that_nobody_watches_is_found(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(executor, "_RECOVERY", 0.01)
    audit, far = put(store), put(store)
    record, _ = claim(store, worker_name(), audit), claim(store, "elsewhere:1:1.00", far)
    with store._engine.begin() as connection:  # the clock was set back since, or is another one
        connection.execute(sa.update(AUDITS).values(heartbeat=time.time() + 3600.0))
    with Executor(store):
        with watched(record):
            monkeypatch.setattr(executor, "_SETTLED", 0.0)
            time.sleep(0.3)
            assert store.get(audit).status == "running"
        assert wait_for(store, audit, 30.0).status == "interrupted"
        assert store.get(far).status == "running"  # nobody knows; it has a minute
        monkeypatch.setattr(executor, "_SILENT", 0.0)
        assert wait_for(store, far, 30.0).status == "interrupted"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 3 MB of its own."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", str(folder)], capture_output=True, text=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small file system cannot be mounted here ({mounted.stderr.strip()})")
    yield folder
    subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_full_disk_is_a_clear_failure_and_leaves_the_store_whole(small_disk: Path) -> None:
    with Store(small_disk / "home") as store:
        earlier = put(store)
        work_on(store, claim(store, worker_name(), earlier), Child(1))
        assert store.get(earlier).status == "done", store.get(earlier)
        wide = QUICK.replace(detector=QUICK.detector.replace(width=200))
        audit = put(store, config=wide)
        filler = small_disk / "filler"
        with filler.open("wb") as stream:
            stream.write(b"x" * max(0, shutil.disk_usage(small_disk).free - 400_000))
        work_on(store, claim(store, worker_name(), audit), Child(1))
        record = store.get(audit)
        assert record.status == "failed"
        assert "disk is full" in record.error, record  # by our own sentence, or the database's
        assert not list((store.home / "audits").glob("*/.staged-*"))
        assert summary(store.result(earlier))["n_test"] == 75
        filler.unlink()
        store.requeue(audit)
        work_on(store, claim(store, worker_name(), audit), Child(1))
        assert store.get(audit).status == "done"
