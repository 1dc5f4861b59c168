"""Tables, roles and settings of audits that take a moment, and a measured uncertainty by hand."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from cfad_core.audit.comparisons import plan_comparisons
from cfad_core.audit.result import AuditResult
from cfad_core.audit.stability import Stability
from cfad_core.causal.additive import AdditiveModel
from cfad_core.core.arrays import Floats
from cfad_core.core.config import (
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    FairadConfig,
    FairodConfig,
    Knowledge,
)
from cfad_core.data.attributes import Attribute
from cfad_core.data.roles import ColumnRoles
from cfad_core.detectors.adapter import ForeignDetector
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


def without_judges(result: AuditResult) -> AuditResult:
    """As an audit is that was saved before its judges were."""
    return replace(result, judge_models=())


def codes(result: AuditResult) -> set[str]:
    """Of all that the reader of an audit is made aware of."""
    return {finding.code for finding in result.findings}


def make_jobs(n: int, seed: int) -> pd.DataFrame:
    """People with a job that the group has a say in."""
    table = make_people(n, seed)
    rng = np.random.default_rng(seed)
    likely = rng.random(n) < np.where(table["group"] == "b", 0.8, 0.3)
    return table.assign(job=np.where(likely, "clerk", rng.choice(["nurse", "smith"], n)))


def people_twins(table: pd.DataFrame) -> pd.DataFrame:
    """The true twins of ``make_people``: everybody keeps their noise."""
    moved = np.where(table["group"] == "b", -3.0, 3.0)
    other = table["group"].map({"a": "b", "b": "a"})
    return table.assign(group=other, income=table["income"] + moved, debt=table["debt"] - moved)


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


# More than two groups, and more than one attribute

THREE_SHIFTS = {"a": -1.2, "b": 0.0, "c": 1.6}
THREE = ColumnRoles("group", label="fraud", anomaly="yes")
THREE_GRAPH = Knowledge(required=(("group", "income"), ("schooling", "income"), ("income", "debt")), complete=True)
CROSSED = ColumnRoles((Attribute("sex", ("f", "m")), Attribute("region", ("north", "south", "west"))))
CROSSED_GRAPH = Knowledge(
    required=(("sex", "income"), ("region", "income"), ("sex", "bonus"), ("region", "bonus"), ("income", "debt")),
    complete=True,
)
BONUS = 2.0  # of men in the west


def make_three(n: int, seed: int) -> pd.DataFrame:
    """As ``make_people``, with three groups, of which b is the largest."""
    rng = np.random.default_rng(seed)
    group = rng.choice(list(THREE_SHIFTS), n, p=[0.3, 0.45, 0.25])
    schooling = rng.normal(size=n)
    income = pd.Series(group).map(THREE_SHIFTS).to_numpy() + schooling + rng.normal(0.0, 0.5, n)
    odd = rng.random(n) < 0.05
    debt = -income + rng.normal(0.0, 0.5, n) + np.where(odd, rng.choice([-6.0, 6.0], n), 0.0)
    frame = {"group": group, "schooling": schooling, "income": income, "debt": debt}
    return pd.DataFrame(frame).assign(fraud=np.where(odd, "yes", "no"))


def three_twins(table: pd.DataFrame, group: str) -> pd.DataFrame:
    """The true twins of ``make_three`` in a group: everybody keeps their noise."""
    moved = THREE_SHIFTS[group] - table["group"].map(THREE_SHIFTS).to_numpy()
    return table.assign(group=group, income=table["income"] + moved, debt=table["debt"] - moved)


def make_crossed(n: int, seed: int) -> pd.DataFrame:
    """Two attributes that hang together; either acts on income, and the bonus is for both together alone."""
    rng = np.random.default_rng(seed)
    sex = rng.choice(["f", "m"], n)
    region = np.where(rng.random(n) < 0.2, np.where(sex == "m", "west", "north"), rng.choice(REGIONS, n))
    frame = pd.DataFrame({"sex": sex, "region": region, "age": np.round(rng.uniform(18, 80, n))})
    income = crossed_income(frame) + rng.normal(size=n)
    bonus = BONUS * ((sex == "m") & (region == "west")) + rng.normal(0.0, 0.7, n)
    return frame.assign(income=income, bonus=bonus, debt=-income + rng.normal(size=n))


REGIONS = ("north", "south", "west")


def crossed_income(table: pd.DataFrame) -> Floats:
    """What the groups expect."""
    by_region = table["region"].map({"north": -0.5, "south": 0.0, "west": 0.4}).to_numpy(dtype=np.float64)
    found: Floats = np.where(table["sex"] == "m", 0.8, 0.0) + by_region
    return found


def crossed_twins(table: pd.DataFrame, **groups: Any) -> pd.DataFrame:
    """The true twins of ``make_crossed`` in other groups, of which there is one for all or one for each."""
    moved = table.assign(**groups)
    income = crossed_income(moved) - crossed_income(table)
    both = [((some["sex"] == "m") & (some["region"] == "west")).astype(np.float64) for some in (moved, table)]
    return moved.assign(
        income=table["income"] + income, debt=table["debt"] - income, bonus=table["bonus"] + BONUS * (both[0] - both[1])
    )


@dataclass(frozen=True)
class OneColumn:
    """Somebody's detector: the number in one column, of those that an audit encodes."""

    column: int

    def fit(self, x: Floats) -> OneColumn:
        return self

    def score_samples(self, x: Floats) -> Floats:
        return x[:, self.column].copy()


def by_column(column: int) -> ForeignDetector:
    return ForeignDetector(OneColumn(column), high_means="anomalous")
