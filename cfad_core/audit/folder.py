"""An audit as a folder: written whole or not at all, and the same to the last bit when it is read back.

docs/AUDIT_FORMAT.md describes the files. Folders of older schemas are read, too.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, overload

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import load_file

from cfad_core.audit.answers import AnswerRecord
from cfad_core.audit.basis import MethodScores
from cfad_core.audit.checks import ModelChecks
from cfad_core.audit.comparisons import Comparison, plan_of
from cfad_core.audit.encoded import ROW_GROUP, SavedRows, saved_codes
from cfad_core.audit.everybody_files import load_everybody, save_everybody
from cfad_core.audit.notices import RESULT_CODES
from cfad_core.audit.report import MethodReport
from cfad_core.audit.result import PLAIN, AuditResult, People, Provenance
from cfad_core.audit.shared_twins import SharedTwins
from cfad_core.audit.slicing import MethodSlices
from cfad_core.audit.stability_files import Judged, load_stability, read_judged, save_arrays, save_stability
from cfad_core.causal.files import load_model, load_models, save_model, save_models
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.core.files import staged_folder
from cfad_core.core.formats import suppressed_size
from cfad_core.data.encoding import Encoding
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.protocol import AnyDetector, SavedDetector, Surroundings
from cfad_core.detectors.registry import METHOD_NAME, METHODS, module_of, needed

SCHEMA_VERSION = 6
# 2 knew three methods and one scaling of their inputs, 3 no uncertainty; up to 4 twins were additive, and one judge; up
# to 5 there were two groups of one attribute
_READABLE = (2, 3, 4, 5, 6)


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
        "n_learned": made.n_learned,
        "n_learned_normal": made.n_learned_normal,
        "n_test": result.judged_people,
        "groups": {name: suppressed_size(size) for name, size in result.group_sizes.items()},
        "comparisons": [_comparison(result, one) for one in result.plan.comparisons],
        "judge": "true twins" if result.people.truth is not None else "causal models of other rows",
        "judges": result.judges,
        "encoding": result.encoding.to_dict(),
        "graph": graph_summary(result.model),
        "methods": {method: _method(result, method) for method in result.reports},
        "checks": result.checks[0].to_dict() if result.checks else None,
        "uncertainty": None if result.stability is None else _uncertainty(result),
        "asked": None if result.asked is None else result.asked.to_dict(),
        "everybody": None if result.everybody is None else result.everybody.to_dict(),
        "slices": {method: found.to_dict() for method, found in result.slices.items()},
        "detector": result.settings.to_dict(),
        "notices": [finding.to_dict() for finding in result.findings],
        "seconds": made.seconds,
        "versions": made.versions,
    }


def _method(result: AuditResult, method: str) -> dict[str, Any]:
    found, improvement = result.report(method).to_dict(), result.improvement(method)
    if improvement is None:
        return found
    return found | {"improvement": {"over": PLAIN} | dataclasses.asdict(improvement)}


def _uncertainty(result: AuditResult) -> dict[str, Any]:
    stability = result.seen().stability
    assert stability is not None
    return stability.to_dict()


def _comparison(result: AuditResult, comparison: Comparison) -> dict[str, Any]:
    """One comparison: its groups, and what the audit says of it."""
    seen = result.seen(comparison.name)
    return {
        "name": comparison.name,
        "groups": {name: suppressed_size(size) for name, size in seen.group_sizes.items()},
        "checks": seen.checks[0].to_dict() if seen.checks else None,
        "affected": list(result.model.affected_by([result.model.attributes[s] for s in comparison.attributes])),
        "methods": {
            method: _headline(report) | result.group_report(method, comparison.name).to_dict()
            for method, report in seen.reports.items()
        },
    }


def _headline(report: MethodReport) -> dict[str, Any]:
    found = report.changing_ratio_interval(report.threshold)
    return {
        "changing_ratio": report.metrics.changing_ratio,
        "interval": None if found is None else dataclasses.asdict(found),
        "model_error": report.model_error(report.threshold),
        "verdict": report.verdict,
    }


def graph_summary(model: CausalModel) -> dict[str, Any]:
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
        save_model(result.model, stage / "scm")
        if result.judge_models:
            save_models(result.judge_models, stage / "judges")
        if result.stability is not None:
            save_stability(result.stability, stage / "uncertainty")
        weights = {
            f"{name}.{key}": array
            for name, detector in result.detectors.items()
            if isinstance(detector, SavedDetector)
            for key, array in detector.state().items()
        }
        save_arrays(weights, stage / "detectors.safetensors")
        _people_table(result).to_parquet(stage / "people.parquet", index=False)
        for whose, rows in _encoded_rows(result.people).items():
            frame = pd.DataFrame(rows, columns=list(result.encoding.names))
            frame.to_parquet(stage / f"{whose}.parquet", index=False, row_group_size=ROW_GROUP)
        judged = {f"scores.{method}": scores.judged for method, scores in result.scores.items()}
        save_arrays({"people": result.people.judged, **judged}, stage / "judged.safetensors")
        train = {method: scores.train for method, scores in result.scores.items()}
        save_arrays(train, stage / "train_scores.safetensors")
        if result.everybody is not None:
            save_everybody(result, stage / "everybody.safetensors")
        content = summary(result) | {"judge_models": len(result.judge_models)}
        text = json.dumps(content, indent=2, allow_nan=False)
        (stage / "audit.json").write_text(text + "\n", encoding="utf-8")


def _encoded_rows(people: People) -> dict[str, Floats]:
    """What is written of people by file: the twins of all moves one below the other, those of the first move first."""
    found = {"factual": people.factual, "counterfactual": people.twins.reshape(-1, people.twins.shape[2])}
    return found if people.truth is None else found | {"truth": people.truth}


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
                f"The audit in '{folder}' has schema version {text['schema_version']}; this program reads 2 to 6."
            )
        strange = [method for method in text["methods"] if not METHOD_NAME.fullmatch(method)]
        if strange:
            raise InvalidArtifactError(f"The audit in '{folder}' names an impossible method '{strange[0][:40]}'.")
        return _read(folder, text)
    except InvalidArtifactError:
        raise
    except Exception as error:  # whatever is wrong with the files, it is one thing to the reader
        raise InvalidArtifactError(f"The audit in '{folder}' is damaged: {error}") from error


class _SavedJudges(Sequence[CausalModel]):
    """The causal models that judged an audit, read from its folder when they are needed: they are large.

    Parameters
    ----------
    count : how many they are
    """

    def __init__(self, folder: Path, count: int) -> None:
        self._folder, self._count = folder, count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, place: int) -> CausalModel: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[CausalModel]: ...
    def __getitem__(self, place: int | slice) -> CausalModel | Sequence[CausalModel]:
        return self._models[place]

    @cached_property
    def _models(self) -> tuple[CausalModel, ...]:
        return load_judges(self._folder)


def load_judges(folder: Path) -> tuple[CausalModel, ...]:
    """The causal models that judged an audit; none if they were not saved with it.

    They are large, and only new rows need them, so that ``load_audit`` leaves them alone.

    Raises
    ------
    InvalidArtifactError
        If the folder holds no audit, or they are damaged.
    """
    try:
        text = json.loads((folder / "audit.json").read_text(encoding="utf-8"))
        wanted = text.get("judge_models", 0)
    except (OSError, ValueError, AttributeError) as error:
        raise InvalidArtifactError(f"'{folder}' holds no audit: {error}") from error
    if not wanted:
        return ()
    found, names = tuple(load_models(folder / "judges")), text.get("graph", {}).get("variables")
    if len(found) != wanted or any(model.strengths()[0] != names for model in found):
        raise InvalidArtifactError(f"The judges in '{folder}' do not belong to its audit.")
    return found


def _read(folder: Path, text: Mapping[str, Any]) -> AuditResult:
    config = AuditConfig.from_dict(text["config"])
    settings = _settings(text, config)
    model = load_model(folder / "scm")
    table = pd.read_parquet(folder / "people.parquet")
    judged = read_judged(folder, text, table)
    people = _load_people(folder, table, judged)
    roles, encoding = ColumnRoles.from_dict(text["roles"]), Encoding.from_dict(text["encoding"])
    plan = plan_of(encoding, roles)
    stability = load_stability(folder / "uncertainty", len(judged.people)) if text.get("uncertainty") else None
    if stability is not None:
        methods = text["methods"]
        stability.check(len(table), len(judged.people), model.strengths()[0], methods, len(plan.moves))
    known = Surroundings(config.replace(detector=settings), {}, SharedTwins(model))
    scores = _load_scores(folder, table, judged, text["methods"], len(plan.moves))
    everybody, scores = load_everybody(folder / "everybody.safetensors", text.get("everybody"), scores)
    return AuditResult(
        roles=roles,
        config=config,
        settings=settings,
        encoding=encoding,
        model=model,
        detectors=_load_detectors(folder, text["methods"], known),
        plan=plan,
        people=people,
        scores=scores,
        everybody=everybody,
        judges=judged.judges,
        checks=tuple(ModelChecks.from_dict(one) for one in _saved_checks(text)),
        stability=stability,
        notices=_notices(text),
        provenance=_provenance(text),
        judge_models=_SavedJudges(folder, text.get("judge_models", 0)),
        asked=None if text.get("asked") is None else AnswerRecord.from_dict(text["asked"]),
        slices={method: MethodSlices.from_dict(found) for method, found in text.get("slices", {}).items()},
    )


def _notices(text: Mapping[str, Any]) -> tuple[Finding, ...]:
    """Those that are not about the numbers: these are made anew."""
    found = (Finding.from_dict(notice) for notice in text["notices"])
    return tuple(notice for notice in found if notice.code not in RESULT_CODES)


def _provenance(text: Mapping[str, Any]) -> Provenance:
    """Older audits learned from all training rows."""
    return Provenance(
        data_digest=text["data_digest"],
        seconds=dict(text["seconds"]),
        versions=dict(text["versions"]),
        n_train=text["n_train"],
        n_train_normal=text["n_train_normal"],
        n_learned=text.get("n_learned", text["n_train"]),
        n_learned_normal=text.get("n_learned_normal", text["n_train_normal"]),
    )


def _saved_checks(text: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The checks of every comparison; none if they were not run."""
    saved = text.get("comparisons", [text])
    return [one["checks"] for one in saved if one.get("checks")]


