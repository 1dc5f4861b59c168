from __future__ import annotations

import numpy as np
import pytest

from cfad_core.data.scaling import Scale, choose_scaling, common_factor, fit_scale
from tests.data.worlds import ROLES, fit_to, table

RNG = np.random.default_rng(0)
WIDE, NARROW = RNG.normal(0.0, 4.0, 100), RNG.normal(0.0, 2.0, 100)


def test_scaling_is_chosen_by_the_columns() -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(100, 3))
    assert choose_scaling(x) == "raw"
    assert choose_scaling(x * [1.0, 1.0, 100.0]) == "range"
    assert choose_scaling(np.column_stack([x, x[:, 0] > 0])) == "range"
    assert choose_scaling(np.column_stack([x, np.zeros(100)])) == "range"


def test_range_scaling_by_hand() -> None:
    encoding = fit_to(table(), ROLES, "range")
    x = encoding.encode(table())
    np.testing.assert_allclose(x[:, 1], [-3.0, -1.5, 0.0, 3.0])
    assert x[:, 0].tolist() == [-1.0, 1.0, -1.0, 1.0]
    assert encoding.names == ("sex", "age", "pay")


def test_offset_and_divisor_by_hand() -> None:
    assert Scale("own").of(10.0, 22.0) == (0.0, 1.0)
    assert Scale("raw", 2.5).of(10.0, 22.0) == (0.0, 2.5)
    assert Scale("range").of(10.0, 22.0) == (16.0, 2.0)
    assert Scale("range").of(7.0, 7.0) == (7.0, 1.0)  # nothing to divide by


def test_the_common_factor_leaves_a_mean_spread_of_three() -> None:
    factor = common_factor([WIDE, NARROW])
    spread = [np.std(values / factor) for values in (WIDE, NARROW)]
    assert np.sqrt(np.mean(np.square(spread))) == pytest.approx(3.0)
    assert spread[0] / spread[1] == pytest.approx(np.std(WIDE) / np.std(NARROW))  # proportions stay
    assert common_factor([np.ones(100)]) == 1.0
    assert common_factor([]) == 1.0


def test_the_scaling_is_raw_only_where_all_columns_are_known_numbers() -> None:
    assert fit_scale([WIDE, NARROW], "auto", only_numbers=True) == Scale("raw", common_factor([WIDE, NARROW]))
    assert fit_scale([WIDE, NARROW], "auto", only_numbers=False) == Scale("range")
    gaps = np.where(np.arange(100) < 3, np.nan, NARROW)
    assert fit_scale([WIDE, gaps], "auto", only_numbers=True) == Scale("range")
    assert fit_scale([WIDE, gaps], "raw", only_numbers=False) == Scale("raw", common_factor([WIDE, gaps]))
    assert fit_scale([WIDE, NARROW], "range", only_numbers=True) == Scale("range")
    assert fit_scale([WIDE, NARROW], "own", only_numbers=True) == Scale("own")
