"""Strangers' ONNX models: good ones score as the original does, all others end in a sentence."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pandas as pd
import pytest

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import AuditCancelled, CfadError, InvalidArtifactError, InvalidDataError, WorkerDied
from cfad_core.core.progress import Progress
from cfad_core.runs import onnx_child, onnx_model
from cfad_core.runs.onnx_file import clean, read_model
from cfad_core.runs.onnx_model import read_form, score_with_model
from cfad_core.runs.onnx_use import Column, OnnxUse, check_use, suggest_use
from tests.runs import models
from tests.runs.test_limits import needs_limits

NAMES = ["age", "income", "debt", "years"]
PLAIN = OnnxUse({"x": tuple(NAMES)}, "score")
does_not_hang = pytest.mark.timeout(60)


def make_table(n: int = 200, seed: int = 0) -> pd.DataFrame:
    return pd.DataFrame(np.random.default_rng(seed).normal(size=(n, 4)), columns=NAMES)


def put(folder: Path, content: bytes | onnx.ModelProto) -> Path:
    path = folder / "model.onnx"
    path.write_bytes(content if isinstance(content, bytes) else content.SerializeToString())
    return path


def files(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.stat().st_mtime_ns for path in folder.rglob("*")}


def is_sentence(text: str) -> bool:
    """For people: one line, with an end, and nothing of the program's inside."""
    return "\n" not in text and text.endswith(".") and len(text) < 500 and "Traceback" not in text


def assert_refused(
    folder: Path, content: bytes | onnx.ModelProto, work: Callable[[Path], object], message: str
) -> CfadError:
    """The work ends with the message, and nothing is written anywhere near."""
    path = put(folder, content)
    before = files(folder)
    with pytest.raises(CfadError) as caught:
        work(path)
    assert message in str(caught.value)
    assert is_sentence(str(caught.value)), str(caught.value)
    assert "Something unexpected" not in str(caught.value)
    assert files(folder) == before
    return caught.value


@pytest.mark.parametrize("name", [name for name in models.REFUSED if name != "too large"])
def test_files_are_refused(name: str) -> None:
    """By reading them alone: what a limited process does first."""
    make, message = models.REFUSED[name]
    content = make()
    with pytest.raises(InvalidArtifactError) as caught:
        read_model(content if isinstance(content, bytes) else content.SerializeToString())
    assert message in str(caught.value)
    assert is_sentence(str(caught.value))


@needs_limits
@does_not_hang
@pytest.mark.slow
@pytest.mark.parametrize("name", models.REFUSED)
def test_hostile_files_are_refused_in_a_child(name: str, tmp_path: Path) -> None:
    make, message = models.REFUSED[name]
    assert_refused(tmp_path, make(), read_form, message)


@needs_limits
@does_not_hang
@pytest.mark.slow
@pytest.mark.parametrize("name", models.NOT_LOADED)
def test_hostile_models_are_not_loaded(name: str, tmp_path: Path) -> None:
    make, message = models.NOT_LOADED[name]
    assert_refused(tmp_path, make(), lambda path: read_form(path, seconds=5.0, megabytes=1024), message)


@needs_limits
@does_not_hang
@pytest.mark.slow
@pytest.mark.parametrize("name", models.NOT_SCORED)
def test_hostile_models_score_nothing(name: str, tmp_path: Path) -> None:
    make, message = models.NOT_SCORED[name]

    def work(path: Path) -> Floats:
        return score_with_model(path, PLAIN, make_table(7), seconds=3.0, megabytes=1024)

    assert_refused(tmp_path, make(), work, message)


@needs_limits
@pytest.mark.slow
def test_every_part_of_a_model_is_refused_or_scored(tmp_path: Path) -> None:
    """Cut off anywhere, and with any byte changed: a sentence, or finite scores."""
    rng, whole = np.random.default_rng(0), models.whole(models.row_sum())
    for place in rng.integers(1, len(whole), 12):
        changed = bytearray(whole)
        changed[place] ^= int(rng.integers(1, 256))
        for content in (whole[:place], bytes(changed)):
            path, said = put(tmp_path, content), "A score each."
            try:
                found = score_with_model(path, PLAIN, make_table(7), seconds=20.0)
                assert found.shape == (7,)
                assert np.isfinite(found).all()
            except CfadError as error:
                said = str(error).replace("\n", " ")
            assert is_sentence(said), said


