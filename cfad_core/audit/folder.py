"""An audit as a folder: written whole or not at all, and the same to the last bit when it is read back.

docs/AUDIT_FORMAT.md describes the files. Folders of older schemas are read, too.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from cfad_core.audit.notices import RESULT_CODES
from cfad_core.audit.report import MethodScores
from cfad_core.audit.result import AuditResult, People, Provenance
from cfad_core.audit.stability import Stability
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.files import staged_folder
from cfad_core.data.encoding import Encoding
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.protocol import AnyDetector, SavedDetector, State, Surroundings
from cfad_core.detectors.registry import METHOD_NAME, METHODS, module_of, needed
from cfad_core.evaluation.edge_cuts import EdgeCuts
from cfad_core.evaluation.plausibility import Plausibility

SCHEMA_VERSION = 4
_READABLE = (2, 3, 4)  # 2 knew three methods and one scaling of their inputs, 3 no uncertainty
_WHOSE = ("factual", "counterfactual", "independent")  # the people, their twins by the own model and by the judge


def summary(result: AuditResult) -> dict[str, Any]:
    """The content of ``audit.json``."""
    made = result.provenance
    return {
        "schema_version": SCHEMA_VERSION,
        "roles": result.roles.to_dict(),
        "config": result.config.to_dict(),
        "seed": result.config.seed,
        "data_digest": made.data_digest,
        "n_train": made.n_train,
        "n_train_normal": made.n_train_normal,
        "n_test": len(result.people.row),
        "groups": {name: int(rows.sum()) for name, rows in result.groups.items()},
        "judge": "true counterfactuals" if result.judge is None else "independent SCM",
        "encoding": result.encoding.to_dict(),
        "graph": graph_summary(result.model),
        "methods": {method: report.to_dict() for method, report in result.reports.items()},
        "uncertainty": None if result.stability is None else result.stability.to_dict(),
        "detector": result.settings.to_dict(),
        "notices": [finding.to_dict() for finding in result.findings],
        "seconds": made.seconds,
        "versions": made.versions,
    }


def graph_summary(model: StructuralModel) -> dict[str, Any]:
    """The causal graph, JSON-able."""
    return {
        "variables": model.strengths()[0],
        "affected_by_sensitive": list(model.affected_names),
        "edges": [
            {"cause": cause, "effect": effect, "weight": weight} for (cause, effect), weight in model.edges().items()
        ],
    }


def save_audit(result: AuditResult, folder: Path) -> None:
    """Write the audit; ``audit.json`` comes last, so a folder that has it is complete."""
    with staged_folder(folder, last="audit.json") as stage:
        result.model.save(stage / "scm")
        if result.judge is not None:
            result.judge.save(stage / "judge")
        if result.stability is not None:
            _save_stability(result.stability, stage / "uncertainty")
        weights = {
            f"{name}.{key}": array
            for name, detector in result.detectors.items()
            if isinstance(detector, SavedDetector)
            for key, array in detector.state().items()
        }
        _save_arrays(weights, stage / "detectors.safetensors")
        _people_table(result).to_parquet(stage / "people.parquet", index=False)
        for whose in _WHOSE:
            frame = pd.DataFrame(getattr(result.people, whose), columns=list(result.encoding.names))
            frame.to_parquet(stage / f"{whose}.parquet", index=False)
        train = {method: scores.train for method, scores in result.scores.items()}
        _save_arrays(train, stage / "train_scores.safetensors")
        text = json.dumps(summary(result), indent=2, allow_nan=False)
        (stage / "audit.json").write_text(text + "\n", encoding="utf-8")


def load_audit(folder: Path) -> AuditResult:
    """Read what ``save_audit`` wrote, also what an older version wrote.

    Raises
    ------
    InvalidArtifactError
        If the folder holds no audit, a damaged one or one of another version.
    """
    if not (folder / "audit.json").is_file():
        raise InvalidArtifactError(f"'{folder}' holds no audit: there is no audit.json in it.")
    try:
        text = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
        if text["schema_version"] not in _READABLE:
            raise InvalidArtifactError(
                f"The audit in '{folder}' has schema version {text['schema_version']}; this program reads 2, 3 and 4."
            )
        strange = [method for method in text["methods"] if not METHOD_NAME.fullmatch(method)]
        if strange:
            raise InvalidArtifactError(f"The audit in '{folder}' names an impossible method '{strange[0][:40]}'.")
        return _read(folder, text)
    except InvalidArtifactError:
        raise
    except Exception as error:  # whatever is wrong with the files, it is one thing to the reader
        raise InvalidArtifactError(f"The audit in '{folder}' is damaged: {error}") from error


def _read(folder: Path, text: Mapping[str, Any]) -> AuditResult:
    config = AuditConfig.from_dict(text["config"])
    settings = _settings(text, config)
    model = StructuralModel.load(folder / "scm")
    people = pd.read_parquet(folder / "people.parquet")
    stability = _load_stability(folder / "uncertainty") if text.get("uncertainty") else None
    if stability is not None:
        stability.check(len(people), model.strengths()[0], text["methods"])
    known = Surroundings(config.replace(detector=settings), {}, model.counterfactual)
    notices = (Finding.from_dict(notice) for notice in text["notices"])
    return AuditResult(
        roles=ColumnRoles.from_dict(text["roles"]),
        config=config,
        settings=settings,
        encoding=Encoding.from_dict(text["encoding"]),
        model=model,
        judge=StructuralModel.load(folder / "judge") if text["judge"] == "independent SCM" else None,
        detectors=_load_detectors(folder, text["methods"], known),
        people=_load_people(folder, people),
        scores=_load_scores(folder, people, text["methods"]),
        stability=stability,
        notices=tuple(notice for notice in notices if notice.code not in RESULT_CODES),
        provenance=Provenance(
            data_digest=text["data_digest"],
            seconds=dict(text["seconds"]),
            versions=dict(text["versions"]),
            n_train=text["n_train"],
            n_train_normal=text["n_train_normal"],
        ),
    )


def _settings(text: Mapping[str, Any], config: AuditConfig) -> DetectorConfig:
    if text["schema_version"] == 2:
        return config.detector.replace(inputs="variance")
    return DetectorConfig.from_dict(text["detector"])


def _people_table(result: AuditResult) -> pd.DataFrame:
    people = pd.DataFrame({"row": result.people.row})
    if result.people.is_anomaly is not None:
        people["is_anomaly"] = result.people.is_anomaly
    for method, scores in result.scores.items():
        for whose in _WHOSE:
            people[f"{method}_{whose}"] = getattr(scores, whose)
    return people


def _load_people(folder: Path, people: pd.DataFrame) -> People:
    rows = {whose: pd.read_parquet(folder / f"{whose}.parquet").to_numpy(dtype=np.float64) for whose in _WHOSE}
    labels = people["is_anomaly"].to_numpy(dtype=np.bool_) if "is_anomaly" in people else None
    return People(row=people["row"].to_numpy(dtype=np.int64), is_anomaly=labels, **rows)


def _load_scores(folder: Path, people: pd.DataFrame, methods: Mapping[str, Any]) -> dict[str, MethodScores]:
    train = load_file(folder / "train_scores.safetensors")
    return {
        method: MethodScores(
            train=train[method],
            **{whose: people[f"{method}_{whose}"].to_numpy(dtype=np.float64) for whose in _WHOSE},
        )
        for method in methods
    }


def _load_detectors(folder: Path, methods: Mapping[str, Any], known: Surroundings) -> dict[str, AnyDetector]:
    """The detectors of our own methods; other libraries' are not saved."""
    states: dict[str, dict[str, NDArray[Any]]] = {}
    for key, array in load_file(folder / "detectors.safetensors").items():
        name, _, part = key.partition(".")
        states.setdefault(name, {})[part] = array
    fitted: dict[str, AnyDetector] = {}
    for name in needed(method for method in methods if method in METHODS):
        fitted[name] = module_of(name).restore(states.get(name, {}), known.after(fitted))
    return fitted


