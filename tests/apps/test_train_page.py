"""Settings, the queue, and the audit at work."""

from __future__ import annotations

import json
from pathlib import Path

import sqlalchemy as sa

from cfad_core.core.config import (
    DEFAULT_METHODS,
    Knowledge,
)
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.detectors.registry import label_of, title_of
from cfad_core.runs.model import AUDITS
from cfad_core.runs.plan import is_sealed
from cfad_core.runs.store import Store
from tests.apps.pages import (
    QUICK,
    ROLES,
    bring,
    button,
    chosen,
    people,
    press,
    said,
    to_train,
    visit,
)


def test_from_the_sample_to_the_queue(home: Path) -> None:
    app = visit()
    press(app, "Try the sample table")
    assert "800 rows, 15 columns" in said(app).replace("\\", "")
    assert "<10 rows are left out" in said(app).replace("\\", "")
    press(app, "Continue")
    assert [title.value for title in app.title] == ["Train"]
    press(app, "Start the audit")
    with Store(home) as store:
        (record,) = store.find()
    assert record.status == "queued"
    assert record.roles == ColumnRoles(
        "gender", groups=("female", "male"), label="fraud", anomaly="yes", ignore=("claim_id", "reported_on", "remark")
    )
    assert record.config.knowledge.roots == ("age",)
    assert app.query_params["audit"] == record.id


def test_methods_are_chosen_before_training(home: Path) -> None:
    app = visit()
    press(app, "Try the sample table")
    press(app, "Continue")
    app.switch_page("pages/2_Train.py").run()
    assert [box.label for box in app.checkbox if box.value] == [title_of(method) for method in DEFAULT_METHODS]
    for method in DEFAULT_METHODS:
        app.checkbox(key=f"method-{method}").uncheck()
    app.run()
    assert "Tick at least one method" in said(app)
    app.checkbox(key="method-iforest").check().run()
    press(app, "Start the audit")
    with Store(home) as store:
        (record,) = store.find()
    assert record.config.methods == ("iforest",)
    assert record.config.detector.fairness_weight is None


def test_how_many_subsamples_is_chosen_before_training(home: Path) -> None:
    app = to_train(visit())
    graphs = next(box for box in app.number_input if box.label == "Subsamples to measure the uncertainty")
    assert graphs.value == 20
    for impossible in (2, 7):
        graphs.set_value(impossible).run()
        assert "choose 0, or an even number from 4 on" in app.error[0].value
        assert button(app, "Start the audit").disabled
    graphs.set_value(6).run()
    assert not app.error
    press(app, "Start the audit")
    with Store(home) as store:
        assert store.find()[0].config.subsamples == 6
    assert "Learning causal models from halves of the rows" in said(
        visit("2_Train.py", audit=app.query_params["audit"])
    )


def test_an_upload_wins_over_chosen_roots(home: Path) -> None:
    app = to_train(visit())
    assert chosen(app, "Nothing in the table").value == ["age"]
    bring(app, "k.json", '{"roots": ["claim_id"]}')
    assert "not in the graph: claim_id" in app.error[0].value.replace("\\", "")  # it is ignored
    assert button(app, "Start the audit").disabled
    bring(app, "k.json", '{"required": [["gender", "occupation"]]}')
    assert not app.error
    assert "The uploaded file is used" in said(app)
    assert chosen(app, "Nothing in the table").disabled
    press(app, "Start the audit")
    with Store(home) as store:
        assert store.find()[0].config.knowledge == Knowledge(required=(("gender", "occupation"),))


