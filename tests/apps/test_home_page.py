"""Home: where an audit begins, and the latest ones."""

from __future__ import annotations

import dataclasses
from pathlib import Path

from cfad_core.apps.dashboard.demo import FAIRER, PLAIN, RECORDING
from cfad_core.apps.dashboard.home import card_lines
from cfad_core.apps.dashboard.tables import verdict_lines
from cfad_core.core.formats import one_in, percent_range
from cfad_core.core.markdown import as_text
from cfad_core.data.tables import Tables
from cfad_core.runs.index import home_folder
from cfad_core.runs.recording import recorded_numbers
from cfad_core.runs.store import Store
from tests.apps.pages import (
    QUICK,
    ROLES,
    people,
    press,
    said,
    visit,
)


def test_home_with_nothing_yet(home: Path) -> None:
    app = visit()
    assert "Would the detector have flagged the same person" in said(app)
    assert "None yet" in said(app)
    labels = {button.label for button in app.button}
    assert labels >= {"See the demo", "Run it live", "Try the sample table", "Audit my own table"}
    assert "Nothing leaves this computer." in said(app)


def test_home_shows_what_the_recorded_demo_found(home: Path) -> None:
    methods = recorded_numbers(RECORDING)["comparisons"][0]["methods"]
    shown = said(visit())
    for name in (PLAIN, FAIRER):
        assert one_in(methods[name]["changing_ratio"]) in shown.lower()
        ends = methods[name]["interval"]
        assert percent_range(ends["low"], ends["high"]) in shown.replace("\u00a0", " ")


def test_the_demo_opens_at_once_and_once(home: Path) -> None:
    for _ in range(2):
        app = press(visit(), "See the demo")
        assert "The audit was right" in said(app)
        assert "The true share is" in said(app)
        assert "the audit did not see them" in app.expander[-1].label
    with Store(home) as store:
        assert [record.name for record in store.find()] == ["Demo"]
        audit = store.find()[0].id
    app = visit("6_Threshold.py", audit=audit)
    assert "The true share is" in said(app)
    method = next(choice for choice in app.segmented_control if choice.label == "Method")
    method.set_value("surprise").run()
    assert "misses it by less than 0.1 points" in said(app)


def test_the_demo_can_be_run_live(home: Path) -> None:
    press(visit(), "Run it live")
    with Store(home) as store:
        (record,) = store.find()
        assert (record.name, record.status) == ("Demo, run here", "queued")
        assert set(record.tables) == {"table", "test", "truth"}


def test_home_lists_audits(done: tuple[str, str]) -> None:
    app = visit()
    shown = said(app)
    links = [link.proto.label for link in app.get("page_link")]
    assert links.index("**Without labels** →") < links.index("**With labels** →")  # the newest first
    with Store(home_folder()) as store:
        for record in store.find():
            assert len(card_lines(record)) == 2
            assert all(line in shown for line in card_lines(record))


def test_a_card_of_an_audit_that_has_no_result(home: Path) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name="One", source="people.csv")
        assert card_lines(store.get(audit)) == ["It is waiting in the queue."]


def test_the_verdict_of_a_list(home: Path) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name="One", source="people.csv")
        store.claim("test", audit)
        methods = ("pca", "iforest", "cfad", "twin")
        store.finish(audit, {name: {"n": 100, "verdict": f"Not reliable: {name}."} for name in methods})
        record = store.get(audit)
    plain, mitigated = (
        f"**{as_text(title)}:** {as_text(f'Not reliable: {name}.')}"
        for name, title in {"pca": "Principal components (PCA)", "cfad": "Tuned detector (CFAD)"}.items()
    )
    assert verdict_lines(record) == [plain, mitigated]  # with what limits them, whole
    assert record.metrics is not None
    own = {"theirs": {"verdict": "_Own_.", "worst_pairs": {"race": "Most between A and B."}}, **record.metrics}
    assert verdict_lines(dataclasses.replace(record, metrics=own)) == [
        f"**theirs:** {as_text('_Own_. Most between A and B.')}",
        mitigated,
    ]
    assert verdict_lines(dataclasses.replace(record, metrics={"pca": record.metrics["pca"]})) == [plain]
    assert verdict_lines(dataclasses.replace(record, metrics=None)) == []
    older = dataclasses.replace(record, schema_version=4)  # its numbers are not those that its pages show now
    assert verdict_lines(older) == ["Made by an older version: run it again."]
