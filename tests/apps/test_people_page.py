"""People, their twins and their scores."""

from __future__ import annotations

from pathlib import Path

from cfad_core.runs.store import Store
from tests.apps.pages import (
    said,
    visit,
)


def test_implausible_twins_are_marked(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        result = store.result(done[0])
    assert result.stability is not None
    validity = result.stability.plausibility
    assert validity.far.any()
    far = "whose twin is implausible"
    app = visit("4_Counterfactuals.py", audit=done[0])
    people_box = next(control for control in app.segmented_control if control.label == "People")
    people_box.set_value(far).run()
    assert not app.exception, app.exception
    listed = app.dataframe[0].value
    assert sorted(listed["row"]) == sorted(result.people.row[validity.far] + 1)
    assert listed["the twin is"].str.startswith("far from any real person").all()
    assert "This twin is far from any real person (distance" in app.warning[0].value
    other = visit("4_Counterfactuals.py", audit=done[1])
    assert far not in next(control for control in other.segmented_control if control.label == "People").options
    assert not other.warning


def test_methods_with_other_units_have_other_scales(done: tuple[str, str]) -> None:
    app = visit("5_Score_densities.py", audit=done[0])
    assert "its own scale" not in said(app)
    app.multiselect[0].set_value(["ocsvm", "fairod"]).run()
    assert not app.exception, app.exception
    assert "every panel has its own scale" in said(app)
    assert "scores of 0 or less, so the scale is not logarithmic" in said(app)


def test_the_interval_of_the_distance(done: tuple[str, str], home: Path) -> None:
    app = visit("5_Score_densities.py", audit=done[0])
    with Store(home) as store:
        intervals = store.result(done[0]).report("ae").intervals
    assert intervals is not None
    found = intervals.distance
    assert found is not None
    assert f"AE {100 * found.low:.1f} % to {100 * found.high:.1f} %" in said(app)
    assert "in the group where it is largest" not in said(visit("5_Score_densities.py", audit=done[1]))
