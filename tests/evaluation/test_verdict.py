"""Numbers in, sentences out: every rule of the verdict and of its evidence, word for word."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cfad_core.evaluation.evidence import Evidence
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.twin_test import TwinTest
from cfad_core.evaluation.verdict import evidence_lines, verdict

GOOD = TwinTest(0.52, 0.503, 0.54, 9000)
BAD = TwinTest(0.71, 0.69, 0.73, 9000, (("income", 0.68),))
PLAIN = Evidence(
    method="AE",
    sensitive="sex",
    has_path=True,
    ratio=0.05,
    flag_rate=0.05,
    auc_roc=0.9,
    interval=Interval(low=0.04, high=0.07),
    graphs=20,
    halves_differ=0.008,
    model_error=0.009,
    span=(0.045, 0.055),
    bounds=(0.021, 0.14),
    twin_test=GOOD,
)
HEAD = "{} would have a different outcome with AE, had they belonged to the other group"
USUAL = f"{HEAD.format('About 5 % of people (4 % to 7 %)')}: about 1 in 20."
GUESS = f"Not reliable: {HEAD.format('perhaps 5 % of people (4 % to 7 %)')}. This number is a guess: "
PAIRS = "twins can be distinguished from real people of the other group (in 71 of 100 pairs; guessing would be 50)"
DISTINGUISHED = f"{PAIRS}, mostly by income"
ERRORS = "Errors of the causal model alone would change the outcome of {}, so this may be no more than that"
NO_PATH = (
    "No path from sex: in the learned graph it affects nothing, so nobody's outcome can change. That says "
    "something about the graph, nothing about AE."
)
BY_FLAGS = "Fair because useless: it flags {} of people, so hardly any outcome can change."
BY_RANKS = "it ranks an anomaly above a normal person in {} of 100 pairs, where guessing would be 50."


def between(ratio: float, low: float, high: float) -> dict[str, Any]:
    """Without what would have to change with it, as the case is not about that."""
    return {"ratio": ratio, "interval": Interval(low, high), "bounds": None, "span": None, "model_error": 0.0}


def case(amount: str, often: str) -> str:
    return f"{HEAD.format(amount)}: {often}."


HOW_MANY: list[tuple[dict[str, Any], str]] = [
    ({}, USUAL),
    ({"ratio": None}, "Nobody was judged."),  # an interval alone does not say how many
    (between(0.2, 0.1, 0.31), case("About 20 % of people (10 % to 31 %)", "about 1 in 5")),
    (between(0.06, 0.03, 0.09), case("About 6 % of people (3 % to 9 %)", "about 1 in 17")),
    # narrow intervals have a digit more, and small shares
    (between(0.0442, 0.0389, 0.0511), case("About 4.4 % of people (3.9 % to 5.1 %)", "about 1 in 23")),
    # and those where a whole percent would look like an end
    (between(0.046, 0.034, 0.054), case("About 4.6 % of people (3.4 % to 5.4 %)", "about 1 in 22")),
    (between(0.012, 0.006, 0.05), case("About 1.2 % of people (0.6 % to 5 %)", "about 1 in 83")),
    (between(0.05, 0.004, 0.09), case("About 5 % of people (0.4 % to 9 %)", "about 1 in 20")),
    (between(0.0452, 0.0451, 0.0454), case("About 4.5 % of people (by all models)", "about 1 in 22")),
    (between(0.5, 0.5, 0.5), case("About 50.0 % of people (by all models)", "about 1 in 2")),
    # a low end is left out only if it is nothing
    (between(0.03, 0.0006, 0.09), case("About 3 % of people (0.1 % to 9 %)", "about 1 in 33")),
    (between(0.03, 0.0004, 0.09), case("About 3 % of people (0 % to 9 %)", "about 1 in 33")),
    (between(0.002, 0.0, 0.006), case("About 0.2 % of people (0 % to 0.6 %)", "about 1 in 500")),
    (between(0.0004, 0.0, 0.004), case("Under 0.1 % of people (0 % to 0.4 %)", "fewer than 1 in 1,000")),
    (between(0.0, 0.0, 0.0), case("Under 0.1 % of people", "fewer than 1 in 1,000")),
    (between(0.42, 0.3, 0.6), case("About 42 % of people (30 % to 60 %)", "about 4 in 10")),
    (between(1.0, 0.9, 1.0), case("About 100 % of people (90 % to 100 %)", "nearly everybody")),
]

NOT_MEASURED: list[tuple[dict[str, Any], str]] = [
    (
        {},
        "About 5 % of people would have a different outcome with AE, had they belonged to the "
        "other group: about 1 in 20; the uncertainty was not measured.",
    ),
    (
        {"ratio": 0.0, "bounds": None},
        "Under 0.1 % of people would have a different outcome with AE, had they belonged to the "
        "other group: fewer than 1 in 1,000; the uncertainty was not measured.",
    ),
    ({"ratio": None, "flag_rate": None}, "Nobody was judged."),
    (
        {"twin_test": BAD},
        f"Not reliable: {HEAD.format('perhaps 5 % of people')}. This number is a guess: {DISTINGUISHED}.",
    ),
]

FAILED: list[tuple[dict[str, Any], str]] = [
    ({"twin_test": None}, USUAL),
    ({"twin_test": dataclasses.replace(BAD, low=0.549)}, USUAL),
    ({"twin_test": dataclasses.replace(BAD, low=0.55)}, f"{GUESS}{DISTINGUISHED}."),
    ({"twin_test": BAD}, f"{GUESS}{DISTINGUISHED}."),
    (
        {"twin_test": dataclasses.replace(BAD, columns=())},
        f"{GUESS}{PAIRS}.",
    ),
    (
        {"twin_test": dataclasses.replace(BAD, columns=(("income", 0.7), ("job", 0.6)))},
        f"{GUESS}{DISTINGUISHED} and job.",
    ),
    (
        {"twin_test": dataclasses.replace(BAD, columns=tuple((name, 0.6) for name in ("a", "b", "c", "d", "e")))},
        f"{GUESS}{PAIRS}, mostly by a, b, c and 2 more.",
    ),
    ({"bounds": (0.07, 0.2)}, USUAL),
    ({"bounds": (0.0, 0.04)}, USUAL),
    ({"bounds": (0.071, 0.2)}, f"{GUESS}the flag rates of the groups alone allow only 7 % to 20 %."),
    ({"bounds": (0.0, 0.039)}, f"{GUESS}the flag rates of the groups alone allow no more than 3.9 %."),
    (
        {"bounds": (0.01, 0.025)},
        f"{GUESS}the flag rates of the groups alone allow only 1.0 % to 2.5 %.",
    ),
    (
        {"unexplained": ("housing",)},
        f"{GUESS}the graph has no path to housing, which differs between the groups.",
    ),
    (
        {"unexplained": ("housing", "job")},
        f"{GUESS}the graph has no path to housing and job, which differ between the groups.",
    ),
    (  # all of them, the twin test first; the edge that carries a guess is not named
        {
            "twin_test": BAD,
            "bounds": (0.1, 0.2),
            "unexplained": ("job",),
            "better_fit": ("age",),
            "carrier": (("sex", "income"), 1.0),
        },
        f"{GUESS}{DISTINGUISHED}; the flag rates of the groups alone allow only 10 % to 20 %; the graph has no path to "
        "job, which differs between the groups.",
    ),
    (
        {"better_fit": ("age",)},
        f"{HEAD.format('Perhaps 5 % of people (4 % to 7 %)')}: about 1 in 20. A more flexible model predicts age "
        "clearly better, so twins may be wrong in it.",
    ),
    (
        {"better_fit": ("age", "job")},
        f"{HEAD.format('Perhaps 5 % of people (4 % to 7 %)')}: about 1 in 20. A more flexible model predicts age and "
        "job clearly better, so twins may be wrong in them.",
    ),
]

MODEL_ERROR: list[tuple[dict[str, Any], str]] = [
    ({"model_error": None}, USUAL),
    ({"model_error": 0.039}, USUAL),  # a line of evidence, no more
    (
        {"model_error": 0.04},
        f"{USUAL} {ERRORS.format('4.0 %')}.",
    ),
    (
        {"model_error": 0.2},
        f"{USUAL} {ERRORS.format('20 %')}.",
    ),
    (
        {**between(0.02, 0.0, 0.05), "model_error": 0.0009},
        case("About 2 % of people (0 % to 5 %)", "about 1 in 50"),
    ),
]

SPAN: list[tuple[dict[str, Any], str]] = [
    ({"span": None}, USUAL),
    ({"span": (0.04, 0.0699)}, USUAL),  # no wider than the interval
    ({"span": (0.03, 0.09)}, f"{USUAL} Under other assumptions that data cannot decide, it would be 3 % to 9 %."),
    ({"span": (0.08, 0.09)}, f"{USUAL} Under other assumptions that data cannot decide, it would be 8.0 % to 9.0 %."),
    ({"span": (0.0, 0.09)}, f"{USUAL} Under other assumptions that data cannot decide, it would be 0 % to 9 %."),
]

GRAPHS: list[tuple[dict[str, Any], str]] = [
    ({"carrier": (("sex", "income"), 0.949)}, f"{USUAL} Most of it comes through sex → income."),
    ({"carrier": (("sex", "income"), 0.95)}, f"{USUAL} All of it comes through sex → income."),
    ({"graphs_without_path": 3}, f"{USUAL} 3 of 20 causal graphs have no path from sex."),
    ({"graphs_without_path": 1}, f"{USUAL} 1 of 20 causal graphs has no path from sex."),
    (
        {"model_error": 0.05, "span": (0.01, 0.2), "carrier": (("sex", "income"), 1.0), "graphs_without_path": 3},
        f"{USUAL} {ERRORS.format('5.0 %')}; under other assumptions that data cannot decide, it would be 1.0 % to "
        "20 %; 3 of 20 causal graphs have no path from sex; all of it comes through sex → income.",
    ),
    # most graphs lead, not an outlier
    (
        {"has_path": False},
        f"{USUAL} The audit's own graph has no path from sex, but 20 of 20 others do.",
    ),
    (
        {"has_path": False, "graphs_without_path": 9},
        f"{USUAL} The audit's own graph has no path from sex, but 11 of 20 others do.",
    ),
]

USELESS: list[tuple[dict[str, Any], str]] = [
    ({"auc_roc": None}, USUAL),
    ({"auc_roc": 0.55}, USUAL),
    ({"auc_roc": 0.549}, f"{USUAL} Useless as well: {BY_RANKS.format(55)}"),
    (
        {"auc_roc": 0.5, **between(0.03, 0.0, 0.05)},
        f"{case('About 3 % of people (0 % to 5 %)', 'about 1 in 33')} Fair because useless: {BY_RANKS.format(50)}",
    ),
    (
        {"auc_roc": 0.5, **between(0.03, 0.0, 0.051)},
        f"{case('About 3 % of people (0 % to 5 %)', 'about 1 in 33')} Useless as well: {BY_RANKS.format(50)}",
    ),
    ({"flag_rate": 0.005}, USUAL),
    (  # the flags say it all
        {"flag_rate": 0.002, "auc_roc": 0.5, **between(0.002, 0.0, 0.004)},
        f"{case('About 0.2 % of people (0 % to 0.4 %)', 'about 1 in 500')} {BY_FLAGS.format('0.2 %')}",
    ),
    (
        {"flag_rate": 0.0, **between(0.0, 0.0, 0.0)},
        f"{case('Under 0.1 % of people', 'fewer than 1 in 1,000')} {BY_FLAGS.format('under 0.1 %')}",
    ),
]

BASIS: list[tuple[dict[str, Any], str]] = [
    (
        {"additive": True},
        f"{USUAL} The twins are the paper's additive ones, which need not be possible people.",
    ),
    # rows chosen by their label: no test of the twins means anything
    (
        {"selected_rows": True, "twin_test": BAD, "bounds": (0.2, 0.3), "unexplained": ("job",)},
        f"{USUAL} The rows were chosen by their label, so the twins could not be tested.",
    ),
    (
        {"additive": True, "selected_rows": True},
        f"{USUAL} The twins are the paper's additive ones, which need not be possible people; the rows were chosen by "
        "their label, so the twins could not be tested.",
    ),
    # true twins: no test of a model matters, and no interval is missed
    (
        {"known_truth": True, "interval": None, "twin_test": BAD, "bounds": (0.2, 0.3), "unexplained": ("job",)},
        "By their true twins, about 5 % of people would have a different outcome with AE, had they belonged to the "
        "other group: about 1 in 20.",
    ),
    (
        {"known_truth": True, "has_path": False, "graphs_without_path": 20, "model_error": 0.5, "span": (0.0, 0.5)},
        "By their true twins, about 5 % of people (4 % to 7 %) would have a different outcome with AE, had they "
        "belonged to the other group: about 1 in 20.",
    ),
    # too much to say: what is evidence anyway gives way
    (
        {"twin_test": BAD, "additive": True, "auc_roc": 0.5, "model_error": 0.2, "graphs_without_path": 3},
        f"{GUESS}{DISTINGUISHED}. Useless as well: {BY_RANKS.format(50)} The twins are the paper's additive ones, "
        "which need not be possible people.",
    ),
]

WITHOUT_PATH: list[tuple[dict[str, Any], str]] = [
    ({"graphs": 0, "graphs_without_path": 0, "interval": None}, NO_PATH),
    ({}, f"{NO_PATH} None of 20 other graphs has a path either."),
    ({"was_given": True, "graphs": 0, "graphs_without_path": 0}, NO_PATH.replace("learned", "given")),
    (
        {"graphs_without_path": 15, **between(0.01, 0.0, 0.04)},
        f"{NO_PATH} 5 of 20 other graphs do have a path; over all of them, about 1.0 % of people (0 % to 4 %) would "
        "have a different outcome.",
    ),
    ({"graphs_without_path": 10, "interval": None}, f"{NO_PATH} 10 of 20 other graphs do have a path."),
    ({"graphs_without_path": 19, "interval": None}, f"{NO_PATH} 1 of 20 other graphs does have a path."),
    # and nothing else is said of a detector that was not put to the test
    (
        {"auc_roc": 0.5, "model_error": 0.5, "span": (0.0, 0.9)},
        f"{NO_PATH} None of 20 other graphs has a path either.",
    ),
    # but a graph that the table contradicts is
    (
        {"unexplained": ("housing",)},
        "Not reliable: in the learned graph sex affects nothing, so that nobody's outcome could change with AE. That "
        "contradicts the table: the graph has no path to housing, which differs between the groups. None of 20 other "
        "graphs has a path either.",
    ),
    (
        {"bounds": (0.02, 0.2), "interval": None, "ratio": None, "graphs": 0, "graphs_without_path": 0},
        "Not reliable: in the learned graph sex affects nothing, so that nobody's outcome could change with AE. That "
        "contradicts the table: the flag rates of the groups alone allow only 2 % to 20 %.",
    ),
]


@pytest.mark.parametrize(("changes", "sentence"), [*HOW_MANY, *FAILED, *MODEL_ERROR, *SPAN, *GRAPHS, *USELESS, *BASIS])
def test_the_verdict(changes: dict[str, Any], sentence: str) -> None:
    assert verdict(dataclasses.replace(PLAIN, **changes)) == sentence


@pytest.mark.parametrize(("changes", "sentence"), NOT_MEASURED)
def test_the_uncertainty_was_not_measured(changes: dict[str, Any], sentence: str) -> None:
    unmeasured = dataclasses.replace(PLAIN, interval=None, model_error=None, graphs=0, span=None)
    assert verdict(dataclasses.replace(unmeasured, **changes)) == sentence


@pytest.mark.parametrize(("changes", "sentence"), WITHOUT_PATH)
def test_without_a_path_nothing_is_said_of_the_detector(changes: dict[str, Any], sentence: str) -> None:
    nowhere = dataclasses.replace(
        PLAIN, has_path=False, ratio=0.0, graphs_without_path=20, interval=Interval(0.0, 0.0), bounds=None
    )
    assert verdict(dataclasses.replace(nowhere, **changes)) == sentence


def test_who_flags_hardly_anybody_here_but_many_there_is_not_called_fair() -> None:
    """Few flags in this world do not keep outcomes from changing, if many are flagged in the other one."""
    said = verdict(dataclasses.replace(PLAIN, flag_rate=0.004, **between(0.2, 0.1, 0.3)))
    assert said == case("About 20 % of people (10 % to 30 %)", "about 1 in 5")


SHARES = st.floats(0.0, 1.0)
NAMES = st.lists(st.sampled_from(["income", "job", "age"]), unique=True, max_size=3).map(tuple)
ANYTHING = st.builds(
    Evidence,
    method=st.just("AE"),
    sensitive=st.just("sex"),
    has_path=st.booleans(),
    ratio=st.none() | SHARES,
    flag_rate=st.none() | SHARES,
    auc_roc=st.none() | SHARES,
    interval=st.none() | st.lists(SHARES, min_size=3, max_size=3).map(sorted).map(lambda v: Interval(v[0], v[2])),
    graphs=st.just(20),
    graphs_without_path=st.integers(0, 20),
    halves_differ=st.none() | SHARES,
    model_error=st.none() | SHARES,
    span=st.none() | st.tuples(SHARES, SHARES).map(lambda v: (min(v), max(v))),
    bounds=st.none() | st.tuples(SHARES, SHARES).map(lambda v: (min(v), max(v))),
    twin_test=st.none() | st.sampled_from([GOOD, BAD]),
    unexplained=NAMES,
    better_fit=NAMES,
    carrier=st.none() | st.just((("sex", "income"), 0.7)),
    was_given=st.booleans(),
    known_truth=st.booleans(),
    selected_rows=st.booleans(),
    additive=st.booleans(),
)


@given(ANYTHING)
def test_whatever_was_found_the_verdict_is_short_and_a_failed_model_never_confident(found: Evidence) -> None:
    said = verdict(found)
    sentences = re.split(r"(?<=\.) (?=[A-Z0-9])", said)
    assert len(sentences) <= 4
    assert "None" not in said.replace("None of 20", "")
    assert "nan" not in said
    failed = found.twin_test == BAD or bool(found.unexplained)
    tested = not (found.known_truth or found.selected_rows)
    if failed and tested and said != "Nobody was judged.":
        assert sentences[0].startswith("Not reliable: ")
    if not tested:
        assert "Not reliable" not in said


@given(ANYTHING)
def test_evidence_lines_are_sentences_in_the_words_of_the_glossary(found: Evidence) -> None:
    for line in [*evidence_lines(found), verdict(found)]:
        assert line.endswith(".")
        assert line[0].isupper() or line[0].isdigit()
        assert not re.search(r"\b(told|tell|apart|floor|placebo|SCM|bootstrap)\b", line)


def test_evidence_lines_in_their_order() -> None:
    assert evidence_lines(PLAIN) == [
        "Two causal models from separate halves of the rows typically differ by 0.8 points.",
        "Twins pass for real people of the other group: a classifier distinguishes them little more often than chance "
        "(in 52 of 100 pairs, 50 to 54; guessing would be 50).",
        "Without any causal model, the flag rates of the groups alone allow 2.1 % to 14.0 %.",
        "Under other assumptions that data cannot decide, it would be 4.5 % to 5.5 %.",
        "Errors of the causal model alone would change the outcome of 0.9 %.",
        f"All 20 {EACH} have a path from sex.",
    ]


EACH = "causal graphs, each learned from a random half of the rows,"
HALVES = "Two causal models from separate halves of the rows typically differ"
NOTHING = Evidence(method="AE", sensitive="sex", has_path=True, ratio=0.05)
LINES: list[tuple[dict[str, Any], str]] = [
    ({"halves_differ": 0.0004}, f"{HALVES} by less than 0.1 points."),
    ({"halves_differ": 0.0312}, f"{HALVES} by 3.1 points."),
    ({"bounds": (0.0, 0.14)}, "Without any causal model, the flag rates of the groups alone allow 0 % to 14.0 %."),
    (
        {"twin_test": TwinTest(0.5, 0.48, 0.52, 9000)},
        "Twins pass for real people of the other group: a classifier distinguishes them no more often than chance (in "
        "50 of 100 pairs, 48 to 52; guessing would be 50).",
    ),
    (
        {"twin_test": TwinTest(0.55, 0.42, 0.68, 1240)},
        "With 1,240 people, it cannot be said whether twins pass for real people of the other group (a "
        "classifier distinguishes them in 55 of 100 pairs, 42 to 68; guessing would be 50).",
    ),
    (
        {"twin_test": BAD},
        "Twins can be distinguished from real people of the other group (in 71 of 100 pairs, 69 to 73; guessing would "
        "be 50), mostly by income.",
    ),
    ({"span": (0.039, 0.061)}, "Under other assumptions that data cannot decide, it would be 3.9 % to 6.1 %."),
    ({"model_error": 0.0}, "Errors of the causal model alone would change the outcome of under 0.1 %."),
    ({"graphs": 20, "graphs_without_path": 1}, f"1 of 20 {EACH} has no path from sex."),
    ({"graphs": 20, "graphs_without_path": 4}, f"4 of 20 {EACH} have no path from sex."),
    ({"graphs": 20, "graphs_without_path": 20}, f"None of 20 {EACH} has a path from sex."),
    ({"unexplained": ("job",)}, "The graph has no path to job, which differs between the groups."),
    (
        {"better_fit": ("age",)},
        "A more flexible model predicts age clearly better, so twins may be wrong in it.",
    ),
    ({"additive": True}, "Twins are the paper's additive ones, which need not be possible people."),
    (
        {"selected_rows": True, "twin_test": BAD, "bounds": (0.1, 0.2), "unexplained": ("job",)},
        "The rows were chosen by their label: neither the twin test nor bounds from flag rates hold for them.",
    ),
    ({"known_truth": True, "twin_test": BAD}, "The true twins are known: no causal model was needed."),
]


@pytest.mark.parametrize(("changes", "line"), LINES)
def test_each_line_of_evidence_stands_alone(changes: dict[str, Any], line: str) -> None:
    assert evidence_lines(dataclasses.replace(NOTHING, **changes)) == [line]


def test_what_was_not_measured_has_no_line() -> None:
    assert evidence_lines(NOTHING) == []
