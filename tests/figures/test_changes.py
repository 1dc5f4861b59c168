"""What changes for whom, as a picture."""

from __future__ import annotations

from cfad_core.evaluation.changes import GroupChanges
from cfad_core.figures import changes_figure


def test_a_bar_for_each_group_in_three_parts() -> None:
    groups = [GroupChanges("a<b>", 50, 0.1, 0.05, 0.001), GroupChanges("b", 60, 0.2, 0.0, 0.07)]
    figure = changes_figure(groups)
    assert [bar.name for bar in figure.data] == [
        "flagged, and so is their twin",
        "flagged, but their twin is not",
        "not flagged, but their twin is",
    ]
    assert [bar.x.tolist() for bar in figure.data] == [[0.1, 0.2], [0.05, 0.0], [0.001, 0.07]]
    assert figure.layout.barmode == "stack"
    assert figure.layout.legend.traceorder == "normal"  # as the parts are
    assert list(figure.data[2].text) == ["", "7.0 %"]  # where there is room
    assert figure.layout.yaxis.ticktext[0] == "a&lt;b&gt;<br>n = 50"
    assert figure.data[1].hovertext[0] == "a&lt;b&gt;, n = 50<br>flagged, but their twin is not: 5.0 %"


def test_nobody_is_no_picture_of_anybody() -> None:
    assert [len(bar.x) for bar in changes_figure([]).data] == [0, 0, 0]
