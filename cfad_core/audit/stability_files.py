"""What is uncertain about an audit, and what its judges said, as files of its folder."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from safetensors.numpy import load_file, save_file

from cfad_core.audit.stability import Stability, evenly
from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.detectors.protocol import State
from cfad_core.evaluation.edge_cuts import EdgeCuts
from cfad_core.evaluation.plausibility import Plausibility

ONE_ENGINE = 5
"""The schema from which on all twins come from one causal engine."""


@dataclass(frozen=True)
class Judged:
    """What judges said of some people.

    Attributes
    ----------
    people : (m,), their positions
    judges : how many
    scores : by method, (R, moves, m)
    truth : the name of the columns and the file of the true twins; empty if these are unknown
    """

    people: NDArray[np.int64]
    judges: int
    scores: dict[str, Floats]
    truth: str


def read_judged(folder: Path, text: Mapping[str, Any], table: pd.DataFrame) -> Judged:
    """What ``judged.safetensors`` holds; of an older audit, what its one judge or its subsamples said."""
    if text["schema_version"] >= ONE_ENGINE:
        arrays = load_file(folder / "judged.safetensors")
        scores = {method: _by_move(arrays[f"scores.{method}"]) for method in text["methods"]}
        truth = "truth" if text["judge"] == "true twins" else ""
        return _checked(Judged(arrays["people"], text["judges"], scores, truth), len(table))
    truth = "independent" if text["judge"] == "true counterfactuals" else ""
    if text.get("uncertainty"):
        arrays = load_file(folder / "uncertainty.safetensors")
        scores = {method: _by_move(arrays[f"worlds.{method}"]) for method in text["methods"]}
        return _checked(Judged(arrays["people"], len(arrays["graphs"]), scores, truth), len(table))
    columns = {method: table[f"{method}_independent"].to_numpy(np.float64)[None, None] for method in text["methods"]}
    return Judged(np.arange(len(table)), 1, columns, truth)


def _by_move(scores: Floats) -> Floats:
    """(R, moves, m); where there were two groups, there was one move."""
    return scores[:, None] if scores.ndim == 2 else scores


def _checked(judged: Judged, people: int) -> Judged:
    """Refuse what does not belong to so many people."""
    m, positions = len(judged.people), judged.people
    fits = positions.ndim == 1 and positions.dtype.kind == "i"
    fits = fits and (m == 0 or 0 <= positions.min() <= positions.max() < people)
    for scores in judged.scores.values():
        fits = fits and scores.ndim == 3 and scores.shape[2] == m and bool(np.isfinite(scores).all())
        fits = fits and (len(scores) == 0 if judged.judges == 0 else len(scores) % judged.judges == 0)
        fits = fits and (len(scores) > 0 or bool(judged.truth))
    if not fits:
        raise InvalidArtifactError("What the judges said does not belong to the audit: its parts do not match.")
    return judged


def save_stability(stability: Stability, stem: Path) -> None:
    """Write ``stem.json`` and ``stem.safetensors``."""
    twins, cuts = stability.plausibility, stability.edge_cuts
    arrays: dict[str, NDArray[Any]] = {
        "graphs": stability.graphs,
        "out_of_range": twins.out_of_range.astype(np.uint8),
        "between_levels": twins.between_levels.astype(np.uint8),
        "distance": twins.distance,
        "usual": twins.usual,
        "went": stability.went,
    }
    parts = [("returned", stability.returned), ("by_same", stability.returned_by_same)]
    parts += [(f"without{k}", one.without) for k, one in enumerate(cuts)]
    for part, by_method in parts:
        arrays |= {f"{part}.{method}": values for method, values in by_method.items()}
    save_arrays(arrays, stem.with_suffix(".safetensors"))
    text = {
        "variables": list(stability.variables),
        "sensitive": list(stability.sensitive),
        "seed": stability.seed,
        "real_median": twins.real_median,
        "cuts": [
            {"asked": one.people, "edges": [list(edge) for edge in one.edges], "whole": one.whole} for one in cuts
        ],
    }
    stem.with_suffix(".json").write_text(json.dumps(text, indent=2, allow_nan=False) + "\n", encoding="utf-8")


def load_stability(stem: Path, judged: int) -> Stability:
    """Read what ``save_stability`` wrote, of an audit that judged so many people; also of one of two groups."""
    text = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
    arrays = load_file(stem.with_suffix(".safetensors"))
    older = "cuts" not in text

    def by_method(part: str) -> dict[str, Floats]:
        found = {name.partition(".")[2]: array for name, array in arrays.items() if name.startswith(f"{part}.")}
        return {name: array[:, None] for name, array in found.items()} if older and part != "without" else found

    def cuts(saved: Mapping[str, Any], part: str) -> EdgeCuts:
        edges = tuple((cause, effect) for cause, effect in saved["edges"])
        return EdgeCuts(saved["asked"], edges, dict(saved["whole"]), by_method(part))

    twins = {name: np.atleast_2d(arrays[name]) for name in ("out_of_range", "between_levels", "distance", "usual")}
    returned = by_method("returned")
    went = max((array.shape[-1] for array in returned.values()), default=0)
    return Stability(
        variables=tuple(text["variables"]),
        sensitive=(text["sensitive"],) if older else tuple(text["sensitive"]),
        graphs=arrays["graphs"],
        went=evenly(judged, went).astype(np.int64) if older else arrays["went"],
        returned=returned,
        returned_by_same=by_method("by_same"),
        plausibility=Plausibility(
            out_of_range=twins["out_of_range"].astype(np.bool_),
            between_levels=twins["between_levels"].astype(np.bool_),
            distance=twins["distance"],
            real_median=text["real_median"],
            usual=twins["usual"],
        ),
        edge_cuts=(cuts(text, "without"),)
        if older
        else tuple(cuts(one, f"without{k}") for k, one in enumerate(text["cuts"])),
        seed=text["seed"],
    )


def save_arrays(arrays: State, path: Path) -> None:
    save_file({name: np.ascontiguousarray(array) for name, array in arrays.items()}, path)
