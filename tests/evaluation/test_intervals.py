from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import ks_2samp

from cfad_core.evaluation.intervals import Interval, ResampledScores, interval


def test_the_bounds_of_twenty_values_by_hand() -> None:
    """Ranks 0.05 * 21 = 1.05 and 19.95 of the values in their order."""
    values = np.arange(1.0, 21.0) ** 2
    found = interval(np.random.default_rng(0).permutation(values))
    assert found is not None
    assert found.low == pytest.approx(1.0 + 0.05 * (4.0 - 1.0))
    assert found.high == pytest.approx(361.0 + 0.95 * (400.0 - 361.0))
    assert ((values > found.low) & (values < found.high)).sum() == 18  # all but the smallest and the largest


def test_the_bounds_of_few_values_are_the_extremes() -> None:
    assert interval(np.array([4.0, 1.0, 3.0, 2.0])) == Interval(low=1.0, high=4.0)
    assert interval(np.full(20, 0.25)) == Interval(0.25, 0.25)


@pytest.mark.parametrize("draw", ["uniform", "standard_normal", "standard_exponential"])
@pytest.mark.parametrize("worlds", [20, 40])
def test_one_more_value_lies_within_nine_times_in_ten(draw: str, worlds: int) -> None:
    rng = np.random.default_rng(0)
    values = getattr(rng, draw)(size=(4000, worlds + 1))
    inside = 0
    for row in values:
        found = interval(row[:-1])
        assert found is not None
        inside += found.low <= row[-1] <= found.high
    assert inside / len(values) == pytest.approx(0.9, abs=0.02)  # its standard error is 0.005


def test_undefined_values_have_no_interval() -> None:
    assert interval(np.array([0.1, np.nan, 0.3, 0.2])) is None
    assert interval(np.array([])) is None


