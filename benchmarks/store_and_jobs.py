"""How fast saved audits are listed, what a job costs beside the audit itself, and what a second worker brings.

python benchmarks/store_and_jobs.py
"""

from __future__ import annotations

import json
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import sqlalchemy as sa

from cfad_core.core.config import preset
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.sample import generate_sample
from cfad_core.data.suggestions import suggest_roles
from cfad_core.data.tables import Tables
from cfad_core.runs.executor import Executor, wait_for
from cfad_core.runs.model import AUDITS
from cfad_core.runs.related import related
from cfad_core.runs.store import Store

_DIRECT = """
import sys, time
from pathlib import Path
import pandas as pd, torch
from cfad_core.audit.run import run_audit
from cfad_core.runs.store import Store
given = Store(Path(sys.argv[1])).request(sys.argv[2])
start = time.perf_counter()
run_audit(given.tables.table, given.roles, given.config)
print(time.perf_counter() - start)
"""


def main() -> None:
    """Print the three figures."""
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder) / "home") as store:
        listing(store)
        overhead(store)
    speed_up()


def listing(store: Store) -> None:
    """List 1,000 audits, and compare one with all others."""
    table = generate_sample()
    roles = suggest_roles(table).roles or ColumnRoles("gender")
    first = store.create(Tables.of(table), roles, preset("fast"), name="An audit")
    with store._engine.begin() as connection:
        row = dict(connection.execute(sa.select(AUDITS).where(AUDITS.c.id == first)).mappings().one())
        metrics = {method: dict.fromkeys(["n", "auc_pr", "macro_f1"], 0.5) for method in ("ae", "cfad", "twin")}
        rows = [row | {"id": f"copy-{k}", "status": "done", "metrics": metrics} for k in range(999)]
        for k, copy in enumerate(rows):  # every audit with settings of its own
            copy["config"] = json.dumps(preset("fast", seed=k).to_dict())
        connection.execute(sa.insert(AUDITS), rows)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        assert len(store.find()) == 1000
        times.append(time.perf_counter() - start)
    print(f"1,000 audits listed in {1000 * statistics.median(times):.0f} ms (median of 20), the first 50 in", end=" ")
    start = time.perf_counter()
    store.find(limit=50)
    print(f"{1000 * (time.perf_counter() - start):.1f} ms")
    start = time.perf_counter()
    assert len(related(store, first)) == 999
    print(f"1,000 audits of one table compared in {1000 * (time.perf_counter() - start):.0f} ms")


def overhead(store: Store) -> None:
    """The sample table's audit, as a job and directly, turn by turn."""
    request = store.request(store.find(status="queued")[0].id)
    store.delete(store.find(status="queued")[0].id)
    differences = []
    with Executor(store):
        for seed in range(3):
            config = preset("fast", seed=seed)
            start = time.perf_counter()
            audit = store.create(request.tables, request.roles, config, name="An audit")
            wait_for(store, audit)
            job = time.perf_counter() - start
            command = [sys.executable, "-c", _DIRECT, str(store.home), audit]
            direct = float(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            differences.append(job - direct)
            print(f"job {job:.2f} s, run_audit {direct:.2f} s: {job - direct:.2f} s more")
    print(f"overhead of a job: {statistics.median(differences):.2f} s (median of 3)")


def speed_up() -> None:
    """Four runs of a benchmark with one worker and with two."""
    times = {}
    with tempfile.TemporaryDirectory() as folder:
        for workers in (1, 2):
            runs = ["--datasets", "adult", "--seeds", "0", "1", "2", "3", "--workers", str(workers)]
            command = [sys.executable, "-m", "cfad_core", "benchmark", *runs, "--out", str(Path(folder) / "r.json")]
            start = time.perf_counter()
            subprocess.run(command, capture_output=True, check=True)
            times[workers] = time.perf_counter() - start
            print(f"4 runs with {workers} worker{'s' if workers > 1 else ''}: {times[workers]:.1f} s")
    print(f"speed-up: {times[1] / times[2]:.2f}")


if __name__ == "__main__":
    main()
