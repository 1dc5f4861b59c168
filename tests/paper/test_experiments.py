"""The pieces of the paper's experiment section, on small worlds."""

from __future__ import annotations

import json
import math
from typing import Any, Literal

import numpy as np
import pytest

from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import encode_people
from cfad_core.causal.graph import structural_hamming_distance
from cfad_core.core.config import (
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    FairadConfig,
    FairodConfig,
    preset,
)
from cfad_core.core.progress import Progress
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import Worlds, generate_synthetic
from cfad_core.detectors.protocol import score_people
from cfad_core.paper import experiments
from cfad_core.paper import problems as benchmark
from cfad_core.paper.additive import with_additive
from cfad_core.paper.experiments import audit_all, audit_originals, generation_errors, sensitivity
from cfad_core.paper.judges import JUDGES, TRAINING, learn_former
from cfad_core.paper.methods import ADDITIVE_METHODS, CFAD_ADDITIVE, TWIN_ADDITIVE, experimented
from cfad_core.paper.problems import Problem, audit_problem, judge_problem, rows_of

DETECTOR = DetectorConfig(width=16, epochs=2, fair_epochs=1, batch_size=64)
BASELINES = BaselineConfig(
    iforest_trees=5,
    dcfod=DcfodConfig(widths=(8,), code_size=2, epochs=1),
    fairod=FairodConfig(steps=5, candidates=()),
    fairad=FairadConfig(width=8, steps=5),
)


@pytest.fixture(scope="module")
def world() -> Problem:
    easy = Worlds(n_variables=6, max_selection_error=math.inf)
    data = generate_synthetic(3, n_train=400, n_test_normal=100, n_test_anomaly=20, worlds=easy)
    roles = ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1")
    return Problem(data.train, data.test, roles, data.test_counterfactual, data.adjacency, dcfod_epochs=2)


@pytest.fixture(autouse=True)
def small(world: Problem, monkeypatch: pytest.MonkeyPatch) -> dict[str, AuditConfig]:
    """Every data set is the small world, and every training short; returns the settings that were used."""
    used: dict[str, AuditConfig] = {}

    def judge(problem: Problem, config: AuditConfig, progress: Progress, *, with_judges: bool = True) -> Any:
        used["last"] = config
        short = config.replace(detector=DETECTOR, baselines=BASELINES)
        return judge_problem(problem, short, progress, with_judges=with_judges)

    def audit(problem: Problem, config: AuditConfig, progress: Progress, *, with_judges: bool = True) -> AuditResult:
        found: AuditResult = judge(problem, config, progress, with_judges=with_judges)[0]
        return found

    def paper(name: Literal["fast", "paper"]) -> AuditConfig:
        discovery = preset("paper").discovery.replace(rounds=2, steps_per_round=20, decoder_steps=20)
        return preset(name, discovery=discovery)

    monkeypatch.setitem(benchmark.DATASETS, "synthetic", lambda seed, progress: world)
    monkeypatch.setattr(experiments, "audit_problem", audit)
    monkeypatch.setattr(experiments, "judge_problem", judge)
    monkeypatch.setattr(experiments, "preset", paper)
    return used


@pytest.mark.slow
def test_all_methods_on_one_data_set(small: dict[str, AuditConfig]) -> None:
    found = audit_all(Progress(), "synthetic", 7, experimented())
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert tuple(row["method"] for row in found["rows"]) == (*experimented(), *ADDITIVE_METHODS)
    assert {row["seed"] for row in found["rows"]} == {7}
    for row in found["rows"]:
        assert len(row["curve"]) == 9
        at_95 = next(point for point in row["curve"] if point["quantile"] == 0.95)
        assert all(0.0 <= row[judge] == at_95[judge] <= 1.0 for judge in JUDGES)
    graph = found["graph"]
    learned, true = (np.array(graph[name]) != 0.0 for name in ("strengths", "true"))
    assert {row["shd"] for row in found["rows"]} == {structural_hamming_distance(learned, true)}
    assert set(found["densities"]) == {"ae", "cfad"}
    assert learned.shape == true.shape == (7, 7)
    assert graph["variables"] == ["S", *(f"X{k}" for k in range(1, 7))]
    baselines = small["last"].baselines  # as the paper's authors ran them
    assert (baselines.dcfod.clusters, baselines.dcfod.epochs, baselines.fairod.candidates) == (1, 2, ())


