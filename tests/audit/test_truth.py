"""True twins that an audit did not see."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import audit_tables
from cfad_core.audit.truth import KeptTruth, kept_truth
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import InvalidDataError
from cfad_core.data.sets.demo import ORIGIN, ROLES, generate_demo
from cfad_core.data.tables import Tables
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.truth import TruthCheck

QUICK = AuditConfig(subsamples=4, methods=("ae",), detector=DetectorConfig(width=16, epochs=3, batch_size=64))


@pytest.fixture(scope="module")
def tables() -> Tables:
    return generate_demo(n_train=400, n_test=200)


@pytest.fixture(scope="module")
def audited(tables: Tables) -> AuditResult:
    return audit_tables(tables, ROLES, QUICK)


def test_an_audit_does_not_see_them(tables: Tables, audited: AuditResult) -> None:
    without = audit_tables(Tables.of(tables.table, tables.test), ROLES, audited.config)
    assert audited.people.truth is None
    assert audited.scores["ae"].truth is None
    np.testing.assert_array_equal(audited.scores["ae"].judged, without.scores["ae"].judged)
    assert audited.provenance.data_digest == without.provenance.data_digest


def test_the_truth_is_that_of_an_audit_that_knows_it(tables: Tables, audited: AuditResult) -> None:
    assert tables.truth is not None
    knowing = audit_tables(Tables.of(tables.table, tables.test, tables.truth), ROLES, audited.config)
    check = kept_truth(audited, tables.truth).check(audited.report("ae"), audited.report("ae").threshold)
    assert check is not None
    assert check.true == knowing.report("ae").metrics.changing_ratio
    assert check.said == audited.report("ae").metrics.changing_ratio
    assert check.interval == audited.report("ae").intervals.changing_ratio  # type: ignore[union-attr]


def test_a_detector_that_is_not_here_cannot_be_checked(audited: AuditResult) -> None:
    assert KeptTruth({}).check(audited.report("ae"), 1.0) is None


def test_rows_that_are_no_twins_are_refused(tables: Tables, audited: AuditResult) -> None:
    assert tables.truth is not None
    with pytest.raises(InvalidDataError, match="must belong to the other group"):
        kept_truth(audited, tables.truth.assign(**{ORIGIN: "north"}))
    with pytest.raises(InvalidDataError, match="There are 10 true twins"):
        kept_truth(audited, tables.truth.head(10))


def test_it_is_said_whether_the_interval_contains_the_truth() -> None:
    found = TruthCheck(0.481, 0.46, Interval(0.41, 0.52))
    assert found.holds
    assert found.line == "The true share is 48.1 %; the interval, 41 % to 52 %, contains it."
    low = dataclasses.replace(found, true=0.40)
    assert low.line == "The true share is 40.0 %; the interval, 41 % to 52 %, misses it by 1.0 points."
    high = TruthCheck(0.0242, 0.017, Interval(0.009, 0.024))
    assert high.line == "The true share is 2.4 %; the interval, 0.9 % to 2.4 %, misses it by less than 0.1 points."
    assert (
        TruthCheck(0.05, 0.04, None).line == "The true share is 5.0 %; the audit said 4.0 %, and measured no interval."
    )
    assert TruthCheck(0.05, None, None).holds is None
