"""From a table to an audit: causal models, detectors, scores, and what is uncertain about it all."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.audit.checks import STAGE as CHECKS
from cfad_core.audit.checks import ModelChecks, Tested, check_model
from cfad_core.audit.comparisons import Plan, plan_of
from cfad_core.audit.judging import STAGE as JUDGING
from cfad_core.audit.judging import Judgement, judge_people
from cfad_core.audit.measuring import STAGE as UNCERTAINTY
from cfad_core.audit.measuring import Subject, measure_stability
from cfad_core.audit.notices import detector_notices, graph_notices
from cfad_core.audit.prepare import AuditRows, prepare
from cfad_core.audit.result import AuditResult, People, Provenance
from cfad_core.audit.scoring import SLICE, Scorer, in_slices, score_methods
from cfad_core.audit.shared_twins import SharedTwins
from cfad_core.audit.slicing import slice_columns, slice_method
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.order_search import LearnedGraph
from cfad_core.causal.learning import STAGE as MECHANISMS
from cfad_core.causal.learning import CausalModel, Learner, learn_additive
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.subsampling import STAGE as SUBSAMPLES
from cfad_core.causal.subsampling import learn_from_halves
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.progress import Progress, Renamed, Silent
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.split import stratified_split
from cfad_core.data.tables import Tables
from cfad_core.detectors.adapter import ForeignDetector, fit_foreign, scoring
from cfad_core.detectors.autoencoder import Autoencoder
from cfad_core.detectors.protocol import (
    AnyDetector,
    Fitting,
    InputScaling,
    TrainingRows,
    alike_by_range,
    alike_by_variance,
)
from cfad_core.detectors.rank import fit_rank
from cfad_core.detectors.registry import METHOD_NAME, METHODS, RANK, check_known, module_of, needed
from cfad_core.evaluation.slice_search import STAGE as SLICES

JUDGE = "judge: "  # before the stages of the paper's independent causal model
# Usual shares of the time of Phase One, in order; those of the detectors are in their registry
_GRAPH = {"discovery": 10.0, "mechanisms": 1.0}
_GRAPH_AUTOENCODER = {"discovery": 60.0, "refit": 10.0}
_EVALUATION = {JUDGING: 1.0, "evaluation": 2.0, CHECKS: 2.0}
_EACH_SUBSAMPLE = {SUBSAMPLES: 2.0}
_LEAST_JUDGES = 2  # where uncertainty is not measured: the two halves of one split
_FAIRNESS_WEIGHT = {"variance": 1.0, "range": 0.5}  # lambda by the scale of the inputs


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
    return audit_with_judges(tables, roles, config, progress, detectors)[0]


def audit_with_judges(
    tables: Tables,
    roles: ColumnRoles,
    config: AuditConfig | None = None,
    progress: Progress | None = None,
    detectors: Mapping[str, Any] | None = None,
) -> tuple[AuditResult, list[CausalModel]]:
    """As ``audit_tables``, with the causal models that judged."""
    config, progress, foreign, clock = config or AuditConfig(), progress or Progress(), dict(detectors or {}), _Clock()
    _check_methods(config, foreign)
    data = prepare(tables, roles, config)
    with clock.timing("discovery"):
        phase_one = _learn(data, config, progress)
    model, settled, plan = phase_one.model, _settled(config, data), plan_of(data.encoding, data.roles)
    rows = _training_rows(data, in_slices(model.twins, data.normal, progress), settled)
    fitted = _fit(_task(phase_one, settled, rows, progress, clock), foreign, clock)
    scorer = Scorer((*config.methods, *foreign), fitted, progress)
    with clock.timing("subsamples"):
        judges = phase_one.judges(config, progress)
    with clock.timing("evaluation"):
        quiet = scorer.silent(Silent(progress, JUDGING))
        judgement = judge_people(judges, data.test, plan, quiet, config.seed, progress)
        people = _people(data, _shown_twins(model, data.test, plan, progress), judgement)
        scores = score_methods(scorer, rows, people, judgement.twin_scores)
    result = AuditResult(
        roles=data.roles,
        config=config,
        settings=_used(settled.detector, fitted),
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
        provenance=Provenance(data.digest, clock.seconds, _versions(), len(data.train), len(rows.x)),
    )
    return _assessed(result, data, phase_one, (judges, judgement), scorer, rows.inputs, clock), judges


def stages(config: AuditConfig, *, knows_truth: bool) -> dict[str, float]:
    """The stages of an audit in their order, and their usual shares of the time."""
    paper = config.discovery.mode == "paper"
    first = _GRAPH_AUTOENCODER if paper else _GRAPH
    judge = {f"{JUDGE}{stage}": share for stage, share in first.items()} if paper and not knows_truth else {}
    names = needed(_known(config))
    fits = {stage: METHODS[name].cost for name in names if (stage := METHODS[name].stage) is not None}
    judges = 0 if paper else config.subsamples or (0 if knows_truth else _LEAST_JUDGES)
    subsamples = {stage: share * judges for stage, share in _EACH_SUBSAMPLE.items() if judges}
    after = {stage: share for stage, share in _EVALUATION.items() if not (paper and stage == CHECKS)}
    uncertainty = {UNCERTAINTY: 2.0} if config.subsamples and not paper else {}
    return {**first, **judge, **fits, **subsamples, **after, **uncertainty, SLICES: 0.5}


@dataclass(frozen=True)
class PhaseOne:
    """The audit's own causal model, and how others are learned.

    Attributes
    ----------
    learner : None in the paper's way
    found : the graph that searches on parts of the rows start from
    judge : in the paper's way, the model of the rows that the own one did not learn from
    knows_truth : whether the true twins are known
    """

    model: CausalModel
    learner: Learner | None
    found: LearnedGraph | None
    judge: AdditiveModel | None
    knows_truth: bool

    def tuning_model(self, config: AuditConfig, progress: Progress) -> CausalModel | None:
        """A model of half of the rows, which a detector may choose its settings by, if one does; it judges nobody."""
        if self.learner is None or not config.detector.closeness_weights or "cfad" not in needed(_known(config)):
            return None
        rows, _ = stratified_split(self.learner.x[:, 0], 0.5, np.random.default_rng([config.seed, 9]))
        return self.learner.learn(rows, config.seed, Silent(progress, MECHANISMS), self.found)[0]

    def judges(self, config: AuditConfig, progress: Progress) -> list[CausalModel]:
        """Models that the detectors do not know, to judge them by."""
        if self.learner is None:
            return [] if self.judge is None else [self.judge]
        wanted = config.subsamples or (0 if self.knows_truth else _LEAST_JUDGES)
        sensitive, seed = self.learner.x[:, 0], config.seed
        splits = [stratified_split(sensitive, 0.5, np.random.default_rng([seed, 2, k])) for k in range(wanted // 2)]
        return list(learn_from_halves(self.learner, self.found, splits, seed, progress))


def _learn(data: AuditRows, config: AuditConfig, progress: Progress) -> PhaseOne:
    """The own model, from all training rows; in the paper's way from half of them, unless the truth is known."""
    columns, knows_truth = _columns(data), data.truth is not None
    if config.discovery.mode == "joint":
        learner = Learner.prepare(data.train, columns, config.discovery, config.knowledge, progress)
        model, found = learner.learn(None, config.seed, progress)
        return PhaseOne(model, learner, found, None, knows_truth)

    def learn(rows: Floats, seed: int, progress: Progress) -> AdditiveModel:
        return learn_additive(rows, columns, config.discovery, config.knowledge, seed, progress)

    if knows_truth:
        return PhaseOne(learn(data.train, config.seed, progress), None, None, None, knows_truth)
    own, other = stratified_split(data.train[:, 0], 0.5, np.random.default_rng([config.seed, 1]))
    mine = learn(data.train[own], config.seed, progress)
    judge = learn(data.train[other], config.seed + 1, Renamed(progress, JUDGE))
    return PhaseOne(mine, None, None, judge, knows_truth)


