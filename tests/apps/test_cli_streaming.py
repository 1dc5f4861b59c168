"""score and counterfactuals on files of any kind and size."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest

from cfad_core.apps import cli
from cfad_core.data import chunks
from tests.apps.commands import audit_arguments
from tests.conftest import make_people

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def audited(table: Path, tmp_path: Path, quick_presets: None, capsys: Printed, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of an audit; tables are read in chunks of 50 rows."""
    folder = tmp_path / "audit"
    assert cli.main(audit_arguments(table, "--methods", "pca", "--out", folder)) == 0
    capsys.readouterr()
    monkeypatch.setattr(chunks, "_size", lambda *_: 50)
    return folder


def run(command: str, audit: Path, table: Path, out: Path) -> Path:
    more = ["--no-history"] if command == "score" else []
    assert cli.main([command, str(audit), str(table), "--out", str(out), *more]) == 0
    return out


def test_every_kind_of_file_gives_the_same(audited: Path, table: Path, tmp_path: Path, capsys: Printed) -> None:
    whole = pd.read_csv(table)
    (tmp_path / "parts").mkdir()
    for k in range(3):
        whole.iloc[k * 200 : (k + 1) * 200].to_parquet(tmp_path / "parts" / f"part-{k}.parquet")
    for command in ("score", "counterfactuals"):
        text = run(command, audited, table, tmp_path / "from_text.csv")
        parquet = run(command, audited, tmp_path / "parts", tmp_path / "from_folder.parquet")
        assert capsys.readouterr().out.count("info: 500 rows in ") == 2
        found = pd.read_parquet(parquet)
        assert len(found) == 500
        pd.testing.assert_frame_equal(found, pd.read_csv(text), check_exact=False, rtol=1e-12)


def test_rows_that_cannot_be_used_leave_no_file(audited: Path, tmp_path: Path, capsys: Printed) -> None:
    people = make_people(500, seed=1)
    people.loc[[60, 480], "group"] = "z"
    people.to_csv(tmp_path / "wrong.csv", index=False)
    for command in ("score", "counterfactuals"):
        for ending in ("csv", "parquet"):
            out = tmp_path / "out" / f"some.{ending}"
            assert cli.main([command, str(audited), str(tmp_path / "wrong.csv"), "--out", str(out)]) == 2
            said = "error: 2 of 500 rows have a 'group' that is neither 'a' nor 'b'; remove these rows first."
            assert capsys.readouterr().err.strip() == said
            assert list(out.parent.iterdir()) == []


def test_a_large_batch_is_measured_on_drawn_people(
    audited: Path, table: Path, tmp_path: Path, capsys: Printed, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cfad_core.audit import streaming

    monkeypatch.setattr(streaming.Stream.__init__, "__kwdefaults__", {"is_batch": False, "most": 200})
    for _ in range(2):
        assert cli.main(["score", str(audited), str(table), "--out", str(tmp_path / "some.csv"), "--no-reasons"]) == 0
    printed = capsys.readouterr().out
    assert "500 people: pca flags" in printed
    assert "info: Rates and tests of this batch are about 200 of its 500 people, drawn by chance" in printed
    assert "info: This table was scored before" in printed
    assert printed.strip().splitlines()[-1].startswith("info: 500 rows in ")
