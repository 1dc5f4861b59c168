"""Frozen dataclasses as plain JSON and arrays, and back, to the last bit.

What a model is made of is known here by name: nothing else can be read.
"""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from cfad_core.core.errors import InvalidArtifactError

Arrays = dict[str, NDArray[Any]]


def to_plain(value: Any, arrays: Arrays, path: str = "") -> Any:
    """JSON of a dataclass, number, text, or a tuple or dict of such; arrays go into ``arrays`` by their path."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        inner = {name: to_plain(part, arrays, f"{path}.{name}") for name, part in fields.items()}
        return {"is": type(value).__name__, **inner}
    if isinstance(value, np.ndarray):
        arrays[path.lstrip(".")] = np.ascontiguousarray(value)
        return {"array": path.lstrip(".")}
    if isinstance(value, dict):
        return {"by": [[key, to_plain(part, arrays, f"{path}.{key}")] for key, part in value.items()]}
    if isinstance(value, tuple | list):
        return [to_plain(part, arrays, f"{path}.{k}") for k, part in enumerate(value)]
    if isinstance(value, float) and not isinstance(value, bool):
        return {"float": value.hex() if math.isfinite(value) else str(value)}
    return value


def from_plain(value: Any, arrays: Arrays, known: dict[str, type]) -> Any:
    """The inverse of ``to_plain``; lists become tuples.

    Raises
    ------
    InvalidArtifactError
        If it names something that is not known.
    """
    if isinstance(value, list):
        return tuple(from_plain(part, arrays, known) for part in value)
    if not isinstance(value, dict):
        return value
    if "array" in value:
        return arrays[value["array"]]
    if "float" in value:
        text = value["float"]
        return float.fromhex(text) if "0x" in text else float(text)
    if "by" in value:
        return {key: from_plain(part, arrays, known) for key, part in value["by"]}
    if value.get("is") not in known:
        raise InvalidArtifactError(f"A causal model has no part '{str(value.get('is'))[:40]}'.")
    parts = {name: from_plain(part, arrays, known) for name, part in value.items() if name != "is"}
    return known[value["is"]](**parts)
