"""The paper's experiment section, one piece at a time.

Each function runs in a process of its own (``jobs.run_many``): its arguments and what it returns are JSON-able.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import encode_people
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.paper import learn_plain_autoencoder
from cfad_core.causal.discovery.search import learn_model
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, preset
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import fit_encoding
from cfad_core.detectors.autoencoder import Autoencoder
from cfad_core.detectors.cfad import fine_tune
from cfad_core.evaluation.outcomes import ScoreCurve
from cfad_core.paper.additive import with_additive
from cfad_core.paper.problems import DATASETS, Problem, audit_problem, judge_problem, rows_of

PICTURED = ("ae", "cfad")  # methods whose score densities are kept
SENSITIVITY: dict[str, tuple[float, ...]] = {
    "fairness_weight": (0.0, 0.1, 0.3, 1.0, 3.0, 10.0),
    "fair_learning_rate": (1e-5, 3e-5, 1e-4, 3e-4, 1e-3, 3e-3),
}
_BINS = 60


def audit_all(progress: Progress, dataset: str, seed: int, methods: Sequence[str]) -> dict[str, Any]:
    """The methods on one data set, the baselines as the paper's authors ran them; with graph and densities.

    Beside the given methods, among which must be AE, stand ours with additive twins.
    """
    problem = DATASETS[dataset](seed, progress)
    baselines = preset("paper").baselines
    config = AuditConfig(
        methods=tuple(methods),
        seed=seed,
        baselines=baselines.replace(dcfod=baselines.dcfod.replace(epochs=problem.dcfod_epochs)),
    )
    result, judges = judge_problem(problem, config, progress)
    result = with_additive(result, judges, problem.train, progress)
    return {
        "rows": rows_of(result, problem, dataset, progress),
        "graph": _graph(result, problem),
        "densities": {method: _densities(result, method) for method in PICTURED},
    }


def audit_originals(progress: Progress, dataset: str, seed: int) -> list[dict[str, Any]]:
    """DCFOD and FairOD as their own authors describe them."""
    problem = DATASETS[dataset](seed, progress)
    result = audit_problem(problem, AuditConfig(methods=("dcfod", "fairod"), seed=seed), progress)
    return rows_of(result, problem, dataset, progress)


def generation_errors(progress: Progress, seed: int) -> list[dict[str, Any]]:
    """How far generated rows are from the true ones on the synthetic set, for three ways of learning the model.

    Factual: what the equations expect of a row, without its noise. Counterfactual: by abduction, action, prediction.
    Mean Euclidean distances over the test rows, in the table's units.
    """
    problem = DATASETS["synthetic"](seed, progress)
    assert problem.test_counterfactual is not None
    encoding = fit_encoding(problem.train, problem.roles, "auto", "levels")
    train, test = encoding.encode(problem.train), encoding.encode(problem.test)
    truth = encoding.encode(problem.test_counterfactual)
    unit = np.array([1.0, *(variable.scale for variable in encoding.variables)])

    def distance(first: Floats, second: Floats) -> float:
        return float(np.linalg.norm((first - second) * unit, axis=1).mean())

    def errors(model: str, expected: Floats, generated: Floats) -> dict[str, Any]:
        found = {"factual": distance(expected, test), "counterfactual": distance(generated, truth)}
        return {"seed": seed, "model": model} | found

    paper = preset("paper").discovery
    columns = Columns(encoding.names, encoding.sensitive, rows_were_selected=True)
    plain, second = learn_plain_autoencoder(train, columns, paper, seed, progress)
    joint = learn_model(train, columns, seed=seed, progress=progress)
    weights, s = second.weights, second.sensitive_index
    return [
        errors("plain GAE", plain.reconstruct(test, weights), plain.counterfactual(test, weights, s)),
        errors("paper", second.reconstruct(test), second.twins(test)),
        errors("joint", joint.reconstruct(test), joint.twins(test)),
    ]


def sensitivity(progress: Progress, seed: int, values: Mapping[str, Sequence[float]]) -> list[dict[str, Any]]:
    """The paper's CFAD on the synthetic set for several values of each of some of its settings; judged by the truth.

    Its score and a twin's need not be close (``closeness_weights``): that would hide what these settings do.
    The causal model and the plain autoencoder do not depend on them and are learned once.
    """
    problem = DATASETS["synthetic"](seed, progress)
    first = audit_problem(problem, AuditConfig(methods=("ae",), seed=seed), progress, with_judges=False)
    plain, people = first.detectors["ae"], first.people
    assert isinstance(plain, Autoencoder)
    assert people.truth is not None
    normal = encode_people(first.encoding, problem.train)
    counterfactual, settings = first.model.twins(normal), first.settings.replace(closeness_weights=())
    found = []
    for setting, value in ((setting, value) for setting, some in values.items() for value in some):
        config = settings.replace(**{setting: value})
        fair = fine_tune(plain, normal[:, 1:], counterfactual[None, :, 1:], config, seed=seed, progress=progress)
        train, here, there = (
            fair.anomaly_score(x[:, 1:])
            for x in (np.concatenate([normal, counterfactual]), people.factual, people.truth)
        )
        at = ScoreCurve(here, there, people.is_anomaly).at(np.quantile(train, first.config.quantile))
        row = {"seed": seed, "setting": setting, "value": value}
        found.append(row | {"macro_f1": float(at.macro_f1), "changing_ratio": float(at.changing_ratio)})
    return found


def _graph(result: AuditResult, problem: Problem) -> dict[str, Any]:
    variables, strengths = result.model.strengths()
    graph: dict[str, Any] = {
        "variables": variables,
        "strengths": strengths.tolist(),
        "sensitive": result.model.sensitive,
        "affected": list(result.model.affected_names),
    }
    if problem.adjacency is not None:
        graph["true"] = problem.adjacency.loc[variables, variables].to_numpy(dtype=np.float64).tolist()
    return graph


def _densities(result: AuditResult, method: str) -> Mapping[str, Any]:
    report = result.report(method)
    found = report.densities(_BINS, log=True)
    density = {name: values.tolist() for name, values in found.density.items()}
    return {"edges": found.edges.tolist(), "density": density, "threshold": report.threshold}
