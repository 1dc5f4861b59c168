"""Twins against real people: what must pass, what must not, and what gives it away."""

from __future__ import annotations

import json
from collections.abc import Mapping

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.evaluation import twin_test as module
from cfad_core.evaluation.twin_test import FOLDS, TwinTest, twin_test

LEVELS = (0.45, 0.3, 0.2, 0.05)  # shares of a category's levels
VARIABLES = ("sex", "age", "income", "debt", "city", "city", "city", "city", "owns", "noise")
PLACE = {name: k for k, name in enumerate(VARIABLES) if name != "city"}


def draw(n: int, seed: int, share: float = 0.5) -> Floats:
    """People (n, 10) whose columns do not depend on the group: each one's exact twin has another group, no more."""
    rng = np.random.default_rng(seed)
    group = np.where(rng.random(n) < share, -1.0, 1.0)
    age, income = rng.normal(size=(2, n))
    debt = np.exp(0.5 * age + 0.5 * rng.normal(size=n))
    city = np.eye(len(LEVELS))[rng.choice(len(LEVELS), n, p=LEVELS)]
    owns = (rng.random(n) < 0.3 + 0.2 * (income > 0.0)).astype(np.float64)
    return np.column_stack([group, age, income, debt, city, owns, rng.normal(size=n)])


def exact_twins(people: Floats) -> Floats:
    return np.column_stack([-people[:, 0], people[:, 1:]])


def compare(twins: Floats, real: Floats, seed: int = 0) -> TwinTest:
    found = twin_test(twins, real, VARIABLES, seed)
    assert found is not None
    assert 0.0 <= found.low <= found.auc <= found.high <= 1.0
    return found


def test_exact_twins_pass() -> None:
    people = draw(4000, seed=1)
    found = compare(exact_twins(people), people)
    assert found.low < 0.5 < found.high
    assert found.high < 0.55
    assert found.passes()
    assert found.columns == ()
    assert found.people == 8000


def test_a_shifted_number_is_found_and_named() -> None:
    people = draw(6000, seed=2)
    twins = exact_twins(people)
    twins[:, PLACE["income"]] += 0.3  # an AUC of 0.584 at best
    found = compare(twins, people)
    assert 0.5 < found.low < found.auc < 0.6
    assert [name for name, _ in found.columns] == ["income"]
    assert found.columns[0][1] == pytest.approx(0.58, abs=0.02)


def test_a_wrong_spread_is_found() -> None:
    people = draw(6000, seed=3)
    twins = exact_twins(people)
    twins[:, PLACE["age"]] *= 1.5
    found = compare(twins, people)
    assert not found.passes()
    assert found.columns[0][0] == "age"


def test_a_wrong_correlation_is_found_although_no_variable_gives_it_away() -> None:
    people = draw(4000, seed=4)
    twins = exact_twins(people)
    twins[:, PLACE["noise"]] = 0.6 * twins[:, PLACE["income"]] + 0.8 * twins[:, PLACE["noise"]]
    found = compare(twins, people)
    assert not found.passes()
    assert found.columns == ()


def test_a_level_that_never_occurs_is_found_and_its_variable_named() -> None:
    people = draw(6000, seed=5)
    twins = exact_twins(people)
    never = twins[:, 6] == 1.0
    twins[never, 6], twins[never, 4] = 0.0, 1.0
    found = compare(twins, people)
    assert found.low > 0.55
    assert [name for name, _ in found.columns] == ["city"]


def test_a_number_between_levels_is_found() -> None:
    """Where twins of a category, or of a yes/no column, are no people that could be."""
    people = draw(1000, seed=6)
    twins = exact_twins(people)
    twins[:, PLACE["owns"]] = 0.2 + 0.6 * twins[:, PLACE["owns"]]
    found = compare(twins, people)
    assert found.low > 0.97
    assert found.columns[0][0] == "owns"


def test_variables_come_largest_first_and_no_more_than_five() -> None:
    rng = np.random.default_rng(7)
    real = np.column_stack([rng.choice([-1.0, 1.0], 2000), rng.normal(size=(2000, 8))])
    twins = exact_twins(real)
    twins[:, 1:] += 0.2 * np.arange(1, 9)
    found = twin_test(twins, real, [f"v{k}" for k in range(9)], 0)
    assert found is not None
    assert [name for name, _ in found.columns] == ["v8", "v7", "v6", "v5", "v4"]
    assert sorted((auc for _, auc in found.columns), reverse=True) == [auc for _, auc in found.columns]


