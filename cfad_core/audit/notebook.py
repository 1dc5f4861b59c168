"""An audit as a notebook shows it: HTML that needs no script and loads nothing, on light and on dark pages.

Whatever comes from a table is text: it passes through ``plain``. Of groups of fewer than ten people nothing is shown.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from cfad_core.audit.report import MethodReport
from cfad_core.core.formats import SMALLEST_GROUP, counted, exceeded_by, number, percent, percent_range, suppressed_size
from cfad_core.detectors.registry import METHODS, look_of
from cfad_core.evaluation.intervals import ENOUGH, Interval
from cfad_core.evaluation.metrics import suppressed
from cfad_core.evaluation.verdict import reliability
from cfad_core.figures import color_of
from cfad_core.figures.sketches import RateRow, RatioRow, densities_sketch, plain, rates_sketch, ratios_sketch

if TYPE_CHECKING:
    from cfad_core.audit.comparisons import Comparison, View
    from cfad_core.audit.result import AuditResult

_LONGEST = 900  # of a verdict or a warning, which name columns
_MOST_WARNINGS = 5
_MOST_GROUPS = 12  # that are named
_MOST_COLUMNS = 4  # methods in the table of comparisons
_UNFOLDED = 6  # methods that are shown without a click

STYLE = """<style>
.cfad{font:14px/1.45 system-ui,sans-serif;color:inherit;max-width:1420px}
.cfad h3,.cfad h4{margin:14px 0 4px;font-weight:600;line-height:1.3}.cfad h3{font-size:17px}.cfad h4{font-size:15px}
.cfad p{margin:3px 0 7px;max-width:940px}.cfad .quiet{opacity:.75;font-size:13px}
.cfad .method{border-left:4px solid;padding:1px 0 1px 12px;margin:10px 0}
.cfad .method h4{margin-top:0}
.cfad .tiles,.cfad .pictures{display:flex;flex-wrap:wrap;gap:6px}.cfad .pictures{gap:10px 20px;margin:12px 0}
.cfad .tile{background:rgba(128,128,128,.13);border-radius:6px;padding:5px 9px}
.cfad .tile b{display:block;font-size:16px;font-weight:600}.cfad .tile span{display:block;font-size:12px;opacity:.8}
.cfad figure{margin:0;flex:1 1 390px;max-width:460px;min-width:260px}
.cfad figcaption{font-weight:600;font-size:13px;margin-bottom:2px}
.cfad table{border-collapse:collapse;margin:8px 0;font-size:13px;color:inherit;background:transparent}
.cfad tbody tr{background:transparent!important}
.cfad th,.cfad td{text-align:left!important;padding:3px 14px 3px 0;border:0;
border-bottom:1px solid rgba(128,128,128,.35);vertical-align:top;max-width:320px;overflow-wrap:anywhere}
.cfad td.number,.cfad th.number{text-align:right!important;font-variant-numeric:tabular-nums;white-space:nowrap}
.cfad ul{margin:4px 0;padding-left:20px}.cfad li{margin:2px 0;max-width:920px}.cfad summary{cursor:pointer}
.cfad .name,.cfad p,.cfad li{unicode-bidi:isolate;overflow-wrap:anywhere}
</style>"""


def leading_method(result: AuditResult) -> str:
    """The method that is shown first: somebody's own detector if there is one, else the first of the audit."""
    return next((method for method in result.scores if method not in METHODS), next(iter(result.scores)))


def audit_html(result: AuditResult) -> str:
    """The audit, or a view of it: who was judged, the verdict on each method, three figures, and what to beware of."""
    seen = result.seen() if result.view is None else result
    view = view_of(seen)
    parts = [_heading(seen, view), *_comparisons(result, view)]
    if not len(seen.people.row):
        return page([*parts, "<p>Nobody was judged.</p>"])
    lead = leading_method(seen)
    others = [report for method, report in seen.reports.items() if method != lead]
    parts += [_method(seen, seen.reports[lead]), _pictures(seen, seen.reports[lead])]
    parts += [_method(seen, report) for report in others[: _UNFOLDED - 1]]
    if folded := others[_UNFOLDED - 1 :]:
        inside = "".join(_method(seen, report) for report in folded)
        parts.append(f"<details><summary>{counted(len(folded), 'more method')}</summary>{inside}</details>")
    return page([*parts, *_warnings(result)])


def page(parts: Iterable[str]) -> str:
    """The parts with their style."""
    return f'{STYLE}<div class="cfad">{"".join(parts)}</div>'


