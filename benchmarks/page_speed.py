"""How long every page takes to open an audit of many people, the first time and after; and a moved threshold.

python benchmarks/page_speed.py [ROWS] [--home DIR --audit ID]

Pages run without a browser, in a process whose imports are done; caches are emptied before each first time. Processor
time stands beside the seconds: it is what a busy machine changes least.
"""

from __future__ import annotations

import argparse
import logging
import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from streamlit.testing.v1 import AppTest

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))
MOVES = 100


def main() -> None:
    """Print a line for each page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=1_000_000)
    parser.add_argument("--home", type=Path, help="a store with an audit that is there already")
    parser.add_argument("--audit", help="its id")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home, audit = options.home or Path(scratch), options.audit
        if audit is None:
            from benchmarks.report_speed import large_audit

            audit = large_audit(home, options.rows)
        os.environ |= {"CFAD_HOME": str(home), "CFAD_WORKERS": "0"}
        logging.disable(logging.WARNING)
        print("| page | first (processor) | again (processor) |\n|---|---|---|")
        for page in sorted((ROOT / "pages").glob("*.py")):
            first, again = opened(page, audit)
            print(
                f"| {page.stem} | {first[0]:.2f} s ({first[1]:.2f}) | {again[0]:.2f} s ({again[1]:.2f}) |", flush=True
            )
        moved(audit)


def visited(page: Path, audit: str | None) -> AppTest:
    """A visitor who is about to open a page, by way of the front page, as the site knows its pages from there."""
    from streamlit.testing.v1 import AppTest

    app = AppTest.from_file(ROOT / "app.py", default_timeout=300)
    if audit is not None:
        app.query_params["audit"] = audit
    app.run()
    return app.switch_page(str(page.relative_to(ROOT)))


def opened(page: Path, audit: str) -> tuple[tuple[float, float], tuple[float, float]]:
    """Seconds, and seconds of processor time, of the first visit to a page, and of the third."""
    import streamlit as st

    visited(page, None).run()  # imports
    st.cache_resource.clear()
    st.cache_data.clear()
    app = visited(page, audit)
    seconds = []
    for _ in range(3):
        start, worked = time.perf_counter(), time.process_time()
        app.run()
        seconds.append((time.perf_counter() - start, time.process_time() - worked))
        if app.exception:
            raise RuntimeError(f"{page.name} failed: {app.exception[0].message}")
    return seconds[0], seconds[2]


def moved(audit: str) -> None:
    """A threshold that is moved a hundred times, on its page."""
    app = visited(ROOT / "pages" / "6_Threshold.py", audit).run()
    app.segmented_control(key=f"by-{audit}").set_value("share").run()
    seconds = []
    for k in range(MOVES):
        app.slider[0].set_value(round(1.0 + 0.2 * k, 1))
        start = time.perf_counter()
        app.run()
        seconds.append(time.perf_counter() - start)
    print(f"\nthreshold moved {MOVES} times: median {1e3 * statistics.median(seconds):.0f} ms, "
          f"worst {1e3 * max(seconds):.0f} ms, the whole page without a browser")  # fmt: skip


if __name__ == "__main__":
    main()
