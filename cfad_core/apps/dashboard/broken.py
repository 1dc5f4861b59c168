"""What people read when a page cannot go on: a sentence, where it is known what happened."""

from __future__ import annotations

from collections.abc import Callable

import streamlit as st
from streamlit.errors import StreamlitAPIException

from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text
from cfad_core.runs.outages import outage

DISK_FULL = "The disk of this server is full: nothing was saved. Make room, or ask who runs the server to."
_AWAY = (
    "The store of audits does not answer just now. What was saved is safe; load this page again in a moment, and ask "
    "who runs the server if that does not help."
)
_OTHER_KIND = "This file is none of those that can be taken here. Save it as one of the kinds that are named there."
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
    what = outage(error)
    if what == "full":
        return DISK_FULL
    if isinstance(error, CfadError):
        return as_text(error, 500)
    if what == "away":
        return _AWAY
    if isinstance(error, StreamlitAPIException) and getattr(error, "error_id", None) in _UPLOADS:
        return _OTHER_KIND  # a browser would not have sent it
    return None
