"""How long every page takes in a browser: to open by its link or by its address, and to answer.

python benchmarks/page_opening.py HOME AUDIT [AUDIT ...]

Times are medians, from the press until nothing moves any more: the scripts have ended, and no part waits to be drawn.
To answer: what ``PRESSED`` says is pressed, or else the first slider, choice or tick box is changed. HOME is only read.
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from playwright.sync_api import Locator  # noqa: E402

from cfad_core.apps.dashboard.site import PLACES  # noqa: E402
from tests.apps.browser import Visitor, app, browser  # noqa: E402

QUIET = 0.3  # seconds in which nothing may move; not part of what is reported
LAST = ("Present",)  # no sidebar leads on
PAGES = [place.alone or place.title for place in PLACES.values() if place.title not in ("Home", *LAST)]
MAIN = "[data-testid=stMain]"
PRESSED = {  # by page, what is changed there, and the key
    "Counterfactuals": ("button:has-text('Next →')", "Enter"),
    "Causal graph": ("[data-testid=stCheckbox]:has-text('Only paths') input", "Space"),
    "Methods": ("[data-testid=stCheckbox] input", "Space"),
}
CHANGED = (  # elsewhere: what is looked for in turn, and its key
    ("input[type=range]", "ArrowLeft"),
    ("[role=radio]:not([aria-checked=true]):not([disabled])", "Space"),
    ("input[type=checkbox]:not([disabled])", "Space"),
)


def main() -> None:
    """Print a table for each audit."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("home", type=Path)
    parser.add_argument("audits", nargs="+")
    parser.add_argument("--repeats", type=int, default=3)
    options = parser.parse_args()
    with app(options.home, environment={"CFAD_WORKERS": "0"}) as url, browser() as chromium:
        for audit in options.audits:
            with Visitor(chromium, url) as visitor:
                measure(visitor, audit, options.repeats)
    print(f"\nload of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


def measure(visitor: Visitor, audit: str, repeats: int) -> None:
    """Print how long each page took for an audit: the first time, again, by address, and to answer."""
    print(f"\n{audit}\n\n| page | first | again | by its address | answers |\n|---|---|---|---|---|")
    visitor.open(f"?audit={audit}")
    first = {page: opened(visitor, page) for page in PAGES}
    for page in PAGES:
        again, answers = [], []
        for _ in range(repeats):
            visitor.go("Home")
            visitor.wait_idle()
            again.append(opened(visitor, page))
            answers.append(answered(visitor, page))
        start = time.perf_counter()
        visitor.page.reload()
        visitor.page.wait_for_function("title => document.title === title", arg=f"{page} · CFAD")
        reloaded = settled(visitor, start)
        known = [one for one in answers if one is not None]
        reply = f"{statistics.median(known):.2f} s" if known else ""
        times = f"{first[page]:.2f} s | {statistics.median(again):.2f} s | {reloaded:.2f} s"
        print(f"| {page} | {times} | {reply} |", flush=True)


def opened(visitor: Visitor, page: str) -> float:
    """Seconds from the press on a page's link until it stands."""
    start = time.perf_counter()
    visitor.go(page)
    visitor.page.wait_for_function("title => document.title === title", arg=f"{page} · CFAD")
    return settled(visitor, start)


def settled(visitor: Visitor, start: float) -> float:
    """Seconds from ``start`` until nothing moves any more."""
    visitor.wait_idle(120, quiet=QUIET)
    return time.perf_counter() - start - QUIET


def answered(visitor: Visitor, page: str) -> float | None:
    """Seconds from the press of a key until the page has answered; None where no key changes anything."""
    for selector, key in [PRESSED[page]] if page in PRESSED else CHANGED:
        found: Locator = visitor.page.locator(f"{MAIN} {selector}")
        if found.count():
            found.first.focus()
            start = time.perf_counter()
            visitor.page.keyboard.press(key)
            return settled(visitor, start)
    return None


if __name__ == "__main__":
    main()
