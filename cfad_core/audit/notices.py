"""What the reader of an audit must know, found in the data, the graph and the results."""

from __future__ import annotations

from collections.abc import Mapping

from cfad_core.audit.result import AuditResult
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Bools
from cfad_core.core.config import METHOD_NAMES, AuditConfig
from cfad_core.core.formats import percent
from cfad_core.data.encoding import Encoding
from cfad_core.data.findings import Finding
from cfad_core.detectors.adapter import ForeignDetector, scores_row_by_row
from cfad_core.detectors.classical import EXACT_KERNEL_ROWS, KernelMachine
from cfad_core.detectors.protocol import Detector, TrainingRows
from cfad_core.evaluation.verdict import USELESS_AUC, USELESS_FLAG_RATE


def data_notices(encoding: Encoding, train_is_anomaly: Bools | None, selected: bool) -> list[Finding]:
    """About what was made of the rows."""
    notices = [
        Finding(
            "scaling",
            "info",
            "Columns share a scale; all are divided by one common factor before learning."
            if encoding.scaling == "raw"
            else "Columns have different scales or few values; each is mapped to [-3, 3] before learning.",
        )
    ]
    if train_is_anomaly is not None and train_is_anomaly.any():
        message = (
            f"The causal model learns from all kinds of training rows, {int(train_is_anomaly.sum())} anomalies among "
            "them (labels are not looked at); the detector learns from the normal ones."
        )
        notices.append(Finding("rows-learned-from", "info", message))
    if train_is_anomaly is None:
        notices.append(
            Finding(
                "no-labels", "info", "Without labels all training rows are taken for normal, and there is no F1 or AUC."
            )
        )
    elif selected:
        notices.append(
            Finding(
                "selected-rows",
                "info",
                "All training rows are normal. Rows chosen by their label bias a causal model; edges are therefore "
                "told by score matching where all columns are continuous.",
            )
        )
    return notices


def graph_notices(scm: StructuralModel, judge: StructuralModel | None, *, was_given: bool) -> list[Finding]:
    """About graphs that were given, and graphs in which the sensitive attribute affects nothing."""
    notices = []
    if was_given:
        message = (
            "The causal graph was given. The judge and every resampled model have its edges, too: they tell how sure "
            "the strengths are, not whether the edges are right."
        )
        notices.append(Finding("ready-graph", "info", message))
    if not scm.affected:
        message = (
            f"In the {'given' if was_given else 'learned'} graph '{scm.sensitive}' affects nothing, so every "
            "counterfactual equals the person and every detector looks fair. This is a statement about the graph, not "
            "about the detector."
        )
        notices.append(Finding("no-path-from-sensitive", "warning", message))
    if judge is not None and not judge.affected:
        message = f"In the independent judge's graph '{scm.sensitive}' affects nothing: its ratio of 0 says nothing."
        notices.append(Finding("no-path-in-judge", "warning", message))
    return notices


def detector_notices(detectors: Mapping[str, Detector], config: AuditConfig, rows: TrainingRows) -> list[Finding]:
    """About how detectors were fitted."""
    notices = []
    if "fairod" in detectors and not config.baselines.fairod.candidates:
        message = "fairod is its base model, without its fairness losses, as in the paper's experiments."
        notices.append(Finding("fairod-base", "info", message))
    for name, detector in detectors.items():
        if isinstance(detector, KernelMachine):
            how = (
                f"the exact kernel ({len(detector.anchors)} support vectors)"
                if detector.exact
                else f"an approximate kernel ({len(detector.anchors)} anchors): there are more than "
                f"{EXACT_KERNEL_ROWS} normal training rows"
            )
            notices.append(Finding("kernel", "info", f"{name} has {how}."))
        elif isinstance(detector, ForeignDetector):
            message = (
                f"{name} is another library's {type(detector.estimator).__name__}: its scores are kept with the audit, "
                "it itself is not, so a saved audit cannot score new rows with it."
            )
            notices.append(Finding("foreign-detector", "info", message))
            if not scores_row_by_row(detector, rows.x):
                message = (
                    f"{name} scores a row differently in other company: what it says of a person depends on whom they "
                    "are scored with, and so does its changing ratio."
                )
                notices.append(Finding("not-row-by-row", "warning", message))
    return notices


def result_notices(result: AuditResult) -> list[Finding]:
    """About what was found."""
    return [*_usefulness_notices(result), *_uncertainty_notices(result)]


def _uncertainty_notices(result: AuditResult) -> list[Finding]:
    """About ratios that one causal model alone gets wrong, and graphs that were learned in another way."""
    notices = []
    for method in result.scores:
        found, own = result.intervals(method), result.metrics(method).changing_ratio
        if found is None or found.changing_ratio is None or own is None or method == "twin":
            continue  # under its own model, twin scoring changes nobody by construction
        low, high = found.changing_ratio.low, found.changing_ratio.high
        clearly = (high - low) / 2.0
        if result.draws_categories and not low - clearly <= own <= high + clearly:
            name = METHOD_NAMES.get(method, method)
            message = (
                f"{name}: by the audit's own causal model the outcome changes for {percent(own, 1)}, by graphs whose "
                f"categories are drawn for {percent(low, 1)} to {percent(high, 1)}. The own model leaves categories "
                "between their values, where no person is; trust the interval."
            )
            notices.append(Finding("own-outside-interval", "warning", message))
    if result.uncertainty is not None and result.config.discovery.mode == "paper":
        message = (
            "The graphs that tell how sure the audit is were learned jointly, not by the paper's graph autoencoder."
        )
        notices.append(Finding("bootstrap-joint", "info", message))
    return notices


def _usefulness_notices(result: AuditResult) -> list[Finding]:
    """About detectors that are fair because useless."""
    notices = []
    for method in result.scores:
        metrics = result.metrics(method)
        if metrics.auc_roc is not None and metrics.auc_roc < USELESS_AUC:
            message = (
                f"{method} ranks anomalies hardly better than chance (AUC-ROC {metrics.auc_roc:.2f}): a low "
                "changing ratio of it is fair because useless."
            )
            notices.append(Finding("fair-because-useless", "warning", message))
        elif metrics.flag_rate is not None and metrics.flag_rate < USELESS_FLAG_RATE:
            message = (
                f"{method} flags {metrics.flag_rate:.2%} of the test rows: where almost nobody is flagged, almost "
                "nobody's outcome can change."
            )
            notices.append(Finding("fair-because-useless", "warning", message))
    return notices
