"""Audits of three groups and of two attributes: against twins by hand, through views, and as a folder."""

from __future__ import annotations

import dataclasses
import itertools
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

from cfad_core.audit.folder import load_audit, save_audit, summary
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.scoring import score_rows, twin_rows
from cfad_core.core.config import preset
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.protocol import score_people
from cfad_core.evaluation.intervals import ResampledScores
from cfad_core.evaluation.outcomes import ScoreCurve
from tests.audit.test_folder import assert_the_same_audit
from tests.audit.worlds import (
    CROSSED,
    CROSSED_GRAPH,
    EVERYTHING,
    PCA,
    QUICK,
    REGIONS,
    THREE,
    THREE_GRAPH,
    THREE_SHIFTS,
    by_column,
    codes,
    crossed_twins,
    make_crossed,
    make_three,
    three_twins,
)
from tests.conftest import with_rows

with warnings.catch_warnings():
    warnings.simplefilter("ignore")
    from fairlearn import metrics as fairlearn

BOTH = "sex and region"


# Known answers


@pytest.fixture(scope="module")
def known() -> AuditResult:
    """The graph is given, and a detector scores income."""
    config = PCA.replace(knowledge=THREE_GRAPH)
    return run_audit(make_three(8000, seed=0), THREE, config, detectors={"income": by_column(1)})


@pytest.fixture(scope="module")
def known_crossed() -> AuditResult:
    """The same of two attributes, with a detector of the bonus, and one of the income."""
    detectors = {"income": by_column(1), "bonus": by_column(2)}
    return run_audit(make_crossed(8000, seed=0), CROSSED, PCA.replace(knowledge=CROSSED_GRAPH), detectors=detectors)


def test_the_matrix_of_pairs_is_that_of_the_true_twins(known: AuditResult) -> None:
    table, report = make_three(8000, seed=0).iloc[known.people.row], known.group_report("income")
    names = known.plan.comparisons[0].groups
    for threshold in (-0.5, 0.5, known.report("income").threshold):
        found = report.pairs_at(threshold)
        assert found is not None
        for pair in found.pairs:
            mine = table[table["group"] == names[pair.source]]
            changes = (three_twins(mine, names[pair.target])["income"] > threshold) != (mine["income"] > threshold)
            assert pair.n == len(mine)
            assert pair.ratio == pytest.approx(changes.mean(), abs=0.025)
            rises = THREE_SHIFTS[names[pair.target]] > THREE_SHIFTS[names[pair.source]]
            assert pair.newly_flagged == pytest.approx(changes.mean() if rises else 0.0, abs=0.025)
            assert pair.newly_cleared == pytest.approx(0.0 if rises else changes.mean(), abs=0.025)


def test_the_matrix_of_pairs_in_closed_form(known: AuditResult) -> None:
    """Income is normal with variance 1.25 around what the group expects, and a twin's is shifted."""
    found = known.group_report("income").pairs_at(0.5)
    assert found is not None
    below = {group: norm.cdf((0.5 - shift) / np.sqrt(1.25)) for group, shift in THREE_SHIFTS.items()}
    for pair in found.pairs:
        source, target = found.names[pair.source], found.names[pair.target]
        assert pair.ratio == pytest.approx(abs(below[source] - below[target]), abs=0.05)
        assert pair.bounds is not None
        assert pair.bounds.low <= (pair.ratio or 0.0) + 3.0 * pair.bounds.error
        assert not pair.is_impossible
    worst = found.worst
    assert worst is not None
    assert {found.names[worst.source], found.names[worst.target]} == {"a", "c"}


def test_any_other_group_is_what_the_report_says(known: AuditResult) -> None:
    """A monotone effect: who changes in some group changes in the lowest or in the highest one."""
    table, report = make_three(8000, seed=0).iloc[known.people.row], known.report("income")
    for threshold in (0.5, report.threshold):
        flags = np.stack([(three_twins(table, group)["income"] > threshold).to_numpy() for group in THREE_SHIFTS])
        truth = (flags.any(axis=0) & ~flags.all(axis=0)).mean()
        found = known.group_report("income").pairs_at(threshold)
        assert found is not None
        assert found.any_other.ratio == report.metrics_at(threshold).changing_ratio
        assert found.any_other.ratio == pytest.approx(truth, abs=0.025)
        assert found.any_other.bounds is not None
        assert found.any_other.interval == report.changing_ratio_interval(threshold)


