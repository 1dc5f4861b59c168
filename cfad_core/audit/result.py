"""What an audit found: data only, frozen and complete."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.answers import AnswerRecord
from cfad_core.audit.basis import MethodScores, ReportBasis
from cfad_core.audit.checks import ModelChecks
from cfad_core.audit.comparisons import Comparison, Pair, Plan, View, view_of
from cfad_core.audit.encoded import Encoded, SeenRows
from cfad_core.audit.group_report import GroupReport
from cfad_core.audit.notices import result_notices
from cfad_core.audit.report import MethodReport
from cfad_core.audit.slicing import MethodSlices
from cfad_core.audit.stability import Stability
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.formats import exceeded_by
from cfad_core.data.encoding import Encoding
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.protocol import AnyDetector
from cfad_core.detectors.registry import called, label_of
from cfad_core.evaluation.comparison import comparison_line
from cfad_core.evaluation.counts import ScoreCells
from cfad_core.evaluation.intervals import Difference

if TYPE_CHECKING:
    import pandas as pd

    from cfad_core.audit.everybody import Everybody
    from cfad_core.audit.person import PersonExplanation

PLAIN = "ae"
"""The detector that others are compared with."""


@dataclass(frozen=True)
class People:
    """The test rows and their twins, as encoded variables (n, d).

    Attributes
    ----------
    row : position of each person in the table they came from
    is_anomaly : None without labels
    codes : (n,), of the states that they are in: the first column of ``factual``
    encoded : their rows, and those of their twins
    judged : (m,), positions of those whom the judges made twins of
    """

    row: NDArray[np.int64]
    is_anomaly: Bools | None
    codes: Floats
    encoded: Encoded
    judged: NDArray[np.int64]

    @property
    def factual(self) -> Floats:
        """(n, d), as they are."""
        return self.encoded.factual

    @property
    def twins(self) -> Floats:
        """(k, n, d), one in each of k other groups by the audit's own causal model, the first draw: those shown."""
        return self.encoded.twins

    @property
    def truth(self) -> Floats | None:
        """(n, d), their true twins, where these are known."""
        return self.encoded.truth

    @property
    def counterfactual(self) -> Floats:
        """(n, d), the twins that are shown: where there are several other groups, in the first."""
        return np.asarray(self.twins[0])

    def seen(self, view: View) -> People:
        """Those of one view."""
        if view.is_everything(people=len(self.row)):
            return self
        return People(
            row=self.row[view.rows],
            is_anomaly=None if self.is_anomaly is None else self.is_anomaly[view.rows],
            codes=self.codes[view.rows],
            encoded=SeenRows(self.encoded, view),
            judged=view.among(self.judged)[1].astype(np.int64),
        )


@dataclass(frozen=True)
class Provenance:
    """What an audit was made from, and by what.

    Attributes
    ----------
    data_digest : sha256 of all tables that were given
    seconds : wall time by stage
    versions : of the packages that computed
    n_train, n_train_normal : training rows, and the normal ones among them
    n_learned, n_learned_normal : those of them that the causal model and the detectors learned from
    """

    data_digest: str
    seconds: dict[str, float]
    versions: dict[str, str]
    n_train: int
    n_train_normal: int
    n_learned: int
    n_learned_normal: int


