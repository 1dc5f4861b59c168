"""audits history: the batches that were scored with an audit, and what a batch says in a line."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.opening import audit_folder
from cfad_core.apps.cli.options import Commands
from cfad_core.apps.cli.output import aligned, shown, span
from cfad_core.core.formats import percent, percent_range

if TYPE_CHECKING:
    from cfad_core.audit.batch import Batch, ComparisonBatch, MethodBatch
    from cfad_core.audit.result import AuditResult

_PASS = {True: "yes", False: "no", None: "n/a"}
_HEADER = ["date", "source", "n", "compared by", "method", "flagged", "changes", "interval", "twins pass", "alarm"]


def add_to(actions: Commands) -> None:
    """To the actions of ``audits``."""
    history = actions.add_parser("history", help="the batches that were scored with one, and whether it still fits")
    history.add_argument("audit", metavar="AUDIT", help="audit folder, or id of a saved audit")
    history.add_argument("--csv", type=Path, metavar="FILE", help="also write all of it as a table")
    history.set_defaults(run=_show_history)


def batch_line(batch: Batch) -> str:
    """What a batch says about its first comparison."""
    first = batch.comparisons[0]
    parts = [
        f"{method} flags {percent(found.flag_rate.value)}, outcome changes {percent(found.changing_ratio)}"
        + ("" if found.interval is None else f" ({percent_range(found.interval.low, found.interval.high)})")
        for method, found in first.methods.items()
    ]
    twins = "" if first.twin_test is None else f"; twins: AUC {first.twin_test.auc:.2f}"
    by = f", compared by {first.name}" if len(batch.comparisons) > 1 else ""
    return f"Batch of {batch.date}, {batch.n:,} people{by}: {'; '.join(parts) or 'no detector is at hand'}{twins}."


def _show_history(options: argparse.Namespace) -> None:
    from cfad_core.audit.folder import load_audit
    from cfad_core.audit.history import history_table, read_history
    from cfad_core.data.tables import safe_for_spreadsheets, write_table

    folder = audit_folder(options.audit)
    batches = read_history(folder)
    if options.csv is not None:
        write_table(safe_for_spreadsheets(history_table(batches)), options.csv)
    if not batches:
        print("No batch was scored with this audit yet: 'score AUDIT TABLE --out FILE' adds one.")
        return
    print(aligned([_HEADER, *_audit_rows(load_audit(folder)), *_batch_rows(batches)]))
    for batch in batches:
        if batch.alarm is not None:
            print(f"\nwarning: {batch.date}, {batch.source or 'a table'}: {batch.alarm}")


def _audit_rows(result: AuditResult) -> list[list[str]]:
    """The audit's own people, to compare with."""
    rows = []
    for comparison in result.plan.comparisons:
        seen = result.seen(comparison.name)
        test = seen.checks[0].twin_test if seen.checks else None
        for method, report in seen.reports.items():
            ratio, interval = report.metrics.changing_ratio, report.changing_ratio_interval(report.threshold)
            numbers = [shown(report.metrics.flag_rate), shown(ratio), span(interval)]
            passes = _PASS[None if test is None else test.passes()]
            rows.append(["audit", "", str(seen.judged_people), comparison.name, method, *numbers, passes, ""])
    return rows


def _batch_rows(batches: Sequence[Batch]) -> list[list[str]]:
    return [
        _row(batch, comparison, method, found)
        for batch in batches
        for comparison in batch.comparisons
        for method, found in comparison.methods.items()
    ]


def _row(batch: Batch, comparison: ComparisonBatch, method: str, found: MethodBatch) -> list[str]:
    numbers = [shown(found.flag_rate.value), shown(found.changing_ratio), span(found.interval)]
    alarm = "" if batch.alarm is None else "alarm"
    return [
        *(batch.date, batch.source, str(batch.n), comparison.name, method),
        *(*numbers, _PASS[comparison.twins_pass], alarm),
    ]
