"""Saved audits: an index in a database, and a folder for each with its big parts.

    HOME/audits.sqlite          the index (or the database of CFAD_DATABASE_URL)
    HOME/tables/DIGEST.parquet  the tables that were audited, each once
    HOME/audits/ID/             what an audit found, as in docs/AUDIT_FORMAT.md

A row comes before its folder and goes before it. Files are written aside and renamed, so at any moment there is the
old state or the new one; ``recover`` clears away what an interrupted process left.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, get_args

import pandas as pd
import sqlalchemy as sa
from filelock import FileLock

from cfad_core.audit.result import SCHEMA_VERSION, AuditResult
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import digest, load_parquet, save_parquet, storable
from cfad_core.runs.database import AUDITS, REPORTS, connect

Status = Literal["queued", "running", "done", "failed", "cancelled", "interrupted"]

ACTIVE: tuple[Status, ...] = ("queued", "running")
_TABLES = ("table", "test", "test_counterfactual")
_ENDED_EARLY = ("failed", "cancelled", "interrupted")


@dataclass(frozen=True)
class AuditRecord:
    """An audit in the index. Times are seconds since 1970; ``metrics`` and ``threshold`` are None until there are any.

    Attributes
    ----------
    source : where the table came from, for people
    parent : the audit that this one repeats with other settings
    tables : digests of the tables that were given, by their part
    roles_text, config_text : JSON, as stored; ``roles`` and ``config`` are made of them when asked for
    metrics : the headline, by method
    threshold : the one that was chosen: method, value and how it was chosen
    error : what went wrong, for everybody; ``details`` are for repair
    """

    id: str
    name: str
    owner: str
    note: str
    source: str
    parent: str | None
    created: float
    started: float | None
    finished: float | None
    status: Status
    stage: str
    progress: float
    worker: str | None
    heartbeat: float | None
    cancel_requested: bool
    data_digest: str
    tables: dict[str, str]
    roles_text: str
    config_text: str
    metrics: dict[str, Any] | None
    threshold: dict[str, Any] | None
    error: str
    details: str
    schema_version: int

    @cached_property
    def roles(self) -> ColumnRoles:
        return ColumnRoles.from_dict(json.loads(self.roles_text))

    @cached_property
    def config(self) -> AuditConfig:
        return AuditConfig.from_dict(json.loads(self.config_text))

    @property
    def seconds(self) -> float | None:
        """How long it ran, or has been running."""
        if self.started is None:
            return None
        return (self.finished or time.time()) - self.started

    @property
    def seconds_left(self) -> float | None:
        """By the share that is done; None while there is too little to tell."""
        if self.status != "running" or self.seconds is None or self.progress < 0.03:
            return None
        return self.seconds * (1.0 - self.progress) / self.progress


@dataclass(frozen=True)
class Report:
    """One report of progress; ``number`` grows."""

    number: int
    at: float
    stage: str
    step: int
    total: int
    numbers: dict[str, float]


@dataclass(frozen=True)
class Inputs:
    """What an audit is made from."""

    table: pd.DataFrame
    test: pd.DataFrame | None
    test_counterfactual: pd.DataFrame | None
    roles: ColumnRoles
    config: AuditConfig


def home_folder() -> Path:
    """``CFAD_HOME``, or a folder among the user's data."""
    chosen = os.environ.get("CFAD_HOME")
    if chosen:
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "cfad"


