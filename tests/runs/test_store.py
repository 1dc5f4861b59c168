"""What people do with saved audits."""

from __future__ import annotations

import dataclasses
import threading
import time
from pathlib import Path
from typing import Any, cast
from unittest.mock import patch

import pandas as pd
import pytest
import sqlalchemy as sa

from cfad_core.apps.dashboard.state import Draft
from cfad_core.audit.folder import summary
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import resolve_roles
from cfad_core.data.tables import PARTS, Tables, digest
from cfad_core.runs.model import ChosenThreshold, Status
from cfad_core.runs.store import Store
from tests.conftest import make_people
from tests.runs.conftest import CROSSED, CROSSED_TABLES, QUICK, ROLES, TABLE, TABLES, finish, put


def test_what_is_put_in_comes_out(store: Store) -> None:
    before = time.time()
    audit = store.create(TABLES, ROLES, QUICK, name="  First \n one ", owner="ada", source="people.csv")
    after = time.time()
    record = store.get(audit)
    assert (record.name, record.owner, record.source, record.status) == ("First one", "ada", "people.csv", "queued")
    assert record.roles == ROLES
    assert record.config == QUICK
    assert record.metrics is None
    assert before <= record.created <= after
    given = store.request(audit)
    pd.testing.assert_frame_equal(given.tables.table, TABLES.table)
    assert given.tables.test is None
    assert (given.roles, given.config) == (ROLES, QUICK)
    assert record.data_digest == given.tables.digest == digest(given.tables.table)


def test_a_record_has_the_two_groups(store: Store) -> None:
    audit = store.create(TABLES, dataclasses.replace(ROLES, groups=None), QUICK, name="An audit")
    assert store.get(audit).roles == dataclasses.replace(ROLES, groups=("a", "b"))
    with pytest.raises(InvalidDataError, match="The sensitive column 'nothing' is not in the table"):
        store.create(TABLES, dataclasses.replace(ROLES, sensitive="nothing"), QUICK, name="An audit")
    assert [record.id for record in store.find()] == [audit]


def test_roles_of_several_attributes_go_through_the_store(store: Store) -> None:
    """As the text that they always were: the database needs no other columns for them."""
    asked = dataclasses.replace(ROLES, sensitive=("group", Attribute("schooling", bands=3)), groups=None)
    audit = store.create(TABLES, asked, QUICK, name="Bands")
    found = store.get(audit).roles
    assert found == store.request(audit).roles == resolve_roles(TABLE, asked)
    assert [groups.column for groups in found.groupings] == ["group", "schooling"]
    assert len(found.attributes[1].cuts) == 2
    merged = store.create(CROSSED_TABLES, CROSSED, QUICK, name="Merged")
    assert store.get(merged).roles == CROSSED
    wrong = dataclasses.replace(ROLES, sensitive=(Attribute("group", reference="z"),), groups=None)
    with pytest.raises(InvalidDataError, match="'z' \\(reference\\) is no group of 'group'"):
        store.create(TABLES, wrong, QUICK, name="Wrong")


