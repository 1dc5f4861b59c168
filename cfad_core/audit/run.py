"""From a table to an audit: causal models, detectors, scores, and what is uncertain about it all."""

from __future__ import annotations

import platform
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.audit.measuring import STAGE as UNCERTAINTY
from cfad_core.audit.measuring import Subject, measure_stability
from cfad_core.audit.notices import detector_notices, graph_notices
from cfad_core.audit.prepare import AuditRows, prepare
from cfad_core.audit.result import AuditResult, People, Provenance
from cfad_core.audit.scoring import Scorer, in_slices, score_methods
from cfad_core.audit.stability import Stability
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.search import Search, learn_model
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.subsampling import STAGE as SUBSAMPLES
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.config import AuditConfig, DetectorConfig, DiscoveryConfig
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.progress import Progress, Renamed, Silent
from cfad_core.data.encoding import Encoding
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
from cfad_core.detectors.registry import METHOD_NAME, METHODS, module_of, needed

JUDGE = "judge: "  # before the stages of the independent causal model
# Usual shares of the time of Phase One, in order; those of the detectors are in their registry
_PHASE_ONE = {"discovery": 20.0, "edge selection": 2.0, "refit": 1.0}
_EVALUATION = 2.0
_EACH_SUBSAMPLE = {SUBSAMPLES: 2.0, UNCERTAINTY: 0.5}
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
        the independent causal model as the judge, and the own one learns from all rows instead of half of them. They
        are never learned from.
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
    config, progress, foreign = config or AuditConfig(), progress or Progress(), dict(detectors or {})
    needed(config.methods)  # refuses unknown ones before anything long begins
    _check_foreign(foreign)
    clock = _Clock()
    data = prepare(tables, roles, config)
    with clock.timing("discovery"):
        own = _own_rows(data, config)
        model, judge = _learn_models(data, own, config, progress)
    settled = _settled(config, data.encoding, model)
    rows = _training_rows(data, in_slices(model.counterfactual, data.normal, progress), settled)
    fitted = _fit(Fitting(settled, {}, model.counterfactual, rows, progress), foreign, clock)
    with clock.timing("evaluation"):
        people = _people(data, model, judge, progress)
        scorer = Scorer((*config.methods, *foreign), fitted, progress)
        scores = score_methods(scorer, rows, people)
    result = AuditResult(
        roles=data.roles,
        config=config,
        settings=_used(settled.detector, fitted),
        encoding=data.encoding,
        model=model,
        judge=judge,
        detectors=fitted,
        people=people,
        scores=scores,
        stability=None,
        notices=(*data.notices, *graph_notices(model, judge, config), *detector_notices(fitted, config, rows)),
        provenance=Provenance(data.digest, clock.seconds, _versions(), len(data.train), len(rows.x)),
    )
    if not config.subsamples:
        return result
    with clock.timing("uncertainty"):
        return replace(result, stability=_measure(result, data, own, rows.inputs, scorer))


def _measure(result: AuditResult, data: AuditRows, own: Rows, inputs: InputScaling, scorer: Scorer) -> Stability:
    """What is uncertain about an audit."""
    config, progress = result.config, scorer.progress
    subject = Subject(
        train=data.train,
        own=own,
        model=result.model,
        encoding=data.encoding,
        factual=result.people.factual,
        counterfactual=result.people.counterfactual,
        score=scorer.silent(Silent(progress, UNCERTAINTY)),
        thresholds={method: report.threshold for method, report in result.reports.items()},
        inputs=inputs,
    )
    return measure_stability(subject, _joint_search(data, config), config.subsamples, config.seed, progress)


def stages(config: AuditConfig, *, knows_truth: bool) -> dict[str, float]:
    """The stages of an audit in their order, and their usual shares of the time."""
    judge = {} if knows_truth else {f"{JUDGE}{stage}": share for stage, share in _PHASE_ONE.items()}
    fits = {stage: METHODS[name].cost for name in needed(config.methods) if (stage := METHODS[name].stage) is not None}
    further = {stage: share * config.subsamples for stage, share in _EACH_SUBSAMPLE.items() if config.subsamples}
    return {**_PHASE_ONE, **judge, **fits, "evaluation": _EVALUATION, **further}


def _own_rows(data: AuditRows, config: AuditConfig) -> Rows:
    """The training rows that the own causal model learns from: all if the truth judges it, else half of them."""
    if data.truth is not None:
        return np.arange(len(data.train))
    return stratified_split(data.train[:, 0], 0.5, np.random.default_rng([config.seed, 1]))[0]


