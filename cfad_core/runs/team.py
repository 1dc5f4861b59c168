"""What a team does with the store: share audits and give them away, come and go, make tokens, read the log."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.core.formats import counted
from cfad_core.runs.access import MOST_NAME, ROLES, NotAllowedError, Role, Share, Viewer, Way, folded
from cfad_core.runs.index import Index, shares_of
from cfad_core.runs.log import Entry, entries
from cfad_core.runs.model import ACTIVE, AUDITS
from cfad_core.runs.team_tables import PEOPLE, SHARES, TOKENS
from cfad_core.runs.texts import on_one_line

_DAY = 24 * 3600.0
_TOKEN = re.compile(r"cfad_([0-9a-f]{16})_([0-9a-f]{64})")
_SEEN_ANEW = 60.0  # seconds after which the last use of a token is written down again
MOST_DAYS = 366  # that a token can be good for
MOST_TOKENS = 50  # of a person, at once
_NO_ROLE = ""  # of people who may not come any more


@dataclass(frozen=True)
class Person:
    """Somebody who signed in, as the sign-in described them last.

    Attributes
    ----------
    role : None: they may not even read here any more
    groups, seen : seen in seconds since 1970; only for administrators
    """

    name: str
    groups: tuple[str, ...]
    role: Role | None
    seen: float | None


@dataclass(frozen=True)
class Token:
    """What a program shows to act for a person; the secret itself is not kept.

    Attributes
    ----------
    role : what it may at most; never more than its owner may
    created, expires, used, revoked : seconds since 1970; None if it was not (yet)
    """

    id: str
    owner: str
    label: str
    role: Role
    created: float
    expires: float
    used: float | None
    revoked: float | None

    @property
    def is_good(self) -> bool:
        return self.revoked is None and time.time() < self.expires


class Team(Index):
    """Several people with one store. What each of them may is asked in ``access``."""

    def shares(self, audit: str) -> tuple[Share, ...]:
        """With whom an audit is shared; for those who may change that."""
        self._need(audit, "own")
        with self._engine.connect() as connection:
            return shares_of(connection, audit)

    def share(self, audit: str, share: Share) -> None:
        """Share an audit, or change what for."""
        with self._changing(audit, "own") as connection:
            connection.execute(sa.delete(SHARES).where(_same(audit, share)))
            row = {"audit": audit, "audience": share.audience, "name": share.name, "may": share.may}
            connection.execute(sa.insert(SHARES).values(row))
            self._log(connection, "shared", audit, f"{share.words}, to {share.may}")

    def unshare(self, audit: str, share: Share) -> None:
        """Share it with them no more."""
        with self._changing(audit, "own") as connection:
            if connection.execute(sa.delete(SHARES).where(_same(audit, share))).rowcount:
                self._log(connection, "unshared", audit, share.words)

    def give(self, audit: str, owner: str) -> None:
        """Make somebody else its owner.

        Raises
        ------
        InvalidDataError
            If nobody of this name was here, they make no audits, or it is in the queue or running.
        LimitReachedError
            If they would keep more than one person may, and no administrator gives it.
        """
        with self._changing(audit, "own") as connection:
            person = _person(connection, folded(owner))
            if person is None:
                shown = on_one_line(owner, 60)
                raise InvalidDataError(f"Nobody called '{shown}' has signed in here; they have to do that once first.")
            if person.role in (None, "viewer"):
                raise InvalidDataError(f"{person.name} may not make audits here, so they can own none.")
            if not self.viewer.sees_all:
                self._refuse_burden(connection, audit, person.name)
            connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(owner=person.name))
            self._log(connection, "given away", audit, f"to {person.name}")

    def _refuse_burden(self, connection: sa.Connection, audit: str, owner: str) -> None:
        """Nobody puts audits into somebody else's turns in the queue, or fills up what they may keep."""
        columns = (AUDITS.c.status, AUDITS.c.tables, AUDITS.c.size)
        one = connection.execute(sa.select(*columns).where(AUDITS.c.id == audit)).one()
        if one.status in ACTIVE:
            raise InvalidDataError(f"Audit '{audit}' is {one.status}; give it away once it is done.")
        more = sum(map(self._table_size, set(one.tables.values()) - self._tables_of(owner))) + (one.size or 0)
        self.allowance.check_bytes(self._bytes_of(owner), more, f"{owner}'s")

    def arrive(self, viewer: Viewer) -> None:
        """Write down that somebody has signed in; the program does, or they themselves."""
        if viewer != self.viewer:
            self.need_operator()
        if not 0 < len(viewer.name) <= MOST_NAME:
            raise InvalidDataError(f"A name has 1 to {MOST_NAME} characters; this one has {len(viewer.name)}.")
        row = {"groups": sorted(viewer.groups), "role": viewer.role, "seen": time.time()}
        with self._engine.begin() as connection:
            known = sa.update(PEOPLE).where(PEOPLE.c.name == viewer.name).values(row)
            if not connection.execute(known).rowcount:
                try:
                    with connection.begin_nested():
                        connection.execute(sa.insert(PEOPLE).values({"name": viewer.name, **row}))
                except sa.exc.IntegrityError:  # in two windows at once
                    connection.execute(known)
            self.seen_by(viewer)._log(connection, "signed in", None)

    def people(self) -> list[Person]:
        """Whom audits can be shared with: everybody who was here and may still come, by name.

        Administrators also see who may not come any more. Who makes no audits shares none, and sees nobody.
        """
        if not self.viewer.may_make:
            return []
        with self._engine.connect() as connection:
            rows = connection.execute(sa.select(PEOPLE).order_by(PEOPLE.c.name)).mappings()
            found = [_person_of(row) for row in rows]
        if self.viewer.sees_all:
            return found
        return [replace(person, groups=(), seen=None) for person in found if person.role is not None]

    def settle_roles(self, role_of: Callable[[str, Iterable[str]], Role | None]) -> None:
        """Give everybody who was here the role that they have by now, so that their tokens do no more than that.

        Parameters
        ----------
        role_of : by name and groups, what somebody may; None: nothing
        """
        self.need_operator()
        with self._engine.begin() as connection:
            rows = connection.execute(sa.select(PEOPLE)).mappings().all()
            for person in map(_person_of, rows):
                role = role_of(person.name, person.groups)
                if role != person.role:
                    one = sa.update(PEOPLE).where(PEOPLE.c.name == person.name)
                    connection.execute(one.values(role=role or _NO_ROLE))

    def make_token(self, label: str, role: Role, days: int, owner: str | None = None) -> str:
        """A token for a program that acts for whoever looks; it is shown once, and kept as a digest only.

        Parameters
        ----------
        owner : whom it acts for, if the program itself makes it for somebody who signs in

        Raises
        ------
        InvalidDataError
            If it has no label, lasts too long, there are too many, or nobody of the owner's name was here.
        NotAllowedError
            If it were to do more than its owner may; or if whoever looks came by a token: a token that was stolen
            must not outlive itself in another one.
        """
        clean = on_one_line(label, MOST_NAME)
        if not clean or type(days) is not int or not 0 < days <= MOST_DAYS:
            raise InvalidDataError(f"A token needs a label, and lasts for 1 to {MOST_DAYS} whole days; not {days}.")
        person = self._token_owner(owner)
        if role not in ROLES or person.limited_to(role).role != role:
            raise NotAllowedError(f"A token does no more than its owner may, who is {person.role}; '{role}' is more.")
        if sum(token.is_good for token in self.tokens() if token.owner == person.name) >= MOST_TOKENS:
            raise InvalidDataError(f"There are {MOST_TOKENS} tokens already; revoke one that is not needed any more.")
        name, secret, now = secrets.token_hex(8), secrets.token_hex(32), time.time()
        row = {"id": name, "owner": person.name, "label": clean, "role": role, "digest": _digest(secret)}
        with self._engine.begin() as connection:
            connection.execute(sa.insert(TOKENS).values({**row, "created": now, "expires": now + days * _DAY}))
            whose = f" for {person.name}" if person.name != self.viewer.name else ""
            self._log(connection, "token made", None, f"{clean}{whose} ({role}, {counted(days, 'day')})")
        return f"cfad_{name}_{secret}"

    def _token_owner(self, owner: str | None) -> Viewer:
        """For whom a token is to act."""
        if self.viewer.via == "api" or (self.viewer.via == "command" and not self.viewer.is_operator):
            raise NotAllowedError("A token makes no tokens; sign in, and make one on the page Account.")
        if not owner:
            return self.viewer
        self.need_operator()
        with self._engine.connect() as connection:
            person = _person(connection, folded(owner))
        if person is None or person.role is None:
            shown = on_one_line(owner, 60)
            raise InvalidDataError(f"Nobody called '{shown}' has signed in here; they have to do that once first.")
        return Viewer(person.name, frozenset(person.groups), person.role)

    def tokens(self) -> list[Token]:
        """The tokens of whoever looks, the latest first; of everybody for those who see everything."""
        mine = sa.true() if self.viewer.sees_all else TOKENS.c.owner == self.viewer.name
        query = sa.select(*_kept_of_tokens()).where(mine).order_by(TOKENS.c.created.desc(), TOKENS.c.id)
        with self._engine.connect() as connection:
            return [Token(**dict(row)) for row in connection.execute(query).mappings()]

    def revoke(self, token: str) -> None:
        """Make a token worthless, by its id.

        Raises
        ------
        InvalidArtifactError
            If whoever looks has none of this id.
        """
        mine = sa.true() if self.viewer.sees_all else TOKENS.c.owner == self.viewer.name
        query = sa.update(TOKENS).where(TOKENS.c.id == token, mine).returning(TOKENS.c.label)
        with self._engine.begin() as connection:
            first = sa.func.coalesce(TOKENS.c.revoked, time.time())
            label = connection.execute(query.values(revoked=first)).scalar()
            if label is None:
                raise InvalidArtifactError(f"There is no token '{on_one_line(token, 40)}'.")
            self._log(connection, "token revoked", None, str(label))

    def viewer_of(self, token: str, via: Way = "api", request: str = "", *, is_team: bool = True) -> Viewer | None:
        """For whom a token acts; None if it is unknown, revoked or has expired.

        Parameters
        ----------
        is_team : whether people sign in here: then a token that was made while nobody did is good for nothing
        """
        self.need_operator()
        found = _TOKEN.fullmatch(token)
        if found is None:
            return None
        query = sa.select(*_kept_of_tokens(), TOKENS.c.digest).where(TOKENS.c.id == found[1])
        with self._engine.connect() as connection:
            row = connection.execute(query).mappings().first()
        if row is None or not secrets.compare_digest(str(row["digest"]), _digest(found[2])):
            return None
        kept = Token(**{name: value for name, value in row.items() if name != "digest"})
        if not kept.is_good or (is_team and not kept.owner):
            return None
        with self._engine.connect() as connection:
            owner = _person(connection, kept.owner) if kept.owner else Person("", (), "admin", None)
        if owner is None or owner.role is None or kept.role not in ROLES:
            return None
        self._used(kept)
        person = Viewer(owner.name, frozenset(owner.groups), owner.role, via, request)
        return person.limited_to(kept.role)

    def log(self, *, audit: str | None = None, who: str | None = None, limit: int | None = None) -> Iterator[Entry]:
        """What was done, the latest first: with an audit for its owner, everything for administrators."""
        if audit is not None and not self.viewer.sees_all:
            self._need(audit, "own")
        elif not self.viewer.sees_all:
            raise NotAllowedError("Only administrators read the whole log; of audits of your own, name one.")
        return entries(self._engine, audit=audit, who=who, limit=limit)

    def _used(self, token: Token) -> None:
        if token.used is None or abs(time.time() - token.used) > _SEEN_ANEW:
            with self._engine.begin() as connection:
                connection.execute(sa.update(TOKENS).where(TOKENS.c.id == token.id).values(used=time.time()))


def _person(connection: sa.Connection, name: str) -> Person | None:
    row = connection.execute(sa.select(PEOPLE).where(PEOPLE.c.name == name)).mappings().first()
    return None if row is None else _person_of(row)


def _person_of(row: sa.RowMapping) -> Person:
    found = Person(row["name"], tuple(row["groups"]), row["role"], row["seen"])
    return found if found.role in ROLES else replace(found, role=None)


def _kept_of_tokens() -> list[sa.Column[Any]]:
    return [column for column in TOKENS.columns if column.name != "digest"]


def _digest(secret: str) -> str:
    """Of 256 random bits: a slow digest would protect nothing more."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _same(audit: str, share: Share) -> sa.ColumnElement[bool]:
    return sa.and_(SHARES.c.audit == audit, SHARES.c.audience == share.audience, SHARES.c.name == share.name)
