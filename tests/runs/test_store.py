"""The store on SQLite and, where a server is installed, on PostgreSQL."""

from __future__ import annotations

import dataclasses
import json
import multiprocessing
import time
import uuid
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa

from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import digest, load_parquet, save_parquet, storable
from cfad_core.runs import database
from cfad_core.runs.archive import export_audit, import_audit
from cfad_core.runs.store import Store, headline, home_folder
from tests.conftest import make_people
from tests.runs import postgres

ROLES = ColumnRoles("group", label="fraud", anomaly="yes")
QUICK = AuditConfig(detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64))
TABLE = make_people(300, seed=0)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    folder = postgres.binaries()
    if folder is None:
        pytest.skip(postgres.MISSING)
    with postgres.server(folder) as url:
        yield url


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    url = None
    if request.param == "postgresql":
        server = request.getfixturevalue("postgres_url")
        name = f"t{uuid.uuid4().hex}"
        engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
        with engine.connect() as connection:
            connection.execute(sa.text(f"CREATE DATABASE {name}"))
        engine.dispose()
        url = str(sa.make_url(server).set(database=name).render_as_string(hide_password=False))
    with Store(tmp_path / "home", url) as made:
        yield made


@pytest.fixture(scope="module")
def result() -> AuditResult:
    return run_audit(TABLE, ROLES, QUICK)


def put(store: Store, name: str = "An audit", **more: object) -> str:
    return store.create(TABLE, ROLES, QUICK, name=name, **more)


def finish(store: Store, result: AuditResult, name: str = "An audit") -> str:
    audit = put(store, name)
    assert store.claim("me", audit) is not None
    result.save(store.folder(audit))
    store.finish(audit, headline(result))
    return audit


def test_what_is_put_in_comes_out(store: Store) -> None:
    audit = put(store, "  First \n one ", owner="ada", source="people.csv")
    record = store.get(audit)
    assert (record.name, record.owner, record.source, record.status) == ("First one", "ada", "people.csv", "queued")
    assert record.roles == ROLES
    assert record.config == QUICK
    assert record.metrics is None
    assert abs(record.created - time.time()) < 60
    given = store.inputs(audit)
    pd.testing.assert_frame_equal(given.table, storable(TABLE))
    assert given.test is None
    assert record.data_digest == digest(given.table)


def test_the_same_table_is_stored_once_and_goes_with_its_last_audit(store: Store) -> None:
    first, second = put(store), put(store, test=make_people(100, seed=1))
    tables = store.home / "tables"
    assert len(list(tables.iterdir())) == 2
    store.delete(first)
    assert len(list(tables.iterdir())) == 2
    store.delete(second)
    assert list(tables.iterdir()) == []


def test_results_names_notes_and_thresholds(store: Store, result: AuditResult) -> None:
    audit = finish(store, result)
    record = store.get(audit)
    assert record.status == "done"
    assert record.progress == 1.0
    assert record.metrics is not None
    assert record.metrics["cfad"]["changing_ratio"] == result.metrics("cfad").changing_ratio
    assert store.result(audit).summary() == result.summary()
    store.rename(audit, "Better name")
    store.annotate(audit, "A note.\nTwo lines.")
    store.choose_threshold(audit, {"method": "cfad", "value": 1.25, "quantile": 0.9})
    record = store.get(audit)
    assert (record.name, record.note) == ("Better name", "A note.\nTwo lines.")
    assert record.threshold == {"method": "cfad", "value": 1.25, "quantile": 0.9}
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
    assert len(store.find(limit=2)) == 2
    assert store.find(status="done") == []
    with pytest.raises(InvalidDataError, match="No status is 'finished'; there are: queued, running, done"):
        store.find(status="finished")


def test_the_queue_is_first_in_first_out_and_each_is_taken_once(store: Store) -> None:
    ids = [put(store) for _ in range(3)]
    taken = [store.claim("me") for _ in range(4)]
    assert [record and record.id for record in taken] == [*ids, None]
    assert taken[0].status == "running"


