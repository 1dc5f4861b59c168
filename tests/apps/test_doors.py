"""One detector through every door: the audit says the same."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.doors import DOORS, ROLES, SAMPLE, fitted
from cfad_core.audit.answering import answer_audit
from cfad_core.audit.asking import PendingAudit, ask_audit
from cfad_core.core.config import AskedDetector, Knowledge, preset
from cfad_core.data.readers import read_table
from cfad_core.data.tables import Tables

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def pending() -> PendingAudit:
    known, asked = Knowledge(roots=("age",)), AskedDetector()
    config = preset("fast", methods=(), subsamples=4, knowledge=known, asked=asked)
    return ask_audit(Tables.of(read_table(SAMPLE)), ROLES, config)


@pytest.mark.parametrize("name", ["isolation forest", "LOF", "gradient boosting"])
def test_every_door_leads_to_the_same_numbers(name: str, pending: PendingAudit) -> None:
    scorer, meaning = fitted(read_table(SAMPLE), trees=15)[name]
    found = {}
    for door, answer in DOORS.items():
        answers = answer(pending, scorer, meaning)
        assert answers is not None, door
        assert answers.differing == 0
        found[door] = answer_audit(pending, answers).report("detector")
    ratios = [report.metrics.changing_ratio or 0.0 for report in found.values()]
    assert ratios[0] > 0.0
    assert np.ptp(ratios) < 1e-9
    assert len({report.verdict for report in found.values()}) == 1
