"""People, their twins and their scores."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard import downloads
from cfad_core.apps.dashboard.people import (
    Reasons,
    pair_file,
    parts_caption,
    raised_by,
    reasons_of,
)
from cfad_core.apps.dashboard.services import people_table
from cfad_core.audit import folder
from cfad_core.audit.explanation import Explanation
from cfad_core.audit.scoring import score_rows
from cfad_core.data.readers import read_table
from cfad_core.detectors.protocol import AnyDetector
from cfad_core.runs.store import Store
from tests.apps.pages import (
    people,
    said,
    visit,
)


def test_implausible_twins_are_marked(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        result = store.result(done[0])
    assert result.stability is not None
    validity = result.stability.plausibility
    assert validity.far.any()
    far = "twin is implausible"
    app = visit("4_Counterfactuals.py", audit=done[0])
    app.selectbox(key=f"people-{done[0]}").set_value(far).run()
    assert not app.exception, app.exception
    listed = app.dataframe[0].value
    assert sorted(listed["row"]) == sorted(result.people.row[validity.far] + 1)
    assert listed["the twin is"].str.startswith("far from any real person").all()
    assert "This twin is far from any real person (distance" in app.warning[0].value
    other = visit("4_Counterfactuals.py", audit=done[1])
    assert far not in other.selectbox(key=f"people-{done[1]}").options
    assert not other.warning


def test_those_whose_outcome_is_most_likely_to_change_come_first(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        result = store.result(done[0])
    report = result.report("ae")
    likely = report.change_probability(report.threshold)
    app = visit("4_Counterfactuals.py", audit=done[0])
    app.selectbox(key=f"method-{done[0]}").set_value("ae").run()
    assert not app.exception, app.exception
    listed = app.dataframe[0].value
    assert sorted(listed["row"]) == sorted(result.people.row[likely > 0.0] + 1)
    assert listed["outcome changes"].is_monotonic_decreasing
    place = {row + 1: k for k, row in enumerate(result.people.row.tolist())}
    assert list(listed["outcome changes"]) == pytest.approx([100 * likely[place[row]] for row in listed["row"]])
    first = place[int(listed["row"].iloc[0])]
    changed = (result.scores["ae"].judged[:, 0, first] > report.threshold) != (
        result.scores["ae"].factual[first] > report.threshold
    )
    twins = len(changed)
    counted = {0: "none", twins: "all"}.get(int(changed.sum()), int(changed.sum()))
    assert changed.mean() == likely[first]
    assert f"In {counted} of their {twins} possible twins the outcome changes." in card(app)
    assert f"for {int((likely >= 0.5).sum())} people it is 50 % or more" in said(app)
    assert "one of their possible twins" in said(app)


def shown_row(app: AppTest) -> int:
    """The row of the table (from 1) that the page is about."""
    (found,) = re.findall(r"^Row (\d+) of the table", said(app), re.MULTILINE)
    return int(found)


def card(app: AppTest) -> str:
    """What the person's card says."""
    return "\n".join(element.proto.body for element in app.get("html"))


@pytest.mark.slow
def test_the_row_shown_is_the_row_scored(mixed: str, home: Path) -> None:
    """Through the file of one person, and through that of all twins: to the last digit but three."""
    with Store(home) as store:
        record, result = store.get(mixed), store.result(mixed)
    table = people_table(record)
    chosen = np.random.default_rng(0).choice(len(result.people.row), 8, replace=False).tolist()
    for person in chosen:
        pair = read_table(pair_file(result, table, person), name="pair.csv")
        assert pair["who"].tolist() == ["the person", "the twin"]
        for method, scores in result.scores.items():
            scored = score_rows(result, pair)[f"{method}_score"].to_numpy()
            assert scored[0] == pytest.approx(scores.factual[person], rel=1e-9, abs=1e-9)
            assert scored[1] == pytest.approx(scores.counterfactual[person], rel=1e-9, abs=1e-9)
    twins = read_table(downloads.csv_file(downloads._twins(record, result)), name="twins.csv")
    of_twins = score_rows(result, twins)
    for method, scores in result.scores.items():
        np.testing.assert_allclose(of_twins[f"{method}_score"], scores.counterfactual, rtol=1e-9, atol=1e-9)
    moved = twins.drop(columns=["row", "group"]).ne(downloads._judged(record, result).drop(columns="group"))
    assert moved["hours"].any()  # there was something to carry over


def test_the_page_shows_what_the_file_holds(mixed: str, home: Path) -> None:
    app = visit("4_Counterfactuals.py", audit=mixed)
    assert not app.exception, app.exception
    row = int(app.dataframe[0].value["row"].iloc[0]) - 1
    with Store(home) as store:
        record, result = store.get(mixed), store.result(mixed)
    person = result.people.row.tolist().index(row)
    pair = read_table(pair_file(result, people_table(record), person), name="pair.csv")
    shown = next(table.value for table in app.dataframe if "the twin" in table.value)
    assert set(shown["column"]) >= {"group"}
    for column, before, after in zip(shown["column"], shown["the person"], shown["the twin"], strict=True):
        for cell, text in zip(pair[column], (before, after), strict=True):
            if text == "":
                assert pd.isna(cell)
            elif isinstance(cell, float):
                assert float(text) == pytest.approx(cell, rel=1e-5)
            else:
                assert str(cell) == text


