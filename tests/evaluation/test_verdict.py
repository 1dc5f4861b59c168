"""Numbers in, sentences out: every rule of the verdict, word for word."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.verdict import Evidence, verdict

PLAIN = Evidence(
    method="AE",
    sensitive="sex",
    has_path=True,
    changing_ratio=0.06,
    changing_ratio_independent=0.08,
    flag_rate=0.05,
    auc_roc=0.9,
    interval=Interval(median=0.06, low=0.03, high=0.09),
    model_error=0.0,
    graphs=20,
)
HEAD = "{} of people would have a different outcome with AE, had they belonged to the other group"
USUAL = HEAD.format("Between 3 % and 9 %")
NO_PATH = (
    "No path from sex: in the learned graph it affects nothing, so nobody's outcome can change. That says "
    "something about the graph, nothing about AE."
)
BY_FLAGS = "Fair because useless: it flags {} of people, so hardly any outcome can change."
BY_RANKS = "it ranks anomalies hardly better than chance (AUC-ROC {})."


def between(low: float, high: float) -> dict[str, Any]:
    return {"interval": Interval((low + high) / 2.0, low, high)}


HOW_MANY: list[tuple[dict[str, Any], str]] = [
    ({}, f"{USUAL}."),
    # as few digits as tell the two apart
    (between(0.0449, 0.0451), f"{HEAD.format('Between 4 % and 5 %')}."),
    (between(0.0312, 0.0338), f"{HEAD.format('Between 3.1 % and 3.4 %')}."),
    (between(0.0451, 0.0454), f"{HEAD.format('About 4.5 %')}."),
    (between(0.5, 0.5), f"{HEAD.format('About 50.0 %')}."),
    (between(0.0149, 0.0151), f"{HEAD.format('About 1.5 %')}."),
    (between(0.012, 0.0149), f"{HEAD.format('Between 1.2 % and 1.5 %')}."),
    (between(0.012, 0.31), f"{HEAD.format('Between 1.2 % and 31 %')}."),
    (between(0.0196, 0.0224), f"{HEAD.format('Between 2.0 % and 2.2 %')}."),
    (between(0.0196, 0.0204), f"{HEAD.format('About 2.0 %')}."),
    (between(0.2, 1.0), f"{HEAD.format('Between 20 % and 100 %')}."),
    # a lower bound of hardly anybody is not named
    (between(0.0, 0.09), f"{HEAD.format('Up to 9 %')}."),
    (between(0.0049, 0.09), f"{HEAD.format('Up to 9 %')}."),
    (between(0.005, 0.09), f"{HEAD.format('Between 0.5 % and 9 %')}."),
    (between(0.0, 0.001), f"{HEAD.format('Up to 0.1 %')}."),
    (between(0.0, 0.0009), f"{HEAD.format('Under 0.1 %')}."),
    (between(0.0, 0.0), f"{HEAD.format('Under 0.1 %')}."),
]

NOT_MEASURED: list[tuple[dict[str, Any], str]] = [
    (
        {},
        "By the one graph of the audit, 6.0 % of people would have a different outcome with AE (8.0 % by its judge); "
        "the uncertainty was not measured.",
    ),
    (
        {"changing_ratio": 0.0, "changing_ratio_independent": 0.123},
        "By the one graph of the audit, under 0.1 % of people would have a different outcome with AE (12 % by its "
        "judge); the uncertainty was not measured.",
    ),
    (
        {"changing_ratio_independent": None},
        "By the one graph of the audit, 6.0 % of people would have a different outcome with AE; the uncertainty was "
        "not measured.",
    ),
    ({"changing_ratio": None, "changing_ratio_independent": None, "flag_rate": None}, "Nobody was judged."),
    (
        {"auc_roc": 0.51, "changing_ratio": 0.04},
        "By the one graph of the audit, 4.0 % of people would have a different outcome with AE (8.0 % by its judge); "
        f"the uncertainty was not measured. Fair because useless: {BY_RANKS.format('0.51')}",
    ),
]

MODEL_ERROR: list[tuple[dict[str, Any], str]] = [
    ({"model_error": None}, f"{USUAL}."),
    ({"model_error": 0.0009}, f"{USUAL}."),  # too little to speak of
    ({"model_error": 0.001}, f"{USUAL}; model error alone changes the outcome of 0.1 %."),
    ({"model_error": 0.029}, f"{USUAL}; model error alone changes the outcome of 2.9 %."),
    (
        {"model_error": 0.03},
        f"{USUAL}; model error alone changes the outcome of 3.0 %, so this may be no more than that.",
    ),
    (
        {"model_error": 0.2},
        f"{USUAL}; model error alone changes the outcome of 20 %, so this may be no more than that.",
    ),
]

GRAPHS: list[tuple[dict[str, Any], str]] = [
    ({"carrier": (("sex", "income"), 0.949)}, f"{USUAL}; the edge sex → income carries most of it."),
    ({"carrier": (("sex", "income"), 0.5)}, f"{USUAL}; the edge sex → income carries most of it."),
    ({"carrier": (("sex", "income"), 0.95)}, f"{USUAL}; the edge sex → income carries all of it."),
    ({"graphs_without_path": 3}, f"{USUAL}; 3 of 20 graphs see no path from sex."),
    ({"graphs_without_path": 1}, f"{USUAL}; 1 of 20 graphs sees no path from sex."),
    (
        {"model_error": 0.01, "carrier": (("sex", "income"), 1.0), "graphs_without_path": 3},
        f"{USUAL}; model error alone changes the outcome of 1.0 %; the edge sex → income carries all of it; 3 of 20 "
        "graphs see no path from sex.",
    ),
]

USELESS: list[tuple[dict[str, Any], str]] = [
    ({"auc_roc": None}, f"{USUAL}."),
    ({"auc_roc": 0.55}, f"{USUAL}."),
    ({"auc_roc": 0.549}, f"{USUAL}. Useless as well: {BY_RANKS.format('0.55')}"),
    ({"auc_roc": 0.3}, f"{USUAL}. Useless as well: {BY_RANKS.format('0.30')}"),
    (
        {"auc_roc": 0.5, **between(0.0, 0.05)},
        f"{HEAD.format('Up to 5 %')}. Fair because useless: {BY_RANKS.format('0.50')}",
    ),
    (
        {"auc_roc": 0.5, **between(0.0, 0.051)},
        f"{HEAD.format('Up to 5 %')}. Useless as well: {BY_RANKS.format('0.50')}",
    ),
    ({"flag_rate": 0.005}, f"{USUAL}."),
    ({"flag_rate": 0.0049, **between(0.0, 0.004)}, f"{HEAD.format('Up to 0.4 %')}. {BY_FLAGS.format('0.5 %')}"),
    ({"flag_rate": 0.0, **between(0.0, 0.0)}, f"{HEAD.format('Under 0.1 %')}. {BY_FLAGS.format('under 0.1 %')}"),
    (  # the flags say it all
        {"flag_rate": 0.002, "auc_roc": 0.5, **between(0.0, 0.004)},
        f"{HEAD.format('Up to 0.4 %')}. {BY_FLAGS.format('0.2 %')}",
    ),
]

FAR: list[tuple[dict[str, Any], str]] = [
    ({"implausible": 0.2}, f"{USUAL}."),
    (
        {"implausible": 0.21},
        f"{USUAL}. 21 % of the twins are implausible, far from any real person: read this with care.",
    ),
    (
        {"implausible": 1.0, "auc_roc": 0.5},
        f"{USUAL}. Useless as well: {BY_RANKS.format('0.50')} 100 % of the twins are implausible, far from any "
        "real person: read this with care.",
    ),
]

WITHOUT_PATH: list[tuple[dict[str, Any], str]] = [
    ({"graphs": 0, "interval": None, "model_error": None}, NO_PATH),
    ({"graphs_without_path": 20}, f"{NO_PATH} None of 20 other graphs sees a path either."),
    (
        {"graphs_without_path": 5},
        f"{NO_PATH} 15 of 20 other graphs do see a path; over all of them, between 3 % and 9 % of people would "
        "have a different outcome.",
    ),
    (
        {"graphs_without_path": 15, **between(0.0, 0.04)},
        f"{NO_PATH} 5 of 20 other graphs do see a path; over all of them, up to 4 % of people would "
        "have a different outcome.",
    ),
    ({"graphs_without_path": 5, "interval": None}, f"{NO_PATH} 15 of 20 other graphs do see a path."),
    ({"graphs_without_path": 19, "interval": None}, f"{NO_PATH} 1 of 20 other graphs does see a path."),
    # and nothing else is said of a detector that was not put to the test
    (
        {"graphs_without_path": 20, "auc_roc": 0.5, "implausible": 0.9, "model_error": 0.5},
        f"{NO_PATH} None of 20 other graphs sees a path either.",
    ),
]


@pytest.mark.parametrize(("changes", "sentence"), [*HOW_MANY, *MODEL_ERROR, *GRAPHS, *USELESS, *FAR])
def test_the_verdict(changes: dict[str, Any], sentence: str) -> None:
    assert verdict(dataclasses.replace(PLAIN, **changes)) == sentence


@pytest.mark.parametrize(("changes", "sentence"), NOT_MEASURED)
def test_how_sure_it_is_was_not_measured(changes: dict[str, Any], sentence: str) -> None:
    unmeasured = dataclasses.replace(PLAIN, interval=None, model_error=None, graphs=0)
    assert verdict(dataclasses.replace(unmeasured, **changes)) == sentence


@pytest.mark.parametrize(("changes", "sentence"), WITHOUT_PATH)
def test_without_a_path_nothing_is_said_of_the_detector(changes: dict[str, Any], sentence: str) -> None:
    assert verdict(dataclasses.replace(PLAIN, has_path=False, **changes)) == sentence


def test_who_flags_hardly_anybody_here_but_many_there_is_not_called_fair() -> None:
    """Few flags in this world do not keep outcomes from changing, if many are flagged in the other one."""
    said = verdict(dataclasses.replace(PLAIN, flag_rate=0.004, **between(0.1, 0.3)))
    assert said.startswith(HEAD.format("Between 10 % and 30 %"))
    assert "Fair" not in said
    assert "hardly any outcome can change" not in said
