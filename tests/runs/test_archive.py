"""Audits as zip files: what goes out comes in elsewhere, and nothing else does."""

from __future__ import annotations

import dataclasses
import json
import shutil
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sqlalchemy as sa

from cfad_core.audit.folder import summary
from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import JustifiedPath, Statements
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.runs import archive
from cfad_core.runs.archive import export_audit, import_audit
from cfad_core.runs.model import AUDITS, EXPORTED, ChosenThreshold
from cfad_core.runs.signed import altered
from cfad_core.runs.store import Store
from tests.conftest import make_people
from tests.runs.conftest import ROLES, finish, put

Files = dict[str, bytes]


@pytest.fixture(scope="session")
def exported(result: AuditResult, tmp_path_factory: pytest.TempPathFactory) -> Files:
    """The files of an exported audit."""
    folder = tmp_path_factory.mktemp("exported")
    with Store(folder / "home") as store:
        audit = finish(store, result, "To be taken elsewhere")
        store.choose_threshold(audit, ChosenThreshold("twin", "score", 2.0))
        for signer in ("Ada", "Grace"):
            store.sign(audit, lambda *_: {"report.json": b"{}", "report.html": b"<p>"}, signer, "internal audit")
        export_audit(store, audit, folder / "audit.zip")
    with zipfile.ZipFile(folder / "audit.zip") as archive:
        return {name: archive.read(name) for name in archive.namelist()}


@pytest.fixture
def empty(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "home") as made:
        yield made


def packed(files: Files, path: Path) -> Path:
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def with_record(files: Files, **changes: Any) -> Files:
    """The files with other entries in the record; those that are None are left out."""
    entry = json.loads(files["record.json"]) | changes
    return files | {
        "record.json": json.dumps({name: value for name, value in entry.items() if value is not None}).encode()
    }


def test_export_and_import(store: Store, result: AuditResult, tmp_path: Path) -> None:
    audit = finish(store, result, "To be taken elsewhere")
    store.annotate(audit, "A note.")
    store.choose_threshold(audit, ChosenThreshold("twin", "score", 2.0))
    store.state(audit, Statements(system="Claims", justified_paths=(JustifiedPath(("group", "income"), "By law."),)))
    export_audit(store, audit, tmp_path / "audit.zip")
    with Store(tmp_path / "elsewhere", f"sqlite:///{tmp_path}/other.sqlite") as other:
        found = import_audit(other, tmp_path / "audit.zip")
        before, after = store.get(audit), other.get(found)
        for name in (*EXPORTED, "metrics", "status", "schema_version"):
            assert getattr(after, name) == getattr(before, name), name
        assert summary(other.result(found)) == summary(result)
        pd.testing.assert_frame_equal(other.request(found).tables.table, store.request(audit).tables.table)
        again = import_audit(other, tmp_path / "audit.zip")  # twice is two audits, and one table
        assert again != found
        assert len(list((other.home / "tables").iterdir())) == 1
        assert not list(other.home.glob(".import-*"))


def test_signed_reports_go_along(exported: Files, empty: Store, tmp_path: Path) -> None:
    names = ("report.html", "report.json", "signature.json")
    members = {f"audit/signed/{version}/{name}" for version in ("0001", "0002") for name in names}
    assert {name for name in exported if "signed" in name} == members
    audit = import_audit(empty, packed(exported, tmp_path / "audit.zip"))
    found = empty.signatures(audit)
    assert [(one.version, one.signer, one.role) for one in found] == [
        *((1, "Ada", "internal audit"), (2, "Grace", "internal audit"))
    ]
    assert [altered(empty.folder(audit), one) for one in found] == [(), ()]


