"""Which paths carry the change of an audit, and what remains without some of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from cfad_core.audit.paths import (
    Asked,
    changes_without,
    expected_seconds,
    known_paths,
    known_remaining,
    measure_paths,
    measure_remaining,
    why_not,
)
from cfad_core.audit.result import AuditResult
from cfad_core.causal.path_twins import OPEN, without
from cfad_core.core.errors import AuditCancelled, InvalidConfigError
from cfad_core.core.progress import Progress
from tests.audit.worlds import without_judges


def thresholds(seen: AuditResult) -> dict[str, float]:
    return {method: seen.report(method).threshold for method in seen.scores if method in seen.detectors}


@pytest.mark.parametrize("name", ["measured", "three", "crossed", "mixed"])
def test_with_all_paths_open_twins_are_the_judged_ones(name: str, request: pytest.FixtureRequest) -> None:
    """To the bit, for every method, comparison and model; also of some of the people, and of a pair of groups."""
    whole: AuditResult = request.getfixturevalue(name)
    views = [whole.seen(comparison.name) for comparison in whole.plan.comparisons]
    if name == "three":
        views.append(whole.seen("group", ("c", "a")))
    for seen in views:
        for most in (None, 50):
            asked, limits = Asked.of(seen, most), thresholds(seen)
            found = changes_without(asked, [lambda _: OPEN], limits, Progress())
            for method, (changes,) in found.items():
                assert np.array_equal(changes, asked.judged(method, limits[method])), (method, seen.view)
            assert len(asked.place) == (len(seen.people.judged) if most is None else min(50, len(seen.people.judged)))


def test_what_remains_without_paths(measured: AuditResult) -> None:
    """Without any first arrow nothing is left; without what no graph has, all is."""
    seen = measured.seen()
    limits = thresholds(seen)
    found = measure_remaining(seen, limits, [("group", name) for name in ("income", "debt", "schooling")])
    nothing = measure_remaining(seen, limits, [])
    for method in limits:
        report = seen.report(method)
        assert nothing[method].whole.value == pytest.approx(report.metrics.changing_ratio)
        assert nothing[method].remaining == nothing[method].whole
        assert nothing[method].gone.value == 0.0
        interval = report.changing_ratio_interval(report.threshold)
        whole = nothing[method].whole.interval
        assert interval is not None
        assert whole is not None
        assert whole.low <= interval.low  # that one is within the bounds of the flag rates, too
    assert found["ae"].whole.value or found["cfad"].whole.value
    assert found["ae"].remaining.value == 0.0
    assert found["ae"].gone.value == found["ae"].whole.value
    assert found["ae"].graphs[0] == measured.judges
    assert found["ae"].people == len(seen.people.judged)
    unknown = measure_remaining(seen, limits, [("schooling", "income"), ("group", "nobody")], most=60)["ae"]
    assert unknown.remaining == unknown.whole
    assert (unknown.graphs[1], unknown.people) == (0, 60)
    asked = seen, "ae", limits["ae"]
    assert known_remaining(*asked, []) == nothing["ae"]
    assert known_remaining(*asked, [("group", "debt")]) is None
    assert measure_remaining(seen, {"ae": limits["ae"]}, [])["ae"] is nothing["ae"]


def test_how_long_it_may_take(measured: AuditResult, result: AuditResult) -> None:
    seen = measured.seen()
    one = expected_seconds(seen, ["ae"], remaining=True)
    assert 0.0 < one < expected_seconds(seen, ["ae", "twin"], remaining=True)
    assert one < expected_seconds(seen, ["ae"], remaining=False)
    assert expected_seconds(replace(measured, judges=0).seen(), ["ae"], remaining=False) == 0.0


def test_paths_of_a_chain(three: AuditResult) -> None:
    """Group acts on income, and through it on debt."""
    seen = three.seen()
    report = seen.report("ae")
    ticks: list[tuple[str, int, int]] = []

    class Hears(Progress):
        def report(self, stage: str, step: int, total: int, values: object) -> None:
            ticks.append((stage, step, total))

    found = measure_paths(seen, "ae", report.threshold, Hears())
    assert found.whole.value == pytest.approx(report.metrics.changing_ratio)
    assert found.says_enough
    assert (found.told, found.people, found.models) == (None, len(seen.people.judged), three.judges)
    by_path = {row.path: row for row in found.rows}
    first, second = by_path["group", "income"], by_path["group", "income", "debt"]
    assert first.graphs == second.graphs == three.judges
    assert (first.is_direct, second.is_direct) == (True, False)
    assert (first.gone.value, first.remaining.value) == (1.0, 0.0)  # all begins with this arrow
    assert first.alone.value == found.whole.value
    assert second.remaining.value == found.direct.value  # debt listens to nobody else
    assert second.alone.value == found.passed_on.value
    assert second.gone.value == pytest.approx(1.0 - (second.remaining.value or 0.0) / (found.whole.value or 1.0))
    assert 0.0 < (second.gone.value or 0.0) < 1.0
    for row in found.rows:
        for one in (row.remaining, row.gone, row.alone):
            assert one.interval is not None
            assert one.value is not None
            assert one.interval.low <= one.value <= one.interval.high
    assert [row.gone.value for row in found.rows] == sorted((row.gone.value for row in found.rows), reverse=True)  # type: ignore[type-var]
    assert {stage for stage, _, _ in ticks} == {"paths"}
    assert measure_paths(seen, "ae", report.threshold) is found  # it is worked out once, whoever asks
    assert known_paths(three.seen(), "ae", report.threshold) is found
    assert known_paths(seen, "ae", report.threshold + 1.0) is None
    assert known_paths(seen, "cfad", report.threshold) is None
    again = replace(three)
    assert measure_paths(again.seen(), "ae", report.threshold) == found


def test_a_method_that_is_told_the_group(three: AuditResult) -> None:
    """Ranks within the group change although no column does; scores that see no group do not."""
    seen = three.seen()
    limits = thresholds(seen)
    found = measure_paths(seen, "pca-rank", limits["pca-rank"])
    assert found.told is not None
    assert (found.told.value or 0.0) > 0.0
    assert measure_paths(seen, "pca", limits["pca"]).told is None


def test_paths_of_two_attributes(crossed: AuditResult) -> None:
    seen = crossed.seen("sex and region")
    found = measure_paths(seen, "pca", seen.report("pca").threshold)
    assert {row.path[0] for row in found.rows} == {"sex", "region"}
    alone = crossed.seen("region")
    assert {row.path[0] for row in measure_paths(alone, "pca", alone.report("pca").threshold).rows} == {"region"}
    closed = without([("sex", "bonus"), ("sex", "income"), ("sex", "debt"), ("sex", "age")])
    asked, limits = Asked.of(alone), {"pca": alone.report("pca").threshold}
    left = changes_without(asked, [lambda _: closed], limits, Progress())["pca"][0]
    assert np.array_equal(left, asked.judged("pca", limits["pca"]))  # where only the region changes, they carry nothing


def test_what_cannot_be_measured(result: AuditResult, measured: AuditResult) -> None:
    assert why_not(measured.seen(), "ae") == ""
    assert "none saved" in why_not(without_judges(measured).seen(), "ae")
    lost = replace(measured, detectors={name: one for name, one in measured.detectors.items() if name != "lof"})
    assert "'lof' is not saved" in why_not(lost.seen(), "lof")
    with pytest.raises(InvalidConfigError, match="none saved"):
        measure_remaining(without_judges(measured).seen(), {"ae": 1.0}, [])
    with pytest.raises(InvalidConfigError, match="'lof' is not saved"):
        measure_paths(lost.seen(), "lof", 0.0)
    assert "Run it again" in why_not(replace(measured, model=object()).seen(), "ae")  # type: ignore[arg-type]
    few = measure_paths(result.seen(), "ae", float("inf"))  # nobody is flagged
    assert not few.says_enough
    assert few.whole.value == 0.0
    assert {row.gone.value for row in few.rows} == {None}
    assert few.whole.interval is None  # its uncertainty was not measured


def test_it_can_be_stopped(measured: AuditResult) -> None:
    class Stops(Progress):
        def stop_requested(self) -> bool:
            return True

    with pytest.raises(AuditCancelled, match="'paths'"):
        measure_remaining(measured.seen(), {"ae": 0.0}, [], Stops())


def test_people_are_not_changed(judged: AuditResult) -> None:
    before = judged.people.factual.copy()
    measure_remaining(judged.seen(), {"pca": 0.0}, [("group", "income")], most=30)
    assert np.array_equal(judged.people.factual, before)
