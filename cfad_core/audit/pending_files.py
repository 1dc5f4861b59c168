"""An audit that waits for a detector's answers, as a folder in the audit's own: ``pending``.

It holds the audit of our own methods (as every audit folder does), ``to_score.parquet``, the rows to score, and
``questions.json`` and ``.safetensors``, where their scores belong. ``questions.json`` comes last, so a folder that has
it is complete. ``answers.json`` and ``.parquet`` are what was answered, as it was given.
"""

from __future__ import annotations

import dataclasses
import json
import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import load_file

from cfad_core.audit.answers import Answers, Door, read_answers
from cfad_core.audit.asking import PendingAudit
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.questions import AskedNumbers, Questions
from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability_files import save_arrays
from cfad_core.core.arrays import Bools
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.files import staged_folder
from cfad_core.core.settings import from_plain
from cfad_core.data.tables import load_parquet, save_parquet
from cfad_core.detectors.adapter import Meaning
from cfad_core.evaluation.couplings import CouplingScores
from cfad_core.evaluation.edge_cuts import CutScores

FOLDER = "pending"
BATCH = "to_score.parquet"
_PLAIN = ("train", "factual", "twins", "truth", "judged", "returned", "returned_by_same")


@dataclass(frozen=True)
class AnswerForm:
    """How a table of answers is to be read.

    Attributes
    ----------
    high_means, threshold, column, door : see ``answers.read_answers``
    mark : what these answers are recognised by
    """

    high_means: Meaning
    threshold: float | None = None
    column: str | None = None
    door: Door = "file"
    mark: str = ""

    def read(self, questions: Questions, given: pd.DataFrame) -> Answers:
        """The answers of a table.

        Raises
        ------
        InvalidDataError
            If they are no answers to these questions.
        """
        found = read_answers(
            questions, given, self.high_means, column=self.column, threshold=self.threshold, door=self.door
        )
        return dataclasses.replace(found, mark=self.mark)


def is_pending(folder: Path) -> bool:
    """Whether an audit's folder holds questions, answered or not."""
    return (folder / FOLDER / "questions.json").is_file()


def is_answered(folder: Path) -> bool:
    """Whether it holds answers, too."""
    return (folder / FOLDER / "answers.json").is_file()


def save_pending(pending: PendingAudit, folder: Path) -> None:
    """Write questions, and the audit so far; earlier questions and their answers are no longer there."""
    for name in ("questions.json", "answers.json"):
        (folder / FOLDER / name).unlink(missing_ok=True)
    save_audit(pending.result, folder / FOLDER)
    with staged_folder(folder / FOLDER, last="questions.json") as stage:
        questions = pending.questions
        save_parquet(questions.batch, stage / BATCH)
        save_arrays(_arrays(questions), stage / "questions.safetensors")
        text = {
            "name": questions.name,
            "id_column": questions.id_column,
            "rows": questions.rows,
            "remarks": list(questions.remarks),
            "couplings": [one is not None for one in questions.numbers.couplings],
            "cuts": [[list(edge) for edge in one.edges] for one in questions.numbers.cuts],
        }
        (stage / "questions.json").write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")


def load_pending(folder: Path) -> PendingAudit:
    """Read what ``save_pending`` wrote.

    Raises
    ------
    InvalidArtifactError
        If the folder holds no questions, or damaged ones.
    """
    questions = load_questions(folder)
    return PendingAudit(load_audit(folder / FOLDER), questions)


