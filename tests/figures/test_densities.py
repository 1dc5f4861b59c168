from __future__ import annotations

import dataclasses

import numpy as np
import plotly.graph_objects as go  # type: ignore[import-untyped]
import pytest

from cfad_core.detectors.registry import look_of
from cfad_core.evaluation.shapes import BothWorlds, GroupShape, Shapes, score_shapes
from cfad_core.evaluation.tally import Tally
from cfad_core.figures import densities_figure, score_panels_figure
from tests.figures.drawing import assert_stands_on_any_page, shapes, texts

AE, CFAD = look_of("ae"), look_of("cfad")


def notes(figure: go.Figure) -> set[str]:
    return {note.text for note in figure.layout.annotations}


def filled(figure: go.Figure) -> list[go.Scatter]:
    return [trace for trace in figure.data if trace.fill == "tozeroy"]


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("exact", [False, True])
def test_what_is_flagged_is_the_darker_part_right_of_the_threshold(log: bool, exact: bool) -> None:
    one = shapes(["f", "m"], log=log, exact=exact)
    figure = score_panels_figure({AE: one})
    parts = filled(figure)
    assert len(parts) == 4  # of each group, everybody and who is flagged
    for whole, flagged, group in zip(parts[::2], parts[1::2], one.groups, strict=True):
        assert flagged.x[0] == pytest.approx(one.threshold)
        places, heights = (np.log10(flagged.x) if log else np.array(flagged.x)), np.array(flagged.y)
        area = (heights[:-1] * np.diff(places)).sum() if exact else np.trapezoid(heights, places)
        assert group.flagged is not None
        assert area == pytest.approx(group.flagged, abs=1e-9 if exact else 0.06)
        assert float(flagged.fillcolor.split(",")[-1][:-1]) > float(whole.fillcolor.split(",")[-1][:-1])


def test_the_shares_are_named_on_each_side_of_the_threshold() -> None:
    one = shapes(["f", "m"])
    said = notes(score_panels_figure({AE: one, CFAD: one}))
    for group in one.groups:
        assert group.flagged is not None
        assert group.twins_flagged is not None
        people, twins = f"{100 * group.flagged:.1f} %", f"{100 * group.twins_flagged:.1f} %"
        assert f"flagged {people}<br>twins {twins}" in said
        rest, others = f"{100 - 100 * group.flagged:.1f} %", f"{100 - 100 * group.twins_flagged:.1f} %"
        assert f"not flagged {rest}<br>twins {others}" in said
    assert {"AE", "CFAD", "f · 50 people", "m · 50 people"} <= said


@pytest.mark.parametrize("log", [False, True])
def test_panels_of_the_same_units_have_the_same_axes(log: bool) -> None:
    near, far = shapes(["f", "m"], log=log), shapes(["f", "m"], shift=5.0, log=log)
    alike, apart = (score_panels_figure({AE: near, CFAD: far}, units) for units in ([0, 0], [0, 1]))
    assert len({axis.range for axis in alike.select_xaxes()}) == len({axis.range for axis in alike.select_yaxes()}) == 1
    assert len({axis.range for axis in apart.select_xaxes()}) == len({axis.range for axis in apart.select_yaxes()}) == 2


def test_no_peak_is_cut() -> None:
    narrow = score_shapes({"f": BothWorlds(*(Tally.of(np.r_[np.full(500, 3.0), np.arange(300.0)]) for _ in "ab"))}, 4.0)
    for figure in (score_panels_figure({AE: narrow}), densities_figure({AE: narrow})):
        assert max(np.max(trace.y) for trace in figure.data if trace.y[0] is not None) <= figure.layout.yaxis.range[1]


def test_nothing_is_drawn_of_few_people() -> None:
    few = {"f": BothWorlds(*(Tally.of(np.arange(9.0)),) * 2), "m": BothWorlds(*(Tally.of(np.arange(40.0)),) * 2)}
    figure = score_panels_figure({AE: score_shapes(few, 30.5)})
    assert len(filled(figure)) == 2
    assert "f · fewer than 10 people: not drawn" in notes(figure)
    assert [trace.name for trace in densities_figure({AE: score_shapes(few, 30.5)}).data if trace.name] == [
        "m",
        "m (twins)",
        "threshold",
    ]
    nobody = score_shapes({"f": BothWorlds(*(Tally.of(np.zeros(0)),) * 2)}, 1.0)
    assert not filled(score_panels_figure({AE: nobody}))


def test_few_different_scores_are_bars_of_shares() -> None:
    flags = {"f": BothWorlds(Tally.of(np.repeat([0.0, 1.0], [30, 10])), Tally.of(np.repeat([0.0, 1.0], [20, 20])))}
    figure = score_panels_figure({AE: score_shapes(flags, 0.5, log=True)})
    people, twins = (trace for trace in figure.data if trace.type == "bar")
    assert (list(people.y), list(twins.y)) == ([0.75, 0.25], [0.5, 0.5])
    assert list(figure.layout.xaxis.ticktext) == ["0", "1"]
    line = next(trace for trace in figure.data if trace.hovertext is not None and trace.hovertext[0] == "threshold 0.5")
    assert list(line.x) == [0.5, 0.5]
    assert "25.0 % score 1" in people.hovertext[1]


def test_in_one_picture_groups_have_a_colour_and_twins_dashes() -> None:
    figure = densities_figure({AE: shapes(["f", "m"]), CFAD: shapes(["f", "m"])})
    lines = {(trace.name, trace.xaxis): trace.line for trace in figure.data if trace.name}
    for axis in ("x", "x2"):
        assert lines["f", axis].color == lines["f (twins)", axis].color == lines["f", "x"].color
        assert lines["f", axis].color != lines["m", axis].color
        assert (lines["f", axis].dash, lines["f (twins)", axis].dash) == ("solid", "dash")
    in_legend = [trace.name for trace in figure.data if trace.showlegend]
    assert sorted(in_legend) == ["f", "f (twins)", "m", "m (twins)", "threshold"]


def test_a_place_says_how_many_score_about_there() -> None:
    at = np.linspace(1.0, 3.0, 201)
    heights = 1.0 - np.abs(at - 2.0)
    one = Shapes("smooth", at, False, 2.5, (GroupShape("f", 50, heights, heights, 0.1, 0.1),))
    line = filled(score_panels_figure({AE: one}))[0]
    low, high, share = line.customdata[100]
    assert (low, high, share) == pytest.approx((1.95, 2.05, 0.1), abs=0.003)


def test_a_threshold_outside_is_not_drawn_and_log_ticks_are_written_out() -> None:
    one = shapes(["f"], log=True)
    far = score_panels_figure({AE: dataclasses.replace(one, threshold=1e9)})
    assert not [trace for trace in far.data if trace.hovertext is not None]
    assert all("e" not in tick for tick in far.layout.xaxis.ticktext)
    assert_stands_on_any_page(far)
    below = filled(score_panels_figure({AE: dataclasses.replace(one, threshold=0.0)}))
    assert len(below[1].x) == len(below[0].x)  # everybody is flagged
    assert "%{text}" not in "".join(texts(far)).replace("%{text}<br>%{customdata", "")