def test_one_small_group_of_three_percent() -> None:
    people = draw(8000, seed=8, share=0.03)
    found = compare(exact_twins(people), people)
    assert found.low < 0.5 < found.high
    assert 0.04 < found.high - found.low < 0.2
    twins = exact_twins(people)
    twins[:, PLACE["income"]] += 1.5
    assert compare(twins, people).low > 0.75


def test_few_people_have_a_wide_interval_and_too_few_none() -> None:
    people = np.concatenate([draw(40, seed=9, share=1.0), draw(40, seed=10, share=0.0)])
    found = compare(exact_twins(people), people)
    assert found.high - found.low > 0.2
    assert found.passes()
    few = people[11:]  # 29 people of one group
    assert twin_test(exact_twins(few), few, VARIABLES, 0) is None
    assert twin_test(exact_twins(people)[:0], people, VARIABLES, 0) is None


def test_twins_whom_everybody_recognises_still_have_an_interval() -> None:
    people = np.concatenate([draw(40, seed=9, share=1.0), draw(40, seed=10, share=0.0)])
    twins = exact_twins(people)
    twins[:, 1:] += 50.0
    found = compare(twins, people)
    assert found.auc > 0.95
    assert 0.8 < found.low < 0.99


def test_the_direction_with_more_twins_counts_for_more() -> None:
    """Only twins of the first group are wrong; they are a tenth, or nine tenths."""
    aucs = []
    for share in (0.1, 0.9):
        people = draw(4000, seed=11, share=share)
        twins = exact_twins(people)
        twins[people[:, 0] < 0.0, PLACE["income"]] += 3.0
        aucs.append(compare(twins, people).auc)
    wrong = 0.98
    assert aucs == pytest.approx([0.1 * wrong + 0.9 * 0.5, 0.9 * wrong + 0.1 * 0.5], abs=0.04)


@pytest.mark.slow
def test_the_interval_holds_one_half_nine_times_in_ten() -> None:
    """20 tables with exact twins: enough to notice an interval that is far too narrow."""
    held = 0
    for seed in range(20):
        people = draw(240, seed=100 + seed)
        found = compare(exact_twins(people), people, seed)
        held += found.low <= 0.5 <= found.high
    assert held >= 15  # 18 are expected; fewer than 15 have a probability of 0.04 at 0.9


# More than two groups, and of one attribute among several


def draw_groups(n: int, groups: int, seed: int) -> tuple[Floats, Floats]:
    """People of k groups, and all k - 1 exact twins of each."""
    rng = np.random.default_rng(seed)
    people = draw(n, seed)
    own = people[:, 0] = rng.integers(groups, size=n)
    others = [number + (number >= own) for number in range(groups - 1)]
    return people, np.concatenate([np.column_stack([to, people[:, 1:]]) for to in others])


@pytest.mark.parametrize("groups", [3, 5])
def test_exact_twins_in_every_group_pass(groups: int) -> None:
    people, twins = draw_groups(3000, groups, seed=20)
    found = compare(twins, people)
    assert found.low < 0.5 < found.high
    assert found.high < 0.55
    assert found.columns == ()


def test_wrong_twins_in_one_of_three_groups_are_found() -> None:
    people, twins = draw_groups(3000, 3, seed=21)
    twins[twins[:, 0] == 2.0, PLACE["income"]] += 1.0  # an AUC of 0.76 in a third of the directions
    found = compare(twins, people)
    assert 0.55 < found.low < found.auc < 0.62
    assert [name for name, _ in found.columns] == ["income"]


@pytest.mark.slow
def test_twins_are_compared_with_people_of_their_own_state() -> None:
    """Two attributes as one code: income differs between the groups of the second, which twins of the first keep."""
    people = draw(4000, seed=22)
    rng = np.random.default_rng(22)
    first, second = rng.integers(2, size=(2, 4000))
    people[:, 0] = 2 * first + second
    people[:, PLACE["income"]] += 2.0 * second
    twins = people.copy()
    twins[:, 0] = 2 * (1 - first) + second
    assert compare(twins, people).passes()
    moved = people.copy()
    moved[:, 0] = 2 * first + 1 - second  # without what follows from it
    assert not compare(moved, people).passes()


@pytest.mark.slow
def test_the_interval_of_three_groups_holds_one_half_nine_times_in_ten() -> None:
    held = 0
    for seed in range(20):
        people, twins = draw_groups(240, 3, seed=200 + seed)
        found = compare(twins, people, seed)
        held += found.low <= 0.5 <= found.high
    assert held >= 15


