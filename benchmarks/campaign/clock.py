"""The clock is set back, and forth again, while everything runs: nothing may get stuck, run twice or be lost.

libfaketime (Debian: apt-get install libfaketime) gives every process here the clock that a file says; timers are left
alone, as the system leaves them alone when its clock is set.
"""

from __future__ import annotations

import time
from datetime import datetime
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.campaign.processes import Server
from benchmarks.campaign.session import Session
from benchmarks.campaign.small import numbers, put
from cfad_core.runs.executor import wait_for
from cfad_core.runs.model import AUDITS, AuditRecord
from cfad_core.runs.store import Store

_LIBRARY = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1")
_HOUR = 3600.0


def run(scratch: Path, size: int = 2) -> dict[str, Any]:
    """Set it back by one hour, then by ``size - 1`` days more, then right again."""
    clock = scratch / "clock"
    clock.write_text("+0\n", "utf-8")
    settings = {
        "LD_PRELOAD": str(_LIBRARY),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
        "FAKETIME_DONT_RESET": "1",
        "CFAD_WORKERS": "1",
    }
    if not _LIBRARY.is_file():
        raise RuntimeError("libfaketime is not here. Type: apt-get install libfaketime")
    home = scratch / "home"
    server, rounds = Server(home, scratch / "log", settings), []
    try:
        server.start()
        with Store(home) as store:
            expected = numbers(wait_for(store, put(store, "Undisturbed"), 300.0).metrics)
            for hours in [1, *(24 * day for day in range(1, size))]:
                rounds.append({"hours back": hours} | _set_back(server, store, clock, hours, expected))
                print(rounds[-1], flush=True)
            order = [entry.id for entry in store.log()]
    finally:
        server.stop()
    return {
        "part": "clock",
        "rounds": rounds,
        "log is in the order in which things were done": order == sorted(order, reverse=True),
        "errors of the server": server.faults()[:10],
    }


def _set_back(server: Server, store: Store, clock: Path, hours: float, expected: str) -> dict[str, Any]:
    """While one audit runs and one waits; and the server is killed while the clock is wrong."""
    running, waiting = put(store, "Runs while it is set"), put(store, "Waits while it is set")
    while store.get(running).status == "queued":
        time.sleep(0.05)
    clock.write_text(f"-{hours * _HOUR:.0f}\n", "utf-8")
    seen_at = _time_of(server)
    with Session(server.url, "Train", audit=running) as visitor:
        visitor.open()
        pages = list(visitor.exceptions)
    found: dict[str, Any] = {"the server's clock is behind, s": round(time.time() - seen_at), "pages": pages}
    for name, audit in (("running", running), ("waiting", waiting)):
        found[name] = _said(wait_for(store, audit, 300.0), expected)
    killed, queued = put(store, "Killed"), put(store, "Queued before the kill")
    while store.get(killed).status == "queued":
        time.sleep(0.05)
    server.kill()
    clock.write_text("+0\n", "utf-8")  # the clock is right when it comes back
    server.start()
    record = wait_for(store, killed, 300.0)
    found["killed"] = _said(record, expected)
    if record.status == "interrupted":
        store.requeue(killed)
        found["killed, started again"] = _said(wait_for(store, killed, 300.0), expected)
    found["queued when it was killed"] = _said(wait_for(store, queued, 300.0), expected)
    found["silent on another machine, and in the future"] = _other_machine(store)
    return found


def _time_of(server: Server) -> float:
    """What time the server thinks it is, by the last line that it wrote."""
    server.wait_until_ready()
    with Session(server.url) as visitor:
        visitor.open()
    return datetime.fromisoformat(str(server.lines()[-1]["at"])).timestamp()


def _said(record: AuditRecord, expected: str) -> str:
    if record.status != "done":
        return f"{record.status}: {record.error}"
    seconds = record.seconds or 0.0
    wrong = "" if seconds >= 0 else f", after {seconds:.0f} seconds"
    return ("done" if numbers(record.metrics) == expected else "done with other numbers") + wrong


def _other_machine(store: Store) -> str:
    """An audit of a machine that was lost while its clock was two hours ahead, so its last sign of life is to come."""
    audit = put(store, "On another machine")
    with store._engine.begin() as connection:
        future = time.time() + 2 * _HOUR
        row = {"status": "running", "worker": "elsewhere:1:1.00#0", "started": future, "heartbeat": future}
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(row))
    until = time.monotonic() + 150.0
    while store.get(audit).status == "running" and time.monotonic() < until:
        time.sleep(0.5)
    status = store.get(audit).status
    return f"{status} after {150.0 - (until - time.monotonic()):.0f} s"
