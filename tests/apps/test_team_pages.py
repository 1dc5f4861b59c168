"""Account, sharing, lists and the log, as people who sign in see them."""

from __future__ import annotations

import gzip
import json
import re
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.runs.access import Share, Viewer
from cfad_core.runs.store import Store
from tests.apps.pages import press, said, visit
from tests.apps.visitors import Planted, Team, enter, everything, seen_by, turn_to


def table(app: AppTest, column: str) -> list[Any]:
    """A column of the first table that has it."""
    return next(one.value for one in app.dataframe if column in one.value)[column].tolist()


def choose(app: AppTest, label: str, value: str | None) -> AppTest:
    """Choose, or type, in the first box of that label."""
    next(box for box in app.selectbox if box.label == label).set_value(value).run()
    assert not app.exception, app.exception
    return app


def type_in(app: AppTest, label: str, text: str, button: str = "") -> AppTest:
    """Type something into the first box of that label that is not among its options, and press the button.

    AppTest itself types nothing, and nothing else can be done with it after that.
    """
    states = app._tree.get_widget_states()
    box = next(box for box in app.selectbox if box.label == label)
    next(state for state in states.widgets if state.id == box.proto.id).string_value = text
    for one in app.button:
        if one.label == button:
            next(state for state in states.widgets if state.id == one.proto.id).trigger_value = True
    app._run(states)
    assert not app.exception, app.exception
    return app


def make_token(app: AppTest, label: str) -> str:
    """Make one on the page; what is shown once."""
    app.text_input[0].set_value(label)
    press(app, "Make the token")
    return app.code[0].value


def test_whoever_is_elsewhere_does_not_read_that_nothing_leaves_their_computer(home: Path, team: Team) -> None:
    team.becomes("ADA")
    app = enter()
    assert "Nothing leaves this server." in said(app)
    assert "this computer" not in said(app)
    assert "It stays on this server" in said(turn_to(app, "1_Data.py"))


def test_the_account_says_who_somebody_is_and_what_they_have(planted: Planted, team: Team) -> None:
    team.becomes("ADA", "auditing", "leads")
    app = turn_to(enter(), "Account.py")
    shown = said(app)
    assert "You are **ada**." in shown
    assert "Your role is **auditor**. An auditor makes audits of their own" in shown
    assert "auditing and leads" in shown
    assert {tile.label: tile.value for tile in app.metric} == {
        "audits running": "0 of 2",
        "audits in the queue": "1 of 50",
        "MB kept": app.metric[2].value,
        "rows of a table, at most": "2,000,000",
    }
    assert re.fullmatch(r"\d+ of 20,000", app.metric[2].value)


def test_a_token_is_shown_once_and_can_be_revoked(home: Path, team: Team) -> None:
    team.becomes("vera")
    app = turn_to(enter(), "Account.py")
    roles = next(box for box in app.selectbox if box.label == "Role, at most")
    assert [option.partition(":")[0] for option in roles.options] == ["viewer"]
    secret = make_token(app, "for a script")
    with Store(home) as store:
        assert store.viewer_of(secret) == Viewer("vera", role="viewer", via="api")
        app.run()
        assert secret not in everything(app)
        assert secret[-64:] not in str(app.session_state._state.filtered_state)
        assert table(app, "for") == ["for a script"]
        assert (table(app, "state"), len(table(app, "good until"))) == (["good"], 1)
        team.becomes("bob")  # who sees none of it
        assert "for a script" not in everything(turn_to(enter(), "Account.py"))
        team.becomes("vera")
        (token,) = store.tokens()
        choose(app, "Revoke", token.id)
        press(app, "Revoke it")
        assert table(app, "state") == ["revoked"]
        assert store.viewer_of(secret) is None
        assert [one.deed for one in store.log(who="vera", limit=2)] == ["token revoked", "token made"]


def test_where_nobody_signs_in_there_are_tokens_alone(home: Path) -> None:
    app = visit("Account.py")
    assert app.title[0].value == "Tokens"
    assert "Tokens" in [link.proto.label for link in app.sidebar.get("page_link")]
    assert "Your role" not in said(app)
    assert len(app.metric) == 0
    secret = make_token(app, "for a script")
    with Store(home) as store:
        viewer = store.viewer_of(secret, is_team=False)
        assert viewer is not None
        assert (viewer.name, viewer.role) == ("", "viewer")
    assert app.error == []


def test_what_cannot_be_a_token_is_refused_in_words(home: Path) -> None:
    app = press(visit("Account.py"), "Make the token")
    assert "A token needs a label" in app.error[0].value
    assert len(app.code) == 0


