"""What more groups cost: Adult by two races, by all five, and by sex and race, in one run.

    OMP_NUM_THREADS=1 python benchmarks/group_cost.py
    OMP_NUM_THREADS=1 python benchmarks/group_cost.py --rows 12000

Seconds are of this process alone, whatever else the machine does; the ratio is to the audit of two groups.
"""

from __future__ import annotations

import argparse
import resource
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from cfad_core import AuditConfig, ColumnRoles, run_audit
from cfad_core.data.sets.public import fetch, load_adult

CASES: dict[str, ColumnRoles] = {
    "Black and White": ColumnRoles("race", groups=("Black", "White"), label="income", anomaly=">50K"),
    "all five races": ColumnRoles(
        "race",
        groups=("White", "Black", "Asian-Pac-Islander", "Amer-Indian-Eskimo", "Other"),
        label="income",
        anomaly=">50K",
    ),
    "sex and race": ColumnRoles(("sex", "race"), label="income", anomaly=">50K"),
}


def main() -> None:
    """Audit each, print a line each."""
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=int, help="the first so many; all by default")
    asked.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    options = asked.parse_args()
    fetch()
    table = load_adult()
    table = table if options.rows is None else table.head(options.rows)
    base: float | None = None
    print("| groups | people judged | twins of each | CPU seconds | ratio | GB so far |\n|---|---|---|---|---|---|")
    for name in options.cases:
        start = time.process_time()
        result = run_audit(table, CASES[name], AuditConfig())
        seconds = time.process_time() - start
        base = base or seconds
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
        moves, judged = len(result.plan.moves), len(result.people.judged)
        print(f"| {name} | {judged:,} | {moves} | {seconds:.0f} | {seconds / base:.2f} | {memory:.1f} |", flush=True)


if __name__ == "__main__":
    main()
