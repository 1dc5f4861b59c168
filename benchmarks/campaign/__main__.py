"""Run a part of the campaign by hand, and write down its figures.

python -m benchmarks.campaign PART [--size N] [--seed N] [--scratch DIR] [--out FILE]

Parts: load, kills, disk, clock, hostile, memory, two. docs/RELIABILITY.md says what each does and what it found.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import platform
import shutil
import signal
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.campaign import processes

PARTS = ("load", "kills", "disk", "clock", "hostile", "memory", "two")


def main() -> None:
    """Run one part; nothing that it started outlives it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("part", choices=PARTS)
    parser.add_argument("--size", type=int, help="minutes, kills, files, audits or rounds, by part")
    parser.add_argument("--seed", type=int, help="other than the one that was chosen before anything was run")
    parser.add_argument("--first", type=int, help="hostile: the number of the first file")
    parser.add_argument("--scratch", type=Path, help="a folder to keep; by default it is removed")
    parser.add_argument("--out", type=Path, help="write the figures there, as JSON")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    given = {name: getattr(options, name) for name in ("size", "seed", "first")}
    run = importlib.import_module(f"benchmarks.campaign.{options.part}").run
    taken = {
        name: value for name, value in given.items() if value is not None and name in inspect.signature(run).parameters
    }
    scratch = options.scratch or Path(tempfile.mkdtemp(prefix="cfad-campaign-"))
    scratch.mkdir(parents=True, exist_ok=True)
    began = time.time()
    try:
        found: dict[str, Any] = run(scratch, **taken)
    finally:
        left = processes.end_all()
        if options.scratch is None:
            shutil.rmtree(scratch, ignore_errors=True)
    found |= {
        "processes left": left,
        "took, s": round(time.time() - began),
        "machine": f"{os.cpu_count()} cores, {platform.platform(terse=True)}, load {os.getloadavg()[0]:.1f} at the end",
    }
    text = json.dumps(found, indent=2, ensure_ascii=False)
    print(text)
    if options.out is not None:
        options.out.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