@pytest.mark.slow
def test_an_audit_is_shared_given_and_unshared_on_its_page(planted: Planted, team: Team, home: Path) -> None:
    with Store(home) as store:
        store.arrive(Viewer("bob"))
        team.becomes("ada", "auditing")
        app = turn_to(enter(), "6_Threshold.py", audit=planted.done)
        assert "Who sees this audit" in [link.proto.label for link in app.get("page_link")]
        turn_to(app, "10_Saved_audits.py", chosen=planted.done)
        assert "It is **private**: shared with nobody." in said(app)
        name = next(box for box in app.selectbox if box.label == "Name")
        assert name.options == ["bob"]
        choose(app, "to", "tune")
        type_in(app, "Name", "  Carol@Example.org ", "Share")  # nobody of that name was here
        assert store.shares(planted.done) == (Share("person", "carol@example.org", "tune"),)
        assert "Nobody of that name has signed in here yet" in said(app)
        app = turn_to(enter(), "10_Saved_audits.py", chosen=planted.done)
        choose(choose(app, "to", "tune"), "Share it with", "group")
        choose(app, "Name", "auditing")
        press(app, "Share")
        choose(app, "Share it with", "everybody")
        choose(app, "to", "read")
        press(app, "Share")
        assert Share("everybody", "", "read") in store.shares(planted.done)
        press(app, "Unshare carol@example.org")
        press(app, "Unshare")
        assert store.shares(planted.done) == (Share("group", "auditing", "tune"),)
        assert [deed for deed in table(app, "did") if str(deed).endswith("shared")] == 2 * ["unshared"] + 3 * ["shared"]
        choose(app, "New owner", "bob")
        press(app, "Give it away")
        assert store.get(planted.done).owner == "bob"
        assert "It belongs to bob now." in said(app)
        assert dict(zip(table(app, "name"), table(app, "owner"), strict=True))["Planted audit"] == "bob"


@pytest.mark.slow
def test_lists_name_owners_and_can_be_of_ones_own(planted: Planted, team: Team, home: Path) -> None:
    with Store(home) as store:
        seen_by(store, "bob").share(planted.bobs, Share("group", "auditing", "read"))
    team.becomes("root", "auditing")
    app = turn_to(enter(), "10_Saved_audits.py")
    assert sorted(set(map(str, table(app, "owner")))) == ["ada", "bob"]
    whose = next(choice for choice in app.segmented_control if choice.label == "Whose")
    whose.set_value("shared with me").run()
    assert table(app, "name") == ["Bob's own"]
    whose = next(choice for choice in app.segmented_control if choice.label == "Whose")
    whose.set_value("mine").run()
    assert [box.value for box in app.info] == ["No saved audit matches."]
    assert "· by ada" in said(turn_to(app, "app.py"))


def test_the_log_is_for_administrators(planted: Planted, team: Team, home: Path) -> None:
    team.becomes("ada")
    app = turn_to(enter(), "Log.py")
    assert "Only administrators read the log" in app.info[0].value
    assert len(app.dataframe) == 0
    assert "Log" not in [link.proto.label for link in app.sidebar.get("page_link")]
    team.becomes("root")
    app = turn_to(enter(), "Log.py")
    assert "Log" in [link.proto.label for link in app.sidebar.get("page_link")]
    assert {"ada", "bob", "root", "the program itself"} == set(map(str, table(app, "who")))
    choose(choose(app, "Who", "ada"), "Audit", planted.done)
    assert table(app, "did") == ["signed", "changed", "changed", "changed"]
    assert table(app, "audit") == 4 * [f"Planted audit · {planted.done}"]
    team.files[-1].make()
    lines = gzip.decompress(team.files[-1].make()).decode().splitlines()
    assert [json.loads(line)["deed"] for line in lines] == table(app, "did")
    with Store(home) as store:
        assert [(one.who, one.deed, one.about) for one in store.log(limit=1)] == [
            ("root", "downloaded", "log.jsonl.gz")
        ]
        whole = [json.dumps(vars(one)) for one in store.log()]
    cells = ("planted b", "planted clerk", "planted income", "planted purpose", "planted note")
    assert not [line for line in whole if any(cell in line for cell in cells)]  # nothing of a table, or said about it
    type_in(choose(app, "Who", None), "Audit", "no such audit")
    assert "Nothing was done" in app.info[0].value


def test_lists_say_until_when_audits_are_kept(planted: Planted, team: Team, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFAD_KEEP_DAYS", "30")
    team.becomes("bob")
    app = turn_to(enter(), "10_Saved_audits.py")
    with Store() as store:
        ends = store.goes_at(store.get(planted.bobs))
    assert ends is not None
    shown = dict(zip(table(app, "name"), map(str, table(app, "kept until")), strict=True))
    assert shown == {"Bob's in the queue": "NaT", "Bob's own": str(datetime.fromtimestamp(ends))}
    assert "Audits are deleted 30 days after they have ended" in said(app)
