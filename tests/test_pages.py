"""Every page in every state, without a browser."""

from __future__ import annotations

import dataclasses
import io
import json
import shutil
import zipfile
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import numpy as np
import pandas as pd
import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from cfad_core.audit import run_audit
from cfad_core.config import (
    METHOD_NAMES,
    METHODS,
    OURS,
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    FairodConfig,
)
from cfad_core.dashboard.roles_editor import merge_alike
from cfad_core.dashboard.text import duration, plain
from cfad_core.data.problems import Problem
from cfad_core.data.roles import ColumnRoles
from cfad_core.experiments import SENSITIVITY
from cfad_core.published import published
from cfad_core.store import Store, headline
from tests.conftest import make_people

ROOT = Path(__file__).resolve().parent.parent
PAGES = sorted(path.name for path in (ROOT / "pages").glob("*.py"))
RESULT_PAGES = [name for name in PAGES if name[0] in "34567"]
ROLES = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")
QUICK = AuditConfig(detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64))
FULL = dataclasses.replace(
    QUICK,
    methods=METHODS,
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


@pytest.fixture(scope="module")
def finished_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with two finished audits: with labels and all methods, and without labels with three."""
    home = tmp_path_factory.mktemp("finished") / "home"
    ids = []
    with Store(home) as store:
        for table, roles, config, name in (
            (people(), ROLES, FULL, "With labels"),
            (people().drop(columns="fraud"), ColumnRoles("group", groups=("a", "b")), QUICK, "Without labels"),
        ):
            audit = store.create(table, roles, config, name=name, source="people.csv")
            store.claim("test", audit)
            result = run_audit(store.inputs(audit).table, roles, config)
            result.save(store.folder(audit))
            store.finish(audit, headline(result))
            ids.append(audit)
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
    assert "to begin" in said(app) or "yet" in said(app)


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
    assert "outcome changes for AE" in app.dataframe[0].value["verdict"][0]
    assert "of 100 people" in app.dataframe[0].value["verdict"][0]


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
        audit = store.create(people(), ROLES, QUICK, name=HOSTILE, source="people.csv")
        if status != "queued":
            store.claim("somebody elsewhere:1:1", audit)
            store.report(audit, "discovery", 1, 20, {"loss": 2.0, "h": 0.1, "edges": 3.0}, 0.1)
            store.report(audit, "discovery", 2, 20, {"loss": 1.0, "h": 0.01, "edges": 3.0}, 0.2)
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
        audit = store.create(people(), ROLES, QUICK, name="One", source="people.csv")
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
    assert "Train" in said(app)
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
        expected = store.result(done[0]).threshold("cfad", 0.8)
    assert chosen["quantile"] == 0.8
    assert chosen["value"] == pytest.approx(expected)
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
        assert again.slider(key=f"s-{done[0]}-cfad").value == pytest.approx(chosen["value"])


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


def test_more_seeds(done: tuple[str, str], home: Path) -> None:
    app = visit("7_Methods.py", audit=done[0])
    app.number_input(key=f"seeds-{done[0]}").set_value(2).run()
    app.button(key=f"run-seeds-{done[0]}").click().run()
    assert not app.exception, app.exception
    with Store(home) as store:
        assert sorted(record.config.seed for record in store.find(status="queued")) == [1, 2]


def test_methods_are_shown_by_tick_box(done: tuple[str, str]) -> None:
    app = visit("7_Methods.py", audit=done[0])
    assert list(app.dataframe[0].value.index) == [METHOD_NAMES[method] for method in METHODS]
    for method in METHODS[2:]:
        app.checkbox(key=f"show-{done[0]}-{method}").uncheck()
    app.run()
    assert list(app.dataframe[0].value.index) == ["PCA", "OC-SVM"]
    for method in METHODS[:2]:
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
    assert child.config == dataclasses.replace(QUICK, methods=("pca", "ocsvm", *OURS))
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
        assert {dataclasses.replace(r.config, methods=METHODS).with_detector(fairness_weight=None) for r in queued} == {
            FULL
        }
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
        config = dataclasses.replace(QUICK, methods=("pca",))
        for methods in (("pca",), ("iforest",)):
            config = dataclasses.replace(FULL, methods=methods)
            audit = store.create(people(), ROLES, config, name=methods[0], source="people.csv")
            store.claim("test", audit)
            result = run_audit(people(), ROLES, config)
            result.save(store.folder(audit))
            store.finish(audit, headline(result))
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
    monkeypatch.setattr("cfad_core.dashboard.paper_results.STORED", tmp_path / "nowhere.json")
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
        assert list(table["method"]) == [METHOD_NAMES[method] for method in METHODS]
        assert any(f"({published(dataset, 'cfad')['macro_f1']:.3f})" in cell for cell in table["Macro-F1"])
        choice = next(control for control in app.segmented_control if control.label == "Data set")


def test_methods_are_chosen_before_training(home: Path) -> None:
    app = visit()
    next(button for button in app.button if button.label == "Try the sample table").click().run()
    next(button for button in app.button if button.label == "Continue").click().run()
    app.switch_page("pages/2_Train.py").run()
    assert [box.label for box in app.checkbox if box.value] == [METHOD_NAMES[method] for method in OURS]
    for method in OURS:
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
    from cfad_core.dashboard import downloads

    with Store(home) as store:
        store.choose_threshold(done[0], {"method": "cfad", "value": 1.5, "by": "score", "how": "score 1.5"})
        record, result = store.get(done[0]), store.result(done[0])
    scored = downloads._scored(record, result)
    assert scored["row"].tolist() == (result.people.row + 1).tolist()
    assert (scored["cfad_flag"] == (scored["cfad_score"] > 1.5)).all()
    assert (scored["ae_threshold"] == result.threshold("ae")).all()
    assert downloads._csv(scored).startswith(b"\xef\xbb\xbf")
    assert len(pd.read_parquet(io.BytesIO(downloads._parquet(scored)))) == 100
    twins = downloads._twins(record, result)
    assert (twins["group"] != downloads._judged(record, result)["group"]).all()
    graph = nx.read_graphml(io.BytesIO(downloads._graphml(result)))
    assert set(graph.nodes) == {"group", "schooling", "income", "debt", "job", "age"}
    assert json.loads(downloads._graph_json(result))["variables"]
    assert zipfile.is_zipfile(io.BytesIO(downloads._zip(record)))


def test_the_tiles_are_the_metrics(done: tuple[str, str], home: Path) -> None:
    app = visit("6_Threshold.py", audit=done[0])
    shown = {metric.label: metric.value for metric in app.metric}
    with Store(home) as store:
        metrics = store.result(done[0]).metrics("cfad")
    assert shown["Macro-F1"] == f"{metrics.macro_f1:.3f}"
    assert shown["changed (own)"] == f"{100 * metrics.changing_ratio:.1f} %"
    assert shown["changed (judge)"] == f"{100 * metrics.changing_ratio_independent:.1f} %"


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
    assert child.config == dataclasses.replace(FULL, knowledge=child.config.knowledge)
    assert child.config.knowledge.roots == ("age",)


def test_many_notices_of_one_kind_are_one_line() -> None:
    alike = [Problem("missing", "warning", f"Column 'c{k}' ...", column=f"c{k}", count=k) for k in range(4)]
    useless = [Problem("fair-because-useless", "warning", f"{name} ranks hardly.") for name in ("ae", "cfad", "twin")]
    lines = [text.replace("\\", "") for _, text in merge_alike([*alike, *useless])]
    assert lines[0].endswith("c0 (0), c1 (1), c2 (2), c3 (3).")
    assert lines[1:] == ["ae ranks hardly.", "cfad ranks hardly.", "twin ranks hardly."]


def test_plain_text() -> None:
    assert plain("![x](y)") == r"\!\[x\]\(y\)"
    assert plain("a\nb") == "a b"
    assert "http\\:\u2060//" in plain("http://x.example")
    assert plain("www.x") == "www\u2060\\.x"
    assert len(plain("x" * 500)) == 200
    assert duration(5.2) == "5 s"
    assert duration(200.0) == "3 min"
    assert duration(4000.0) == "1 h 7 min"
