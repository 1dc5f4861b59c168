"""What people read when a page cannot go on: a sentence, where it is known what happened."""

from __future__ import annotations

import errno
from collections.abc import Callable, Iterator

import sqlalchemy as sa
import streamlit as st
from streamlit.errors import StreamlitAPIException

from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text

DISK_FULL = "The disk of this server is full: nothing was saved. Make room, or ask who runs the server to."
_AWAY = (
    "The store of audits does not answer just now. What was saved is safe; load this page again in a moment, and ask "
    "who runs the server if that does not help."
)
_OTHER_KIND = "This file is none of those that can be taken here. Save it as one of the kinds that are named there."
_FULL = ("database or disk is full", "no space left on device", "could not extend file")
_UPLOADS = ("file-uploader-invalid-extension", "filename-contains-null-bytes")


def page_broke(count: Callable[[Exception], None]) -> Callable[[Exception], bool]:
    """What is done when a page ends with an error: it says why, or ``count`` hears of it and Streamlit says so."""

    def broke(error: Exception) -> bool:
        words = sentence(error)
        if words is None:
            count(error)
            return False
        st.error(words)
        return True

    return broke


def sentence(error: BaseException) -> str | None:
    """What happened, for whoever looks at the page; None of an error that nobody foresaw."""
    if any(is_disk_full(one) for one in _chain(error)):
        return DISK_FULL
    if isinstance(error, CfadError):
        return as_text(error, 500)
    if isinstance(error, sa.exc.OperationalError | sa.exc.InterfaceError | sa.exc.TimeoutError):
        return _AWAY
    if isinstance(error, StreamlitAPIException) and getattr(error, "error_id", None) in _UPLOADS:
        return _OTHER_KIND  # a browser would not have sent it
    return None


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
