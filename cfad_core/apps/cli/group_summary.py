"""What an audit says about groups, as text: between which of them outcomes change, and how they differ.

As in ``audit.json``, there is nothing about groups of fewer than ten people.
"""

from __future__ import annotations

from collections.abc import Iterator

from cfad_core.apps.cli.output import aligned, interval_kind, shown, span
from cfad_core.audit.group_report import GroupReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import HIDDEN_SIZE, SMALLEST_GROUP, counted
from cfad_core.evaluation.extremes import Estimate, Spread
from cfad_core.evaluation.group_metrics import COMPARED
from cfad_core.evaluation.interaction import cancelling_line, interaction_line
from cfad_core.evaluation.metrics import GROUP_METRICS
from cfad_core.evaluation.pair_table import PairTable, worst_line
from cfad_core.evaluation.slices import slice_lines

_MOST_PAIRS = 6  # that are listed of a method
_MOST_SLICES = 3  # of a method and a kind
_MOST_GROUPS = 12  # of two attributes, there may be many more
_INTERVAL = "90 % interval"
_LEFT_OUT = ("false_negative_rate",)  # follows from the anomalies that are flagged


def pairs(result: AuditResult) -> str:
    """Between which groups outcomes change, of every attribute with more than two."""
    parts = []
    for comparison in result.plan.comparisons:
        if comparison.is_joint or len(comparison.groups) == 2:
            continue
        tables = {one.method: one.pairs_at(one.report.threshold) for one in _of(result, comparison.name)}
        known = {method: table.suppressed() for method, table in tables.items() if table is not None}
        parts.append(_pair_section(known, comparison.name))
    return "\n\n".join(parts)


def _pair_section(tables: dict[str, PairTable], attribute: str) -> str:
    first = next(iter(tables.values()))
    count, allowed = len(first.pairs), counted(first.looked_at, "pair")
    which = (
        f"the {_MOST_PAIRS} highest of {count} pairs of each method" if count > _MOST_PAIRS else f"all {count} pairs"
    )
    measured = any(pair.simultaneous is not None for pair in first.pairs)
    header = ["method", "people of", "had they been", "people", "outcome changes"]
    header += [_INTERVAL] if measured else []
    header += ["newly flagged", "no longer flagged"]
    rows = [[method, *row] for method, table in tables.items() for row in _pair_rows(table, measured)]
    allowing = f"; intervals allow for looking at {allowed}" if measured else ""
    lines = [f"{method}: {worst_line(table, attribute)}" for method, table in tables.items()]
    return "\n".join([f"Between groups of {attribute} ({which}{allowing}):", aligned([header, *rows]), "", *lines])


def _pair_rows(table: PairTable, measured: bool) -> Iterator[list[str]]:
    """Those with the most changes first."""
    for pair in sorted(table.pairs, key=lambda pair: -(pair.ratio or 0.0))[:_MOST_PAIRS]:
        between = [span(pair.simultaneous)] if measured else []
        changes = [shown(pair.newly_flagged), shown(pair.newly_cleared)]
        people = HIDDEN_SIZE if pair.n is None else str(pair.n)
        yield [table.names[pair.source], table.names[pair.target], people, shown(pair.ratio), *between, *changes]


def groups_with_intervals(result: AuditResult) -> str:
    """Every metric of each group as it is, and whose outcome changes, by comparison."""
    parts = []
    for comparison in result.plan.comparisons:
        columns = _columns(result, comparison.name)
        rows = [["method", "group", "people", "outcome changes", *(GROUP_METRICS[name].label for name in columns)]]
        for one in _of(result, comparison.name):
            rows += [[one.method, *row] for row in _group_rows(one, columns)]
        count = len(comparison.groups)
        which = f" (the {_MOST_GROUPS} of {count} that are flagged most often)" if count > _MOST_GROUPS else ""
        bounds = interval_kind(result)
        unlike = f"; of outcome changes {bounds}" if result.stability is not None and bounds != _INTERVAL else ""
        parts.append(f"By group of {comparison.name}{which}, with {_INTERVAL}s{unlike}:\n{aligned(rows)}")
    return "\n\n".join(parts)