@dataclass(frozen=True)
class AuditResult:
    """An audit. What is said about a method is in its report: ``result.report("cfad").verdict``.

    Where there are several sensitive attributes, or several groups, an audit is looked at through a view:
    ``result.seen("race")``, ``result.seen("race", ("Black", "White"))``, ``result.seen("sex and race")``; without one,
    through the first attribute as a whole.

    Attributes
    ----------
    roles, config : what was asked
    settings : of Phase Two as they were used, with what was left to the data filled in
    encoding, model, detectors : what scores new rows
    plan : who is compared with whom
    people, scores : the test rows and their scores by method, all with one twin for every move of the plan
    judges : how many causal models of other rows judged the people; none if the true twins were known and enough
    checks : by comparison, whether the causal model passes its tests; empty if they were not run
    stability : what is uncertain about it, if that was measured
    notices : what the reader must know about the table, the graph and the detectors
    provenance : what it was made from
    slices : by method, subgroups that nobody asked for; empty in audits from before they were looked for
    asked : of an audit of a detector outside this program, how it answered
    judge_models : the causal models that judged; none in audits from before they were saved
    everybody : the table that the people are a sample of, if they are; its scores were counted
    view, whole : what of it is seen, and all of it; None: this is all of it
    """

    roles: ColumnRoles
    config: AuditConfig
    settings: DetectorConfig
    encoding: Encoding
    model: CausalModel
    detectors: dict[str, AnyDetector]
    plan: Plan
    people: People
    scores: dict[str, MethodScores]
    judges: int
    checks: tuple[ModelChecks, ...]
    stability: Stability | None
    notices: tuple[Finding, ...]
    provenance: Provenance
    slices: dict[str, MethodSlices] = field(default_factory=dict)
    asked: AnswerRecord | None = None
    judge_models: Sequence[CausalModel] = ()
    everybody: Everybody | None = None
    view: View | None = None
    whole: AuditResult | None = field(default=None, repr=False, compare=False)

    @cached_property
    def worked_out(self) -> dict[Hashable, Any]:
        """What takes long and was asked for already, for as long as this audit is in memory."""
        return {}

    @cached_property
    def _views(self) -> dict[tuple[str, Pair | None], AuditResult]:
        return {}

    def seen(self, comparison: str | None = None, pair: Pair | None = None) -> AuditResult:
        """The audit through one comparison, by default the first, and one pair of its groups.

        Everything in it is about that alone: people, scores, reports, checks and what is uncertain.

        Raises
        ------
        InvalidConfigError
            If there is no such comparison, or no such pair.
        """
        if self.view is not None:
            raise InvalidConfigError("This is a view of an audit already; look at the audit itself.")
        chosen = self.plan.comparison(comparison)
        if pair is not None:
            chosen.check_pair(pair)
            pair = pair if len(chosen.groups) > 2 else None  # two groups are all there is
        key = (chosen.name, pair)
        if key not in self._views:
            self._views[key] = self._through(chosen, pair)
        return self._views[key]

    def _through(self, comparison: Comparison, pair: Pair | None) -> AuditResult:
        state, place = self.plan.states.of_codes(self.people.codes), self.plan.comparisons.index(comparison)
        view, judged = view_of(self.plan, state, comparison, pair), self.people.judged
        stability = self.stability
        return replace(
            self,
            people=self.people.seen(view),
            scores={method: scores.seen(view, judged) for method, scores in self.scores.items()},
            checks=self.checks[place : place + 1],
            stability=None if stability is None else stability.seen(view, place, judged),
            view=view,
            whole=self,
        )

    def cells(self, method: str) -> ScoreCells:
        """The scores of everybody, by state; in a view by group. They are sorted once, whatever is asked of them."""
        if self.whole is not None and self.view is not None:
            return self.whole.cells(method).grouped(*self.view.states, len(self.view.names))
        if method not in self._cells:
            scores, state = self.scores[method], self.plan.states.of_codes(self.people.codes)
            self._cells[method] = (
                ScoreCells.of(scores.factual, state, self.plan.states.count, self.people.is_anomaly)
                if scores.counts is None
                else scores.counts.cells
            )
        return self._cells[method]

    @cached_property
    def _cells(self) -> dict[str, ScoreCells]:
        return {}

    def how_flagged(self, method: str) -> str:
        """What the threshold of a method is: ``the score that 5 % of the people learned from exceed``."""
        if self.scores[method].threshold is not None:
            return "as its owner set it"
        return self._rule

    @property
    def threshold_rule(self) -> str:
        """How thresholds were set, in a few words: ``the score that 5 % of the people learned from exceed``."""
        owners = [method for method, scores in self.scores.items() if scores.threshold is not None]
        return f"{self._rule} ({', '.join(owners)}: its owner's)" if owners else self._rule

    @property
    def _rule(self) -> str:
        return exceeded_by(self.config.quantile)

    @property
    def groups(self) -> dict[str, Bools]:
        """Which test people belong to each group."""
        return self.seen().groups if self.view is None else self.view.groups

    @property
    def judged_people(self) -> int:
        """How many people were scored: the test people, or all of the table that they are some of."""
        return int(self._state_sizes.sum()) if self.view is None else sum(self.group_sizes.values())

    @property
    def row_numbers(self) -> NDArray[np.int64]:
        """(n,), where each of the people stands in the table that was audited, counted from 1."""
        own = self.people.row
        return (own if self.everybody is None else self.everybody.positions[own]) + 1

    @property
    def group_sizes(self) -> dict[str, int]:
        """How many of them belong to each group."""
        if self.view is None:
            return self.seen().group_sizes
        states, group = self.view.states
        return _taken_together(self.view.names, group, (self.whole or self)._state_sizes[states])

    def sizes(self, comparison: Comparison) -> dict[str, int]:
        """The same for the groups of any comparison, also for those that are compared with nobody."""
        group = self.plan.groups_of(np.arange(self.plan.states.count), comparison)
        return _taken_together(comparison.groups, group, self._state_sizes)

    @cached_property
    def _state_sizes(self) -> NDArray[np.int64]:
        """How many people are in each state."""
        counts = next((scores.counts for scores in self.scores.values()), None)
        if counts is not None:
            return counts.people
        state, states = self.plan.states.of_codes(self.people.codes), self.plan.states.count
        return np.bincount(state, minlength=states).astype(np.int64)

    @cached_property
    def reports(self) -> dict[str, MethodReport]:
        """By method, what the audit says about it."""
        if self.view is None:
            return self.seen().reports
        compared = [self.model.attributes[s] for s in self.view.comparison.attributes]
        basis = ReportBasis(
            view=self.view,
            is_anomaly=self.people.is_anomaly,
            judged=self.people.judged,
            judges=self.judges,
            has_path=bool(self.model.affected_by(compared)),
            is_additive=isinstance(self.model, AdditiveModel),
            graph_was_given=self.config.knowledge.complete,
            quantile=self.config.quantile,
            checks=self.checks[0] if self.checks else None,
            cells=self.cells,
        )
        return {
            method: MethodReport(method, label_of(method), scores, basis, self.stability)
            for method, scores in self.scores.items()
        }

    def improvement(self, method: str) -> Difference | None:
        """By how much the outcome of fewer people changes than with AE, negative if so; None for AE, or without it."""
        if method == PLAIN or PLAIN not in self.reports:
            return None
        return self.reports[method].difference_from(self.reports[PLAIN])

    def improvement_line(self, method: str) -> str | None:
        """The same in a sentence."""
        found = self.improvement(method)
        return None if found is None else comparison_line(called(method), called(PLAIN), found)

    def report(self, method: str, comparison: str | None = None, pair: Pair | None = None) -> MethodReport:
        """What the audit says about one method, through a view."""
        if self.view is not None and comparison is None:
            return self.reports[method]
        return self.seen(comparison, pair).reports[method]

    def group_report(self, method: str, comparison: str | None = None) -> GroupReport:
        """What the audit says about the groups of a comparison, by default the first: pairs, metrics, interaction."""
        key = (method, self.plan.comparison(comparison).name)
        if key not in self._group_reports:
            self._group_reports[key] = GroupReport(self, self.plan.comparison(comparison), method)
        return self._group_reports[key]

    @cached_property
    def _group_reports(self) -> dict[tuple[str, str], GroupReport]:
        return {}

    def explain(
        self,
        row: int,
        method: str | None = None,
        *,
        table: pd.DataFrame | None = None,
        threshold: float | None = None,
    ) -> PersonExplanation:
        """What there is to say about one person: their outcome, their twins, and each column's part in the score.

        And the way to each twin step by step, and the real people who are most like it.

        Parameters
        ----------
        row : position in the table that was judged, counted from 0: one of ``people.row``, as in ``table.iloc[row]``
        method : by default your own detector, if there is one, else the first of the audit
        table : the table that was judged, all of it; with it, columns are in its own words and units. Without it, they
            are as well as the audit remembers them
        threshold : above which people are flagged; by default the method's own

        Raises
        ------
        InvalidDataError
            If the row was not judged, or the table holds another person there.
        InvalidConfigError
            If the audit has no such method.
        """
        from cfad_core.audit.person import explain_person

        return explain_person(self, row, method, table, threshold)

    def __repr__(self) -> str:
        """Short: notebooks keep it beside the HTML."""
        people, methods = len(self.people.row), ", ".join(self.scores)
        return f"<AuditResult by {self.encoding.sensitive}: {people} people judged, methods {methods}>"

    def _repr_html_(self) -> str:
        """For notebooks."""
        from cfad_core.audit.notebook import audit_html

        return audit_html(self)

    @cached_property
    def findings(self) -> tuple[Finding, ...]:
        """All that the reader must know, also about what was found."""
        return (*self.notices, *result_notices(self.reports, older=self.is_of_older_engine))

    @property
    def is_of_older_engine(self) -> bool:
        """Whether it was made before every variable had a mechanism of its own."""
        return isinstance(self.model, AdditiveModel) and self.config.discovery.mode != "paper"


def _taken_together(names: Sequence[str], group: NDArray[np.intp], people: NDArray[np.int64]) -> dict[str, int]:
    """By name of a group, how many people (r,) are in it, who are in these groups (r,)."""
    found = np.zeros(len(names), dtype=np.int64)
    np.add.at(found, group, people)
    return dict(zip(names, found.tolist(), strict=True))
