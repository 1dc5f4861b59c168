"""Tests that a causal model must pass on every table, whether or not the truth is known."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, get_args

import numpy as np

from cfad_core.audit.comparisons import Comparison, Plan, view_of
from cfad_core.audit.judging import UNSEEN, Score
from cfad_core.causal.learning import Learner
from cfad_core.causal.mechanisms.category import Category
from cfad_core.causal.mechanisms.protocol import Coupling
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.progress import Progress, Silent
from cfad_core.core.states import States
from cfad_core.detectors.registry import METHODS
from cfad_core.evaluation.couplings import CouplingScores
from cfad_core.evaluation.fit_test import clearly_better
from cfad_core.evaluation.twin_test import TwinTest, twin_test

STAGE = "checks"
_MOST_PEOPLE = 2_000  # that couplings are compared on
_DRAWS = 4


@dataclass(frozen=True)
class ModelChecks:
    """What the tests found, about one comparison.

    Attributes
    ----------
    twin_test : whether twins pass for real people of the other group; None where that cannot be tested
    kept : variables that differ between the groups, but that twins keep: by what is known, the attribute is no cause
    unexplained : variables that differ between the groups beyond chance, and contradict the graph: they are not reached
    better_fit : variables that a model of all earlier variables predicts clearly better, in people it has not seen
    spans : by method, by how much the changing ratio could be lower or higher, were levels coupled otherwise; empty if
        no category with more than two levels is reached
    remaining : by method that scores with the causal model, the lowest and the highest changing ratio that remains even
        if that model is right: which level a twin has is drawn, and no method can know it. Empty if nothing is drawn
    rows_were_selected : whether the training rows were chosen by their label
    """

    twin_test: TwinTest | None
    kept: tuple[str, ...]
    unexplained: tuple[str, ...]
    better_fit: tuple[str, ...]
    spans: dict[str, tuple[float, float]]
    rows_were_selected: bool
    remaining: dict[str, tuple[float, float]] = field(default_factory=dict)

    @property
    def groups_are_comparable(self) -> bool:
        """Whether twins of one group are, as a population, the other group: what bounds rest on."""
        return not (self.kept or self.rows_were_selected)

    def span_of(self, method: str, ratio: float | None) -> tuple[float, float] | None:
        """The lowest and the highest changing ratio over the couplings, where this is the ratio by the usual one."""
        if ratio is None or method not in self.spans:
            return None
        low, high = self.spans[method]
        return max(0.0, ratio + low), min(1.0, ratio + high)

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``."""
        return {
            "twin_test": None if self.twin_test is None else self.twin_test.to_dict(),
            "kept": list(self.kept),
            "unexplained": list(self.unexplained),
            "better_fit": list(self.better_fit),
            "coupling_spans": {method: list(span) for method, span in self.spans.items()},
            "remaining": {method: list(span) for method, span in self.remaining.items()},
            "rows_were_selected": self.rows_were_selected,
        }

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> ModelChecks:
        return ModelChecks(
            twin_test=None if values["twin_test"] is None else TwinTest.from_dict(values["twin_test"]),
            kept=tuple(values["kept"]),
            unexplained=tuple(values["unexplained"]),
            better_fit=tuple(values["better_fit"]),
            spans={method: (low, high) for method, (low, high) in values["coupling_spans"].items()},
            rows_were_selected=values["rows_were_selected"],
            remaining={method: (low, high) for method, (low, high) in values.get("remaining", {}).items()},
        )


@dataclass(frozen=True)
class Tested:
    """What is tested: a causal model, the learner that made it, and the people it is used on.

    Attributes
    ----------
    factual : (n, d), people who were not learned from
    twins : (moves, n, d), their twins
    plan : what is compared
    score, thresholds : by method
    rows_were_selected : whether the training rows were chosen by their label
    """

    model: StructuralModel
    learner: Learner
    factual: Floats
    twins: Floats
    plan: Plan
    variables: tuple[str, ...]
    score: Score
    thresholds: Mapping[str, float]
    rows_were_selected: bool


def check_model(tested: Tested, seed: int, progress: Progress) -> tuple[ModelChecks, ...]:
    """Run all tests, of every comparison."""
    quiet, comparisons = Silent(progress, STAGE), tested.plan.comparisons
    steps = 1 + len(comparisons)
    better = () if tested.rows_were_selected else _better_fit(tested, quiet)
    progress.tick(STAGE, 1, steps)
    found: list[ModelChecks] = []
    for comparison in comparisons:
        found.append(_check(tested, comparison, better, seed, quiet))
        progress.tick(STAGE, 1 + len(found), steps)
    return tuple(found)


def _check(
    tested: Tested, comparison: Comparison, better: tuple[str, ...], seed: int, progress: Progress
) -> ModelChecks:
    differing = [tested.learner.differing(tested.model, s) for s in comparison.attributes]
    kept, unexplained = (
        tuple(dict.fromkeys(name for some in part for name in some)) for part in zip(*differing, strict=True)
    )
    reached = tested.model.affected_by([tested.model.attributes[s] for s in comparison.attributes])
    untested = tested.rows_were_selected or comparison.is_joint
    ratios = _own_ratios(tested, comparison, progress)
    return ModelChecks(
        twin_test=None if untested else _twin_test(tested, comparison, kept, seed, progress),
        kept=kept,
        unexplained=unexplained,
        better_fit=tuple(name for name in better if name in reached),
        spans={method: span for method, found in ratios.items() if (span := coupling_span(found)) is not None},
        rows_were_selected=tested.rows_were_selected,
        remaining={method: (float(found.min()), float(found.max())) for method, found in _of_model(ratios).items()},
    )


