"""The database behind the store: how it is opened, and how it gets to the newest schema."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from filelock import FileLock

from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.core.files import read_bytes

MIGRATIONS = Path(__file__).resolve().parent / "migrations"
_ADVISORY_LOCK = 0x43464144
_LONGEST = 10_000  # bytes of a file with an address


@cache
def newest_revision() -> str:
    """The schema that this program uses: the file of ``migrations/versions`` with the highest number.

    Files are named NUMBER_subject.py, so that Alembic, which takes long to import, is not needed to open a store.
    """
    return max(path.name.partition("_")[0] for path in (MIGRATIONS / "versions").glob("[0-9]*_*.py"))


def url_from_environment() -> str:
    """What ``CFAD_DATABASE_URL`` says, or the file that ``CFAD_DATABASE_URL_FILE`` names; empty if neither is set.

    Raises
    ------
    CfadError
        If both are, or there is no such file.
    """
    said, named = (os.environ.get(name, "") for name in ("CFAD_DATABASE_URL", "CFAD_DATABASE_URL_FILE"))
    if said and named:
        raise CfadError("CFAD_DATABASE_URL and CFAD_DATABASE_URL_FILE are both set; leave one.")
    return read_bytes(Path(named), _LONGEST).decode("utf-8", "replace").strip() if named else said


def connect(url: str, home: Path) -> sa.Engine:
    """An engine on a database of the newest schema.

    Raises
    ------
    CfadError
        If the database cannot be reached, or was made by a newer version of this program.
    """
    shown = _shown(url)
    try:
        engine = sa.create_engine(url, pool_pre_ping=True, hide_parameters=True)
        try:
            _bring_up(engine, home)
        except BaseException:
            engine.dispose()
            raise
    except (sa.exc.SQLAlchemyError, ImportError, OSError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise CfadError(f"Cannot use the database {shown}: {reason}") from error
    return engine


@contextmanager
def answering() -> Iterator[None]:
    """Say in a sentence that the database does not answer.

    Raises
    ------
    CfadError
        If it does not.
    """
    try:
        yield
    except sa.exc.SQLAlchemyError as error:
        reason = str(getattr(error, "orig", None) or error).strip().partition("\n")[0]
        raise CfadError(f"The database of the store does not answer: {reason}") from error


def _shown(url: str) -> str:
    """The address without its secrets: the password, and the options, which may hold one, too."""
    try:
        made = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):  # what they say may quote a password
        made = None
    if made is None or "@" in (made.host or ""):
        raise CfadError(
            "The address of the database (CFAD_DATABASE_URL) is not one, such as sqlite:///file or "
            "postgresql+psycopg://user:password@host/name. In a password, write %40 for @, %3A for :, %2F for /."
        )
    return made.set(query={}).render_as_string(hide_password=True)


def _bring_up(engine: sa.Engine, home: Path) -> None:
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _set_up_sqlite)
    if _revision(engine) != newest_revision():
        _migrate(engine, home)
        engine.dispose()  # connections that knew the old schema


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA journal_mode = WAL")  # readers do not wait for a writer
    connection.execute("PRAGMA synchronous = NORMAL")
    # The log of changes stays below 200 kB or so: on a full disk there is room left to write down how an audit ended.
    connection.execute("PRAGMA wal_autocheckpoint = 50")
    connection.execute("PRAGMA busy_timeout = 30000")
    connection.execute("PRAGMA foreign_keys = ON")


def _revision(engine: sa.Engine) -> str | None:
    with engine.connect() as connection:
        if not sa.inspect(connection).has_table("alembic_version"):
            return None
        found = connection.execute(sa.text("SELECT version_num FROM alembic_version")).scalar()
        return None if found is None else str(found)


def _migrate(engine: sa.Engine, home: Path) -> None:
    """Run what is missing of ``migrations``, one process at a time."""
    from alembic import command
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(MIGRATIONS).replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    with FileLock(home / ".migration.lock"), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))
        current = _revision(engine)
        if current is not None and current not in known:
            raise InvalidArtifactError(
                f"The store has schema {current}, which this program does not know ({newest_revision()} is its "
                "newest). Use the newer version of the program."
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
