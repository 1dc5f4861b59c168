from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cfad_core.core.arrays import Floats
from cfad_core.core.formats import percent
from cfad_core.core.looks import Look
from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.shapes import BothWorlds, score_shapes
from cfad_core.evaluation.tally import Tally
from cfad_core.figures.sketches import (
    MOST_ROWS,
    RateRow,
    RatioRow,
    densities_sketch,
    plain,
    rates_sketch,
    ratios_sketch,
)
from tests.figures.drawing import shapes
from tests.figures.svg import NASTY, parsed, texts


def both(scores: Floats) -> BothWorlds:
    return BothWorlds(Tally.of(scores), Tally.of(scores))


def test_a_ratio_stands_within_its_interval_and_bounds() -> None:
    rows = [
        RatioRow(look_of("ae"), 0.10, Interval(0.05, 0.2), (0.0, 0.4)),
        RatioRow(look_of("cfad"), 0.02),
        RatioRow(look_of("twin"), None),
    ]
    root = parsed(ratios_sketch(rows))
    assert [text for text in texts(root) if text in ("AE", "CFAD", "Twin scoring")] == ["AE", "CFAD", "Twin scoring"]
    assert {"10.0 %", "2.0 %", "n/a", "90 % interval", "flag rates allow"} <= set(texts(root))
    dots = [float(dot.get("cx", "")) for dot in root.iter("circle")]
    assert len(dots) == 3  # two methods and the legend
    line = next(path for path in root.iter("path") if path.get("stroke-width") == "4").get("d", "")
    left, right = float(line[1:].split()[0]), float(line.split("H")[1])
    assert left < dots[0] < right
    assert (dots[0] - left) / (right - left) == pytest.approx(1.0 / 3.0, abs=0.01)
    assert "AE: 10.0 %, interval 5.0 % to 20.0 %, flag rates allow 0 % to 40.0 %" in (root.findtext("desc") or "")


def test_the_truth_is_a_cross_beside_what_was_said() -> None:
    drawn = ratios_sketch(
        [RatioRow(look_of("ae"), 0.10, Interval(0.05, 0.2), truth=0.3), RatioRow(look_of("twin"), 0.1)]
    )
    root = parsed(drawn)
    assert "the truth" in texts(root)
    assert drawn.count("M-6 -6l12 12") == 2  # of one method, and the legend
    assert "AE: 10.0 %, interval 5.0 % to 20.0 %, in truth 30.0 %; Twin scoring: 10.0 %" in (
        root.findtext("desc") or ""
    )
    assert "the truth" not in texts(parsed(ratios_sketch([RatioRow(look_of("ae"), 0.10)])))


def test_what_was_not_measured_is_not_in_the_legend() -> None:
    said = texts(parsed(ratios_sketch([RatioRow(look_of("ae"), 0.0)])))
    assert "outcome changes" in said
    assert not {"90 % interval", "flag rates allow"} & set(said)


def test_bars_have_the_length_of_their_rates() -> None:
    root = parsed(rates_sketch([RateRow("f", 50, 0.2, 0.1), RateRow("m", 40, 0.0, None)]))
    widths = [float(bar.get("width", "")) for bar in root.iter("rect")]
    assert widths[0] == pytest.approx(2.0 * widths[1], abs=0.2)
    dashes = [bar.get("stroke-dasharray") for bar in root.iter("rect")]
    assert dashes[:2] == [None, "4 2"]  # twins are told by more than a colour
    assert {"20.0 %", "10.0 %", "0.0 %", "n/a", "50 people"} <= set(texts(root))


def test_nothing_is_shown_of_small_groups() -> None:
    root = parsed(rates_sketch([RateRow("f", 9, 0.2, 0.1), RateRow("m", 40, 0.5, 0.5)]))
    assert "20.0 %" not in texts(root)
    assert "<10 people" in texts(root)
    assert "20.0 %" not in (root.findtext("desc") or "")
    few = {"f": both(np.arange(9.0)), "m": both(np.arange(40.0) % 31.0)}
    root = parsed(densities_sketch(score_shapes(few, 5.0)))
    assert {"fewer than 10 people: not shown", "<10 people"} <= set(texts(root))
    assert "f: fewer than 10 people; m: 70.0 % of people flagged" in (root.findtext("desc") or "")
    assert len([path for path in root.iter("path") if path.get("stroke-dasharray") == "4 3"]) == 2  # m, and the legend


@pytest.mark.parametrize("log", [False, True])
def test_densities_have_a_row_for_each_group_and_a_threshold(log: bool) -> None:
    found = shapes(["f", "m"], log=log)
    root = parsed(densities_sketch(found))
    assert {"f", "m", "threshold", "score", "people", "flagged"} <= set(texts(root))
    assert {percent(group.flagged) for group in found.groups} <= set(texts(root))
    assert {f"({percent(group.twins_flagged)})" for group in found.groups} <= set(texts(root))
    outside = texts(parsed(densities_sketch(dataclasses.replace(found, threshold=1e9))))
    assert "threshold" not in outside


def test_densities_of_nobody_and_of_one_score_are_drawn() -> None:
    parsed(densities_sketch(score_shapes({"f": BothWorlds(Tally.of(np.arange(20.0)), Tally.of(np.zeros(0)))}, 1.0)))
    root = parsed(densities_sketch(score_shapes({"f": both(np.full(20, 1e-12))}, 1e-12, log=True)))
    assert "1e-12" in texts(root)
    nobody = parsed(densities_sketch(score_shapes({"f": both(np.zeros(0))}, 1.0)))
    assert "nobody" in texts(nobody)


@pytest.mark.parametrize("name", NASTY)
def test_names_are_text(name: str) -> None:
    for svg in (
        ratios_sketch([RatioRow(Look(name, 0, "solid", "circle"), 0.1)]),
        rates_sketch([RateRow(name, 20, 0.1, 0.2)]),
        densities_sketch(shapes([name])),
    ):
        parsed(svg)
        assert len(svg) < 20_000
        assert not set(svg) & {"\u202e", "\u2066", "\x00", "\x1b", "\n"}


def test_many_rows_are_cut_and_counted() -> None:
    many = [RateRow(f"group {k}", 20, 0.1, 0.2) for k in range(30)]
    root = parsed(rates_sketch(many))
    assert len([text for text in texts(root) if text.startswith("group ")]) == MOST_ROWS
    assert (root.findtext("desc") or "").endswith("and 18 more groups")


def test_plain_is_one_short_line() -> None:
    assert plain("<b>\n'x' & \"y\"") == "&lt;b&gt; &#x27;x&#x27; &amp; &quot;y&quot;"
    assert plain("x" * 100, 10) == "x" * 9 + "…"
    assert plain("a\u202eb") == "a b"
