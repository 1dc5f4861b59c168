"""The index of saved audits: a row in a database for each, and a folder with its big parts.

Whoever looks at it is part of it (``seen_by``): every query asks for what they may see, every change for what they
may do.
"""

from __future__ import annotations

import copy
import os
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self, get_args

import sqlalchemy as sa
from filelock import FileLock

from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError
from cfad_core.data.tables import Tables
from cfad_core.runs.access import (
    OPERATOR,
    NotAllowedError,
    Right,
    Share,
    Viewer,
    covers,
    drafts_of,
    folded,
    right_of,
    traces_of,
    visible_to,
)
from cfad_core.runs.allowance import Allowance
from cfad_core.runs.database import connect, url_from_environment
from cfad_core.runs.log import Deed, entry
from cfad_core.runs.model import AUDITS, DELETED, DRAFTS, REPORTS, AuditRecord, Report, Status
from cfad_core.runs.retention import goes_at, keep_days
from cfad_core.runs.team_tables import LOG, SHARES
from cfad_core.runs.texts import on_one_line
from cfad_core.runs.trace import AuditTrace

_KEPT = 7 * 24 * 3600.0  # seconds that nobody touches a draft
_LONGEST_ID = 60  # characters that are repeated of an id that is none


def home_folder() -> Path:
    """``CFAD_HOME``, or a folder among the user's data."""
    chosen = os.environ.get("CFAD_HOME")
    if chosen:
        return Path(chosen)
    data = os.environ.get("XDG_DATA_HOME")
    return (Path(data) if data else Path.home() / ".local" / "share") / "cfad"