def test_reports_and_heartbeats(store: Store) -> None:
    audit = put(store)
    store.claim("me")
    store.report(audit, "discovery", 1, 20, {"loss": 2.5, "h": 0.1}, 0.05)
    store.report(audit, "discovery", 2, 20, {"loss": 2.0, "h": 0.01}, 0.10)
    reports = store.reports(audit)
    assert [(r.stage, r.step, r.numbers["loss"]) for r in reports] == [("discovery", 1, 2.5), ("discovery", 2, 2.0)]
    assert [r.step for r in store.reports(audit, after=reports[0].number)] == [2]
    record = store.get(audit)
    assert (record.stage, record.progress) == ("discovery", 0.10)
    assert record.seconds_left is not None
    assert store.beat(audit) is False
    store.request_cancel(audit)
    assert store.beat(audit) is True
    assert store.get(audit).status == "running"  # until its worker has stopped
    with pytest.raises(InvalidDataError, match="is running; cancel it first"):
        store.delete(audit)
    store.stop(audit, "cancelled")
    assert store.get(audit).status == "cancelled"
    store.delete(audit)
    assert store.reports(audit) == []
    assert store.beat(audit) is True  # whoever still works on it may stop


def test_cancelling_what_waits_and_starting_it_again(store: Store) -> None:
    audit = put(store)
    store.request_cancel(audit)
    assert store.get(audit).status == "cancelled"
    assert store.claim("me") is None
    store.requeue(audit)
    assert store.get(audit).status == "queued"
    with pytest.raises(InvalidDataError, match="is queued; it cannot be started again"):
        store.requeue(audit)
    assert store.claim("me").cancel_requested is False


def test_an_audit_that_was_given_up_cannot_end_twice(store: Store) -> None:
    audit = put(store)
    store.claim("me")
    store.stop(audit, "interrupted", "gone")
    store.finish(audit, {})
    assert store.get(audit).status == "interrupted"


def test_recovery(store: Store, result: AuditResult) -> None:
    lost, finished, alive, far, silent = (put(store) for _ in range(5))
    for audit, worker in ((lost, "dead"), (finished, "dead"), (alive, "alive"), (far, "far"), (silent, "far")):
        store.claim(worker, audit)
    (store.folder(lost) / ".staged-xyz").mkdir(parents=True)
    result.save(store.folder(finished))  # it died after its last file
    (store.folder("nobody")).mkdir()
    (store.home / "tables" / "left.parquet").write_text("x")
    with store._engine.begin() as connection:
        connection.execute(sa.update(database.AUDITS).where(database.AUDITS.c.id == silent).values(heartbeat=1.0))
    damaged = put(store)
    store.claim("dead", damaged)
    store.folder(damaged).mkdir()
    (store.folder(damaged) / "audit.json").write_text("")  # as a power cut may leave it
    answers = {"dead": False, "alive": True, "far": None}
    assert set(store.recover(lambda record: answers[record.worker.partition("#")[0]])) == {lost, silent, damaged}
    states = {audit: store.get(audit).status for audit in (lost, finished, alive, far, silent)}
    expected = ["interrupted", "done", "running", "running", "interrupted"]
    assert states == dict(zip((lost, finished, alive, far, silent), expected, strict=True))
    assert "Start it again" in store.get(lost).error
    assert store.get(finished).metrics is not None
    assert not list(store.folder(lost).glob(".staged-*"))
    assert not store.folder("nobody").exists()
    assert [path.stem for path in (store.home / "tables").iterdir()] == [digest(storable(TABLE))]


def test_taking_over(store: Store) -> None:
    audit = put(store)
    first = store.claim("first").worker
    assert first.startswith("first#")
    assert store.take_over(audit, first, "second")
    assert not store.take_over(audit, first, "third")
    assert store.get(audit).worker == "second"


def test_unknown_ids(store: Store) -> None:
    for act in (store.get, store.result, store.delete, store.request_cancel, store.requeue, store.inputs):
        with pytest.raises(InvalidArtifactError, match="There is no audit 'nothing'"):
            act("nothing")
    with pytest.raises(InvalidArtifactError, match="There is no audit 'nothing'"):
        store.rename("nothing", "x")
    audit = put(store)
    with pytest.raises(InvalidArtifactError, match="is queued; only an audit that is done has a result"):
        store.result(audit)


def test_export_and_import(store: Store, result: AuditResult, tmp_path: Path) -> None:
    audit = finish(store, result, "To be taken elsewhere")
    store.choose_threshold(audit, {"method": "twin", "value": 2.0})
    export_audit(store, audit, tmp_path / "audit.zip")
    with Store(tmp_path / "elsewhere", f"sqlite:///{tmp_path}/other.sqlite") as other:
        found = import_audit(other, tmp_path / "audit.zip")
        before, after = store.get(audit), other.get(found)
        same = ("name", "created", "finished", "data_digest", "tables", "roles", "config", "metrics", "threshold")
        assert {name: getattr(after, name) for name in same} == {name: getattr(before, name) for name in same}
        assert other.result(found).summary() == result.summary()
        pd.testing.assert_frame_equal(other.inputs(found).table, store.inputs(audit).table)
        again = import_audit(other, tmp_path / "audit.zip")  # twice is two audits, and one table
        assert again != found
        assert len(list((other.home / "tables").iterdir())) == 1
        assert not list(other.home.glob(".import-*"))


