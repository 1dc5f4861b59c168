"""How long audits are expected to take, and tables that people are preparing."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"


def upgrade() -> None:
    op.add_column("audits", sa.Column("expected", sa.Float))
    op.add_column("audits", sa.Column("expected_stages", sa.JSON))
    op.add_column("audits", sa.Column("is_short", sa.Boolean))
    op.add_column("audits", sa.Column("seconds_left", sa.Float))
    op.add_column("audits", sa.Column("is_late", sa.Boolean))
    op.create_table(
        "drafts",
        sa.Column("id", sa.String(32), primary_key=True),
        sa.Column("changed", sa.Float, nullable=False),
        sa.Column("tables", sa.JSON, nullable=False),
        sa.Column("content", sa.JSON, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("drafts")
    with op.batch_alter_table("audits") as audits:
        for name in ("is_late", "seconds_left", "is_short", "expected_stages", "expected"):
            audits.drop_column(name)