def _learn_models(
    data: AuditRows, own: Rows, config: AuditConfig, progress: Progress
) -> tuple[StructuralModel, StructuralModel | None]:
    """The own model and, unless the truth is known, an independent one from the other half of the rows."""

    def learn(rows: Floats, seed: int, progress: Progress) -> StructuralModel:
        return learn_model(
            rows,
            _columns(data),
            config=config.discovery,
            knowledge=config.knowledge,
            seed=seed,
            progress=progress,
        )

    mine = learn(data.train[own], config.seed, progress)
    if data.truth is not None:
        return mine, None
    other = np.setdiff1d(np.arange(len(data.train)), own)
    return mine, learn(data.train[other], config.seed + 1, Renamed(progress, JUDGE))


def _joint_search(data: AuditRows, config: AuditConfig) -> Search:
    """How the graphs of subsamples are looked for: always jointly, the graph autoencoder would take an hour."""
    discovery = config.discovery if config.discovery.mode == "joint" else DiscoveryConfig()
    return Search.prepare(data.train, _columns(data), discovery, config.knowledge)


def _columns(data: AuditRows) -> Columns:
    encoding = data.encoding
    return Columns(
        encoding.names,
        encoding.sensitive,
        encoding.column_variables,
        comparable_units=encoding.scaling == "raw",
        rows_were_selected=data.rows_were_selected,
    )


def _settled(config: AuditConfig, encoding: Encoding, model: StructuralModel) -> AuditConfig:
    """The settings with what was left to the data filled in.

    Twin scoring: with additive noise, the category of a twin lies between its levels. What a detector cannot
    reconstruct there is the model's imprecision rather than the person's oddity, so the score of whichever is explained
    better counts (``min``).
    """
    detector = config.detector
    inputs = detector.inputs or ("variance" if encoding.scaling == "raw" else "range")
    weight = _FAIRNESS_WEIGHT[inputs] if detector.fairness_weight is None else detector.fairness_weight
    categories = {variable.name for variable in encoding.variables if variable.kind == "category"}
    twin = detector.twin or ("min" if categories & set(model.affected_names) else "mean")
    return config.with_detector(inputs=inputs, fairness_weight=weight, twin=twin)


def _used(settings: DetectorConfig, fitted: Mapping[str, AnyDetector]) -> DetectorConfig:
    """The settings with the code size that the autoencoder chose."""
    plain = fitted.get("ae")
    return settings.replace(code_size=plain.code_size) if isinstance(plain, Autoencoder) else settings


def _training_rows(data: AuditRows, twins: Floats, config: AuditConfig) -> TrainingRows:
    alike = alike_by_variance if config.detector.inputs == "variance" else alike_by_range
    normal = data.normal
    inputs = alike(normal[:, 1:], data.encoding.column_variables[1:])
    return TrainingRows(normal[:, 1:], twins[:, 1:], normal[:, 0], inputs)


def _fit(task: Fitting, foreign: Mapping[str, Any], clock: _Clock) -> dict[str, AnyDetector]:
    """The detectors of the configured methods, and the foreign ones."""
    fitted: dict[str, AnyDetector] = {}
    for name in needed(task.config.methods):
        with clock.timing(METHODS[name].stage):
            fitted[name] = module_of(name).fit(task.after(fitted))
    for name, detector in foreign.items():
        with clock.timing(name):
            seed = task.config.seed
            fitted[name] = fit_foreign(detector, task.rows, stage=name, seed=seed, progress=task.progress)
    return fitted


def _people(data: AuditRows, model: StructuralModel, judge: StructuralModel | None, progress: Progress) -> People:
    twins = in_slices(model.counterfactual, data.test, progress)
    independent = data.truth if judge is None else in_slices(judge.counterfactual, data.test, progress)
    assert independent is not None
    return People(data.test_rows, data.test_is_anomaly, data.test, twins, independent)


def _check_foreign(foreign: Mapping[str, Any]) -> None:
    everything = AuditConfig(methods=tuple(METHODS))
    taken = {"uncertainty", *METHODS, *stages(everything, knows_truth=False)}
    for name, detector in foreign.items():
        if name.casefold().replace("-", "") in taken or not METHOD_NAME.fullmatch(name):
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
