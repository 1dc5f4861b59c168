"""A store as one file, made while it is in use, and a store made of it; also on another database."""

from __future__ import annotations

import errno
import hashlib
import json
import os
import shutil
import stat
import uuid
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import sqlalchemy as sa

from cfad_core.apps import cli
from cfad_core.audit.folder import summary
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError
from cfad_core.runs import backup, snapshot
from cfad_core.runs.access import NotAllowedError, Share, Viewer
from cfad_core.runs.backup import back_up, restore
from cfad_core.runs.model import AUDITS, METADATA, Report
from cfad_core.runs.signed import altered
from cfad_core.runs.store import Store
from tests.runs.conftest import TABLES, claim, finish, put

ADA = Viewer("ada")
Files = dict[str, bytes]


def rows_of(store: Store) -> dict[str, list[dict[str, Any]]]:
    with store._engine.connect() as connection:
        return {
            table.name: [
                dict(row) for row in connection.execute(sa.select(table).order_by(*table.primary_key)).mappings()
            ]
            for table in METADATA.sorted_tables
        }


def files_of(store: Store) -> dict[str, bytes]:
    found = [path for name in ("tables", "audits") for path in (store.home / name).rglob("*") if path.is_file()]
    return {path.relative_to(store.home).as_posix(): path.read_bytes() for path in found if path.name[0] != "."}


def fill(store: Store, result: AuditResult) -> dict[str, str]:
    """Something of everything; returns audits by what they are."""
    store.arrive(ADA)
    done, gone, running, queued = (
        finish(store, result),
        finish(store, result),
        put(store),
        put(store, "\u00e4\u2028 \U0001f600"),
    )
    store.delete(gone)
    store.sign(done, lambda *_: {"report.json": b"{}"}, "Ada")
    store.give(done, "ada")
    store.seen_by(ADA).share(done, Share("group", "risk", "tune"))
    store.seen_by(ADA).keep_draft(TABLES, {"source": "people.csv"})
    store.seen_by(ADA).make_token("x", "viewer", 5)
    claim(store, audit=running)
    store.report(running, Report("discovery", 1, 20, {"loss": 2.5}), 0.05)
    half = store.folder(running)
    (half / ".staged-x").mkdir(parents=True)
    (half / ".staged-x" / "people.parquet").write_text("half")
    (half / "people.parquet").write_text("half")
    (store.home / "report.toml").write_text('logo = "logo.svg"')
    (store.home / "logo.svg").write_text("<svg/>")
    (store.home / "secrets.toml").write_text("never to be copied")
    return {"done": done, "running": running, "queued": queued}


def other_url(kind: str, request: pytest.FixtureRequest, folder: Path) -> str:
    if kind == "sqlite":
        return f"sqlite:///{folder}/other.sqlite"
    server, name = request.getfixturevalue("postgres_url"), f"t{uuid.uuid4().hex}"
    engine = sa.create_engine(server, isolation_level="AUTOCOMMIT")
    with engine.connect() as connection:
        connection.execute(sa.text(f"CREATE DATABASE {name}"))
    engine.dispose()
    return str(sa.make_url(server).set(database=name).render_as_string(hide_password=False))


