"""What is known of causes is asked for, and nothing that a person said is lost."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.causes import places_in, suggested_places, tiers_of
from cfad_core.apps.dashboard.state import Draft
from cfad_core.core.config import Knowledge
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.store import Store
from tests.apps.pages import FULL, HOSTILE, bring, button, chosen, people, press, said, to_train, type_into, visit

SAMPLE_TIERS = (
    ("age",),
    ("occupation", "working_hours"),
    ("monthly_income", "homeowner", "customer_years", "insured_value"),
    ("claims_last_year", "claim_amount"),
)
ROOTS, ALONE, ORDER = "Nothing in the table", "Nothing but", "Use this time order"


def queued(home: Path) -> Knowledge:
    """The knowledge of the audit that was started last."""
    with Store(home) as store:
        return store.find(status="queued")[0].config.knowledge


def use_order(app: AppTest, use: bool = True) -> AppTest:
    next(toggle for toggle in app.toggle if toggle.label == ORDER).set_value(use).run()
    assert not app.exception, app.exception
    return app


def go(app: AppTest, page: str) -> AppTest:
    app.switch_page(f"pages/{page}").run()
    assert not app.exception, app.exception
    return app


def with_roles(app: AppTest, roles: ColumnRoles) -> AppTest:
    """As the Data page leaves the draft when the person goes on with these roles."""
    go(app, "1_Data.py")
    app.session_state["draft"] = dataclasses.replace(app.session_state["draft"], roles=roles)
    return go(app, "2_Train.py")


def test_places_and_tiers_by_hand() -> None:
    rows = pd.DataFrame({"column": ["c", "a", "b", "d"], "came": pd.array([7, 1, 7, None], dtype="Int64")})
    places = places_in(rows)
    assert places == {"c": 7, "a": 1, "b": 7, "d": None}
    assert tiers_of(places) == (("a",), ("c", "b"))
    assert tiers_of({"d": None}) == ()
    assert suggested_places(["pay", "x", "age"]) == {"pay": 5, "x": None, "age": 1}


def test_the_suggested_time_order_is_not_used_unless_asked_for(home: Path) -> None:
    app = to_train(visit())
    assert "No arrow runs from a later to an earlier column" in said(app)
    places = [place for place in shown_places(app).values() if place is not None]
    assert places == sorted(places)
    assert [name for name, place in shown_places(app).items() if place is None] == ["region"]
    press(app, "Start the audit")
    assert queued(home) == Knowledge(roots=("age",))


def test_a_time_order_before_training(home: Path) -> None:
    press(use_order(to_train(visit())), "Start the audit")
    assert queued(home) == Knowledge(roots=("age",), tiers=SAMPLE_TIERS)


def shown_places(app: AppTest) -> dict[str, int | None]:
    return places_in(next(table.value for table in app.dataframe if "came" in table.value))


def test_an_edited_time_order_stays_when_pages_change(home: Path) -> None:
    app = use_order(to_train(visit()))
    rows = list(shown_places(app))
    type_into(app, "came", {rows.index("region"): 1, rows.index("homeowner"): None, rows.index("occupation"): 2})
    go(go(app, "1_Data.py"), "2_Train.py")
    assert {"region": 1, "homeowner": None, "occupation": 2}.items() <= shown_places(app).items()
    type_into(app, "came", {list(shown_places(app)).index("working_hours"): 2})
    go(go(app, "10_Saved_audits.py"), "2_Train.py")
    press(app, "Start the audit")
    assert queued(home).tiers == (
        ("age", "region"),
        SAMPLE_TIERS[1],
        ("monthly_income", "customer_years", "insured_value"),
        SAMPLE_TIERS[3],
    )


def test_what_nothing_but_the_sensitive_column_causes(home: Path) -> None:
    app = to_train(visit())
    assert chosen(app, ALONE).label == "Nothing but gender causes it"
    chosen(app, ALONE).set_value(["age", "region"]).run()
    assert "both are said of: age" in app.error[0].value.replace("\\", "")
    assert button(app, "Start the audit").disabled
    chosen(app, ROOTS).set_value([]).run()
    assert not app.error
    press(app, "Start the audit")
    assert queued(home) == Knowledge(from_sensitive=("age", "region"))


def test_choices_stay_when_pages_change(home: Path) -> None:
    app = to_train(visit())
    chosen(app, ROOTS).set_value(["region"]).run()
    chosen(app, ALONE).set_value(["occupation"]).run()
    chosen(app, ALONE).set_value(["occupation", "homeowner"]).run()
    use_order(app)
    for page in ("1_Data.py", "10_Saved_audits.py"):
        go(go(app, page), "2_Train.py")
        assert chosen(app, ROOTS).value == ["region"]
        assert chosen(app, ALONE).value == ["occupation", "homeowner"]
    press(app, "Start the audit")
    known = queued(home)
    assert (known.roots, known.from_sensitive, len(known.tiers)) == (("region",), ("occupation", "homeowner"), 4)


def test_roots_follow_from_names_after_any_change_of_roles(home: Path) -> None:
    """Age as the sensitive column, or ignored, is a root again once it is an attribute."""
    app = to_train(visit())
    before = app.session_state["draft"].roles
    with_roles(app, ColumnRoles("age", cut=40.0, ignore=before.ignore))
    assert chosen(app, ROOTS).value == ["gender"]
    assert chosen(app, ALONE).label == "Nothing but age causes it"
    with_roles(app, dataclasses.replace(before, ignore=(*before.ignore, "age")))
    assert chosen(app, ROOTS).value == []
    with_roles(app, before)
    assert chosen(app, ROOTS).value == ["age"]


@pytest.mark.slow
def test_choices_stay_when_roles_change(home: Path) -> None:
    app = to_train(visit())
    before = app.session_state["draft"].roles
    chosen(app, ROOTS).set_value(["region"]).run()  # and not age
    chosen(app, ALONE).set_value(["occupation"]).run()
    others = dataclasses.replace(before, ignore=(*before.ignore, "age", "region", "occupation"))
    with_roles(app, others)
    assert (chosen(app, ROOTS).value, chosen(app, ALONE).value) == ([], [])
    with_roles(app, ColumnRoles("region", groups=("north",), ignore=before.ignore))
    assert (chosen(app, ROOTS).value, chosen(app, ALONE).value) == (["gender"], [])  # of region nothing was said
    with_roles(app, before)
    assert (chosen(app, ROOTS).value, chosen(app, ALONE).value) == (["region"], ["occupation"])


def test_an_uploaded_file_stays_in_use_until_it_is_dropped(home: Path) -> None:
    app = bring(to_train(visit()), "k.json", '{"roots": ["region"], "from_sensitive": ["age"], "tiers": [["age"]]}')
    assert "1 column without causes, 1 column that only the sensitive one causes, 1 tier" in said(app)
    go(go(app, "1_Data.py"), "2_Train.py")
    app.run()
    assert "The uploaded file is used" in said(app)
    press(app, "Drop the file that was uploaded before")
    assert "The uploaded file is used" not in said(app)
    assert not chosen(app, ROOTS).disabled
    bring(go(go(app, "1_Data.py"), "2_Train.py"), "k.json", '{"from_sensitive": ["age"]}')
    go(go(app, "1_Data.py"), "2_Train.py")
    press(app, "Start the audit")
    assert queued(home) == Knowledge(from_sensitive=("age",))


def test_names_of_columns_are_shown_as_text(home: Path) -> None:
    app = visit()
    table = people(200).rename(columns={"group": HOSTILE})
    roles = ColumnRoles(HOSTILE, groups=("a", "b"), label="fraud", anomaly="yes")
    app.session_state["draft"] = Draft(Tables.of(table), "people.csv", roles)
    go(app, "2_Train.py")
    assert "![x](http" not in chosen(app, ALONE).label + chosen(app, ALONE).help + chosen(app, ROOTS).help


@pytest.mark.slow
def test_running_again_with_a_time_order(done: tuple[str, str], home: Path) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    chosen(app, ALONE).set_value(["schooling"]).run()
    use_order(app)
    rows = list(shown_places(app))
    type_into(app, "came", {rows.index("schooling"): None, rows.index("debt"): 7})
    go(app, "1_Data.py")
    app.query_params["audit"] = done[0]
    go(app, "3_Causal_graph.py")
    assert chosen(app, ALONE).value == ["schooling"]  # it was not lost on the way
    press(app, "Run again with this knowledge")
    known = Knowledge(from_sensitive=("schooling",), tiers=(("age",), ("job",), ("income",), ("debt",)))
    with Store(home) as store:
        child = store.find(status="queued")[0]
    assert child.config == FULL.replace(knowledge=known)
    assert child.parent == done[0]


def test_a_time_order_from_a_file_can_be_left_out(done: tuple[str, str], home: Path) -> None:
    app = bring(visit("3_Causal_graph.py", audit=done[0]), "k.json", '{"roots": ["age"], "tiers": [["debt"], ["job"]]}')
    places = shown_places(app)
    assert {name: place for name, place in places.items() if place is not None} == {"debt": 1, "job": 2}
    press(use_order(app, False), "Run again with this knowledge")
    assert queued(home) == Knowledge(roots=("age",))