def test_audits_of_several_attributes_are_exported_and_imported(
    store: Store, crossed: AuditResult, tmp_path: Path
) -> None:
    audit = finish(store, crossed)
    export_audit(store, audit, tmp_path / "audit.zip")
    with Store(tmp_path / "elsewhere", f"sqlite:///{tmp_path}/other.sqlite") as other:
        found = import_audit(other, tmp_path / "audit.zip")
        assert other.get(found).roles == store.get(audit).roles == crossed.roles
        assert other.get(found).metrics == store.get(audit).metrics
        assert summary(other.result(found)) == summary(crossed)
        assert other.request(found).roles == crossed.roles  # and can be run again


def test_only_finished_audits_are_exported(store: Store, tmp_path: Path) -> None:
    with pytest.raises(InvalidArtifactError, match="is queued"):
        export_audit(store, put(store), tmp_path / "x.zip")
    assert list(tmp_path.glob("*.zip")) == []


def test_an_audit_of_an_older_version_gets_its_groups(store: Store, result: AuditResult, tmp_path: Path) -> None:
    audit = finish(store, result)
    older = dataclasses.replace(ROLES, groups=None)
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).values(roles=json.dumps(older.to_dict())))
    assert store.get(audit).roles == older
    export_audit(store, audit, tmp_path / "audit.zip")
    assert store.get(import_audit(store, tmp_path / "audit.zip")).roles == ROLES


def test_an_archive_may_be_older_than_a_column(exported: Files, empty: Store, tmp_path: Path) -> None:
    files = with_record(exported, note=None, threshold=None, started=None, statements=None, plan=None)
    record = empty.get(import_audit(empty, packed(files, tmp_path / "old.zip")))
    assert (record.note, record.threshold, record.started) == ("", None, None)
    assert (record.statements_entry, record.plan_entry) == (None, None)


def _without_tables(files: Files) -> Files:
    return {name: content for name, content in files.items() if not name.startswith("tables/")}


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda files: files | {"../evil.txt": b"x"}, "it holds '../evil.txt', which no audit has"),
        (lambda files: files | {"audit/people.parquet": b"x"}, "is damaged"),
        (lambda files: {name: files[name] for name in files if name != "record.json"}, "record.json"),
        (lambda files: files | {"record.json": b"{}"}, "version"),
        (lambda files: files | {"record.json": b"[]"}, "list indices"),
        (lambda files: files | {"record.json": b"no json"}, "Expecting value"),
        (lambda files: files | {"record.json": b"[" * 10**6}, "recursion"),
        (lambda files: {name: files[name] for name in files if name != "audit/audit.json"}, "holds no audit"),
        (_without_tables, "missing or damaged"),
        (
            lambda files: files | {"audit/signed/0001/report.html": b"x"},
            "report 1 is not as it was signed: report.html",
        ),
        (lambda files: files | {"audit/signed/0001/more.md": b"x"}, "report 1 is not as it was signed: more.md"),
        (lambda files: files | {"audit/signed/0002/signature.json": b"{}"}, "report 2 is not as it was signed: sign"),
        (lambda files: files | {"audit/signed/0003/report.json": b"{}"}, "report 3 is not as it was signed: sign"),
        (lambda files: files | {"audit/signed/0001/x.exe": b"x"}, "it holds 'audit/signed/0001/x.exe'"),
        (lambda files: files | {"audit/signed/0001/../x.json": b"x"}, "it holds 'audit/signed/0001/../x.json'"),
        (lambda files: with_record(files, version=2), "it has version 2; this program reads 1"),
        (lambda files: with_record(files, tables={}), "table"),
        (lambda files: with_record(files, tables={"odd": "x"}), "table"),
        (lambda files: with_record(files, data_digest="x"), "a table is not the one that was audited"),
        (lambda files: with_record(files, name={}), "its name cannot be used"),
        (lambda files: with_record(files, name=" "), "An audit needs a name"),
        (lambda files: with_record(files, note=["x"]), "its note cannot be used"),
        (lambda files: with_record(files, created=None), "its created cannot be used"),
        (lambda files: with_record(files, created=float("nan")), "its created cannot be used"),
        (lambda files: with_record(files, finished="now"), "its finished cannot be used"),
        (lambda files: with_record(files, config={"preset": 5}), "preset"),
        (lambda files: with_record(files, threshold={"method": "cfad"}), "The saved threshold is damaged"),
        (lambda files: with_record(files, threshold=[1]), "The saved threshold is damaged"),
        (lambda files: with_record(files, statements={"system": 5}), "statements.system"),
        (lambda files: with_record(files, statements=[1]), "Expected statements by their names"),
        (lambda files: with_record(files, plan={"by": "me"}), "The saved plan is damaged"),
        (
            lambda files: with_record(files, threshold={"method": "**b**", "by": "score", "value": 1.0}),
            "its threshold is for a method '..b..', which was not audited",
        ),
    ],
)
def test_spoiled_archives_are_refused(
    exported: Files, empty: Store, tmp_path: Path, spoil: Callable[[Files], Files], message: str
) -> None:
    bad = packed(spoil(exported), tmp_path / "bad.zip")
    with pytest.raises(InvalidArtifactError, match=f"'bad.zip' is not an exported audit, or damaged: .*{message}"):
        import_audit(empty, bad)
    assert empty.find() == []
    for folder in ("audits", "tables"):
        assert list((empty.home / folder).iterdir()) == []


