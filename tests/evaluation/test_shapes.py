"""Whatever scores are, their shapes are curves or bars whose area is that of the people."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.core.arrays import Floats
from cfad_core.evaluation.counts import ScoreCounts, edges_for
from cfad_core.evaluation.densities import score_densities
from cfad_core.evaluation.shapes import (
    BothWorlds,
    GroupShape,
    Shapes,
    flagged_line,
    score_shapes,
    shapes_of_bins,
    smoothing_line,
    suits_log,
)
from cfad_core.evaluation.tally import Tally

RNG = np.random.default_rng(0)
SCORES: dict[str, Floats] = {
    "log-normal": RNG.lognormal(size=800),
    "negative": RNG.normal(size=500) - 5.0,
    "shares": RNG.random(400),
    "exponential, at 0": RNG.exponential(size=900),
    "half of them 0": np.r_[np.zeros(200), RNG.random(200)],
    "few people": RNG.random(12),
    "alike": np.full(40, 3.0),
    "flags": np.repeat([0.0, 1.0], [35, 5]),
}


def both(scores: Floats, twins: Floats | None = None) -> BothWorlds:
    return BothWorlds(Tally.of(scores), Tally.of(scores if twins is None else twins))


def area(one: Shapes, heights: Floats) -> float:
    places = np.log10(one.scores) if one.log else one.scores
    if one.kind == "bars":
        return float(heights.sum())
    return float((heights * np.diff(places)).sum() if one.kind == "steps" else np.trapezoid(heights, places))


@pytest.mark.parametrize("exact", [False, True])
@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("name", SCORES)
def test_each_area_is_everybody(name: str, log: bool, exact: bool) -> None:
    scores = SCORES[name]
    one = score_shapes({"a": both(scores, np.repeat(scores, 3)), "b": both(scores)}, 0.9, log=log, exact=exact)
    assert one.log == (log and scores.min() > 0.0 and one.kind != "bars")
    for group in one.groups:
        assert group.people is not None
        assert group.twins is not None
        assert area(one, group.people) == pytest.approx(1.0, abs=0.03)
        assert area(one, group.twins) == pytest.approx(1.0, abs=0.03)
        assert group.flagged == pytest.approx((scores > 0.9).mean())
    assert (one.kind == "bars") == (name in ("alike", "flags"))
    assert one.beyond == pytest.approx(0.0, abs=1e-9)


def test_nothing_is_drawn_below_a_natural_bound() -> None:
    for name in ("exponential, at 0", "shares"):
        one = score_shapes({"a": both(SCORES[name])}, 0.5)
        (group,) = one.groups
        assert group.people is not None
        assert one.scores[0] == 0.0
        true = 1.0 if name == "shares" else 1.0 / SCORES[name].mean()
        assert group.people[0] == pytest.approx(true, rel=0.3)  # half of it without the reflection
    assert score_shapes({"a": both(SCORES["shares"])}, 0.5).scores[-1] == 1.0


def test_few_who_are_far_from_all_others_do_not_squeeze_them() -> None:
    scores = np.r_[RNG.normal(size=5_000), 1e6]
    one = score_shapes({"a": both(scores)}, 2.0)
    assert one.scores[-1] < 10.0
    assert one.beyond == pytest.approx(1.0 / 5_001.0)


def test_counts_of_bins_have_the_shape_of_the_scores() -> None:
    score = np.random.default_rng(2).gamma(2.0, size=50_000)
    none = ScoreCounts.none(edges_for(score[:20_000], np.zeros(0)), 1, labelled=False)
    tally, _ = none.with_people(score, np.zeros(50_000, dtype=np.intp), None).cells.tallies()
    for log in (False, True):
        counted, exact = (score_shapes({"a": BothWorlds(one, one)}, 5.0, log=log) for one in (tally, Tally.of(score)))
        heights, true = counted.groups[0].people, exact.groups[0].people
        assert heights is not None
        assert true is not None
        at = np.interp(counted.scores, exact.scores, true)
        assert np.abs(heights - at).max() < 0.02 * true.max()


def test_groups_of_one_detector_are_smoothed_by_one_rule() -> None:
    """People who are alike have equal scores; one group of them would become a row of spikes."""
    rng = np.random.default_rng(3)
    rounded, others = np.round(rng.normal(size=600), 1), [rng.normal(size=600) for _ in range(3)]
    one = score_shapes({"a": both(rounded), **{str(k): both(some) for k, some in enumerate(others)}}, 2.0)
    spreads = [group.spread for group in one.groups if group.spread is not None]
    assert min(spreads) > 0.5 * max(spreads)


def test_nothing_is_said_of_few_people_or_nobody() -> None:
    few = score_shapes({"a": both(np.arange(9.0)), "b": both(np.arange(90.0)), "c": both(np.zeros(0))}, 50.0)
    hidden, shown, nobody = few.groups
    assert hidden == GroupShape("a", 9, None, None, None, None)
    assert hidden.is_hidden
    assert not nobody.is_hidden
    assert nobody.people is None
    assert few.scores[-1] > 80.0
    assert flagged_line(hidden, "if") == "a: fewer than 10 people, not shown."
    assert flagged_line(nobody, "if") == "c: nobody."
    assert flagged_line(shown, "had they been a") == "b: 43.3 % flagged, 43.3 % had they been a."
    without = score_shapes({"a": BothWorlds(Tally.of(np.arange(90.0)), Tally.of(np.zeros(0)))}, 50.0).groups[0]
    assert (without.twins, without.twins_flagged) == (None, None)
    assert flagged_line(without, "if") == "a: 43.3 % flagged."


def test_a_threshold_far_away_is_not_in_the_picture() -> None:
    scores = SCORES["negative"]
    near, far = (score_shapes({"a": both(scores)}, threshold) for threshold in (-1.0, 1e9))
    assert near.place_of_threshold == -1.0
    assert far.place_of_threshold is None
    assert far.scores[-1] < 10.0
    flags = score_shapes({"a": both(SCORES["flags"])}, 0.5)
    assert flags.place_of_threshold == 0.5


def test_the_scale_that_suits() -> None:
    assert suits_log({"a": both(SCORES["log-normal"])})
    for name in ("negative", "shares", "flags", "alike"):
        assert not suits_log({"a": both(SCORES[name])})
    assert not suits_log({"a": both(np.zeros(0))})


def test_how_much_was_smoothed_in_words() -> None:
    one = Shapes("smooth", np.array([1.0, 2.0]), True, 1.5, (GroupShape("a", 50, None, None, None, None, 0.0414),))
    assert smoothing_line(one).endswith("about 10 % lower and higher.")
    two = score_shapes({"a": both(SCORES["negative"]), "b": both(SCORES["negative"][:50])}, -5.0)
    assert smoothing_line(two).endswith("lower and higher (the fewer people, the more).")
    assert smoothing_line(score_shapes({"a": both(SCORES["flags"])}, 0.5)).startswith("There are few different scores")
    assert smoothing_line(score_shapes({"a": both(SCORES["shares"])}, 0.5, exact=True)).startswith("Exact counts")
    assert smoothing_line(Shapes("smooth", np.array([1.0, 2.0]), False, 1.5, ())) == ""


def test_densities_that_were_kept_in_bins_become_curves() -> None:
    scores = SCORES["log-normal"]
    kept = score_densities({"a": scores, "a (counterfactual)": scores, "b": np.zeros(0)}, bins=60, log=True)
    found = shapes_of_bins(kept, 2.0, log=True)
    first, second = found.groups
    assert [first.name, second.name] == ["a", "b"]
    assert first.people is not None
    assert first.people.sum() == pytest.approx(kept.density["a"].sum())
    assert second.people is None
