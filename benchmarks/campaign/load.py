"""Twenty browsers on one server for some minutes, each doing what people do, while audits run.

Browsers and server share this computer, so what the browsers take of it is measured, too.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil

from benchmarks.campaign.processes import ROOT, Server, environment, role, serving, started
from benchmarks.campaign.small import put
from cfad_core.runs.executor import wait_for
from cfad_core.runs.store import Store

BROWSERS, TOGETHER = 20, 5  # windows, and windows of one browser
_ROWS = 8_000  # of the audit that is looked at: each step of the slider flags some more people
BAR = 500.0  # milliseconds that a move of the slider may take, by the median


class Processors:
    """Seconds of processor time by kind of process, also of those that have ended."""

    def __init__(self) -> None:
        self.by_kind: dict[str, dict[int, float]] = {}
        self._before: dict[int, float] = {}
        self.server_mb: list[float] = []
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> dict[str, float]:
        self._over.set()
        self._thread.join()
        return {kind: round(sum(seconds.values()), 1) for kind, seconds in self.by_kind.items()}

    def _look(self) -> None:
        first = True
        while True:
            for process in {*started(), *_drawing()}:
                with suppress(psutil.Error, OSError):
                    times, kind = process.cpu_times(), _kind(process)
                    spent = times.user + times.system
                    if first:  # what it took before does not count
                        self._before[process.pid] = spent
                    self.by_kind.setdefault(kind, {})[process.pid] = spent - self._before.get(process.pid, 0.0)
                    if kind == "server":
                        self.server_mb.append(process.memory_info().rss / 1e6)
            first = False
            if self._over.wait(1.0):
                return


def _drawing() -> list[psutil.Process]:
    """Processes of browsers that draw: they write their own words over their environment, so its mark is gone."""
    found = []
    for process in psutil.process_iter():
        with suppress(psutil.Error, OSError):
            if "chrom" in process.name() and any(word.startswith("--type=") for word in process.cmdline()):
                found.append(process)
    return found


def _kind(process: psutil.Process) -> str:
    words = " ".join(process.cmdline())
    if any(part in words for part in ("chrom", "playwright", "benchmarks.campaign.visitors")):
        return "browsers"
    found = role(process)
    return found if found in ("server", "child", "reader") else "others"


def run(scratch: Path, size: int = 10) -> dict[str, Any]:
    """Let them visit for ``size`` minutes."""
    home, seconds = scratch / "home", 60.0 * size
    server = Server(home, scratch / "log", {"CFAD_WORKERS": "1"})
    files = scratch / "files"
    files.mkdir(parents=True)
    with serving(server), Store(home) as store:
        audit = put(store, "Looked at", rows=_ROWS)
        wait_for(store, audit, 600.0)
        processors, over = Processors(), threading.Event()
        jobs = threading.Thread(target=_keep_running, args=(store, over), daemon=True)
        jobs.start()
        began = time.monotonic()
        found = _visit(server, audit, seconds, files, scratch)
        took = time.monotonic() - began
        over.set()
        jobs.join(timeout=120.0)
        spent = processors.end()
        ended = [record.status for record in store.find() if record.status not in ("queued", "running")]
        faults = server.faults()
    times: dict[str, list[float]] = {}
    for one in found:
        for what, taken in one["took"].items():
            times.setdefault(what, []).extend(taken)
    slider = statistics.median(times["slider"]) if times.get("slider") else None
    return {
        "part": "load",
        "browsers": BROWSERS,
        "minutes": size,
        "errors": [f"{one['number']}: {error}" for one in found for error in one["errors"]],
        "the server's own errors": faults[:30],
        "slider, median ms": slider,
        "within the bar": slider is not None and slider < BAR,
        "ms": {what: _spread(taken) for what, taken in sorted(times.items())},
        "processor seconds": spent,
        "of all there was, %": {
            kind: round(100.0 * value / took / (os.cpu_count() or 1)) for kind, value in spent.items()
        },
        "audits meanwhile": {status: ended.count(status) for status in sorted(set(ended))},
        "server, MB": {"first": round(processors.server_mb[0]), "most": round(max(processors.server_mb))},
    }


def _spread(taken: list[float]) -> dict[str, float]:
    ordered = sorted(taken)
    return {
        "n": len(taken),
        "median": statistics.median(taken),
        "95 %": ordered[min(len(ordered) - 1, int(0.95 * len(ordered)))],
        "worst": ordered[-1],
    }


def _keep_running(store: Store, over: threading.Event) -> None:
    """One audit after the other."""
    seed = 0
    while not over.is_set():
        audit = put(store, f"Meanwhile {seed}", seed % 5)
        seed += 1
        while store.get(audit).status in ("queued", "running") and not over.wait(0.5):
            pass


def _visit(server: Server, audit: str, seconds: float, files: Path, scratch: Path) -> list[dict[str, Any]]:
    processes = []
    for first in range(0, BROWSERS, TOGETHER):
        where = [server.url, audit, str(seconds), str(first), str(TOGETHER), str(files)]
        out = (scratch / f"visitors{first}").open("wb")
        processes.append(
            subprocess.Popen(
                [sys.executable, "-m", "benchmarks.campaign.visitors", *where],
                cwd=ROOT,
                env=environment(),
                stdout=out,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        )
        out.close()
    for process in processes:
        process.wait(timeout=seconds + 300.0)
    found = []
    for first in range(0, BROWSERS, TOGETHER):
        text = (scratch / f"visitors{first}").read_text("utf-8", "replace").strip()
        try:
            found += json.loads(text.splitlines()[-1])
        except (ValueError, IndexError):
            found.append({"number": first, "errors": [f"the browsers ended: {text[-600:]}"], "took": {}})
    return found
