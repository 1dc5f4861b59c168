"""A finished audit as text: one function for each section."""

from __future__ import annotations

from collections.abc import Callable

from cfad_core.apps.cli.output import aligned, shown
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.evaluation.intervals import ENOUGH
from cfad_core.evaluation.metrics import GROUP_METRICS


def summary(result: AuditResult) -> str:
    """The audit in a few lines of text."""
    return "\n\n".join(text for section in SECTIONS if (text := section(result)))


def people(result: AuditResult) -> str:
    """Who was judged, and what the sensitive attribute affects."""
    affected = result.model.affected_names
    sizes = ", ".join(f"{int(rows.sum())} '{name}'" for name, rows in result.groups.items())
    return (
        f"{len(result.people.row)} people judged ({sizes}), threshold = {result.config.quantile:g} quantile of "
        f"training scores.\n'{result.model.sensitive}' affects {len(affected)} of {len(result.encoding.variables)} "
        "attributes" + (f": {', '.join(affected)}." if affected else ".")
    )


def methods(result: AuditResult) -> str:
    """A line of numbers for each method."""
    header = ["method", "AUC-PR", "AUC-ROC", "Macro-F1", "flagged", "outcome changes"]
    if result.stability is not None:
        enough = len(result.stability.graphs) >= ENOUGH
        header += ["90 % interval" if enough else "lowest to highest", "model error"]
    rows = [_method_row(report) for report in result.reports.values()]
    explained = (
        "outcome changes = share of people whose outcome would change, had they belonged to the other group, by "
        + ("their true twins." if result.people.truth is not None else "causal models that no detector knows.")
    )
    return f"{aligned([header, *rows])}\n\n{explained}"


def _method_row(report: MethodReport) -> list[str]:
    metrics = report.metrics
    values = (metrics.auc_pr, metrics.auc_roc, metrics.macro_f1, metrics.flag_rate, metrics.changing_ratio)
    row = [report.method, *(shown(value, metrics.n_anomaly or 0) for value in values)]
    if report.intervals is not None:
        found = report.intervals.changing_ratio
        row.append("n/a" if found is None else f"{found.low:.3f} to {found.high:.3f}")
        row.append(shown(report.model_error(report.threshold)))
    return row


def groups(result: AuditResult) -> str:
    """Every group metric of each method."""
    rows = [["method", "group", *(metric.label for metric in GROUP_METRICS.values())]]
    for report in result.reports.values():
        for group, values in report.metrics.groups.items():
            rows.append([report.method, group, *(_group_cell(values[name]) for name in GROUP_METRICS)])
    return f"By group:\n{aligned(rows)}"


def _group_cell(value: float | None) -> str:
    return str(value) if isinstance(value, int) else shown(value)


def verdicts(result: AuditResult) -> str:
    return "\n".join(f"{report.method}: {report.verdict}" for report in result.reports.values())


def improvements(result: AuditResult) -> str:
    """How each method compares with the plain autoencoder."""
    return "\n".join(line for method in result.reports if (line := result.improvement_line(method)) is not None)


def evidence(result: AuditResult) -> str:
    """What supports each method's number."""
    parts = []
    for report in result.reports.values():
        lines = report.evidence_lines_at(report.threshold)
        parts.append("\n".join([f"Evidence for {report.method}:", *(f"  {line}" for line in lines)]) if lines else "")
    return "\n".join(part for part in parts if part)


def findings(result: AuditResult) -> str:
    return "\n".join(f"{finding.severity}: {finding.text}" for finding in result.findings)


SECTIONS: tuple[Callable[[AuditResult], str], ...] = (
    people,
    methods,
    groups,
    verdicts,
    improvements,
    evidence,
    findings,
)
"""What is printed, in order; a section is a function here."""