@pytest.mark.parametrize(("column", "threshold", "least"), [("bonus", 1.2, 0.1), ("income", 0.3, 0.05)])
def test_whose_outcome_changes_only_if_both_attributes_do(
    known_crossed: AuditResult, column: str, threshold: float, least: float
) -> None:
    """Of women outside the west, neither move alone gives the bonus; and income may need both to pass a threshold."""
    result = known_crossed
    table = make_crossed(8000, seed=0).iloc[result.people.row]
    found = result.group_report(column, BOTH).interaction_at(threshold)
    assert found is not None
    assert (found.n, result.group_report(column, BOTH).pairs_at(threshold)) == (len(table), None)
    assert result.group_report(column, "sex").interaction_at(threshold) is None
    flagged = (table[column] > threshold).to_numpy()
    others = {"f": "m", "m": "f"}
    shares = []
    for number in (0, 1):  # of the other regions, which take turns
        sex = table["sex"].map(others)
        region = table["region"].map(lambda own, k=number: [r for r in REGIONS if r != own][k])
        ways = ({"sex": sex}, {"region": region}, {"sex": sex, "region": region})
        first, second, both = ((crossed_twins(table, **to)[column] > threshold).to_numpy() != flagged for to in ways)
        either = first | second
        shares.append([x.mean() for x in (first, second, both, both & ~either, either & ~both)])
    expected = np.mean(shares, axis=0)
    assert expected[3] > least
    got = [share.value for share in (found.first, found.second, found.both, found.only_both, found.cancels)]
    assert got == pytest.approx(expected, abs=0.02)
    assert found.only_both.interval is not None
    assert expected[3] - 0.03 < found.only_both.interval.low <= found.only_both.interval.high < expected[3] + 0.03


def test_each_attribute_by_itself_is_what_true_twins_say(known_crossed: AuditResult) -> None:
    result, threshold = known_crossed, 0.3
    table = make_crossed(8000, seed=0).iloc[result.people.row]
    for name, groups in (("sex", ("f", "m")), ("region", REGIONS)):
        found = result.group_report("income", name).pairs_at(threshold)
        assert found is not None
        assert found.names == groups
        for pair in found.pairs:
            mine = table[table[name] == groups[pair.source]]
            changes = (crossed_twins(mine, **{name: groups[pair.target]})["income"] > threshold) != (
                mine["income"] > threshold
            )
            assert pair.ratio == pytest.approx(changes.mean(), abs=0.03)
            assert pair.bounds is None  # they would hold only among people alike in the other attribute
        assert result.report("income", name).bounds_at(threshold) is None


def test_twins_keep_the_other_attribute(known_crossed: AuditResult) -> None:
    table = make_crossed(200, seed=4)
    for region in REGIONS:
        twins = twin_rows(known_crossed, table, {"region": region}).rows
        assert (twins["region"] == region).all()
        for name in ("sex", "age"):
            assert twins[name].equals(table[name])
        stay = (table["region"] == region).to_numpy()
        assert twins[stay].equals(table[stay])
        truth = crossed_twins(table, region=region)
        assert np.abs(twins["income"] - truth["income"]).mean() < 0.1
    both = twin_rows(known_crossed, table, {"region": "west", "sex": "m"}).rows
    truth = crossed_twins(table, region="west", sex="m")
    assert np.abs(both["bonus"] - truth["bonus"]).mean() < 0.1


# Views


def test_an_audit_has_a_twin_for_every_move(three: AuditResult, crossed: AuditResult) -> None:
    for found, moves, others in ((three, 2, (2,)), (crossed, 4, (1, 2, 1))):
        n = len(found.people.row)
        assert found.people.twins.shape == (moves, n, found.people.factual.shape[1])
        state = found.plan.states.of_codes(found.people.factual[:, 0])
        for move, twins in enumerate(found.people.twins):
            assert np.array_equal(found.plan.states.of_codes(twins[:, 0]), found.plan.targets(state, move))
        for method, scores in found.scores.items():
            assert scores.twins.shape == (moves, n)
            assert scores.judged.shape == (16, moves, n)
            for move in range(moves):
                by_hand = score_people(found.detectors[method], found.people.twins[move])
                np.testing.assert_array_equal(scores.twins[move], by_hand)
        assert found.stability is not None
        assert found.stability.plausibility.distance.shape == (moves, n)
        assert len(found.checks) == len(found.stability.edge_cuts) == len(found.plan.comparisons) == len(others)
        for comparison, w in zip(found.plan.comparisons, others, strict=True):
            assert found.seen(comparison.name).people.twins.shape[0] == w


