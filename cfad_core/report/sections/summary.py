"""The summary: one page for people who will read one page, and the same as five pages for a projector."""

from __future__ import annotations

from collections.abc import Iterator

from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.statements import Statements
from cfad_core.core.formats import counted, listed, one_in, percent, share_of_people
from cfad_core.evaluation.group_lines import gap_line
from cfad_core.evaluation.intervals import bounds_name
from cfad_core.evaluation.verdict import verdict_sentences
from cfad_core.report.document import (
    Bullets,
    Field,
    Fields,
    Picture,
    Section,
    Slide,
    decimal,
    one_line,
    sentences,
    share,
)
from cfad_core.report.moments import moment
from cfad_core.report.pictures import rates_svg
from cfad_core.report.sections.decisions import NO_CERTIFICATE
from cfad_core.report.subject import Subject
from cfad_core.report.turning import turning_points

_POINTS = 3  # of what would turn the verdict
_COMPARISONS = 3  # on the one page
_DRAWN = 4  # groups
_ON_SLIDE = 3  # groups: more could not be read from the back of a room
_LONGEST_POINT = 260  # characters


def summary(audit: Subject, statements: Statements) -> Section:
    """The whole report on one page."""
    first, *others = audit.comparisons
    verdicts = [f"{_about(audit, first.name)}{audit.verdict(first)}"]
    verdicts += [
        f"{_about(audit, one.name)}{verdict_sentences(audit.evidence(one))[0]}." for one in others[: _COMPARISONS - 1]
    ]
    singles = [one for one in audit.comparisons if not one.is_joint]
    gaps = [f"{_about(audit, one.name)}{gap_line(audit.compared_groups(one))}" for one in singles]
    unequal = widest(audit)
    few = len(unequal.groups) <= _DRAWN
    picture = Picture(
        "summary",
        f"Who is flagged by {audit.label}, by {unequal.name}",
        "Each group as it is, and its twins: the same people, had they belonged to another group."
        + ("" if few else " Of all groups, those that are flagged most often and least often."),
        rates_svg(audit, unequal, _DRAWN),
    )
    points = tuple(
        one_line(line, _LONGEST_POINT)
        for line in turning_points(audit, first)[: _POINTS if len(others) < 2 else _POINTS - 1]
    )
    blocks = (
        Fields(tuple(_numbers(audit)), f"In numbers, with {bounds_name(audit.evidence(first).graphs)}"),
        picture,
        Bullets(points, "What would turn the verdict"),
        Fields(tuple(_facts(audit, statements)), "What to know"),
    )
    return Section("summary", "Summary", sentences(*verdicts, *gaps, NO_CERTIFICATE), blocks)


def widest(audit: Subject) -> Comparison:
    """The attribute whose groups are flagged most unequally."""

    def gap(comparison: Comparison) -> float:
        found = audit.compared_groups(comparison).between["flag_rate"]
        return 0.0 if found is None else found.difference.value or 0.0

    return max((one for one in audit.comparisons if not one.is_joint), key=gap)


def _about(audit: Subject, comparison: str) -> str:
    return f"By {comparison}: " if len(audit.comparisons) > 1 else ""


def _numbers(audit: Subject) -> Iterator[Field]:
    for one in audit.comparisons[:_COMPARISONS]:
        found = audit.evidence(one)
        about = f" by {one.name}" if len(audit.comparisons) > 1 else ""
        yield Field(f"changing_ratio_{one.name}", f"Outcome changes{about}", share(found.ratio, found.interval))
    first = audit.comparisons[0]
    metrics = audit.report(first).metrics_at(audit.threshold)
    yield Field("flag_rate", "Flagged, of all people judged", share(metrics.flag_rate))
    unequal = widest(audit)
    ratio = audit.compared_groups(unequal).impact_ratio
    if ratio is not None:
        about = f" by {unequal.name}" if len(audit.comparisons) > 1 else ""
        yield Field("as_harm", f"Impact ratio{about}, read as harm", decimal(ratio.as_harm.ratio.value))
        yield Field("as_benefit", f"Impact ratio{about}, read as benefit", decimal(ratio.as_benefit.ratio.value))
    yield Field("reliable", "Reliable", "; ".join(_reliable(audit)))


