"""How long the report of an audit with many people takes, how large its files are, and how much memory it needs.

python benchmarks/report_speed.py [ROWS]
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # another benchmark's audit is used

import numpy as np  # noqa: E402
import pandas as pd  # noqa: E402

from cfad_core.audit.folder import save_audit  # noqa: E402
from cfad_core.audit.run import audit_tables  # noqa: E402
from cfad_core.core.config import AuditConfig  # noqa: E402
from cfad_core.data.roles import ColumnRoles  # noqa: E402
from cfad_core.data.tables import Tables  # noqa: E402
from cfad_core.report.making import FORMATS, make_document, write  # noqa: E402
from cfad_core.report.subject import subject_of_saved  # noqa: E402
from cfad_core.runs.model import headline  # noqa: E402
from cfad_core.runs.store import Store  # noqa: E402

LEARNED = 12_000  # rows that are learned from
COLUMNS = 20


def main() -> None:
    """Print seconds and sizes by format, from the files of the audit on."""
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        audit = large_audit(home, rows)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with Store(home) as store:
            start = time.perf_counter()
            subject, statements = subject_of_saved(store, audit)
            read = time.perf_counter()
            document = make_document(subject, statements)
            made = time.perf_counter()
            print(f"{rows:,} people: read in {read - start:.2f} s, document made in {made - read:.2f} s")
            for name in FORMATS:
                begin = time.perf_counter()
                for file, content in write(document, [name], subject.content).items():
                    print(f"{file}: {time.perf_counter() - begin:.2f} s, {len(content) / 1e6:.2f} MB")
            print(f"all of it: {time.perf_counter() - start:.2f} s")
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"memory at its peak: {peak / 1e6:.2f} GB, {before / 1e6:.2f} GB of it before, to make the audit")


def large_audit(home: Path, rows: int) -> str:
    """A finished audit of so many people, by two detectors and with its uncertainty."""
    roles = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")
    config = AuditConfig(methods=("ae", "iforest"))
    tables = Tables.of(people(LEARNED, 0), people(rows, 1))
    start = time.perf_counter()
    with Store(home) as store:
        audit = store.create(tables, roles, config, name="Many people", source="benchmark")
        store.claim("benchmark", audit)
        result = audit_tables(tables, roles, config)
        save_audit(result, store.folder(audit))
        store.finish(audit, headline(result))
    print(f"the audit of {rows:,} x {COLUMNS} took {time.perf_counter() - start:.0f} s")
    return audit


def people(n: int, seed: int) -> pd.DataFrame:
    """People with numbers and categories, some of which the group affects."""
    rng = np.random.default_rng(seed)
    group = rng.random(n) < 0.4
    columns: dict[str, object] = {"group": np.where(group, "a", "b")}
    before = group.astype(float)
    for k in range(COLUMNS - 4):
        noise = rng.normal(size=n)
        before = 0.5 * before + noise if k % 3 else noise
        columns[f"number_{k}"] = np.round(before, 3)
    columns["job"] = np.array(["clerk", "driver", "nurse", "teacher"])[rng.integers(0, 4, n)]
    columns["region"] = np.where(rng.random(n) < 0.3 + 0.2 * group, "north", "south")
    columns["fraud"] = np.where(np.abs(before) > 2.5, "yes", "no")
    return pd.DataFrame(columns)


if __name__ == "__main__":
    main()