def view_of(seen: AuditResult) -> View:
    """What of the audit is seen."""
    assert seen.view is not None
    return seen.view


def tile(value: str, label: str, note: str = "") -> str:
    """A number, what it is, and what else to know about it."""
    more = f"<span>{plain(note, 200)}</span>" if note else ""
    return f'<div class="tile"><span>{plain(label, 80)}</span><b>{plain(value, 80)}</b>{more}</div>'


def named(text: object, limit: int = 40) -> str:
    """A name from a table, whichever direction it is written in."""
    return f'<bdi class="name">{plain(text, limit)}</bdi>'


# Which audit it is


def _heading(seen: AuditResult, view: View) -> str:
    groups = [f"{named(name)} ({plain(suppressed_size(size))})" for name, size in seen.group_sizes.items()]
    more = f" and {len(groups) - _MOST_GROUPS} more" if len(groups) > _MOST_GROUPS else ""
    people = seen.judged_people
    twins = "their true twins" if seen.people.truth is not None else "causal models that no detector knows"
    return (
        f"<h3>Audit by {named(view.comparison.name, 80)}</h3>"
        f"<p>{people:,} {'person' if people == 1 else 'people'} judged: {', '.join(groups[:_MOST_GROUPS])}{more}. "
        f"Would the outcome change, {plain(view.otherwise, 200)}? By {twins}; flagged are scores above the "
        f"threshold: {exceeded_by(seen.config.quantile)}.</p>"
    )


def _comparisons(result: AuditResult, shown: View) -> list[str]:
    """A row for each comparison, where an audit has several, or one of more than two groups; a view has none."""
    several = result.plan.comparisons
    if result.view is not None or (len(several) == 1 and len(several[0].groups) == 2):
        return []
    lead = leading_method(result)
    methods = [lead, *(method for method in result.scores if method != lead)]
    columns = methods[:_MOST_COLUMNS]
    worst = [_worst(result, one, lead) for one in several]
    heads = "".join(f'<th class="number">{named(look_of(method).label)}</th>' for method in columns)
    heads += "<th>most between</th>" if any(worst) else ""
    rows = "".join(
        f"<tr>{''.join(_comparison_cells(result, one, columns))}{f'<td>{pair}</td>' if any(worst) else ''}</tr>"
        for one, pair in zip(several, worst, strict=True)
    )
    left_out = f" {counted(len(methods) - len(columns), 'more method')} below." if len(methods) > len(columns) else ""
    between = "" if result.stability is None else f" ({_interval_name(result)} of the subsamples)"
    asked = " or ".join(f"<code>{plain(call, 160)}</code>" for call in _other_views(several))
    return [
        "<table><thead><tr><th>compared</th><th>groups</th>"
        f"{heads}</tr></thead><tbody>{rows}</tbody></table>"
        f'<p class="quiet">Share of people whose outcome changes in any other group{between}.{left_out} What follows '
        f"is about {named(shown.comparison.name)}; see more with {asked}.</p>"
    ]


def _other_views(comparisons: Sequence[Comparison]) -> list[str]:
    """What to call for another comparison, and for a pair of groups."""
    calls = [f"result.seen({one.name!r})" for one in comparisons[1:2]]
    several = next((one for one in comparisons if len(one.groups) > 2 and not one.is_joint), None)
    return calls if several is None else [*calls, f"result.seen({several.name!r}, {several.groups[:2]!r})"]


def _comparison_cells(result: AuditResult, comparison: Comparison, methods: Sequence[str]) -> list[str]:
    groups = [plain(name, 24) for name in comparison.groups[:_MOST_GROUPS]]
    more = f" and {len(comparison.groups) - len(groups)} more" if len(comparison.groups) > len(groups) else ""
    cells = [f"<td>{named(comparison.name)}</td>", f"<td>{'; '.join(groups)}{more}</td>"]
    for method in methods:
        report = result.report(method, comparison.name)
        found = report.changing_ratio_interval(report.threshold)
        between = "" if found is None else f"<br>{_span(found)}"
        cells.append(f'<td class="number">{percent(report.metrics.changing_ratio)}{between}</td>')
    return cells


def _worst(result: AuditResult, comparison: Comparison, method: str) -> str:
    """Between which two groups, by the leading method."""
    if comparison.is_joint or len(comparison.groups) == 2:
        return ""
    report = result.group_report(method, comparison.name)
    table = report.pairs_at(report.report.threshold)
    worst = None if table is None else table.suppressed().worst
    if table is None or worst is None or not worst.ratio:
        return ""
    who, other = (named(table.names[group], 24) for group in (worst.source, worst.target))
    return f"{who}, had they been {other}: {percent(worst.ratio)}"


