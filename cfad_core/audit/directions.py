"""The edges of an audit's causal graph: in how many subsamples each was found, and whether its direction is open."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability import Stability
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Bools

OPEN = 0.9  # share of equally good graphs below which a direction is open


def times_found(stability: Stability) -> NDArray[np.int64]:
    """(v, v), in how many subsamples each edge was found."""
    found: NDArray[np.int64] = np.rint(stability.edge_frequency * len(stability.graphs)).astype(np.int64)
    return found


def open_directions(result: AuditResult) -> Bools | None:
    """(v, v), edges whose direction the data leave open; None if the graph was given, or that was not examined."""
    if not isinstance(result.model, StructuralModel) or result.config.knowledge.complete:
        return None
    graph = result.model.graph
    found: Bools = graph.edges & (graph.direction < OPEN)
    return found


def open_edges(result: AuditResult) -> list[tuple[str, str]]:
    """Pairs of variables that depend on each other, where the data leave open which is the cause."""
    found, variables = open_directions(result), result.model.strengths()[0]
    return [] if found is None else [(variables[j], variables[i]) for j, i in np.argwhere(found)]
