"""What the page Account shows: who somebody is, what they may take and have taken, and their tokens."""

from __future__ import annotations

from collections.abc import Sequence

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.moments import moment_columns, seconds_as_moments
from cfad_core.apps.dashboard.rights import press, refusals_in_words
from cfad_core.apps.dashboard.services import store
from cfad_core.core.formats import listed
from cfad_core.core.markdown import as_text
from cfad_core.runs.access import MOST_NAME, ROLES, Role
from cfad_core.runs.team import MOST_DAYS, Token

_BYTES = 10**6
_USUAL_DAYS = 90
_MAY_WITH_TOKEN: dict[Role, str] = {
    "viewer": "viewer: reads",
    "auditor": "auditor: reads, makes and tunes audits",
    "admin": "admin: may everything",
}


def show_who_i_am() -> None:
    """The name of whoever looks, their groups, their role and what it means."""
    viewer = store().viewer
    st.markdown(f"You are **{as_text(viewer.name)}**. Others share audits with you by this name.")
    article = "A" if viewer.role == "viewer" else "An"
    st.markdown(f"Your role is **{viewer.role}**. {article} {viewer.role} {ROLES[viewer.role]}.")
    if viewer.groups:
        names = listed([as_text(name) for name in sorted(viewer.groups)], 20)
        st.caption(f"Your groups, by which audits can be shared with you, too: {names}.")
    else:
        st.caption("The sign-in says of no group that you are in it.")


def show_taken() -> None:
    """What one person may take of the server, and what whoever looks has taken."""
    seen = store()
    viewer, allowance = seen.viewer, seen.allowance
    if not viewer.may_make:
        return
    st.subheader("What you may take", anchor=False)
    running = len(seen.find(status="running", owner=viewer.name))
    queued = len(seen.find(status="queued", owner=viewer.name))
    kept = seen.bytes_of(viewer.name) / _BYTES
    tiles = (
        ("audits running", f"{running:,} of {allowance.running:,}", "Others of yours wait in the queue meanwhile."),
        (
            "audits in the queue",
            f"{queued:,} of {allowance.queued:,}",
            "People take turns, each with one audit.",
        ),
        (
            "MB kept",
            f"{kept:,.0f} of {allowance.megabytes:,}",
            "Your results, and each of your tables once.",
        ),
        ("rows of a table, at most", f"{allowance.rows:,}", "Of one audit, in all its tables."),
    )
    for place, (label, value, about) in zip(st.columns(len(tiles)), tiles, strict=True):
        place.metric(label, value, border=True, help=about)
    if kept > allowance.megabytes:
        st.warning("You keep more than one person may: delete audits that nobody needs before you make another one.")


def make_token() -> None:
    """A form for a new token, which is shown once."""
    viewer = store().viewer
    st.subheader("A token for a program", anchor=False)
    who = "as you" if viewer.name else "as you do on these pages"
    st.caption(
        f"A program that shows a token, by the API or on the command line (`CFAD_TOKEN`), acts {who}, but at most in "
        "the role that you choose here. Only a digest of it is kept: whoever reads the database cannot use it."
    )
    roles = [role for role in ROLES if viewer.limited_to(role).role == role]
    with st.form("token", clear_on_submit=True):
        named, role, lasting = st.columns([3, 3, 2])
        label = named.text_input("What it is for", max_chars=MOST_NAME, placeholder="nightly audit of the claims")
        at_most = role.selectbox("Role, at most", roles, format_func=lambda one: _MAY_WITH_TOKEN[one])
        days = int(lasting.number_input("Good for so many days", 1, MOST_DAYS, _USUAL_DAYS))
        asked = st.form_submit_button("Make the token", type="primary")
    if asked:
        with refusals_in_words():
            secret = store().make_token(label, at_most, days)
            st.success("Copy it now: it is shown this once, and cannot be shown again.")
            st.code(secret, language=None, wrap_lines=True)


def list_tokens() -> None:
    """The tokens there are, and the way to make one worthless."""
    seen = store()
    tokens = seen.tokens()
    of_all = bool(seen.viewer.name) and any(token.owner != seen.viewer.name for token in tokens)
    st.subheader("All tokens" if of_all else "Your tokens" if seen.viewer.name else "Tokens", anchor=False)
    if not tokens:
        st.caption("There are none.")
        return
    rows = _rows(tokens, with_owner=of_all)
    st.dataframe(
        rows, hide_index=True, width="stretch", column_config=moment_columns("made", "last used", "good until")
    )
    good = {token.id: token for token in tokens if token.is_good}
    if not good:
        return
    which, action = st.columns([3, 1], vertical_alignment="bottom")
    chosen = which.selectbox(
        "Revoke", list(good), index=None, format_func=lambda one: _called(good[one]), placeholder="Choose a token"
    )
    with action:
        wanted = press("Revoke it", "", disabled=chosen is None, width="stretch", key="revoke")
    if wanted and chosen is not None:
        with refusals_in_words():
            seen.revoke(chosen)
            st.rerun()
    st.caption("A program that shows a revoked token is refused from then on.")


def _called(token: Token) -> str:
    whose = f" of {token.owner}" if token.owner and token.owner != store().viewer.name else ""
    return f"{token.label}{whose} · {token.id}"


def _rows(tokens: Sequence[Token], *, with_owner: bool) -> pd.DataFrame:
    return pd.DataFrame(
        {
            **({"owner": [token.owner for token in tokens]} if with_owner else {}),
            "for": [token.label for token in tokens],
            "role": [token.role for token in tokens],
            "state": [_state(token) for token in tokens],
            "made": seconds_as_moments(token.created for token in tokens),
            "last used": seconds_as_moments(token.used for token in tokens),
            "good until": seconds_as_moments(token.expires for token in tokens),
            "id": [token.id for token in tokens],
        }
    )


def _state(token: Token) -> str:
    return "good" if token.is_good else "revoked" if token.revoked is not None else "expired"
