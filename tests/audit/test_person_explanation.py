from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.explanation import explain
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.scoring import twin_rows
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.data.roles import ColumnRoles
from tests.audit.worlds import PCA, make_jobs, make_three
from tests.conftest import make_people


def test_it_is_what_the_report_says(measured: AuditResult) -> None:
    for method in ("ae", "lof"):
        report, scores = measured.report(method), measured.scores[method]
        likely = report.change_probability(report.threshold)
        for person in (0, 7, int(likely.argmax())):
            row = int(measured.people.row[person])
            found = measured.explain(row, method)
            assert (found.row, found.method, found.threshold) == (row, method, report.threshold)
            assert found.score == scores.factual[person]
            assert found.twin_scores == {"b" if found.group == "a" else "a": scores.counterfactual[person]}
            assert found.change_probability == likely[person]
            assert found.flagged == (scores.factual[person] > report.threshold)
            explained = explain(measured, method, measured.people.factual[[person]])
            assert explained is not None
            parts = {one.column: one.part for one in found.columns if not one.is_sensitive}
            assert parts == dict(zip(explained.variables, explained.parts[0].tolist(), strict=True))


def test_by_default_it_is_about_the_own_detector(measured: AuditResult, result: AuditResult) -> None:
    assert measured.explain(int(measured.people.row[0])).method == "lof"
    assert result.explain(int(result.people.row[0])).method == next(iter(result.scores))


def test_with_the_table_columns_are_its_own(mixed: AuditResult) -> None:
    table = make_jobs(500, seed=3)
    for row in mixed.people.row[:20].tolist():
        found = mixed.explain(row, table=table)
        twin = twin_rows(mixed, table.iloc[[row]]).rows.iloc[0]
        (other,) = found.twin_scores
        for one in found.columns:
            assert one.value == table[one.column].iloc[row]
            assert one.twins[other] == twin[one.column]
            assert one.moved == (one.value != one.twins[other])
        assert found.columns[0].is_sensitive
        assert found.columns[0].moved


def test_without_the_table_columns_are_remembered(mixed: AuditResult) -> None:
    table = make_jobs(500, seed=3)
    for row in mixed.people.row[:20].tolist():
        with_table, without = mixed.explain(row, table=table), mixed.explain(row)
        assert with_table.columns == without.columns  # in own units nothing is lost
        assert with_table.text == without.text


@pytest.mark.slow
def test_dates_whole_numbers_and_missing_cells_are_remembered() -> None:
    table = make_people(300, seed=1)
    rng = np.random.default_rng(0)
    table["age"] = rng.integers(18, 80, 300)
    table["born"] = pd.Timestamp("1970-01-01") + pd.to_timedelta(rng.integers(0, 9000, 300), unit="D")
    table.loc[rng.random(300) < 0.2, "schooling"] = np.nan
    table["job"] = rng.choice(["clerk", "smith"], 300)
    table.loc[rng.random(300) < 0.2, "job"] = None
    found = run_audit(table, ColumnRoles("group", label="fraud", anomaly="yes"), PCA)
    for row in found.people.row.tolist():
        cells = {one.column: one.value for one in found.explain(row).columns}
        assert cells["age"] == table["age"].iloc[row]
        assert isinstance(cells["age"], int)
        assert cells["born"] == str(table["born"].iloc[row].date())
        for name in ("job", "schooling"):
            cell = table[name].iloc[row]
            assert cells[name] == (None if pd.isna(cell) else cell)
    missing = int(np.flatnonzero(table["schooling"].iloc[found.people.row].isna())[0])
    assert "missing" in found.explain(int(found.people.row[missing]))._repr_html_()


def test_text_and_table_say_the_same(measured: AuditResult) -> None:
    report = measured.report("ae")
    person = int(report.change_probability(report.threshold).argmax())
    found = measured.explain(int(measured.people.row[person]), "ae")
    other = "b" if found.group == "a" else "a"
    assert found.text.startswith(f"The person in row {found.row} (counted from 0; group: {found.group}) scores ")
    assert f"Had they been {other}, they would score " in found.text
    assert f"with a probability of {100.0 * (found.change_probability or 0.0):.0f} %" in found.text
    assert f"is raised most by {found.reasons}" in found.text
    frame = found.to_frame()
    assert list(frame.columns) == ["value", f"if {other}", "part", "moved"]
    assert list(frame.index) == ["group", "schooling", "income", "debt"]
    assert frame["part"].sum() == pytest.approx(found.score)  # of a sum over columns
    assert found.parts_are == "sum"
    html = found._repr_html_()
    assert all(name in html for name in frame.index)
    assert "<script" not in html


