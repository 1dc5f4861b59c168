"""A team in a real browser, behind a proxy that says who looks."""

from __future__ import annotations

import http.client
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, expect

from cfad_core.runs.store import Store
from tests.apps.browser import Visitor, assert_clean, browser, free_port, served
from tests.apps.test_accessibility import obstacles
from tests.apps.visitors import SETTINGS, Planted, seen_by

pytestmark = pytest.mark.slow
SCORES = "Scored rows (CSV)"


def window(chromium: Browser, address: str, name: str, groups: str = "") -> Visitor:
    """A window of somebody who signed in at the proxy."""
    visitor = Visitor(chromium, address, colour_scheme="dark" if name == "root" else "light")
    visitor.context.set_extra_http_headers({"X-Forwarded-User": name, "X-Forwarded-Groups": groups})
    return visitor


def take(visitor: Visitor) -> str:
    """Press the button of a file; its address."""
    with visitor.page.expect_download() as taken:
        visitor.click(SCORES)
    assert taken.value.suggested_filename.startswith("planted-audit-scores-")
    assert taken.value.path().read_bytes().startswith(b"\xef\xbb\xbf")
    return taken.value.url


def status(url: str) -> int:
    """What somebody else is answered who was given the address of a file."""
    parts = urlsplit(url)
    connection = http.client.HTTPConnection(parts.netloc, timeout=10)
    try:
        connection.request("GET", parts.path, headers={"X-Forwarded-User": "vera"})
        return connection.getresponse().status
    finally:
        connection.close()


def test_an_audit_is_shared_taken_and_looked_up_in_the_log(planted: Planted, home: Path) -> None:
    saved = f"Saved_audits?chosen={planted.done}"
    with Store(home) as store, tempfile.TemporaryFile() as log, browser() as chromium:
        store.arrive(seen_by(store, "bob").viewer)
        with served(home, log, port=free_port(), environment=SETTINGS | {"CFAD_WORKERS": "0"}) as address:
            with window(chromium, address, "ada", "auditing") as ada, window(chromium, address, "bob") as bob:
                bob.open(saved)
                assert "Planted" not in bob.page.inner_text("body")
                ada.open(saved)
                ada.page.get_by_role("combobox", name="Name").click()
                ada.page.keyboard.type("bob")
                ada.page.get_by_role("option").filter(has_text="bob").wait_for()
                ada.page.keyboard.press("Enter")
                expect(ada.page.get_by_role("button", name="Share", exact=True)).to_be_enabled(timeout=30_000)
                ada.click("Share")
                ada.wait_text("Shared with bob, to read.")
                ada.wait_idle()
                assert obstacles(ada) == []
                bob.open(saved)
                bob.wait_text("It belongs to ada. Only who made this audit may do this.")
                addresses = {take(ada), take(bob)}
                assert len(addresses) == 2  # of the same content
                assert [status(one) for one in addresses] == [200, 200]
                ada.open("Account")
                assert obstacles(ada) == []
                assert_clean(ada)
                assert_clean(bob)
            for who in ("ada", "bob"):
                taken = [one.about for one in store.log(audit=planted.done, who=who) if one.deed == "downloaded"]
                assert len(taken) == 1
            with window(chromium, address, "root") as root:
                root.open("Log")
                assert obstacles(root) == []
                root.wait_text("All of it (JSON lines, gzip)")
                root.wait_idle()
                until = time.monotonic() + 60.0
                while [status(one) for one in addresses] != [404, 404]:  # nobody finds a file who comes later
                    assert time.monotonic() < until
                    time.sleep(0.5)
                assert_clean(root)
