"""The history of an audit: lines that are only ever added."""

from __future__ import annotations

import dataclasses
import json
import subprocess
import sys
from pathlib import Path

import pytest

from cfad_core.audit.batch import Batch
from cfad_core.audit.batches import measure_batch
from cfad_core.audit.folder import save_audit
from cfad_core.audit.history import HISTORY, append_batch, history_table, read_history, scored_before
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import CfadError, InvalidArtifactError
from tests.conftest import make_people

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="session")
def batch(judged: AuditResult) -> Batch:
    return measure_batch(judged, make_people(200, seed=5), source="march.csv", at=1_000.0)


@pytest.fixture
def folder(judged: AuditResult, tmp_path: Path) -> Path:
    save_audit(judged, tmp_path / "audit")
    return tmp_path / "audit"


def test_batches_are_added_and_read_in_the_order_of_their_dates(folder: Path, batch: Batch) -> None:
    assert read_history(folder) == []
    later = dataclasses.replace(batch, at=2_000.0, source="ä <b>.csv")
    append_batch(folder, later)
    append_batch(folder, batch)
    assert read_history(folder) == [batch, later]
    assert scored_before(read_history(folder), batch) == [batch, later]
    assert scored_before(read_history(folder), dataclasses.replace(batch, digest="other")) == []


def test_saving_the_audit_again_keeps_its_history(folder: Path, batch: Batch, judged: AuditResult) -> None:
    append_batch(folder, batch)
    save_audit(judged, folder)
    assert read_history(folder) == [batch]


def test_another_audit_in_the_same_folder_has_a_history_of_its_own(
    folder: Path, batch: Batch, result: AuditResult
) -> None:
    append_batch(folder, batch)
    save_audit(result, folder)
    assert read_history(folder) == []
    append_batch(folder, batch)
    assert read_history(folder) == [batch]
    assert len((folder / HISTORY).read_text().splitlines()) == 2


def test_torn_and_damaged_lines_are_skipped(folder: Path, batch: Batch) -> None:
    append_batch(folder, batch)
    whole = (folder / HISTORY).read_bytes()
    (folder / HISTORY).write_bytes(whole + whole[: len(whole) // 2])  # as if the power had failed
    assert read_history(folder) == [batch]
    append_batch(folder, batch)
    assert read_history(folder) == [batch, batch]
    line = json.loads(whole)
    spoiled = [{**line, "n": "many"}, {**line, "more": 1}, [], {"audit": line["audit"]}, 5]
    with (folder / HISTORY).open("ab") as stream:
        stream.write(b"\xff\xfe\n\n" + "".join(json.dumps(one) + "\n" for one in spoiled).encode())
        stream.write(whole.replace(b'"unknown_rows": 0.0', b'"unknown_rows": NaN'))
    assert read_history(folder) == [batch, batch]


APPEND = """
import json, sys
from pathlib import Path
from cfad_core.audit.batch import Batch
from cfad_core.audit.history import append_batch

batch = Batch.from_dict(json.loads(sys.stdin.read()))
for _ in range(10):
    append_batch(Path(sys.argv[1]), batch)
"""


@pytest.mark.slow
def test_several_processes_add_at_once(folder: Path, batch: Batch) -> None:
    command = [sys.executable, "-c", APPEND, str(folder)]
    writers = [subprocess.Popen(command, stdin=subprocess.PIPE, text=True, cwd=ROOT) for _ in range(4)]
    for writer in writers:
        assert writer.stdin is not None
        writer.stdin.write(json.dumps(batch.to_dict()))
        writer.stdin.close()
    assert [writer.wait() for writer in writers] == [0] * 4
    assert read_history(folder) == [batch] * 40
    assert len((folder / HISTORY).read_bytes().splitlines()) == 40


def test_folders_without_an_audit_are_refused(folder: Path, batch: Batch, tmp_path: Path) -> None:
    with pytest.raises(InvalidArtifactError, match=r"holds no audit: there is no audit\.json"):
        read_history(tmp_path)
    (folder / "audit.json").write_text("[]")
    with pytest.raises(InvalidArtifactError, match="is damaged"):
        append_batch(folder, batch)


def test_what_cannot_be_written_is_said(folder: Path, batch: Batch) -> None:
    (folder / HISTORY).mkdir()
    with pytest.raises(CfadError, match="The batch cannot be added to"):
        append_batch(folder, batch)


def test_the_table_has_all_numbers(batch: Batch) -> None:
    (row,) = history_table([batch]).to_dict("records")
    found = batch.comparisons[0].methods["pca"]
    assert (row["date"], row["source"], row["n"], row["judges"]) == ("1970-01-01", "march.csv", 200, 4)
    assert (row["changing_ratio"], row["flag_rate_a"]) == (found.changing_ratio, found.flag_rates["a"].value)
    assert row["n_a"] + row["n_b"] == 200
    assert row["alarm"] is None
    assert {"drop_income", "shift_income"} <= set(row)
    assert history_table([]).empty
