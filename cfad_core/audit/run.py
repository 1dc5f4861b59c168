"""From a table to an audit: causal models, detectors, scores, and what is uncertain about it all."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import pandas as pd

from cfad_core.audit.checks import STAGE as CHECKS
from cfad_core.audit.checks import Tested, check_model
from cfad_core.audit.clock import Clock
from cfad_core.audit.comparisons import Plan, plan_of
from cfad_core.audit.encoded import EncodedRows
from cfad_core.audit.estimate import PREPARATION
from cfad_core.audit.fitting import check_methods, fit_detectors, settle, training_rows, used_settings
from cfad_core.audit.judging import MOST_JUDGED, Judgement, Score, judge_people
from cfad_core.audit.judging import STAGE as JUDGING
from cfad_core.audit.learned_rows import with_learned_rows
from cfad_core.audit.measuring import STAGE as UNCERTAINTY
from cfad_core.audit.measuring import Subject, measure_stability
from cfad_core.audit.notices import detector_notices, graph_notices
from cfad_core.audit.phase_one import PhaseOne, learn_causes
from cfad_core.audit.prepare import AuditRows, prepare
from cfad_core.audit.result import AuditResult, People, Provenance
from cfad_core.audit.scoring import Scorer, in_slices, score_methods, shown_twins
from cfad_core.audit.shared_twins import SharedTwins
from cfad_core.audit.slicing import slice_columns, slice_method
from cfad_core.causal.learning import CausalModel
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.progress import Progress, Silent
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.detectors.protocol import Fitting, InputScaling, TrainingRows
from cfad_core.evaluation.slice_search import STAGE as SLICES


def run_audit(
    table: pd.DataFrame,
    roles: ColumnRoles,
    config: AuditConfig | None = None,
    progress: Progress | None = None,
    *,
    test: pd.DataFrame | None = None,
    test_counterfactual: pd.DataFrame | None = None,
    detectors: Mapping[str, Any] | None = None,
) -> AuditResult:
    """Would the detector have flagged the same person, had they belonged to the other group?

    Parameters
    ----------
    table : the people to learn from; if ``test`` is not given, a share of them is held out
    roles : what the columns are for
    test : the people to judge
    test_counterfactual : the true twins of ``test``, row by row, where they are known (synthetic data). They replace
        other causal models as judges, and are never learned from.
    detectors : other libraries' detectors to audit beside the configured methods, by name: anything with ``fit`` and
        ``score_samples`` or ``decision_function``, or a ``ForeignDetector`` that says what a high score means

    Raises
    ------
    InvalidDataError, InvalidConfigError
        If the table, the roles or the settings cannot be used.
    AuditCancelled
        If ``progress`` asks to stop.
    """
    return audit_tables(Tables(table, test, test_counterfactual), roles, config, progress, detectors)


def audit_tables(
    tables: Tables,
    roles: ColumnRoles,
    config: AuditConfig | None = None,
    progress: Progress | None = None,
    detectors: Mapping[str, Any] | None = None,
) -> AuditResult:
    """As ``run_audit``, of tables whose digest may be known already."""
    return audit_recorded(tables, roles, config, progress, detectors).result


@dataclass(frozen=True)
class Recorded:
    """An audit, and what it was made with.

    Attributes
    ----------
    judgement : what all methods say of their twins, also a detector that is asked later
    tested : what was tested of the causal model; None of the paper's
    subject : what uncertainty was measured of; None if it was not
    """

    result: AuditResult
    data: AuditRows
    judgement: Judgement
    tested: Tested | None = None
    subject: Subject | None = None


def audit_recorded(
    tables: Tables,
    roles: ColumnRoles,
    config: AuditConfig | None = None,
    progress: Progress | None = None,
    detectors: Mapping[str, Any] | None = None,
    recorder: Score | None = None,
) -> Recorded:
    """As ``audit_tables``, with all that it was made with.

    Parameters
    ----------
    recorder : stands for a detector that is asked later; it hears of every row that the judges make
    """
    config, progress, foreign, clock = config or AuditConfig(), progress or Progress(), dict(detectors or {}), Clock()
    _check(config, foreign, asks=recorder is not None)
    given, data = _rows(tables, roles, config, progress)
    with clock.timing("discovery"):
        phase_one = learn_causes(data, config, progress)
    model, settled, plan = phase_one.model, settle(config, data), plan_of(data.encoding, data.roles)
    rows = training_rows(data, in_slices(model.twins, data.normal, progress), settled)
    fitted = fit_detectors(_task(phase_one, settled, rows, progress, clock), foreign, clock)
    scorer, judges = Scorer((*config.methods, *foreign), fitted, progress), _judges(phase_one, config, progress, clock)
    with clock.timing("evaluation"):
        judgement = _judge(judges, data.test, plan, scorer, config, recorder)
        people = _people(data, model, plan, judgement, progress)
        scores = score_methods(scorer, rows, people, judgement.twin_scores)
    result = AuditResult(
        roles=data.roles,
        config=config,
        settings=used_settings(settled.detector, fitted),
        encoding=data.encoding,
        model=model,
        detectors=fitted,
        plan=plan,
        people=people,
        scores=scores,
        judges=len(judges),
        checks=(),
        stability=None,
        notices=(*data.notices, *graph_notices(model, config), *detector_notices(fitted, config, rows)),
        provenance=_provenance(given, data, clock),
        judge_models=tuple(judges),
    )
    return _assessed(Recorded(result, data, judgement), phase_one, scorer, rows.inputs, clock)


def _check(config: AuditConfig, foreign: Mapping[str, Any], *, asks: bool) -> None:
    """Refuse detectors that cannot be audited, before anything long begins."""
    if config.asked is not None and not asks:
        raise InvalidConfigError(
            f"The detector '{config.asked.name}' is asked for its scores: use audit_detector, or ask_audit and "
            "answer_audit; run_audit cannot wait for them."
        )
    check_methods(config, foreign)


def _rows(tables: Tables, roles: ColumnRoles, config: AuditConfig, progress: Progress) -> tuple[AuditRows, AuditRows]:
    """All rows, encoded; and the same with the training rows that models learn from."""
    given = prepare(tables, roles, config)
    data = with_learned_rows(given, config.seed)
    progress.tick(PREPARATION, 1, 1)
    return given, data


def _judges(phase_one: PhaseOne, config: AuditConfig, progress: Progress, clock: Clock) -> list[CausalModel]:
    with clock.timing("subsamples"):
        return phase_one.judges(config, progress)


def _judge(
    judges: list[CausalModel], people: Floats, plan: Plan, scorer: Scorer, config: AuditConfig, recorder: Score | None
) -> Judgement:
    """What all methods say of the judges' twins of people (n, d); a recorder hears of the same rows."""
    own = scorer.silent(Silent(scorer.progress, JUDGING))

    def score(rows: Floats, whose: Rows) -> dict[str, Floats]:
        return own(rows) if recorder is None else own(rows) | recorder(rows, whose)

    most = MOST_JUDGED if config.asked is None else config.asked.people
    return judge_people(judges, people, plan, score, config.seed, scorer.progress, most=most)


