"""The queue of audits: what jobs do. A worker takes an audit, reports how far it is, and says how it ended."""

from __future__ import annotations

import secrets
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from cfad_core.audit.folder import SCHEMA_VERSION, load_audit
from cfad_core.audit.pending_files import FOLDER as PENDING
from cfad_core.audit.pending_files import is_answered, is_finished_with, is_pending
from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError
from cfad_core.runs.access import Right
from cfad_core.runs.index import Index, folder_size
from cfad_core.runs.lanes import Waiting, in_turn, waits_since
from cfad_core.runs.log import Deed
from cfad_core.runs.model import AUDITS, ENDED_EARLY, REPORTS, AuditRecord, Report, Status, headline
from cfad_core.runs.plan import is_sealed
from cfad_core.runs.signed import FOLDER as SIGNED
from cfad_core.runs.signed import LOCK as SIGNED_LOCK
from cfad_core.runs.team_tables import PEOPLE


class Queue(Index):
    """Audits that wait, run and end. What a worker writes counts only while the audit is its own run."""

    def claim(self, worker: str, audit: str | None = None, *, only_short: bool = False) -> AuditRecord | None:
        """Take the audit that is due first (or the one that is named), if it is there; nobody else gets it.

        Parameters
        ----------
        only_short : for workers that are kept free for short audits; see ``lanes``
        """
        self.need_operator()
        worker = f"{worker}#{secrets.token_hex(4)}"  # this run, not an earlier one of the same worker
        for one in self._turns(only_short):
            if audit not in (None, one):
                continue
            now = time.time()
            taken = {"status": "running", "worker": worker, "started": now, "heartbeat": now, "finished": None}
            query = sa.update(AUDITS).where(AUDITS.c.id == one, AUDITS.c.status == "queued").values(taken)
            with self._engine.begin() as connection:
                is_mine = connection.execute(query).rowcount == 1  # nobody else was faster
            if is_mine:
                return self.get(one)
        return None

    def _turns(self, only_short: bool) -> list[str]:
        """The audits that may be taken, in the order in which they are; not those of people who have enough running."""
        names = ("id", "created", "expected", "is_short", "owner")
        queued = sa.select(*(AUDITS.c[name] for name in names)).where(AUDITS.c.status == "queued")
        busy = sa.select(AUDITS.c.owner, sa.func.count()).where(AUDITS.c.status == "running").group_by(AUDITS.c.owner)
        with self._engine.connect() as connection:
            rows = connection.execute(queued).all()
            if not rows:
                return []
            running = {str(owner): int(count) for owner, count in connection.execute(busy)}
        now = time.time()
        waiting = [
            Waiting(row.id, waits_since(row.created, now), row.expected or 0.0, bool(row.is_short), row.owner)
            for row in rows
        ]
        most = self.allowance.running
        return [
            one.id
            for one in in_turn(waiting, running)
            if (one.is_short or not only_short) and (not one.owner or running.get(one.owner, 0) < most)
        ]

    def take_over(self, audit: str, worker: str, successor: str) -> bool:
        """Hand a running audit from one worker to the next; False if it is not the first one's any more."""
        self.need_operator()
        values = {"worker": successor, "heartbeat": time.time()}
        with self._engine.begin() as connection:
            return connection.execute(sa.update(AUDITS).where(*_run(audit, worker)).values(values)).rowcount == 1

    def report(
        self,
        audit: str,
        report: Report,
        progress: float,
        worker: str | None = None,
        *,
        seconds_left: float | None = None,
        is_late: bool = False,
    ) -> None:
        """Keep a report of a running audit (of the named worker's run; any run's, if none is named).

        Parameters
        ----------
        progress : the share of the whole audit that is done
        seconds_left, is_late : as ``Countdown`` says
        """
        self.need_operator()
        now = time.time()
        line = {"audit": audit, "at": now, "values": dict(report.values)}
        line |= {name: getattr(report, name) for name in ("stage", "step", "total")}
        with self._engine.begin() as connection:
            change = {"stage": report.stage, "progress": progress, "heartbeat": now}
            change |= {"seconds_left": seconds_left, "is_late": is_late}
            if connection.execute(sa.update(AUDITS).where(*_run(audit, worker)).values(change)).rowcount:
                connection.execute(sa.insert(REPORTS).values(line))

    def beat(self, audit: str, worker: str | None = None) -> bool:
        """Say that its worker is alive; returns whether it is to stop: it was asked to, or is not its run any more."""
        self.need_operator()
        with self._engine.begin() as connection:
            query = sa.update(AUDITS).where(*_run(audit, worker)).values(heartbeat=time.time())
            asked = connection.execute(query.returning(AUDITS.c.cancel_requested)).scalar()
        return asked is None or bool(asked)

    def finish(self, audit: str, metrics: Mapping[str, Any], worker: str | None = None) -> None:
        """The folder is complete."""
        self._end(audit, worker, "done", progress=1.0, metrics=dict(metrics), size=folder_size(self._folder(audit)))

    def wait(self, audit: str, worker: str | None = None) -> None:
        """It waits for a detector's answers."""
        self._end(audit, worker, "waiting", finished=None, stage="", progress=0.0)

    def stop(self, audit: str, status: Status, error: str = "", details: str = "", worker: str | None = None) -> None:
        """It ended as failed, cancelled or interrupted."""
        self._end(audit, worker, status, error=error, details=details)

    def clear_staged(self, audit: str) -> None:
        """Remove what a process that was killed had not finished writing."""
        self.need_operator()
        for folder in (self._folder(audit), self._folder(audit) / PENDING):
            for staged in folder.glob(".staged-*"):
                shutil.rmtree(staged, ignore_errors=True)

    def request_cancel(self, audit: str) -> None:
        """Cancel a queued audit at once, and ask a running one to stop; others are left as they are."""
        with self._changing(audit, "own") as connection:
            one = AUDITS.c.id == audit
            queued = {"status": "cancelled", "finished": time.time(), "cancel_requested": True}
            connection.execute(sa.update(AUDITS).where(one, AUDITS.c.status == "queued").values(queued))
            connection.execute(sa.update(AUDITS).where(one, AUDITS.c.status == "running").values(cancel_requested=True))
            self._log(connection, "cancelled", audit)

    def start(self, audit: str) -> None:
        """Put a planned audit into the queue, as it was sealed.

        Raises
        ------
        InvalidDataError
            If it is not planned, or not any more what was sealed.
        """
        record = self._need(audit, "own")
        if record.status != "planned":
            raise InvalidDataError(f"Audit '{audit}' is {record.status}; only a planned audit can be started.")
        if not is_sealed(record):
            raise InvalidDataError(
                f"Audit '{audit}' is not what was sealed: its tables, roles, settings or plan were changed in the "
                "store. Delete it, and plan it anew."
            )
        self._put_into_queue(audit, ("planned",))

    def requeue(self, audit: str) -> None:
        """Start an audit again that did not get to its end.

        Raises
        ------
        InvalidDataError
            If it is planned, queued, running or done.
        """
        self._put_into_queue(audit, ENDED_EARLY)

    def _put_into_queue(
        self, audit: str, states: Sequence[Status], deed: Deed = "started", needs: Right = "own", **changes: Any
    ) -> None:
        fresh = {"status": "queued", "stage": "", "progress": 0.0, "cancel_requested": False}
        fresh |= {"error": "", "details": "", "schema_version": SCHEMA_VERSION, **changes}
        times = {"started": None, "finished": None, "heartbeat": None, "worker": None}
        times |= {"seconds_left": None, "is_late": None}
        with self._changing(audit, needs) as connection:
            one = connection.execute(sa.select(AUDITS.c.status, AUDITS.c.owner).where(AUDITS.c.id == audit)).one()
            if one.status not in states:
                raise InvalidDataError(f"Audit '{audit}' is {one.status}; it cannot be started again.")
            self._check_queue(connection, one.owner)
            connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values({**fresh, **times}))
            connection.execute(sa.delete(REPORTS).where(REPORTS.c.audit == audit))
            self._log(connection, deed, audit)

    def _check_queue(self, connection: sa.Connection, owner: str) -> None:
        """Refuse one more audit in the queue if its owner has enough there; not if the program itself puts it there."""
        if not (self.viewer.name and owner):
            return
        person = sa.update(PEOPLE).where(PEOPLE.c.name == owner)
        connection.execute(person.values(seen=PEOPLE.c.seen))  # nobody else puts one there until this ends
        query = sa.select(sa.func.count()).where(AUDITS.c.status == "queued", AUDITS.c.owner == owner)
        queued = int(connection.execute(query).scalar_one())
        self.allowance.check_queue(queued, "You have" if owner == self.viewer.name else f"{owner} has")

    def recover(self, is_alive: Callable[[AuditRecord], bool]) -> list[str]:
        """Settle what dead processes left; returns the audits that were interrupted.

        Parameters
        ----------
        is_alive : whether the worker of a running audit is
        """
        self.need_operator()
        dead = [record for record in self.find(status="running") if not is_alive(record)]
        interrupted = [record.id for record in dead if not self._settle(record)]
        self._drop_unknown_folders()
        self._drop_unused_tables()
        return interrupted

    def _settle(self, record: AuditRecord) -> bool:
        """End a run whose worker is dead; returns whether what it made is whole."""
        folder = self._folder(record.id)
        self.clear_staged(record.id)
        if is_pending(folder) and not is_answered(folder):
            self.wait(record.id, record.worker)
            return True
        try:  # it may have died between its last file and its last word
            result = load_audit(folder)
            if is_answered(folder) and not is_finished_with(result, folder):
                raise InvalidArtifactError("It was made of earlier answers.")
            self.finish(record.id, headline(result), record.worker)
        except CfadError:
            if not is_pending(folder):  # answers stay: with them it is finished in a moment
                _clear(folder)
            message = "The program ended while this audit was running. Start it again."
            self.stop(record.id, "interrupted", message, worker=record.worker)
            return False
        return True

    def _end(self, audit: str, worker: str | None, status: Status, **values: Any) -> None:
        self.need_operator()
        ended = {"status": status, "finished": time.time(), "worker": None, "seconds_left": None, "is_late": None}
        with self._engine.begin() as connection:
            connection.execute(sa.update(AUDITS).where(*_run(audit, worker)).values(ended | values))


def _clear(folder: Path) -> None:
    """Remove what a run left in the folder of an audit, but for reports that people signed."""
    for path in folder.iterdir() if (folder / SIGNED).is_dir() else [folder]:
        if path.is_dir() and path.name != SIGNED:
            shutil.rmtree(path, ignore_errors=True)
        elif path.name not in (SIGNED, SIGNED_LOCK):
            path.unlink(missing_ok=True)


def _run(audit: str, worker: str | None) -> list[sa.ColumnElement[bool]]:
    """The row of a running audit, if it is (still) the worker's run."""
    found: list[sa.ColumnElement[bool]] = [AUDITS.c.id == audit, AUDITS.c.status == "running"]
    return found if worker is None else [*found, AUDITS.c.worker == worker]
