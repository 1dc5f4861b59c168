"""How near audits come to the truth on worlds that are harsher than their causal models (``benchmarks/worlds.py``).

    OMP_NUM_THREADS=1 python benchmarks/truth.py --worlds 26 --out truth.jsonl
    OMP_NUM_THREADS=1 python benchmarks/truth.py --worlds 8 --first 100 --families mixed messy --most-rows 2000

An audit sees the table alone. The truth about each of its detectors, at the audit's threshold, is counted on 20,000 new
people of the world and their true twins, scored by the finished audit. One JSON line a world is appended to ``--out``;
worlds that are there already are not run again. The summary is printed as Markdown, and as JSON into ``--summary``.
Families that no audit can know (a hidden cause, a wrong root) are shown, but not among "all identified".
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.worlds import ANOMALY, FAMILIES, GROUPS, LABEL, SENSITIVE, World, draw_world
from cfad_core import AuditConfig, AuditResult, CfadError, ColumnRoles, run_audit
from cfad_core.audit.result import PLAIN
from cfad_core.audit.scoring import encode_people
from cfad_core.core.arrays import Bools, Floats
from cfad_core.detectors.protocol import score_people
from cfad_core.evaluation.outcomes import ScoreCurve

METHODS = ("ae", "cfad", "twin", "surprise", "ae-rank")
ROLES = ColumnRoles(SENSITIVE, groups=GROUPS, label=LABEL, anomaly=ANOMALY)
IDENTIFIED = "all identified"
_JUDGES = 20_000  # new people that the truth is counted on
_LARGE = 2_000  # rows from which on graphs are compared
_BOUNDED = ("truth", "interval", "ratio")
_STANDARD_ERRORS = 2.0  # of the difference of two flag rates, that a bound is widened by

Record: TypeAlias = dict[str, Any]


def measure(world: World, config: AuditConfig, most_rows: int | None) -> Record:
    """Audit one world and compare it with the truth; what is refused is recorded as such."""
    table = world.table.head(most_rows or world.rows)
    record: Record = {
        "world": world.number,
        "family": world.family,
        "settings": settings_of(config, most_rows),
        "identified": world.identified,
        "rows": len(table),
        "attributes": len(world.columns),
        "first_share": float((table[SENSITIVE] == GROUPS[0]).mean()),
    }
    start = time.perf_counter()
    try:
        result = run_audit(table, ROLES, config)
    except CfadError as error:
        return record | {"error": str(error)}
    record["seconds"] = round(time.perf_counter() - start, 2)
    people, twins = world.people(_JUDGES, seed=0)
    here, there = (encode_people(result.encoding, some) for some in (people, twins))
    is_anomaly: Bools = (people[LABEL] == ANOMALY).to_numpy()
    methods = {method: compare(result, method, here, there, is_anomaly) for method in config.methods}
    compare_with_plain(result, methods, here, there)
    checks = result.checks[0] if result.checks else None
    test = None if checks is None else checks.twin_test
    found = {
        "twin_test": None if test is None else test.auc,
        "better_fit": 0 if checks is None else len(checks.better_fit),
    }
    return record | found | {"graph": compare_graphs(result, world), "methods": methods}


def compare(result: AuditResult, method: str, here: Floats, there: Floats, is_anomaly: Bools) -> Record:
    """One method: the truth on new people (n, d) and their twins, and what the audit says about it."""
    report, detector = result.report(method), result.detectors[method]
    score, metrics = score_people(detector, here), report.metrics
    curve = ScoreCurve(score, score_people(detector, there), is_anomaly)
    flagged = score > report.threshold
    interval = None if report.intervals is None else report.intervals.changing_ratio
    return {
        "truth": float(curve.at(np.array([report.threshold])).changing_ratio[0]),
        "interval": None if interval is None else [interval.low, interval.high],
        "ratio": metrics.changing_ratio,
        "bounds": bounds(flagged[here[:, 0] < 0.0], flagged[here[:, 0] > 0.0]),
        "auc_roc": curve.auc_roc,
    }


def compare_with_plain(result: AuditResult, methods: dict[str, Record], here: Floats, there: Floats) -> None:
    """Add to every method how it compares with AE: what is true, and what the audit says.

    ``truth_at_share`` is the true ratio at the threshold that flags as many of the new people as AE does at its own:
    who flags fewer people changes fewer outcomes, too.
    """
    if PLAIN not in methods:
        return
    plain = score_people(result.detectors[PLAIN], here) > result.report(PLAIN).threshold
    for method, found in methods.items():
        score, twins = (score_people(result.detectors[method], some) for some in (here, there))
        threshold = np.quantile(score, 1.0 - plain.mean())
        found["truth_at_share"] = float(((score > threshold) != (twins > threshold)).mean())
        says = result.improvement(method)
        found["improvement"] = found["truth"] - methods[PLAIN]["truth"]
        found["improvement_says"] = None if says is None else says.value
        known = None if says is None else says.interval
        found["improvement_interval"] = None if known is None else [known.low, known.high]


def bounds(first: Bools, second: Bools) -> tuple[float, float]:
    """Between which the changing ratio lies, whatever the graph, given who of the two groups is flagged.

    ``|r_a - r_b| <= ratio <= min(r_a + r_b, 2 - r_a - r_b)`` for the flag rates of the groups, widened by two standard
    errors of their difference. They hold if the sensitive attribute is a root without a hidden cause.
    """
    a, b = float(first.mean()), float(second.mean())
    slack = _STANDARD_ERRORS * float(np.sqrt(a * (1.0 - a) / len(first) + b * (1.0 - b) / len(second)))
    return max(0.0, abs(a - b) - slack), min(a + b, 2.0 - a - b) + slack


def compare_graphs(result: AuditResult, world: World) -> dict[str, dict[str, int]]:
    """How many edges, neighbours, and attributes that the sensitive one reaches are true, found, and both."""
    graph = world.graph
    edges = {(str(cause), str(effect)) for cause in graph.index for effect in graph.columns if graph.loc[cause, effect]}
    found = set(result.model.edges())
    return {
        "edges": _counts(edges, found),
        "skeleton": _counts({frozenset(edge) for edge in edges}, {frozenset(edge) for edge in found}),
        "reach": _counts(world.reached, set(result.model.affected_names)),
    }


def _counts(true: set[Any], found: set[Any]) -> dict[str, int]:
    return {"true": len(true), "found": len(found), "both": len(true & found)}


def settings_of(config: AuditConfig, most_rows: int | None) -> Record:
    """What worlds of one file must have in common."""
    return {"methods": list(config.methods), "subsamples": config.subsamples, "most_rows": most_rows}


# What was found, by family


def summarise(records: Sequence[Record]) -> dict[str, Record]:
    """By family, and over all that audits can know."""
    done = [record for record in records if "error" not in record]
    families = {name: [one for one in done if one["family"] == name] for name in FAMILIES}
    families[IDENTIFIED] = [one for one in done if one["identified"]]
    return {name: _summary(some) for name, some in families.items() if some}


def _summary(records: Sequence[Record]) -> Record:
    cases = [case for record in records for case in record["methods"].values()]
    measured = [case for case in cases if case["interval"] is not None]
    covered = sum(case["interval"][0] <= case["truth"] <= case["interval"][1] for case in measured)
    names = dict.fromkeys(method for record in records for method in record["methods"])
    large = [record for record in records if record["rows"] >= _LARGE]
    by_method = {name: [record["methods"][name] for record in records if name in record["methods"]] for name in names}
    return {
        "worlds": len(records),
        "cases": len(measured),
        "covered": covered,
        "coverage": covered / len(measured) if measured else None,
        "too_low": sum(case["interval"][1] < case["truth"] for case in measured),
        "too_high": sum(case["interval"][0] > case["truth"] for case in measured),
        "width": mean(case["interval"][1] - case["interval"][0] for case in measured),
        "truth": mean(case["truth"] for case in cases),
        "error": _error(cases, "ratio"),
        "bias": mean(case["ratio"] - case["truth"] for case in cases if case["ratio"] is not None),
        "outside_bounds": {name: _outside(cases, name) for name in _BOUNDED},
        "twin_test": mean(record["twin_test"] for record in records),
        "truth_by_method": {name: mean(case["truth"] for case in some) for name, some in by_method.items()},
        "auc_roc": {name: mean(case["auc_roc"] for case in some) for name, some in by_method.items()},
        "truth_at_share": {name: mean(case.get("truth_at_share") for case in some) for name, some in by_method.items()},
        "coverage_by_method": {name: _covered(some, "truth", "interval") for name, some in by_method.items()},
        "improvement": {
            name: _covered(some, "improvement", "improvement_interval") for name, some in by_method.items()
        },
        "ratio_by_method": {name: mean(case["ratio"] for case in some) for name, some in by_method.items()},
        "graph": {part: _shares([one["graph"][part] for one in large]) for part in ("edges", "skeleton", "reach")},
        "seconds": mean(record["seconds"] for record in records),
    }


def _covered(cases: Sequence[Record], truth: str, interval: str) -> tuple[int, int]:
    """How often an interval holds the truth, of how many that there are."""
    known = [(case[truth], case[interval]) for case in cases if case.get(interval) is not None]
    return sum(low <= true <= high for true, (low, high) in known), len(known)


def mean(values: Iterable[float | None]) -> float | None:
    """Of those that are known."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None


