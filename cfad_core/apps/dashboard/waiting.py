"""An audit that waits for the scores of a detector: the rows to score, and the way its answers come back."""

from __future__ import annotations

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.downloads import parquet_file
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.model_upload import score_with_upload
from cfad_core.apps.dashboard.rights import refusal, refusals_in_words
from cfad_core.apps.dashboard.services import program_store, store
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.apps.dashboard.uploads import read_upload
from cfad_core.audit.answers import Answers, Door, score_column, suggest_meaning
from cfad_core.audit.pending_files import AnswerForm, load_labels
from cfad_core.audit.questions import Questions
from cfad_core.core.errors import CfadError, InvalidDataError
from cfad_core.core.formats import exceeded_by
from cfad_core.core.markdown import as_text
from cfad_core.data.readers import SUFFIXES
from cfad_core.detectors.adapter import Meaning
from cfad_core.runs.model import AuditRecord

_MEANINGS: dict[Meaning, str] = {"anomalous": "odd: more likely to be flagged", "normal": "normal"}


def show_waiting(record: AuditRecord) -> None:
    """What to do, step by step."""
    st.success("The causal model is learned. Now your detector has to score the rows below.")
    answer_again(record)
    st.caption("You can close this page: the audit waits, and its address brings you back, in any browser.")


def answer_again(record: AuditRecord) -> None:
    """The rows to score, and where the scores are uploaded."""
    try:
        questions = _questions(record.id, str(store().home))
    except CfadError as error:
        st.error(as_text(error, 500))
        return
    _offer_rows(record, questions)
    if why := refusal(record, "tune"):
        st.caption(why)
        return
    scores, model = st.tabs(["2. Upload the scores", "or: upload the detector as an ONNX file"])
    with scores:
        given = _uploaded_scores(record, questions)
        if given is not None:
            _confirm(record, questions, given, "file")
    with model:
        scored = score_with_upload(record, questions)
        if scored is not None:
            _confirm(record, questions, scored, "onnx")


@st.cache_resource(show_spinner="Loading the rows to score ...", max_entries=2)
def _questions(audit: str, home: str) -> Questions:  # noqa: ARG001 - the key
    return program_store().questions(audit)


def _offer_rows(record: AuditRecord, questions: Questions) -> None:
    st.markdown("**1. Score these rows**")
    st.markdown(
        f"{len(questions.batch):,} rows: people and twins of them in no order, so that nobody can know which is which; "
        f"{questions.repeated:,} of the {questions.rows:,} different rows are there twice, to see whether the detector "
        "answers the same row in the same way. Score all of them **in one batch**."
    )
    for remark in questions.remarks:
        st.caption(as_text(remark, 500))
    csv, parquet, _ = st.columns(3)
    with csv:
        offer_file(
            "Rows to score (CSV)",
            lambda: questions.batch.to_csv(index=False).encode("utf-8"),
            record.file("rows-to-score.csv"),
            "text/csv",
            audit=record.id,
            key=f"to-score-csv-{record.id}",
            width="stretch",
        )
    with parquet:
        offer_file(
            "Rows to score (Parquet)",
            lambda: parquet_file(questions.batch),
            record.file("rows-to-score.parquet"),
            "application/octet-stream",
            audit=record.id,
            key=f"to-score-parquet-{record.id}",
            width="stretch",
        )


def _uploaded_scores(record: AuditRecord, questions: Questions) -> pd.DataFrame | None:
    """The ids and scores of a file."""
    key = f"answers-{record.id}"
    file = st.file_uploader(
        f"A table with the column {as_text(questions.id_column)} as it is, and the scores (or flags, 0 and 1)",
        type=sorted({suffix.split(".")[-1] for suffix in SUFFIXES}),
        key=key,
    )
    if file is None:
        return None
    try:
        given = read_upload(file, key).table.rename(columns=str)
        column = _score_column(record, questions, list(given.columns))
    except CfadError as error:
        st.error(as_text(error, 500))
        return None
    kept = [name for name in (questions.id_column, column) if name in given.columns]
    return given[kept].rename(columns={column: "score"})


def _score_column(record: AuditRecord, questions: Questions, columns: list[str]) -> str:
    """Which column holds the scores; asked where several could."""
    try:
        return score_column(questions, columns)
    except InvalidDataError:
        choices = [name for name in columns if name not in questions.batch.columns]
        if len(choices) < 2:
            raise
        return st.selectbox("Which column holds the scores?", choices, key=f"answer-column-{record.id}")


def _confirm(record: AuditRecord, questions: Questions, given: pd.DataFrame, door: Door) -> None:
    """What the scores mean, as the person says; then the audit goes on."""
    try:
        answers = AnswerForm("anomalous", column="score", door=door).read(questions, given)
    except CfadError as error:
        for line in str(error).splitlines():
            st.error(as_text(line, 500))
        return
    _say_what_came(questions, answers)
    meaning = _choose_meaning(record, questions, answers)
    threshold = None if answers.are_flags else _owners_threshold(record, door)
    if st.button("Finish the audit", type="primary", disabled=meaning is None, key=f"finish-{door}-{record.id}"):
        assert meaning is not None
        with refusals_in_words():
            store().answer(record.id, given, AnswerForm(meaning, threshold, "score", door))
            st.rerun()


def _choose_meaning(record: AuditRecord, questions: Questions, answers: Answers) -> Meaning | None:
    """What a high score means; the labels may suggest it, the person says it."""
    guess, auc = suggest_meaning(questions, answers, load_labels(store().folder(record.id)))
    usual, meanings = guess or ("anomalous" if answers.are_flags else None), list(_MEANINGS)
    chosen = st.radio(
        "A flag (1) means" if answers.are_flags else "A high score means",
        meanings,
        index=None if usual is None else meanings.index(usual),
        format_func=lambda one: _MEANINGS[one],
        horizontal=True,
        key=f"meaning-{answers.door}-{record.id}",
    )
    if guess is not None:
        st.caption(
            f"The labels suggest: {_MEANINGS[guess]}. So read, the scores rank labelled anomalies above others in "
            f"{auc:.0%} of all pairs."
        )
    return chosen


def _owners_threshold(record: AuditRecord, door: Door) -> float | None:
    return st.number_input(
        "Threshold of the detector, if it has one",
        value=None,
        placeholder=f"none: {exceeded_by(record.config.quantile)}",
        format="%g",
        key=f"owners-{door}-{record.id}",
        help=HELP["threshold"],
    )


def _say_what_came(questions: Questions, answers: Answers) -> None:
    what = "flags" if answers.are_flags else "scores"
    st.success(f"Every one of the {len(questions.batch):,} rows has one answer ({what}).")
    if answers.differing:
        st.warning(
            f"Of {len(answers.twice):,} rows that were asked about twice, {answers.differing:,} got two different "
            "answers. Outcomes that change by the detector's own noise, or by the order of the rows, will count as "
            "changed."
        )
    if answers.unlike_known:
        st.warning(
            f"For {answers.unlike_known:,} of {len(answers.known):,} people, the answer is not the score that the "
            "table has. Is it the same version of the detector, with the same preparation of its inputs?"
        )
