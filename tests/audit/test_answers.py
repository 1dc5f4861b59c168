"""What a detector answers: read, checked, and turned; noise and cheats show."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.answering import answer_audit
from cfad_core.audit.answers import AnswerRecord, Answers, match_answers, read_answers, suggest_meaning
from cfad_core.audit.asking import PendingAudit, ask_audit
from cfad_core.audit.result import AuditResult
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AskedDetector
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.data.tables import Tables
from tests.audit.worlds import PCA, ROLES, codes
from tests.conftest import make_people


@cache
def pending() -> PendingAudit:
    config = PCA.replace(asked=AskedDetector(name="theirs"))
    return ask_audit(Tables.of(make_people(400, seed=1)), ROLES, config)


def batch() -> pd.DataFrame:
    return pending().questions.batch


def answered(score: Callable[[pd.DataFrame], Any]) -> pd.DataFrame:
    """Ids and scores."""
    return pd.DataFrame({"row_id": batch()["row_id"], "score": score(batch())})


def read(given: pd.DataFrame, **options: Any) -> Answers:
    return read_answers(pending().questions, given, options.pop("high_means", "anomalous"), **options)


def audited(given: pd.DataFrame, **options: Any) -> AuditResult:
    return answer_audit(pending(), read(given, **options))


def debt(rows: pd.DataFrame) -> Floats:
    return rows["debt"].to_numpy(dtype=np.float64)


# What is read


@pytest.mark.slow
def test_answers_may_come_in_any_order_and_beside_the_rows() -> None:
    right = read(answered(debt))
    shuffled = answered(debt).sample(frac=1.0, random_state=0)
    beside = batch().assign(anything=debt)
    spaced = answered(debt).assign(row_id=lambda given: " " + given["row_id"] + " ")
    for other in (shuffled, beside, spaced):
        found = read(other)
        assert np.array_equal(found.scores, right.scores)
        assert np.array_equal(found.twice, right.twice)


def test_every_score_is_in_its_place() -> None:
    found, questions = read(answered(debt)), pending().questions
    factual = pending().result.people.factual
    place = pending().result.encoding.names.index("debt")
    assert np.array_equal(found.scores[questions.numbers.factual], factual[:, place])
    assert not found.are_flags
    assert found.differing == 0


def test_where_high_means_normal_scores_and_threshold_are_turned() -> None:
    cut = float(np.quantile(debt(batch()), 0.8))
    high, low = (
        audited(answered(debt), threshold=cut),
        audited(answered(lambda rows: -debt(rows)), high_means="normal", threshold=-cut),
    )
    first, second = (result.report("theirs") for result in (high, low))
    assert first.threshold == second.threshold == cut
    assert first.metrics == second.metrics
    assert high.threshold_rule == "the score that 5 % of the people learned from exceed (theirs: its owner's)"


@pytest.mark.parametrize("kind", [int, float, bool, str])
def test_flags_are_recognised_however_they_are_written(kind: type) -> None:
    cut = float(np.quantile(debt(batch()), 0.8))
    flags = answered(lambda rows: pd.Series(debt(rows) > cut).map(kind).array)
    found = audited(flags)
    by_score = audited(answered(debt), threshold=cut)
    assert read(flags).are_flags
    assert found.report("theirs").threshold == 0.5
    assert found.report("theirs").metrics.changing_ratio == by_score.report("theirs").metrics.changing_ratio
    assert found.report("theirs").metrics.flag_rate == by_score.report("theirs").metrics.flag_rate


def test_a_flag_of_normal_people_is_turned() -> None:
    cut = float(np.quantile(debt(batch()), 0.8))
    flagged = audited(answered(lambda rows: (debt(rows) > cut) * 1))
    passed = audited(answered(lambda rows: (debt(rows) <= cut) * 1), high_means="normal")
    assert passed.report("theirs").metrics.flag_rate == flagged.report("theirs").metrics.flag_rate
    assert passed.report("theirs").metrics.changing_ratio == flagged.report("theirs").metrics.changing_ratio


def test_labels_suggest_what_a_high_score_means() -> None:
    questions, labels = pending().questions, pending().result.people.is_anomaly
    assert labels is not None
    truth = np.zeros(questions.rows)
    truth[questions.numbers.factual[labels]] = 1.0
    lines = truth[questions.row_of] + 0.001 * np.arange(len(questions.row_of)) / len(questions.row_of)
    for sign, meaning in ((1.0, "anomalous"), (-1.0, "normal")):
        found = match_answers(questions, sign * lines, "anomalous", door="file")
        assert suggest_meaning(questions, found, labels)[0] == meaning
    noise = match_answers(questions, np.random.default_rng(0).random(len(lines)), "anomalous", door="file")
    assert suggest_meaning(questions, noise, None) == (None, 0.5)


def test_two_values_are_told_apart_by_what_is_between_them() -> None:
    """As scikit-learn's ``predict`` gives them: -1 for outliers, 1 for others."""
    cut = float(np.quantile(debt(batch()), 0.8))
    found = audited(answered(lambda rows: np.where(debt(rows) > cut, -1, 1)), high_means="normal")
    flags = audited(answered(lambda rows: (debt(rows) > cut) * 1))
    assert found.report("theirs").threshold == 0.0
    assert found.report("theirs").metrics.changing_ratio == flags.report("theirs").metrics.changing_ratio
    assert not read(answered(lambda rows: np.where(debt(rows) > cut, -1, 1))).are_flags  # what 1 means must be said


