"""Audits on a Dask cluster. Dask itself is imported by whoever uses a cluster."""

from __future__ import annotations

import threading
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cfad_core.core.errors import CfadError
from cfad_core.runs.child import Child
from cfad_core.runs.cluster import connect_cluster
from cfad_core.runs.executor import Executor, watched, work_on, worker_name
from cfad_core.runs.model import AuditRecord
from cfad_core.runs.store import Store

_CLUSTER_DEATH = "The cluster's worker that computed this died, most likely out of memory. Start it again."
_CLUSTER_LOST = "The connection to the cluster was lost while this audit ran. Start it again."
_LOOK = 2.0  # seconds between two looks at whether the cluster is there


@dataclass(frozen=True)
class _Task:
    """Which run of which store; Dask writes down what a task that failed was given, and must not know the password."""

    home: str
    url: str = field(repr=False)
    audit: str
    sender: str


class DaskExecutor(Executor):
    """Runs the audits of the queue on a Dask cluster: each thread here watches a task there, one for each worker.

    While the cluster is away, audits stay in the queue.
    """

    def __init__(self, store: Store, address: str) -> None:
        self._address, self._client = address, connect_cluster(address)
        self._looking, self._looked = threading.Lock(), 0.0
        super().__init__(store, max(1, len(self._client.scheduler_info(n_workers=-1)["workers"])), threads=1)

    def _spare(self) -> None:
        """Nothing, for processes start over there; but nothing is taken from the queue while nobody is there."""
        with self._looking:
            if time.monotonic() - self._looked > _LOOK:
                self._find_cluster()
                self._looked = time.monotonic()

    def _find_cluster(self) -> None:
        """Connect anew where the connection was lost for good, as after a restart of the scheduler.

        Raises
        ------
        CfadError
            If it is not there.
        """
        stream = self._client.scheduler_comm
        if self._client.status == "connecting":
            raise CfadError(f"The Dask scheduler at '{self._address}' is away.")
        if self._client.status != "running" or stream is None or stream.closed():
            self._client.close()
            self._client = connect_cluster(self._address)
        if not self._client.scheduler_info(n_workers=-1)["workers"]:
            raise CfadError(f"The Dask cluster at '{self._address}' has no workers.")

    def _run(self, record: AuditRecord, spare: Child | None) -> None:  # noqa: ARG002 - processes start over there
        task = _Task(str(self.store.home), self.store.url, record.id, str(record.worker))
        with watched(record):  # until a worker of the cluster has it
            try:
                self._wait(self._client.submit(_work_on_cluster, task, pure=False), record)
            except Exception as error:
                details = f"{type(error).__name__}: {error}"
                _fail_on_cluster(self.store, record.id, str(record.worker), details, lost=_is_lost(error))

    def _wait(self, future: Any, record: AuditRecord) -> None:
        """Wait until the task is done; until a worker of the cluster has it, it lives and is cancelled here."""
        while not future.done():
            with suppress(Exception):  # the store cannot be reached just now
                is_ours = self.store.get(record.id).worker == record.worker
                if is_ours and self.store.beat(record.id, record.worker):
                    self.store.stop(record.id, "cancelled", worker=record.worker)
                    future.cancel()
                    return
            with suppress(TimeoutError):
                future.result(timeout=_LOOK)
        future.result()

    def close(self) -> None:
        super().close()
        self._client.close()


def _work_on_cluster(task: _Task) -> None:
    from distributed import get_worker

    with Store(Path(task.home), task.url) as store:
        if store.take_over(task.audit, task.sender, f"{worker_name()}#{task.sender.rpartition('#')[2]}"):
            work_on(store, store.get(task.audit), Child(get_worker().state.nthreads))
        else:  # Dask gives the tasks of a dead worker to the next one
            _fail_on_cluster(store, task.audit, task.sender)


def _is_lost(error: Exception) -> bool:
    """Whether the cluster was lost rather than a worker of it."""
    from distributed import CancelledError

    return isinstance(error, CancelledError | OSError)


def _fail_on_cluster(store: Store, audit: str, sender: str, details: str = "", *, lost: bool = False) -> None:
    """The worker died that had this run, if it is still this run: its token stays when a worker takes it over."""
    now = str(store.get(audit).worker)
    if now.rpartition("#")[2] == sender.rpartition("#")[2]:
        store.stop(audit, "failed", _CLUSTER_LOST if lost else _CLUSTER_DEATH, details, worker=now)
