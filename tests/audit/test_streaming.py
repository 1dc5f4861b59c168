"""A table chunk by chunk says what the whole table says, to the last bit."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.batches import Counted, measure_batch
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.scoring import encode_people, score_encoded, score_rows, twin_rows, twins_of_encoded
from cfad_core.audit.streaming import Stream
from cfad_core.core.errors import AuditCancelled, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.data.chunks import open_chunks
from cfad_core.data.readers import read_table
from tests.audit.test_scoring import messy_people
from tests.audit.worlds import QUICK, ROLES
from tests.conftest import make_people

SIZES = (7, 37, 1_000)


@pytest.fixture(scope="module")
def messy() -> AuditResult:
    return run_audit(messy_people(300, seed=7), ROLES, QUICK.replace(methods=("ae", "surprise")))


def written(path: Path, table: pd.DataFrame) -> Path:
    table.to_csv(path, index=False)
    return path


def stream_of(result: AuditResult, path: Path, size: int, **more: bool | int) -> Stream:
    chunks = open_chunks(path, rows=size)
    return Stream(result, chunks, chunks.rows, **more)  # type: ignore[arg-type]


@pytest.mark.filterwarnings("ignore:Parsing dates")
def test_scores_and_twins_are_those_of_the_whole_table(messy: AuditResult, tmp_path: Path) -> None:
    """Also of dates whose way of writing only the first cell shows, missing cells, and levels nobody knows."""
    table = messy_people(70, seed=8)
    table = table.assign(since=table["since"].dt.strftime("%d/%m/%Y"), visits=table["visits"].astype("Int64"))
    table.loc[:2, "since"] = [None, "13/01/2021", "02/01/2021"]
    table.loc[40, "since"] = "03/02/2021"  # on its own: the second of March
    table.loc[[3, 50], "job"] = "astronaut"
    table.loc[60, "visits"] = None  # all others are floats then, too
    path = written(tmp_path / "messy.csv", table)
    whole = read_table(path)
    scores, twins = score_rows(messy, whole), twin_rows(messy, whole)
    for size in SIZES:
        stream = stream_of(messy, path, size, is_batch=True)
        parts = [
            (people, score_encoded(messy, people), twins_of_encoded(messy, people, chunk)) for chunk, people in stream
        ]
        assert np.array_equal(np.concatenate([people for people, _, _ in parts]), encode_people(messy.encoding, whole))
        found = pd.concat([one for _, one, _ in parts], ignore_index=True)
        pd.testing.assert_frame_equal(found, scores, check_exact=True)
        rows = pd.concat([one.rows for _, _, one in parts])
        assert rows.to_csv(index=False) == twins.rows.to_csv(index=False)
        assert stream.counted.unknown == messy.encoding.unknown(whole) == {"job": 2}
        counted = Counted.of(messy.encoding, whole, encode_people(messy.encoding, whole))
        assert (stream.counted.digest, stream.counted.unknown_rows) == (counted.digest, counted.unknown_rows)
        assert np.array_equal(stream.counted.states, counted.states)
        pd.testing.assert_frame_equal(stream.measured, whole)


@pytest.mark.parametrize("column", ["group", "income"])
def test_what_cannot_be_used_is_counted_over_all_chunks(messy: AuditResult, tmp_path: Path, column: str) -> None:
    table = messy_people(70, seed=8)
    table[column] = table[column].astype(object)
    table.loc[[30, 50, 69], column] = ["first", "second", "third"]
    path = written(tmp_path / "wrong.csv", table)
    with pytest.raises(InvalidDataError) as whole:
        score_rows(messy, read_table(path))
    assert "3" in str(whole.value)
    for size in SIZES:
        with pytest.raises(InvalidDataError) as found:
            list(stream_of(messy, path, size))
        assert str(found.value) == str(whole.value)
    with pytest.raises(InvalidDataError, match="The table lacks the column debt of the audit"):
        list(stream_of(messy, written(path, table.drop(columns="debt")), 10))


def test_people_to_measure_are_drawn_whatever_the_chunks(result: AuditResult, tmp_path: Path) -> None:
    path = written(tmp_path / "many.csv", make_people(500, seed=3).assign(id=range(500)))
    drawn = []
    for size in (37, 1_000):
        stream = stream_of(result, path, size, is_batch=True, most=100)
        assert sum(len(people) for _, people in stream) == 500
        drawn.append(stream.measured)
    assert all(one.equals(drawn[0]) for one in drawn)
    ids = drawn[0]["id"].to_numpy()
    assert len(set(ids)) == 100
    assert (np.diff(ids) > 0).all()
    assert 150 < ids.mean() < 350  # of all parts of the table


def test_a_batch_of_drawn_people_has_the_numbers_of_all(judged: AuditResult, tmp_path: Path) -> None:
    path = written(tmp_path / "many.csv", make_people(800, seed=3))
    stream = stream_of(judged, path, 100, is_batch=True, most=300)
    assert sum(1 for _ in stream) == 8
    batch = measure_batch(judged, stream.measured, counted=stream.counted)
    whole = measure_batch(judged, read_table(path))
    assert (batch.n, batch.measured, batch.judged, batch.digest) == (800, 300, 300, whole.digest)
    assert batch.comparisons[0].groups == whole.comparisons[0].groups
    said = "Rates and tests of this batch are about 300 of its 800 people, drawn by chance"
    assert [said in remark for remark in batch.remarks] == [True]
    assert whole.measured is None
    ratios = [one.comparisons[0].methods["pca"].changing_ratio or 0.0 for one in (batch, whole)]
    assert ratios[0] == pytest.approx(ratios[1], abs=0.1)


def test_a_stream_can_be_stopped(result: AuditResult, tmp_path: Path) -> None:
    class Impatient(Progress):
        def stop_requested(self) -> bool:
            return True

    chunks = open_chunks(written(tmp_path / "many.csv", make_people(50, seed=3)), rows=10)
    with pytest.raises(AuditCancelled):
        list(Stream(result, chunks, chunks.rows, Impatient()))
