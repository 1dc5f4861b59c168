"""The tab of an audit over time."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.audit.batches import measure_batch
from cfad_core.audit.history import append_batch, read_history
from cfad_core.runs.reading import Bounds
from cfad_core.runs.store import Store
from tests.apps.pages import HOSTILE, diverse_people, packed_rows, people, said, visit
from tests.audit.worlds import without_judges


def add(home: Path, audit: str, name: str, income: float = 0.0, month: int = 3) -> None:
    table = people(400)
    with Store(home) as store:
        at = 1_767_225_600.0 + 30.0 * 86_400.0 * month
        changed = table.assign(income=table["income"] + income)
        append_batch(
            store.folder(audit), measure_batch(without_judges(store.result(audit)), changed, source=name, at=at)
        )


def upload(app: AppTest, audit: str, name: str, content: bytes) -> AppTest:
    app.file_uploader(key=f"batch-file-{audit}").set_value((name, content, "text/csv"))
    app.date_input(key=f"batch-date-{audit}").set_value(date(2026, 3, 1))
    app.run()
    app.button(key=f"batch-measure-{audit}").click().run()
    assert not app.exception, app.exception
    return app


def test_the_empty_state_says_which_command_adds_a_batch(done: tuple[str, str]) -> None:
    app = visit("8_Methods.py", audit=done[0])
    assert not app.exception, app.exception
    assert "No batch of new people was measured with this audit yet." in said(app)
    assert f"python -m cfad_core score {done[0]} TABLE --out FILE" in said(app)
    assert app.button(key=f"batch-measure-{done[0]}").disabled


@pytest.mark.slow
def test_batches_and_their_alarms_are_shown(done: tuple[str, str], home: Path) -> None:
    add(home, done[0], "march.csv")
    add(home, done[0], HOSTILE, income=3.0, month=4)
    app = visit("8_Methods.py", audit=done[0])
    assert not app.exception, app.exception
    table = next(one.value for one in app.dataframe if "twins pass" in one.value)
    assert list(table["table"]) == ["march.csv", HOSTILE]
    assert list(table["alarm"]) == ["", "✕ does not fit"]
    (warning,) = (one.value for one in app.warning if "no longer fits" in one.value)
    assert "<script>" not in warning
    assert "](http" not in warning
    assert "income" in warning
    assert "has no interval, as the audit was saved without its judges" in said(app)
    app.segmented_control(key=f"history-method-{done[0]}").set_value("ae").run()
    assert not app.exception, app.exception


@pytest.mark.slow
def test_a_table_is_measured_on_the_page(done: tuple[str, str], home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    audit = done[1]
    app = visit("8_Methods.py", audit=audit)
    upload(app, audit, "new.csv", people(200).to_csv(index=False).encode())
    assert "200 people of new\\.csv were measured." in said(app)
    with Store(home) as store:
        (batch,) = read_history(store.folder(audit))
    assert (batch.source, batch.date, batch.n) == ("new.csv", "2026-03-01", 200)
    upload(app, audit, "other.csv", people(200).drop(columns="income").to_csv(index=False).encode())
    assert "The table lacks the column income" in "".join(one.value for one in app.error).replace("\\", "")
    upload(app, audit, "bad.csv", b"\x00\x01")
    assert app.error
    monkeypatch.setattr(Bounds, "of", lambda _: Bounds(60.0, 250))
    upload(app, audit, "bomb.csv.gz", packed_rows())
    assert "needs more memory than the 250 MB" in said(app).replace("\\", "")
    with Store(home) as store:
        assert read_history(store.folder(audit)) == [batch]


@pytest.mark.slow
def test_several_attributes_are_looked_at_one_by_one(several: tuple[str, str], home: Path) -> None:
    audit = several[1]
    with Store(home) as store:
        batch = measure_batch(without_judges(store.result(audit)), diverse_people(400), source="x.csv")
        append_batch(store.folder(audit), batch)
    app = visit("8_Methods.py", audit=audit)
    assert not app.exception, app.exception
    app.selectbox(key=f"history-comparison-{audit}").set_value(1).run()
    assert not app.exception, app.exception
    table = next(one.value for one in app.dataframe if "twins pass" in one.value)
    assert {"flagged: north", "flagged: south", "flagged: east"} <= set(table.columns)
