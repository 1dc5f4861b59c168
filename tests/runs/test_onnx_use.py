"""Which columns feed a model: guesses, and what is said about wrong ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.runs.onnx_use import ModelForm, OnnxUse, Port, check_use, pack_column, suggest_use

SCORE = Port("score", "float", 1)
TABLE = pd.DataFrame(
    {
        "sex": ["f", "m", None],
        "Work_Years": [1, 2, 3],
        "income": [1.5, 2.5, np.nan],
        "debt": [0.0, 1.0, 0.0],
        "is_new": [True, False, True],
    }
)
ALL = list(TABLE.columns)


def form(*inputs: Port, outputs: tuple[Port, ...] = (SCORE,)) -> ModelForm:
    return ModelForm(inputs, outputs, 17)


@pytest.mark.parametrize(
    ("inputs", "columns", "expected"),
    [
        ((Port("x", "float", 4),), ALL, {"x": ("Work_Years", "income", "debt", "is_new")}),
        ((Port("x", "float", 2),), ["debt", "income"], {"x": ("income", "debt")}),
        ((Port("x", "float", None),), ALL, {"x": ("Work_Years", "income", "debt", "is_new")}),
        ((Port("x", "string", 5),), ALL, {"x": tuple(ALL)}),
        ((Port("x", "float", 7),), ALL, {"x": ()}),
        ((Port("x", "float", 3),), ALL, {"x": ("Work_Years", "income", "debt")}),
        (
            (Port("INCOME", "float", 1), Port("work years", "int64", 1, 1), Port("sex", "string", 1)),
            ALL,
            {"INCOME": ("income",), "work years": ("Work_Years",), "sex": ("sex",)},
        ),
        (
            (Port("numbers", "float", 4), Port("levels", "string", 1)),
            ALL,
            {"numbers": ("Work_Years", "income", "debt", "is_new"), "levels": ("sex",)},
        ),
        ((Port("income", "float", 1), Port("rest", "float", 3)), ALL[1:], {"income": ("income",), "rest": None}),
    ],
)
def test_guesses_of_columns(inputs: tuple[Port, ...], columns: list[str], expected: dict[str, Any]) -> None:
    found = suggest_use(form(*inputs), TABLE, columns).inputs
    assert found == {
        name: wanted or ("Work_Years", "debt", "is_new") * (wanted is None) for name, wanted in expected.items()
    }
    assert list(found) == [port.name for port in inputs]


@pytest.mark.parametrize(
    ("outputs", "expected"),
    [
        ([("label", "int64", 1), ("scores", "float", 1)], ("scores", 0)),
        ([("output_label", "int64", 1), ("probabilities", "float", 2)], ("probabilities", 1)),
        ([("probabilities", "float", 2), ("decision", "float", 1)], ("decision", 0)),
        ([("label", "string", 1), ("predicted_class", "int64", 1)], ("predicted_class", 0)),
        ([("label", "int64", 1)], ("label", 0)),
        ([("label", "int64", 1), ("variable", "float", None)], ("variable", 0)),
        ([("probabilities", "float", 3), ("y", "float16", 1)], ("probabilities", 0)),
    ],
)
def test_guesses_of_the_score(outputs: list[tuple[str, str, int | None]], expected: tuple[str, int]) -> None:
    ports = tuple(Port(*output) for output in outputs)
    use = suggest_use(form(Port("x", "float", 5), outputs=ports), TABLE, ALL)
    assert (use.output, use.column) == expected


@pytest.mark.parametrize(
    ("port", "columns", "message"),
    [
        (
            Port("x", "float", 1),
            ["sex"],
            "Column 'sex' is text, and the model's input 'x' takes numbers (float). Export the model together with its "
            "encoder, with one input a column.",
        ),
        (Port("x", "float", 2), ["debt"], "The model's input 'x' takes 2 columns; got 1. Choose others."),
        (Port("x", "float", None), [], "The model's input 'x' needs at least one column; got none. Say which."),
        (Port("x", "float", 1, 1), ["debt", "debt"], "The model's input 'x' takes 1 columns; got 2. Choose others."),
        (
            Port("x", "string", 1),
            ["debt"],
            "Column 'debt' has numbers that are no plain whole ones, and the model's input 'x' takes text. Choose "
            "another.",
        ),
        (
            Port("x", "int64", 1),
            ["income"],
            "Column 'income' has missing or other values, and the model's input 'x' takes only whole numbers (int64). "
            "Choose another.",
        ),
        (
            Port("x", "bool", 1),
            ["Work_Years"],
            "Column 'Work_Years' has missing or other values, and the model's input 'x' takes only 0 and 1. Choose "
            "another.",
        ),
    ],
)
def test_columns_that_do_not_fit(port: Port, columns: list[str], message: str) -> None:
    with pytest.raises(InvalidDataError) as caught:
        check_use(form(port), OnnxUse({"x": tuple(columns)}, "score"), TABLE)
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("element", "columns"),
    [
        ("float", ALL[1:]),
        ("double", ["income"]),
        ("int64", ["Work_Years", "debt", "is_new"]),
        ("bool", ["debt", "is_new"]),
    ],
)
def test_columns_that_fit(element: str, columns: list[str]) -> None:
    check_use(form(Port("x", element, len(columns))), OnnxUse({"x": tuple(columns)}, "score"), TABLE)
    check_use(form(Port("x", "string", 2)), OnnxUse({"x": ("sex", "Work_Years")}, "score"), TABLE)


def test_each_problem_has_its_line() -> None:
    model = form(Port("a", "float", 1), Port("b", "float", 1), outputs=(SCORE, Port("label", "string", 1)))
    with pytest.raises(InvalidDataError) as caught:
        check_use(model, OnnxUse({"a": ("sex",), "c": ("debt",)}, "scores"), TABLE)
    assert str(caught.value).splitlines() == [
        "The model has no input 'c'; its inputs are 'a', 'b'.",
        "Column 'sex' is text, and the model's input 'a' takes numbers (float). Export the model together with its "
        "encoder, with one input a column.",
        "The model's input 'b' gets no columns; say which.",
        "The model has no output 'scores'; its outputs are 'score', 'label'.",
    ]


@pytest.mark.parametrize(
    ("output", "column", "message"),
    [
        ("label", 0, "The model's output 'label' is no number (string), and a score is one. Choose another."),
        ("score", 2, "The model's output 'score' has the columns 0 to 0; got 2."),
        ("score", -1, "The model's output 'score' has the columns 0 to 0; got -1."),
        ("any", -1, "The model's output 'any' has the columns 0; got -1."),
    ],
)
def test_outputs_that_are_no_score(output: str, column: int, message: str) -> None:
    outputs = (SCORE, Port("label", "string", 1), Port("any", "float", None))
    with pytest.raises(InvalidDataError) as caught:
        check_use(form(Port("x", "float", 1), outputs=outputs), OnnxUse({"x": ("debt",)}, output, column), TABLE)
    assert str(caught.value) == message


def test_columns_must_be_there() -> None:
    with pytest.raises(InvalidDataError) as caught:
        check_use(form(Port("x", "float", 2)), OnnxUse({"x": ("height", "weight")}, "score"), TABLE)
    assert str(caught.value).splitlines() == [
        "The model is to be fed with the column 'height', which the table lacks.",
        "The model is to be fed with the column 'weight', which the table lacks.",
    ]


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (pd.Series([1, 2]), np.array([1, 2])),
        (pd.Series([True, False]), np.array([True, False])),
        (pd.Series(pd.array([1, None], dtype="Int64")), np.array([1.0, np.nan])),
        (pd.Series(pd.array([True, None], dtype="boolean")), np.array([1.0, np.nan])),
        (pd.Series([3, 1], dtype="category"), np.array([3, 1])),
        (pd.Series([2**63], dtype="uint64"), np.array([2.0**63])),
        (pd.Series(["a", None]), ["a", ""]),
        (pd.Series(["a", None], dtype="category"), ["a", ""]),
        (pd.Series([1, "a"], dtype=object), ["1", "a"]),
    ],
)
def test_columns_are_numbers_or_texts(cells: pd.Series[Any], expected: Any) -> None:
    found = pack_column(cells)
    if isinstance(expected, list):
        assert found == expected
    else:
        assert isinstance(found, np.ndarray)
        assert found.dtype == expected.dtype
        np.testing.assert_array_equal(found, expected)


def test_a_use_and_a_form_survive_json() -> None:
    use = OnnxUse({"x": ("a", "b")}, "score", 1)
    assert OnnxUse.from_dict(use.to_dict()) == use
    model = ModelForm((Port("x", "float", None, 1),), (SCORE,), 17, "me", one_row=True)
    assert ModelForm.from_dict(model.to_dict()) == model
    for bad in ({}, {"inputs": [], "output": "a"}, {"inputs": {"x": 1}, "output": "a"}):
        with pytest.raises(InvalidArtifactError, match="How a model is used must be said as"):
            OnnxUse.from_dict(bad)