def test_each_table_is_hashed_and_converted_once(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the table that a page read to the audit in the queue, and in its repetitions not at all."""
    import pyarrow.pandas_compat as conversion

    counts = {"hashed": 0, "converted": 0}

    def counted(what: str, function: Any) -> Any:
        def count(*given: Any, **more: Any) -> Any:
            counts[what] += 1
            return function(*given, **more)

        return count

    monkeypatch.setattr(pd.util, "hash_pandas_object", counted("hashed", pd.util.hash_pandas_object))
    monkeypatch.setattr(conversion, "dataframe_to_arrays", counted("converted", conversion.dataframe_to_arrays))
    people = [make_people(n, seed) for n, seed in ((300, 0), (100, 1), (100, 2))]
    draft = Draft(Tables.of(*people), "people.csv", ROLES)
    assert len(draft.key) == 12
    audit = store.create(draft.tables, ROLES, QUICK, name="An audit")
    assert counts == {"hashed": 3, "converted": 3}
    assert len(list((store.home / "tables").iterdir())) == 3
    request = store.request(audit)
    again = store.create(request.tables, request.roles, request.config, name="Again")
    assert counts == {"hashed": 3, "converted": 3}
    assert store.get(again).data_digest == store.get(audit).data_digest == draft.tables.digest
    assert store.get(audit).tables == {
        part: digest(frame) for part, frame in zip(PARTS, people, strict=False)
    }  # plain columns: storing changes nothing about them


def test_the_same_table_is_stored_once_and_goes_with_its_last_audit(store: Store) -> None:
    tested = Tables.of(TABLE, make_people(100, seed=1))
    first, second = put(store), store.create(tested, ROLES, QUICK, name="Tested")
    tables = store.home / "tables"
    assert {path.stem for path in tables.iterdir()} == set(tested.digests.values())
    store.delete(first)
    assert {path.stem for path in tables.iterdir()} == set(tested.digests.values())
    given = store.request(second).tables
    assert given.test is not None
    assert tested.test is not None
    pd.testing.assert_frame_equal(given.test, tested.test)
    store.delete(second)
    assert list(tables.iterdir()) == []


def test_results_names_notes_and_thresholds(store: Store, result: AuditResult) -> None:
    audit = finish(store, result)
    record = store.get(audit)
    assert record.status == "done"
    assert record.progress == 1.0
    assert record.metrics is not None
    assert record.metrics["cfad"]["changing_ratio"] == result.report("cfad").metrics.changing_ratio
    assert summary(store.result(audit)) == summary(result)
    store.rename(audit, "Better name")
    store.annotate(audit, "A note.\nTwo lines.")
    chosen = ChosenThreshold("cfad", "quantile", 1.25, quantile=0.9)
    store.choose_threshold(audit, chosen)
    record = store.get(audit)
    assert (record.name, record.note, record.threshold) == ("Better name", "A note.\nTwo lines.", chosen)
    with pytest.raises(InvalidDataError, match="An audit needs a name"):
        store.rename(audit, " \n ")


def test_finding(store: Store) -> None:
    for k, name in enumerate(["Alpha 100%", "Beta", "beta two"]):
        put(store, name, owner="ada" if k else "bob")
    assert [record.name for record in store.find()] == ["beta two", "Beta", "Alpha 100%"]
    assert [record.name for record in store.find(text="BETA")] == ["beta two", "Beta"]
    assert [record.name for record in store.find(text="0%")] == ["Alpha 100%"]
    assert [record.name for record in store.find(text="%%")] == []
    assert [record.name for record in store.find(owner="bob")] == ["Alpha 100%"]
    assert [record.name for record in store.find(limit=2)] == ["beta two", "Beta"]
    assert store.find(status="done") == []
    with pytest.raises(
        InvalidDataError, match="There is no status 'finished'; choose one of: planned, queued, running, waiting, done"
    ):
        store.find(status=cast(Status, "finished"))


def test_unknown_ids(store: Store) -> None:
    for act in (store.get, store.result, store.delete, store.request_cancel, store.requeue, store.request):
        with pytest.raises(InvalidArtifactError, match="There is no audit 'nothing'"):
            act("nothing")
    with pytest.raises(InvalidArtifactError, match="There is no audit 'nothing'"):
        store.rename("nothing", "x")
    audit = put(store)
    with pytest.raises(InvalidArtifactError, match="is queued; only an audit that is done has a result"):
        store.result(audit)


def test_a_table_that_is_gone_is_a_clear_error(store: Store, tmp_path: Path) -> None:
    audit = put(store)
    store.table_path(TABLES.digest).unlink()
    with pytest.raises(InvalidArtifactError, match="is missing or damaged"):
        store.request(audit)


def test_what_an_audit_needs_beside_its_row_is_not_cleared_away_before_the_row_is_there(store: Store) -> None:
    started, ended = threading.Event(), threading.Event()

    def clear_away() -> None:  # as every program with an executor does now and then
        started.set()
        store.recover(lambda _: True)
        ended.set()

    clearing = threading.Thread(target=clear_away)

    def prepare(folder: Path) -> None:
        folder.mkdir()
        (folder / "large.json").write_text("{}")
        clearing.start()
        started.wait(30.0)
        assert not ended.wait(0.2)  # it waits for the row

    with patch("cfad_core.runs.store.large_stages", return_value={}):
        audit = store.create(TABLES, ROLES, QUICK, name="A large table", prepare=prepare)
    clearing.join(30.0)
    assert ended.is_set()
    assert (store.folder(audit) / "large.json").is_file()


def test_a_table_stays_where_its_row_may_have_been_written(store: Store) -> None:
    """The database was away when it was to say so."""
    lost = sa.exc.OperationalError("COMMIT", None, Exception("gone"), connection_invalidated=True)
    for error, is_there in ((lost, True), (InvalidDataError("refused"), False)):
        for path in (store.home / "tables").iterdir():
            path.unlink()
        with patch.object(Store, "_log", side_effect=error), pytest.raises(type(error)):
            put(store)
        assert store._table_path(TABLES.digest).is_file() == is_there
