from __future__ import annotations

import itertools
import json
import warnings
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm
from sklearn.metrics import precision_score, recall_score, roc_auc_score

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.states import Codes, States
from cfad_core.evaluation.auc_draws import auc_with_draws
from cfad_core.evaluation.extremes import Estimate, against_reference, estimate, spread
from cfad_core.evaluation.group_metrics import COMPARED, GroupScores, GroupTable, group_table, shown
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.metrics import GROUP_METRICS, Curves, evaluate
from cfad_core.evaluation.outcomes import ScoreCurve
from cfad_core.evaluation.tally import Tally

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fairlearn.metrics import (
        MetricFrame,
        count,
        demographic_parity_difference,
        demographic_parity_ratio,
        false_negative_rate,
        false_positive_rate,
        selection_rate,
        true_positive_rate,
    )

Case = tuple[Floats, Bools, Codes, list[str], float]

# By metric, fairlearn's or scikit-learn's function, and among whom it counts
ORACLES: dict[str, tuple[Any, Any]] = {
    "flag_rate": (selection_rate, lambda flagged, label: np.ones_like(label)),
    "precision": (precision_score, lambda flagged, label: flagged),
    "true_positive_rate": (true_positive_rate, lambda flagged, label: label),
    "false_positive_rate": (false_positive_rate, lambda flagged, label: ~label),
    "false_negative_rate": (false_negative_rate, lambda flagged, label: label),
}


@st.composite
def cases(draw: st.DrawFn) -> Case:
    """People of up to four groups, or of combinations of two attributes: some empty, or of one person."""
    n = draw(st.integers(1, 40))
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    score = rng.integers(0, 6, n).astype(np.float64)  # ties on purpose, at the threshold too
    label = rng.random(n) < draw(st.sampled_from([0.0, 0.1, 0.5, 1.0]))
    if draw(st.booleans()):
        states = States((2, 3))
        group = states.of_levels([rng.integers(0, 2, n), rng.integers(0, 3, n)])
        names = [f"{a} and {b}" for a in ("man", "woman") for b in ("young", "middle", "old")]
    else:
        group, names = rng.integers(-1, 4, n).astype(np.intp), ["a", "b", "c", "d"]
    return score, label, group, names, float(draw(st.integers(-1, 6)))


def frame_of(metric: Any, values: Floats | Bools, label: Bools, group: Codes) -> Any:
    return MetricFrame(metrics=metric, y_true=label, y_pred=values, sensitive_features=list(group))


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(cases())
def test_every_rate_is_that_of_fairlearn(case: Case) -> None:
    score, label, group, names, threshold = case
    table, flagged = group_table(*case, seed=1, resamples=19), score > threshold
    assert [one.n for one in table.groups] == [int((group == k).sum()) for k in range(len(names))]
    assert [one.n_anomaly for one in table.groups] == [int(label[group == k].sum()) for k in range(len(names))]
    for name, (metric, among) in ORACLES.items():
        counted = among(flagged, label)
        known = [k for k in range(len(names)) if counted[group == k].any()]
        values = {k: table.groups[k].metrics[name].value for k in range(len(names))}
        assert [k for k in values if values[k] is not None] == known  # undefined is None, and nothing else is
        rows = np.isin(group, known)
        found = table.between[name]
        assert (found is None) == (len(known) < 2)
        if not known:
            continue
        frame = frame_of(metric, flagged[rows], label[rows], group[rows])
        for k in known:
            assert values[k] == pytest.approx(frame.by_group[k], abs=1e-12)
        if found is not None:
            assert found.difference.value == pytest.approx(frame.difference(), abs=1e-12)
            if frame.by_group.max() > 0.0:
                assert found.ratio.value == pytest.approx(frame.ratio(), abs=1e-12)
            else:
                assert found.ratio == Estimate(None)
            assert table.group(found.lowest).metrics[name].value == frame.by_group.min()
            assert table.group(found.highest).metrics[name].value == frame.by_group.max()
            assert found.lowest != found.highest


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(cases())
def test_auc_and_the_rest_are_those_of_scikit_learn(case: Case) -> None:
    score, label, group, _, threshold = case
    table = group_table(*case, seed=1, resamples=19)
    high = score > np.median(score)
    for k, found in enumerate(table.groups):
        rows = group == k
        auc, above = found.metrics["auc_roc"].value, found.metrics["above_median"].value
        if 0 < label[rows].sum() < rows.sum():
            assert auc == pytest.approx(roc_auc_score(label[rows], score[rows]), abs=1e-12)
        else:
            assert auc is None
        if rows.any():
            frame = frame_of(selection_rate, high, label, group)
            assert above == pytest.approx(frame.by_group[k], abs=1e-12)
            assert frame_of(count, high, label, group).by_group[k] == found.n
            assert recall_score(label[rows], score[rows] > threshold, zero_division=np.nan) == pytest.approx(
                _or_nan(found.metrics["true_positive_rate"].value), abs=1e-12, nan_ok=True
            )
        else:
            assert above is None


