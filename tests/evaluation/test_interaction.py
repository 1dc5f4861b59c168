"""Two sensitive attributes at once: against plain loops, by hand, and against known truths."""

from __future__ import annotations

import json

import numpy as np
import pytest

from cfad_core.evaluation.interaction import Interaction, Share, cancelling_line, interaction, interaction_line
from cfad_core.evaluation.intervals import Interval, ResampledScores, draw_people, interval

FIELDS = ("first", "second", "both", "only_both", "cancels")


def draw_twins(
    m: int = 70, models: int = 6, draws: int = 1, seed: int = 0
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """With ties, and with scores that equal a threshold."""
    rng = np.random.default_rng(seed)
    score = np.round(rng.normal(size=m), 1)
    first, second, both = (np.round(score + rng.normal(0.2, 0.7, (models * draws, m)), 1) for _ in range(3))
    return score, first, second, both


@pytest.mark.parametrize("draws", [1, 3])
@pytest.mark.parametrize("t", [-9.0, 0.0, 0.3, 1.0])
def test_against_a_plain_loop(draws: int, t: float) -> None:
    score, first, second, both = draw_twins(draws=draws)
    found = interaction(score, first, second, both, t, models=6, seed=3)
    changes = {name: np.zeros((6, 70)) for name in FIELDS}
    for r in range(6 * draws):
        for i in range(70):
            here = score[i] > t
            one, two, together = (bool((twins[r, i] > t) != here) for twins in (first, second, both))
            seen = {
                "first": one,
                "second": two,
                "both": together,
                "only_both": together and not one and not two,
                "cancels": (one or two) and not together,
            }
            for name, value in seen.items():
                changes[name][r // draws, i] += value / draws
    for name in FIELDS:
        share: Share = getattr(found, name)
        assert share.value == pytest.approx(changes[name].mean(), abs=1e-12)
        drawn = [draw_people(70, 3, b) for b in range(6)]
        expected = interval(
            np.array([(changes[name][b, rows].sum() + unseen) / 71.0 for b, (rows, unseen) in enumerate(drawn)])
        )
        assert expected is not None
        assert share.value is not None
        assert share.interval is not None
        ends = min(expected.low, share.value), max(expected.high, share.value)
        assert (share.interval.low, share.interval.high) == pytest.approx(ends, abs=1e-12)


def test_a_single_move_is_what_an_audit_of_it_says() -> None:
    score, first, second, both = draw_twins(models=20)
    found = interaction(score, first, second, both, 0.3, models=20, seed=5)
    today = ResampledScores(score, first[:, None], np.ones(70), seed=5).at(0.3).changing_ratio
    assert today is not None
    assert found.first.interval is not None
    assert (found.first.interval.low, found.first.interval.high) == pytest.approx((today.low, today.high), abs=1e-12)


def test_by_hand() -> None:
    """Nobody's outcome, the first's only if both change, the second's taken back, the third's by all, by the second."""
    score = np.array([0.0, 0.0, 0.0, 0.0, 1.0])
    first = np.array([[0.0, 0.0, 1.0, 1.0, 1.0]])
    second = np.array([[0.0, 0.0, 0.0, 1.0, 0.0]])
    both = np.array([[0.0, 1.0, 0.0, 1.0, 0.0]])
    found = interaction(score, first, second, both, 0.5, models=1, seed=None)
    assert [getattr(found, name) for name in FIELDS] == [Share(x) for x in (0.4, 0.4, 0.6, 0.2, 0.2)]
    assert found.n == 5


def test_either_attribute_may_come_first() -> None:
    score, first, second, both = draw_twins()
    one = interaction(score, first, second, both, 0.3, models=6, seed=1)
    other = interaction(score, second, first, both, 0.3, models=6, seed=1)
    assert (other.first, other.second) == (one.second, one.first)
    assert (other.both, other.only_both, other.cancels) == (one.both, one.only_both, one.cancels)


def test_who_changes_with_both_is_counted_once() -> None:
    """All who change in any move: in a single one, or only in both; those who change with both did not cancel."""
    score, first, second, both = draw_twins()
    found = interaction(score, first, second, both, 0.3, models=6, seed=None)
    here = score > 0.3
    single = (((first > 0.3) != here) | ((second > 0.3) != here)).mean()
    assert found.only_both.value is not None
    assert found.both.value is not None
    assert found.cancels.value is not None
    assert found.both.value - found.only_both.value == pytest.approx(single - found.cancels.value)


def test_an_excess_is_covered_nine_times_in_ten() -> None:
    """Models err by what the whole errs and, neighbours in opposite directions, by what their halves err."""
    rng, right = np.random.default_rng(0), []
    for seed in range(300):
        truth, half = rng.uniform(0.02, 0.08), rng.normal(size=10)
        ratio = truth * (1.0 + 0.2 * rng.normal() + 0.2 * np.stack([half, -half], axis=1).ravel())
        both = (rng.uniform(size=300) < np.abs(ratio)[:, None]).astype(np.float64)
        found = interaction(np.zeros(300), np.zeros((20, 300)), np.zeros((20, 300)), both, 0.5, models=20, seed=seed)
        assert found.only_both.interval is not None
        right.append(found.only_both.interval.low <= truth <= found.only_both.interval.high)
        assert found.first.value == 0.0
        assert found.first.interval is not None
        assert 0.0 < found.first.interval.high < 0.02  # an unknown person may still change
    assert np.mean(right) == pytest.approx(0.91, abs=0.05)  # three standard errors


def found_of(only_both: Share, cancels: Share, n: int | None = 100) -> Interaction:
    return Interaction(0.5, n, Share(0.1), Share(0.1), Share(0.1), only_both, cancels)


def test_sentences() -> None:
    found = found_of(Share(0.012, Interval(0.006, 0.021)), Share(0.004, Interval(0.0, 0.009)))
    assert interaction_line(found, "sex", "race") == (
        "For 1.2 % of people (0.6 % to 2.1 %) the outcome changes only if sex and race both change."
    )
    assert cancelling_line(found, "sex", "race") == (
        "For 0.4 % of people (0 % to 0.9 %) the outcome changes if sex or race changes alone, but not if both do."
    )
    plain = found_of(Share(0.0), Share(0.0002))
    assert interaction_line(plain, "sex", "race").startswith("For 0.0 % of people the outcome changes only if")
    assert cancelling_line(plain, "sex", "race").startswith("For under 0.1 % of people the outcome changes if")
    for line in (interaction_line, cancelling_line):
        assert line(found_of(Share(), Share(), 0), "sex", "race") == "Nobody was judged."


@pytest.mark.parametrize("seed", [None, 0])
def test_nobody(seed: int | None) -> None:
    nothing = np.zeros((4, 0))
    found = interaction(np.zeros(0), nothing, nothing, nothing, 0.5, models=4, seed=seed)
    assert [getattr(found, name) for name in FIELDS] == [Share()] * 5
    assert json.loads(json.dumps(found.to_dict(), allow_nan=False))["n"] == 0
    assert found.suppressed() == found


@pytest.mark.parametrize(("people", "hidden"), [(9, True), (10, False)])
def test_few_people_are_suppressed(people: int, hidden: bool) -> None:
    found = interaction(*draw_twins(people), 0.3, models=6, seed=0)
    shown = found.suppressed()
    assert (shown == found) is not hidden
    if hidden:
        assert shown.n is None
        assert [getattr(shown, name) for name in FIELDS] == [Share()] * 5
    assert shown.suppressed() == shown
    written = json.loads(json.dumps(shown.to_dict(), allow_nan=False))
    assert set(written) == {"threshold", "n", *FIELDS}
    assert (written["both"]["value"] is None) is hidden


def test_what_does_not_fit_is_refused() -> None:
    score, first, second, both = draw_twins()
    with pytest.raises(ValueError, match=r"of 70 people; got shapes \(6, 70\), \(5, 70\), \(6, 70\)"):
        interaction(score, first, second[:5], both, 0.3, models=6, seed=0)
    with pytest.raises(ValueError, match="of 60 people; got shapes"):
        interaction(score[:60], first, second, both, 0.3, models=6, seed=0)
    for models in (0, 4):
        with pytest.raises(ValueError, match=f"by each of {models} models; got 6 twins in all"):
            interaction(score, first, second, both, 0.3, models=models, seed=0)
