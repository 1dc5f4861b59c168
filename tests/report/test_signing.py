"""Signed reports: copies of all files that are never changed again."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from cfad_core.audit.statements import Statements
from cfad_core.core.errors import CfadError, InvalidDataError
from cfad_core.data.tables import Tables
from cfad_core.report import signing
from cfad_core.report.making import FILES, FORMATS
from cfad_core.report.signing import sign_report
from cfad_core.report.subject import subject_of_saved
from cfad_core.runs.signed import altered
from cfad_core.runs.store import Store
from tests.conftest import make_people
from tests.report.kinds import result_of, save, subject_of


def files_of(folder: Path) -> dict[str, str]:
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


@pytest.mark.slow
def test_two_versions_are_kept_beside_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Store(tmp_path / "home") as store:
        audit = save(store, result_of("known"), Tables.of(make_people(300, seed=0)))
        store.state(audit, Statements(system="Sonar", misuse="none known"))
        first = sign_report(store, *subject_of_saved(store, audit), None, " A. Uditor ", "head of audit")
        place = store.folder(audit) / "signed"
        before = files_of(place / "0001")
        monkeypatch.setattr(signing, "FORMATS", ("json", "model-card"))  # the PDF takes its time, and was made once
        store.state(audit, Statements(system="Sonar", misuse="to punish"))
        second = sign_report(store, *subject_of_saved(store, audit), None, "B. Oss")
        assert (first.version, second.version) == (1, 2)
        assert files_of(place / "0001") == before
        assert store.signatures(audit) == (first, second)
        assert [altered(store.folder(audit), one) for one in (first, second)] == [(), ()]
        assert set(first.files) == {*(FILES[name] for name in FORMATS), "audit.json"}
        assert {name: sha for name, sha in before.items() if name != "signature.json"} == dict(first.files)
        assert first.digest == before["report.json"] != second.digest
        assert (place / "0001" / "audit.json").read_bytes() == (store.folder(audit) / "audit.json").read_bytes()
        assert (place / "0001" / "report.pdf").read_bytes().startswith(b"%PDF")
        texts = [json.loads((place / version / "report.json").read_text("utf-8")) for version in ("0001", "0002")]
        assert [one["signed"]["version"] for one in texts] == [1, 2]
        assert texts[0]["signed"] == {
            **{"signer": "A. Uditor", "role": "head of audit", "version": 1},
            "at": texts[0]["made"],
        }
        assert "none known" in json.dumps(texts[0])
        assert "to punish" in json.dumps(texts[1])
        assert first.digest in (place / "0001" / "model_card.md").read_text("utf-8")


def test_nobody_signs_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Before anything is made; and what is in no store cannot be signed."""
    monkeypatch.setattr(signing, "make_document", lambda *_, **__: pytest.fail("made for nobody"))
    with Store(tmp_path / "home") as store:
        audit = save(store, result_of("known"), Tables.of(make_people(300, seed=0)))
        made, said = subject_of_saved(store, audit)
        for signer in ("", "  ", "a\nb", "x" * 201, "\u202eevil"):
            with pytest.raises(InvalidDataError):
                sign_report(store, made, said, None, signer)
        assert store.signatures(audit) == ()
        with pytest.raises(CfadError):
            sign_report(store, subject_of("known"), Statements(), None, "A. Uditor")