def test_no_metric_is_without_an_oracle() -> None:
    assert {*ORACLES, "above_median", "auc_roc"} == set(COMPARED)
    assert {*COMPARED, "n", "n_anomaly", "flag_rate_counterfactual", "changing_ratio"} == set(GROUP_METRICS)


@settings(max_examples=40, deadline=None)
@given(cases())
def test_differences_of_auc_and_of_ranks_are_those_of_fairlearn(case: Case) -> None:
    score, label, group, names, _ = case
    table = group_table(*case, seed=1, resamples=19)
    both = [k for k in range(len(names)) if 0 < label[group == k].sum() < (group == k).sum()]
    somebody = [k for k in range(len(names)) if (group == k).any()]
    oracles = (
        ("auc_roc", roc_auc_score, score, both),
        ("above_median", selection_rate, score > np.median(score), somebody),
    )
    for name, metric, values, known in oracles:
        found, rows = table.between[name], np.isin(group, known)
        assert (found is None) == (len(known) < 2)
        if found is None:
            continue
        frame = frame_of(metric, values[rows], label[rows], group[rows])
        assert found.difference.value == pytest.approx(frame.difference(), abs=1e-12)
        if frame.by_group.max() > 0.0:
            assert found.ratio.value == pytest.approx(frame.ratio(), abs=1e-12)


@pytest.mark.slow
@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32 - 1), st.integers(-1, 6))
def test_combinations_of_attributes_are_those_of_fairlearn(seed: int, threshold: int) -> None:
    """Which takes the attributes as two columns, and may leave a combination that nobody has undefined."""
    rng = np.random.default_rng(seed)
    n = int(rng.integers(5, 80))
    score, label = rng.integers(0, 6, n).astype(np.float64), rng.random(n) < 0.4
    sex, age = rng.integers(0, 2, n), rng.integers(0, 3, n)
    names = [f"{a}, {b}" for a in "fm" for b in ("young", "middle", "old")]
    table = group_table(score, label, States((2, 3)).of_levels([sex, age]), names, float(threshold), seed=1)
    flagged = score > threshold
    frame = MetricFrame(
        metrics={name: metric for name, (metric, _) in ORACLES.items()}
        | {"n": count, "precision": partial(precision_score, zero_division=0.0)},
        y_true=label,
        y_pred=flagged,
        sensitive_features=pd.DataFrame({"sex": sex, "age": age}),
    )
    for (a, b), name in zip(itertools.product(range(2), range(3)), names, strict=True):
        rows, found = (sex == a) & (age == b), table.group(name)
        assert found.n == rows.sum()
        for metric, (_, among) in ORACLES.items():
            value = found.metrics[metric].value
            if among(flagged, label)[rows].any():
                assert value == pytest.approx(frame.by_group.loc[(a, b), metric], abs=1e-12)
            else:
                assert value is None
    ratio = table.impact_ratio
    assert ratio is not None
    groups = [f"{a}{b}" for a, b in zip(sex, age, strict=True)]
    harm = demographic_parity_ratio(label, flagged, sensitive_features=groups)
    benefit = demographic_parity_ratio(label, ~flagged, sensitive_features=groups)
    assert _or_nan(ratio.as_harm.ratio.value) == pytest.approx(harm, abs=1e-12, nan_ok=True)
    assert _or_nan(ratio.as_benefit.ratio.value) == pytest.approx(benefit, abs=1e-12, nan_ok=True)
    assert ratio.as_harm.difference.value == pytest.approx(
        demographic_parity_difference(label, flagged, sensitive_features=groups), abs=1e-12
    )


