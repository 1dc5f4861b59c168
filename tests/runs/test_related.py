"""Audits of the same people are listed, whatever happened to them."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest
import sqlalchemy as sa

from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.runs.model import AUDITS, DELETED
from cfad_core.runs.related import related
from cfad_core.runs.store import Store
from cfad_core.runs.trace import AuditTrace
from tests.conftest import make_people
from tests.runs.conftest import CROSSED, CROSSED_TABLES, QUICK, ROLES, TABLE, TABLES, claim, finish, put


def spoil(store: Store, audit: str, **values: Any) -> None:
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(values))


def test_how_audits_are_related(store: Store) -> None:
    later = make_people(120, seed=5)
    corrected = TABLE[["debt", "income", "group", "fraud", "schooling"]].iloc[:250]  # filtered, in another order
    made = {
        "this": store.create(TABLES, ROLES, QUICK, name="this"),
        "same tables": store.create(TABLES, ROLES, QUICK.replace(seed=3), name="again"),
        "same table": store.create(Tables.of(TABLE, later), ROLES, QUICK, name="judged on others"),
        "same columns": store.create(Tables.of(corrected), ROLES, QUICK, name="corrected"),
        "judged": store.create(Tables.of(later, TABLE), ROLES, QUICK, name="judged on these"),
    }
    store.create(CROSSED_TABLES, CROSSED, QUICK, name="unrelated")
    store.create(Tables.of(TABLE.rename(columns={"debt": "owed"})), ROLES, QUICK, name="another column")
    found = related(store, made["this"])
    assert [(one.name, one.relation) for one in found] == [
        ("again", "same tables"),
        ("judged on others", "same table"),
        ("corrected", "same columns"),
        ("judged on these", "same table"),
    ]
    again = found[0]
    assert (again.id, again.status, again.sensitive, again.seed) == (made["same tables"], "queued", "group", 3)
    assert (again.methods, again.differences) == (QUICK.methods, ("seed 3 instead of 0",))
    assert (again.verdicts, again.planned, again.deleted, again.finished) == ({}, None, None, None)
    assert again.created == store.get(again.id).created
    assert [one.name for one in related(store, made["same columns"])] == [
        *("this", "again", "judged on others", "judged on these")
    ]
    with pytest.raises(InvalidArtifactError, match="There is no audit 'nothing'"):
        related(store, "nothing")


def test_verdicts_are_those_of_finished_audits(store: Store, result: AuditResult) -> None:
    this, done, older = put(store), finish(store, result), finish(store, result)
    spoil(store, older, schema_version=4)
    new, old = related(store, this)
    assert new.id == done
    assert new.verdicts == {method: report.verdict for method, report in result.reports.items()}
    assert set(old.verdicts) == set(result.reports)
    assert all(words.startswith("Made by an older version") for words in old.verdicts.values())
    assert new.finished == store.get(done).finished


DAMAGED: list[tuple[dict[str, Any], tuple[str, ...]]] = [
    ({"roles": "no json"}, ("its roles cannot be read", "seed 3 instead of 0")),
    ({"roles": "[]"}, ("its roles cannot be read", "seed 3 instead of 0")),
    ({"config": '{"seed": -1}'}, ("its settings cannot be read",)),
    ({"roles": "{}", "config": "{}x"}, ("its roles cannot be read", "its settings cannot be read")),
    ({"metrics": {"ae": 5}, "plan": {"by": 5}, "status": "done"}, ("seed 3 instead of 0",)),
]


@pytest.mark.parametrize(("values", "words"), DAMAGED, ids=lambda one: str(one)[:30])
def test_damaged_records_are_listed(store: Store, values: dict[str, Any], words: tuple[str, ...]) -> None:
    this = put(store)
    other = store.create(TABLES, ROLES, QUICK.replace(seed=3), name="damaged")
    spoil(store, other, **values)
    (one,) = related(store, this)
    assert (one.id, one.relation, one.differences, one.planned) == (other, "same tables", words, None)
    assert (one.sensitive == "") == ("roles" in values)
    assert (one.seed, one.methods) == ((None, ()) if "config" in values else (3, QUICK.methods))
    (back,) = related(store, other)  # also if it is this one that is damaged
    assert ("this audit's own roles or settings cannot be read" in back.differences) == bool(
        {"roles", "config"} & set(values)
    )


def test_tables_that_are_gone_or_damaged_are_no_relation(store: Store) -> None:
    this = put(store)
    for rows, content in ((100, None), (110, b"no parquet")):
        tables = Tables.of(make_people(rows, seed=1))
        other = store.create(tables, ROLES, QUICK, name="other")
        if content is None:
            store.table_path(tables.digest).unlink()
        else:
            store.table_path(tables.digest).write_bytes(content)
        assert related(store, this) == ()
        assert related(store, other) == ()


def test_deleting_an_audit_with_a_result_leaves_a_trace(store: Store, result: AuditResult) -> None:
    audit, queued = finish(store, result, "The ugly one"), put(store, "never ran")
    record = store.get(audit)
    store.delete(queued)
    assert store.deleted() == []
    store.delete(audit)
    (trace,) = store.deleted()
    assert list((store.home / "tables").iterdir()) == []  # nothing about people is left
    assert (trace.id, trace.name, trace.status, trace.created) == (audit, "The ugly one", "done", record.created)
    assert set(trace.columns) == set(TABLE.columns)
    corrected = store.create(Tables.of(TABLE.iloc[:200]), ROLES, QUICK.replace(seed=1), name="Filtered")
    again = put(store, "Again")
    for other, relation in ((corrected, "same columns"), (again, "same tables")):
        one = next(one for one in related(store, other) if one.id == audit)
        assert (one.relation, one.name, one.finished) == (relation, "The ugly one", record.finished)
        assert one.deleted is not None
        assert one.deleted >= record.created
        assert one.verdicts == {method: report.verdict for method, report in result.reports.items()}
        assert one.methods == result.config.methods
    assert [one.deleted is None for one in related(store, corrected)] == [False, True]  # oldest first


def test_an_audit_that_is_answered_anew_leaves_a_trace_too(store: Store, result: AuditResult) -> None:
    audit = finish(store, result)
    spoil(store, audit, status="waiting", metrics=None)
    store.delete(audit)
    assert [(trace.id, trace.status, trace.verdicts) for trace in store.deleted()] == [(audit, "waiting", {})]


def test_a_running_audit_is_neither_deleted_nor_traced(store: Store) -> None:
    audit = put(store)
    claim(store, audit=audit)
    with pytest.raises(InvalidDataError, match="is running; cancel it first"):
        store.delete(audit)
    assert store.deleted() == []


def test_traces_have_the_columns_of_their_table() -> None:
    assert [field.name for field in dataclasses.fields(AuditTrace)] == [column.name for column in DELETED.columns]


def test_sensitive_attributes_are_named(store: Store) -> None:
    this = store.create(CROSSED_TABLES, CROSSED, QUICK, name="two")
    store.create(CROSSED_TABLES, ColumnRoles("sex", groups=("f", "m")), QUICK, name="one")
    (one,) = related(store, this)
    assert one.sensitive == "sex"
    assert one.differences == ("sensitive: sex instead of sex and region",)
