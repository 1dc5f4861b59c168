"""Measure a batch: new people by the same estimators as the audit's own, and tests of its causal model on them."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.basis import MethodScores
from cfad_core.audit.batch import Batch, ComparisonBatch, MethodBatch, VariableFit
from cfad_core.audit.checks import overlapping
from cfad_core.audit.comparisons import Comparison, view_of
from cfad_core.audit.judging import UNSEEN, by_method, draws_of, most_judged, sample_of, twins_by_all
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import Scorer, encode_people
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.learning import group_probability
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.formats import SMALLEST_GROUP
from cfad_core.core.progress import Progress, Silent
from cfad_core.core.states import Codes
from cfad_core.core.threads import one_thread
from cfad_core.data.encoding import Encoding
from cfad_core.data.tables import digest
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.counts import ScoreCells
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.fit_test import LARGEST
from cfad_core.evaluation.group_metrics import GroupScores
from cfad_core.evaluation.shift_test import FEWEST, Shift, shift_test
from cfad_core.evaluation.twin_test import TwinTest, twin_test

STAGE = "batch"


def measure_batch(
    result: AuditResult,
    table: pd.DataFrame,
    *,
    source: str = "",
    at: float | None = None,
    progress: Progress | None = None,
    counted: Counted | None = None,
) -> Batch:
    """What an audit says about new people, and whether its causal model still fits them.

    The changing ratio is the audit's own estimator: the mean over the twins of its judges, with an interval from the
    same subsamples. Of an audit that was saved without its judges it is by the own causal model, and has no interval.

    Parameters
    ----------
    source : the name of the table
    at : the date of the batch, in seconds since 1970; by default now
    counted : if these rows are only some of a table, drawn by chance: what was counted of all

    Raises
    ------
    InvalidDataError
        If the table lacks a column, holds nobody, or somebody who belongs to none of the groups.
    """
    if not len(table):
        raise InvalidDataError("The table has no rows: there is nobody to measure.")
    people, progress = encode_people(result.encoding, table), progress or Progress()
    if counted is None:
        counted = Counted.of(result.encoding, table, people)
    measuring = _Measuring(result, people, counted, progress)
    return Batch(
        at=time.time() if at is None else float(at),
        source=source,
        digest=counted.digest,
        n=counted.rows,
        judged=len(measuring.judged),
        judges=len(result.judge_models),
        comparisons=tuple(measuring.through(one) for one in result.plan.comparisons),
        unknown={name: count / counted.rows for name, count in counted.unknown.items()},
        unknown_rows=counted.unknown_rows / counted.rows,
        fit=measure_fit(result, people),
        measured=None if len(table) == counted.rows else len(table),
    )


@dataclass(frozen=True)
class Counted:
    """What is counted of all rows of a table, however many of them are measured.

    Attributes
    ----------
    digest : of the table
    states : (states,), how many people are in each
    unknown : by column that has any, cells with a category that the audit does not know
    unknown_rows : rows with one in any column
    """

    digest: str
    rows: int
    states: NDArray[np.int64]
    unknown: dict[str, int]
    unknown_rows: int

    @staticmethod
    def of(encoding: Encoding, table: pd.DataFrame, people: Floats) -> Counted:
        """A table that is measured whole."""
        unknown = encoding.unknown_cells(table)
        states = np.bincount(encoding.states.of_codes(people[:, 0]), minlength=encoding.states.count)
        counts = {name: int(cells.sum()) for name, cells in unknown.items()}
        return Counted(digest(table), len(table), states.astype(np.int64), counts, rows_with_any(unknown, len(table)))


def rows_with_any(unknown: Mapping[str, Bools], rows: int) -> int:
    """How many rows have a cell, given for each column which of them do."""
    return int(np.any([*unknown.values(), np.zeros(rows, dtype=np.bool_)], axis=0).sum())


class _Measuring:
    """What every method says of new people (n, d), and of their twins."""

    def __init__(self, result: AuditResult, people: Floats, counted: Counted, progress: Progress) -> None:
        self.counted = counted
        self.result, self.judges, self.people, self.progress = result, result.judge_models, people, progress
        self.methods = tuple(method for method in result.scores if method in result.detectors)
        self.state = result.plan.states.of_codes(people[:, 0])
        scorer = Scorer(self.methods, result.detectors, Silent(progress, STAGE))
        rng = np.random.default_rng([result.config.seed, 3])
        self.judged = sample_of(np.arange(len(people)), most_judged(result.plan), rng).astype(np.int64)
        self.twin_scores = self._judge(scorer)
        self.scores = scorer(people)

    def _judge(self, scorer: Scorer) -> dict[str, Floats]:
        """By method, scores (R, moves, m) of the judged people's twins."""
        plan, judged = self.result.plan, self.people[self.judged]
        # of the audit's own model, whose first twins detectors score with
        models, first = (self.judges, 0) if self.judges else ([self.result.model], UNSEEN)
        draws = 1 if all(isinstance(model, AdditiveModel) for model in models) else draws_of(len(models))
        found = []
        for twins in twins_by_all(models, judged, plan, draws, first):
            found.append(scorer(twins))
            self.progress.tick(STAGE, len(found), len(models) * draws)
        return by_method(found, len(plan.moves), len(judged))

    def through(self, comparison: Comparison) -> ComparisonBatch:
        """All of it through one comparison."""
        checks = self.result.seen(comparison.name).checks
        groups = self.result.plan.groups_of(self.state, comparison)
        every = self.result.plan.groups_of(np.arange(len(self.counted.states)), comparison)
        sizes = np.bincount(every, self.counted.states, minlength=len(comparison.groups)).astype(int).tolist()
        return ComparisonBatch(
            name=comparison.name,
            groups={
                name: None if 0 < n < SMALLEST_GROUP else n for name, n in zip(comparison.groups, sizes, strict=True)
            },
            twin_test=_twin_test(self.result, self.people, comparison, Silent(self.progress, STAGE)),
            audit_twin_test=checks[0].twin_test if checks else None,
            methods={method: self._method(method, comparison, groups) for method in self.methods},
        )

    def _method(self, method: str, comparison: Comparison, groups: Codes) -> MethodBatch:
        report, names = self._report(method, comparison), comparison.groups
        seed, threshold = self.result.config.seed, report.threshold
        seen = report.scores.factual
        everybody = GroupScores(seen, None, np.zeros(len(seen), dtype=np.intp), ("all",), seed).at(threshold)
        by_group = GroupScores(self.scores[method], None, groups, names, seed).at(threshold).suppressed()
        return MethodBatch(
            threshold=threshold,
            flag_rate=everybody.groups[0].metrics["flag_rate"] if len(seen) else Estimate(None),
            flag_rates={group.name: group.metrics["flag_rate"] for group in by_group.groups},
            changing_ratio=report.metrics.changing_ratio if len(seen) else None,
            interval=report.changing_ratio_interval(threshold) if len(seen) else None,
        )

    def _report(self, method: str, comparison: Comparison) -> MethodReport:
        """The report of a method as the audit makes it, but of these people."""
        result, audited = self.result, self.result.report(method, comparison.name)
        view = view_of(result.plan, self.state, comparison)
        nothing = np.full((len(result.plan.moves), len(self.people)), np.nan)  # no twins are shown here
        scores = MethodScores(result.scores[method].train, self.scores[method], nothing, None, self.twin_scores[method])
        basis = replace(
            audited.basis,
            view=view,
            is_anomaly=None,
            judged=view.among(self.judged)[1].astype(np.int64),
            judges=len(self.judges),
            cells=lambda name: ScoreCells.of(self.scores[name][view.rows], view.group, len(view.names), None),
        )
        stability = audited.stability if self.judges else None
        return MethodReport(method, label_of(method), scores.seen(view, self.judged), basis, stability)


