"""Signed reports: written once, whole, one after the other; and what was changed afterwards is seen."""

from __future__ import annotations

import hashlib
import json
import os
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from cfad_core.audit.folder import save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError
from cfad_core.runs.archive import export_audit
from cfad_core.runs.signed import Files, Signature, altered, copy_folder, sign, signatures
from cfad_core.runs.store import Store
from tests.runs.conftest import claim, finish, put


def files(version: int, at: float) -> Files:
    return {"report.json": json.dumps({"version": version, "at": at}).encode(), "report.html": b"<p>report</p>"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Of an audit."""
    made = tmp_path / "audit"
    made.mkdir()
    return made


def test_a_signed_report_says_its_own_version_and_time(folder: Path) -> None:
    assert signatures(folder) == ()
    first = sign(folder, files, " Ada Lovelace ", "internal audit")
    second = sign(folder, files, "Grace Hopper")
    assert [(one.version, one.signer, one.role) for one in signatures(folder)] == [
        *((1, "Ada Lovelace", "internal audit"), (2, "Grace Hopper", ""))
    ]
    assert signatures(folder) == (first, second)
    place = copy_folder(folder, 1)
    assert sorted(path.name for path in place.iterdir()) == ["report.html", "report.json", "signature.json"]
    assert json.loads((place / "report.json").read_text()) == {"version": 1, "at": first.at}
    assert first.digest == hashlib.sha256((place / "report.json").read_bytes()).hexdigest()
    assert Signature.from_dict(json.loads((place / "signature.json").read_text())) == first
    assert altered(folder, first) == altered(folder, second) == ()
    assert os.access(place, os.R_OK | os.X_OK)


def test_people_who_sign_at_once_get_a_version_each(folder: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda k: sign(folder, files, f"Signer {k}"), range(8)))
    assert sorted(one.version for one in made) == list(range(1, 9))
    assert signatures(folder) == tuple(sorted(made, key=lambda one: one.version))
    for one in made:
        assert altered(folder, one) == ()
        assert json.loads((copy_folder(folder, one.version) / "report.json").read_text())["version"] == one.version


def test_what_cannot_be_signed_leaves_nothing(folder: Path) -> None:
    def breaks(version: int, at: float) -> Files:
        raise CfadError("No chromium.")

    wrong: list[tuple[Any, str, str, str]] = [
        (files, " ", "", "A signature needs a name"),
        (files, "x" * 201, "", "the signer's name on one line of at most 200 characters"),
        (files, "Ada\nLovelace", "", "the signer's name on one line"),
        (files, "Ada", "a\nb", "the signer's role on one line"),
        (lambda *_: {"report.html": b""}, "Ada", "", "Expected 'report.json' among the files"),
        (lambda *_: {"report.json": b"", "../evil.json": b""}, "Ada", "", "cannot have a file '../evil.json'"),
        (lambda *_: {"report.json": b"", "signature.json": b""}, "Ada", "", "cannot have a file 'signature.json'"),
    ]
    for made, signer, role, message in wrong:
        with pytest.raises(InvalidDataError, match=message):
            sign(folder, made, signer, role)
    with pytest.raises(CfadError, match="No chromium"):
        sign(folder, breaks, "Ada")
    assert signatures(folder) == ()
    assert not (folder / "signed").exists()
    with pytest.raises(InvalidArtifactError, match="There is no audit in"):
        sign(folder / "nothing", files, "Ada")
    assert not (folder / "nothing").exists()


def test_what_was_changed_afterwards_is_seen(folder: Path) -> None:
    one = sign(folder, files, "Ada")
    place = copy_folder(folder, 1)
    (place / "report.html").write_text("<p>prettier</p>")
    assert altered(folder, one) == ("report.html",)
    (place / "report.json").unlink()
    (place / "another.pdf").write_bytes(b"x")
    assert altered(folder, one) == ("report.html", "report.json", "another.pdf")


DAMAGED: list[Any] = [
    *("", "no json", "[]", "{}", "[" * 100_000),
    *({"version": 2}, {"version": 0}, {"version": 1.5}, {"at": None}, {"signer": ""}, {"signer": "a\nb"}),
    *({"digest": "0" * 64}, {"files": {}}, {"files": {"../x.json": "0" * 64}}, {"files": {"report.json": "x"}}),
    *({"evil": 1}, {"damage": "none"}),
]


@pytest.mark.parametrize("damaged", DAMAGED, ids=lambda one: str(one)[:30])
def test_damaged_signatures_are_reported_as_damaged(folder: Path, damaged: Any) -> None:
    good, bad = sign(folder, files, "Ada"), sign(folder, files, "Grace")
    content = damaged if isinstance(damaged, str) else json.dumps(good.to_dict() | damaged)
    (copy_folder(folder, 1) / "signature.json").write_text(content)
    first, second = signatures(folder)
    assert second == bad
    assert (first.version, first.signer) == (1, "")
    assert first.damage.startswith("The signature is damaged: ")
    assert altered(folder, first) == ("signature.json",)


def test_half_written_copies_are_damaged_and_their_versions_are_not_given_again(folder: Path) -> None:
    (folder / "signed" / "0001").mkdir(parents=True)
    (folder / "signed" / "0001" / "report.json").write_text("{}")
    (folder / "signed" / ".staged-killed").mkdir()
    (folder / "signed" / "notes").mkdir()
    assert sign(folder, files, "Ada").version == 2
    assert [one.damage != "" for one in signatures(folder)] == [True, False]
    assert not (folder / "signed" / ".staged-killed").exists()
    (folder / "signed" / "9999").mkdir()
    with pytest.raises(InvalidDataError, match="9,999 signed reports"):
        sign(folder, files, "Ada")


def test_signed_reports_of_the_store(store: Store, result: AuditResult, tmp_path: Path) -> None:
    audit = finish(store, result)
    assert store.signatures(audit) == ()
    one = store.sign(audit, files, "Ada", "vendor")
    save_audit(result, store.folder(audit))  # as an audit that is answered anew
    assert store.signatures(audit) == (one,)
    with pytest.raises(InvalidArtifactError, match="is queued; only an audit that is done"):
        store.sign(put(store), files, "Ada")
    with pytest.raises(InvalidArtifactError, match="There is no audit 'nothing'"):
        store.signatures("nothing")
    (copy_folder(store.folder(audit), 1) / "report.html").write_text("prettier")
    with pytest.raises(InvalidArtifactError, match="cannot be exported: signed report 1 is not as it was signed: repo"):
        export_audit(store, audit, tmp_path / "audit.zip")
    assert not (tmp_path / "audit.zip").exists()
    store.delete(audit)
    assert not store.folder(audit).exists()


def test_a_run_that_is_lost_leaves_signed_reports(store: Store) -> None:
    audit = put(store)
    claim(store, audit=audit)
    place = store.folder(audit)
    (place / "pending").mkdir(parents=True)
    (place / "audit.json").write_text("")
    one = sign(place, files, "Ada")  # of an earlier run
    assert store.recover(lambda _: False) == [audit]
    assert store.signatures(audit) == (one,)
    assert altered(place, one) == ()
    assert {path.name for path in place.iterdir()} <= {"signed", ".signed.lock"}
    store.requeue(audit)
    assert store.signatures(audit) == (one,)