@pytest.mark.parametrize("name", ["sex", "region", BOTH])
def test_a_view_of_one_comparison_against_its_scores(crossed: AuditResult, name: str) -> None:
    seen, comparison = crossed.seen(name), crossed.plan.comparison(name)
    assert crossed.seen(name) is seen
    for method, report in seen.reports.items():
        scores = crossed.scores[method]
        threshold = report.threshold
        assert threshold == crossed.report(method).threshold
        here = scores.factual > threshold
        changed = ((scores.judged[:, list(comparison.moves)] > threshold) != here).any(axis=1)
        assert report.metrics.changing_ratio == pytest.approx(changed.mean())
        np.testing.assert_allclose(report.change_probability(threshold), changed.mean(axis=0))
        assert report is crossed.report(method, name)
        groups = crossed.plan.groups_of(crossed.plan.states.of_codes(crossed.people.factual[:, 0]), comparison)
        for k, group in enumerate(comparison.groups):
            part = report.metrics.groups[group]
            assert part["n"] == (groups == k).sum()
            assert part["changing_ratio"] == pytest.approx(changed[:, groups == k].mean())
    with pytest.raises(InvalidConfigError, match="This is a view of an audit already"):
        seen.seen("sex")


def test_a_pair_looks_as_an_audit_of_two_groups_does(three: AuditResult) -> None:
    (comparison,) = three.plan.comparisons
    own = three.plan.groups_of(three.plan.states.of_codes(three.people.factual[:, 0]), comparison)
    for first, second in itertools.permutations(comparison.groups, 2):
        seen = three.seen(None, (first, second))
        a, b = comparison.groups.index(first), comparison.groups.index(second)
        rows = np.flatnonzero((own == a) | (own == b))
        assert tuple(seen.groups) == (first, second)
        assert np.array_equal(seen.people.row, three.people.row[rows])
        other = np.where(own[rows] == a, b, a)
        move = other - (other > own[rows])
        assert np.array_equal(seen.people.twins[0], three.people.twins[move, rows])
        for method, report in seen.reports.items():
            scores = three.scores[method]
            here, there = scores.factual[rows], scores.judged[:, move, rows]
            assert np.array_equal(seen.scores[method].judged[:, 0], there)
            curve = ScoreCurve(here, there).at(report.threshold)
            assert report.metrics.changing_ratio == pytest.approx(float(curve.changing_ratio))
            expected = ResampledScores(here, there.reshape(4, 4, -1), own[rows], seed=0).at(report.threshold)
            assert report.intervals is not None
            assert report.intervals.flag_rate_shift == expected.flag_rate_shift
            bounds = report.bounds_at(report.threshold)
            rates = [float((scores.factual[own == k] > report.threshold).mean()) for k in (a, b)]
            assert bounds is not None
            assert bounds.low == pytest.approx(abs(rates[0] - rates[1]))


def test_views_that_do_not_exist_are_refused(three: AuditResult) -> None:
    with pytest.raises(InvalidConfigError, match="The audit does not compare 'age'"):
        three.seen("age")
    with pytest.raises(
        InvalidConfigError, match="Expected two different groups of 'group' out of: b, c, a; got a and x"
    ):
        three.seen("group", ("a", "x"))


def test_of_two_groups_a_pair_is_all_there_is(result: AuditResult) -> None:
    assert result.seen("group", ("b", "a")) is result.seen()
    with pytest.raises(InvalidConfigError, match="Expected two different groups of 'group' out of: a, b; got a and z"):
        result.seen("group", ("a", "z"))


# Some groups alone


def audit_of(attribute: Attribute, **changes: Any) -> AuditResult:
    roles = ColumnRoles((attribute,), label="fraud", anomaly="yes")
    return run_audit(make_three(600, seed=0), roles, PCA.replace(**changes))


