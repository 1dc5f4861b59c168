"""The dashboard in a real browser: the playwright package with Debian's Chromium."""

from __future__ import annotations

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Literal, Self
from urllib.parse import urlsplit

from playwright.sync_api import (
    Browser,
    ConsoleMessage,
    Locator,
    Page,
    Request,
    ViewportSize,
    WebError,
    WebSocket,
    sync_playwright,
)
from playwright.sync_api import TimeoutError as PlaywrightTimeout

PROJECT = Path(__file__).resolve().parents[2]
CHROMIUM = "/usr/bin/chromium"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
START_SECONDS = 60.0
SECONDS = 30.0  # the usual patience: pages import torch, and the cores are shared

HARMLESS = (
    # A page opened by its own address: the frontend looks for the server below that path first, then at the root.
    re.compile(r"status of 404 .*\(http://localhost:\d+/[^/]+/_stcore/(health|host-config)\)$"),
)
"""Console errors of Streamlit itself that say nothing about us; the address in brackets is part of the text."""

# A click is not marked until the server has answered it: quiet has to last.
IDLE = """quiet => {
    const app = document.querySelector('[data-testid="stApp"]');
    const busy = !app
        || app.dataset.testConnectionState !== 'CONNECTED'
        || !['notRunning', 'compilationError'].includes(app.dataset.testScriptState)
        || document.querySelector('[data-testid="stSkeleton"], [data-testid="stAppSkeleton"]') !== null;
    const now = performance.now();
    if (busy || window.__quietSince === undefined) window.__quietSince = now;
    return !busy && now - window.__quietSince >= quiet;
}"""

# A script that fails shows a box and is silent otherwise: make it an error of the page.
WATCH = """new MutationObserver(() => {
    for (const box of document.querySelectorAll('[data-testid="stException"]:not([data-seen])')) {
        box.dataset.seen = '1';
        console.error('the page shows an exception: ' + box.innerText);
    }
}).observe(document, {childList: true, subtree: true});"""


def chromium_path() -> str:
    """The browser; without one the tests fail, they are not skipped."""
    found = CHROMIUM if Path(CHROMIUM).exists() else shutil.which("chromium")
    if found is None:
        raise RuntimeError("the browser tests need Chromium. Type: apt-get install chromium")
    return found