def _twin_test(
    tested: Tested, comparison: Comparison, kept: tuple[str, ...], seed: int, progress: Progress
) -> TwinTest | None:
    """Twins of one attribute against real people with the same groups of the others.

    Where twins keep variables that differ between the groups, among people whom these let expect in either group:
    everybody stays in the test with the probability of the groups that they are compared with (overlap weights), so
    that what is kept has the same distribution among twins of some groups and people of another.
    """
    people, twins = tested.factual, tested.twins[list(comparison.moves)].reshape(-1, tested.factual.shape[1])
    if kept:
        shares = tested.learner.group_probability(kept, people)
        twins, people = overlapping(twins, people, shares, tested.plan.states, comparison, seed)
    return twin_test(twins, people, tested.variables, seed, progress)


def overlapping(
    twins: Floats, people: Floats, shares: Floats, states: States, comparison: Comparison, seed: int
) -> tuple[Floats, Floats]:
    """Those of the twins (moves * n, d) and of the people (n, d) who stay in a twin test, by overlap weights.

    Parameters
    ----------
    shares : (n, states), the probability of each state, given what twins keep
    """
    (s,) = comparison.attributes
    shares, rng = _shares_alike(shares, states, s), np.random.default_rng([seed, 7])
    own, copies = np.arange(len(people)), len(comparison.moves)
    stays = rng.random(len(people)) < 1.0 - shares[own, states.of_codes(people[:, 0])]
    if copies == 1:  # person and twin stay together
        return twins[stays], people[stays]
    target = shares[np.tile(own, copies), states.of_codes(twins[:, 0])]
    return twins[rng.random(len(twins)) < target], people[stays]


def _shares_alike(shares: Floats, states: States, attribute: int) -> Floats:
    """Of probabilities (n, states), those among states that differ in one attribute alone, (n, states)."""
    others = np.delete(states.levels, attribute, axis=1)
    alike = (others[:, None] == others[None]).all(axis=2).astype(np.float64)  # (states, states)
    found: Floats = shares / np.maximum(shares @ alike, 1e-300)
    return found


def _better_fit(tested: Tested, progress: Progress) -> tuple[str, ...]:
    """Variables whose mechanism misses what earlier variables say about people that it has not seen."""
    own = tested.model.log_likelihoods(tested.factual)
    other = tested.learner.saturated(tested.model, progress).log_likelihoods(tested.factual)
    return clearly_better(own, {name: other[name] for name in own})


def _own_ratios(tested: Tested, comparison: Comparison, progress: Progress) -> dict[str, Floats]:
    """By method, the changing ratio by coupling: as usual first. Empty if nothing is drawn."""
    found = score_couplings(tested, comparison, progress)
    return {} if found is None else {method: found.ratios(method, tested.thresholds[method]) for method in found.here}


def score_couplings(tested: Tested, comparison: Comparison, progress: Progress) -> CouplingScores | None:
    """Scores of some people and of twins by the audit's own model that no detector scores with, by coupling.

    First as levels are coupled usually; then in every other way, if one with more than two levels is reached: of two
    levels all couplings make the same. None if nothing is drawn.
    """
    model, plan = tested.model, tested.plan
    reached = [i for i in model.reached_from(comparison.attributes) if i >= len(model.attributes)]
    if not any(model.mechanisms[i].draws for i in reached):
        return None
    several = any(isinstance(one := model.mechanisms[i], Category) and len(one.places) > 2 for i in reached)
    couplings: tuple[Coupling | None, ...] = (None, *(get_args(Coupling) if several else ()))
    whose = _people_asked(tested, comparison)
    people = tested.factual[whose]
    state, twins_of = plan.states.of_codes(people[:, 0]), model.possible_twins(people)
    found: list[dict[str, Floats]] = []
    for coupling in couplings:
        for draw in range(_DRAWS):
            for move in comparison.moves:
                progress.check(STAGE)
                twins = twins_of(UNSEEN + draw, to=plan.targets(state, move, draw), coupling=coupling)
                found.append(tested.score(twins, whose))
    shape = len(couplings), _DRAWS, len(comparison.moves), len(people)
    here = tested.score(people, whose)
    return CouplingScores(
        here=here,
        there={method: np.concatenate([one[method] for one in found]).reshape(shape) for method in here},
        compared=np.stack([plan.is_compared(state, move) for move in comparison.moves]),
    )


def _people_asked(tested: Tested, comparison: Comparison) -> Rows:
    """Positions of those that couplings are compared on."""
    plan = tested.plan
    return view_of(plan, plan.states.of_codes(tested.factual[:, 0]), comparison).rows[:_MOST_PEOPLE]


def coupling_span(ratios: Floats) -> tuple[float, float] | None:
    """By how much the ratio could be lower or higher than usual; None if all couplings are the same."""
    return (float((ratios - ratios[0]).min()), float((ratios - ratios[0]).max())) if len(ratios) > 1 else None


def _of_model(ratios: Mapping[str, Floats]) -> dict[str, Floats]:
    """Of the methods that score with the causal model."""
    return {name: found for name, found in ratios.items() if name in METHODS and METHODS[name].scores_with_model}
