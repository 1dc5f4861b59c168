"""A table beyond memory, audited on the workers of this machine: time by step, memory of each process, a worker killed.

python benchmarks/beyond_memory.py [ROWS] [--folder DIR] [--no-kill]

Rows are generated as Parquet files of a million each. Half-way through the scoring of everybody one worker is killed;
the audit must go on and count every row.
"""

from __future__ import annotations

import argparse
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import psutil  # noqa: E402
import pyarrow as pa  # noqa: E402
import pyarrow.parquet as pq  # noqa: E402

from benchmarks.report_speed import people  # noqa: E402
from cfad_core.audit.folder import load_audit  # noqa: E402

FILE_ROWS = 1_000_000


def main() -> None:
    """Generate, audit, watch, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rows", type=int, nargs="?", default=20_000_000)
    parser.add_argument("--folder", type=Path, help="of the rows, if they are kept or there already")
    parser.add_argument("--no-kill", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder, out = options.folder or Path(scratch) / "rows", Path(scratch) / "audit"
        generate(folder, options.rows)
        size = sum(path.stat().st_size for path in folder.iterdir())
        print(
            f"{options.rows:,} rows x 20 columns in {len(list(folder.iterdir()))} files, {size / 1e9:.2f} GB of Parquet"
        )
        start = time.perf_counter()
        peaks = watch(command(folder, out), out, kill=not options.no_kill)
        seconds = time.perf_counter() - start
        result = load_audit(out)
        assert result.everybody is not None
        assert result.everybody.rows == options.rows == result.judged_people + result.everybody.outside
        print(f"audited in {seconds:.0f} s: {options.rows / seconds:,.0f} rows a second in all")
        print("seconds by stage of the sample's audit:", {k: round(v, 1) for k, v in result.provenance.seconds.items()})
        for role, found in peaks.items():
            print(f"{role}: {len(found)} processes, at most {max(found.values()) / 1e9:.2f} GB each")


def generate(folder: Path, rows: int) -> None:
    """Files of a million rows, those that are not there already."""
    folder.mkdir(parents=True, exist_ok=True)
    for k, start in enumerate(range(0, rows, FILE_ROWS)):
        path = folder / f"people-{k:03d}.parquet"
        if not path.is_file():
            some = people(min(FILE_ROWS, rows - start), 1_000 + k)
            pq.write_table(pa.Table.from_pandas(some, preserve_index=False), path, row_group_size=250_000)


def command(folder: Path, out: Path) -> list[str]:
    """As a user types it."""
    options = ["--sensitive", "group", "--groups", "a", "b", "--label", "fraud", "--anomaly", "yes", "--out", str(out)]
    return [sys.executable, "-m", "cfad_core", "audit", str(folder), *options]


def watch(typed: list[str], out: Path, *, kill: bool) -> dict[str, dict[int, int]]:
    """Run it; by role and process the most memory that it had. A worker is killed once some parts are scored."""
    peaks: dict[str, dict[int, int]] = defaultdict(dict)
    process = subprocess.Popen(typed, cwd=ROOT, stdout=subprocess.DEVNULL)
    while process.poll() is None:
        workers = []
        for one in [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]:
            try:
                role = "this command" if one.pid == process.pid else "workers"
                peaks[role][one.pid] = max(peaks[role].get(one.pid, 0), one.memory_info().rss)
                workers += [one] if role == "workers" and one.memory_info().rss > 2e8 else []
            except psutil.NoSuchProcess:
                continue
        scored = list(out.glob(".staged-everybody/scores/*.parquet"))
        if kill and workers and len(scored) >= 5:
            print(f"killed a worker after {len(scored)} parts were scored", flush=True)
            os.kill(workers[-1].pid, signal.SIGKILL)
            kill = False
        time.sleep(0.2)
    if process.returncode:
        raise SystemExit(f"The audit ended with {process.returncode}.")
    return peaks


if __name__ == "__main__":
    main()
