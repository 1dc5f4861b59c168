"""Figures in words."""

from __future__ import annotations

import plotly.graph_objects as go  # type: ignore[import-untyped]

from cfad_core.figures.style import escaped, hover
from cfad_core.figures.words import MOST_SAID, described


def bars(count: int) -> go.Figure:
    names = [escaped(f"<b>{k}</b> & $co") for k in range(count)]
    figure = go.Figure(go.Bar(x=list(range(count)), name="people", **hover([f"{name}<br>n = 3" for name in names])))
    return figure.update_xaxes(title="share of the group")


def test_few_marks_are_said_one_by_one_and_names_as_they_are() -> None:
    said = "<b>0</b> & $co, n = 3; <b>1</b> & $co, n = 3."
    assert described(bars(2), "Shares.") == f"Shares. Axes: share of the group. {said}"


def test_of_many_marks_the_names_are_said() -> None:
    assert described(bars(MOST_SAID + 1), "Shares.") == "Shares. Axes: share of the group. Shown: people."


def test_a_figure_without_words_of_its_own_is_what_it_is_about() -> None:
    assert described(go.Figure(), "Nothing yet.") == "Nothing yet."


def test_the_words_end_somewhere() -> None:
    figure = go.Figure(go.Bar(x=[1], **hover(["long " * 1000])))
    assert len(described(figure, "Shares.")) == 1500
