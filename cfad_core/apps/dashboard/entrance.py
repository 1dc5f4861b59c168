"""The entrance of every page: who may come in, and what those read who may not."""

from __future__ import annotations

from typing import NoReturn

import streamlit as st

from cfad_core.apps.dashboard.services import program_store, store
from cfad_core.apps.dashboard.visitor import SignedOutError, listens_on, visitor
from cfad_core.apps.server.binding import check_address
from cfad_core.apps.server.sign_in import SignIn, SignInError
from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text
from cfad_core.runs.access import ROLES

_ARRIVED = "arrived"  # in the session: who it was written down for


def enter() -> None:
    """Let in who may; whoever may not reads why, and what to do, and the page ends."""
    try:
        check_address(listens_on(), SignIn.from_environment())
        viewer = visitor()
    except SignedOutError as error:
        _sign_in(str(error))
    except SignInError as error:
        _turned_away(str(error))
    except CfadError as error:  # the server is set up in a way that cannot be meant
        _closed(as_text(error, 1000))
    try:
        store()
        if st.session_state.get(_ARRIVED, viewer.name) != viewer.name:
            st.session_state.clear()  # it is somebody else's
        if viewer.name and _ARRIVED not in st.session_state:
            program_store().arrive(viewer)
            st.session_state[_ARRIVED] = viewer.name
    except CfadError as error:
        _closed(f"The store of audits cannot be opened. {as_text(error)}")


def show_who() -> None:
    """In the sidebar: who is signed in, and the way out."""
    viewer = visitor()
    if not viewer.name:
        return
    st.caption(f"Signed in as **{as_text(viewer.name)}**, {viewer.role}", help=f"{viewer.role}: {ROLES[viewer.role]}")
    if SignIn.from_environment().mode == "oidc":
        st.button("Sign out", on_click=st.logout, key="sign-out")


def _sign_in(words: str) -> NoReturn:
    st.title("Counterfactual-fairness audits", anchor=False)
    st.markdown(words)
    st.button("Sign in", type="primary", on_click=st.login)
    st.stop()


def _turned_away(words: str) -> NoReturn:
    st.error(as_text(words, 500))
    if SignIn.from_environment().mode == "oidc" and st.user.is_logged_in:
        st.button("Sign in as somebody else", on_click=st.logout)
    st.stop()


def _closed(words: str) -> NoReturn:
    st.error(words)
    st.stop()
