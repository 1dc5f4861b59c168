"""Tables that people are preparing outlive a reload and a restart, and go when they are not needed."""

from __future__ import annotations

import pandas as pd
import pytest
import sqlalchemy as sa

from cfad_core.data.tables import Tables
from cfad_core.runs import drafts
from cfad_core.runs.model import DRAFTS
from cfad_core.runs.store import Store
from tests.conftest import make_people
from tests.runs.conftest import TABLES, put


def stored(store: Store) -> set[str]:
    return {path.stem for path in (store.home / "tables").iterdir()}


def test_a_draft_is_there_in_another_program(store: Store) -> None:
    draft = store.keep_draft(TABLES, {"source": "people.csv"})
    assert draft is not None
    with Store(store.home, store.url) as again:
        found = again.kept_draft(draft)
    assert found is not None
    assert found.content == {"source": "people.csv"}
    pd.testing.assert_frame_equal(found.tables.table, TABLES.table)
    assert store.keep_draft(TABLES, {"source": "again"}, draft) == draft  # in its place
    changed = store.kept_draft(draft)
    assert changed is not None
    assert changed.content == {"source": "again"}


def test_nobody_guesses_or_misuses_an_id(store: Store) -> None:
    first, second = store.keep_draft(TABLES, {}), store.keep_draft(TABLES, {}, "../../etc")
    assert first is not None
    assert second is not None
    assert len({first, second}) == 2
    assert len(second) == 32
    for wrong in ("", "../../etc", "0" * 32):
        assert store.kept_draft(wrong) is None


def test_tables_stay_while_a_draft_or_an_audit_has_them(store: Store) -> None:
    audit, draft = put(store), store.keep_draft(TABLES, {})
    assert draft is not None
    other = store.keep_draft(Tables.of(make_people(50, seed=3)), {})
    store.delete(audit)
    assert TABLES.digest in stored(store)
    store.drop_draft(draft)
    store.recover(lambda _: True)
    assert len(stored(store)) == 1
    with store._engine.begin() as connection:
        connection.execute(sa.update(DRAFTS).values(changed=1.0))  # a week ago, and more
    store.recover(lambda _: True)
    assert stored(store) == set()
    assert other is not None
    assert store.kept_draft(other) is None


def test_drafts_take_bounded_room(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(drafts, "MOST_DRAFTS", 3)
    ids = [store.keep_draft(TABLES, {"k": k}) for k in range(5)]
    assert [store.kept_draft(str(one)) is not None for one in ids] == [False, False, True, True, True]
    monkeypatch.setattr(drafts, "MOST_CELLS", 10)
    assert store.keep_draft(TABLES, {}) is None
    (store.home / "tables" / f"{TABLES.digest}.parquet").unlink()
    assert store.kept_draft(str(ids[-1])) is None  # a table that is gone is no draft
