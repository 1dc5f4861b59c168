"""What people state about an audit, what they planned, and what is left of audits that were deleted."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"


def upgrade() -> None:
    op.add_column("audits", sa.Column("statements", sa.JSON))
    op.add_column("audits", sa.Column("plan", sa.JSON))
    op.create_table(
        "deleted_audits",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("created", sa.Float, nullable=False),
        sa.Column("finished", sa.Float),
        sa.Column("deleted", sa.Float, nullable=False),
        sa.Column("status", sa.String(16), nullable=False),
        sa.Column("data_digest", sa.String(64), nullable=False),
        sa.Column("tables", sa.JSON, nullable=False),
        sa.Column("columns", sa.JSON, nullable=False),
        sa.Column("roles", sa.Text, nullable=False),
        sa.Column("config", sa.Text, nullable=False),
        sa.Column("verdicts", sa.JSON, nullable=False),
        sa.Column("plan", sa.JSON),
    )


def downgrade() -> None:
    op.drop_table("deleted_audits")
    with op.batch_alter_table("audits") as audits:
        audits.drop_column("plan")
        audits.drop_column("statements")
