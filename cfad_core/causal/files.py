"""Causal models as two files: JSON for what is text and single numbers, safetensors for arrays."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from safetensors.numpy import load_file, save_file

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.density import Density
from cfad_core.causal.layout import Amount, Layout, Levels, Part
from cfad_core.causal.learning import CausalModel
from cfad_core.causal.mechanisms import Category, Number
from cfad_core.causal.mechanisms.basis import LevelBasis, NumberBasis, SharedBasis
from cfad_core.causal.mechanisms.equation import Equation
from cfad_core.causal.mechanisms.latent import Latent, Target
from cfad_core.causal.mechanisms.marginal import Marginal
from cfad_core.causal.mechanisms.shared import Additive
from cfad_core.causal.model import Graph, StructuralModel
from cfad_core.causal.records import Arrays, from_plain, to_plain
from cfad_core.causal.spline import Spline, SplineBasis
from cfad_core.core.errors import InvalidArtifactError

_VERSION = 3  # 2 is an additive model
_PARTS = (
    *(StructuralModel, Graph, Layout, Levels, Part, Amount),
    *(LevelBasis, NumberBasis, SharedBasis, Marginal, Spline, SplineBasis),
    *(Category, Number, Additive, Latent, Target, Equation, Density),
)


def save_model(model: CausalModel, stem: Path) -> None:
    """Write ``stem.json`` and ``stem.safetensors``."""
    if isinstance(model, AdditiveModel):
        model.save(stem)
        return
    _save(model, stem)


def save_models(models: Sequence[CausalModel], stem: Path) -> None:
    """Write several models into two files; of additive ones there may be one."""
    if len(models) == 1:
        save_model(models[0], stem)
        return
    if any(isinstance(model, AdditiveModel) for model in models):
        raise InvalidArtifactError("Only one additive causal model can be written to a file; write each to its own.")
    _save(tuple(models), stem)


def _save(value: StructuralModel | tuple[CausalModel, ...], stem: Path) -> None:
    arrays: Arrays = {}
    text = {"version": _VERSION, "model": to_plain(value, arrays)}
    save_file(arrays, stem.with_suffix(".safetensors"))
    stem.with_suffix(".json").write_text(json.dumps(text) + "\n", encoding="utf-8")


def load_model(stem: Path) -> CausalModel:
    """Read what ``save_model`` wrote; the model is the same to the last bit.

    Raises
    ------
    InvalidArtifactError
        If the files are missing, damaged or of another version.
    """
    found = load_models(stem)
    if len(found) != 1:
        raise InvalidArtifactError(f"{stem.with_suffix('.json')} holds no causal model.")
    return found[0]


def load_models(stem: Path) -> list[CausalModel]:
    """Read what ``save_models`` wrote; see ``load_model``."""
    try:
        text = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
        if text["version"] < _VERSION:
            return [AdditiveModel.load(stem)]
        if text["version"] > _VERSION:
            raise InvalidArtifactError(
                f"{stem.with_suffix('.json')} has version {text['version']}; this program reads up to {_VERSION}."
            )
        arrays = load_file(stem.with_suffix(".safetensors"))
        found = from_plain(text["model"], arrays, {part.__name__: part for part in _PARTS})
        models = list(found) if isinstance(found, tuple) else [found]
        if not all(isinstance(model, StructuralModel) for model in models):
            raise InvalidArtifactError(f"{stem.with_suffix('.json')} holds no causal model.")
    except InvalidArtifactError:
        raise
    except Exception as error:  # whatever is wrong with the files, it is one thing to the reader
        raise InvalidArtifactError(f"Cannot read the causal model at {stem}: {error}") from error
    return models
