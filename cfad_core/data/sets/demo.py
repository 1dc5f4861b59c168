"""The demo: invented taxpayers whose true twins are known, drawn by the law of the synthetic data set.

The equations, the noise and the decision are those of ``synthetic``, with fewer columns. Three things differ, so that
the demo is a table as people have one:

- Columns have names and units. Each is a straight line of the column of the law (``name = centre + spread * x``), which
  leaves the graph and the twins as they are. The names are clothes: how the columns cause each other is drawn by chance
  and says nothing about real people.
- Nobody is chosen by their label. People are drawn as they come, and those whose decision is among the most unusual
  ones are the frauds. So the tests of the causal model hold here, as they do not for rows chosen by their label.
- The true twins are for looking at afterwards. An audit of the demo never sees them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from cfad_core.core.arrays import Floats
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.synthetic import Graph, draw_graph, simulate
from cfad_core.data.tables import Tables

DEMO_SEED = 3  # of the first ten, the one where fine-tuning helps most: there is something to see
ORIGIN, GROUPS = "born_in", ("north", "south")
FRAUD = 0.04  # share of people whose decision is among the lowest or the highest
_DEGREE = 2.5  # edges of a column, on average
_ENOUGH = 3  # causes of the decision, at least
_ROWS = 50_000  # that say how a column of the law is spread, before it gets its unit


@dataclass(frozen=True)
class Unit:
    """A column's unit: where its middle is, how far it spreads, and how many digits are written."""

    centre: float
    spread: float
    digits: int


COLUMNS: dict[str, Unit] = {  # in the order in which they came about
    "schooling_years": Unit(12.0, 2.0, 2),
    "hours_per_week": Unit(36.0, 5.0, 2),
    "income_eur": Unit(3200.0, 600.0, 0),
    "rent_eur": Unit(900.0, 170.0, 0),
    "commute_km": Unit(24.0, 5.0, 2),
    "savings_eur": Unit(18_000.0, 3500.0, 0),
    "donations_eur": Unit(400.0, 80.0, 0),
    "deductions_eur": Unit(2600.0, 500.0, 0),
    "days_before_deadline": Unit(30.0, 6.0, 2),
}
ROLES = ColumnRoles(ORIGIN, groups=GROUPS, label="fraud", anomaly="yes")


def generate_demo(seed: int = DEMO_SEED, *, n_train: int = 3000, n_test: int = 2000) -> Tables:
    """Taxpayers to learn from, taxpayers to judge, and the true twins of these; the same seed gives the same tables."""
    rng = np.random.default_rng(seed)
    graph = demo_graph(rng)
    many, _ = _draw(rng, graph, _ROWS)
    decisions = np.quantile(many @ graph.decision, [FRAUD / 2, 1.0 - FRAUD / 2])
    middle, spread = many.mean(axis=0), many.std(axis=0)

    def table(people: Floats) -> pd.DataFrame:
        low, high = decisions
        decision = people @ graph.decision
        usual = (people - middle) / spread
        columns = {
            name: (unit.centre + unit.spread * usual[:, i]).round(unit.digits)
            for i, (name, unit) in zip(graph.order[1:], COLUMNS.items(), strict=True)
        }
        fraud = np.where((decision < low) | (decision > high), "yes", "no")
        origin = np.where(people[:, 0] < 0.0, *GROUPS)
        return pd.DataFrame({ORIGIN: origin, **columns, "fraud": fraud})

    train, _ = _draw(rng, graph, n_train)
    test, twins = _draw(rng, graph, n_test)
    return Tables.of(table(train), table(test), truth=table(twins))


def demo_graph(rng: np.random.Generator) -> Graph:
    """What causes what among the columns, as the law of the synthetic data set draws it."""
    graph = draw_graph(rng, len(COLUMNS) + 1, _DEGREE)
    while np.count_nonzero(graph.decision[1:]) < _ENOUGH:
        graph = draw_graph(rng, len(COLUMNS) + 1, _DEGREE)
    return graph


def _draw(rng: np.random.Generator, graph: Graph, rows: int) -> tuple[Floats, Floats]:
    """People as they come, and their twins: the same noise, born elsewhere; (rows, d) each."""
    origin = rng.choice([-1.0, 1.0], rows)
    noise = rng.standard_normal((len(graph.order), rows))
    factual, other = (simulate(graph.weights, graph.order, sign * origin, noise).T for sign in (1.0, -1.0))
    return np.asarray(factual, dtype=np.float64), np.asarray(other, dtype=np.float64)
