"""Models as files: the same to the last bit, and nothing but models."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from safetensors.numpy import load_file, save_file

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.files import load_model, save_model
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.records import from_plain, to_plain
from cfad_core.core.errors import InvalidArtifactError
from tests.causal.worlds import learn_mixed, mixed_rows


@pytest.fixture(scope="module")
def model() -> StructuralModel:
    return learn_mixed(800)


def test_save_and_load_keep_every_bit(model: StructuralModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "scm")
    assert {path.name for path in tmp_path.iterdir()} == {"scm.json", "scm.safetensors"}
    again = load_model(tmp_path / "scm")
    assert isinstance(again, StructuralModel)
    x = mixed_rows(300, seed=1)
    for draw in range(3):
        assert np.array_equal(again.twins(x, draw), model.twins(x, draw))
    assert np.array_equal(again.twins(x, cut=("S", "job")), model.twins(x, cut=("S", "job")))
    assert np.array_equal(again.twins(x, coupling="fewest"), model.twins(x, coupling="fewest"))
    for name, own in model.log_likelihoods(x).items():
        assert np.array_equal(again.log_likelihoods(x)[name], own)
    assert again.edges() == model.edges()
    assert again.layout.names == model.layout.names
    assert (again.seed, again.sensitive, again.affected_names) == (model.seed, model.sensitive, model.affected_names)
    save_model(again, tmp_path / "again")
    for ending in (".json", ".safetensors"):
        assert (tmp_path / f"again{ending}").read_bytes() == (tmp_path / f"scm{ending}").read_bytes()


def test_additive_models_are_read_too(linear_scm: AdditiveModel, tmp_path: Path) -> None:
    save_model(linear_scm, tmp_path / "scm")
    again = load_model(tmp_path / "scm")
    assert isinstance(again, AdditiveModel)
    x = np.array([[-1.0, 3.0, 1.0, 7.0]])
    assert np.array_equal(again.twins(x), linear_scm.twins(x))


def change(text: dict[str, Any], path: list[Any], value: Any) -> dict[str, Any]:
    place: Any = text
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return text


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda text: change(text, ["version"], 99), "has version 99; this program reads up to 3"),
        (lambda text: change(text, ["model", "is"], "os.system"), "A causal model has no part 'os.system'"),
        (lambda text: change(text, ["model", "is"], "Layout"), "Cannot read the causal model"),
        (lambda text: change(text, ["model", "is"], None), "A causal model has no part 'None'"),
        (lambda text: change(text, ["model", "layout"], {"is": "x" * 500}), "no part 'x{40}'"),
        (lambda text: change(text, ["model", "graph", "edges"], {"array": "nothing"}), "Cannot read the causal model"),
        (lambda text: change(text, ["model"], text["model"]["layout"]), "holds no causal model"),
        (lambda text: change(text, ["model", "strange"], 1), "Cannot read the causal model"),
        (lambda text: change(text, ["model", "bases"], {"by": 3}), "Cannot read the causal model"),
        (lambda text: change(text, ["model", "bases"], {"float": "much"}), "Cannot read the causal model"),
        (lambda text: change(text, ["model"], []), "holds no causal model"),
        (lambda text: {}, "Cannot read the causal model"),
        (lambda text: [], "Cannot read the causal model"),
    ],
)
def test_hostile_text_is_refused(
    model: StructuralModel, tmp_path: Path, spoil: Callable[[dict[str, Any]], Any], message: str
) -> None:
    save_model(model, tmp_path / "scm")
    text = spoil(json.loads((tmp_path / "scm.json").read_text(encoding="utf-8")))
    (tmp_path / "scm.json").write_text(json.dumps(text), encoding="utf-8")
    with pytest.raises(InvalidArtifactError, match=message):
        load_model(tmp_path / "scm")


def test_a_graph_with_a_cycle_is_refused(model: StructuralModel, tmp_path: Path) -> None:
    save_model(model, tmp_path / "scm")
    arrays = load_file(tmp_path / "scm.safetensors")
    arrays["graph.edges"][1, 2] = arrays["graph.edges"][2, 1] = True
    save_file(arrays, tmp_path / "scm.safetensors")
    with pytest.raises(InvalidArtifactError, match="without cycles"):
        load_model(tmp_path / "scm")


@pytest.mark.parametrize("ending", [".json", ".safetensors"])
def test_missing_and_damaged_files_are_one_clear_error(model: StructuralModel, tmp_path: Path, ending: str) -> None:
    save_model(model, tmp_path / "scm")
    path = tmp_path / f"scm{ending}"
    for spoil in (lambda: path.write_bytes(b"garbage"), path.unlink):
        spoil()
        with pytest.raises(InvalidArtifactError, match="Cannot read the causal model"):
            load_model(tmp_path / "scm")


def test_plain_numbers_keep_every_bit() -> None:
    arrays: dict[str, Any] = {}
    values = (0.1 + 0.2, -0.0, float("nan"), float("inf"), float("-inf"), 5e-324, 3, True, None, "text", (1.5, (2,)))
    text = json.loads(json.dumps(to_plain(values, arrays), allow_nan=False))
    again = from_plain(text, arrays, {})
    assert repr(again) == repr(values)
    by = {3: np.arange(3.0), 5: np.zeros((0, 2))}
    text = json.loads(json.dumps(to_plain(by, arrays)))
    found = from_plain(text, arrays, {})
    assert list(found) == [3, 5]
    assert all(np.array_equal(found[key], by[key]) for key in by)
