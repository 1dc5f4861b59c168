"""Whether the store can be used, and how much there is in it: what a server says to those who watch over it."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_args

import sqlalchemy as sa

from cfad_core.core.errors import CfadError
from cfad_core.runs.database import answering
from cfad_core.runs.index import Index
from cfad_core.runs.log import Deed
from cfad_core.runs.model import AUDITS, REPORTS, Status
from cfad_core.runs.team_tables import LOG

_INTO_QUEUE: tuple[Deed, ...] = ("made", "started", "answered")


@dataclass(frozen=True)
class StageTime:
    """Seconds that a stage took in all audits that had it, and how many those are."""

    seconds: float
    count: int


@dataclass(frozen=True)
class StoreCounts:
    """How much there is in the store. Audits that are deleted count no more, so every number may also fall.

    Attributes
    ----------
    audits : how many have each status, 0 included
    oldest_queued : seconds since the audit went into the queue that waits longest; None if none waits
    stages : by stage, how long it took in the audits that are done; audits from elsewhere did not run here
    """

    audits: Mapping[Status, int]
    oldest_queued: float | None
    stages: Mapping[str, StageTime]

    @property
    def failed(self) -> int:
        return self.audits["failed"]


class Counts(Index):
    """What the program itself asks about its store; nobody else may."""

    def health(self) -> None:
        """Return if the database answers and files can be written.

        Raises
        ------
        CfadError
            If not; it says what is wrong.
        """
        self.need_operator()
        with answering(), self._engine.connect() as connection:
            connection.execute(sa.select(AUDITS.c.id).limit(1)).all()
        try:
            for folder in ("tables", "audits"):
                with tempfile.TemporaryFile(dir=self.home / folder, prefix=".health-") as probe:
                    probe.write(b"x")
        except OSError as error:
            raise CfadError(f"Nothing can be written to the store in '{self.home}': {error.strerror}.") from error

    def counts(self) -> StoreCounts:
        """How many audits there are, how long the queue waits, and how long stages took.

        Raises
        ------
        CfadError
            If the database does not answer.
        """
        self.need_operator()
        by_status = sa.select(AUDITS.c.status, sa.func.count()).group_by(AUDITS.c.status)
        entered = sa.select(sa.func.max(LOG.c.at)).where(LOG.c.audit == AUDITS.c.id, LOG.c.deed.in_(_INTO_QUEUE))
        since = sa.func.coalesce(entered.scalar_subquery(), AUDITS.c.created)  # there was no log once
        queued = sa.select(sa.func.min(since)).where(AUDITS.c.status == "queued")
        last = sa.func.max(REPORTS.c.at)
        ends = sa.select(REPORTS.c.audit, AUDITS.c.started, REPORTS.c.stage, last)
        ends = ends.join(AUDITS, AUDITS.c.id == REPORTS.c.audit).where(AUDITS.c.status == "done")
        ends = ends.where(AUDITS.c.started.is_not(None)).group_by(REPORTS.c.audit, AUDITS.c.started, REPORTS.c.stage)
        with answering(), self._engine.connect() as connection:
            found = {str(status): int(count) for status, count in connection.execute(by_status)}
            oldest = connection.execute(queued).scalar()
            stages = _stages(connection.execute(ends.order_by(REPORTS.c.audit, last)).all())
        age = None if oldest is None else max(0.0, time.time() - float(oldest))
        return StoreCounts({status: found.get(status, 0) for status in get_args(Status)}, age, stages)


def _stages(ends: Iterable[Sequence[Any]]) -> dict[str, StageTime]:
    """How long stages took, by when each ended: one begins when the one before it ends.

    ``ends`` has an audit, when it started, a stage and when that ended; in the order of audits and ends.
    """
    found: dict[str, StageTime] = {}
    before, at = "", 0.0
    for audit, started, stage, end in ends:
        begun = at if audit == before else started
        known = found.get(stage, StageTime(0.0, 0))
        found[stage] = StageTime(known.seconds + max(0.0, end - begun), known.count + 1)
        before, at = audit, end
    return found
