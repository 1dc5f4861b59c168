"""Audits that run off the page: executors work off the queue of the store.

An audit is one child process (``child``), watched by whoever took it from the queue: a thread here, or a task on a
Dask cluster (``dask``). Both run ``work_on``, so an audit ends in the same way wherever it runs: done, failed with a
sentence, or cancelled. A worker needs only this package and the store (its folder, and its database).
"""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Any

import psutil

from cfad_core.audit.answering import answer_audit
from cfad_core.audit.asking import ask_audit
from cfad_core.audit.folder import save_audit
from cfad_core.audit.pending_files import is_answered, load_answers, load_pending, save_pending
from cfad_core.audit.run import audit_tables
from cfad_core.core.cost import Countdown
from cfad_core.core.errors import AuditCancelled, CfadError, InvalidConfigError
from cfad_core.core.progress import Progress
from cfad_core.runs.child import Child
from cfad_core.runs.forecast import pace_here, stages_of
from cfad_core.runs.lanes import reserved
from cfad_core.runs.large import forget_request, load_request, score_everybody
from cfad_core.runs.model import ACTIVE, AuditRecord, Report, Status, headline
from cfad_core.runs.silence import Silence
from cfad_core.runs.store import Store

_LOOK = 0.2  # seconds between two looks at the queue
_BEAT = 0.5  # seconds between two signs of life, and looks at whether to stop
_RECOVERY = 15.0  # seconds between two looks for audits whose worker died
_SETTLED = 10.0  # seconds of silence after which a run of this process that nobody watches is lost
_SILENT = 60.0  # seconds of silence after which a run on another machine is
_KEPT_REPORTS = 2.0  # a second
_WARM = ("cfad_core.runs.executor", "sklearn.metrics")
_STUBBORN = 5  # attempts to write down how an audit ended
_WATCHED: set[str] = set()  # the runs that this process watches


def work_on(store: Store, record: AuditRecord, child: Child, also: Progress | None = None) -> None:
    """Run an audit that was taken from the queue, and write down how it ended; ``also`` hears its progress."""
    place = {"home": str(store.home), "url": store.url, "audit": record.id}
    with watched(record):
        try:
            with child:
                metrics = child.run("cfad_core.runs.executor:perform", place, _Kept(store, record, also))
        except AuditCancelled:
            _end(store, record, "cancelled")
        except CfadError as error:
            _end(store, record, "failed", str(error), error.details)
        except Exception as error:  # of the database: its reports could not be kept
            reason = str(getattr(error, "orig", None) or error).splitlines()[0][:200]
            _end(store, record, "failed", f"The store could not be used: {reason}. Start it again once it can.")
        except KeyboardInterrupt:
            _end(store, record, "cancelled")
            raise
        else:
            if metrics is None:
                _insist(lambda: store.wait(record.id, record.worker))
            else:
                _insist(lambda: store.finish(record.id, metrics, record.worker))


@contextmanager
def watched(record: AuditRecord) -> Iterator[None]:
    """While the block runs, this process watches the run."""
    _WATCHED.add(str(record.worker))
    try:
        yield
    finally:
        _WATCHED.discard(str(record.worker))


def _end(store: Store, record: AuditRecord, status: Status, message: str = "", details: str = "") -> None:
    with suppress(Exception):  # of a database that cannot be read
        if store.get(record.id).worker in (record.worker, None):  # not another run's
            store.clear_staged(record.id)  # which makes room on a full disk, too
    _insist(lambda: store.stop(record.id, status, message, details, record.worker))


def perform(progress: Progress, home: str, url: str, audit: str) -> dict[str, Any] | None:
    """In the child process: run the audit, save it, return its headline; None if it waits for a detector's answers."""
    with Store(Path(home), url) as store:
        folder = store.folder(audit)
        if is_answered(folder):
            pending = load_pending(folder)
            result = answer_audit(pending, load_answers(pending.questions, folder), progress)
        else:
            request = store.request(audit)
            if request.config.asked is not None:
                save_pending(ask_audit(request.tables, request.roles, request.config, progress), folder)
                return None
            result = audit_tables(request.tables, request.roles, request.config, progress)
            if (large := load_request(folder)) is not None:
                result = score_everybody(result, *large, folder, progress)
        save_audit(result, folder)
        forget_request(folder)
    return headline(result)


class _Kept(Progress):
    """Writes reports into the store, a few a second, and looks there whether to stop."""

    def __init__(self, store: Store, record: AuditRecord, also: Progress | None) -> None:
        self._store, self._audit, self._worker, self._also = store, record.id, record.worker, also or Progress()
        factor = pace_here(store).factor
        expected = {stage: seconds * factor for stage, seconds in stages_of(record).items()}
        self._countdown, self._stage, self._began = Countdown(expected), "", time.monotonic()
        self._written, self._beaten, self._stop = 0.0, 0.0, False

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        self._also.report(stage, step, total, values)
        now, found = time.monotonic(), self._countdown
        found.after(stage, step, total, now - self._began)
        if stage == self._stage and step < total and now - self._written < 1.0 / _KEPT_REPORTS:
            return
        self._stage, self._written = stage, now
        heard = Report(stage, step, total, values)
        self._store.report(
            self._audit, heard, found.share, self._worker, seconds_left=found.left, is_late=found.is_late
        )

    def stop_requested(self) -> bool:
        now = time.monotonic()
        if not self._stop and now - self._beaten >= _BEAT:
            self._beaten = now
            self._stop = self._store.beat(self._audit, self._worker)
        return self._stop


