"""Score a table with an ONNX model that a stranger uploaded, in a process that can do nothing else.

This process never reads the file. A child does, under the limits of ``runs/limits``, in an empty folder and without
this process's environment. Whatever the file does there ends in a sentence here.
"""

from __future__ import annotations

import base64
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import AuditCancelled, InvalidArtifactError, WorkerDied
from cfad_core.core.progress import Progress
from cfad_core.runs.child import Deadline, run_in_child
from cfad_core.runs.limits import OTHER_WAY
from cfad_core.runs.onnx_file import MOST_BYTES
from cfad_core.runs.onnx_use import ModelForm, OnnxUse, pack_columns

if TYPE_CHECKING:
    import pandas as pd

SECONDS_TO_READ, SECONDS_TO_SCORE, MEGABYTES = 60.0, 120.0, 4096


def read_form(
    path: Path, *, seconds: float = SECONDS_TO_READ, megabytes: int = MEGABYTES, progress: Progress | None = None
) -> ModelForm:
    """The inputs and outputs of a model that can be run here.

    Parameters
    ----------
    seconds : that it may take
    megabytes : of address space that the child may have
    progress : may ask to stop

    Raises
    ------
    InvalidArtifactError
        If the file is no ONNX model, or one that is refused; the message says why.
    InvalidConfigError
        If this system cannot set the limits.
    WorkerDied
        If the model took too long, needed too much memory, or crashed.
    """
    with tempfile.TemporaryDirectory(prefix="cfad-") as folder:
        arguments = {"model": _checked(path), "seconds": seconds, "megabytes": megabytes}
        answer = _run("describe", arguments, Path(folder), progress)
    return ModelForm.from_dict(answer)


def score_with_model(
    path: Path,
    use: OnnxUse,
    batch: pd.DataFrame,
    *,
    seconds: float = SECONDS_TO_SCORE,
    megabytes: int = MEGABYTES,
    progress: Progress | None = None,
) -> Floats:
    """The scores of the rows of ``batch``, (n,), as the model gives them; what high means is the model's business.

    All rows go through the model in one run, unless it takes one at a time: a model may look at rows together, and
    would then score them differently in parts. Missing numbers go in as NaN, missing texts as ''.

    Parameters
    ----------
    seconds, megabytes, progress : as in ``read_form``

    Raises
    ------
    InvalidDataError
        If the columns do not fit the model, or it did not give one finite score for each row.
    InvalidArtifactError, InvalidConfigError, WorkerDied
        As in ``read_form``.
    """
    from cfad_core.runs.onnx_child import write_columns

    model, columns = _checked(path), pack_columns(use, batch)
    if len(batch) == 0:
        return np.empty(0)
    with tempfile.TemporaryDirectory(prefix="cfad-") as folder:
        table, work = Path(folder) / "table.npz", Path(folder) / "work"
        work.mkdir()
        write_columns(table, columns)
        arguments = {"model": model, "seconds": seconds, "megabytes": megabytes}
        answer = _run("score", {**arguments, "table": str(table), "use": use.to_dict()}, work, progress)
    return _understand(answer, len(batch))


def _checked(path: Path) -> str:
    """Where a file is that could be a model."""
    path = path.absolute()
    if not path.is_file():
        raise InvalidArtifactError(f"There is no file '{path}'. Choose an ONNX model.")
    if path.stat().st_size > MOST_BYTES:
        raise InvalidArtifactError(f"The file is larger than {MOST_BYTES / 1e6:g} MB. Export a smaller model.")
    return str(path)


def _understand(answer: Any, rows: int) -> Floats:
    """The scores in a child's answer, which may be anything."""
    try:
        scores = np.frombuffer(base64.b64decode(answer["scores"], validate=True), dtype="<f8").astype(np.float64)
    except (KeyError, TypeError, ValueError) as error:
        raise InvalidArtifactError(f"The model gave no scores that can be read. {OTHER_WAY}") from error
    if scores.shape != (rows,) or not np.isfinite(scores).all():
        raise InvalidArtifactError(
            f"The model did not give one finite score for each of the {rows:,} rows. {OTHER_WAY}"
        )
    return scores


def _run(function: str, arguments: Mapping[str, Any], folder: Path, progress: Progress | None) -> Any:
    """Do it in a child, in time."""
    seconds = float(arguments["seconds"])
    deadline = Deadline(seconds, progress)
    try:
        return run_in_child(f"cfad_core.runs.onnx_child:{function}", arguments, deadline, threads=1, folder=folder)
    except AuditCancelled:
        if deadline.is_over:
            raise _too_long(seconds) from None
        raise
    except WorkerDied as error:
        if error.code is None:
            raise
        raise _death(error, arguments) from None


def _too_long(seconds: float) -> WorkerDied:
    return WorkerDied(f"The model took longer than {seconds:g} seconds. Use fewer rows or a faster model. {OTHER_WAY}")


def _death(error: WorkerDied, arguments: Mapping[str, Any]) -> WorkerDied:
    """Why a child ended without an answer."""
    code = error.code or 0
    if code == -signal.SIGXCPU:
        return _too_long(arguments["seconds"])
    try:
        how = signal.Signals(-code).name
    except ValueError:
        how = f"exit code {code}"
    found = WorkerDied(
        f"The model made onnxruntime crash ({how}), perhaps for want of memory: it may use "
        f"{arguments['megabytes']:,} MB. Export it anew, or use fewer rows. {OTHER_WAY}"
    )
    found.code, found.details = error.code, error.details
    return found
