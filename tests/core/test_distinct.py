from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from cfad_core.core import distinct
from cfad_core.core.distinct import distinct_rows

SMALL = arrays.arrays(
    np.float64, st.tuples(st.integers(0, 12), st.integers(1, 4)), elements=st.sampled_from([-3.0, 0.0, 3.0])
)


@given(SMALL)
def test_rows_are_the_first_of_their_kind(x: np.ndarray) -> None:
    found = distinct_rows(x)
    assert np.array_equal(x[found.first][found.place], x)
    assert len(found.first) == len(np.unique(x, axis=0))
    assert all((x[:k] != x[k]).any(axis=1).all() for k in found.first)


def test_rows_with_the_same_hash_are_compared_cell_by_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(distinct, "_ODD", np.uint64(0))  # all hashes are 0
    x = np.array([[1.0, 2.0], [3.0, 4.0], [1.0, 2.0], [3.0, 4.0]])
    found = distinct_rows(x)
    assert np.array_equal(x[found.first][found.place], x)
