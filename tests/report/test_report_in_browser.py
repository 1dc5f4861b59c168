"""The HTML file, opened from disk in a real browser: by hand, with the keyboard, in print and without scripts."""

from __future__ import annotations

import base64
import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from axe_playwright_python.sync_playwright import Axe  # type: ignore[import-untyped]
from playwright.sync_api import Browser, Page

from cfad_core.report.html import html_report
from tests.apps.browser import browser
from tests.report import finished
from tests.report.finished import BRACES, FAR, IMAGE, LINK, SCRIPT, SHEET

pytestmark = pytest.mark.slow
LIVE = "document.documentElement.dataset.pictures === 'live'"
# Of every text that is shown: the text, the size of its letters on the screen, and where it is
LETTERS = """selector => [...document.querySelectorAll(selector)].flatMap(part => {
    const found = [], walk = document.createTreeWalker(part, NodeFilter.SHOW_TEXT);
    while (walk.nextNode()) {
        const range = document.createRange(), around = walk.currentNode.parentElement;
        range.selectNode(walk.currentNode);
        const box = range.getBoundingClientRect(), scale = around.ownerSVGElement?.getScreenCTM()?.a ?? 1;
        if (!box.width || !walk.currentNode.textContent.trim()) continue;
        const size = scale * parseFloat(getComputedStyle(around).fontSize);
        found.push([walk.currentNode.textContent.trim(), size, box.left, box.top, box.right, box.bottom]);
    }
    return found;
})"""


@pytest.fixture(scope="module")
def chromium() -> Iterator[Browser]:
    with browser() as started:
        yield started


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("opened")
    found = {name: folder / f"{name}.html" for name in ("attacked", "still", "wide")}
    found["attacked"].write_text(html_report(finished.attacked_document()), "utf-8")
    found["still"].write_text(html_report(finished.attacked_document(), interactive=False), "utf-8")
    found["wide"].write_text(html_report(finished.wide_document(), interactive=False), "utf-8")
    return found


class Opened:
    """The file in a window, and everything that it did without being asked."""

    def __init__(self, chromium: Browser, path: Path, *, hash_: str = "", scripts: bool = True) -> None:
        self.address = path.as_uri() + hash_
        self.context = chromium.new_context(viewport={"width": 1280, "height": 720}, java_script_enabled=scripts)
        self.page: Page = self.context.new_page()
        self.asked: list[str] = []
        self.complaints: list[str] = []
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.on("console", lambda message: self.complaints.append(f"{message.type}: {message.text}"))
        self.page.on("pageerror", lambda error: self.complaints.append(str(error)))
        self.page.on("dialog", self._dialog)
        self.page.goto(self.address)

    def _dialog(self, dialog: Any) -> None:
        self.complaints.append(f"dialog: {dialog.message}")
        dialog.dismiss()

    def close(self) -> None:
        self.context.close()
        assert self.complaints == []
        asked = [url for url in self.asked if not url.startswith(("data:", "blob:"))]
        assert asked == [self.address.partition("#")[0]]


@pytest.fixture(scope="module")
def opened(chromium: Browser, files: dict[str, Path]) -> Iterator[Opened]:
    """The hostile report with its interactive pictures; what it did is looked at when all is done."""
    window = Opened(chromium, files["attacked"])
    window.page.wait_for_function(LIVE)
    yield window
    window.close()


def serious(page: Page) -> list[tuple[str, str]]:
    """What keeps people from using a page, by axe."""
    found = Axe().run(page).response["violations"]
    return [(one["id"], one["nodes"][0]["html"][:200]) for one in found if one["impact"] in ("serious", "critical")]


def crossing(page: Page, width: int, height: int) -> list[Any]:
    """Texts of the page that is presented which are too small, or not all on the screen."""
    letters = page.evaluate(LETTERS, ".slide:not([hidden])")
    assert letters
    return [
        (text, size, *box)
        for text, size, *box in letters
        if size < 24 or box[0] < 0 or box[1] < 0 or box[2] > width or box[3] > height
    ]


def test_pictures_come_alive_and_hostile_words_are_words(opened: Opened) -> None:
    page = opened.page
    figures = page.locator("figure[data-figure]")
    assert figures.count() >= 4
    assert page.locator("figure.is-live .live .main-svg").count() >= figures.count()
    assert page.locator("figure[data-figure] .still").filter(visible=True).count() == 0
    assert page.locator("figure .still").filter(visible=True).count() == 1  # the summary's, which has no other
    said = page.locator("main").inner_text()
    for text in (SCRIPT, IMAGE, SHEET, LINK, FAR, BRACES, "W" * 4000, "start gnp.exe end"):
        assert text in said, text[:60]
    drawn = " ".join(page.locator(".live text").all_text_contents())
    assert "<b>a</b>" in drawn
    assert page.locator("a[href^=javascript], img, .live a").count() == 0
    assert page.evaluate("document.scripts.length") == 3 + figures.count()  # ours, plotly packed and not, the figures