def folder_size(folder: Path) -> int:
    """Bytes of all files in a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


class Index:
    """Rows and folders of audits, to be read. Safe to use from several threads and processes at once.

    Attributes
    ----------
    viewer : who looks; a store that is opened is the operator's, who may everything
    allowance : how much one person may take
    keep_days : after which audits that have ended are deleted; None: they are kept for ever
    """

    def __init__(self, home: Path | None = None, url: str | None = None) -> None:
        self.home = (home or home_folder()).absolute()
        try:
            for folder in ("tables", "audits"):
                (self.home / folder).mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise CfadError(f"Cannot create the store in '{self.home}': {error.strerror}.") from error
        own = sa.URL.create("sqlite", database=str(self.home / "audits.sqlite")).render_as_string(hide_password=False)
        self.url = url or url_from_environment() or own
        self.allowance, self.keep_days = Allowance.from_environment(), keep_days()
        self._engine = connect(self.url, self.home)
        self.viewer = OPERATOR

    def seen_by(self, viewer: Viewer) -> Self:
        """The same store as somebody sees it: of what they may not see, it says that it is not there."""
        seen = copy.copy(self)
        seen.viewer = viewer
        return seen

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
        query = sa.select(AUDITS).where(AUDITS.c.id == audit, visible_to(self.viewer))
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        if row is None:
            raise _missing(audit)
        return AuditRecord.of(row)

    def right(self, audit: str) -> Right:
        """What whoever looks may do with an audit that they see.

        Raises
        ------
        InvalidArtifactError
            If they see none of this id.
        """
        with self._engine.connect() as connection:
            return self._right(connection, audit)[0]

    def _right(self, connection: sa.Connection, audit: str) -> tuple[Right, str]:
        """What whoever looks may do with an audit that they see, and whose it is."""
        query = sa.select(AUDITS.c.owner).where(AUDITS.c.id == audit, visible_to(self.viewer))
        owner = connection.execute(query).scalar()
        shares = () if self.viewer.sees_all else shares_of(connection, audit)
        right = None if owner is None else right_of(self.viewer, owner, shares)
        if right is None:
            raise _missing(audit)
        return right, str(owner)

    def _need(self, audit: str, needs: Right) -> AuditRecord:
        """The audit, if whoever looks may do that much with it."""
        record = self.get(audit)
        with self._engine.connect() as connection:
            _refuse_more(*self._right(connection, audit), needs, audit)
        return record

    @contextmanager
    def _changing(self, audit: str, needs: Right) -> Iterator[sa.Connection]:
        """A transaction that changes an audit, if whoever looks may do that much with it.

        Nobody else changes the audit, or with whom it is shared, until it ends.
        """
        with self._engine.begin() as connection:
            held = sa.update(AUDITS).where(AUDITS.c.id == audit, visible_to(self.viewer))
            if not connection.execute(held.values(owner=AUDITS.c.owner)).rowcount:
                raise _missing(audit)
            _refuse_more(*self._right(connection, audit), needs, audit)
            yield connection

    def need_room(self, more: int) -> None:
        """Refuse whoever may make no audits, or keeps too much to add so many bytes.

        Raises
        ------
        NotAllowedError, LimitReachedError
        """
        self._need_maker()
        if self.viewer.name:
            self.allowance.check_bytes(self._bytes_of(self.viewer.name), more)

    def bytes_of(self, owner: str) -> int:
        """What somebody's audits and drafts take: their results, and each table once; for them and administrators.

        Raises
        ------
        NotAllowedError
        """
        if not self.viewer.sees_all and folded(owner) != self.viewer.name:
            raise NotAllowedError("Only administrators see how much other people keep.")
        return self._bytes_of(folded(owner))

    def _bytes_of(self, owner: str) -> int:
        audits = sa.select(AUDITS.c.tables, AUDITS.c.size).where(AUDITS.c.owner == owner)
        with self._engine.connect() as connection:
            rows = connection.execute(audits).all()
        return sum(row.size or 0 for row in rows) + sum(map(self._table_size, self._tables_of(owner)))

    def _tables_of(self, owner: str) -> set[str]:
        """The tables that somebody's audits and drafts have, by their digests."""
        queries = [sa.select(one.c.tables).where(one.c.owner == owner) for one in (AUDITS, DRAFTS)]
        with self._engine.connect() as connection:
            return {name for query in queries for one in connection.execute(query).scalars() for name in one.values()}

    def _table_size(self, name: str) -> int:
        path = self._table_path(name)
        return path.stat().st_size if path.is_file() else 0

    def _need_maker(self) -> None:
        if not self.viewer.may_make:
            raise NotAllowedError("You may read audits here, but not make or change any. Ask an administrator.")

    def need_operator(self) -> None:
        """Refuse everybody but the program itself, and whoever runs it.

        Raises
        ------
        NotAllowedError
        """
        if not self.viewer.is_operator:
            raise NotAllowedError("Only the program itself, and whoever runs it, may do this.")

    def _log(self, connection: sa.Connection, deed: Deed, audit: str | None, about: str = "") -> None:
        connection.execute(sa.insert(LOG).values(entry(self.viewer, deed, audit, about)))

    def note(self, deed: Deed, audit: str | None, about: str = "") -> None:
        """Write into the log what was done with an audit that whoever looks may see: opened or downloaded, say.

        ``audit`` is None if it was done with none.
        """
        if audit is not None:
            self.get(audit)
        with self._engine.begin() as connection:
            self._log(connection, deed, audit, about)

    def find(
        self, *, status: Status | None = None, owner: str | None = None, text: str = "", limit: int | None = None
    ) -> list[AuditRecord]:
        """Audits, the newest first; ``text`` is looked for in name, note and source."""
        query = sa.select(AUDITS).where(visible_to(self.viewer))
        query = query.order_by(AUDITS.c.created.desc(), AUDITS.c.id).limit(limit)
        if status is not None:
            if status not in get_args(Status):
                raise InvalidDataError(f"There is no status '{status}'; choose one of: {', '.join(get_args(Status))}.")
            query = query.where(AUDITS.c.status == status)
        if owner is not None:
            query = query.where(AUDITS.c.owner == folded(owner))
        if text:
            columns = (AUDITS.c.name, AUDITS.c.note, AUDITS.c.source)
            query = query.where(sa.or_(*(column.icontains(text, autoescape=True) for column in columns)))
        with self._engine.connect() as connection:
            return [AuditRecord.of(row) for row in connection.execute(query).mappings()]

    def goes_at(self, record: AuditRecord) -> float | None:
        """When the program deletes an audit, in seconds since 1970; None: it is kept."""
        return goes_at(record, self.keep_days)

    def ratios(self, limit: int) -> list[float]:
        """How many times as long as expected the audits took that were done last, but for those that asked a detector.

        Those answer in two runs, with a person between them.
        """
        took = (AUDITS.c.finished - AUDITS.c.started) / AUDITS.c.expected
        query = sa.select(took).where(
            AUDITS.c.status == "done", AUDITS.c.expected > 0.0, AUDITS.c.finished > AUDITS.c.started
        )
        query = query.where(AUDITS.c.config.contains('"asked": null')).order_by(AUDITS.c.finished.desc()).limit(limit)
        with self._engine.connect() as connection:
            return [float(ratio) for ratio in connection.execute(query).scalars()]

    def deleted(self) -> list[AuditTrace]:
        """What is left of audits that had a result and were deleted, the oldest first."""
        query = sa.select(DELETED).where(traces_of(self.viewer)).order_by(DELETED.c.created, DELETED.c.id)
        with self._engine.connect() as connection:
            rows = connection.execute(query).mappings()
            return [AuditTrace(**{str(name): value for name, value in row.items()}) for row in rows]

    def reports(self, audit: str, after: int = 0) -> list[Report]:
        """The reports of an audit, from the one after ``after`` on."""
        if not self.viewer.sees_all:
            self.get(audit)
        query = sa.select(REPORTS).where(REPORTS.c.audit == audit, REPORTS.c.id > after).order_by(REPORTS.c.id)
        with self._engine.connect() as connection:
            return [Report(**dict(row)) for row in connection.execute(query).mappings()]

    def folder(self, audit: str) -> Path:
        """Where the big parts of an audit are, or will be.

        Raises
        ------
        InvalidArtifactError
            If whoever looks sees no audit of this id; the program itself may ask before there is one.
        """
        if not self.viewer.is_operator:
            self.get(audit)
        return self._folder(audit)

    def table_path(self, name: str) -> Path:
        """Where a table is, or will be, by its digest.

        Raises
        ------
        InvalidArtifactError
            If it belongs to no audit or draft that whoever looks may see.
        """
        if not self.viewer.is_operator and not self._sees_table(name):
            raise InvalidArtifactError(f"There is no table '{name[:64]}'.")
        return self._table_path(name)

    def _folder(self, audit: str) -> Path:
        return self.home / "audits" / audit

    def _table_path(self, name: str) -> Path:
        return self.home / "tables" / f"{name}.parquet"

    def _sees_table(self, name: str) -> bool:
        audits = sa.select(AUDITS.c.tables).where(visible_to(self.viewer))
        drafts = sa.select(DRAFTS.c.tables).where(drafts_of(self.viewer))
        with self._engine.connect() as connection:
            return any(
                name in tables.values() for query in (audits, drafts) for tables in connection.execute(query).scalars()
            )

    def _change(self, audit: str, needs: Right, what: str, **values: Any) -> None:
        """Change the row of an audit, if whoever looks may; ``what`` is for the log."""
        with self._changing(audit, needs) as connection:
            connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(values))
            self._log(connection, "changed", audit, what)

    def _tables_lock(self) -> FileLock:
        """Held while tables and the row that names them come or go."""
        return FileLock(self.home / ".tables.lock")

    @contextmanager
    def _new_tables(self, tables: Tables, more: int = 0) -> Iterator[None]:
        """Store tables for a row that the block adds, none twice; if that fails, they go again.

        Raises
        ------
        LimitReachedError
            If whoever looks keeps too much to add them, and so many bytes besides.
        """
        with self._tables_lock():
            paths = {part: self._table_path(name) for part, name in tables.digests.items()}
            new = {part: path for part, path in paths.items() if not path.is_file()}
            try:
                for part, path in new.items():
                    tables.save(part, path)
                if self.viewer.name:
                    added = set(tables.digests.values()) - self._tables_of(self.viewer.name)
                    self.need_room(more + sum(map(self._table_size, added)))
                yield
            except BaseException as error:
                if not getattr(error, "connection_invalidated", False):  # then the row may be there all the same
                    for path in new.values():
                        path.unlink(missing_ok=True)
                raise

    def _drop_unused_tables(self) -> None:
        with self._tables_lock():
            with self._engine.begin() as connection:
                connection.execute(sa.delete(DRAFTS).where(DRAFTS.c.changed < time.time() - _KEPT))
                kept = [connection.execute(sa.select(one.c.tables)).scalars().all() for one in (AUDITS, DRAFTS)]
            used = {name for of_one in kept for tables in of_one for name in tables.values()}  # of everybody
            for path in (self.home / "tables").iterdir():
                if path.stem not in used:
                    path.unlink(missing_ok=True)

    def _drop_unknown_folders(self) -> None:
        with self._tables_lock():  # what an audit of a large table needs is there a moment before its row
            folders = list((self.home / "audits").iterdir())  # before the rows: others come before their folders
            with self._engine.connect() as connection:
                known = set(connection.execute(sa.select(AUDITS.c.id)).scalars())
            for folder in folders:
                if folder.name not in known:
                    shutil.rmtree(folder, ignore_errors=True)


def _missing(audit: str) -> InvalidArtifactError:
    """The one sentence about an audit that is not there, and about one that somebody may not see."""
    return InvalidArtifactError(f"There is no audit '{on_one_line(audit, _LONGEST_ID)}'.")


def _refuse_more(held: Right, owner: str, needs: Right, audit: str) -> None:
    if not covers(held, needs):
        allowed = "who made it" if needs == "own" else "who made it, and whom they let tune it"
        raise NotAllowedError(f"Only {allowed} may do this with audit '{audit}'. Ask {owner or 'an administrator'}.")


def shares_of(connection: sa.Connection, audit: str) -> tuple[Share, ...]:
    """With whom an audit is shared."""
    query = sa.select(SHARES.c.audience, SHARES.c.name, SHARES.c.may).where(SHARES.c.audit == audit)
    found = connection.execute(query.order_by(SHARES.c.audience, SHARES.c.name)).mappings()
    return tuple(Share(**dict(row)) for row in found)