def test_a_person_of_three_groups_has_two_twins(three: AuditResult) -> None:
    table = make_three(600, seed=0)
    seen = three.seen()
    row = int(three.people.row[3])
    found = three.explain(row, "ae", table=table)
    assert {found.group, *found.twin_scores} == {"a", "b", "c"}
    assert list(found.twin_scores.values()) == seen.scores["ae"].twins[:, 3].tolist()
    for group in found.twin_scores:
        assert {one.column: one.twins[group] for one in found.columns}["group"] == group
        pair = three.seen("group", (found.group, group)).explain(row, "ae", table=table)
        assert pair.twin_scores == {group: found.twin_scores[group]}
    assert found.text.count("had they been") == 1  # the first has a capital letter
    assert "twins differ in" in found.text
    assert "if " in found._repr_html_()


def test_two_attributes_may_change_at_once(crossed: AuditResult) -> None:
    row = int(crossed.people.row[0])
    both = crossed.seen("sex and region").explain(row)
    assert len(both.twin_scores) == 1
    assert [one.column for one in both.columns if one.is_sensitive] == ["sex", "region"]
    assert all(one.moved for one in both.columns if one.is_sensitive)
    alone = crossed.seen("sex").explain(row)
    assert [one.moved for one in alone.columns if one.is_sensitive] == [True, False]


def test_a_row_that_was_not_judged_is_refused(measured: AuditResult, three: AuditResult) -> None:
    trained = int(np.setdiff1d(np.arange(400), measured.people.row)[0])
    with pytest.raises(InvalidDataError, match=f"Row {trained} was not judged: an audit judges 100 rows.*people.row"):
        measured.explain(trained)
    with pytest.raises(InvalidDataError, match="Row -1 was not judged"):
        measured.explain(-1)
    pair = three.seen("group", ("a", "b"))
    other = int(three.people.row[three.groups["c"]][0])
    with pytest.raises(InvalidDataError, match=f"Row {other} is not among the .* rows of this view"):
        pair.explain(other)
    with pytest.raises(InvalidConfigError, match="The audit has no method 'x'; it has: ae, cfad, twin, surprise, lof"):
        measured.explain(int(measured.people.row[0]), "x")


def test_another_table_is_refused(measured: AuditResult) -> None:
    row = int(measured.people.row[-1])
    for table in (make_people(400, seed=1), make_people(400, seed=0).iloc[:row]):
        with pytest.raises(InvalidDataError, match="is not the row that was judged; give the table"):
            measured.explain(row, table=table)
    assert measured.explain(row, table=make_people(400, seed=0)).row == row


def test_without_the_detector_there_are_no_parts(measured: AuditResult, tmp_path: Path) -> None:
    save_audit(measured, tmp_path / "audit")
    loaded, row = load_audit(tmp_path / "audit"), int(measured.people.row[0])
    found = loaded.explain(row, "lof")
    assert found.parts_are is None
    assert {one.part for one in found.columns} == {None}
    assert "the detector is not saved with the audit" in found.text
    assert found.to_frame()["part"].isna().all()
    assert found._repr_html_()
    assert loaded.explain(row, "ae") == measured.explain(row, "ae")


def test_true_twins_decide_where_they_are_known(known: AuditResult) -> None:
    for person, row in enumerate(known.people.row[:20].tolist()):
        found = known.explain(row)
        truth = known.scores["pca"].truth
        assert truth is not None
        assert found.true_twin_score == truth[person]
        changes = found.flagged != (truth[person] > found.threshold)
        assert f"by their true twin, the outcome {'changes' if changes else 'does not change'}." in found.text


def test_a_person_whom_nobody_judged_has_no_probability(measured: AuditResult) -> None:
    people = measured.people
    few = replace(
        measured,
        people=replace(people, judged=people.judged[1:]),
        scores={name: replace(one, judged=one.judged[:, :, 1:]) for name, one in measured.scores.items()},
        stability=None,
    )
    found = few.explain(int(people.row[people.judged[0]]))
    assert found.change_probability is None
    assert "how likely the outcome changes was not measured" in found.text
    assert "n/a" in found._repr_html_()
