"""Who somebody is by their sign-in, and what they may."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from ipaddress import ip_network

import pytest

from cfad_core.apps.server.sign_in import SignIn, SignInError
from cfad_core.core.errors import InvalidConfigError
from cfad_core.runs.access import Viewer

OIDC = SignIn("oidc")
PROXY = SignIn("proxy", proxies=(ip_network("10.0.0.5"), ip_network("fd00::/64")))
ANNA = {"email": "Anna@Example.org", "email_verified": True, "groups": ["audit", "risk"]}


def test_nobody_signs_in_unless_it_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CFAD_AUTH", raising=False)
    assert SignIn.from_environment() == SignIn()
    assert not SignIn().is_team


def test_all_settings_are_read(monkeypatch: pytest.MonkeyPatch) -> None:
    settings = {
        "CFAD_AUTH": "proxy",
        "CFAD_PROXY": "10.0.0.5, fd00::/64",
        "CFAD_ADMINS": "Anna@example.org, group:Leads",
        "CFAD_AUDITORS": "bo@example.org",
        "CFAD_VIEWERS": "group:all",
        "CFAD_NAME_CLAIM": "upn",
        "CFAD_GROUPS_CLAIM": "roles",
        "CFAD_NAME_HEADER": "Remote-User",
        "CFAD_GROUPS_HEADER": "Remote-Groups",
        "CFAD_SIGN_IN_HOURS": "3",
    }
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    assert SignIn.from_environment() == SignIn(
        *("proxy", "upn", "roles", "Remote-User", "Remote-Groups", 3, PROXY.proxies),
        *(frozenset({"anna@example.org", "group:leads"}), frozenset({"bo@example.org"}), frozenset({"group:all"})),
    )


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"CFAD_AUTH": "ldap"}, "CFAD_AUTH is one of none, oidc and proxy; not 'ldap'."),
        ({"CFAD_AUTH": "proxy"}, "CFAD_AUTH=proxy needs the address that the proxy's requests come from"),
        ({"CFAD_AUTH": "proxy", "CFAD_PROXY": "nginx"}, "CFAD_PROXY has addresses such as 10.0.0.5"),
        ({"CFAD_AUTH": "oidc", "CFAD_SIGN_IN_HOURS": "0"}, "CFAD_SIGN_IN_HOURS is a whole number above 0"),
    ],
)
def test_settings_that_cannot_be_meant(
    monkeypatch: pytest.MonkeyPatch, settings: Mapping[str, str], words: str
) -> None:
    for name, value in settings.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InvalidConfigError) as caught:
        SignIn.from_environment()
    assert str(caught.value).startswith(words)


def test_claims_become_a_viewer_of_one_spelling() -> None:
    expected = Viewer("anna@example.org", frozenset({"audit", "risk"}), "auditor", "page", "r1")
    assert OIDC.by_claims(ANNA, "page", "r1") == expected
    assert OIDC.by_claims({**ANNA, "groups": "audit, risk"}, "page", "r1") == expected
    assert OIDC.by_claims({**ANNA, "groups": {"odd": 1}}).groups == frozenset()
    assert replace(OIDC, name_claim="sub").by_claims({"sub": "a-1"}).name == "a-1"


@pytest.mark.parametrize(
    ("claims", "words"),
    [
        ({**ANNA, "email_verified": False}, "Your sign-in has an e-mail address that was never verified."),
        ({"sub": "1"}, "The sign-in gave no 'email'"),
        ({"email": ["anna"]}, "The sign-in gave no 'email'"),
        ({"email": "  "}, "The sign-in gave no 'email'"),
        ({"email": "a" * 201}, "The sign-in gave a name that cannot be used"),
        ({"email": "anna\n@example.org"}, "The sign-in gave a name that cannot be used"),
    ],
)
def test_claims_that_name_nobody(claims: Mapping[str, object], words: str) -> None:
    with pytest.raises(SignInError) as caught:
        OIDC.by_claims(claims)
    assert str(caught.value).startswith(words)


def test_a_sign_in_does_not_last_for_ever() -> None:
    OIDC.by_claims({**ANNA, "iat": time.time() - 11 * 3600})
    with pytest.raises(SignInError, match="^You signed in more than 12 hours ago. Please sign in again.$"):
        OIDC.by_claims({**ANNA, "iat": time.time() - 13 * 3600})


def test_headers_become_a_viewer_in_any_case() -> None:
    viewer = PROXY.by_headers({"x-forwarded-user": "Bo", "X-FORWARDED-GROUPS": "audit,, risk "})
    assert viewer == Viewer("bo", frozenset({"audit", "risk"}))
    with pytest.raises(SignInError, match="the header 'X-Forwarded-User' is missing"):
        PROXY.by_headers({"x-forwarded-groups": "audit"})


@pytest.mark.parametrize(
    ("address", "is_one"),
    [
        ("10.0.0.5", True),
        ("::ffff:10.0.0.5", True),
        ("fd00::7", True),
        ("10.0.0.6", False),
        ("127.0.0.1", False),
        ("", False),
        ("testclient", False),
    ],
)
def test_only_the_named_addresses_are_the_proxy(address: str, is_one: bool) -> None:
    assert PROXY.is_proxy(address) is is_one


@pytest.mark.parametrize(
    ("lists", "name", "groups", "role"),
    [
        ({}, "anna", [], "auditor"),
        ({"admins": {"anna"}}, "anna", [], "admin"),
        ({"admins": {"group:leads"}}, "anna", ["Leads"], "admin"),
        ({"auditors": {"bo"}}, "anna", [], "viewer"),
        ({"auditors": {"anna"}, "viewers": {"bo"}}, "anna", [], "auditor"),
        ({"auditors": {"bo"}, "viewers": {"cy"}}, "anna", [], None),
        ({"viewers": {"anna"}}, "anna", [], "viewer"),
        ({"viewers": {"anna"}}, "bo", [], "auditor"),
        ({"admins": {"group:anna"}}, "anna", [], "auditor"),
        ({"admins": {"group:x"}}, "group:x", [], "auditor"),
    ],
)
def test_roles_by_the_lists(lists: dict[str, set[str]], name: str, groups: list[str], role: str | None) -> None:
    admins, auditors, viewers = (frozenset(lists.get(who, ())) for who in ("admins", "auditors", "viewers"))
    sign_in = replace(OIDC, admins=admins, auditors=auditors, viewers=viewers)
    assert sign_in.role_of(name, groups) == role
    if role is None:
        with pytest.raises(SignInError, match="anna may not use this server"):
            sign_in.viewer(name, groups)
