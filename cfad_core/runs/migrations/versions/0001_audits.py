"""Audits, and the reports of their progress."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None


def upgrade() -> None:
    op.create_table(
        "audits",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("note", sa.Text, nullable=False),
        sa.Column("source", sa.Text, nullable=False),
        sa.Column("parent", sa.String(32)),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("started", sa.Float),
        sa.Column("finished", sa.Float),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("progress", sa.Float, nullable=False),
        sa.Column("worker", sa.Text),
        sa.Column("heartbeat", sa.Float),
        sa.Column("cancel_requested", sa.Boolean, nullable=False),
        sa.Column("data_digest", sa.String(64), nullable=False),
        sa.Column("tables", sa.JSON, nullable=False),
        sa.Column("roles", sa.Text, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("metrics", sa.JSON),
        sa.Column("threshold", sa.JSON),
        sa.Column("error", sa.Text, nullable=False),
        sa.Column("details", sa.Text, nullable=False),
        sa.Column("schema_version", sa.Integer, nullable=False),
    )
    op.create_index("audits_created", "audits", ["created"])
    op.create_index("audits_status", "audits", ["status"])
    op.create_table(
        "reports",
        sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
        sa.Column("audit", sa.String(32), sa.ForeignKey("audits.id", ondelete="CASCADE"), nullable=False),
        sa.Column("at", sa.Float, nullable=False),
        sa.Column("stage", sa.Text, nullable=False),
        sa.Column("step", sa.Integer, nullable=False),
        sa.Column("total", sa.Integer, nullable=False),
        sa.Column("values", sa.JSON, nullable=False),
    )
    op.create_index("reports_audit", "reports", ["audit", "id"])


def downgrade() -> None:
    op.drop_table("reports")
    op.drop_table("audits")