def _columns(result: AuditResult, comparison: str) -> list[str]:
    """The metrics that some group has: without labels there are few."""
    found = [one.metrics_at(one.report.threshold).groups for one in _of(result, comparison)]
    known = {name for groups in found for group in groups for name in COMPARED if group.metrics[name].value is not None}
    return [name for name in COMPARED if name in known and name not in _LEFT_OUT]


def _group_rows(report: GroupReport, columns: list[str]) -> Iterator[list[str]]:
    threshold = report.report.threshold
    table, found = report.pairs_at(threshold), report.report.metrics.groups
    groups = list(enumerate(report.metrics_at(threshold).suppressed().groups))
    often = sorted(groups, key=lambda one: -(one[1].metrics["flag_rate"].value or 0.0))[:_MOST_GROUPS]
    for k, group in groups if len(groups) <= _MOST_GROUPS else often:
        changes = None if group.n is None else found.get(group.name, {}).get("changing_ratio")
        between = None if table is None else table.any_other_by_group[k].interval
        cells = [_cell(group.metrics[name], group.n) for name in columns]
        people = HIDDEN_SIZE if group.n is None else str(group.n)
        yield [group.name, people, _cell(Estimate(changes, between), group.n), *cells]


def impact_ratios(result: AuditResult) -> str:
    """The lowest over the highest share of people, read both ways."""
    several = len(result.plan.comparisons) > 1
    rows = [["method", *(["groups of"] if several else []), "flagged, as a harm", "not flagged, as a benefit"]]
    for comparison in result.plan.comparisons:
        for one in _of(result, comparison.name):
            ratio = one.metrics_at(one.report.threshold).suppressed().impact_ratio
            if ratio is None:
                continue
            name = [comparison.name] if several else []
            rows.append([one.method, *name, _spread(ratio.as_harm), _spread(ratio.as_benefit)])
    if len(rows) == 1:
        return ""
    return f"Impact ratio = lowest over highest share of people, over the groups:\n{aligned(rows)}"


def interactions(result: AuditResult) -> str:
    """Whose outcome changes only if two attributes change at once."""
    parts = []
    for comparison in result.plan.comparisons:
        if not comparison.is_joint:
            continue
        first, second = (result.model.attributes[s] for s in comparison.attributes)
        lines = [f"Both {comparison.name}:"]
        for one in _of(result, comparison.name):
            found = one.interaction_at(one.report.threshold)
            if found is not None:
                said = f"{interaction_line(found, first, second)} {cancelling_line(found, first, second)}"
                lines.append(f"  {one.method}: {said}")
        parts.append("\n".join(lines))
    return "\n".join(parts)


def slices(result: AuditResult) -> str:
    """Subgroups that nobody asked about, where they are flagged more often, or outcomes change more often."""
    several, lines = len(result.plan.comparisons) > 1, []
    for method, some in result.slices.items():
        for name, found in {"": some.flagged, **some.changes}.items():
            who = f"{method}, {name}" if name and several else method
            first, *others = slice_lines(found)
            if others:
                more = [f"and {len(others) - _MOST_SLICES} more, in audit.json"] if len(others) > _MOST_SLICES else []
                lines += [f"  {who}: {first}", *(f"    {line}" for line in (*others[:_MOST_SLICES], *more))]
    return "\n".join(["Other subgroups that stand out:", *lines]) if lines else ""


def _of(result: AuditResult, comparison: str) -> list[GroupReport]:
    """Of every method."""
    return [result.group_report(method, comparison) for method in result.scores]


def _cell(found: Estimate, n: int | None) -> str:
    """``0.123 (0.080 to 0.161)``, of n people without the number ``n/a (n = 17)``; n is None if they are too few."""
    if found.value is None:
        return f"n/a (n < {SMALLEST_GROUP})" if n is None else shown(None, n)
    return shown(found.value) if found.interval is None else f"{shown(found.value)} ({span(found.interval)})"


def _spread(found: Spread) -> str:
    """``0.640 (0.300 to 1.000): 'Black' / 'White'``."""
    if found.ratio.value is None:
        return "n/a"
    return f"{_cell(found.ratio, None)}: '{found.lowest}' / '{found.highest}'"
