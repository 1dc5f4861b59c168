"""Who may do what: the same answer in the database and in Python, and from every method of the store."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import pytest
import sqlalchemy as sa
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import Statements
from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError
from cfad_core.data.tables import Tables
from cfad_core.runs.access import (
    OPERATOR,
    NotAllowedError,
    Role,
    Share,
    Viewer,
    covers,
    folded,
    right_of,
    visible_to,
)
from cfad_core.runs.archive import export_audit, import_audit
from cfad_core.runs.model import AUDITS, METADATA, ChosenThreshold, Report, Status
from cfad_core.runs.related import related
from cfad_core.runs.store import Store
from cfad_core.runs.team_tables import SHARES
from tests.conftest import make_people
from tests.runs.conftest import QUICK, ROLES, TABLES, finish, put

# The rules, in the database and in Python

SPELLINGS = ("ada", "Ada", " ADA ", "bo", "Bo", "staff", "Staff", "cafe\u0301", "Caf\u00e9", "a,b", "group:staff")
NAMES = st.sampled_from(SPELLINGS)
SOME_ROLES = st.sampled_from(["viewer", "auditor", "admin"])
VIEWERS = st.builds(
    Viewer,
    st.one_of(st.just(""), NAMES),
    st.frozensets(NAMES, max_size=3),
    st.sampled_from(["viewer", "auditor", "admin"]),
)
SHARING = st.sampled_from(["read", "tune"])
SHARED = st.lists(
    st.one_of(
        st.builds(Share, st.sampled_from(["person", "group"]), NAMES, SHARING),
        st.builds(Share, st.just("everybody"), st.just(""), SHARING),
    ),
    max_size=4,
    unique_by=lambda one: (one.audience, one.name),
)


def row_of(audit: str, owner: str = "", status: Status = "queued", **more: Any) -> dict[str, Any]:
    """A row of the index that is enough for what does not run."""
    row = {"id": audit, "name": "An audit", "owner": owner, "created": time.time(), "status": status}
    row |= {"data_digest": TABLES.digest, "tables": TABLES.digests, "roles": json.dumps(ROLES.to_dict())}
    return row | {"config": json.dumps(QUICK.to_dict()), "schema_version": 7, **more}


@pytest.fixture(scope="module")
def engine() -> Iterator[sa.Engine]:
    made = sa.create_engine("sqlite://")
    METADATA.create_all(made)
    yield made
    made.dispose()


@settings(max_examples=150, deadline=None)
@given(viewer=VIEWERS, owner=st.one_of(st.just(""), NAMES.map(folded)), shares=SHARED)
def test_the_database_and_python_agree(engine: sa.Engine, viewer: Viewer, owner: str, shares: list[Share]) -> None:
    with engine.connect() as connection:
        connection.execute(sa.insert(AUDITS).values(row_of("one", owner)))
        for share in shares:
            given_to = {"audience": share.audience, "name": share.name, "may": share.may}
            connection.execute(sa.insert(SHARES).values({"audit": "one", **given_to}))
        seen = connection.execute(sa.select(AUDITS.c.id).where(visible_to(viewer))).first() is not None
        connection.rollback()
    assert seen == covers(right_of(viewer, owner, shares), "read")


@settings(max_examples=100, deadline=None)
@given(viewer=VIEWERS, owner=NAMES.map(folded), shares=SHARED)
def test_less_of_a_role_or_of_shares_is_never_more_of_a_right(viewer: Viewer, owner: str, shares: list[Share]) -> None:
    held = right_of(viewer, owner, shares)
    roles: tuple[Role, ...] = ("viewer", "auditor")
    for less in (right_of(viewer.limited_to(role), owner, shares) for role in roles):
        assert less is None or covers(held, less)
    fewer = right_of(viewer, owner, shares[1:])
    assert fewer is None or covers(held, fewer)


@settings(max_examples=50, deadline=None)
@given(st.text(max_size=20))
def test_a_name_has_one_spelling(name: str) -> None:
    assert folded(folded(name)) == folded(name) == folded(f"  {name} ")


def test_nobody_is_the_operator_by_a_blank_name() -> None:
    with pytest.raises(InvalidDataError, match="at least one character"):
        Viewer("  ", role="viewer")
    assert not Viewer("ada", role="admin").is_operator
    assert not Viewer("", role="auditor").is_operator


@pytest.mark.parametrize(
    ("audience", "name", "may"),
    [
        ("person", " ", "read"),
        ("person", "a\u202eb", "read"),
        ("group", "x" * 201, "read"),
        ("everybody", "ada", "read"),
        ("planet", "mars", "read"),
        ("person", "ada", "own"),
    ],
)
def test_shares_that_cannot_be_meant(audience: Any, name: str, may: Any) -> None:
    with pytest.raises(InvalidDataError, match="shared with a person or a group by name, or with everybody"):
        Share(audience, name, may)


# Every method of the store, as everybody

STRANGER, OWNER = Viewer("mallory", frozenset({"sales"})), Viewer("ada")
READER, TUNER = Viewer("bo", frozenset({"Audit, EU"})), Viewer("cy", role="auditor")
VIEWER, ADMIN = Viewer("di", role="viewer"), Viewer("root", role="admin")
EVERYBODY = {
    **{"stranger": STRANGER, "reader": READER, "tuner": TUNER, "viewer": VIEWER},
    **{"owner": OWNER, "admin": ADMIN, "operator": OPERATOR},
}
Needs = Literal["read", "tune", "own", "maker", "admin", "operator", "nothing"]
MAY: dict[Needs, set[str]] = {
    "nothing": set(EVERYBODY),
    "read": set(EVERYBODY) - {"stranger"},
    "tune": {"tuner", "owner", "admin", "operator"},
    "own": {"owner", "admin", "operator"},
    "maker": set(EVERYBODY) - {"viewer"},
    "admin": {"admin", "operator"},
    "operator": {"operator"},
}
GROUP = Share("group", "audit, eu", "read")
OTHER = Tables.of(make_people(40, seed=7))
BATCH: Any = SimpleNamespace()
FORM: Any = SimpleNamespace(read=lambda *_: None)
FILES = {"report.json": b"{}"}

# By method: what it needs, the status of an audit that it can be done with, and how it is called
WALK: dict[str, tuple[Needs, Status, Callable[[Store, str], Any]]] = {
    "get": ("read", "done", lambda store, audit: store.get(audit)),
    "right": ("read", "done", lambda store, audit: store.right(audit)),
    "note": ("read", "done", lambda store, audit: store.note("opened", audit)),
    "folder": ("read", "done", lambda store, audit: store.get(audit) and store.folder(audit)),
    "reports": ("read", "done", lambda store, audit: store.get(audit) and store.reports(audit)),
    "finished_folder": ("read", "done", lambda store, audit: store.finished_folder(audit)),
    "request": ("read", "done", lambda store, audit: store.request(audit)),
    "has_questions": ("read", "done", lambda store, audit: store.get(audit) and store.has_questions(audit)),
    "questions": ("read", "waiting", lambda store, audit: store.questions(audit)),
    "signatures": ("read", "done", lambda store, audit: store.signatures(audit)),
    "result": ("read", "done", lambda store, audit: store.result(audit)),
    "answer": ("tune", "waiting", lambda store, audit: store.answer(audit, TABLES.table, FORM)),
    "annotate": ("tune", "done", lambda store, audit: store.annotate(audit, "x")),
    "choose_threshold": (
        *("tune", "done"),
        lambda store, audit: store.choose_threshold(audit, ChosenThreshold("ae", "score", 1.0)),
    ),
    "state": ("tune", "done", lambda store, audit: store.state(audit, Statements())),
    "sign": ("tune", "done", lambda store, audit: store.sign(audit, lambda *_: FILES, "Ada")),
    "keep_batch": ("tune", "done", lambda store, audit: store.keep_batch(audit, BATCH)),
    "rename": ("own", "done", lambda store, audit: store.rename(audit, "x")),
    "delete": ("own", "done", lambda store, audit: store.delete(audit)),
    "request_cancel": ("own", "queued", lambda store, audit: store.request_cancel(audit)),
    "requeue": ("own", "failed", lambda store, audit: store.requeue(audit)),
    "start": ("own", "planned", lambda store, audit: store.start(audit)),
    "shares": ("own", "done", lambda store, audit: store.shares(audit)),
    "share": ("own", "done", lambda store, audit: store.share(audit, GROUP)),
    "unshare": ("own", "done", lambda store, audit: store.unshare(audit, GROUP)),
    "give": ("own", "done", lambda store, audit: store.give(audit, "CY")),
    "create": ("maker", "done", lambda store, _: store.create(TABLES, ROLES, QUICK, name="Mine")),
    "plan": ("maker", "done", lambda store, _: store.plan(TABLES, ROLES, QUICK, name="Mine", by="me")),
    "adopt": ("maker", "done", lambda store, _: adopted(store)),
    "keep_draft": ("maker", "done", lambda store, _: store.keep_draft(TABLES, {})),
    "need_room": ("maker", "done", lambda store, _: store.need_room(1)),
    "table": ("read", "done", lambda store, _: store.table(OTHER.digest)),
    "table_path": ("read", "done", lambda store, _: store.table_path(OTHER.digest)),
    "need_operator": ("operator", "done", lambda store, _: store.need_operator()),
    "take_snapshot": (
        *("operator", "done"),
        lambda store, _: store.take_snapshot(store.home / f"snapshot-{time.monotonic_ns()}"),
    ),
    "need_empty": ("operator", "done", lambda store, _: refused_as_full(store.need_empty)),
    "put_snapshot": ("operator", "done", lambda store, _: refused_as_full(lambda: store.put_snapshot(store.home))),
    "goes_at": ("nothing", "done", lambda store, _: [store.goes_at(one) for one in store.find()]),
    "tidy": ("operator", "done", lambda store, _: store.tidy()),
    "find": ("nothing", "done", lambda store, _: store.find()),
    "deleted": ("nothing", "done", lambda store, _: store.deleted()),
    "ratios": ("nothing", "done", lambda store, _: store.ratios(5)),
    "kept_draft": ("nothing", "done", lambda store, _: store.kept_draft("0" * 32)),
    "drop_draft": ("nothing", "done", lambda store, _: store.drop_draft("0" * 32)),
    "people": ("nothing", "done", lambda store, _: store.people()),
    "tokens": ("nothing", "done", lambda store, _: store.tokens()),
    "revoke": ("nothing", "done", lambda store, _: store.revoke(token_of(store))),
    "make_token": ("nothing", "done", lambda store, _: store.make_token("mine", "viewer", 1)),
    "bytes_of": ("admin", "done", lambda store, _: store.bytes_of("somebody else")),
    "log": ("admin", "done", lambda store, _: list(store.log())),
    "arrive": ("operator", "done", lambda store, _: store.arrive(Viewer("somebody else", role="admin"))),
    "settle_roles": ("operator", "done", lambda store, _: store.settle_roles(lambda *_: "auditor")),
    "viewer_of": ("operator", "done", lambda store, _: store.viewer_of("cfad_x")),
    "claim": ("operator", "queued", lambda store, audit: store.claim("me", audit)),
    "take_over": ("operator", "running", lambda store, audit: store.take_over(audit, "me", "you")),
    "report": ("operator", "running", lambda store, audit: store.report(audit, Report("x", 1, 2), 0.5)),
    "beat": ("operator", "running", lambda store, audit: store.beat(audit)),
    "finish": ("operator", "running", lambda store, audit: store.finish(audit, {})),
    "wait": ("operator", "running", lambda store, audit: store.wait(audit)),
    "stop": ("operator", "running", lambda store, audit: store.stop(audit, "failed")),
    "clear_staged": ("operator", "running", lambda store, audit: store.clear_staged(audit)),
    "recover": ("operator", "done", lambda store, _: store.recover(lambda _: True)),
    "health": ("operator", "done", lambda store, _: store.health()),
    "counts": ("operator", "done", lambda store, _: store.counts()),
}
ASIDE = {"close", "seen_by"}  # for the program that has the store in its hands


def refused_as_full(act: Callable[[], None]) -> None:
    """It is done, if the store were empty."""
    with pytest.raises(InvalidDataError, match="has something in it"):
        act()


def token_of(store: Store) -> str:
    store.make_token("to be revoked", "viewer", 1)
    return store.tokens()[0].id


def adopted(store: Store) -> str:
    folder = store.home / f"coming-{time.monotonic_ns()}"
    folder.mkdir()
    try:
        return store.adopt(row_of("x"), {}, folder, TABLES)
    finally:
        if folder.is_dir():
            folder.rmdir()


@pytest.fixture(scope="module")
def team(tmp_path_factory: pytest.TempPathFactory, result: AuditResult) -> Iterator[Store]:
    """A store in which everybody was, with an audit that has the other table."""
    with Store(tmp_path_factory.mktemp("team")) as made:
        made.allowance = type(made.allowance)(queued=10_000)
        for viewer in EVERYBODY.values():
            if viewer.name:
                made.arrive(viewer)
        finish(made, result)
        yield made


def shared(store: Store, status: Status, name: str) -> str:
    """An audit of its own for every walk, shared with those who are to see it."""
    audit = f"walk{time.monotonic_ns()}"
    with store._engine.begin() as connection:
        connection.execute(sa.insert(AUDITS).values(row_of(audit, OWNER.name, status, tables=OTHER.digests, name=name)))
        for share in (GROUP, Share("person", " CY", "tune"), Share("person", "di", "tune")):
            values = {"audience": share.audience, "name": share.name, "may": share.may}
            connection.execute(sa.insert(SHARES).values({"audit": audit, **values}))
    store.folder(audit).mkdir()
    return audit


def test_every_public_method_is_walked() -> None:
    public = {name for name in dir(Store) if not name.startswith("_") and callable(getattr(Store, name))}
    assert public - ASIDE == set(WALK)


@pytest.mark.parametrize("method", WALK)
def test_what_everybody_may(team: Store, method: str, monkeypatch: pytest.MonkeyPatch) -> None:
    needs, status, act = WALK[method]
    OTHER.save("table", team.home / "tables" / f"{OTHER.digest}.parquet")
    for name in ("is_pending", "is_sealed", "load_questions", "save_answers", "load_audit", "append_batch"):
        for module in ("store", "queue"):
            fake = f"cfad_core.runs.{module}.{name}"
            monkeypatch.setattr(fake, lambda *_, **__: SimpleNamespace(name="x"), raising=False)
    for who, viewer in EVERYBODY.items():
        audit, store = shared(team, status, method), team.seen_by(viewer)
        if who in MAY[needs]:
            act(store, audit)
        elif who == "stranger" and needs in ("read", "tune", "own"):
            with pytest.raises(InvalidArtifactError) as refused:
                act(store, audit)
            if method not in ("table", "table_path"):
                with pytest.raises(InvalidArtifactError) as unknown:
                    act(store, "nothing")
                assert str(refused.value).replace(audit, "ID") == str(unknown.value).replace("nothing", "ID")
        else:
            with pytest.raises(NotAllowedError):
                act(store, audit)
        with team._engine.begin() as connection:
            connection.execute(sa.delete(AUDITS).where(AUDITS.c.id == audit))


def test_what_is_read_of_an_audit_that_is_not_there(team: Store) -> None:
    """Also without a look at its record before."""
    seen = team.seen_by(STRANGER)
    for audit in (shared(team, "done", "hidden"), "nothing", "../../etc", "x\0y", "\ud800", "x" * 5_000):
        for act in (seen.folder, seen.reports, seen.has_questions):
            with pytest.raises(InvalidArtifactError, match="There is no audit '") as refused:
                act(audit)
            assert len(str(refused.value)) < 100


# What strangers may find out in other ways


def test_tables_are_read_by_those_who_see_an_audit_with_them(store: Store) -> None:
    audit = put(store, owner="ada")
    owner, stranger = store.seen_by(OWNER), store.seen_by(STRANGER)
    assert owner.table_path(TABLES.digest).is_file()
    for look in (stranger.table_path, stranger.table):
        with pytest.raises(InvalidArtifactError, match=f"There is no table '{TABLES.digest}'"):
            look(TABLES.digest)
    owner.share(audit, Share("everybody", "", "read"))
    assert len(stranger.table(TABLES.digest)) == len(TABLES.table)
    owner.unshare(audit, Share("everybody", "", "read"))
    with pytest.raises(InvalidArtifactError, match="There is no table"):
        stranger.table(TABLES.digest)
    mine = stranger.create(TABLES, ROLES, QUICK, name="Mine")  # who has the table has it
    assert len(stranger.table(TABLES.digest)) == len(TABLES.table)
    owner.delete(audit)
    assert stranger.table_path(TABLES.digest).is_file()  # it is needed there
    stranger.delete(mine)
    assert not store.table_path(TABLES.digest).exists()


def test_drafts_are_of_who_made_them(store: Store) -> None:
    owner, stranger, admin = store.seen_by(OWNER), store.seen_by(STRANGER), store.seen_by(ADMIN)
    draft = owner.keep_draft(TABLES, {"source": "people.csv"})
    assert draft is not None
    for other in (stranger, admin):
        assert other.kept_draft(draft) is None
        other.drop_draft(draft)
        assert other.keep_draft(TABLES, {"source": "evil.csv"}, draft) != draft
    kept = owner.kept_draft(draft)
    assert kept is not None
    assert kept.content == {"source": "people.csv"}
    with pytest.raises(NotAllowedError):
        store.seen_by(VIEWER).keep_draft(TABLES, {})


def test_traces_and_related_audits_are_of_those_who_saw_them(team: Store, result: AuditResult) -> None:
    gone, there = finish(team, result, "Gone"), finish(team, result, "There")
    for audit in (gone, there):
        team.give(audit, "ada")
    owner, stranger, admin = team.seen_by(OWNER), team.seen_by(STRANGER), team.seen_by(ADMIN)
    mine = stranger.create(TABLES, ROLES, QUICK, name="Mine")
    owner.delete(gone)
    assert gone in {trace.id for trace in owner.deleted()}
    assert stranger.deleted() == []
    assert {gone, there} <= {one.id for one in related(admin, mine)}
    assert not {gone, there} & {one.id for one in related(stranger, mine)}
    assert {gone} < {one.id for one in related(owner, there)}
    with pytest.raises(InvalidArtifactError, match=f"There is no audit '{there}'"):
        related(stranger, there)
    with pytest.raises(InvalidArtifactError, match=f"There is no audit '{there}'"):
        stranger.create(TABLES, ROLES, QUICK, name="A copy", parent=there)


def test_archives_go_out_and_come_in_by_the_same_rules(team: Store, result: AuditResult, tmp_path: Path) -> None:
    audit = finish(team, result)
    team.give(audit, "ada")
    with pytest.raises(InvalidArtifactError, match=f"There is no audit '{audit}'"):
        export_audit(team.seen_by(STRANGER), audit, tmp_path / "a.zip")
    export_audit(team.seen_by(OWNER), audit, tmp_path / "a.zip")
    with pytest.raises(NotAllowedError):
        import_audit(team.seen_by(VIEWER), tmp_path / "a.zip")
    taken = import_audit(team.seen_by(STRANGER), tmp_path / "a.zip")
    assert team.get(taken).owner == "mallory"  # whatever the archive says
    full = team.seen_by(STRANGER)
    full.allowance = type(full.allowance)(megabytes=1)
    with team._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == taken).values(size=999_999))
    with pytest.raises(CfadError, match="one person may keep 1 MB"):
        import_audit(full, tmp_path / "a.zip")
    assert not list(team.home.glob(".import-*"))


def test_lists_hold_what_somebody_sees(store: Store) -> None:
    for owner in ("ada", "bo", "cy"):
        put(store, f"Of {owner}", owner=owner)
    bo = store.seen_by(READER)
    assert [record.name for record in bo.find()] == ["Of bo"]
    assert bo.find(owner="ada") == bo.find(text="Of ada") == []
    assert len(store.seen_by(ADMIN).find()) == 3
    (others,) = store.find(owner=" ADA ")
    store.seen_by(OWNER).share(others.id, Share("group", "AUDIT, eu", "read"))
    assert {record.name for record in bo.find()} == {"Of bo", "Of ada"}


def test_a_right_that_is_taken_away_meanwhile_is_gone(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Between the look whether somebody may, and the change."""
    audit = put(store, owner="ada")
    owner, tuner = store.seen_by(OWNER), store.seen_by(TUNER)
    store.stop(store.claim("me", audit).id, "failed")  # type: ignore[union-attr]
    owner.share(audit, Share("person", "cy", "tune"))
    for name in ("is_pending", "load_questions", "save_answers"):
        monkeypatch.setattr(f"cfad_core.runs.store.{name}", lambda *_: SimpleNamespace(name="x"))
    form: Any = SimpleNamespace(read=lambda *_: owner.unshare(audit, Share("person", "cy", "tune")))
    with pytest.raises(InvalidArtifactError, match=f"There is no audit '{audit}'"):
        tuner.answer(audit, TABLES.table, form)
    assert store.get(audit).status == "failed"


def test_texts_that_no_database_keeps(store: Store) -> None:
    """PostgreSQL refuses NUL, and neither database keeps half a character."""
    audit, strange = put(store, owner="ada"), "a\0b\ud800c"
    owner = store.seen_by(OWNER)
    owner.annotate(audit, strange)
    assert owner.get(audit).note == "a\ufffdb\ufffdc"
    assert owner.find(text="B\ud800c") == owner.find()
    assert not owner.find(owner=strange)
    assert not list(store.log(who=strange))
    with pytest.raises(InvalidDataError, match="Nobody called 'a b c' has signed in here"):
        owner.give(audit, strange)
    with pytest.raises(InvalidArtifactError, match="There is no token 'a b c'"):
        owner.revoke(strange)
    store.claim("me", audit)
    store.stop(audit, "failed", strange, strange)
    assert store.get(audit).status == "failed"
