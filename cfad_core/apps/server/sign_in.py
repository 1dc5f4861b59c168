"""Who somebody is, and what they may: by the settings ``CFAD_AUTH`` and those that belong to it.

A sign-in gives claims (OIDC) or headers (a trusted proxy); here they become a ``Viewer`` of the store.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from ipaddress import IPv4Network, IPv6Network, ip_address, ip_network
from typing import Literal, get_args

from cfad_core.core.errors import CfadError, InvalidConfigError
from cfad_core.core.formats import counted, listed
from cfad_core.runs.access import MOST_NAME, Role, Viewer, Way, folded

Mode = Literal["none", "oidc", "proxy"]
Network = IPv4Network | IPv6Network
_HOUR = 3600.0
_GROUP = "group:"  # before a name in the lists of people


class SignInError(CfadError):
    """What a sign-in says of somebody is not enough to let them in."""


@dataclass(frozen=True)
class SignIn:
    """How people sign in, and which of them may do what.

    Attributes
    ----------
    mode : none: nobody signs in, and everything is everybody's
    name_claim, groups_claim : where an OIDC sign-in has the name that audits are shared with, and the groups
    name_header, groups_header : where a proxy has them
    hours : after which somebody who signed in by OIDC has to do so again
    proxies : addresses that may say who somebody is
    admins, auditors, viewers : names, and groups after ``group:``. Without auditors everybody is one; without viewers
        everybody who is no auditor is one
    """

    mode: Mode = "none"
    name_claim: str = "email"
    groups_claim: str = "groups"
    name_header: str = "X-Forwarded-User"
    groups_header: str = "X-Forwarded-Groups"
    hours: int = 12
    proxies: tuple[Network, ...] = ()
    admins: frozenset[str] = frozenset()
    auditors: frozenset[str] = frozenset()
    viewers: frozenset[str] = frozenset()

    @staticmethod
    def from_environment() -> SignIn:
        """The settings of this server.

        Raises
        ------
        InvalidConfigError
            If one of them cannot be meant.
        """
        mode = os.environ.get("CFAD_AUTH", "") or "none"
        if mode not in get_args(Mode):
            raise InvalidConfigError(f"CFAD_AUTH is one of {listed(get_args(Mode))}; not '{mode[:40]}'.")
        proxies = tuple(_network(text) for text in _names(os.environ.get("CFAD_PROXY", "")))
        if mode == "proxy" and not proxies:
            raise InvalidConfigError(
                "CFAD_AUTH=proxy needs the address that the proxy's requests come from, and no other may: "
                "CFAD_PROXY=10.0.0.5, or a network such as 10.0.0.0/28."
            )
        return SignIn(
            _mode(mode),
            _text("CFAD_NAME_CLAIM", SignIn.name_claim),
            _text("CFAD_GROUPS_CLAIM", SignIn.groups_claim),
            _text("CFAD_NAME_HEADER", SignIn.name_header),
            _text("CFAD_GROUPS_HEADER", SignIn.groups_header),
            _hours(os.environ.get("CFAD_SIGN_IN_HOURS", "")),
            proxies,
            *(
                frozenset(map(folded, _names(os.environ.get(f"CFAD_{who}", ""))))
                for who in ("ADMINS", "AUDITORS", "VIEWERS")
            ),
        )

    @property
    def is_team(self) -> bool:
        """Whether people sign in."""
        return self.mode != "none"

    def is_proxy(self, address: str) -> bool:
        """Whether a request from this address may say who somebody is."""
        try:
            peer = ip_address(address)
        except ValueError:
            return False
        peer = getattr(peer, "ipv4_mapped", None) or peer
        return any(peer in network for network in self.proxies)

    def by_claims(self, claims: Mapping[str, object], via: Way = "page", request: str = "") -> Viewer:
        """Who signed in by OIDC.

        Raises
        ------
        SignInError
            If the claims name nobody, or an address that its provider does not vouch for; or are too old.
        """
        since = claims.get("iat")  # the provider's clock; one that is ahead a little harms nobody
        if isinstance(since, int | float) and time.time() - since > self.hours * _HOUR:
            raise SignInError(f"You signed in more than {counted(self.hours, 'hour')} ago. Please sign in again.")
        if self.name_claim == "email" and claims.get("email_verified") is False:
            raise SignInError(
                "Your sign-in has an e-mail address that was never verified. Verify it there, and sign in again."
            )
        name, groups = claims.get(self.name_claim), claims.get(self.groups_claim)
        if not isinstance(name, str) or not name.strip():
            raise SignInError(
                f"The sign-in gave no '{self.name_claim}'; an administrator can name another claim in CFAD_NAME_CLAIM."
            )
        listed_groups = groups if isinstance(groups, list) else _names(groups) if isinstance(groups, str) else []
        return self.viewer(name, [group for group in listed_groups if isinstance(group, str)], via, request)

    def by_headers(self, headers: Mapping[str, str], via: Way = "page", request: str = "") -> Viewer:
        """Who a trusted proxy says somebody is; ``headers`` in any case.

        Raises
        ------
        SignInError
            If they name nobody.
        """
        found = {name.lower(): value for name, value in headers.items()}
        name = found.get(self.name_header.lower(), "")
        if not name.strip():
            raise SignInError(f"The proxy did not say who you are: the header '{self.name_header}' is missing.")
        return self.viewer(name, _names(found.get(self.groups_header.lower(), "")), via, request)

    def viewer(self, name: str, groups: Iterable[str], via: Way = "page", request: str = "") -> Viewer:
        """Somebody of this name and these groups, as the store knows them.

        Raises
        ------
        SignInError
            If they may not even read here.
        """
        clean = folded(name)
        if not 0 < len(clean) <= MOST_NAME or not clean.isprintable():
            raise SignInError(
                f"The sign-in gave a name that cannot be used: it has 1 to {MOST_NAME} printable characters."
            )
        theirs = frozenset(group.strip() for group in groups if group.strip())
        role = self.role_of(clean, theirs)
        if role is None:
            raise SignInError(f"{clean} may not use this server. An administrator can add the name to CFAD_VIEWERS.")
        return Viewer(clean, theirs, role, via, request)

    def role_of(self, name: str, groups: Iterable[str]) -> Role | None:
        """What somebody may at most; None: nothing."""
        called = {folded(f"{_GROUP}{group}") for group in groups}
        called |= {folded(name)} if not folded(name).startswith(_GROUP) else set()  # no name passes for a group
        if self.admins & called:
            return "admin"
        if not self.auditors or self.auditors & called:
            return "auditor" if not (self.viewers & called and not self.auditors) else "viewer"
        return "viewer" if not self.viewers or self.viewers & called else None


def _mode(text: str) -> Mode:
    return "oidc" if text == "oidc" else "proxy" if text == "proxy" else "none"


def _names(text: str) -> list[str]:
    return [name.strip() for name in text.split(",") if name.strip()]


def _text(variable: str, otherwise: str) -> str:
    return os.environ.get(variable, "").strip() or otherwise


def _hours(text: str) -> int:
    if text and not (text.isdecimal() and int(text) > 0):
        raise InvalidConfigError(f"CFAD_SIGN_IN_HOURS is a whole number above 0, such as 12; not '{text[:40]}'.")
    return int(text) if text else SignIn.hours


def _network(text: str) -> Network:
    try:
        return ip_network(text, strict=False)
    except ValueError:
        raise InvalidConfigError(
            "CFAD_PROXY has addresses such as 10.0.0.5, or networks such as 10.0.0.0/28, with commas between them; not "
            f"'{text[:60]}'."
        ) from None
