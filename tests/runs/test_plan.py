"""Planned audits: sealed before any result is seen, and the seal holds or breaks as it should."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cfad_core.audit.folder import save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import Statements
from cfad_core.core.errors import InvalidArtifactError, InvalidConfigError, InvalidDataError
from cfad_core.runs.archive import export_audit, import_audit
from cfad_core.runs.model import AUDITS, AuditRecord, headline
from cfad_core.runs.plan import AuditPlan, is_sealed
from cfad_core.runs.related import related
from cfad_core.runs.store import Store
from tests.runs.conftest import QUICK, ROLES, TABLES, claim, put

WORDS = "CFAD at the 0.95 quantile.\nAt most 2 % of outcomes may change: ≤ 0.02."


def planned(store: Store) -> str:
    return store.plan(
        TABLES, dataclasses.replace(ROLES, groups=None), QUICK, name="Plan", by=" Ada ", expectation=WORDS
    )


def plan_of(record: AuditRecord) -> AuditPlan:
    assert record.plan is not None
    return record.plan


def test_a_plan_is_sealed_and_not_run(store: Store) -> None:
    audit = planned(store)
    record = store.get(audit)
    plan = plan_of(record)
    assert (record.status, record.roles, record.config) == ("planned", ROLES, QUICK)  # with the groups that are settled
    assert (plan.at, plan.by, plan.expectation) == (record.created, "Ada", WORDS)
    assert is_sealed(record)
    assert store.claim("me") is None
    assert store.recover(lambda _: False) == []
    assert [one.id for one in store.find(status="planned")] == [audit]
    assert AuditPlan.from_dict(json.loads(json.dumps(plan.to_dict()))) == plan


def test_what_the_seal_is_of(store: Store) -> None:
    """As docs/STORE.md says, so that anybody can compute it."""
    record = store.get(planned(store))
    plan = plan_of(record)
    sealed: dict[str, Any] = {
        "tables": record.tables,
        "roles": record.roles.to_dict(),
        "config": record.config.to_dict(),
    }
    sealed |= {"at": plan.at, "by": plan.by, "expectation": plan.expectation}
    text = json.dumps(sealed, sort_keys=True, separators=(",", ":"))
    assert plan.digest == hashlib.sha256(text.encode("ascii")).hexdigest()


def test_a_planned_audit_is_started_once(store: Store) -> None:
    audit = planned(store)
    before = store.get(audit)
    store.request_cancel(audit)
    assert store.get(audit) == before  # left as it is
    with pytest.raises(InvalidDataError, match="is planned; it cannot be started again"):
        store.requeue(audit)
    with pytest.raises(InvalidArtifactError, match="is planned; only an audit that is done has a result"):
        store.result(audit)
    with pytest.raises(InvalidArtifactError, match="is planned and has no rows to score"):
        store.questions(audit)
    store.start(audit)
    assert (store.get(audit).status, store.get(audit).plan_entry) == ("queued", before.plan_entry)
    assert is_sealed(store.get(audit))
    with pytest.raises(InvalidDataError, match="is queued; only a planned audit can be started"):
        store.start(audit)
    with pytest.raises(InvalidDataError, match="is queued; only a planned audit can be started"):
        store.start(put(store))
    with pytest.raises(InvalidArtifactError, match="There is no audit 'nothing'"):
        store.start("nothing")


def test_a_planned_audit_can_be_named_and_deleted(store: Store) -> None:
    audit = planned(store)
    store.rename(audit, "Another name")
    store.annotate(audit, "A note")
    store.state(audit, Statements(system="Claims"))
    assert is_sealed(store.get(audit))
    store.delete(audit)
    assert store.find() == []
    assert store.deleted() == []  # it has no result


def other(text: str, **changes: Any) -> str:
    return json.dumps(json.loads(text) | changes)


CHANGES: dict[str, Callable[[AuditRecord], dict[str, Any]]] = {
    "seed": lambda record: {"config": other(record.config_text, seed=1)},
    "subsamples": lambda record: {"config": other(record.config_text, bootstrap=6)},
    "groups": lambda record: {"roles": other(record.roles_text, groups=["b", "a"])},
    "ignore": lambda record: {"roles": other(record.roles_text, ignore=["debt"])},
    "table": lambda record: {"tables": {"table": "0" * 64}},
    "test": lambda record: {"tables": {**record.tables, "test": record.tables["table"]}},
    "expectation": lambda record: {"plan": plan_of(record).to_dict() | {"expectation": "Anything goes."}},
    "by": lambda record: {"plan": plan_of(record).to_dict() | {"by": "Grace"}},
    "at": lambda record: {"plan": plan_of(record).to_dict() | {"at": 5.0}},
    "digest": lambda record: {"plan": plan_of(record).to_dict() | {"digest": "0" * 64}},
    "no settings": lambda record: {"config": "no json"},
    "no plan": lambda record: {"plan": {}},
}


@pytest.mark.parametrize("change", CHANGES)
def test_the_seal_breaks_if_anything_is_changed(store: Store, change: str) -> None:
    audit = planned(store)
    values = CHANGES[change](store.get(audit))
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).values(values))
    assert not is_sealed(store.get(audit))
    with pytest.raises(InvalidDataError, match="is not what was sealed"):
        store.start(audit)
    assert store.get(audit).status == "planned"


def test_an_audit_without_a_plan_is_not_sealed(store: Store) -> None:
    assert not is_sealed(store.get(put(store)))


def test_spaces_in_what_is_stored_do_not_break_the_seal(store: Store) -> None:
    audit = planned(store)
    record = store.get(audit)
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).values(config=json.dumps(json.loads(record.config_text), indent=2)))
    assert is_sealed(store.get(audit))


def test_plans_that_cannot_be_made(store: Store) -> None:
    for by, words, message in (
        ("x" * 201, "", "the planner's name on one line of at most 200"),
        ("Ada\nGrace", "", "the planner's name on one line"),
        ("Ada", "x" * 4001, "Expected at most 4,000 characters of what is expected; got 4,001"),
    ):
        with pytest.raises(InvalidDataError, match=message):
            store.plan(TABLES, ROLES, QUICK, name="Plan", by=by, expectation=words)
    with pytest.raises(InvalidDataError, match="An audit needs a name"):
        store.plan(TABLES, ROLES, QUICK, name=" ", by="Ada")
    with pytest.raises(InvalidConfigError, match="nothing"):
        store.plan(TABLES, ROLES, QUICK.replace(methods=("nothing",)), name="Plan", by="Ada")
    assert store.find() == []
    assert list((store.home / "tables").iterdir()) == []


DAMAGED: list[Any] = [
    *([], "x", {}, {"by": "Ada"}),
    *({"at": "now"}, {"at": float("nan")}, {"by": 5}, {"by": "a\nb"}, {"expectation": "x" * 4001}, {"digest": "x"}),
    {"evil": 1},
]


@pytest.mark.parametrize("damaged", DAMAGED, ids=lambda one: str(one)[:30])
def test_damaged_plans_are_refused(damaged: Any) -> None:
    whole = {"at": 5.0, "by": "Ada", "expectation": "", "digest": "0" * 64}
    assert AuditPlan.from_dict(whole).by == "Ada"
    given = whole | damaged if isinstance(damaged, dict) and damaged.keys() - {"by"} else damaged
    with pytest.raises(InvalidArtifactError, match="The saved plan is damaged"):
        AuditPlan.from_dict(given)


def test_a_plan_stays_with_its_audit(store: Store, result: AuditResult, tmp_path: Path) -> None:
    """Through failing, starting again, the end, and the way to another store and back."""
    audit = planned(store)
    plan = plan_of(store.get(audit))
    store.start(audit)
    claim(store, audit=audit)
    store.stop(audit, "failed", "A sentence.")
    store.requeue(audit)
    claim(store, audit=audit)
    save_audit(result, store.folder(audit))
    store.finish(audit, headline(result))
    assert store.get(audit).plan == plan
    assert is_sealed(store.get(audit))
    export_audit(store, audit, tmp_path / "audit.zip")
    with Store(tmp_path / "elsewhere", f"sqlite:///{tmp_path}/other.sqlite") as elsewhere:
        found = elsewhere.get(import_audit(elsewhere, tmp_path / "audit.zip"))
        assert found.plan == plan
        assert is_sealed(found)
    (one,) = related(store, put(store))
    assert one.planned == plan
    store.delete(audit)
    (one,) = related(store, store.find()[0].id)
    assert (one.id, one.planned) == (audit, plan)
