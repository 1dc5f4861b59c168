"""The three judges: units are converted without loss, and twins judged at the same thresholds."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.config import AuditConfig, Scaling
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import fit_encoding
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import SyntheticData, Worlds, generate_synthetic
from cfad_core.paper.judges import ADDITIVE, TRAINING, TRUTH, TWINS, Judged, Units, judge_methods, learn_former
from tests.conftest import make_people

ROLES = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")


def many_kinds() -> pd.DataFrame:
    """Numbers, levels, a yes/no, a number with marked missing cells, and dates."""
    rng = np.random.default_rng(0)
    people = make_people(301, seed=0)
    seen = np.where(rng.random(301) < 0.2, np.nan, rng.integers(0, 9, 301).astype(float))
    start = pd.Timestamp("2020-01-01T12:00:00")
    return people.assign(
        town=rng.choice(["x", "y", "z"], 301),
        member=rng.choice(["yes", "no"], 301),
        seen=seen,
        since=start + pd.to_timedelta(rng.integers(0, 900, 301), unit="D"),
    )


@pytest.mark.parametrize("scaling", ["auto", "raw", "range"])
def test_people_in_other_units_are_the_same_people(scaling: Scaling) -> None:
    table = many_kinds()
    own, other = (fit_encoding(table, ROLES, some) for some in ("own", scaling))
    units = Units.between(own, other)
    people = own.encode(table)
    rounding = 1e-12 * np.abs(people).max(axis=0)
    np.testing.assert_allclose(units.convert(people), other.encode(table), rtol=0.0, atol=1e-9)
    assert (np.abs(units.convert_back(other.encode(table)) - people) <= rounding).all()
    assert (np.abs(units.convert_back(units.convert(people)) - people) <= rounding).all()
    same = Units.between(other, other)  # an audit whose columns have these units already
    assert np.array_equal(same.convert(people), people)


def test_ratios_by_hand() -> None:
    here = np.array([1.0, 2.0, 3.0, 4.0])
    judged = Judged(
        {
            ADDITIVE: (here, np.array([[3.0, 2.0, 3.0, 4.0]])),  # the first twin is flagged
            TWINS: (here[1:3], np.array([[9.0, 9.0], [9.0, 0.0]])),  # of two people, with two twins each
        }
    )
    assert judged.ratios_at(2.5) == {ADDITIVE: 0.25, TWINS: 0.75, TRUTH: None}
    assert judged.ratios_at(10.0) == {ADDITIVE: 0.0, TWINS: 0.0, TRUTH: None}


@pytest.fixture(scope="module")
def world() -> SyntheticData:
    easy = Worlds(n_variables=6, max_selection_error=math.inf)
    return generate_synthetic(3, n_train=400, n_test_normal=100, n_test_anomaly=20, worlds=easy)


@pytest.fixture(scope="module")
def audited(world: SyntheticData) -> AuditResult:
    roles = ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1")
    return run_audit(world.train, roles, AuditConfig(methods=("pca", "iforest"), subsamples=0), test=world.test)


@pytest.mark.slow
def test_every_judge_judges_every_method(audited: AuditResult, world: SyntheticData) -> None:
    found = judge_methods(audited, world.train, world.test_counterfactual, Progress())
    told = run_audit(
        world.train, audited.roles, audited.config, test=world.test, test_counterfactual=world.test_counterfactual
    )
    for method, report in audited.reports.items():
        ratios = found[method].ratios_at(report.threshold)
        assert ratios[TWINS] == pytest.approx(report.metrics.changing_ratio)
        assert told.report(method).threshold == report.threshold  # the truth judges, and is never learned from
        assert ratios[TRUTH] == pytest.approx(told.report(method).metrics.changing_ratio)
        assert ratios[ADDITIVE] is not None
    without = judge_methods(told, world.train, None, Progress())
    assert without["pca"].ratios_at(0.0)[TRUTH] is None
    assert without["pca"].ratios_at(0.0)[TWINS] is None  # an audit that was told the truth has no judges


@pytest.mark.slow
def test_additive_twins_are_of_another_model_in_the_audits_units(audited: AuditResult, world: SyntheticData) -> None:
    former = learn_former(audited, world.train, Progress())
    people = audited.people.factual
    twins = former.twins(people)
    assert np.array_equal(twins[:, 0], -people[:, 0])
    untouched = [k for k in range(1, people.shape[1]) if k not in former.model.affected]
    assert np.array_equal(twins[:, untouched], people[:, untouched])  # to the bit
    assert former.model.affected
    assert not np.allclose(twins, audited.people.counterfactual)  # the detectors know the model of all rows
    scaled = former.units.convert(people)
    expected = former.model.twins(scaled) * former.units.scale + former.units.offset
    np.testing.assert_allclose(twins, expected, rtol=1e-9, atol=1e-9)
    other = learn_former(audited, world.train, Progress(), which=TRAINING)  # shares no row with it
    assert not np.allclose(other.twins(people), twins)


def test_additive_twins_may_lie_between_levels() -> None:
    rng = np.random.default_rng(1)
    people = make_people(600, seed=2)
    likely = np.where(people["group"] == "b", 0.8, 0.2)
    people = people.assign(member=np.where(rng.random(600) < likely, "yes", "no")).drop(columns="fraud")
    roles = ColumnRoles("group", groups=("a", "b"))
    found = run_audit(people, roles, AuditConfig(methods=("pca",), subsamples=0), test=people)
    former = learn_former(found, people, Progress())
    column = former.model.names.index("member")
    assert column in former.model.affected
    legal = set(np.unique(found.people.factual[:, column]))
    assert set(np.unique(found.people.counterfactual[:, column])) <= legal
    assert not set(np.unique(former.twins(found.people.factual)[:, column])) <= legal
