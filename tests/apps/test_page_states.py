"""Every page in every state, without a browser."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from cfad_core.apps import cli
from cfad_core.apps.dashboard.empty import PROMISES
from cfad_core.audit.folder import save_audit
from cfad_core.audit.run import audit_tables
from cfad_core.core.config import (
    Knowledge,
)
from cfad_core.core.formats import percent
from cfad_core.core.markdown import as_text
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import generate_synthetic
from cfad_core.data.tables import Tables
from cfad_core.runs.model import Report, Status, headline
from cfad_core.runs.store import Store
from tests.apps.pages import (
    HOSTILE,
    PAGES,
    QUICK,
    RESULT_PAGES,
    ROLES,
    ROOT,
    by_older_engine,
    finish,
    pages_in,
    people,
    press,
    result_pages_in,
    said,
    visit,
    without_groups,
)


@pytest.mark.parametrize("page", PAGES)
def test_every_page_with_nothing_yet(home: Path, page: str) -> None:
    app = visit(page)
    assert not app.exception
    expected = {
        "2_Train.py": "There is no table to train on yet: upload one, and say what its columns are for.",
        "10_Saved_audits.py": "No audit is saved here yet.",
        "Log.py": "Nothing was done of which the log could tell, or not by them, or not with this audit.",
    }
    told = [box.value for box in app.info]
    silent = ("Present.py", "1_Data.py", "Account.py")
    assert told == ([] if page in silent else [expected.get(page, "There is no audit to show yet.")])
    assert ("What you can bring" in said(app)) == (page == "1_Data.py")


@pytest.mark.slow
@pytest.mark.parametrize("page", RESULT_PAGES)
def test_an_empty_page_shows_what_it_will_show_and_opens_the_demo(home: Path, page: str) -> None:
    app = visit(page)
    assert PROMISES[f"pages/{page}"].words in said(app)
    assert "This is the demo, so that you see what will be here:" in said(app)
    main = [button.label for button in app.main.button]
    assert main == ["See the demo"]  # one clear button
    press(app, "See the demo")
    assert "There is no audit to show yet." not in said(app)
    assert "Audit **Demo** · sensitive: born\\_in" in said(app)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_every_page_with_a_finished_audit(done: tuple[str, str], page: str) -> None:
    for audit in done:
        app = visit(page, audit=audit)
        assert not app.exception, app.exception
        assert not app.error
        if page in RESULT_PAGES:
            assert "sensitive: group" in said(app)


@pytest.mark.parametrize("page", [*RESULT_PAGES, "2_Train.py"])
def test_a_bad_id_in_the_address(done: tuple[str, str], page: str) -> None:
    app = visit(page, audit="nonsense<b>")
    assert not app.exception
    assert "There is no audit" in app.error[0].value
    assert "mistyped" in app.error[0].value
    assert "<b>" not in app.error[0].value


@pytest.mark.slow
@pytest.mark.parametrize("page", [*RESULT_PAGES, "2_Train.py"])
@pytest.mark.parametrize("status", ["queued", "running", "failed", "cancelled", "interrupted"])
def test_pages_of_an_audit_that_has_no_result(home: Path, page: str, status: Status) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name=HOSTILE, source="people.csv")
        if status != "queued":
            store.claim("somebody elsewhere:1:1", audit)
            store.report(audit, Report("discovery", 1, 20, {"loss": 2.0, "h": 0.1, "edges": 3.0}), 0.1)
            store.report(audit, Report("discovery", 2, 20, {"loss": 1.0, "h": 0.01, "edges": 3.0}), 0.2)
        if status not in ("queued", "running"):
            store.stop(audit, status, f"What happened: {HOSTILE}", "details")
    app = visit(page, audit=audit)
    assert not app.exception, app.exception
    assert "![x](http" not in said(app)  # names are text, not Markdown
    buttons = {button.label for button in app.button}
    if status in ("queued", "running"):
        assert ("Cancel the audit" in buttons) == (page == "2_Train.py")
    else:
        assert "Start it again" in buttons
        app.button(key=f"again-{audit}").click().run()
        with Store(home) as store:
            assert store.get(audit).status == "queued"


@pytest.mark.parametrize("page", RESULT_PAGES)
def test_pages_of_a_planned_audit_say_so(home: Path, page: str) -> None:
    with Store(home) as store:
        audit = store.plan(Tables.of(people()), ROLES, QUICK, name=HOSTILE, by=HOSTILE, source="people.csv")
    app = visit(page, audit=audit)
    assert not app.exception, app.exception
    assert "is planned and not started. Its results will be here once it is started." in app.info[0].value
    assert "![x](http" not in said(app)
    assert "Start it again" not in {button.label for button in app.button}


@pytest.mark.slow
@pytest.mark.parametrize("edges", [(), ((HOSTILE, "debt"), ("debt", "<b>i</b>"))], ids=["no path", "a path"])
def test_every_page_with_hostile_names_and_a_ready_graph(home: Path, edges: tuple[tuple[str, str], ...]) -> None:
    names = {"group": HOSTILE, "income": "<b>i</b>", "schooling": "[s](http://evil.example)"}
    known = Knowledge(required=(("[s](http://evil.example)", "debt"), *edges), complete=True)
    config = QUICK.replace(subsamples=4, methods=("ae",), knowledge=known)
    with Store(home) as store:
        table = people(300).drop(columns=["job", "age"]).rename(columns=names)
        audit = finish(store, table, ColumnRoles(HOSTILE, groups=("a", "b")), config, HOSTILE)
    for page in [*RESULT_PAGES, "2_Train.py"]:
        app = visit(page, audit=audit)
        assert not app.exception, app.exception
        assert "![x](http" not in said(app)
        assert "[s](http" not in said(app)
        assert "**b**" not in said(app)
        if page == "3_Causal_graph.py" and not edges:
            assert "This graph was given, not learned" in said(app)
            assert "No subsample shows a path" in said(app)
            assert "there is none to cut" in said(app)
        if page == "6_Threshold.py" and not edges:
            assert "Not reliable" in said(app)  # the columns of the groups differ, whatever the graph says
            assert "That contradicts the table" in said(app)
            assert "None of 4 other causal models shows a path either" in said(app)
            assert "Band:" not in said(app)


@pytest.mark.slow
def test_every_page_where_the_true_twins_are_known(home: Path) -> None:
    world = generate_synthetic(4, n_train=400, n_test_normal=100, n_test_anomaly=20)
    tables = Tables.of(world.train, world.test, world.test_counterfactual)
    roles = ColumnRoles("S", groups=("-1", "1"), label="label", anomaly="1")
    config = QUICK.replace(subsamples=4, methods=("ae",))
    with Store(home) as store:
        audit = store.create(tables, roles, config, name="Truth", source="synthetic people")
        store.claim("test", audit)
        result = audit_tables(store.request(audit).tables, roles, config)
        save_audit(result, store.folder(audit))
        store.finish(audit, headline(result))
    truth = result.scores["ae"].truth
    assert truth is not None
    report = result.report("ae")
    ratio = float(((truth > report.threshold) != (result.scores["ae"].factual > report.threshold)).mean())
    assert report.metrics.changing_ratio == pytest.approx(ratio)
    for page in [*RESULT_PAGES, "2_Train.py"]:
        app = visit(page, audit=audit)
        assert not app.exception, app.exception
        if page == "4_Counterfactuals.py":
            assert f"{percent(ratio)} of 120 people would have a different outcome" in said(app)
            assert "by their true twins, which are known here" in said(app)
            assert "several possible twins" not in said(app)
        if page == "6_Threshold.py":
            assert "Reliable: yes] the true twins are known." in said(app)


@pytest.mark.slow
def test_pages_say_that_an_audit_is_of_an_older_engine(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with Store(home) as store:
        audit = by_older_engine(store)
        new = finish(store, people(), ROLES, QUICK.replace(methods=("ae",)), "New")
    words = "made by an older version, whose twins need not be legal people"
    for page in [*RESULT_PAGES, "2_Train.py"]:
        app = visit(page, audit=audit)
        assert not app.exception, app.exception
        assert said(app).replace("\\", "").count(words) == 1, page
        assert words not in said(visit(page, audit=new)).replace("\\", "")
    app = visit("10_Saved_audits.py")
    reliable = dict(zip(app.dataframe[0].value["name"], app.dataframe[0].value["reliable"], strict=True))
    assert reliable["Old"] == "older version"
    assert reliable["New"] != "older version"
    assert "not comparable with those of newer audits" in said(app)
    assert cli.main(["audits", "list"]) == 0
    listed = capsys.readouterr().out.splitlines()
    assert [("done, older version" in line) for line in listed[1:]] == [False, True]  # the newest first
    app = visit("6_Threshold.py", audit=audit)
    press(app, "Run it again with this version")
    with Store(home) as store:
        child = store.find(status="queued")[0]
        assert (child.parent, child.name) == (audit, "Old")
        assert child.config == store.get(audit).config
        assert child.config.discovery.mode == "joint"


def test_the_heading_of_an_audit_without_groups_has_no_empty_parentheses(home: Path) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name="Old", source="people.csv")
        assert "sensitive: group (a and b) · people" in said(visit("2_Train.py", audit=audit))
        without_groups(store, audit)
    assert "sensitive: group · people" in said(visit("2_Train.py", audit=audit))


def test_plain_text() -> None:
    assert as_text("![x](y)") == r"\!\[x\]\(y\)"
    assert as_text("a\nb") == "a b"
    assert "http\\:\u2060//" in as_text("http://x.example")
    assert as_text("www.x") == "www\u2060\\.x"
    assert len(as_text("x" * 500)) == 200


def test_a_new_page_is_found_by_what_it_does(tmp_path: Path) -> None:
    folder = tmp_path / "pages"
    shutil.copytree(ROOT / "pages", folder, ignore=shutil.ignore_patterns("__pycache__"))
    (folder / "Over_time.py").write_text('frame.open_page("Over time")\nrecord, result = frame.finished_audit()\n')
    (folder / "About.py").write_text('frame.open_page("About")\n')
    assert set(pages_in(folder)) == {*PAGES, "Over_time.py", "About.py"}
    assert set(result_pages_in(folder)) == {*RESULT_PAGES, "Over_time.py"}
    assert {"3_Causal_graph.py", "6_Threshold.py"} <= set(RESULT_PAGES) < set(PAGES)
