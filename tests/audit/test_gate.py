"""Audits held against bounds: known answers by scores that are written by hand."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

import numpy as np
import pytest

from cfad_core.audit.basis import MethodScores
from cfad_core.audit.gate import CHANGING_RATIO, FLAG_RATE_GAP, RELIABLE, WORST_PAIR, Check, Gate, check_gate
from cfad_core.audit.gate import choose_method as chosen
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.errors import InvalidConfigError
from cfad_core.evaluation.verdict import failed_tests
from tests.audit.worlds import CROSSED, PCA, ROLES, THREE, make_crossed, make_three
from tests.conftest import make_people, with_rows


@pytest.fixture(scope="module")
def two() -> AuditResult:
    """Two groups, without uncertainty."""
    return run_audit(make_people(600, seed=0), ROLES, PCA.replace(subsamples=0))


@pytest.fixture(scope="module")
def groups() -> AuditResult:
    """Three groups, with uncertainty."""
    return run_audit(make_three(600, seed=0), THREE, PCA)


@pytest.fixture(scope="module")
def both() -> AuditResult:
    """Two attributes, with uncertainty."""
    return run_audit(make_crossed(600, seed=0), CROSSED, PCA)


def by_hand(
    audit: AuditResult,
    *,
    sizes: Mapping[str, int],
    flagged: Mapping[str, int] | None = None,
    changing: Mapping[tuple[str, str], int] | None = None,
) -> AuditResult:
    """An audit of one attribute with so many people in each group; the one without a number has the rest.

    Parameters
    ----------
    flagged : by group, how many people are
    changing : by group and other group, of how many the outcome changes with every twin
    """
    (comparison,) = audit.plan.comparisons
    n, names = len(audit.people.row), comparison.groups
    counts = [sizes.get(name, n - sum(sizes.values())) for name in names]
    group = np.repeat(np.arange(len(names)), counts)
    state = audit.plan.states.of_codes(audit.people.factual[:, 0])
    codes = np.array([audit.people.factual[np.flatnonzero(state == k)[0], 0] for k in range(len(names))])
    start = dict(zip(names, np.cumsum([0, *counts[:-1]]).tolist(), strict=True))
    score = np.zeros(n)
    for name, count in (flagged or {}).items():
        score[start[name] : start[name] + count] = 1.0
    assert (audit.people.judged == np.arange(n)).all()
    old = audit.scores["pca"]
    judged = np.broadcast_to(score, old.judged.shape).copy()  # (R, k, m)
    for (own, other), count in (changing or {}).items():
        target, rows = names.index(other), slice(start[own], start[own] + count)
        judged[:, target - (target > names.index(own)), rows] = 1.0 - score[rows]
    factual = audit.people.factual.copy()
    factual[:, 0] = codes[group]
    return dataclasses.replace(
        audit,
        people=with_rows(audit.people, factual),
        scores={"pca": MethodScores(np.full(9, 0.5), score, judged[0], None, judged)},
    )


def with_checks(audit: AuditResult, **changes: Any) -> AuditResult:
    return dataclasses.replace(audit, checks=tuple(dataclasses.replace(one, **changes) for one in audit.checks))


def named(checks: tuple[Check, ...], name: str) -> list[Check]:
    """Those that decide something."""
    return [check for check in checks if check.name == name and check.holds is not None]


def infos(checks: tuple[Check, ...]) -> list[str]:
    return [check.line for check in checks if check.holds is None and check.name != "verdict"]


def test_the_leading_number_and_the_worst_pair_of_two_groups(two: AuditResult) -> None:
    audit = by_hand(two, sizes={"a": 50}, changing={("a", "b"): 6})
    leading, worst, verdict = check_gate(audit, Gate(max_changing_ratio=0.05))
    assert (leading.name, leading.method, leading.comparison) == (CHANGING_RATIO, "pca", "group")
    assert (leading.value, leading.limit, leading.interval, leading.holds) == (6 / 150, 0.05, None, True)
    assert leading.line == (
        "ok: group: changing ratio 0.040 (its uncertainty was not measured) is at most 0.05; pca at threshold 0.5 "
        "(the score that 5 % of the people learned from exceed)"
    )
    assert (worst.name, worst.value, worst.holds) == (WORST_PAIR, 6 / 50, False)  # the average hides a small group
    assert worst.line == (
        "failed: group: changing ratio of the worst pair 0.120 (its uncertainty was not measured) is above 0.05, for "
        "people of 'a', had they been 'b'; pca at threshold 0.5 (the score that 5 % of the people learned from exceed)"
    )
    assert (verdict.name, verdict.holds, verdict.limit) == ("verdict", None, None)
    assert "About 4 % of people would have a different outcome with principal components (PCA)" in verdict.line


@pytest.mark.parametrize(("bound", "holds"), [(0.04, True), (0.0399, False), (0.0, False), (1.0, True)])
def test_a_number_at_its_bound_is_within_it(two: AuditResult, bound: float, holds: bool) -> None:
    audit = by_hand(two, sizes={"a": 75}, changing={("a", "b"): 3, ("b", "a"): 3})
    checks = check_gate(audit, Gate(max_changing_ratio=bound))
    assert [check.holds for check in checks if check.holds is not None] == [holds, holds]


def test_as_many_digits_as_show_the_difference(two: AuditResult) -> None:
    audit = by_hand(two, sizes={"a": 75}, changing={("a", "b"): 3, ("b", "a"): 4})
    check = check_gate(audit, Gate(max_changing_ratio=0.0468))[0]
    assert "changing ratio 0.0467 (its uncertainty was not measured) is at most 0.0468;" in check.line


def test_the_flag_rate_gap(two: AuditResult) -> None:
    audit = by_hand(two, sizes={"a": 50}, flagged={"a": 10, "b": 5})
    (check,) = check_gate(audit, Gate(max_flag_rate_gap=0.1))
    assert (check.name, check.limit, check.holds) == (FLAG_RATE_GAP, 0.1, False)
    assert check.value == pytest.approx(0.15)
    assert check.interval is not None
    assert check.interval.low < 0.15 < check.interval.high
    assert check.line.startswith("failed: group: flag rate gap 0.150 (90 % interval ")
    assert "is above 0.1, between 'b' (lowest) and 'a' (highest); pca at" in check.line
    (check,) = check_gate(audit, Gate(max_flag_rate_gap=0.16))
    assert check.holds
    assert check.line.startswith("ok: group: flag rate gap 0.150 ")


def test_rounding_is_no_violation(two: AuditResult) -> None:
    audit = by_hand(two, sizes={"a": 50}, flagged={"a": 40, "b": 70})
    assert 40 / 50 - 70 / 100 > 0.1
    (check,) = check_gate(audit, Gate(max_flag_rate_gap=0.1))
    assert check.holds
    assert "flag rate gap 0.100 (" in check.line
    assert "is at most 0.1," in check.line


def test_upper_ends(groups: AuditResult) -> None:
    by_number = named(check_gate(groups, Gate(1.0, 1.0)), CHANGING_RATIO)[0]
    report = groups.report("pca")
    assert by_number.interval == report.changing_ratio_interval(report.threshold)
    assert by_number.interval is not None
    assert by_number.value is not None
    assert by_number.value < by_number.interval.high
    bound = (by_number.value + by_number.interval.high) / 2.0
    assert named(check_gate(groups, Gate(bound)), CHANGING_RATIO)[0].holds
    above = named(check_gate(groups, Gate(bound, upper=True)), CHANGING_RATIO)[0]
    assert above.holds is False
    assert "lowest to highest" in above.line  # four models have no 90 % interval
    assert f"): its upper end is above {bound:g};" in above.line


def test_upper_ends_are_those_of_all_pairs(groups: AuditResult) -> None:
    """The pair with the highest upper end need not be the one with the highest ratio."""
    audit = by_hand(groups, sizes={"a": 12, "b": 60}, changing={("b", "a"): 1})
    table = audit.group_report("pca").pairs_at(0.5)
    assert table is not None
    tops = [pair.simultaneous.high for pair in table.pairs if pair.simultaneous is not None]
    by_number = named(check_gate(audit, Gate(0.5)), WORST_PAIR)[0]
    by_upper = named(check_gate(audit, Gate(0.5, upper=True)), WORST_PAIR)[0]
    assert by_number.value == pytest.approx(1 / 60)
    assert "for people of 'b', had they been 'a'" in by_number.line
    assert by_upper.interval is not None
    assert by_number.interval is not None
    assert by_upper.interval.high == max(tops) > by_number.interval.high
    assert "for people of 'a', had they been" in by_upper.line
    assert ", allowing for looking at 6 pairs): its upper end is " in by_upper.line


def test_upper_ends_need_intervals(two: AuditResult) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        check_gate(two, Gate(0.5, upper=True))
    assert str(raised.value) == (
        "The changing ratio of 'pca' has no interval, so there is no upper end; audit with --subsamples 20, or check "
        "the number itself, without --upper."
    )
    (check,) = check_gate(two, Gate(max_flag_rate_gap=1.0, upper=True))  # a gap needs no causal models
    assert check.holds


def test_three_groups(groups: AuditResult) -> None:
    audit = by_hand(groups, sizes={"a": 40, "b": 60}, changing={("a", "c"): 4, ("b", "c"): 3})
    checks = check_gate(audit, Gate(0.09, 1.0))
    leading, worst = named(checks, CHANGING_RATIO)[0], named(checks, WORST_PAIR)[0]
    assert leading.value == pytest.approx(7 / 150)
    assert leading.holds is True
    assert worst.value == pytest.approx(0.1)
    assert worst.holds is False
    assert "for people of 'a', had they been 'c'" in worst.line
    assert worst.interval is not None
    assert infos(checks) == []


def test_small_groups_are_named_and_never_counted(groups: AuditResult) -> None:
    """Nothing that their people do moves a number of pairs or gaps."""
    lines = []
    for count in (0, 4):
        audit = by_hand(
            groups, sizes={"a": 4, "b": 60}, flagged={"a": count, "b": 6}, changing={("a", "b"): count, ("b", "c"): 3}
        )
        checks = check_gate(audit, Gate(0.2, 0.2))
        worst, gap = named(checks, WORST_PAIR)[0], named(checks, FLAG_RATE_GAP)[0]
        assert worst.value == pytest.approx(3 / 60)
        assert worst.holds is True
        assert "had they been 'c'" in worst.line
        assert gap.value == pytest.approx(0.1)
        assert gap.holds is True
        assert "between 'c' (lowest) and 'b' (highest)" in gap.line
        lines.append(infos(checks))
    where = "; pca at threshold 0.5 (the score that 5 % of the people learned from exceed)"
    left_out = "info: group: group 'a' of fewer than 10 people is not in the"
    assert lines[0] == lines[1] == [f"{left_out} pairs that were checked{where}", f"{left_out} flag rate gap{where}"]


def test_a_gap_that_cannot_be_known_does_not_hold(two: AuditResult) -> None:
    audit = by_hand(two, sizes={"a": 9}, flagged={"a": 9})
    checks = check_gate(audit, Gate(1.0, 1.0))
    (gap,) = named(checks, FLAG_RATE_GAP)
    assert (gap.value, gap.limit, gap.interval, gap.holds) == (None, 1.0, None, False)
    assert "flag rate gap cannot be checked, as fewer than two groups have 10 people; pca at" in gap.line
    assert named(checks, WORST_PAIR) == []
    assert len(named(checks, CHANGING_RATIO)) == 1
    assert len(infos(checks)) == 2


def test_a_ratio_of_nobody_does_not_hold(two: AuditResult) -> None:
    scores = two.scores["pca"]
    nobody = dataclasses.replace(
        two,
        people=dataclasses.replace(two.people, judged=two.people.judged[:0]),
        scores={"pca": dataclasses.replace(scores, judged=scores.judged[:, :, :0])},
    )
    check = check_gate(nobody, Gate(1.0))[0]
    assert (check.value, check.limit, check.holds) == (None, 1.0, False)
    assert "changing ratio cannot be checked, as nobody was judged" in check.line


def test_two_attributes(both: AuditResult) -> None:
    checks = check_gate(both, Gate(0.5, 0.5, reliable=True))
    names = ["sex", "region", "sex and region"]
    for name in (CHANGING_RATIO, FLAG_RATE_GAP, RELIABLE):
        assert [check.comparison for check in named(checks, name)] == names
    assert [check.comparison for check in named(checks, WORST_PAIR)] == names[:2]
    joint = both.report("pca", "sex and region")
    leading, gap = named(checks, CHANGING_RATIO)[2], named(checks, FLAG_RATE_GAP)[2]
    assert leading.value == joint.metrics.changing_ratio
    found = both.group_report("pca", "sex and region").metrics_at(joint.threshold).suppressed().between["flag_rate"]
    assert found is not None
    assert (gap.value, gap.interval) == (found.difference.value, found.difference.interval)
    assert named(checks, RELIABLE)[2].line.startswith(
        "ok: sex and region: the causal model failed none of its tests (the twin test could not be run); pca at"
    )


def test_another_threshold(groups: AuditResult) -> None:
    report = groups.report("pca")
    low = report.threshold_at(0.7)
    checks = check_gate(groups, Gate(1.0, 1.0), threshold=low, how="as saved, quantile 0.7")
    assert named(checks, CHANGING_RATIO)[0].value == report.metrics_at(low).changing_ratio
    assert named(checks, CHANGING_RATIO)[0].interval == report.changing_ratio_interval(low)
    assert named(checks, CHANGING_RATIO)[0].value != report.metrics.changing_ratio
    pairs = groups.group_report("pca").pairs_at(low)
    assert pairs is not None
    assert pairs.worst is not None
    assert named(checks, WORST_PAIR)[0].value == pairs.worst.ratio
    assert all(check.line.endswith(f"; pca at threshold {low:.4g} (as saved, quantile 0.7)") for check in checks)


def test_reliable(two: AuditResult) -> None:
    check, verdict = check_gate(two, Gate(reliable=True))
    assert (check.name, check.limit, check.value, check.holds) == (RELIABLE, None, None, True)
    assert check.line.startswith("ok: group: the causal model failed none of its tests; pca at threshold ")
    assert verdict.name == "verdict"
    doubtful = with_checks(two, unexplained=("income",))
    check, verdict = check_gate(doubtful, Gate(reliable=True))
    assert check.holds is False
    assert check.line.startswith(
        "failed: group: the causal model failed its tests: the graph has no path to income, which differs between the "
        "groups; pca at"
    )
    assert verdict.line.startswith("info: group: Not reliable: ")


def test_what_was_not_tested_is_not_reliable(two: AuditResult) -> None:
    check = check_gate(dataclasses.replace(two, checks=()), Gate(reliable=True))[0]
    assert (check.holds, "the causal model was not tested; pca" in check.line) == (False, True)
    check = check_gate(with_checks(two, rows_were_selected=True, twin_test=None), Gate(reliable=True))[0]
    assert check.holds is False
    assert "could not be tested, as the rows were chosen by their label" in check.line


def test_true_twins_need_no_tests(two: AuditResult) -> None:
    scores = two.scores["pca"]
    true = {"pca": dataclasses.replace(scores, truth=scores.counterfactual)}
    known = dataclasses.replace(with_checks(two, unexplained=("income",)), scores=true)
    checks = check_gate(known, Gate(1.0, reliable=True))
    assert named(checks, RELIABLE)[0].holds
    assert "the true twins are known" in named(checks, RELIABLE)[0].line
    assert named(checks, CHANGING_RATIO)[0].value == known.report("pca").metrics.changing_ratio


def test_failed_tests_are_what_verdicts_begin_with(two: AuditResult, groups: AuditResult, both: AuditResult) -> None:
    for audit in (two, groups, both, with_checks(two, unexplained=("income",)), with_checks(both, unexplained=("a",))):
        for comparison in audit.plan.comparisons:
            report = audit.report("pca", comparison.name)
            failed = bool(failed_tests(report.evidence_at(report.threshold)))
            assert failed == report.verdict.startswith("Not reliable")


def test_which_method(two: AuditResult) -> None:
    def audit(*names: str) -> AuditResult:
        return dataclasses.replace(two, scores=dict.fromkeys(names, two.scores["pca"]))

    assert chosen(audit("pca")) == "pca"
    assert chosen(audit("own")) == "own"
    assert chosen(audit("pca", "ae", "own")) == "own"
    assert chosen(audit("pca", "ae", "own"), "ae") == "ae"
    for names in (("pca", "ae"), ("own", "other"), ("pca", "own", "own-rank")):
        with pytest.raises(InvalidConfigError) as raised:
            chosen(audit(*names))
        assert str(raised.value) == (f"The audit has several methods; choose one with --method: {', '.join(names)}.")
    with pytest.raises(InvalidConfigError) as raised:
        check_gate(audit("pca", "ae"), Gate(0.5), "cfad")
    assert str(raised.value) == "The audit has no method 'cfad'; it has: pca, ae."


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, "A gate needs something to check; give it --max-changing-ratio, --max-flag-rate-gap or --reliable."),
        ({"upper": True}, "A gate needs something to check; give it --max-changing-ratio, --max-flag-rate-gap or "),
        ({"max_changing_ratio": 5.0}, "The largest changing ratio is a share from 0 to 1; got 5."),
        ({"max_changing_ratio": float("nan")}, "The largest changing ratio is a share from 0 to 1; got nan."),
        ({"max_flag_rate_gap": -0.1}, "The largest flag rate gap is a share from 0 to 1; got -0.1."),
    ],
)
def test_gates_that_make_no_sense(settings: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfigError) as raised:
        Gate(**settings)
    assert str(raised.value).startswith(message)


def test_a_check_is_one_line_whatever_groups_are_called(two: AuditResult) -> None:
    (comparison,) = two.plan.comparisons
    names = ("a\n::error::\x1b[31m", "b\u2028]]>")
    plan = dataclasses.replace(two.plan, comparisons=(dataclasses.replace(comparison, groups=names),))
    for check in check_gate(dataclasses.replace(two, plan=plan), Gate(0.0, 0.0, reliable=True)):
        assert len(check.line.splitlines()) == 1
        assert check.line.isprintable()