@settings(max_examples=60, deadline=None)
@given(cases())
def test_it_is_the_one_table_of_group_metrics(case: Case) -> None:
    """The numbers are those of ``GROUP_METRICS``, with labels and without."""
    score, label, group, names, threshold = case
    for labels in (label, None):
        curves = {
            name: ScoreCurve(score[group == k], score[group == k], None if labels is None else labels[group == k])
            for k, name in enumerate(names)
        }
        expected = evaluate(Curves(ScoreCurve(score, score, labels), curves), threshold).groups
        for one in group_table(score, labels, group, names, threshold, seed=1, resamples=19).groups:
            assert (one.n, one.n_anomaly) == (expected[one.name]["n"], expected[one.name]["n_anomaly"])
            assert tuple(one.metrics) == COMPARED
            for metric, found in one.metrics.items():
                assert _or_nan(found.value) == pytest.approx(
                    _or_nan(expected[one.name][metric]), abs=1e-12, nan_ok=True
                )


@settings(max_examples=60, deadline=None)
@given(cases())
def test_every_interval_holds_its_number_and_no_impossible_one(case: Case) -> None:
    table = group_table(*case, seed=1)
    shares = [found for one in table.groups for found in one.metrics.values()]
    ratios = []
    for apart in table.between.values():
        if apart is not None:
            shares.append(apart.difference)
            ratios.append(apart.ratio)
            if apart.difference.interval is not None and apart.ratio.interval is not None:  # the two agree
                assert (apart.difference.interval.low > 1e-9) == (apart.ratio.interval.high < 1.0 - 1e-9)
    for found in [*shares, *ratios]:
        if found.value is None:
            assert found.interval is None
        else:
            assert found.interval is not None
            assert 0.0 <= found.interval.low <= found.value <= found.interval.high <= 1.0
    json.dumps(table.to_dict(reference=table.groups[0].name), allow_nan=False)


def test_impact_ratio_read_both_ways() -> None:
    """Of 100 people 5, and of 100 others 10 are flagged: half as many, but nearly as many are not."""
    score = np.concatenate([np.arange(100) < 5, np.arange(100) < 10]).astype(np.float64)
    table = group_table(score, None, np.repeat([0, 1], 100), ["a", "b"], 0.5, seed=0)
    found = table.impact_ratio
    assert found is not None
    assert found.as_harm.ratio.value == pytest.approx(0.5)
    assert (found.as_harm.lowest, found.as_harm.highest) == ("a", "b")
    assert found.as_benefit.ratio.value == pytest.approx(0.90 / 0.95)
    assert (found.as_benefit.lowest, found.as_benefit.highest) == ("b", "a")
    assert found.as_harm.difference.value == pytest.approx(found.as_benefit.difference.value)
    harm, benefit = found.as_harm.ratio.interval, found.as_benefit.ratio.interval
    assert harm is not None
    assert benefit is not None
    assert harm.low < 0.3
    assert benefit.low > 0.85  # much is known of a ratio of large shares, little of that of small ones
    assert harm.high == benefit.high == 1.0  # by so few people, the groups may be equal


def test_impact_ratio_needs_two_groups() -> None:
    score, nobody = np.arange(20.0), np.zeros(20, dtype=np.intp)
    assert group_table(score, None, nobody, ["a", "b"], 10.0, seed=0).impact_ratio is None
    all_flagged = group_table(score, None, np.arange(20) % 2, ["a", "b"], -1.0, seed=0).impact_ratio
    assert all_flagged is not None
    assert all_flagged.as_harm.ratio.value == 1.0
    assert all_flagged.as_benefit.ratio == Estimate(None)  # nobody is left to compare


