"""What a limited process does with a stranger's ONNX model: look at it, or score rows with it.

The order is the point: import and open all that is needed, set the limits, and only then read the first byte of the
model. Nothing heavy is imported on top, as every process starts anew.
"""

from __future__ import annotations

import base64
import json
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import CfadError, InvalidArtifactError, InvalidDataError, WorkerDied
from cfad_core.core.progress import Progress
from cfad_core.runs.limits import OTHER_WAY, limit_process
from cfad_core.runs.onnx_file import MOST_BYTES, clean, read_model
from cfad_core.runs.onnx_use import TEXT, Column, ModelForm, OnnxUse, Port, check_columns

_TYPES: dict[str, type[np.generic]] = {
    "float": np.float32,
    "double": np.float64,
    "int64": np.int64,
    "int32": np.int32,
    "bool": np.bool_,
}
_MEMORY = re.compile(
    r"bad.alloc|bad_array_new_length|length_error|allocate memory|out of memory|require more than \d+ bytes",
    re.IGNORECASE,
)
_NOISE = re.compile(  # around what is for people: kinds of error, and places in the program
    r"\[ONNXRuntimeError\] : \d+ : \w+ : |/onnxruntime_src/\S+ |Load model from bytes failed:"
    r"|(?:\w+ )*[\w:<>]*onnxruntime::[\w:<>~]*\([^)]*\) ?|\.*\s*$"
)
Result = TypeVar("Result")


def describe(progress: Progress, *, model: str, seconds: float, megabytes: int) -> dict[str, Any]:
    """The form of a model that can be loaded."""
    content = _limited(model, seconds, megabytes, progress)
    return _sentences(lambda: _open(content)[0].to_dict(), megabytes)


def score(
    progress: Progress, *, model: str, table: str, use: Mapping[str, Any], seconds: float, megabytes: int
) -> dict[str, Any]:
    """The scores of the rows of a table, as text (base64) of their bytes (float64, little-endian)."""
    columns = read_columns(Path(table))
    content = _limited(model, seconds, megabytes, progress)

    def compute() -> dict[str, Any]:
        form, session = _open(content)
        found = _score(form, session, OnnxUse.from_dict(use), columns)
        return {"scores": base64.b64encode(found.astype("<f8").tobytes()).decode("ascii")}

    return _sentences(compute, megabytes)


def _limited(path: str, seconds: float, megabytes: int, progress: Progress) -> bytes:
    """Set the limits, then read the file."""
    import onnx  # noqa: F401 - nothing can be imported later
    import onnxruntime

    onnxruntime.disable_telemetry_events()  # the environment says so, too
    _open(_smallest())  # whatever is loaded at first use
    handle = os.open(path, os.O_RDONLY)
    progress.report("model", 0, 1, {})
    limit_process(seconds=seconds, megabytes=megabytes)
    parts: list[bytes] = []
    while (part := os.read(handle, 2**20)) and len(parts) <= MOST_BYTES // 2**20 + 1:
        parts.append(part)
    return b"".join(parts)


def _smallest() -> bytes:
    """A model of our own."""
    from onnx import TensorProto, helper

    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [None, 1]) for name in "xy")
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "smallest", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    return bytes(model.SerializeToString())


def _sentences(work: Callable[[], Result], megabytes: int) -> Result:
    """Whatever a model does to the libraries is said in a sentence."""
    try:
        return work()
    except CfadError:
        raise
    except Exception as error:
        if isinstance(error, MemoryError) or _MEMORY.search(str(error)):
            raise WorkerDied(
                f"The model needs more memory than the {megabytes:,} MB that it may use. Use fewer rows or a smaller "
                f"model. {OTHER_WAY}"
            ) from None
        reason = clean(_NOISE.sub("", str(error)[:4000]) or type(error).__name__)
        raise InvalidArtifactError(f"The model cannot be run; onnxruntime says: {reason}. Export it anew.") from None