@pytest.mark.slow
def test_the_originals(small: dict[str, AuditConfig]) -> None:
    rows = audit_originals(Progress(), "synthetic", 1)
    assert [row["method"] for row in rows] == ["dcfod", "fairod"]
    assert small["last"].baselines == BaselineConfig()


def test_generated_rows_are_compared_with_the_truth() -> None:
    found = {row["model"]: row for row in generation_errors(Progress(), 0)}
    assert set(found) == {"plain GAE", "paper", "joint"}
    assert all(row["factual"] > 0.0 and row["counterfactual"] > 0.0 for row in found.values())
    # trained for 40 steps, the graph autoencoder knows nothing; the joint mode is solved to convergence
    for error in ("factual", "counterfactual"):
        assert found["joint"][error] < found["plain GAE"][error]


@pytest.mark.slow
def test_sensitivity_is_what_audits_with_that_setting_find(world: Problem) -> None:
    """The causal model and the plain autoencoder are shared; the numbers are those of a whole audit."""
    found = sensitivity(Progress(), 2, {"fairness_weight": [0.0, 5.0], "fair_learning_rate": [1e-3]})
    asked = [("fairness_weight", 0.0), ("fairness_weight", 5.0), ("fair_learning_rate", 1e-3)]
    assert [(row["setting"], row["value"]) for row in found] == asked
    for line in found:
        config = AuditConfig(methods=("cfad",), seed=2, detector=DETECTOR)
        config = config.with_detector(closeness_weights=(), twins_learned=1, **{line["setting"]: line["value"]})
        (whole,) = rows_of(audit_problem(world, config, Progress()), world, "synthetic", Progress())
        assert line["macro_f1"] == whole["macro_f1"]
        assert line["changing_ratio"] == whole["changing_ratio_truth"]


@pytest.mark.slow
def test_ours_with_additive_twins(world: Problem) -> None:
    """They learn from the twins of one additive model, and are judged as all others are."""
    config = AuditConfig(methods=("ae", "cfad"), seed=1, detector=DETECTOR)
    before, judges = judge_problem(world, config, Progress())
    found = with_additive(before, judges, world.train, Progress())
    assert tuple(found.scores) == ("ae", "cfad", *ADDITIVE_METHODS)
    normal = encode_people(before.encoding, world.train)
    model = learn_former(before, world.train, Progress(), which=TRAINING)
    network, twin = found.detectors[CFAD_ADDITIVE], found.detectors[TWIN_ADDITIVE]
    here, there = (score_people(network, rows) for rows in (normal, model.twins(normal)))
    assert np.array_equal(found.scores[CFAD_ADDITIVE].train, np.concatenate([here, there]))  # of both worlds
    assert np.array_equal(found.scores[TWIN_ADDITIVE].train, 0.5 * (here + there))  # of people
    assert np.array_equal(score_people(twin, normal), 0.5 * (here + there))
    assert not np.array_equal(found.scores[CFAD_ADDITIVE].factual, found.scores["cfad"].factual)
    for method in ADDITIVE_METHODS:  # by the same twins of the same people
        assert found.scores[method].judged.shape == found.scores["cfad"].judged.shape
    person, model_of_half = before.people.factual[before.people.judged], judges[0]
    twins = score_people(network, model_of_half.twins(person, 0))
    assert np.array_equal(found.scores[CFAD_ADDITIVE].judged[0, 0], twins)
    rows = {row["method"]: row for row in rows_of(found, world, "synthetic", Progress())}
    assert all(rows[TWIN_ADDITIVE][judge] is not None for judge in JUDGES)
    assert rows[CFAD_ADDITIVE]["fit_seconds"] > rows["ae"]["fit_seconds"]


def test_the_papers_way_keeps_all_rows_for_its_own_model(world: Problem) -> None:
    """It would give half of them to a judge; the truth judges it instead."""
    paper = preset("paper", methods=("pca",))
    quick = paper.discovery.replace(rounds=2, steps_per_round=20, decoder_steps=20)
    (row,) = rows_of(audit_problem(world, paper.replace(discovery=quick), Progress()), world, "synthetic", Progress())
    assert row["changing_ratio_truth"] is not None
    assert row["changing_ratio_additive"] is not None
    assert row["changing_ratio_twins"] is None
