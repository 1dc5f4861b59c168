"""Saved audits: an index in a database, and a folder for each with its big parts.

    HOME/audits.sqlite          the index (or the database of CFAD_DATABASE_URL)
    HOME/tables/DIGEST.parquet  the tables that were audited, each once
    HOME/audits/ID/             what an audit found, as in docs/AUDIT_FORMAT.md

A row comes before its folder and goes before it. Files are written aside and renamed, so at any moment there is the
old state or the new one; ``recover`` clears away what an interrupted process left.
"""

from __future__ import annotations

import dataclasses
import json
import os
import secrets
import shutil
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import sqlalchemy as sa

from cfad_core.audit.batch import Batch
from cfad_core.audit.folder import SCHEMA_VERSION, load_audit
from cfad_core.audit.history import append_batch
from cfad_core.audit.pending_files import AnswerForm, is_pending, load_questions, save_answers
from cfad_core.audit.questions import Questions
from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import Statements
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.data.roles import ColumnRoles, resolve_roles
from cfad_core.data.tables import Tables, load_parquet
from cfad_core.detectors.registry import check_known, check_own_name
from cfad_core.runs import signed
from cfad_core.runs.access import OPERATOR, PROGRAM, folded
from cfad_core.runs.counts import Counts
from cfad_core.runs.drafts import Drafts
from cfad_core.runs.forecast import expected_time
from cfad_core.runs.index import folder_size
from cfad_core.runs.large import large_stages
from cfad_core.runs.log import Deed
from cfad_core.runs.model import ACTIVE, AUDITS, DELETED, ENDED_EARLY, AuditRecord, ChosenThreshold, Status
from cfad_core.runs.plan import sealed_plan
from cfad_core.runs.queue import Queue
from cfad_core.runs.retention import kept_words
from cfad_core.runs.snapshot import Snapshots
from cfad_core.runs.team import Team
from cfad_core.runs.texts import on_one_line
from cfad_core.runs.trace import column_names, trace_of

_LONGEST_NAME = 200  # characters of an audit's name


@dataclass(frozen=True)
class Request:
    """What an audit is made from."""

    tables: Tables
    roles: ColumnRoles
    config: AuditConfig


