"""Audits that wait for a detector's answers: in the store, as jobs, and through whatever interrupts them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.answering import audit_detector
from cfad_core.audit.asking import ask_audit
from cfad_core.audit.pending_files import AnswerForm, is_answered, is_pending, save_pending
from cfad_core.core.config import AskedDetector
from cfad_core.core.errors import InvalidArtifactError, InvalidConfigError, InvalidDataError
from cfad_core.runs.archive import export_audit, import_audit
from cfad_core.runs.child import Child
from cfad_core.runs.executor import perform, work_on
from cfad_core.runs.model import ChosenThreshold
from cfad_core.runs.store import Store
from tests.runs.conftest import QUICK, ROLES, TABLE, TABLES, claim, put

pytestmark = pytest.mark.slow
CONFIG = QUICK.replace(methods=("pca",), asked=AskedDetector(name="theirs"))
HIGH = AnswerForm("anomalous")


def run(store: Store, audit: str) -> None:
    """As a job does, in this process."""
    record = claim(store, audit=audit)
    metrics = perform(_quiet(), str(store.home), store.url, audit)
    if metrics is None:
        store.wait(audit, record.worker)
    else:
        store.finish(audit, metrics, record.worker)


def _quiet() -> Any:
    from cfad_core.core.progress import Progress

    return Progress()


def waiting(store: Store) -> str:
    audit = put(store, config=CONFIG)
    run(store, audit)
    return audit


def answers(store: Store, audit: str, column: str = "debt") -> pd.DataFrame:
    batch = store.questions(audit).batch
    return pd.DataFrame({"row_id": batch["row_id"], "score": batch[column]})


def test_an_audit_waits_and_is_finished_after_a_restart(store: Store, url: str, tmp_path: Path) -> None:
    audit = waiting(store)
    record = store.get(audit)
    assert (record.status, record.metrics, record.finished, record.worker) == ("waiting", None, None, None)
    with pytest.raises(InvalidArtifactError, match="is waiting; only an audit that is done has a result"):
        store.result(audit)
    given = answers(store, audit)
    with Store(tmp_path / "home", url) as later:  # another process, another day
        assert later.recover(lambda _: False) == []
        assert later.get(audit).status == "waiting"
        later.answer(audit, given, HIGH)
        assert later.get(audit).status == "queued"
        run(later, audit)
        result = later.result(audit)
    direct = audit_detector(TABLE, ROLES, lambda rows: rows["debt"], CONFIG)
    assert np.array_equal(result.scores["theirs"].judged, direct.scores["theirs"].judged)
    assert result.report("theirs").verdict == direct.report("theirs").verdict
    assert list(store.get(audit).metrics or {}) == ["theirs", "pca"]


def test_answers_can_be_given_anew(store: Store) -> None:
    audit = waiting(store)
    store.answer(audit, answers(store, audit), HIGH)
    run(store, audit)
    first = store.result(audit).report("theirs").threshold
    store.choose_threshold(audit, ChosenThreshold("theirs", "score", 1.3))
    store.answer(audit, answers(store, audit, "income"), AnswerForm("normal"))
    record = store.get(audit)
    assert (record.status, record.metrics, record.threshold) == ("queued", None, None)  # those were of other scores
    with pytest.raises(InvalidArtifactError, match="only an audit that is done"):
        store.result(audit)
    claim(store, audit=audit)
    assert store.recover(lambda _: False) == [audit]  # what is there is of the first answers
    store.requeue(audit)
    run(store, audit)
    assert store.result(audit).report("theirs").threshold != first
    store.choose_threshold(audit, ChosenThreshold("pca", "score", 1.3))
    store.answer(audit, answers(store, audit), HIGH)
    assert store.get(audit).threshold == ChosenThreshold("pca", "score", 1.3)


def test_what_is_no_answer_changes_nothing(store: Store) -> None:
    audit = waiting(store)
    with pytest.raises(InvalidDataError, match="ids are missing"):
        store.answer(audit, answers(store, audit).iloc[1:], HIGH)
    assert store.get(audit).status == "waiting"
    assert not is_answered(store.folder(audit))
    store.answer(audit, answers(store, audit), HIGH)
    with pytest.raises(InvalidDataError, match="is queued; wait until it is done"):
        store.answer(audit, answers(store, audit), HIGH)


def test_others_have_no_questions(store: Store) -> None:
    audit = put(store)
    assert not store.has_questions(audit)
    with pytest.raises(InvalidArtifactError, match="is queued and has no rows to score"):
        store.questions(audit)
    with pytest.raises(InvalidConfigError, match="A detector of your own needs a name"):
        put(store, config=CONFIG.replace(asked=AskedDetector(name="pca")))
    with pytest.raises(InvalidConfigError, match="A detector of your own needs a name"):
        put(store, config=CONFIG.replace(asked=AskedDetector(name="judging")))


def test_a_worker_that_died_after_the_questions_leaves_an_audit_that_waits(store: Store) -> None:
    audit = put(store, config=CONFIG)
    claim(store, audit=audit)
    save_pending(ask_audit(TABLES, ROLES, CONFIG), store.folder(audit))
    assert store.recover(lambda _: False) == []
    assert store.get(audit).status == "waiting"


def test_a_worker_that_died_before_them_leaves_nothing(store: Store) -> None:
    audit = put(store, config=CONFIG)
    claim(store, audit=audit)
    (store.folder(audit) / "pending" / ".staged-x").mkdir(parents=True)
    assert store.recover(lambda _: False) == [audit]
    assert store.get(audit).status == "interrupted"
    assert not store.folder(audit).exists()
    store.requeue(audit)
    run(store, audit)
    assert store.get(audit).status == "waiting"


def test_a_worker_that_died_over_the_answers_leaves_them(store: Store) -> None:
    audit = waiting(store)
    store.answer(audit, answers(store, audit), HIGH)
    claim(store, audit=audit)
    assert store.recover(lambda _: False) == [audit]
    assert store.get(audit).status == "interrupted"
    assert is_pending(store.folder(audit))
    assert is_answered(store.folder(audit))
    store.requeue(audit)
    run(store, audit)
    assert store.get(audit).status == "done"


def test_an_audit_that_waits_can_be_deleted_but_not_exported(store: Store, tmp_path: Path) -> None:
    audit = waiting(store)
    with pytest.raises(InvalidArtifactError, match="only an audit that is done"):
        export_audit(store, audit, tmp_path / "audit.zip")
    store.request_cancel(audit)
    assert store.get(audit).status == "waiting"
    store.delete(audit)
    assert not store.folder(audit).exists()


def test_a_finished_one_travels(store: Store, tmp_path: Path) -> None:
    audit = waiting(store)
    store.answer(audit, answers(store, audit), HIGH)
    run(store, audit)
    export_audit(store, audit, tmp_path / "audit.zip")
    again = import_audit(store, tmp_path / "audit.zip")
    assert store.result(again).asked == store.result(audit).asked
    assert not store.has_questions(again)


def test_as_a_job_of_its_own(store: Store) -> None:
    audit = put(store, config=CONFIG)
    for expected in ("waiting", "done"):
        work_on(store, claim(store, audit=audit), Child())
        assert store.get(audit).status == expected
        if expected == "waiting":
            store.answer(audit, answers(store, audit), HIGH)
    assert store.result(audit).asked is not None
