"""The report page without a browser: statements, justified paths, the preview, signing, and what can go wrong."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.statements_form import paths_from_sensitive
from cfad_core.audit.statements import JustifiedPath, Statements
from cfad_core.report.document import Document
from cfad_core.runs.model import AUDITS
from cfad_core.runs.signed import copy_folder
from cfad_core.runs.store import Store
from tests.apps.pages import HOSTILE, button, press, said, visit
from tests.pango import take_away

pytestmark = pytest.mark.slow
PAGE = "9_Report.py"
DIRECTION = "\u202e"


def preview(app: AppTest) -> str:
    """The page that is shown beside the form."""
    frames = app.get("iframe")
    assert len(frames) == 1
    return str(frames[0].proto.srcdoc)


def offered(app: AppTest) -> list[str]:
    """Labels of what can be downloaded."""
    return [str(one.proto.label) for one in app.get("download_button")]


def box(app: AppTest, label: str) -> Any:
    """The box of a statement."""
    return next(one for one in [*app.text_input, *app.text_area] if one.label == label)


def quick_pdf(document: Document, _: bytes) -> bytes:
    """A stand-in: laying out pages takes seconds, and is tested elsewhere."""
    return f"%PDF- of {document.digest}".encode()


def stored(audit: str) -> Statements:
    with Store() as store:
        return store.get(audit).statements


def signed_files(audit: str, version: int) -> dict[str, bytes]:
    with Store() as store:
        copy = copy_folder(store.folder(audit), version)
    return {path.name: path.read_bytes() for path in copy.iterdir()}


def test_typed_previewed_saved_and_signed_twice(done: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cfad_core.report.making.pdf_report", quick_pdf)
    audit = done[1]
    app = visit(PAGE, audit=audit)
    assert "Saved with the audit: 0 of 23 statements" in said(app)
    assert "Nobody signed a report of this audit yet." in said(app)
    assert button(app, "Sign").disabled is False
    box(app, "System").set_value("A system of ours").run()
    assert "A system of ours" in preview(app)
    assert "Not saved yet." in said(app)
    assert button(app, "Sign").disabled
    assert stored(audit) == Statements()
    press(app, "Save statements")
    assert stored(audit) == Statements(system="A system of ours")
    assert "Saved with the audit: 1 of 23 statements" in said(app)
    again = visit(PAGE, audit=audit)  # in another session
    assert box(again, "System").value == "A system of ours"
    press(again, "Sign")
    assert "A signature needs a name" in again.error[0].value
    box(again, "Your name").set_value("Ada *L* ![x](http://evil.example)")
    box(again, "Your role").set_value("auditor")
    press(again, "Sign")
    assert "Signed as version 1." in said(again)
    first = signed_files(audit, 1)
    box(again, "Purpose").set_value("Second thoughts").run()
    press(again, "Save statements")
    press(again, "Sign")
    assert signed_files(audit, 1) == first
    assert b"Second thoughts" not in first["report.json"]
    assert b"Second thoughts" in signed_files(audit, 2)["report.json"]
    assert "**Version 1** · Ada \\*L\\* \\!" in said(again)
    assert "![x](http" not in said(again)
    assert "**Version 2** · Ada" in said(again)
    assert offered(again) == ["HTML", "PDF", "JSON", "Model card", "Data sheet"] * 3
    (_folder(audit) / "report.html").write_bytes(first["report.html"] + b" ")
    again.run()
    assert "Not as it was signed: report\\.html" in said(again)
    assert offered(again) == ["HTML", "PDF", "JSON", "Model card", "Data sheet"] * 2
    (_folder(audit) / "signature.json").write_text("{")
    again.run()
    assert "The signature is damaged" in said(again).replace("\\", "")
    assert "1970" not in said(again)


def _folder(audit: str) -> Path:
    with Store() as store:
        return copy_folder(store.folder(audit), 1)


def test_nothing_is_saved_over_somebody_elses_statements(done: tuple[str, str]) -> None:
    audit = done[1]
    mine = visit(PAGE, audit=audit)
    box(mine, "System").set_value("Mine").run()
    with Store() as store:
        store.state(audit, Statements(owner="Theirs"))
    press(mine, "Save statements")
    assert stored(audit) == Statements(owner="Theirs")
    assert "Somebody changed these statements since you opened this page" in said(mine)
    assert box(mine, "System").value == "Mine"  # still there to be copied
    assert "Save statements" not in {one.label for one in mine.button}
    assert button(mine, "Sign").disabled
    press(mine, "Load what is saved now")
    assert (box(mine, "System").value, box(mine, "Owner").value) == ("", "Theirs")
    box(mine, "System").set_value("Mine").run()
    press(mine, "Save statements")
    assert stored(audit) == Statements(owner="Theirs", system="Mine")
    with Store() as store:  # who typed nothing simply sees what is new
        store.state(audit, Statements(owner="Others"))
    mine.run()
    assert (box(mine, "System").value, box(mine, "Owner").value) == ("", "Others")
    assert "Somebody changed" not in said(mine)


def test_statements_are_text_in_the_form_and_in_the_preview(done: tuple[str, str]) -> None:
    audit, words = done[1], f"{HOSTILE} </script> {DIRECTION}x"
    with Store() as store:
        paths = (JustifiedPath(("group", words), words),)
        store.state(audit, Statements(system=words, purpose=words, justified_paths=paths))
    app = visit(PAGE, audit=audit)
    assert not app.exception
    assert box(app, "System").value == words
    assert "![x](http" not in said(app)
    page = preview(app)
    assert page.count("<script") == 1
    assert "&lt;script&gt;alert(1)" in page
    assert DIRECTION not in page
    assert "no: there is no arrow" in page


def test_what_is_typed_outlives_a_look_at_another_page(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[1])
    box(app, "System").set_value("Half a thought").run()
    app.switch_page("pages/6_Threshold.py").run()
    app.switch_page(f"pages/{PAGE}").run()
    assert box(app, "System").value == "Half a thought"
    assert "Half a thought" in preview(app)
    assert stored(done[1]) == Statements()


def edit_paths(app: AppTest, **edits: Any) -> None:
    """As the editable table sends it."""
    states = app._tree.get_widget_states()  # AppTest itself knows no editable tables
    state = states.widgets.add()
    state.id = next(table.proto.id for table in app.dataframe if "reason" in table.value)
    state.string_value = json.dumps({"edited_rows": {}, "added_rows": [], "deleted_rows": []} | edits)
    app._run(states)
    assert not app.exception, app.exception


def test_justified_paths(done: tuple[str, str]) -> None:
    audit = done[1]
    with Store() as store:
        known = paths_from_sensitive(store.result(audit))
    assert known
    assert all(path[0] == "group" for path in known)
    assert [len(path) for path in known] == sorted(len(path) for path in known)
    app = visit(PAGE, audit=audit)
    path = " → ".join(known[0])
    reason = "The job needs it. <b>"
    edit_paths(app, added_rows=[{"path": path, "reason": reason}, {"path": path, "reason": " "}, {"path": path}])
    assert "The job needs it. &lt;b&gt;" in preview(app)
    assert "Not saved yet." in said(app)
    with Store() as store:
        store.state(audit, Statements(justified_paths=(JustifiedPath(known[0], reason),)))
    again = visit(PAGE, audit=audit)
    table = next(table.value for table in again.dataframe if "reason" in table.value)
    assert table.to_numpy().tolist() == [[path, reason]]
    edit_paths(again, deleted_rows=[0])
    assert "None was named. All paths from the sensitive attribute count." in preview(again)


def test_the_template_of_the_team_and_a_broken_one(done: tuple[str, str], home: Path) -> None:
    (home / "report.toml").write_text('name = "Our <i>team</i>"\n[sections]\nsystem = false\n')
    app = visit(PAGE, audit=done[1])
    assert "Our &lt;i&gt;team&lt;/i&gt;" in preview(app)
    assert "The template of this report leaves out: The system." in preview(app)
    for broken in ('name = "![x](http://evil.example)', "[sections]\nlimits = false", f"a = {'[' * 100_000}"):
        (home / "report.toml").write_text(broken)
        app = visit(PAGE, audit=done[1])
        assert not app.exception
        assert "The template of reports is not used." in app.warning[0].value
        assert "Our &lt;i&gt;team" not in preview(app)
        assert "![x](http" not in said(app)


def test_damaged_statements_are_explained_and_can_be_replaced(done: tuple[str, str]) -> None:
    audit = done[1]
    with Store() as store, store._engine.begin() as connection:
        damaged = {HOSTILE: "red"}
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(statements=damaged))
    app = visit(PAGE, audit=audit)
    assert not app.exception
    assert "The saved statements are damaged" in app.error[0].value
    assert "![x](http" not in said(app)
    assert button(app, "Sign").disabled
    box(app, "System").set_value("Said anew").run()
    press(app, "Save statements")
    assert stored(audit) == Statements(system="Said anew")
    assert not app.error
    assert button(app, "Sign").disabled is False


def test_a_damaged_threshold_is_explained_and_the_audits_own_is_reported(done: tuple[str, str]) -> None:
    with Store() as store, store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == done[1]).values(threshold={"method": 3}))
    app = visit(PAGE, audit=done[1])
    assert not app.exception
    assert not app.error
    assert "The audit's own threshold is shown." in app.warning[0].value
    assert "the score that 5 % of the people learned from exceed" in preview(app)


def test_another_detector_and_two_audits(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[1])
    choice = app.selectbox(key=f"about-{done[1]}")
    assert choice.value == "ae"
    choice.set_value("cfad").run()
    assert "at this threshold" in preview(app)
    assert "CFAD flags" in preview(app)
    box(app, "System").set_value("Of the second").run()
    app.query_params["audit"] = done[0]
    app.run()
    assert not app.exception
    assert box(app, "System").value == ""


def test_without_pango_the_page_says_so(done: tuple[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    take_away(monkeypatch)
    app = visit(PAGE, audit=done[1])
    assert not app.exception
    assert "A PDF is laid out by Pango" in said(app)
    grey = [str(one.proto.label) for one in app.get("download_button") if one.proto.disabled]
    assert grey == ["PDF"]
    box(app, "Your name").set_value("Ada")
    press(app, "Sign")
    assert "Pango, which is not installed here" in app.error[0].value.replace("\\", "")
    assert "Nobody signed a report of this audit yet." in said(app)