def _settings(text: Mapping[str, Any], config: AuditConfig) -> DetectorConfig:
    if text["schema_version"] == 2:
        return config.detector.replace(inputs="variance")
    return DetectorConfig.from_dict(text["detector"])


def _people_table(result: AuditResult) -> pd.DataFrame:
    people = pd.DataFrame({"row": result.people.row})
    if result.people.is_anomaly is not None:
        people["is_anomaly"] = result.people.is_anomaly
    for method, scores in result.scores.items():
        people[f"{method}_factual"] = scores.factual
        for move, values in enumerate(scores.twins):
            people[_twin_column(method, move)] = values
        if scores.truth is not None:
            people[f"{method}_truth"] = scores.truth
    return people


def _twin_column(method: str, move: int) -> str:
    return f"{method}_counterfactual" if move == 0 else f"{method}_counterfactual_{move + 1}"


def _load_people(folder: Path, table: pd.DataFrame, judged: Judged) -> People:
    return People(
        row=table["row"].to_numpy(dtype=np.int64),
        is_anomaly=table["is_anomaly"].to_numpy(dtype=np.bool_) if "is_anomaly" in table else None,
        codes=saved_codes(folder, len(table), judged.truth),
        encoded=SavedRows(folder, len(table), judged.truth),
        judged=judged.people,
    )


def _load_scores(
    folder: Path, table: pd.DataFrame, judged: Judged, methods: Mapping[str, Any], moves: int
) -> dict[str, MethodScores]:
    train = load_file(folder / "train_scores.safetensors")

    def column(name: str) -> Floats:
        return table[name].to_numpy(dtype=np.float64)

    return {
        method: MethodScores(
            train=train[method],
            factual=column(f"{method}_factual"),
            twins=np.stack([column(_twin_column(method, move)) for move in range(moves)]),
            truth=column(f"{method}_{judged.truth}") if judged.truth else None,
            judged=judged.scores[method],
            threshold=found["threshold"] if found.get("is_owners_threshold") else None,
        )
        for method, found in methods.items()
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
