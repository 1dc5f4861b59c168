"""What a stranger sees of somebody's audits on pages and in files: nothing, not even that they are there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cfad_core.core.errors import InvalidArtifactError
from cfad_core.runs.access import Share
from cfad_core.runs.store import Store
from tests.apps.pages import PAGES, RESULT_PAGES
from tests.apps.visitors import Planted, Team, enter, everything, seen_by, turn_to

pytestmark = pytest.mark.slow
EVERY_PAGE = ["app.py", *PAGES]
NOWHERE = "0123456789ab"
PLANTED = re.compile("pla.?nted", re.IGNORECASE)
BOB = Share("person", "bob", "read")


def address(audit: str, draft: str) -> dict[str, str]:
    """All that an address can say, about an audit and a draft."""
    of_audit = {"audit": audit, "chosen": audit, "person": "3", "groups": "group", "method": "cfad", "scene": "3"}
    return of_audit | {"draft": draft}


def as_told(text: str, *asked: str) -> str:
    """What a page sent, without what it was asked for, and without the names that widgets and files have from that."""
    for one in asked:
        text = text.replace(one, "WHAT WAS ASKED FOR")
    return re.sub(r"[0-9a-f]{32}", "ID", text)


def test_to_a_stranger_an_audit_of_somebody_else_is_not_there(planted: Planted, team: Team) -> None:
    team.becomes("ada")  # whose pages fill all caches, and show that what was planted would be found
    app = enter()
    for page in RESULT_PAGES:
        assert PLANTED.search(everything(turn_to(app, page, audit=planted.done))), page
    assert PLANTED.search(everything(turn_to(app, "2_Train.py", audit=planted.queued)))
    assert PLANTED.search(everything(turn_to(app, "10_Saved_audits.py")))
    for name in ("vera", "bob"):
        team.becomes(name)
        here, nowhere = enter(), enter()
        for page in EVERY_PAGE:
            for audit in (planted.done, planted.queued) if page == "2_Train.py" else (planted.done,):
                team.files.clear()
                shown = everything(turn_to(here, page, **address(audit, planted.draft)))
                assert not PLANTED.search(shown), (name, page)
                assert [file.name for file in team.files if audit in file.name or PLANTED.search(file.name)] == []
                other = everything(turn_to(nowhere, page, **address(NOWHERE, 32 * "0")))
                assert as_told(shown, audit) == as_told(other, NOWHERE), (name, page)


def test_somebodys_own_pages_name_nobody_elses_audits(planted: Planted, team: Team) -> None:
    """Not among related ones, not in pickers, lists and comparisons, and not in the queue."""
    team.becomes("bob")
    app = enter()
    for page in EVERY_PAGE:
        assert not PLANTED.search(everything(turn_to(app, page, audit=planted.bobs, chosen=planted.bobs))), page
    for file in {file.name: file for file in team.files if not file.name.endswith(".pdf")}.values():  # as the HTML
        assert not PLANTED.search(file.make().decode("latin-1")), file.name
    with Store() as store:
        own = next(one for one in seen_by(store, "bob").find(status="queued"))
    shown = everything(turn_to(app, "2_Train.py", audit=own.id))
    assert "In the queue, place " in shown
    assert not PLANTED.search(shown)


def test_what_one_session_held_is_gone_when_somebody_else_signs_in(planted: Planted, team: Team) -> None:
    team.becomes("ada")
    app = enter()
    assert PLANTED.search(everything(turn_to(app, "1_Data.py", draft=planted.draft)))
    assert PLANTED.search(everything(turn_to(app, "9_Report.py", audit=planted.done)))
    team.becomes("bob")
    for page in EVERY_PAGE:
        assert not PLANTED.search(everything(turn_to(app, page))), page
    held = str(app.session_state._state.filtered_state)
    assert "bob" in held
    assert not PLANTED.search(held)
    assert planted.done not in held


def test_files_that_a_page_offered_are_refused_once_the_audit_is_not_shared_any_more(
    planted: Planted, team: Team, home: Path
) -> None:
    with Store(home) as store:
        ada = seen_by(store, "ada")
        ada.share(planted.done, BOB)
        team.becomes("bob")
        app = enter()
        for page in RESULT_PAGES:
            turn_to(app, page, audit=planted.done)
        turn_to(app, "10_Saved_audits.py", chosen=planted.done)
        files = {file.name: file for file in team.files if not file.name.endswith(".pdf")}.values()  # it takes long
        assert len(files) > 15
        team.becomes("vera")  # whoever presses it: it was offered to bob
        for file in files:
            assert len(file.make()) > 0, file.name
        taken = [(one.who, one.about) for one in ada.log(audit=planted.done) if one.deed == "downloaded"]
        assert sorted(taken) == sorted(("bob", file.name) for file in files)
        assert [one.who for one in ada.log(audit=planted.done) if one.deed == "opened"] == ["bob"]  # once
        ada.unshare(planted.done, BOB)
        for file in files:
            with pytest.raises(InvalidArtifactError, match="There is no"):
                file.make()
        assert len([one for one in ada.log(audit=planted.done) if one.deed == "downloaded"]) == len(files)
