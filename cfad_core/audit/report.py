"""One method of an audit: everything that follows from its scores, each number computed once."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from cfad_core.audit.basis import MethodScores, ReportBasis
from cfad_core.audit.stability import Stability
from cfad_core.core.arrays import Bools, Floats
from cfad_core.detectors.registry import called
from cfad_core.evaluation.bounds import REFUTING_ERRORS, Bounds, flag_rates_bounds
from cfad_core.evaluation.densities import Densities, Distances, distances, score_densities
from cfad_core.evaluation.draws import monte_carlo_error
from cfad_core.evaluation.evidence import Evidence
from cfad_core.evaluation.intervals import Difference, Interval, Intervals, ResampledScores, difference, interval
from cfad_core.evaluation.metrics import Curves, Metrics, defined, evaluate, suppressed
from cfad_core.evaluation.outcomes import PAPER_QUANTILES, ScoreCurve, Tallies
from cfad_core.evaluation.shapes import BothWorlds, Shapes, score_shapes, suits_log
from cfad_core.evaluation.tally import Tally
from cfad_core.evaluation.verdict import evidence_lines, verdict

_POINTS = 201  # of a curve on the screen, fewer where there are few people


@dataclass(frozen=True)
class MethodReport:
    """What an audit says about one method in one view, at its threshold and at any other one.

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
        """The owner's, of a detector that has one; else the configured quantile of the training scores."""
        return self.threshold_at(self.basis.quantile) if self.scores.threshold is None else self.scores.threshold

    def threshold_at(self, quantile: float) -> float:
        """Another quantile of the training scores."""
        return float(np.quantile(self._train, quantile))

    @cached_property
    def _train(self) -> Floats:
        return np.sort(self.scores.train)

    @property
    def people(self) -> Tally:
        """The scores of all people."""
        return self.curves.people.people

    @cached_property
    def curves(self) -> Curves:
        """The scores, sorted once: of people and of their true twins, or else of all twins that other models made."""
        cells = self.basis.cells(self.method)
        groups = {name: self._curve(rows, cells.tallies(k)) for k, (name, rows) in enumerate(self.basis.groups.items())}
        return Curves(self._curve(np.ones(len(self.scores.factual), dtype=np.bool_), cells.tallies()), groups)

    def _curve(self, rows: Bools, everybody: Tallies) -> ScoreCurve:
        """Of the twins of some people (n,), and of the scores of those they stand for."""
        scores, judged = self.scores, self.basis.judged
        if scores.truth is not None:
            return ScoreCurve(scores.factual[rows], scores.truth[rows], everybody=everybody)
        chosen = rows[judged]
        return ScoreCurve(scores.factual[judged[chosen]], scores.judged[:, :, chosen], everybody=everybody)

    @cached_property
    def metrics(self) -> Metrics:
        """Everything at the method's threshold."""
        return evaluate(self.curves, self.threshold)

    def metrics_at(self, threshold: float) -> Metrics:
        return self.metrics if threshold == self.threshold else evaluate(self.curves, threshold)

    def flags_at(self, threshold: float) -> tuple[Bools, Bools]:
        """Who is flagged, and whose shown twin is, (n,) each; where there are several other groups, in the first."""
        return self.scores.factual > threshold, self.scores.counterfactual > threshold

    def change_probability(self, threshold: float) -> Floats:
        """How likely the outcome of each person changes, (n,): the share of their twins with another one.

        In any of the groups that they are compared with.

        By the true twin where it is known; nan for people whom no other model judged.
        """
        here = self.scores.factual > threshold
        if self.scores.truth is not None:
            known: Floats = (here != (self.scores.truth > threshold)).astype(np.float64)
            return known
        found = np.full(len(here), np.nan)
        judged = self.basis.judged
        found[judged] = ((self.scores.judged > threshold) != here[judged]).any(axis=1).mean(axis=0)
        return found

    @cached_property
    def grid(self) -> Floats:
        """The thresholds that a curve on the screen is drawn at, ascending."""
        points = min(_POINTS, max(20, self.people.n // 2))
        return self.people.at_rank(np.linspace(0, self.people.n - 1, points).astype(np.intp))

    @cached_property
    def quantile_curve(self) -> list[dict[str, float | None]]:
        """The trade-off at the paper's nine quantiles."""
        thresholds = np.quantile(self._train, PAPER_QUANTILES)
        found = self.curves.people.at(thresholds)
        return [
            {
                "quantile": quantile,
                "threshold": float(thresholds[k]),
                "macro_f1": defined(found.macro_f1[k]),
                "changing_ratio": defined(found.changing_ratio[k]),
                "flag_rate": defined(found.flag_rate[k]),
            }
            for k, quantile in enumerate(PAPER_QUANTILES)
        ]

    # Uncertainty; None where it was not measured

    @cached_property
    def resampled(self) -> ResampledScores | None:
        """What the intervals come from."""
        if self.stability is None:
            return None
        judged, basis = self.basis.judged, self.basis
        if not len(judged):
            return None
        twins = self.scores.judged.reshape(basis.judges, -1, *self.scores.judged.shape[1:])
        return ResampledScores(self.scores.factual[judged], twins, basis.view.group[judged], self.stability.seed)

    @cached_property
    def intervals(self) -> Intervals | None:
        """The interval of each number at the method's threshold."""
        if self.resampled is None:
            return None
        found = self.resampled.at(self.threshold)
        return dataclasses.replace(found, changing_ratio=self._bounded(found.changing_ratio, self.threshold))

    def changing_ratio_interval(self, threshold: float) -> Interval | None:
        """The interval of the changing ratio at a threshold, within the bounds that the flag rates set."""
        if self.resampled is None or self.intervals is None:
            return None
        if threshold == self.threshold:
            return self.intervals.changing_ratio
        return self._bounded(interval(self.resampled.changing_ratio(np.array([threshold]))[:, 0]), threshold)

    def difference_from(self, other: MethodReport) -> Difference | None:
        """By how much its changing ratio differs from another method's, each at its threshold.

        Both are judged by the same twins of the same people, so most of what is uncertain about either cancels out.
        """
        mine, theirs = self.metrics.changing_ratio, other.metrics.changing_ratio
        if mine is None or theirs is None:
            return None
        by_model = (
            None if one.resampled is None else one.resampled.changing_ratio(np.array([one.threshold]))[:, 0]
            for one in (self, other)
        )
        return difference(mine - theirs, *by_model)

    def _bounded(self, found: Interval | None, threshold: float) -> Interval | None:
        """The interval with the number itself, no further than the bounds allow."""
        ratio = defined(self.curves.people.at(threshold).changing_ratio)
        if found is None or ratio is None:
            return found
        bounds, whole = self.bounds_at(threshold), Interval(min(found.low, ratio), max(found.high, ratio))
        return whole if bounds is None else bounds.clip(whole)

    def bounds_at(self, threshold: float) -> Bounds | None:
        """What the flag rates of the groups allow without any causal model; None where that does not hold."""
        view = self.basis.view
        if not self.flag_rates_bound or not (view.pair is not None or view.comparison.is_complete):
            return None  # bounds are about people who are compared with all groups
        groups = self.curves.groups.values()
        if any(not one.n for one in groups):
            return None
        return flag_rates_bounds([one.flagged(threshold) / one.n for one in groups], [one.n for one in groups])

    @property
    def flag_rates_bound(self) -> bool:
        """Whether the flag rates of two groups bound the changing ratio between them: twins of one are the other.

        Not where two attributes change at once; and not where an audit has several attributes, as twins of one are as a
        population the people of its other group only among those alike in the other attributes.
        """
        checks, view = self.basis.checks, self.basis.view
        comparable = checks is not None and checks.groups_are_comparable and not self.basis.is_additive
        return comparable and not view.comparison.is_joint and view.is_of_one_attribute

    @cached_property
    def band(self) -> tuple[Floats, Floats] | None:
        """Bounds of the changing ratio along ``grid``: at each threshold those of its interval."""
        if self.resampled is None:
            return None
        low, high = self.resampled.band(self.grid)
        found = [
            self._bounded(Interval(*ends), threshold)
            for *ends, threshold in zip(low.tolist(), high.tolist(), self.grid.tolist(), strict=True)
        ]
        return np.array([one.low for one in found if one]), np.array([one.high for one in found if one])

    def model_error(self, threshold: float) -> float | None:
        """Share of people whose outcome model error alone changes."""
        return self._model_error if threshold == self.threshold else self._model_error_at(threshold)

    @cached_property
    def _model_error(self) -> float | None:
        return self._model_error_at(self.threshold)

    def _model_error_at(self, threshold: float) -> float | None:
        if self.stability is None:
            return None
        score = self.scores.factual[self.basis.judged]
        return self.stability.model_error(self.method, score, threshold)

    def halves_differ(self, threshold: float) -> float | None:
        """By how much the changing ratios of two models that share no row differ: the median over pairs."""
        if self.resampled is None:
            return None
        ratios = self.resampled.ratios_of_models(threshold)
        return float(np.median(np.abs(ratios[0::2] - ratios[1::2])))

    def plausible_changing_ratio(self, threshold: float) -> float | None:
        """The changing ratio of the people whose twin is not far from any real person."""
        if self.stability is None or self.stability.plausibility.far.all():
            return None
        near = self._curve(~self.stability.plausibility.far, (self.people, None))  # of their twins alone
        return defined(near.at(threshold).changing_ratio)

    # The verdict

    def evidence_at(self, threshold: float) -> Evidence:
        """What the verdict is made of.

        The edge that carries it, and the span over assumptions, are known at the audit's own threshold only.
        """
        return self._evidence if threshold == self.threshold else self._evidence_at(threshold)

    @cached_property
    def _evidence(self) -> Evidence:
        return self._evidence_at(self.threshold)

    def _evidence_at(self, threshold: float) -> Evidence:
        metrics, basis, stability = self.metrics_at(threshold), self.basis, self.stability
        known = self._tests(threshold)
        bounds = self.bounds_at(threshold)
        wide = None if bounds is None else bounds.with_sampling(REFUTING_ERRORS)
        if stability is not None:
            known |= {
                "interval": self.changing_ratio_interval(threshold),
                "model_error": self.model_error(threshold),
                "halves_differ": self.halves_differ(threshold),
                "graphs": len(stability.graphs),
                "graphs_without_path": stability.without_path,
                "carrier": stability.edge_cuts[0].carrier(self.method) if threshold == self.threshold else None,
            }
        return Evidence(
            method=called(self.method),
            sensitive=basis.view.comparison.name,
            otherwise=basis.view.otherwise,
            ratio=metrics.changing_ratio,
            has_path=basis.has_path,
            flag_rate=metrics.flag_rate,
            auc_roc=metrics.auc_roc,
            bounds=None if wide is None else (wide.low, wide.high),
            was_given=basis.graph_was_given,
            known_truth=self.scores.truth is not None,
            additive=basis.is_additive,
            **known,
        )

    def _tests(self, threshold: float) -> dict[str, Any]:
        """What the tests of the causal model found; nothing if they were not run."""
        checks = self.basis.checks
        if checks is None:
            return {}
        found: dict[str, Any] = {
            "twin_test": checks.twin_test,
            "kept": checks.kept,
            "unexplained": checks.unexplained,
            "better_fit": checks.better_fit,
            "selected_rows": checks.rows_were_selected,
        }
        if threshold == self.threshold and self.basis.view.pair is None:
            found["remaining"] = checks.remaining.get(self.method)
            found["span"] = checks.span_of(self.method, self.metrics.changing_ratio)
        return found

    def evidence_lines_at(self, threshold: float) -> list[str]:
        """What supports the number, a sentence each."""
        return evidence_lines(self.evidence_at(threshold))

    def verdict_at(self, threshold: float) -> str:
        """One careful line, at any threshold."""
        return verdict(self.evidence_at(threshold))

    @cached_property
    def verdict(self) -> str:
        """One careful line, at the method's threshold."""
        return self.verdict_at(self.threshold)

    # How scores are spread

    def _twins_of(self, rows: Bools) -> tuple[Floats, Floats]:
        """Scores of some people (n,) who were judged, (j,), and of the twins that the leading number counts.

        (R, k, j), one in each of k other groups.
        """
        scores, judged = self.scores, self.basis.judged
        if scores.truth is not None:
            return scores.factual[rows], scores.truth[None, None, rows]
        chosen = rows[judged]
        return scores.factual[judged[chosen]], scores.judged[:, :, chosen]

    @cached_property
    def distances(self) -> dict[str, Distances]:
        """Between the scores of people and of their twins, by group: the mean over their twins."""
        found = {}
        for name, rows in self.basis.groups.items():
            here, there = self._twins_of(rows)
            each = [distances(here, twins) for twins in there.reshape(-1, len(here))]
            found[name] = Distances(
                float(np.mean([one.kolmogorov_smirnov for one in each])),
                float(np.mean([one.wasserstein for one in each])),
            )
        return found

    def densities(self, bins: int | None = None, *, log: bool = False) -> Densities:
        """Score densities of each group and of all its twins, on shared bins: by default as many as people allow."""
        if bins is None:
            bins = int(min(100, max(12, 2 * len(self.scores.factual) ** 0.5)))  # few people make ragged lines
        sets: dict[str, Floats | Tally] = {}
        for name, curve in self.curves.groups.items():
            sets[name], sets[f"{name} (counterfactual)"] = curve.people, curve.twins
        return score_densities(sets, bins=bins, log=log)

    @property
    def worlds(self) -> dict[str, BothWorlds]:
        """The scores of each group and of all its twins."""
        return {name: BothWorlds(curve.people, curve.twins) for name, curve in self.curves.groups.items()}

    def shapes(self, threshold: float, *, log: bool | None = None, exact: bool = False) -> Shapes:
        """How the scores of each group and of its twins are spread; by default on the scale that suits them."""
        chosen = suits_log(self.worlds) if log is None else log
        return score_shapes(self.worlds, threshold, log=chosen, exact=exact)

    def to_dict(self) -> dict[str, Any]:
        """For ``audit.json``."""
        found: dict[str, Any] = {
            "threshold": self.threshold,
            "is_owners_threshold": self.scores.threshold is not None,
            "metrics": dataclasses.asdict(self.metrics) | {"groups": suppressed(self.metrics.groups)},
            "curve": self.quantile_curve,
            "verdict": self.verdict,
        }
        if len(self.scores.judged) > 1:
            here = self.scores.factual[self.basis.judged] > self.threshold
            changes = ((self.scores.judged > self.threshold) != here).any(axis=1).astype(np.float64)
            found["monte_carlo_error"] = monte_carlo_error(changes)
        if self.intervals is not None:
            found["intervals"] = dataclasses.asdict(self.intervals)
            found["model_error"] = self.model_error(self.threshold)
            found["changing_ratio_without_far"] = self.plausible_changing_ratio(self.threshold)
        return found