# What is said about a method


def _method(seen: AuditResult, report: MethodReport) -> str:
    color = color_of(look_of(report.method))
    return (
        f'<div class="method" style="border-color:{color}"><h4>{named(report.label)}</h4>'
        f"<p>{plain(report.verdict, _LONGEST)}</p>"
        f'<div class="tiles">{"".join(_tiles(seen, report))}</div></div>'
    )


def _tiles(seen: AuditResult, report: MethodReport) -> list[str]:
    metrics, found = report.metrics, report.changing_ratio_interval(report.threshold)
    flagged = report.curves.people.flagged(report.threshold)
    if report.scores.truth is not None:
        note = "by true twins"
    else:
        note = "uncertainty not measured" if found is None else f"{_interval_name(seen)} {_span(found)}"
    tiles = [
        tile(f"{flagged:,} of {metrics.n:,}", "flagged", percent(metrics.flag_rate)),
        tile(percent(metrics.changing_ratio), "outcome changes", note),
    ]
    bounds = _bounds(report)
    if bounds is not None:
        tiles.append(tile(percent_range(*bounds), "flag rates alone allow", "without a causal model"))
    if metrics.auc_roc is not None:
        tiles.append(tile(number(metrics.auc_roc, 2), "AUC-ROC", f"{metrics.n_anomaly:,} anomalies"))
    return [*tiles, tile(*_reliability(report))]


def _reliability(report: MethodReport) -> tuple[str, str, str]:
    """Whether the number can be relied on: value, label and note of a tile."""
    word, why = reliability(report.evidence_at(report.threshold), was_tested=report.basis.checks is not None)
    return f"⚠ {word}" if word == "no" else word, "reliable", why


def _bounds(report: MethodReport) -> tuple[float, float] | None:
    """What the flag rates allow, as the evidence has it; not where a group is so small that they would tell its own."""
    small = any(0 < int(rows.sum()) < SMALLEST_GROUP for rows in report.basis.groups.values())
    found = report.evidence_at(report.threshold)
    return found.bounds if found.can_be_tested and not small else None


def _interval_name(result: AuditResult) -> str:
    """What the ends are: few subsamples have no 90 % interval."""
    count = 0 if result.stability is None else len(result.stability.graphs)
    return "90 % interval" if count >= ENOUGH else "lowest to highest"


def _span(found: Interval) -> str:
    return f"{percent(found.low)} to {percent(found.high)}"


# The figures


def _pictures(seen: AuditResult, lead: MethodReport) -> str:
    ratios = [
        RatioRow(
            look_of(report.method),
            report.metrics.changing_ratio,
            report.changing_ratio_interval(report.threshold),
            _bounds(report),
        )
        for report in _leading_first(seen, lead)
    ]
    groups = suppressed(lead.metrics.groups)
    counts = seen.group_sizes
    rates = [
        RateRow(name, counts[name], found["flag_rate"], found["flag_rate_counterfactual"])
        for name, found in groups.items()
    ]
    by = plain(lead.label, 40)
    drawn = [
        ("Whose outcome changes, by method", ratios_sketch(ratios, _interval_name(seen))),
        (f"Who is flagged by {by}, by group", rates_sketch(rates)),
    ]
    densities = _densities(lead)
    if densities:
        drawn.append((f"Scores of {by}, by group", densities))
    figures = "".join(f"<figure><figcaption>{title}</figcaption>{svg}</figure>" for title, svg in drawn)
    return f'<div class="pictures">{figures}</div>'


def _leading_first(seen: AuditResult, lead: MethodReport) -> list[MethodReport]:
    return [lead, *(report for report in seen.reports.values() if report is not lead)]


def _densities(report: MethodReport) -> str:
    """Empty if there are no scores that could be drawn."""
    if not np.isfinite(report.scores.factual).all() or not np.isfinite(report.scores.judged).all():
        return ""
    return densities_sketch(report.shapes(report.threshold))


# What to beware of


def _warnings(result: AuditResult) -> list[str]:
    found = [finding.text for finding in result.findings if finding.severity == "warning"]
    if not found:
        return []
    lines = [f"<li>{plain(text, _LONGEST)}</li>" for text in found[:_MOST_WARNINGS]]
    if len(found) > _MOST_WARNINGS:
        lines.append(f"<li>and {len(found) - _MOST_WARNINGS} more: <code>result.findings</code></li>")
    return [f"<h4>What to know</h4><ul>{''.join(lines)}</ul>"]
