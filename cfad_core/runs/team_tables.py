"""The tables of a team: with whom audits are shared, who was here, their tokens, and the log of what they did."""

from __future__ import annotations

import sqlalchemy as sa

from cfad_core.runs.model import METADATA
from cfad_core.runs.texts import Short, Text

SHARES = sa.Table(
    "shares",
    METADATA,
    sa.Column("audit", Short(32), sa.ForeignKey("audits.id", ondelete="CASCADE"), primary_key=True),
    sa.Column("audience", Short(16), primary_key=True),
    sa.Column("name", Short(200), primary_key=True),
    sa.Column("may", Short(8), nullable=False),
)
PEOPLE = sa.Table(  # who signed in, as the sign-in described them last
    "people",
    METADATA,
    sa.Column("name", Short(200), primary_key=True),
    sa.Column("groups", sa.JSON, nullable=False),
    sa.Column("role", Short(16), nullable=False),
    sa.Column("seen", sa.Float, nullable=False),
)
TOKENS = sa.Table(
    "tokens",
    METADATA,
    sa.Column("id", Short(32), primary_key=True),
    sa.Column("owner", Short(200), nullable=False),
    sa.Column("label", Text, nullable=False),
    sa.Column("role", Short(16), nullable=False),
    sa.Column("digest", Short(64), nullable=False),
    sa.Column("created", sa.Float, nullable=False),
    sa.Column("expires", sa.Float, nullable=False),
    sa.Column("used", sa.Float),
    sa.Column("revoked", sa.Float),
    sa.Index("tokens_owner", "owner"),
)
LOG = sa.Table(  # the database refuses to change or delete its rows
    "log",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True, autoincrement=True),
    sa.Column("at", sa.Float, nullable=False),
    sa.Column("who", Text, nullable=False),
    sa.Column("via", Short(16), nullable=False),
    sa.Column("request", Short(64), nullable=False),
    sa.Column("deed", Short(32), nullable=False),
    sa.Column("audit", Short(32)),
    sa.Column("about", Text, nullable=False),
    sa.Index("log_audit", "audit"),
    sa.Index("log_at", "at"),
)
