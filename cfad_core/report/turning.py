"""What would turn the verdict, in plain words: edges that matter and are uncertain, assumptions, bounds, thresholds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.directions import open_directions, times_found
from cfad_core.core.formats import SMALLEST_GROUP, listed, percent, percent_range, share_of_people
from cfad_core.evaluation.edge_cuts import EdgeCuts
from cfad_core.evaluation.evidence import Evidence
from cfad_core.report.subject import Subject

MATTERS = 0.1  # share of the change that an edge carries, from which on it matters
CERTAIN = 0.9  # share of the subsamples from which on an edge counts as certain
FLAGGED = (0.01, 0.02, 0.05, 0.1)  # shares of people flagged, at which other thresholds are looked at
_MOST_EDGES = 4


@dataclass(frozen=True)
class CarriedEdge:
    """An edge on a path from the sensitive attribute.

    Attributes
    ----------
    carried : share of the change that goes without it; None if the outcomes of fewer than ten people change
    times, graphs : in how many subsamples it was found, and how many there are; None where it was not measured
    is_open : whether the data leave its direction open
    """

    cause: str
    effect: str
    carried: float | None
    times: int | None
    graphs: int | None
    is_open: bool

    @property
    def name(self) -> str:
        return f"{self.cause} → {self.effect}"

    @property
    def is_uncertain(self) -> bool:
        seldom = self.times is not None and self.graphs is not None and self.times < CERTAIN * self.graphs
        return seldom or self.is_open

    @property
    def matters(self) -> bool:
        return self.carried is not None and abs(self.carried) >= MATTERS


def carried_edges(audit: Subject, comparison: Comparison) -> list[CarriedEdge]:
    """Every edge on a path from what is compared, those that carry most first; at the audit's own threshold."""
    result, cuts = audit.result, _cuts(audit, comparison)
    if cuts is None or result.stability is None:
        return []
    variables = list(result.stability.variables)
    times, graphs = times_found(result.stability), len(result.stability.graphs)
    changed = round(cuts.whole[audit.method] * cuts.people)
    shares = None if changed < SMALLEST_GROUP else cuts.carried(audit.method)  # a few people say nothing about edges
    is_open = open_directions(result)
    was_given = result.config.knowledge.complete
    found = []
    for k, (cause, effect) in enumerate(cuts.edges):
        j, i = variables.index(cause), variables.index(effect)
        found.append(
            CarriedEdge(
                cause,
                effect,
                None if shares is None else float(shares[k]),
                None if was_given else int(times[j, i]),
                None if was_given else graphs,
                bool(is_open is not None and is_open[j, i]),
            )
        )
    return sorted(found, key=lambda edge: -abs(edge.carried or 0.0))


def _cuts(audit: Subject, comparison: Comparison) -> EdgeCuts | None:
    stability = audit.result.seen(comparison.name).stability
    if stability is None or not stability.edge_cuts or audit.method not in stability.edge_cuts[0].whole:
        return None
    return stability.edge_cuts[0]


def turning_points(audit: Subject, comparison: Comparison) -> list[str]:
    """What would change the verdict, the most important first, a sentence or two each."""
    found = audit.evidence(comparison)
    if found.known_truth:
        return [
            "Nothing about the causal model would: the true twins are known.",
            *_other_thresholds(audit, comparison),
        ]
    return [
        *_failed(found),
        *_edges(audit, comparison, found),
        *_models(audit, comparison),
        *_couplings(found),
        *_kept(found),
        *_bounds(found),
        *_error(found),
        *_other_thresholds(audit, comparison),
        "A cause of both the sensitive attribute and other columns that is not in the table would: no table can show "
        "it.",
    ]


def _failed(found: Evidence) -> Iterator[str]:
    if found.unexplained and found.can_be_tested:
        yield (
            f"A path to {listed(found.unexplained, 6)}: the groups differ there, and the graph has no path there. "
            "With one, more outcomes may change."
        )
    if found.twin_test is not None and found.can_be_tested and not found.twin_test.passes():
        by = f" in {listed([name for name, _ in found.twin_test.columns])}" if found.twin_test.columns else ""
        yield f"A better causal model: today's twins are not like real people of the other group{by}."
    if found.better_fit:
        them = "it" if len(found.better_fit) == 1 else "them"
        yield f"A better model of {listed(found.better_fit, 6)}: a more flexible one predicts {them} clearly better."


