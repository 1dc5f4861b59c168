"""What the server forbids browsers is nothing that its pages do."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cfad_core.apps.dashboard.scripts import inline_scripts
from cfad_core.apps.dashboard.site import PLACES, PRESENT
from tests.apps.browser import Visitor, assert_clean, browser, free_port, served

pytestmark = pytest.mark.slow

# Streamlit tries WebAssembly for its messages, and goes on without; the policy allows no code made as it goes
WATCH_POLICY = """window.refused = [];
document.addEventListener('securitypolicyviolation', event => {
    if (event.blockedURI !== 'wasm-eval') window.refused.push(`${event.violatedDirective}: ${event.blockedURI}`);
});"""
INJECT = """() => {
    const script = document.createElement('script');
    script.text = 'window.got = 1';
    document.body.append(script);
}"""


def refused(visitor: Visitor) -> list[str]:
    found: list[str] = visitor.page.evaluate("window.refused")
    return found


def test_every_page_does_without_what_is_forbidden(tmp_path: Path) -> None:
    with (
        (tmp_path / "log").open("w+b") as log,
        served(tmp_path / "home", log, port=free_port(), environment={"CFAD_WORKERS": "0"}) as url,
        browser() as chromium,
        Visitor(chromium, url) as visitor,
    ):
        visitor.context.add_init_script(WATCH_POLICY)
        visitor.open()
        visitor.page.get_by_role("button", name="Skip").or_(
            visitor.page.get_by_role("button", name="Show me around")
        ).first.wait_for()
        visitor.click("See the demo", within="[data-testid=stMain]")
        visitor.wait_text("The verdict")
        visitor.wait_idle()
        found = re.search(r"audit=(\w+)", visitor.page.url)
        assert found is not None
        assert refused(visitor) == []
        for file, place in PLACES.items():
            if file == PRESENT:
                continue  # no sidebar leads on from it: below
            title = place.alone or place.title
            visitor.go(title)
            visitor.page.wait_for_function("title => document.title === title", arg=f"{title} · CFAD")
            visitor.wait_idle()
            assert refused(visitor) == [], title
        visitor.open(f"Present?audit={found[1]}&scene=2")
        visitor.page.keyboard.press("ArrowRight")
        visitor.wait_text("scene 3 of")  # its script runs
        visitor.open(f"Report?audit={found[1]}")
        with visitor.page.expect_download() as download:
            visitor.page.get_by_role("button", name="JSON", exact=True).click()
        assert download.value.suggested_filename.endswith(".json")
        assert refused(visitor) == []
        assert_clean(visitor)
        visitor.page.evaluate(INJECT)  # as if something had got into a page
        assert visitor.page.evaluate("window.got") is None
        assert refused(visitor) == ["script-src-elem: inline"]


def test_the_scripts_inside_pages_are_known() -> None:
    assert any("prerenderReady" in script for script in inline_scripts())
