from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.public import load_adult, load_compas, load_german
from cfad_core.data.sets.sample import generate_sample
from cfad_core.data.suggestions import (
    suggest_anomaly,
    suggest_attribute,
    suggest_roles,
    suggest_roots,
    suggest_tiers,
    time_rank,
)


def messy(n: int = 400) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "customerID": rng.permutation(n) * 7,
            "row": range(n),
            "Gender": rng.choice(["F", "M", "X"], n, p=[0.4, 0.55, 0.05]),
            "born": pd.to_datetime("1980-01-01") + pd.to_timedelta(rng.integers(0, 9000, n), unit="D"),
            "comment": [f"text number {k}" for k in range(n)],
            "country": ["NL"] * (n - 1) + ["BE"],
            "nothing": np.nan,
            "same": 3,
            "age": rng.integers(18, 90, n),
            "pay": rng.normal(3000.0, 500.0, n),
            "isFraud": rng.choice([0, 1], n, p=[0.9, 0.1]),
        }
    )


def test_what_had_better_be_ignored_and_why() -> None:
    found = {entry.column: (entry.role, entry.reason) for entry in suggest_roles(messy()).columns}
    assert found == {
        "customerID": ("ignore", "is an identifier: a different whole number in every row"),
        "row": ("ignore", "is an identifier: a different whole number in every row"),
        "Gender": ("sensitive", "is named like sex"),
        "born": ("ignore", "is a date"),
        "comment": ("ignore", "is a name or free text (400 different values)"),
        "country": ("ignore", "is 'NL' in 99.8% of the rows"),
        "nothing": ("ignore", "has no values"),
        "same": ("ignore", "has one value only"),
        "age": ("feature", "could be sensitive: it is named like age"),
        "pay": ("feature", ""),
        "isFraud": ("label", "is named like an outcome"),
    }


def test_the_roles_add_up() -> None:
    suggestion = suggest_roles(messy())
    ignored = ("customerID", "row", "born", "comment", "country", "nothing", "same")
    assert suggestion.roles == ColumnRoles("Gender", groups=("F", "M"), label="isFraud", anomaly="1", ignore=ignored)
    assert suggestion.roots == ("Gender", "age")


@pytest.mark.parametrize("role", ["sensitive", "label", "feature"])
def test_a_column_without_causes_stays_one_whatever_its_role(role: str) -> None:
    """Graphs said that children cause the mother's age, after its role had changed."""
    table = messy().assign(black=[0, 1] * 200)
    sensitive, label = {"sensitive": ("black", None), "label": ("Gender", "black")}.get(role, ("Gender", None))
    suggestion = suggest_roles(table, sensitive, label)
    assert {entry.column: entry.role for entry in suggestion.columns}["black"] == role
    assert suggestion.roots == ("Gender", "age", "black")
    assert suggest_roots(table.columns) == ("Gender", "born", "age", "black")  # also of what had better be ignored


BORN_WITH = (
    "age Sex gender race Ethnicity colour hairColor born birth birthdate birthYear native-country nationality origin "
    "country_of_birth mother_age mothers.age fatherAge age_at_birth black white hispanic minority age_cat dob"
)
LATER = (
    "marriage average agent racetrack essex page unisex sexton whitelist car_age vehicle.color age_of_children "
    "age_at_marriage account_age coverage language voltage white_collar"
)


@pytest.mark.parametrize("name", BORN_WITH.split())
def test_names_of_what_people_are_born_with(name: str) -> None:
    assert suggest_roots([name]) == (name,)


@pytest.mark.parametrize("name", LATER.split())
def test_names_that_only_look_like_it(name: str) -> None:
    assert suggest_roots([name]) == ()


@pytest.mark.parametrize("name", ["black", "minority", "is_hispanic", "white"])
def test_belonging_to_a_minority_can_be_the_sensitive_column(name: str) -> None:
    roles = suggest_roles(messy().drop(columns="Gender").assign(**{name: [0, 1] * 200})).roles
    assert roles is not None
    assert roles.sensitive == name


def test_a_time_order_by_hand() -> None:
    names = ["pay", "S", "job", "children", "age", "x", "education-num", "priors_count", "decile_score", "race", "id"]
    table = pd.DataFrame({name: [0, 1] for name in names})
    assert suggest_tiers(table, ColumnRoles("S", ignore=("id",))) == (
        ("age", "race"),
        ("education-num",),
        ("children",),
        ("job",),
        ("pay", "priors_count"),
        ("decile_score",),
    )
    assert suggest_tiers(table[["S", "x", "job", "age"]], ColumnRoles("S")) == (("age",), ("job",))
    assert suggest_tiers(table[["S", "x"]], ColumnRoles("S")) == ()


