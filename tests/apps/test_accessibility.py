"""People who do not see well, or use no mouse, can use every page: what axe finds, and a journey by keyboard."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, ViewportSize, expect
from playwright.sync_api import TimeoutError as PlaywrightTimeout

from cfad_core.apps.dashboard.site import PLACES
from tests.apps.browser import SECONDS, Visitor, app, assert_clean, browser

pytestmark = pytest.mark.slow
LAST = "Present"  # it fills the screen: no sidebar leads on
TITLES = sorted(  # as they are where nobody signs in
    (place.alone or place.title for place in PLACES.values()), key=lambda title: (title == LAST, title != "Home")
)
STREAMLITS_OWN: set[str] = set()  # rules of axe that only Streamlit can follow; docs/ACCESSIBILITY.md has the reasons
SCREEN = ViewportSize(width=1280, height=720)
PHONE = ViewportSize(width=390, height=844)
DARK = "getComputedStyle(document.querySelector('[data-testid=stApp]')).colorScheme === 'dark'"
FITS = """() => {
    const main = document.querySelector('[data-testid=stMain]');
    return main.scrollWidth <= main.clientWidth;
}"""
UNDER_THE_BAR = """() => {
    const bar = document.querySelector('[data-testid=stHeader]')?.getBoundingClientRect();
    return bar !== undefined && document.querySelector('h1').getBoundingClientRect().top < bar.bottom;
}"""
# Words of charts are out of axe's sight: those whose colour has less than 4.5:1 to the page's (WCAG 2, level AA)
FAINT = """() => {
    const parts = colour => colour.match(/[0-9.]+/g).slice(0, 3).map(part => part / 255);
    const light = colour => parts(colour)
        .map(part => part <= 0.03928 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)
        .reduce((sum, part, k) => sum + part * [0.2126, 0.7152, 0.0722][k], 0.05);
    const page = light(getComputedStyle(document.querySelector('[data-testid=stApp]')).backgroundColor);
    const words = document.querySelectorAll('.js-plotly-plot :is([class$=tick], [class^=g-], .legend) text');
    const contrast = word => {
        const [low, high] = [light(getComputedStyle(word).fill), page].sort((one, other) => one - other);
        return high / low;
    };
    return [...words].filter(word => contrast(word) < 4.5).map(word => word.textContent);
}"""
# Tables are pictures: how bright each is on the whole, of 255
BRIGHTNESS = """() => [...document.querySelectorAll('[data-testid=stDataFrame] canvas')]
    .filter(table => table.width > 0 && table.height > 0)
    .map(table => table.getContext('2d').getImageData(0, 0, table.width, table.height).data)
    .map(pixels => pixels.filter((_, k) => k % 4 === 0).reduce((sum, red) => sum + red, 0) / (pixels.length / 4))"""


@pytest.fixture(scope="module")
def audited(
    tmp_path_factory: pytest.TempPathFactory, finished_home: tuple[Path, str, str]
) -> Iterator[tuple[str, str]]:
    """The dashboard's address, and a finished audit of its store."""
    home = tmp_path_factory.mktemp("accessible") / "home"
    shutil.copytree(finished_home[0], home)
    with app(home, environment={"CFAD_WORKERS": "0"}) as address:
        yield address, finished_home[1]


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


def obstacles(visitor: Visitor, rules: Sequence[str] = ()) -> list[tuple[str, str]]:
    """What keeps people from using the page, by all rules of axe or these, but for what is Streamlit's own."""
    options: dict[str, Any] = {"resultTypes": ["violations"]} | ({"runOnly": list(rules)} if rules else {})
    found = Axe().run(visitor.page, options=options).response["violations"]
    grave = [one for one in found if one["impact"] in ("serious", "critical") and one["id"] not in STREAMLITS_OWN]
    return [(one["id"], node["html"][:200]) for one in grave for node in one["nodes"]]


def faint(visitor: Visitor) -> list[tuple[str, str]]:
    """Words of charts that do not stand out from the page."""
    return [("words of a chart", words) for words in visitor.page.evaluate(FAINT)]


