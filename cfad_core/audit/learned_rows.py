"""Which rows of a large table models learn from.

A causal model has a few dozen numbers for each variable, and an autoencoder has learned after a number of steps that
hardly depends on the table. Beyond ``MOST_LEARNED`` rows, more of them change results by less than two models differ
that share no row (``benchmarks/learned_rows.py``; docs/PERFORMANCE.md has the figures), but cost as much as the first.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.prepare import AuditRows
from cfad_core.core.arrays import Rows
from cfad_core.data.findings import Finding

MOST_LEARNED = 50_000  # rows that causal models and detectors learn from
_LEAST = 500  # of each combination of groups and label, if there are as many


def learned_rows(strata: NDArray[np.integer], seed: int, most: int = MOST_LEARNED) -> Rows:
    """Positions, ascending, of the rows to learn from: all, or about ``most`` of them, each stratum with its share.

    Strata so small that few of their rows would be left keep 500 of them, or all they have.

    Parameters
    ----------
    strata : (n,), which groups each row belongs to, and whether it is labelled an anomaly
    """
    if len(strata) <= most:
        return np.arange(len(strata))
    values, member, sizes = np.unique(strata, return_inverse=True, return_counts=True)
    least = min(_LEAST, most // (4 * len(values)))
    wanted = np.minimum(sizes, np.maximum(least, np.round(sizes * (most / len(strata))).astype(np.int64)))
    rng = np.random.default_rng([seed, 10])
    order = np.argsort(member, kind="stable")
    parts = np.split(order, np.cumsum(sizes)[:-1])
    chosen = [rng.choice(part, count, replace=False) for part, count in zip(parts, wanted, strict=True)]
    return np.sort(np.concatenate(chosen))


def with_learned_rows(data: AuditRows, seed: int, most: int = MOST_LEARNED) -> AuditRows:
    """The same with the training rows that models learn from, and a word about it where that is not all of them."""
    strata = 2 * data.encoding.states.of_codes(data.train[:, 0]) + ~data.train_is_normal
    rows = learned_rows(strata, seed, most)
    if len(rows) == len(data.train):
        return data
    message = (
        f"Models learn from {len(rows):,} of the {len(data.train):,} training rows, drawn at random with the share "
        "that every group and label has in all of them. Thresholds are quantiles of the scores of the normal ones "
        "among these."
    )
    return replace(
        data,
        train=data.train[rows],
        train_rows=data.train_rows[rows],
        train_is_normal=data.train_is_normal[rows],
        notices=(*data.notices, Finding("rows-sampled", "info", message)),
    )
