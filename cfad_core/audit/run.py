"""From a table to an audit: Phase One, Phase Two, and both judges."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.measuring import STAGE as HOW_SURE
from cfad_core.audit.measuring import Measured, measure_uncertainty
from cfad_core.audit.notices import data_notices, detector_notices, graph_notices, result_notices
from cfad_core.audit.result import METHOD_NAME, AuditResult, MethodScores, People
from cfad_core.causal.discovery.search import MIN_ROWS, Search, learn_scm
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.subsampling import STAGE as BOOTSTRAP
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import METHODS, AuditConfig, DiscoveryConfig, TwinRule
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.core.progress import Progress, Renamed, Silent
from cfad_core.data.encoding import Encoding, fit_encoding
from cfad_core.data.findings import Finding
from cfad_core.data.groups import matches
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.split import stratified_split
from cfad_core.data.tables import digest
from cfad_core.data.validation import MIN_GROUP_ROWS, MIN_TRAINING_ROWS, validate
from cfad_core.detectors.adapter import ForeignDetector, fit_foreign, scoring
from cfad_core.detectors.autoencoder import Autoencoder
from cfad_core.detectors.protocol import Detector, TrainingRows, alike_by_range, alike_by_variance
from cfad_core.detectors.registry import CATALOGUE, needed
from cfad_core.detectors.twin import twin_score

JUDGE = "judge: "  # before the stages of the independent SCM
# Usual shares of the time of Phase One, in order; those of the detectors are in their catalogue
_PHASE_ONE = {"discovery": 20.0, "edge selection": 2.0, "refit": 1.0}
_EVALUATION = 2.0
_EACH_GRAPH = {BOOTSTRAP: 2.0, HOW_SURE: 0.5}
_FAIRNESS_WEIGHT = {"variance": 1.0, "range": 0.5}  # lambda by the scale of the inputs
_SLICE = 8_192  # rows between two looks at whether to stop


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
    test_counterfactual : the true counterfactuals of ``test``, row by row, where they are known (synthetic
        data). They replace the independent SCM as the judge, and the own SCM learns from all rows instead
        of half of them. They are never learned from.
    detectors : other libraries' detectors to audit beside the configured methods, by name: anything with ``fit`` and
        ``score_samples`` or ``decision_function``, or a ``ForeignDetector`` that says what a high score means

    Raises
    ------
    InvalidDataError, InvalidConfigError
        If the table, the roles or the settings cannot be used.
    AuditCancelled
        If ``progress`` asks to stop.
    """
    config, progress, foreign = config or AuditConfig(), progress or Progress(), dict(detectors or {})
    _check_foreign(foreign)
    clock = _Clock()
    data = _prepare(table, roles, config, test, test_counterfactual)
    with clock.timing("discovery"):
        own = _own_rows(data, config)
        scm, judge = _learn_models(data, own, config, progress)
    notices = [*data.notices, *graph_notices(scm, judge, was_given=config.knowledge.complete)]

    normal = data.train[data.train_is_normal]
    settled = _settled(config, data.encoding, scm)
    rows = _training_rows(normal, _in_slices(scm.counterfactual, normal, progress), data.encoding, settled)
    fitted = _fit(rows, settled, foreign, clock, progress)
    if isinstance(plain := fitted.get("ae"), Autoencoder):
        settled = settled.with_detector(code_size=plain.code_size)
    notices += detector_notices(fitted, config, rows)

    with clock.timing("evaluation"):
        people = People(
            row=data.test_rows,
            is_anomaly=data.test_is_anomaly,
            factual=data.test,
            counterfactual=_in_slices(scm.counterfactual, data.test, progress),
            independent=data.truth if judge is None else _in_slices(judge.counterfactual, data.test, progress),
        )
        rule = settled.detector.twin or "mean"
        scorer = _Scorer((*config.methods, *foreign), fitted, rule, scm, progress)
        scores = _score(scorer, rows, people)
    result = AuditResult(
        roles=data.roles,
        config=config,
        encoding=data.encoding,
        scm=scm,
        judge=judge,
        detectors=fitted,
        detector=settled.detector,
        people=people,
        scores=scores,
        notices=tuple(notices),
        data_digest=data.digest,
        seconds=clock.seconds,
        versions=_versions(),
        n_train=len(data.train),
        n_train_normal=len(normal),
    )
    if config.bootstrap:
        with clock.timing("uncertainty"):
            measured = Measured(
                train=data.train,
                own=own,
                scm=scm,
                encoding=data.encoding,
                factual=people.factual,
                counterfactual=people.counterfactual,
                score=replace(scorer, progress=Silent(progress, HOW_SURE)),
                thresholds={method: result.threshold(method) for method in scores},
                inputs=rows.inputs,
            )
            search = _joint_search(data, config)
            result = replace(
                result, uncertainty=measure_uncertainty(measured, search, config.bootstrap, config.seed, progress)
            )
    return replace(result, notices=(*notices, *result_notices(result)))


