"""How near the ratio that remains without a path comes to the truth, on worlds that are harsher than causal models.

    OMP_NUM_THREADS=1 python benchmarks/path_truth.py --first 2000 --worlds 24 --most-rows 2000 --methods ae pca
        --families mixed interactions spread messy small-group categories heavy lognormal --out paths.jsonl

An audit sees the table alone. Then every true path of one or two arrows from the sensitive attribute is taken away, one
after the other (at most eight a world). The truth is counted on 20,000 new people of the world and their path-specific
twins by the world's own equations, at the audit's thresholds; an audit that did not find the path says that everything
remains. One JSON line a world is appended to ``--out``, and worlds that are there already are not run again.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.truth import (
    IDENTIFIED,
    ROLES,
    Record,
    carry_out,
    markdown,
    mean,
    parser,
    settings_of,
    shown,
)
from benchmarks.worlds import FAMILIES, SENSITIVE, World
from cfad_core import AuditConfig, AuditResult, CfadError, run_audit
from cfad_core.audit.paths import measure_remaining
from cfad_core.audit.scoring import encode_people
from cfad_core.core.arrays import Bools, Floats
from cfad_core.detectors.protocol import score_people
from cfad_core.evaluation.extremes import Estimate

METHODS = ("ae", "cfad", "surprise")
PathNames = tuple[str, ...]
_JUDGES = 20_000  # new people that the truth is counted on
_MOST_PATHS = 8
_COMMON = 0.5  # share of the graphs, from which on a path counts as found


def paths_of(world: World) -> list[PathNames]:
    """The true paths of one or two arrows, the shorter first."""
    graph = world.graph
    first = [(SENSITIVE, str(name)) for name in graph.columns if graph.loc[SENSITIVE, name]]
    # what makes cells missing is seen in its own column only: nothing follows from it
    real = [path for path in first if SENSITIVE in world.columns[path[1]].causes]
    after = [(*path, str(name)) for path in real for name in graph.columns if graph.loc[path[1], name]]
    return [*first, *after][:_MOST_PATHS]


def measure(world: World, config: AuditConfig, most_rows: int | None) -> Record:
    """Audit one world, and compare what remains without each path with the truth."""
    table = world.table.head(most_rows or world.rows)
    record: Record = {
        "world": world.number,
        "family": world.family,
        "settings": settings_of(config, most_rows),
        "rows": len(table),
    }
    start = time.perf_counter()
    try:
        result = run_audit(table, ROLES, config)
    except CfadError as error:
        return record | {"error": str(error)}
    record["seconds"] = round(time.perf_counter() - start, 2)
    cases = [case for path in paths_of(world) for case in compare(result, world, path)]
    return record | {"remaining_seconds": round(time.perf_counter() - start - record["seconds"], 2), "cases": cases}


def compare(result: AuditResult, world: World, path: PathNames) -> list[Record]:
    """By method: the truth without a path, and what the audit says."""
    seen = result.seen()
    thresholds = {method: seen.report(method).threshold for method in seen.scores}
    found = measure_remaining(seen, thresholds, [path])
    people, twins = world.people(_JUDGES, seed=0)
    rows = [encode_people(result.encoding, some) for some in (people, twins, world.twins_without(_JUDGES, 0, {path}))]

    def flagged(method: str, some: Floats) -> Bools:
        return np.asarray(score_people(result.detectors[method], some) > thresholds[method])

    cases = []
    for method, one in found.items():
        here, whole, left = (flagged(method, some) for some in rows)
        cases.append(
            {
                "path": path,
                "method": method,
                "graphs": one.graphs[0] / one.models,
                "whole": _said(one.whole, float((here != whole).mean())),
                "remaining": _said(one.remaining, float((here != left).mean())),
                "gone": _said(one.gone, float((here != whole).mean() - (here != left).mean())),
            }
        )
    return cases


def _said(found: Estimate, truth: float) -> Record:
    ends = None if found.interval is None else [found.interval.low, found.interval.high]
    return {"truth": truth, "says": found.value, "interval": ends}


def summarise(records: Sequence[Record]) -> dict[str, Record]:
    """By family, over all, and where the path was found or not."""
    done = [record for record in records if "error" not in record]
    parts = {name: [case for one in done if one["family"] == name for case in one["cases"]] for name in FAMILIES}
    every = [case for record in done for case in record["cases"]]
    parts[IDENTIFIED] = every
    parts["path in half of the graphs or more"] = [case for case in every if case["graphs"] >= _COMMON]
    parts["path in fewer"] = [case for case in every if case["graphs"] < _COMMON]
    for method in METHODS:
        parts[f"method {method}"] = [case for case in every if case["method"] == method]
    return {name: _summary(cases) for name, cases in parts.items() if cases}


def _summary(cases: Sequence[Record]) -> Record:
    found: Record = {"cases": len(cases), "graphs": mean(case["graphs"] for case in cases)}
    for part in ("whole", "remaining", "gone"):
        some = [case[part] for case in cases]
        known = [one for one in some if one["interval"] is not None]
        found[part] = {
            "truth": mean(one["truth"] for one in some),
            "error": mean(abs(one["says"] - one["truth"]) for one in some),
            "bias": mean(one["says"] - one["truth"] for one in some),
            "covered": mean(one["interval"][0] <= one["truth"] <= one["interval"][1] for one in known),
            "width": mean(one["interval"][1] - one["interval"][0] for one in known),
        }
    return found


def _column(part: str, name: str, digits: int = 3) -> Callable[[Record], str]:
    return lambda found: shown(found[part][name], digits)


def _coverage(part: str) -> Callable[[Record], str]:
    return lambda found: "-" if found[part]["covered"] is None else f"{found[part]['covered']:.0%}"


def report(summary: dict[str, Record]) -> str:
    """The table."""
    columns: dict[str, Callable[[Record], str]] = {
        "cases": lambda found: str(found["cases"]),
        "true whole": _column("whole", "truth"),
        "true remaining": _column("remaining", "truth"),
        "its error": _column("remaining", "error", 4),
        "bias": _column("remaining", "bias", 4),
        "90 % interval holds it": _coverage("remaining"),
        "error of the whole": _column("whole", "error", 4),
        "interval holds the whole": _coverage("whole"),
        "error of what goes": _column("gone", "error", 4),
        "interval holds what goes": _coverage("gone"),
    }
    return markdown(summary, "without one path", columns)


def main() -> None:
    """Measure what is missing, print the table."""
    asks = parser(METHODS, str(__doc__))
    asks.set_defaults(families=[name for name, family in FAMILIES.items() if family.identified])
    options = asks.parse_args()
    carry_out(options, measure, summarise, report)


if __name__ == "__main__":
    main()
