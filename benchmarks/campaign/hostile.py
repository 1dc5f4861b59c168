"""Hostile files through every upload of a real server, without a browser: no traceback, no hang, nothing sent away.

A client speaks Streamlit's own upload address and websocket (``session``), so each file goes the whole way that a
browser's goes. What is accepted is shown by its page, an open question about the first line is answered, and the page
Train is opened with the table where it lets one. The server and all its processes run under strace, which counts every
connection that any of them tries, also those of libraries.
"""

from __future__ import annotations

import queue
import re
import shutil
import threading
import time
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil

from benchmarks.campaign.hostile_files import KINDS, SEED, Door, Hostile, hostile
from benchmarks.campaign.processes import Server, role, serving, started
from benchmarks.campaign.session import HungError, Session
from benchmarks.campaign.small import put, sample
from cfad_core.runs.executor import wait_for
from cfad_core.runs.store import Store

_LABELS: dict[Door, str] = {
    "table": "Upload a table, one row",
    "knowledge": "Upload domain knowledge",
    "model": "An ONNX model",
    "answers": "A table with the column",
    "batch": "Upload a table of new people",
}
_LOCAL = re.compile(r'sin_addr=inet_addr\("127\.|inet_pton\(AF_INET6, "::1"|sun_path=|AF_UNIX|AF_NETLINK|AF_UNSPEC')
_TRIED = re.compile(r"connect\(\d+, (\{.*?\})")
_FRESH = 40  # files that one session takes
Work = queue.Queue[int]


@dataclass
class Seen:
    """What happened so far; threads add to it."""

    became: Counter[str] = field(default_factory=Counter)
    by_kind: dict[str, Counter[str]] = field(default_factory=dict)
    faults: list[dict[str, Any]] = field(default_factory=list)
    slowest: dict[str, float] = field(default_factory=dict)
    server_mb: list[float] = field(default_factory=list)
    reader_mb: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def add(self, file: Hostile, became: str, seconds: float) -> None:
        with self.lock:
            self.became[became] += 1
            self.by_kind.setdefault(file.kind, Counter())[became] += 1
            self.slowest[file.kind] = max(self.slowest.get(file.kind, 0.0), round(seconds, 1))

    def fault(self, what: str, file: Hostile, details: str) -> None:
        with self.lock:
            self.faults.append({"what": what, "file": file.number, "kind": file.kind, "details": details[:600]})
            print(f"  {what}: file {file.number} ({file.kind}): {details[:300]}", flush=True)


@dataclass(frozen=True)
class Doors:
    """The audits that files are brought to."""

    waiting: str
    done: str


def run(scratch: Path, size: int = 10_000, seed: int = SEED, sessions: int = 2, first: int = 0) -> dict[str, Any]:
    """Bring ``size`` files, and say what became of them."""
    home, trace = scratch / "home", scratch / "connects"
    prefix: tuple[str, ...] = ()
    if shutil.which("strace"):
        prefix = ("strace", "-f", "-qq", "--seccomp-bpf", "-e", "trace=connect", "-e", "signal=none", "-o", str(trace))
    server, seen, began = Server(home, scratch / "log", prefix=prefix), Seen(), time.monotonic()
    with serving(server):
        doors = _set_up(home)
        over = threading.Event()
        watcher = threading.Thread(target=_watch, args=(server, seen, over), daemon=True)
        watcher.start()
        work: Work = queue.Queue()
        for number in range(first, first + size):
            work.put(number)
        threads = [
            threading.Thread(target=_work, args=(server, doors, work, seed, seen), daemon=True) for _ in range(sessions)
        ]
        for thread in threads:
            thread.start()
        while any(thread.is_alive() for thread in threads):
            time.sleep(1.0)
            if not server.is_alive:
                break
        over.set()
        watcher.join()
        alive = server.is_alive and _still_works(server)
        spent = server.running.cpu_times() if alive else None
        left = _left(home)
    return {
        "part": "hostile",
        "files": sum(seen.became.values()),
        "asked for": size,
        "seed": seed,
        "first": first,
        "seconds": round(time.monotonic() - began),
        "became": dict(seen.became),
        "by kind": {kind: dict(seen.by_kind.get(kind, {})) for kind in KINDS},
        "slowest, s": seen.slowest,
        "faults": seen.faults,
        "the server's own errors": server.faults(),
        "outside connections": _outside(trace) if prefix else None,
        "connections were counted by": "strace of the server and all its processes" if prefix else "nobody",
        "server alive": alive,
        "processor seconds": spent
        and {
            "server": round(spent.user + spent.system),
            "its processes that have ended": round(spent.children_user + spent.children_system),
        },
        "server, MB": {"first": seen.server_mb[:1], "last": seen.server_mb[-1:], "most": max(seen.server_mb or [0.0])},
        "readers at most, MB": seen.reader_mb,
        "files left among uploads": left,
    }


def _set_up(home: Path) -> Doors:
    """An audit that is done, and one that waits for scores."""
    with Store(home) as store:
        done, waiting = put(store, "Done"), put(store, "Waits", is_asked=True)
        for audit, status in ((done, "done"), (waiting, "waiting")):
            found = wait_for(store, audit, 600.0)
            if found.status != status:
                raise RuntimeError(f"The audit is {found.status}, not {status}: {found.error}")
    return Doors(waiting, done)