def draw_scores(
    n: int = 60, models: int = 6, draws: int = 1, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """With ties, and with scores that equal a threshold; twins (models, draws, n)."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.normal(size=n), 1)
    twins = np.round(score + rng.normal(0.3, 0.7, (models, draws, n)), 1)
    return score, twins, rng.choice([-1.0, 1.0], n, p=[0.3, 0.7])


def same_for_all(score: np.ndarray, models: int) -> np.ndarray:
    """One twin by each model that scores like its person, (models, 1, n)."""
    return np.tile(score, (models, 1, 1))


THRESHOLDS = np.array([-9.0, -0.5, 0.0, 0.3, 1.0, 9.0])


@pytest.mark.parametrize("draws", [1, 3])
def test_resampled_scores_against_a_plain_loop(draws: int) -> None:
    score, twins, s = draw_scores(draws=draws)
    found = ResampledScores(score, twins, s, seed=4)
    chances = [np.random.default_rng([4, b]) for b in range(6)]
    people = [chance.integers(0, 60, 60) for chance in chances]
    unseen = [chance.poisson(0.5) for chance in chances]
    assert len({rows.tobytes() for rows in people}) == 6
    assert len(set(unseen)) > 1

    def distance(rows: np.ndarray, b: int) -> float:
        groups = [rows[s[rows] == sign] for sign in (-1.0, 1.0)]
        return max(float(ks_2samp(score[own], twins[b, 0, own]).statistic) for own in groups)

    gaps = [2.0 * distance(np.arange(60), b) - distance(rows, b) for b, rows in enumerate(people)]
    assert min(gaps) > 0.0
    for k, t in enumerate(THRESHOLDS):
        ratio, shift, difference = [], [], []
        for b, rows in enumerate(people):
            here = [score[i] > t for i in rows]
            there = [[twins[b, draw, i] > t for i in rows] for draw in range(draws)]
            changed = [sum(h != o for h, o in zip(here, some, strict=True)) for some in there]
            ratio.append((np.mean(changed) + unseen[b]) / 61)
            shift.append((np.mean([sum(some) for some in there]) - sum(here)) / 60)
            rates = [np.mean([score[i] > t for i in rows if s[i] == sign]) for sign in (-1.0, 1.0)]
            difference.append(rates[1] - rates[0])
        np.testing.assert_allclose(found.changing_ratio(THRESHOLDS)[:, k], ratio, atol=1e-12)
        at, signed = found.at(float(t)), interval(np.array(difference))
        for one, values in ((at.changing_ratio, ratio), (at.flag_rate_shift, shift), (at.distance, gaps)):
            expected = interval(np.array(values))
            assert one is not None
            assert expected is not None
            assert (one.low, one.high) == pytest.approx((expected.low, expected.high))
        assert at.flag_rate_difference is not None
        assert signed is not None
        assert at.flag_rate_difference.high == pytest.approx(max(abs(signed.low), abs(signed.high)))
        lowest = 0.0 if signed.low <= 0.0 <= signed.high else min(abs(signed.low), abs(signed.high))
        assert at.flag_rate_difference.low == pytest.approx(lowest)


@pytest.mark.parametrize("swap", [1.0, -1.0])
def test_a_difference_between_groups_has_no_sign(swap: float) -> None:
    """9 of 10 people of one group are flagged, 1 of 10 of the other: 0.8, whichever comes first."""
    score = np.tile([1.0] * 9 + [0.0] + [0.0] * 9 + [1.0], 100)
    s = swap * np.tile([1.0] * 10 + [-1.0] * 10, 100)
    at = ResampledScores(score, same_for_all(score, 20), s, seed=0).at(0.5)
    assert at.flag_rate_difference is not None
    assert 0.74 < at.flag_rate_difference.low < 0.8 < at.flag_rate_difference.high < 0.86  # its standard error is 0.013


def test_a_difference_that_may_have_either_sign_may_be_none() -> None:
    score, s = np.tile([1.0, 0.0], 100), np.repeat([-1.0, 1.0], 100)
    at = ResampledScores(score, same_for_all(score, 20), s, seed=0).at(0.5)
    assert at.flag_rate_difference is not None
    assert at.flag_rate_difference.low == 0.0
    assert 0.05 < at.flag_rate_difference.high < 0.25  # its standard error is 0.07


def test_one_unknown_person_may_change_in_any_sample() -> None:
    """Of 5 people none changes: half a person does, of 6. Where all change, there are not more than all."""
    score = np.zeros(5)
    found = ResampledScores(score, np.zeros((3000, 1, 5)), np.array([-1.0, 1.0, 1.0, -1.0, 1.0]), seed=0)
    changed = 6.0 * found.changing_ratio(np.array([0.5]))[:, 0]
    np.testing.assert_allclose(changed, np.round(changed), atol=1e-9)
    assert changed.mean() == pytest.approx(0.5, abs=4.0 * np.sqrt(0.5 / 3000))
    assert (changed == 0.0).mean() == pytest.approx(np.exp(-0.5), abs=0.04)
    everybody = ResampledScores(score, np.ones((200, 1, 5)), np.ones(5), seed=0).changing_ratio(np.array([0.5]))
    assert everybody.max() == 1.0


def test_a_distance_is_corrected_for_what_sampling_adds() -> None:
    """Scores of two worlds, drawn alike: the distance of the people at hand is 0.07, samples of them lie 0.1 apart."""
    rng = np.random.default_rng(0)
    s = np.repeat([-1.0, 1.0], 300)
    score, twins = rng.normal(size=600), rng.normal(size=(40, 1, 600))
    found = ResampledScores(score, twins, s, seed=0).distance
    assert found is not None
    plain = [max(ks_2samp(score[s == sign], some[0, s == sign]).statistic for sign in (-1.0, 1.0)) for some in twins]
    assert 0.5 * (found.low + found.high) < np.median(plain)
    assert found.low >= 0.0


def test_the_band_is_the_interval_at_each_threshold() -> None:
    found = ResampledScores(*draw_scores(models=20), seed=4)
    low, high = found.band(THRESHOLDS)
    for k, t in enumerate(THRESHOLDS):
        one = found.at(float(t)).changing_ratio
        assert one is not None
        assert (low[k], high[k]) == (one.low, one.high)
    assert (low <= high).all()
    assert (low[[0, -1]] == 0.0).all()  # where everybody is flagged, or nobody, no outcome changes
    assert (high[[0, -1]] <= 4.0 / 61.0).all()


def test_the_seed_decides() -> None:
    case = draw_scores()
    one, same, other = (ResampledScores(*case, seed=seed).at(0.3) for seed in (1, 1, 2))
    assert one == same
    assert one != other


def test_the_same_scores_in_every_world_change_nobody() -> None:
    score, _, s = draw_scores()
    at = ResampledScores(score, same_for_all(score, 20), s, seed=0).at(0.0)
    nothing = Interval(0.0, 0.0)
    assert (at.flag_rate_shift, at.distance) == (nothing, nothing)
    assert at.changing_ratio is not None
    assert at.changing_ratio.low == 0.0  # but for the unknown person
    assert at.changing_ratio.high <= 4.0 / 61.0
    assert at.flag_rate_difference is not None
    assert at.flag_rate_difference.high > 0.0


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_without_one_group_what_compares_groups_is_undefined(sign: float) -> None:
    """Whichever group it is: they are treated alike."""
    score, twins, _ = draw_scores()
    at = ResampledScores(score, twins, np.full(60, sign), seed=0).at(0.0)
    assert at.flag_rate_difference is None
    assert at.distance is None
    assert at.changing_ratio is not None
    assert at.flag_rate_shift is not None


def test_ratios_of_models_are_means_over_people_and_draws() -> None:
    score, twins, s = draw_scores(models=3, draws=4)
    found = ResampledScores(score, twins, s, seed=0).ratios_of_models(0.3)
    by_hand = [np.mean([(one > 0.3) != (score > 0.3) for one in some]) for some in twins]
    np.testing.assert_allclose(found, by_hand, atol=1e-12)