def test_only_finished_audits_are_exported(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InvalidArtifactError, match="is queued"):
        export_audit(store, put(store), tmp_path / "x.zip")
    assert list(tmp_path.glob("*.zip")) == []


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda files: files.update({"../evil.txt": b"x"}), "it holds '../evil.txt', which no audit has"),
        (lambda files: files.update({"audit/people.parquet": b"x"}), "is damaged"),
        (lambda files: files.pop("record.json"), "record.json"),
        (lambda files: files.update({"record.json": b"{}"}), "version"),
        (lambda files: files.update({"record.json": b"no json"}), "Expecting value"),
        (lambda files: files.pop("audit/audit.json"), "holds no audit"),
        (lambda files: [files.pop(name) for name in list(files) if name.startswith("tables/")], "missing or damaged"),
    ],
)
def test_spoiled_archives_are_refused(result: AuditResult, tmp_path: Path, spoil, message: str) -> None:
    with Store(tmp_path / "home") as store:
        export_audit(store, finish(store, result), tmp_path / "good.zip")
        with zipfile.ZipFile(tmp_path / "good.zip") as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        spoil(files)
        with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
        with pytest.raises(InvalidArtifactError, match=message):
            import_audit(store, tmp_path / "bad.zip")
        flipped = bytearray((tmp_path / "good.zip").read_bytes())
        for position in range(100, len(flipped), len(flipped) // 7):
            flipped[position] ^= 0xFF
        (tmp_path / "flipped.zip").write_bytes(flipped)
        with pytest.raises(InvalidArtifactError, match="is not an exported audit, or damaged"):
            import_audit(store, tmp_path / "flipped.zip")
        (tmp_path / "text.zip").write_text("not a zip")
        with pytest.raises(InvalidArtifactError, match="is not an exported audit, or damaged"):
            import_audit(store, tmp_path / "text.zip")
        with pytest.raises(CfadError, match="There is no file"):
            import_audit(store, tmp_path / "nothing.zip")
        assert len(store.find()) == 1
        assert len(list((store.home / "audits").iterdir())) == 1


def test_a_table_swapped_in_an_archive_is_seen(result: AuditResult, tmp_path: Path) -> None:
    with Store(tmp_path / "home") as store:
        export_audit(store, finish(store, result), tmp_path / "good.zip")
        with zipfile.ZipFile(tmp_path / "good.zip") as archive:
            files = {name: archive.read(name) for name in archive.namelist()}
        make_people(300, seed=9).to_parquet(tmp_path / "other.parquet")
        name = next(name for name in files if name.startswith("tables/"))
        files[name] = (tmp_path / "other.parquet").read_bytes()
        with zipfile.ZipFile(tmp_path / "bad.zip", "w") as archive:
            for member, content in files.items():
                archive.writestr(member, content)
        with pytest.raises(InvalidArtifactError, match="not the one that was audited"):
            import_audit(store, tmp_path / "bad.zip")


def test_mixed_cells_last() -> None:
    frame = pd.DataFrame({"mixed": [1, "two", None, 3.5], "plain": [1, 2, 3, 4], 5: ["a", "b", "c", None]})
    stored = storable(frame)
    assert stored["mixed"].tolist()[:2] == ["1", "two"]
    assert stored["mixed"].isna().tolist() == [False, False, True, False]
    assert list(stored.columns) == ["mixed", "plain", "5"]
    pd.testing.assert_frame_equal(storable(stored), stored)
    assert digest(storable(stored)) == digest(stored)


@pytest.mark.parametrize(
    "cells",
    [
        [10**24 + k for k in range(3)],
        pd.Categorical([1, 2, 1]),
        pd.Categorical(["a", None, "b"]),
        pd.cut([1.0, 2.0, 3.0], 2),
        [(1, 2), (3,), None],
        [[1], [2], [3]],
        pd.array([1, None, 3], dtype="Int64"),
    ],
)
def test_odd_cells_last(cells: object, tmp_path: Path) -> None:
    stored = storable(pd.DataFrame({"odd": cells}))
    save_parquet(stored, tmp_path / "t.parquet")
    again = load_parquet(tmp_path / "t.parquet")
    pd.testing.assert_frame_equal(again, stored)
    assert digest(again) == digest(stored)


def test_where_the_store_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "a"))
    assert home_folder() == tmp_path / "a"
    monkeypatch.delenv("CFAD_HOME")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "b"))
    assert home_folder() == tmp_path / "b" / "cfad"
    (tmp_path / "file").write_text("x")
    with pytest.raises(CfadError, match="Cannot create the store in"):
        Store(tmp_path / "file" / "home")
    with pytest.raises(CfadError, match=r"Cannot use the database postgresql\+nothing://me:\*\*\*@host/x: Can't load"):
        Store(tmp_path / "home", "postgresql+nothing://me:secret@host/x")
    with pytest.raises(CfadError, match="is no address of a database"):
        Store(tmp_path / "home", "garbage")
    with Store(tmp_path / "what?me") as odd:
        assert (odd.home / "audits.sqlite").is_file()
    with pytest.raises(CfadError, match="unable to open database file"):
        Store(tmp_path / "home", f"sqlite:///{tmp_path}/no/folder.sqlite")


