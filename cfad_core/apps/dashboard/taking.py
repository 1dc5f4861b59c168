"""Files that people take away: each is made when it is asked for, and the log says who took it.

Every download of every page begins here, so that none can forget the log.
"""

from __future__ import annotations

import secrets
import threading
from collections.abc import Callable
from copy import copy
from typing import Literal

import streamlit as st
from streamlit import runtime
from streamlit.runtime.scriptrunner import ScriptRunContext, add_script_run_ctx, get_script_run_ctx

from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.visitor import for_visitor

_SECRET = 16  # random bytes in the address of a file
_KEPT = 20.0  # seconds that a browser has to fetch a file


def offer_file(  # noqa: PLR0913 - what a button says, and what a file is
    label: str,
    make: Callable[[], bytes],
    name: str,
    mime: str,
    *,
    audit: str | None,
    key: str,
    width: Literal["stretch", "content"] = "content",
    disabled: bool = False,
    help: str | None = None,  # noqa: A002 - as Streamlit calls it
) -> None:
    """A button that gives a file.

    Parameters
    ----------
    make : the content; it is asked for when somebody presses the button, who must still see the audit then
    audit : the one that it is about; None if it is about none
    key : names the button, which is another one in every run without it
    """
    mime, whose = _of_its_own(mime), get_script_run_ctx()

    def taken() -> bytes:
        store().note("downloaded", audit, name)
        content = make()
        _keep(content, name, mime, whose)
        return content

    st.download_button(
        label,
        for_visitor(taken),
        name,
        mime,
        key=key,
        width=width,
        disabled=disabled,
        help=help,
        on_click="ignore",
    )


def _keep(content: bytes, name: str, mime: str, whose: ScriptRunContext | None) -> None:
    """Keep a file while a browser fetches it, and no longer.

    Streamlit removes one that is made when it is asked for as soon as two pages of anybody have run, and where many
    people look at pages that is before the browser comes for it. So it belongs to a session of its own, which ends.
    """
    if whose is None or not runtime.exists():
        return
    files, owner = runtime.get_instance().media_file_mgr, copy(whose)
    owner.session_id = f"taken {secrets.token_hex(_SECRET)}"
    what = {"file_name": name, "is_for_static_download": True}
    thread = threading.Thread(target=files.add, args=(content, mime, "taken"), kwargs=what)
    add_script_run_ctx(thread, owner)  # names whose the file is
    thread.start()
    thread.join()

    def forget() -> None:
        files.clear_session_refs(owner.session_id)
        for _ in range(2):  # the first time it is only marked
            files.remove_orphaned_files()

    end = threading.Timer(_KEPT, forget)
    end.daemon = True
    end.start()


def _of_its_own(mime: str) -> str:
    """The type of a file, with what gives it an address of its own.

    Streamlit makes a file's address from its content, name and type. Nobody must find a file by knowing what is in it,
    and no two files may share an address, as long ones would that differ in few places.
    """
    return f"{mime}; copy={secrets.token_hex(_SECRET)}"
