"""Rows of people are the same, however they are come by."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cfad_core.audit import encoded
from cfad_core.audit import folder as folders
from cfad_core.audit.encoded import EncodedRows, SavedRows
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import InvalidArtifactError


@pytest.fixture(params=[7, 20_000], ids=["small row groups", "one row group"])
def saved(request: pytest.FixtureRequest, three: AuditResult, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(folders, "ROW_GROUP", request.param)
    save_audit(three, tmp_path / "audit")
    return tmp_path / "audit"


def test_rows_in_files_are_those_in_memory(three: AuditResult, saved: Path) -> None:
    rows, n = three.people.encoded, len(three.people.row)
    found = SavedRows(saved, n, "")
    assert (found.factual == rows.factual).all()
    assert (found.twins == rows.twins).all()
    assert found.truth is None
    fresh = SavedRows(saved, n, "")
    for some in ([0], [n - 1], [5, 3, 3, n - 2], list(range(n)), []):
        people = np.array(some, dtype=np.intp)
        own, read = rows.some(people), fresh.some(people)
        assert isinstance(own, EncodedRows)
        assert (read.factual == own.factual).all()
        assert (read.twins == own.twins).all()
        assert read.twins.shape == (len(rows.twins), len(some), rows.factual.shape[1])


def test_rows_of_a_view_are_those_of_its_people(three: AuditResult, saved: Path) -> None:
    opened = load_audit(saved)
    name = three.plan.comparisons[0].name
    for pair in (None, three.plan.comparisons[0].groups[:2], three.plan.comparisons[0].groups[1:]):
        mine, theirs = (one.seen(name, pair).people for one in (three, opened))  # type: ignore[arg-type]
        assert (theirs.codes == mine.codes).all()
        people = np.array([4, 0, 2])
        some = theirs.encoded.some(people)
        assert (some.factual == mine.factual[people]).all()
        assert (some.twins == mine.twins[:, people]).all()
        assert (theirs.twins == mine.twins).all()


def test_files_that_do_not_fit_are_refused_at_once_and_damaged_ones_when_they_are_read(saved: Path) -> None:
    opened = load_audit(saved)
    content = (saved / "counterfactual.parquet").read_bytes()
    (saved / "counterfactual.parquet").write_bytes(content[:4] + bytes(200) + content[204:])
    with pytest.raises(InvalidArtifactError, match=r"'counterfactual.parquet' is damaged"):
        _ = opened.people.twins
    (saved / "counterfactual.parquet").write_bytes((saved / "people.parquet").read_bytes())
    (saved / "factual.parquet").write_bytes((saved / "people.parquet").read_bytes()[:500])
    with pytest.raises(InvalidArtifactError):
        load_audit(saved)


def test_an_audit_of_nobody_has_no_rows(tmp_path: Path) -> None:
    import pandas as pd

    for name in ("factual", "counterfactual"):
        pd.DataFrame({"S": [], "x": []}, dtype=np.float64).to_parquet(tmp_path / f"{name}.parquet")
    assert encoded.saved_codes(tmp_path, 0, "").shape == (0,)
