"""Tables that people are preparing, so that a reload or a restart of the server loses nothing.

A draft has an id that nobody can guess, and where people sign in it belongs to who made it. Its tables are kept as
those of audits are, each once; a draft that nobody touches for a week goes, and the oldest go where there are many.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from cfad_core.core.errors import InvalidArtifactError
from cfad_core.data.tables import Tables, load_parquet
from cfad_core.runs.access import drafts_of
from cfad_core.runs.index import Index
from cfad_core.runs.model import DRAFTS

MOST_CELLS = 10_000_000  # of a table that is kept; writing a larger one takes long
MOST_DRAFTS = 200
_ID = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class KeptDraft:
    """What was prepared: the tables, and what was said of them (JSON-able)."""

    tables: Tables
    content: dict[str, Any]


class Drafts(Index):
    """What people prepare, in the index and among its tables."""

    def keep_draft(self, tables: Tables, content: Mapping[str, Any], draft: str | None = None) -> str | None:
        """Keep a draft, in the place of the one with this id; its id, or None if its table is too large to be kept.

        Raises
        ------
        NotAllowedError, LimitReachedError
            If whoever looks may make no audits, or has as much as one person may keep.
        """
        if tables.rows * tables.first.shape[1] > MOST_CELLS:
            return None
        self._need_maker()
        name = draft if draft is not None and _ID.fullmatch(draft) and self._is_mine(draft) else secrets.token_hex(16)
        row = {"id": name, "changed": time.time(), "tables": tables.digests, "content": dict(content)}
        row |= {"owner": self.viewer.name}
        mine = DRAFTS.c.owner == self.viewer.name
        with self._new_tables(tables), self._engine.begin() as connection:
            connection.execute(sa.delete(DRAFTS).where(DRAFTS.c.id == name, mine))
            connection.execute(sa.insert(DRAFTS).values(row))
            newest = sa.select(DRAFTS.c.id).where(mine).order_by(DRAFTS.c.changed.desc()).limit(MOST_DRAFTS)
            kept = connection.execute(newest).scalars().all()
            connection.execute(sa.delete(DRAFTS).where(mine, DRAFTS.c.id.not_in(kept)))
        return name

    def _is_mine(self, draft: str) -> bool:
        """Whether an id is free, or that of a draft of whoever looks."""
        query = sa.select(DRAFTS.c.id).where(DRAFTS.c.id == draft, sa.not_(drafts_of(self.viewer)))
        with self._engine.connect() as connection:
            return connection.execute(query).first() is None

    def kept_draft(self, draft: str) -> KeptDraft | None:
        """The draft with this id; None if there is none (any more)."""
        if not _ID.fullmatch(draft):
            return None
        with self._engine.connect() as connection:
            query = sa.select(DRAFTS).where(DRAFTS.c.id == draft, drafts_of(self.viewer))
            row = connection.execute(query).mappings().first()
        if row is None:
            return None
        try:
            frames = {part: load_parquet(self._table_path(digest)) for part, digest in row["tables"].items()}
        except InvalidArtifactError:
            return None
        return KeptDraft(Tables.stored(frames), dict(row["content"]))

    def drop_draft(self, draft: str) -> None:
        """Forget a draft; its tables go when nothing else has them."""
        with self._engine.begin() as connection:
            connection.execute(sa.delete(DRAFTS).where(DRAFTS.c.id == draft, drafts_of(self.viewer)))