def _error(cases: Sequence[Record], name: str) -> float | None:
    """Mean absolute distance of a number from the truth."""
    return mean(abs(case[name] - case["truth"]) for case in cases if case[name] is not None)


def _outside(cases: Sequence[Record], name: str) -> int:
    """Cases whose number, or all of whose interval, is outside the bounds that need no graph."""
    known = [(case[name], case["bounds"]) for case in cases if case[name] is not None]
    ends = [(value if isinstance(value, list) else [value, value], limits) for value, limits in known]
    return sum(high < limits[0] or low > limits[1] for (low, high), limits in ends)


def _shares(counts: Sequence[dict[str, int]]) -> dict[str, float | None]:
    """Precision and recall, all worlds pooled."""
    true, found, both = (sum(one[name] for one in counts) for name in ("true", "found", "both"))
    return {"precision": both / found if found else None, "recall": both / true if true else None}


# As Markdown


def report(summary: dict[str, Record]) -> str:
    """The tables."""
    methods = dict.fromkeys(method for found in summary.values() for method in found["truth_by_method"])
    tables = [
        markdown(summary, "changing ratio", _RATIO),
        markdown(summary, "outside the bounds", {name: _bound_column(name) for name in _BOUNDED}),
        markdown(summary, "true ratio (AUC-ROC)", {method: _method_column(method) for method in methods}),
        markdown(summary, "true ratio at AE's share", {method: _share_column(method) for method in methods}),
        markdown(
            summary, "interval covers", {method: _count_column("coverage_by_method", method) for method in methods}
        ),
        markdown(
            summary, "interval of difference from AE covers", {m: _count_column("improvement", m) for m in methods}
        ),
        markdown(summary, "precision, recall", _GRAPH),
    ]
    return "\n\n".join(tables)


