"""The plain graph autoencoder as a model of its own."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.paper import GraphAutoencoder, learn_plain_autoencoder
from cfad_core.causal.graph import find_cycle
from cfad_core.core.config import DiscoveryConfig
from cfad_core.core.progress import Progress

NAMES = ("S", "A", "B", "C")
SHORT = DiscoveryConfig(mode="paper", batch_size=128, rounds=4, steps_per_round=60, decoder_steps=60)


def rows(n: int = 600) -> np.ndarray:
    rng = np.random.default_rng(0)
    s = rng.choice([-1.0, 1.0], n)
    a = 2.0 * s + rng.normal(size=n)
    return np.column_stack([s, a, 1.5 * a + rng.normal(size=n), rng.normal(size=n)])


@pytest.fixture(scope="module")
def learned() -> tuple[GraphAutoencoder, AdditiveModel]:
    return learn_plain_autoencoder(rows(), Columns(NAMES, "S"), SHORT, 0, Progress())


def test_both_models_share_one_graph_without_cycles(learned: tuple[GraphAutoencoder, AdditiveModel]) -> None:
    autoencoder, model = learned
    assert model.names == NAMES
    assert find_cycle(model.weights != 0.0) == []
    kept = model.weights != 0.0
    assert kept.any()
    np.testing.assert_array_equal(model.weights[kept], autoencoder.graph()[kept])
    assert not model.weights[:, 0].any()  # S is a root


def test_plain_counterfactuals_by_hand(learned: tuple[GraphAutoencoder, AdditiveModel]) -> None:
    """With A = {S -> A -> B} set by hand: flipped twice it is the person again, and C keeps every bit."""
    autoencoder, _ = learned
    weights = np.zeros((4, 4))
    weights[0, 1], weights[1, 2] = 1.0, 1.0
    x = rows(50)
    twins = autoencoder.counterfactual(x, weights, 0)
    assert np.array_equal(twins[:, 0], -x[:, 0])
    assert np.array_equal(twins[:, 3], x[:, 3])
    assert not np.allclose(twins[:, 2], x[:, 2])
    np.testing.assert_allclose(autoencoder.counterfactual(twins, weights, 0), x, atol=1e-4)
    # the noise is the same in both worlds
    noise = x - autoencoder.reconstruct(x, weights)
    np.testing.assert_allclose((twins - autoencoder.reconstruct(twins, weights))[:, 1:3], noise[:, 1:3], atol=1e-4)
