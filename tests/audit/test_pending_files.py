"""An audit that waits, as a folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.answering import answer_audit, scored
from cfad_core.audit.answers import match_answers
from cfad_core.audit.asking import PendingAudit, ask_audit
from cfad_core.audit.folder import load_audit, save_audit, summary
from cfad_core.audit.pending_files import (
    AnswerForm,
    is_answered,
    is_pending,
    load_answers,
    load_labels,
    load_pending,
    load_questions,
    save_answers,
    save_pending,
)
from cfad_core.audit.result import AuditResult
from cfad_core.core.config import AskedDetector
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.data.tables import Tables
from tests.audit.worlds import CROSSED, JOBS, PCA, ROLES, make_crossed, make_jobs

ASKED = AskedDetector(name="theirs")


def ask(**changes: Any) -> PendingAudit:
    return ask_audit(Tables.of(make_jobs(400, seed=3)), ROLES, JOBS.replace(asked=ASKED, **changes))


def answer(pending: PendingAudit) -> AuditResult:
    lines = scored(pending.questions, lambda rows: rows["debt"])
    return answer_audit(pending, match_answers(pending.questions, lines, "anomalous", threshold=1.0, door="file"))


def found_in(result: AuditResult) -> dict[str, object]:
    return summary(result) | {"seconds": None}


@pytest.mark.slow
@pytest.mark.parametrize(
    "make",
    [
        ask,
        lambda: ask(subsamples=0),
        lambda: ask(methods=()),
        lambda: ask_audit(Tables.of(make_crossed(700, seed=0)), CROSSED, PCA.replace(asked=ASKED)),
    ],
    ids=["measured", "not measured", "no methods", "two attributes"],
)
def test_a_waiting_audit_comes_back_the_same(make: Callable[[], PendingAudit], tmp_path: Path) -> None:
    pending = make()
    save_pending(pending, tmp_path)
    again = load_pending(tmp_path)
    assert is_pending(tmp_path)
    assert not is_answered(tmp_path)
    pd.testing.assert_frame_equal(again.questions.batch, pending.questions.batch)
    assert found_in(answer(again)) == found_in(answer(pending))


def test_a_finished_audit_comes_back_the_same(tmp_path: Path) -> None:
    result = answer(ask())
    save_audit(result, tmp_path)
    again = load_audit(tmp_path)
    assert again.asked == result.asked
    assert again.report("theirs").threshold == 1.0
    assert found_in(again) == found_in(result)
    text = json.loads((tmp_path / "audit.json").read_text())
    assert text["asked"]["door"] == "file"
    assert text["methods"]["theirs"]["is_owners_threshold"] is True
    assert text["methods"]["pca"]["is_owners_threshold"] is False


def test_answers_are_kept_as_they_were_given(tmp_path: Path) -> None:
    pending = ask()
    save_pending(pending, tmp_path)
    given = pd.DataFrame({"row_id": pending.questions.batch["row_id"], "odd": pending.questions.batch["debt"]})
    save_answers(given, AnswerForm("normal", -1.5, "odd", "onnx"), tmp_path)
    assert is_answered(tmp_path)
    found = load_answers(load_questions(tmp_path), tmp_path)
    assert (found.high_means, found.threshold, found.door) == ("normal", 1.5, "onnx")
    direct = AnswerForm("normal", -1.5, "odd", "onnx").read(pending.questions, given)
    assert np.array_equal(found.scores, direct.scores)


def test_labels_are_at_hand(tmp_path: Path) -> None:
    pending = ask()
    save_pending(pending, tmp_path)
    assert np.array_equal(load_labels(tmp_path), pending.result.people.is_anomaly)  # type: ignore[arg-type]


def test_what_is_missing_or_damaged_is_said(tmp_path: Path) -> None:
    with pytest.raises(InvalidArtifactError, match="holds no audit that waits for scores"):
        load_questions(tmp_path)
    save_pending(ask(), tmp_path)
    with pytest.raises(InvalidArtifactError, match="answers in .* are missing or damaged"):
        load_answers(load_questions(tmp_path), tmp_path)
    (tmp_path / "pending" / "questions.safetensors").write_bytes(b"nothing")
    with pytest.raises(InvalidArtifactError, match="questions in .* are damaged"):
        load_questions(tmp_path)
