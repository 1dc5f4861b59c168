"""What the reader of an audit must know, found in the data, the graph and the results."""

from __future__ import annotations

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.causal.scm import StructuralModel
from cfad_core.data.encoding import MAX_LEVELS, OTHER, Encoding
from cfad_core.data.roles import ColumnRoles
from cfad_core.result import METHODS, AuditResult, Notice

Floats = NDArray[np.float64]
Bools = NDArray[np.bool_]

_FEW_ROWS = 500
_USELESS_AUC = 0.55
_USELESS_FLAG_RATE = 0.005


def data_notices(
    encoding: Encoding,
    table: pd.DataFrame,
    roles: ColumnRoles,
    train: Floats,
    train_is_anomaly: Bools | None,
    test_is_anomaly: Bools | None,
    selected: bool,
) -> list[Notice]:
    """About the rows, and what was made of them."""
    notices = [
        Notice(
            "scaling",
            "info",
            "Columns share a scale; all are divided by one common factor before learning."
            if encoding.scaling == "raw"
            else "Columns have different scales or few values; each is mapped to [-3, 3] before learning.",
        )
    ]
    missing = {v.name: int(table[v.name].isna().sum()) for v in encoding.variables if table[v.name].isna().any()}
    if missing:
        cells = ", ".join(f"{name} ({count})" for name, count in missing.items())
        message = f"Missing cells are filled with the median, or are a category of their own: {cells}."
        notices.append(Notice("missing-values", "warning", message))
    merged = [variable.name for variable in encoding.variables if OTHER in variable.levels]
    if merged:
        message = f"Of these columns the {MAX_LEVELS - 1} most frequent values are told apart: {', '.join(merged)}."
        notices.append(Notice("many-categories", "info", message))
    constant = [name for name, column in zip(encoding.names, train.T, strict=True) if np.ptp(column) == 0.0]
    if constant:
        notices.append(
            Notice(
                "constant-columns", "warning", f"These columns never change and tell nothing: {', '.join(constant)}."
            )
        )
    if len(train) < _FEW_ROWS:
        message = f"{len(train)} training rows are few: the learned graph, and all that rests on it, is uncertain."
        notices.append(Notice("few-rows", "warning", message))
    if train_is_anomaly is not None and train_is_anomaly.any():
        message = (
            f"The causal model learns from all kinds of training rows, {int(train_is_anomaly.sum())} anomalies among "
            "them (labels are not looked at); the detector learns from the normal ones."
        )
        notices.append(Notice("rows-learned-from", "info", message))
    if train_is_anomaly is None:
        notices.append(
            Notice(
                "no-labels", "info", "Without labels all training rows are taken for normal, and there is no F1 or AUC."
            )
        )
    elif selected:
        notices.append(
            Notice(
                "selected-rows",
                "info",
                "All training rows are normal. Rows chosen by their label bias a causal model; edges are therefore "
                "told by score matching where all columns are continuous.",
            )
        )
    if test_is_anomaly is not None and (test_is_anomaly.all() or not test_is_anomaly.any()):
        kind = "anomalies" if test_is_anomaly.all() else "normal"
        message = f"All {len(test_is_anomaly)} test rows are {kind} by '{roles.label}': F1 and AUC are undefined."
        notices.append(Notice("one-label", "warning", message))
    return notices


def graph_notices(scm: StructuralModel, judge: StructuralModel | None) -> list[Notice]:
    """About graphs in which the sensitive attribute affects nothing."""
    notices = []
    if not scm.affected:
        message = (
            f"In the learned graph '{scm.sensitive}' affects nothing, so every counterfactual equals the person and "
            "every detector looks fair. This is a statement about the graph, not about the detector."
        )
        notices.append(Notice("no-path-from-sensitive", "warning", message))
    if judge is not None and not judge.affected:
        message = f"In the independent judge's graph '{scm.sensitive}' affects nothing: its ratio of 0 says nothing."
        notices.append(Notice("no-path-in-judge", "warning", message))
    return notices


def usefulness_notices(result: AuditResult) -> list[Notice]:
    """About detectors that are fair because useless."""
    notices = []
    for method in METHODS:
        metrics = result.metrics(method)
        if metrics.auc_roc is not None and metrics.auc_roc < _USELESS_AUC:
            message = (
                f"{method} ranks anomalies hardly better than chance (AUC-ROC {metrics.auc_roc:.2f}): a low "
                "changing ratio of it is fair because useless."
            )
            notices.append(Notice("fair-because-useless", "warning", message))
        elif metrics.flag_rate is not None and metrics.flag_rate < _USELESS_FLAG_RATE:
            message = (
                f"{method} flags {metrics.flag_rate:.2%} of the test rows: where almost nobody is flagged, almost "
                "nobody's outcome can change."
            )
            notices.append(Notice("fair-because-useless", "warning", message))
    return notices