def markdown(summary: dict[str, Record], corner: str, columns: dict[str, Callable[[Record], str]]) -> str:
    """A table, one row for each part of the summary."""
    lines = [f"| {corner} | {' | '.join(columns)} |", f"|{'---|' * (len(columns) + 1)}"]
    for name, found in summary.items():
        lines.append(f"| {name} | {' | '.join(column(found) for column in columns.values())} |")
    return "\n".join(lines)


def shown(value: float | None, digits: int = 3) -> str:
    """A number, or a dash."""
    return "-" if value is None else f"{value:.{digits}f}"


def _coverage(found: Record) -> str:
    return "-" if found["coverage"] is None else f"{found['covered']} of {found['cases']}, {found['coverage']:.0%}"


def _bound_column(name: str) -> Callable[[Record], str]:
    return lambda found: str(found["outside_bounds"][name])


def _method_column(method: str) -> Callable[[Record], str]:
    return lambda found: f"{shown(found['truth_by_method'].get(method))} ({shown(found['auc_roc'].get(method), 2)})"


def _share_column(method: str) -> Callable[[Record], str]:
    return lambda found: shown(found["truth_at_share"].get(method))


def _count_column(part: str, method: str) -> Callable[[Record], str]:
    return lambda found: " of ".join(map(str, found[part].get(method, (0, 0))))


