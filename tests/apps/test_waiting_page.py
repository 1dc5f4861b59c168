"""An audit that waits for the scores of a detector, on its pages."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.audit.pending_files import AnswerForm
from cfad_core.core.config import AskedDetector
from cfad_core.core.progress import Progress
from cfad_core.data.tables import Tables
from cfad_core.runs.executor import perform
from cfad_core.runs.reading import Bounds
from cfad_core.runs.store import Store
from tests.apps.pages import (
    QUICK,
    RESULT_PAGES,
    ROLES,
    button,
    chosen,
    packed_rows,
    people,
    press,
    said,
    to_train,
    type_into,
    visit,
)
from tests.conftest import child_processes
from tests.runs.models import row_sum

CONFIG = QUICK.replace(methods=("pca",), subsamples=4, asked=AskedDetector(name="theirs"))


def work(store: Store, audit: str) -> None:
    """As a job does."""
    record = store.claim("me", audit)
    assert record is not None
    metrics = perform(Progress(), str(store.home), store.url, audit)
    if metrics is None:
        store.wait(audit)
    else:
        store.finish(audit, metrics)


@pytest.fixture(scope="module")
def waiting_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    home = tmp_path_factory.mktemp("waiting") / "home"
    with Store(home) as store:
        audit = store.create(Tables.of(people()), ROLES, CONFIG, name="Waits", source="people.csv")
        work(store, audit)
    return home, audit


@pytest.fixture
def waiting(home: Path, waiting_home: tuple[Path, str]) -> str:
    shutil.copytree(waiting_home[0], home)
    return waiting_home[1]


def answers(home: Path, audit: str, sign: float = 1.0) -> pd.DataFrame:
    with Store(home) as store:
        batch = store.questions(audit).batch
    return pd.DataFrame({"row_id": batch["row_id"], "score": sign * batch["debt"]})


def upload(app: AppTest, table: pd.DataFrame | bytes, name: str = "scores.csv", label: str = "A table with") -> AppTest:
    content = table if isinstance(table, bytes) else table.to_csv(index=False).encode()
    uploader = next(one for one in app.file_uploader if one.label.startswith(label))
    uploader.set_value((name, content, "text/csv")).run()
    assert not app.exception, app.exception
    return app


def test_the_page_says_what_to_do(waiting: str) -> None:
    app = visit("2_Train.py", audit=waiting)
    text = said(app)
    assert "Now your detector has to score the rows below" in text
    assert "in one batch" in text
    labels = [getattr(one, "label", "") for one in app.get("download_button")]
    assert labels == ["Rows to score (CSV)", "Rows to score (Parquet)"]


@pytest.mark.parametrize("page", RESULT_PAGES)
def test_pages_with_results_lead_there(page: str, waiting: str) -> None:
    app = visit(page, audit=waiting)
    assert not app.exception
    assert "waits for the scores of a detector" in said(app)


def test_lists_say_that_it_waits(waiting: str) -> None:
    app = visit("10_Saved_audits.py")
    assert app.dataframe[0].value["status"].tolist() == ["waiting for scores"]
    assert "waits for the scores of a detector" in said(visit())  # its card on the first page


@pytest.mark.slow
@pytest.mark.parametrize(("sign", "meaning"), [(1.0, "anomalous"), (-1.0, "normal")])
def test_scores_are_uploaded_confirmed_and_audited(sign: float, meaning: str, waiting: str, home: Path) -> None:
    app = upload(visit("2_Train.py", audit=waiting), answers(home, waiting, sign))
    assert "has one answer (scores)" in said(app)
    app.radio[0].set_value(meaning).run()
    press(app, "Finish the audit")
    with Store(home) as store:
        assert store.get(waiting).status == "queued"
        work(store, waiting)
        result = store.result(waiting)
    assert result.asked is not None
    assert (result.asked.high_means, result.asked.door) == (meaning, "file")
    app = visit("2_Train.py", audit=waiting)
    assert "The audit is done" in said(app)
    assert "theirs" in said(visit("Findings.py", audit=waiting))
    for page in RESULT_PAGES:
        shown = visit(page, audit=waiting)
        assert not shown.exception, page


def test_scores_can_be_given_again_if_something_went_wrong(waiting: str, home: Path) -> None:
    with Store(home) as store:
        store.answer(waiting, answers(home, waiting), AnswerForm("anomalous"))
        record = store.claim("me", waiting)
        assert record is not None
        store.stop(waiting, "failed", "Something went wrong.", worker=record.worker)
    app = visit("2_Train.py", audit=waiting)
    assert "Something went wrong" in said(app)
    upload(app, answers(home, waiting))
    app.radio[0].set_value("anomalous").run()
    press(app, "Finish the audit")
    with Store(home) as store:
        assert store.get(waiting).status == "queued"


def test_nothing_is_finished_before_the_meaning_is_said(waiting: str, home: Path) -> None:
    app = upload(visit("2_Train.py", audit=waiting), answers(home, waiting).assign(score=2.0))
    assert "has one answer (scores)" in said(app)
    assert app.radio[0].value is None
    assert button(app, "Finish the audit").disabled


def test_a_detector_that_answers_the_same_row_differently_is_noticed(waiting: str, home: Path) -> None:
    given = answers(home, waiting)
    late = np.arange(len(given)) >= len(given) // 2
    app = upload(visit("2_Train.py", audit=waiting), given.assign(score=given["score"] + late))
    assert "got two different answers" in said(app)


def test_flags_and_a_threshold(waiting: str, home: Path) -> None:
    given = answers(home, waiting)
    flags = given.assign(score=(given["score"] > given["score"].quantile(0.9)) * 1)
    app = upload(visit("2_Train.py", audit=waiting), flags)
    assert "has one answer (flags)" in said(app)
    assert app.radio[0].value == "anomalous"
    assert not [one for one in app.number_input if one.label.startswith("Threshold of the detector")]
    app = upload(visit("2_Train.py", audit=waiting), given)
    next(one for one in app.number_input if one.label.startswith("Threshold of the detector")).set_value(1.5)
    app.radio[0].set_value("anomalous").run()
    press(app, "Finish the audit")
    with Store(home) as store:
        work(store, waiting)
        assert store.result(waiting).report("theirs").threshold == 1.5


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda given: given.iloc[2:], "ids are missing"),
        (lambda given: given.drop(columns="row_id"), "Expected the column"),
        (lambda given: given.drop(columns="score"), "Expected one column of scores"),
        (lambda given: given.assign(score="![x](http://evil.example)"), "Expected a finite number"),
        (lambda given: b"\x00\x01nothing", ""),
    ],
)
def test_what_is_no_answer_is_explained(change: object, message: str, waiting: str, home: Path) -> None:
    app = upload(visit("2_Train.py", audit=waiting), change(answers(home, waiting)))  # type: ignore[operator]
    assert app.error
    assert message in said(app).replace("\\", "")
    assert "](http" not in said(app)
    assert not [one for one in app.button if one.label == "Finish the audit"]


@pytest.mark.slow
def test_scores_that_unpack_to_too_much_are_refused(waiting: str, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Bounds, "of", lambda _: Bounds(60.0, 250))
    app = upload(visit("2_Train.py", audit=waiting), packed_rows(), "scores.csv.gz")
    assert "needs more memory than the 250 MB" in said(app).replace("\\", "")
    assert not child_processes()


def test_several_columns_could_hold_the_scores(waiting: str, home: Path) -> None:
    given = answers(home, waiting).rename(columns={"score": "first"}).assign(second=1.0)
    app = upload(visit("2_Train.py", audit=waiting), given)
    box = next(one for one in app.selectbox if one.label == "Which column holds the scores?")
    assert box.options == ["first", "second"]
    assert "has one answer (scores)" in said(app)


def test_a_file_that_is_no_model_is_a_sentence(waiting: str) -> None:
    app = upload(visit("2_Train.py", audit=waiting), b"not a model", "model.onnx", "An ONNX model")
    assert app.error


def test_a_detector_is_asked_if_that_is_wanted(home: Path) -> None:
    app = to_train(visit())
    box = next(one for one in app.checkbox if one.label == "Audit a detector that I already have")
    assert not box.value
    box.check().run()
    next(one for one in app.text_input if one.label == "What to call it").set_value("ae").run()
    assert "A detector of your own needs a name" in said(app)
    next(one for one in app.text_input if one.label == "What to call it").set_value("production").run()
    for method in ("ae", "cfad", "twin", "surprise"):
        app.checkbox(key=f"method-{method}").uncheck()
    app.run()
    assert "Tick at least one method" not in said(app)
    press(app, "Start the audit")
    with Store(home) as store:
        (record,) = store.find()
    assert record.config.asked == AskedDetector(name="production")
    assert record.config.methods == ()


def test_a_column_of_scores_is_a_role(home: Path) -> None:
    table = people().assign(anomaly_score=lambda some: some["debt"] * 2.0)
    app = visit("1_Data.py")
    app.file_uploader[0].set_value(("mine.csv", table.to_csv(index=False).encode(), "text/csv")).run()
    assert not app.exception
    press(app, "Continue")
    app = app.switch_page("pages/2_Train.py").run()
    assert next(one for one in app.checkbox if one.label == "Audit a detector that I already have").value
    press(app, "Start the audit")
    with Store(home) as store:
        (record,) = store.find()
    assert record.roles.score == "anomaly_score"
    assert record.config.asked is not None


def test_one_column_holds_the_scores_and_the_last_choice_counts(home: Path) -> None:
    app = visit()
    press(app, "Try the sample table")
    roles = next(table.value for table in app.dataframe if "role" in table.value)["column"].tolist()
    for name in ("claim_amount", "insured_value"):
        type_into(app, "role", {roles.index(name): "score"})
    press(app, "Continue")
    kept = app.session_state["draft"].roles
    assert kept.score == "insured_value"
    assert "claim_amount" in kept.features(app.session_state["draft"].table)


@pytest.mark.slow
def test_a_model_is_uploaded_and_scores(waiting: str, home: Path) -> None:
    app = upload(visit("2_Train.py", audit=waiting), row_sum().SerializeToString(), "sum.onnx", "An ONNX model")
    columns = chosen(app, "Columns of input x (float, 4 columns)")
    assert columns.value == ["schooling", "income", "debt", "age"]
    columns.set_value(["schooling", "income"]).run()
    assert app.error  # it takes four
    chosen(app, "Columns of input x").set_value(["age", "schooling", "income", "debt"]).run()
    press(app, "Score the rows with this model")
    assert "has one answer (scores)" in said(app)
    next(one for one in app.radio if one.key == f"meaning-onnx-{waiting}").set_value("anomalous").run()
    press(app, "Finish the audit")
    with Store(home) as store:
        work(store, waiting)
        result = store.result(waiting)
        batch = store.questions(waiting).batch
    assert result.asked is not None
    assert result.asked.door == "onnx"
    total = batch[["age", "schooling", "income", "debt"]].to_numpy(np.float64).sum(axis=1)
    assert result.scores["theirs"].factual.max() <= total.max() + 1e-3
