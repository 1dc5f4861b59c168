from __future__ import annotations

import dataclasses

import numpy as np

from cfad_core.evaluation.extremes import Estimate, Spread
from cfad_core.evaluation.group_lines import gap_line, impact_line
from cfad_core.evaluation.group_metrics import GroupTable, ImpactRatio, group_table
from cfad_core.evaluation.intervals import Interval


def table_of(flagged: list[int], people: list[int]) -> GroupTable:
    """Groups a, b, ... with so many flagged people."""
    score = np.concatenate([np.arange(n) < count for count, n in zip(flagged, people, strict=True)]).astype(np.float64)
    group = np.repeat(np.arange(len(people)), people)
    return group_table(score, None, group, "abcdef"[: len(people)], 0.5, seed=0)


def test_the_gap_of_flag_rates_in_a_sentence() -> None:
    table = table_of([300, 100, 150], [1000, 1000, 1000])
    found = table.between["flag_rate"]
    assert found is not None
    assert found.difference.interval is not None
    low, high = 100 * found.difference.interval.low, 100 * found.difference.interval.high
    assert gap_line(table) == (
        f"Flagged most often: a, 30.0 %; least often: b, 10.0 %: 20.0 points apart ({low:.1f} to {high:.1f} points)."
    )


def test_a_gap_that_may_be_chance_says_so() -> None:
    line = gap_line(table_of([2, 1], [12, 12]))
    begin = "Flagged most often: a, 16.7 %; least often: b, 8.3 %: 8.3 points apart, which may be chance (0.0 to "
    assert line.startswith(begin)
    line = gap_line(table_of([2, 2], [12, 12]))
    assert line.startswith("All groups are flagged equally often, 16.7 %; a difference of up to ")
    assert line.endswith(" points is possible.")
    assert gap_line(table_of([2], [12])) == "There are no two groups with people to compare."


def test_a_gap_without_interval() -> None:
    table = table_of([3, 1], [10, 10])
    spread = Spread("b", "a", Estimate(0.2), Estimate(1.0 / 3.0))
    table.__dict__["between"] = {"flag_rate": spread}
    assert gap_line(table) == "Flagged most often: a, 30.0 %; least often: b, 10.0 %: 20.0 points apart."


def test_the_impact_ratio_is_read_both_ways() -> None:
    table = table_of([300, 100], [1000, 1000])
    ratio = table.impact_ratio
    assert ratio is not None
    known = dataclasses.replace(ratio.as_harm, ratio=Estimate(1.0 / 3.0, Interval(0.27, 0.4)))
    unknown = dataclasses.replace(ratio.as_benefit, ratio=Estimate(7.0 / 9.0))
    table.__dict__["impact_ratio"] = ImpactRatio(known, unknown)
    assert impact_line(table) == (
        "Impact ratio: 0.33 (0.27 to 0.40) if a flag is a harm: the lowest share of flagged people over the highest; "
        "0.78 if not being flagged is a benefit: the lowest share of people who are not over the highest."
    )
    assert impact_line(table_of([0, 0], [10, 10])).startswith("Impact ratio: n/a if a flag is a harm")
    assert impact_line(table_of([3], [10])) == "Without two groups there is no impact ratio."
