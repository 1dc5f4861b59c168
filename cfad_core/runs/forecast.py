"""How long audits take on this computer, and when those in the queue start.

It follows from what they are expected to take where costs were measured, and from how long earlier ones took here.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from cfad_core.audit.estimate import BEGINNING, Size, expected_seconds, size_of, stages
from cfad_core.core.config import AuditConfig
from cfad_core.core.formats import about, remaining
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.access import OPERATOR
from cfad_core.runs.lanes import Outlook, Waiting, is_short, outlooks, seats, waits_since

if TYPE_CHECKING:
    from cfad_core.runs.index import Index
    from cfad_core.runs.model import AuditRecord

_LOOKED_AT = 15  # audits that were done last
_ENOUGH = 3  # of them, to know how much they differ
_SPREAD = 1.3  # that at least is said of an estimate: as many times more, or less
_UNKNOWN = (0.6, 2.5)  # of a computer that has done none


@dataclass(frozen=True)
class Pace:
    """Seconds here for one where costs were measured; it is likely between ``low`` and ``high``."""

    factor: float
    low: float
    high: float


@dataclass(frozen=True)
class Estimate:
    """How long an audit takes on this computer, in seconds, and between which bounds that likely is."""

    seconds: float
    low: float
    high: float

    @property
    def words(self) -> str:
        """``about 2 minutes on this computer (1 to 4)``."""
        return about(self.seconds, self.low, self.high)


def pace_of(ratios: Sequence[float]) -> Pace:
    """The pace by how many times as long as expected audits took: the median, the measured one counted as one more."""
    factor = float(np.median([*ratios, 1.0]))
    if len(ratios) < _ENOUGH:
        low, high = _UNKNOWN
        return Pace(factor, factor * low, factor * high)
    low, high = np.quantile(ratios, [0.1, 0.9]).tolist()
    return Pace(factor, min(low, factor / _SPREAD), max(high, factor * _SPREAD))


def pace_here(store: Index) -> Pace:
    """The pace of the audits that this store's workers finished last."""
    return pace_of(store.ratios(_LOOKED_AT))


def estimate(store: Index, size: Size, config: AuditConfig, *, knows_truth: bool) -> Estimate:
    """How long an audit of this size will take here."""
    pace, seconds = pace_here(store), expected_seconds(config, size, knows_truth=knows_truth)
    return Estimate(seconds * pace.factor, seconds * pace.low, seconds * pace.high)


def expected_time(
    tables: Tables, roles: ColumnRoles, config: AuditConfig, more: Mapping[str, float] | None = None
) -> dict[str, Any]:
    """What the index keeps of it; ``more`` are the stages that only an audit of a large table has."""
    size, knows_truth = size_of(tables, roles, config), tables.test_counterfactual is not None
    found = stages(config, knows_truth=knows_truth, size=size) | dict(more or {})
    expected = BEGINNING + sum(found.values())
    cells = size.rows * tables.first.shape[1]
    return {"expected": expected, "expected_stages": found, "is_short": is_short(expected, cells)}


def stages_of(record: AuditRecord) -> dict[str, float]:
    """The stages of an audit in the index in their order, and what each was expected to take."""
    if record.expected_stages is not None:
        return record.expected_stages
    return stages(record.config, knows_truth="test_counterfactual" in record.tables)


def time_left(record: AuditRecord) -> str:
    """How long a running audit will still take, in words; empty while that is not known."""
    if record.status != "running" or record.seconds_left is None:
        return ""
    if record.is_late:
        return f"a little longer than expected, at least {remaining(record.seconds_left).removeprefix('about ')} left"
    return f"{remaining(record.seconds_left)} left"


def outlook_words(found: Outlook) -> str:
    """When an audit in the queue starts and is done: ``starts in about 3 minutes, done in about 5 minutes``."""
    starts = "starts at once" if found.starts_in <= 0.0 else f"starts in {remaining(found.starts_in)}"
    return f"{starts}, done in {remaining(found.done_in)}"


def outlooks_of(store: Index, workers: int, *, more: Waiting | None = None) -> dict[str, Outlook]:
    """When each audit of the queue starts and is done, and one more that may come."""
    factor, now = pace_here(store).factor, time.time()
    everybody = store.seen_by(OPERATOR)  # to count places and seconds; what others audit is not said
    queue = [
        Waiting(one.id, waits_since(one.created, now), one.expected or 0.0, bool(one.is_short), one.owner)
        for one in everybody.find(status="queued")
    ]
    records = everybody.find(status="running")
    running = [(bool(one.is_short), _left(one, factor, now)) for one in records]
    count = max(workers, len(running), 1)
    everything, turns = [*queue, *([more] if more is not None else [])], Counter(one.owner for one in records)
    return outlooks(everything, seats(running, count), count, factor, turns)


def _left(record: AuditRecord, factor: float, now: float) -> float:
    if record.seconds_left is not None:
        return record.seconds_left
    return max(0.0, (record.expected or 0.0) * factor - max(0.0, now - (record.started or now)))
