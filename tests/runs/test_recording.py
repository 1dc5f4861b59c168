"""The recorded demo that ships with the program."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfad_core.audit.folder import SCHEMA_VERSION
from cfad_core.audit.truth import kept_truth
from cfad_core.core.config import preset
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.data.sets.demo import ROLES, generate_demo
from cfad_core.runs.recording import open_recording, record_demo, recorded_numbers, recorded_result
from cfad_core.runs.store import Store

SHIPPED = Path(__file__).resolve().parents[2] / "assets" / "demo.zip"
MOST_BYTES = 4_500_000


@pytest.mark.slow
def test_the_shipped_recording_is_of_this_version(tmp_path: Path) -> None:
    assert SHIPPED.stat().st_size < MOST_BYTES
    numbers = recorded_numbers(SHIPPED)
    assert numbers["schema_version"] == SCHEMA_VERSION
    with Store(tmp_path / "home") as store:
        audit = open_recording(store, SHIPPED)
        assert open_recording(store, SHIPPED) == audit  # it is put there once
        assert [record.id for record in store.find()] == [audit]
        record, result = store.get(audit), store.result(audit)
        tables = store.request(audit).tables
    people = generate_demo()
    assert record.tables == people.digests
    assert record.data_digest == people.digest == result.provenance.data_digest
    assert record.config == result.config == preset("fast")
    assert record.roles == ROLES
    assert tables.truth is not None
    truth = kept_truth(result, tables.truth)
    for method, report in result.reports.items():
        stored = numbers["comparisons"][0]["methods"][method]
        assert stored["changing_ratio"] == pytest.approx(report.metrics.changing_ratio)
        check = truth.check(report, report.threshold)
        assert check is not None
        assert check.interval is not None
        assert stored["interval"]["low"] == pytest.approx(check.interval.low)
        assert stored["interval"]["high"] == pytest.approx(check.interval.high)
        assert abs(check.true - (check.said or 0.0)) < 0.01  # the demo shows an audit that works


def test_a_recording_can_be_looked_at_without_a_place_in_the_store(tmp_path: Path) -> None:
    first, again = (recorded_result(SHIPPED, tmp_path) for _ in range(2))
    assert first.judged_people == again.judged_people == 2000
    assert len(list((tmp_path / "recording").iterdir())) == 1  # unpacked once
    with Store(tmp_path) as store:
        assert store.find() == []


@pytest.mark.slow
def test_a_recording_can_be_made_anew(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    few = generate_demo(n_train=300, n_test=200)
    monkeypatch.setattr("cfad_core.runs.recording.generate_demo", lambda: few)
    config = preset("fast", methods=("ae",), subsamples=0)
    record_demo(tmp_path / "demo.zip", config)
    with Store(tmp_path / "home") as store:
        audit = open_recording(store, tmp_path / "demo.zip")
        assert store.get(audit).tables == few.digests
        store.delete(audit)
        assert open_recording(store, tmp_path / "demo.zip") != audit  # it is put there again
    with pytest.raises(InvalidArtifactError, match=r"The recorded demo 'none.zip' is missing or damaged"):
        recorded_numbers(tmp_path / "none.zip")