def test_a_threshold_that_nobody_reaches_is_noticed() -> None:
    assert "nobody-flagged" in codes(audited(answered(debt), threshold=1e6))
    assert "nobody-flagged" not in codes(audited(answered(debt)))


def test_scores_may_be_called_as_a_column_of_the_table() -> None:
    given = answered(debt).rename(columns={"score": "income"})
    assert np.array_equal(read(given).scores, read(answered(debt)).scores)


# What is refused


def without(given: pd.DataFrame, count: int) -> pd.DataFrame:
    return given.iloc[count:]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda given: given.drop(columns="row_id"), "Expected the column 'row_id' with the ids"),
        (lambda given: given.drop(columns="score"), "Expected one column of scores (or of flags, 0 and 1) beside"),
        (lambda given: given.assign(more=1.0).rename(columns={"score": "x"}), "there are 2: x and more"),
        (lambda given: given.iloc[3:], "3 of {n} ids are missing, such as"),
        (lambda given: pd.concat([given, given.iloc[:2]]), "2 of {n} ids are there twice, such as"),
        (lambda given: given.assign(row_id=given["row_id"].where(given.index > 0, "r00")), "not among those that were"),
        (lambda given: given.assign(score=given["score"].where(given.index > 4)), "5 of {n} are none, such as nan of"),
        (lambda given: given.assign(score=given["score"].where(given.index > 0, np.inf)), "such as inf of row"),
        (lambda given: given.assign(score="odd"), "such as 'odd' of row"),
        (lambda given: given.assign(score=given["score"].where(given.index > 0, 1.7e308)), "such as 1.7e+308 of row"),
        (lambda given: given.iloc[:0], "{n} of {n} ids are missing"),
    ],
)
def test_what_is_no_answer_is_refused(change: Callable[[pd.DataFrame], pd.DataFrame], message: str) -> None:
    with pytest.raises(InvalidDataError) as error:
        read(change(answered(debt)))
    assert message.format(n=f"{len(batch()):,}") in str(error.value)


def test_a_column_can_be_named() -> None:
    given = answered(debt).assign(other=0.0).rename(columns={"score": "x"})
    assert np.array_equal(read(given, column="x").scores, read(answered(debt)).scores)
    with pytest.raises(InvalidDataError, match="There is no column 'y' of scores"):
        read(given, column="y")


def test_what_makes_no_sense_is_refused() -> None:
    with pytest.raises(InvalidConfigError, match="'anomalous' or 'normal'"):
        read(answered(debt), high_means="odd")
    with pytest.raises(InvalidConfigError, match="must be a finite number"):
        read(answered(debt), threshold=np.nan)


# Noise and cheats


def by_order(given: pd.DataFrame) -> pd.DataFrame:
    """Treats the first half of the file otherwise."""
    late = np.arange(len(given)) >= len(given) // 2
    return given.assign(score=given["score"] + 5.0 * late)


def by_id(given: pd.DataFrame) -> pd.DataFrame:
    """Treats rows otherwise by what their id looks like."""
    odd = given["row_id"].map(lambda name: hashlib.sha256(name.encode()).digest()[0] < 26)
    return given.assign(score=given["score"] + 5.0 * odd)


def by_chance(given: pd.DataFrame) -> pd.DataFrame:
    return given.assign(score=given["score"] + np.random.default_rng(0).normal(0.0, 0.5, len(given)))


@pytest.mark.parametrize("cheat", [by_order, by_id, by_chance])
def test_a_detector_that_looks_at_anything_but_the_row_is_caught(
    cheat: Callable[[pd.DataFrame], pd.DataFrame],
) -> None:
    honest, result = audited(answered(debt)), audited(cheat(answered(debt)))
    assert honest.asked is not None
    assert honest.asked.differing == 0
    assert "detector-noise" not in codes(honest)
    assert result.asked is not None
    assert result.asked.differing > 0.1 * result.asked.repeated
    assert result.asked.flags_differ > 0.0
    notice = next(finding for finding in result.findings if finding.code == "detector-noise")
    assert notice.severity == "warning"
    assert f"{result.asked.differing:,} got two different scores" in notice.message


def test_noise_counts_in_full() -> None:
    """Flags that are thrown with p = 0.3 differ between two rows in 2 p (1 - p) = 42 % of all cases."""
    rng = np.random.default_rng(1)
    found = audited(answered(lambda rows: (rng.random(len(rows)) < 0.3) * 1))
    metrics = found.report("theirs").metrics
    assert found.asked is not None
    assert found.asked.flags_differ == pytest.approx(0.42, abs=0.04)
    assert metrics.flag_rate == pytest.approx(0.3, abs=0.15)  # of 100 people
    assert metrics.changing_ratio is not None
    assert metrics.changing_ratio > 0.25


def test_noise_is_counted_at_the_threshold() -> None:
    found = Answers(np.zeros(3), np.array([[0.0, 0.0], [0.0, 2.0], [3.0, 3.5]]), "anomalous", False, 1.0, "file",
                    np.zeros((0, 2)))  # fmt: skip
    assert found.differing == 2
    assert found.flags_differ(1.0) == pytest.approx(1 / 3)
    record = AnswerRecord.of("theirs", found, 1.0)
    assert AnswerRecord.from_dict(record.to_dict()) == record


def test_batch_wide_ranks_favour_nobody() -> None:
    """A detector may score by ranks within its batch: the answer to a row is then still one."""
    result = audited(answered(lambda rows: pd.Series(debt(rows)).rank().array))
    plain = audited(answered(debt))
    assert result.asked is not None
    assert result.asked.differing == 0
    assert result.report("theirs").metrics.flag_rate == plain.report("theirs").metrics.flag_rate