def test_a_reference_group_by_hand() -> None:
    score = np.concatenate([np.arange(100) < 20, np.arange(100) < 30, np.arange(50) < 5]).astype(np.float64)
    table = group_table(score, None, np.repeat([0, 1, 2], [100, 100, 50]), ["a", "b", "c"], 0.5, seed=0)
    found = table.against("a")
    assert list(found) == ["b", "c"]
    assert found["b"]["flag_rate"].difference.value == pytest.approx(0.1)
    assert found["b"]["flag_rate"].ratio.value == pytest.approx(1.5)
    assert found["c"]["flag_rate"].difference.value == pytest.approx(-0.1)
    assert found["c"]["flag_rate"].ratio.value == pytest.approx(0.5)
    ends = found["b"]["flag_rate"].difference.interval
    assert ends is not None
    error = np.sqrt(0.2 * 0.8 / 100 + 0.3 * 0.7 / 100)
    assert (ends.low, ends.high) == pytest.approx((0.1 - 1.645 * error, 0.1 + 1.645 * error), abs=0.02)
    assert found["b"]["precision"].ratio == Estimate(None)
    stored = table.to_dict(reference="a")
    assert stored["reference"] == "a"
    assert stored["against"]["c"]["flag_rate"]["difference"]["value"] == pytest.approx(-0.1)
    with pytest.raises(ValueError, match="got 'd'. The groups are 'a', 'b', 'c'"):
        table.against("d")


def test_a_ratio_to_what_may_be_zero_has_no_upper_end() -> None:
    few, many = np.array([0.0] * 8 + [0.1] * 2), np.full(10, 0.5)
    found = against_reference(0.5, 0.02, many, few).ratio
    assert found == Estimate(25.0, Interval(5.0, np.inf))
    assert against_reference(0.5, 0.0, many, few).ratio == Estimate(None)
    score = np.concatenate([np.arange(12) < 1, np.arange(100) < 30]).astype(np.float64)
    stored = group_table(score, None, np.repeat([0, 1], [12, 100]), ["a", "b"], 0.5, seed=0).to_dict(reference="a")
    ratio = stored["against"]["b"]["flag_rate"]["ratio"]
    assert ratio["value"] == pytest.approx(0.3 * 12)
    assert 0.5 < ratio["low"] < 3.0
    assert ratio["high"] is None


def test_draws_leave_out_what_is_undefined() -> None:
    draws = np.array([np.nan, *np.linspace(0.0, 1.0, 101)])
    assert estimate(0.5, draws).interval == estimate(0.5, draws[1:]).interval is not None
    assert estimate(None, draws) == Estimate(None)
    rng = np.random.default_rng(0)
    first, second = rng.normal(0.2, 0.05, 500), rng.normal(0.6, 0.05, 500)
    gaps = np.where(np.arange(500) % 4 == 0, np.nan, first)
    expected = spread(["a", "b"], [0.2, 0.6], [first, second])
    found = spread(["a", "b"], [0.2, 0.6], [gaps, second])
    for one, other in ((found, expected), (found, spread(["a", "no", "b"], [0.2, None, 0.6], [gaps, gaps, second]))):
        assert one is not None
        assert other is not None
        for mine, theirs in (
            (one.difference.interval, other.difference.interval),
            (one.ratio.interval, other.ratio.interval),
        ):
            assert mine is not None
            assert theirs is not None
            assert (mine.low, mine.high) == pytest.approx((theirs.low, theirs.high), abs=0.01)


def small_groups() -> GroupTable:
    """50 people each of a and b, 9 of c, 10 of d; of c everybody is flagged."""
    group = np.repeat([0, 1, 2, 3], [50, 50, 9, 10])
    score = np.concatenate([np.arange(50) < 5, np.arange(50) < 10, np.ones(9), np.arange(10) < 1]).astype(np.float64)
    label = np.arange(len(group)) % 3 == 0
    return group_table(score, label, group, ["a", "b", "c", "d"], 0.5, seed=0)