def stages(config: AuditConfig, *, knows_truth: bool) -> dict[str, float]:
    """The stages of an audit in their order, and their usual shares of the time."""
    judge = {} if knows_truth else {f"{JUDGE}{stage}": share for stage, share in _PHASE_ONE.items()}
    fits = {CATALOGUE[method].stage: CATALOGUE[method].share for method in needed(config.methods)}
    sure = {stage: share * config.bootstrap for stage, share in _EACH_GRAPH.items()} if config.bootstrap else {}
    return {**_PHASE_ONE, **judge, **fits, "evaluation": _EVALUATION, **sure}


@dataclass(frozen=True)
class _Prepared:
    roles: ColumnRoles
    encoding: Encoding
    train: Floats  # (n, d) encoded
    train_is_normal: Bools
    rows_were_selected: bool
    test: Floats
    test_rows: NDArray[np.int64]
    test_is_anomaly: Bools | None
    truth: Floats
    knows_truth: bool
    notices: list[Finding]
    digest: str


def _prepare(
    table: pd.DataFrame,
    roles: ColumnRoles,
    config: AuditConfig,
    test: pd.DataFrame | None,
    test_counterfactual: pd.DataFrame | None,
) -> _Prepared:
    if test_counterfactual is not None and test is None:
        raise InvalidDataError("True counterfactuals need the test table that they belong to.")
    table = table.reset_index(drop=True).rename(columns=str)
    test = None if test is None else test.rename(columns=str)
    validation = validate(table, roles, test)
    roles = validation.usable_roles()
    rng = np.random.default_rng(config.seed)
    pool = _rows_in_groups(table, roles)
    if test is None:
        strata = roles.grouping.signs(table[roles.sensitive])[pool]
        if roles.label is not None:
            strata = 2 * strata + matches(table[roles.label], str(roles.anomaly))[pool]
        kept, held_out = stratified_split(strata, config.test_share, rng)
        train_rows, test_rows, test_table = pool[kept], pool[held_out], table
    else:
        test_table = test.reset_index(drop=True)
        train_rows, test_rows = pool, _rows_in_groups(test_table, roles)
    training, testing = table.iloc[train_rows], test_table.iloc[test_rows]

    encoding = fit_encoding(training, roles, config.scaling, config.categories)
    train, people = encoding.encode(training), encoding.encode(testing)
    _check_sizes(train, people, encoding)
    train_is_anomaly, test_is_anomaly = _labels(training, roles), _labels(testing, roles)
    is_normal = np.ones(len(train), dtype=np.bool_) if train_is_anomaly is None else ~train_is_anomaly
    if is_normal.sum() < MIN_ROWS:
        raise InvalidDataError(
            f"The detector learns from normal rows; only {int(is_normal.sum())} of the {len(train)} training rows are "
            f"(label '{roles.label}' other than '{roles.anomaly}'), and {MIN_ROWS} are needed."
        )
    truth = people
    if test_counterfactual is not None:
        if len(test_counterfactual) != len(test_table):
            raise InvalidDataError(
                f"The true counterfactuals must match the test table row by row; they have {len(test_counterfactual)} "
                f"rows, the test table {len(test_table)}."
            )
        truth = encoding.encode(test_counterfactual.reset_index(drop=True).iloc[test_rows])
        if (truth[:, 0] != -people[:, 0]).any():
            raise InvalidDataError("In the true counterfactuals every person must belong to the other group.")
    selected = train_is_anomaly is not None and not train_is_anomaly.any()
    notices = list(validation.findings)
    for name, count in encoding.unknown(testing).items():
        message = f"{count} test rows have a '{name}' that training rows do not; it stands for the most frequent one."
        notices.append(Finding("unknown-categories", "warning", message))
    notices += data_notices(encoding, train_is_anomaly, selected)
    return _Prepared(
        roles=roles,
        encoding=encoding,
        train=train,
        train_is_normal=is_normal,
        rows_were_selected=selected,
        test=people,
        test_rows=test_rows.astype(np.int64),
        test_is_anomaly=test_is_anomaly,
        truth=truth,
        knows_truth=test_counterfactual is not None,
        notices=notices,
        digest=digest(*(frame for frame in (table, test, test_counterfactual) if frame is not None)),
    )


