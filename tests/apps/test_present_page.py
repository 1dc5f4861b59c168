"""Present: an audit in five scenes."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfad_core.apps.dashboard.presenting import SCENES
from cfad_core.core.config import Knowledge
from cfad_core.core.formats import percent, share_of_people
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.store import Store
from tests.apps.pages import HOSTILE, QUICK, ROLES, finish, people, press, said, visit

PAGE = "Present.py"


def test_without_an_audit_the_recorded_demo_is_presented(home: Path) -> None:
    app = visit(PAGE)
    assert not app.exception, app.exception
    assert "Demo · scene 1 of 5" in said(app)
    assert "2,000 people" in said(app)
    assert app.query_params["scene"] == "1"
    with Store(home) as store:
        assert [record.name for record in store.find()] == ["Demo"]


def test_every_scene_of_a_finished_audit(done: tuple[str, str]) -> None:
    for audit in done:
        for number, scene in enumerate(SCENES, 1):
            app = visit(PAGE, audit=audit, scene=str(number))
            assert not app.exception, app.exception
            assert app.title[0].value == scene.heading
            assert f"scene {number} of 5" in said(app)
            links = [link.proto.label for link in app.main.get("page_link")]
            ways = [f"{k} · {one.name}" for k, one in enumerate(SCENES, 1)]
            assert links == [*["← Back"] * (number > 1), *ways, *["Next →"] * (number < 5), "Leave"]


@pytest.mark.parametrize("asked", ["0", "6", "²", "one", ""])
def test_a_scene_that_there_is_not(done: tuple[str, str], asked: str) -> None:
    app = visit(PAGE, audit=done[0], scene=asked)
    assert not app.exception, app.exception
    assert app.title[0].value == SCENES[0].heading


def test_a_guess_comes_before_the_answer(home: Path, done: tuple[str, str]) -> None:
    with Store(home) as store:
        ratio = store.result(done[0]).report("ae").metrics.changing_ratio
    assert ratio is not None
    app = visit(PAGE, audit=done[0], scene="2")
    assert "The audit says" not in said(app)
    assert share_of_people(ratio) not in said(app)
    app.number_input[0].set_value(35).run()
    press(app, "Show the answer")
    assert "You guessed **35 of 100**" in said(app)
    assert f"The audit says **{share_of_people(ratio)}**" in said(app)
    press(app, "Guess again")
    assert "The audit says" not in said(app)


def test_the_truth_is_told_with_the_answer(home: Path) -> None:
    app = press(visit(PAGE, scene="2"), "Show the answer")
    assert "The true share is 7.0 %" in said(app)
    assert "contains it. The audit did not see it." in said(app)


def test_an_audit_that_is_not_done_is_not_presented(home: Path) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name="Waiting", source="people.csv")
    app = visit(PAGE, audit=audit)
    assert "is waiting in the queue" in app.info[0].value
    assert not app.title
    assert "There is no audit" in visit(PAGE, audit="nothing").error[0].value


@pytest.mark.slow
def test_names_are_text_and_a_graph_without_a_path_is_said(home: Path) -> None:
    known = Knowledge(required=(("schooling", "debt"),), complete=True)
    config = QUICK.replace(subsamples=4, methods=("ae",), knowledge=known)
    table = people(300).drop(columns=["job", "age"]).rename(columns={"group": HOSTILE})
    with Store(home) as store:
        audit = finish(store, table, ColumnRoles(HOSTILE, groups=("a", "b"), ignore=("fraud",)), config, HOSTILE)
    for number in range(1, 6):
        app = visit(PAGE, audit=audit, scene=str(number))
        assert not app.exception, app.exception
        assert "![x](http" not in said(app)
        assert "<script>" not in said(app).replace("\\<", "")
        if number in (3, 4):
            assert "nothing follows from the sensitive attribute" in said(app)
    assert percent(0.0) not in said(visit(PAGE, audit=audit, scene="2"))  # a graph without a path says nothing