def _edges(audit: Subject, comparison: Comparison, found: Evidence) -> Iterator[str]:
    """Edges that matter, and that are uncertain."""
    edges = [edge for edge in carried_edges(audit, comparison) if edge.carried is not None]
    unsure = [edge for edge in edges if edge.matters and edge.is_uncertain]
    for edge in unsure[:_MOST_EDGES]:
        why = []
        if edge.times is not None and edge.graphs is not None and edge.times < CERTAIN * edge.graphs:
            why.append(f"was found in {edge.times} of {edge.graphs} subsamples")
        if edge.is_open:
            why.append("may point the other way as well")
        yield f"The edge {edge.name} {' and '.join(why)}. {_without(edge, found)}"
    if edges and not unsure and not found.was_given:
        yield (
            "No single edge is both uncertain and important: those that carry at least "
            f"{percent(MATTERS, 0)} of the change were found in at least {percent(CERTAIN, 0)} of the subsamples, and "
            "their direction is clear."
        )


def _without(edge: CarriedEdge, found: Evidence) -> str:
    carried = edge.carried or 0.0
    if found.ratio is None:
        return f"It carries {percent(carried, 0)} of the change."
    left = share_of_people(min(1.0, max(0.0, found.ratio * (1.0 - carried))))
    if carried < 0.0:
        return f"It works against the others: without it, about {left} instead of {share_of_people(found.ratio)}."
    return f"Without it, the outcome of about {left} of people would change instead of {share_of_people(found.ratio)}."


def _models(audit: Subject, comparison: Comparison) -> Iterator[str]:
    """How far the causal models of the subsamples are apart, each by itself."""
    report = audit.report(comparison)
    if report.resampled is None:
        yield "Measuring the uncertainty might: this audit was made without subsamples."
        return
    ratios = report.resampled.ratios_of_models(audit.threshold)
    each = "fitted to" if audit.result.config.knowledge.complete else "learned from"
    yield (
        f"Another sample of people: the {len(ratios)} causal models, each {each} a random half of the rows, say "
        f"{percent_range(float(ratios.min()), float(ratios.max()))} each by itself."
    )


def _couplings(found: Evidence) -> Iterator[str]:
    if found.span is not None:
        yield (
            "Another assumption about which value of a category belongs to which, which data cannot decide: "
            f"{percent_range(*found.span)}."
        )


def _kept(found: Evidence) -> Iterator[str]:
    if found.kept:
        differ, them = ("differs", "it") if len(found.kept) == 1 else ("differ", "them")
        yield (
            f"Other knowledge about {listed(found.kept, 6)}, which {differ} between the groups: by what was said "
            f"beforehand {found.sensitive} does not cause {them}. If it does, what comes through {them} would count as "
            "well."
        )


def _bounds(found: Evidence) -> Iterator[str]:
    if found.bounds is None or not found.can_be_tested:
        return
    low, high = found.bounds
    least = f"no causal model could bring it under {percent(low)}, and none over {percent(high)}"
    if low < 0.0005:
        least = f"no causal model could bring it over {percent(high)}, but some might find nothing"
    yield f"The flag rates of the groups set limits, whatever the graph is: {least}."


def _error(found: Evidence) -> Iterator[str]:
    least = found.interval.low if found.interval is not None else found.ratio
    if found.model_error is not None and least is not None and found.model_error >= max(least, 0.001):
        yield (
            "A better causal model: errors of today's alone change the outcome of "
            f"{share_of_people(found.model_error)} of people, so the number may be no more than that."
        )


def _other_thresholds(audit: Subject, comparison: Comparison) -> Iterator[str]:
    """Where other shares of people are flagged: as many as scores allow, if some are equal."""
    report = audit.report(comparison)
    if not report.people.n:
        return
    wanted = report.people.quantile(np.array([1.0 - flagged for flagged in FLAGGED]))
    found = report.curves.people.at(wanted)
    known = (found.flag_rate > 0.0) & ~np.isnan(found.changing_ratio)
    if not known.any():
        return
    rates, ratios = found.flag_rate[known], found.changing_ratio[known]
    yield (
        f"Another threshold: where {percent_range(float(rates.min()), float(rates.max()))} of people are flagged, the "
        f"outcome of {percent_range(float(ratios.min()), float(ratios.max()))} changes."
    )
