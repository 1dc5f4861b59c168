"""What remains of the changing ratio without the paths that somebody calls justified, for sections of the report."""

from __future__ import annotations

from collections.abc import Iterator

from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.paths import measure_remaining, times_in_graphs, why_not
from cfad_core.audit.statements import LONGEST, JustifiedPath, Statements
from cfad_core.core.formats import SMALLEST_GROUP, counted
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.intervals import bounds_name
from cfad_core.evaluation.path_shares import RemainingRatio
from cfad_core.report.document import Block, Bullets, Cell, Field, Table, bullets, clean
from cfad_core.report.numbers import Number, points, share
from cfad_core.report.subject import Subject

_NOT_MEASURED = Number("not measured")


def remaining_ratios(audit: Subject, comparison: Comparison, statements: Statements) -> dict[str, RemainingRatio]:
    """By method, each at its threshold; nothing where no justified path begins there, or none can be measured."""
    seen = audit.result.seen(comparison.name)
    compared = {audit.result.model.attributes[s] for s in comparison.attributes}
    paths = [one.path for one in statements.justified_paths if one.path[0] in compared]
    thresholds = {method: audit.threshold_of(method) for method in seen.scores if not why_not(seen, method)}
    if not paths or not thresholds or len(seen.people.judged) < SMALLEST_GROUP:
        return {}
    return measure_remaining(seen, thresholds, paths)


def remaining_field(audit: Subject, comparison: Comparison, statements: Statements) -> Iterator[Field]:
    """The number of the report's own detector."""
    found = remaining_ratios(audit, comparison, statements).get(audit.method)
    if found is not None:
        label = f"Without the paths that are called justified{_with_ends(found)}; the verdict counts them"
        yield Field("without_justified", label, share(found.remaining.value, found.remaining.interval))


def justified_paths(audit: Subject, statements: Statements) -> Iterator[Block]:
    """The paths with their reasons, and what remains without them."""
    title = "Paths that are called justified"
    if not statements.justified_paths:
        yield Bullets(("None was named. All paths from the sensitive attribute count.",), title)
        return
    edges, judges = set(audit.result.model.edges()), len(audit.result.judge_models)
    rows: tuple[dict[str, Cell], ...] = tuple(
        {
            "path": one.text,
            "reason": clean(one.reason),
            "in_graph": _is_in_graph(one, edges),
            "found": f"{times_in_graphs(audit.result, one.path)} of {judges}" if judges else "not measured",
        }
        for one in statements.justified_paths
    )
    columns = {"path": "Path", "reason": "Reason", "in_graph": "Drawn", "found": "Found"}
    note = (
        "Drawn: whether the graph above has the path. Found: in how many of the judges' graphs. The verdict, and every "
        "number that does not say otherwise, counts these paths as well."
    )
    yield Table("justified", title, columns, rows, note, longest=LONGEST)
    tables = [table for one in audit.comparisons for table in _remaining(audit, one, statements)]
    yield from tables or bullets([_why(audit)], "What remains without them")


def _is_in_graph(path: JustifiedPath, edges: set[tuple[str, str]]) -> str:
    missing = [(a, b) for a, b in zip(path.path, path.path[1:], strict=False) if (a, b) not in edges]
    return "no: there is no arrow " + ", ".join(f"{a} → {b}" for a, b in missing) if missing else "yes"


def _remaining(audit: Subject, comparison: Comparison, statements: Statements) -> Iterator[Table]:
    found = remaining_ratios(audit, comparison, statements)
    if not found:
        return
    rows: list[dict[str, Cell]] = []
    for method in audit.result.scores:
        one = found.get(method)
        rows.append(
            {
                "method": label_of(method) + (" (this report)" if method == audit.method else ""),
                "whole": _NOT_MEASURED if one is None else share(one.whole.value, one.whole.interval),
                "remaining": _NOT_MEASURED if one is None else share(one.remaining.value, one.remaining.interval),
                "gone": _NOT_MEASURED if one is None else points(one.gone.value, one.gone.interval),
            }
        )
    first = next(iter(found.values()))
    columns = {
        "method": "Detector",
        "whole": f"Outcome changes{_with_ends(first)}",
        "remaining": "Without the justified paths",
        "gone": "What goes with them",
    }
    title = "What remains without them" + (f", by {comparison.name}" if len(audit.comparisons) > 1 else "")
    note = (
        f"By {counted(first.models, 'causal model')} of {first.people:,} people, each detector at its own threshold. "
        "Along a justified path, and whatever follows from it, every column is as if the sensitive attribute had not "
        "changed. A graph that does not have a path takes nothing away."
    )
    if audit.result.people.truth is not None:
        note += " The true twins, by which other numbers are, know no paths: here the causal models' twins count."
    yield Table(f"remaining_{comparison.name}", title, columns, tuple(rows), note)


def _why(audit: Subject) -> str:
    """Why nothing was measured."""
    for comparison in audit.comparisons:
        if reason := why_not(audit.result.seen(comparison.name), audit.method):
            return f"Not measured. {reason}"
    return "Not measured: none of these paths begins at a sensitive attribute."


def _with_ends(found: RemainingRatio) -> str:
    return "" if found.remaining.interval is None else f" ({bounds_name(found.models)})"