def test_a_reason_moved_or_mattered(done: tuple[str, str], home: Path) -> None:
    parts = np.array([[0.90, 0.04, 0.05, 0.01], [0.96, 0.02, 0.01, 0.01]])
    still = np.zeros(4, dtype=np.bool_)
    four = Explanation(("a", "b", "c", "d"), parts, "sum")
    assert Reasons(four, still).named.tolist() == [True, False, True, False]
    last = np.array([False, False, False, True])
    assert Reasons(four, last).named.tolist() == [True, False, True, True]
    assert not Reasons(Explanation(("a",), np.zeros((2, 1)), "sum"), still[:1]).named.any()
    with Store(home) as store:
        result = store.result(done[0])
    x, twins = result.people.factual[:, 1:], result.people.counterfactual[:, 1:]
    for person in range(0, 100, 9):
        found = reasons_of(result, "ae", person)
        assert found is not None
        assert found.explanation.parts.sum(axis=1) == pytest.approx(
            [result.scores["ae"].factual[person], result.scores["ae"].counterfactual[person]]
        )
        columns, variables = np.array(result.encoding.column_variables[1:]), found.explanation.variables
        assert {name for name, moved in zip(variables, found.moved, strict=True) if moved} == set(
            columns[x[person] != twins[person]]
        )
        assert not found.moved[variables.index("age")]  # the group does not reach it


def asked_of(audit: str, method: str) -> AppTest:
    """The page about the people of an audit, by one method."""
    app = visit("4_Counterfactuals.py", audit=audit)
    app.selectbox(key=f"method-{audit}").set_value(method).run()
    assert not app.exception, app.exception
    return app


@pytest.mark.slow
@pytest.mark.parametrize(
    ("method", "caption"),
    [
        ("ae", "adds to each of the two scores: how badly the detector reconstructs it. All bars of one colour add up"),
        ("pca", "two scores: how much of it the principal components leave unexplained. All bars of one colour add up"),
        (
            "iforest",
            "How much each of the two scores falls if this column alone is replaced by values that are typical",
        ),
        ("dcfod", "These bars do not add up to the score. Shown are columns that moved"),
    ],
)
def test_every_method_says_why(done: tuple[str, str], home: Path, method: str, caption: str) -> None:
    with Store(home) as store:
        result = store.result(done[0])
    app = asked_of(done[0], method)
    assert len(app.get("plotly_chart")) == 1
    assert caption in said(app)
    row = shown_row(app) - 1
    person = result.people.row.tolist().index(row)
    found = reasons_of(result, method, person)
    assert found is not None
    scored = score_rows(result, people().iloc[[row]])[f"{method}_reasons"].iloc[0]
    assert scored == found.explanation.reasons()[0]  # on the page as in the command's file
    own = next(name for name, rows in result.groups.items() if rows[person])
    raised = f"Raised most by: {scored}" if scored else "No column by itself raised this score."
    assert f"**As {own}:** {raised}" in said(app)


def test_a_detector_that_is_not_saved_cannot_say_why(
    done: tuple[str, str], home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    loaded = folder._load_detectors

    def without(*given: Any) -> dict[str, AnyDetector]:
        return {name: detector for name, detector in loaded(*given).items() if name != "dcfod"}

    monkeypatch.setattr(folder, "_load_detectors", without)  # as if it were another library's
    app = asked_of(done[0], "dcfod")
    assert "DCFOD is not saved with this audit: its scores are here" in said(app)
    assert "cannot be asked about the steps between them" in said(app)
    assert "its score is not known" in said(app)
    assert "Raised most by" not in said(app)
    assert not app.get("plotly_chart")


def test_what_raised_a_score_in_words() -> None:
    def line(*parts: float) -> str:
        return raised_by(Explanation(tuple(f"v_{k}" for k in range(len(parts))), np.array([parts] * 2), "sum"))

    assert line(3.0, 1.0) == r"Raised most by: v\_0 75 %, v\_1 25 %"
    assert line(*[1.0] * 30) == "Many columns raised this score a little, none of them by 5 % or more."
    assert line(-1.0, 0.0) == "No column by itself raised this score."
    shared = Explanation(("a",), np.ones((2, 1)), "perturbation", is_shared=True)
    assert "Explained is the score that other is made of." in parts_caption("other", shared)
    assert "two scores. All bars" in parts_caption("other", Explanation(("a",), np.ones((2, 1)), "sum"))
