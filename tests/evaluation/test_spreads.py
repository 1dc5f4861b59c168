"""How values are spread in groups."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.evaluation.spreads import LevelSpread, NumberSpread


def test_half_of_those_who_have_the_same_count() -> None:
    spread = NumberSpread({"a": np.array([1.0, 2.0, 2.0, 3.0]), "b": np.array([])})
    assert spread.below("a", 2.0) == 0.5
    assert spread.below("a", 0.0) == 0.0
    assert spread.below("a", 9.0) == 1.0
    assert spread.below("b", 2.0) is None


def test_few_whole_numbers_have_a_bin_each() -> None:
    spread = NumberSpread({"a": np.array([0.0, 1.0, 1.0, 3.0]), "b": np.array([3.0, 3.0])})
    bins = spread.bins(["a", "b"], [2.0])
    assert bins.edges.tolist() == [-0.5, 0.5, 1.5, 2.5, 3.5]
    assert bins.shares["a"].tolist() == [0.25, 0.5, 0.0, 0.25]
    assert bins.shares["b"].tolist() == [0.0, 0.0, 0.0, 1.0]
    assert not bins.is_smooth


def test_other_numbers_are_smoothed_and_nobody_is_lost() -> None:
    rng = np.random.default_rng(0)
    spread = NumberSpread({"a": np.sort(rng.normal(size=4_000)), "b": np.sort(rng.normal(3.0, 1.0, 4_000))})
    bins = spread.bins(["a", "b"], [-9.0, 11.0])  # far outside: the picture reaches to both
    assert bins.is_smooth
    assert bins.edges[0] < -9.0
    assert bins.edges[-1] > 11.0
    for shares in bins.shares.values():
        assert shares.sum() == pytest.approx(1.0)


def test_the_outermost_are_left_out_of_the_picture() -> None:
    values = np.sort(np.append(np.linspace(0.0, 1.0, 999), 1e6))
    bins = NumberSpread({"a": values}).bins(["a"], [0.5])
    assert bins.edges[-1] < 2.0


def test_a_group_without_anybody_has_no_share() -> None:
    spread = NumberSpread({"a": np.array([]), "b": np.array([])})
    assert spread.bins(["a", "b"], [4.0]).shares["a"].sum() == 0.0
    levels = LevelSpread(("x",), {"a": np.array([0.4])})
    assert levels.share("a", "x") == 0.4
    assert levels.share("a", "never seen") == 0.0
