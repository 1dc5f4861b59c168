"""Every page in every state, without a browser."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import sqlalchemy as sa
import streamlit as st
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.comparison import same_but_seed
from cfad_core.apps.dashboard.knowledge import graph_file
from cfad_core.apps.dashboard.roles_editor import merge_alike
from cfad_core.apps.dashboard.tables import verdict
from cfad_core.apps.dashboard.text import as_text
from cfad_core.audit.folder import save_audit
from cfad_core.audit.run import run_audit
from cfad_core.causal.exchange import FORMATS, knowledge_to_json, read_graph
from cfad_core.core.config import (
    DEFAULT_METHODS,
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    FairodConfig,
    Knowledge,
)
from cfad_core.data import roles as roles_module
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.detectors.registry import METHODS, label_of
from cfad_core.paper.experiments import SENSITIVITY
from cfad_core.paper.published import published
from cfad_core.runs.model import AUDITS, ChosenThreshold, Report, headline
from cfad_core.runs.store import Store
from tests.conftest import make_people

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py"))
RESULT_PAGES = [
    name for name in PAGES if "frame.finished_audit()" in (ROOT / "pages" / name).read_text(encoding="utf-8")
]
ROLES = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")
QUICK = AuditConfig(subsamples=0, detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64))
FULL = QUICK.replace(
    subsamples=4,
    methods=tuple(METHODS),
    baselines=BaselineConfig(
        iforest_trees=5,
        dcfod=DcfodConfig(widths=(8,), code_size=2, epochs=1),
        fairod=FairodConfig(steps=5, candidates=()),
    ),
)
HOSTILE = "![x](http://evil.example/a.png) <script>alert(1)</script> **b** :red[r] $x$"


def people(n: int = 400):
    table = make_people(n, seed=0)
    rng = np.random.default_rng(0)
    return table.assign(job=rng.choice(["clerk", "nurse", "smith"], n), age=rng.integers(18, 80, n))


def finish(store: Store, table: pd.DataFrame, roles: ColumnRoles, config: AuditConfig, name: str) -> str:
    audit = store.create(Tables.of(table), roles, config, name=name, source="people.csv")
    store.claim("test", audit)
    result = run_audit(store.request(audit).tables.table, roles, config)
    save_audit(result, store.folder(audit))
    store.finish(audit, headline(result))
    return audit


@pytest.fixture(scope="module")
def finished_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with two finished audits: with all methods, labels and how sure it is; without labels, with three."""
    home = tmp_path_factory.mktemp("finished") / "home"
    ids = []
    with Store(home) as store:
        for table, roles, config, name in (
            (people(), ROLES, FULL, "With labels"),
            (people().drop(columns="fraud"), ColumnRoles("group", groups=("a", "b")), QUICK, "Without labels"),
        ):
            ids.append(finish(store, table, roles, config, name))
    return home, ids[0], ids[1]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty store that nobody works for."""
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CFAD_WORKERS", "0")
    st.cache_resource.clear()
    st.cache_data.clear()
    yield tmp_path / "home"
    st.cache_resource.clear()


@pytest.fixture
def done(home: Path, finished_home: tuple[Path, str, str]) -> tuple[str, str]:
    """The store with finished audits; their ids."""
    shutil.copytree(finished_home[0], home)
    return finished_home[1:]


def visit(page: str = "app.py", **query: str) -> AppTest:
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=30)
    app.run()
    assert not app.exception
    if page != "app.py":
        app.switch_page(f"pages/{page}")
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    return app


def said(app: AppTest) -> str:
    """Everything that a page says in words."""
    kinds = ("title", "subheader", "markdown", "caption", "info", "warning", "error", "success")
    return "\n".join(str(element.value) for kind in kinds for element in getattr(app, kind))


def test_home_with_nothing_yet(home: Path) -> None:
    app = visit()
    assert "Would the detector have flagged the same person" in said(app)
    assert "None yet" in said(app)
    assert {button.label for button in app.button} >= {"Run the demo audit", "Try the sample table"}


@pytest.mark.parametrize("page", PAGES)
def test_every_page_with_nothing_yet(home: Path, page: str) -> None:
    app = visit(page)
    assert not app.exception
    expected = {
        "1_Data.py": "Upload a table, or pick a data set, to begin.",
        "2_Train.py": "There is no table to train on yet: bring one, and say what its columns are for.",
        "8_Saved_audits.py": "No audit is saved here yet.",
    }
    assert [box.value for box in app.info] == [expected.get(page, "There is no audit to show yet.")]


@pytest.mark.parametrize("page", PAGES)
def test_every_page_with_a_finished_audit(done: tuple[str, str], page: str) -> None:
    for audit in done:
        app = visit(page, audit=audit)
        assert not app.exception, app.exception
        assert not app.error
        if page in RESULT_PAGES:
            assert "sensitive: group" in said(app)


def test_home_lists_audits(done: tuple[str, str]) -> None:
    app = visit()
    assert app.dataframe[0].value["name"].tolist() == ["Without labels", "With labels"]
    without, measured = app.dataframe[0].value["verdict"]
    assert "By the one graph of the audit" in without
    assert "the uncertainty was not measured" in without
    assert "with CFAD, had they belonged to the other group" in measured


def test_the_verdict_of_older_audits_is_made_of_their_numbers(home: Path) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name="Old", source="people.csv")
        store.claim("test", audit)
        numbers = {"n": 100, "changing_ratio_independent": 0.125}
        store.finish(audit, {"pca": numbers, "ae": numbers, "cfad": numbers | {"changing_ratio_independent": None}})
        record = store.get(audit)
    assert verdict(record) == "outcome changes for AE 12.5 % of 100 people"
    without = dataclasses.replace(record, metrics={"pca": numbers | {"verdict": "First."}, "ae": numbers})
    assert verdict(without) == "First."
    assert verdict(dataclasses.replace(record, metrics=None)) == ""


def without_groups(store: Store, audit: str) -> None:
    """As an older version stored it: the two groups were left to the table."""
    older = dataclasses.replace(ROLES, groups=None)
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == audit).values(roles=json.dumps(older.to_dict())))


def test_the_heading_of_an_audit_without_groups_has_no_empty_parentheses(home: Path) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name="Old", source="people.csv")
        assert "sensitive: group (a and b) · people" in said(visit("2_Train.py", audit=audit))
        without_groups(store, audit)
    assert "sensitive: group · people" in said(visit("2_Train.py", audit=audit))


def test_an_audit_without_groups_is_compared_by_those_of_its_table(home: Path) -> None:
    with Store(home) as store:
        tables = Tables.of(people())
        swapped = dataclasses.replace(ROLES, groups=("b", "a"))
        audits = [
            store.create(tables, roles, QUICK.replace(seed=seed), name="One")
            for seed, roles in enumerate((ROLES, ROLES, swapped))
        ]
        for audit in audits:
            store.claim("test", audit)
            store.finish(audit, {})
        without_groups(store, audits[0])
        assert [record.id for record in same_but_seed(store.get(audits[0]))] == audits[:2]
        assert [record.id for record in same_but_seed(store.get(audits[1]))] == [audits[1], audits[0]]


@pytest.mark.parametrize("page", [*RESULT_PAGES, "2_Train.py"])
def test_a_bad_id_in_the_address(done: tuple[str, str], page: str) -> None:
    app = visit(page, audit="nonsense<b>")
    assert not app.exception
    assert "There is no audit" in app.error[0].value
    assert "mistyped" in app.error[0].value
    assert "<b>" not in app.error[0].value


@pytest.mark.parametrize("page", [*RESULT_PAGES, "2_Train.py"])
@pytest.mark.parametrize("status", ["queued", "running", "failed", "cancelled", "interrupted"])
def test_pages_of_an_audit_that_has_no_result(home: Path, page: str, status: str) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name=HOSTILE, source="people.csv")
        if status != "queued":
            store.claim("somebody elsewhere:1:1", audit)
            store.report(audit, Report("discovery", 1, 20, {"loss": 2.0, "h": 0.1, "edges": 3.0}), 0.1)
            store.report(audit, Report("discovery", 2, 20, {"loss": 1.0, "h": 0.01, "edges": 3.0}), 0.2)
        if status not in ("queued", "running"):
            store.stop(audit, status, f"What happened: {HOSTILE}", "details")
    app = visit(page, audit=audit)
    assert not app.exception, app.exception
    assert "![x](http" not in said(app)  # names are text, not Markdown
    buttons = {button.label for button in app.button}
    if status in ("queued", "running"):
        assert ("Cancel the audit" in buttons) == (page == "2_Train.py")
    else:
        assert "Start it again" in buttons
        app.button(key=f"again-{audit}").click().run()
        with Store(home) as store:
            assert store.get(audit).status == "queued"


def test_cancelling_from_the_page(home: Path) -> None:
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, QUICK, name="One", source="people.csv")
    app = visit("2_Train.py", audit=audit)
    app.button(key=f"cancel-{audit}").click().run()
    with Store(home) as store:
        assert store.get(audit).status == "cancelled"


def test_from_the_sample_to_the_queue(home: Path) -> None:
    app = visit()
    next(button for button in app.button if button.label == "Try the sample table").click().run()
    assert not app.exception, app.exception
    assert "800 rows, 15 columns" in said(app).replace("\\", "")
    assert "8 of 800 rows are left out" in said(app).replace("\\", "")
    next(button for button in app.button if button.label == "Continue").click().run()
    assert not app.exception, app.exception
    assert [title.value for title in app.title] == ["Train"]
    next(button for button in app.button if button.label == "Start the audit").click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        (record,) = store.find()
    assert record.status == "queued"
    assert record.roles == ColumnRoles(
        "gender", groups=("female", "male"), label="fraud", anomaly="yes", ignore=("claim_id", "reported_on", "remark")
    )
    assert record.config.knowledge.roots == ("age",)
    assert app.query_params["audit"] == record.id


def test_an_upload(home: Path) -> None:
    app = visit("1_Data.py")
    table = people(200).rename(columns={"income": HOSTILE})
    app.file_uploader[0].set_value(("people.csv", table.to_csv(index=False).encode(), "text/csv")).run()
    assert not app.exception, app.exception
    assert "200 rows, 7 columns" in said(app).replace("\\", "")
    assert "![x](http" not in said(app)
    next(button for button in app.button if button.label == "Continue").click().run()
    assert "Start the audit" in {button.label for button in app.button}


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("t.csv", b"", "is empty"),
        ("t.csv", b"\x00\x01\x02", "is not a text file"),
        ("t.xlsx", b"no workbook", "no table that can be read"),
        ("t.parquet", b"PAR1", "Cannot read"),
        ("t.csv", b"a,b\n", "has a header but no rows"),
    ],
)
def test_bad_uploads(home: Path, name: str, content: bytes, message: str) -> None:
    app = visit("1_Data.py")
    app.file_uploader[0].set_value((name, content, "text/csv")).run()
    assert not app.exception
    assert message in app.error[0].value.replace("\\", "")


def test_problems_stand_in_the_way(home: Path) -> None:
    app = visit("1_Data.py")
    table = people(200).drop(columns="age").assign(pay=np.inf, group=["a"] * 10 + ["b"] * 190)
    app.file_uploader[0].set_value(("people.csv", table.to_csv(index=False).encode(), "text/csv")).run()
    assert "Group 'a' of 'group' has 10 rows" in said(app).replace("\\", "")
    assert next(button for button in app.button if button.label == "Continue").disabled


def test_moving_and_saving_the_threshold(done: tuple[str, str], home: Path) -> None:
    app = visit("6_Threshold.py", audit=done[0])
    before = {metric.label: metric.value for metric in app.metric}
    app.slider(key=f"q-{done[0]}-cfad").set_value(0.8).run()
    after = {metric.label: metric.value for metric in app.metric}
    assert int(after["flagged of 100"]) > int(before["flagged of 100"])
    next(button for button in app.button if button.label == "Save this threshold").click().run()
    with Store(home) as store:
        chosen = store.get(done[0]).threshold
        expected = store.result(done[0]).report("cfad").threshold_at(0.8)
    assert chosen.quantile == 0.8
    assert chosen.value == pytest.approx(expected)
    assert "Saved with this audit: CFAD, quantile 0.8." in said(visit("6_Threshold.py", audit=done[0]))
    assert f"Threshold {expected:.3f} (as saved, quantile 0.8)" in said(visit("4_Counterfactuals.py", audit=done[0]))
    other = visit("6_Threshold.py", audit=done[1])  # another audit has a threshold of its own
    assert other.slider(key=f"q-{done[1]}-cfad").value == 0.95


@pytest.mark.parametrize("by", ["score", "investigations"])
def test_other_ways_to_choose_come_back(done: tuple[str, str], home: Path, by: str) -> None:
    app = visit("6_Threshold.py", audit=done[0])
    app.segmented_control(key=f"by-{done[0]}").set_value(by).run()
    if by == "investigations":
        app.number_input(key=f"n-{done[0]}-cfad").set_value(12).run()
        assert {metric.label: metric.value for metric in app.metric}["flagged of 100"] == "12"
    next(button for button in app.button if button.label == "Save this threshold").click().run()
    with Store(home) as store:
        chosen = store.get(done[0]).threshold
    again = visit("6_Threshold.py", audit=done[0])
    assert not again.exception
    if by == "investigations":
        assert again.number_input(key=f"n-{done[0]}-cfad").value == 12
    else:
        assert again.slider(key=f"s-{done[0]}-cfad").value == pytest.approx(chosen.value)


def test_roles_come_back(home: Path) -> None:
    app = visit()
    next(button for button in app.button if button.label == "Try the sample table").click().run()
    draft = app.session_state["draft"]
    chosen = ColumnRoles("region", groups=("north",), label=None, ignore=("claim_id", "remark", "age"))
    app.session_state["draft"] = dataclasses.replace(draft, roles=chosen)
    app.switch_page("pages/1_Data.py").run()
    assert not app.exception, app.exception
    next(button for button in app.button if button.label == "Continue").click().run()
    kept = app.session_state["draft"].roles
    assert dataclasses.replace(kept, ignore=tuple(sorted(kept.ignore))) == dataclasses.replace(
        chosen, ignore=tuple(sorted(chosen.ignore))
    )


def test_roles_are_checked_once_a_rerun(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    app = visit()
    next(button for button in app.button if button.label == "Try the sample table").click().run()
    checked = []
    check = roles_module._column_findings
    monkeypatch.setattr(roles_module, "_column_findings", lambda *given: checked.append(given) or check(*given))
    app.run()
    assert "What the columns are for" in said(app)
    assert len(checked) == 1


def test_roles_of_an_empty_column(home: Path) -> None:
    app = visit()
    next(button for button in app.button if button.label == "Try the sample table").click().run()
    draft = app.session_state["draft"]
    empty = draft.table.assign(nothing=np.nan)
    app.session_state["draft"] = dataclasses.replace(draft, tables=Tables.of(empty), roles=ColumnRoles("nothing"))
    app.switch_page("pages/1_Data.py").run()
    assert not app.exception, app.exception
    assert "'nothing' has 0 values (nothing). There is nobody to compare with." in said(app).replace("\\", "")
    assert next(button for button in app.button if button.label == "Continue").disabled


def test_more_seeds(done: tuple[str, str], home: Path) -> None:
    app = visit("7_Methods.py", audit=done[0])
    app.number_input(key=f"seeds-{done[0]}").set_value(2).run()
    app.button(key=f"run-seeds-{done[0]}").click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        assert sorted(record.config.seed for record in store.find(status="queued")) == [1, 2]


def test_methods_are_shown_by_tick_box(done: tuple[str, str]) -> None:
    app = visit("7_Methods.py", audit=done[0])
    assert list(app.dataframe[0].value.index) == [label_of(method) for method in METHODS]
    for method in list(METHODS)[2:]:
        app.checkbox(key=f"show-{done[0]}-{method}").uncheck()
    app.run()
    assert list(app.dataframe[0].value.index) == ["PCA", "OC-SVM"]
    for method in list(METHODS)[:2]:
        app.checkbox(key=f"show-{done[0]}-{method}").uncheck()
    app.run()
    assert not app.exception, app.exception
    assert "Tick a method." in said(app)


def test_methods_are_added_by_tick_box(done: tuple[str, str], home: Path) -> None:
    app = visit("7_Methods.py", audit=done[1])
    button = f"run-methods-{done[1]}"
    assert app.button(key=button).disabled
    app.checkbox(key=f"add-{done[1]}-ocsvm").check()
    app.checkbox(key=f"add-{done[1]}-pca").check().run()
    app.button(key=button).click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        child = store.find(status="queued")[0]
    assert child.config == QUICK.replace(methods=("pca", "ocsvm", *DEFAULT_METHODS))
    assert child.parent == done[1]
    assert "More methods" not in said(visit("7_Methods.py", audit=done[0]))


def test_sensitivity_is_started_and_shown_on_the_page(done: tuple[str, str], home: Path) -> None:
    app = visit("7_Methods.py", audit=done[0])
    app.button(key=f"run-fairness_weight-{done[0]}").click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        queued = store.find(status="queued")
        assert sorted(r.config.detector.fairness_weight for r in queued) == list(SENSITIVITY["fairness_weight"])
        assert {r.config.methods for r in queued} == {("cfad", "twin")}
        assert {r.config.replace(methods=tuple(METHODS)).with_detector(fairness_weight=None) for r in queued} == {FULL}
        for other in queued[:3]:
            store.claim("test", other.id)
            store.finish(other.id, {"cfad": {"n": 100, "macro_f1": 0.5, "changing_ratio_independent": 0.1}})
    app = visit("7_Methods.py", audit=done[0])
    assert not app.exception, app.exception
    assert "4 of 7 audits are done" in said(app)
    assert "one audit for each value" in said(app)
    assert f"run-fairness_weight-{done[0]}" not in {button.key for button in app.button}


@pytest.mark.slow
def test_audits_without_a_common_method_are_not_compared(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        config = QUICK.replace(methods=("pca",))
        for methods in (("pca",), ("iforest",)):
            config = FULL.replace(methods=methods)
            audit = finish(store, people(), ROLES, config, methods[0])
    app = visit("8_Saved_audits.py")
    assert not app.exception, app.exception
    assert "no method in common" in said(app)
    for page in RESULT_PAGES:  # and every page can do without AE, CFAD and twin scoring
        assert not (shown := visit(page, audit=audit)).exception, shown.exception


def test_methods_with_other_units_have_other_scales(done: tuple[str, str]) -> None:
    app = visit("5_Score_densities.py", audit=done[0])
    assert "its own scale" not in said(app)
    app.multiselect[0].set_value(["ocsvm", "fairod"]).run()
    assert not app.exception, app.exception
    assert "every panel has its own scale" in said(app)
    assert "scores of 0 or less, so the scale is not logarithmic" in said(app)


def test_missing_stored_results_are_told(
    done: tuple[str, str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("cfad_core.apps.dashboard.paper_results.STORED", tmp_path / "nowhere.json")
    app = visit("7_Methods.py", audit=done[0])
    assert not app.exception, app.exception
    assert "The stored results are not here." in said(app)


@pytest.mark.slow
def test_the_papers_experiments_are_on_the_page(done: tuple[str, str]) -> None:
    app = visit("7_Methods.py", audit=done[0])
    choice = next(control for control in app.segmented_control if control.label == "Data set")
    for dataset, words in (
        ("synthetic", "The true graph"),
        ("adult", "learned causal graph"),
        ("compas", "AE against"),
    ):
        choice.set_value(dataset).run()
        assert not app.exception, app.exception
        assert words in said(app)
        table = app.dataframe[-1].value
        assert list(table["method"]) == [label_of(method) for method in METHODS]
        assert any(f"({published(dataset, 'cfad')['macro_f1']:.3f})" in cell for cell in table["Macro-F1"])
        choice = next(control for control in app.segmented_control if control.label == "Data set")


def test_methods_are_chosen_before_training(home: Path) -> None:
    app = visit()
    next(button for button in app.button if button.label == "Try the sample table").click().run()
    next(button for button in app.button if button.label == "Continue").click().run()
    app.switch_page("pages/2_Train.py").run()
    assert [box.label for box in app.checkbox if box.value] == [label_of(method) for method in DEFAULT_METHODS]
    for method in DEFAULT_METHODS:
        app.checkbox(key=f"method-{method}").uncheck()
    app.run()
    assert "Tick at least one method" in said(app)
    app.checkbox(key="method-iforest").check().run()
    next(button for button in app.button if button.label == "Start the audit").click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        (record,) = store.find()
    assert record.config.methods == ("iforest",)
    assert record.config.detector.fairness_weight is None


def test_the_files_to_take_away(done: tuple[str, str], home: Path) -> None:
    from cfad_core.apps.dashboard import downloads

    with Store(home) as store:
        store.choose_threshold(done[0], ChosenThreshold("cfad", "score", 1.5))
        record, result = store.get(done[0]), store.result(done[0])
    scored = downloads._scored(record, result)
    assert scored["row"].tolist() == (result.people.row + 1).tolist()
    assert (scored["cfad_flag"] == (scored["cfad_score"] > 1.5)).all()
    assert (scored["ae_threshold"] == result.report("ae").threshold).all()
    assert downloads._csv(scored).startswith(b"\xef\xbb\xbf")
    assert len(pd.read_parquet(io.BytesIO(downloads._parquet(scored)))) == 100
    twins = downloads._twins(record, result)
    assert (twins["group"] != downloads._judged(record, result)["group"]).all()
    variables, strengths = result.model.strengths()
    graphs = {read_graph(graph_file(result, suffix), f"g{suffix}") for suffix in FORMATS}
    assert len(graphs) == 1
    (graph,) = graphs
    assert set(graph.nodes) == {"group", "schooling", "income", "debt", "job", "age"}
    assert set(graph.edges) == {(variables[j], variables[i]) for j, i in np.argwhere(strengths)}
    assert json.loads(downloads._graph_json(result))["variables"] == list(variables)
    assert zipfile.is_zipfile(io.BytesIO(downloads._zip(record)))


def test_the_tiles_are_the_metrics(done: tuple[str, str], home: Path) -> None:
    app = visit("6_Threshold.py", audit=done[0])
    shown = {metric.label: metric.value for metric in app.metric}
    with Store(home) as store:
        metrics = store.result(done[0]).report("cfad").metrics
    assert shown["Macro-F1"] == f"{metrics.macro_f1:.3f}"
    assert shown["outcome changes (own)"] == f"{100 * metrics.changing_ratio:.1f} %"
    assert shown["outcome changes (judge)"] == f"{100 * metrics.changing_ratio_independent:.1f} %"


def test_without_labels_there_is_no_f1(done: tuple[str, str]) -> None:
    app = visit("6_Threshold.py", audit=done[1])
    assert "Macro-F1" not in {metric.label for metric in app.metric}
    assert "further left is fairer" in said(app)


def test_running_again_with_other_knowledge(done: tuple[str, str], home: Path) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    app.multiselect[2].set_value(["age"]).run()
    next(button for button in app.button if button.label == "Run again with this knowledge").click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        child = store.find(status="queued")[0]
    assert child.parent == done[0]
    assert child.config == FULL.replace(knowledge=child.config.knowledge)
    assert child.config.knowledge.roots == ("age",)


def press(app: AppTest, label: str) -> AppTest:
    next(button for button in app.button if button.label == label).click().run()
    assert not app.exception, app.exception
    return app


def bring(app: AppTest, name: str, content: str | bytes) -> AppTest:
    """Upload domain knowledge or a graph."""
    data = content if isinstance(content, bytes) else content.encode()
    uploader = next(uploader for uploader in app.file_uploader if "ready graph" in uploader.label)
    uploader.set_value((name, data, "application/octet-stream")).run()
    assert not app.exception, app.exception
    return app


def test_what_is_uncertain_about_the_graph(done: tuple[str, str], home: Path) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    assert [tab.label for tab in app.tabs] == ["Graph", "Matrix", "Edges", "Uncertainty", "Edge by edge"]
    with Store(home) as store:
        result = store.result(done[0])
    sure = result.stability
    edges = next(table.value for table in app.dataframe if "strength" in table.value)
    for cause, effect, found in zip(edges["cause"], edges["effect"], edges["found in subsamples"], strict=True):
        frequency = sure.edge_frequency[sure.variables.index(cause), sure.variables.index(effect)]
        assert found == f"{4 * frequency:.0f} of 4"
    reached = next(table.value for table in app.dataframe if "variable" in table.value)
    assert dict(zip(reached["variable"], reached["reached in subsamples"], strict=True)) == {
        name: f"{4 * share:.0f} of 4" for name, share in sure.reach.items()
    }
    assert "Every subsample shows a path from group" in said(app)
    assert "of 4 subsamples." in said(app)  # which arrows half of them found
    for method in ("ae", "twin"):
        app.segmented_control(key=f"what-if-{done[0]}").set_value(method).run()
        assert not app.exception, app.exception
        assert f"With all edges, {100 * sure.edge_cuts.whole[method]:.1f} % of outcomes" in said(app)
        assert "Counted on 100 people, at the audit's own threshold (quantile 0.95)" in said(app)
        assert ("by construction" in said(app)) == (method == "twin")
        table = next(table.value for table in app.dataframe if "goes with it" in table.value)
        assert table["goes with it"].is_monotonic_decreasing
        assert table["changed without it"].min() == pytest.approx(100 * sure.edge_cuts.without[method].min())
        carrier = sure.edge_cuts.carrier(method)
        assert ("alone carries" in said(app)) == (carrier is not None)


def test_the_uncertainty_can_be_measured_later(done: tuple[str, str], home: Path) -> None:
    app = visit("3_Causal_graph.py", audit=done[1])
    assert "found in subsamples" not in app.dataframe[0].value
    assert "Whether the graphs of subsamples, random halves of the rows, agree with it was not measured." in said(app)
    press(app, "Measure the uncertainty")
    with Store(home) as store:
        child = store.find(status="queued")[0]
    assert child.parent == done[1]
    assert child.config == QUICK.replace(subsamples=20)
    assert "not measured" in said(visit("6_Threshold.py", audit=done[1]))


GRAPH = json.dumps({"nodes": ["group", "income", "debt"], "edges": [["group", "income"], ["income", "debt"]]})
REFUSED = [
    ("g.json", '{"nodes": ["group", "pay"], "edges": [["group", "pay"]]}', "no variable of this audit: pay"),
    ("g.dot", "digraph { group -> income; income -> debt; debt -> income }", "has no cycles; this one has"),
    ("g.graphml", "<graphml", "Cannot read a graph from 'g.graphml'"),
    ("g.csv", ",group\nincome,1\n", "the same names in its header and in its first column"),
    ("k.json", "{", "It is not JSON"),
    ("k.json", '{"rots": ["age"]}', "Unknown setting"),
    ("k.json", '{"roots": ["pay"]}', "names columns that are not in the graph: pay"),
    ("k.json", '{"roots": ["income"], "required": [["debt", "income"]]}', "is required, but forbidden by a root"),
    ("k.json", json.dumps({"roots": [HOSTILE]}), "names columns that are not in the graph: ![x]"),
    ("k.json", b"\xff\x00", "NUL bytes"),
]


@pytest.mark.parametrize(("name", "content", "message"), REFUSED)
def test_knowledge_that_cannot_be_used_is_refused(
    done: tuple[str, str], name: str, content: str | bytes, message: str
) -> None:
    app = bring(visit("3_Causal_graph.py", audit=done[0]), name, content)
    assert message in app.error[0].value.replace("\\", "")
    assert "![x](http" not in said(app)
    assert next(button for button in app.button if button.label == "Run again with this knowledge").disabled


def test_running_again_with_a_ready_graph(done: tuple[str, str], home: Path) -> None:
    app = bring(visit("3_Causal_graph.py", audit=done[0]), "g.json", GRAPH)
    assert not app.error
    assert "a ready graph with 2 edges" in said(app)
    assert "does not name schooling, job, age" in app.warning[0].value.replace("\\", "")
    assert app.multiselect[0].value == ["group → income", "income → debt"]
    press(app, "Run again with this knowledge")
    with Store(home) as store:
        child = store.find(status="queued")[0]
    edges = (("group", "income"), ("income", "debt"))
    assert child.config == FULL.replace(knowledge=Knowledge(required=edges, complete=True))
    assert child.parent == done[0]


def test_a_ready_graph_can_be_added_to(done: tuple[str, str], home: Path) -> None:
    app = bring(visit("3_Causal_graph.py", audit=done[0]), "g.dot", "digraph { income -> debt; debt -> group }")
    assert "group affects nothing" in said(app)
    app.toggle[0].set_value(False).run()
    assert app.multiselect[1].value == ["income → debt", "debt → group"]  # it says that group has causes
    press(app, "Run again with this knowledge")
    with Store(home) as store:
        known = store.find(status="queued")[0].config.knowledge
    assert known == Knowledge(required=(("income", "debt"), ("debt", "group")), sensitive_is_root=False)


def test_uploaded_knowledge_comes_already_chosen(done: tuple[str, str], home: Path) -> None:
    forbidden = (("age", "income"), ("income", "group"))
    known = Knowledge(roots=("age",), forbidden=forbidden, tiers=(("schooling",), ("debt",)))
    app = bring(visit("3_Causal_graph.py", audit=done[0]), "k.json", knowledge_to_json(known))
    assert "1 column without causes, 2 tiers, 2 edges that cannot be" in said(app)
    assert [box.value for box in app.multiselect] == [["age → income"], [], ["age"]]
    press(app, "Run again with this knowledge")
    with Store(home) as store:
        assert store.find(status="queued")[0].config.knowledge == known


def to_train(app: AppTest) -> AppTest:
    press(app, "Try the sample table")
    press(app, "Continue")
    return app.switch_page("pages/2_Train.py").run()


def test_how_many_subsamples_is_chosen_before_training(home: Path) -> None:
    app = to_train(visit())
    graphs = next(box for box in app.number_input if box.label == "Subsamples to measure the uncertainty")
    assert graphs.value == 20
    for impossible in (2, 7):
        graphs.set_value(impossible).run()
        assert "choose 0, or an even number from 4 on" in app.error[0].value
        assert next(button for button in app.button if button.label == "Start the audit").disabled
    graphs.set_value(6).run()
    assert not app.error
    press(app, "Start the audit")
    with Store(home) as store:
        assert store.find()[0].config.subsamples == 6
    assert "Learning a causal model from each subsample" in said(visit("2_Train.py", audit=app.query_params["audit"]))


def test_an_upload_wins_over_chosen_roots(home: Path) -> None:
    app = to_train(visit())
    roots = next(box for box in app.multiselect if box.label.startswith("Columns that nothing"))
    assert roots.value == ["age"]
    bring(app, "k.json", '{"roots": ["claim_id"]}')
    assert "not in the graph: claim_id" in app.error[0].value.replace("\\", "")  # it is ignored
    assert next(button for button in app.button if button.label == "Start the audit").disabled
    bring(app, "k.json", '{"required": [["gender", "occupation"]]}')
    assert not app.error
    assert "The uploaded file counts" in said(app)
    assert next(box for box in app.multiselect if box.label.startswith("Columns that nothing")).disabled
    press(app, "Start the audit")
    with Store(home) as store:
        assert store.find()[0].config.knowledge == Knowledge(required=(("gender", "occupation"),))


def test_the_verdict_moves_with_the_threshold(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        results = [store.result(audit) for audit in done]
    for audit, result in zip(done, results, strict=True):
        app = visit("6_Threshold.py", audit=audit)
        for share in (0.95, 0.7, 0.999):
            app.slider(key=f"q-{audit}-cfad").set_value(share).run()
            assert not app.exception, app.exception
            threshold = result.report("cfad").threshold_at(share)
            assert result.report("cfad").verdict_at(threshold) in said(app).replace("\\", "")
    report = results[0].report("cfad")
    threshold = report.threshold_at(0.999)
    found, error = report.changing_ratio_interval(threshold), report.model_error(threshold)
    assert found is not None
    assert error is not None
    app = visit("6_Threshold.py", audit=done[0])
    app.slider(key=f"q-{done[0]}-cfad").set_value(0.999).run()
    assert f"**{100 * found.low:.1f} % to {100 * found.high:.1f} %**: lowest to highest of 4 subsamples" in said(app)
    assert f"**{100 * error:.1f} %** by model error alone" in said(app)
    assert "whose twin is implausible" in said(app)
    assert "Band: CFAD, lowest to highest of 4 subsamples" in said(app)


def test_implausible_twins_are_marked(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        result = store.result(done[0])
    validity = result.stability.plausibility
    assert validity.far.any()
    far = "whose twin is implausible"
    app = visit("4_Counterfactuals.py", audit=done[0])
    people_box = next(control for control in app.segmented_control if control.label == "People")
    people_box.set_value(far).run()
    assert not app.exception, app.exception
    listed = app.dataframe[0].value
    assert sorted(listed["row"]) == sorted(result.people.row[validity.far] + 1)
    assert listed["the twin is"].str.startswith("far from any real person").all()
    assert "This twin is far from any real person (distance" in app.warning[0].value
    other = visit("4_Counterfactuals.py", audit=done[1])
    assert far not in next(control for control in other.segmented_control if control.label == "People").options
    assert not other.warning


def test_the_interval_of_the_distance(done: tuple[str, str], home: Path) -> None:
    app = visit("5_Score_densities.py", audit=done[0])
    with Store(home) as store:
        found = store.result(done[0]).report("ae").intervals.distance
    assert f"AE {100 * found.low:.1f} % to {100 * found.high:.1f} %" in said(app)
    assert "in the group where it is largest" not in said(visit("5_Score_densities.py", audit=done[1]))


def test_a_finished_audit_begins_with_its_verdicts(done: tuple[str, str], home: Path) -> None:
    for audit in done:
        with Store(home) as store:
            result = store.result(audit)
        words = said(visit("2_Train.py", audit=audit)).replace("\\", "")
        for method in result.scores:
            assert f"- **{label_of(method)}**: {result.report(method).verdict}" in words
        assert ("Of the 100 twins" in words) == (audit == done[0])


@pytest.mark.parametrize("edges", [(), ((HOSTILE, "debt"), ("debt", "<b>i</b>"))], ids=["no path", "a path"])
def test_every_page_with_hostile_names_and_a_ready_graph(home: Path, edges: tuple[tuple[str, str], ...]) -> None:
    names = {"group": HOSTILE, "income": "<b>i</b>", "schooling": "[s](http://evil.example)"}
    known = Knowledge(required=(("[s](http://evil.example)", "debt"), *edges), complete=True)
    config = QUICK.replace(subsamples=4, methods=("ae",), knowledge=known)
    with Store(home) as store:
        table = people(300).drop(columns=["job", "age"]).rename(columns=names)
        audit = finish(store, table, ColumnRoles(HOSTILE, groups=("a", "b")), config, HOSTILE)
    for page in [*RESULT_PAGES, "2_Train.py"]:
        app = visit(page, audit=audit)
        assert not app.exception, app.exception
        assert "![x](http" not in said(app)
        assert "[s](http" not in said(app)
        assert "**b**" not in said(app)
        if page == "3_Causal_graph.py" and not edges:
            assert "This graph was given, not learned" in said(app)
            assert "No subsample shows a path" in said(app)
            assert "there is none to cut" in said(app)
        if page == "6_Threshold.py" and not edges:
            assert "No path from" in said(app)
            assert "None of 4 subsamples shows a path either" in said(app)
            assert "Band:" not in said(app)


def test_many_notices_of_one_kind_are_one_line() -> None:
    alike = [Finding("missing", "warning", f"Column 'c{k}' ...", column=f"c{k}", count=k) for k in range(4)]
    useless = [Finding("fair-because-useless", "warning", f"{name} ranks hardly.") for name in ("ae", "cfad", "twin")]
    lines = [text.replace("\\", "") for _, text in merge_alike([*alike, *useless])]
    assert lines[0].endswith("c0 (0), c1 (1), c2 (2), c3 (3).")
    assert lines[1:] == ["ae ranks hardly.", "cfad ranks hardly.", "twin ranks hardly."]


def test_plain_text() -> None:
    assert as_text("![x](y)") == r"\!\[x\]\(y\)"
    assert as_text("a\nb") == "a b"
    assert "http\\:\u2060//" in as_text("http://x.example")
    assert as_text("www.x") == "www\u2060\\.x"
    assert len(as_text("x" * 500)) == 200