def _reliable(audit: Subject) -> Iterator[str]:
    for one in audit.comparisons[:_COMPARISONS]:
        word, why = audit.reliability(one)
        about = f"by {one.name}: " if len(audit.comparisons) > 1 else ""
        yield f"{about}{word} ({why})"


def _facts(audit: Subject, statements: Statements) -> Iterator[Field]:
    yield Field("detector", "Detector", _system(audit, statements))
    yield Field(
        "who", "People judged", f"{audit.people:,}, compared by {listed([one.name for one in audit.comparisons], 6)}"
    )
    decision = one_line(statements.threshold_decision, 160) or "no decision on the threshold was stated"
    yield Field("threshold", "Threshold", f"{audit.threshold:.4g} ({audit.how}); {decision}")
    yield Field(
        "planned", "Planned before the result was seen", "no" if audit.plan is None else f"yes, {moment(audit.plan.at)}"
    )
    yield Field("others", "Other audits of this table", _others(audit))


def _system(audit: Subject, statements: Statements) -> str:
    name = " ".join(part for part in (one_line(statements.system, 80), one_line(statements.version, 40)) if part)
    return f"{audit.label} ({name or 'system not stated'})"


def _others(audit: Subject) -> str:
    if audit.others is None:
        return "not known: this audit is in no store"
    same = sum(one.relation != "same columns" for one in audit.others)
    return f"{same}, listed in this report" if same else "none"


def slides(audit: Subject, statements: Statements) -> tuple[Slide, ...]:
    """The summary as five pages with few words."""
    first = audit.comparisons[0]
    found, report, unequal = audit.evidence(first), audit.report(first), widest(audit)
    who = one_line(statements.system, 60) or audit.label
    word, why = audit.reliability(first)
    ratio = "?" if found.ratio is None else share_of_people(found.ratio)
    between = (
        ""
        if found.interval is None
        else f"{bounds_name(found.graphs)}: {percent(found.interval.low)} to {percent(found.interval.high)}"
    )
    meaning = (
        "" if found.ratio is None else f"{one_in(found.ratio)} people would have another outcome, {found.otherwise}."
    )
    decision = one_line(statements.threshold_decision, 200) or "A decision on the threshold was not stated."
    return (
        Slide(
            f"Would {who} have flagged the same person, {found.otherwise}?",
            sentences=sentences(
                f"{audit.people:,} people judged, compared by {listed([one.name for one in audit.comparisons], 6)}.",
                f"Flagged: {percent(report.metrics_at(audit.threshold).flag_rate)} of them.",
            ),
        ),
        Slide(
            "Not reliable: a guess" if word == "no" else "For so many the outcome changes",
            ratio,
            sentences(meaning[:1].upper() + meaning[1:], between[:1].upper() + between[1:]),
        ),
        Slide(
            "Who is flagged",
            sentences=sentences(gap_line(audit.compared_groups(unequal))),
            svg=rates_svg(audit, unequal, _ON_SLIDE),
        ),
        Slide(
            "How far to trust it",
            f"Reliable: {word}",
            sentences(f"{why[:1].upper()}{why[1:]}.", *turning_points(audit, first)[:2]),
        ),
        Slide("What follows", sentences=sentences(decision, _tried(audit), NO_CERTIFICATE)),
    )


def _tried(audit: Subject) -> str | None:
    best = min(
        (name for name in audit.result.scores if name != audit.method),
        key=lambda name: audit.result.report(name).metrics.changing_ratio or 1.0,
        default=None,
    )
    if best is None:
        return None
    other = audit.result.report(best)
    tried = counted(len(audit.result.scores) - 1, "other detector")
    return f"Of {tried}, {other.label} changes fewest outcomes: {percent(other.metrics.changing_ratio)}."
