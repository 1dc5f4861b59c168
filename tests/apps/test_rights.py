"""What people may do on pages with audits of others: read, or tune; and what those read who only read."""

from __future__ import annotations

from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.rights import READS_ONLY
from cfad_core.runs.access import Share
from cfad_core.runs.store import Store
from tests.apps.pages import RESULT_PAGES, press, said
from tests.apps.visitors import Planted, Team, enter, seen_by, turn_to

ALL_READ, BOB_TUNES = Share("everybody", "", "read"), Share("person", "bob", "tune")
CHANGING = {"Save this threshold", "Sign", "Save statements", "Measure this batch", "Mark as justified"}


def enabled(app: AppTest) -> set[str]:
    """The buttons that can be pressed."""
    return {button.label for button in app.button if not button.disabled}


def grey(app: AppTest) -> dict[str, str]:
    """The buttons that cannot be pressed, and why."""
    return {button.label: button.help for button in app.button if button.disabled}


@pytest.fixture
def shared(planted: Planted, home: Path) -> Planted:
    with Store(home) as store:
        ada = seen_by(store, "ada")
        ada.share(planted.done, ALL_READ)
        ada.share(planted.queued, ALL_READ)
    return planted


@pytest.mark.slow
def test_nothing_that_somebody_can_press_who_only_reads_is_refused(shared: Planted, team: Team, home: Path) -> None:
    with Store(home) as store:
        before = store.get(shared.done), store.find()
        team.becomes("vera")
        app = enter()
        for page in [*RESULT_PAGES, "10_Saved_audits.py", "Present.py", "2_Train.py"]:
            query = {"audit": shared.done, "chosen": shared.done}
            for label in sorted(enabled(turn_to(app, page, **query))):
                if label not in enabled(app):  # the last one led elsewhere
                    turn_to(app, page, **query)
                press(app, label)
                assert not app.error, (page, label, app.error)
        turn_to(app, "2_Train.py", audit=shared.queued)
        assert grey(app)["Cancel the audit"] == READS_ONLY
        assert (store.get(shared.done), store.find()) == before


@pytest.mark.slow
def test_who_may_read_cannot_change_and_who_may_tune_can(shared: Planted, team: Team, home: Path) -> None:
    why = "Only who made this audit, and whom they let tune it, may do this. Ask ada."
    team.becomes("bob")
    app = enter()
    for page in RESULT_PAGES:
        assert not CHANGING & enabled(turn_to(app, page, audit=shared.done)), page
        assert "by ada. You may read it." in said(app)
    assert grey(turn_to(app, "6_Threshold.py", audit=shared.done))["Save this threshold"] == why
    assert f"You can try thresholds here, and not save one. {why}" in said(app)
    assert f"and in the report. {why}" in said(turn_to(app, "9_Report.py", audit=shared.done))
    assert len(app.text_area) == 0
    with Store(home) as store:
        seen_by(store, "ada").share(shared.done, BOB_TUNES)
        found = set[str]()
        for page in RESULT_PAGES:
            found |= enabled(turn_to(app, page, audit=shared.done))
            assert "by ada. You may read and tune it." in said(app)
        assert found >= CHANGING - {"Measure this batch"}  # which waits for a file
        press(turn_to(app, "6_Threshold.py", audit=shared.done), "Save this threshold")
        assert "Saved: " in said(app)
        turn_to(app, "10_Saved_audits.py", chosen=shared.done)
        assert "Delete" not in enabled(app)
        note = next(box for box in app.text_input if box.label == "Note")
        note.set_value("tuned").run()
        press(app, "Save the note")
        assert store.get(shared.done).note == "tuned"
        assert [one.deed for one in store.log(audit=shared.done, who="bob", limit=2)] == ["changed", "changed"]


@pytest.mark.slow
def test_a_right_that_was_taken_away_a_moment_ago_is_missed_in_words(shared: Planted, team: Team, home: Path) -> None:
    with Store(home) as store:
        ada = seen_by(store, "ada")
        ada.share(shared.done, BOB_TUNES)
        team.becomes("bob")
        app = enter()
        turn_to(app, "6_Threshold.py", audit=shared.done)
        ada.unshare(shared.done, BOB_TUNES)
        press(app, "Save this threshold")
        assert "You may read it" in said(app)
        assert store.get(shared.done).threshold == seen_by(store, "ada").get(shared.done).threshold
        turn_to(app, "6_Threshold.py", audit=shared.done)
        ada.unshare(shared.done, ALL_READ)
        app.run()
        assert not app.exception
        assert f"There is no audit '{shared.done}'" in app.error[0].value


def test_who_only_reads_finds_no_way_to_an_audit_of_their_own(home: Path, team: Team) -> None:
    team.becomes("vera")
    app = enter()
    assert enabled(app) == {"See the demo", "Present it"}
    assert READS_ONLY in said(app)
    links = [link.proto.label for link in app.sidebar.get("page_link")]
    assert links[1:4] == ["1 · Findings", "2 · Threshold", "3 · Report"]
    for page in ("1_Data.py", "2_Train.py"):
        turn_to(app, page)
        assert [box.value for box in app.info] == [READS_ONLY]
        assert enabled(app) == set()


def test_everybody_reads_one_demo_that_nobody_owns(home: Path, team: Team) -> None:
    team.becomes("vera")
    app = press(enter(), "See the demo")
    assert "of this server. You may read it." in said(app)
    team.becomes("bob")
    press(enter(), "See the demo")
    with Store(home) as store:
        (record,) = store.find()
        assert record.owner == ""
        assert store.shares(record.id) == (ALL_READ,)
        assert [one.who for one in store.log(audit=record.id) if one.deed == "opened"] == ["bob", "vera"]