def test_the_last_word_of_a_name_in_time_counts() -> None:
    assert time_rank("family_income") == 5
    assert time_rank("credit_amount") == 6
    assert time_rank("work history") == 5
    assert time_rank("region") is None


@pytest.mark.parametrize("load", [load_adult, load_compas, load_german, generate_sample])
def test_time_orders_of_real_tables(cache: Path, load: Callable[[], pd.DataFrame]) -> None:
    table = load()
    roles = suggest_roles(table).roles
    assert roles is not None
    tiers = suggest_tiers(table, roles)
    assert "age" in tiers[0]
    ordered = [name for tier in tiers for name in tier]
    assert len(ordered) == len(set(ordered)) <= len(roles.features(table))
    for earlier, later in (("education", "hours-per-week"), ("occupation", "monthly_income"), ("race", "priors_count")):
        if earlier in ordered and later in ordered:
            assert ordered.index(earlier) < ordered.index(later)


def test_a_numeric_sensitive_column_gets_a_cut_point() -> None:
    table = messy().drop(columns="Gender")
    roles = suggest_roles(table).roles
    assert roles is not None
    assert (roles.sensitive, roles.groups) == ("age", None)
    assert roles.cut == float(np.rint(table["age"].median()))


def test_what_is_settled_stays_settled() -> None:
    suggestion = suggest_roles(messy(), sensitive="country", label="same")
    roles = {entry.column: entry.role for entry in suggestion.columns}
    assert (roles["country"], roles["same"], roles["Gender"], roles["isFraud"]) == (
        "sensitive",
        "label",
        "feature",
        "feature",
    )


def test_nothing_sensitive() -> None:
    assert suggest_roles(messy()[["pay", "row"]]).roles is None
    assert suggest_roles(messy(), sensitive="no such column").roles is None


@pytest.mark.parametrize(
    ("cells", "anomaly"),
    [
        (["no"] * 5 + ["yes"] * 9, "no"),  # the rarer one
        ([0] * 5 + [1] * 9, "0"),
        (["granted"] * 5 + ["denied"] * 9, "denied"),  # it reads like one
        (["good"] * 9 + ["strange"] * 5, "strange"),
        ([False] * 9 + [True] * 5, "True"),
        ([None], None),
    ],
)
def test_the_anomaly_value(cells: list[object], anomaly: str | None) -> None:
    assert suggest_anomaly(pd.Series(cells)) == anomaly


@pytest.mark.parametrize(
    ("name", "cells", "anomaly"),
    [
        ("released", ["Yes"] * 83 + ["No"] * 17, "No"),
        ("is_fraud", [0] * 4 + [1] * 6, "1"),  # the name says it
        ("fraud", ["1"] * 4 + ["2"] * 6, "1"),  # two names, neither of them yes
        ("action_taken", [1] * 60 + [2] * 10 + [3] * 25 + [4] * 5, "3"),  # denied, in files of mortgages
        ("approved", [True] * 6 + [False] * 4, "False"),
    ],
)
def test_the_anomaly_value_of_an_outcome(name: str, cells: list[object], anomaly: str) -> None:
    assert suggest_anomaly(pd.Series(cells, name=name)) == anomaly


PROTECTED = (
    "colour applicant_race_1 derived_ethnicity black is_hispanic minority nationality citizen religion disabled "
    "Geschlecht geslacht sexe Âge leeftijd edad Nationalität ethnicité foreign_worker female nonwhite Behinderung "
    "sexual_orientation skin_color raça"
)
NOT_PROTECTED = "car_colour hair_color age_of_car account_age white_collar village stage company_group days_black"


@pytest.mark.parametrize("name", PROTECTED.split())
def test_names_of_what_laws_protect(name: str) -> None:
    roles = suggest_roles(pd.DataFrame({"pay": [1.5, 2.5] * 200, name: [0, 1] * 200})).roles
    assert roles is not None
    assert roles.sensitive == name


