"""Audits that wait for a detector's answers: in the store, as jobs, and through whatever interrupts them."""

from __future__ import annotations

from collections.abc import Iterator
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
CONFIG = QUICK.replace(methods=("pca",), subsamples=0, asked=AskedDetector(name="theirs"))
HIGH = AnswerForm("anomalous")


@pytest.fixture
def local(tmp_path: Path) -> Iterator[Store]:
    """A store whose index is a file: what differs between databases is tested where answers are given anew."""
    with Store(tmp_path / "home", f"sqlite:///{tmp_path}/index.sqlite") as made:
        yield made


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


def test_an_audit_waits_and_is_finished_after_a_restart(local: Store, tmp_path: Path) -> None:
    audit = waiting(local)
    record = local.get(audit)
    assert (record.status, record.metrics, record.finished, record.worker) == ("waiting", None, None, None)
    with pytest.raises(InvalidArtifactError, match="is waiting; only an audit that is done has a result"):
        local.result(audit)
    given = answers(local, audit)
    with Store(tmp_path / "home", local.url) as later:  # another process, another day
        assert later.recover(lambda _: False) == []
        assert later.get(audit).status == "waiting"
        later.answer(audit, given, HIGH)
        assert later.get(audit).status == "queued"
        run(later, audit)
        result = later.result(audit)
    direct = audit_detector(TABLE, ROLES, lambda rows: rows["debt"], CONFIG)
    assert np.array_equal(result.scores["theirs"].judged, direct.scores["theirs"].judged)
    assert result.report("theirs").verdict == direct.report("theirs").verdict
    assert list(local.get(audit).metrics or {}) == ["theirs", "pca"]


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


def test_what_is_no_answer_changes_nothing(local: Store) -> None:
    audit = waiting(local)
    with pytest.raises(InvalidDataError, match="ids are missing"):
        local.answer(audit, answers(local, audit).iloc[1:], HIGH)
    assert local.get(audit).status == "waiting"
    assert not is_answered(local.folder(audit))
    local.answer(audit, answers(local, audit), HIGH)
    with pytest.raises(InvalidDataError, match="is queued; wait until it is done"):
        local.answer(audit, answers(local, audit), HIGH)


def test_others_have_no_questions(local: Store) -> None:
    audit = put(local)
    assert not local.has_questions(audit)
    with pytest.raises(InvalidArtifactError, match="is queued and has no rows to score"):
        local.questions(audit)
    with pytest.raises(InvalidConfigError, match="A detector of your own needs a name"):
        put(local, config=CONFIG.replace(asked=AskedDetector(name="pca")))
    with pytest.raises(InvalidConfigError, match="A detector of your own needs a name"):
        put(local, config=CONFIG.replace(asked=AskedDetector(name="judging")))


def test_a_worker_that_died_after_the_questions_leaves_an_audit_that_waits(local: Store) -> None:
    audit = put(local, config=CONFIG)
    claim(local, audit=audit)
    save_pending(ask_audit(TABLES, ROLES, CONFIG), local.folder(audit))
    assert local.recover(lambda _: False) == []
    assert local.get(audit).status == "waiting"


def test_a_worker_that_died_before_them_leaves_nothing(local: Store) -> None:
    audit = put(local, config=CONFIG)
    claim(local, audit=audit)
    (local.folder(audit) / "pending" / ".staged-x").mkdir(parents=True)
    assert local.recover(lambda _: False) == [audit]
    assert local.get(audit).status == "interrupted"
    assert not local.folder(audit).exists()
    local.requeue(audit)
    run(local, audit)
    assert local.get(audit).status == "waiting"


def test_a_worker_that_died_over_the_answers_leaves_them(local: Store) -> None:
    audit = waiting(local)
    local.answer(audit, answers(local, audit), HIGH)
    claim(local, audit=audit)
    assert local.recover(lambda _: False) == [audit]
    assert local.get(audit).status == "interrupted"
    assert is_pending(local.folder(audit))
    assert is_answered(local.folder(audit))
    local.requeue(audit)
    run(local, audit)
    assert local.get(audit).status == "done"


def test_an_audit_that_waits_can_be_deleted_but_not_exported(local: Store, tmp_path: Path) -> None:
    audit = waiting(local)
    with pytest.raises(InvalidArtifactError, match="only an audit that is done"):
        export_audit(local, audit, tmp_path / "audit.zip")
    local.request_cancel(audit)
    assert local.get(audit).status == "waiting"
    local.delete(audit)
    assert not local.folder(audit).exists()


def test_a_finished_one_travels(local: Store, tmp_path: Path) -> None:
    audit = waiting(local)
    local.answer(audit, answers(local, audit), HIGH)
    run(local, audit)
    export_audit(local, audit, tmp_path / "audit.zip")
    again = import_audit(local, tmp_path / "audit.zip")
    assert local.result(again).asked == local.result(audit).asked
    assert not local.has_questions(again)


def test_as_a_job_of_its_own(local: Store) -> None:
    audit = put(local, config=CONFIG)
    for expected in ("waiting", "done"):
        work_on(local, claim(local, audit=audit), Child())
        assert local.get(audit).status == expected
        if expected == "waiting":
            local.answer(audit, answers(local, audit), HIGH)
    assert local.result(audit).asked is not None
