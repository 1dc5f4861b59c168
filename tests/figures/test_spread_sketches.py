"""Small pictures of a column, and the card that they stand in."""

from __future__ import annotations

import re

import numpy as np
import pytest

from cfad_core.evaluation.spreads import LevelSpread, NumberSpread
from cfad_core.figures.person_cards import ColumnCard, RealRow, column_cards, outcome_card, real_people_table
from cfad_core.figures.score_scale import Scored, score_axis, score_scale
from cfad_core.figures.spread_sketches import Marked, spread_sketch, spread_words
from tests.figures.svg import parsed

HOSTILE = '<script>alert(1)</script> & "quoted" \u202e$x$'
HOURS = NumberSpread({"f": np.arange(20.0, 40.0), "m": np.arange(30.0, 60.0)})
JOBS = LevelSpread(("clerk", "smith", "nurse"), {"f": np.array([0.5, 0.2, 0.3]), "m": np.array([0.1, 0.9, 0.0])})


def test_where_numbers_lie_by_hand() -> None:
    words = spread_words(HOURS, Marked(("f", "m"), (25.0, 45.0)))
    assert words == "The person has more than 28 % of the group f; the twin has more than 52 % of the group m."
    ends = spread_words(HOURS, Marked(("f", "m"), (10.0, 99.0)))
    assert ends == (
        "The person has less than nearly everybody of the group f; "
        "the twin has more than nearly everybody of the group m."
    )
    assert spread_words(HOURS, Marked(("f", "m"), (None, 45.0))).startswith("the twin has more")


def test_how_common_categories_are_by_hand() -> None:
    words = spread_words(JOBS, Marked(("f", "m"), ("clerk", "smith")))
    assert words == "clerk: 50 % of the group f; smith: 90 % of the group m."


def test_the_marks_stand_where_the_values_are() -> None:
    drawn = spread_sketch("hours", HOURS, Marked(("f", "m"), (25.0, 45.0)))
    parsed(drawn)
    (person,) = (float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="5.5"', drawn))
    (twin,) = (float(x) for x in re.findall(r'<circle cx="([\d.]+)" cy="[\d.]+" r="1.8"', drawn))
    bins = HOURS.bins(["f", "m"], [25.0, 45.0])
    low, high = bins.edges[0], bins.edges[-1]
    for x, value in ((person, 25.0), (twin, 45.0)):
        assert x == pytest.approx(76.0 + 214.0 * (value - low) / (high - low), abs=0.06)


def test_a_missing_value_is_said_and_not_marked() -> None:
    drawn = spread_sketch("hours", HOURS, Marked(("f", "m"), (None, 45.0)))
    assert ">missing</text>" in drawn
    assert 'r="5.5"' not in drawn


def test_dates_have_dates_on_their_axis() -> None:
    days = np.arange(0.0, 900.0, 10.0)
    since = NumberSpread({"f": days + 18_262.0, "m": days + 18_300.0}, seconds=86_400.0)
    drawn = spread_sketch("since", since, Marked(("f", "m"), (18_300.0, 18_400.0)))
    assert re.search(r">20(20|21|22)-\d\d</text>", drawn)


def test_rare_levels_are_taken_together() -> None:
    levels = tuple(f"level {k}" for k in range(12))
    many = LevelSpread(levels, {"f": np.full(12, 1.0 / 12.0), "m": np.full(12, 1.0 / 12.0)})
    drawn = spread_sketch("job", many, Marked(("f", "m"), ("level 11", "level 10")))
    assert "6 others" in drawn
    assert drawn.index("level 11") < drawn.index("level 10") < drawn.index("level 0")
    parsed(drawn)


def test_names_from_a_table_are_text() -> None:
    spread = LevelSpread((HOSTILE, "b"), {HOSTILE: np.array([0.5, 0.5]), "m": np.array([0.5, 0.5])})
    marked = Marked((HOSTILE, "m"), (HOSTILE, "b"))
    numbers = NumberSpread({HOSTILE: np.arange(9.0), "m": np.arange(9.0)})
    cards = [
        ColumnCard(HOSTILE, (HOSTILE, "b"), spread, marked, HOSTILE),
        ColumnCard(HOSTILE, ("1", "2"), numbers, Marked((HOSTILE, "m"), (1.0, 2.0))),
    ]
    row = RealRow(HOSTILE, 0.5, True, {HOSTILE: HOSTILE}, (HOSTILE,))
    axis = score_axis([0.1, 0.9])
    scale = score_scale([Scored(HOSTILE, 0.5)], np.array([0.2, 0.8]), 0.4, axis, dots_are=HOSTILE)
    for html in (
        column_cards(cards, (HOSTILE, "m")),
        real_people_table([HOSTILE], [row]),
        outcome_card(HOSTILE, HOSTILE, scale),
    ):
        assert "<script" not in html
        assert "\u202e" not in html
        assert "&lt;script&gt;" in html


def test_the_scale_is_logarithmic_where_that_is_easier_to_read() -> None:
    assert score_axis([0.01, 1.0]).log
    assert not score_axis([0.5, 1.0]).log
    assert not score_axis([-0.01, 1.0]).log
    for shown in ([0.01, 1.0], [3.0, 3.0], [-5.0, 2.0]):
        axis = score_axis(shown)
        assert all(0.0 < axis.at(value) < 100.0 for value in shown)


def test_dots_say_how_many_are_flagged() -> None:
    axis = score_axis([0.1, 0.9])
    possible = np.array([0.2, 0.2, 0.5, 0.8])
    drawn = score_scale([Scored("as f", 0.2), Scored("as m", 0.8, is_twin=True)], possible, 0.4, axis)
    assert "4 possible twins" in drawn
    assert "2 of 4 flagged" in drawn
    assert drawn.count('class="cf-dot cf-above"') == 2
    assert drawn.count("cf-dot") == 4
    assert "as f: score 0.200, not flagged; as m: score 0.800, flagged; the threshold is 0.400" in drawn
