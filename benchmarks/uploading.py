"""Uploading a large CSV file to the dashboard, in chromium: time, and the server's memory before, meanwhile and after.

python benchmarks/uploading.py [MEGABYTES]

``own`` is memory of the server itself (anonymous pages); ``all`` also counts pages of files that it has mapped, which
the system can take back at any time (resident set). Both are given as multiples of the file, beyond what the server
took before. ``child`` is the peak of the process that reads the file, ``rerun`` how long a changed widget takes.
"""

from __future__ import annotations

import sys
import tempfile
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd
import psutil

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the tests' browser is used

from tests.apps.browser import Visitor, app, browser  # noqa: E402

_ROWS = 50_000
_LOOK = 0.05  # seconds between two looks at the memory


def main() -> None:
    """Print a table."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "people.csv"
        rows = write(path, megabytes * 1_000_000)
        size = path.stat().st_size
        with app(Path(folder) / "home") as url, browser() as chromium, Visitor(chromium, url) as visitor:
            visitor.open("Data")
            visitor.wait_text("to begin")
            time.sleep(5.0)  # until the process that reads is ready
            watch = Watch(server())
            began = time.perf_counter()
            visitor.upload(path)
            visitor.wait_text("Read: people.csv", timeout=600)
            read = time.perf_counter() - began
            visitor.wait_text("that the detector sees", timeout=600)
            visitor.wait_idle(timeout=600)
            shown = time.perf_counter() - began
            time.sleep(2.0)
            watch.end()
            again = _rerun(visitor)
    print(
        f"{size / 1e6:,.0f} MB, {rows:,} rows; read after {read:.1f} s, page shown after {shown:.1f} s, "
        f"run again in {again:.2f} s"
    )
    print(f"{'server':8}{'before':>12}{'peak':>12}{'after':>12}{'peak/file':>12}{'after/file':>12}")
    for name, seen in (("own", watch.own), ("all", watch.all)):
        ratios = [(value - seen[0]) / size for value in (max(seen), seen[-1])]
        numbers = "".join(f"{value / 1e6:9,.0f} MB" for value in (seen[0], max(seen), seen[-1]))
        print(f"{name:8}{numbers}{ratios[0]:12.2f}{ratios[1]:12.2f}")
    print(f"child   {watch.child / 1e6:21,.0f} MB{watch.child / size:24.2f}")


def _rerun(visitor: Visitor) -> float:
    """Seconds from a click that changes nothing of the roles to a page that is idle again."""
    took = []
    for _ in range(3):
        began = time.perf_counter()
        visitor.page.keyboard.press("r")  # Streamlit's own key for running the page again
        visitor.wait_idle(quiet=0.2)
        took.append(time.perf_counter() - began - 0.2)
    return min(took)


@dataclass
class Watch:
    """Looks at the memory of a process, and of those that it starts, until it is told to end."""

    process: psutil.Process
    own: list[int] = field(default_factory=list)
    all: list[int] = field(default_factory=list)
    child: int = 0
    _over: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._look()
        self._thread = threading.Thread(target=self._go_on, daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Look once more."""
        self._over.set()
        self._thread.join()
        self._look()

    def _go_on(self) -> None:
        while not self._over.wait(_LOOK):
            self._look()
            for child in self.process.children():
                try:
                    if any("reading_child" in word for word in child.cmdline()):
                        self.child = max(self.child, _memory(child.pid)["VmHWM"])
                except (OSError, KeyError, psutil.NoSuchProcess):
                    continue  # it has ended

    def _look(self) -> None:
        found = _memory(self.process.pid)
        self.own.append(found["RssAnon"])
        self.all.append(found["VmRSS"])


def _memory(process: int) -> dict[str, int]:
    """Bytes, by their names in ``/proc/PID/status``."""
    lines = (line.split() for line in Path(f"/proc/{process}/status").read_text("utf-8").splitlines())
    return {words[0].rstrip(":"): int(words[1]) * 1024 for words in lines if words[-1:] == ["kB"]}


def server() -> psutil.Process:
    """The dashboard that this process started."""
    return next(child for child in psutil.Process().children() if "streamlit" in " ".join(child.cmdline()))


def write(path: Path, size: int) -> int:
    """People with 20 columns: numbers, categories, dates, yes and no, and gaps; how many."""
    rng = np.random.default_rng(0)
    since = pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, _ROWS), unit="D")
    columns = {
        "sex": rng.choice(["f", "m"], _ROWS),
        "age": rng.integers(18, 90, _ROWS),
        "fraud": rng.choice(["yes", "no"], _ROWS, p=[0.05, 0.95]),
        "job": rng.choice(["clerk", "nurse", "smith", "driver"], _ROWS),
        "town": rng.choice([f"town {k}" for k in range(200)], _ROWS),
        "owner": rng.random(_ROWS) < 0.5,
        "since": since.strftime("%Y-%m-%d"),
        "debt": np.where(rng.random(_ROWS) < 0.1, np.nan, rng.normal(0.0, 1.0, _ROWS)),
        **{f"number {k}": rng.normal(0.0, 1.0, _ROWS) for k in range(7)},
        **{f"count {k}": rng.integers(0, 1000 * 10**k, _ROWS) for k in range(5)},
    }
    block = pd.DataFrame(columns).to_csv(index=False, header=False)
    count = max(1, round(size / len(block)))
    with path.open("w", encoding="utf-8") as stream:
        stream.write(",".join(columns) + "\n")
        for _ in range(count):
            stream.write(block)
    return count * _ROWS


if __name__ == "__main__":
    main()
