"""Signing in by OIDC in a real browser, at a provider of our own."""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Mapping
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from cfad_core.data.tables import Tables
from cfad_core.runs.access import Viewer
from cfad_core.runs.store import Store
from tests.apps.browser import Visitor, assert_clean, browser, free_port, served
from tests.apps.pages import QUICK, ROLES
from tests.apps.provider import SECRET, Claims, provider, secrets_of
from tests.conftest import make_people

pytestmark = pytest.mark.slow

USER, TOKENS, XSRF = "_streamlit_user", "_streamlit_user_tokens", "_streamlit_xsrf"
PEOPLE: dict[str, Claims] = {
    "Anna": {"email": "Anna@example.org", "email_verified": True, "groups": ["makers"]},
    "Bo": {"email": "bo@example.org", "email_verified": True},
    "Eve": {"email": "anna@example.org", "email_verified": False},
    "Old": {"email": "anna@example.org", "email_verified": True, "iat": int(time.time()) - 13 * 3600},
}


def ask(url: str, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> int:
    """The status of an answer."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=10)
    try:
        connection.request(method, path, body, dict(headers))
        return connection.getresponse().status
    finally:
        connection.close()


def stream(url: str, origin: str) -> int:
    """The status that a page of ``origin`` gets when it asks for a page's stream; 101: it is open."""
    asked = {"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13"}
    return ask(
        url, "GET", "/_stcore/stream", {**asked, "Sec-WebSocket-Key": "MDEyMzQ1Njc4OWFiY2RlZg==", "Origin": origin}
    )


def sign_in(visitor: Visitor, who: str, button: str = "Sign in") -> None:
    visitor.click(button)
    visitor.page.get_by_role("link", name=who, exact=True).click()


def shown_audits(visitor: Visitor) -> set[str]:
    """Whose audits home shows."""
    visitor.wait_text("Latest audits")
    visitor.wait_idle()
    words = visitor.page.locator("[data-testid=stMain]").inner_text()
    return {owner for owner in ("anna", "bo") if f"made by {owner}" in words}


def check_cookies(visitor: Visitor) -> dict[str, str]:
    """The cookies by name; scripts read only that against forged requests."""
    cookies = visitor.context.cookies()
    assert {TOKENS, USER, XSRF} <= {str(cookie["name"]) for cookie in cookies}
    for cookie in cookies:
        assert cookie["sameSite"] == "Lax"
        assert cookie["httpOnly"] is (cookie["name"] != XSRF)
    return {str(cookie["name"]): str(cookie["value"]) for cookie in cookies}


def test_people_sign_in_see_their_own_and_sign_out(tmp_path: Path) -> None:
    port, home, secrets = free_port(), tmp_path / "home", tmp_path / "secrets.toml"
    with Store(home) as store:
        for owner in ("anna", "bo"):
            viewer = Viewer(f"{owner}@example.org")
            store.arrive(viewer)
            store.seen_by(viewer).create(Tables.of(make_people(60, seed=0)), ROLES, QUICK, name=f"made by {owner}")
    environment = {
        "CFAD_AUTH": "oidc",
        "CFAD_SECRETS": str(secrets),
        "CFAD_AUDITORS": "group:makers",
        "CFAD_WORKERS": "0",
    }
    with provider(PEOPLE) as found, browser() as chromium, (tmp_path / "log").open("w+b") as log:
        secrets.write_text(secrets_of(found, f"http://localhost:{port}"))
        with served(home, log, port=port, environment=environment) as url, Visitor(chromium, url) as visitor:
            visitor.open("Saved_audits")
            visitor.wait_text("Sign in to see the audits that are yours")
            assert "made by" not in visitor.page.content()
            sign_in(visitor, "Anna")
            visitor.wait_text("Signed in as anna")
            visitor.wait_text(", auditor")  # by the group
            assert shown_audits(visitor) == {"anna"}

            cookies = check_cookies(visitor)
            who = "; ".join(f"{name}={value}" for name, value in cookies.items())
            place = "/_stcore/upload_file/somebody/1"
            assert ask(url, "PUT", place, {"Cookie": who}) == 403  # another site can send cookies, but not the token
            assert ask(url, "PUT", place, {"Cookie": who, "X-Xsrftoken": cookies[XSRF]}) == 400  # no such session
            nobody = {"Cookie": f"{XSRF}={cookies[XSRF]}", "X-Xsrftoken": cookies[XSRF]}
            assert ask(url, "PUT", place, nobody) == 401  # the page to sign in takes no files
            forged = f"{who.replace(cookies[USER], cookies[USER][:-6] + 'forged')}"
            assert ask(url, "PUT", place, {"Cookie": forged, "X-Xsrftoken": cookies[XSRF]}) == 401
            assert [stream(url, origin) for origin in (url, "http://localhost:1", "http://evil.example")] == [
                101,
                403,
                403,
            ]

            visitor.click("Sign out")
            visitor.wait_text("Sign in to see the audits that are yours")
            assert found.signed_out == 1
            assert USER not in {str(cookie["name"]) for cookie in visitor.context.cookies()}

            sign_in(visitor, "Bo")
            visitor.wait_text(", viewer")
            assert shown_audits(visitor) == {"bo"}
            visitor.click("Sign out")
            visitor.wait_text("Sign in to see the audits that are yours")
            sign_in(visitor, "Eve")
            visitor.wait_text("Your sign-in has an e-mail address that was never verified.")
            visitor.click("Sign in as somebody else")
            visitor.wait_text("Sign in to see the audits that are yours")
            sign_in(visitor, "Old")
            visitor.wait_text("You signed in more than 12 hours ago. Please sign in again.")
            assert "made by" not in visitor.page.content()
            assert_clean(visitor)
        lines = (tmp_path / "log").read_text()
    assert not [secret for secret in (SECRET, "planted-cookie-secret", cookies[USER], "example.org") if secret in lines]
    refused = [json.loads(line) for line in lines.splitlines() if '"refused"' in line]
    assert [one["reason"] for one in refused] == ["a page of another site asked for a stream"] * 2
