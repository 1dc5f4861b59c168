"""What the stages of an audit cost, and how well that is known before an audit starts.

    OMP_NUM_THREADS=1 python benchmarks/estimates.py measure FILE      audits of many shapes, a line of JSON for each
    python benchmarks/estimates.py compare FILE                        what was measured, by what is expected now
    OMP_NUM_THREADS=1 python benchmarks/estimates.py tables            the same of whole tables that are no made-up ones

The numbers of ``audit/estimate.py`` and of the detectors' registry are chosen by hand, by what ``compare`` prints.
Everything is processor time of one thread, so that other work on the machine hardly counts. A step is reported when it
is done: the time since the report before it belongs to its stage.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.audit.estimate import Size, size_of, stages
from cfad_core.audit.learned_rows import MOST_LEARNED
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.config import AuditConfig, preset
from cfad_core.core.progress import Progress
from cfad_core.data.readers import read_table
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.public import load_adult, load_compas, load_german
from cfad_core.data.suggestions import suggest_roles
from cfad_core.data.tables import Tables

ROOT = Path(__file__).resolve().parent.parent

OTHERS = ("pca", "iforest", "ae", "fairod", "fairad")
ROLES = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")


class Stopwatch(Progress):
    """Processor seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self._last = time.process_time()

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:  # noqa: ARG002
        """Count the time since the report before."""
        now = time.process_time()
        self.seconds[stage] = self.seconds.get(stage, 0.0) + now - self._last
        self._last = now


def shaped(rows: int, numbers: int, categories: int, groups: int = 2, seed: int = 0) -> pd.DataFrame:
    """A table of numbers and of categories with five levels each, about 1.5 causes a column, and a rare label."""
    rng = np.random.default_rng(seed)
    group = rng.integers(0, groups, rows)
    known = [group - group.mean()]
    table: dict[str, Any] = {"group": np.array(list("abcdefgh"))[group]}
    for k in range(numbers + categories):
        causes = rng.choice(len(known), min(len(known), 1 + int(rng.random() < 0.5)), replace=False)
        latent = sum(rng.uniform(0.4, 0.9) * np.tanh(known[c]) for c in causes) + rng.normal(size=rows)
        known.append(latent)
        if k < numbers:
            table[f"n{k}"] = np.round(10.0 * latent, 3)
        else:
            table[f"c{k}"] = np.array(list("vwxyz"))[np.digitize(latent, [-1.0, -0.3, 0.4, 1.2])]
    table["fraud"] = np.where(rng.random(rows) < 0.05, "yes", "no")
    return pd.DataFrame(table)


def shapes() -> Iterator[tuple[dict[str, Any], AuditConfig]]:
    """What is measured: tables by rows, numbers, categories and groups, and the settings."""
    usual = AuditConfig(subsamples=4)
    for rows, numbers, categories in (
        *((800, 6, 2), (800, 20, 0), (800, 10, 10), (3_000, 8, 0), (3_000, 5, 15), (3_000, 40, 0)),
        *((12_000, 6, 2), (12_000, 20, 0), (12_000, 6, 12), (12_000, 30, 10), (30_000, 10, 0), (30_000, 10, 8)),
        *((70_000, 6, 0), (70_000, 20, 0), (150_000, 10, 3), (1_500, 80, 0)),
    ):
        yield {"rows": rows, "numbers": numbers, "categories": categories}, usual
    for groups in (3, 5):
        yield {"rows": 5_000, "numbers": 8, "categories": 2, "groups": groups}, usual
    for rows, numbers in ((1_000, 6), (4_000, 20), (12_000, 10)):
        paper = preset("paper", methods=("ae", "cfad", "twin"))
        yield {"rows": rows, "numbers": numbers, "categories": 0}, paper
    for rows, numbers in ((800, 6), (5_000, 20), (20_000, 10), (60_000, 10)):
        yield {"rows": rows, "numbers": numbers, "categories": 0}, usual.replace(methods=OTHERS)
    for rows, numbers in ((800, 6), (5_000, 20)):
        yield {"rows": rows, "numbers": numbers, "categories": 0}, usual.replace(methods=("dcfod", "ae"))
    for rows, numbers in ((800, 6), (5_000, 20), (15_000, 10)):
        yield {"rows": rows, "numbers": numbers, "categories": 0}, usual.replace(methods=("ocsvm",))