def _save_stability(stability: Stability, stem: Path) -> None:
    """Write ``stem.json`` and ``stem.safetensors``."""
    twins, cuts = stability.plausibility, stability.edge_cuts
    arrays: dict[str, NDArray[Any]] = {
        "graphs": stability.graphs,
        "people": stability.people,
        "out_of_range": twins.out_of_range.astype(np.uint8),
        "between_levels": twins.between_levels.astype(np.uint8),
        "distance": twins.distance,
        "usual": twins.usual,
    }
    for part, by_method in (
        ("worlds", stability.twin_scores),
        ("returned", stability.returned),
        ("without", cuts.without),
    ):
        arrays |= {f"{part}.{method}": values for method, values in by_method.items()}
    _save_arrays(arrays, stem.with_suffix(".safetensors"))
    text = {
        "variables": list(stability.variables),
        "sensitive": stability.sensitive,
        "seed": stability.seed,
        "real_median": twins.real_median,
        "asked": cuts.people,
        "edges": [list(edge) for edge in cuts.edges],
        "whole": cuts.whole,
    }
    stem.with_suffix(".json").write_text(json.dumps(text, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def _load_stability(stem: Path) -> Stability:
    """Read what ``_save_stability`` wrote."""
    text = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
    arrays = load_file(stem.with_suffix(".safetensors"))

    def by_method(part: str) -> dict[str, Floats]:
        return {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{part}.")}

    return Stability(
        variables=tuple(text["variables"]),
        sensitive=text["sensitive"],
        graphs=arrays["graphs"],
        people=arrays["people"],
        twin_scores=by_method("worlds"),
        returned=by_method("returned"),
        plausibility=Plausibility(
            out_of_range=arrays["out_of_range"].astype(np.bool_),
            between_levels=arrays["between_levels"].astype(np.bool_),
            distance=arrays["distance"],
            real_median=text["real_median"],
            usual=arrays["usual"],
        ),
        edge_cuts=EdgeCuts(
            people=text["asked"],
            edges=tuple((cause, effect) for cause, effect in text["edges"]),
            whole=dict(text["whole"]),
            without=by_method("without"),
        ),
        seed=text["seed"],
    )


def _save_arrays(arrays: State, path: Path) -> None:
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
