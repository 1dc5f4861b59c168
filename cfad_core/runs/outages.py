"""Why the store cannot be used just now, by the errors of the system and of databases."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from typing import Literal

import sqlalchemy as sa

Outage = Literal["full", "away"]
STORE_ERRORS = (OSError, sa.exc.SQLAlchemyError)  # what using the store may end with, besides errors of our own

_FULL = ("database or disk is full", "no space left on device", "could not extend file")
_AWAY = (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError)


def outage(error: BaseException) -> Outage | None:
    """Whether a disk is full, or the database does not answer; None of any other error."""
    if any(is_disk_full(one) for one in _chain(error)):
        return "full"
    return "away" if isinstance(error, _AWAY) else None


def is_disk_full(error: BaseException) -> bool:
    """Whether it says so, as the system or as a database does."""
    if isinstance(error, OSError):
        return error.errno in (errno.ENOSPC, errno.EDQUOT)
    return isinstance(error, sa.exc.DBAPIError) and any(words in str(error.orig).lower() for words in _FULL)


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, and those it came from."""
    while error is not None:
        yield error
        error = error.__cause__