def _work(server: Server, doors: Doors, work: Work, seed: int, seen: Seen) -> None:
    sessions: dict[Door, tuple[Session, int]] = {}
    while True:
        try:
            file = hostile(work.get_nowait(), seed)
        except queue.Empty:
            break
        began = time.monotonic()
        visitor, used = sessions.pop(file.door, (None, 0))
        try:
            if visitor is not None and not _has(visitor, file.door):  # a page that a browser never gets to: it said why
                visitor.close()
                visitor = None
            visitor = visitor or _arrive(server, doors, file.door)
            became = _bring(visitor, file)
        except HungError as error:
            seen.fault("hung", file, str(error))
            became, visitor = "hung", None
        except Exception as error:  # the server is gone, or the page is another than expected
            seen.fault("broken", file, f"{type(error).__name__}: {error}")
            became, visitor = "broken", None
        seen.add(file, became, time.monotonic() - began)
        if visitor is not None and visitor.exceptions:
            seen.fault("exception", file, "; ".join(visitor.exceptions))
            visitor.close()
        elif visitor is not None and used + 1 < _FRESH:
            sessions[file.door] = (visitor, used + 1)
        elif visitor is not None:
            visitor.close()
    for visitor, _ in sessions.values():
        visitor.close()


def _arrive(server: Server, doors: Doors, door: Door) -> Session:
    """A visitor on the page where such files are brought."""
    if door == "batch":
        visitor = Session(server.url, "Methods", audit=doors.done)
        visitor.open()
    elif door in ("model", "answers"):
        visitor = Session(server.url, "Train", audit=doors.waiting)
        visitor.open()
    else:
        visitor = Session(server.url, "Data")
        visitor.open()
    if door == "knowledge":
        visitor.upload("sample.csv", sample().to_csv(index=False).encode(), _LABELS["table"])
        visitor.press("Continue")
    if not _has(visitor, door):
        raise RuntimeError(f"no upload for {door} on the page: {visitor.said()[:500]}")
    return visitor


def _has(visitor: Session, door: Door) -> bool:
    return any(one.label.startswith(_LABELS[door]) for one in visitor.of("file_uploader"))


def _bring(visitor: Session, file: Hostile) -> str:
    """Upload it and look on; what became of it."""
    before = len(visitor.exceptions)
    if not _has(visitor, file.door):
        raise RuntimeError(f"the upload is gone: {visitor.said()[:300]}")
    status = visitor.upload(file.name, file.content, _LABELS[file.door])
    if status != 204:
        return f"refused ({status})" if status < 500 else "broken"
    if len(visitor.exceptions) > before:
        return "exception"
    if file.door == "batch":
        visitor.press("Measure this batch")
    if file.door == "table":
        return _look_on(visitor, file)
    return "a sentence" if visitor.errors() else "accepted"


def _look_on(visitor: Session, file: Hostile) -> str:
    """Answer the question about the first line, and go on to Train where the page lets one."""
    labels = {one.label: one for one in visitor.of("button")}
    said = "accepted"
    names = ("No, the first line is a person", "Yes, these are the names")
    if names[0] in labels:
        visitor.press(names[file.number % 2])
        said = "accepted after a question"
        labels = {one.label: one for one in visitor.of("button")}
    if visitor.errors() and "Continue" not in labels:
        return "a sentence"
    go_on = labels.get("Continue")
    if go_on is not None and not go_on.disabled and not visitor.exceptions:
        visitor.press("Continue")
        visitor.open("Data")
        return f"{said}, shown on Train"
    return f"{said}, shown on Data" if go_on is not None else "a sentence"


def _watch(server: Server, seen: Seen, over: threading.Event) -> None:
    while not over.wait(2.0):
        with suppress(psutil.Error, StopIteration, OSError):
            seen.server_mb.append(round(server.running.memory_info().rss / 1e6, 1))
            for process in started():
                if role(process) == "reader":
                    seen.reader_mb = max(seen.reader_mb, round(process.memory_info().rss / 1e6, 1))


def _still_works(server: Server) -> bool:
    """Whether an ordinary table is still taken."""
    with Session(server.url, "Data") as visitor:
        visitor.open()
        visitor.upload("sample.csv", sample().to_csv(index=False).encode())
        return "800 rows" in visitor.said().replace("\\", "") and not visitor.exceptions


def _left(home: Path) -> int:
    """Files among the uploads after all sessions closed, but for locks."""
    until = time.monotonic() + 150.0  # Streamlit keeps a session that was left for two minutes
    while time.monotonic() < until:
        found = [path for path in (home / "uploads").rglob("*") if path.is_file() and path.name[0] != "."]
        if not found:
            break
        time.sleep(1.0)
    return len(found)


def _outside(trace: Path) -> list[str]:
    """Connections to anything but this computer that any of the processes tried."""
    text = trace.read_text("utf-8", "replace") if trace.is_file() else ""
    return [found for found in _TRIED.findall(text) if not _LOCAL.search(found)][:50]