def _own_rows(data: _Prepared, config: AuditConfig) -> NDArray[np.intp]:
    """The training rows that the own SCM learns from: all if the truth judges it, else half of them."""
    if data.knows_truth:
        return np.arange(len(data.train))
    return stratified_split(data.train[:, 0], 0.5, np.random.default_rng([config.seed, 1]))[0]


def _learn_models(
    data: _Prepared, own: NDArray[np.intp], config: AuditConfig, progress: Progress
) -> tuple[StructuralModel, StructuralModel | None]:
    """The own SCM and, unless the truth is known, an independent one from the other half of the rows."""

    def learn(rows: Floats, seed: int, progress: Progress) -> StructuralModel:
        return learn_scm(
            rows,
            data.encoding.names,
            data.encoding.sensitive,
            variables=data.encoding.column_variables,
            config=config.discovery,
            knowledge=config.knowledge,
            comparable_units=data.encoding.scaling == "raw",
            rows_were_selected=data.rows_were_selected,
            seed=seed,
            progress=progress,
        )

    mine = learn(data.train[own], config.seed, progress)
    if data.knows_truth:
        return mine, None
    other = np.setdiff1d(np.arange(len(data.train)), own)
    return mine, learn(data.train[other], config.seed + 1, Renamed(progress, JUDGE))


def _joint_search(data: _Prepared, config: AuditConfig) -> Search:
    """How the graphs of the bootstrap are looked for: always jointly, the graph autoencoder would take an hour."""
    return Search.prepare(
        data.train,
        data.encoding.names,
        data.encoding.sensitive,
        data.encoding.column_variables,
        config.discovery if config.discovery.mode == "joint" else DiscoveryConfig(),
        config.knowledge,
        data.encoding.scaling == "raw",
        data.rows_were_selected,
    )


def _settled(config: AuditConfig, encoding: Encoding, scm: StructuralModel) -> AuditConfig:
    """The settings with what was left to the data filled in.

    Twin scoring: with additive noise, a category's counterfactual lies between its levels. What a detector cannot
    reconstruct there is the model's imprecision rather than the person's oddity, so the world that explains the person
    better counts (``min``).
    """
    detector = config.detector
    inputs = detector.inputs or ("variance" if encoding.scaling == "raw" else "range")
    weight = _FAIRNESS_WEIGHT[inputs] if detector.fairness_weight is None else detector.fairness_weight
    categories = {variable.name for variable in encoding.variables if variable.kind == "category"}
    twin = detector.twin or ("min" if categories & set(scm.affected_names) else "mean")
    return config.with_detector(inputs=inputs, fairness_weight=weight, twin=twin)


def _training_rows(normal: Floats, counterfactual: Floats, encoding: Encoding, config: AuditConfig) -> TrainingRows:
    alike = alike_by_variance if config.detector.inputs == "variance" else alike_by_range
    inputs = alike(normal[:, 1:], encoding.column_variables[1:])
    return TrainingRows(normal[:, 1:], counterfactual[:, 1:], normal[:, 0], inputs)


def _fit(
    rows: TrainingRows, config: AuditConfig, foreign: Mapping[str, Any], clock: _Clock, progress: Progress
) -> dict[str, Detector]:
    """The detectors of the configured methods, and the foreign ones."""
    own: dict[str, Any] = {}
    for method in needed(config.methods):
        entry = CATALOGUE[method]
        with clock.timing(entry.stage):
            own[method] = entry.fit(rows, config, own, progress)
    for name, detector in foreign.items():
        with clock.timing(name):
            own[name] = fit_foreign(detector, rows, stage=name, seed=config.seed, progress=progress)
    return own


