"""Wall time and memory of a whole synthetic audit, and how they grow with the rows.

    python benchmarks/audit_speed.py [--rows 12000 48000 192000] [--preset fast]

Each size runs in a process of its own, so that its peak memory is its own.
"""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))


def measure(rows: int, preset_name: str) -> None:
    """Run one audit on ``rows`` training rows and print a line."""
    import numpy as np

    from cfad_core import ColumnRoles, generate_synthetic, preset, run_audit

    data = generate_synthetic(0)
    train = data.train
    if rows > len(train):  # the same people again, each a little different: only the size matters here
        rng = np.random.default_rng(0)
        train = train.iloc[np.arange(rows) % len(train)].reset_index(drop=True)
        features = [name for name in train.columns if name.startswith("X")]
        train[features] += rng.normal(0.0, 0.01, (rows, len(features)))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start = time.perf_counter()
    result = run_audit(
        train,
        ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1"),
        preset("fast" if preset_name == "fast" else "paper"),
        test=data.test,
        test_counterfactual=data.test_counterfactual,
    )
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    parts = ", ".join(f"{stage} {value:.1f}" for stage, value in result.provenance.seconds.items())
    print(f"{rows:>8,} rows  {seconds:6.1f} s  peak {peak / 1024:6.0f} MB (before: {before / 1024:.0f})  [{parts}]")


def main() -> None:
    """Measure each size in turn."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[12_000, 48_000, 192_000])
    parser.add_argument("--preset", choices=("fast", "paper"), default="fast")
    parser.add_argument("--one", type=int, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one is not None:
        measure(options.one, options.preset)
        return
    for rows in options.rows:
        command = [sys.executable, __file__, "--one", str(rows), "--preset", options.preset]
        subprocess.run(command, check=True)


if __name__ == "__main__":
    main()
