from __future__ import annotations

import numpy as np
import pytest

from cfad_core.evaluation.bounds import Bounds
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.group_metrics import COMPARED, Group, GroupTable
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.pair_table import AnyOther, Pair, PairTable
from cfad_core.figures import PALETTE, group_bars_figure, pairs_figure
from tests.figures.drawing import assert_stands_on_any_page, group_table, pair_table


def races() -> PairTable:
    """Three groups, one without anybody."""
    pairs = (
        Pair(0, 1, 120, 0.061, 0.05, 0.011, Interval(0.05, 0.08), Interval(0.04, 0.089), Bounds(0.01, 0.2)),
        Pair(0, 2, 120, 0.02),
        Pair(1, 0, 9, 0.004, interval=Interval(0.0, 0.2)),
        Pair(1, 2, 9, 0.0),
        Pair(2, 0, 0),
        Pair(2, 1, 0),
    )
    return PairTable(0.5, ("Black", "White", "Other"), (120, 9, 0), pairs, AnyOther(129, 0.05), (AnyOther(0),) * 3)


def test_every_ordered_pair_has_a_cell_and_the_diagonal_none() -> None:
    figure = pairs_figure(races())
    cells, unknown, frame = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["Black", "White", "Other"]
    assert (figure.layout.yaxis.title.text, figure.layout.xaxis.title.text) == ("people who are", "had they been")
    assert figure.layout.yaxis.range[0] > figure.layout.yaxis.range[1]  # the first group is on top, as in a table
    assert cells.text.tolist() == [["", "6.1 %", "2.0 %"], ["0.4 %", "", "0.0 %"], ["", "", ""]]
    assert np.isnan(np.diag(cells.z)).all()
    assert cells.hoverongaps is False
    assert list(zip(unknown.y, unknown.x, strict=True)) == [(2, 0), (2, 1)]
    assert list(unknown.text) == ["n/a", "n/a"]
    assert unknown.hovertext[0] == "Other, had they been Black<br>n = 0<br>outcome changes: n/a"
    assert (min(frame.y), max(frame.y), min(frame.x), max(frame.x)) == pytest.approx((-0.48, 0.48, 0.52, 1.48))
    assert frame.name == "most outcomes change"
    assert_stands_on_any_page(figure)


def test_a_cell_says_what_it_was_counted_on_and_how_certain_it_is() -> None:
    says = pairs_figure(races()).data[0].hovertext
    assert says[0][1] == (
        "Black, had they been White<br>n = 120<br>outcome changes: 6.1 %"
        "<br>interval 4.0 % to 8.9 %, allowing for looking at 4 pairs<br>flag rates alone allow 1.0 % to 20.0 %"
    )
    assert says[1][0].endswith("n = 9<br>outcome changes: 0.4 %<br>interval 0.0 % to 20.0 %")
    assert says[0][2] == "Black, had they been Other<br>n = 120<br>outcome changes: 2.0 %"
    assert pairs_figure(races().suppressed()).data[1].hovertext[1].split("<br>")[1] == "n &lt;10"


def test_a_pair_that_the_flag_rates_contradict_is_a_guess() -> None:
    pairs = (Pair(0, 1, 500, 0.01, bounds=Bounds(0.3, 0.5, 0.001)), Pair(1, 0, 500, 0.4, bounds=Bounds(0.3, 0.5)))
    one = AnyOther(500, 0.2)
    cells = pairs_figure(PairTable(0.5, ("a", "b"), (500, 500), pairs, one, (one, one))).data[0]
    assert (cells.text[0][1], cells.text[1][0]) == ("1.0 % ?", "40.0 %")
    assert cells.hovertext[0][1].endswith("allow 30.0 % to 50.0 %<br>which this number contradicts: it is a guess")


def test_nothing_is_framed_where_nothing_changes() -> None:
    pairs = (Pair(0, 1, 5, 0.0), Pair(1, 0, 5, 0.0))
    figure = pairs_figure(PairTable(0.5, ("a", "b"), (5, 5), pairs, AnyOther(10, 0.0), (AnyOther(5, 0.0),) * 2))
    (cells,) = figure.data
    assert cells.zmax == 1.0
    assert len(pairs_figure(pair_table([])).data) == 1


@pytest.mark.parametrize("count", [2, 24])
def test_few_and_many_groups_fit(count: int) -> None:
    names = [f"female, group {k}" for k in range(count)]
    for figure in (pairs_figure(pair_table(names)), group_bars_figure(group_table(names), "flag_rate", 0.1)):
        assert len(figure.layout.yaxis.ticktext) == count
        assert_stands_on_any_page(figure)
    texts = pairs_figure(pair_table(names)).data[0].text
    assert texts[0][1] == ("50.0 %" if count == 2 else "50 %")  # less room, fewer digits


def two_and_a_half() -> GroupTable:
    nothing = dict.fromkeys(COMPARED, Estimate(None))
    groups = (
        Group("f", 120, 6, nothing | {"flag_rate": Estimate(0.05, Interval(0.03, 0.09)), "auc_roc": Estimate(0.8)}),
        Group("m", 80, 4, nothing | {"flag_rate": Estimate(0.2, Interval(0.1, 0.3))}),
        Group("x", 7, 0, nothing),
    )
    return GroupTable(0.5, groups)


def test_bars_have_whiskers_and_a_line_for_all_people() -> None:
    figure = group_bars_figure(two_and_a_half(), "flag_rate", 0.11)
    bars, line = figure.data
    assert list(figure.layout.yaxis.ticktext) == ["f (n = 120): 5.0 %", "m (n = 80): 20.0 %", "x: n/a (n = 7)"]
    assert list(bars.x) == [0.05, 0.2, 0.0]
    assert list(bars.error_x.array) == pytest.approx([0.04, 0.1, 0.0])
    assert list(bars.error_x.arrayminus) == pytest.approx([0.02, 0.1, 0.0])
    assert bars.hovertext[0] == "f<br>flagged: 5.0 %<br>90 % interval 3.0 % to 9.0 %<br>n = 120, anomalies: 6"
    assert bars.hovertext[2] == "x<br>flagged: n/a<br>n = 7, anomalies: 0"
    assert (line.name, list(line.x), line.line.dash) == ("all people: 11.0 %", [0.11, 0.11], "dash")
    assert line.line.color == PALETTE[1] != bars.marker.color
    assert figure.layout.xaxis.range[1] > 0.3  # room for the longest whisker
    assert figure.layout.xaxis.tickformat == ".0%"


def test_bars_of_what_is_no_share_and_of_hidden_groups() -> None:
    figure = group_bars_figure(two_and_a_half(), "auc_roc", None)
    (bars,) = figure.data
    assert list(bars.error_x.array) == [0.0, 0.0, 0.0]
    assert list(figure.layout.yaxis.ticktext) == ["f (n = 120): 0.800", "m: n/a (n = 80)", "x: n/a (n = 7)"]
    assert figure.layout.xaxis.tickformat is None
    hidden = group_bars_figure(two_and_a_half().suppressed(), "flag_rate")
    assert hidden.layout.yaxis.ticktext[2] == "x: n/a (n &lt; 10)"
    assert not group_bars_figure(GroupTable(0.5, ()), "flag_rate").data[0].x.size
