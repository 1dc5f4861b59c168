from __future__ import annotations

import numpy as np

from cfad_core.data.split import stratified_split


def test_splits_are_stratified_and_seeded() -> None:
    strata = np.array([0] * 80 + [1] * 20)
    first, second = stratified_split(strata, 0.25, np.random.default_rng(0))
    assert len(second) == 25
    assert (strata[second] == 1).sum() == 5
    assert sorted([*first, *second]) == list(range(100))
    assert np.array_equal(second, stratified_split(strata, 0.25, np.random.default_rng(0))[1])
