"""Small tables whose causal model is known, and how a model of them is learned."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.layout import VariableKind
from cfad_core.causal.learning import Learner
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.progress import Progress

Edges = tuple[tuple[str, str], ...]

MIXED_NAMES = (
    "S",
    "pay",
    "visits",
    "gain",
    "job = x",
    "job = y",
    "job = z",
    "owner",
    "share",
    "score",
    "score?",
    "age",
)
MIXED_VARIABLES = ("S", "pay", "visits", "gain", "job", "job", "job", "owner", "share", "score", "score", "age")
MIXED_KINDS: dict[str, VariableKind] = {
    "S": "category",
    "pay": "number",
    "visits": "number",
    "gain": "number",
    "job": "category",
    "owner": "category",
    "share": "number",
    "score": "number",
    "age": "number",
}
MIXED_EDGES: Edges = (
    *(("S", name) for name in ("pay", "visits", "gain", "job", "owner", "share", "score")),
    ("age", "pay"),
    ("pay", "gain"),
    ("job", "visits"),
    ("pay", "score"),
)
FILL, ABSENT, PRESENT = 0.25, 3.0, -3.0  # what the two columns of ``score`` hold where it is missing, or is not


def prepare(x: Floats, columns: Columns, knowledge: Knowledge | None = None) -> Learner:
    return Learner.prepare(x, columns, DiscoveryConfig(), knowledge or Knowledge(), Progress())


def learn(x: Floats, columns: Columns, knowledge: Knowledge | None = None, seed: int = 0) -> StructuralModel:
    """The model of all rows x (n, d)."""
    return prepare(x, columns, knowledge).learn(None, seed, Progress())[0]


def learn_given(x: Floats, names: tuple[str, ...], edges: Edges, seed: int = 0) -> StructuralModel:
    """The model with a known graph, of columns that are variables each."""
    return learn(x, Columns(names, "S", comparable_units=False), given(edges), seed)


def given(edges: Edges) -> Knowledge:
    """A graph that is known, whatever causes the sensitive attribute."""
    return Knowledge(required=edges, complete=True, sensitive_is_root=all(effect != "S" for _, effect in edges))


def groups(n: int, rng: np.random.Generator) -> Floats:
    return rng.choice([-1.0, 1.0], n)


def mixed_columns(marks: Mapping[str, tuple[float, float]] | None = None) -> Columns:
    known = {"score": (FILL, ABSENT)} if marks is None else marks
    return Columns(MIXED_NAMES, "S", MIXED_VARIABLES, MIXED_KINDS, known, comparable_units=False)


def mixed_rows(n: int, seed: int = 0) -> Floats:
    """Every kind of variable: log-normal, counted, mostly 0, three levels, two, bounded, with missing cells."""
    rng = np.random.default_rng(seed)
    s = groups(n, rng)
    age = np.round(rng.uniform(18.0, 80.0, n))
    pay = np.exp(0.4 * s + 0.01 * age + rng.normal(0.0, 0.5, n))
    level = (rng.normal(0.6 * s, 1.0)[:, None] > [-0.5, 0.6]).sum(axis=1)
    visits = rng.poisson(np.exp(0.5 + 0.3 * s + 0.2 * level)).astype(np.float64)
    gain = np.round(np.maximum(0.0, np.log(pay) + rng.normal(0.5 * s - 0.5, 1.0)), 2)
    owner = (rng.random(n) < np.where(s > 0, 0.7, 0.3)).astype(np.float64)
    share = 1.0 / (1.0 + np.exp(-rng.normal(0.5 * s, 1.0)))
    score = 0.5 * np.log(pay) + 0.3 * s + rng.normal(size=n)
    gone = rng.random(n) < np.where(s > 0, 0.25, 0.1)
    jobs = np.where(np.eye(3)[level] > 0.0, 3.0, -3.0)
    known = np.where(gone, FILL, score), np.where(gone, ABSENT, PRESENT)
    return np.column_stack([s, pay, visits, gain, jobs, owner, share, *known, age])


def learn_mixed(n: int = 1500, seed: int = 0) -> StructuralModel:
    return learn(mixed_rows(n), mixed_columns(), given(MIXED_EDGES), seed)
