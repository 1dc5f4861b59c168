"""What an audit found: frozen, complete, and the same after a round trip through a folder."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from cfad_core.audit.stability import Uncertainty
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import METHOD_NAMES, METHODS, PAPER_QUANTILES, AuditConfig, DetectorConfig, from_plain
from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.core.files import staged_folder
from cfad_core.data.encoding import Decoded, Encoding
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.protocol import Detector, SavedDetector
from cfad_core.detectors.registry import CATALOGUE
from cfad_core.detectors.twin import twin_score
from cfad_core.evaluation.densities import Densities, score_densities
from cfad_core.evaluation.intervals import Intervals, ResampledScores
from cfad_core.evaluation.metrics import Metrics, evaluate, number
from cfad_core.evaluation.outcomes import ScoreCurve
from cfad_core.evaluation.verdict import Evidence, verdict

SCHEMA_VERSION = 4
METHOD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_READABLE = (2, 3, 4)  # 2 knew three methods and one scaling of their inputs, 3 not how sure it was


@dataclass(frozen=True)
class People:
    """The test rows, in both worlds, as encoded variables (n, d).

    Attributes
    ----------
    row : position of each person in the table they came from
    is_anomaly : None without labels
    factual : as they are
    counterfactual : their twins by the audit's own SCM
    independent : their twins by the independent judge
    """

    row: NDArray[np.int64]
    is_anomaly: Bools | None
    factual: Floats
    counterfactual: Floats
    independent: Floats


@dataclass(frozen=True)
class MethodScores:
    """Scores of one method: higher = more anomalous.

    Attributes
    ----------
    train : of the rows the threshold is taken from
    factual, counterfactual, independent : (n,), of the test people in the three worlds of ``People``
    """

    train: Floats
    factual: Floats
    counterfactual: Floats
    independent: Floats


@dataclass(frozen=True)
class AuditResult:
    """An audit.

    Attributes
    ----------
    roles, config : what was asked
    encoding, scm, detectors : what scores new rows
    detector : the settings of Phase Two as they were used, with what was left to the data filled in
    judge : the independent SCM, or None if the true counterfactuals were known
    people, scores : the test rows and their scores by method
    notices : what the reader must know
    data_digest : sha256 of all tables that were given
    seconds : wall time by stage
    versions : of the packages that computed
    n_train, n_train_normal : training rows, and the normal ones among them that the detectors learned from. The own
        SCM learned from all training rows if the true counterfactuals were known, else from half of them
    uncertainty : how sure it is, if that was asked for
    """

    roles: ColumnRoles
    config: AuditConfig
    encoding: Encoding
    scm: StructuralModel
    judge: StructuralModel | None
    detectors: dict[str, Detector]
    detector: DetectorConfig
    people: People
    scores: dict[str, MethodScores]
    notices: tuple[Finding, ...]
    data_digest: str
    seconds: dict[str, float]
    versions: dict[str, str]
    n_train: int
    n_train_normal: int
    uncertainty: Uncertainty | None = None

    @property
    def groups(self) -> dict[str, Bools]:
        """Which test people belong to each group."""
        s = self.people.factual[:, 0]
        return {self.encoding.groups[0]: s < 0.0, self.encoding.groups[1]: s > 0.0}

    def threshold(self, method: str, quantile: float | None = None) -> float:
        """The quantile (default: the configured one) of the method's training scores."""
        return float(np.quantile(self.scores[method].train, self.config.quantile if quantile is None else quantile))

    def metrics(self, method: str, threshold: float | None = None) -> Metrics:
        """Everything about a method at its threshold, or at another one."""
        scores = self.scores[method]
        return evaluate(
            scores.factual,
            scores.counterfactual,
            scores.independent,
            threshold=self.threshold(method) if threshold is None else threshold,
            groups=self.groups,
            is_anomaly=self.people.is_anomaly,
        )

    @property
    def draws_categories(self) -> bool:
        """Whether the sensitive attribute affects a category, or a column with two values, which graphs draw."""
        categories = {variable.name for variable in self.encoding.variables if variable.kind == "category"}
        two_valued = self.scm.slope is not None and any(self.scm.slope[i] != 0.0 for i in self.scm.affected)
        return two_valued or bool(categories & set(self.scm.affected_names))

    def resampled(self, method: str) -> ResampledScores | None:
        """What the intervals of a method come from; None if the audit does not tell how sure it is."""
        if self.uncertainty is None:
            return None
        return self.uncertainty.resampled(method, self.scores[method].factual, self.people.factual[:, 0])

    def intervals(self, method: str, threshold: float | None = None) -> Intervals | None:
        """How far the method's numbers can be trusted, at its threshold or at another one."""
        resampled = self.resampled(method)
        return None if resampled is None else resampled.at(self.threshold(method) if threshold is None else threshold)

    def floor(self, method: str, threshold: float | None = None) -> float | None:
        """Share of people whose outcome model error alone changes."""
        if self.uncertainty is None:
            return None
        at = self.threshold(method) if threshold is None else threshold
        return self.uncertainty.floor(method, self.scores[method].factual, at)

    def changing_ratio_of_near(self, method: str, threshold: float | None = None) -> float | None:
        """The changing ratio, by the own SCM, of the people whose twin is not far from anything real."""
        if self.uncertainty is None or self.uncertainty.validity.far.all():
            return None
        at, scores = self.threshold(method) if threshold is None else threshold, self.scores[method]
        near = ~self.uncertainty.validity.far
        return float(((scores.factual > at) != (scores.counterfactual > at))[near].mean())

    def evidence(self, method: str, threshold: float | None = None) -> Evidence:
        """What the verdict on a method is made of.

        The edge that carries it is known at the audit's own threshold only; and how far twins are from real people only
        of the own model's, which are others than those behind the interval where categories are drawn.
        """
        metrics, sure = self.metrics(method, threshold), self.uncertainty
        found = Evidence(
            method=METHOD_NAMES.get(method, method),
            sensitive=self.scm.sensitive,
            has_path=bool(self.scm.affected),
            changing_ratio=metrics.changing_ratio,
            changing_ratio_independent=metrics.changing_ratio_independent,
            flag_rate=metrics.flag_rate,
            auc_roc=metrics.auc_roc,
        )
        intervals = self.intervals(method, threshold)
        if sure is None or intervals is None:
            return found
        return dataclasses.replace(
            found,
            interval=intervals.changing_ratio,
            floor=self.floor(method, threshold),
            graphs=len(sure.graphs),
            graphs_without_path=sure.without_path,
            carrier=sure.what_if.carrier(method) if threshold in (None, self.threshold(method)) else None,
            far=None if self.draws_categories else float(sure.validity.far.mean()),
        )

    def verdict(self, method: str, threshold: float | None = None) -> str:
        """One careful line about a method."""
        return verdict(self.evidence(method, threshold))

    def curve(self, method: str, judge: Literal["own", "independent"] = "own") -> ScoreCurve:
        """The exact trade-off curve of a method, judged by the own SCM or by the independent judge."""
        scores = self.scores[method]
        other = scores.counterfactual if judge == "own" else scores.independent
        return ScoreCurve(scores.factual, other, self.people.is_anomaly)

    def quantile_curve(self, method: str) -> list[dict[str, float | None]]:
        """The trade-off at the paper's nine quantiles."""
        thresholds = np.array([self.threshold(method, quantile) for quantile in PAPER_QUANTILES])
        own, judged = self.curve(method).at(thresholds), self.curve(method, "independent").at(thresholds)
        return [
            {
                "quantile": quantile,
                "threshold": float(thresholds[k]),
                "macro_f1": number(own.macro_f1[k]),
                "changing_ratio": number(own.changing_ratio[k]),
                "changing_ratio_independent": number(judged.changing_ratio[k]),
                "flag_rate": number(own.flag_rate[k]),
            }
            for k, quantile in enumerate(PAPER_QUANTILES)
        ]

    def densities(self, method: str, *, bins: int = 100, log: bool = False) -> Densities:
        """Score densities of each group and of its counterfactual, on shared bins."""
        scores = self.scores[method]
        sets: dict[str, Floats] = {}
        for name, rows in self.groups.items():
            sets[name] = scores.factual[rows]
            sets[f"{name} (counterfactual)"] = scores.counterfactual[rows]
        return score_densities(sets, bins=bins, log=log)

    def score(self, table: pd.DataFrame) -> pd.DataFrame:
        """Score new rows with every method whose detector is here: one of another library is not saved with an audit.

        Returns
        -------
        DataFrame
            Aligned with the table's rows; for each method ``_score``, ``_flag``, ``_score_counterfactual`` and
            ``_flip`` (the outcome changes in the other world).
        """
        x = self.encode_all(table)
        counterfactual = self.scm.counterfactual(x)
        scores = {
            name: (model.anomaly_score(x[:, 1:]), model.anomaly_score(counterfactual[:, 1:]))
            for name, model in self.detectors.items()
            if name in self.scores or (name == "cfad" and "twin" in self.scores)
        }
        if "twin" in self.scores:
            alike = twin_score(*scores["cfad"], self.detector.twin or "mean")  # a twin's twin is the person
            scores["twin"] = (alike, alike)
        columns: dict[str, NDArray[Any]] = {}
        for method in self.scores:
            if method not in scores:
                continue
            here, there = scores[method]
            threshold = self.threshold(method)
            columns[f"{method}_score"] = here
            columns[f"{method}_flag"] = (here > threshold).astype(np.int64)
            columns[f"{method}_score_counterfactual"] = there
            columns[f"{method}_flip"] = ((here > threshold) != (there > threshold)).astype(np.int64)
        return pd.DataFrame(columns, index=table.index)

    def counterfactuals(self, table: pd.DataFrame, *, clip: bool = True) -> Decoded:
        """Each row had its person belonged to the other group, in the table's own columns and units.

        Numbers are clipped to what was seen in training, and counted, unless ``clip`` is False.
        """
        x = self.encode_all(table)
        return self.encoding.decode(self.scm.counterfactual(x), x, table, clip=clip)

    def encode_all(self, table: pd.DataFrame) -> Floats:
        """Encode rows that must all belong to one of the two groups."""
        inside = self.encoding.in_groups(table)
        if not inside.all():
            raise InvalidDataError(
                f"{int((~inside).sum())} of {len(table)} rows have a '{self.encoding.sensitive}' that is neither "
                f"'{self.encoding.groups[0]}' nor '{self.encoding.groups[1]}'; remove these rows first."
            )
        return self.encoding.encode(table)

    def summary(self) -> dict[str, Any]:
        """The content of ``audit.json``."""
        return {
            "schema_version": SCHEMA_VERSION,
            "roles": self.roles.to_dict(),
            "config": self.config.to_dict(),
            "seed": self.config.seed,
            "data_digest": self.data_digest,
            "n_train": self.n_train,
            "n_train_normal": self.n_train_normal,
            "n_test": len(self.people.row),
            "groups": {name: int(rows.sum()) for name, rows in self.groups.items()},
            "judge": "true counterfactuals" if self.judge is None else "independent SCM",
            "encoding": self.encoding.to_dict(),
            "graph": {
                "variables": self.scm.strengths()[0],
                "affected_by_sensitive": list(self.scm.affected_names),
                "edges": [
                    {"cause": cause, "effect": effect, "weight": weight}
                    for (cause, effect), weight in self.scm.edges().items()
                ],
            },
            "methods": {
                method: {
                    "threshold": self.threshold(method),
                    "metrics": dataclasses.asdict(self.metrics(method)),
                    "curve": self.quantile_curve(method),
                    "verdict": self.verdict(method),
                    **self._sureness(method),
                }
                for method in self.scores
            },
            "uncertainty": None if self.uncertainty is None else self.uncertainty.summary(),
            "detector": dataclasses.asdict(self.detector),
            "notices": [notice.to_dict() for notice in self.notices],
            "seconds": self.seconds,
            "versions": self.versions,
        }

    def _sureness(self, method: str) -> dict[str, Any]:
        intervals = self.intervals(method)
        if intervals is None:
            return {}
        return {
            "intervals": dataclasses.asdict(intervals),
            "placebo_floor": self.floor(method),
            "changing_ratio_without_far": self.changing_ratio_of_near(method),
        }

    def save(self, folder: Path) -> None:
        """Write the audit; ``audit.json`` comes last, so a folder that has it is complete."""
        with staged_folder(folder, last="audit.json") as stage:
            self.scm.save(stage / "scm")
            if self.judge is not None:
                self.judge.save(stage / "judge")
            if self.uncertainty is not None:
                self.uncertainty.save(stage / "uncertainty")
            weights = {
                f"{name}.{key}": np.ascontiguousarray(array)
                for name, model in self.detectors.items()
                if isinstance(model, SavedDetector)
                for key, array in model.state().items()
            }
            save_file(weights, stage / "detectors.safetensors")
            people = pd.DataFrame({"row": self.people.row})
            if self.people.is_anomaly is not None:
                people["is_anomaly"] = self.people.is_anomaly
            for method, scores in self.scores.items():
                for world in ("factual", "counterfactual", "independent"):
                    people[f"{method}_{world}"] = getattr(scores, world)
            people.to_parquet(stage / "people.parquet", index=False)
            for world in ("factual", "counterfactual", "independent"):
                frame = pd.DataFrame(getattr(self.people, world), columns=list(self.encoding.names))
                frame.to_parquet(stage / f"{world}.parquet", index=False)
            save_file(
                {method: scores.train for method, scores in self.scores.items()}, stage / "train_scores.safetensors"
            )
            text = json.dumps(self.summary(), indent=2, allow_nan=False)
            (stage / "audit.json").write_text(text + "\n", encoding="utf-8")

    @staticmethod
    def load(folder: Path) -> AuditResult:
        """Read what ``save`` wrote.

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
                    f"The audit in '{folder}' has schema version {text['schema_version']}; "
                    f"this program reads {' and '.join(map(str, _READABLE))}."
                )
            return _read(folder, text)
        except InvalidArtifactError:
            raise
        except Exception as error:  # whatever is wrong with the files, it is one thing to the reader
            raise InvalidArtifactError(f"The audit in '{folder}' is damaged: {error}") from error


def _read(folder: Path, text: Mapping[str, Any]) -> AuditResult:
    people = pd.read_parquet(folder / "people.parquet")
    worlds = ("factual", "counterfactual", "independent")
    variables = {world: pd.read_parquet(folder / f"{world}.parquet").to_numpy(dtype=np.float64) for world in worlds}
    weights = load_file(folder / "detectors.safetensors")
    train = load_file(folder / "train_scores.safetensors")
    states: dict[str, dict[str, Any]] = {}
    for key, array in weights.items():
        name, _, part = key.partition(".")
        states.setdefault(name, {})[part] = array
    detectors: dict[str, Detector] = {
        name: CATALOGUE[name].from_state(states[name]) for name in METHODS if name in states
    }
    strange = [method for method in text["methods"] if not METHOD_NAME.fullmatch(method)]
    if strange:
        raise InvalidArtifactError(f"The audit in '{folder}' names a method '{strange[0][:40]}', which none can be.")
    config = AuditConfig.from_dict(text["config"])
    settled = (
        from_plain(DetectorConfig, text["detector"], "detector")
        if text["schema_version"] > 2
        else dataclasses.replace(config.detector, inputs="variance")
    )
    scm = StructuralModel.load(folder / "scm")
    uncertainty = Uncertainty.load(folder / "uncertainty") if text.get("uncertainty") else None
    if uncertainty is not None:
        uncertainty.check(len(people), scm.strengths()[0], text["methods"])
    return AuditResult(
        roles=ColumnRoles.from_dict(text["roles"]),
        config=config,
        encoding=Encoding.from_dict(text["encoding"]),
        scm=scm,
        judge=StructuralModel.load(folder / "judge") if text["judge"] == "independent SCM" else None,
        detectors=detectors,
        detector=settled,
        people=People(
            row=people["row"].to_numpy(dtype=np.int64),
            is_anomaly=people["is_anomaly"].to_numpy(dtype=np.bool_) if "is_anomaly" in people else None,
            **variables,
        ),
        scores={
            method: MethodScores(
                train=train[method],
                **{world: people[f"{method}_{world}"].to_numpy(dtype=np.float64) for world in worlds},
            )
            for method in text["methods"]
        },
        notices=tuple(Finding.from_dict(notice) for notice in text["notices"]),
        data_digest=text["data_digest"],
        seconds=dict(text["seconds"]),
        versions=dict(text["versions"]),
        n_train=text["n_train"],
        n_train_normal=text["n_train_normal"],
        uncertainty=uncertainty,
    )
