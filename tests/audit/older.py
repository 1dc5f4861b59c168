"""Folders as programs wrote them before there were several groups and attributes, and before that additive twins."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from cfad_core.audit.folder import save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.search import learn_model
from cfad_core.core.arrays import Floats
from cfad_core.core.config import DiscoveryConfig
from cfad_core.detectors.protocol import score_people
from tests.audit.worlds import without_judges

Array: TypeAlias = NDArray[Any]


@dataclass(frozen=True)
class Older:
    """What an older audit held.

    Attributes
    ----------
    model, judge : learned from one half of the people each
    twins, judged : (n, d), the people's twins by the two
    """

    model: AdditiveModel
    judge: AdditiveModel
    twins: Floats
    judged: Floats


def write_two_groups(result: AuditResult, folder: Path) -> None:
    """Write an audit of two groups as a program would have that knew no more: schema 5."""
    save_audit(without_judges(result), folder)
    text = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    del text["comparisons"]
    (groups,) = text["encoding"].pop("attributes")
    cut = groups["cuts"][0] if groups["cuts"] else None
    values = [value for some in groups["values"] for value in some]
    text["encoding"] = {
        "sensitive": groups["column"],
        "grouping": {"values": values, "cut": cut},
        **text["encoding"],
    }
    (folder / "audit.json").write_text(json.dumps(text | {"schema_version": 5}), encoding="utf-8")
    _rewrite(folder / "judged.safetensors", lambda name, array: (name, array[:, 0] if array.ndim == 3 else array))
    if result.stability is not None:
        text = json.loads((folder / "uncertainty.json").read_text(encoding="utf-8"))
        (text["sensitive"],), (cuts,) = text["sensitive"], text.pop("cuts")
        (folder / "uncertainty.json").write_text(json.dumps(text | cuts), encoding="utf-8")
        _rewrite(folder / "uncertainty.safetensors", _of_one_move)


def _of_one_move(name: str, array: Array) -> tuple[str, Array] | None:
    """How an array of the uncertainty was called, and shaped."""
    if name == "went":
        return None
    if name.startswith(("returned.", "by_same.")):
        return name, array[:, 0]
    return name.replace("without0.", "without."), array if name == "graphs" or array.ndim < 2 else array[0]


def _rewrite(path: Path, older: Callable[[str, Array], tuple[str, Array] | None]) -> None:
    found = [older(name, array) for name, array in load_file(path).items()]
    save_file({one[0]: np.ascontiguousarray(one[1]) for one in found if one is not None}, path)


def write_older(result: AuditResult, folder: Path, schema: Literal[2, 3, 4]) -> Older:
    """Write an audit as an older program would have, its twins by additive models; of some people with uncertainty."""
    older = _additive(result)
    write_two_groups(result, folder)
    for name in ("scm.json", "scm.safetensors", "judged.safetensors"):
        (folder / name).unlink()
    older.model.save(folder / "scm")
    older.judge.save(folder / "judge")
    _write_people(result, older, folder)
    if result.stability is not None:
        _write_uncertainty(result, older, folder)
    _write_text(folder, schema)
    return older


def _additive(result: AuditResult) -> Older:
    encoding, people = result.encoding, result.people.factual
    columns = Columns(encoding.names, encoding.sensitive, encoding.column_variables)
    config = DiscoveryConfig(basis_size=8)
    first, second = (learn_model(people[k::2], columns, config=config, seed=k) for k in (0, 1))
    return Older(first, second, first.twins(people), second.twins(people))


def _write_people(result: AuditResult, older: Older, folder: Path) -> None:
    table = pd.read_parquet(folder / "people.parquet")
    for method, detector in result.detectors.items():
        if method in result.scores:
            table[f"{method}_counterfactual"] = score_people(detector, older.twins)
            table[f"{method}_independent"] = score_people(detector, older.judged)
    table.to_parquet(folder / "people.parquet", index=False)
    for name, rows in (("counterfactual", older.twins), ("independent", older.judged)):
        frame = pd.DataFrame(rows, columns=list(result.encoding.names))
        frame.to_parquet(folder / f"{name}.parquet", index=False)


def _write_uncertainty(result: AuditResult, older: Older, folder: Path) -> None:
    """One twin by each model, the models' number of them; nothing was drawn on the way back."""
    path = folder / "uncertainty.safetensors"
    arrays = {name: array for name, array in load_file(path).items() if not name.startswith("by_same.")}
    arrays["people"] = result.people.judged
    graphs = len(arrays["graphs"])
    for method in result.scores:
        score = score_people(result.detectors[method], older.judged)[result.people.judged]
        arrays[f"worlds.{method}"] = np.tile(score, (graphs, 1))
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)


def _write_text(folder: Path, schema: Literal[2, 3, 4]) -> None:
    text = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
    config = text["config"]
    text["judge"] = "independent SCM"
    del text["judges"], text["checks"]
    for method in text["methods"].values():
        method["metrics"]["changing_ratio_independent"] = method["metrics"]["changing_ratio"]
    if schema < 4:
        del text["uncertainty"], config["bootstrap"]
        for method in text["methods"].values():
            for key in ("verdict", "intervals", "model_error", "changing_ratio_without_far"):
                method.pop(key, None)
        for name in ("uncertainty.json", "uncertainty.safetensors"):
            (folder / name).unlink(missing_ok=True)
    if schema == 2:
        config["detector"] |= {name: text["detector"][name] for name in ("twin", "fairness_weight")}  # always numbers
        del text["detector"], config["methods"], config["baselines"], config["detector"]["inputs"]
        del config["knowledge"]["complete"]
    (folder / "audit.json").write_text(json.dumps(text | {"schema_version": schema}), encoding="utf-8")