def test_the_schema_comes_from_the_migrations(store: Store) -> None:
    """The tables that the program uses are those that the migrations make, column by column."""
    inspector = sa.inspect(store._engine)
    for table in (database.AUDITS, database.REPORTS):
        made = {
            column["name"]: (str(column["type"]), column["nullable"]) for column in inspector.get_columns(table.name)
        }
        used = {c.name: (str(c.type.compile(store._engine.dialect)), c.nullable) for c in table.columns}
        assert {name: null for name, (_, null) in made.items()} == {name: null for name, (_, null) in used.items()}
        assert {index["name"] for index in inspector.get_indexes(table.name)} == {index.name for index in table.indexes}


def test_the_newest_migration_is_the_one_the_program_expects() -> None:
    from alembic.config import Config
    from alembic.script import ScriptDirectory

    config = Config()
    config.set_main_option("script_location", str(Path(database.__file__).parent / "migrations"))
    assert ScriptDirectory.from_config(config).get_current_head() == database.REVISION


def test_a_store_of_a_newer_program_is_refused(store: Store) -> None:
    with store._engine.begin() as connection:
        connection.execute(sa.text("UPDATE alembic_version SET version_num = '9999'"))
    with pytest.raises(InvalidArtifactError, match="schema 9999, which this program does not know"):
        Store(store.home, store.url)


def open_and_put(home: Path, url: str) -> None:
    with Store(home, url) as store:
        put(store)


def read_often(home: Path, url: str, seconds: float, seen: object) -> None:
    with Store(home, url) as store:
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            for record in store.find():
                store.reports(record.id)
        seen.value = len(store.find())


@pytest.mark.slow
def test_several_processes_open_a_new_store_at_once(tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    home, url = tmp_path / "home", f"sqlite:///{tmp_path}/new.sqlite"
    crew = [context.Process(target=open_and_put, args=(home, url)) for _ in range(3)]
    for process in crew:
        process.start()
    for process in crew:
        process.join(60.0)
        assert process.exitcode == 0
    with Store(home, url) as store:
        assert len(store.find()) == 3
        assert len(list((home / "tables").iterdir())) == 1


@pytest.mark.slow
def test_two_readers_and_a_writer_at_once(store: Store) -> None:
    context = multiprocessing.get_context("spawn")
    seen = [context.Value("i", -1) for _ in range(2)]
    readers = [context.Process(target=read_often, args=(store.home, store.url, 1.5, value)) for value in seen]
    for reader in readers:
        reader.start()
    audit = put(store)
    store.claim("me")
    until = time.monotonic() + 3.0
    written = 0
    while any(reader.is_alive() for reader in readers) and time.monotonic() < until + 30.0:
        written += 1
        store.report(audit, "autoencoder", written, 10**6, {"loss": float(np.exp(-written))}, 0.5)
        if time.monotonic() > until:
            time.sleep(0.1)
    for reader in readers:
        reader.join(60.0)
        assert reader.exitcode == 0
    assert [value.value for value in seen] == [1, 1]
    assert len(store.reports(audit)) == written > 20


def test_a_record_is_plain(store: Store) -> None:
    record = store.get(put(store))
    json.dumps(dataclasses.asdict(record), allow_nan=False)