class Store(Queue, Drafts, Team, Counts, Snapshots):
    """Audits that last: what people do with them. What jobs do is in ``Queue``."""

    def create(  # noqa: PLR0913 - all but the first three by name
        self,
        tables: Tables,
        roles: ColumnRoles,
        config: AuditConfig,
        *,
        name: str,
        owner: str | None = None,
        source: str = "",
        parent: str | None = None,
        prepare: Callable[[Path], None] | None = None,
    ) -> str:
        """Put an audit into the queue; returns its id. A table that is stored already is not stored again.

        Parameters
        ----------
        owner : whose it is, if the program itself makes it; else it is that of whoever looks
        prepare : called with its folder before anybody can take it from the queue

        Raises
        ------
        InvalidDataError, InvalidConfigError
            If the table does not have these roles, the name is empty, or there is no such method.
        NotAllowedError, LimitReachedError
            If whoever looks may make none, or has as many as one person may have.
        """
        row = self._row(tables, roles, config, name=name, owner=owner, source=source, parent=parent)
        folder = self._folder(str(row["id"]))

        def expected() -> dict[str, Any]:
            if prepare is not None:
                prepare(folder)
            return expected_time(tables, roles, config, large_stages(folder))

        self._insert(row | {"status": "queued"}, tables, more=expected)
        return str(row["id"])

    def plan(  # noqa: PLR0913 - as create, with the planner's words
        self,
        tables: Tables,
        roles: ColumnRoles,
        config: AuditConfig,
        *,
        name: str,
        by: str,
        expectation: str = "",
        owner: str | None = None,
        source: str = "",
        parent: str | None = None,
    ) -> str:
        """Seal an audit before anybody sees a result; ``start`` puts it into the queue. Returns its id.

        Parameters
        ----------
        by : who plans it
        expectation : what it will be about, and what would be acceptable, in the planner's words

        Raises
        ------
        InvalidDataError, InvalidConfigError
            As ``create``; or if the planner's words are too long.
        """
        row = self._row(tables, roles, config, name=name, owner=owner, source=source, parent=parent)
        plan = sealed_plan(row, by, expectation).to_dict()
        self._insert(row | {"status": "planned", "plan": plan} | expected_time(tables, roles, config), tables)
        return str(row["id"])

    def adopt(self, row: Mapping[str, Any], metrics: Mapping[str, Any], folder: Path, tables: Tables) -> str:
        """Take in a finished audit from elsewhere: its row, headline, files and tables; returns its id."""
        self._need_maker()
        audit = secrets.token_hex(6)
        full = {"schema_version": SCHEMA_VERSION, **row, "id": audit, "status": "running", "heartbeat": time.time()}
        full["owner"] = folded(str(full.get("owner", ""))) if self.viewer.is_operator else self.viewer.name
        self._insert(full, tables, "imported", folder_size(folder))
        os.replace(folder, self._folder(audit))
        program = self.seen_by(OPERATOR)
        program.finish(audit, metrics)
        with self._engine.begin() as connection:  # not the moment at which it was taken in
            query = sa.update(AUDITS).where(AUDITS.c.id == audit)
            connection.execute(query.values(finished=row.get("finished")))
        return audit

    def result(self, audit: str) -> AuditResult:
        """What a finished audit found."""
        return load_audit(self.finished_folder(audit))

    def finished_folder(self, audit: str) -> Path:
        """Where the big parts of a finished audit are.

        Raises
        ------
        InvalidArtifactError
            If there is no such audit, or it is not done.
        """
        record = self.get(audit)
        if record.status != "done":
            raise InvalidArtifactError(f"Audit '{audit}' is {record.status}; only an audit that is done has a result.")
        return self._folder(audit)

    def request(self, audit: str) -> Request:
        """The tables, roles and settings of an audit."""
        record = self.get(audit)
        frames = {part: self.table(name) for part, name in record.tables.items()}
        return Request(Tables.stored(frames, (record.tables, record.data_digest)), record.roles, record.config)

    def table(self, name: str) -> pd.DataFrame:
        """A stored table, by its digest."""
        return load_parquet(self.table_path(name))

    def has_questions(self, audit: str) -> bool:
        """Whether a detector was asked to score rows of this audit."""
        return is_pending(self.folder(audit))

    def questions(self, audit: str) -> Questions:
        """The rows that a detector was asked to score.

        Raises
        ------
        InvalidArtifactError
            If the audit asks no detector, or has not come so far.
        """
        record = self.get(audit)
        if not is_pending(self._folder(audit)):
            raise InvalidArtifactError(f"Audit '{audit}' ({record.name}) is {record.status} and has no rows to score.")
        return load_questions(self._folder(audit))

    def answer(self, audit: str, given: pd.DataFrame, form: AnswerForm) -> None:
        """Take the scores of a detector that was asked, and put the audit into the queue to be finished.

        An audit that was finished with other answers is finished anew.

        Raises
        ------
        InvalidDataError
            If the table does not answer the questions, or the audit is queued or running.
        InvalidArtifactError
            If the audit has no questions.
        """
        asked = self.questions(audit)
        self._need(audit, "tune")
        form.read(asked, given)
        with self._tables_lock():  # no second answer at the same time
            if self.get(audit).status in ACTIVE:
                raise InvalidDataError(f"Audit '{audit}' is {self.get(audit).status}; wait until it is done.")
            save_answers(given, form, self._folder(audit))  # what earlier ones came to is there until it is replaced
            saved = self.get(audit).threshold_entry or {}
            of_others = saved if saved.get("method") != asked.name else None  # scores may now mean something else
            states: tuple[Status, ...] = ("waiting", "done", *ENDED_EARLY)
            self._put_into_queue(audit, states, "answered", "tune", metrics=None, threshold=of_others or None)

    def rename(self, audit: str, name: str) -> None:
        self._change(audit, "own", "name", name=checked_name(name))

    def annotate(self, audit: str, note: str) -> None:
        self._change(audit, "tune", "note", note=note)

    def choose_threshold(self, audit: str, threshold: ChosenThreshold) -> None:
        """Keep the threshold that was chosen."""
        self._change(audit, "tune", "threshold", threshold=threshold.to_dict())

    def state(self, audit: str, statements: Statements) -> None:
        """Keep what people state about the audit, in the place of all that they stated before."""
        self._change(audit, "tune", "statements", statements=statements.to_dict())

    def sign(
        self, audit: str, files: Callable[[int, float], signed.Files], signer: str, role: str = ""
    ) -> signed.Signature:
        """Keep a signed copy of the report of a finished audit, as ``signed.sign``."""
        self._need(audit, "tune")
        signature = signed.sign(self.finished_folder(audit), files, signer, role)
        self.note("signed", audit, f"report {signature.version}")
        return signature

    def keep_batch(self, audit: str, batch: Batch) -> None:
        """Add a batch to the history of a finished audit."""
        self._need(audit, "tune")
        append_batch(self.finished_folder(audit), batch)
        self.note("changed", audit, "history")

    def signatures(self, audit: str) -> tuple[signed.Signature, ...]:
        """The signatures of its signed reports, ascending, as ``signed.signatures``."""
        return signed.signatures(self._folder(self.get(audit).id))

    def delete(self, audit: str) -> None:
        """Delete an audit with its signed reports, and its tables unless another audit has them.

        If it had a result, its settings and verdicts stay listed among ``related`` audits.

        Raises
        ------
        InvalidDataError
            If it is running.
        """
        with self._changing(audit, "own") as connection:
            record = AuditRecord.of(connection.execute(_row_of(audit)).mappings().one())
            if record.status == "running":
                raise InvalidDataError(f"Audit '{audit}' is running; cancel it first.")
            self._delete_row(connection, record, record.name)
        shutil.rmtree(self._folder(audit), ignore_errors=True)
        self._drop_unused_tables()

    def tidy(self) -> list[str]:
        """Delete the audits that were kept for as long as ``CFAD_KEEP_DAYS`` says; returns their ids.

        What is planned, queued, running or waiting stays. It goes as by ``delete``, signed reports included.
        """
        self.need_operator()
        return [] if self.keep_days is None else [one.id for one in self.find() if self._deleted_if_old(one)]

    def _deleted_if_old(self, record: AuditRecord) -> bool:
        """Delete an audit if its time is over, also by what it is at the moment of that."""
        if not self._is_over(record):
            return False
        try:
            with self.seen_by(PROGRAM)._changing(record.id, "own") as connection:
                now = AuditRecord.of(connection.execute(_row_of(record.id)).mappings().one())
                if not self._is_over(now):  # it was started again
                    return False
                words = f"{now.name}, {kept_words(self.keep_days or 0)}"
                self.seen_by(PROGRAM)._delete_row(connection, now, words)
        except InvalidArtifactError:  # somebody was faster
            return False
        shutil.rmtree(self._folder(record.id), ignore_errors=True)
        self._drop_unused_tables()
        return True

    def _is_over(self, record: AuditRecord) -> bool:
        until = self.goes_at(record)
        return until is not None and until < time.time()

    def _delete_row(self, connection: sa.Connection, record: AuditRecord, about: str) -> None:
        """Take an audit out of the index, and keep its trace if it had a result."""
        connection.execute(sa.delete(AUDITS).where(AUDITS.c.id == record.id))
        if self._had_result(record):
            columns = column_names(self._table_path(record.tables.get("table", "")))
            trace = dataclasses.asdict(trace_of(record, columns, deleted=time.time()))
            connection.execute(sa.insert(DELETED).values(trace))
        self._log(connection, "deleted", record.id, about)

    def _had_result(self, record: AuditRecord) -> bool:
        """Whether it has a result, or had one before it was answered anew."""
        return record.status == "done" or (self._folder(record.id) / "audit.json").is_file()

    def _row(
        self, tables: Tables, roles: ColumnRoles, config: AuditConfig, *, name: str, **more: Any
    ) -> dict[str, Any]:
        """A new row of the index, but for its status."""
        self._need_maker()
        if more.get("parent") is not None and not self.viewer.is_operator:
            self.get(more["parent"])
        more["owner"] = folded(more.get("owner") or "") if self.viewer.is_operator else self.viewer.name
        check_known(config.methods)
        if config.asked is not None:
            check_own_name(config.asked.name)
        return {
            "id": secrets.token_hex(6),
            "name": checked_name(name),
            "created": time.time(),
            "data_digest": tables.digest,
            "tables": tables.digests,
            "roles": json.dumps(resolve_roles(tables.table, roles).to_dict()),
            "config": json.dumps(config.to_dict()),
            "schema_version": SCHEMA_VERSION,
            **more,
        }

    def _insert(
        self,
        row: Mapping[str, Any],
        tables: Tables,
        deed: Deed = "made",
        size: int = 0,
        more: Callable[[], Mapping[str, Any]] = dict,
    ) -> None:
        """Add an audit with its tables.

        Parameters
        ----------
        size : bytes of the folder that it brings
        more : what else belongs into its row; called while nobody clears away folders that have no row yet
        """
        if self.viewer.name:
            others = (tables.test, tables.test_counterfactual, tables.truth)
            self.allowance.check_rows(max(tables.rows, *(len(one) for one in others if one is not None), 0))
        with self._new_tables(tables, size):
            full = {**row, **more()}
            with self._engine.begin() as connection:
                if row["status"] == "queued":
                    self._check_queue(connection, str(row["owner"]))
                connection.execute(sa.insert(AUDITS).values(full))
                self._log(connection, deed, str(row["id"]), str(row["name"]))


def _row_of(audit: str) -> sa.Select[Any]:
    return sa.select(AUDITS).where(AUDITS.c.id == audit)


def checked_name(name: str) -> str:
    """The name on one line, at most 200 characters long.

    Raises
    ------
    InvalidDataError
        If nothing is left of it.
    """
    clean = on_one_line(name, _LONGEST_NAME)
    if not clean:
        raise InvalidDataError("An audit needs a name.")
    return clean
