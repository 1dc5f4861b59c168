from __future__ import annotations

import math
from typing import Any

import networkx as nx
import numpy as np
import pandas as pd
import pytest

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.data.sets import synthetic
from cfad_core.data.sets.synthetic import SyntheticData, Worlds, generate_synthetic, simulate

SMALL: dict[str, Any] = {
    "n_train": 400,
    "n_test_normal": 200,
    "n_test_anomaly": 40,
    "worlds": Worlds(max_selection_error=math.inf),
}


@pytest.fixture(scope="module")
def data() -> SyntheticData:
    return generate_synthetic(1, **SMALL)


def test_sizes_columns_and_balance(data: SyntheticData) -> None:
    columns = ["S", *(f"X{i}" for i in range(1, 20)), "label"]
    for table in (data.train, data.test, data.train_counterfactual, data.test_counterfactual):
        assert list(table.columns) == columns
    assert len(data.train) == 400
    assert not data.train["label"].any()
    assert data.test["label"].value_counts().to_dict() == {0: 200, 1: 40}
    for here, there in ((data.train, data.train_counterfactual), (data.test, data.test_counterfactual)):
        assert (there["S"] == -here["S"]).all()
        changed = here["label"] != there["label"]
        cells = here.assign(changed=changed).groupby(["label", "S", "changed"]).size()
        assert (cells == here.groupby("label").size().reindex(cells.index.get_level_values(0)).to_numpy() // 4).all()


def test_both_worlds_share_the_noise_and_obey_the_equations(data: SyntheticData) -> None:
    names = list(data.adjacency.columns)
    weights = data.adjacency.to_numpy()

    def noise(table: pd.DataFrame) -> Floats:
        x = table[names].to_numpy(dtype=np.float64)
        explained: Floats = 3.0 * np.cos(x + 1.0) @ weights
        return (x - explained)[:, 1:]

    np.testing.assert_allclose(noise(data.test), noise(data.test_counterfactual), atol=1e-9)
    assert not np.allclose(data.test["X3"], data.test_counterfactual["X3"])


def test_the_graph_is_a_dag_with_s_as_a_root_that_reaches_every_third_variable(data: SyntheticData) -> None:
    edges = data.adjacency.to_numpy() != 0
    assert nx.is_directed_acyclic_graph(nx.from_numpy_array(edges.astype(int), create_using=nx.DiGraph))
    assert not data.adjacency["S"].any()
    assert all(data.adjacency.loc["S", f"X{i}"] != 0 for i in range(3, 20, 3))
    strength = np.abs(data.adjacency.to_numpy()[edges])
    assert strength.min() >= 0.5
    assert strength.max() <= 1.0


@pytest.mark.slow
def test_the_same_seed_draws_the_same_world(data: SyntheticData) -> None:
    again = generate_synthetic(1, **SMALL)
    assert again.train.equals(data.train)
    assert again.test_counterfactual.equals(data.test_counterfactual)
    assert not generate_synthetic(2, **SMALL).train.equals(data.train)


def test_simulation_by_hand() -> None:
    weights = np.array([[0.0, 0.5], [0.0, 0.0]])
    x = simulate(weights, [0, 1], np.array([1.0, -1.0]), np.array([[9.0, 9.0], [0.25, 0.25]]))
    np.testing.assert_allclose(x, [[1.0, -1.0], [1.5 * math.cos(2.0) + 0.25, 1.5 * math.cos(0.0) + 0.25]])


@pytest.mark.slow
def test_learnable_worlds_are_kept_and_others_are_not() -> None:
    data = generate_synthetic(4)
    names = list(data.adjacency.columns)
    x, weights = data.train[names].to_numpy(float), data.adjacency.to_numpy()
    messages, fitted = np.cos(x + 1.0), np.zeros_like(weights)
    for i in range(20):
        parents = np.flatnonzero(weights[:, i])
        design = np.column_stack([messages[:, parents], np.ones(len(x))])
        fitted[parents, i] = np.linalg.lstsq(design, x[:, i], rcond=None)[0][:-1]
    here, there = data.test[names].to_numpy(float), data.test_counterfactual[names].to_numpy(float)
    order = list(nx.topological_sort(nx.from_numpy_array((weights != 0).astype(int), create_using=nx.DiGraph)))
    guess, moved = here - np.cos(here + 1.0) @ fitted, np.cos(here + 1.0)
    guess[:, 0] = -here[:, 0]
    for i in order:
        guess[:, i] += moved @ fitted[:, i] if i else 0.0
        moved[:, i] = np.cos(guess[:, i] + 1.0)
    flipped = here.copy()
    flipped[:, 0] *= -1
    ratio = np.linalg.norm(guess - there, axis=1).mean() / np.linalg.norm(flipped - there, axis=1).mean()
    assert ratio < 0.17  # 0.15 on the training rows


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ({"n_train": 10}, "n_train must be a positive multiple of 4 .*; got 10"),
        ({"n_test_anomaly": 0}, "n_test_anomaly must be a positive multiple of 4"),
    ],
)
def test_unusable_sizes_are_refused(sizes: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidDataError, match=message):
        generate_synthetic(0, **sizes)


def test_unusable_worlds_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="n_variables must be at least 3; got 2"):
        Worlds(n_variables=2)
    with pytest.raises(InvalidDataError, match=r"expected_degree must lie in \(0, 20\]; got 0.0"):
        Worlds(expected_degree=0.0)


def test_a_hopeless_request_ends_with_a_clear_message(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(synthetic, "_MAX_GRAPHS", 3)
    with pytest.raises(
        InvalidDataError, match="None of the first 3 graphs of seed 0 fills every cell .*use another seed"
    ):
        generate_synthetic(0, worlds=Worlds(max_selection_error=0.0))
