"""Reading a large CSV file: time against pandas alone, and memory against the file's size, each in a fresh process.

python benchmarks/reading.py [MEGABYTES]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

_MEASURE = """
import resource, sys, time
import pandas, numpy
from pathlib import Path
from cfad_core.data.readers import read_table
path = Path(sys.argv[2])
def peak(): return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
before, start = peak(), time.perf_counter()
table = read_table(path) if sys.argv[1] == "ours" else pandas.read_csv(path, low_memory=False)
print(time.perf_counter() - start, peak() - before, len(table))
"""


def main() -> None:
    """Print both, twice."""
    megabytes = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        write(path, megabytes * 1_000_000)
        size = path.stat().st_size
        best: dict[str, float] = {}
        for reader in ("pandas", "ours", "pandas", "ours"):
            command = [sys.executable, "-c", _MEASURE, reader, str(path)]
            finished = subprocess.run(command, capture_output=True, text=True, check=True)
            seconds, memory, rows = map(float, finished.stdout.split())
            best[reader] = min(best.get(reader, seconds), seconds)
            print(f"{reader:7}{seconds:7.2f} s  {memory / size:5.2f} x the file in memory  {rows:,.0f} rows")
        print(f"ours / pandas: {best['ours'] / best['pandas']:.2f} in time, {size / 1e6:.0f} MB")


def write(path: Path, size: int) -> None:
    """People with numbers, categories, dates and gaps."""
    rng = np.random.default_rng(0)
    n = 100_000
    table = pd.DataFrame(
        {
            "age": rng.integers(18, 90, n),
            "pay": rng.normal(3000.0, 500.0, n).round(2),
            "score": rng.random(n),
            "job": rng.choice(["clerk", "nurse", "smith", "driver"], n),
            "town": rng.choice([f"town {k}" for k in range(200)], n),
            "since": pd.Timestamp("2020-01-01").strftime("%Y-%m-%d"),
            "debt": np.where(rng.random(n) < 0.1, np.nan, rng.normal(0.0, 1.0, n)),
            "sex": rng.choice(["f", "m"], n),
        }
    )
    block = table.to_csv(index=False, header=False)
    with path.open("w", encoding="utf-8") as stream:
        stream.write(",".join(table.columns) + "\n")
        started = time.monotonic()
        while stream.tell() < size and time.monotonic() - started < 600.0:
            stream.write(block)


if __name__ == "__main__":
    main()
