"""What is drawn of a curve: thresholds that mean something, not those that look fair as nearly all are flagged."""

from __future__ import annotations

import numpy as np

from cfad_core.audit.drawing import sensible


def test_thresholds_that_flag_too_many_are_left_out() -> None:
    rate = np.linspace(1.0, 0.0, 11)
    kept = sensible(rate, rate, rate, 0.31)  # without labels the quality is the flag rate itself
    assert rate[kept].max() < 0.31
    assert len(kept) == 4
    assert len(sensible(rate, rate, rate, -1.0)) == 0


def test_the_end_where_all_gets_worse_is_left_out() -> None:
    """Towards the left flagging more first helps, then makes outcomes change more often and flags match worse."""
    rate = np.array([0.5, 0.4, 0.3, 0.2, 0.1, 0.0])
    ratio = np.array([0.30, 0.25, 0.20, 0.10, 0.05, 0.0])
    quality = np.array([0.40, 0.55, 0.60, 0.55, 0.50, 0.45])
    assert rate[sensible(rate, ratio, quality, 0.5)].tolist() == [0.3, 0.2, 0.1, 0.0]
    ratio[0] = 0.01  # less changes, but it matches worse than nobody flagged: a little fairer than the others, though
    quality[0] = 0.46
    assert 0.5 in rate[sensible(rate, ratio, quality, 0.5)]
