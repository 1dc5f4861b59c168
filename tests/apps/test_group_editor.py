"""The groups of sensitive columns, chosen on the Data page."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.column_roles import with_role
from cfad_core.apps.dashboard.group_editor import BANDS, CUTS, ONE, TWO, attribute_in, cuts_in, facts_of, value_rows
from cfad_core.apps.dashboard.state import Draft
from cfad_core.data.attributes import Attribute, settle
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.store import Store
from tests.apps.pages import HOSTILE, button, chosen, press, said, type_into, visit

RACES = {"White": 300, "Black": 200, "Asian": 150, "Native": 40, "Mixed": 30, "x": 10}


def table() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    race = np.repeat(list(RACES), list(RACES.values()))
    n = len(race)
    income = rng.normal(0.0, 1.0, n)
    return pd.DataFrame(
        {
            "race": rng.permutation(race),
            "gender": rng.choice(["f", "m"], n, p=[0.4, 0.6]),
            "age": rng.integers(18, 80, n),
            "income": income,
            "debt": -income + rng.normal(0.0, 0.5, n),
            "fraud": rng.choice(["no", "yes"], n, p=[0.9, 0.1]),
        }
    )


def data_page(roles: ColumnRoles | None = None, people: pd.DataFrame | None = None) -> AppTest:
    """The Data page with a table, and what was chosen of it before."""
    app = visit()
    app.session_state["draft"] = Draft(Tables.of(table() if people is None else people), "people.csv", roles)
    return go(app)


def go(app: AppTest, page: str = "1_Data.py") -> AppTest:
    app.switch_page(f"pages/{page}").run()
    assert not app.exception, app.exception
    return app


def choose_way(app: AppTest, way: str, place: int = 0) -> AppTest:
    ways = [control for control in app.segmented_control if control.label.startswith("Groups of")]
    ways[place].set_value(way).run()
    assert not app.exception, app.exception
    return app


def shown_values(app: AppTest) -> pd.DataFrame:
    return next(element.value for element in app.dataframe if "order" in element.value)


def shown_sizes(app: AppTest) -> dict[str, str]:
    """By group, its rows."""
    sizes = next(element.value for element in app.dataframe if "sensitive" in element.value)
    return dict(zip(sizes["group"], sizes["rows"], strict=True))


def kept(app: AppTest) -> ColumnRoles:
    """The roles that the page remembers when the person goes on."""
    press(app, "Continue")
    roles = app.session_state["draft"].roles
    assert isinstance(roles, ColumnRoles)
    return roles


def rows(*cells: tuple[str, str | None, int | None]) -> pd.DataFrame:
    values, groups, orders = zip(*cells, strict=True)
    return pd.DataFrame({"value": values, "group": groups, "order": pd.array(orders, dtype="Int64")})


@pytest.mark.parametrize(
    ("edited", "expected"),
    [
        (rows(("a", "a", 1), ("b", "b", 2)), Attribute("x", ("a", "b"))),
        (rows(("a", "a", 2), ("b", "b", 1)), Attribute("x", ("b", "a"))),
        (rows(("a", "a", None), ("b", "b", 5), ("c", "c", None)), Attribute("x", ("b", "a", "c"))),
        (rows(("a", " a ", 1), ("b", "", 2), ("c", None, 3), ("d", "d", 4)), Attribute("x", ("a", "d"))),
        (
            rows(("a", "a", 1), ("b", "b  or c", 2), ("c", "b or c", 3)),
            Attribute("x", ("a", "b or c"), {"b or c": ("b", "c")}),
        ),
        (rows(("a", "A", 1), ("b", "b", 2)), Attribute("x", ("A", "b"), {"A": ("a",)})),
        (rows(("a", "a", 1), ("b", "b", 2), ("c", "other", 3)), Attribute("x", ("a", "b"), others="other")),
        (
            rows(("a", "a", 1), ("b", "", 2), ("c", "other", 3)),  # the others would hold b, too
            Attribute("x", ("a", "other"), {"other": ("c",)}),
        ),
        (rows(("a", "", 1), ("b", None, 2)), Attribute("x", ())),
    ],
)
def test_groups_in_an_edited_table(edited: pd.DataFrame, expected: Attribute) -> None:
    assert attribute_in(edited, "x", "other") == expected


def test_values_and_their_groups() -> None:
    column = table()["race"]
    found = value_rows(facts_of(column), settle(column, Attribute("race")))
    assert found["rows"].tolist() == list(RACES.values())
    assert found["group"].tolist() == ["White", "Black", "Asian", "other", "other", "other"]
    assert found["order"].tolist() == [1, 2, 3, 4, 4, 4]
    assert attribute_in(found, "race", "other") == settle(column, Attribute("race"))


def test_cut_points_as_they_are_typed() -> None:
    assert cuts_in("40") == (40.0,)
    assert cuts_in("50, 30.5;-2  30.5") == (-2.0, 30.5, 50.0)
    for wrong in ("", " , ", "30 and 50"):
        with pytest.raises(ValueError, match=r"no number|could not convert"):
            cuts_in(wrong)


def test_two_groups_look_as_before(home: Path) -> None:
    app = data_page()
    assert [control.label for control in app.segmented_control] == []
    assert [box.label for box in app.selectbox if box.label in ("Compare", "with")] == ["Compare", "with"]
    assert {"f", "m", "left out", "attributes"} == {tile.label for tile in app.metric}
    assert kept(app).sensitive == "gender"


@pytest.mark.slow
def test_all_values_are_suggested_and_merged_by_hand(home: Path) -> None:
    app = data_page()
    type_into(app, "role", {0: "sensitive", 1: "feature"})
    assert shown_sizes(app) == {"White": "300", "Black": "200", "Asian": "150", "other": "80"}
    names = shown_values(app)["value"].tolist()
    assert names == list(RACES)
    type_into(app, "group", {3: "Native or mixed", 4: "Native or mixed", 5: None})
    assert shown_sizes(app) == {"White": "300", "Black": "200", "Asian": "150", "Native or mixed": "70"}
    assert "10 of 730 rows are left out: their 'race' is none of" in said(app).replace("\\", "")
    assert next(tile.value for tile in app.metric if tile.label == "left out") == "10 rows"
    roles = kept(app)
    groups = ("White", "Black", "Asian", "Native or mixed")
    expected = Attribute("race", groups, {"Native or mixed": ("Native", "Mixed")})
    assert roles.attributes == (expected,)
    go(app)  # what was chosen is there again
    assert shown_values(app)["group"].tolist() == [*groups, "Native or mixed", ""]
    assert kept(app) == roles


def test_the_order_of_groups_and_the_one_they_are_compared_with(home: Path) -> None:
    app = data_page(ColumnRoles("race"))
    type_into(app, "order", {0: 9})
    assert list(shown_sizes(app)) == ["Black", "Asian", "other", "White"]
    box = next(box for box in app.selectbox if box.value == "each group with each other")
    box.set_value("each group with White").run()
    (attribute,) = kept(app).attributes
    assert attribute.groups == ("Black", "Asian", "other", "White")
    assert attribute.merged == {"other": ("Native", "Mixed", "x")}
    assert attribute.reference == "White"
    go(app)
    assert "each group with White" in [box.value for box in app.selectbox]


@pytest.mark.parametrize(("way", "groups"), [(TWO, ("White", "Black")), (ONE, ("White",))])
def test_other_ways_with_values(home: Path, way: str, groups: tuple[str, ...]) -> None:
    app = choose_way(data_page(ColumnRoles("race")), way)
    assert kept(app) == ColumnRoles("race", groups=groups)
    assert go(app).segmented_control[0].value == way


def test_numbers_are_cut(home: Path) -> None:
    app = data_page(ColumnRoles("age", cut=40.0))
    (text,) = (box for box in app.text_input if box.label.startswith("Cut points"))
    assert text.value == "40"
    text.set_value("30; 50, 65").run()
    assert list(shown_sizes(app)) == ["under 30", "30 to under 50", "50 to under 65", "65 or more"]
    assert kept(app).attributes == (Attribute("age", cuts=(30.0, 50.0, 65.0)),)
    go(app)
    (text,) = (box for box in app.text_input if box.label.startswith("Cut points"))
    assert text.value == "30, 50, 65"
    text.set_value("old").run()
    assert "Expected numbers with commas between them, such as 30, 50; got 'old'." in said(app).replace("\\", "")
    assert button(app, "Continue").disabled


def test_bands_of_about_the_same_size(home: Path) -> None:
    app = choose_way(data_page(ColumnRoles("age", cut=40.0)), BANDS)
    assert len(shown_sizes(app)) == 4
    next(box for box in app.number_input if box.label == "Groups of about the same size").set_value(3).run()
    rows_of = [int(count) for count in shown_sizes(app).values()]
    assert len(rows_of) == 3
    assert max(rows_of) - min(rows_of) < 40
    assert kept(app).attributes == (Attribute("age", bands=3),)
    assert go(app).segmented_control[0].value == BANDS


def test_two_sensitive_columns(home: Path) -> None:
    app = add_sensitive(data_page(), "age")
    assert [control.label for control in app.segmented_control] == ["Groups of age"]
    assert app.segmented_control[0].value == CUTS
    sizes = shown_sizes(app)
    assert list(sizes)[:2] == ["f", "m"]
    assert "Of 4 combinations of groups, the smallest is" in said(app)
    choose_way(app, BANDS)
    roles = kept(app)
    assert roles.attributes == (Attribute("gender", ("f", "m")), Attribute("age", bands=4))
    assert "sensitive: gender and age" in said(app).replace("\\", "")
    go(go(app), "2_Train.py")
    alone = chosen(app, "Nothing but")
    assert alone.label == "Nothing but gender and age causes it"
    assert chosen(app, "Nothing in the table").value == ["race"]
    alone.set_value(["income"]).run()
    press(app, "Start the audit")
    with Store(home) as store:
        (record,) = store.find()
    gender, age = record.roles.attributes
    assert gender == roles.attributes[0]
    assert len(age.cuts) == 3  # the bands of this table
    assert record.config.knowledge.from_sensitive == ("income",)


def test_what_was_said_of_one_sensitive_column_holds_of_two(home: Path) -> None:
    app = data_page(ColumnRoles("gender", label="fraud", anomaly="yes"))
    before = app.session_state["draft"].roles
    chosen(go(app, "2_Train.py"), "Nothing but").set_value(["income"]).run()
    go(app)
    both = ColumnRoles(("gender", Attribute("age", bands=2)), label="fraud", anomaly="yes")
    app.session_state["draft"] = dataclasses.replace(app.session_state["draft"], roles=both)
    assert chosen(go(app, "2_Train.py"), "Nothing but").value == ["income"]
    chosen(app, "Nothing but").set_value(["income", "debt"]).run()
    app.session_state["draft"] = dataclasses.replace(app.session_state["draft"], roles=before)
    assert chosen(go(go(app), "2_Train.py"), "Nothing but").value == ["income"]


def add_sensitive(app: AppTest, name: str) -> AppTest:
    """A sensitive column beside the one that there is."""
    press(app, "Add another sensitive column")
    next(box for box in app.selectbox if box.label == "Second sensitive column").set_value(name).run()
    assert not app.exception
    return app


def sensitive_now(app: AppTest) -> list[str]:
    return [str(box.value) for box in app.selectbox if box.label.lower().endswith("sensitive column")]


def test_the_role_of_the_sensitive_column_moves(home: Path) -> None:
    app = data_page()
    assert sensitive_now(app) == ["gender"]
    type_into(app, "role", {2: "sensitive"})
    assert sensitive_now(app) == ["age"]
    assert "The role has moved: 'gender' is a feature again." in said(app).replace("\\", "")
    next(box for box in app.selectbox if box.label == "Sensitive column").set_value("race").run()
    assert sensitive_now(app) == ["race"]
    assert "age" not in kept(app).sensitive_columns


def test_a_fourth_sensitive_column_takes_the_place_of_the_last(home: Path) -> None:
    app = add_sensitive(data_page(), "age")
    type_into(app, "role", {0: "sensitive"})
    assert sorted(sensitive_now(app)) == ["age", "gender", "race"]
    type_into(app, "role", {3: "sensitive"})
    assert len(sensitive_now(app)) == 3
    assert not button(app, "Continue").disabled or "is left besides" in said(app)
    for _ in range(3):
        next(box for box in app.selectbox if box.label.lower().endswith("sensitive column")).set_value("none").run()
    assert "Choose the sensitive column" in said(app)
    assert button(app, "Continue").disabled


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [
        ("sensitive feature label", (1, "sensitive", False), "feature sensitive label"),
        ("sensitive feature label", (1, "sensitive", True), "sensitive sensitive label"),
        ("sensitive feature label", (1, "label", False), "sensitive label feature"),
        ("sensitive feature label", (2, "sensitive", False), "feature feature sensitive"),
        ("sensitive sensitive sensitive feature", (3, "sensitive", True), "sensitive sensitive feature sensitive"),
        ("ignore feature", (1, "ignore", False), "ignore ignore"),
    ],
)
def test_roles_move(before: str, change: tuple[int, str, bool], after: str) -> None:
    roles = {f"c{place}": role for place, role in enumerate(before.split())}
    place, role, beside = change
    assert list(with_role(roles, f"c{place}", role, beside=beside).values()) == after.split()


@pytest.mark.slow
def test_groups_that_cannot_be_are_explained(home: Path) -> None:
    app = data_page(ColumnRoles("race"))
    type_into(app, "group", {0: "Black", 1: "Everybody"})
    assert "Group 'Black' of 'race' is called like a value that it does not hold" in said(app).replace("\\", "")
    assert button(app, "Continue").disabled
    app = data_page(ColumnRoles("race"))
    type_into(app, "group", dict.fromkeys(range(6), ""))
    assert "Expected 1 to 12 groups of 'race'; got 0." in said(app).replace("\\", "")
    app = data_page(ColumnRoles("race"))
    type_into(app, "group", {5: "x"})
    assert "Group 'x' of 'race' has 10 rows; at least 30 are needed." in said(app).replace("\\", "")
    assert button(app, "Continue").disabled


def test_names_are_shown_as_text(home: Path) -> None:
    people = table().rename(columns={"race": HOSTILE})
    people[HOSTILE] = people[HOSTILE].replace("Black", f"{HOSTILE} 2")
    app = data_page(ColumnRoles((Attribute(HOSTILE), Attribute("gender"))), people)
    labels = [element.label for kind in ("segmented_control", "selectbox", "metric") for element in getattr(app, kind)]
    assert "![x](http" not in "\n".join([*labels, said(app)])
    assert list(shown_sizes(app))[:2] == ["White", f"{HOSTILE} 2"]
