"""Audits that many tests look at; nobody changes them."""

from __future__ import annotations

import pytest
from sklearn.neighbors import LocalOutlierFactor

from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from tests.audit.worlds import (
    CROSSED,
    EVERYTHING,
    JOBS,
    PCA,
    QUICK,
    ROLES,
    SUBSAMPLED,
    THREE,
    make_crossed,
    make_jobs,
    make_three,
    people_twins,
)
from tests.conftest import make_people


@pytest.fixture(scope="session")
def result() -> AuditResult:
    """Without uncertainty."""
    return run_audit(make_people(600, seed=0), ROLES, QUICK)


@pytest.fixture(scope="session")
def everything() -> AuditResult:
    """By every method."""
    return run_audit(make_people(500, seed=4), ROLES, EVERYTHING)


@pytest.fixture(scope="session")
def measured() -> AuditResult:
    """With uncertainty, and with a detector of another library."""
    detectors = {"lof": LocalOutlierFactor(novelty=True)}
    return run_audit(make_people(400, seed=0), ROLES, SUBSAMPLED, detectors=detectors)


@pytest.fixture(scope="session")
def judged() -> AuditResult:
    """With uncertainty, of more people."""
    return run_audit(make_people(800, seed=0), ROLES, PCA)


@pytest.fixture(scope="session")
def mixed() -> AuditResult:
    """With uncertainty, of a table with a category that the group has a say in."""
    return run_audit(make_jobs(500, seed=3), ROLES, JOBS)


@pytest.fixture(scope="session")
def three() -> AuditResult:
    """Of three groups, with uncertainty, by methods that score with twins and within groups, too."""
    config = SUBSAMPLED.replace(methods=("pca", "pca-rank", "ae", "cfad", "twin", "surprise"))
    return run_audit(make_three(600, seed=0), THREE, config)


@pytest.fixture(scope="session")
def crossed() -> AuditResult:
    """Of two attributes with two and three groups, with uncertainty; without labels."""
    return run_audit(make_crossed(900, seed=0), CROSSED, PCA.replace(methods=("pca", "surprise")))


@pytest.fixture(scope="session")
def known() -> AuditResult:
    """Of people whose true twins are known."""
    test = make_people(80, seed=1)
    config = QUICK.replace(methods=("pca",))
    return run_audit(make_people(300, seed=0), ROLES, config, test=test, test_counterfactual=people_twins(test))