def _assessed(
    result: AuditResult,
    data: AuditRows,
    phase_one: PhaseOne,
    judged: tuple[list[CausalModel], Judgement],
    scorer: Scorer,
    inputs: InputScaling,
    clock: _Clock,
) -> AuditResult:
    """The audit with the tests of its causal model, what is uncertain about it if that was asked for, and slices."""
    config, progress = result.config, scorer.progress
    thresholds = {method: report.threshold for method, report in result.reports.items()}
    with clock.timing("checks"):
        result = replace(result, checks=_check(result, data, phase_one, thresholds, scorer))
    if not config.subsamples or phase_one.learner is None:
        return _sliced(result, progress, clock)
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
        result = replace(result, stability=measure_stability(subject, *judged, config.seed, progress))
    return _sliced(result, progress, clock)


def _sliced(result: AuditResult, progress: Progress, clock: _Clock) -> AuditResult:
    """The audit with subgroups that nobody asked for."""
    columns, found = slice_columns(result.encoding, result.people.factual), {}
    with clock.timing(SLICES):
        for method, scores in result.scores.items():
            reports = {one.name: result.report(method, one.name) for one in result.plan.comparisons}
            quiet = Silent(progress, SLICES)
            found[method] = slice_method(scores.factual, reports, columns, result.config.seed, quiet)
            progress.tick(SLICES, len(found), len(result.scores))
    return replace(result, slices=found)


def _check(
    result: AuditResult, data: AuditRows, phase_one: PhaseOne, thresholds: dict[str, float], scorer: Scorer
) -> tuple[ModelChecks, ...]:
    """The tests of the causal model; the paper's additive one is not tested."""
    if phase_one.learner is None or not isinstance(result.model, StructuralModel):
        return ()
    tested = Tested(
        model=result.model,
        learner=phase_one.learner,
        factual=result.people.factual,
        twins=result.people.twins,
        plan=result.plan,
        variables=data.encoding.column_variables,
        score=scorer.silent(Silent(scorer.progress, CHECKS)),
        thresholds=thresholds,
        rows_were_selected=data.rows_were_selected,
    )
    return check_model(tested, result.config.seed, scorer.progress)


