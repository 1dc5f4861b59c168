"""What the server's memory is like after many audits were opened: every page of each, in a session that then ends."""

from __future__ import annotations

import os
import shutil
import time
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.campaign.processes import Server, serving
from benchmarks.campaign.session import Session
from benchmarks.campaign.small import put
from cfad_core.runs.executor import wait_for
from cfad_core.runs.model import AUDITS
from cfad_core.runs.store import Store

PAGES = (
    *("Findings", "Threshold", "Report", "Causal_graph", "Counterfactuals", "Score_densities", "Groups", "Methods"),
    *("Present", "Train", "Saved_audits"),
)
_WARM = 10  # audits after which everything that stays has been loaded once
_GONE = 180.0  # seconds after which Streamlit has forgotten a session that nobody came back to


def run(scratch: Path, size: int = 200) -> dict[str, Any]:
    """Open ``size`` different audits."""
    home, began = scratch / "home", time.monotonic()
    server, seen, wrong = Server(home, scratch / "log", {"CFAD_WORKERS": "1"}), list[float](), list[str]()
    with serving(server):
        audits = _audits(home, size)
        first = _megabytes(server)
        for place, audit in enumerate(audits):
            with Session(server.url, PAGES[0], audit=audit) as visitor:
                for page in PAGES:
                    visitor.open(page, audit=audit)
                wrong += [f"{audit}: {one}" for one in visitor.exceptions]
            seen.append(_megabytes(server))
            if place % 20 == 0:
                print(f"{place + 1} audits: {seen[-1]:.0f} MB", flush=True)
        time.sleep(_GONE)
        last = _megabytes(server)
        faults = server.faults()
    warm = seen[min(_WARM, len(seen)) - 1]
    return {
        "part": "memory",
        "audits": len(seen),
        "pages of each": len(PAGES),
        "MB before any": first,
        f"MB after {min(_WARM, len(seen))}": warm,
        "MB after all": seen[-1],
        "MB once the sessions are forgotten": last,
        "most MB": max(seen),
        "grown since any, MB": round(last - first),
        f"grown since {min(_WARM, len(seen))}, MB": round(last - warm),
        "every tenth": seen[::10],
        "exceptions": wrong[:20],
        "errors of the server": faults[:10],
        "minutes": round((time.monotonic() - began) / 60.0, 1),
    }


def _megabytes(server: Server) -> float:
    return round(float(server.running.memory_info().rss) / 1e6, 1)


def _audits(home: Path, size: int) -> list[str]:
    """One finished audit, and copies of it under other names: to the server they are different audits."""
    with Store(home) as store:
        first = put(store, "The first")
        record = wait_for(store, first, 600.0)
        if record.status != "done":
            raise RuntimeError(f"The audit is {record.status}: {record.error}")
        copies = [f"{place:012x}" for place in range(1, size)]
        for copy in copies:
            shutil.copytree(store.folder(first), store.folder(copy), copy_function=os.link)
        with store._engine.begin() as connection:
            row = dict(connection.execute(sa.select(AUDITS).where(AUDITS.c.id == first)).mappings().one())
            connection.execute(sa.insert(AUDITS), [row | {"id": copy, "name": f"Copy {copy}"} for copy in copies])
    return [first, *copies]