@pytest.mark.parametrize("name", NOT_PROTECTED.split())
def test_names_of_what_is_not_a_persons(name: str) -> None:
    assert suggest_roles(pd.DataFrame({"pay": [1.5, 2.5] * 200, name: [0, 1] * 200})).roles is None


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (["Male", "Female", "Unknown"], "holds 'Male' and 'Female'"),
        (["White", "Black", "Other"], "holds 'White' and 'Black'"),
        (["red", "white", "black", "blue", "green"], None),  # of cars
    ],
)
def test_a_column_without_a_name_is_recognised_by_its_values(values: list[str], reason: str | None) -> None:
    found = suggest_roles(pd.DataFrame({"column 1": values * 60, "column 2": range(1, 60 * len(values) + 1)}))
    assert (found.roles is not None, found.columns[0].reason) == (reason is not None, reason or "")


@pytest.mark.parametrize("name", ["released", "loanApproved", "rejected", "denied", "default", "arrested", "hired"])
def test_an_outcome_is_the_label(name: str) -> None:
    found = suggest_roles(messy().drop(columns="isFraud").assign(**{name: [0, 0, 0, 1] * 100}))
    assert [(entry.column, entry.reason) for entry in found.columns if entry.role == "label"] == [
        (name, "is named like an outcome")
    ]
    several = messy().drop(columns="isFraud").assign(**{name: [0, 1, 2, 3] * 100})
    assert "label" not in {entry.role for entry in suggest_roles(several).columns}  # a number of something


def test_numbers_are_cut_and_never_two_of_them() -> None:
    ages = pd.Series([20, 30, 40, 50] * 100, name="age")
    assert suggest_attribute(ages) == Attribute("age", cuts=(35.0,))
    visits = pd.Series([0] * 380 + list(range(1, 21)), name="visits")
    assert suggest_attribute(visits) == Attribute("visits", cuts=(1.0,))  # most have none
    codes = pd.Series([1, 2, 5] * 150, name="race")
    assert suggest_attribute(codes).groups == ("1", "2", "5")


def values(**counts: int) -> pd.Series[str]:
    return pd.Series([value for value, count in counts.items() for _ in range(count)], name="x")


@pytest.mark.parametrize(
    ("column", "expected"),
    [
        (values(a=2), Attribute("x")),
        (values(b=2, a=1), Attribute("x", groups=("a", "b"))),  # the rarer first
        (values(a=300, b=200, c=8), Attribute("x", groups=("b", "a"))),  # too few for a group of their own
        (values(a=1, b=2, c=3), Attribute("x", groups=("c", "b", "a"))),
        (values(a=100, b=300, c=200), Attribute("x", groups=("b", "c", "a"))),
        (values(a=300, b=200, c=50, d=40), Attribute("x", groups=("a", "b"), others="other")),
        (values(a=300, b=200, Other=100, d=40), Attribute("x", ("a", "b", "Other"), {"Other": ("Other", "d")})),
        (pd.Series([0, 1, 1], name="x"), Attribute("x", groups=("0", "1"))),
        (pd.Series(range(101), name="x"), Attribute("x", cuts=(50.0,))),
    ],
)
def test_groups(column: pd.Series[Any], expected: Attribute) -> None:
    assert suggest_attribute(column) == expected


def test_several_sensitive_columns() -> None:
    table = messy().assign(race=["A", "B", "C", "D"] * 100)
    roles = suggest_roles(table, ["Gender", "race"]).roles
    assert roles is not None
    assert roles.attributes == (Attribute("Gender", ("F", "M")), Attribute("race", ("A", "B", "C", "D")))
    entries = suggest_roles(table, ["Gender", "race"]).columns
    assert [entry.column for entry in entries if entry.role == "sensitive"] == ["Gender", "race"]
    assert suggest_roles(table, ["Gender", "wage"]).roles is None


@pytest.mark.parametrize(
    ("load", "sensitive", "label", "anomaly"),
    [
        (load_adult, "sex", "income", ">50K"),
        (load_compas, "sex", "two_year_recid", "1"),
        (load_german, "sex", "credit_risk", "2"),
        (generate_sample, "gender", "fraud", "yes"),
    ],
)
def test_real_tables(cache: Path, load: Callable[[], pd.DataFrame], sensitive: str, label: str, anomaly: str) -> None:
    roles = suggest_roles(load()).roles
    assert roles is not None
    assert (roles.sensitive, roles.label, roles.anomaly) == (sensitive, label, anomaly)


def test_infinite_numbers_are_no_count() -> None:
    table = pd.DataFrame({"id": [np.inf, np.inf, 1.0] * 20, "group": ["a", "b", "a"] * 20})
    assert suggest_roles(table, ("group",)).columns[0].role != "sensitive"
