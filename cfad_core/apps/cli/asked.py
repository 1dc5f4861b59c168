"""audit, of a detector outside this program: its options, and the way from a table to its answers."""

from __future__ import annotations

import argparse
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from cfad_core.apps.cli.doors import check_batch_name, door_of, write_batch
from cfad_core.apps.cli.jobs import run_job
from cfad_core.apps.cli.opening import open_store, record_named
from cfad_core.core.config import AskedDetector, AuditConfig
from cfad_core.core.errors import InvalidConfigError

if TYPE_CHECKING:
    import pandas as pd

    from cfad_core.audit.answers import Door
    from cfad_core.audit.pending_files import AnswerForm
    from cfad_core.audit.questions import Questions
    from cfad_core.audit.result import AuditResult
    from cfad_core.core.progress import Progress
    from cfad_core.data.roles import ColumnRoles
    from cfad_core.data.tables import Tables
    from cfad_core.runs.store import Store

_MEANINGS = ("anomalous", "normal")
_SAY_MEANING = "Say what a high score of the detector means: --high-means anomalous, or normal (as scikit-learn's)."


def add_asked(audit: argparse.ArgumentParser) -> None:
    usual = AskedDetector()
    group = audit.add_argument_group(
        "a detector outside this program", "audit a detector that exists already, beside --methods or alone"
    )
    doors = group.add_mutually_exclusive_group()
    doors.add_argument(
        "--ask-scores", type=Path, metavar="FILE", help="write the rows that it must score to a .csv or .parquet file"
    )
    doors.add_argument(
        "--scores", type=Path, metavar="FILE", help="its answers; TABLE is then the audit that waits for them"
    )
    doors.add_argument("--score-command", metavar="COMMAND", help="run it: 'python score.py {in} {out}'")
    doors.add_argument("--score-address", metavar="URL", help="send it the rows as CSV, and read ids and scores back")
    doors.add_argument("--onnx", type=Path, metavar="FILE", help="run this ONNX model, in a process under limits")
    group.add_argument("--detector", default=usual.name, metavar="NAME", help=f"what to call it; '{usual.name}'")
    group.add_argument("--score-column", metavar="COL", help="the table's column with its scores; no attribute then")
    group.add_argument("--high-means", choices=_MEANINGS, help="what a high score means; not needed for flags 0 and 1")
    group.add_argument("--threshold", type=float, metavar="X", help="the score strictly above which it flags")
    group.add_argument("--carry", nargs="+", default=[], metavar="COL", help="ignored columns that it needs to see")
    group.add_argument("--asked-people", type=int, default=usual.people, metavar="N", help="whose twins it scores")
    group.add_argument("--no-methods", action="store_true", help="audit it alone, without methods of ours")
    group.add_argument("--answer-column", metavar="COL", help="of the answers, that holds the scores")
    group.add_argument("--score-format", choices=("csv", "parquet"), default="csv", help="of {in} and {out}")
    group.add_argument("--score-seconds", type=float, default=600.0, metavar="S", help="that scoring may take; 600")
    group.add_argument(
        "--onnx-input", nargs="+", action="append", default=[], metavar=("INPUT", "COL"), help="columns of an input"
    )
    group.add_argument("--onnx-output", metavar="NAME[:K]", help="the output (and its column) that is the score")


def asked_by(options: argparse.Namespace) -> AskedDetector | None:
    """The detector that the options ask, if they ask one.

    Raises
    ------
    InvalidConfigError
        If they say something of it, but not how to ask it, or not what its scores mean.
    """
    ways = (options.ask_scores, options.score_command, options.score_address, options.onnx)
    said = options.high_means is not None or options.threshold is not None
    if all(way is None for way in ways):
        if options.score_column is not None or options.no_methods or options.carry or said:
            raise InvalidConfigError(
                "Scores of twins are needed, too: say how to ask the detector, by --ask-scores, --score-command, "
                "--score-address or --onnx."
            )
        return None
    if options.ask_scores is not None:
        if said:
            raise InvalidConfigError("Give --high-means and --threshold when the scores are there, with --scores.")
        check_batch_name(options.ask_scores)
    elif options.high_means is None:
        raise InvalidConfigError(_SAY_MEANING)
    door_of(options)  # refuses a command or an address that cannot be one
    return AskedDetector(name=options.detector, carried=tuple(options.carry), people=options.asked_people)


