"""How long audits are kept: ``CFAD_KEEP_DAYS``, after which the program deletes them."""

from __future__ import annotations

import os

from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.formats import counted
from cfad_core.runs.model import AuditRecord

_VARIABLE = "CFAD_KEEP_DAYS"
_DAY = 24 * 3600.0


def keep_days() -> int | None:
    """How many days audits are kept after their end; None: for ever.

    Raises
    ------
    InvalidConfigError
        If the setting is no whole number above 0.
    """
    text = os.environ.get(_VARIABLE, "")
    if not text:
        return None
    if not (text.isdecimal() and 0 < int(text) < 10**6):
        raise InvalidConfigError(f"{_VARIABLE} is a whole number of days above 0, such as 365; not '{text[:40]}'.")
    return int(text)


def goes_at(record: AuditRecord, days: int | None) -> float | None:
    """When an audit is deleted that is kept for so many days, in seconds since 1970; None: it is not."""
    since = record.ended_at
    return None if days is None or since is None else since + days * _DAY


def kept_words(days: int) -> str:
    """``kept for 30 days``."""
    return f"kept for {counted(days, 'day')}"
