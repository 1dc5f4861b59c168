"""Who looks at a page: whoever runs the program where nobody signs in, else who the sign-in says it is."""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from dataclasses import replace
from typing import TypeVar

import streamlit as st

from cfad_core.apps.server.binding import is_local
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.core.errors import CfadError
from cfad_core.runs.access import OPERATOR, Viewer

Made = TypeVar("Made")

_REQUEST_ID = "X-Request-Id"
_ANY = "0.0.0.0"  # noqa: S104 - what Streamlit listens on where nothing is said
_later: ContextVar[Viewer | None] = ContextVar("later", default=None)  # for whom something is made after the page's run
_guarded = False  # whether all requests of this process pass through the server's guard


class NotGuardedError(CfadError):
    """People are to sign in, but the program that makes sure of it does not run."""


class SignedOutError(CfadError):
    """Nobody has signed in yet."""


def guarded(*, is_guarded: bool) -> None:
    """Say that every request passes through the guard of ``apps.server``: what headers say of people is true then."""
    global _guarded
    _guarded = is_guarded


def here() -> str:
    """What this program runs on, in words that are also true for somebody who looks from elsewhere."""
    is_alone = not SignIn.from_environment().is_team and is_local(listens_on())
    return "this computer" if is_alone else "this server"


def listens_on() -> str:
    """The address that the program listens on."""
    return st.get_option("server.address") or _ANY


def visitor() -> Viewer:
    """Who looks.

    Raises
    ------
    NotGuardedError, SignedOutError, SignInError
        If somebody has to sign in, and has not or cannot.
    """
    waiting = _later.get()
    if waiting is not None:
        return waiting
    sign_in = SignIn.from_environment()
    request = st.context.headers.get(_REQUEST_ID) or ""
    if not sign_in.is_team:
        return replace(OPERATOR, via="page", request=request)
    if not _guarded:
        raise NotGuardedError(
            f"CFAD_AUTH={sign_in.mode} asks people to sign in, which only this command sees to: cfad serve"
        )
    if sign_in.mode == "proxy":
        return sign_in.by_headers(st.context.headers.to_dict(), "page", request)
    if not st.user.is_logged_in:
        raise SignedOutError("Sign in to see the audits that are yours, or shared with you.")
    return sign_in.by_claims(st.user.to_dict(), "page", request)


def for_visitor(make: Callable[[], Made]) -> Callable[[], Made]:
    """What is made later, when the page's run is over, for whoever looks now."""
    viewer = visitor()

    def made() -> Made:
        before = _later.set(viewer)
        try:
            return make()
        finally:
            _later.reset(before)

    return made
