"""Some browsers of the load, in a process of their own: each does one thing again and again until the time is over.

python -m benchmarks.campaign.visitors URL AUDIT SECONDS FIRST COUNT FOLDER
"""

from __future__ import annotations

import asyncio
import json
import re
import sys
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from playwright.async_api import Browser, ConsoleMessage, Page, Response, WebSocket, async_playwright

from benchmarks.campaign.small import sample
from tests.apps.browser import ARGUMENTS, HARMLESS, IDLE, WATCH, chromium_path

SEED = 21_200  # chosen before anything was run
_PATIENCE = 60_000.0  # milliseconds
_THINKS = (5.0, 15.0)  # seconds between two things that a person does, who reads what is there

# From the moment of a key press until the numbers on the page are others, as the person at the screen has it
_STOPWATCH = """() => {
    const texts = () => [...document.querySelectorAll('[data-testid=stMetric]')].map(e => e.innerText).join('|');
    window.__taken = null;
    document.addEventListener('keydown', () => {
        const before = texts(), began = performance.now();
        window.__taken = null;
        const watch = new MutationObserver(() => {
            if (texts() !== before) {
                window.__taken = performance.now() - began;
                watch.disconnect();
            }
        });
        watch.observe(document.body, {childList: true, subtree: true, characterData: true});
    }, true);
}"""


@dataclass
class Person:
    """One of them, with a window; remembers what went wrong, and how long what took."""

    number: int
    url: str
    audit: str
    folder: Path
    until: float
    errors: list[str] = field(default_factory=list)
    took: dict[str, list[float]] = field(default_factory=dict)
    chance: np.random.Generator = field(init=False)
    closing: bool = False
    page: Page = field(init=False)

    def __post_init__(self) -> None:
        self.chance = np.random.default_rng((SEED, self.number))

    @property
    def is_over(self) -> bool:
        return time.monotonic() > self.until

    async def arrive(self, chromium: Browser) -> None:
        """Open a window."""
        context = await chromium.new_context(
            viewport={"width": 1280, "height": 720}, reduced_motion="reduce", accept_downloads=True
        )
        context.set_default_timeout(_PATIENCE)
        await context.add_init_script(WATCH)
        await context.add_init_script(f"({_STOPWATCH})()")
        context.on("console", self._console)
        context.on("weberror", lambda error: self.errors.append(f"error on the page: {error.error}"))
        context.on("response", self._response)
        self.page = await context.new_page()
        self.page.on("websocket", self._websocket)

    def _console(self, message: ConsoleMessage) -> None:
        text = f"{message.text} ({message.location.get('url', '')})"
        if message.type == "error" and not any(known.search(text) for known in HARMLESS):
            self.errors.append(f"console: {text[:400]}")

    def _response(self, response: Response) -> None:
        if response.status >= 500:
            self.errors.append(f"status {response.status}: {response.url}")

    def _websocket(self, websocket: WebSocket) -> None:
        websocket.on("socketerror", lambda said: self.errors.append(f"websocket: {said}"))
        websocket.on("close", lambda _: None if self.closing else self.errors.append("websocket closed"))

    async def go(self, title: str) -> None:
        """Open a page: the first one by a link that somebody sent, others by the sidebar."""
        named = f"{title} · CFAD"
        if not self.page.url.startswith(self.url):
            place = "" if title == "Home" else title
            await self.page.goto(f"{self.url}/{place}?audit={self.audit}")
        elif await self.page.title() != named:
            links = self.page.get_by_test_id("stSidebar").get_by_role("link")
            await links.filter(has_text=re.compile(rf"^(\d+ · )?{title}$")).click()
        await self.page.wait_for_function("title => document.title === title", arg=named, polling=50)
        await self.idle()

    async def idle(self) -> None:
        await self.page.evaluate("() => { delete window.__quietSince; }")
        await self.page.wait_for_function(IDLE, arg=300, polling=100, timeout=_PATIENCE)

    async def timed(self, what: str, doing: Awaitable[Any]) -> None:
        """Do it, note how long it took, and think."""
        began = time.monotonic()
        await doing
        self.took.setdefault(what, []).append(round(1000.0 * (time.monotonic() - began)))
        await asyncio.sleep(float(self.chance.uniform(*_THINKS)))

    async def live(self, does: Callable[[Person], Awaitable[None]]) -> None:
        """Do one thing until the time is over; people come one after the other."""
        await asyncio.sleep(2.0 * self.number)
        while not self.is_over:
            try:
                await does(self)
            except Exception as error:  # a page that does not come, for example
                self.errors.append(f"{does.__name__}: {type(error).__name__}: {str(error)[:400]}")
                await asyncio.sleep(1.0)
        self.closing = True
        await self.page.context.close()