@needs_limits
def test_a_model_that_crashes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = put(tmp_path, models.row_sum())

    def crash(*_: object, **__: object) -> None:
        error = WorkerDied("ended")
        error.code = -11
        raise error

    monkeypatch.setattr(onnx_model, "run_in_child", crash)
    with pytest.raises(WorkerDied, match=r"The model made onnxruntime crash \(SIGSEGV\), perhaps for want of memory"):
        read_form(path)


@pytest.mark.parametrize("answer", [None, 7, {}, {"scores": 1}, {"scores": "!"}, {"scores": "AAAA"}])
def test_answers_that_are_no_scores(answer: Any) -> None:
    with pytest.raises(InvalidArtifactError, match="The model gave no scores that can be read"):
        onnx_model._understand(answer, 1)


@pytest.mark.parametrize("answer", [None, 7, {}, {"inputs": [], "outputs": [7]}, {"inputs": [{"a": 1}], "outputs": []}])
def test_answers_that_are_no_form(answer: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(onnx_model, "run_in_child", lambda *_, **__: answer)
    with pytest.raises(InvalidArtifactError, match="This is no description of a model's inputs and outputs"):
        read_form(put(tmp_path, b"x"))


def test_there_must_be_a_file(tmp_path: Path) -> None:
    for path in (tmp_path, tmp_path / "none.onnx", Path("/dev/zero")):
        with pytest.raises(InvalidArtifactError, match=f"There is no file '{path}'. Choose an ONNX model."):
            read_form(path)


@needs_limits
@pytest.mark.slow
def test_a_person_can_stop_it(tmp_path: Path) -> None:
    class Impatient(Progress):
        def stop_requested(self) -> bool:
            return True

    with pytest.raises(AuditCancelled):
        score_with_model(put(tmp_path, models.endless()), PLAIN, make_table(7), progress=Impatient())


def test_a_text_of_a_stranger_is_one_short_line() -> None:
    assert clean("a\nb\x1b[31m\u202ec") == "a b [31m c"
    assert len(clean("x" * 10_000)) == 200


# Good models


def assert_same(folder: Path, content: bytes | onnx.ModelProto, expected: Floats, *, tolerance: float) -> None:
    path, table = put(folder, content), make_table()
    form = read_form(path)
    use = suggest_use(form, table, NAMES)
    check_use(form, use, table)
    assert OnnxUse.from_dict(use.to_dict()) == use
    before = files(folder)
    np.testing.assert_allclose(score_with_model(path, use, table), expected, rtol=0.0, atol=tolerance)
    assert files(folder) == before


@needs_limits
def test_the_sum_of_a_row(tmp_path: Path) -> None:
    table = make_table()
    path, rounded = put(tmp_path, models.row_sum()), table.to_numpy(np.float32).astype(np.float64)
    np.testing.assert_allclose(score_with_model(path, PLAIN, table), rounded.sum(axis=1), atol=1e-6)
    turned = OnnxUse({"x": ("age", "age", "age", "age")}, "score")
    np.testing.assert_allclose(score_with_model(path, turned, table), 4.0 * rounded[:, 0], atol=1e-6)
    assert score_with_model(path, PLAIN, table[:0]).shape == (0,)
    with pytest.raises(InvalidDataError, match="200 of 200 are infinite or not a number"):
        score_with_model(path, PLAIN, table.assign(age=np.nan))  # missing numbers are NaN, and so is their sum


@needs_limits
def test_an_autoencoder(tmp_path: Path) -> None:
    weights = np.random.default_rng(1).normal(size=(4, 2)) / 2.0
    x = make_table().to_numpy()
    expected = ((x - np.tanh(x @ weights) @ weights.T) ** 2).mean(axis=1)
    assert_same(tmp_path, models.reconstruction(weights), expected, tolerance=1e-5)


@needs_limits
def test_one_row_at_a_time(tmp_path: Path) -> None:
    assert_same(tmp_path, models.row_by_row(), make_table().to_numpy().sum(axis=1), tolerance=1e-5)


@needs_limits
def test_a_file_that_could_be_of_another_format(tmp_path: Path) -> None:
    """The bytes 4 to 7 say that it is onnxruntime's own format, of which nothing here knows what is in it."""
    model = models.row_sum()
    model.producer_name = "ORTM"
    assert models.whole(model)[4:8] == b"ORTM"
    assert_same(tmp_path, model, make_table().to_numpy().sum(axis=1), tolerance=1e-5)


@needs_limits
def test_every_type_of_input(tmp_path: Path) -> None:
    table = pd.DataFrame(
        {
            "T": pd.Series(["a", "b", "b"], dtype="category"),
            "f": [0.5, 1.5, 2.5],
            "d": [1e-12, 2e-12, 3e-12],
            "i": [2**40, 2**40 + 1, 5],
            "j": pd.array([1, 2, 3], dtype="Int64"),
            "k": [True, False, True],
        }
    )
    path = put(tmp_path, models.one_input_a_column())
    form = read_form(path)
    use = suggest_use(form, table, list(table.columns))
    assert use.inputs == {name: (name.replace("t", "T"),) for name in "fdijkt"}
    check_use(form, use, table)
    numbers = table[list("fdijk")].astype(float).sum(axis=1).to_numpy()
    np.testing.assert_allclose(score_with_model(path, use, table), numbers + np.array([0.0, 1.0, 1.0]), rtol=1e-15)


@needs_limits
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind", "tolerance"),
    [
        ("IsolationForest", "Float", 1e-6),
        ("LocalOutlierFactor", "Double", 1e-12),
        ("OneClassSVM", "Float", 1e-4),
        ("GradientBoostingClassifier", "Float", 1e-6),
        ("RandomForestClassifier", "Double", 1e-6),
    ],
)
def test_scikit_learn(name: str, kind: str, tolerance: float, tmp_path: Path) -> None:
    from skl2onnx.common import data_types
    from sklearn import ensemble, neighbors, svm

    x = make_table().to_numpy(np.float32).astype(np.float64)  # what a model of float sees
    x = x if kind == "Float" else make_table().to_numpy()
    settings: dict[str, Any] = {} if name in ("LocalOutlierFactor", "OneClassSVM") else {"random_state": 0}
    settings |= {"novelty": True} if name == "LocalOutlierFactor" else {}
    settings |= {"n_estimators": 10} if settings.get("random_state") == 0 else {}
    home = next(module for module in (ensemble, neighbors, svm) if hasattr(module, name))
    model = getattr(home, name)(**settings)
    model.random_state = 0  # also of the one that does not ask for it, and draws
    model.fit(x, x[:, 0] + x[:, 1] > 1.0) if name.endswith("Classifier") else model.fit(x)
    expected = model.predict_proba(x)[:, 1] if name.endswith("Classifier") else model.decision_function(x)
    content = models.from_sklearn(model, [("x", getattr(data_types, f"{kind}TensorType")([None, 4]))])
    assert_same(tmp_path, content, expected, tolerance=tolerance)


