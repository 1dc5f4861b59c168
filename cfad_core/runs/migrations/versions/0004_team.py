"""Owners of drafts and traces, shares, people, tokens, and a log that only grows."""

from __future__ import annotations

import unicodedata

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"

_SQLITE = """
CREATE TRIGGER log_{name} BEFORE {what}
BEGIN SELECT RAISE(ABORT, 'the log only grows'); END
"""
_REPLACED = "INSERT ON log WHEN EXISTS (SELECT 1 FROM log WHERE id = NEW.id)"  # "INSERT OR REPLACE" deletes in silence
_POSTGRES = (
    """
CREATE FUNCTION cfad_log_only_grows() RETURNS trigger AS $$
BEGIN RAISE EXCEPTION 'the log only grows'; END
$$ LANGUAGE plpgsql
""",
    """
CREATE TRIGGER log_only_grows BEFORE UPDATE OR DELETE OR TRUNCATE ON log
FOR EACH STATEMENT EXECUTE FUNCTION cfad_log_only_grows()
""",
)


def upgrade() -> None:
    op.add_column("audits", sa.Column("size", sa.BigInteger))
    op.create_index("audits_owner", "audits", ["owner"])
    _fold_owners()
    for table in ("drafts", "deleted_audits"):
        op.add_column(table, sa.Column("owner", sa.Text, nullable=False, server_default=""))
    op.create_table(
        "shares",
        sa.Column("audit", sa.String(32), sa.ForeignKey("audits.id", ondelete="CASCADE"), primary_key=True),
        sa.Column("audience", sa.String(16), primary_key=True),
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("may", sa.String(8), nullable=False),
    )
    op.create_table(
        "people",
        sa.Column("name", sa.String(200), primary_key=True),
        sa.Column("groups", sa.JSON, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("seen", sa.Float, nullable=False),
    )
    _tokens_and_log()
    for statement in _triggers():
        op.execute(statement)


def _fold_owners() -> None:
    """Names have one spelling from now on."""
    audits, connection = sa.table("audits", sa.column("owner", sa.Text)), op.get_bind()
    for owner in connection.execute(sa.select(audits.c.owner).distinct()).scalars().all():
        folded = unicodedata.normalize("NFC", owner.strip().lower())
        if folded != owner:
            connection.execute(sa.update(audits).where(audits.c.owner == owner).values(owner=folded))


def _tokens_and_log() -> None:
    op.create_table(
        "tokens",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("owner", sa.String(200), nullable=False),
        sa.Column("label", sa.Text, nullable=False),
        sa.Column("role", sa.String(16), nullable=False),
        sa.Column("digest", sa.String(64), nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("expires", sa.Float, nullable=False),
        sa.Column("used", sa.Float),
        sa.Column("revoked", sa.Float),
    )
    op.create_index("tokens_owner", "tokens", ["owner"])
    op.create_table(
        "log",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("who", sa.Text, nullable=False),
        sa.Column("via", sa.String(16), nullable=False),
        sa.Column("request", sa.String(64), nullable=False),
        sa.Column("deed", sa.String(32), nullable=False),
        sa.Column("audit", sa.String(32)),
        sa.Column("about", sa.Text, nullable=False),
    )
    op.create_index("log_audit", "log", ["audit"])
    op.create_index("log_at", "log", ["at"])


def _triggers() -> tuple[str, ...]:
    if op.get_bind().dialect.name == "sqlite":
        refused = {"update": "UPDATE ON log", "delete": "DELETE ON log", "insert": _REPLACED}
        return tuple(_SQLITE.format(name=name, what=what) for name, what in refused.items())
    return _POSTGRES


def downgrade() -> None:
    for table in ("log", "tokens", "people", "shares"):
        op.drop_table(table)
    if op.get_bind().dialect.name == "postgresql":
        op.execute("DROP FUNCTION cfad_log_only_grows()")
    op.drop_index("audits_owner", "audits")
    for table, column in (("deleted_audits", "owner"), ("drafts", "owner"), ("audits", "size")):
        with op.batch_alter_table(table) as changed:
            changed.drop_column(column)