def load_questions(folder: Path) -> Questions:
    """The questions alone."""
    if not is_pending(folder):
        raise InvalidArtifactError(f"'{folder}' holds no audit that waits for scores.")
    place = folder / FOLDER
    try:
        text = json.loads((place / "questions.json").read_text(encoding="utf-8"))
        arrays = load_file(place / "questions.safetensors")
        return Questions(
            name=text["name"],
            id_column=text["id_column"],
            batch=load_parquet(place / BATCH),
            row_of=arrays["row_of"],
            rows=text["rows"],
            numbers=_numbers(text, arrays),
            known_rows=arrays["known_rows"],
            known=arrays["known"],
            remarks=tuple(text["remarks"]),
        )
    except InvalidArtifactError:
        raise
    except Exception as error:  # whatever is wrong with the files, it is one thing to the reader
        raise InvalidArtifactError(f"The questions in '{place}' are damaged: {error}") from error


def load_labels(folder: Path) -> Bools | None:
    """Who of the judged people (n,) is an anomaly; None without labels."""
    table = load_parquet(folder / FOLDER / "people.parquet")
    return table["is_anomaly"].to_numpy(dtype=np.bool_) if "is_anomaly" in table else None


def save_answers(given: pd.DataFrame, form: AnswerForm, folder: Path) -> None:
    """Keep answers as they were given; earlier ones are replaced."""
    with staged_folder(folder / FOLDER, last="answers.json") as stage:
        save_parquet(given, stage / "answers.parquet")
        text = json.dumps(dataclasses.asdict(form) | {"mark": secrets.token_hex(8)}, indent=2)
        (stage / "answers.json").write_text(text + "\n", encoding="utf-8")


def is_finished_with(result: AuditResult, folder: Path) -> bool:
    """Whether an audit was made of the answers that are there now, not of earlier ones."""
    return result.asked is not None and result.asked.mark == _load_form(folder).mark


def _load_form(folder: Path) -> AnswerForm:
    place = folder / FOLDER
    try:
        values = json.loads((place / "answers.json").read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidArtifactError(f"The answers in '{place}' are missing or damaged.") from error
    return from_plain(AnswerForm, values, "answers")


def load_answers(questions: Questions, folder: Path) -> Answers:
    """Read what ``save_answers`` kept.

    Raises
    ------
    InvalidArtifactError, InvalidDataError
        If there are none, or they do not answer these questions.
    """
    return _load_form(folder).read(questions, load_parquet(folder / FOLDER / "answers.parquet"))


def _arrays(questions: Questions) -> dict[str, NDArray[Any]]:
    """Every array by its name."""
    numbers = questions.numbers
    found = {name: array for name in _PLAIN if (array := getattr(numbers, name)) is not None}
    for k, couplings in enumerate(numbers.couplings):
        if couplings is not None:
            found |= {f"couplings{k}.here": couplings.here[questions.name]}
            found |= {f"couplings{k}.there": couplings.there[questions.name]}
            found |= {f"couplings{k}.compared": couplings.compared.astype(np.uint8)}
    for k, cuts in enumerate(numbers.cuts):
        for part in ("here", "whole", "without"):
            found[f"cuts{k}.{part}"] = getattr(cuts, part)[questions.name]
    return found | {name: getattr(questions, name) for name in ("row_of", "known_rows", "known")}


def _numbers(text: Mapping[str, Any], arrays: Mapping[str, NDArray[Any]]) -> AskedNumbers:
    name = text["name"]

    def couplings(k: int) -> CouplingScores:
        here, there, compared = (arrays[f"couplings{k}.{part}"] for part in ("here", "there", "compared"))
        return CouplingScores({name: here}, {name: there}, compared.astype(np.bool_))

    def cuts(k: int, edges: list[list[str]]) -> CutScores:
        here, whole, without = ({name: arrays[f"cuts{k}.{part}"]} for part in ("here", "whole", "without"))
        return CutScores(tuple((cause, effect) for cause, effect in edges), here, whole, without)

    return AskedNumbers(
        **{part: arrays.get(part) for part in _PLAIN},  # type: ignore[arg-type]
        couplings=tuple(couplings(k) if there else None for k, there in enumerate(text["couplings"])),
        cuts=tuple(cuts(k, edges) for k, edges in enumerate(text["cuts"])),
    )