def test_an_audit_is_planned_and_started_from_the_page(home: Path) -> None:
    app = to_train(visit())
    app.text_input(key="plan-by").input("Ada <b>")
    app.text_area(key="plan-expectation").input("CFAD.\n**At most** 2 %.").run()
    press(app, "Seal this plan")
    with Store(home) as store:
        (record,) = store.find()
        assert (record.status, record.source) == ("planned", "sample.csv")
        assert record.plan is not None
        words = said(app)
        assert f"seal `{record.plan.digest}`" in words
        assert r"by Ada \<b\>" in words
        assert r"\*\*At most\*\* 2 %" in words
        assert "This audit is planned and not started." in words
        for sealed in ("Sensitive: gender (female and male)", "Label: fraud is yes", "Seed 0, 20 subsamples"):
            assert sealed in words.replace("\\", "")
        assert f"Methods: {', '.join(label_of(method) for method in DEFAULT_METHODS)}" in words.replace("\\", "")
        assert is_sealed(record)
        press(app, "Start the planned audit")
        assert store.get(record.id).status == "queued"
    words = said(app)
    assert "Start the planned audit" not in [one.label for one in app.button]
    assert f"seal `{record.plan.digest}`" in words


def test_a_plan_that_was_changed_cannot_be_started(home: Path) -> None:
    with Store(home) as store:
        audit = store.plan(Tables.of(people()), ROLES, QUICK, name="Plan", by="")
        changed = json.dumps(QUICK.replace(seed=7).to_dict())
        with store._engine.begin() as connection:
            connection.execute(sa.update(AUDITS).values(config=changed))
        app = visit("2_Train.py", audit=audit)
        assert "This audit is not what was sealed" in app.error[0].value
        assert "by somebody who gave no name" in said(app)
        assert button(app, "Start the planned audit").disabled
        with store._engine.begin() as connection:
            connection.execute(sa.update(AUDITS).values(plan={}))
        app = visit("2_Train.py", audit=audit)
        assert not app.exception
        assert app.error[0].value.startswith("The saved plan is damaged")


def test_cancelling_from_the_page(home: Path) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name="One", source="people.csv")
    app = visit("2_Train.py", audit=audit)
    app.button(key=f"cancel-{audit}").click().run()
    with Store(home) as store:
        assert store.get(audit).status == "cancelled"


def test_a_finished_audit_leads_to_its_findings(done: tuple[str, str], home: Path) -> None:
    for audit in done:
        app = visit("2_Train.py", audit=audit)
        assert said(app).count("The audit is done. It took") == 1
        assert not app.warning  # what is to be known about it is said once, among the findings
        press(app, "See the findings")
        assert [title.value for title in app.title] == ["Findings"]
        assert app.query_params["audit"] == audit


def test_the_queue_is_shown_with_place_and_minutes(home: Path) -> None:
    with Store(home) as store:
        audits = [store.create(Tables.of(people()), ROLES, QUICK, name="One") for _ in range(2)]
    words = [visit("2_Train.py", audit=audit).get("progress")[0].proto.text for audit in audits]
    assert words[0].startswith("In the queue, place 1 · starts at once, done in ")
    assert words[1].startswith("In the queue, place 2 · starts in ")


def test_how_long_it_takes_is_said_before_the_start_and_follows_the_settings(home: Path) -> None:
    app = to_train(visit())

    def words() -> str:
        (line,) = (str(one.value) for one in app.markdown if str(one.value).startswith("Takes **about"))
        return line

    first = words()
    assert first.endswith("on this computer.")
    app.checkbox(key="method-dcfod").check().run()
    assert words() != first
    with Store(home) as store:
        store.create(Tables.of(people()), ROLES, QUICK, name="Before")
        store.claim("somebody")
    app.checkbox(key="method-dcfod").uncheck().run()
    assert "Another audit runs: it starts in " in words()


def test_what_is_prepared_is_there_after_a_reload_until_the_audit_starts(home: Path) -> None:
    app = to_train(visit())
    (draft,) = app.query_params["draft"] if isinstance(app.query_params["draft"], list) else [app.query_params["draft"]]
    again = visit("2_Train.py", draft=draft)  # another session, as after a reload or a restart
    assert "800 rows · sensitive: gender" in said(again).replace("\\", "")
    data = visit("1_Data.py", draft=draft)
    assert "800 rows, 15 columns" in said(data).replace("\\", "")
    press(again, "Start the audit")
    assert "draft" not in again.query_params
    with Store(home) as store:
        assert store.kept_draft(draft) is None
        assert store.find()[0].status == "queued"
    assert "There is no table to train on yet" in said(visit("2_Train.py", draft=draft))
