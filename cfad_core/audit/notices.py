"""What the reader of an audit must know, found in the data, the graph and the results."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from cfad_core.audit.answers import AnswerRecord
from cfad_core.audit.report import MethodReport
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import AuditConfig
from cfad_core.core.formats import listed
from cfad_core.data.encoding import Encoding
from cfad_core.data.findings import Finding
from cfad_core.data.variables import Variable
from cfad_core.detectors.adapter import ForeignDetector, scores_row_by_row
from cfad_core.detectors.cfad import Choice, FairAutoencoder
from cfad_core.detectors.ocsvm import EXACT_KERNEL_ROWS, KernelMachine
from cfad_core.detectors.protocol import AnyDetector, TrainingRows
from cfad_core.evaluation.verdict import USELESS_AUC, USELESS_FLAG_RATE

OLDER_ENGINE = "older-engine"
_EXPECTED = 8.0  # people whom a group should have with a level, that it is worth a word if it has none
_SCALED = {
    "raw": "Columns share a scale; all are divided by one common factor before learning.",
    "range": "Columns have different scales or few values; each is mapped to [-3, 3] before learning.",
}


def data_notices(encoding: Encoding, train_is_anomaly: Bools | None, selected: bool) -> list[Finding]:
    """About what was made of the rows."""
    notices = [Finding("scaling", "info", _SCALED[encoding.scaling])] if encoding.scaling in _SCALED else []
    if train_is_anomaly is not None and train_is_anomaly.any():
        message = (
            f"The causal model learns from training rows of both labels, {int(train_is_anomaly.sum())} of them "
            "anomalies (labels are not looked at); the detector learns from the normal ones."
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
                "found by score matching where all columns are continuous.",
            )
        )
    return notices


def overlap_notices(encoding: Encoding, train: Floats) -> list[Finding]:
    """About values that a group never has: twins have nobody there to be compared with.

    Parameters
    ----------
    train : (n, d), the encoded training rows
    """
    levels = encoding.states.levels[encoding.states.of_codes(train[:, 0])]
    notices, start = [], 1
    for variable in encoding.variables:
        columns = train[:, start : start + len(variable.columns)]
        start += len(variable.columns)
        for s, groups in enumerate(encoding.attributes):
            for k, group in enumerate(groups.names):
                here, there = columns[levels[:, s] == k], columns[levels[:, s] != k]
                if what := _absent(variable, group, here, there):
                    message = f"No overlap: {what}. What twins would be there cannot be learned from this table."
                    notices.append(Finding("no-overlap", "warning", message))
    return notices


def _absent(variable: Variable, group: str, here: Floats, there: Floats) -> str | None:
    """What nobody of a group has in the columns (n, k) of a variable, while people of other groups do."""
    if variable.kind != "category":
        same = len(here) > 0 and bool((here == here[0]).all()) and bool((there != there[:1]).any())
        return f"everybody of group '{group}' has the same '{variable.name}'" if same else None
    values, counts = np.unique(there, axis=0, return_counts=True)
    expected = counts * len(here) / max(1, len(there))
    absent = [k for k in np.flatnonzero(expected >= _EXPECTED) if not (here == values[k]).all(axis=1).any()]
    if not absent:
        return None
    levels = [variable.levels[code] for code in variable.level_codes(values[absent])]
    return f"nobody of group '{group}' has '{variable.name}' = {listed(levels)}"


def graph_notices(model: CausalModel, config: AuditConfig) -> list[Finding]:
    """About graphs that were given, graphs in which the sensitive attribute affects nothing, and additive twins."""
    notices = []
    was_given = config.knowledge.complete
    if was_given:
        message = (
            "The causal graph was given. The model of every subsample has its edges, too: they show how certain the "
            "strengths are, not whether the edges are right."
        )
        notices.append(Finding("ready-graph", "info", message))
    if not model.affected_names:
        message = (
            f"In the {'given' if was_given else 'learned'} graph '{model.sensitive}' affects nothing, so every "
            "twin equals the person and every detector looks fair. This is a statement about the graph, not about the "
            "detector."
        )
        notices.append(Finding("no-path-from-sensitive", "warning", message))
    if isinstance(model, AdditiveModel):
        message = (
            "Twins are the paper's: noise is added to what the causes say, so that categories of a twin lie between "
            "their values and numbers may leave their range, and the uncertainty is not measured. Use preset fast for "
            "twins that could be real people."
        )
        notices.append(Finding("additive-twins", "warning", message))
    return notices


def detector_notices(detectors: Mapping[str, AnyDetector], config: AuditConfig, rows: TrainingRows) -> list[Finding]:
    """About how detectors were fitted."""
    notices = []
    if "fairod" in detectors and not config.baselines.fairod.candidates:
        message = "fairod is its base model, without its fairness losses, as in the paper's experiments."
        notices.append(Finding("fairod-base", "info", message))
    for name, detector in detectors.items():
        if isinstance(detector, FairAutoencoder) and detector.choice is not None:
            notices.append(Finding("fine-tuning", "info", f"{name}: {_fine_tuning(detector.choice)}"))
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
                    f"{name} scores a row differently depending on which other rows are scored with it: for how many "
                    "people the outcome changes depends on them, too."
                )
                notices.append(Finding("not-row-by-row", "warning", message))
    return notices


def answer_notices(asked: AnswerRecord, remarks: Sequence[str], *, can_flag: bool) -> list[Finding]:
    """About a detector outside this program, how it answered, and whether any row is above its threshold."""
    what = "flags" if asked.are_flags else f"scores (high means {asked.high_means})"
    message = (
        f"{asked.name} is a detector outside this program: it gave {what} for {asked.rows:,} different rows. A saved "
        "audit cannot score new rows with it."
    )
    notices = [Finding("asked-detector", "info", message)]
    notices += [Finding("asked-rows", "info", remark) for remark in remarks]
    if not can_flag:
        message = f"No row scores above the threshold of {asked.name}: it flags nobody, so no outcome can change."
        notices.append(Finding("nobody-flagged", "warning", message, "Give the threshold that it is used with."))
    if asked.differing:
        message = (
            f"{asked.name} answers the same row in different ways: of {asked.repeated:,} rows that were asked about "
            f"twice, {asked.differing:,} got two different scores, and {asked.flags_differ:.1%} are flagged by one "
            "answer alone. Outcomes that change by its own noise, or by the order or the ids of the rows, are counted, "
            "too."
        )
        notices.append(Finding("detector-noise", "warning", message))
    if asked.unlike_known:
        message = (
            f"For {asked.unlike_known:,} of {asked.known:,} people, the answer of {asked.name} is not the score that "
            "the table has."
        )
        remedy = "Ask the same version of the detector, with the same preparation of its inputs."
        notices.append(Finding("other-scores", "warning", message, remedy))
    return notices


def _fine_tuning(choice: Choice) -> str:
    k = choice.chosen
    error = choice.errors[k + 1] / max(choice.errors[0], 1e-300)
    return (
        f"of {len(choice.weights)} steps of fine-tuning, number {k + 1} was kept (closeness weight "
        f"{choice.weights[k]:g}): among people held out, the outcome of {choice.ratios[k + 1]:.1%} changes (plain "
        f"autoencoder: {choice.ratios[0]:.1%}), at {error:.2f} times its reconstruction error."
    )


def result_notices(reports: Mapping[str, MethodReport], *, older: bool) -> list[Finding]:
    """About what was found, and by which engine."""
    found = [finding for report in reports.values() if (finding := _usefulness(report)) is not None]
    if older:
        message = (
            "This audit was made by an older version, whose twins need not be legal people: where the sensitive "
            "attribute affects categories its numbers can be far off. Run it again."
        )
        found.insert(0, Finding(OLDER_ENGINE, "warning", message))
    return found


RESULT_CODES = ("fair-because-useless", "own-outside-interval", "bootstrap-joint", OLDER_ENGINE)
"""Of the findings that follow from the numbers; they are made anew whenever an audit is read."""


def _usefulness(report: MethodReport) -> Finding | None:
    """About a detector that is fair because useless."""
    metrics = report.metrics
    if metrics.auc_roc is not None and metrics.auc_roc < USELESS_AUC:
        message = (
            f"{report.method} ranks anomalies hardly better than chance (AUC-ROC {metrics.auc_roc:.2f}): that few "
            "outcomes change would only show that it is useless."
        )
        return Finding("fair-because-useless", "warning", message)
    if metrics.flag_rate is not None and metrics.flag_rate < USELESS_FLAG_RATE:
        message = (
            f"{report.method} flags {metrics.flag_rate:.2%} of the test rows: where almost nobody is flagged, almost "
            "nobody's outcome can change."
        )
        return Finding("fair-because-useless", "warning", message)
    return None