def _insist(write: Callable[[], None]) -> None:
    """A full disk or a busy database may let it through a moment later."""
    for attempt in range(1, _STUBBORN + 1):
        try:
            write()
        except Exception:
            if attempt == _STUBBORN:
                raise
            time.sleep(attempt)
        else:
            return


class Executor:
    """Takes audits from the queue in threads of its own until it is closed; each thread watches one at a time.

    One of several is kept free for short audits (``lanes``). Closing it leaves running audits ``interrupted``; they can
    be started again.
    """

    def __init__(self, store: Store, workers: int = 1, threads: int | None = None) -> None:
        if workers < 1:
            raise InvalidConfigError(f"At least one worker is needed; got {workers}.")
        self.store, self.workers = store, workers
        self.threads = threads or max(1, (os.cpu_count() or 1) // workers)
        self._closed, self._silence = threading.Event(), Silence()
        self.store.recover(self._is_alive)
        lanes = reserved(workers)
        self._crew = [threading.Thread(target=self._work, args=(short,), daemon=True) for short in lanes]
        self._crew.append(threading.Thread(target=self._look_after, daemon=True))
        for thread in self._crew:
            thread.start()

    def close(self) -> None:
        """Take no more audits, and stop those that run."""
        self._closed.set()
        for thread in self._crew:
            thread.join(timeout=30.0)

    def __enter__(self) -> Executor:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _work(self, only_short: bool) -> None:
        spare: Child | None = None
        while not self._closed.is_set():
            try:
                spare = spare or self._spare()
                record = self.store.claim(worker_name(), only_short=only_short)
                if record is not None:
                    taken, spare = spare, None
                    with self._stopping_when_closed(record):
                        self._run(record, taken)
                    continue
            except Exception:  # the store cannot be reached just now; the queue goes on when it can
                time.sleep(1.0)
            self._closed.wait(_LOOK)
        if spare is not None:
            spare.close()

    def _spare(self) -> Child | None:
        """A process that has imported what takes long, for the next audit."""
        return None if self._closed.is_set() else Child(self.threads, warm=_WARM)

    def _run(self, record: AuditRecord, spare: Child | None) -> None:
        if spare is None or not spare.is_ready:
            spare = Child(self.threads)
        work_on(self.store, record, spare)

    @contextmanager
    def _stopping_when_closed(self, record: AuditRecord) -> Iterator[None]:
        ended = threading.Event()

        def guard() -> None:
            while not ended.is_set():
                if self._closed.wait(0.1) and not ended.is_set():
                    message = "The program was closed. Start it again."
                    with suppress(Exception):  # the store cannot be reached: the next program finds it
                        # its watcher sees that and stops it
                        self.store.stop(record.id, "interrupted", message, worker=record.worker)
                    return

        watcher = threading.Thread(target=guard, daemon=True)
        watcher.start()
        try:
            yield
        finally:
            ended.set()

    def _look_after(self) -> None:
        while not self._closed.wait(_RECOVERY):
            with suppress(Exception):  # the store cannot be reached just now
                self.store.recover(self._is_alive)
                self.store.tidy()

    def _is_alive(self, record: AuditRecord) -> bool:
        """Whether somebody works on a running audit; whoever cannot be asked has some time to say something."""
        known = is_alive(record)
        if known is not None:
            return known
        return self._silence.of(record) < (_SETTLED if _worker(record) == worker_name() else _SILENT)


def wait_for(store: Store, audit: str, timeout: float | None = None) -> AuditRecord:
    """Wait until an audit is neither queued nor running.

    Raises
    ------
    CfadError
        If that takes longer than ``timeout`` seconds.
    """
    deadline = None if timeout is None else time.monotonic() + timeout
    while (record := store.get(audit)).status in ACTIVE:
        if deadline is not None and time.monotonic() > deadline:
            raise CfadError(f"Audit '{audit}' is still {record.status} after {timeout:g} seconds.")
        time.sleep(0.1)
    return record


@cache
def worker_name() -> str:
    """Name of this process, on this machine: host, process id, and when it began (ids are used again)."""
    return f"{socket.gethostname()}:{os.getpid()}:{_began(psutil.Process()):.2f}"


def _began(process: psutil.Process) -> float:
    """Seconds from the start of this machine until that of a process: they stay the same when its clock is set."""
    return float(process.create_time() - psutil.boot_time())


def _worker(record: AuditRecord) -> str:
    """The process that has a running audit; the rest of the name is this run."""
    return str(record.worker).partition("#")[0]


def is_alive(record: AuditRecord) -> bool | None:
    """Whether the worker of a running audit still works on it; None if it cannot be asked.

    Those on another machine cannot, and neither those here that took it just now and do not watch it yet.
    """
    worker = _worker(record)
    if worker == worker_name():
        return True if record.worker in _WATCHED else None
    host, _, rest = worker.rpartition(":")
    host, _, process = host.rpartition(":")
    if host != socket.gethostname():
        return None
    try:
        return abs(_began(psutil.Process(int(process))) - float(rest)) < 1.0
    except (psutil.NoSuchProcess, ValueError):
        return False
