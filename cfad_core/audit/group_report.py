"""What an audit says about the groups of one comparison: pairs of them, metrics of each, and two attributes at once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from cfad_core.audit.comparisons import Comparison
from cfad_core.core.arrays import Floats
from cfad_core.core.states import Codes
from cfad_core.evaluation.group_metrics import GroupScores, GroupTable
from cfad_core.evaluation.interaction import Interaction, interaction
from cfad_core.evaluation.pair_table import PairTable
from cfad_core.evaluation.pairs import PairScores
from cfad_core.evaluation.simultaneous import LEAST_MODELS

if TYPE_CHECKING:
    from cfad_core.audit.report import MethodReport
    from cfad_core.audit.result import AuditResult


@dataclass(frozen=True)
class GroupReport:
    """One method and one comparison, at any threshold; what does not depend on the threshold is worked out once.

    Attributes
    ----------
    audit : the whole audit
    comparison : groups of one attribute, or of two together
    method : the detector
    """

    audit: AuditResult
    comparison: Comparison
    method: str

    @cached_property
    def report(self) -> MethodReport:
        """What the audit says about the comparison as a whole."""
        return self.audit.report(self.method, self.comparison.name)

    @property
    def _seed(self) -> int | None:
        """Of samples of people; None if there are too few causal models to say how certain numbers are."""
        stability, judges = self.audit.stability, self.audit.judges
        return None if stability is None or judges < LEAST_MODELS or judges % 2 else stability.seed

    @cached_property
    def _group(self) -> Codes:
        """(n,), the group of all people, also of those who are compared with nobody."""
        plan = self.audit.plan
        return plan.groups_of(plan.states.of_codes(self.audit.people.factual[:, 0]), self.comparison)

    @cached_property
    def _pairs(self) -> PairScores:
        own, group, judged = self.comparison, self._group, self.audit.people.judged
        scores, moves = self.audit.scores[self.method], list(own.moves)
        if scores.truth is not None:
            return PairScores(scores.factual, scores.truth[None, None, None], group, own.groups, own.compared)
        twins = scores.judged[:, moves]
        twins = twins.reshape(self.audit.judges, -1, *twins.shape[1:])
        return PairScores(scores.factual[judged], twins, group[judged], own.groups, own.compared, self._seed)

    def pairs_at(self, threshold: float) -> PairTable | None:
        """Every ordered pair of groups; None where two attributes change at once."""
        if self.comparison.is_joint:
            return None
        counts = None
        if self.report.flag_rates_bound:
            counts = self._metrics.flag_counts(threshold)
        return self._pairs.at(threshold, counts)

    @cached_property
    def _metrics(self) -> GroupScores:
        scores, seed, plan, names = (
            self.audit.scores[self.method],
            self.audit.config.seed,
            self.audit.plan,
            self.comparison.groups,
        )
        if scores.counts is None:
            return GroupScores(scores.factual, self.audit.people.is_anomaly, self._group, names, seed)
        states = np.arange(plan.states.count)
        found = scores.counts.grouped(states, plan.groups_of(states, self.comparison), len(names))
        return found.group_scores(names, seed)

    def metrics_at(self, threshold: float) -> GroupTable:
        """Every metric of each group, in the world as it is."""
        return self._metrics.at(threshold)

    def interaction_at(self, threshold: float) -> Interaction | None:
        """Whose outcome changes only if both attributes change; None for one attribute, or where nobody was judged."""
        scores, judged = self.audit.scores[self.method], self.audit.people.judged
        if not self.comparison.is_joint or not scores.judged.size:
            return None
        first, second, both = self._single_and_both(scores.judged)
        own = scores.factual[judged]
        return interaction(own, first, second, both, threshold, self.audit.judges, self._seed)

    def _single_and_both(self, judged: Floats) -> tuple[Floats, Floats, Floats]:
        """(R, m) each: of twins moved in the first attribute alone, in the second, and in both, to the same groups."""
        plan, people = self.audit.plan, judged.shape[2]
        (move,) = self.comparison.moves
        singles = [next(one for one in plan.comparisons if one.attributes == (s,)) for s in self.comparison.attributes]
        found: list[list[Floats]] = [[], []]
        for turn, scores in enumerate(judged):  # (moves, m)
            numbers = plan.numbers_in_turn(people, self.comparison, turn)
            for place, (single, number) in enumerate(zip(singles, numbers, strict=True)):
                found[place].append(scores[np.array(single.moves)[number], np.arange(people)])
        return np.stack(found[0]), np.stack(found[1]), judged[:, move]

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``, at the audit's threshold; nothing about groups of fewer than 10 people."""
        threshold = self.report.threshold
        pairs, both = self.pairs_at(threshold), self.interaction_at(threshold)
        return {
            "metrics": self.metrics_at(threshold).suppressed().to_dict(),
            "pairs": None if pairs is None else pairs.suppressed().to_dict(),
            "interaction": None if both is None else both.suppressed().to_dict(),
        }