def test_directions_err_together_as_far_as_they_share_people() -> None:
    """Of two directions half; of more, each shares half with all others together."""
    one = [module._Direction(np.zeros((90, 1)), np.arange(90) < 45, np.arange(90) % FOLDS, 45)]
    for count in (1, 2, 3, 6):
        auc, error = module._mean([(0.6, 0.01)] * count, one * count)
        alike = 0.5 / max(1, count - 1)
        share = np.full(count, 1.0 / count)
        together = np.full((count, count), alike) + (1.0 - alike) * np.eye(count)
        assert auc == pytest.approx(0.6)
        assert error == pytest.approx(np.sqrt(2.0 * 0.01 * share @ together @ share))


def test_the_mean_over_the_folds_and_its_variance_by_brute_force() -> None:
    rng = np.random.default_rng(12)
    score, is_twin = np.round(rng.normal(size=120), 1), np.arange(120) < 50
    score[is_twin] += 0.4
    one = module._Direction(np.zeros((120, 1)), is_twin, np.arange(120) % FOLDS, 50)
    auc, variance = module._area(score, one)
    aucs, total = [], 0.0
    for k in range(FOLDS):
        here = one.fold == k
        aucs.append(roc_auc_score(is_twin[here], score[here]))
        wins = np.array([[(t > r) + 0.5 * (t == r) for r in score[here & ~is_twin]] for t in score[here & is_twin]])
        total += wins.mean(axis=1).var(ddof=1) / wins.shape[0] + wins.mean(axis=0).var(ddof=1) / wins.shape[1]
    assert auc == pytest.approx(np.mean(aucs))
    assert variance == pytest.approx(max(total / FOLDS**2, module._usual_variance(auc, 50, 70)))


def test_the_usual_variance() -> None:
    assert module._usual_variance(0.5, 40, 60) == pytest.approx(101.0 / (12.0 * 40.0 * 60.0))
    assert module._usual_variance(0.3, 40, 40) == pytest.approx(module._usual_variance(0.7, 40, 40))
    assert 0.0 < module._usual_variance(1.0, 40, 60) < module._usual_variance(0.9, 40, 60)


@pytest.mark.slow
def test_the_same_seed_the_same_test_and_inputs_stay() -> None:
    people = draw(10_000, seed=13)  # more than are compared in a direction
    twins = exact_twins(people)
    before = people.copy(), twins.copy()
    one, same, other = (compare(twins, people, seed) for seed in (1, 1, 2))
    assert one == same
    assert one != other
    assert one.people == 16_000
    np.testing.assert_array_equal(people, before[0])
    np.testing.assert_array_equal(twins, before[1])


def test_a_constant_column_and_one_column_alone_do_no_harm() -> None:
    people = draw(600, seed=14)
    people[:, PLACE["noise"]] = 3.0
    assert compare(exact_twins(people), people).passes()
    alone = people[:, :2]
    found = twin_test(exact_twins(alone), alone, VARIABLES[:2], 0)
    assert found is not None
    assert found.passes()


def test_it_can_be_written_and_read() -> None:
    found = TwinTest(0.71, 0.69, 0.73, 812, (("income", 0.68), ("city", 0.55)))
    assert TwinTest.from_dict(json.loads(json.dumps(found.to_dict()))) == found


@pytest.mark.parametrize(("low", "passes"), [(0.549, True), (0.55, False), (0.3, True)])
def test_the_limit(low: float, passes: bool) -> None:
    assert TwinTest(0.6, low, 0.7, 100).passes() is passes


class Listener(Progress):
    def __init__(self, stop_after: int) -> None:
        self.steps: list[tuple[int, int]] = []
        self._stop_after = stop_after

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        self.steps.append((step, total))

    def stop_requested(self) -> bool:
        return len(self.steps) >= self._stop_after


def test_it_reports_its_steps_and_can_be_stopped() -> None:
    people = draw(300, seed=15)
    listener = Listener(stop_after=99)
    twin_test(exact_twins(people), people, VARIABLES, 0, listener)
    assert listener.steps == [(k, 11) for k in range(1, 12)]
    listener = Listener(stop_after=3)
    with pytest.raises(AuditCancelled):
        twin_test(exact_twins(people), people, VARIABLES, 0, listener)
    assert len(listener.steps) == 3


def test_what_cannot_be_compared_is_refused() -> None:
    people = draw(100, seed=16)
    with pytest.raises(ValueError, match="'twins' must have a column for each of 10 entries"):
        twin_test(people[:, 1:], people, VARIABLES, 0)
    with pytest.raises(ValueError, match="first column of 'real' must be the code of the group, a whole number"):
        twin_test(people, people[:, ::-1], VARIABLES, 0)
    people[3, 4] = np.nan
    with pytest.raises(ValueError, match="missing or infinite"):
        twin_test(people, people, VARIABLES, 0)
