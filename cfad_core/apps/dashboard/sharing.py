"""Who sees an audit: its owner shares it, gives it away, and reads what was done with it."""

from __future__ import annotations

from typing import get_args

import streamlit as st

from cfad_core.apps.dashboard.rights import press, refusal, refusals_in_words
from cfad_core.apps.dashboard.services import store
from cfad_core.core.markdown import as_text
from cfad_core.runs.access import Audience, Share, Sharing, folded
from cfad_core.runs.model import AuditRecord

_AUDIENCES: dict[Audience, str] = {
    "person": "a person",
    "group": "a group",
    "everybody": "everybody who signs in here",
}
_MAY: dict[Sharing, str] = {"read": "read", "tune": "read and tune"}
_TUNING = "Tuning is to save a threshold, notes and statements, to sign, and to bring scores; not to rename or delete."
_SAID = "sharing-said"  # in the session: what became of the last press


def show_what_became() -> None:
    """What became of the last press."""
    if said := st.session_state.pop(_SAID, ""):
        st.success(said)


def show_sharing(record: AuditRecord) -> None:
    """With whom an audit is shared, for its owner; whose it is, for others."""
    if not store().viewer.name:
        return
    st.subheader("Who sees it", anchor=False)
    if why := refusal(record, "own"):
        st.caption(f"It belongs to {as_text(record.owner) or 'this server'}. {why}")
        return
    _list_shares(record)
    _ask_share(record)
    with st.expander("Give it to somebody else"):
        _ask_new_owner(record)


def _list_shares(record: AuditRecord) -> None:
    shares = store().shares(record.id)
    owner = as_text(record.owner) or "this server"
    st.markdown(f"It belongs to **{owner}**. " + ("" if shares else "It is **private**: shared with nobody."))
    for share in shares:
        words, action = st.columns([4, 1], vertical_alignment="center")
        words.markdown(f"Shared with {_with(share)}, to {_MAY[share.may]}.")
        with action:
            label = f"Unshare {share.name}".strip() if share.name else "Unshare"
            ended = press(label, "", key=f"unshare-{record.id}-{share.audience}-{share.name}", width="stretch")
        if ended:
            with refusals_in_words():
                store().unshare(record.id, share)
                st.rerun()


def _with(share: Share) -> str:
    if share.audience == "everybody":
        return f"**{_AUDIENCES['everybody']}**"
    return f"{'the group ' if share.audience == 'group' else ''}**{as_text(share.name)}**"


def _ask_share(record: AuditRecord) -> None:
    """Whom to share it with, and what for."""
    who, named, what, action = st.columns([2, 3, 2, 2], vertical_alignment="bottom")
    audience = who.selectbox(
        "Share it with", get_args(Audience), format_func=lambda one: _AUDIENCES[one], key=f"share-with-{record.id}"
    )
    name = "" if audience == "everybody" else _ask_name(record, audience, named)
    may = what.selectbox("to", get_args(Sharing), format_func=lambda one: _MAY[one], key=f"share-to-{record.id}")
    with action:
        is_named = bool(name) or audience == "everybody"
        wanted = press("Share", "", disabled=not is_named, key=f"share-{record.id}", width="stretch")
    st.caption(_TUNING)
    if wanted:
        with refusals_in_words():
            store().share(record.id, share := Share(audience, name, may))
            here = audience != "person" or name in {person.name for person in store().people()}
            later = "" if here else " Nobody of that name has signed in here yet: they see it once they do."
            st.session_state[_SAID] = f"Shared with {_with(share)}, to {_MAY[may]}.{later}"
            st.rerun()


def _ask_name(record: AuditRecord, audience: Audience, place: st.delta_generator.DeltaGenerator) -> str:
    """A name of somebody who was here, or of a group of one's own; or another one, typed."""
    people = store().people()
    if audience == "person":
        known = [person.name for person in people if person.name != record.owner]
    else:
        known = sorted({group for person in people for group in person.groups} | store().viewer.groups)
    chosen = place.selectbox(
        "Name",
        known,
        index=None,
        accept_new_options=True,
        placeholder="Choose, or type a name as in the sign-in",
        key=f"share-{audience}-{record.id}",
    )
    found = (chosen or "").strip()
    return folded(found) if audience == "person" else found


def _ask_new_owner(record: AuditRecord) -> None:
    others = [one.name for one in store().people() if one.name != record.owner and one.role != "viewer"]
    if not others:
        st.caption("Nobody else has signed in here yet who makes audits.")
        return
    who, action = st.columns([3, 1], vertical_alignment="bottom")
    name = who.selectbox("New owner", others, index=None, placeholder="Choose a person", key=f"owner-{record.id}")
    with action:
        wanted = press("Give it away", "", disabled=name is None, key=f"give-{record.id}", width="stretch")
    st.caption("It is theirs then, with all rights. You see it only if it is shared with you.")
    if wanted and name is not None:
        with refusals_in_words():
            store().give(record.id, name)
            st.session_state[_SAID] = f"It belongs to {as_text(name)} now."
            st.rerun()
