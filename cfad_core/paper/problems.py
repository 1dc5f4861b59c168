"""The paper's experiments: data sets x methods x seeds, one row each."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import audit_tables
from cfad_core.audit.scoring import twin_rows
from cfad_core.causal.graph import structural_hamming_distance
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, Knowledge
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.progress import Progress
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.public import PaperTables, paper_adult, paper_compas
from cfad_core.data.sets.synthetic import MAX_SELECTION_ERROR, Worlds, generate_synthetic
from cfad_core.data.tables import Tables
from cfad_core.detectors.registry import METHODS, needed
from cfad_core.detectors.registry import check_known as check_methods
from cfad_core.paper.additive import STAGE
from cfad_core.paper.judges import TRUTH, TWINS, Judged, judge_methods
from cfad_core.paper.methods import ADDITIVE_METHODS


@dataclass(frozen=True)
class Problem:
    """A data set to run on, with the truth where it is known."""

    train: pd.DataFrame
    test: pd.DataFrame
    roles: ColumnRoles
    test_counterfactual: pd.DataFrame | None = None
    adjacency: pd.DataFrame | None = None
    knowledge: Knowledge = field(default_factory=Knowledge)
    dcfod_epochs: int = 90  # that the paper's authors trained DCFOD for


def _synthetic(seed: int, progress: Progress, max_selection_error: float = MAX_SELECTION_ERROR) -> Problem:
    data = generate_synthetic(seed, worlds=Worlds(max_selection_error=max_selection_error), progress=progress)
    return Problem(
        train=data.train,
        test=data.test,
        roles=ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1"),
        test_counterfactual=data.test_counterfactual,
        adjacency=data.adjacency,
    )


def _paper(tables: PaperTables, **changes: Any) -> Problem:
    return Problem(tables.train, tables.test, tables.roles, knowledge=tables.knowledge, **changes)


DATASETS: dict[str, Callable[[int, Progress], Problem]] = {
    "synthetic": _synthetic,
    "synthetic-unfiltered": lambda seed, progress: _synthetic(seed, progress, max_selection_error=math.inf),
    "adult": lambda seed, _: _paper(paper_adult(seed), dcfod_epochs=30),
    "compas": lambda seed, _: _paper(paper_compas(seed)),
}
JUDGED = {name: TRUTH if name.startswith("synthetic") else TWINS for name in DATASETS}
"""The judge that leads, by data set: the truth where it is known."""


def run_benchmark(
    datasets: Sequence[str],
    methods: Sequence[str],
    seeds: Sequence[int],
    config: AuditConfig | None = None,
    progress: Progress | None = None,
) -> list[dict[str, Any]]:
    """Audit every data set with every seed, which draws the data and trains the models.

    Returns
    -------
    A row for each data set, seed and method, with the changing ratio by each of ``judges.JUDGES``.
    ``changing_ratio_truth``, ``shd`` and ``cf_error`` are None where the truth is unknown.
    """
    check_names(datasets, methods)
    config, progress = config or AuditConfig(), progress or Progress()
    rows: list[dict[str, Any]] = []
    for dataset in datasets:
        for seed in seeds:
            rows += benchmark_once(progress, dataset, methods, seed, config.to_dict())
    return rows


def benchmark_once(
    progress: Progress, dataset: str, methods: Sequence[str], seed: int, config: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Audit one data set with one seed; a row for each method. Everything in it is JSON-able."""
    problem = DATASETS[dataset](seed, progress)
    settings = AuditConfig.from_dict({**config, "methods": list(methods), "seed": seed})
    return rows_of(audit_problem(problem, settings, progress), problem, dataset, progress)


def audit_problem(
    problem: Problem, config: AuditConfig, progress: Progress, *, with_judges: bool = True
) -> AuditResult:
    """Audit a data set with what is known of it.

    An audit that is given the truth learns no judges. So it is not given it, unless ``with_judges`` is False; in the
    paper's way it always is, because a judge would take half of the rows from the own model.
    """
    return judge_problem(problem, config, progress, with_judges=with_judges)[0]