@pytest.fixture(scope="module")
def by_reference() -> AuditResult:
    return audit_of(Attribute("group", ("a", "b", "c"), reference="b"))


@pytest.fixture(scope="module")
def to_one() -> AuditResult:
    """Everybody is moved to b; people of b are only compared with."""
    return audit_of(Attribute("group", ("a", "b", "c"), compare=("b",)))


def test_with_a_reference_others_are_compared_with_it_alone(by_reference: AuditResult) -> None:
    whole = audit_of(Attribute("group", ("a", "b", "c")))
    seen, scores = by_reference.seen(), by_reference.scores["pca"]
    assert np.array_equal(scores.judged, whole.scores["pca"].judged)  # the same twins
    threshold = by_reference.report("pca").threshold
    group = by_reference.people.factual[:, 0].astype(np.intp)
    to = {0: (1,), 1: (0, 2), 2: (1,)}
    here = scores.factual > threshold
    changed = np.array(
        [
            [any((scores.judged[r, v - (v > u), i] > threshold) != here[i] for v in to[u]) for i, u in enumerate(group)]
            for r in range(16)
        ]
    )
    assert by_reference.report("pca").metrics.changing_ratio == pytest.approx(changed.mean())
    for place, twins in enumerate(seen.people.twins):  # what is shown is what is scored, and none to other groups
        np.testing.assert_array_equal(
            score_people(by_reference.detectors["pca"], twins), seen.scores["pca"].twins[place]
        )
        assert set(twins[group != 1, 0]) == {1.0}
    found, every = (one.group_report("pca").pairs_at(threshold) for one in (by_reference, whole))
    assert found is not None
    assert every is not None
    assert [(found.names[pair.source], found.names[pair.target]) for pair in found.pairs] == [
        ("a", "b"),
        ("b", "a"),
        ("b", "c"),
        ("c", "b"),
    ]
    for pair in found.pairs:
        same = every.pair(pair.source, pair.target)
        assert (pair.ratio, pair.interval, pair.bounds) == (same.ratio, same.interval, same.bounds)
    assert found.any_other.ratio == pytest.approx(changed.mean())
    assert by_reference.report("pca").bounds_at(threshold) is None  # those of all groups are about more
    assert by_reference.group_report("pca").metrics_at(threshold) == whole.group_report("pca").metrics_at(threshold)


def test_people_of_a_group_that_is_only_compared_with_are_not_moved(to_one: AuditResult) -> None:
    whole = audit_of(Attribute("group", ("a", "b", "c")))
    report, threshold = to_one.report("pca"), to_one.report("pca").threshold
    group = to_one.people.factual[:, 0].astype(np.intp)
    assert tuple(to_one.groups) == ("a", "c")
    assert report.metrics.n == (group != 1).sum()
    found, every = (one.group_report("pca").pairs_at(threshold) for one in (to_one, whole))
    assert found is not None
    assert every is not None
    assert found.names == ("a", "b", "c")
    assert found.n == tuple(np.bincount(group).tolist())
    for pair in found.pairs:
        assert pair.target == 1
        assert pair.ratio == every.pair(pair.source, 1).ratio
        assert pair.bounds == every.pair(pair.source, 1).bounds is not None
    assert len(found.pairs) == 2
    assert found.any_other.ratio == pytest.approx(report.metrics.changing_ratio)
    interval = report.changing_ratio_interval(threshold)
    assert interval is not None
    assert found.any_other.bounds is not None
    assert found.any_other.interval == found.any_other.bounds.clip(interval)
    table = to_one.group_report("pca").metrics_at(threshold)
    assert table == whole.group_report("pca").metrics_at(threshold)  # all groups, as they are
    assert [one.name for one in table.groups] == ["a", "b", "c"]


