"""The tab about paths: measuring them, calling one justified, and what remains without it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.path_view import in_words
from cfad_core.audit.folder import save_audit
from cfad_core.audit.paths import measure_paths, measure_remaining
from cfad_core.audit.statements import JustifiedPath, Statements
from cfad_core.core.formats import percent
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.path_shares import PathShare, PathShares
from cfad_core.runs.model import ChosenThreshold
from cfad_core.runs.store import Store
from tests.apps.pages import HOSTILE, button, press, said, visit
from tests.audit.worlds import without_judges

PAGE = "3_Causal_graph.py"


def lower_threshold(audit: str, method: str) -> float:
    """Flag two in five, so that the outcomes of more than ten people change."""
    with Store() as store:
        value = float(np.quantile(store.result(audit).scores[method].factual, 0.6))
        store.choose_threshold(audit, ChosenThreshold(method, "score", value))
    return value


def table_with(app: AppTest, column: str) -> pd.DataFrame | None:
    found = [table.value for table in app.dataframe if column in table.value]
    return found[0] if found else None


def choose(app: AppTest, audit: str, method: str) -> None:
    app.segmented_control(key=f"paths-{audit}").set_value(method).run()
    assert not app.exception, app.exception


@pytest.mark.slow
def test_what_each_path_carries(done: tuple[str, str]) -> None:
    audit = done[0]
    threshold = lower_threshold(audit, "ae")
    app = visit(PAGE, audit=audit)
    choose(app, audit, "ae")
    assert table_with(app, "remains without it") is None  # nothing that takes long happens by itself
    assert "This takes about 1 s" in said(app)
    press(app, "Measure the paths of AE")
    with Store() as store:
        found = measure_paths(store.result(audit).seen(), "ae", threshold)
    assert found.says_enough
    table = table_with(app, "remains without it")
    assert table is not None
    assert list(table["path"]) == [row.name for row in found.rows]
    assert list(table["gone"]) == [100.0 * (row.gone.value or 0.0) for row in found.rows]
    first = found.rows[0]
    assert first.remaining.interval is not None
    low, high = first.remaining.interval.low, first.remaining.interval.high
    shown = f"{percent(first.remaining.value)} ({percent(low)} to {percent(high)})"
    assert table["remains without it"][0] == shown
    assert f"{shown} remain" in said(app)
    assert f"would be {percent(found.direct.value)}" in said(app)
    assert "lowest to highest over 4 causal models" in said(app)
    assert "is given the group itself" not in said(app)


def test_what_is_said_of_a_method_that_is_given_the_group_and_of_values_that_come_apart() -> None:
    row = PathShare(("sex", "*job*"), 4, Estimate(0.15), Estimate(-0.5), Estimate(0.1))
    plain = PathShares(100, 4, Estimate(0.1), Estimate(0.1), Estimate(0.1), None, ())
    words = in_words(plain, "twin", "as saved")
    assert "is given the group" not in words
    assert "come apart" not in words
    words = in_words(dataclasses.replace(plain, told=Estimate(0.05), rows=(row,)), "twin", "as saved")
    given = f"{label_of('twin')} is given the group itself"
    assert f"{given}: if no column changed at all, it would still be 5.0 %" in words
    assert "come apart" in words
    assert "Most goes with" not in words  # nothing goes with it
    carries = dataclasses.replace(row, gone=Estimate(0.5), remaining=Estimate(0.05))
    assert r"Most goes with **sex → \*job\***" in in_words(dataclasses.replace(plain, rows=(carries,)), "twin", "")


def test_too_few_outcomes_say_nothing_about_paths(done: tuple[str, str]) -> None:
    audit = done[0]
    with Store() as store:  # nobody is flagged
        store.choose_threshold(audit, ChosenThreshold("ae", "score", 1e9))
    app = visit(PAGE, audit=audit)
    choose(app, audit, "ae")
    press(app, "Measure the paths of AE")
    assert "fewer than ten of 100 people change: too few to say which path carries that" in said(app)
    assert table_with(app, "remains without it") is None


@pytest.mark.slow
def test_a_path_is_called_justified_and_what_remains_is_measured(done: tuple[str, str]) -> None:
    audit = done[1]
    app = visit(PAGE, audit=audit)
    press(app, "Mark as justified")
    assert "a path without a reason is not accepted" in said(app)
    reason = f"The law says so. {HOSTILE}"
    chosen = next(box for box in app.selectbox if box.label == "Path")
    path = chosen.options[0]
    chosen.set_value(path)
    next(box for box in app.text_input if box.label == "Why it is justified").set_value(reason)
    press(app, "Mark as justified")
    with Store() as store:
        (one,) = store.get(audit).statements.justified_paths
        expected = measure_remaining(store.result(audit).seen(), _thresholds(store, audit), [one.path])
    assert (one.text, one.reason) == (path, reason)
    assert "![x](http" not in said(app)
    assert path not in next(box for box in app.selectbox if box.label == "Path").options
    assert table_with(app, "all paths") is None
    press(app, "Measure what remains without them")
    table = table_with(app, "all paths")
    assert table is not None
    assert list(table["all paths"]) == [percent(one.whole.value) for one in expected.values()]
    assert list(table["without the justified ones"]) == [percent(one.remaining.value) for one in expected.values()]
    assert "The verdict counts every path all the same." in said(app)
    press(app, "Remove")
    with Store() as store:
        assert store.get(audit).statements == Statements()


def _thresholds(store: Store, audit: str) -> dict[str, float]:
    seen = store.result(audit).seen()
    return {method: seen.report(method).threshold for method in seen.scores}


@pytest.mark.slow
def test_nobody_is_overwritten(done: tuple[str, str]) -> None:
    """What others state meanwhile is kept, also what concerns no path; what cannot be read is not replaced."""
    audit = done[1]
    path = ("group", "income")
    with Store() as store:
        store.state(audit, Statements(system="Claims", justified_paths=(JustifiedPath(path, "By law."),)))
    app = visit(PAGE, audit=audit)
    assert "By law" in said(app)
    press(app, "Remove")
    with Store() as store:
        assert store.get(audit).statements == Statements(system="Claims")
        store._change(audit, "tune", "statements", statements={"unknown": 1})
    app = visit(PAGE, audit=audit)
    assert not app.exception
    assert not [one for one in app.button if one.label == "Mark as justified"]
    with Store() as store:
        assert store.get(audit).statements_entry == {"unknown": 1}


@pytest.mark.slow
def test_what_cannot_be_measured_is_said(done: tuple[str, str], home: Path) -> None:
    audit = done[0]
    with Store() as store:
        result, folder = store.result(audit), store.folder(audit)
        older = dataclasses.replace(without_judges(result), people=result.people)
        save_audit(older, folder)
    app = visit(PAGE, audit=audit)
    assert "this one has none saved" in said(app)
    assert not [one for one in app.button if one.label.startswith("Measure the paths")]
    assert button(app, "Run again with this knowledge") is not None
