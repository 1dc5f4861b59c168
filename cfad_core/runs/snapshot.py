"""The whole store at one moment as files of a folder, and a store that is made of them.

    rows/TABLE.jsonl       the rows of each table of the index, a line of JSON each
    tables/, audits/       as in the store
    template/              the team's template of reports with its logo, if there is one

Rows are plain JSON, so that a store on SQLite can go on on PostgreSQL, and the other way round.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import time
import tomllib
from collections.abc import Iterator, Mapping
from itertools import islice
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from cfad_core.audit.pending_files import is_pending
from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError
from cfad_core.runs.index import Index
from cfad_core.runs.model import AUDITS, DRAFTS, METADATA
from cfad_core.runs.signed import FOLDER as SIGNED

TEMPLATE = "template"
_TEMPLATE_FILE = "report.toml"
_INTERRUPTED = "It was running when the store was backed up. Start it again."
_NO_RUN: dict[str, Any] = {"worker": None, "heartbeat": None, "seconds_left": None, "is_late": None}
_AT_ONCE = 1_000
_TRIES = 5
_ID, _DIGEST = re.compile(r"[0-9A-Za-z]{1,32}"), re.compile(r"[0-9a-f]{64}")


class Snapshots(Index):
    """What backups are made of; only the program itself makes and restores them."""

    def take_snapshot(self, folder: Path) -> None:
        """Put everything into an empty folder; audits that run are interrupted there.

        Rows are read in one transaction. Files are linked where that can be, as none is changed once it is there: it
        takes no room, and hardly time. Meanwhile no tables come or go.

        Raises
        ------
        CfadError
            If audits were deleted meanwhile, again and again.
        """
        self.need_operator()
        for _ in range(_TRIES):
            with self._tables_lock():
                statuses, tables = self._write_rows(folder / "rows")
                for name in sorted(tables):
                    _link(self._table_path(name), folder / "tables" / f"{name}.parquet")
                for audit, status in statuses.items():
                    _link_audit(self._folder(audit), folder / "audits" / audit, is_running=status == "running")
                if self._are_there(set(statuses)):
                    for path in _template_files(self.home):
                        _link(path, folder / TEMPLATE / path.name)
                    return
            for path in folder.iterdir():
                if path.is_dir():
                    shutil.rmtree(path)
        raise CfadError("Audits were deleted while they were copied, again and again. Try it once less is going on.")

    def _are_there(self, audits: set[str]) -> bool:
        with self._engine.connect() as connection:
            return audits <= set(connection.execute(sa.select(AUDITS.c.id)).scalars())

    def _write_rows(self, folder: Path) -> tuple[dict[str, str], set[str]]:
        """Write the rows of one moment; returns the audits with their status, and the tables that are needed."""
        folder.mkdir(parents=True)
        statuses, tables = dict[str, str](), set[str]()
        with self._engine.connect() as connection:
            if connection.dialect.name == "sqlite":
                connection.exec_driver_sql("BEGIN")  # all that is read until it ends is of one moment
            else:
                connection = connection.execution_options(isolation_level="REPEATABLE READ")
            for table in METADATA.sorted_tables:
                query = sa.select(table).order_by(*table.primary_key)
                found = connection.execute(query, execution_options={"yield_per": _AT_ONCE}).mappings()
                with (folder / f"{table.name}.jsonl").open("w", encoding="utf-8") as stream:
                    for row in found:
                        if table is AUDITS:
                            statuses[row["id"]] = row["status"]
                        if table in (AUDITS, DRAFTS):
                            tables.update(row["tables"].values())
                        stream.write(json.dumps(_settled(table, dict(row))) + "\n")
        return statuses, tables

    def need_empty(self) -> None:
        """Refuse a store that has something in it.

        Raises
        ------
        InvalidDataError
        """
        self.need_operator()
        with self._engine.connect() as connection:
            has_rows = any(connection.execute(sa.select(one).limit(1)).first() for one in METADATA.sorted_tables)
        has_files = any(any((self.home / folder).iterdir()) for folder in ("tables", "audits"))
        if has_rows or has_files:
            where = self._engine.url.render_as_string(hide_password=True)
            raise InvalidDataError(
                f"The store in '{self.home}' (index: {where}) has something in it. Restore into an empty one, such as "
                "a new folder; nothing was changed."
            )

    def put_snapshot(self, folder: Path) -> None:
        """Fill this store, which must be empty, with what ``take_snapshot`` put into a folder; all of it or nothing.

        Raises
        ------
        InvalidDataError
            If the store is not empty.
        InvalidArtifactError
            If a row is none that this program wrote.
        """
        with self._tables_lock():
            self.need_empty()
            moved: list[Path] = []
            try:
                for name, place in (("tables", "tables"), ("audits", "audits"), (TEMPLATE, "")):
                    moved.extend(_move(folder / name, self.home / place))
                with self._engine.begin() as connection:
                    for table in METADATA.sorted_tables:
                        _insert(connection, table, folder / "rows" / f"{table.name}.jsonl")
            except BaseException:
                for path in moved:
                    shutil.rmtree(path) if path.is_dir() else path.unlink(missing_ok=True)
                raise


def _settled(table: sa.Table, row: dict[str, Any]) -> dict[str, Any]:
    """A row as it is without the program that worked on it."""
    if table is AUDITS and row["status"] == "running":
        return row | _NO_RUN | {"status": "interrupted", "finished": time.time(), "error": _INTERRUPTED}
    return row


def _link(source: Path, target: Path) -> None:
    """The same file at another place; a copy where the file system has no links. What is not there is left out."""
    if source.is_file() and not source.is_symlink():
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(source, target)
        except OSError:
            shutil.copyfile(source, target)


def _link_audit(source: Path, target: Path, *, is_running: bool) -> None:
    """The files of an audit, without locks and what is half written; of one that runs, only what outlives the run."""
    only_signed = is_running and not is_pending(source)
    for path in sorted(source.rglob("*")):
        inside = path.relative_to(source)
        if any(part.startswith(".") for part in inside.parts) or (only_signed and inside.parts[0] != SIGNED):
            continue
        try:
            _link(path, target / inside)
        except FileNotFoundError:  # it was deleted just now, which is seen later, or replaced by a newer one
            _link(path, target / inside)


def _template_files(home: Path) -> list[Path]:
    """The template of reports, and the logo beside it that it names."""
    try:
        logo = tomllib.loads((home / _TEMPLATE_FILE).read_text("utf-8")).get("logo", "")
    except (OSError, ValueError):  # there is none, or it is damaged and goes along as it is
        logo = ""
    names = [_TEMPLATE_FILE, *([logo] if isinstance(logo, str) and logo and Path(logo).name == logo else [])]
    return [home / name for name in names]


def _move(source: Path, target: Path) -> Iterator[Path]:
    """Move what is in a folder; says what is where now."""
    for path in sorted(source.iterdir()) if source.is_dir() else []:
        os.replace(path, target / path.name)
        yield target / path.name


def _insert(connection: sa.Connection, table: sa.Table, path: Path) -> None:
    """Put the rows of a file into an empty table."""
    with path.open(encoding="utf-8") as stream:
        rows = (_checked(table, line) for line in stream)
        while some := list(islice(rows, _AT_ONCE)):
            try:
                connection.execute(sa.insert(table), some)
            except sa.exc.SQLAlchemyError as error:
                reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
                raise InvalidArtifactError(f"its rows of '{table.name}' cannot be used: {reason}") from error
    counted = table.autoincrement_column
    if counted is not None and connection.dialect.name == "postgresql":  # new rows are counted on from there
        last = sa.select(sa.func.max(counted)).scalar_subquery()
        sequence = sa.func.pg_get_serial_sequence(table.name, counted.name)
        connection.execute(sa.select(sa.func.setval(sequence, last)).where(last.is_not(None)))


def _checked(table: sa.Table, line: str) -> dict[str, Any]:
    """A row, if it can be one: ids and digests become names of files."""
    row = json.loads(line, parse_constant=lambda _: None)  # what is no number is none in every database
    if not isinstance(row, dict) or set(row) != {column.name for column in table.columns}:
        raise InvalidArtifactError(f"a row of '{table.name}' has other columns")
    for column in table.columns:
        if not _fits(column, row[column.name]):
            raise InvalidArtifactError(f"the {column.name} of a row of '{table.name}' cannot be used")
    if table in (AUDITS, DRAFTS) and not (_ID.fullmatch(row["id"]) and _are_digests(row["tables"])):
        raise InvalidArtifactError(f"a row of '{table.name}' has an id or a table that cannot be")
    return row


def _fits(column: sa.Column[Any], value: Any) -> bool:
    if value is None or isinstance(column.type, sa.JSON):
        return value is not None or bool(column.nullable)
    kind = column.type.python_type
    return isinstance(value, (int, float) if kind is float else kind) and isinstance(value, bool) == (kind is bool)


def _are_digests(tables: Any) -> bool:
    return isinstance(tables, Mapping) and all(
        isinstance(one, str) and _DIGEST.fullmatch(one) for one in tables.values()
    )