def _open(content: bytes) -> tuple[ModelForm, Any]:
    """The form of a model, and the session that runs it."""
    import onnxruntime

    form = read_model(content)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL  # run it as it is written
    options.enable_cpu_mem_arena = options.enable_mem_pattern = False
    options.log_severity_level = 4
    options.add_session_config_entry("session.load_model_format", "ONNX")  # no other that the bytes could be, too
    return form, onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])


def _score(form: ModelForm, session: Any, use: OnnxUse, columns: Mapping[str, Column]) -> Floats:
    check_columns(form, use, columns)
    feeds = {port.name: _feed(port, use.inputs[port.name], columns) for port in form.inputs}
    rows = len(next(iter(columns.values())))
    if not form.one_row:  # one run for all: a model may look at them together
        return _scores_of(session.run([use.output], feeds)[0], use, rows)
    found = np.empty(rows)
    for row in range(rows):
        one = {name: values[row : row + 1] for name, values in feeds.items()}
        found[row] = _scores_of(session.run([use.output], one)[0], use, 1)[0]
    return found


def _feed(port: Port, names: Sequence[str], columns: Mapping[str, Column]) -> NDArray[Any]:
    """What goes into an input: (n, columns), or (n,)."""
    parts: list[NDArray[Any]] = []
    for name in names:
        column = columns[name]
        if port.element == TEXT:
            parts.append(np.array([str(cell) for cell in column], dtype=object))
        else:
            with np.errstate(over="ignore"):  # beyond float's range is infinity
                parts.append(np.asarray(column).astype(_TYPES[port.element]))
    return parts[0] if port.rank == 1 else np.column_stack(parts)


def _scores_of(answer: Any, use: OnnxUse, rows: int) -> Floats:
    """The column of an output that has the scores, if it is one finite number a row."""
    found = np.asarray(answer)
    where = f"The model's output '{use.output}'"
    if found.dtype.kind not in "fiub":
        raise InvalidDataError(f"{where} is no number ({found.dtype}), and a score is one. Choose another output.")
    if found.ndim not in (1, 2) or len(found) != rows:
        raise InvalidDataError(
            f"{where} must have one score for each of the {rows:,} rows; it has the shape {list(found.shape)}."
        )
    table = found.reshape(rows, -1)  # (n,) -> (n, 1)
    if not 0 <= use.column < table.shape[1]:
        raise InvalidDataError(f"{where} has {table.shape[1]} columns; column {use.column} (from 0) is not among them.")
    scores = table[:, use.column].astype(np.float64)
    bad = int((~np.isfinite(scores)).sum())
    if bad:
        raise InvalidDataError(
            f"{where} must be a finite score for each row; {bad:,} of {rows:,} are infinite or not a number. Fill "
            "missing values first, or export the model with what fills them."
        )
    return scores


def write_columns(path: Path, columns: Mapping[str, Column]) -> None:
    """Columns as a file that needs no pandas to be read: NumPy's arrays, texts as JSON."""
    arrays: dict[str, Any] = {"names": _as_bytes(list(columns))}
    for place, column in enumerate(columns.values()):
        is_text = isinstance(column, list)
        arrays[f"{'text' if is_text else 'numbers'}{place}"] = _as_bytes(column) if isinstance(column, list) else column
    with path.open("wb") as stream:
        np.savez(stream, **arrays)


def read_columns(path: Path) -> dict[str, Column]:
    """What ``write_columns`` wrote."""
    with np.load(path, allow_pickle=False) as arrays:
        names: list[str] = json.loads(arrays["names"].tobytes())
        return {
            name: json.loads(arrays[f"text{place}"].tobytes())
            if f"text{place}" in arrays
            else arrays[f"numbers{place}"]
            for place, name in enumerate(names)
        }


def _as_bytes(content: Any) -> NDArray[np.uint8]:
    return np.frombuffer(json.dumps(content).encode("ascii"), dtype=np.uint8)
