from __future__ import annotations

import dataclasses

import numpy as np

from cfad_core.audit.notices import result_notices
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats
from cfad_core.core.config import FairodConfig, Knowledge
from cfad_core.detectors.adapter import ForeignDetector
from tests.audit.worlds import EVERYTHING, QUICK, ROLES, SMALL, codes
from tests.conftest import make_people


def test_oddities_become_notices() -> None:
    table = make_people(300, seed=7).assign(same=1.0)
    found = run_audit(table, ROLES, QUICK)
    assert {"constant", "few-rows", "scaling"} <= codes(found)
    normal = table[table["fraud"] == "no"]
    assert "one-test-label" in codes(run_audit(table, ROLES, QUICK, test=normal))


def test_useless_detectors_are_called_out() -> None:
    table = make_people(2000, seed=4)
    table["fraud"] = np.where(np.random.default_rng(0).random(2000) < 0.3, "yes", "no")  # labels that mean nothing
    found = run_audit(table, ROLES, QUICK)
    assert "fair-because-useless" in codes(found)


def test_a_graph_without_a_path_is_said_loudly() -> None:
    table = make_people(400, seed=4)
    cut = Knowledge(forbidden=(("group", "schooling"), ("group", "income"), ("group", "debt")))
    found = run_audit(table, ROLES, QUICK.replace(knowledge=cut))
    assert found.report("ae").metrics.changing_ratio == 0.0
    assert {"no-path-from-sensitive", "no-path-in-judge"} <= codes(found)


class Ranker:
    """Ranks the rows it is given among each other."""

    def fit(self, x: Floats) -> Ranker:
        return self

    def score_samples(self, x: Floats) -> Floats:
        return np.argsort(np.argsort(x[:, 0])) / len(x)


def test_detectors_that_look_at_the_company_are_reported() -> None:
    pca = QUICK.replace(methods=("pca",))
    found = run_audit(
        make_people(500, seed=4), ROLES, pca, detectors={"ranker": ForeignDetector(Ranker(), high_means="anomalous")}
    )
    assert "not-row-by-row" in codes(found)


def test_fairod_without_its_losses_is_reported(everything: AuditResult) -> None:
    assert "fairod-base" not in codes(everything)
    base = SMALL.replace(fairod=FairodConfig(steps=5, candidates=()))
    config = EVERYTHING.replace(methods=("fairod",), baselines=base)
    assert "fairod-base" in codes(run_audit(make_people(500, seed=4), ROLES, config))


def test_a_ratio_that_drawn_categories_contradict_is_reported(mixed: AuditResult) -> None:
    sure, own = mixed.stability, mixed.report("pca").metrics.changing_ratio
    assert sure is not None
    assert own is not None
    assert own > 0.0

    scores = mixed.scores["pca"]

    def reported(
        worlds: Floats, twins: Floats = scores.counterfactual, model: StructuralModel = mixed.model
    ) -> list[str]:
        other = dataclasses.replace(
            mixed,
            scores={"pca": dataclasses.replace(scores, counterfactual=twins)},
            stability=dataclasses.replace(sure, twin_scores={"pca": worlds}),
            model=model,
        )
        notices = result_notices(other.reports, other.config)
        return [notice.message for notice in notices if notice.code == "own-outside-interval"]

    nobody = np.tile(scores.factual, (4, 1))
    found = reported(np.full_like(nobody, 1e9))
    assert len(found) == 1
    assert f"the outcome changes for {100 * own:.1f} %, by models that draw categories for" in found[0]
    assert reported(np.tile(scores.counterfactual, (400, 1))) == []
    numbers = dataclasses.replace(mixed.model, weights=np.zeros_like(mixed.model.weights))
    assert reported(np.full_like(nobody, 1e9), model=numbers) == []  # there is no category to draw
    assert reported(np.full_like(nobody, 1e9), twins=scores.factual) == []  # it scores everybody and their twin alike
