"""A finished audit as text: one function for each section."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from cfad_core.apps.cli.group_summary import groups_with_intervals, impact_ratios, interactions, pairs, slices
from cfad_core.apps.cli.output import aligned, interval_kind, shown, span
from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.evaluation.metrics import GROUP_METRICS


def summary(result: AuditResult) -> str:
    """The audit in a few lines of text."""
    return "\n\n".join(text for section in SECTIONS if (text := section(result)))


def people(result: AuditResult) -> str:
    """Who was judged, and what the sensitive attributes affect."""
    counts = [_sizes(result, one) for one in result.plan.comparisons if not one.is_joint]
    among = "" if len(counts) > 1 else f" ({counts[0]})"
    lines = [f"{result.judged_people} people judged{among}, threshold = {result.threshold_rule}."]
    for name, sizes in zip(result.model.attributes, counts, strict=True):
        affected = result.model.affected_by([name])
        who = f"'{name}'" if len(counts) == 1 else f"'{name}' ({sizes})"
        lines.append(
            f"{who} affects {len(affected)} of {len(result.encoding.variables)} attributes"
            + (f": {', '.join(affected)}." if affected else ".")
        )
    return "\n".join(lines)


def _sizes(result: AuditResult, comparison: Comparison) -> str:
    """How many people are in each group."""
    return ", ".join(f"{count} '{name}'" for name, count in result.sizes(comparison).items())


def methods(result: AuditResult) -> str:
    """A line of numbers for each method, and for each comparison where there are several."""
    header = ["method", "AUC-PR", "AUC-ROC", "Macro-F1", "flagged", "outcome changes"]
    if result.stability is not None:
        header += [interval_kind(result), "model error"]
    rows = [[report.method, *name, *_numbers(report)] for name, report in _reports(result)]
    several = len(result.plan.comparisons) > 1
    if several:
        header.insert(1, "compared")
        otherwise = (
            "had they belonged to another group of what is compared (of two attributes, to other groups of both)"
        )
    else:
        otherwise = result.seen().reports[rows[0][0]].basis.view.otherwise
    explained = f"outcome changes = share of people whose outcome would change, {otherwise}, by " + (
        "their true twins." if result.people.truth is not None else "causal models that no detector knows."
    )
    return f"{aligned([header, *rows])}\n\n{explained}"


def _reports(result: AuditResult) -> Iterator[tuple[list[str], MethodReport]]:
    """Every report, with the name of its comparison where there are several."""
    several = len(result.plan.comparisons) > 1
    for comparison in result.plan.comparisons:
        for report in result.seen(comparison.name).reports.values():
            yield [comparison.name] if several else [], report


def _numbers(report: MethodReport) -> list[str]:
    metrics = report.metrics
    values = (metrics.auc_pr, metrics.auc_roc, metrics.macro_f1, metrics.flag_rate, metrics.changing_ratio)
    row = [shown(value, metrics.n_anomaly or 0) for value in values]
    if report.intervals is not None:
        row += [span(report.intervals.changing_ratio), shown(report.model_error(report.threshold))]
    return row


def groups(result: AuditResult) -> str:
    """Every group metric of each method; with intervals where there are more than two groups."""
    if len(result.plan.moves) > 1:
        return groups_with_intervals(result)
    rows = [["method", "group", *(metric.label for metric in GROUP_METRICS.values())]]
    for report in result.reports.values():
        for group, values in report.metrics.groups.items():
            rows.append([report.method, group, *(_group_cell(values[name]) for name in GROUP_METRICS)])
    return f"By group:\n{aligned(rows)}"


def _group_cell(value: float | None) -> str:
    return str(value) if isinstance(value, int) else shown(value)


def verdicts(result: AuditResult) -> str:
    return "\n".join(f"{', '.join([report.method, *name])}: {report.verdict}" for name, report in _reports(result))


def improvements(result: AuditResult) -> str:
    """How each method compares with the plain autoencoder."""
    lines = []
    for name, report in _reports(result):
        line = result.seen(name[0] if name else None).improvement_line(report.method)
        if line is not None:
            lines.append(": ".join([*name, line]))
    return "\n".join(lines)


def evidence(result: AuditResult) -> str:
    """What supports each method's number."""
    parts = []
    for name, report in _reports(result):
        lines = report.evidence_lines_at(report.threshold)
        title = f"Evidence for {', '.join([report.method, *name])}:"
        parts.append("\n".join([title, *(f"  {line}" for line in lines)]) if lines else "")
    return "\n".join(part for part in parts if part)


def findings(result: AuditResult) -> str:
    return "\n".join(f"{finding.severity}: {finding.text}" for finding in result.findings)


SECTIONS: tuple[Callable[[AuditResult], str], ...] = (
    people,
    methods,
    pairs,
    groups,
    impact_ratios,
    interactions,
    slices,
    verdicts,
    improvements,
    evidence,
    findings,
)
"""What is printed, in order; a section is a function here."""
