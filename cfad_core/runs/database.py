"""The database behind the store: its tables, and how it gets to the newest schema."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import sqlalchemy as sa
from filelock import FileLock

from cfad_core.core.errors import CfadError, InvalidArtifactError

REVISION = "0001"  # the newest file in migrations/versions
_MIGRATIONS = Path(__file__).resolve().parent / "migrations"
_ADVISORY_LOCK = 0x43464144

_METADATA = sa.MetaData()
AUDITS = sa.Table(
    "audits",
    _METADATA,
    sa.Column("id", sa.String(32), primary_key=True),
    sa.Column("name", sa.Text, nullable=False),
    sa.Column("owner", sa.Text, nullable=False, default=""),
    sa.Column("note", sa.Text, nullable=False, default=""),
    sa.Column("source", sa.Text, nullable=False, default=""),
    sa.Column("parent", sa.String(32)),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("started", sa.Float),
    sa.Column("finished", sa.Float),
    sa.Column("status", sa.String(16), nullable=False),
    sa.Column("stage", sa.Text, nullable=False, default=""),
    sa.Column("progress", sa.Float, nullable=False, default=0.0),
    sa.Column("worker", sa.Text),
    sa.Column("heartbeat", sa.Float),
    sa.Column("cancel_requested", sa.Boolean, nullable=False, default=False),
    sa.Column("data_digest", sa.String(64), nullable=False),
    sa.Column("tables", sa.JSON, nullable=False),
    sa.Column("roles", sa.Text, nullable=False),
    sa.Column("config", sa.Text, nullable=False),
    sa.Column("metrics", sa.JSON(none_as_null=True)),
    sa.Column("threshold", sa.JSON(none_as_null=True)),
    sa.Column("error", sa.Text, nullable=False, default=""),
    sa.Column("details", sa.Text, nullable=False, default=""),
    sa.Column("schema_version", sa.Integer, nullable=False),
    sa.Index("audits_created", "created"),
    sa.Index("audits_status", "status"),
)
REPORTS = sa.Table(
    "reports",
    _METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("audit", sa.String(32), sa.ForeignKey("audits.id", ondelete="CASCADE"), nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("stage", sa.Text, nullable=False),
    sa.Column("step", sa.Integer, nullable=False),
    sa.Column("total", sa.Integer, nullable=False),
    sa.Column("values", sa.JSON, nullable=False),
    sa.Index("reports_audit", "audit", "id"),
)


def connect(url: str, home: Path) -> sa.Engine:
    """An engine on a database of the newest schema.

    Raises
    ------
    CfadError
        If the database cannot be reached, or was made by a newer version of this program.
    """
    try:
        shown = sa.make_url(url).render_as_string(hide_password=True)
    except sa.exc.ArgumentError as error:
        raise CfadError(
            "CFAD_DATABASE_URL is no address of a database, such as sqlite:///file or postgresql+psycopg://..."
        ) from error
    try:
        engine = sa.create_engine(url, pool_pre_ping=True)
        try:
            _bring_up(engine, home)
        except BaseException:
            engine.dispose()
            raise
    except (sa.exc.SQLAlchemyError, ImportError, OSError) as error:
        reason = str(getattr(error, "orig", None) or error).strip().splitlines()[0]
        raise CfadError(f"Cannot use the database {shown}: {reason}") from error
    return engine


def _bring_up(engine: sa.Engine, home: Path) -> None:
    if engine.dialect.name == "sqlite":
        sa.event.listen(engine, "connect", _set_up_sqlite)
    if _revision(engine) != REVISION:
        _migrate(engine, home)
        engine.dispose()  # connections that knew the old schema


def _set_up_sqlite(connection: Any, _: Any) -> None:
    connection.execute("PRAGMA journal_mode = WAL")  # readers do not wait for a writer
    connection.execute("PRAGMA synchronous = NORMAL")
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
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    known = {script.revision for script in ScriptDirectory.from_config(config).walk_revisions()}
    with FileLock(home / ".migration.lock"), engine.begin() as connection:
        if engine.dialect.name == "postgresql":
            connection.execute(sa.text(f"SELECT pg_advisory_xact_lock({_ADVISORY_LOCK})"))
        current = _revision(engine)
        if current is not None and current not in known:
            raise InvalidArtifactError(
                f"The store has schema {current}, which this program does not know ({REVISION} is its newest). "
                "Use the newer version of the program."
            )
        config.attributes["connection"] = connection
        command.upgrade(config, "head")
