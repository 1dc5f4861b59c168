"""How much of a server one person may take: audits at once and in the queue, rows of a table, bytes kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import Any

from cfad_core.core.errors import CfadError, InvalidConfigError, InvalidDataError
from cfad_core.core.formats import counted

_VARIABLES = {
    **{"running": "CFAD_MOST_RUNNING", "queued": "CFAD_MOST_QUEUED"},
    **{"rows": "CFAD_MOST_ROWS", "megabytes": "CFAD_MOST_MEGABYTES"},
}
_BYTES = 10**6


class LimitReachedError(CfadError):
    """Somebody has as much as one person may have."""


@dataclass(frozen=True)
class Allowance:
    """What one person may take. It holds for who signed in, not for who runs the program.

    Attributes
    ----------
    running : audits that are computed at once; others of theirs wait, and those of other people go first
    queued : audits that wait
    rows : of the table of one audit
    megabytes : of tables and results that are kept
    """

    running: int = 2
    queued: int = 50
    rows: int = 2_000_000
    megabytes: int = 20_000

    @staticmethod
    def from_environment() -> Allowance:
        """The settings ``CFAD_MOST_...``.

        Raises
        ------
        InvalidConfigError
            If one is no whole number above 0.
        """
        found: dict[str, Any] = {}
        for field, variable in _VARIABLES.items():
            text = os.environ.get(variable, "")
            if text and not (text.isdecimal() and int(text) > 0):
                raise InvalidConfigError(f"{variable} is a whole number above 0, such as 10; not '{text[:40]}'.")
            found |= {field: int(text)} if text else {}
        return Allowance(**found)

    def check_rows(self, rows: int) -> None:
        """Refuse a table that is too long for one person."""
        if rows > self.rows:
            raise InvalidDataError(
                f"The table has {rows:,} rows; on this server one person may audit {self.rows:,} at most. Audit a "
                "random part of the rows, or ask an administrator."
            )

    def check_queue(self, queued: int, whose: str = "You have") -> None:
        """Refuse one more audit in the queue."""
        if queued >= self.queued:
            raise LimitReachedError(
                f"{whose} {counted(queued, 'audit')} in the queue, which is as many as one person may have. Wait "
                "until one is done, or cancel one."
            )

    def check_bytes(self, kept: int, more: int, whose: str = "Your") -> None:
        """Refuse what does not fit beside what somebody keeps."""
        if kept + more > self.megabytes * _BYTES:
            raise LimitReachedError(
                f"{whose} audits and tables take {kept / _BYTES:,.0f} MB, and this would add {more / _BYTES:,.0f} MB; "
                f"one person may keep {self.megabytes:,} MB. Delete audits that nobody needs."
            )
