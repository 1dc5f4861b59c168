"""benchmark: data sets x methods x seeds, and the paper's whole experiment section."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

import pytest

from cfad_core.apps import cli
from cfad_core.core.progress import Progress
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import generate_synthetic
from cfad_core.paper import problems as benchmark
from cfad_core.paper.judges import JUDGES
from cfad_core.paper.problems import Problem
from cfad_core.runs.tasks import Task


@pytest.mark.slow
@pytest.mark.usefixtures("quick_presets")
def test_benchmark_rows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def small_world(seed: int, progress: Progress) -> Problem:
        data = generate_synthetic(seed + 4, n_train=800, n_test_normal=200, n_test_anomaly=40)
        roles = ColumnRoles("S", label="label", anomaly="1")
        return Problem(data.train, data.test, roles, data.test_counterfactual, data.adjacency)

    monkeypatch.setitem(benchmark.DATASETS, "synthetic", small_world)
    out = tmp_path / "results.json"
    arguments = ["--datasets", "synthetic", "--methods", "ae", "twin", "--seeds", "0", "--out", str(out)]
    assert cli.main(["benchmark", *arguments]) == 0
    rows = json.loads(out.read_text())
    assert [(row["dataset"], row["method"], row["seed"]) for row in rows] == [
        ("synthetic", "ae", 0),
        ("synthetic", "twin", 0),
    ]
    columns = "dataset method seed auc_pr auc_roc macro_f1 shd cf_error flag_rate cf_error_flip fit_seconds curve"
    assert set(rows[0]) == {*columns.split(), *JUDGES}
    assert [point["quantile"] for point in rows[0]["curve"]] == [0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999]
    point = {"quantile", "macro_f1", "flag_rate", *JUDGES}
    assert all(set(entry) == point for entry in rows[0]["curve"])
    assert 0 < rows[0]["cf_error"] < rows[0]["cf_error_flip"]
    header, first, *_ = capsys.readouterr().out.splitlines()
    assert header.count("outcome changes") == 1  # one ratio, by the true twins
    assert "changing_ratio" not in header
    assert f"{rows[0]['changing_ratio_truth']:.3f}" in first


def test_benchmark_with_workers(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def pretend(
        tasks: Sequence[Task], workers: int, scheduler: str | None, progress: Progress
    ) -> list[list[dict[str, str | int]]]:
        assert (workers, scheduler) == (2, None)
        return [[{"dataset": t.arguments["dataset"], "seed": t.arguments["seed"]}] for t in tasks]

    monkeypatch.setattr("cfad_core.runs.tasks.run_many", pretend)
    monkeypatch.setattr(cli.benchmark, "_cells", lambda row, columns: [row["dataset"], str(row["seed"]), *columns, ""])
    out = tmp_path / "r.json"
    runs = ["--datasets", "adult", "compas", "--seeds", "3", "4", "--workers", "2", "--out", str(out)]
    assert cli.main(["benchmark", *runs]) == 0
    expected = [{"dataset": name, "seed": seed} for name in ("adult", "compas") for seed in (3, 4)]
    assert json.loads(out.read_text()) == expected


@pytest.mark.slow
def test_the_whole_experiment_section(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from tests.paper.test_reproduction import Pretender

    monkeypatch.setattr("cfad_core.paper.plan.run_many", Pretender())
    out = tmp_path / "paper"
    document = tmp_path / "RESULTS.md"
    document.write_text("Before.\n\n<!-- tables -->\nwhat was there\n<!-- end of tables -->\n\nAfter.\n")
    asked = ["benchmark", "--all", "--no-images", "--seeds", "0", "1", "--out", str(out)]
    assert cli.main([*asked, "--document", str(document)]) == 0
    printed = capsys.readouterr().out
    assert (out / "results.md").read_text() in document.read_text()
    assert document.read_text().startswith("Before.\n\n<!-- tables -->\n\n")
    assert document.read_text().endswith("\n<!-- end of tables -->\n\nAfter.\n")
    assert "what was there" not in document.read_text()
    assert "| Adult, 0.95 quantile |" in printed
    assert "runs (0 of an earlier start)" in printed
    assert (out / "results.json").is_file()
    assert (out / "results.md").is_file()
    assert (out / "figures" / "tradeoff-adult.html").is_file()
    assert cli.main(asked) == 0
    assert f"{len(list((out / 'runs').iterdir()))} of an earlier start" in capsys.readouterr().out


@pytest.mark.parametrize("content", ["no marks", "<!-- end of tables -->\n<!-- tables -->", "<!-- tables -->" * 2])
def test_a_document_without_marks_is_refused_before_anything_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], content: str
) -> None:
    document = tmp_path / "RESULTS.md"
    document.write_text(content)
    asked = ["--all", "--no-images", "--out", str(tmp_path / "paper"), "--document", str(document)]
    assert cli.main(["benchmark", *asked]) != 0
    assert "must hold the lines '<!-- tables -->' and '<!-- end of tables -->'" in capsys.readouterr().err
    assert document.read_text() == content
    assert not (tmp_path / "paper" / "runs").exists()
    assert cli.main(["benchmark", "--out", str(tmp_path / "r.json"), "--document", str(document)]) != 0
    assert "give --all, too" in capsys.readouterr().err