class Store:
    """Audits that last. Safe to use from several threads and processes at once."""

    def __init__(self, home: Path | None = None, url: str | None = None) -> None:
        self.home = (home or home_folder()).absolute()
        try:
            for folder in ("tables", "audits"):
                (self.home / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CfadError(f"Cannot create the store in '{self.home}': {error.strerror}.") from error
        own = sa.URL.create("sqlite", database=str(self.home / "audits.sqlite")).render_as_string(hide_password=False)
        self.url = url or os.environ.get("CFAD_DATABASE_URL") or own
        self._engine = connect(self.url, self.home)

    def close(self) -> None:
        self._engine.dispose()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # What people do

    def create(
        self,
        table: pd.DataFrame,
        roles: ColumnRoles,
        config: AuditConfig,
        *,
        name: str,
        owner: str = "",
        source: str = "",
        parent: str | None = None,
        test: pd.DataFrame | None = None,
        test_counterfactual: pd.DataFrame | None = None,
    ) -> str:
        """Put an audit into the queue; returns its id. A table that is stored already is not stored again."""
        given = dict(zip(_TABLES, (table, test, test_counterfactual), strict=True))
        frames = {part: storable(frame) for part, frame in given.items() if frame is not None}
        digests = {part: digest(frame) for part, frame in frames.items()}
        row = {
            "id": secrets.token_hex(6),
            "name": _checked_name(name),
            "owner": owner,
            "source": source,
            "parent": parent,
            "created": time.time(),
            "status": "queued",
            "data_digest": digest(*frames.values()),
            "tables": digests,
            "roles": json.dumps(roles.to_dict()),
            "config": json.dumps(config.to_dict()),
            "schema_version": SCHEMA_VERSION,
        }
        self._insert(row, {digests[part]: frame for part, frame in frames.items()})
        return str(row["id"])

    def adopt(
        self, row: Mapping[str, Any], metrics: Mapping[str, Any], folder: Path, tables: Mapping[str, pd.DataFrame]
    ) -> str:
        """Take in a finished audit from elsewhere: its row, headline, files and tables by digest; returns its id."""
        audit = secrets.token_hex(6)
        full = {"schema_version": SCHEMA_VERSION, **row, "id": audit, "status": "running", "heartbeat": time.time()}
        self._insert(full, tables)
        os.replace(folder, self.folder(audit))
        self.finish(audit, metrics)
        self._change(audit, finished=row["finished"])
        return audit

    def get(self, audit: str) -> AuditRecord:
        """One audit.

        Raises
        ------
        InvalidArtifactError
            If there is none of this id.
        """
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(AUDITS).where(AUDITS.c.id == audit)).mappings().first()
        if row is None:
            raise InvalidArtifactError(f"There is no audit '{audit}'.")
        return _record(row)

    def find(
        self, *, status: Status | None = None, owner: str | None = None, text: str = "", limit: int | None = None
    ) -> list[AuditRecord]:
        """Audits, the newest first; ``text`` is looked for in name, note and source."""
        query = sa.select(AUDITS).order_by(AUDITS.c.created.desc(), AUDITS.c.id).limit(limit)
        if status is not None:
            if status not in get_args(Status):
                raise InvalidDataError(f"No status is '{status}'; there are: {', '.join(get_args(Status))}.")
            query = query.where(AUDITS.c.status == status)
        if owner is not None:
            query = query.where(AUDITS.c.owner == owner)
        if text:
            columns = (AUDITS.c.name, AUDITS.c.note, AUDITS.c.source)
            query = query.where(sa.or_(*(column.icontains(text, autoescape=True) for column in columns)))
        with self._engine.connect() as connection:
            return [_record(row) for row in connection.execute(query).mappings()]

    def result(self, audit: str) -> AuditResult:
        """What a finished audit found."""
        record = self.get(audit)
        if record.status != "done":
            raise InvalidArtifactError(f"Audit '{audit}' is {record.status}; only an audit that is done has a result.")
        return AuditResult.load(self.folder(audit))

    def inputs(self, audit: str) -> Inputs:
        """The tables, roles and settings of an audit."""
        record = self.get(audit)
        frames = {part: self.table(record.tables[part]) if part in record.tables else None for part in _TABLES}
        table = frames.pop("table")
        assert table is not None
        return Inputs(table=table, roles=record.roles, config=record.config, **frames)

    def table(self, name: str) -> pd.DataFrame:
        """A stored table, by its digest."""
        return load_parquet(self.table_path(name))

    def table_path(self, name: str) -> Path:
        return self.home / "tables" / f"{name}.parquet"

    def folder(self, audit: str) -> Path:
        """Where the big parts of an audit are, or will be."""
        return self.home / "audits" / audit

    def rename(self, audit: str, name: str) -> None:
        self._change(audit, name=_checked_name(name))

    def annotate(self, audit: str, note: str) -> None:
        self._change(audit, note=note)

    def choose_threshold(self, audit: str, threshold: Mapping[str, Any]) -> None:
        """Keep the threshold that was chosen: method, value and how it was chosen."""
        self._change(audit, threshold=dict(threshold))

    def delete(self, audit: str) -> None:
        """Delete an audit, and its tables unless another audit has them.

        Raises
        ------
        InvalidDataError
            If it is running.
        """
        with self._engine.begin() as connection:
            gone = connection.execute(
                sa.delete(AUDITS).where(AUDITS.c.id == audit, AUDITS.c.status != "running").returning(AUDITS.c.id)
            ).first()
        if gone is None:
            self.get(audit)
            raise InvalidDataError(f"Audit '{audit}' is running; cancel it first.")
        shutil.rmtree(self.folder(audit), ignore_errors=True)
        self._drop_unused_tables()

    # What jobs do

    def claim(self, worker: str, audit: str | None = None) -> AuditRecord | None:
        """Take the oldest audit of the queue (or the one that is named), if it is there; nobody else gets it."""
        oldest = (
            sa.select(AUDITS.c.id)
            .where(AUDITS.c.status == "queued", sa.true() if audit is None else AUDITS.c.id == audit)
            .order_by(AUDITS.c.created, AUDITS.c.id)
            .limit(1)
            .with_for_update(skip_locked=True)
        )
        now = time.time()
        worker = f"{worker}#{secrets.token_hex(4)}"  # this run, not an earlier one of the same worker
        taken = {"status": "running", "worker": worker, "started": now, "heartbeat": now, "finished": None}
        query = sa.update(AUDITS).where(AUDITS.c.id == oldest.scalar_subquery(), AUDITS.c.status == "queued")
        with self._engine.begin() as connection:
            found = connection.execute(query.values(taken).returning(AUDITS.c.id)).scalar()
        return None if found is None else self.get(found)

    def take_over(self, audit: str, worker: str, successor: str) -> bool:
        """Hand a running audit from one worker to the next; False if it is not the first one's any more."""
        values = {"worker": successor, "heartbeat": time.time()}
        with self._engine.begin() as connection:
            return connection.execute(sa.update(AUDITS).where(*_run(audit, worker)).values(values)).rowcount == 1

    def report(
        self,
        audit: str,
        stage: str,
        step: int,
        total: int,
        values: Mapping[str, float],
        progress: float,
        worker: str | None = None,
    ) -> None:
        """Keep a report of a running audit (of the named worker's run; any run's, if none is named)."""
        now = time.time()
        line = {"audit": audit, "at": now, "stage": stage, "step": step, "total": total, "values": dict(values)}
        with self._engine.begin() as connection:
            change = {"stage": stage, "progress": progress, "heartbeat": now}
            if connection.execute(sa.update(AUDITS).where(*_run(audit, worker)).values(change)).rowcount:
                connection.execute(sa.insert(REPORTS).values(line))

    def reports(self, audit: str, after: int = 0) -> list[Report]:
        """The reports of an audit, from the one after ``after`` on."""
        query = sa.select(REPORTS).where(REPORTS.c.audit == audit, REPORTS.c.id > after).order_by(REPORTS.c.id)
        with self._engine.connect() as connection:
            return [
                Report(row["id"], row["at"], row["stage"], row["step"], row["total"], row["values"])
                for row in connection.execute(query).mappings()
            ]

    def beat(self, audit: str, worker: str | None = None) -> bool:
        """Say that its worker is alive; returns whether it is to stop: it was asked to, or is not its run any more."""
        with self._engine.begin() as connection:
            query = sa.update(AUDITS).where(*_run(audit, worker)).values(heartbeat=time.time())
            asked = connection.execute(query.returning(AUDITS.c.cancel_requested)).scalar()
        return asked is None or bool(asked)

    def request_cancel(self, audit: str) -> None:
        """Cancel a queued audit at once, and ask a running one to stop; others are left as they are."""
        self.get(audit)
        with self._engine.begin() as connection:
            one = AUDITS.c.id == audit
            queued = {"status": "cancelled", "finished": time.time(), "cancel_requested": True}
            connection.execute(sa.update(AUDITS).where(one, AUDITS.c.status == "queued").values(queued))
            connection.execute(sa.update(AUDITS).where(one, AUDITS.c.status == "running").values(cancel_requested=True))

    def finish(self, audit: str, metrics: Mapping[str, Any], worker: str | None = None) -> None:
        """The folder is complete."""
        self._end(audit, worker, "done", progress=1.0, metrics=dict(metrics))

    def stop(self, audit: str, status: Status, error: str = "", details: str = "", worker: str | None = None) -> None:
        """It ended as failed, cancelled or interrupted."""
        self._end(audit, worker, status, error=error, details=details)

    def clear_staged(self, audit: str) -> None:
        """Remove what a process that was killed had not finished writing."""
        for staged in self.folder(audit).glob(".staged-*"):
            shutil.rmtree(staged, ignore_errors=True)

    def requeue(self, audit: str) -> None:
        """Start an audit again that did not get to its end.

        Raises
        ------
        InvalidDataError
            If it is queued, running or done.
        """
        fresh = {
            "status": "queued",
            "stage": "",
            "progress": 0.0,
            "cancel_requested": False,
            "error": "",
            "details": "",
            "schema_version": SCHEMA_VERSION,
        }
        times = {"started": None, "finished": None, "heartbeat": None, "worker": None}
        with self._engine.begin() as connection:
            query = sa.update(AUDITS).where(AUDITS.c.id == audit, AUDITS.c.status.in_(_ENDED_EARLY))
            again = connection.execute(query.values(fresh | times).returning(AUDITS.c.id)).first()
            if again is not None:
                connection.execute(sa.delete(REPORTS).where(REPORTS.c.audit == audit))
        if again is None:
            raise InvalidDataError(f"Audit '{audit}' is {self.get(audit).status}; it cannot be started again.")

    def recover(self, is_alive: Callable[[AuditRecord], bool | None], stale_after: float = 60.0) -> list[str]:
        """Settle what dead processes left; returns the audits that were interrupted.

        Parameters
        ----------
        is_alive : whether the worker of a running audit is; None if it lives on another machine and cannot be asked:
            then it counts as dead once it has not been heard of for ``stale_after`` seconds
        """
        interrupted = []
        for record in self.find(status="running"):
            alive = is_alive(record)
            if alive is None:
                alive = time.time() - (record.heartbeat or 0.0) < stale_after
            if alive:
                continue
            self.clear_staged(record.id)
            try:  # it may have died between its last file and its last word
                self.finish(record.id, headline(AuditResult.load(self.folder(record.id))), record.worker)
            except CfadError:
                shutil.rmtree(self.folder(record.id), ignore_errors=True)
                message = "The program ended while this audit was running. Start it again."
                self.stop(record.id, "interrupted", message, worker=record.worker)
                interrupted.append(record.id)
        folders = list((self.home / "audits").iterdir())  # before the rows: a row comes before its folder
        known = {record.id for record in self.find()}
        for folder in folders:
            if folder.name not in known:
                shutil.rmtree(folder, ignore_errors=True)
        self._drop_unused_tables()
        return interrupted

    def _insert(self, row: Mapping[str, Any], tables: Mapping[str, pd.DataFrame]) -> None:
        with self._tables_lock():
            for name, table in tables.items():
                if not self.table_path(name).is_file():
                    save_parquet(table, self.table_path(name))
            with self._engine.begin() as connection:
                connection.execute(sa.insert(AUDITS).values(dict(row)))

    def _end(self, audit: str, worker: str | None, status: Status, **values: Any) -> None:
        ended = {"status": status, "finished": time.time(), "worker": None}
        with self._engine.begin() as connection:
            connection.execute(sa.update(AUDITS).where(*_run(audit, worker)).values(ended | values))

    def _change(self, audit: str, **values: Any) -> None:
        with self._engine.begin() as connection:
            changed = connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(values)).rowcount
        if not changed:
            raise InvalidArtifactError(f"There is no audit '{audit}'.")

    def _tables_lock(self) -> FileLock:
        """Held while tables and the row that names them come or go."""
        return FileLock(self.home / ".tables.lock")

    def _drop_unused_tables(self) -> None:
        with self._tables_lock():
            used = {name for record in self.find() for name in record.tables.values()}
            for path in (self.home / "tables").iterdir():
                if path.stem not in used:
                    path.unlink(missing_ok=True)


def _run(audit: str, worker: str | None) -> list[sa.ColumnElement[bool]]:
    """The row of a running audit, if it is (still) the worker's run."""
    found: list[sa.ColumnElement[bool]] = [AUDITS.c.id == audit, AUDITS.c.status == "running"]
    return found if worker is None else [*found, AUDITS.c.worker == worker]


def headline(result: AuditResult) -> dict[str, Any]:
    """The metrics that lists show."""
    names = ("n", "flag_rate", "auc_pr", "auc_roc", "macro_f1", "changing_ratio", "changing_ratio_independent")
    return {
        method: {name: getattr(result.metrics(method), name) for name in names}
        | {"threshold": result.threshold(method), "verdict": result.verdict(method)}
        for method in result.scores
    }


def _record(row: Mapping[Any, Any]) -> AuditRecord:
    values = {str(key): value for key, value in row.items()}
    return AuditRecord(roles_text=values.pop("roles"), config_text=values.pop("config"), **values)


def _checked_name(name: str) -> str:
    clean = " ".join("".join(c if c.isprintable() else " " for c in name).split())
    if not clean:
        raise InvalidDataError("An audit needs a name.")
    return clean[:200]