def test_audits_of_some_groups_are_saved_and_score_new_rows(
    by_reference: AuditResult, to_one: AuditResult, tmp_path: Path
) -> None:
    rows = make_three(60, seed=9)
    for k, found in enumerate((by_reference, to_one)):
        save_audit(found, tmp_path / str(k))
        again = load_audit(tmp_path / str(k))
        assert_the_same_audit(again, found)
        assert np.array_equal(again.plan.comparisons[0].compared, found.plan.comparisons[0].compared)
        scored = score_rows(found, rows)
        pd.testing.assert_frame_equal(score_rows(again, rows), scored)
        only_target = (rows["group"] == "b").to_numpy() if k else np.zeros(60, dtype=bool)
        assert np.array_equal(scored["pca_change_group"].isna(), only_target)
        assert scored["pca_change_group"].dropna().between(0.0, 1.0).all()


def test_edges_and_checks_are_about_those_who_are_compared(to_one: AuditResult) -> None:
    group = to_one.people.factual[:, 0].astype(np.intp)
    assert to_one.stability is not None
    (cuts,) = to_one.stability.edge_cuts
    assert cuts.people == (group != 1).sum()
    scores, threshold = to_one.scores["pca"], to_one.report("pca").threshold
    move = np.where(group == 0, 0, 1)[group != 1]
    there = scores.twins[:, group != 1][move, np.arange(len(move))]
    assert cuts.whole["pca"] == pytest.approx(((there > threshold) != (scores.factual[group != 1] > threshold)).mean())


# Metrics of groups


@pytest.mark.slow
def test_metrics_of_groups_and_of_combinations_are_those_of_fairlearn() -> None:
    table = make_crossed(900, seed=3)
    table["odd"] = np.where(np.random.default_rng(0).random(900) < 0.3 + 0.3 * (table["bonus"] > 2.0), "yes", "no")
    roles = dataclasses.replace(CROSSED, label="odd", anomaly="yes")
    found = run_audit(table, roles, QUICK.replace(methods=("pca",), quantile=0.8))
    people, score = table.iloc[found.people.row], found.scores["pca"].factual
    label, threshold = (people["odd"] == "yes").to_numpy(), found.report("pca").threshold
    for name, columns in (("sex", ["sex"]), ("region", ["region"]), (BOTH, ["sex", "region"])):
        frame = fairlearn.MetricFrame(
            metrics={
                "n": fairlearn.count,
                "flag_rate": fairlearn.selection_rate,
                "true_positive_rate": fairlearn.true_positive_rate,
                "false_positive_rate": fairlearn.false_positive_rate,
                "false_negative_rate": fairlearn.false_negative_rate,
            },
            y_true=label,
            y_pred=score > threshold,
            sensitive_features=people[columns].reset_index(drop=True),
        )
        groups = found.group_report("pca", name).metrics_at(threshold)
        by_method = found.report("pca", name).metrics.groups
        assert len(groups.groups) == len(frame.by_group)
        for cell, row in frame.by_group.iterrows():
            called = cell if isinstance(cell, str) else ", ".join(cell)
            group = groups.group(called)
            assert group.n == by_method[called]["n"] == row["n"]
            for metric in ("flag_rate", "true_positive_rate", "false_positive_rate", "false_negative_rate"):
                assert group.metrics[metric].value == pytest.approx(row[metric], abs=1e-12)
                assert by_method[called][metric] == pytest.approx(row[metric], abs=1e-12)
        between = groups.between["flag_rate"]
        assert between is not None
        assert between.difference.value == pytest.approx(frame.difference()["flag_rate"], abs=1e-12)
        assert between.ratio.value == pytest.approx(frame.ratio()["flag_rate"], abs=1e-12)


# New rows


@pytest.mark.slow
def test_new_rows_have_a_score_in_every_group(three: AuditResult) -> None:
    table = make_three(80, seed=5)
    scored = score_rows(three, table)
    for method in three.scores:
        assert f"{method}_score_counterfactual" not in scored
        for group in ("a", "b", "c"):
            there = scored[f"{method}_score_if_group_{group}"]
            own = table["group"] == group
            assert np.array_equal(there[own], scored.loc[own, f"{method}_score"])
            twins = twin_rows(three, table, {"group": group}).rows
            assert (twins["group"] == group).all()
            np.testing.assert_array_equal(score_rows(three, twins, reasons=False)[f"{method}_score"], there)
        likely = scored[f"{method}_change_group"]
        assert likely.between(0.0, 1.0).all()
    alone = score_rows(three, table.iloc[[7]])
    pd.testing.assert_frame_equal(alone, scored.iloc[[7]])


