"""A new detector is one module and one entry in the registry: everything else finds it there."""

from __future__ import annotations

import json
import sys
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

from cfad_core.apps.cli import main
from cfad_core.audit.estimate import stages
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.run import run_audit
from cfad_core.audit.scoring import score_rows
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.cost import Cost
from cfad_core.core.looks import Look
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.protocol import Fitting, State, Surroundings
from cfad_core.detectors.registry import METHODS, Method, help_of, label_of, look_of, needed
from cfad_core.figures import tradeoff_points_figure
from cfad_core.paper import plan
from cfad_core.paper.report import figures, markdown
from cfad_core.runs.model import headline
from tests.conftest import Recorder, make_people
from tests.paper.test_reproduction import Pretender

ROLES = ColumnRoles("group", label="fraud", anomaly="yes")
CONFIG = AuditConfig(
    methods=("centre", "pca"),
    subsamples=4,
    detector=DetectorConfig(width=8, epochs=1, fair_epochs=1, batch_size=64),
)


@dataclass(frozen=True)
class Centre:
    """Scores the distance from the mean."""

    mean: Floats

    def anomaly_score(self, x: Floats) -> Floats:
        distance: Floats = np.abs(x - self.mean).sum(axis=1)
        return distance

    def contributions(self, x: Floats) -> Floats:
        return np.abs(x - self.mean)

    def state(self) -> dict[str, NDArray[np.generic]]:
        return {"mean": self.mean}


def fit(task: Fitting) -> Centre:
    task.progress.tick("centre", 1, 1)
    return Centre(task.rows.x.mean(axis=0))


def restore(arrays: State, _: Surroundings) -> Centre:
    return Centre(arrays["mean"].astype(np.float64))


@pytest.fixture(autouse=True)
def _registered(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("cfad_core.detectors.centre")
    vars(module).update(fit=fit, restore=restore)
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entry = Method(
        Look("Centre", 7, "dot", "star"),
        "The distance from the mean of normal people.",
        "the centre",
        module="centre",
        stage="centre",
        doing="Looking for the centre",
        cost=Cost(1.0),
    )
    monkeypatch.setitem(METHODS, "centre", entry)


@pytest.mark.slow
def test_it_is_audited_saved_and_scores_again(tmp_path: Path) -> None:
    recorder = Recorder()
    found = run_audit(make_people(300, seed=0), ROLES, CONFIG, recorder)
    assert tuple(found.scores) == ("centre", "pca")
    assert isinstance(found.detectors["centre"], Centre)
    assert "centre" in recorder.stages()
    assert set(recorder.stages()) <= set(stages(CONFIG, knows_truth=False))
    assert "centre" in found.provenance.seconds
    people = found.people
    expected = np.abs(people.factual[:, 1:] - found.detectors["centre"].mean).sum(axis=1)
    assert np.array_equal(found.scores["centre"].factual, expected)
    assert found.stability is not None
    assert found.scores["centre"].judged.shape == (16, 1, 75)  # by four models, four twins each

    save_audit(found, tmp_path / "audit")
    text = json.loads((tmp_path / "audit" / "audit.json").read_text(encoding="utf-8"))
    assert text["config"]["methods"] == ["centre", "pca"]
    report = found.report("centre")
    assert text["methods"]["centre"]["metrics"]["flag_rate"] == report.metrics.flag_rate
    assert " the centre, had they belonged to the other group" in text["methods"]["centre"]["verdict"]
    assert headline(found)["centre"]["changing_ratio"] == report.metrics.changing_ratio

    again, table = load_audit(tmp_path / "audit"), make_people(30, seed=1)
    assert isinstance(again.detectors["centre"], Centre)
    assert score_rows(again, table).equals(score_rows(found, table))
    assert score_rows(again, table)["centre_score"].notna().all()


def test_it_is_known_by_its_entry() -> None:
    assert (label_of("centre"), help_of("centre")) == ("Centre", "The distance from the mean of normal people.")
    assert needed(("centre", "cfad")) == ["ae", "cfad", "centre"]
    line = np.linspace(0.0, 1.0, 9)
    (drawn,) = tradeoff_points_figure({look_of("centre"): (line, line, line)}).data
    assert (drawn.name, drawn.line.dash, drawn.marker.symbol) == ("Centre", "dot", "star")


def test_commands_offer_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["audit", "--help"])
    shown = "".join(capsys.readouterr().out.split())  # lines are broken anywhere
    assert "someofpca,ocsvm,iforest,ae,dcfod,fairod,fairad,cfad,twin,surprise,centre,oranyofthemwith-rank" in shown
    make_people(300, seed=0).to_csv(tmp_path / "people.csv", index=False)
    asked = ["--sensitive", "group", "--label", "fraud", "--anomaly", "yes", "--methods", "centre", "--subsamples", "0"]
    assert main(["audit", str(tmp_path / "people.csv"), *asked, "--out", str(tmp_path / "audit")]) == 0
    assert "with the centre, had they belonged" in capsys.readouterr().out
    assert tuple(load_audit(tmp_path / "audit").scores) == ("centre",)


def test_results_of_the_paper_from_before_it_still_open(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan, "run_many", Pretender())
    with monkeypatch.context() as before:
        before.delitem(METHODS, "centre")
        made = plan.reproduce(tmp_path, (0,))
        without, drawn = markdown(made), {name: figure.to_json() for name, figure in figures(made).items()}
    stored = plan.Reproduction.load(tmp_path / "results.json")
    assert "centre" not in stored.methods
    assert markdown(stored) == without
    assert {name: figure.to_json() for name, figure in figures(stored).items()} == drawn
    again = plan.reproduce(tmp_path / "again", (0,))
    assert "centre" in again.methods
    assert "| Centre |" in markdown(again)  # the paper has no numbers of it


def test_without_it_its_audits_still_open_but_do_not_score(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    found = run_audit(make_people(300, seed=0), ROLES, CONFIG.replace(subsamples=0))
    save_audit(found, tmp_path)
    monkeypatch.delitem(METHODS, "centre")
    again = load_audit(tmp_path)
    assert again.report("centre").metrics == found.report("centre").metrics
    assert list(score_rows(again, make_people(10, seed=1)).columns)[::5] == ["pca_score"]
