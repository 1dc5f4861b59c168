from __future__ import annotations

import numpy as np
import pytest
from scipy.spatial.distance import cdist

from cfad_core.evaluation import plausibility
from cfad_core.evaluation.plausibility import Plausibility, distance_to_real, nearest_real


def draw_people(n: int, seed: int, columns: int = 3) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, columns)), rng.choice([-1.0, 1.0], n)


def nearest(people: np.ndarray, groups: np.ndarray, real: np.ndarray, real_groups: np.ndarray) -> np.ndarray:
    far = np.where(groups[:, None] == real_groups[None, :], cdist(people, real), np.inf)
    closest: np.ndarray = far.min(axis=1)
    return closest


@pytest.mark.parametrize("columns", [1, 3, 40])
def test_the_distance_is_to_the_nearest_of_the_same_group(columns: int) -> None:
    people, real = draw_people(50, 0, columns), draw_people(200, 1, columns)
    found = distance_to_real(*people, *real, np.random.default_rng(0))
    np.testing.assert_allclose(found, nearest(*people, *real), atol=1e-6)
    other = distance_to_real(people[0], -people[1], *real, np.random.default_rng(0))
    assert not np.allclose(other, found)


def test_by_hand() -> None:
    real = np.array([[0.0, 0.0], [10.0, 0.0], [3.0, 4.0]])
    groups = np.array([-1.0, -1.0, 1.0])
    people = np.array([[3.0, 4.0], [3.0, 4.0], [9.0, 0.0]])
    found = distance_to_real(people, np.array([-1.0, 1.0, -1.0]), real, groups, np.random.default_rng(0))
    np.testing.assert_allclose(found, [5.0, 0.0, 1.0])  # a person next door, but of the other group, is no neighbour


def test_the_nearest_by_hand() -> None:
    real = np.array([[9.0, 0.0], [3.0, 4.0], [0.0, 0.0], [4.0, 3.0], [0.0, 1.0]])
    found, distance = nearest_real(np.zeros(2), real, 4)
    assert found.tolist() == [2, 4, 1, 3]  # of two that are as far, the first
    assert distance.tolist() == [0.0, 1.0, 5.0, 5.0]
    assert len(nearest_real(np.zeros(2), real[:2], 3)[0]) == 2


def test_a_group_without_real_people_is_infinitely_far() -> None:
    real = np.zeros((5, 2)), np.full(5, 1.0)
    found = distance_to_real(np.zeros((2, 2)), np.array([1.0, -1.0]), *real, np.random.default_rng(0))
    assert found.tolist() == [0.0, np.inf]


def test_of_many_real_people_some_are_compared_with(monkeypatch: pytest.MonkeyPatch) -> None:
    people, real = draw_people(40, 0), draw_people(600, 1)
    exact = nearest(*people, *real)
    monkeypatch.setattr(plausibility, "MAX_ROWS", 60)
    one, same, other = (distance_to_real(*people, *real, np.random.default_rng(seed)) for seed in (1, 1, 2))
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
    assert (one >= exact - 1e-12).all()  # fewer to compare with: never nearer
    assert (one > exact + 1e-12).any()
    possible = np.where(people[1][:, None] == real[1][None, :], cdist(people[0], real[0]), np.inf)
    assert np.isclose(one[:, None], possible).any(axis=1).all()  # yet each is the distance to somebody


def test_far_is_further_than_usual() -> None:
    found = Plausibility(
        out_of_range=np.array([[True, False, False, False]]),
        between_levels=np.array([[True, True, False, False]]),
        distance=np.array([[0.1, 2.0, 2.1, 1.0 / 3.0]]),
        real_median=0.1 + 0.2,
        usual=np.full((1, 4), 2.0),
    )
    assert found.far.tolist() == [False, False, True, False]  # 2.0 itself is usual
    assert found.to_dict() == {
        "out_of_range": 0.25,
        "between_levels": 0.5,
        "far": 0.25,
        "distance_median": pytest.approx((1.0 / 3.0 + 2.0) / 2.0),
        "distance_median_real": 0.1 + 0.2,
        "distance_usual": 2.0,
    }
