"""The index of saved audits: a row in a database for each, and a folder with its big parts."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any, Self, get_args

import sqlalchemy as sa
from filelock import FileLock

from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError
from cfad_core.runs.database import connect
from cfad_core.runs.model import AUDITS, DELETED, DRAFTS, REPORTS, AuditRecord, Report, Status
from cfad_core.runs.trace import AuditTrace

_KEPT = 7 * 24 * 3600.0  # seconds that nobody touches a draft


def home_folder() -> Path:
    """``CFAD_HOME``, or a folder among the user's data."""
    chosen = os.environ.get("CFAD_HOME")
    if chosen:
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "cfad"


class Index:
    """Rows and folders of audits, to be read. Safe to use from several threads and processes at once."""

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

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

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
        return AuditRecord.of(row)

    def find(
        self, *, status: Status | None = None, owner: str | None = None, text: str = "", limit: int | None = None
    ) -> list[AuditRecord]:
        """Audits, the newest first; ``text`` is looked for in name, note and source."""
        query = sa.select(AUDITS).order_by(AUDITS.c.created.desc(), AUDITS.c.id).limit(limit)
        if status is not None:
            if status not in get_args(Status):
                raise InvalidDataError(f"There is no status '{status}'; choose one of: {', '.join(get_args(Status))}.")
            query = query.where(AUDITS.c.status == status)
        if owner is not None:
            query = query.where(AUDITS.c.owner == owner)
        if text:
            columns = (AUDITS.c.name, AUDITS.c.note, AUDITS.c.source)
            query = query.where(sa.or_(*(column.icontains(text, autoescape=True) for column in columns)))
        with self._engine.connect() as connection:
            return [AuditRecord.of(row) for row in connection.execute(query).mappings()]

    def ratios(self, limit: int) -> list[float]:
        """How many times as long as expected the audits took that were done last, but for those that asked a detector.

        Those answer in two runs, with a person between them.
        """
        took = (AUDITS.c.finished - AUDITS.c.started) / AUDITS.c.expected
        query = sa.select(took).where(AUDITS.c.status == "done", AUDITS.c.expected > 0.0, AUDITS.c.started.is_not(None))
        query = query.where(AUDITS.c.config.contains('"asked": null')).order_by(AUDITS.c.finished.desc()).limit(limit)
        with self._engine.connect() as connection:
            return [float(ratio) for ratio in connection.execute(query).scalars()]

    def deleted(self) -> list[AuditTrace]:
        """What is left of audits that had a result and were deleted, the oldest first."""
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(DELETED).order_by(DELETED.c.created, DELETED.c.id)).mappings()
            return [AuditTrace(**{str(name): value for name, value in row.items()}) for row in rows]

    def reports(self, audit: str, after: int = 0) -> list[Report]:
        """The reports of an audit, from the one after ``after`` on."""
        query = sa.select(REPORTS).where(REPORTS.c.audit == audit, REPORTS.c.id > after).order_by(REPORTS.c.id)
        with self._engine.connect() as connection:
            return [Report(**dict(row)) for row in connection.execute(query).mappings()]

    def folder(self, audit: str) -> Path:
        """Where the big parts of an audit are, or will be."""
        return self.home / "audits" / audit

    def table_path(self, name: str) -> Path:
        """Where a table is, or will be, by its digest."""
        return self.home / "tables" / f"{name}.parquet"

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
            with self._engine.begin() as connection:
                connection.execute(sa.delete(DRAFTS).where(DRAFTS.c.changed < time.time() - _KEPT))
                drafted = connection.execute(sa.select(DRAFTS.c.tables)).scalars().all()
            used = {name for record in self.find() for name in record.tables.values()}
            used |= {name for tables in drafted for name in tables.values()}
            for path in (self.home / "tables").iterdir():
                if path.stem not in used:
                    path.unlink(missing_ok=True)

    def _drop_unknown_folders(self) -> None:
        folders = list((self.home / "audits").iterdir())  # before the rows: a row comes before its folder
        known = {record.id for record in self.find()}
        for folder in folders:
            if folder.name not in known:
                shutil.rmtree(folder, ignore_errors=True)
