"""Progress passes on what it hears, and whether to stop."""

from __future__ import annotations

import pytest

from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import DoneShare, Only, Progress, Renamed, Silent
from tests.conftest import Recorder


@pytest.mark.parametrize("passed_on", [lambda inner: Renamed(inner, "judge: "), lambda inner: Silent(inner, "outer")])
def test_a_wish_to_stop_is_passed_on(passed_on: type) -> None:
    inner = Recorder(stop_in="now")
    outer: Progress = passed_on(inner)
    outer.check("anything")
    assert not outer.stop_requested()
    inner.report("now", 1, 1, {})
    assert outer.stop_requested()
    with pytest.raises(AuditCancelled):
        outer.check("anything")


def test_a_renamed_stage_is_reported_under_its_new_name() -> None:
    inner = Recorder()
    Renamed(inner, "judge: ").tick("discovery", 1, 2, loss=0.5)
    assert inner.heard == [("judge: discovery", 1, 2, {"loss": 0.5})]


def test_a_silent_step_reports_nothing_and_names_the_outer_stage_when_it_stops() -> None:
    inner = Recorder()
    Silent(inner, "outer").tick("inner", 1, 2)
    assert inner.heard == []
    inner.stop_in = "outer"
    inner.report("outer", 0, 1, {})
    with pytest.raises(AuditCancelled, match="'outer'"):
        Silent(inner, "outer").tick("inner", 2, 2)


def test_the_share_that_is_done_follows_the_weights_and_never_falls() -> None:
    share = DoneShare({"first": 1.0, "second": 3.0})
    assert share.after("first", 1, 2) == pytest.approx(0.125)
    assert share.after("second", 1, 3) == pytest.approx(0.5)
    assert share.after("first", 1, 1) == pytest.approx(0.5)
    assert share.after("unknown", 1, 1) == pytest.approx(0.5)
    assert share.after("second", 0, 0) == pytest.approx(1.0)


def test_progress_hears_and_stops() -> None:
    Progress().tick("stage", 1, 2, loss=0.5)
    recorder = Recorder()
    recorder.tick("stage", 1, 2, loss=0.5)
    assert recorder.heard == [("stage", 1, 2, {"loss": 0.5})]
    with pytest.raises(AuditCancelled, match="cancelled during 'stage'"):
        Recorder(stop_in="stage").tick("stage", 1, 2)


def test_only_one_stage_is_passed_on_and_any_can_be_stopped() -> None:
    heard = Recorder(stop_in="search")
    inner = Only(heard, "search")
    inner.report("refit", 1, 2, {})
    assert heard.heard == []
    with pytest.raises(AuditCancelled, match="during 'search'"):
        inner.tick("search", 1, 2, loss=1.0)
    assert heard.heard == [("search", 1, 2, {"loss": 1.0})]
    with pytest.raises(AuditCancelled, match="during 'search'"):  # people know the outer stage
        inner.tick("refit", 2, 2)
