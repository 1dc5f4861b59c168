"""The worlds that audits are measured on: their twins are what they claim to be."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from benchmarks.forms import Nominal, Number, Ordered, Rounded
from benchmarks.structural import Attribute, Effect
from benchmarks.truth import bounds, report, summarise
from benchmarks.worlds import ANOMALY, FAMILIES, GROUPS, KINDS, LABEL, SENSITIVE, World, draw_world

NUMBER = 4
IDENTIFIED = [name for name, family in FAMILIES.items() if family.identified]
PEOPLE = 3_000
DIGESTS = {
    "numbers": "e1808b6c",
    "heavy": "d114c814",
    "lognormal": "fb8faa7f",
    "counts": "184ecb54",
    "rounded": "dfa35bbe",
    "atoms": "7d2a2e7b",
    "yesno": "64e1cad0",
    "categories": "11c2eaaf",
    "mixed": "72e62889",
    "interactions": "a8967633",
    "spread": "33805fdb",
    "messy": "ae8f6336",
    "small-group": "90f40af6",
    "hidden-cause": "761236ba",
    "wrong-root": "422d8e5c",
}  # of world 4, its numbers written with six digits


@cache
def world(family: str) -> World:
    return draw_world(NUMBER, family)


@cache
def people(family: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    return world(family).people(PEOPLE, seed=1)


def is_like(first: pd.Series[Any], second: pd.Series[Any]) -> bool:
    """Whether two samples of cells may be of one law: by their share of missing, and of large or frequent ones."""
    if pd.api.types.is_numeric_dtype(first) and not pd.api.types.is_bool_dtype(first):
        middle = first.median()
        shares = [(first.isna(), second.isna()), (first > middle, second > middle)]
    else:
        top = first.mode().iloc[0]
        shares = [(first.isna(), second.isna()), (first == top, second == top)]
    for here, there in shares:
        p = np.concatenate([here, there]).mean()
        error = np.sqrt(p * (1.0 - p) * (1.0 / len(here) + 1.0 / len(there)))
        if abs(here.mean() - there.mean()) > 4.5 * error:
            return False
    return True


@pytest.mark.parametrize("family", FAMILIES)
def test_twins_differ_in_the_group_and_in_what_it_reaches(family: str) -> None:
    one = world(family)
    table, twins = one.table, one.twins
    assert len(table) == one.rows
    assert list(table) == [SENSITIVE, *one.columns, LABEL]
    assert set(table[SENSITIVE]) == set(GROUPS)
    assert (table[SENSITIVE] != twins[SENSITIVE]).all()
    assert {name for name in one.columns if not table[name].equals(twins[name])} == one.reached
    assert (table.dtypes == twins.dtypes).all()
    assert table[LABEL].equals(twins[LABEL])
    assert 0.04 < (table[LABEL] == ANOMALY).mean() < 0.06


@pytest.mark.parametrize("family", FAMILIES)
def test_cells_of_people_and_twins_are_legal(family: str) -> None:
    one = world(family)
    assert set(one.kinds) == set(one.columns)
    for name, attribute in one.columns.items():
        for table in (one.table, one.twins):
            cells, form = table[name].dropna(), attribute.form
            if isinstance(form, Ordered | Nominal):
                assert set(cells) <= set(form.levels)
            elif form.kind == "yesno":
                assert set(cells) <= {True, False} or set(cells) <= {"yes", "no"}
            else:
                assert np.isfinite(cells).all()
            if form.kind in ("count", "atom", "lognormal"):
                assert (cells >= 0).all()
            if form.kind == "count":
                assert (cells == cells.round()).all()
            if isinstance(form, Rounded):
                assert (cells % form.step == 0).all()


@pytest.mark.parametrize("family", FAMILIES)
def test_new_people_are_of_the_same_world(family: str) -> None:
    fresh, _ = people(family)
    assert not fresh.equals(world(family).table.head(PEOPLE))
    for name in fresh:
        assert is_like(world(family).table[name], fresh[name]), name


@pytest.mark.parametrize("family", IDENTIFIED)
def test_twins_of_one_group_are_like_the_other(family: str) -> None:
    fresh, twins = people(family)
    for group in GROUPS:
        real, made = fresh[fresh[SENSITIVE] == group], twins[twins[SENSITIVE] == group]
        for name in world(family).columns:
            assert is_like(real[name], made[name]), name


@pytest.mark.parametrize("family", ["hidden-cause", "wrong-root"])
def test_what_no_audit_can_know_breaks_that(family: str) -> None:
    one, (fresh, twins) = world(family), people(family)
    assert not one.identified
    real, made = fresh[fresh[SENSITIVE] == "a"], twins[twins[SENSITIVE] == "a"]
    assert not all(is_like(real[name], made[name]) for name in one.columns)


@pytest.mark.parametrize("family", FAMILIES)
def test_a_number_is_a_world(family: str) -> None:
    again = draw_world(NUMBER, family)
    assert again.table.equals(world(family).table)
    assert again.twins.equals(world(family).twins)
    assert again.people(50, seed=2)[1].equals(world(family).people(50, seed=2)[1])
    assert not again.people(50, seed=2)[0].equals(again.people(50, seed=3)[0])


@pytest.mark.slow
@pytest.mark.parametrize("family", FAMILIES)
def test_worlds_stay_the_same_from_version_to_version(family: str) -> None:
    one = draw_world(4, family)
    text = "".join(table.to_csv(float_format="%.6g") for table in (one.table, one.twins, *one.people(300, seed=0)))
    assert hashlib.sha256(text.encode()).hexdigest()[:8] == DIGESTS[family]


def test_the_shapes_of_many_worlds() -> None:
    drawn = [draw_world(number) for number in range(2 * len(FAMILIES))]
    assert [one.family for one in drawn[: len(FAMILIES)]] == list(FAMILIES)
    assert all(7 <= len(one.columns) <= 12 and 800 <= one.rows <= 20_000 for one in drawn)
    assert all(one.graph.loc[SENSITIVE].sum() >= 2 for one in drawn)
    edges = [one.graph.to_numpy().sum() / len(one.columns) for one in drawn if not one.gaps]
    assert 1.1 < np.mean(edges) < 1.3
    assert {kind for one in drawn for kind in one.kinds.values()} == set(KINDS)
    assert all(
        effect.by is None for one in drawn if one.family == "mixed" for x in one.attributes for effect in x.effects
    )
    marks: dict[str, Callable[[Attribute], bool]] = {
        "interactions": lambda x: any(effect.by for effect in x.effects),
        "spread": lambda x: x.spread_by is not None,
        "heavy": lambda x: x.noise != "normal",
        "atoms": lambda x: x.form.kind == "atom",
    }
    for family, has in marks.items():
        assert all(any(has(x) for x in one.attributes) for one in drawn if one.family == family)
    with pytest.raises(ValueError, match="There is no family 'odd'; choose one of: numbers, "):
        draw_world(0, "odd")


def test_missing_cells_of_messy_worlds() -> None:
    one = draw_world(NUMBER, "messy")
    fresh, twins = one.people(20_000, seed=0)
    for name, (first, second) in one.gaps.items():
        for table in (fresh, twins):
            shares = table[name].isna().groupby(table[SENSITIVE]).mean()
            assert shares["a"] == pytest.approx(first, abs=0.02)
            assert shares["b"] == pytest.approx(second, abs=0.02)
        assert (first != second) <= (name in one.reached)
    (copy,) = (name for name in one.columns if name.endswith(" again"))
    pair = fresh[[copy, copy.removesuffix(" again")]].dropna()
    assert np.corrcoef(pair.to_numpy().T)[0, 1] > 0.95
    assert not one.table[copy].isna().all()


def test_linear_twins_by_hand() -> None:
    first = Attribute("x01", Number(), (Effect(SENSITIVE, (0.7,)),))
    second = Attribute("x02", Number(offset=10.0, unit=2.0), (Effect("x01", (-0.5,)),), spread=0.3)
    alone = Attribute("x03", Number())
    one = World(0, "numbers", 200, (first, second, alone), group_cuts=(0.0,))
    s = np.where(one.table[SENSITIVE] == "a", -1.0, 1.0)
    np.testing.assert_allclose(one.twins["x01"] - one.table["x01"], -1.4 * s, atol=1e-12)
    np.testing.assert_allclose(one.twins["x02"] - one.table["x02"], 2.0 * 0.7 * s, atol=1e-12)
    assert one.twins["x03"].equals(one.table["x03"])
    assert one.graph.to_numpy().tolist() == [
        [False, True, False, False],
        [False, False, True, False],
        *[[False] * 4] * 2,
    ]
    assert one.reached == {"x01", "x02"}


def test_bounds_by_hand() -> None:
    few, many = np.arange(100_000) % 100 < 2, np.arange(100_000) % 100 < 7
    low, high = bounds(few, many)
    assert low == pytest.approx(0.05 - 2.0 * np.sqrt((0.02 * 0.98 + 0.07 * 0.93) / 100_000))
    assert high == pytest.approx(0.09 + 2.0 * np.sqrt((0.02 * 0.98 + 0.07 * 0.93) / 100_000))


def test_summary_by_hand() -> None:
    known = {"bounds": (0.02, 0.3), "auc_roc": 0.8, "truth": 0.1}
    cases = {
        "pca": known | {"interval": [0.05, 0.2], "ratio": 0.12},
        "ae": known | {"interval": [0.0, 0.01], "ratio": 0.0},
    }
    graph = {part: {"true": 4, "found": 2, "both": 1} for part in ("edges", "skeleton", "reach")}
    record = {"family": "mixed", "identified": True, "rows": 2000, "seconds": 2.0, "twin_test": 0.52}
    record |= {"graph": graph, "methods": cases}
    found = summarise([record, {"family": "messy", "identified": True, "error": "refused"}])
    assert list(found) == ["mixed", "all identified"]
    mixed = found["mixed"]
    assert (mixed["cases"], mixed["covered"], mixed["too_low"], mixed["too_high"]) == (2, 1, 1, 0)
    assert (mixed["error"], mixed["bias"], mixed["twin_test"]) == pytest.approx((0.06, -0.04, 0.52))
    assert mixed["outside_bounds"] == {"truth": 0, "interval": 1, "ratio": 1}
    assert mixed["graph"]["edges"] == {"precision": 0.5, "recall": 0.25}
    assert "| mixed | 1 | 1 of 2, 50% | 1 | 0 |" in report(found)
