"""What a team does with a store: sharing, giving away, tokens, the log, limits, and who comes next."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import InvalidArtifactError, InvalidConfigError, InvalidDataError
from cfad_core.data.tables import Tables
from cfad_core.runs import team
from cfad_core.runs.access import OPERATOR, NotAllowedError, Role, Share, Viewer
from cfad_core.runs.allowance import Allowance, LimitReachedError
from cfad_core.runs.lanes import Waiting, in_turn
from cfad_core.runs.log import entry, json_line
from cfad_core.runs.model import AUDITS, METADATA
from cfad_core.runs.store import Store
from cfad_core.runs.team import Person
from cfad_core.runs.team_tables import LOG, PEOPLE, TOKENS
from tests.conftest import make_people
from tests.runs.conftest import QUICK, ROLES, TABLES, claim, finish, put
from tests.runs.test_database import at_revision, differences

ADA, BO, DI = Viewer("ada"), Viewer("bo", frozenset({"audit"})), Viewer("di", role="viewer")
ADMIN = Viewer("root", role="admin")


@pytest.fixture
def here(tmp_path: Path) -> Any:
    """A store in which four people were."""
    with Store(tmp_path / "home", f"sqlite:///{tmp_path}/index.sqlite") as made:
        for viewer in (ADA, BO, DI, ADMIN):
            made.arrive(viewer)
        yield made


# Sharing


def test_sharing_again_changes_what_for(store: Store) -> None:
    ada = store.seen_by(ADA)
    audit = ada.create(TABLES, ROLES, QUICK, name="Mine")
    for may in ("read", "tune"):
        ada.share(audit, Share("person", " Bo", may))
    ada.share(audit, Share("everybody", "", "read"))
    assert ada.shares(audit) == (Share("everybody", "", "read"), Share("person", "bo", "tune"))
    assert store.seen_by(BO).right(audit) == "tune"
    assert store.seen_by(replace(BO, role="viewer")).right(audit) == "read"
    ada.unshare(audit, Share("person", "BO", "read"))
    assert store.seen_by(BO).right(audit) == "read"
    ada.delete(audit)
    assert store.seen_by(BO).find() == []
    with store._engine.connect() as connection:
        assert connection.execute(sa.text("SELECT count(*) FROM shares")).scalar() == 0


def test_giving_away(here: Store) -> None:
    ada, bo = here.seen_by(ADA), here.seen_by(BO)
    audit = ada.create(TABLES, ROLES, QUICK, name="Mine")
    with pytest.raises(InvalidDataError, match="Nobody called 'zoe' has signed in here; they have to do that once"):
        ada.give(audit, "zoe")
    with pytest.raises(InvalidDataError, match="di may not make audits here, so they can own none"):
        ada.give(audit, "di")
    with pytest.raises(InvalidDataError, match="is queued; give it away once it is done"):
        ada.give(audit, "bo")  # into somebody else's turns
    ada.request_cancel(audit)
    ada.give(audit, " BO ")
    assert (here.get(audit).owner, bo.right(audit), ada.find()) == ("bo", "own", [])
    with pytest.raises(InvalidArtifactError, match=f"There is no audit '{audit}'"):
        ada.give(audit, "ada")
    bo.allowance = Allowance(megabytes=1)
    with here._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).values(size=10**6))
        connection.execute(sa.insert(AUDITS).values(_row("more", "ada")))
    full = here.seen_by(ADA)
    full.allowance = bo.allowance
    with pytest.raises(LimitReachedError, match="bo's audits and tables take 1 MB, and this would add"):
        full.give("more", "bo")
    here.seen_by(ADMIN).give("more", "bo")  # who left has a successor
    assert here.get("more").owner == "bo"


def _row(audit: str, owner: str) -> dict[str, Any]:
    row = {"id": audit, "name": "An audit", "owner": owner, "created": 1.0, "status": "done", "schema_version": 7}
    row |= {"data_digest": TABLES.digest, "tables": TABLES.digests, "roles": json.dumps(ROLES.to_dict())}
    return row | {"config": json.dumps(QUICK.to_dict()), "size": 5 * 10**5}


def test_people(here: Store) -> None:
    here.arrive(Viewer("Bo", frozenset({"Audit", "Risk"})))  # in another spelling, with another group
    assert [person.name for person in here.people()] == ["ada", "bo", "di", "root"]
    assert here.people()[1].groups == ("audit", "risk")
    (_, bo, *_) = here.seen_by(ADA).people()
    assert bo == Person("bo", (), "auditor", None)  # when somebody was here, and in which groups, is not for everybody
    assert here.seen_by(DI).people() == []
    ada = here.seen_by(ADA)
    ada.arrive(ADA)
    with pytest.raises(NotAllowedError):
        ada.arrive(replace(ADA, role="admin"))
    with pytest.raises(InvalidDataError, match="A name has 1 to 200 characters; this one has 201"):
        here.arrive(Viewer("x" * 201))


# Tokens


def test_a_token_is_shown_once_and_acts_for_its_owner(here: Store) -> None:
    ada = here.seen_by(ADA)
    token = ada.make_token(" night\n run ", "auditor", 30)
    (kept,) = ada.tokens()
    assert (kept.owner, kept.label, kept.role, kept.used, kept.is_good) == ("ada", "night run", "auditor", None, True)
    with here._engine.connect() as connection:
        everything = str([connection.execute(sa.select(table)).all() for table in METADATA.sorted_tables])
    assert token.rpartition("_")[2] not in everything
    assert here.viewer_of(token, "api", "r1") == Viewer("ada", role="auditor", via="api", request="r1")
    assert here.tokens()[0].used is not None
    wrong = token[:-1] + ("0" if token[-1] != "0" else "1")
    for one in (wrong, f"{token} ", token.upper(), "", "cfad_", f"{token}\n"):
        assert here.viewer_of(one) is None
    assert here.seen_by(BO).tokens() == []
    with pytest.raises(InvalidArtifactError, match=f"There is no token '{kept.id}'"):
        here.seen_by(BO).revoke(kept.id)
    assert here.viewer_of(token) is not None
    ada.revoke(kept.id)
    first = ada.tokens()[0].revoked
    ada.revoke(kept.id)
    assert ada.tokens()[0].revoked == first  # when it was
    assert here.viewer_of(token) is None


def test_tokens_expire(here: Store) -> None:
    token = here.seen_by(ADA).make_token("short", "viewer", 1)
    with here._engine.begin() as connection:
        connection.execute(sa.update(TOKENS).values(expires=1.0))
    assert here.viewer_of(token) is None


@pytest.mark.parametrize(
    ("label", "days"), [(" \n", 5), ("\u200b", 5), ("x", 0), ("x", -1), ("x", 367), ("x", float("nan")), ("x", True)]
)
def test_tokens_that_cannot_be_made(here: Store, label: str, days: Any) -> None:
    with pytest.raises(InvalidDataError, match="A token needs a label, and lasts for 1 to 366 whole days"):
        here.seen_by(ADA).make_token(label, "viewer", days)


def test_a_token_does_no_more_than_its_owner_may_now(here: Store) -> None:
    ada = here.seen_by(ADA)
    for role in ("admin", "king"):
        with pytest.raises(NotAllowedError, match=f"A token does no more than its owner may, who is auditor; '{role}'"):
            ada.make_token("x", role, 5)  # type: ignore[arg-type]
    token = here.seen_by(ADMIN).make_token("x", "admin", 5)
    assert here.viewer_of(token) == replace(ADMIN, via="api")
    here.settle_roles(lambda name, _: "viewer" if name == "root" else "auditor")
    assert here.viewer_of(token) == replace(ADMIN, role="viewer", via="api")
    here.settle_roles(lambda *_: None)  # they may not come any more
    assert here.viewer_of(token) is None
    assert ada.people() == []
    assert [person.role for person in here.people()] == [None] * 4
    with pytest.raises(InvalidDataError, match="root may not make audits here"):
        here.give(put(here), "root")
    here.arrive(ADMIN)
    assert here.viewer_of(token) is not None
    with here._engine.begin() as connection:
        connection.execute(sa.delete(PEOPLE))
    assert here.viewer_of(token) is None


def test_a_stolen_token_makes_no_other(here: Store) -> None:
    token = here.seen_by(ADA).make_token("x", "auditor", 1)
    by_token = here.viewer_of(token)
    assert by_token is not None
    for viewer in (by_token, replace(by_token, via="command")):
        with pytest.raises(NotAllowedError, match="A token makes no tokens; sign in"):
            here.seen_by(viewer).make_token("for ever", "auditor", 366)
    assert len(here.tokens()) == 1
    roles: tuple[Role, ...] = ("auditor", "admin")
    for role in roles:  # where nobody signs in
        with pytest.raises(NotAllowedError, match="A token makes no tokens"):
            here.seen_by(Viewer("", role=role, via="api")).make_token("for ever", "viewer", 366)


def test_the_program_makes_tokens_for_people(here: Store) -> None:
    assert here.viewer_of(here.make_token("x", "viewer", 5, owner="ADA")) == replace(ADA, role="viewer", via="api")
    assert here.seen_by(ADA).tokens()[0].owner == "ada"
    with pytest.raises(InvalidDataError, match="Nobody called 'zoe' has signed in here"):
        here.make_token("x", "viewer", 5, owner="zoe")
    with pytest.raises(NotAllowedError):
        here.seen_by(ADMIN).make_token("x", "viewer", 5, owner="ada")
    of_nobody = here.make_token("x", "auditor", 5)  # where nobody signs in
    assert here.viewer_of(of_nobody) is None
    assert here.viewer_of(of_nobody, is_team=False) == Viewer("", role="auditor", via="api")


def test_nobody_has_too_many_tokens(here: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(team, "MOST_TOKENS", 2)
    for viewer in (ADA, ADA, BO):
        here.seen_by(viewer).make_token("x", "viewer", 1)
    with pytest.raises(InvalidDataError, match="There are 2 tokens already"):
        here.seen_by(ADA).make_token("x", "viewer", 1)
    here.seen_by(ADA).revoke(here.seen_by(ADA).tokens()[0].id)
    here.seen_by(ADA).make_token("x", "viewer", 1)


# The log


def test_the_log_only_grows(store: Store) -> None:
    put(store)
    with store._engine.connect() as connection:
        before = connection.execute(sa.select(LOG)).all()
    number = before[0].id
    replaced = sa.insert(LOG).values(entry(OPERATOR, "opened", None) | {"id": number})
    for change in (sa.update(LOG).values(who="nobody"), sa.delete(LOG), replaced, replaced.prefix_with("OR REPLACE")):
        if change.is_insert and store._engine.dialect.name == "postgresql":
            continue  # a number is there once
        with pytest.raises(sa.exc.DBAPIError, match="the log only grows"), store._engine.begin() as connection:
            connection.execute(change)
    if store._engine.dialect.name == "postgresql":
        with pytest.raises(sa.exc.DBAPIError, match="the log only grows"), store._engine.begin() as connection:
            connection.execute(sa.text("TRUNCATE log"))
    with store._engine.connect() as connection:
        assert connection.execute(sa.select(LOG)).all() == before


def test_what_was_done_is_in_the_log(here: Store) -> None:
    ada = here.seen_by(replace(ADA, request="r7"))
    audit = ada.create(TABLES, ROLES, QUICK, name="Mine")
    ada.share(audit, Share("group", "Audit", "read"))
    here.seen_by(BO).note("opened", audit)
    ada.rename(audit, "Ours")
    ada.request_cancel(audit)
    ada.give(audit, "bo")
    done = [(one.who, one.deed, one.about) for one in here.log(audit=audit)]
    assert done == [
        ("ada", "given away", "to bo"),
        ("ada", "cancelled", ""),
        ("ada", "changed", "name"),
        ("bo", "opened", ""),
        ("ada", "shared", "group audit, to read"),
        ("ada", "made", "Mine"),
    ]
    assert [one.deed for one in here.seen_by(BO).log(audit=audit, who="BO")] == ["opened"]
    with pytest.raises(InvalidArtifactError, match="There is no audit"):
        ada.log(audit=audit)
    with pytest.raises(NotAllowedError, match="Only administrators read the whole log"):
        here.seen_by(BO).log()
    assert next(here.seen_by(ADMIN).log(who="ada")).request == "r7"
    assert [one.deed for one in here.log(limit=1)] == ["given away"]


def test_nothing_is_smuggled_into_the_log(here: Store) -> None:
    viewer = replace(ADA, request="r\n1" + "x" * 100)
    here.seen_by(viewer).create(TABLES, ROLES, QUICK, name="A\u2028\x1b[2J\u202eB\n{}")
    here.seen_by(viewer).make_token("l\u2029\u0085\nx", "viewer", 1)
    for one in here.log(who="ada"):
        line = json_line(one)
        assert len(line.splitlines()) == 1
        assert line.isprintable()
        assert json.loads(line)["about"] == one.about
        assert len(one.request) <= 64
    with pytest.raises(InvalidDataError, match="The log knows no 'burnt'"):
        here.note("burnt", put(here))  # type: ignore[arg-type]


# Limits


def test_limits_are_whole_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CFAD_MOST_RUNNING", "3")
    monkeypatch.setenv("CFAD_MOST_MEGABYTES", "")
    assert Allowance.from_environment() == Allowance(running=3)
    for text in ("0", "-1", "1.5", "many", "\u00b2"):
        monkeypatch.setenv("CFAD_MOST_ROWS", text)
        with pytest.raises(InvalidConfigError, match="CFAD_MOST_ROWS is a whole number above 0"):
            Allowance.from_environment()


def limited(store: Store, viewer: Viewer, **limits: int) -> Store:
    seen = store.seen_by(viewer)
    seen.allowance = Allowance(**limits)
    return seen


def test_how_many_may_wait(here: Store) -> None:
    ada = limited(here, ADA, queued=2)
    first, second = (ada.create(TABLES, ROLES, QUICK, name="Mine") for _ in range(2))
    with pytest.raises(LimitReachedError, match="You have 2 audits in the queue, which is as many as one person may"):
        ada.create(TABLES, ROLES, QUICK, name="Mine")
    assert len(here.find()) == 2
    planned = ada.plan(TABLES, ROLES, QUICK, name="Later", by="ada")  # does not wait
    with pytest.raises(LimitReachedError):
        ada.start(planned)
    assert here.get(planned).status == "planned"
    ada.request_cancel(first)
    ada.start(planned)
    with pytest.raises(LimitReachedError):
        ada.requeue(first)
    assert here.get(first).status == "cancelled"
    with pytest.raises(LimitReachedError, match="ada has 2 audits in the queue"):
        limited(here, ADMIN, queued=2).requeue(first)  # it would be ada's
    limited(here, BO, queued=1).create(TABLES, ROLES, QUICK, name="Another's")
    here.requeue(first)  # the program itself has no limits
    assert here.get(second).status == "queued"


def test_limits_hold_for_those_who_are_quick(store: Store) -> None:
    store.arrive(ADA)
    ada = limited(store, ADA, queued=2)
    audits = [ada.plan(TABLES, ROLES, QUICK, name="Mine", by="ada") for _ in range(6)]

    def start(audit: str) -> bool:
        try:
            ada.start(audit)
        except LimitReachedError:
            return False
        return True

    with ThreadPoolExecutor(6) as crew:
        started = list(crew.map(start, audits))
    assert sum(started) == len(store.find(status="queued")) == 2


def test_how_much_may_be_kept(here: Store, result: AuditResult) -> None:
    ada = limited(here, ADA, megabytes=1)
    audit = finish(here, result)
    here.give(audit, "ada")
    size = ada.bytes_of("ada")
    assert size == (here.get(audit).size or 0) + here.table_path(TABLES.digest).stat().st_size
    with here._engine.begin() as connection:
        room = 10**6 - here.table_path(TABLES.digest).stat().st_size
        connection.execute(sa.update(AUDITS).values(size=room))
    ada.create(TABLES, ROLES, QUICK, name="The same table")  # is kept once
    large = Tables.of(make_people(400, seed=9))
    for keep in (partial(ada.create, large, ROLES, QUICK, name="More"), partial(ada.keep_draft, large, {})):
        with pytest.raises(LimitReachedError, match="Your audits and tables take 1 MB, and this would add 0 MB"):
            keep()
    assert not here.table_path(large.digest).exists()
    here.seen_by(BO).keep_draft(large, {})
    assert here.seen_by(BO).bytes_of("BO") == here.table_path(large.digest).stat().st_size
    with pytest.raises(LimitReachedError):  # also if another person has it already
        ada.create(large, ROLES, QUICK, name="More")
    with pytest.raises(NotAllowedError):
        ada.bytes_of("bo")


def test_how_many_rows(here: Store) -> None:
    short = Tables.of(make_people(40, seed=3))
    ada = limited(here, ADA, rows=100)
    ada.create(short, ROLES, QUICK, name="Mine")
    for tables in (TABLES, Tables.of(short.table, TABLES.table)):
        with pytest.raises(InvalidDataError, match="has 300 rows; on this server one person may audit 100 at most"):
            ada.create(tables, ROLES, QUICK, name="Long")


def test_how_many_run_at_once_and_who_is_next(here: Store) -> None:
    here.allowance = Allowance(running=2)
    fifty = [here.seen_by(ADA).create(TABLES, ROLES, QUICK, name=str(k)) for k in range(4)]
    other = here.seen_by(BO).create(TABLES, ROLES, QUICK, name="One")
    nobodys = put(here)  # of the program itself, which has no limits
    taken = [claim(here).id for _ in range(4)]
    assert set(taken[:3]) == {fifty[0], other, nobodys}  # nobody waits behind another person's audits
    assert taken[3] == fifty[1]
    assert here.claim("me") is None  # two of ada's run
    here.finish(fifty[0], {})
    assert claim(here).id == fifty[2]


def test_nobody_waits_behind_fifty() -> None:
    crowd = [Waiting(f"a{k:02}", float(k), 1.0, True, "ada") for k in range(50)]
    late = [Waiting("b", 1_000.0, 5_000.0, False, "bo"), Waiting("c", 2_000.0, 1.0, True, "cy")]
    order = [one.id for one in in_turn([*crowd, *late], {})]
    assert order[:4] == ["a00", "c", "b", "a01"]
    busy = [one.id for one in in_turn([*crowd, *late], {"ada": 2, "bo": 1})]
    assert busy[:3] == ["c", "b", "a00"]
    assert [one.id for one in in_turn([replace(one, owner="") for one in [*crowd, *late]], {})][-1] == "b"


# The migration


def test_a_store_of_one_person_becomes_a_teams(url: str, tmp_path: Path) -> None:
    engine = at_revision(url, "0003")
    older = sa.MetaData()
    older.reflect(engine)
    draft, trace = older.tables["drafts"], older.tables["deleted_audits"]
    row = {name: value for name, value in _row("old", "Ada").items() if name != "size"}
    row |= dict.fromkeys(("note", "source", "stage", "error", "details"), "")
    row |= {"progress": 1.0, "cancel_requested": False}
    gone = {"id": "gone", "name": "Gone", "created": 1.0, "deleted": 2.0, "status": "done"}
    gone |= {"columns": [], "verdicts": {}}
    gone |= {name: row[name] for name in ("data_digest", "tables", "roles", "config")}
    with engine.begin() as connection:
        connection.execute(sa.insert(older.tables["audits"]).values(row))
        connection.execute(sa.insert(draft).values(id="d" * 32, changed=4e9, tables={}, content={}))
        connection.execute(sa.insert(trace).values(gone))
    engine.dispose()
    with Store(tmp_path / "home", url) as store:
        assert differences(store._engine, METADATA) == []
        assert [(one.id, one.size, one.expected) for one in store.find()] == [("old", None, None)]
        assert [one.owner for one in store.deleted()] == [""]
        store.arrive(ADA)
        assert [(store.seen_by(one).find() == [], store.seen_by(one).deleted()) for one in (ADA, BO)] == [
            *((False, []), (True, []))
        ]
        store.seen_by(ADA).share("old", Share("everybody", "", "read"))
        assert store.seen_by(DI).get("old").name == "An audit"
        assert [one.deed for one in store.log()] == ["shared", "signed in"]
