from __future__ import annotations

import numpy as np
import pytest

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.search import learn_model
from cfad_core.causal.graph import allowed_edges
from cfad_core.causal.ready_graph import ReadyGraph
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.errors import InvalidConfigError
from tests.causal.test_discovery import COLUMNS, NAMES, QUICK_PAPER, draw_world


def test_complete_knowledge_leaves_the_required_edges_alone() -> None:
    allowed = allowed_edges(NAMES, "S", Knowledge(required=(("S", "A"), ("B", "A")), complete=True))
    assert {(NAMES[j], NAMES[i]) for j, i in np.argwhere(allowed)} == {("S", "A"), ("B", "A")}
    assert not allowed_edges(NAMES, "S", Knowledge(complete=True)).any()
    with pytest.raises(InvalidConfigError, match="A -> S is required, but forbidden"):
        allowed_edges(NAMES, "S", Knowledge(required=(("A", "S"),), complete=True))


@pytest.mark.slow
@pytest.mark.parametrize("config", [DiscoveryConfig(basis_size=8), QUICK_PAPER], ids=["joint", "paper"])
@pytest.mark.parametrize(
    "edges",
    [
        (),
        (("A", "S"), ("S", "C")),
        (("D", "C"), ("C", "B"), ("D", "B"), ("B", "A"), ("S", "A"), ("S", "B"), ("S", "C")),
    ],
    ids=["empty", "into S", "many"],
)
def test_a_ready_graph_is_taken_as_it_is(config: DiscoveryConfig, edges: tuple[tuple[str, str], ...]) -> None:
    knowledge = ReadyGraph(tuple(NAMES), edges).knowledge(NAMES, "S")
    scm = learn_model(draw_world(300), COLUMNS, config=config, knowledge=knowledge)
    assert {(NAMES[j], NAMES[i]) for j, i in np.argwhere(scm.weights)} == set(edges)


def test_a_ready_graph_is_about_variables() -> None:
    rng = np.random.default_rng(2)
    s, level = rng.choice([-1.0, 1.0], 300), rng.integers(0, 3, 300)
    x = np.column_stack([s, np.eye(3)[level], rng.normal(size=300)])
    names, variables = ("S", "c = 0", "c = 1", "c = 2", "pay"), ("S", "c", "c", "c", "pay")
    knowledge = ReadyGraph(("S", "c", "pay"), (("S", "c"), ("c", "pay"))).knowledge(["S", "c", "pay"], "S")
    known, strengths = learn_model(x, Columns(names, "S", variables), knowledge=knowledge).strengths()
    assert {(known[j], known[i]) for j, i in np.argwhere(strengths)} == {("S", "c"), ("c", "pay")}


def test_a_ready_graph_becomes_knowledge() -> None:
    graph = ReadyGraph(("age", "pay"), (("age", "pay"),))
    assert graph.knowledge(["sex", "age", "pay"], "sex") == Knowledge(required=(("age", "pay"),), complete=True)
    assert graph.knowledge(["age", "pay"], "pay").sensitive_is_root is False
    assert graph.knowledge(["age", "pay"], "age").sensitive_is_root is True
    assert graph.missing(["sex", "age", "pay", "debt"]) == ("sex", "debt")
    assert graph.missing(["age"]) == ()


def test_a_graph_names_variables_alone() -> None:
    graph = ReadyGraph(("age", "wage", "luck"), (("age", "wage"),))
    message = r"The graph names what is no variable of this audit: wage, luck\. It may name: sex, age, pay\."
    with pytest.raises(InvalidConfigError, match=message):
        graph.knowledge(["sex", "age", "pay"], "sex")
    many = ReadyGraph(tuple(f"x{k}" for k in range(30)), ())
    with pytest.raises(InvalidConfigError, match=r"x0, x1, .*, x19 and 10 others\. It may name: age\."):
        many.knowledge(["age"], "age")