@pytest.mark.parametrize("kind", ["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def test_a_store_comes_back(
    store: Store, kind: str, result: AuditResult, tmp_path: Path, request: pytest.FixtureRequest
) -> None:
    audits, url = fill(store, result), other_url(kind, request, tmp_path)
    made = back_up(store, tmp_path / "all.zip")
    before = rows_of(store)
    assert stat.S_IMODE((tmp_path / "all.zip").stat().st_mode) == 0o600
    assert not [
        path for path in store.home.iterdir() if path.is_dir() and path.name == ".backup" and any(path.glob("t*"))
    ]
    assert restore(tmp_path / "all.zip", tmp_path / "again", url) == made
    with Store(tmp_path / "again", url) as again:
        after = rows_of(again)
        lines = [(line.who, line.deed) for line in again.log()]
        assert lines[:1] == [("", "restored")]
        assert after.pop("log")[:-1] == before.pop("log")[:-1]  # without "backed up" and "restored"
        (then,) = [row for row in before.pop("audits") if row["id"] == audits["running"]]
        (now,) = [row for row in after["audits"] if row["id"] == audits["running"]]
        assert (now["status"], now["worker"], now["heartbeat"], now["progress"]) == ("interrupted", None, None, 0.05)
        assert then["status"] == "running"
        assert [row for row in after.pop("audits") if row != now] == [
            row for row in rows_of(store)["audits"] if row["id"] != then["id"]
        ]
        assert after == before
        expected = {name: content for name, content in files_of(store).items() if audits["running"] not in name}
        assert files_of(again) == expected
        assert summary(again.result(audits["done"])) == summary(result)
        assert [altered(again.folder(audits["done"]), one) for one in again.signatures(audits["done"])] == [()]
        assert again.seen_by(Viewer("bo", frozenset({"risk"}))).right(audits["done"]) == "tune"
        assert (again.home / "logo.svg").read_text() == "<svg/>"
        assert not (again.home / "secrets.toml").exists()
        again.requeue(audits["running"])
        again.report(claim(again, audit=audits["running"]).id, Report("x", 1, 2), 0.1)  # counted on from there
        with pytest.raises(sa.exc.DBAPIError, match="the log only grows"), again._engine.begin() as connection:
            connection.execute(sa.text("DELETE FROM log"))
        with pytest.raises(InvalidDataError, match="has something in it. Restore into an empty one"):
            restore(tmp_path / "all.zip", tmp_path / "again", url)


def test_only_the_operator_backs_up(store: Store, tmp_path: Path) -> None:
    for viewer in (ADA, Viewer("root", role="admin")):
        with pytest.raises(NotAllowedError):
            back_up(store.seen_by(viewer), tmp_path / "all.zip")
    assert not (tmp_path / "all.zip").exists()


def test_audits_that_go_or_end_meanwhile(
    store: Store, result: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stays, goes, running = finish(store, result), finish(store, result), put(store)
    claim(store, audit=running)
    link, tries = snapshot._link_audit, list[str]()

    def slowly(source: Path, target: Path, **more: Any) -> None:
        tries.append(source.name)
        link(source, target, **more)
        if len(tries) == 1:  # while the first one is copied
            with store._engine.begin() as connection:
                connection.execute(sa.delete(AUDITS).where(AUDITS.c.id == goes))
            shutil.rmtree(store.folder(goes))
            shutil.copytree(store.folder(stays), store.folder(running))
            store.finish(running, {})

    monkeypatch.setattr(snapshot, "_link_audit", slowly)
    back_up(store, tmp_path / "all.zip")
    assert goes not in tries[3:]
    restore(tmp_path / "all.zip", tmp_path / "again", f"sqlite:///{tmp_path}/again.sqlite")
    with Store(tmp_path / "again", f"sqlite:///{tmp_path}/again.sqlite") as again:
        assert {record.id: record.status for record in again.find()} == {stays: "done", running: "done"}
        for audit in (stays, running):
            assert summary(again.result(audit)) == summary(result)


def test_if_audits_go_all_the_time(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store)
    monkeypatch.setattr(Store, "_are_there", lambda *_: False)
    with pytest.raises(CfadError, match="Audits were deleted while they were copied, again and again"):
        back_up(store, tmp_path / "all.zip")
    assert not list(tmp_path.glob("*.zip"))


def test_where_files_cannot_be_linked(store: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store)
    before = files_of(store)

    def refuse(*_: Any) -> None:
        raise OSError(errno.EPERM, "no links here")

    monkeypatch.setattr(os, "link", refuse)
    back_up(store, tmp_path / "all.zip")
    restore(tmp_path / "all.zip", tmp_path / "again", f"sqlite:///{tmp_path}/again.sqlite")
    with Store(tmp_path / "again", f"sqlite:///{tmp_path}/again.sqlite") as again:
        assert files_of(again) == before


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "home", f"sqlite:///{tmp_path}/index.sqlite") as store:
        put(store)
        (tmp_path / "all.zip").write_text("the one of yesterday")

        def full(*_: Any) -> None:
            raise OSError(errno.ENOSPC, "No space left on device")

        monkeypatch.setattr(backup, "_copy", full)
        with pytest.raises(CfadError, match="cannot be written to '.*all.zip': No space left on device. Nothing of it"):
            back_up(store, tmp_path / "all.zip")
        assert sorted(path.name for path in tmp_path.glob("*.zip*")) == ["all.zip"]
        assert (tmp_path / "all.zip").read_text() == "the one of yesterday"
        monkeypatch.undo()
        back_up(store, tmp_path / "all.zip")
        monkeypatch.setattr(backup, "_copy", full)
        with pytest.raises(
            CfadError, match="'all.zip' cannot be restored: No space left on device. Nothing was changed"
        ):
            restore(tmp_path / "all.zip", tmp_path / "again")
        monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 10, 0))
        with pytest.raises(CfadError, match="The backup needs 0 MB, and there are 0 MB in"):
            restore(tmp_path / "all.zip", tmp_path / "again")
    with Store(tmp_path / "again") as again:
        assert files_of(again) == {}
        again.need_empty()