# Tests of the causal model


def measure_fit(result: AuditResult, people: Floats) -> dict[str, VariableFit] | None:
    """Whether every mechanism still fits, on people (n, d), beside those of the audit; None where it was not tested."""
    model, known = result.model, result.people.factual
    if not isinstance(model, StructuralModel):
        return None
    states = [model.states.of_codes(rows[:, 0]) for rows in (known, people)]
    if not (np.minimum(*(np.bincount(one, minlength=model.states.count) for one in states)) >= FEWEST).any():
        return None
    residuals = [model.residuals(rows) for rows in (known, people)]
    with one_thread():
        shifts = shift_test(residuals[0], residuals[1], (states[0], states[1]), result.config.seed)
    likelihoods = [model.log_likelihoods(rows) for rows in (known, people)]
    return {
        name: VariableFit(
            drop=_drop([some[name] for some in likelihoods], states),
            shift=_named(shift, name, result.encoding),
            group=result.encoding.state_name(shift.group),
        )
        for name, shift in (shifts or {}).items()
    }


def _drop(likelihoods: Sequence[Floats], states: Sequence[NDArray[np.intp]]) -> float:
    """Mean log-likelihood before minus after, within states, by how many people these have after."""
    middle = float(np.median(likelihoods[0]))
    before, after = (np.clip(some, middle - LARGEST, middle + LARGEST) for some in likelihoods)  # nobody decides alone
    both = [state for state in np.unique(states[1]) if (states[0] == state).any()]
    counts = np.array([(states[1] == state).sum() for state in both], dtype=np.float64)
    drops = [float(before[states[0] == state].mean() - after[states[1] == state].mean()) for state in both]
    return float(np.average(drops, weights=counts))


def _named(shift: Shift, name: str, encoding: Encoding) -> Shift:
    """The shift of a level with the level's name."""
    levels = {variable.name: variable.levels for variable in encoding.variables}.get(name, ())
    position = shift.what.removeprefix("level ")
    if position == shift.what or not levels:
        return shift
    return replace(shift, what=f"value {levels[min(int(position), len(levels) - 1)]}")


def _twin_test(result: AuditResult, people: Floats, comparison: Comparison, progress: Progress) -> TwinTest | None:
    """Whether twins of people (n, d) pass for real ones; None where the audit itself cannot test that, or for a few.

    Tested are at most as many people as the audit has: a classifier that learns from more recognises more, and the two
    could not be compared.

    Where twins keep variables that differ between the groups, everybody stays in the test with the probability of the
    groups that they are compared with, given these variables (overlap weights, by a logit of these people).
    """
    place, plan = result.plan.comparisons.index(comparison), result.plan
    if place >= len(result.checks) or not isinstance(result.model, StructuralModel):
        return None
    rng = np.random.default_rng([result.config.seed, 12])
    people = people[sample_of(np.arange(len(people)), len(result.people.row), rng)]
    checks, sizes = result.checks[place], np.bincount(plan.groups_of(plan.states.of_codes(people[:, 0]), comparison))
    if checks.rows_were_selected or comparison.is_joint or (sizes >= FEWEST).sum() < 2:
        return None
    state, twins_of = plan.states.of_codes(people[:, 0]), result.model.possible_twins(people)
    twins = np.concatenate([twins_of(0, to=plan.targets(state, move)) for move in comparison.moves])
    real = people
    if checks.kept:
        with one_thread():
            shares = group_probability(result.model.layout, checks.kept, people, people)
        twins, real = overlapping(twins, people, shares, plan.states, comparison, result.model.seed)
    return twin_test(twins, real, result.encoding.column_variables, result.config.seed, progress)