async def home(person: Person) -> None:
    """Look at the front page, and at an audit's findings from there."""
    await person.timed("home", person.go("Home"))
    await person.timed("findings", person.go("Findings"))


async def upload(person: Person) -> None:
    """Bring a table of one's own."""
    await person.timed("data", person.go("Data"))
    for turn in range(3):
        rows = sample().sample(frac=1.0, random_state=int(person.chance.integers(2**31)))
        path = person.folder / f"people{person.number}-{turn}.csv"
        rows.to_csv(path, index=False)

        async def bring(path: Path = path) -> None:
            await person.page.locator("[data-testid=stFileUploader] input[type=file]").first.set_input_files(path)
            await person.page.get_by_text(f"Read: {path.name}").first.wait_for()
            await person.idle()

        await person.timed("upload", bring())


async def threshold(person: Person) -> None:
    """Move the slider."""
    await person.timed("threshold", person.go("Threshold"))
    await person.page.get_by_text("Share", exact=True).first.click()
    await person.idle()
    slider = person.page.get_by_role("slider").first
    for turn in range(20):
        if person.is_over:
            return
        await slider.focus()
        await slider.press("ArrowRight" if turn < 10 else "ArrowLeft")
        await person.page.wait_for_function("() => window.__taken !== null", polling=20)
        person.took.setdefault("slider", []).append(round(await person.page.evaluate("window.__taken")))
        await person.idle()
        await asyncio.sleep(float(person.chance.uniform(*_THINKS)))


async def people(person: Person) -> None:
    """Look at one person after the other."""
    await person.timed("people", person.go("Counterfactuals"))
    for _ in range(5):

        async def after() -> None:
            await person.page.get_by_role("button", name="Next →").first.click()
            await person.idle()

        await person.timed("next person", after())


async def downloads(person: Person) -> None:
    """Take files away."""
    await person.timed("people", person.go("Counterfactuals"))
    await _take(person, "Download this person")
    await person.timed("report", person.go("Report"))
    await _take(person, "JSON")


async def _take(person: Person, label: str) -> None:
    async def take() -> None:
        async with person.page.expect_download(timeout=_PATIENCE) as coming:
            await (
                person.page.get_by_test_id("stDownloadButton")
                .filter(has_text=label)
                .first.get_by_role("button")
                .click()
            )
        path = await (await coming.value).path()
        if path.stat().st_size < 100:
            raise RuntimeError(f"the file of '{label}' has {path.stat().st_size} bytes")

    await person.timed(f"download: {label}", take())


ROUNDS = (home, upload, threshold, people, downloads)  # whoever has number k does the (k mod 5)th


async def main() -> None:
    """Print what went wrong and how long things took, as JSON."""
    url, audit, seconds, first, count, folder = sys.argv[1:]
    until = time.monotonic() + float(seconds)
    async with async_playwright() as playwright:
        chromium = await playwright.chromium.launch(executable_path=chromium_path(), args=list(ARGUMENTS))
        crowd = [Person(int(first) + k, url, audit, Path(folder), until) for k in range(int(count))]
        for person in crowd:
            await person.arrive(chromium)
        await asyncio.gather(*(person.live(ROUNDS[person.number % len(ROUNDS)]) for person in crowd))
        await chromium.close()
    found = [{"number": one.number, "errors": one.errors, "took": one.took} for one in crowd]
    print(json.dumps(found))


if __name__ == "__main__":
    asyncio.run(main())
