"""All that docs/PERFORMANCE.md says of time and memory, by one command, as tables.

    python benchmarks/performance.py [--against FOLDER] [--only PART ...] [--rows 12000 100000 1000000]

``--against`` names a checkout of another version: both are measured in turn, in this run, and ratios are printed. Each
audit is a process of its own, so that its memory is its own. The parts that need a browser, a cluster or many minutes
are scripts of their own, which this one runs: ``--only`` chooses. PyOD is a peer where it is installed.

    audits   whole audits in memory, beside the other version
    peers    an isolation forest and PyOD's autoencoder learn and score the same rows as our autoencoder
    threads  one and two threads, idle and beside a busy neighbour
    stream   score and counterfactuals, chunk by chunk
    pages    opening every page of an audit of many people, and moving a threshold
    upload   memory of the server while a large file is uploaded
    beyond   a table beyond memory
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRIPTS = {
    "threads": ["threads.py"],
    "stream": ["streaming.py", "100000", "1000000"],
    "pages": ["page_speed.py", "1000000"],
    "upload": ["uploading.py", "950"],
    "beyond": ["beyond_memory.py"],
}
COLUMNS = 20


def main() -> None:
    """Measure the parts that are wanted."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--against", type=Path, metavar="FOLDER", help="a checkout of another version")
    parser.add_argument(
        "--only", nargs="+", choices=["audits", "peers", *SCRIPTS], default=["audits", "peers", *SCRIPTS]
    )
    parser.add_argument("--rows", type=int, nargs="+", default=[12_000, 100_000, 1_000_000])
    parser.add_argument("--measure", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.measure is not None:
        print(json.dumps({"audit": audit, "peers": peers}[options.measure](options.rows[0])))
        return
    if "audits" in options.only:
        print_audits(options.rows, options.against)
    if "peers" in options.only:
        print_peers([rows for rows in options.rows if rows <= 100_000])
    for part in options.only:
        if part in SCRIPTS:
            print(f"\n## {part}\n", flush=True)
            script, *arguments = SCRIPTS[part]
            subprocess.run([sys.executable, str(ROOT / "benchmarks" / script), *arguments], check=True)


def print_audits(sizes: list[int], against: Path | None) -> None:
    """A line for each size, the other version's beside ours."""
    print("## Audits in memory, 20 columns, four methods, 20 models that judge\n")
    print("| rows | seconds | a row, in microseconds | peak memory | the other version | ratio |")
    print("|---|---|---|---|---|---|", flush=True)
    for rows in sizes:
        other = None if against is None else measured("audit", rows, against)
        own = measured("audit", rows, ROOT)
        beside, ratio = "", ""
        if other is not None:
            beside, ratio = (
                f"{other['seconds']:.1f} s, {other['peak']:.2f} GB",
                f"{own['seconds'] / other['seconds']:.2f}",
            )
        a_row = 1e6 * own["seconds"] / rows
        print(
            f"| {rows:,} | {own['seconds']:.1f} | {a_row:.0f} | {own['peak']:.2f} GB | {beside} | {ratio} |", flush=True
        )


def print_peers(sizes: list[int]) -> None:
    """Seconds that others take to learn and score the same rows."""
    print("\n## Learning and scoring alone, beside others\n")
    for rows in sizes:
        found = measured("peers", rows, ROOT)
        print(f"{rows:,} rows: " + ", ".join(f"{name} {seconds:.1f} s" for name, seconds in found.items()), flush=True)


def measured(what: str, rows: int, root: Path) -> dict[str, float]:
    """In a process of its own, by the code of this file on the package in that folder."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(root), os.environ.get("PYTHONPATH", "")])}
    command = [sys.executable, __file__, "--measure", what, "--rows", str(rows)]
    done = subprocess.run(command, check=True, capture_output=True, text=True, env=environment, cwd=root)
    answer: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return answer


def audit(rows: int) -> dict[str, float]:
    """Seconds and peak memory (GB) of a whole audit."""
    from benchmarks.report_speed import people
    from cfad_core import AuditConfig, ColumnRoles, run_audit

    table, roles = people(rows, 0), ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")
    start = time.perf_counter()
    run_audit(table, roles, AuditConfig())
    seconds = time.perf_counter() - start
    return {"seconds": seconds, "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6}


def peers(rows: int) -> dict[str, float]:
    """Seconds to learn from so many rows and to score them, by name."""
    import numpy as np
    from sklearn.ensemble import IsolationForest

    from benchmarks.detector_speed import Sideways, rows_of
    from cfad_core.core.config import AuditConfig
    from cfad_core.core.progress import Progress
    from cfad_core.detectors.autoencoder import fit
    from cfad_core.detectors.protocol import Fitting

    given, found = rows_of(rows), {}

    def timed(name: str, work: object) -> None:
        start = time.perf_counter()
        work()  # type: ignore[operator]
        found[name] = time.perf_counter() - start

    causes = Sideways()
    task = Fitting(AuditConfig(), {}, causes, given, Progress(), causes.twins)
    x = np.asarray(given.x)
    timed("our autoencoder", lambda: fit(task).anomaly_score(x))
    timed("scikit-learn's isolation forest", lambda: IsolationForest(random_state=0).fit(x).score_samples(x))
    try:
        from pyod.models.auto_encoder import AutoEncoder
    except ImportError:
        return found
    peer = AutoEncoder(random_state=0, verbose=0)
    timed("PyOD's autoencoder (10 epochs)", lambda: peer.fit(x).decision_function(x))
    return found


if __name__ == "__main__":
    main()