def test_it_has_no_serious_obstacle(opened: Opened) -> None:
    page = opened.page
    assert serious(page) == []
    page.set_viewport_size({"width": 400, "height": 800})
    try:
        assert page.evaluate("document.documentElement.scrollWidth") <= 400
        assert serious(page) == []
    finally:
        page.set_viewport_size({"width": 1280, "height": 720})


def test_numbers_can_be_downloaded_and_links_lead_to_sections(opened: Opened) -> None:
    page = opened.page
    with page.expect_download() as download:
        page.get_by_role("link", name="Numbers (JSON)").click()
    assert download.value.suggested_filename == "report.json"
    assert Path(download.value.path()).read_bytes() == finished.attacked_document().json
    opened.asked = [url for url in opened.asked if not url.startswith("data:")]
    page.get_by_role("link", name="Limits").click()
    assert page.evaluate("document.getElementById('limits').getBoundingClientRect().top") < 300


def test_print_shows_the_still_pictures(opened: Opened) -> None:
    page = opened.page
    page.emulate_media(media="print")
    try:
        assert page.locator("figure .still").filter(visible=True).count() == page.locator("figure").count()
        for hidden in (".live", "nav", ".actions", "#slides"):
            assert page.locator(hidden).filter(visible=True).count() == 0, hidden
    finally:
        page.emulate_media(media="screen")


def test_the_summary_is_presented(opened: Opened) -> None:
    page = opened.page
    button, place = page.get_by_role("button", name="Present the summary"), page.locator(".slide:not([hidden]) .place")
    button.click()
    assert place.inner_text() == "1 / 5"
    assert page.locator(".slide").filter(visible=True).count() == 1
    assert page.evaluate("document.activeElement.className") == "slide"  # and nothing behind it can be reached
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('main, header, nav')") is None
    shown = []
    for key in ("ArrowLeft", "ArrowRight", " ", "PageDown", "ArrowDown", "ArrowRight", "ArrowUp", "Home", "End"):
        page.keyboard.press(key)
        shown.append(place.inner_text()[0])
    assert "".join(shown) == "123455415"
    assert serious(page) == []
    page.keyboard.press("Home")
    page.locator("#slides").click(position={"x": 600, "y": 20})
    assert place.inner_text() == "2 / 5"
    page.keyboard.press("Escape")
    if page.locator("#slides").is_visible():  # the first one may only have left the full screen
        page.keyboard.press("Escape")
    assert not page.locator("#slides").is_visible()
    assert page.evaluate("document.activeElement.id") == "present"
    assert not page.evaluate("document.querySelector('main').inert")
    page.keyboard.press("ArrowRight")
    assert not page.locator("#slides").is_visible()


@pytest.mark.parametrize("which", ["still", "wide"])
def test_presented_words_are_large_and_none_is_cut_off(chromium: Browser, files: dict[str, Path], which: str) -> None:
    window = Opened(chromium, files[which], hash_="#present")
    page = window.page
    page.locator(".slide").filter(visible=True).wait_for()
    for width, height in ((1280, 720), (1920, 1080)):
        page.set_viewport_size({"width": width, "height": height})
        page.keyboard.press("Home")
        for k in range(5):
            assert crossing(page, width, height) == [], f"page {k + 1}"
            page.keyboard.press("ArrowRight")
    window.close()


def test_everything_can_be_read_without_scripts(chromium: Browser, files: dict[str, Path]) -> None:
    window = Opened(chromium, files["attacked"], scripts=False)
    page = window.page
    said = re.sub(r"\s+", " ", page.locator("body").inner_text())
    for section in finished.attacked_document().sections:
        for text in (section.title, *section.plain):
            assert re.sub(r"\s+", " ", text) in said
    assert page.locator("figure .still").filter(visible=True).count() == page.locator("figure").count()
    assert not page.locator("#slides").is_visible()
    assert not page.get_by_role("button", name="Present the summary").is_visible()
    window.close()


def test_a_logo_is_shown_and_loads_nothing(chromium: Browser, tmp_path: Path) -> None:
    picture = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="90" height="40" onload="alert(1)">'
        '<rect width="90" height="40"/>'
        '<image href="http://evil.example/a.png" width="9" height="9"/><script>alert(2)</script></svg>'
    )
    logo = f"data:image/svg+xml;base64,{base64.b64encode(picture.encode()).decode()}"
    path = tmp_path / "logo.html"
    document = dataclasses.replace(finished.attacked_document(), logo=logo, sections=())
    path.write_text(html_report(document, interactive=False), "utf-8")
    window = Opened(chromium, path)
    assert window.page.evaluate("document.querySelector('img.logo').naturalWidth") == 90
    window.close()