def _graph_column(part: str) -> Callable[[Record], str]:
    return lambda found: ", ".join(shown(share, 2) for share in found["graph"][part].values())


_RATIO: dict[str, Callable[[Record], str]] = {
    "worlds": lambda found: str(found["worlds"]),
    "90 % interval covers": _coverage,
    "too low": lambda found: str(found["too_low"]),
    "too high": lambda found: str(found["too_high"]),
    "mean width": lambda found: shown(found["width"]),
    "true ratio": lambda found: shown(found["truth"]),
    "mean error": lambda found: shown(found["error"], 4),
    "bias": lambda found: shown(found["bias"], 4),
    "twin test": lambda found: shown(found["twin_test"]),
    "seconds": lambda found: shown(found["seconds"], 1),
}
_GRAPH = {"edges": _graph_column("edges"), "skeleton": _graph_column("skeleton"), "reach": _graph_column("reach")}


def read_records(path: Path | None, settings: Record) -> list[Record]:
    """The worlds that were measured before, which must have been so with the same settings."""
    if path is None or not path.exists():
        return []
    records = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    other = next((record["settings"] for record in records if record["settings"] != settings), None)
    if other is not None:
        raise SystemExit(f"{path} holds worlds that were measured with {other}, not {settings}; name another file.")
    return records


def measure_missing(
    options: argparse.Namespace, settings: Record, measured: Callable[[int, str], Record]
) -> list[Record]:
    """All worlds that are asked for and those in the file; what is not there yet is measured and appended to it."""
    records = read_records(options.out, settings)
    known = {(record["world"], record["family"]) for record in records}
    for number in range(options.first, options.first + options.worlds):
        family = options.families[number % len(options.families)]
        if (number, family) in known:
            continue
        records.append(measured(number, family))
        print(f"world {number} ({family}): {records[-1].get('seconds', 'refused')}", file=sys.stderr, flush=True)
        if options.out is not None:
            with options.out.open("a", encoding="utf-8") as lines:
                lines.write(json.dumps(records[-1]) + "\n")
    return records


def publish(options: argparse.Namespace, records: Sequence[Record], summary: dict[str, Record], tables: str) -> None:
    """Print the tables and what was refused; write the summary."""
    if options.summary is not None:
        options.summary.write_text(json.dumps(summary, indent=1) + "\n", encoding="utf-8")
    print(tables)
    for record in records:
        if "error" in record:
            print(f"\nWorld {record['world']} ({record['family']}) was refused: {record['error']}")


def main() -> None:
    """Measure what is missing, print the tables."""
    carry_out(parser(METHODS, str(__doc__)).parse_args(), measure, summarise, report)


def carry_out(
    options: argparse.Namespace,
    measure: Callable[[World, AuditConfig, int | None], Record],
    summarise: Callable[[Sequence[Record]], dict[str, Record]],
    report: Callable[[dict[str, Record]], str],
) -> None:
    """Measure the worlds that are missing, and print and write what all of them say."""
    config = AuditConfig(methods=tuple(options.methods), subsamples=options.subsamples)

    def measured(number: int, family: str) -> Record:
        return measure(draw_world(number, family), config.replace(seed=number), options.most_rows)

    records = measure_missing(options, settings_of(config, options.most_rows), measured)
    summary = summarise(records)
    publish(options, records, summary, report(summary))


def parser(methods: Sequence[str], description: str) -> argparse.ArgumentParser:
    """What may be asked for."""
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--worlds", type=int, default=len(FAMILIES))
    parser.add_argument("--first", type=int, default=0, help="number of the first world; others are other worlds")
    parser.add_argument("--families", nargs="+", choices=FAMILIES, default=list(FAMILIES), help="they take turns")
    parser.add_argument("--methods", nargs="+", default=list(methods))
    parser.add_argument("--subsamples", type=int, default=20, help="0: no intervals")
    parser.add_argument("--most-rows", type=int, help="of a table, for a quick look; the first ones")
    parser.add_argument("--out", type=Path, help="JSON lines, one a world, to go on with later")
    parser.add_argument("--summary", type=Path, help="the summary as JSON")
    return parser


if __name__ == "__main__":
    main()
