"""The demo's people: the law of the synthetic data set, in names and units."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LinearRegression

from cfad_core.data.sets.demo import COLUMNS, DEMO_SEED, FRAUD, GROUPS, ORIGIN, ROLES, demo_graph, generate_demo
from cfad_core.data.tables import Tables
from cfad_core.data.validation import validate


@pytest.fixture(scope="module")
def tables() -> Tables:
    return generate_demo(n_train=4000, n_test=3000)


def test_they_are_people_with_names_and_groups(tables: Tables) -> None:
    for table in tables.frames.values():
        assert list(table) == [ORIGIN, *COLUMNS, "fraud"]
        assert set(table[ORIGIN]) == set(GROUPS)
        assert (table[list(COLUMNS)] > 0.0).all(axis=None)  # nobody works or earns less than nothing
    assert validate(tables.table, ROLES, tables.test).is_usable
    frauds = pd.concat([tables.table, tables.test])["fraud"].eq("yes").mean()
    assert frauds == pytest.approx(FRAUD, abs=0.01)


def test_twins_are_of_the_same_people_in_the_other_group(tables: Tables) -> None:
    test, truth = tables.test, tables.truth
    assert test is not None
    assert truth is not None
    assert (test[ORIGIN] != truth[ORIGIN]).all()
    graph = demo_graph(np.random.default_rng(DEMO_SEED))
    reached: set[int] = nx.descendants(nx.from_numpy_array(graph.weights != 0.0, create_using=nx.DiGraph), 0)
    kept = [name for i, name in zip(graph.order[1:], COLUMNS, strict=True) if i not in reached]
    assert [name for name in COLUMNS if (test[name] == truth[name]).all()] == kept
    assert 0 < len(kept) < len(COLUMNS)
    assert not (test["fraud"] == truth["fraud"]).all()


def test_the_columns_obey_the_law_of_the_synthetic_data_set(tables: Tables) -> None:
    """Each column is a straight line of ``3 sum A cos(x + 1) + u``: where only S comes in, the spread is that of u."""
    graph = demo_graph(np.random.default_rng(DEMO_SEED))
    names = [ORIGIN, *COLUMNS]
    place = {i: names[k] for k, i in enumerate(graph.order)}
    of_origin = [i for i in range(1, len(names)) if np.flatnonzero(graph.weights[:, i]).tolist() == [0]]
    roots = [i for i in range(1, len(names)) if not graph.weights[:, i].any()]
    assert of_origin or roots
    origin = (tables.table[[ORIGIN]] == GROUPS[1]).astype(float)
    for i in of_origin:
        x = tables.table[place[i]]
        found = LinearRegression().fit(origin, x)
        apart = 3.0 * graph.weights[0, i] * (np.cos(2.0) - np.cos(0.0))  # between the groups, of which u has spread 1
        assert found.coef_[0] / (x - found.predict(origin)).std() == pytest.approx(apart, rel=0.08)
    for i in roots:
        x = tables.table[place[i]]
        apart = x[origin[ORIGIN] == 1.0].mean() - x[origin[ORIGIN] == 0.0].mean()
        assert abs(apart) < 0.1 * x.std()


def test_the_same_seed_gives_the_same_people() -> None:
    first, again, other = (generate_demo(seed, n_train=50, n_test=50) for seed in (1, 1, 2))
    assert first.digests == again.digests
    assert first.digest != other.digest


def test_what_an_audit_does_not_see_is_not_in_the_digest(tables: Tables) -> None:
    without = Tables.of(tables.table, tables.test)
    assert without.digest == tables.digest
    assert tables.digests == without.digests | {"truth": tables.digests["truth"]}
    judging = Tables.of(tables.table, tables.test, tables.truth)
    assert judging.digest != tables.digest
