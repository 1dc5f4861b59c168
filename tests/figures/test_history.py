from __future__ import annotations

import pytest

from cfad_core.evaluation.intervals import Interval
from cfad_core.figures import Moment, history_figure
from tests.figures.drawing import assert_stands_on_any_page, history

DAY = 86_400.0


def test_batches_are_drawn_over_their_dates() -> None:
    late = Moment(3.0 * DAY, "march.csv", 0.2, Interval(0.1, 0.4), {"a": 0.3, "b": None}, has_alarm=True)
    early = Moment(2.0 * DAY, "february.csv", 0.1, None, {"a": 0.2, "b": 0.1})
    own = Moment(DAY, "the audit", 0.05, Interval(0.02, 0.08), {"a": 0.1, "b": 0.1}, is_audit=True)
    figure = history_figure([late, own, early])
    line, through, star, batch, cross, first, second = figure.data
    assert list(line.y) == [0.05, 0.05]
    assert line.line.dash == "dash"
    assert line.name == "the audit's own people: 5.0 %"
    assert list(through.y) == [0.05, 0.1, 0.2]
    assert (star.marker.symbol, batch.marker.symbol, cross.marker.symbol) == ("star", "circle", "x")  # not by colour
    assert cross.name == "batch that the causal model does not fit"
    assert list(cross.error_y.array) == [pytest.approx(0.2)]
    assert list(cross.error_y.arrayminus) == [pytest.approx(0.1)]
    assert list(batch.error_y.array) == [0.0]
    assert cross.hovertext[0] == (
        "march.csv, 1970-01-04<br>outcome changes: 20.0 %<br>interval 10.0 % to 40.0 %"
        "<br>not reliable: the causal model does not fit"
    )
    assert (first.name, list(first.y)) == ("a", [0.1, 0.2, 0.3])
    assert (second.name, list(second.y)) == ("b", [0.1, 0.1])
    assert first.line.dash != second.line.dash
    assert_stands_on_any_page(figure)


def test_an_audit_without_batches_and_batches_without_a_ratio() -> None:
    assert_stands_on_any_page(history_figure([]))
    alone = history_figure(history([]))
    assert [trace.name for trace in alone.data[1:]] == ["audit"]
    assert [trace.name for trace in history_figure([Moment(0.0, "x", None)]).data] == [None]
