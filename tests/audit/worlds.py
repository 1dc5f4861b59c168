"""Tables, roles and settings of audits that take a moment, and a measured uncertainty by hand."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfad_core.audit.comparisons import plan_comparisons
from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability import Stability
from cfad_core.causal.additive import AdditiveModel
from cfad_core.core.config import (
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    FairadConfig,
    FairodConfig,
    Knowledge,
)
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.registry import METHODS
from cfad_core.evaluation.edge_cuts import EdgeCuts
from cfad_core.evaluation.plausibility import Plausibility
from tests.conftest import identity_spline, make_people

ROLES = ColumnRoles("group", label="fraud", anomaly="yes")

QUICK = AuditConfig(subsamples=0, detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64))
SMALL = BaselineConfig(
    iforest_trees=10,
    dcfod=DcfodConfig(widths=(16, 16), code_size=4, epochs=1),
    fairod=FairodConfig(steps=20, candidates=((0.5, 0.1),)),
    fairad=FairadConfig(width=16, steps=20),
)
EVERYTHING = QUICK.replace(methods=tuple(METHODS), baselines=SMALL)

SUBSAMPLED = AuditConfig(subsamples=4, detector=DetectorConfig(width=8, epochs=2, fair_epochs=1, batch_size=64))
PCA = SUBSAMPLED.replace(methods=("pca",))
JOBS = PCA.replace(knowledge=Knowledge(tiers=(("group",), ("job",), ("schooling", "income"), ("debt",))))

AUDITED = ("ae", "cfad", "twin", "surprise", "lof")  # the methods of the fixture ``measured``
EDGES = (("S", "A"), ("S", "B"), ("A", "B"))
TWO_GROUPS = plan_comparisons(("S",), (("x", "y"),))  # of the models by hand


def codes(result: AuditResult) -> set[str]:
    """Of all that the reader of an audit is made aware of."""
    return {finding.code for finding in result.findings}


def make_jobs(n: int, seed: int) -> pd.DataFrame:
    """People with a job that the group has a say in."""
    table = make_people(n, seed)
    rng = np.random.default_rng(seed)
    likely = rng.random(n) < np.where(table["group"] == "b", 0.8, 0.3)
    return table.assign(job=np.where(likely, "clerk", rng.choice(["nurse", "smith"], n)))


def make_stability() -> Stability:
    """Four graphs over S, A, B; three of four people were judged."""
    graphs = np.zeros((4, 3, 3))
    graphs[0, 0, 1], graphs[0, 1, 2] = 0.5, 0.2  # S -> A -> B
    graphs[1, 0, 1] = 0.7  # S -> A
    graphs[2, 0, 2], graphs[2, 2, 1] = 0.1, 0.3  # S -> B -> A
    graphs[3, 1, 2] = 0.9  # A -> B: no path from S
    rng = np.random.default_rng(0)
    return Stability(
        variables=("S", "A", "B"),
        sensitive=("S",),
        graphs=graphs,
        went=np.arange(3),
        returned={"ae": np.array([[[0.9, 0.1, 0.9]], [[0.1, 0.1, 0.9]]]), "lof-2": rng.normal(size=(2, 1, 3))},
        returned_by_same={"ae": np.array([[[0.9, 0.1, 0.2]]] * 2), "lof-2": rng.normal(size=(2, 1, 3))},
        plausibility=Plausibility(
            out_of_range=np.array([[True, False, False, False]]),
            between_levels=np.array([[True, True, False, False]]),
            distance=np.array([[0.1, 2.0, 2.1, 1.0 / 3.0]]),
            real_median=0.1 + 0.2,
            usual=np.full((1, 4), 2.0),
        ),
        edge_cuts=(
            EdgeCuts(
                people=400,
                edges=EDGES,
                whole={"ae": 0.2, "lof-2": 0.1 + 0.2},
                without={"ae": np.array([0.08, 0.2, 0.15]), "lof-2": np.array([0.3, 0.1 + 0.2, 0.29])},
            ),
        ),
        seed=11,
    )


def linear_model(to_a: float, a_to_b: float) -> AdditiveModel:
    """A = to_a S + u, B = a_to_b A + u: twins by hand."""
    weights = np.zeros((3, 3))
    weights[0, 1], weights[1, 2] = to_a, a_to_b
    return AdditiveModel(("S", "A", "B"), "S", weights, np.zeros(3), identity_spline(-40.0, 40.0))
