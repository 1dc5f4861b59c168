"""The log of who did what with which audit: it only grows, and holds nothing of a table."""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal, get_args

import sqlalchemy as sa

from cfad_core.core.errors import InvalidDataError
from cfad_core.runs.access import Viewer, Way, folded
from cfad_core.runs.team_tables import LOG
from cfad_core.runs.texts import on_one_line

Deed = Literal[
    "signed in",
    "made",
    "imported",
    "opened",
    "downloaded",
    "changed",
    "answered",
    "signed",
    "started",
    "cancelled",
    "deleted",
    "shared",
    "unshared",
    "given away",
    "token made",
    "token revoked",
    "backed up",
    "restored",
]
_AT_ONCE = 1_000
_LONGEST = 500  # characters of what is said about a deed
_LONGEST_REQUEST = 64


@dataclass(frozen=True)
class Entry:
    """Something that somebody did.

    Attributes
    ----------
    at : seconds since 1970
    who : empty: whoever runs the program
    about : what exactly, in a few words: the name of a file, with whom it was shared
    """

    id: int
    at: float
    who: str
    via: Way
    request: str
    deed: Deed
    audit: str | None
    about: str


def entry(viewer: Viewer, deed: Deed, audit: str | None, about: str = "") -> dict[str, Any]:
    """The row of a deed."""
    if deed not in get_args(Deed):
        raise InvalidDataError(f"The log knows no '{deed}'; it knows: {', '.join(get_args(Deed))}.")
    row = {"at": time.time(), "who": viewer.name, "via": viewer.via}
    row |= {"request": on_one_line(viewer.request, _LONGEST_REQUEST)}
    return row | {"deed": deed, "audit": audit, "about": on_one_line(about, _LONGEST)}


def entries(
    engine: sa.Engine, *, audit: str | None = None, who: str | None = None, limit: int | None = None
) -> Iterator[Entry]:
    """What was done, the latest first; about one audit, or by one person."""
    query = sa.select(LOG).order_by(LOG.c.id.desc()).limit(limit)
    if audit is not None:
        query = query.where(LOG.c.audit == audit)
    if who is not None:
        query = query.where(LOG.c.who == folded(who))
    with engine.connect().execution_options(yield_per=_AT_ONCE) as connection:
        for row in connection.execute(query).mappings():
            yield Entry(**{str(name): value for name, value in row.items()})


def json_line(one: Entry) -> str:
    """An entry as a line of JSON."""
    return json.dumps(asdict(one), ensure_ascii=False)
