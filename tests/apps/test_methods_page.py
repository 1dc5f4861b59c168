"""Methods side by side, over seeds and settings, and the paper's."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from cfad_core.apps.dashboard.comparison import same_but_seed
from cfad_core.core.config import (
    DEFAULT_METHODS,
)
from cfad_core.data.tables import Tables
from cfad_core.detectors.registry import METHODS
from cfad_core.paper import plan
from cfad_core.paper.experiments import SENSITIVITY
from cfad_core.paper.judges import ADDITIVE
from cfad_core.paper.methods import ADDITIVE_METHODS, experimented, label_of
from cfad_core.paper.published import published
from cfad_core.runs.store import Store
from tests.apps.pages import (
    FULL,
    QUICK,
    ROLES,
    people,
    said,
    visit,
    without_groups,
)
from tests.paper.test_reproduction import Pretender


@pytest.mark.slow
def test_methods_are_shown_by_tick_box(done: tuple[str, str]) -> None:
    app = visit("8_Methods.py", audit=done[0])
    assert list(app.dataframe[0].value.index) == [label_of(method) for method in METHODS]
    for method in list(METHODS)[2:]:
        app.checkbox(key=f"show-{done[0]}-{method}").uncheck()
    app.run()
    assert list(app.dataframe[0].value.index) == ["PCA", "OC-SVM"]
    for method in list(METHODS)[:2]:
        app.checkbox(key=f"show-{done[0]}-{method}").uncheck()
    app.run()
    assert not app.exception, app.exception
    assert "Tick a method." in said(app)


@pytest.mark.slow
def test_methods_are_added_by_tick_box(done: tuple[str, str], home: Path) -> None:
    app = visit("8_Methods.py", audit=done[1])
    button = f"run-methods-{done[1]}"
    assert app.button(key=button).disabled
    app.checkbox(key=f"add-{done[1]}-ocsvm").check()
    app.checkbox(key=f"add-{done[1]}-pca").check().run()
    app.button(key=button).click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        child = store.find(status="queued")[0]
    assert child.config == QUICK.replace(methods=("pca", "ocsvm", *DEFAULT_METHODS))
    assert child.parent == done[1]
    assert "More methods" not in said(visit("8_Methods.py", audit=done[0]))


@pytest.mark.slow
def test_more_seeds(done: tuple[str, str], home: Path) -> None:
    app = visit("8_Methods.py", audit=done[0])
    app.number_input(key=f"seeds-{done[0]}").set_value(2).run()
    app.button(key=f"run-seeds-{done[0]}").click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        assert sorted(record.config.seed for record in store.find(status="queued")) == [1, 2]


def test_an_audit_without_groups_is_compared_by_those_of_its_table(home: Path) -> None:
    with Store(home) as store:
        tables = Tables.of(people())
        swapped = dataclasses.replace(ROLES, groups=("b", "a"))
        audits = [
            store.create(tables, roles, QUICK.replace(seed=seed), name="One")
            for seed, roles in enumerate((ROLES, ROLES, swapped))
        ]
        for audit in audits:
            store.claim("test", audit)
            store.finish(audit, {})
        without_groups(store, audits[0])
        assert [record.id for record in same_but_seed(store.get(audits[0]))] == audits[:2]
        assert [record.id for record in same_but_seed(store.get(audits[1]))] == [audits[1], audits[0]]


@pytest.mark.slow
def test_sensitivity_is_started_and_shown_on_the_page(done: tuple[str, str], home: Path) -> None:
    app = visit("8_Methods.py", audit=done[0])
    app.button(key=f"run-fairness_weight-{done[0]}").click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        queued = store.find(status="queued")
        weights = {r.config.detector.fairness_weight for r in queued}
        assert weights == set(SENSITIVITY["fairness_weight"])
        assert len(queued) == len(weights)
        assert {r.config.methods for r in queued} == {("cfad", "twin")}
        assert {r.config.replace(methods=tuple(METHODS)).with_detector(fairness_weight=None) for r in queued} == {FULL}
        for other in queued[:3]:
            store.claim("test", other.id)
            store.finish(other.id, {"cfad": {"n": 100, "macro_f1": 0.5, "changing_ratio": 0.1}})
    app = visit("8_Methods.py", audit=done[0])
    assert not app.exception, app.exception
    assert "4 of 7 audits are done" in said(app)
    assert "one audit for each value" in said(app)
    assert f"run-fairness_weight-{done[0]}" not in {button.key for button in app.button}


@pytest.mark.slow
def test_missing_stored_results_are_reported(
    done: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cfad_core.apps.dashboard.paper_results.STORED", tmp_path / "nowhere.json")
    app = visit("8_Methods.py", audit=done[0])
    assert not app.exception, app.exception
    assert "The stored results are not here." in said(app)


@pytest.mark.slow
def test_the_papers_experiments_are_on_the_page(
    done: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(plan, "run_many", Pretender())
    plan.reproduce(tmp_path, (0, 1))
    monkeypatch.setattr("cfad_core.apps.dashboard.paper_results.STORED", tmp_path / "results.json")
    app = visit("8_Methods.py", audit=done[0])
    for dataset, words, judges in (
        ("synthetic", "That flatters methods", 3),
        ("synthetic-unfiltered", "The true graph", 3),
        ("adult", "learned causal graph", 2),
        ("compas", "AE against", 2),
    ):
        next(control for control in app.segmented_control if control.label == "Data set").set_value(dataset).run()
        assert not app.exception, app.exception
        assert words in said(app)
        table = app.dataframe[-1].value
        assert list(table["method"]) == [label_of(method) for method in (*experimented(), *ADDITIVE_METHODS)]
        assert sum(column.startswith("changes") for column in table.columns) == judges
        numbers = published(dataset, "cfad")
        assert numbers is not None
        assert any(f"({numbers['macro_f1']:.3f})" in cell for cell in table["Macro-F1"])
        assert "Baselines that dominate Twin" in said(app)
        app.segmented_control(key=f"paper-judge-{dataset}").set_value(ADDITIVE).run()
        assert not app.exception, app.exception
        assert "By additive twins, ours are better in both" in said(app)