def measure(path: Path) -> None:
    """Run all shapes; what is in the file already is not run again."""
    done = [json.loads(line)["shape"] for line in path.read_text().splitlines()] if path.is_file() else []
    for shape, config in shapes():
        named = shape | {"preset": config.preset, "methods": list(config.methods)}
        if named in done:
            continue
        table = shaped(**shape)
        roles = replace(ROLES, groups=tuple(sorted(table["group"].unique())))
        watch, start = Stopwatch(), time.process_time()
        result = run_audit(table, roles, config, watch)
        line = {"shape": named, "size": size_seen(result), "subsamples": config.subsamples, "seconds": watch.seconds}
        line["whole"] = time.process_time() - start
        with path.open("a") as stream:
            stream.write(json.dumps(line) + "\n")
        print(json.dumps(line), flush=True)


def compare(path: Path) -> None:
    """Print measured beside expected seconds, of the whole and of each stage."""
    for line in map(json.loads, path.read_text().splitlines()):
        shape, found = line["shape"], line["size"]
        config = preset(shape["preset"], methods=tuple(shape["methods"]))
        config = config.replace(subsamples=line["subsamples"]) if shape["preset"] == "fast" else config
        learned = min(shape["rows"] - found["people"], MOST_LEARNED)
        parts = {name: found[name] for name in ("people", "columns", "variables", "moves", "states")}
        size = Size(rows=shape["rows"], learned=learned, **parts)
        expected = stages(config, knows_truth=False, size=size)
        print(shape, f"{line['whole']:.1f} s, expected {sum(expected.values()):.1f} s")
        print("   ", ", ".join(f"{k} {v:.2f} ({expected.get(k, 0.0):.2f})" for k, v in line["seconds"].items()))


def tables() -> None:
    """Whole audits of other tables, with the usual settings: a row of a Markdown table for each."""
    sys.path.insert(0, str(ROOT))
    from benchmarks.report_speed import people

    print("| table | rows x columns | expected | measured | measured / expected |\n|---|---|---|---|---|")
    for name, table, roles in (
        ("sample", read_table(ROOT / "assets" / "sample.csv"), None),
        ("COMPAS", load_compas(), None),
        ("German credit", load_german(), None),
        ("Adult", load_adult(), None),
        ("100,000 x 20", people(100_000, 0), ROLES),
    ):
        sensitive = {"COMPAS": "race", "Adult": "sex", "German credit": "sex"}.get(name)
        roles = roles or suggest_roles(table, sensitive, None).roles
        assert roles is not None
        given, config = Tables.of(table), AuditConfig()
        size = size_of(given, roles, config)
        expected = sum(stages(config, knows_truth=False, size=size).values())
        start = time.process_time()
        run_audit(table, roles, config)
        took = time.process_time() - start
        shape = f"{len(table):,} x {table.shape[1]}"
        print(f"| {name} | {shape} | {expected:.0f} s | {took:.0f} s | {took / expected:.2f} |", flush=True)


def size_seen(result: AuditResult) -> dict[str, int]:
    """What the cost of an audit depends on."""
    return {
        "columns": len(result.encoding.names) - 1,
        "variables": len(result.encoding.variables),
        "moves": len(result.plan.moves),
        "states": result.encoding.states.count,
        "people": len(result.people.row),
        "judged": len(result.people.judged),
        "judges": result.judges,
    }


if __name__ == "__main__":
    if sys.argv[1] == "tables":
        tables()
    else:
        {"measure": measure, "compare": compare}[sys.argv[1]](Path(sys.argv[2]))
