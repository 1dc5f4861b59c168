"""What would turn the verdict: edges that matter, assumptions, bounds and thresholds, with the right numbers."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

import numpy as np
import pytest

from cfad_core.core.config import Knowledge
from cfad_core.evaluation.edge_cuts import EdgeCuts
from cfad_core.evaluation.evidence import Evidence
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.twin_test import TwinTest
from cfad_core.report.subject import Subject
from cfad_core.report.turning import CarriedEdge, carried_edges, turning_points
from tests.report.kinds import flagged, result_of, subject, subject_of

FOUND = Evidence("AE", "group", has_path=True, ratio=0.2, interval=Interval(0.15, 0.25), graphs=4)
LAST = "A cause of both the sensitive attribute and other columns that is not in the table would: no table can show it."


def posed(
    found_in: Sequence[int], carried: Sequence[float], people: int = 1000, knowledge: Knowledge | None = None
) -> Subject:
    """An audit whose edges group → income and income → debt were found so often, and carry so much."""
    result = result_of("two")
    stability = result.stability
    assert stability is not None
    edges = (("group", "income"), ("income", "debt"))
    graphs = np.zeros_like(stability.graphs)
    for (cause, effect), times in zip(edges, found_in, strict=True):
        graphs[:times, stability.variables.index(cause), stability.variables.index(effect)] = 0.5
    cuts = EdgeCuts(people, edges, {"ae": 0.4}, {"ae": 0.4 * (1.0 - np.array(carried))})
    changed = dataclasses.replace(stability, graphs=graphs, edge_cuts=(cuts,))
    config = result.config if knowledge is None else result.config.replace(knowledge=knowledge)
    return subject(dataclasses.replace(result, stability=changed, config=config))


def points(monkeypatch: pytest.MonkeyPatch, found: Evidence, audit: Subject | None = None) -> list[str]:
    monkeypatch.setattr(Subject, "evidence", lambda *_: found)
    audit = audit or posed((4, 4), (1.0, 0.5))
    return turning_points(audit, audit.comparisons[0])


def about(lines: Sequence[str], start: str) -> list[str]:
    return [line for line in lines if line.startswith(start)]


def test_an_uncertain_edge_that_matters_is_named_with_what_remains(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = posed((4, 1), (1.0, 0.25))
    first, second = carried_edges(audit, audit.comparisons[0])
    assert first == CarriedEdge("group", "income", 1.0, 4, 4, is_open=False)
    assert second == CarriedEdge("income", "debt", second.carried, 1, 4, is_open=False)
    assert second.carried == pytest.approx(0.25)
    assert about(points(monkeypatch, FOUND, audit), "The edge") == [
        "The edge income → debt was found in 1 of 4 subsamples. "
        "Without it, the outcome of about 15.0 % of people would change instead of 20.0 %."
    ]


def test_certain_edges_and_edges_that_do_not_matter_are_not_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for found_in, carried in (((4, 4), (1.0, 0.5)), ((4, 0), (1.0, 0.09))):
        lines = points(monkeypatch, FOUND, posed(found_in, carried))
        assert about(lines, "The edge") == []
        (line,) = about(lines, "No single edge")
        assert "at least 10 % of the change were found in at least 90 % of the subsamples" in line


def test_an_edge_that_works_against_the_others(monkeypatch: pytest.MonkeyPatch) -> None:
    (line,) = about(points(monkeypatch, FOUND, posed((4, 2), (1.0, -0.5))), "The edge")
    assert line.endswith("It works against the others: without it, about 30.0 % instead of 20.0 %.")
    (line,) = about(points(monkeypatch, FOUND, posed((4, 2), (1.0, -20.0))), "The edge")
    assert line.endswith("about 100.0 % instead of 20.0 %.")  # never more than everybody
    (line,) = about(points(monkeypatch, dataclasses.replace(FOUND, ratio=None), posed((4, 2), (0.1, 0.5))), "The edge")
    assert line.endswith("It carries 50 % of the change.")


def test_what_a_few_people_say_about_edges_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    few = posed((1, 1), (1.0, 0.5), people=24)  # of whom the outcome of 9.6 changes
    assert [edge.carried for edge in carried_edges(few, few.comparisons[0])] == [1.0, 0.5]
    fewer = posed((1, 1), (1.0, 0.5), people=23)
    assert [edge.carried for edge in carried_edges(fewer, fewer.comparisons[0])] == [None, None]
    assert about(points(monkeypatch, FOUND, fewer), "The edge") == []
    assert about(points(monkeypatch, FOUND, fewer), "No single edge") == []


def test_an_edge_whose_direction_is_open(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = posed((4, 4), (1.0, 0.5))
    is_open = np.zeros((4, 4), dtype=np.bool_)
    names = audit.result.model.strengths()[0]
    is_open[list(names).index("income"), list(names).index("debt")] = True
    monkeypatch.setattr("cfad_core.report.turning.open_directions", lambda _: is_open)
    (line,) = about(points(monkeypatch, FOUND, audit), "The edge")
    assert line.startswith(
        "The edge income → debt may point the other way as well. Without it, the outcome of about 10.0 %"
    )


def test_edges_that_were_given_were_not_found(monkeypatch: pytest.MonkeyPatch) -> None:
    given = Knowledge(required=(("group", "income"), ("income", "debt")), complete=True)
    lines = points(monkeypatch, dataclasses.replace(FOUND, was_given=True), posed((1, 1), (1.0, 0.5), knowledge=given))
    assert about(lines, "The edge") == about(lines, "No single edge") == []
    assert "each fitted to a random half" in about(lines, "Another sample")[0]


def test_models_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    audit = posed((4, 4), (1.0, 0.5))
    resampled = audit.report(audit.comparisons[0]).resampled
    assert resampled is not None
    here = audit.result.scores["ae"].factual > audit.threshold
    twins = audit.result.scores["ae"].judged > audit.threshold
    each = (twins != here).any(axis=1).reshape(4, -1).mean(axis=1)
    assert resampled.ratios_of_models(audit.threshold) == pytest.approx(each)
    (line,) = about(points(monkeypatch, FOUND, audit), "Another sample")
    assert line.endswith(f"say {100 * each.min():.1f} % to {100 * each.max():.1f} % each by itself.")
    without = subject_of("unlabelled")
    assert "this audit was made without subsamples." in points(monkeypatch, FOUND, without)[0]


def test_assumptions_bounds_and_errors(monkeypatch: pytest.MonkeyPatch) -> None:
    found = dataclasses.replace(
        FOUND,
        span=(0.1, 0.3),
        kept=("age", "job"),
        bounds=(0.05, 0.6),
        model_error=0.16,
        unexplained=("city",),
        better_fit=("pay", "rent"),
        twin_test=TwinTest(0.9, 0.85, 0.95, 400, (("pay", 0.5),)),
    )
    lines = points(monkeypatch, found)
    assert (
        "A path to city: the groups differ there, and the graph has no path there. With one, more outcomes may change."
        in lines
    )
    assert "A better causal model: today's twins are not like real people of the other group in pay." in lines
    assert "A better model of pay and rent: a more flexible one predicts them clearly better." in lines
    assert about(lines, "Another assumption")[0].endswith("which data cannot decide: 10.0 % to 30.0 %.")
    (kept,) = about(lines, "Other knowledge about age and job, which differ between the groups")
    assert "group does not cause them. If it does, what comes through them would count" in kept
    assert "no causal model could bring it under 5.0 %, and none over 60.0 %" in about(lines, "The flag rates")[0]
    assert "change the outcome of 16.0 % of people, so the number may be no more than that" in lines[-3]
    assert lines[-1] == LAST


def test_what_is_not_the_case_is_not_said(monkeypatch: pytest.MonkeyPatch) -> None:
    lines = points(monkeypatch, FOUND)
    assert [line.split(":")[0] for line in lines] == [
        *("No single edge is both uncertain and important", "Another sample of people", "Another threshold"),
        LAST.split(":")[0],
    ]
    small = dataclasses.replace(FOUND, model_error=0.14, bounds=(0.0, 0.6))
    lines = points(monkeypatch, small)
    assert about(lines, "A better causal model") == []
    assert "could bring it over 60.0 %, but some might find nothing" in about(lines, "The flag rates")[0]
    one = dataclasses.replace(FOUND, kept=("age",), better_fit=("pay",))
    lines = points(monkeypatch, one)
    assert (
        "which differs between the groups: by what was said beforehand group does not cause it."
        in about(lines, "Other")[0]
    )
    assert "predicts it clearly better" in about(lines, "A better model")[0]


def test_what_cannot_be_tested_is_no_argument(monkeypatch: pytest.MonkeyPatch) -> None:
    test = TwinTest(0.9, 0.85, 0.95, 400, ())
    found = dataclasses.replace(FOUND, bounds=(0.05, 0.6), unexplained=("x",), twin_test=test, selected_rows=True)
    lines = points(monkeypatch, found)
    assert about(lines, "A path") == about(lines, "A better") == about(lines, "The flag rates") == []


def test_true_twins_leave_the_threshold_alone() -> None:
    audit = subject_of("known")
    lines = turning_points(audit, audit.comparisons[0])
    assert lines[0] == "Nothing about the causal model would: the true twins are known."
    assert len(lines) == 2
    assert lines[1].startswith("Another threshold")


def test_other_thresholds_are_named_by_whom_they_flag() -> None:
    audit = subject_of("two")
    (line,) = about(turning_points(audit, audit.comparisons[0]), "Another threshold")
    score = audit.result.scores["ae"].factual
    twins = audit.result.scores["ae"].judged
    cuts = [float(np.quantile(score, 1.0 - part)) for part in (0.01, 0.02, 0.05, 0.1)]
    rates = [100.0 * (score > cut).mean() for cut in cuts]
    ratios = [100.0 * ((twins > cut) != (score > cut)).any(axis=1).mean() for cut in cuts]
    assert line == (
        f"Another threshold: where {min(rates):.1f} % to {max(rates):.1f} % of people are flagged, the outcome of "
        f"{min(ratios):.1f} % to {max(ratios):.1f} % changes."
    )


def test_a_detector_that_only_flags_has_no_other_threshold() -> None:
    audit = subject_of("flags")
    assert 0.1 < flagged(audit).mean() < 0.9
    assert about(turning_points(audit, audit.comparisons[0]), "Another threshold") == []