def ask_for_folder(
    options: argparse.Namespace, tables: Tables, roles: ColumnRoles, config: AuditConfig, progress: Progress
) -> tuple[AuditResult | None, str]:
    """Audit into a folder with questions to a detector; returns the result, if it has answered, and where it is."""
    from cfad_core.audit.answering import answer_audit
    from cfad_core.audit.asking import ask_audit
    from cfad_core.audit.folder import save_audit
    from cfad_core.audit.pending_files import save_pending

    pending, door = ask_audit(tables, roles, config, progress), door_of(options)
    if door is None:
        save_pending(pending, options.out)
        return None, hand_out(pending.questions, options.ask_scores, str(options.out))
    answers = _form(options, door[0]).read(pending.questions, door[1](pending.questions))
    result = answer_audit(pending, answers, progress)
    save_audit(result, options.out)
    return result, f"in {options.out}"


def ask_for_saved(
    options: argparse.Namespace, store: Store, audit: str, progress: Progress
) -> tuple[AuditResult | None, str]:
    """The same for a saved audit that waits for scores."""
    questions, door = store.questions(audit), door_of(options)
    if door is None:
        return None, hand_out(questions, options.ask_scores, audit)
    store.answer(audit, door[1](questions), _form(options, door[0]))
    run_job(store, audit, progress)
    return store.result(audit), f"saved as {audit}"


def hand_out(questions: Questions, path: Path, audit: str) -> str:
    """Write the rows to score, and say what to do with them."""
    write_batch(questions, path)
    remarks = "".join(f"\n{remark}" for remark in questions.remarks)
    return (
        f"{len(questions.batch):,} rows to score are in {path}: {questions.rows:,} different ones, of "
        f"which {questions.repeated:,} are there twice. People and twins are mixed; score them all at once.{remarks}\n"
        f"Add a column 'score' (or flags, 0 and 1), keep the column '{questions.id_column}', and finish the audit:\n"
        f"  python -m cfad_core audit {audit} --scores FILE --high-means anomalous\n"
        "(or normal; with --threshold X, if it has one)"
    )


def _form(options: argparse.Namespace, door: Door) -> AnswerForm:
    from cfad_core.audit.pending_files import AnswerForm

    return AnswerForm(options.high_means, options.threshold, options.answer_column, door)


def finish_audit(options: argparse.Namespace, progress: Progress) -> tuple[AuditResult, str]:
    """Finish an audit, by its folder or its id, with a file of answers."""
    from cfad_core.data.readers import read_table

    name, given = str(options.table), read_table(options.scores)
    if options.table.is_dir():
        from cfad_core.audit.answering import answer_audit
        from cfad_core.audit.folder import save_audit
        from cfad_core.audit.pending_files import load_pending

        pending = load_pending(options.table)
        answers = _answer_form(options, given, lambda: pending.questions).read(pending.questions, given)
        result = answer_audit(pending, answers, progress)
        save_audit(result, options.table)
        return result, f"in {name}"

    with open_store() as store:
        record_named(store, name)
        store.answer(name, given, _answer_form(options, given, lambda: store.questions(name)))
        run_job(store, name, progress)
        return store.result(name), f"saved as {name}"


def _answer_form(options: argparse.Namespace, given: pd.DataFrame, questions: Callable[[], Questions]) -> AnswerForm:
    """How to read the answers; what a high score means must be said, unless they are flags."""
    if options.high_means is not None:
        return _form(options, "file")
    form = replace(_form(options, "file"), high_means="anomalous")
    if not form.read(questions(), given).are_flags:
        raise InvalidConfigError(_SAY_MEANING)
    return form
