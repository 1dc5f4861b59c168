"""Batches on the command line: scored, kept, and shown over time."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pandas as pd
import pytest

from cfad_core.apps import cli
from cfad_core.audit.history import HISTORY, read_history
from cfad_core.runs.archive import export_audit, import_audit
from cfad_core.runs.store import Store
from tests.apps.commands import audit_arguments, exit_code
from tests.conftest import make_people

Printed = pytest.CaptureFixture[str]


@pytest.fixture
def audited(table: Path, tmp_path: Path, quick_presets: None, capsys: Printed) -> Path:
    """The folder of an audit with judges, of two methods."""
    folder = tmp_path / "audit"
    assert cli.main(audit_arguments(table, "--methods", "pca", "ae", "--out", folder, subsamples=4)) == 0
    capsys.readouterr()
    return folder


def write(path: Path, seed: int, shift: float = 0.0, n: int = 300) -> Path:
    people = make_people(n, seed)
    people.assign(income=people["income"] + shift).to_csv(path, index=False)
    return path


def score(audit: Path | str, table: Path, *more: str) -> list[str]:
    return ["score", str(audit), str(table), "--out", str(table.with_suffix(".out.csv")), "--no-reasons", *more]


@pytest.mark.slow
def test_batches_are_scored_kept_and_shown(audited: Path, tmp_path: Path, capsys: Printed) -> None:
    march, april = write(tmp_path / "march.csv", 1), write(tmp_path / "april.csv", 2, shift=2.0)
    assert cli.main(["audits", "history", str(audited)]) == 0
    assert "No batch was scored with this audit yet" in capsys.readouterr().out
    assert cli.main(score(audited, march, "--date", "2026-03-01")) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("Batch of 2026-03-01, 300 people: pca flags ")
    assert "outcome changes" in printed
    assert "twins: AUC 0." in printed
    assert "warning" not in printed
    assert cli.main(score(audited, april, "--date", "2026-04-01")) == 0
    assert "warning: The causal model no longer fits these rows: income" in capsys.readouterr().out
    assert len(pd.read_csv(tmp_path / "april.out.csv")) == 300
    assert cli.main(score(audited, march, "--date", "2026-05-01")) == 0
    said = "info: This table was scored before, with the date 2026-03-01; it is in the history once more."
    assert said in capsys.readouterr().out
    history = read_history(audited)
    assert [batch.date for batch in history] == ["2026-03-01", "2026-04-01", "2026-05-01"]
    assert history[0].judges == 4
    assert history[0].comparisons == history[2].comparisons
    assert cli.main(["audits", "history", str(audited), "--csv", str(tmp_path / "history.csv")]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split()[:3] == ["date", "source", "n"]
    assert [line.split()[0] for line in lines[1:9]] == ["audit"] * 2 + [b.date for b in history for _ in range(2)]
    assert [line.endswith("alarm") for line in lines[1:9]] == [False] * 4 + [True] * 2 + [False] * 2
    assert lines[-1].startswith("warning: 2026-04-01, april.csv: The causal model no longer fits these rows")
    assert list(pd.read_csv(tmp_path / "history.csv")["method"]) == ["pca", "ae"] * 3


@pytest.mark.slow
def test_nothing_is_kept_where_that_is_not_wanted_or_not_possible(
    audited: Path, tmp_path: Path, capsys: Printed
) -> None:
    march = write(tmp_path / "march.csv", 1)
    assert cli.main(score(audited, march, "--no-history")) == 0
    assert re.fullmatch(r"info: 300 rows in \d+\.\d s: [\d,]+ rows a second\.\n", capsys.readouterr().out)
    assert not (audited / HISTORY).exists()
    (audited / HISTORY).mkdir()
    assert cli.main(score(audited, march)) == 0
    printed = capsys.readouterr()
    assert "Batch of " in printed.out
    assert "The scores are written all the same." in printed.err
    assert len(pd.read_csv(tmp_path / "march.out.csv")) == 300


@pytest.mark.slow
def test_saved_audits_have_a_history_and_take_it_along(
    table: Path, tmp_path: Path, quick_presets: None, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))
    assert cli.main(audit_arguments(table, "--methods", "pca", "--save", "One", subsamples=4)) == 0
    with Store() as store:
        (record,) = store.find()
        folder = store.folder(record.id)
    assert json.loads((folder / "audit.json").read_text("utf-8"))["judge_models"] == 4
    march = write(tmp_path / "march.csv", 1)
    assert cli.main(score(record.id, march)) == 0
    capsys.readouterr()
    assert cli.main(["audits", "history", record.id]) == 0
    assert "march.csv" in capsys.readouterr().out
    with Store() as store:
        export_audit(store, record.id, tmp_path / "one.zip")
        other = import_audit(store, tmp_path / "one.zip")
        assert read_history(store.folder(other)) == read_history(folder)
        assert len(read_history(folder)) == 1
    assert cli.main(score(other, march)) == 0
    assert cli.main(["counterfactuals", other, str(march), "--out", str(tmp_path / "twins.csv")]) == 0


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["score", "x", "y.csv", "--out", "z.csv", "--date", "1.3.2026"], "a date is a year, a month and a day"),
        (["audits", "history", "nowhere"], "'nowhere' is neither an audit folder nor the id of a saved audit"),
        (["audits", "history", "."], "'.' holds no audit: there is no audit.json in it"),
    ],
)
def test_bad_usage(
    arguments: list[str], message: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Printed
) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))
    monkeypatch.chdir(tmp_path)
    assert exit_code(arguments) == 2
    assert message in capsys.readouterr().err
