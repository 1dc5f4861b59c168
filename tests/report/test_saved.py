"""Saved audits and folders: what the store knows of them is in the report, and what it does not know is said."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pandas as pd
import pytest

from cfad_core.audit.folder import save_audit
from cfad_core.audit.statements import Statements
from cfad_core.core.errors import InvalidArtifactError, InvalidConfigError
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.report.subject import subject_of_folder, subject_of_saved
from cfad_core.runs.model import ChosenThreshold
from cfad_core.runs.store import Store
from tests.audit.older import write_older
from tests.audit.worlds import make_three, people_twins
from tests.conftest import make_people
from tests.report.kinds import Read, document, document_of, result_of, save, with_outsiders, with_rare_test

pytestmark = pytest.mark.slow  # small audits of every kind are made


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "home") as found:
        yield found


def read_saved(store: Store, audit: str, **more: Any) -> Read:
    made, statements = subject_of_saved(store, audit, **more)
    return Read.of(document(made, statements))


def test_rows_in_no_group_are_counted_by_value(store: Store) -> None:
    table = with_outsiders()
    audit = save(store, result_of("outsiders"), Tables.of(table))
    read = read_saved(store, audit)
    (left,) = read.table("data", "rows_left_out")
    assert (left["why"], left["of"], left["rows"]["value"]) == (
        *("their group is in no group that is compared", "the table"),
        int((~table["group"].isin(["a", "b"])).sum()),
    )
    rows = {row["value"]: row for row in read.table("groups", "outside")}
    assert {name: row["rows"]["value"] for name, row in rows.items()} == {"not known (no value)": 12, "z": 14}
    assert rows["z"]["share"]["value"] == 2.8
    assert read.field("data", "table_rows")["value"] == 500
    assert read.field("data", "table_columns")["value"] == 6
    assert read.field("data", "columns_ignored") == "note"
    assert read.field("data", "file") == "people.csv"
    assert "They are 25 % of the rows" in read.plain("data")


def test_few_rows_in_no_group_are_not_counted(store: Store) -> None:
    table = make_people(600, seed=0)
    table.loc[:6, "group"] = "rare"
    result = result_of("two")
    audit = save(
        store, dataclasses.replace(result, roles=dataclasses.replace(result.roles, groups=("a", "b"))), Tables.of(table)
    )
    rows = {row["value"]: row for row in read_saved(store, audit).table("groups", "outside")}
    assert rows["rare"]["rows"] == {"value": None, "shown": "<10"}
    assert rows["rare"]["share"] == {"value": None, "shown": "not shown"}
    assert rows["not known (no value)"]["rows"]["value"] == 0


def test_people_who_came_in_a_table_of_their_own(store: Store) -> None:
    tables = Tables.of(make_three(500, seed=0), with_rare_test())
    read = read_saved(store, save(store, result_of("rare"), tables))
    assert "They came in a table of their own." in read.plain("data")
    assert read.field("data", "table_rows")["value"] == len(with_rare_test())
    assert "--test TEST" in _command(read)
    assert "--test-counterfactual" not in _command(read)


def _command(read: Read) -> str:
    return str(next(block["text"] for block in read.section("repeat")["content"] if block["type"] == "code"))


def test_true_twins_are_given_again(store: Store) -> None:
    test = make_people(80, seed=1)
    tables = Tables.of(make_people(300, seed=0), test, people_twins(test))
    assert "--test TEST --test-counterfactual TWINS" in _command(
        read_saved(store, save(store, result_of("known"), tables))
    )


def test_missing_cells_by_column(store: Store) -> None:
    result = result_of("two")
    finding = dataclasses.replace(result.notices[0], code="missing", column="income", count=60, message="m")
    made = dataclasses.replace(result, notices=(*result.notices, finding))
    audit = save(store, made, Tables.of(make_people(600, seed=0)))
    (row,) = read_saved(store, audit).table("data", "missing")
    assert (row["column"], row["cells"]["value"], row["share"]["value"]) == ("income", 60, 10.0)


def test_the_threshold_that_was_saved(store: Store) -> None:
    result = result_of("two")
    audit = save(store, result, Tables.of(make_people(600, seed=0)))
    assert read_saved(store, audit).field("threshold", "rule") == "the score that 5 % of the people learned from exceed"
    value = result.report("pca").threshold * 0.9
    store.choose_threshold(audit, ChosenThreshold("pca", "investigations", value, count=20))
    read = read_saved(store, audit)
    assert read.field("threshold", "rule") == "as saved, 20 investigations"
    assert read.field("threshold", "value")["shown"] == f"{value:.4g}"
    assert read.field("threshold", "capacity")["value"] == 20
    assert read.field("system", "detector") == "PCA"
    other = read_saved(store, audit, method="ae")
    assert other.field("threshold", "rule") == "the score that 5 % of the people learned from exceed"
    assert "capacity" not in other.keys("threshold")
    with pytest.raises(InvalidConfigError):
        subject_of_saved(store, audit, "nothing")


def test_statements_come_with_the_audit(store: Store) -> None:
    audit = save(store, result_of("known"), Tables.of(make_people(300, seed=0)))
    store.state(audit, Statements(system="Sonar", auditor="A. Uditor"))
    read = read_saved(store, audit)
    assert read.whole["title"] == "Audit report: Sonar"
    assert read.whole["audit"] == f"Saved ({audit})"
    assert read.field("auditor", "audit_finished").endswith(" UTC")
    assert read.field("repeat", "audit_id") == audit


def test_every_other_audit_of_the_table_is_listed(store: Store) -> None:
    result, tables = result_of("unlabelled"), Tables.of(make_people(400, seed=0).drop(columns="fraud"))
    audit = save(store, result, tables)
    alone = read_saved(store, audit)
    assert "The store knows no other audit of this table." in alone.plain("others")
    assert alone.field("summary", "others") == "none"
    assert "was not planned beforehand" in alone.plain("others")
    assert alone.field("others", "planned") == "no"
    second = save(store, dataclasses.replace(result, config=result.config.replace(seed=5)), tables, "=Second|")
    gone = save(store, result, tables, "Gone")
    store.delete(gone)
    store.create(tables, ColumnRoles("group"), result.config, name="Waiting")
    filtered = Tables.of(tables.table.iloc[:300])
    store.create(filtered, ColumnRoles("group"), result.config, name="Filtered")
    read = read_saved(store, audit)
    assert (
        "Besides this audit, the store knows 3 audits of the same table, 2 of them with a result; 1 was deleted since."
        in read.plain("others")
    )
    rows = read.table("others", "audits")
    assert [row["audit"].split(" (")[0] for row in rows] == ["'=Second|", "Gone", "Waiting", "Filtered"]
    assert [row["relation"] for row in rows] == [*["same tables"] * 3, "same columns"]
    assert rows[0]["settings"] == "seed 5 instead of 0"
    assert rows[0]["verdict"] == f"PCA: {result.report('pca').verdict}"
    assert "deleted" in rows[1]["status"]
    assert rows[2]["verdict"] == "none"
    assert read.field("summary", "others") == "3, listed in this report"
    assert second in rows[0]["audit"]


def test_a_planned_audit_says_so(store: Store) -> None:
    result, tables = result_of("unlabelled"), Tables.of(make_people(400, seed=0).drop(columns="fraud"))
    save(store, result, tables, "Before")
    audit = store.plan(tables, result.roles, result.config, name="Planned", by="Ada", expectation="At most 2 %.")
    made, _ = subject_of_saved(store, save(store, result, tables))
    record = store.get(audit)
    planned = Read.of(document(dataclasses.replace(made, plan=record.plan, sealed=True)))
    assert planned.field("others", "planned_by") == "Ada"
    assert planned.field("others", "expectation") == "At most 2 %."
    assert planned.field("others", "seal_holds").startswith("yes")
    assert planned.field("summary", "planned").startswith("yes, 20")
    assert "When this audit was planned, 1 result about this table" in planned.plain("others")
    broken = Read.of(document(dataclasses.replace(made, plan=record.plan, sealed=False)))
    assert broken.field("others", "seal_holds").startswith("NO")
    assert broken.field("summary", "planned") == "NO: what was sealed is not what was run"
    assert record.plan is not None
    early = dataclasses.replace(record.plan, at=time.time() - 86_400.0)
    first = Read.of(document(dataclasses.replace(made, plan=early, sealed=True)))
    assert "the store held no result about this table" in first.plain("others")


def test_a_folder_says_what_it_cannot_know(tmp_path: Path) -> None:
    save_audit(result_of("known"), tmp_path / "my audit")
    audit = subject_of_folder(tmp_path / "my audit")
    assert (audit.name, audit.id, audit.others, audit.has_test_table) == ("my audit", "", None, None)
    assert audit.content == (tmp_path / "my audit" / "audit.json").read_bytes()
    read = Read.of(document(audit))
    assert read.whole["audit"] == "my audit"
    assert "there is no store in which other audits of the table could be looked up" in read.plain("others")
    for section in ("others", "summary"):
        assert read.field(section, "planned") == "not known: this audit is in no store"
    assert read.field("summary", "others").startswith("not known")
    assert read.field("data", "file") == "not known"
    assert read.field("auditor", "audit_finished") == "not known"
    assert subject_of_folder(tmp_path / "my audit", "iforest").method == "iforest"
    with pytest.raises(InvalidConfigError):
        subject_of_folder(tmp_path / "my audit", "nothing")
    with pytest.raises(InvalidArtifactError):
        subject_of_folder(tmp_path)


def test_a_table_that_is_gone_is_an_error_in_words(store: Store) -> None:
    audit = save(store, result_of("known"), Tables.of(make_people(300, seed=0)))
    store.table_path(store.get(audit).tables["table"]).unlink()
    with pytest.raises(InvalidArtifactError, match="missing or damaged"):
        subject_of_saved(store, audit)


def test_rows_in_no_group_of_a_folder_are_not_called_nobody() -> None:
    read = Read.of(document_of("outsiders"))
    assert read.items("groups") == [
        "Some rows are in no group (see the data); how many of them have no value was not kept with this audit."
    ]
    assert read.table("data", "rows_left_out")[0]["rows"]["value"] == 26


@pytest.mark.parametrize(
    ("kind", "schema", "judges"), [("two", 4, "4 causal models, each"), ("unlabelled", 2, "1 causal model,")]
)
def test_an_audit_of_an_older_schema(tmp_path: Path, kind: str, schema: Literal[2, 4], judges: str) -> None:
    """Additive twins, no tests of the causal model: nothing of it is pretended."""
    write_older(result_of(kind), tmp_path / "old", schema)
    audit = subject_of_folder(tmp_path / "old")
    made = document(audit)
    read = Read.of(made)
    assert audit.result.is_of_older_engine
    assert any("made by an older version" in text for text in read.items("limits", "What the audit noted"))
    assert read.field("counterfactual", "reliable").startswith("unknown: the model was not tested")
    assert f"{judges} learned from a random half of the rows" in read.plain("counterfactual")
    assert "additive" in read.plain("counterfactual")
    assert "bounds" not in read.keys("counterfactual")
    ratio = audit.result.report(audit.method).metrics.changing_ratio
    assert read.field("counterfactual", "changing_ratio")["value"] == float(f"{100.0 * (ratio or 0.0):.1f}")
    assert len(made.slides) == 5


def test_the_table_of_the_judged_people_is_the_one_that_is_described(store: Store) -> None:
    """Also where values are numbers, or more than there is room for."""
    table = make_people(600, seed=0)
    others = pd.Series([f"g{k % 15}" for k in range(60)])
    table["group"] = pd.concat([others, table["group"].iloc[60:]], ignore_index=True)
    result = result_of("two")
    roles = dataclasses.replace(result.roles, groups=("a", "b"))
    audit = save(store, dataclasses.replace(result, roles=roles), Tables.of(table))
    rows = read_saved(store, audit).table("groups", "outside")
    assert len(rows) == 1 + 12 + 1
    assert rows[-1]["value"] == "all other values"
    assert rows[-1]["rows"]["value"] == 12