def test_small_groups_are_hidden_in_what_is_downloaded() -> None:
    table = small_groups()
    assert table.between["flag_rate"] is not None
    assert table.between["flag_rate"].highest == "c"
    found = table.suppressed()
    hidden = found.group("c")
    assert (hidden.n, hidden.n_anomaly, hidden.draws) == (None, None, {})
    assert set(hidden.metrics.values()) == {Estimate(None)}
    for name in ("a", "b", "d"):
        assert found.group(name) == table.group(name)
    frame = found.to_frame()
    assert frame["n"].to_dict() == {"a": 50, "b": 50, "c": "<10", "d": 10}
    assert frame.loc["c"].drop("n").isna().all()
    assert found.to_dict()["groups"]["c"]["n"] == "<10"
    spread_of_three = found.between["flag_rate"]
    assert spread_of_three is not None
    assert (spread_of_three.lowest, spread_of_three.highest) == ("a", "b")
    assert spread_of_three.difference.value == pytest.approx(0.1)
    assert found.impact_ratio is not None
    assert found.impact_ratio.as_harm.ratio.value == pytest.approx(0.5)
    assert found.impact_ratio.as_benefit.ratio.value == pytest.approx(0.8 / 0.9)
    for beside in (found.against("c")["a"], found.against("a")["c"]):  # nothing can be worked out from differences
        assert {one.difference for one in beside.values()} == {Estimate(None)}
    assert found.suppressed() == found
    assert "c" not in json.dumps({name: found.to_dict()[name] for name in ("between", "impact_ratio")}).split('"')


def test_one_group_that_is_left_has_no_difference() -> None:
    group = np.repeat([0, 1], [30, 5])
    found = group_table(np.arange(35.0), None, group, ["a", "b"], 20.0, seed=0).suppressed()
    assert set(found.between.values()) == {None}
    assert found.impact_ratio is None


def test_frame_has_a_row_for_each_group() -> None:
    table = small_groups()
    frame = table.to_frame()
    expected = [f"{name}{end}" for name in COMPARED for end in ("", "_low", "_high")]
    assert list(frame.columns) == ["n", "n_anomaly", *expected]
    assert frame.index.name == "group"
    assert list(frame.index) == ["a", "b", "c", "d"]
    assert list(frame["n"]) == [50, 50, 9, 10]
    one = table.group("b").metrics["flag_rate"]
    assert one.interval is not None
    row = frame.loc["b", ["flag_rate", "flag_rate_low", "flag_rate_high"]]
    assert tuple(row) == (0.2, one.interval.low, one.interval.high)


def test_shown() -> None:
    assert shown(0.1234, 7) == "12.3 %"
    assert shown(0.8124, 700, is_share=False) == "0.812"
    assert shown(None, 7) == "n/a (n = 7)"
    assert shown(None, 1200, is_share=False) == "n/a (n = 1,200)"
    assert shown(None, None) == "n/a (n < 10)"


def test_the_seed_decides_and_other_groups_do_not_matter() -> None:
    rng = np.random.default_rng(0)
    score, label, group = rng.normal(size=600), rng.random(600) < 0.3, rng.integers(0, 3, 600)
    before = score.copy(), label.copy(), group.copy()
    names = ["a", "b", "c"]
    first = group_table(score, label, group, names, 1.0, seed=3)
    assert first.to_dict("a") == group_table(score, label, group, names, 1.0, seed=3).to_dict("a")
    assert first.to_dict("a") != group_table(score, label, group, names, 1.0, seed=4).to_dict("a")
    scores = GroupScores(score, label, group, names, seed=3)
    scores.at(0.0)
    assert scores.at(1.0).to_dict("a") == first.to_dict("a")  # whatever was asked before
    assert scores.at(0.0).group("a").metrics["auc_roc"] == first.group("a").metrics["auc_roc"]
    merged = group_table(score, label, np.minimum(group, 1), ["a", "others"], 1.0, seed=3)
    assert merged.group("a") == first.group("a")
    for array, kept in zip((score, label, group), before, strict=True):
        np.testing.assert_array_equal(array, kept)


def test_draws_of_counts_are_those_of_people() -> None:
    """Against people that are really drawn, with the two unknown people among whom they are drawn."""
    rng = np.random.default_rng(0)
    n = 60
    score, label = rng.normal(size=n), rng.random(n) < 0.3
    table = group_table(score, label, np.zeros(n, dtype=np.intp), ["a"], 0.4, seed=0, resamples=4_000)
    flagged = np.concatenate([np.repeat(score > 0.4, 2), [True, False, True, False]])
    anomaly = np.concatenate([np.repeat(label, 2), [True, True, False, False]])  # the unknown are half of each
    rows = rng.integers(0, 2 * n + 4, (4_000, n))
    seen, true = flagged[rows], anomaly[rows]
    brute = {
        "flag_rate": seen.mean(axis=1),
        "precision": (seen & true).sum(axis=1) / seen.sum(axis=1),
        "true_positive_rate": (seen & true).sum(axis=1) / true.sum(axis=1),
        "false_positive_rate": (seen & ~true).sum(axis=1) / (~true).sum(axis=1),
    }
    for name, values in brute.items():
        draws = table.groups[0].draws[name]
        assert draws.mean() == pytest.approx(values.mean(), abs=4.0 * values.std() / np.sqrt(2_000))
        assert draws.std() == pytest.approx(values.std(), rel=0.06)


