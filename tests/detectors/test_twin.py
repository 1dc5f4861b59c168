from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cfad_core.detectors.twin import twin_score

SCORES = hnp.arrays(np.float64, (2, 5), elements=st.floats(0.0, 1e6))


@given(SCORES, st.sampled_from(["mean", "max", "min"]))
def test_the_two_worlds_are_scored_alike(scores: np.ndarray, rule) -> None:
    assert np.array_equal(twin_score(scores[0], scores[1], rule), twin_score(scores[1], scores[0], rule))


@pytest.mark.parametrize(("rule", "expected"), [("mean", [2.0, 3.0]), ("max", [3.0, 4.0]), ("min", [1.0, 2.0])])
def test_rules_by_hand(rule, expected: list[float]) -> None:
    assert twin_score(np.array([1.0, 4.0]), np.array([3.0, 2.0]), rule).tolist() == expected
