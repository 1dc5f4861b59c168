"""What goes with a path, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.intervals import Interval, ResampledScores, interval
from cfad_core.evaluation.path_shares import ChangingRatios, PathShare, PathShares, sorted_rows

WHOLE = np.array([[1.0, 1.0, 0.0, 0.0], [1.0, 0.5, 0.5, 0.0]])  # two models, four people


def test_ratios_by_hand() -> None:
    ratios = ChangingRatios(WHOLE, seed=None)
    left = np.array([[1.0, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 1.0]])
    assert ratios.ratio(WHOLE) == Estimate(0.5)
    assert ratios.ratio(left) == Estimate(0.375)
    assert ratios.gone(left) == Estimate(0.125)
    assert ratios.gone_share(left) == Estimate(0.25)
    assert ratios.gone_share(np.ones((2, 4))) == Estimate(-1.0)  # without a path, more may change
    assert ChangingRatios(0.0 * WHOLE, seed=None).gone_share(left) == Estimate(None)


def test_intervals_are_those_of_all_other_numbers() -> None:
    """The same samples of the people, the same unknown person; and what goes is paired."""
    rng = np.random.default_rng(0)
    score, twins = rng.normal(size=60), rng.normal(size=(25, 2, 60))
    changes = ((twins > 0.5) != (score > 0.5)).mean(axis=1)
    ratios = ChangingRatios(changes, seed=3)
    usual = ResampledScores(score, twins, np.zeros(60), 3).changing_ratio(np.array([0.5]))[:, 0]
    bounds = interval(usual)
    found = ratios.ratio(changes)
    assert bounds is not None
    assert found.interval is not None
    assert (found.interval.low, found.interval.high) == pytest.approx((bounds.low, bounds.high))
    assert ratios.gone(changes) == Estimate(0.0, Interval(0.0, 0.0))
    left = np.where(np.arange(60) < 30, 0.0, changes)
    gone = ratios.gone(left)
    assert gone.value == pytest.approx(changes[:, :30].sum(axis=1).mean() / 60)
    assert gone.interval is not None
    assert gone.interval.low < changes[:, :30].sum() / 1500 < gone.interval.high
    share = ratios.gone_share(left)
    assert share.interval is not None
    assert share.interval.high == pytest.approx(gone.interval.high / changes.mean())


def test_an_interval_holds_its_number() -> None:
    """Every model sees the same one of 40 people change: samples may lack that person, and the number is kept."""
    changes = np.zeros((20, 40))
    changes[:, 0] = 1.0
    found = ChangingRatios(changes, seed=0).ratio(changes)
    assert found.interval is not None
    assert found.interval.low <= 1.0 / 40.0 <= found.interval.high


def test_names_and_order() -> None:
    def row(*path: str, gone: float) -> PathShare:
        return PathShare(path, 3, Estimate(0.1), Estimate(gone), Estimate(0.1))

    rest, small, large = row(gone=0.9), row("S", "A", gone=0.1), row("S", "A", "B", gone=0.4)
    assert [one.name for one in sorted_rows([rest, small, large])] == ["S → A → B", "S → A", "all other paths"]
    assert [one.is_direct for one in (rest, small, large)] == [False, True, False]
    nothing = Estimate(0.0)
    shares = PathShares(100, 20, Estimate(0.1), nothing, nothing, None, ())
    assert shares.says_enough
    assert not PathShares(99, 20, Estimate(0.1), nothing, nothing, None, ()).says_enough
