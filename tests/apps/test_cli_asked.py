"""audit, of a detector outside this program: files, a command, an address, an ONNX model."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pandas as pd
import pytest

from cfad_core.apps import cli
from cfad_core.audit.folder import load_audit
from cfad_core.runs.store import Store
from tests.apps.commands import audit_arguments
from tests.apps.servers import answering

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("home", "quick_presets")]
SCORER = """
import sys
import pandas as pd
rows = pd.read_csv(sys.argv[1])
rows[["row_id"]].assign(score=-rows["debt"]).to_csv(sys.argv[2], index=False)
"""
FEW = ("--methods", "pca", "--subsamples", "4")


@pytest.fixture
def scorer(tmp_path: Path) -> Path:
    path = tmp_path / "score.py"
    path.write_text(SCORER)
    return path


def command(path: Path, places: str = "{in} {out}") -> str:
    return f"{sys.executable} '{path}' {places}"


def answer(path: Path, out: Path) -> Path:
    rows = pd.read_csv(path)
    rows[["row_id"]].assign(score=-rows["debt"]).to_csv(out, index=False)
    return out


def ratio(folder: Path) -> float | None:
    return load_audit(folder).report("detector").metrics.changing_ratio


def test_two_files_and_a_folder(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out, asked = tmp_path / "audit", tmp_path / "to_score.csv"
    assert cli.main(audit_arguments(table, "--out", out, "--ask-scores", asked, *FEW)) == 0
    printed = capsys.readouterr().out
    assert "rows to score are in" in printed
    assert f"python -m cfad_core audit {out} --scores FILE --high-means anomalous" in printed
    assert not (out / "audit.json").exists()
    scores = answer(asked, tmp_path / "scores.csv")
    assert cli.main(["audit", str(out), "--scores", str(scores)]) == 2
    assert "Say what a high score of the detector means" in capsys.readouterr().err
    assert cli.main(["audit", str(out), "--scores", str(scores), "--high-means", "normal", "--threshold", "-2"]) == 0
    printed = capsys.readouterr().out
    assert "threshold = the score that 5 % of the people learned from exceed (detector: its owner's)." in printed
    assert "detector is a detector outside this program" in printed
    assert load_audit(out).report("detector").threshold == 2.0


def test_two_files_and_the_store(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = tmp_path / "to_score.parquet"
    typed = audit_arguments(table, "--save", "Waits", "--ask-scores", asked, "--no-methods", "--detector", "prod", *FEW)
    assert cli.main(typed) == 0
    capsys.readouterr()
    with Store() as store:
        (record,) = store.find()
    assert record.status == "waiting"
    assert cli.main(["audits", "list"]) == 0
    assert "waiting for scores" in capsys.readouterr().out
    rows = pd.read_parquet(asked)
    flags = rows[["row_id"]].assign(flag=rows["debt"] > rows["debt"].quantile(0.9))
    flags.to_parquet(tmp_path / "flags.parquet")
    assert (
        cli.main(["audit", record.id, "--scores", str(tmp_path / "flags.parquet")]) == 0
    )  # flags speak for themselves
    assert f"The audit is saved as {record.id}." in capsys.readouterr().out
    with Store() as store:
        assert list(store.result(record.id).scores) == ["prod"]


def test_a_command_says_the_same_as_files(table: Path, scorer: Path, tmp_path: Path) -> None:
    by_file, by_command = tmp_path / "file", tmp_path / "command"
    asked = tmp_path / "to_score.csv"
    assert cli.main(audit_arguments(table, "--out", by_file, "--ask-scores", asked, *FEW)) == 0
    scores = answer(asked, tmp_path / "scores.csv")
    assert cli.main(["audit", str(by_file), "--scores", str(scores), "--high-means", "normal"]) == 0
    typed = ("--out", by_command, "--score-command", command(scorer), "--high-means", "normal", *FEW)
    assert cli.main(audit_arguments(table, *typed)) == 0
    assert ratio(by_file) == ratio(by_command)
    found = load_audit(by_command).asked
    assert found is not None
    assert found.door == "command"


@pytest.mark.parametrize("kind", ["text/csv", "application/json"])
def test_an_address_is_asked(kind: str, table: Path, tmp_path: Path) -> None:
    out = tmp_path / "audit"
    with answering(kind) as address:
        typed = ("--out", out, "--score-address", address, "--high-means", "normal", *FEW)
        assert cli.main(audit_arguments(table, *typed)) == 0
    found = load_audit(out).asked
    assert found is not None
    assert (found.door, found.high_means) == ("address", "normal")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--score-command", "score.py {in}"], "The command needs the places {in} and {out}"),
        (["--score-command", "'score.py {in} {out}"], "The command cannot be read: No closing quotation."),
        (["--score-address", "localhost:80"], "An address begins with http:// or https://"),
        (["--ask-scores", "rows.xlsx"], "written as .csv or .parquet; got 'rows.xlsx'"),
        (["--score-column", "debt"], "Scores of twins are needed, too: say how to ask the detector"),
        (["--no-methods"], "Scores of twins are needed, too"),
        (["--threshold", "3"], "Scores of twins are needed, too"),
        (["--ask-scores", "rows.csv", "--threshold", "3"], "when the scores are there, with --scores"),
        (["--score-command", "a {in} {out}", "--score-address", "http://x"], "not allowed with argument"),
        (["--ask-scores", "rows.csv", "--detector", "ae"], "A detector of your own needs a name"),
        (["--ask-scores", "rows.csv", "--carry", "debt"], "'debt' is not. Ignore it, or do not carry it"),
    ],
)
def test_wrong_options_are_refused_before_anything_long(
    options: list[str],
    message: str,
    table: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    if "--high-means" not in options and "--ask-scores" not in options:
        options = [*options, "--high-means", "normal"]
    typed = audit_arguments(table, "--out", tmp_path / "audit", *options, *FEW)
    try:
        code = cli.main(typed)
    except SystemExit as ended:
        code = int(ended.code or 0)
    assert code == 2
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "here").iterdir())


def test_what_a_score_means_must_be_said(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    typed = audit_arguments(table, "--out", tmp_path / "audit", "--score-command", "a {in} {out}", *FEW)
    assert cli.main(typed) == 2
    assert "--high-means anomalous, or normal" in capsys.readouterr().err


def test_a_command_that_fails_leaves_no_audit(table: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "bad.py"
    path.write_text("import sys; sys.exit('the model is missing')")
    typed = ("--score-command", command(path), "--high-means", "normal", *FEW)
    assert cli.main(audit_arguments(table, "--out", tmp_path / "audit", *typed)) == 2
    assert "error: The command ended with exit code 1: the model is missing" in capsys.readouterr().err
    assert not (tmp_path / "audit").exists()


def test_answers_to_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    scores = tmp_path / "scores.csv"
    scores.write_text("row_id,score\nr1,1.5\n")
    assert cli.main(["audit", "nowhere", "--scores", str(scores)]) == 2
    assert "'nowhere' is neither an audit folder nor the id of a saved audit" in capsys.readouterr().err
    assert cli.main(["audit", str(tmp_path), "--scores", str(scores)]) == 2
    assert "holds no audit that waits for scores" in capsys.readouterr().err


def test_a_column_of_scores_is_left_out_and_compared(
    table: Path, scorer: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    people = pd.read_csv(table)
    people.assign(outlier_score=-people["debt"]).to_csv(table, index=False)
    assert cli.main(["inspect", str(table)]) == 0
    assert "is named like what a detector says of people" in capsys.readouterr().out
    typed = ("--score-command", command(scorer), "--high-means", "normal", "--score-column", "outlier_score", *FEW)
    assert cli.main(audit_arguments(table, "--out", tmp_path / "audit", *typed)) == 0
    result = load_audit(tmp_path / "audit")
    assert result.roles.score == "outlier_score"
    assert result.asked is not None
    assert result.asked.known > 300
    assert result.asked.unlike_known == 0
    text = json.loads((tmp_path / "audit" / "audit.json").read_text())
    assert text["asked"]["known"] == result.asked.known