@pytest.mark.slow
def test_draws_of_auc_are_those_of_people() -> None:
    rng = np.random.default_rng(2)
    anomalies, normal = np.sort(rng.normal(1.0, 1.0, 120)), np.sort(rng.normal(size=400))
    auc, draws = auc_with_draws(Tally.of(anomalies), Tally.of(normal), np.random.default_rng(0))
    assert auc is not None
    ranked = [
        roc_auc_score(
            np.repeat([1, 0], [120, 400]), np.concatenate([rng.choice(anomalies, 120), rng.choice(normal, 400)])
        )
        for _ in range(1_000)
    ]
    assert draws.mean() == pytest.approx(auc, abs=0.01)
    assert draws.std() == pytest.approx(np.std(ranked), rel=0.2)
    # what few are drawn of many spreads as if all had been
    many, draws = auc_with_draws(
        Tally.of(np.repeat(anomalies, 100)), Tally.of(np.repeat(normal, 100)), np.random.default_rng(0)
    )
    assert many == pytest.approx(auc, abs=1e-12)
    assert draws.std() == pytest.approx(np.std(ranked) / 10.0, rel=0.2)


def test_what_was_never_seen_is_not_impossible() -> None:
    """Nobody of 20 people flagged, all anomalies above all normal people: the interval knows of chance all the same."""
    score, label = np.arange(20.0), np.arange(20) >= 15
    found = group_table(score, label, np.zeros(20, dtype=np.intp), ["a"], 99.0, seed=0).group("a").metrics
    assert found["flag_rate"].value == 0.0
    assert found["flag_rate"].interval is not None
    assert 0.05 <= found["flag_rate"].interval.high <= 0.2  # 14 % by the exact binomial bound
    assert found["auc_roc"].value == 1.0
    assert found["auc_roc"].interval is not None
    assert found["auc_roc"].interval.low < 0.95


def test_nobody_and_no_groups() -> None:
    nothing = np.array([])
    table = group_table(nothing, nothing.astype(bool), nothing.astype(int), ["a", "b"], 0.0, seed=0)
    assert [one.n for one in table.groups] == [0, 0]
    assert {found for one in table.groups for found in one.metrics.values()} == {Estimate(None)}
    assert set(table.between.values()) == {None}
    assert group_table(np.arange(3.0), None, np.full(3, -1), [], 0.0, seed=0).groups == ()


def test_people_in_no_group_count_in_the_median_alone() -> None:
    score = np.array([1.0, 2.0, 3.0, 10.0, 11.0, 12.0, 13.0])
    table = group_table(score, None, np.array([0, 0, 0, 0, -1, -1, -1]), ["a"], 2.5, seed=0)
    assert table.group("a").n == 4
    assert table.group("a").metrics["flag_rate"].value == 0.5
    assert table.group("a").metrics["above_median"].value == 0.0  # the median of all seven is 10


def test_wrong_arguments_are_explained() -> None:
    score, group = np.arange(4.0), np.array([0, 0, 1, 1])
    with pytest.raises(ValueError, match=r"a group for everybody; got shapes \(4,\), \(4,\) and \(3,\)"):
        group_table(score, None, group[:3], ["a", "b"], 0.0, seed=0)
    with pytest.raises(ValueError, match="from -1 to 0; got 0 to 1. Name every group"):
        group_table(score, None, group, ["a"], 0.0, seed=0)
    with pytest.raises(ValueError, match="different names; got a, a"):
        group_table(score, None, group, ["a", "a"], 0.0, seed=0)
    with pytest.raises(ValueError, match="at least 19 resamples"):
        group_table(score, None, group, ["a", "b"], 0.0, seed=0, resamples=18)