@needs_limits
@pytest.mark.slow
def test_a_pipeline_with_an_input_for_each_column(tmp_path: Path) -> None:
    from skl2onnx.common.data_types import FloatTensorType, StringTensorType
    from sklearn.compose import ColumnTransformer
    from sklearn.ensemble import GradientBoostingClassifier
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import OneHotEncoder, StandardScaler

    rng = np.random.default_rng(2)
    table = make_table().astype(np.float32).rename(columns={"years": "work years"})
    table["region"] = rng.choice(["north", "south", "é"], len(table))
    numbers = ["age", "income", "debt", "work years"]
    encode = ColumnTransformer(
        [
            ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), numbers),
            ("levels", OneHotEncoder(handle_unknown="ignore", sparse_output=False), ["region"]),
        ]
    )
    model = make_pipeline(encode, GradientBoostingClassifier(n_estimators=10, random_state=0))
    model.fit(table, (table["age"] > 0.0) & (table["region"] != "north"))
    types = [(name, FloatTensorType([None, 1])) for name in numbers] + [("region", StringTensorType([None, 1]))]
    path = put(tmp_path, models.from_sklearn(model, types))
    seen = table.assign(age=table["age"].where(table["age"] < 1.0)).astype({"region": object})
    seen.loc[:3, "region"] = None
    form = read_form(path)
    use = suggest_use(form, seen, list(seen.columns))
    assert use == OnnxUse(
        {**{name.replace(" ", "_"): (name,) for name in numbers}, "region": ("region",)}, use.output, 1
    )
    check_use(form, use, seen)
    expected = model.predict_proba(seen.fillna({"region": ""}))[:, 1]
    np.testing.assert_allclose(score_with_model(path, use, seen), expected, rtol=0.0, atol=1e-6)


