"""Sections about what was measured: rates of the groups, what labels say, and what changes in the other group."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.statements import Statements
from cfad_core.core.formats import SMALLEST_GROUP, counted, listed, percent
from cfad_core.evaluation.evidence import Evidence
from cfad_core.evaluation.extremes import Estimate, Spread
from cfad_core.evaluation.group_lines import gap_line
from cfad_core.evaluation.group_metrics import Group, GroupTable
from cfad_core.evaluation.interaction import cancelling_line, interaction_line
from cfad_core.evaluation.intervals import Interval, bounds_name
from cfad_core.evaluation.metrics import GROUP_METRICS, Metrics, suppressed
from cfad_core.evaluation.pair_table import PairTable, worst_line
from cfad_core.evaluation.slices import slice_lines
from cfad_core.evaluation.verdict import VAGUE, evidence_lines
from cfad_core.report.document import Block, Bullets, Cell, Field, Fields, Picture, Section, Table, bullets, sentences
from cfad_core.report.justified import remaining_field
from cfad_core.report.numbers import Number, count, decimal, points, share, share_range
from cfad_core.report.pictures import densities_picture, rates_picture
from cfad_core.report.sections.people import said
from cfad_core.report.subject import SMALL_SHARE, Subject

_HIDDEN = Number(f"n/a (n < {SMALLEST_GROUP})")
_MOST_PAIRS = 30
_MOST_SLICES = 5  # of a kind


def rates(audit: Subject, _: Statements) -> Section:
    """How often each group, and each combination of groups, is flagged."""
    plain: list[str] = [f"Flagged is who scores above {audit.threshold:.4g} ({audit.how})."]
    blocks: list[Block] = []
    for comparison in audit.comparisons:
        compared = audit.compared_groups(comparison)
        plain.append(f"{audit.about(comparison.name)}{gap_line(compared)}")
        blocks += [_rates_table(audit, comparison), _impact(compared, comparison), rates_picture(audit, comparison)]
    plain.append(
        "An impact ratio of 1 means that no group differs from another. It is read both ways, because a flag may be a "
        "harm, or the absence of one a benefit: flag rates of 5 % and 10 % are 0.50 read as harm, and 0.95 as benefit."
    )
    return Section("rates", "Who is flagged", sentences(*plain), (*blocks, *_slices(audit, "flagged")))


def _rates_table(audit: Subject, comparison: Comparison) -> Table:
    compared = {group.name for group in audit.compared_groups(comparison).groups}
    rows: tuple[dict[str, Cell], ...] = tuple(
        {
            "group": group.name,
            "people": count(group.n),
            "flag_rate": _metric(group, "flag_rate"),
            "above_median": _metric(group, "above_median"),
            "compared": "yes" if group.name in compared else "no: too few",
        }
        for group in audit.groups(comparison).groups
    )
    columns = {
        "group": "Group",
        "people": "People",
        "flag_rate": "Flagged",
        "above_median": "Score above the median of all",
        "compared": "In the impact ratio",
    }
    note = (
        f"With 90 % intervals. Groups under {percent(SMALL_SHARE, 0)} of the people take no part in the impact "
        "ratio; of fewer "
        f"than {SMALLEST_GROUP} people nothing is shown."
    )
    return Table(f"rates_{comparison.name}", f"Flag rates by {comparison.name}", columns, rows, note)


def _metric(group: Group, name: str) -> Number:
    found = group.metrics[name]
    if found.value is None:
        return _HIDDEN if group.n is None or name not in ("flag_rate", "above_median") else Number("n/a")
    if not GROUP_METRICS[name].is_share:
        return decimal(found.value, found.interval, 3)
    return share(found.value, found.interval)


def _impact(table: GroupTable, comparison: Comparison) -> Fields:
    found, gap = table.impact_ratio, table.between["flag_rate"]
    title = f"Impact ratio by {comparison.name}"
    if found is None or gap is None:
        return Fields((Field("impact_ratio", "Impact ratio", "n/a: fewer than two groups are large enough"),), title)
    return Fields(
        (
            Field(
                "as_harm",
                "Read as harm (lowest over highest share flagged)",
                _ratio(found.as_harm, "nobody is flagged"),
            ),
            Field(
                "as_harm_groups", "Between", f"{found.as_harm.lowest} (lowest) and {found.as_harm.highest} (highest)"
            ),
            Field(
                "as_benefit",
                "Read as benefit (lowest over highest share not flagged)",
                _ratio(found.as_benefit, "everybody is flagged"),
            ),
            Field(
                "as_benefit_groups",
                "Between",
                f"{found.as_benefit.lowest} (lowest) and {found.as_benefit.highest} (highest)",
            ),
            Field("flag_rate_gap", "Highest minus lowest share flagged", points(*_parts(gap.difference))),
        ),
        title,
    )


def _parts(found: Estimate) -> tuple[float | None, Interval | None]:
    return found.value, found.interval


def _ratio(found: Spread, otherwise: str) -> Number:
    return decimal(*_parts(found.ratio), undefined=f"n/a: {otherwise}")


def _slices(audit: Subject, kind: str) -> Iterator[Bullets]:
    """Subgroups that nobody asked about, if the audit looked for them; they were searched at its own threshold."""
    some = audit.result.slices.get(audit.method)
    if some is None:
        return
    several = len(audit.comparisons) > 1
    for name, found in ({"": some.flagged} if kind == "flagged" else some.changes).items():
        first, *others = slice_lines(found)
        title = "Subgroups that nobody asked about" + (f", by {name}" if name and several else "")
        yield from bullets([first, *others[:_MOST_SLICES]], title)


def labels(audit: Subject, statements: Statements) -> Section:
    """Where it is known who is an anomaly: how often flags are right, and how often anomalies are found, by group."""
    title = "What the labels say"
    if not audit.has_labels:
        plain = sentences(
            "It is not known who is an anomaly: the table has no labels. Whether flags are right, how many anomalies "
            "are missed, and whether that differs between groups, could not be measured."
        )
        return Section("labels", title, plain, ())
    scores = audit.scores()
    fields = (
        *said(statements, "label_origin"),
        Field("anomalies", "Anomalies among the people judged", count(scores.n_anomaly)),
        Field(
            "auc_roc",
            "AUC-ROC (chance that an anomaly scores above a normal person)",
            decimal(scores.auc_roc, digits=3),
        ),
        Field("auc_pr", "AUC-PR (mean hit rate over all thresholds)", decimal(scores.auc_pr, digits=3)),
        Field("macro_f1", "Macro-F1 (1 is perfect)", decimal(float(scores.at(audit.threshold).macro_f1), digits=3)),
    )
    lines = [
        "Labels may be as unfair as a detector: if one group was looked at more closely, more of its anomalies are "
        "known.",
        *(line for one in audit.comparisons for line in _differences(audit, one)),
    ]
    tables = tuple(_labels_table(audit, comparison) for comparison in audit.comparisons)
    return Section("labels", title, sentences(*lines), (Fields(fields), *tables))


_BY_LABEL = {
    "precision": "Hit rate: flagged people who are anomalies",
    "true_positive_rate": "Anomalies flagged (recall)",
    "false_positive_rate": "Normal people flagged (FPR)",
    "false_negative_rate": "Anomalies missed (FNR)",
    "auc_roc": "AUC-ROC",
}


def _labels_table(audit: Subject, comparison: Comparison) -> Table:
    rows: list[dict[str, Cell]] = []
    for group in audit.groups(comparison).groups:
        first: dict[str, Cell] = {"group": group.name, "people": count(group.n), "anomalies": count(group.n_anomaly)}
        rows.append(first | {name: _metric(group, name) for name in _BY_LABEL})
    columns = {"group": "Group", "people": "People", "anomalies": "Anomalies", **_BY_LABEL}
    note = f"With 90 % intervals. Shares of fewer than {SMALLEST_GROUP} people are not shown."
    return Table(f"labels_{comparison.name}", f"By {comparison.name}", columns, tuple(rows), note)


def _differences(audit: Subject, comparison: Comparison) -> Iterator[str]:
    """What differs between groups beyond chance."""
    between = audit.compared_groups(comparison).between
    for name, sentence in _DIFFERENCES.items():
        found = between[name]
        if found is None or found.difference.interval is None or found.difference.interval.low <= 0.0:
            continue
        size = points(*_parts(found.difference)).shown
        yield audit.about(comparison.name) + sentence.format(high=found.highest, low=found.lowest, size=size)


_DIFFERENCES = {
    "true_positive_rate": "Anomalies of {high} are found more often than those of {low}: {size} apart.",
    "false_positive_rate": "Normal people of {high} are flagged more often than those of {low}: {size} apart.",
    "precision": "A flag means less about people of {low} than about those of {high}: its hit rate is {size} lower.",
}


def counterfactual(audit: Subject, statements: Statements) -> Section:
    """For how many people the outcome would change, had they belonged to the other group."""
    plain: list[str] = []
    blocks: list[Block] = []
    for comparison in audit.comparisons:
        plain.append(f"{audit.about(comparison.name)}{audit.verdict(comparison)}")
        blocks += _changes(audit, comparison, statements)
        plain += _not_moved(audit, comparison)
    plain.append(f"A twin is the same person, had they belonged to the other group. {_whose_twins(audit)}")
    return Section("counterfactual", "What would change in the other group", sentences(*plain), tuple(blocks))


def _whose_twins(audit: Subject) -> str:
    if audit.result.people.truth is not None:
        return "Here the true twins are known: no causal model made them."
    models, judged = counted(audit.result.judges, "causal model"), len(audit.result.people.judged)
    each = "each " if audit.result.judges > 1 else ""
    return (
        f"{models}, {each}learned from a random half of the rows and unknown to the detector, made twins of "
        f"{judged:,} people."
    )


def _not_moved(audit: Subject, comparison: Comparison) -> Iterator[str]:
    """Groups that others are moved to, and that are moved to none."""
    moved = audit.report(comparison).basis.groups
    if left := [name for name in comparison.groups if name not in moved]:
        yield (
            f"{audit.about(comparison.name)}Only people of {listed(list(moved), 12)} are counted: nobody of "
            f"{listed(left, 12)} is moved to another group."
        )


def _changes(audit: Subject, comparison: Comparison, statements: Statements) -> Iterator[Block]:
    several = len(audit.comparisons) > 1
    suffix = f" by {comparison.name}" if several else ""
    evidence, report = audit.evidence(comparison), audit.report(comparison)
    fields = (*_change_fields(audit, evidence, report.metrics_at(audit.threshold)),)
    yield Fields((*fields, *remaining_field(audit, comparison, statements)), f"The number{suffix}")
    yield from bullets(evidence_lines(evidence), f"What supports it, or speaks against it{suffix}")
    yield _change_table(audit, comparison)
    group_report = audit.result.group_report(audit.method, comparison.name)
    pairs = group_report.pairs_at(audit.threshold)
    if pairs is not None and len(comparison.groups) > 2:
        yield from _pairs(pairs.suppressed(), comparison)
    both = group_report.interaction_at(audit.threshold)
    if both is not None and both.suppressed().n:
        first, second = (audit.result.model.attributes[s] for s in comparison.attributes)
        yield from bullets(
            [interaction_line(both, first, second), cancelling_line(both, first, second)], "Both at once"
        )
    some = audit.result.slices.get(audit.method)
    if some is not None and comparison.name in some.changes:
        first, *others = slice_lines(some.changes[comparison.name])
        yield from bullets([first, *others[:_MOST_SLICES]], f"Subgroups that nobody asked about{suffix}")
    drawn = densities_picture(audit, comparison)
    yield from (drawn,) if isinstance(drawn, Picture) else ()
    yield from bullets(_not_measured(audit, evidence), f"What could not be measured{suffix}")


def _change_fields(audit: Subject, found: Evidence, metrics: Metrics) -> Iterator[Field]:
    with_ends = "" if found.interval is None else f" ({bounds_name(found.graphs)})"
    yield Field("changing_ratio", f"Outcome changes{with_ends}", share(found.ratio, found.interval))
    yield Field("newly_flagged", "Flagged only in the other group", share(metrics.newly_flagged))
    yield Field("newly_cleared", "Flagged only as they are", share(metrics.newly_cleared))
    if found.bounds is not None and found.can_be_tested:
        allowed = share_range(*found.bounds)
        yield Field("bounds", "Allowed by the flag rates of the groups, without any causal model", allowed)
    if found.model_error is not None:
        yield Field(
            "model_error",
            "Model error: outcomes that errors of the causal models alone change",
            share(found.model_error),
        )
    if found.halves_differ is not None:
        yield Field(
            "halves_differ", "Typical difference between independent halves of the rows", points(found.halves_differ)
        )
    if found.twin_test is not None and found.can_be_tested:
        test = found.twin_test
        passes = "no" if not test.passes() else "cannot be said" if test.high > VAGUE else "yes"
        yield Field("twin_test_passes", "Twins pass for real people of the other group", passes)
        yield Field(
            "twin_test_auc",
            "AUC of a classifier that must distinguish them (0.5 is chance)",
            decimal(test.auc, Interval(test.low, test.high)),
        )
    if found.span is not None:
        yield Field("span", "Under other assumptions that data cannot decide", share_range(*found.span))
    if found.remaining is not None:
        yield Field("remaining", "Left even with the right causal model", share_range(*found.remaining))
    word, why = audit.reliability(next(one for one in audit.comparisons if one.name == found.sensitive))
    yield Field("reliable", "Reliable", f"{word}: {why}")


def _change_table(audit: Subject, comparison: Comparison) -> Table:
    report = audit.report(comparison)
    found, pairs = suppressed(report.metrics_at(audit.threshold).groups), None
    if not comparison.is_joint:
        pairs = audit.result.group_report(audit.method, comparison.name).pairs_at(audit.threshold)
    rows: list[dict[str, Cell]] = []
    for k, name in enumerate(comparison.groups):
        values = found.get(name)
        if values is None:
            rows.append(_not_moved_row(audit, comparison, name))
            continue
        if isinstance(values["n"], str):
            rows.append({"group": name, "people": count(None), "flag": _HIDDEN, "twins": _HIDDEN, "changes": _HIDDEN})
            continue
        between = None if pairs is None else pairs.any_other_by_group[k].interval
        rows.append(
            {
                "group": name,
                "people": count(int(values["n"] or 0)),
                "flag": share(values["flag_rate"]),
                "twins": share(values["flag_rate_counterfactual"]),
                "changes": share(values["changing_ratio"], between),
            }
        )
    columns = {
        "group": "Group",
        "people": "People",
        "flag": "Flagged",
        "twins": "Their twins flagged",
        "changes": "Outcome changes",
    }
    return Table(f"changes_{comparison.name}", f"By group of {comparison.name}", columns, tuple(rows))


def _not_moved_row(audit: Subject, comparison: Comparison, name: str) -> dict[str, Cell]:
    """Of a group that is moved to no other one: its people have no twins that count."""
    group, nothing = audit.groups(comparison).group(name), Number("not moved")
    rate = _metric(group, "flag_rate")
    return {"group": name, "people": count(group.n), "flag": rate, "twins": nothing, "changes": nothing}


def _pairs(table: PairTable, comparison: Comparison) -> Iterator[Block]:
    """Between which groups, the highest first."""
    if table.worst is not None:
        yield from bullets([worst_line(table, comparison.name)], f"Between groups of {comparison.name}")
    ranked = sorted(table.pairs, key=lambda pair: -(pair.ratio or 0.0))
    rows: list[dict[str, Cell]] = []
    for pair in ranked[:_MOST_PAIRS]:
        hidden = pair.n is None or (pair.ratio is None and pair.n > 0)
        rows.append(
            {
                "source": table.names[pair.source],
                "target": table.names[pair.target],
                "people": count(pair.n),
                "changes": _HIDDEN if hidden else share(pair.ratio, pair.simultaneous),
                "newly_flagged": _HIDDEN if hidden else share(pair.newly_flagged),
                "newly_cleared": _HIDDEN if hidden else share(pair.newly_cleared),
            }
        )
    columns = {
        "source": "People of",
        "target": "Had they been",
        "people": "People with twins",
        "changes": "Outcome changes",
        "newly_flagged": "Newly flagged",
        "newly_cleared": "No longer flagged",
    }
    more = len(ranked) - _MOST_PAIRS
    note = "Intervals hold for all pairs together." + (f" {more} more pairs are in audit.json." if more > 0 else "")
    yield Table(f"pairs_{comparison.name}", f"Pairs of groups of {comparison.name}", columns, tuple(rows), note)


def _not_measured(audit: Subject, found: Evidence) -> Sequence[str]:
    """What a reader might expect, and does not get."""
    missing: list[str] = []
    if found.known_truth:
        return missing
    if found.interval is None:
        missing.append("How uncertain the number is: the audit was made without subsamples.")
    if found.twin_test is None:
        missing.append("Whether twins pass for real people of the other group: that test could not be run here.")
    elif not found.can_be_tested:
        missing.append("Whether twins pass for real people: the rows were chosen by their label.")
    if found.bounds is None:
        missing.append(
            "Bounds that need no causal model: they do not hold for this comparison, or would tell the rate of a "
            "small group."
        )
    own = audit.result.report(audit.method).threshold
    if audit.threshold != own and audit.result.stability is not None:
        missing.append(
            "Which edges carry the change, and the span over assumptions, at this threshold: they were measured at the "
            f"audit's own ({own:.4g})."
        )
    if not audit.has_labels:
        missing.append("Whether flags are right: there are no labels.")
    return missing
