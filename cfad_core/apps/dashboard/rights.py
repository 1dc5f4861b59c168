"""What whoever looks may do on a page, and the sentence that says why not.

The store decides; pages only ask it beforehand, so that nobody types what cannot be kept. What it refuses all the same,
since a right was taken away a moment ago, is said in a sentence, too.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Literal

import streamlit as st

from cfad_core.apps.dashboard.services import store
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.core.markdown import as_text
from cfad_core.runs.access import Right, covers
from cfad_core.runs.model import AuditRecord

_LONGEST = 500  # of a refusal
_MAY = {"read": "You may read it.", "tune": "You may read and tune it.", "own": "You may do everything with it."}
READS_ONLY = "Your role here is to read what others share with you. To make or change audits, ask an administrator."


def is_team() -> bool:
    """Whether people sign in; settings that cannot be meant are refused at the entrance."""
    try:
        return SignIn.from_environment().is_team
    except CfadError:
        return True


def right_to(audit: str) -> Right | None:
    """What whoever looks may do with an audit; None if there is none that they see."""
    seen = store()
    if seen.viewer.is_operator:
        return "own"
    try:
        return seen.right(audit)
    except InvalidArtifactError:
        return None


def refusal(record: AuditRecord, needed: Right) -> str:
    """Why whoever looks may not do what needs a right to an audit; empty if they may."""
    if covers(right_to(record.id), needed):
        return ""
    if not store().viewer.may_make:
        return READS_ONLY
    ask = f"Ask {as_text(record.owner)}." if record.owner else "Ask an administrator."
    return f"Only who made this audit{'' if needed == 'own' else ', and whom they let tune it,'} may do this. {ask}"


def no_making() -> str:
    """Why whoever looks may make no audits; empty if they may."""
    return "" if store().viewer.may_make else READS_ONLY


def press(
    label: str,
    why: str,
    *,
    key: str | None = None,
    primary: bool = False,
    disabled: bool = False,
    width: Literal["stretch", "content"] = "content",
    help: str | None = None,  # noqa: A002 - as Streamlit calls it
) -> bool:
    """A button; grey, with the reason, where there is one against it. Whether it was pressed."""
    return st.button(
        label,
        key=key,
        type="primary" if primary else "secondary",
        disabled=disabled or bool(why),
        width=width,
        help=why or help,
    )


@contextmanager
def refusals_in_words() -> Iterator[None]:
    """Say what cannot be done, and go on with the page after the block."""
    try:
        yield
    except CfadError as error:
        show_refusal(error)


def show_refusal(error: CfadError) -> None:
    """What went wrong, a sentence each."""
    for line in str(error).splitlines():
        st.error(as_text(line, _LONGEST))


def owner_words(record: AuditRecord) -> str:
    """Whose an audit of somebody else is, as Markdown; empty of one's own, and where nobody signs in."""
    viewer = store().viewer
    if not viewer.name or record.owner == viewer.name:
        return ""
    return f"by {as_text(record.owner)}" if record.owner else "of this server"


def whose_words(record: AuditRecord) -> str:
    """Of an audit of somebody else, whose it is and what one may do with it, as Markdown; empty of one's own."""
    whose, right = owner_words(record), right_to(record.id) if store().viewer.name else None
    return f"{whose}. {_MAY[right]}" if whose and right is not None else whose
