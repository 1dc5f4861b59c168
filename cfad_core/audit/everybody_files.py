"""What was counted of everybody, as a file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load_file

from cfad_core.audit.basis import MethodScores
from cfad_core.audit.everybody import Everybody
from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability_files import save_arrays
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.evaluation.counts import ScoreCounts


def save_everybody(result: AuditResult, path: Path) -> None:
    """Write the counts of all methods, and which rows were drawn."""
    assert result.everybody is not None
    arrays: dict[str, Any] = {"positions": result.everybody.positions}
    for method, scores in result.scores.items():
        if scores.counts is not None:
            arrays[f"edges.{method}"] = scores.counts.edges
            arrays[f"counts.{method}"] = scores.counts.counts
            arrays[f"highest.{method}"] = np.array([scores.counts.highest])
    save_arrays(arrays, path)


def load_everybody(
    path: Path, text: Mapping[str, Any] | None, scores: dict[str, MethodScores]
) -> tuple[Everybody | None, dict[str, MethodScores]]:
    """What ``save_everybody`` wrote, and ``audit.json`` says: the table, and the sample's scores with counts of all.

    Of any other audit, which says nothing, its scores as they are.
    """
    if text is None:
        return None, scores
    arrays = load_file(path)
    found = {}
    for method, known in scores.items():
        counts = None
        if f"counts.{method}" in arrays:
            edges, people = arrays[f"edges.{method}"], arrays[f"counts.{method}"]
            if people.ndim != 3 or people.shape[2] != len(edges) or (people < 0).any():
                raise InvalidArtifactError(f"The counts of '{method}' do not fit their bins.")
            counts = ScoreCounts(edges, people, float(arrays[f"highest.{method}"][0]))
        found[method] = replace(known, counts=counts)
    return Everybody.from_dict(text, arrays["positions"]), found
