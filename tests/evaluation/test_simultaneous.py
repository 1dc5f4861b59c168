"""Intervals of many shares at once: by hand, and against shares whose errors are known."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.evaluation.simultaneous import simultaneous_intervals


def angle(share: float) -> float:
    return float(np.arcsin(np.sqrt(share)))


def test_by_a_plain_loop() -> None:
    rng = np.random.default_rng(0)
    ratio, people = np.array([0.02, 0.05, 0.3]), np.array([500.0, 40.0, 1000.0])
    resampled = rng.beta(3.0, 40.0, (6, 2, 3))
    errors = [[[angle(x) - angle(r) for x, r in zip(s, ratio, strict=True)] for s in model] for model in resampled]
    least = [0.5 * angle(1.0 / (n + 1.0)) for n in people]

    def spread(models: list[int], p: int) -> float:
        return max(float(np.sqrt(np.mean([e[p] ** 2 for b in models for e in errors[b]]))), least[p])

    critical = []
    for sample in range(2):
        values = []
        for b in range(6):
            others = [c for c in range(6) if c // 2 != b // 2]
            values.append(max(abs(errors[b][sample][p]) / spread(others, p) for p in range(3)))
        critical.append(float(np.max(values)))  # of fewer than 9 values, the 90 % quantile is the largest
    found = simultaneous_intervals(ratio, resampled, people)
    for p, one in enumerate(found):
        width = np.mean(critical) * spread(list(range(6)), p)
        low, high = np.clip((angle(ratio[p]) - width, angle(ratio[p]) + width), 0.0, np.pi / 2.0)
        assert (one.low, one.high) == pytest.approx((np.sin(low) ** 2, np.sin(high) ** 2))


@pytest.mark.parametrize("ratio", [0.0, 1.0])
def test_without_any_error_a_share_is_its_own_interval(ratio: float) -> None:
    """That never happens with samples that have an unknown person in them, but it must not fail."""
    (found,) = simultaneous_intervals(np.array([ratio]), np.full((20, 3, 1), ratio), np.array([50.0]))
    assert (found.low, found.high) == pytest.approx((ratio, ratio))


def test_one_large_share_does_not_narrow_what_is_counted_on_few() -> None:
    """A pair whose models agree to the last bit, of 50 people, is given the width that half a person has at least."""
    rng = np.random.default_rng(0)
    other = np.clip(0.1 + 0.01 * rng.normal(size=(20, 5)), 0.0, 1.0)
    resampled = np.stack([np.zeros((20, 5)), other], axis=2)
    first, _ = simultaneous_intervals(np.array([0.0, 0.1]), resampled, np.array([50.0, 5000.0]))
    assert first.low == 0.0
    assert 0.01 < first.high < 0.06  # one of 51 is 0.02


def test_more_shares_need_wider_intervals() -> None:
    rng = np.random.default_rng(0)
    resampled = np.clip(0.1 + 0.02 * rng.normal(size=(20, 10, 30)), 0.0, 1.0)
    widths = []
    for count in (1, 5, 30):
        found = simultaneous_intervals(np.full(count, 0.1), resampled[:, :, :count], np.full(count, 10**6))
        widths.append(found[0].high - found[0].low)
    assert widths[0] < widths[1] < widths[2]
    alike = simultaneous_intervals(np.full(30, 0.1), resampled[:, :, :1].repeat(30, axis=2), np.full(30, 10**6))
    assert alike[0].high - alike[0].low == pytest.approx(widths[0])  # thirty times the same is one


def test_nine_times_in_ten_all_hold_their_truth() -> None:
    """Errors of the whole are drawn as those of its halves are, half of them shared by all six shares."""
    rng, right = np.random.default_rng(1), []
    for _ in range(400):
        truth = rng.uniform(0.2, 0.3, 6)

        def errors(count: int) -> np.ndarray:
            found: np.ndarray = 0.02 * (rng.normal(size=(count, 1)) + rng.normal(size=(count, 6)))
            return found

        half = errors(10)
        whole = truth + errors(1)[0]
        by_model = whole + np.stack([half, -half], axis=1).reshape(20, 1, 6)
        found = simultaneous_intervals(whole, by_model, np.full(6, 10**6))
        right.append(all(one.low <= true <= one.high for one, true in zip(found, truth, strict=True)))
    assert np.mean(right) == pytest.approx(0.9, abs=0.045)  # three standard errors


def test_what_does_not_fit_is_refused() -> None:
    for models in (2, 7):
        with pytest.raises(ValueError, match=f"even number of models, 4 or more; got those of {models}"):
            simultaneous_intervals(np.array([0.1]), np.full((models, 1, 1), 0.1), np.array([10.0]))
    assert simultaneous_intervals(np.zeros(0), np.zeros((4, 1, 0)), np.zeros(0)) == []
