"""Who may do what with the audits of a team.

An audit belongs to who made it. Others see it once it is shared with them, with a group of theirs, or with everybody
who is signed in; some of them may also tune it. Whoever looks at the store is a ``Viewer``; the store asks these rules
in every query, so that no page, route or command can forget to.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal, get_args

import sqlalchemy as sa

from cfad_core.core.errors import CfadError, InvalidDataError
from cfad_core.runs.model import AUDITS, DELETED, DRAFTS
from cfad_core.runs.team_tables import SHARES

Role = Literal["viewer", "auditor", "admin"]
Way = Literal["page", "api", "command", "program"]
Audience = Literal["person", "group", "everybody"]
Sharing = Literal["read", "tune"]
Right = Literal["read", "tune", "own"]

ROLES: dict[Role, str] = {
    "viewer": "reads what is shared with them",
    "auditor": "makes audits of their own, and tunes what is shared with them for that",
    "admin": "sees and may do everything, and reads the log",
}
_RIGHTS = get_args(Right)
MOST_NAME = 200  # characters of a person's or a group's name


class NotAllowedError(CfadError):
    """Who asks may see it, but not do that."""


def folded(name: str) -> str:
    """One spelling of a name: sign-ins give names of people and groups in any, and people type them in another.

    Names that differ in case alone, or in how an accent is stored, are the same.
    """
    return unicodedata.normalize("NFC", name.strip().lower())


@dataclass(frozen=True)
class Viewer:
    """Who looks at the store.

    Attributes
    ----------
    name : what they own is theirs by this name, as ``folded`` spells it; empty where nobody signs in, and everything
        is everybody's
    groups : those of the sign-in that audits can be shared with
    via : how they came
    request : the id of the request that brought them, for the log
    """

    name: str
    groups: frozenset[str] = frozenset()
    role: Role = "auditor"
    via: Way = "page"
    request: str = ""

    def __post_init__(self) -> None:
        if self.name and not folded(self.name):  # it would be the operator's
            raise InvalidDataError("A name has at least one character that is no space.")
        object.__setattr__(self, "name", folded(self.name))
        object.__setattr__(self, "groups", frozenset(map(folded, self.groups)))

    @property
    def is_operator(self) -> bool:
        """Whether it is the program itself, or whoever runs it on a computer of their own."""
        return not self.name and self.role == "admin"

    @property
    def sees_all(self) -> bool:
        return not self.name or self.role == "admin"

    @property
    def may_make(self) -> bool:
        """Whether they may make audits of their own."""
        return self.role != "viewer"

    def limited_to(self, role: Role) -> Viewer:
        """The same person with at most the rights of a role."""
        return self if _rank(self.role) <= _rank(role) else replace(self, role=role)


OPERATOR = Viewer("", role="admin", via="command")
PROGRAM = Viewer("", role="admin", via="program")  # what happens by itself


@dataclass(frozen=True)
class Share:
    """With whom an audit is shared, and what for.

    ``name`` is as ``folded`` spells it, and empty where it is everybody who is signed in.
    """

    audience: Audience
    name: str
    may: Sharing

    @property
    def words(self) -> str:
        """With whom: ``everybody``, ``person ada``."""
        return "everybody" if self.audience == "everybody" else f"{self.audience} {self.name}"

    def __post_init__(self) -> None:
        object.__setattr__(self, "name", folded(self.name))
        named = 0 < len(self.name) <= MOST_NAME and self.name.isprintable()
        right = not self.name if self.audience == "everybody" else named
        if self.audience not in get_args(Audience) or self.may not in get_args(Sharing) or not right:
            raise InvalidDataError(
                "An audit is shared with a person or a group by name, or with everybody, to read or to tune; "
                f"not with {self.audience} '{self.name[:60]}' to {self.may}."
            )


def _rank(role: Role) -> int:
    return list(ROLES).index(role)


def covers(held: Right | None, needed: Right) -> bool:
    """Whether one right includes another."""
    return held is not None and _RIGHTS.index(held) >= _RIGHTS.index(needed)


def visible_to(viewer: Viewer) -> sa.ColumnElement[bool]:
    """The audits that somebody may see."""
    if viewer.sees_all:
        return sa.true()
    shared = sa.select(SHARES.c.audit).where(SHARES.c.audit == AUDITS.c.id, _meant(viewer)).exists()
    return sa.or_(AUDITS.c.owner == viewer.name, shared)


def drafts_of(viewer: Viewer) -> sa.ColumnElement[bool]:
    """The drafts that somebody may see: their own."""
    return sa.true() if not viewer.name else DRAFTS.c.owner == viewer.name


def traces_of(viewer: Viewer) -> sa.ColumnElement[bool]:
    """What is left of deleted audits, as far as somebody may see it: of their own."""
    return sa.true() if viewer.sees_all else DELETED.c.owner == viewer.name


def right_of(viewer: Viewer, owner: str, shares: Iterable[Share]) -> Right | None:
    """What somebody may do with an audit; None: not even see it."""
    if viewer.sees_all or owner == viewer.name:
        return "own" if viewer.may_make else "read"
    given = {share.may for share in shares if _is_meant(viewer, share)}
    if "tune" in given and viewer.may_make:
        return "tune"
    return "read" if given else None


def _meant(viewer: Viewer) -> sa.ColumnElement[bool]:
    """The shares that are for somebody, in the database; as ``_is_meant``."""
    return sa.or_(
        SHARES.c.audience == "everybody",
        sa.and_(SHARES.c.audience == "person", SHARES.c.name == viewer.name),
        sa.and_(SHARES.c.audience == "group", SHARES.c.name.in_(sorted(viewer.groups))),
    )


def _is_meant(viewer: Viewer, share: Share) -> bool:
    if share.audience == "everybody":
        return True
    return share.name == viewer.name if share.audience == "person" else share.name in viewer.groups
