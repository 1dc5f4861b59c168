from __future__ import annotations

import numpy as np
import pytest

from cfad_core.core.looks import Look
from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.densities import Densities, score_densities
from cfad_core.evaluation.intervals import Interval
from cfad_core.figures.sketches import (
    MOST_ROWS,
    RateRow,
    RatioRow,
    densities_sketch,
    plain,
    rates_sketch,
    ratios_sketch,
)
from tests.figures.svg import NASTY, parsed, texts


def spread(names: list[str], *, log: bool = False) -> Densities:
    rng = np.random.default_rng(0)
    sets = {f"{name}{world}": rng.lognormal(size=50) for name in names for world in ("", " (counterfactual)")}
    return score_densities(sets, bins=20, log=log)


def test_a_ratio_stands_within_its_interval_and_bounds() -> None:
    rows = [
        RatioRow(look_of("ae"), 0.10, Interval(0.05, 0.2), (0.0, 0.4)),
        RatioRow(look_of("cfad"), 0.02),
        RatioRow(look_of("twin"), None),
    ]
    root = parsed(ratios_sketch(rows))
    assert [text for text in texts(root) if text in ("AE", "CFAD", "Twin")] == ["AE", "CFAD", "Twin"]
    assert {"10.0 %", "2.0 %", "n/a", "90 % interval", "flag rates allow"} <= set(texts(root))
    dots = [float(dot.get("cx", "")) for dot in root.iter("circle")]
    assert len(dots) == 3  # two methods and the legend
    line = next(path for path in root.iter("path") if path.get("stroke-width") == "4").get("d", "")
    left, right = float(line[1:].split()[0]), float(line.split("H")[1])
    assert left < dots[0] < right
    assert (dots[0] - left) / (right - left) == pytest.approx(1.0 / 3.0, abs=0.01)
    assert "AE: 10.0 %, interval 5.0 % to 20.0 %, flag rates allow up to 40.0 %" in (root.findtext("desc") or "")


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
    few, many = spread(["f", "m"]), {"f": 9, "m": 40}
    lines = [path for path in parsed(densities_sketch(few, 1.0, many)).iter("path") if path.get("stroke-width")]
    assert len(lines) == 3  # of people, of twins, and the legend's


@pytest.mark.parametrize("log", [False, True])
def test_densities_have_a_row_for_each_group_and_a_threshold(log: bool) -> None:
    root = parsed(densities_sketch(spread(["f", "m"], log=log), 1.0, {"f": 50, "m": 50}, log=log))
    assert {"f", "m", "threshold", "score", "people", "their twins"} <= set(texts(root))
    outside = texts(parsed(densities_sketch(spread(["f", "m"], log=log), 1e9, {"f": 50, "m": 50}, log=log)))
    assert "threshold" not in outside


def test_densities_of_nobody_and_of_one_score_are_drawn() -> None:
    empty = score_densities({"f": np.ones(20), "f (counterfactual)": np.zeros(0)}, bins=12)
    parsed(densities_sketch(empty, 1.0, {"f": 20}))
    tiny = score_densities({name: np.full(20, 1e-12) for name in ("f", "f (counterfactual)")}, bins=12, log=True)
    parsed(densities_sketch(tiny, 1e-12, {"f": 20}, log=True))


@pytest.mark.parametrize("name", NASTY)
def test_names_are_text(name: str) -> None:
    for svg in (
        ratios_sketch([RatioRow(Look(name, 0, "solid", "circle"), 0.1)]),
        rates_sketch([RateRow(name, 20, 0.1, 0.2)]),
        densities_sketch(spread([name]), 1.0, {name: 50}),
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
