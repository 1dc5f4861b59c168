"""Which columns of a table feed which input of an ONNX model, and which of its outputs is the score."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.errors import InvalidArtifactError, InvalidDataError

if TYPE_CHECKING:
    import pandas as pd

Column: TypeAlias = NDArray[Any] | list[str]
"""The cells of a column: float64, int64 or bool; or texts."""

NUMBERS = ("float", "double", "int64", "int32", "bool")
TEXT = "string"
_SCORES = (r"score|anomal|outlier|decision|error|distance", r"prob", r"")  # the first that fits
_LABELS = r"label|class|predict"


@dataclass(frozen=True)
class Port:
    """An input or output of a model: a tensor with a row for each row of the table.

    Attributes
    ----------
    element : ``float``, ``double``, ``int64``, ``int32``, ``bool`` or ``string``; of an output also others
    width : how many columns it has; None: any number, or not declared
    rank : 1 or 2, how many axes it has
    """

    name: str
    element: str
    width: int | None
    rank: int = 2


@dataclass(frozen=True)
class ModelForm:
    """What goes into a model and what comes out of it.

    Attributes
    ----------
    opset : the version of ONNX's operators that it uses
    producer : what wrote the file, as far as it says so
    one_row : whether it takes one row at a time
    """

    inputs: tuple[Port, ...]
    outputs: tuple[Port, ...]
    opset: int
    producer: str = ""
    one_row: bool = False

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> ModelForm:
        try:
            inputs, outputs = ([Port(**port) for port in content[name]] for name in ("inputs", "outputs"))
            rest = int(content["opset"]), str(content["producer"]), bool(content["one_row"])
            return cls(tuple(inputs), tuple(outputs), *rest)
        except (KeyError, TypeError, ValueError) as error:
            raise InvalidArtifactError(f"This is no description of a model's inputs and outputs ({error}).") from error


@dataclass(frozen=True)
class OnnxUse:
    """How a table is scored with a model.

    Attributes
    ----------
    inputs : by input of the model, the columns of the table that feed it, in order
    output : the output that has the score
    column : which column of that output, counted from 0
    """

    inputs: dict[str, tuple[str, ...]]
    output: str
    column: int = 0

    def to_dict(self) -> dict[str, Any]:
        inputs = {name: list(columns) for name, columns in self.inputs.items()}
        return {"inputs": inputs, "output": self.output, "column": self.column}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> OnnxUse:
        try:
            inputs = {str(name): tuple(str(column) for column in fed) for name, fed in content["inputs"].items()}
            return cls(inputs, str(content["output"]), int(content.get("column", 0)))
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise InvalidArtifactError(
                "How a model is used must be said as {'inputs': {input: [columns]}, 'output': name, 'column': number}; "
                f"got something else ({type(error).__name__}: {error})."
            ) from error


def suggest_use(form: ModelForm, table: pd.DataFrame, columns: Sequence[str]) -> OnnxUse:
    """Guess how a table is scored with a model, for a person to check.

    Inputs that are named like a column get it. Of the other columns an input gets all, in the order of the table, if
    they are as many as it takes; else all that it can hold (numbers, or texts), if those are; else the same without yes
    and no. An input for which nothing fits gets no column, of which ``check_use`` complains.

    Parameters
    ----------
    columns : that may feed the model, e.g. all but identifiers and the label
    """
    rest = [str(name) for name in table.columns if name in set(columns)]
    inputs: dict[str, tuple[str, ...]] = {}
    for port in form.inputs:
        named = [name for name in rest if _plain(name) == _plain(port.name)]
        if named and port.width in (1, None):
            inputs[port.name] = (named[0],)
            rest.remove(named[0])
    others = [port for port in form.inputs if port.name not in inputs]
    packed = {name: pack_column(table[name]) for name in rest} if others else {}
    for port in others:
        fitting = [name for name in rest if isinstance(packed[name], list) == (port.element == TEXT)]
        plain = [name for name in fitting if getattr(packed[name], "dtype", None) != np.bool_]
        choices = [fitting, plain] if len(others) > 1 or port.width is None else [rest, fitting, plain]
        inputs[port.name] = next((tuple(choice) for choice in choices if port.width in (len(choice), None)), ())
    output = _suggest_output(form.outputs)
    is_pair = output.width == 2 and "prob" in output.name.casefold()  # of both classes; the second is the anomalous one
    return OnnxUse({port.name: inputs[port.name] for port in form.inputs}, output.name, int(is_pair))


def _plain(name: str) -> str:
    return re.sub(r"[\s_]+", " ", name).strip().casefold()


def _suggest_output(outputs: Sequence[Port]) -> Port:
    def order(port: Port) -> tuple[bool, bool, int]:
        name = port.name.casefold()
        place = next(place for place, pattern in enumerate(_SCORES) if re.search(pattern, name))
        return port.element not in NUMBERS, re.search(_LABELS, name) is not None, place

    return min(outputs, key=order)


def check_use(form: ModelForm, use: OnnxUse, table: pd.DataFrame) -> None:
    """Whether a table can be scored with a model in this way.

    Raises
    ------
    InvalidDataError
        With a line for each problem.
    """
    check_columns(form, use, pack_columns(use, table))


def check_columns(form: ModelForm, use: OnnxUse, columns: Mapping[str, Column]) -> None:
    """``check_use``, for columns that are packed."""
    ports = {port.name: port for port in form.inputs}
    problems = [
        f"The model has no input '{name}'; its inputs are {_listed(ports)}." for name in use.inputs if name not in ports
    ]
    for port in form.inputs:
        if port.name not in use.inputs:
            problems.append(f"The model's input '{port.name}' gets no columns; say which.")
        else:
            problems += _port_problems(port, use.inputs[port.name], columns)
    problems += _output_problems(form, use)
    if problems:
        raise InvalidDataError("\n".join(problems))


def _port_problems(port: Port, names: Sequence[str], columns: Mapping[str, Column]) -> list[str]:
    wanted = 1 if port.rank == 1 else port.width
    if wanted not in (None, len(names)):
        return [f"The model's input '{port.name}' takes {wanted} columns; got {len(names)}. Choose others."]
    if not names:
        return [f"The model's input '{port.name}' needs at least one column; got none. Say which."]
    problems = (_column_problem(port, name, columns[name]) for name in names)
    return [problem for problem in problems if problem]


def _column_problem(port: Port, name: str, column: Column) -> str:
    """What speaks against feeding a column into an input."""
    where = f"the model's input '{port.name}'"
    if isinstance(column, list):
        if port.element == TEXT:
            return ""
        return (
            f"Column '{name}' is text, and {where} takes numbers ({port.element}). Export the model together with its "
            "encoder, with one input a column."
        )
    if port.element == TEXT:
        if column.dtype == np.int64:
            return ""
        return f"Column '{name}' has numbers that are no plain whole ones, and {where} takes text. Choose another."
    if port.element in ("float", "double"):
        return ""
    with np.errstate(invalid="ignore"):
        low, high = (0, 1) if port.element == "bool" else (-(2**31), 2**31 - 1)
        is_exact = column.dtype != np.float64 or bool((column == np.round(column)).all())
        fits = is_exact and (
            bool(((column >= low) & (column <= high)).all()) or (port.element == "int64" and column.dtype == np.int64)
        )
    kind = "0 and 1" if port.element == "bool" else f"whole numbers ({port.element})"
    return (
        "" if fits else f"Column '{name}' has missing or other values, and {where} takes only {kind}. Choose another."
    )


def _output_problems(form: ModelForm, use: OnnxUse) -> list[str]:
    ports = {port.name: port for port in form.outputs}
    if use.output not in ports:
        return [f"The model has no output '{use.output}'; its outputs are {_listed(ports)}."]
    port = ports[use.output]
    if port.element not in NUMBERS:
        return [f"The model's output '{port.name}' is no number ({port.element}), and a score is one. Choose another."]
    if use.column < 0 or (port.width is not None and use.column >= port.width):
        most = "" if port.width is None else f" to {port.width - 1}"
        return [f"The model's output '{port.name}' has the columns 0{most}; got {use.column}."]
    return []


def _listed(names: Mapping[str, Port]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def pack_columns(use: OnnxUse, table: pd.DataFrame) -> dict[str, Column]:
    """The columns that feed a model.

    Raises
    ------
    InvalidDataError
        If the table does not have them all.
    """
    wanted = list(dict.fromkeys(name for names in use.inputs.values() for name in names))
    missing = [name for name in wanted if name not in table.columns]
    if missing:
        raise InvalidDataError(
            "\n".join(f"The model is to be fed with the column '{name}', which the table lacks." for name in missing)
        )
    return {name: pack_column(table[name]) for name in wanted}


def pack_column(cells: pd.Series[Any]) -> Column:
    """Numbers with NaN where they are missing, or texts with '' where they are."""
    import pandas as pd

    if isinstance(cells.dtype, pd.CategoricalDtype):
        cells = cells.astype(cells.cat.categories.dtype if not cells.isna().any() else object).infer_objects()
    is_whole = not cells.isna().any()
    if pd.api.types.is_bool_dtype(cells.dtype) and is_whole:
        return cells.to_numpy(dtype=np.bool_)
    if pd.api.types.is_integer_dtype(cells.dtype) and is_whole and cells.dtype != np.uint64:
        return cells.to_numpy(dtype=np.int64)
    if pd.api.types.is_numeric_dtype(cells.dtype) and not pd.api.types.is_complex_dtype(cells.dtype):
        return cells.to_numpy(dtype=np.float64, na_value=np.nan)
    return ["" if missing else str(cell) for cell, missing in zip(cells, cells.isna(), strict=True)]