def pale(visitor: Visitor) -> list[tuple[str, str]]:
    """Tables that stayed light when the page became dark."""
    return [("light table", f"{one:.0f}") for one in visitor.page.evaluate(BRIGHTNESS) if one > 100]


def test_no_page_keeps_anybody_out(chromium: Browser, audited: tuple[str, str]) -> None:
    """In light and in dark; and each says its name once, and can be read on a phone."""
    address, audit = audited
    found: dict[str, list[tuple[str, str]]] = {}
    with Visitor(chromium, address) as visitor:
        page = visitor.page
        visitor.open(f"?audit={audit}")
        for title in TITLES:
            if title != "Home":
                page.set_viewport_size(SCREEN)
                page.emulate_media(color_scheme="light")
                visitor.wait_idle(quiet=0.2)  # the sidebar comes back
                visitor.go(title)
                expect(page).to_have_title(f"{title} · CFAD", timeout=SECONDS * 1000)
                visitor.wait_idle()
            found[title] = obstacles(visitor) + faint(visitor)
            assert page.get_by_role("heading", level=1).count() == 1, title
            page.emulate_media(color_scheme="dark")
            page.wait_for_function(DARK)
            visitor.wait_idle(quiet=0.2)
            for _ in range(5):
                found[f"{title} in the dark"] = obstacles(visitor, ["color-contrast"]) + faint(visitor) + pale(visitor)
                if not found[f"{title} in the dark"]:
                    break
                page.wait_for_timeout(500)  # some parts change their colours later than others
            page.set_viewport_size(PHONE)
            with named(f"{title} is wider than a phone"):  # charts take their new width a moment after the page has
                page.wait_for_function(FITS, timeout=SECONDS * 1000)
            assert page.evaluate(UNDER_THE_BAR) is False, title
        assert_clean(visitor)
    assert {title: what for title, what in found.items() if what} == {}


@contextmanager
def named(failure: str) -> Iterator[None]:
    """Call a wait that is in vain by what is wrong then."""
    try:
        yield
    except PlaywrightTimeout as error:
        raise AssertionError(failure) from error


def focused(visitor: Visitor) -> str:
    """What a screen reader would say has the focus; it must be seen where it is."""
    name, outline = visitor.page.evaluate(
        """() => {
            const one = document.activeElement, style = getComputedStyle(one);
            const ring = style.outlineStyle !== 'none' && style.outlineWidth !== '0px' || style.boxShadow !== 'none';
            return [(one.getAttribute('aria-label') || one.innerText || '').trim(), ring];
        }"""
    )
    return f"{name}{'' if outline else ' (unseen)'}"


def tab_to(visitor: Visitor, name: str, most: int = 80) -> None:
    """Press Tab until the link, button or input of that name has the focus."""
    passed = []
    for _ in range(most):
        visitor.page.keyboard.press("Tab")
        passed.append(focused(visitor))
        if passed[-1] == name:
            return
    raise AssertionError(f"{name!r} is not reached by Tab, only {passed}")


def test_an_audit_is_read_without_a_mouse(chromium: Browser, audited: tuple[str, str]) -> None:
    address, audit = audited
    with Visitor(chromium, address) as visitor:
        visitor.open(f"?audit={audit}")
        tab_to(visitor, "3 · Findings")
        visitor.page.keyboard.press("Enter")
        visitor.page.wait_for_url("**/Findings?audit=*")
        visitor.wait_idle()
        tab_to(visitor, "Next: the threshold")
        visitor.page.keyboard.press("Enter")
        visitor.page.wait_for_url("**/Threshold?audit=*")
        visitor.wait_idle()
        flagged = visitor.page.get_by_text(re.compile(r"^[\d,]+ of [\d,]+ people (is|are) flagged")).first
        before = flagged.inner_text()
        tab_to(visitor, "People we can look at")
        visitor.page.keyboard.press("ArrowUp")
        visitor.page.keyboard.press("Enter")
        visitor.wait_idle()
        expect(flagged).not_to_have_text(before)
        assert_clean(visitor)