THRESHOLD = 1.5
WORLDS: dict[str, tuple[list[int], list[float], list[float]]] = {
    # people of each group, shift of their scores, distance of their anomalies
    "two equal groups": ([200, 200], [0.0, 0.0], [1.5, 1.5]),
    "eight equal groups": ([150] * 8, [0.0] * 8, [1.5] * 8),
    "one group differs": ([200, 200, 200, 200], [0.0, 0.0, 0.0, 0.6], [1.5, 1.5, 1.5, 2.5]),
    "sizes differ": ([20, 60, 600], [0.0, 0.3, 0.6], [1.5, 1.0, 2.5]),
}


@pytest.mark.slow
@pytest.mark.parametrize("world", WORLDS)
def test_intervals_hold_the_truth_as_often_as_they_say(world: str) -> None:
    """Many samples of a known world: nine in ten intervals hold its numbers, also of groups that are equal."""
    sizes, shift, distance = (np.array(values) for values in WORLDS[world])
    rng, samples, names = np.random.default_rng(7), 200, [f"group {k}" for k in range(len(sizes))]
    group = np.repeat(np.arange(len(sizes)), sizes)
    false, true = norm.sf(THRESHOLD - shift), norm.sf(THRESHOLD - shift - distance)
    truth = {
        "flag_rate": 0.3 * true + 0.7 * false,
        "precision": 0.3 * true / (0.3 * true + 0.7 * false),
        "true_positive_rate": true,
        "auc_roc": norm.cdf(distance / np.sqrt(2.0)),
    }
    held: dict[str, list[tuple[bool, bool, bool]]] = {name: [] for name in truth}
    for seed in range(samples):
        label = rng.random(len(group)) < 0.3
        score = rng.normal(size=len(group)) + shift[group] + label * distance[group]
        table = group_table(score, label, group, names, THRESHOLD, seed=seed, resamples=200)
        for name, values in truth.items():
            found = table.between[name]
            assert found is not None
            largest, smallest = values.max() - values.min(), values.min() / values.max()
            first = table.groups[0].metrics[name]
            held[name].append(
                (_holds(first, values[0]), _holds(found.difference, largest), _holds(found.ratio, smallest))
            )
    for name, some in held.items():
        shares = np.mean(some, axis=0)
        assert (shares >= 0.9 - 3.0 * np.sqrt(0.9 * 0.1 / samples)).all(), (name, shares)


def test_intervals_are_not_too_wide() -> None:
    """Two groups that differ by ten standard errors do not pass for equal, and the bounds are near the number."""
    score = np.concatenate([np.arange(2_000) < 200, np.arange(2_000) < 500]).astype(np.float64)
    found = group_table(score, None, np.repeat([0, 1], 2_000), ["a", "b"], 0.5, seed=0).between["flag_rate"]
    assert found is not None
    error = np.sqrt(0.1 * 0.9 / 2_000 + 0.25 * 0.75 / 2_000)
    assert found.difference.interval is not None
    assert found.difference.interval.low == pytest.approx(0.15 - 1.645 * error, abs=0.2 * error)
    assert found.difference.interval.high == pytest.approx(0.15 + 1.645 * error, abs=0.2 * error)
    assert found.ratio.interval is not None
    assert 0.33 < found.ratio.interval.low < 0.4 < found.ratio.interval.high < 0.47


def test_groups_that_are_equal_in_the_sample_are_two_all_the_same() -> None:
    score = np.tile([0.0, 1.0], 50)
    table = group_table(score, None, np.repeat([0, 1], 50), ["a", "b"], 0.5, seed=0)
    found = table.between["flag_rate"]
    assert found is not None
    assert (found.lowest, found.highest, found.difference.value, found.ratio.value) == ("a", "b", 0.0, 1.0)
    assert found.difference.interval is not None
    assert found.difference.interval.low == 0.0
    assert found.difference.interval.high > 0.1


def _or_nan(value: float | None) -> float:
    return float("nan") if value is None else value


def _holds(found: Estimate, truth: float) -> bool:
    if found.interval is None:
        return True  # nothing was claimed
    return bool(found.interval.low <= truth + 1e-12 and truth - 1e-12 <= found.interval.high)