@needs_limits
@pytest.mark.slow
def test_lightgbm(tmp_path: Path) -> None:
    from lightgbm import LGBMClassifier

    x = make_table().to_numpy(np.float32).astype(np.float64)
    model = LGBMClassifier(n_estimators=10, random_state=0, n_jobs=1, verbose=-1).fit(x, (x[:, 0] * x[:, 1] > 0.0) * 1)
    expected = np.asarray(model.booster_.predict(x), dtype=np.float64)
    assert_same(tmp_path, models.from_lightgbm(model), expected, tolerance=1e-6)


@needs_limits
@pytest.mark.slow
def test_torch(tmp_path: Path) -> None:
    import torch

    with torch.random.fork_rng():
        torch.manual_seed(0)
        module = torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.ReLU(), torch.nn.Linear(8, 1)).eval()
    x = torch.tensor(make_table().to_numpy(np.float32).copy())
    expected = module(x).detach().numpy()[:, 0].astype(np.float64)
    assert_same(tmp_path, models.from_torch(module, x[:2]), expected, tolerance=1e-6)


@needs_limits
@pytest.mark.slow
def test_the_examples_of_the_document_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import torch
    from lightgbm import LGBMClassifier
    from sklearn.ensemble import IsolationForest

    text = (Path(__file__).resolve().parents[2] / "docs" / "ONNX.md").read_text(encoding="utf-8")
    score, *exports = re.findall(r"```python\n(.*?)```", text, flags=re.DOTALL)
    monkeypatch.chdir(tmp_path)
    table = make_table()
    x = table.to_numpy()
    with torch.random.fork_rng():
        module = torch.nn.Linear(4, 1)
    names: list[dict[str, Any]] = [
        {"model": IsolationForest(n_estimators=5, random_state=0).fit(x)},
        {"model": LGBMClassifier(n_estimators=5, n_jobs=1, verbose=-1).fit(x, (x[:, 0] > 0.0) * 1)},
        {"module": module, "example": torch.ones(2, 4)},
    ]
    for export, known in zip(exports, names, strict=True):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            exec(export, {"Path": Path, **known})
        found: dict[str, Any] = {"table": table}
        exec(score, found)
        assert found["scores"].shape == (len(table),)


@needs_limits
@pytest.mark.slow
def test_many_rows(tmp_path: Path) -> None:
    table = make_table(200_000)
    found = score_with_model(put(tmp_path, models.row_sum()), PLAIN, table)
    np.testing.assert_allclose(found, table.to_numpy().sum(axis=1), atol=1e-5)


def test_columns_survive_the_way_to_the_child(tmp_path: Path) -> None:
    given: dict[str, Column] = {
        "numbers0": np.array([1.5, np.nan]),
        "ganz": np.array([2**62, 1]),
        "text": ["é\ud800", ""],
    }
    onnx_child.write_columns(tmp_path / "table.npz", given)
    found = onnx_child.read_columns(tmp_path / "table.npz")
    assert list(found) == list(given)
    assert found["text"] == given["text"]
    np.testing.assert_array_equal(found["numbers0"], given["numbers0"])
    np.testing.assert_array_equal(found["ganz"], given["ganz"])
