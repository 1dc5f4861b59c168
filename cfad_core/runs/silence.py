"""How long workers have said nothing: by this program's own timer, for clocks differ between machines, and are set."""

from __future__ import annotations

import time

from cfad_core.runs.model import AuditRecord

_MANY = 1_000  # runs that are remembered
_OVER = 3600.0  # seconds after which nothing is remembered of a run


class Silence:
    """Remembers the last sign of life of each run that it was asked about, and when it first saw it."""

    def __init__(self) -> None:
        self._seen: dict[str, tuple[float | None, float]] = {}

    def of(self, record: AuditRecord) -> float:
        """Seconds for which the last sign of life of a run has been the same, as far as somebody looked here."""
        run, now = str(record.worker), time.monotonic()
        beat, since = self._seen.get(run, (None, now))
        if beat != record.heartbeat:
            since = now
        if len(self._seen) > _MANY:
            self._seen = {name: seen for name, seen in self._seen.items() if now - seen[1] < _OVER}
        self._seen[run] = (record.heartbeat, since)
        return now - since
