"""What a team does with the store: share audits and give them away, come and go, make tokens, read the log."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import sqlalchemy as sa

from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.runs.access import MOST_NAME, ROLES, NotAllowedError, Role, Share, Viewer, Way
from cfad_core.runs.index import Index
from cfad_core.runs.log import Entry, entries
from cfad_core.runs.model import AUDITS
from cfad_core.runs.team_tables import PEOPLE, SHARES, TOKENS

_DAY = 24 * 3600.0
_TOKEN = re.compile(r"cfad_([0-9a-f]{16})_([0-9a-f]{64})")
_SEEN_ANEW = 60.0  # seconds after which the last use of a token is written down again
MOST_DAYS = 366  # that a token can be good for
MOST_TOKENS = 50  # of a person, at once


@dataclass(frozen=True)
class Person:
    """Somebody who signed in, as the sign-in described them last; ``seen`` in seconds since 1970."""

    name: str
    groups: tuple[str, ...]
    role: Role
    seen: float


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
        return self._shares_of(audit)

    def share(self, audit: str, share: Share) -> None:
        """Share an audit, or change what for."""
        self._need(audit, "own")
        with self._engine.begin() as connection:
            connection.execute(sa.delete(SHARES).where(_same(audit, share)))
            row = {"audit": audit, "audience": share.audience, "name": share.name, "may": share.may}
            connection.execute(sa.insert(SHARES).values(row))
            self._log(connection, "shared", audit, f"{_with(share)}, to {share.may}")

    def unshare(self, audit: str, share: Share) -> None:
        """Share it with them no more."""
        self._need(audit, "own")
        with self._engine.begin() as connection:
            if connection.execute(sa.delete(SHARES).where(_same(audit, share))).rowcount:
                self._log(connection, "unshared", audit, _with(share))

    def give(self, audit: str, owner: str) -> None:
        """Make somebody else its owner.

        Raises
        ------
        InvalidDataError
            If nobody of this name was here.
        """
        self._need(audit, "own")
        if self._person(owner) is None:
            raise InvalidDataError(f"Nobody called '{owner[:60]}' has signed in here; they have to do that once first.")
        with self._engine.begin() as connection:
            connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(owner=owner))
            self._log(connection, "given away", audit, f"to {owner}")

    def arrive(self, viewer: Viewer) -> None:
        """Write down that somebody has signed in."""
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
        """Everybody who was here, by name: whom audits can be shared with."""
        with self._engine.connect() as connection:
            return [_person_of(row) for row in connection.execute(sa.select(PEOPLE).order_by(PEOPLE.c.name)).mappings()]

    def bytes_of(self, owner: str) -> int:
        """What somebody's audits take: their results, and each table once."""
        query = sa.select(AUDITS.c.tables, AUDITS.c.size).where(AUDITS.c.owner == owner)
        with self._engine.connect() as connection:
            rows = connection.execute(query).all()
        paths = [self._table_path(name) for name in {name for row in rows for name in row.tables.values()}]
        return sum(row.size or 0 for row in rows) + sum(path.stat().st_size for path in paths if path.is_file())

    def make_token(self, label: str, role: Role, days: int) -> str:
        """A token for a program that acts for whoever looks; it is shown once, and kept as a digest only.

        Raises
        ------
        InvalidDataError
            If it has no label, lasts too long, or there are too many.
        NotAllowedError
            If it were to do more than its owner may.
        """
        clean = " ".join(label.split())[:MOST_NAME]
        if not clean or not 0 < days <= MOST_DAYS:
            raise InvalidDataError(f"A token needs a label, and lasts for 1 to {MOST_DAYS} days; not {days}.")
        if self.viewer.limited_to(role).role != role:
            raise NotAllowedError(f"You may make tokens that do no more than you may yourself; '{role}' is more.")
        if sum(token.is_good for token in self.tokens() if token.owner == self.viewer.name) >= MOST_TOKENS:
            raise InvalidDataError(f"You have {MOST_TOKENS} tokens; revoke one that is not needed any more.")
        name, secret, now = secrets.token_hex(8), secrets.token_hex(32), time.time()
        row = {"id": name, "owner": self.viewer.name, "label": clean, "role": role, "digest": _digest(secret)}
        with self._engine.begin() as connection:
            connection.execute(sa.insert(TOKENS).values({**row, "created": now, "expires": now + days * _DAY}))
            self._log(connection, "token made", None, f"{clean} ({role}, {days} days)")
        return f"cfad_{name}_{secret}"

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
            label = connection.execute(query.values(revoked=time.time())).scalar()
            if label is None:
                raise InvalidArtifactError(f"There is no token '{token[:40]}'.")
            self._log(connection, "token revoked", None, str(label))

    def viewer_of(self, token: str, via: Way = "api", request: str = "", *, is_team: bool = True) -> Viewer | None:
        """For whom a token acts; None if it is unknown, revoked or has expired.

        Parameters
        ----------
        is_team : whether people sign in here: then a token that was made while nobody did is good for nothing
        """
        self._need_operator()
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
        owner = self._person(kept.owner) if kept.owner else Person("", (), "admin", 0.0)
        if owner is None:
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
        if token.used is None or time.time() - token.used > _SEEN_ANEW:
            with self._engine.begin() as connection:
                connection.execute(sa.update(TOKENS).where(TOKENS.c.id == token.id).values(used=time.time()))

    def _person(self, name: str) -> Person | None:
        with self._engine.connect() as connection:
            row = connection.execute(sa.select(PEOPLE).where(PEOPLE.c.name == name)).mappings().first()
        return None if row is None else _person_of(row)


def _person_of(row: sa.RowMapping) -> Person:
    found = Person(row["name"], tuple(row["groups"]), row["role"], row["seen"])
    return found if found.role in ROLES else replace(found, role="viewer")


def _kept_of_tokens() -> list[sa.Column[Any]]:
    return [column for column in TOKENS.columns if column.name != "digest"]


def _digest(secret: str) -> str:
    """Of 256 random bits: a slow digest would protect nothing more."""
    return hashlib.sha256(secret.encode()).hexdigest()


def _same(audit: str, share: Share) -> sa.ColumnElement[bool]:
    return sa.and_(SHARES.c.audit == audit, SHARES.c.audience == share.audience, SHARES.c.name == share.name)


def _with(share: Share) -> str:
    return "everybody" if share.audience == "everybody" else f"{share.audience} {share.name}"
