"""Sections about what follows: the threshold, what was tried, limits, other audits, and how to repeat it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from cfad_core.audit.result import PLAIN
from cfad_core.audit.statements import Statements
from cfad_core.core.formats import SMALLEST_GROUP, counted
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.intervals import bounds_name
from cfad_core.report.command import repeat_audit
from cfad_core.report.document import (
    Block,
    Bullets,
    Cell,
    Code,
    Field,
    Fields,
    Section,
    Table,
    bullets,
    one_line,
    sentences,
)
from cfad_core.report.moments import moment
from cfad_core.report.numbers import Number, amount, count, decimal, share
from cfad_core.report.pictures import tradeoff_picture
from cfad_core.report.sections.people import said
from cfad_core.report.subject import Subject
from cfad_core.runs.related import RelatedAudit

NO_CERTIFICATE = (
    "This report is no certificate. It says what was measured, on whom, under which assumptions and how certain that "
    "is. It does not say that a system is fair, lawful or fit for its purpose, and it claims to meet no law or "
    "standard."
)

_LONGEST_VERDICT = 6_000  # characters, of all detectors together: none is cut
_LONGEST_SETTING = 100_000  # characters: "all settings" means all, also of a large graph


def threshold(audit: Subject, statements: Statements) -> Section:
    """Where people are flagged, who decided that, and what other thresholds would do."""
    decided = (
        f"{one_line(statements.threshold_decided_by)} decides on it."
        if statements.threshold_decided_by.strip()
        else "Who decides on it was not stated."
    )
    choice = audit.choice
    fields = [
        Field("rule", "Rule", audit.how),
        Field("value", "Score above which people are flagged", _score(audit.threshold)),
        Field("flagged", "People flagged", count(audit.flagged)),
        Field("flag_rate", "Share flagged", share(audit.flag_rate)),
        *(
            [Field("capacity", "People who can be investigated", amount(choice.count))]
            if choice and choice.count
            else []
        ),
        *said(statements, "threshold_decision", "threshold_decided_by"),
    ]
    few = 0 < audit.flagged < SMALLEST_GROUP
    how_many = f"fewer than {SMALLEST_GROUP}" if few else f"{audit.flagged:,}"
    plain = sentences(f"{audit.label} flags {how_many} of {audit.people:,} people at this threshold.", decided)
    return Section(
        "threshold", "The threshold", plain, (Fields(tuple(fields)), _other_thresholds(audit), tradeoff_picture(audit))
    )


def _score(value: float) -> Number:
    text = f"{value:.4g}"
    return Number(text, float(text))


def _other_thresholds(audit: Subject) -> Table:
    curve, scores = audit.result.seen().reports[audit.method].quantile_curve, audit.scores()
    rows: list[dict[str, Cell]] = []
    for point in curve:
        at = scores.at(float(point["threshold"] or 0.0))
        row: dict[str, Cell] = {
            "quantile": Number(f"{point['quantile']:g}", point["quantile"]),
            "threshold": _score(float(at.threshold)),
            "flag_rate": share(float(at.flag_rate)),
            "changes": share(point["changing_ratio"]),
        }
        rows.append(row | ({"macro_f1": decimal(float(at.macro_f1), digits=3)} if audit.has_labels else {}))
    columns = {
        "quantile": "Quantile of training scores",
        "threshold": "Threshold",
        "flag_rate": "Flagged",
        "changes": f"Outcome changes by {audit.comparisons[0].name}",
    }
    columns |= {"macro_f1": "Macro-F1"} if audit.has_labels else {}
    return Table("thresholds", f"{audit.label} at other thresholds", columns, tuple(rows))


def mitigation(audit: Subject, statements: Statements) -> Section:
    """Which fairer detectors were tried, what is left with each, and who accepts that."""
    tried = [name for name in audit.result.scores if name != audit.method]
    plain = (
        f"{counted(len(tried), 'other detector')} {'was' if len(tried) == 1 else 'were'} audited on the same people. "
        "How many outcomes each changes, and what that costs, stands below."
        if tried
        else "No other detector was tried on these people."
    )
    lines = [f"{audit.about(one.name)}{line}" for one in audit.comparisons for line in _improvements(audit, one.name)]
    accepted = (
        f"What is left is accepted by {one_line(statements.accepted_by)}."
        if statements.accepted_by.strip()
        else "Who accepts what is left was not stated."
    )
    fields = Fields(said(statements, "mitigation", "accepted_by"))
    tables = tuple(_methods(audit, one.name) for one in audit.comparisons)
    return Section(
        "mitigation",
        "What was tried",
        sentences(plain, accepted),
        (fields, *tables, *bullets(lines, f"Compared with {label_of(PLAIN)}, each at the audit's own threshold")),
    )


def _improvements(audit: Subject, comparison: str) -> Iterator[str]:
    seen = audit.result.seen(comparison)
    for method in seen.scores:
        if (line := seen.improvement_line(method)) is not None:
            yield line


def _methods(audit: Subject, comparison: str) -> Table:
    seen = audit.result.seen(comparison)
    rows: list[dict[str, Cell]] = []
    for method, report in seen.reports.items():
        at = audit.threshold_of(method)
        scores, between = audit.scores(method), report.changing_ratio_interval(at)
        row: dict[str, Cell] = {
            "method": report.label + (" (this report)" if method == audit.method else ""),
            "flag_rate": share(float(scores.at(at).flag_rate)),
            "changes": share(report.metrics_at(at).changing_ratio, between),
        }
        if audit.has_labels:
            row |= {
                "auc_roc": decimal(scores.auc_roc, digits=3),
                "auc_pr": decimal(scores.auc_pr, digits=3),
                "macro_f1": decimal(float(scores.at(at).macro_f1), digits=3),
            }
        rows.append(row)
    with_ends = "" if seen.stability is None else f" ({bounds_name(len(seen.stability.graphs))})"
    columns = {"method": "Detector", "flag_rate": "Flagged", "changes": f"Outcome changes{with_ends}"}
    columns |= {"auc_roc": "AUC-ROC", "auc_pr": "AUC-PR", "macro_f1": "Macro-F1"} if audit.has_labels else {}
    title = "Detectors on the same people" + (f", by {comparison}" if len(audit.comparisons) > 1 else "")
    return Table(f"methods_{comparison}", title, columns, tuple(rows), "Each detector at its own threshold.")


def limits(audit: Subject, statements: Statements) -> Section:
    """What the numbers assume, how they could be misused, and that they are no certificate."""
    noted = [f"{finding.severity.capitalize()}: {finding.text}" for finding in audit.result.findings]
    blocks: list[Block] = [
        *bullets(list(_assumptions(audit)), "What the numbers assume"),
        Fields(said(statements, "misuse")),
        *bullets(_MISUSE, "What this report must not be used for"),
        *bullets(noted, "What the audit noted on its way"),
    ]
    return Section("limits", "Limits", sentences(NO_CERTIFICATE), tuple(blocks))


_MISUSE = (
    "To call a system fair because a number is small: where almost nobody is flagged, almost nobody's outcome can "
    "change.",
    "To decide about a single person: a twin is a model's answer, and a person has several possible twins.",
    "To choose the audit that looks best: every other audit of the table belongs beside it.",
    "For another population, another version of the system or another threshold than those named here.",
)


def _assumptions(audit: Subject) -> Iterator[str]:
    name = audit.result.encoding.sensitive
    if audit.result.people.truth is not None:
        yield "The true twins are known: no causal model was needed for the numbers."
    else:
        yield (
            f"No cause of {name} that also causes other columns is missing from the table. If there is one, the "
            "numbers may be wrong, and no test on this table can show it."
        )
        yield (
            "The arrows of the causal graph point the right way, as far as outcomes depend on it (see what would "
            "turn the verdict)."
        )
        yield "What is a person's own (their rank among people with the same causes) stays the same in the other group."
    yield "The people judged are like those whom the detector is used on."
    yield f"The values of {name} are recorded rightly, and the groups that are compared are those that matter."
    if audit.has_labels:
        yield "The labels are right. Where one group was looked at more closely than another, they are not."
    yield "Only the flag is looked at, not what follows from it."


def others(audit: Subject, _: Statements) -> Section:
    """Every other audit of this table, and whether this one was planned."""
    title, plan = "Every audit of this table", _plan(audit)
    if audit.others is None:
        plain = sentences(
            "This audit is a folder by itself: there is no store in which other audits of the table could be looked "
            "up. Ask the auditor how many there were."
        )
        return Section("others", title, plain, (plan,))
    same = [one for one in audit.others if one.relation != "same columns"]
    done = sum(one.status == "done" for one in same)
    deleted = sum(one.deleted is not None for one in same)
    known = (
        f"Besides this audit, the store knows {counted(len(same), 'audit')} of the same table, {done} of them with a "
        "result" + (f"; {deleted} {'was' if deleted == 1 else 'were'} deleted since." if deleted else ".")
        if same
        else "The store knows no other audit of this table."
    )
    plain = sentences(
        known,
        "Whoever tries many settings finds some that look good by chance: read the verdict beside those of all others.",
        _before_the_plan(audit),
    )
    return Section("others", title, plain, (plan, *_related(audit.others)))


def _before_the_plan(audit: Subject) -> str | None:
    """What was known already when the plan was sealed."""
    if audit.plan is None:
        return "This audit was not planned beforehand: its settings may have been chosen after results were seen."
    at = audit.plan.at
    seen = sum(one.finished is not None and one.finished < at for one in audit.others or () if one.status == "done")
    if not seen:
        return (
            "When this audit was planned, the store held no result about this table, nor about one with the same "
            "columns."
        )
    return (
        f"When this audit was planned, {counted(seen, 'result')} about this table, or one with the same columns, "
        "could be seen."
    )


def _plan(audit: Subject) -> Fields:
    plan = audit.plan
    if plan is None:
        return Fields((Field("planned", "Planned before the result was seen", was_planned(audit)),), "The plan")
    held = (
        "yes: the audit ran with exactly what was sealed" if audit.sealed else "NO: what was sealed is not what was run"
    )
    return Fields(
        (
            Field("planned", "Planned before the result was seen", was_planned(audit)),
            Field("planned_at", "Sealed", moment(plan.at)),
            Field("planned_by", "By", plan.by or "not stated", stated=bool(plan.by)),
            Field(
                "expectation",
                "Written down beforehand",
                plan.expectation or "not stated",
                stated=bool(plan.expectation),
            ),
            Field("seal", "Seal (sha256 of table digests, roles, settings and what was written down)", plan.digest),
            Field("seal_holds", "The seal holds", held),
        ),
        "The plan",
    )


def was_planned(audit: Subject) -> str:
    """Whether it is known that the audit was planned."""
    if audit.plan is not None:
        return f"yes, {moment(audit.plan.at)}" if audit.sealed else "NO: what was sealed is not what was run"
    return "not known: this audit is in no store" if audit.others is None else "no"


def _related(found: tuple[RelatedAudit, ...]) -> Iterator[Block]:
    if not found:
        yield Bullets(("There is no other audit of this table, nor of one with the same columns.",))
        return
    columns = {
        "audit": "Audit",
        "created": "Asked for",
        "relation": "Table",
        "status": "Status",
        "settings": "What differs from this audit",
        "verdict": "Verdict",
    }
    rows: tuple[dict[str, Cell], ...] = tuple(
        {
            "audit": f"{one.name} ({one.id})",
            "created": moment(one.created),
            "relation": one.relation,
            "status": _status(one),
            "settings": "; ".join(one.differences) or "nothing",
            "verdict": " ".join(f"{label_of(method)}: {text}" for method, text in one.verdicts.items()) or "none",
        }
        for one in found
    )
    yield Table("audits", "Other audits", columns, rows, "The oldest first.", longest=_LONGEST_VERDICT)


def _status(one: RelatedAudit) -> str:
    planned = ", planned" if one.planned is not None and one.status != "planned" else ""
    gone = f", deleted {moment(one.deleted)}" if one.deleted is not None else ""
    return f"{one.status}{planned}{gone}"


def repeat(audit: Subject, _: Statements) -> Section:
    """What it takes to make this audit again."""
    result = audit.result
    command = repeat_audit(result, has_test_table=audit.has_test_table)
    outside = "" if result.asked is None else ", if the detector that is asked answers as it did"
    plain = sentences(
        "With the same table, the same settings, the same versions and the same seed, this audit comes out again "
        f"with the same numbers{outside}.",
        "The unrounded numbers are in audit.json, which belongs to this report.",
    )
    settings: tuple[dict[str, Cell], ...] = tuple(
        {"setting": name, "value": value} for name, value in flattened(result.config.to_dict())
    )
    versions: tuple[dict[str, Cell], ...] = tuple(
        {"package": name, "version": version} for name, version in result.provenance.versions.items()
    )
    blocks: list[Block] = [
        Code(command.text, "Command"),
        *bullets(command.remarks),
        Fields(
            (
                Field("seed", "Seed", Number(str(result.config.seed), result.config.seed)),
                Field("data_digest", "Digest of the data (sha256)", result.provenance.data_digest),
                Field("audit_id", "Audit", audit.id or audit.name),
            )
        ),
        Table("versions", "Versions", {"package": "Package", "version": "Version"}, versions),
        Table("settings", "All settings", {"setting": "Setting", "value": "Value"}, settings, longest=_LONGEST_SETTING),
    ]
    return Section("repeat", "To repeat it", plain, tuple(blocks))


def flattened(values: Mapping[str, Any], before: str = "") -> Iterator[tuple[str, str]]:
    """Settings as lines: ``detector.width`` and ``256``."""
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from flattened(value, f"{before}{name}.")
        else:
            text = ", ".join(map(str, value)) or "none" if isinstance(value, list | tuple) else str(value)
            yield f"{before}{name}", text if value is not None else "none" if name == "asked" else "chosen by the data"