def judge_problem(
    problem: Problem, config: AuditConfig, progress: Progress, *, with_judges: bool = True
) -> tuple[AuditResult, Sequence[CausalModel]]:
    """As ``audit_problem``, with the causal models that judged."""
    told = not with_judges or config.discovery.mode == "paper"
    settings = config.replace(knowledge=problem.knowledge, subsamples=0)  # seeds show the spread here
    truth = problem.test_counterfactual if told else None
    result = audit_tables(Tables(problem.train, problem.test, truth), problem.roles, settings, progress)
    return result, result.judge_models


def rows_of(result: AuditResult, problem: Problem, dataset: str, progress: Progress) -> list[dict[str, Any]]:
    """A JSON-able row for each method of an audit."""
    truth = _against_truth(result, problem)
    judged = judge_methods(result, problem.train, problem.test_counterfactual, progress)
    return [{"dataset": dataset, **_row(method, result, judged[method], truth)} for method in result.scores]


def check_names(datasets: Sequence[str], methods: Sequence[str]) -> None:
    """Refuse names that do not exist.

    Raises
    ------
    InvalidConfigError
    """
    unknown = [name for name in datasets if name not in DATASETS]
    if unknown:
        raise InvalidConfigError(f"Unknown data set: {', '.join(unknown)}. Known: {', '.join(DATASETS)}.")
    check_methods(methods)


def _row(method: str, result: AuditResult, judged: Judged, truth: Mapping[str, Any]) -> dict[str, Any]:
    report = result.report(method)
    metrics = report.metrics
    return {
        "method": method,
        "seed": result.config.seed,
        "auc_pr": metrics.auc_pr,
        "auc_roc": metrics.auc_roc,
        "macro_f1": metrics.macro_f1,
        **judged.ratios_at(report.threshold),
        "flag_rate": metrics.flag_rate,
        **truth,
        "fit_seconds": round(_seconds(method, result.provenance.seconds), 3),
        "curve": [_point(judged, point) for point in report.quantile_curve],
    }


def _seconds(method: str, by_stage: Mapping[str, float]) -> float:
    """How long a method took with all that it starts from."""
    if method in ADDITIVE_METHODS:
        return by_stage[STAGE] + _seconds("ae", by_stage)
    stages = [METHODS[base].stage for base in needed((method,))]
    took = sum(by_stage[stage] for stage in stages if stage is not None)
    return took + by_stage["discovery"] if METHODS[method].needs_twins else took


def _point(judged: Judged, point: Mapping[str, Any]) -> dict[str, Any]:
    """A point of the trade-off with the ratio by each judge."""
    kept = {name: point[name] for name in ("quantile", "macro_f1", "flag_rate")}
    return kept | judged.ratios_at(point["threshold"])


def _against_truth(result: AuditResult, problem: Problem) -> dict[str, Any]:
    """Distance of the graph and of the counterfactuals from the truth, in the table's units."""
    if problem.adjacency is None or problem.test_counterfactual is None:
        return {"shd": None, "cf_error": None, "cf_error_flip": None}
    names, strengths = result.model.strengths()
    true_edges = problem.adjacency.loc[names, names].to_numpy() != 0.0
    truth = problem.test_counterfactual[names].to_numpy(dtype=np.float64)
    guess = twin_rows(result, problem.test, clip=False).rows[names].to_numpy(dtype=np.float64)
    flipped = problem.test[names].to_numpy(dtype=np.float64)
    flipped[:, names.index(result.model.sensitive)] *= -1.0
    return {
        "shd": structural_hamming_distance(strengths != 0.0, true_edges),
        "cf_error": _mean_distance(guess, truth),
        "cf_error_flip": _mean_distance(flipped, truth),
    }


def _mean_distance(first: Floats, second: Floats) -> float:
    return float(np.linalg.norm(first - second, axis=1).mean())
