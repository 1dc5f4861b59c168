"""How often batches raise an alarm: when nothing has changed, and when something has (``docs/BATCHES.md``).

    OMP_NUM_THREADS=1 python benchmarks/batch_alarms.py --worlds 104 --first 8000 --out alarms.jsonl

Each world is audited once, from its own table; then batches of new people are measured. Nobody had looked at these
worlds before the limits were set. One JSON line a world is appended to ``--out``; worlds that are there are not run
again. The summary is printed as Markdown.

nothing changed     new people of the same world
other groups        half of the people of the first group are missing
other people        those above the median of a column without causes are three times as frequent
average             a number that the group reaches is half a standard deviation higher
small average       the same by a quarter
gap closes          the group no longer acts on one of its effects
cause stops         another cause no longer acts on a column that the group reaches
new category        a tenth of the rows have a new value in a category
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.worlds import ANOMALY, FAMILIES, GROUPS, LABEL, SENSITIVE, World, draw_world
from cfad_core import AuditConfig, CfadError, ColumnRoles, measure_batch, run_audit

ROLES = ColumnRoles(SENSITIVE, groups=GROUPS, label=LABEL, anomaly=ANOMALY)
CONFIG = AuditConfig(methods=("pca",), subsamples=0)  # alarms need neither detectors nor judges
UNCHANGED = (200, 1_000, 4_000)  # people of a batch
CHANGED = (500, 2_000)
NUMBERS = ("number", "lognormal", "rounded", "atom")
_MOST_ROWS = 4_000  # of a table

Record = dict[str, Any]
Draw = Callable[[World, int], pd.DataFrame | None]


def main() -> None:
    """Measure what is missing, and print the summary."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=104)
    parser.add_argument("--first", type=int, default=8_000)
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    families = [name for name, family in FAMILIES.items() if family.identified]
    done = {record["world"] for record in _records(options.out)}
    for number in range(options.first, options.first + options.worlds):
        if number not in done:
            record = measure(draw_world(number, families[number % len(families)]))
            with options.out.open("a") as stream:
                stream.write(json.dumps(record) + "\n")
    print(summary(_records(options.out)))


def measure(world: World) -> Record:
    """Audit one world, and measure a batch of each kind."""
    start = time.perf_counter()
    record: Record = {"world": world.number, "family": world.family}
    try:
        result = run_audit(world.table.head(_MOST_ROWS), ROLES, CONFIG)
    except CfadError as error:
        return record | {"error": str(error), "batches": []}
    test = result.checks[0].twin_test
    batches = []
    for name, draw in KINDS.items():
        for n in UNCHANGED if name == "nothing changed" else CHANGED:
            table = draw(world, n)
            if table is None:
                continue
            found = measure_batch(replace(result, judge_models=()), table)
            twins = found.comparisons[0].twin_test
            batches.append(
                {
                    "kind": name,
                    "n": n,
                    "tested": found.fit is not None,
                    "misfits": found.misfits,
                    "p_values": {one: fit.shift.p_value for one, fit in (found.fit or {}).items()},
                    "sizes": {one: fit.shift.size for one, fit in (found.fit or {}).items()},
                    "twins": None if twins is None else [twins.auc, twins.low],
                    "twins_got_worse": found.comparisons[0].twins_got_worse,
                    "unknown": found.unknown_rows,
                    "alarm": found.alarm is not None,
                }
            )
    known = {"seconds": round(time.perf_counter() - start, 1), "test_people": len(result.people.row)}
    return record | known | {"own_twins": None if test is None else [test.auc, test.low], "batches": batches}


def _unchanged(world: World, n: int) -> pd.DataFrame:
    return world.people(n, seed=n)[0]


def _other_groups(world: World, n: int) -> pd.DataFrame:
    people, rng = _unchanged(world, 2 * n), np.random.default_rng(n)
    return people[(people[SENSITIVE] != GROUPS[0]) | (rng.random(2 * n) < 0.5)].head(n)


def _other_people(world: World, n: int) -> pd.DataFrame | None:
    roots = [name for name, one in world.columns.items() if not one.causes and one.form.kind in NUMBERS]
    if not roots:
        return None
    people, rng = _unchanged(world, 4 * n), np.random.default_rng(n)
    above = people[roots[0]] > people[roots[0]].median()
    return people[above | (rng.random(4 * n) < 1.0 / 3.0)].head(n)


def _average(by: float) -> Draw:
    def draw(world: World, n: int) -> pd.DataFrame | None:
        reached = [name for name in sorted(world.reached) if world.columns[name].form.kind in NUMBERS]
        if not reached:
            return None
        people = _unchanged(world, n)
        spread = people.groupby(SENSITIVE)[reached[0]].std().mean()
        return people.assign(**{reached[0]: people[reached[0]] + by * spread})

    return draw


def _without(sensitive: bool) -> Draw:
    """New people of a world in which one cause of one column that the group reaches does not act."""

    def draw(world: World, n: int) -> pd.DataFrame | None:
        for name in sorted(world.reached):
            effects = world.columns[name].effects
            acting = [one for one in effects if (one.cause == SENSITIVE) == sensitive]
            if acting:
                silent = replace(acting[0], weights=tuple(0.0 for _ in acting[0].weights))
                changed = tuple(silent if one is acting[0] else one for one in effects)
                attributes = tuple(replace(a, effects=changed) if a.name == name else a for a in world.attributes)
                return _unchanged(replace(world, attributes=attributes), n)
        return None

    return draw


def _new_category(world: World, n: int) -> pd.DataFrame | None:
    categories = [name for name, one in world.columns.items() if one.form.kind in ("ordered", "nominal")]
    if not categories:
        return None
    people, rng = _unchanged(world, n), np.random.default_rng(n)
    return people.assign(**{categories[0]: people[categories[0]].where(rng.random(n) >= 0.1, "new")})


KINDS: dict[str, Draw] = {
    "nothing changed": _unchanged,
    "other groups": _other_groups,
    "other people": _other_people,
    "average": _average(0.5),
    "small average": _average(0.25),
    "gap closes": _without(sensitive=True),
    "cause stops": _without(sensitive=False),
    "new category": _new_category,
}


def summary(records: list[Record]) -> str:
    """By kind and size: how many batches, and in how many there was an alarm, and by what."""
    lines = ["| what changed | people | batches | alarm | fit | twins | unknown |", "|---|---|---|---|---|---|---|"]
    for kind in KINDS:
        for n in UNCHANGED if kind == "nothing changed" else CHANGED:
            found = [one for record in records for one in record["batches"] if one["kind"] == kind and one["n"] == n]
            if not found:
                continue
            shares = (
                np.mean([one["alarm"] for one in found]),
                np.mean([bool(one["misfits"]) for one in found]),
                np.mean([one["twins_got_worse"] for one in found]),
                np.mean([one["unknown"] > 0.05 for one in found]),
            )
            cells = " | ".join(f"{100.0 * share:.1f} %" for share in shares)
            lines.append(f"| {kind} | {n:,} | {len(found)} | {cells} |")
    failed = sum(record.get("own_twins") is not None and record["own_twins"][1] >= 0.55 for record in records)
    return "\n".join(
        [*lines, "", f"{len(records)} worlds; in {failed} of them twins did not pass in the audit itself."]
    )


def _records(path: Path) -> list[Record]:
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


if __name__ == "__main__":
    main()