def free_port() -> int:
    """A port that nobody listens on just now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _healthy(url: str) -> bool:
    direct = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with direct.open(f"{url}/_stcore/health", timeout=2) as answer:
            return bool(answer.status == 200)
    except (urllib.error.URLError, OSError):
        return False


def _stop(process: subprocess.Popen[bytes]) -> None:
    """End the server and the workers it left in its group."""
    for how in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(process.pid, how)
        except ProcessLookupError:
            break
        try:
            process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            continue
    process.wait()


def _tail(log: IO[bytes]) -> str:
    start = max(0, os.fstat(log.fileno()).st_size - 4000)
    text = os.pread(log.fileno(), 4000, start).decode(errors="replace")  # the server shares the position: no seek
    return re.sub(r"\x1b\[[\d;]*m", "", text)


@contextmanager
def app(
    home: Path,
    *,
    environment: Mapping[str, str] | None = None,
    script: str | Path = "app.py",
    folder: Path = PROJECT,
) -> Iterator[str]:
    """Start the dashboard with its own home, give its address, stop it and its workers."""
    port = free_port()
    command = ["streamlit", "run", str(script), "--server.port", str(port), "--server.headless", "true"]
    with tempfile.TemporaryFile() as log:
        yield from _running(command, port, {**(environment or {}), "CFAD_HOME": str(home)}, folder, log)


@contextmanager
def served(home: Path, log: IO[bytes], *, port: int, environment: Mapping[str, str] | None = None) -> Iterator[str]:
    """As ``app``, for a team: ``cfad serve``, which writes to ``log``."""
    command = ["cfad_core", "serve", "--port", str(port)]
    yield from _running(command, port, {**(environment or {}), "CFAD_HOME": str(home)}, PROJECT, log)


def _running(
    command: list[str], port: int, environment: Mapping[str, str], folder: Path, log: IO[bytes]
) -> Iterator[str]:
    url = f"http://localhost:{port}"
    process = subprocess.Popen(
        [sys.executable, "-m", *command],
        cwd=folder,
        env={**os.environ, **environment},
        stdin=subprocess.DEVNULL,
        stdout=log,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + START_SECONDS
        while not _healthy(url):
            if process.poll() is not None or time.monotonic() > deadline:
                raise RuntimeError(f"the dashboard did not start (exit code {process.poll()}):\n{_tail(log)}")
            time.sleep(0.1)
        try:
            yield url
        except BaseException as error:
            error.add_note(f"the dashboard's log ends with:\n{_tail(log)}")
            raise
    finally:
        _stop(process)


@contextmanager
def browser() -> Iterator[Browser]:
    """One Chromium for any number of visitors."""
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=chromium_path(), args=list(ARGUMENTS))
        try:
            yield chromium
        finally:
            chromium.close()


class Visitor:
    """One person with one window; remembers what left the computer, what went wrong and how often they clicked."""

    def __init__(self, chromium: Browser, url: str, *, colour_scheme: Literal["light", "dark"] = "light") -> None:
        self.url = url
        self.foreign: list[str] = []
        self.errors: list[str] = []
        self.clicks = 0
        size = ViewportSize(width=1280, height=720)
        self.context = chromium.new_context(viewport=size, color_scheme=colour_scheme, reduced_motion="reduce")
        self.context.set_default_timeout(SECONDS * 1000)
        self.context.add_init_script(WATCH)
        self.context.on("request", self._on_request)
        self.context.on("console", self._on_console)
        self.context.on("weberror", self._on_error)
        self.context.on("page", self._on_page)
        self.page: Page = self.context.new_page()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.context.close()

    def _note(self, url: str) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("data", "blob", "about") and parts.hostname != "localhost":
            self.foreign.append(url)

    def _on_request(self, request: Request) -> None:
        self._note(request.url)

    def _on_page(self, page: Page) -> None:
        page.on("websocket", self._on_websocket)

    def _on_websocket(self, websocket: WebSocket) -> None:
        self._note(websocket.url)

    def _on_console(self, message: ConsoleMessage) -> None:
        text = f"{message.text} ({message.location.get('url', '')})"
        if message.type == "error" and not any(known.search(text) for known in HARMLESS):
            self.errors.append(text)

    def _on_error(self, error: WebError) -> None:
        self.errors.append(str(error.error))

    def open(self, path: str = "") -> None:
        """Go to a page by its address, in a new session."""
        self.page.goto(f"{self.url}/{path.lstrip('/')}")
        self.wait_idle()

    def wait_idle(self, timeout: float = SECONDS, *, quiet: float = 0.4) -> None:
        """Wait until no script has run for ``quiet`` seconds; it must be shorter than any run_every."""
        self.page.evaluate("() => { delete window.__quietSince; }")
        try:
            self.page.wait_for_function(IDLE, arg=quiet * 1000, polling=50, timeout=timeout * 1000)
        except PlaywrightTimeout:
            raise AssertionError(f"still running after {timeout} s\n{self._shown()}") from None

    def wait_text(self, text: str | re.Pattern[str], timeout: float = SECONDS) -> Locator:
        """The first visible element with the text, as soon as there is one."""
        found = self.page.get_by_text(text).filter(visible=True).first
        try:
            found.wait_for(timeout=timeout * 1000)
        except PlaywrightTimeout:
            raise AssertionError(f"no {text!r} after {timeout} s\n{self._shown()}") from None
        return found

    def click(self, name: str | re.Pattern[str], *, within: str = "body") -> None:
        """Press the one button or link of that accessible name in the part of the page ``within`` selects."""
        part = self.page.locator(within)
        link = part.get_by_role("link", name=name, exact=True)
        try:
            part.get_by_role("button", name=name, exact=True).or_(link).click()
        except PlaywrightTimeout as error:
            raise AssertionError(f"could not click {name!r}: {error}\n{self._shown()}") from None
        self.clicks += 1

    def go(self, page: str) -> None:
        """Open a page by the sidebar, where steps are numbered."""
        self.click(re.compile(rf"^(\d+ · )?{re.escape(page)}$"), within="[data-testid=stSidebar]")

    def upload(self, path: Path, label: str | None = None) -> None:
        """Give a file to the page's uploader, or to the one with that label."""
        uploaders = self.page.get_by_test_id("stFileUploader")
        chosen = uploaders if label is None else uploaders.filter(has_text=label)
        chosen.locator("input[type=file]").set_input_files(path)

    def screenshot(self, path: Path, *, full_page: bool = False) -> None:
        self.page.screenshot(path=path, full_page=full_page)

    def _shown(self) -> str:
        return f"{self.page.url} shows:\n{self.page.locator('body').inner_text()[:4000]}\nerrors: {self.errors}"


def assert_clean(visitor: Visitor) -> None:
    """Nothing left this computer and nothing went wrong in the browser."""
    found = [f"request to another host: {url}" for url in visitor.foreign]
    found += [f"error in the browser: {text}" for text in visitor.errors]
    assert not found, "\n".join(found)
