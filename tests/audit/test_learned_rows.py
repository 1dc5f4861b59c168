from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from cfad_core.audit.folder import load_audit, save_audit, summary
from cfad_core.audit.learned_rows import MOST_LEARNED, learned_rows, with_learned_rows
from cfad_core.audit.prepare import AuditRows, prepare
from cfad_core.audit.run import run_audit
from cfad_core.core.config import AuditConfig
from cfad_core.data.tables import Tables
from tests.audit.worlds import PCA, ROLES, codes
from tests.conftest import make_people


def test_a_table_that_is_not_large_is_learned_whole() -> None:
    assert np.array_equal(learned_rows(np.zeros(MOST_LEARNED, dtype=np.int64), 0), np.arange(MOST_LEARNED))


def test_every_stratum_keeps_its_share_and_small_ones_enough() -> None:
    strata = np.repeat([0, 1, 2, 3], [600_000, 390_000, 9_700, 300])[np.random.default_rng(0).permutation(1_000_000)]
    rows = learned_rows(strata, 0)
    assert (np.diff(rows) > 0).all()
    assert np.bincount(strata[rows]).tolist() == [30_000, 19_500, 500, 300]
    assert np.array_equal(learned_rows(strata, 0), rows)
    assert not np.array_equal(learned_rows(strata, 1), rows)


def test_many_small_strata_do_not_outgrow_the_bound() -> None:
    strata = np.random.default_rng(0).integers(0, 400, 200_000)
    assert len(learned_rows(strata, 0, most=10_000)) == pytest.approx(10_000, rel=0.05)


def test_a_large_table_says_what_was_learned_from() -> None:
    data = prepare(Tables.of(make_people(600, seed=0)), ROLES, AuditConfig())
    assert with_learned_rows(data, 0) is data
    some = with_learned_rows(data, 0, most=200)
    assert len(some.train) == len(some.train_rows) == len(some.train_is_normal) == pytest.approx(200, abs=20)
    assert np.array_equal(some.test, data.test)
    where = {row: k for k, row in enumerate(data.train_rows)}
    assert np.array_equal(some.train, data.train[[where[row] for row in some.train_rows]])
    assert [one.code for one in some.notices if one not in data.notices] == ["rows-sampled"]
    assert f"Models learn from {len(some.train):,} of the 450 training rows" in some.notices[-1].message


def test_an_audit_of_a_large_table_keeps_both_numbers(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    def few(data: AuditRows, seed: int) -> AuditRows:
        return with_learned_rows(data, seed, most=200)

    monkeypatch.setattr("cfad_core.audit.run.with_learned_rows", few)
    found = run_audit(make_people(600, seed=0), ROLES, PCA)
    made = found.provenance
    assert made.n_train == 450 > made.n_learned == pytest.approx(200, abs=20)
    assert made.n_train_normal > made.n_learned_normal == len(found.scores["pca"].train)
    assert "rows-sampled" in codes(found)
    save_audit(found, tmp_path / "audit")
    assert summary(found)["n_learned"] == made.n_learned
    again = load_audit(tmp_path / "audit").provenance
    assert (again.n_learned, again.n_learned_normal) == (made.n_learned, made.n_learned_normal)
