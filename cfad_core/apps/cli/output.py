"""What the commands show: tables of text, and a bar while they work."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from cfad_core.core.progress import Progress
from cfad_core.evaluation.intervals import ENOUGH

if TYPE_CHECKING:
    from cfad_core.audit.result import AuditResult


def summary_table(result: AuditResult) -> str:
    """The audit in a few lines of text."""
    people, affected = result.people, result.scm.affected_names
    first, second = result.encoding.groups
    sizes = {name: int(rows.sum()) for name, rows in result.groups.items()}
    judge = "truth" if result.judge is None else "independent"
    header = ["method", "AUC-PR", "AUC-ROC", "Macro-F1", "flagged", "changed (own SCM)", f"changed ({judge})"]
    if result.uncertainty is not None:
        enough = len(result.uncertainty.graphs) >= ENOUGH
        header += ["90 % interval" if enough else "lowest to highest", "model error"]
    rows = []
    for method in result.scores:
        metrics = result.metrics(method)
        values = (metrics.auc_pr, metrics.auc_roc, metrics.macro_f1, metrics.flag_rate)
        ratios = (metrics.changing_ratio, metrics.changing_ratio_independent)
        row = [method, *(shown(value, metrics.n_anomaly or 0) for value in (*values, *ratios))]
        found = result.intervals(method)
        if found is not None:
            sure = found.changing_ratio
            row += ["n/a" if sure is None else f"{sure.low:.3f} to {sure.high:.3f}", shown(result.floor(method))]
        rows.append(row)
    lines = [
        f"{len(people.row)} people judged ({sizes[first]} '{first}', {sizes[second]} '{second}'), "
        f"threshold = {result.config.quantile:g} quantile of training scores.",
        f"'{result.scm.sensitive}' affects {len(affected)} of {len(result.encoding.variables)} attributes"
        + (f": {', '.join(affected)}." if affected else "."),
        "",
        aligned([header, *rows]),
        "",
        "changed = share of people whose outcome differs, had they belonged to the other group.",
        "",
        *(f"{method}: {result.verdict(method)}" for method in result.scores),
        "",
    ]
    lines += [f"{notice.severity}: {notice.text}" for notice in result.notices]
    return "\n".join(lines)


def shown(value: float | None, n: int | None = None) -> str:
    if value is None:
        return "n/a" if n is None else f"n/a (n = {n})"
    return f"{value:.3f}"


def aligned(rows: list[list[str]]) -> str:
    widths = [max(len(row[k]) for row in rows) for k in range(len(rows[0]))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows
    )


class TerminalProgress(Progress):
    """A bar for each stage on a terminal; silent elsewhere."""

    def __init__(self) -> None:
        self._bar: Any = None
        self._stage = ""

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.close()

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        if not sys.stderr.isatty():
            return
        from tqdm import tqdm

        if self._bar is None or stage != self._stage or step < self._bar.n:
            if self._bar is not None:
                self._bar.close()
            form = "{desc:17}|{bar:30}| {percentage:3.0f}% {postfix}"
            self._bar = tqdm(total=total, desc=stage, leave=False, bar_format=form, file=sys.stderr)
            self._stage = stage
        self._bar.n = step
        self._bar.set_postfix({name: f"{value:.3g}" for name, value in values.items()})
