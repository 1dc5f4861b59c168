"""Home: where an audit begins, and the latest ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from cfad_core.apps.dashboard.tables import verdict
from cfad_core.data.tables import Tables
from cfad_core.runs.store import Store
from tests.apps.pages import (
    QUICK,
    ROLES,
    people,
    said,
    visit,
)


def test_home_with_nothing_yet(home: Path) -> None:
    app = visit()
    assert "Would the detector have flagged the same person" in said(app)
    assert "None yet" in said(app)
    assert {button.label for button in app.button} >= {"Run the demo audit", "Try the sample table"}


def test_home_lists_audits(done: tuple[str, str]) -> None:
    app = visit()
    assert app.dataframe[0].value["name"].tolist() == ["Without labels", "With labels"]
    without, measured = app.dataframe[0].value["verdict"]
    assert "the uncertainty was not measured" in without
    assert "the uncertainty was not measured" in without
    assert "with CFAD, had they belonged to the other group" in measured


def test_the_verdict_of_a_list(home: Path) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name="One", source="people.csv")
        store.claim("test", audit)
        store.finish(audit, {"pca": {"n": 100, "verdict": "First."}, "cfad": {"n": 100, "verdict": "Second."}})
        record = store.get(audit)
    assert verdict(record) == "Second."
    assert record.metrics is not None
    assert verdict(dataclasses.replace(record, metrics={"pca": record.metrics["pca"]})) == "First."
    assert verdict(dataclasses.replace(record, metrics=None)) == ""
    older = dataclasses.replace(record, schema_version=4)  # its numbers are not those that its pages show now
    assert verdict(older) == "Made by an older version: run it again."