# Archives that somebody made


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Files:
    """What is in a backup of a store with one audit that waits."""
    folder = tmp_path_factory.mktemp("files")
    with Store(folder / "home", f"sqlite:///{folder}/index.sqlite") as store:
        audit = put(store)
        (store.folder(audit) / "pending").mkdir(parents=True)
        (store.folder(audit) / "pending" / "questions.json").write_text("{}")
        back_up(store, folder / "all.zip")
    with zipfile.ZipFile(folder / "all.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(files: Mapping[str, bytes], path: Path, *, compressed: bool = False) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED if compressed else zipfile.ZIP_STORED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def signed_off(files: Files) -> Files:
    """With a manifest that is right about them."""
    entry = json.loads(files["manifest.json"])
    rest = {name: content for name, content in files.items() if name != "manifest.json"}
    entry["files"] = {
        name: {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()} for name, content in rest.items()
    }
    return rest | {"manifest.json": json.dumps(entry).encode()}


def with_entry(files: Files, **changes: Any) -> Files:
    return files | {"manifest.json": json.dumps(json.loads(files["manifest.json"]) | changes).encode()}


def with_rows(files: Files, table: str, **changes: Any) -> Files:
    name = f"rows/{table}.jsonl"
    lines = [json.dumps(json.loads(line) | changes) + "\n" for line in files[name].decode().splitlines()]
    assert lines
    return signed_off(files | {name: "".join(lines).encode()})


HOSTILE: dict[str, tuple[Callable[[Files], Files], str]] = {
    "upwards": (lambda files: signed_off(files | {"../evil": b"x"}), "it holds '../evil', which no store has"),
    "absolute": (lambda files: signed_off(files | {"/etc/evil": b"x"}), "it holds '/etc/evil'"),
    "upwards inside": (lambda files: signed_off(files | {"audits/abc/../../x": b"x"}), "it holds 'audits/abc/../../x'"),
    "a database": (lambda files: signed_off(files | {"template/audits.sqlite": b"x"}), "template/audits.sqlite"),
    "a hidden file": (lambda files: signed_off(files | {"audits/abc/.lock": b"x"}), "audits/abc/.lock"),
    "a backslash": (lambda files: signed_off(files | {"audits/abc/..\\x": b"x"}), "which no store has"),
    "one file more": (lambda files: files | {"audits/abc/x.json": b"x"}, "its files are not those of its manifest"),
    "one file less": (
        lambda files: {name: content for name, content in files.items() if not name.startswith("tables")},
        "its files are not those of its manifest",
    ),
    "other content": (
        lambda files: files | {name: content[::-1] for name, content in files.items() if name.startswith("tables")},
        "is not as it was backed up",
    ),
    "no manifest": (
        lambda files: {name: content for name, content in files.items() if name != "manifest.json"},
        "it has no manifest.json",
    ),
    "a list": (lambda files: files | {"manifest.json": b"[]"}, "list indices must be integers"),
    "no JSON": (lambda files: files | {"manifest.json": b"{"}, "Expecting property name"),
    "another version": (lambda files: with_entry(files, version=2), "it has version 2 and schema 0004"),
    "another schema": (lambda files: with_entry(files, schema="9999"), "schema 9999; this program reads 1 and 0004"),
    "no rows": (lambda files: with_entry(files, rows={}), "its files are not those of its manifest"),
    "an id that is a path": (lambda files: with_rows(files, "audits", id="../../x"), "an id or a table that cannot be"),
    "a table that is a path": (
        lambda files: with_rows(files, "audits", tables={"table": "../../x"}),
        "an id or a table that cannot be",
    ),
    "tables that are none": (lambda files: with_rows(files, "audits", tables=["x"]), "an id or a table that cannot be"),
    "another column": (lambda files: with_rows(files, "audits", more=1), "a row of 'audits' has other columns"),
    "a number for a text": (
        lambda files: with_rows(files, "log", about=5),
        "the about of a row of 'log' cannot be used",
    ),
    "a flag for a number": (lambda files: with_rows(files, "log", at=True), "the at of a row of 'log' cannot be used"),
    "nothing for a name": (lambda files: with_rows(files, "audits", name=None), "the name of a row of 'audits' cannot"),
    "a row twice": (
        lambda files: signed_off(files | {"rows/audits.jsonl": files["rows/audits.jsonl"] * 2}),
        "its rows of 'audits' cannot be used: UNIQUE constraint failed",
    ),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_archives_are_refused(kind: str, files: Files, tmp_path: Path) -> None:
    spoil, message = HOSTILE[kind]
    bad = packed(spoil(files), tmp_path / "bad.zip")
    with pytest.raises(InvalidArtifactError) as refused:
        restore(bad, tmp_path / "a" / "home", f"sqlite:///{tmp_path}/x.sqlite")
    assert "'bad.zip' is no backup of a store, or damaged: " in str(refused.value)
    assert message in str(refused.value)
    with Store(tmp_path / "a" / "home", f"sqlite:///{tmp_path}/x.sqlite") as store:
        store.need_empty()
        assert {path.name for path in store.home.iterdir() if path.is_file()} <= {".migration.lock", ".tables.lock"}
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == ["home"]


def test_bombs_are_refused(files: Files, tmp_path: Path) -> None:
    bomb = packed(signed_off(files | {"audits/abc/x": b"0" * 10**7}), tmp_path / "bomb.zip", compressed=True)
    with zipfile.ZipFile(tmp_path / "twice.zip", "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        with pytest.warns(UserWarning, match="Duplicate name"):
            archive.writestr("manifest.json", files["manifest.json"])
    for path, message in ((bomb, "it unpacks to more than it holds"), (tmp_path / "twice.zip", "a file twice")):
        with pytest.raises(InvalidArtifactError, match=message):
            restore(path, tmp_path / "home")
    assert not (tmp_path / "home").exists()


def test_files_that_are_no_archive(files: Files, tmp_path: Path) -> None:
    whole = packed(files, tmp_path / "good.zip").read_bytes()
    (tmp_path / "text.zip").write_text("not a zip")
    (tmp_path / "cut.zip").write_bytes(whole[: len(whole) // 2])
    for name in ("text.zip", "cut.zip"):
        with pytest.raises(InvalidArtifactError, match=f"'{name}' is no backup of a store, or damaged"):
            restore(tmp_path / name, tmp_path / "home")
    with pytest.raises(CfadError, match="There is no file"):
        restore(tmp_path / "nothing.zip", tmp_path / "home")


def test_the_commands(
    files: Files, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))
    packed(files, tmp_path / "old.zip")
    assert cli.main(["store", "restore", str(tmp_path / "old.zip")]) == 0
    assert capsys.readouterr().out.startswith("The store is as it was backed up 20")
    assert cli.main(["store", "backup", str(tmp_path / "new.zip")]) == 0
    assert "new.zip: 1 audit, " in capsys.readouterr().out
    assert cli.main(["store", "restore", str(tmp_path / "new.zip"), "--into", str(tmp_path / "other")]) == 0
    assert cli.main(["store", "restore", str(tmp_path / "new.zip")]) == 2
    assert "has something in it" in capsys.readouterr().err
    with Store(tmp_path / "other") as store:
        assert [line.deed for line in store.log()] == ["restored", "restored", "made"]
        store.arrive(ADA)
        token = store.make_token("x", "auditor", 1, owner="ada")
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "other"))
    monkeypatch.setenv("CFAD_TOKEN", token)
    assert cli.main(["store", "backup", str(tmp_path / "mine.zip")]) == 2
    assert "Only the program itself, and whoever runs it, may do this" in capsys.readouterr().err
    assert cli.main(["store", "restore", str(tmp_path / "new.zip"), "--into", str(tmp_path / "third")]) == 2
    assert "unset CFAD_TOKEN" in capsys.readouterr().err
    assert not (tmp_path / "third").exists()