def _check_foreign(foreign: Mapping[str, Any]) -> None:
    taken = {"uncertainty", *METHODS, *stages(AuditConfig(methods=METHODS), knows_truth=False)}
    for name, detector in foreign.items():
        if name.casefold().replace("-", "") in taken or not METHOD_NAME.fullmatch(name):
            raise InvalidConfigError(
                "A detector of your own needs a name of letters, digits, '_' and '-' that the audit does not use "
                f"itself ({', '.join(METHODS)}, or a stage's); got '{name}'."
            )
        given = detector if isinstance(detector, ForeignDetector) else ForeignDetector(detector)
        scoring(given.estimator, given.high_means)


@dataclass(frozen=True)
class _Scorer:
    """What every method says of people (n, d), in whatever world."""

    methods: tuple[str, ...]
    detectors: Mapping[str, Detector]
    rule: TwinRule
    scm: StructuralModel
    progress: Progress

    def __call__(self, people: Floats) -> dict[str, Floats]:
        found = {method: self.by(method, people) for method in self.methods if method != "twin"}
        if "twin" in self.methods:
            here = found["cfad"] if "cfad" in found else self.by("cfad", people)
            there = self.by("cfad", _in_slices(self.scm.counterfactual, people, self.progress))
            found["twin"] = twin_score(here, there, self.rule)
        return found

    def by(self, method: str, people: Floats) -> Floats:
        return _in_slices(self.detectors[method].anomaly_score, people[:, 1:], self.progress)


def _score(scorer: _Scorer, rows: TrainingRows, people: People) -> dict[str, MethodScores]:
    """Scores of every method in every world.

    The threshold of CFAD is taken from both worlds: it was trained on both. A twin's twin is the person and the
    rule is symmetric, so twin scoring gives both the same score under the own SCM.
    """

    def of_training(method: str, x: Floats) -> Floats:
        return _in_slices(scorer.detectors[method].anomaly_score, x, scorer.progress)

    factual, independent = scorer(people.factual), scorer(people.independent)
    scores: dict[str, MethodScores] = {}
    for method in scorer.methods:
        train = of_training("cfad" if method == "twin" else method, rows.x)
        if method in ("cfad", "twin"):
            there = of_training("cfad", rows.counterfactual)
            both = np.concatenate([train, there])
            train = twin_score(train, there, scorer.rule) if method == "twin" else both
        counterfactual = factual["twin"] if method == "twin" else scorer.by(method, people.counterfactual)
        scores[method] = MethodScores(train, factual[method], counterfactual, independent[method])
        scorer.progress.tick("evaluation", len(scores), len(scorer.methods))
    return scores


def _in_slices(function: Callable[[Floats], Floats], x: Floats, progress: Progress) -> Floats:
    """``function`` of x, slice by slice, so that it can be cancelled; it works row by row, so this changes nothing."""
    parts = []
    for start in range(0, max(1, len(x)), _SLICE):
        progress.check("evaluation")
        parts.append(function(x[start : start + _SLICE]))
    return np.concatenate(parts)


def _rows_in_groups(table: pd.DataFrame, roles: ColumnRoles) -> NDArray[np.intp]:
    return np.flatnonzero(roles.grouping.signs(table[roles.sensitive]))


def _labels(table: pd.DataFrame, roles: ColumnRoles) -> Bools | None:
    return None if roles.label is None else matches(table[roles.label], str(roles.anomaly))


def _check_sizes(train: Floats, test: Floats, encoding: Encoding) -> None:
    """What is left after rows were held out."""
    if len(test) == 0:
        raise InvalidDataError("No test row is left to judge.")
    for group, sign in zip(encoding.groups, (-1.0, 1.0), strict=True):
        rows = int((train[:, 0] == sign).sum())
        if rows < MIN_GROUP_ROWS:
            raise InvalidDataError(
                f"Group '{group}' has {rows} training rows; at least {MIN_GROUP_ROWS} are needed. Bring more rows, or "
                "compare larger groups."
            )
    if len(train) < MIN_TRAINING_ROWS:
        raise InvalidDataError(f"There are {len(train)} training rows; at least {MIN_TRAINING_ROWS} are needed.")


class _Clock:
    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    @contextmanager
    def timing(self, stage: str) -> Iterator[None]:
        start = time.perf_counter()
        yield
        self.seconds[stage] = round(time.perf_counter() - start, 3)


def _versions() -> dict[str, str]:
    packages = ("torch", "numpy", "scipy", "pandas", "scikit-learn", "networkx")
    return {"python": platform.python_version(), **{package: version(package) for package in packages}}
