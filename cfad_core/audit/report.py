"""One method of an audit: everything that follows from its scores, each number computed once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cfad_core.audit.stability import Stability
from cfad_core.core.arrays import Bools, Floats
from cfad_core.evaluation.densities import Densities, Distances, distances, score_densities
from cfad_core.evaluation.intervals import Interval, Intervals, ResampledScores, interval
from cfad_core.evaluation.metrics import Curves, Metrics, defined, evaluate
from cfad_core.evaluation.outcomes import PAPER_QUANTILES, ScoreCurve
from cfad_core.evaluation.verdict import Evidence, verdict

_POINTS = 201  # of a curve on the screen, fewer where there are few people


@dataclass(frozen=True)
class MethodScores:
    """Scores of one method: higher = more anomalous.

    Attributes
    ----------
    train : of the rows the threshold is taken from
    factual : (n,), of the test people as they are
    counterfactual, independent : (n,), of their twins by the audit's own causal model and by the independent judge
    """

    train: Floats
    factual: Floats
    counterfactual: Floats
    independent: Floats


@dataclass(frozen=True)
class ReportBasis:
    """What the reports of all methods share.

    Attributes
    ----------
    groups : which of the people (n,) belong to each group, that of -1 first
    sensitive : (n,), their group as -1 or +1
    is_anomaly : (n,), None without labels
    attribute : the name of the sensitive attribute
    has_path : whether it affects anything in the audit's own graph
    draws_categories : whether it affects a category, for which models draw a value
    graph_was_given : rather than learned
    quantile : of the training scores that sets the threshold
    """

    groups: dict[str, Bools]
    sensitive: Floats
    is_anomaly: Bools | None
    attribute: str
    has_path: bool
    draws_categories: bool
    graph_was_given: bool
    quantile: float


@dataclass(frozen=True)
class MethodReport:
    """What an audit says about one method, at its threshold and at any other one.

    Attributes
    ----------
    method, label : its name, and what people call it
    basis : what the reports of all methods share
    """

    method: str
    label: str
    scores: MethodScores
    basis: ReportBasis
    stability: Stability | None

    @cached_property
    def threshold(self) -> float:
        """The configured quantile of the training scores."""
        return self.threshold_at(self.basis.quantile)

    def threshold_at(self, quantile: float) -> float:
        """Another quantile of the training scores."""
        return float(np.quantile(self._train, quantile))

    @cached_property
    def _train(self) -> Floats:
        return np.sort(self.scores.train)

    @cached_property
    def ascending(self) -> Floats:
        """The people's scores, sorted."""
        return np.sort(self.scores.factual)

    @cached_property
    def curves(self) -> Curves:
        """The scores, sorted once."""
        scores, labels = self.scores, self.basis.is_anomaly
        groups = {
            name: ScoreCurve(
                scores.factual[rows], scores.counterfactual[rows], None if labels is None else labels[rows]
            )
            for name, rows in self.basis.groups.items()
        }
        own = ScoreCurve(scores.factual, scores.counterfactual, labels)
        return Curves(own, ScoreCurve(scores.factual, scores.independent, labels), groups)

    @cached_property
    def metrics(self) -> Metrics:
        """Everything at the method's threshold."""
        return evaluate(self.curves, self.threshold)

    def metrics_at(self, threshold: float) -> Metrics:
        return self.metrics if threshold == self.threshold else evaluate(self.curves, threshold)

    def flags_at(self, threshold: float) -> tuple[Bools, Bools]:
        """Who is flagged, and whose twin is by the own causal model, (n,) each."""
        return self.scores.factual > threshold, self.scores.counterfactual > threshold

    @cached_property
    def grid(self) -> Floats:
        """The thresholds that a curve on the screen is drawn at, ascending."""
        points = min(_POINTS, max(20, len(self.ascending) // 10))
        return self.ascending[np.linspace(0, len(self.ascending) - 1, points).astype(np.intp)]

    @cached_property
    def quantile_curve(self) -> list[dict[str, float | None]]:
        """The trade-off at the paper's nine quantiles."""
        thresholds = np.quantile(self._train, PAPER_QUANTILES)
        own, judged = self.curves.own.at(thresholds), self.curves.independent.at(thresholds)
        return [
            {
                "quantile": quantile,
                "threshold": float(thresholds[k]),
                "macro_f1": defined(own.macro_f1[k]),
                "changing_ratio": defined(own.changing_ratio[k]),
                "changing_ratio_independent": defined(judged.changing_ratio[k]),
                "flag_rate": defined(own.flag_rate[k]),
            }
            for k, quantile in enumerate(PAPER_QUANTILES)
        ]

    # Uncertainty; None where it was not measured

    @cached_property
    def resampled(self) -> ResampledScores | None:
        """What the intervals come from."""
        if self.stability is None:
            return None
        return self.stability.resampled(self.method, self.scores.factual, self.basis.sensitive)

    @cached_property
    def intervals(self) -> Intervals | None:
        """The interval of each number at the method's threshold."""
        return None if self.resampled is None else self.resampled.at(self.threshold)

    def changing_ratio_interval(self, threshold: float) -> Interval | None:
        """The interval of the changing ratio at a threshold."""
        if self.resampled is None or self.intervals is None:
            return None
        if threshold == self.threshold:
            return self.intervals.changing_ratio
        return interval(self.resampled.changing_ratio(np.array([threshold]))[:, 0])

    @cached_property
    def band(self) -> tuple[Floats, Floats] | None:
        """Bounds of the changing ratio along ``grid``."""
        return None if self.resampled is None else self.resampled.band(self.grid)

    def model_error(self, threshold: float) -> float | None:
        """Share of people whose outcome model error alone changes."""
        if self.stability is None or threshold == self.threshold:
            return self._model_error
        return self.stability.model_error(self.method, self.scores.factual, threshold)

    @cached_property
    def _model_error(self) -> float | None:
        """At the method's threshold."""
        if self.stability is None:
            return None
        return self.stability.model_error(self.method, self.scores.factual, self.threshold)

    def plausible_changing_ratio(self, threshold: float) -> float | None:
        """The changing ratio, by the own causal model, of the people whose twin is not far from any real person."""
        if self.stability is None or self.stability.plausibility.far.all():
            return None
        here, there = self.flags_at(threshold)
        return float((here != there)[~self.stability.plausibility.far].mean())

    # The verdict

    def evidence_at(self, threshold: float) -> Evidence:
        """What the verdict is made of.

        The edge that carries it is known at the audit's own threshold only; and how plausible twins are only of the
        own model's, which are others than those behind the interval where categories are drawn.
        """
        metrics, found, stability = self.metrics_at(threshold), self.basis, self.stability
        known: dict[str, Any] = {}
        if stability is not None:
            known = {
                "interval": self.changing_ratio_interval(threshold),
                "model_error": self.model_error(threshold),
                "graphs": len(stability.graphs),
                "graphs_without_path": stability.without_path,
                "carrier": stability.edge_cuts.carrier(self.method) if threshold == self.threshold else None,
                "implausible": None if found.draws_categories else float(stability.plausibility.far.mean()),
            }
        return Evidence(
            method=self.label,
            sensitive=found.attribute,
            has_path=found.has_path,
            changing_ratio=metrics.changing_ratio,
            changing_ratio_independent=metrics.changing_ratio_independent,
            flag_rate=metrics.flag_rate,
            auc_roc=metrics.auc_roc,
            was_given=found.graph_was_given,
            **known,
        )

    def verdict_at(self, threshold: float) -> str:
        """One careful line, at any threshold."""
        return verdict(self.evidence_at(threshold))

    @cached_property
    def verdict(self) -> str:
        """One careful line, at the method's threshold."""
        return self.verdict_at(self.threshold)

    # How scores are spread

    @cached_property
    def distances(self) -> dict[str, Distances]:
        """Between the scores of people and of their twins, by group."""
        scores = self.scores
        return {
            name: distances(scores.factual[rows], scores.counterfactual[rows])
            for name, rows in self.basis.groups.items()
        }

    def densities(self, bins: int | None = None, *, log: bool = False) -> Densities:
        """Score densities of each group and of its twins, on shared bins: by default as many as the people allow."""
        if bins is None:
            bins = int(min(100, max(12, 2 * len(self.scores.factual) ** 0.5)))  # few people make ragged lines
        sets: dict[str, Floats] = {}
        for name, rows in self.basis.groups.items():
            sets[name] = self.scores.factual[rows]
            sets[f"{name} (counterfactual)"] = self.scores.counterfactual[rows]
        return score_densities(sets, bins=bins, log=log)

    @property
    def scores_twins_alike(self) -> bool:
        """Whether everybody and their twin get the same score, as twin scoring guarantees by construction."""
        return np.array_equal(self.scores.factual, self.scores.counterfactual)

    @property
    def is_positive(self) -> bool:
        """Whether all scores are above 0, as logarithmic scales need."""
        return bool(self.scores.factual.min() > 0.0 and self.scores.counterfactual.min() > 0.0)

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``."""
        found = {
            "threshold": self.threshold,
            "metrics": dataclasses.asdict(self.metrics),
            "curve": self.quantile_curve,
            "verdict": self.verdict,
        }
        if self.intervals is not None:
            found["intervals"] = dataclasses.asdict(self.intervals)
            found["placebo_floor"] = self.model_error(self.threshold)
            found["changing_ratio_without_far"] = self.plausible_changing_ratio(self.threshold)
        return found
