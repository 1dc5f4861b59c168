"""The summary: one page for people who will read one page, and the same as five pages for a projector."""

from __future__ import annotations

from collections.abc import Iterator

from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.notices import OLDER_ENGINE
from cfad_core.audit.statements import Statements
from cfad_core.core.formats import capital, counted, listed, one_in, percent, share_of_people
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.evidence import Evidence
from cfad_core.evaluation.group_lines import gap_line
from cfad_core.evaluation.intervals import bounds_name
from cfad_core.evaluation.verdict import verdict_sentences
from cfad_core.report.document import Bullets, Field, Fields, Picture, Section, Slide, one_line, sentences
from cfad_core.report.numbers import decimal, share
from cfad_core.report.pictures import rates_svg
from cfad_core.report.sections.decisions import NO_CERTIFICATE, was_planned
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
    verdicts = [f"{audit.about(first.name)}{audit.verdict(first)}"]
    verdicts += [
        f"{audit.about(one.name)}{verdict_sentences(audit.evidence(one))[0]}." for one in others[: _COMPARISONS - 1]
    ]
    singles = [one for one in audit.comparisons if not one.is_joint]
    gaps = [f"{audit.about(one.name)}{gap_line(audit.compared_groups(one))}" for one in singles]
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
        Fields(tuple(_numbers(audit)), f"In numbers{_with_ends(audit.evidence(first))}"),
        picture,
        Bullets(points, "What would turn the verdict"),
        Fields(tuple(_facts(audit, statements)), "What to know"),
    )
    older = [finding.text for finding in audit.result.findings if finding.code == OLDER_ENGINE]
    return Section("summary", "Summary", sentences(*older, *verdicts, *gaps, NO_CERTIFICATE), blocks)


def _with_ends(found: Evidence) -> str:
    return "" if found.interval is None else f", with {bounds_name(found.graphs)}"


def widest(audit: Subject) -> Comparison:
    """The attribute whose groups are flagged most unequally."""

    def gap(comparison: Comparison) -> float:
        found = audit.compared_groups(comparison).between["flag_rate"]
        return 0.0 if found is None else found.difference.value or 0.0

    return max((one for one in audit.comparisons if not one.is_joint), key=gap)


def _numbers(audit: Subject) -> Iterator[Field]:
    for one in audit.comparisons[:_COMPARISONS]:
        found = audit.evidence(one)
        about = f" by {one.name}" if len(audit.comparisons) > 1 else ""
        yield Field(f"changing_ratio_{one.name}", f"Outcome changes{about}", share(found.ratio, found.interval))
    yield Field("flag_rate", "Flagged, of all people judged", share(audit.flag_rate))
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
    yield Field("planned", "Planned before the result was seen", was_planned(audit))
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
    first, unequal = audit.comparisons[0], widest(audit)
    found, (word, why) = audit.evidence(first), audit.reliability(first)
    who = one_line(statements.system, 60) or audit.label
    decision = one_line(statements.threshold_decision, 200) or "A decision on the threshold was not stated."
    return (
        Slide(
            f"Would {who} have flagged the same person, {found.otherwise}?",
            sentences=sentences(
                f"{audit.people:,} people judged, compared by {listed([one.name for one in audit.comparisons], 6)}.",
                f"Flagged: {percent(audit.flag_rate)} of them.",
            ),
        ),
        _leading_slide(found, doubted=word == "no"),
        Slide(
            "Who is flagged",
            sentences=sentences(gap_line(audit.compared_groups(unequal))),
            svg=rates_svg(audit, unequal, _ON_SLIDE),
        ),
        Slide(
            "How far to trust it",
            f"Reliable: {word}",
            sentences(f"{capital(why)}.", *turning_points(audit, first)[:2]),
        ),
        Slide("What follows", sentences=sentences(decision, _tried(audit), NO_CERTIFICATE)),
    )


def _leading_slide(found: Evidence, *, doubted: bool) -> Slide:
    """For how many the outcome changes; without a path nothing is known about the detector."""
    if found.ratio is None or not (found.sees_path or found.known_truth):
        title = "Not known: nobody was judged" if found.ratio is None else "Not known: the graph has no path"
        return Slide(title, "?", sentences(*(f"{text}." for text in verdict_sentences(found)[:2])))
    meaning = one_in(found.ratio)
    between = (
        ""
        if found.interval is None
        else f"{bounds_name(found.graphs)}: {percent(found.interval.low)} to {percent(found.interval.high)}"
    )
    return Slide(
        "Not reliable: a guess" if doubted else "For so many the outcome changes",
        share_of_people(found.ratio),
        sentences(
            f"{capital(meaning)} people would have another outcome, {found.otherwise}.",
            capital(between),
        ),
    )


def _tried(audit: Subject) -> str | None:
    """The detector that changes fewest outcomes, each where it flags in this report."""
    first = audit.comparisons[0].name
    ratios = {
        name: report.metrics_at(audit.threshold_of(name)).changing_ratio
        for name, report in audit.result.seen(first).reports.items()
    }
    known = {name: ratio for name, ratio in ratios.items() if ratio is not None}
    if audit.method not in known or len(known) < 2:
        return None
    tried, best = counted(len(known) - 1, "other detector"), min(known, key=lambda name: known[name])
    if known[best] >= known[audit.method]:
        return f"{tried} {'was' if len(known) == 2 else 'were'} tried: none changes fewer outcomes."
    by = f" by {first}" if len(audit.comparisons) > 1 else ""
    return (
        f"{tried} {'was' if len(known) == 2 else 'were'} tried: {label_of(best)} changes fewest outcomes{by}, "
        f"{share_of_people(known[best])} instead of {share_of_people(known[audit.method])}."
    )