def _columns(data: AuditRows) -> Columns:
    encoding = data.encoding
    attributes = dict(zip(encoding.attribute_names, encoding.states.sizes, strict=True))
    return Columns(
        encoding.names,
        encoding.sensitive,
        encoding.column_variables,
        encoding.variable_kinds,
        encoding.marks,
        comparable_units=data.comparable_units,
        rows_were_selected=data.rows_were_selected,
        attributes=attributes if encoding.states.count > 2 else {},
    )


def _shown_twins(model: CausalModel, people: Floats, plan: Plan, progress: Progress) -> Floats:
    """(moves, n, d), one twin of each of the people (n, d) for every move."""
    to = [plan.targets(plan.states.of_codes(people[:, 0]), move) for move in range(len(plan.moves))]
    parts = []
    for start in range(0, max(1, len(people)), SLICE):
        progress.check("evaluation")
        some = slice(start, start + SLICE)
        twins_of = model.possible_twins(people[some])
        parts.append(np.stack([twins_of(0, to=target[some]) for target in to]))
    return np.concatenate(parts, axis=1)


def _settled(config: AuditConfig, data: AuditRows) -> AuditConfig:
    """The settings with what was left to the data filled in."""
    detector = config.detector
    inputs = detector.inputs or ("variance" if data.comparable_units else "range")
    weight = _FAIRNESS_WEIGHT[inputs] if detector.fairness_weight is None else detector.fairness_weight
    return config.with_detector(inputs=inputs, fairness_weight=weight, twin=detector.twin or "mean")


def _used(settings: DetectorConfig, fitted: Mapping[str, AnyDetector]) -> DetectorConfig:
    """The settings with the code size that the autoencoder chose."""
    plain = fitted.get("ae")
    return settings.replace(code_size=plain.code_size) if isinstance(plain, Autoencoder) else settings


def _training_rows(data: AuditRows, twins: Floats, config: AuditConfig) -> TrainingRows:
    alike = alike_by_variance if config.detector.inputs == "variance" else alike_by_range
    normal = data.normal
    inputs = alike(normal[:, 1:], data.encoding.column_variables[1:])
    return TrainingRows(normal[:, 1:], twins, normal[:, 0], inputs)


def _task(phase_one: PhaseOne, settled: AuditConfig, rows: TrainingRows, progress: Progress, clock: _Clock) -> Fitting:
    """Everything that the detectors are fitted with."""
    with clock.timing("tuning model"):
        other = phase_one.tuning_model(settled, progress)
    causes = SharedTwins(phase_one.model)
    return Fitting(settled, {}, causes, rows, progress, None if other is None else other.twins)


def _fit(task: Fitting, foreign: Mapping[str, Any], clock: _Clock) -> dict[str, AnyDetector]:
    """The detectors of the configured methods, and the foreign ones with the ranks of theirs that were asked for."""
    fitted: dict[str, AnyDetector] = {}
    for name in needed(_known(task.config)):
        with clock.timing(METHODS[name].stage):
            fitted[name] = module_of(name).fit(task.after(fitted))
    for name, detector in foreign.items():
        with clock.timing(name):
            seed = task.config.seed
            fitted[name] = fit_foreign(detector, task.rows, stage=name, seed=seed, progress=task.progress)
        if f"{name}{RANK}" in task.config.methods:
            fitted[f"{name}{RANK}"] = fit_rank(fitted[name], task)
    return fitted


def _known(config: AuditConfig) -> list[str]:
    """The configured methods that are ours; the others rank another library's scores."""
    return [method for method in config.methods if method in METHODS]


def _people(data: AuditRows, twins: Floats, judgement: Judgement) -> People:
    return People(data.test_rows, data.test_is_anomaly, data.test, twins, data.truth, judgement.people)


def _check_methods(config: AuditConfig, foreign: Mapping[str, Any]) -> None:
    """Refuse unknown methods, and detectors that cannot be audited, before anything long begins."""
    ranks = {f"{name}{RANK}" for name in foreign}
    check_known(method for method in config.methods if method not in ranks)
    everything = AuditConfig(methods=tuple(METHODS))
    taken = {"uncertainty", *METHODS, *stages(everything, knows_truth=False)}
    for name, detector in foreign.items():
        if {name.casefold(), name.casefold().replace("-", "")} & taken or not METHOD_NAME.fullmatch(name):
            raise InvalidConfigError(
                "A detector of your own needs a name of letters, digits, '_' and '-' that the audit does not use "
                f"itself ({', '.join(METHODS)}, or a stage's); got '{name}'."
            )
        given = detector if isinstance(detector, ForeignDetector) else ForeignDetector(detector)
        scoring(given.estimator, given.high_means)


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, stage: str | None) -> Iterator[None]:
        """Time a stage; one without a name takes none."""
        start = time.perf_counter()
        yield
        if stage is not None:
            self.seconds[stage] = round(time.perf_counter() - start, 3)


def _versions() -> dict[str, str]:
    packages = ("torch", "numpy", "scipy", "pandas", "scikit-learn", "networkx")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}