def _assessed(found: Recorded, phase_one: PhaseOne, scorer: Scorer, inputs: InputScaling, clock: Clock) -> Recorded:
    """The audit with the tests of its causal model, what is uncertain about it if that was asked for, and slices."""
    result, data, progress = found.result, found.data, scorer.progress
    seed, thresholds = result.config.seed, {method: report.threshold for method, report in result.reports.items()}
    tested, subject = None, None
    if phase_one.learner is not None and isinstance(result.model, StructuralModel):  # the paper's is not tested
        tested = Tested(
            model=result.model,
            learner=phase_one.learner,
            factual=result.people.factual,
            twins=result.people.twins,
            plan=result.plan,
            variables=data.encoding.column_variables,
            score=scorer.silent(Silent(progress, CHECKS)),
            thresholds=thresholds,
            rows_were_selected=data.rows_were_selected,
        )
        with clock.timing("checks"):
            result = replace(result, checks=check_model(tested, seed, progress))
    if result.config.subsamples and phase_one.learner is not None:
        subject = Subject(
            train=data.train,
            model=result.model,
            encoding=data.encoding,
            factual=data.test,
            twins=result.people.twins,
            plan=result.plan,
            score=scorer.silent(Silent(progress, UNCERTAINTY)),
            thresholds=thresholds,
            inputs=inputs,
        )
        with clock.timing("uncertainty"):
            own = found.judgement.by(scorer.methods)
            result = replace(result, stability=measure_stability(subject, result.judge_models, own, seed, progress))
    with clock.timing(SLICES):
        result = with_slices(result, tuple(result.scores), progress)
    return replace(found, result=result, tested=tested, subject=subject)


def with_slices(result: AuditResult, methods: tuple[str, ...], progress: Progress) -> AuditResult:
    """The audit with subgroups that nobody asked for, of some methods."""
    columns, found = slice_columns(result.encoding, result.people.factual), dict(result.slices)
    for k, method in enumerate(methods):
        reports = {one.name: result.report(method, one.name) for one in result.plan.comparisons}
        score, quiet = result.scores[method].factual, Silent(progress, SLICES)
        found[method] = slice_method(score, reports, columns, result.config.seed, quiet)
        progress.tick(SLICES, k + 1, len(methods))
    return replace(result, slices=found)


def _task(phase_one: PhaseOne, settled: AuditConfig, rows: TrainingRows, progress: Progress, clock: Clock) -> Fitting:
    """Everything that the detectors are fitted with."""
    with clock.timing("tuning model"):
        other = phase_one.tuning_model(settled, progress)
    causes = SharedTwins(phase_one.model)
    return Fitting(settled, {}, causes, rows, progress, None if other is None else other.twins)


def _people(data: AuditRows, model: CausalModel, plan: Plan, judgement: Judgement, progress: Progress) -> People:
    twins = shown_twins(model, data.test, plan, progress)
    rows = EncodedRows(data.test, twins, data.truth)
    return People(data.test_rows, data.test_is_anomaly, data.test[:, 0], rows, judgement.people)


def _provenance(given: AuditRows, learned: AuditRows, clock: Clock) -> Provenance:
    counts = [(len(rows.train), int(rows.train_is_normal.sum())) for rows in (given, learned)]
    return Provenance(given.digest, clock.seconds, _versions(), *counts[0], *counts[1])


def _versions() -> dict[str, str]:
    packages = ("torch", "numpy", "scipy", "pandas", "scikit-learn", "networkx")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}
