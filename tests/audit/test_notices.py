from __future__ import annotations

import numpy as np
import pytest

from cfad_core.audit.notices import result_notices
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.arrays import Floats
from cfad_core.core.config import FairodConfig, Knowledge
from cfad_core.detectors.adapter import ForeignDetector
from tests.audit.worlds import EVERYTHING, QUICK, ROLES, SMALL, codes
from tests.conftest import make_people


@pytest.mark.slow
def test_oddities_become_notices() -> None:
    table = make_people(300, seed=7).assign(same=1.0)
    found = run_audit(table, ROLES, QUICK)
    assert {"constant", "few-rows"} <= codes(found)
    normal = table[table["fraud"] == "no"]
    assert "one-test-label" in codes(run_audit(table, ROLES, QUICK, test=normal))


@pytest.mark.slow
def test_useless_detectors_are_called_out() -> None:
    table = make_people(2000, seed=4)
    table["fraud"] = np.where(np.random.default_rng(0).random(2000) < 0.3, "yes", "no")  # labels that mean nothing
    found = run_audit(table, ROLES, QUICK)
    assert "fair-because-useless" in codes(found)


@pytest.mark.slow
def test_a_graph_without_a_path_is_said_loudly() -> None:
    table = make_people(400, seed=4)
    cut = Knowledge(forbidden=(("group", "schooling"), ("group", "income"), ("group", "debt")))
    found = run_audit(table, ROLES, QUICK.replace(knowledge=cut))
    assert found.report("ae").metrics.changing_ratio == 0.0
    assert "no-path-from-sensitive" in codes(found)
    (checks,) = found.checks
    assert set(checks.unexplained) == {"income", "debt"}  # the table contradicts what was said of it
    assert found.report("ae").verdict.startswith("Not reliable: ")


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


def test_what_an_older_engine_made_is_said_first(result: AuditResult) -> None:
    found = result_notices(result.reports, older=True)
    assert (found[0].code, found[0].severity) == ("older-engine", "warning")
    assert "older-engine" not in {finding.code for finding in result_notices(result.reports, older=False)}
    assert "older-engine" not in codes(result)


@pytest.mark.slow
def test_scales_are_spoken_of_where_columns_were_put_on_one(result: AuditResult) -> None:
    """Numbers stay in their own units, unless another scaling was asked for."""
    assert "scaling" not in codes(result)
    assert "scaling" in codes(run_audit(make_people(300, seed=7), ROLES, QUICK.replace(scaling="range")))
