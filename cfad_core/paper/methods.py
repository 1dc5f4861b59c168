"""The methods of the experiments: the audit's own, and two that exist here alone.

Our CFAD learns from legal twins, the paper's from additive ones. To compare like with like, CFAD and Twin are also run
as the former engine had them, with additive twins.
"""

from __future__ import annotations

from cfad_core.core.looks import Look
from cfad_core.detectors import registry
from cfad_core.detectors.registry import METHODS

CFAD_ADDITIVE, TWIN_ADDITIVE = "cfad-additive", "twin-additive"
ADDITIVE_METHODS = {
    CFAD_ADDITIVE: Look("CFAD, additive twins", 0, "dot", "hourglass"),
    TWIN_ADDITIVE: Look("Twin scoring, additive twins", 2, "dot", "bowtie"),
}
"""How the two are called and drawn."""

RANKED = ("ae-rank",)  # the methods by ranks within groups that are run: one stands for all, as they differ in the base
NOT_RUN = {"synthetic-unfiltered": ("dcfod",)}
"""By data set, methods that are left out: DCFOD takes longer than all others together, and never sees a twin."""


def experimented(dataset: str | None = None) -> tuple[str, ...]:
    """The audit's methods that the experiments are about; those that are run on a data set."""
    left_out = NOT_RUN.get(dataset, ()) if dataset is not None else ()
    wanted = (name for name, method in METHODS.items() if not method.is_rank or name in RANKED)
    return tuple(name for name in wanted if name not in left_out)


def in_order() -> tuple[str, ...]:
    """Every method there may be in a record."""
    return (*METHODS, *ADDITIVE_METHODS)


def is_baseline(method: str) -> bool:
    """Whether a method knows nothing of twins."""
    return method in METHODS and not METHODS[method].needs_twins


def look_of(method: str) -> Look:
    """How a method is called and drawn."""
    return ADDITIVE_METHODS.get(method) or registry.look_of(method)


def label_of(method: str) -> str:
    """What people call a method."""
    return look_of(method).label


def said_of(method: str) -> str:
    """What a method is called among others in a sentence."""
    return label_of(method).replace(", ", " with ")
