from __future__ import annotations

import numpy as np
import pytest

from cfad_core.detectors.registry import look_of
from cfad_core.figures import comparison_figure, contributions_figure, rates_figure, training_figure


def test_training_curves() -> None:
    seconds = np.arange(3.0)
    figure = training_figure(
        {"scm": (seconds, seconds + 1.0), "ae": (seconds[:1], seconds[:1])}, "acyclicity h", log=True
    )
    assert [(t.name, t.mode) for t in figure.data] == [("scm", "lines"), ("ae", "markers")]
    assert (figure.layout.yaxis.title.text, figure.layout.yaxis.type) == ("acyclicity h", "log")
    assert figure.layout.height == 260


def test_all_others_add_up_to_the_total() -> None:
    rng = np.random.default_rng(0)
    factual, counterfactual = rng.random(30), rng.random(30)
    figure = contributions_figure([f"v{k}" for k in range(30)], factual, counterfactual, top=5)
    here, there = figure.data
    assert figure.layout.yaxis.ticktext[-1] == "all others"
    assert len(here.x) == 6
    assert here.x.sum() == pytest.approx(factual.sum())
    assert there.x.sum() == pytest.approx(counterfactual.sum())
    assert figure.layout.yaxis.ticktext[0] == f"v{np.maximum(factual, counterfactual).argmax()}"
    assert here.marker.pattern.shape != there.marker.pattern.shape
    assert "all others" not in contributions_figure(["a"], np.ones(1), np.ones(1)).layout.yaxis.ticktext


def test_only_reasons_have_a_bar_of_their_own() -> None:
    factual, twin = np.array([0.5, 0.2, 0.3, 0.1]), np.array([0.5, 0.2, 0.1, 0.4])
    named = np.array([False, False, True, True])
    figure = contributions_figure(["a", "b", "c", "d"], factual, twin, named=named)
    assert list(figure.layout.yaxis.ticktext) == ["d", "c", "all others"]
    assert list(figure.data[0].x) == pytest.approx([0.1, 0.3, 0.7])
    assert list(figure.data[1].x) == pytest.approx([0.4, 0.1, 0.7])
    assert figure.data[0].hovertext[2] == "all 2 others<br>the person: 0.7"
    nothing = contributions_figure(["a", "b"], np.ones(2), np.ones(2), named=np.zeros(2, dtype=np.bool_))
    assert list(nothing.layout.yaxis.ticktext) == ["all others"]


def test_parts_that_lower_a_score_go_to_the_left_and_are_not_summed() -> None:
    factual, twin = np.array([0.1, -0.9, 0.0, 0.5]), np.array([0.2, -0.1, 0.0, -0.3])
    figure = contributions_figure(["a", "b", "c", "d"], factual, twin, adds_up=False, top=3)
    assert list(figure.layout.yaxis.ticktext) == ["d", "a", "b"]  # the largest in size, those that raise first
    assert list(figure.data[0].x) == [0.5, 0.1, -0.9]
    assert list(figure.data[1].x) == [-0.3, 0.2, -0.1]
    assert figure.layout.xaxis.title.text == "how much the score falls"
    assert figure.layout.xaxis.zerolinecolor != figure.layout.xaxis.gridcolor


def test_rates_that_are_none_say_so() -> None:
    rates: dict[str, dict[str, float | None]] = {
        "f": {"flagged": 0.05, "true positives": None},
        "m": {"flagged": 0.146},
    }
    figure = rates_figure(rates)
    flagged, hits = figure.data
    assert list(flagged.y) == [0.05, 0.146]
    assert list(flagged.text) == ["5.0 %", "15 %"]
    assert list(flagged.hovertext) == ["f<br>flagged: 5.0 %", "m<br>flagged: 14.6 %"]
    assert list(hits.hovertext) == ["f<br>true positives: n/a", "m<br>true positives: n/a"]
    assert flagged.marker.pattern.shape != hits.marker.pattern.shape
    assert figure.layout.yaxis.tickformat == ".0%"


def test_many_groups_have_no_room_for_numbers() -> None:
    rates: dict[str, dict[str, float | None]] = {f"g{k}": {"flagged": 0.1 if k else None} for k in range(9)}
    (flagged,) = rates_figure(rates).data
    assert list(flagged.text) == ["n/a", *[""] * 8]
    assert flagged.hovertext[1] == "g1<br>flagged: 10.0 %"


def test_comparison_has_a_panel_per_metric() -> None:
    ae, cfad, twin = (look_of(method) for method in ("ae", "cfad", "twin"))
    values = {f"metric {k}": {ae: (0.5 + k, 0.1), cfad: (0.7, np.nan), twin: None} for k in range(5)}
    figure = comparison_figure(values)
    assert len(figure.data) == 10
    assert figure.data[2].y[0] == 1.5
    assert figure.data[2].error_y.array[0] == 0.1
    assert figure.data[2].hovertext[0] == "AE<br>metric 1: 1.500 ± 0.100"
    assert figure.data[3].hovertext[0] == "CFAD<br>metric 1: 0.700"
    assert figure.layout.yaxis5.title.text == "metric 4"
    assert list(figure.layout.xaxis.ticktext) == ["AE", "CFAD", "Twin scoring"]


def test_names_that_look_the_same_once_shortened_keep_their_own_bars() -> None:
    names = ["x" * 50 + "1", "x" * 50 + "2"]
    figure = contributions_figure(names, np.array([1.0, 2.0]), np.zeros(2))
    assert list(figure.data[0].y) == [0, 1]
    assert list(rates_figure({name: {"flagged": 0.1} for name in names}).data[0].x) == [0, 1]
