"""What another way of training does to the detectors: two versions of the program on the same data, side by side.

    OMP_NUM_THREADS=1 python benchmarks/training_quality.py OTHER_ROOT [--seeds 0 1 2] [--worlds 13] [--out lines.jsonl]

Each version runs in a process of its own, on the paper's three sets (judged by the truth where it is known, else by
causal models of other rows) and on worlds with known twins (20,000 new people each). The table has the mean of both
versions, the mean of their differences by pair, and two standard errors of that mean: what lies within is noise.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

ROOT = Path(__file__).resolve().parent.parent
METHODS = ("ae", "cfad", "twin")
SETS = ("synthetic", "compas", "adult")
METRICS = ("auc_pr", "auc_roc", "macro_f1", "changing_ratio", "at_same_share", "seconds")

_CHILD = """
import json, sys, time
sys.path.insert(0, sys.argv[1])
import numpy as np
from benchmarks.truth import ROLES, draw_world, FAMILIES, LABEL, ANOMALY
from cfad_core import AuditConfig, run_audit
from cfad_core.audit.scoring import encode_people
from cfad_core.core.progress import Progress
from cfad_core.detectors.protocol import score_people
from cfad_core.evaluation.outcomes import ScoreCurve
from cfad_core.paper.problems import DATASETS, audit_problem, rows_of

task = json.loads(sys.argv[2])
methods, number = tuple(task["methods"]), task["number"]

def said(result, method, values):
    made = sum(result.provenance.seconds[part] for part in ("autoencoder", "fair fine-tuning"))
    print(json.dumps({"case": task["case"], "number": number, "method": method, "seconds": made, **values}), flush=True)

if task["case"] in DATASETS:
    problem = DATASETS[task["case"]](number, Progress())
    result = audit_problem(problem, AuditConfig(methods=methods, seed=number), Progress())
    for row in rows_of(result, problem, task["case"], Progress()):
        ratio = row.get("changing_ratio_truth")
        ratio = result.report(row["method"]).metrics.changing_ratio if ratio is None else ratio
        metrics = result.report(row["method"]).metrics
        said(result, row["method"], {"auc_pr": metrics.auc_pr, "auc_roc": metrics.auc_roc,
             "macro_f1": metrics.macro_f1, "changing_ratio": ratio})
else:
    family = list(FAMILIES)[number % len(FAMILIES)]
    world = draw_world(number, family)
    result = run_audit(world.table, ROLES, AuditConfig(methods=methods, seed=number, subsamples=0))
    people, twins = world.people(20_000, seed=0)
    here, there = (encode_people(result.encoding, some) for some in (people, twins))
    is_anomaly = (people[LABEL] == ANOMALY).to_numpy()
    for method in methods:
        scores = [score_people(result.detectors[method], some) for some in (here, there)]
        curve, threshold = ScoreCurve(*scores, is_anomaly), result.report(method).threshold
        point = curve.at(np.array([threshold]))
        same = np.quantile(scores[0], 0.95)
        said(result, method, {"auc_pr": curve.auc_pr, "auc_roc": curve.auc_roc,
             "macro_f1": float(point.macro_f1[0]), "changing_ratio": float(point.changing_ratio[0]),
             "at_same_share": float(((scores[0] > same) != (scores[1] > same)).mean())})
"""


def run(root: Path, case: str, number: int) -> list[dict[str, Any]]:
    """What a version says of one data set."""
    task = json.dumps({"case": case, "number": number, "methods": METHODS})
    done = subprocess.run(
        [sys.executable, "-c", _CHILD, str(root), task], capture_output=True, text=True, check=False, env=os.environ
    )
    if done.returncode:
        print(f"{case} {number} in {root}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
    return [json.loads(line) for line in done.stdout.splitlines() if line.startswith("{")]


def table(lines: list[dict[str, Any]]) -> str:
    """By case and method, each metric of the other version and of this one, and their difference with its noise."""
    found: dict[tuple[str, str], dict[int, dict[str, dict[str, Any]]]] = defaultdict(lambda: defaultdict(dict))
    for line in lines:
        found[line["case"], line["method"]][line["number"]][line["version"]] = line
    rows = [f"| | {' | '.join(METRICS)} |", f"|{'---|' * (len(METRICS) + 1)}"]
    for (case, method), pairs in found.items():
        both = [pair for pair in pairs.values() if len(pair) == 2]
        cells = []
        for metric in METRICS:
            known = [(one["other"].get(metric), one["this"].get(metric)) for one in both]
            values = np.array([pair for pair in known if None not in pair], dtype=np.float64)
            cells.append(_cell(values) if len(values) else "-")
        rows.append(f"| {case} {method} ({len(both)}) | {' | '.join(cells)} |")
    return "\n".join(rows)


def _cell(values: np.ndarray[Any, np.dtype[np.float64]]) -> str:
    """Of pairs (n, 2)."""
    change = values[:, 1] - values[:, 0]
    noise = 2.0 * change.std(ddof=1) / np.sqrt(len(change)) if len(change) > 1 else float("nan")
    return f"{values[:, 0].mean():.3f} -> {values[:, 1].mean():.3f} ({change.mean():+.3f} ± {noise:.3f})"


def main() -> None:
    """Run both versions in turn, print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("other", type=Path, help="root of the other version")
    parser.add_argument("--seeds", type=int, nargs="*", default=[0, 1, 2])
    parser.add_argument("--worlds", type=int, default=13)
    parser.add_argument("--first", type=int, default=0, help="number of the first world")
    parser.add_argument("--out", type=Path, help="JSON lines, to go on with later")
    options = parser.parse_args()
    cases = [(name, seed) for seed in options.seeds for name in SETS]
    cases += [("worlds", number) for number in range(options.first, options.first + options.worlds)]
    known = options.out is not None and options.out.exists()
    lines = [json.loads(line) for line in options.out.read_text(encoding="utf-8").splitlines()] if known else []
    for case, number in cases:
        if any((line["case"], line["number"]) == (case, number) for line in lines):
            continue
        found: list[dict[str, Any]] = []
        for version, root in (("other", options.other), ("this", ROOT)):
            found += [{"version": version, **line} for line in run(root, case, number)]
        lines += found
        print(f"{case} {number}", file=sys.stderr, flush=True)
        if options.out is not None:
            with options.out.open("a", encoding="utf-8") as file:
                file.writelines(json.dumps(line) + "\n" for line in found)
    print(table(lines))


if __name__ == "__main__":
    main()