def test_new_rows_of_two_attributes(crossed: AuditResult) -> None:
    table = make_crossed(60, seed=5)
    scored = score_rows(crossed, table, reasons=False)
    expected = ["score", "flag"]
    expected += ["score_if_sex_f", "score_if_sex_m", "change_sex"]
    expected += [f"score_if_region_{name}" for name in REGIONS] + ["change_region", f"change_{BOTH}"]
    assert list(scored.columns) == [f"{method}_{name}" for method in ("pca", "surprise") for name in expected]


def test_the_people_of_the_audit_have_their_scores_again(three: AuditResult) -> None:
    table = make_three(600, seed=0).iloc[three.people.row]
    scored = score_rows(three, table, reasons=False)
    (comparison,) = three.plan.comparisons
    own = table["group"].map(comparison.groups.index).to_numpy()
    for method, scores in three.scores.items():
        np.testing.assert_array_equal(scored[f"{method}_score"], scores.factual)
        for k, group in enumerate(comparison.groups):
            moved = own != k
            number = k - (k > own[moved])
            np.testing.assert_array_equal(
                scored[f"{method}_score_if_group_{group}"][moved], scores.twins[number, moved]
            )


@pytest.mark.parametrize(
    ("to", "message"),
    [
        (None, "Say which group the twins belong to; there are several. Choose from group: b, c, a."),
        ({"group": "z"}, "there is no group=z. Choose from group: b, c, a."),
        ({"age": "a"}, "there is no age=a. Choose from group: b, c, a."),
    ],
)
def test_twins_belong_to_a_group_that_is_named(three: AuditResult, to: dict[str, str] | None, message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        twin_rows(three, make_three(20, seed=5), to)


def test_rows_of_no_group_are_refused(three: AuditResult, crossed: AuditResult) -> None:
    table = make_three(20, seed=5).assign(group=["z"] * 3 + ["a"] * 17)
    with pytest.raises(
        InvalidDataError, match="3 of 20 rows have a 'group' other than b, c, a; remove these rows first"
    ):
        score_rows(three, table)
    other = make_crossed(20, seed=5).assign(sex="x")
    message = "20 of 20 rows have a 'sex' other than f, m or a 'region' other than north, south, west; remove"
    with pytest.raises(InvalidDataError, match=message):
        twin_rows(crossed, other, {"sex": "f"})


# As a folder


@pytest.mark.slow
@pytest.mark.parametrize("which", ["three", "crossed"])
def test_save_and_load_give_the_same_audit(which: str, tmp_path: Path, request: pytest.FixtureRequest) -> None:
    found: AuditResult = request.getfixturevalue(which)
    save_audit(found, tmp_path / "audit")
    again = load_audit(tmp_path / "audit")
    assert_the_same_audit(again, found)
    assert (again.roles, again.encoding) == (found.roles, found.encoding)
    for mine, theirs in zip(again.plan.comparisons, found.plan.comparisons, strict=True):
        assert (mine.name, mine.groups, mine.moves) == (theirs.name, theirs.groups, theirs.moves)
    for comparison, method in itertools.product(found.plan.comparisons, found.scores):
        ours, other = (one.report(method, comparison.name) for one in (found, again))
        assert (ours.metrics, ours.intervals, ours.verdict) == (other.metrics, other.intervals, other.verdict)
        assert ours.evidence_at(0.1) == other.evidence_at(0.1)
        groups, same = (one.group_report(method, comparison.name) for one in (found, again))
        for threshold in (ours.threshold, 0.1):
            assert groups.pairs_at(threshold) == same.pairs_at(threshold)
            assert groups.metrics_at(threshold) == same.metrics_at(threshold)
            assert groups.interaction_at(threshold) == same.interaction_at(threshold)
    table = make_three(40, seed=5) if which == "three" else make_crossed(40, seed=5)
    pd.testing.assert_frame_equal(score_rows(again, table), score_rows(found, table))
    to = {"group": "a"} if which == "three" else {"region": "west", "sex": "f"}
    assert twin_rows(again, table, to).rows.equals(twin_rows(found, table, to).rows)
    save_audit(again, tmp_path / "again")
    assert (tmp_path / "again" / "audit.json").read_text() == (tmp_path / "audit" / "audit.json").read_text()


def test_audit_json_has_every_comparison(three: AuditResult, crossed: AuditResult) -> None:
    found = json.loads(json.dumps(summary(crossed), allow_nan=False))
    assert [one["name"] for one in found["comparisons"]] == ["sex", "region", BOTH]
    for one in found["comparisons"]:
        assert set(one) == {"name", "groups", "checks", "affected", "methods"}
        assert sum(one["groups"].values()) == found["n_test"]
        for method, said in one["methods"].items():
            report = crossed.report(method, one["name"])
            assert said["changing_ratio"] == report.metrics.changing_ratio
            assert said["verdict"] == report.verdict
            assert (said["pairs"] is None) == (said["interaction"] is not None) == (one["name"] == BOTH)
    assert found["roles"] == json.loads(json.dumps(crossed.roles.to_dict()))
    three_found = json.loads(json.dumps(summary(three), allow_nan=False))
    (comparison,) = three_found["comparisons"]
    pairs = comparison["methods"]["pca"]["pairs"]
    assert len(pairs["pairs"]) == 6
    assert {pairs["worst"]["source"], pairs["worst"]["target"]} <= {"a", "b", "c"}


@pytest.mark.slow
def test_the_same_seed_gives_the_same_audit(crossed: AuditResult) -> None:
    again = run_audit(make_crossed(900, seed=0), CROSSED, PCA.replace(methods=("pca", "surprise")))
    assert dataclasses.replace(again.provenance, seconds={}) == dataclasses.replace(crossed.provenance, seconds={})
    for method, scores in crossed.scores.items():
        for what in ("train", "factual", "twins", "judged"):
            assert np.array_equal(getattr(again.scores[method], what), getattr(scores, what))
    assert again.checks == crossed.checks


# Small groups


def few(result: AuditResult, hidden: dict[str, int], comparison: str) -> AuditResult:
    """The audit, as if all but so many test people of some groups were of another one."""
    plan = result.plan
    chosen, factual = plan.comparison(comparison), result.people.factual.copy()
    states = plan.states.of_codes(factual[:, 0])
    own = plan.groups_of(states, chosen)
    rest = next(k for k, name in enumerate(chosen.groups) if name not in hidden)
    for name, count in hidden.items():
        surplus = np.flatnonzero(own == chosen.groups.index(name))[count:]
        states[surplus] = states[np.flatnonzero(own == rest)[0]]
    factual[:, 0] = plan.states.codes[states]
    return dataclasses.replace(result, people=with_rows(result.people, factual))


def test_groups_of_fewer_than_ten_people_are_hidden_in_audit_json(three: AuditResult) -> None:
    small = few(three, {"c": 7}, "group")
    whole, found = (json.loads(json.dumps(summary(one), allow_nan=False)) for one in (three, small))
    assert found["groups"]["c"] == found["comparisons"][0]["groups"]["c"] == "<10"
    assert whole["groups"]["c"] > 10
    for method, said in found["methods"].items():
        numbers = said["metrics"]["groups"]["c"]
        assert numbers.pop("n") == "<10"
        assert set(numbers.values()) == {None}
        assert said["metrics"]["groups"]["a"]["flag_rate"] is not None
        table = found["comparisons"][0]["methods"][method]
        numbers = table["metrics"]["groups"]["c"]
        assert (numbers.pop("n"), numbers.pop("n_anomaly")) == ("<10", None)
        assert {value for one in numbers.values() for value in one.values()} == {None}
        for one in table["metrics"]["between"].values():
            assert one is None or "c" not in (one["lowest"], one["highest"])
        pairs = table["pairs"]
        assert {group["name"]: group["n"] is None for group in pairs["groups"]} == {"a": False, "b": False, "c": True}
        for pair in pairs["pairs"]:
            if "c" in (pair["source"], pair["target"]):
                assert {
                    pair[name] for name in ("ratio", "newly_flagged", "newly_cleared", "interval", "simultaneous")
                } == {None}
            else:
                assert pair["ratio"] is not None
        assert "c" not in pairs["worst"].values()
        assert pairs["any_other"]["people"]["ratio"] is None  # all people are the others and these few
        assert pairs["any_other"]["groups"]["c"]["ratio"] is None
    assert "c" in {pair["target"] for pair in whole["comparisons"][0]["methods"]["pca"]["pairs"]["pairs"]}


def test_combinations_of_few_people_are_hidden_too(crossed: AuditResult) -> None:
    small = few(crossed, {"f, west": 9, "m, north": 3}, BOTH)
    found = json.loads(json.dumps(summary(small), allow_nan=False))["comparisons"][2]
    assert {name for name, n in found["groups"].items() if n == "<10"} == {"f, west", "m, north"}
    for said in found["methods"].values():
        for name in ("f, west", "m, north"):
            numbers = said["metrics"]["groups"][name]
            assert numbers["n"] == "<10"
            assert numbers["flag_rate"] == {"value": None, "low": None, "high": None}
        assert said["metrics"]["groups"]["m, west"]["flag_rate"]["value"] is not None
        assert said["interaction"]["n"] == len(small.people.row)  # of everybody


# What else must be known


def test_the_papers_way_is_for_two_groups() -> None:
    config = preset("paper").replace(methods=("pca",))
    message = "Additive twins, as in the paper, are of one sensitive attribute with two groups; use preset fast"
    with pytest.raises(InvalidConfigError, match=message):
        run_audit(make_three(300, seed=0), THREE, config)
    named = dataclasses.replace(THREE, groups=("a", "c"))
    with pytest.raises(InvalidDataError, match="True twins can be given where two groups of one sensitive attribute"):
        table = make_three(300, seed=0)
        run_audit(table, THREE, QUICK, test=table, test_counterfactual=three_twins(table, "a"))
    assert run_audit(make_three(300, seed=0), named, QUICK.replace(methods=("pca",))).judges == 2


@pytest.mark.slow
def test_twelve_groups_and_bands_are_audited() -> None:
    rng = np.random.default_rng(0)
    table = make_three(1500, seed=1).assign(group=rng.integers(12, size=1500).astype(str))
    table["income"] += 0.2 * table["group"].astype(int)
    found = run_audit(table, THREE, QUICK.replace(methods=("pca", "twin")))
    assert found.people.twins.shape[0] == 11
    pairs = found.group_report("pca").pairs_at(found.report("pca").threshold)
    assert pairs is not None
    assert len(pairs.pairs) == 132
    by_age = make_crossed(600, seed=1)
    roles = ColumnRoles((Attribute("age", bands=4),), ignore=("sex", "region"))
    bands = run_audit(by_age, roles, QUICK.replace(methods=("pca",)))
    assert len(bands.groups) == 4
    assert bands.roles.attributes[0].bands is None  # settled as cut points
    twins = twin_rows(bands, by_age, {"age": next(iter(bands.groups))}).rows
    assert len(score_rows(bands, twins)) == 600
    assert "no-labels" in codes(bands)


@pytest.mark.slow
def test_every_method_audits_three_groups(tmp_path: Path) -> None:
    found = run_audit(make_three(500, seed=4), THREE, EVERYTHING)
    save_audit(found, tmp_path)
    again = load_audit(tmp_path)
    assert_the_same_audit(again, found)
    table = make_three(30, seed=5)
    pd.testing.assert_frame_equal(score_rows(again, table), score_rows(found, table))
    for method in EVERYTHING.methods:
        assert found.report(method).verdict
        pairs = found.group_report(method).pairs_at(found.report(method).threshold)
        assert pairs is not None
        assert len(pairs.pairs) == 6


def test_three_attributes_are_audited() -> None:
    table = make_crossed(600, seed=2)
    roles = ColumnRoles((*CROSSED.attributes, Attribute("age", cuts=(45.0,))))
    found = run_audit(table, roles, QUICK.replace(methods=("pca",)))
    names = [one.name for one in found.plan.comparisons]
    assert names == ["sex", "region", "age", "sex and region", "sex and age", "region and age"]
    assert found.people.twins.shape[0] == 1 + 2 + 1 + 3
    for name in names:
        report = found.report("pca", name)
        assert report.metrics.changing_ratio is not None
        assert report.verdict
    with pytest.raises(InvalidDataError, match="Expected 1 to 3 different sensitive columns"):
        run_audit(table, ColumnRoles(("sex", "region", "age", "income")), QUICK)
