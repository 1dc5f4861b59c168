"""Which person the page is about: the list and its filters, neighbours, row numbers and links; and the walk."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.people import ALL, CHANGES, ONLY_PERSON, ONLY_TWIN, Wanted, wanted_people
from cfad_core.apps.dashboard.person import Otherwise, chance_words, outcome_words
from cfad_core.apps.dashboard.person_choice import ANY
from cfad_core.audit.folder import save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.config import Knowledge
from cfad_core.data.tables import Tables
from cfad_core.runs.model import headline
from cfad_core.runs.store import Store
from tests.apps.pages import QUICK, ROLES, people, press, said, visit
from tests.apps.test_people_page import card, shown_row

PAGE = "4_Counterfactuals.py"


def read(home: Path, audit: str) -> AuditResult:
    with Store(home) as store:
        return store.result(audit)


def listed(app: AppTest) -> list[int]:
    return [int(row) for row in app.dataframe[0].value["row"]]


def test_a_link_opens_the_same_person(done: tuple[str, str], home: Path) -> None:
    row = int(read(home, done[0]).people.row[-1]) + 1
    app = visit(PAGE, audit=done[0], person=str(row))
    assert not app.exception, app.exception
    assert shown_row(app) == row
    assert app.query_params["person"] == str(row)
    assert app.number_input(key=f"row-{done[0]}").value == row


@pytest.mark.parametrize("wrong", ["0", "-3", "x", "1e9", "99999999999999999999999"])
def test_an_address_that_means_nobody_begins_with_the_first(done: tuple[str, str], wrong: str) -> None:
    app = visit(PAGE, audit=done[0], person=wrong)
    assert not app.exception, app.exception
    assert shown_row(app) == listed(app)[0]


def test_a_row_that_was_learned_from_is_explained(done: tuple[str, str], home: Path) -> None:
    unseen = int(np.setdiff1d(np.arange(400), read(home, done[0]).people.row)[0]) + 1
    app = visit(PAGE, audit=done[0])
    app.number_input(key=f"row-{done[0]}").set_value(unseen).run()
    assert not app.exception, app.exception
    assert app.query_params["person"] == str(unseen)
    assert "This row was not looked at: it was learned from, or belongs to neither group" in said(app)
    press(app, "Next →")  # the list is still there
    assert shown_row(app) == listed(app)[0]


def test_one_after_the_other(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[0])
    rows = listed(app)
    assert shown_row(app) == rows[0]
    press(app, "Next →")
    assert shown_row(app) == rows[1]
    assert f"Row {rows[1]} of the table · 2 of {len(rows)}" in said(app)
    press(app, "← Previous")
    assert shown_row(app) == rows[0]
    assert next(one for one in app.button if one.label == "← Previous").disabled


def test_a_row_of_the_list_can_be_chosen(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[0])
    rows = listed(app)
    states = app._tree.get_widget_states()  # AppTest itself cannot select
    state = states.widgets.add()
    state.id = app.dataframe[0].proto.id
    state.string_value = json.dumps({"selection": {"rows": [2], "columns": [], "cells": []}})
    app._run(states)
    assert not app.exception, app.exception
    assert shown_row(app) == rows[2]
    assert app.query_params["person"] == str(rows[2])


@pytest.mark.slow
def test_the_list_can_be_narrowed(done: tuple[str, str], home: Path) -> None:
    result = read(home, done[0]).seen()
    report = result.report("ae")
    here, likely = result.scores["ae"].factual > report.threshold, report.change_probability(report.threshold)
    app = visit(PAGE, audit=done[0])
    for choice, wanted in ((ONLY_PERSON, (likely > 0) & here), (ONLY_TWIN, (likely > 0) & ~here), (ALL, likely >= 0)):
        app.selectbox(key=f"people-{done[0]}").set_value(choice).run()
        assert not app.exception, app.exception
        assert sorted(listed(app)) == sorted(result.people.row[wanted] + 1)
        assert shown_row(app) == listed(app)[0]
    app.selectbox(key=f"group-{done[0]}-a-b").set_value("b").run()
    assert sorted(listed(app)) == sorted(result.people.row[result.groups["b"]] + 1)
    assert app.selectbox(key=f"group-{done[0]}-a-b").options == [ANY, "a", "b"]
    app.slider(key=f"least-{done[0]}").set_value(50).run()
    assert sorted(listed(app)) == sorted(result.people.row[result.groups["b"] & (likely >= 0.5)] + 1)


def test_a_choice_that_nobody_matches_is_said(done: tuple[str, str], home: Path) -> None:
    result = read(home, done[0]).seen()
    report = result.report("ae")
    assert not len(wanted_people(result, "ae", np.inf, Wanted(CHANGES)))
    certain = wanted_people(result, "ae", report.threshold, Wanted(ONLY_PERSON, "a", 1.0))
    app = visit(PAGE, audit=done[0])
    app.selectbox(key=f"people-{done[0]}").set_value(ONLY_PERSON).run()
    app.selectbox(key=f"group-{done[0]}-a-b").set_value("a").run()
    app.slider(key=f"least-{done[0]}").set_value(100).run()
    assert not app.exception, app.exception
    if len(certain):
        assert sorted(listed(app)) == sorted(result.people.row[certain] + 1)
    else:
        assert "Nobody matches this choice" in said(app)


def test_the_person_stays_when_the_method_changes(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[0])
    press(app, "Next →")
    row = shown_row(app)
    app.selectbox(key=f"method-{done[0]}").set_value("cfad").run()
    assert shown_row(app) == row


def test_real_people_can_be_opened(done: tuple[str, str], home: Path) -> None:
    result = read(home, done[0])
    app = visit(PAGE, audit=done[0])
    found = result.explain(shown_row(app) - 1, "ae")
    (nearest,) = found.nearest.values()
    flagged = sum(one.flagged for one in nearest)
    assert (
        f"{ {0: 'None', 3: 'All'}.get(flagged, flagged) } of the 3 {'is' if flagged == 1 else 'are'} flagged."
        in said(app)
    )
    for one in nearest:
        assert f"row {one.row + 1}" in card(app)
    press(app, f"Open row {nearest[1].row + 1}")
    assert shown_row(app) == nearest[1].row + 1


def test_every_step_is_said(done: tuple[str, str], home: Path) -> None:
    result = read(home, done[0])
    app = visit(PAGE, audit=done[0])
    found = result.explain(shown_row(app) - 1, "ae")
    (way,) = found.walks.values()
    words = said(app).replace("\\", "")
    for k, sentence in enumerate(way.sentences, 1):
        assert f"{k}. {sentence}" in words
    (other,) = found.twin_scores
    person = result.people.row.tolist().index(found.row)
    possible = result.scores["ae"].judged[:, 0, person]
    assert outcome_words(found, other, Otherwise.of(result.seen(), other), possible) in card(app)


def test_the_outcome_in_words(done: tuple[str, str], home: Path) -> None:
    result = read(home, done[0])
    found = result.explain(int(result.people.row[0]), "ae", threshold=0.5)
    ((other, _),) = found.twin_scores.items()
    above, below = np.array([0.9]), np.array([0.1])

    def said_of(score: float, twin: float, possible: np.ndarray) -> tuple[str, str]:
        one = replace(found, score=score, twin_scores={other: twin})
        return outcome_words(one, other, Otherwise.of(result.seen(), other), possible), chance_words(
            one, other, possible
        )

    four = np.concatenate([above, above, above, below])
    assert said_of(0.9, 0.1, np.repeat(below, 4)) == (
        f"This person is flagged. Had they been {other}, they would not be flagged.",
        "In all of their 4 possible twins the outcome changes.",
    )
    assert said_of(0.1, 0.9, four) == (
        f"This person is not flagged. Had they been {other}, they would probably be flagged.",
        "In 3 of their 4 possible twins the outcome changes.",
    )
    assert said_of(0.1, 0.1, four)[1].endswith("The twin that is shown in detail is one with which it does not.")
    assert said_of(0.9, 0.9, four) == (
        f"This person is flagged, and probably would be flagged as {other}, too.",
        "In 1 of their 4 possible twins the outcome changes.",
    )
    assert said_of(0.1, 0.1, np.repeat(below, 4))[0] == (
        f"This person is not flagged, and would not be flagged as {other} either."
    )
    assert said_of(0.1, 0.1, above)[1] == "With a second causal model's twin the outcome changes."
    nobody = said_of(0.1, 0.9, np.array([]))
    assert nobody[0].endswith("they would be flagged.")
    assert nobody[1] == "How likely that is was not measured for this person."
    known = replace(found, score=0.1, twin_scores={other: 0.1}, true_twin_score=0.9)
    assert chance_words(known, other, above) == (
        "Their true twin is known here: with it, the outcome changes. The causal model's twin, shown in detail, says "
        "otherwise."
    )


def test_columns_that_stay_are_shown_on_demand(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[0])
    before = len(app.get("bidi_component"))
    toggle = next(one for one in app.toggle if one.label.startswith("Also show"))
    toggle.set_value(True).run()
    assert not app.exception, app.exception
    assert len(app.get("bidi_component")) == before + 1


@pytest.mark.slow
def test_where_nothing_follows_it_is_explained(home: Path) -> None:
    """By a graph in which the group causes nothing: nobody's twin differs."""
    config = QUICK.replace(methods=("pca",), knowledge=Knowledge(complete=True))
    table = people()
    with Store(home) as store:
        audit = store.create(Tables.of(table), ROLES, config, name="Nothing", source="people.csv")
        store.claim("test", audit)
        result = run_audit(table, ROLES, config)
        save_audit(result, store.folder(audit))
        store.finish(audit, headline(result))
    app = visit(PAGE, audit=audit)
    assert not app.exception, app.exception
    assert "Nobody matches this choice" in said(app)
    app.selectbox(key=f"people-{audit}").set_value(ALL).run()
    assert not app.exception, app.exception
    assert "in the causal graph nothing of this person follows from group" in said(app)
    assert "the detector does not see it, so the score stays" in said(app)