def test_archives_that_unpack_to_too_much_are_refused(
    exported: Files, empty: Store, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (table,) = (name for name in exported if name.startswith("tables/"))
    pq.write_table(pa.table({"a": pa.array(np.zeros(5_000_001, dtype=np.int8))}), tmp_path / "long.parquet")
    long = packed(exported | {table: (tmp_path / "long.parquet").read_bytes()}, tmp_path / "long.zip")
    with pytest.raises(InvalidArtifactError, match="has 5,000,001 rows; at most 5,000,000 are read"):
        import_audit(empty, long)
    good = packed(exported, tmp_path / "good.zip")
    monkeypatch.setattr(archive, "_MAX_JSON", 1_000)
    with pytest.raises(InvalidArtifactError, match=r"json' in it unpacks to more than 1,000 bytes"):
        import_audit(empty, good)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: Mock(free=100))
    with pytest.raises(InvalidArtifactError, match=r"it unpacks to [\d,]+ bytes, and 100 are free"):
        import_audit(empty, good)
    monkeypatch.setattr(archive, "_MAX_BYTES", 1_000)
    with pytest.raises(InvalidArtifactError, match="it unpacks to more than 1,000 bytes"):
        import_audit(empty, good)
    assert empty.find() == []


def test_files_that_are_no_archive_are_refused(exported: Files, empty: Store, tmp_path: Path) -> None:
    flipped = bytearray(packed(exported, tmp_path / "good.zip").read_bytes())
    for position in range(100, len(flipped), len(flipped) // 7):
        flipped[position] ^= 0xFF
    (tmp_path / "flipped.zip").write_bytes(flipped)
    (tmp_path / "text.zip").write_text("not a zip")
    for name in ("flipped.zip", "text.zip"):
        with pytest.raises(InvalidArtifactError, match="is not an exported audit, or damaged"):
            import_audit(empty, tmp_path / name)
    with pytest.raises(CfadError, match="There is no file"):
        import_audit(empty, tmp_path / "nothing.zip")
    assert empty.find() == []


def test_a_table_swapped_in_an_archive_is_seen(exported: Files, empty: Store, tmp_path: Path) -> None:
    make_people(300, seed=9).to_parquet(tmp_path / "other.parquet")
    name = next(name for name in exported if name.startswith("tables/"))
    swapped = packed(exported | {name: (tmp_path / "other.parquet").read_bytes()}, tmp_path / "bad.zip")
    with pytest.raises(InvalidArtifactError, match="not the one that was audited"):
        import_audit(empty, swapped)
