"""The causal graph: its uncertainty, and running again with other knowledge."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from cfad_core.causal.exchange import knowledge_to_json
from cfad_core.core.config import (
    Knowledge,
)
from cfad_core.detectors.registry import label_of
from cfad_core.runs.store import Store
from tests.apps.pages import (
    FULL,
    HOSTILE,
    QUICK,
    bring,
    button,
    chosen,
    press,
    said,
    visit,
)

GRAPH = json.dumps({"nodes": ["group", "income", "debt"], "edges": [["group", "income"], ["income", "debt"]]})
REFUSED = [
    ("g.json", '{"nodes": ["group", "pay"], "edges": [["group", "pay"]]}', "no variable of this audit: pay"),
    ("g.dot", "digraph { group -> income; income -> debt; debt -> income }", "has no cycles; this one has"),
    ("g.graphml", "<graphml", "Cannot read a graph from 'g.graphml'"),
    ("g.csv", ",group\nincome,1\n", "the same names in its header and in its first column"),
    ("k.json", "{", "It is not JSON"),
    ("k.json", '{"rots": ["age"]}', "Unknown setting"),
    ("k.json", '{"roots": ["pay"]}', "names columns that are not in the graph: pay"),
    ("k.json", '{"roots": ["income"], "required": [["debt", "income"]]}', "is required, but forbidden by a root"),
    ("k.json", json.dumps({"roots": [HOSTILE]}), "names columns that are not in the graph: ![x]"),
    ("k.json", b"\xff\x00", "NUL bytes"),
]


def test_what_is_uncertain_about_the_graph(done: tuple[str, str], home: Path) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    assert [tab.label for tab in app.tabs] == ["Graph", "Matrix", "Edges", "Uncertainty", "Edge by edge"]
    with Store(home) as store:
        result = store.result(done[0])
    stability = result.stability
    assert stability is not None
    edges = next(table.value for table in app.dataframe if "strength" in table.value)
    for cause, effect, found in zip(edges["cause"], edges["effect"], edges["found in subsamples"], strict=True):
        frequency = stability.edge_frequency[stability.variables.index(cause), stability.variables.index(effect)]
        assert found == f"{4 * frequency:.0f} of 4"
    reached = next(table.value for table in app.dataframe if "variable" in table.value)
    assert dict(zip(reached["variable"], reached["reached in subsamples"], strict=True)) == {
        name: f"{4 * share:.0f} of 4" for name, share in stability.reach.items()
    }
    assert "Every subsample shows a path from group" in said(app)
    assert "of 4 subsamples." in said(app)  # which arrows half of them found
    for method in ("ae", "twin"):
        app.segmented_control(key=f"what-if-{done[0]}").set_value(method).run()
        assert not app.exception, app.exception
        whole = 100 * stability.edge_cuts.whole[method]
        assert f"With all edges, the outcome by {label_of(method)} changes for {whole:.1f} % of people." in said(app)
        assert "Counted on 100 people, at the audit's own threshold (quantile 0.95)" in said(app)
        assert ("by construction" in said(app)) == (method == "twin")
        table = next(table.value for table in app.dataframe if "carried by it" in table.value)
        assert table["carried by it"].is_monotonic_decreasing
        assert table["changed without it"].min() == pytest.approx(100 * stability.edge_cuts.without[method].min())
        carrier = stability.edge_cuts.carrier(method)
        assert ("alone carries" in said(app)) == (carrier is not None)


def test_the_uncertainty_can_be_measured_later(done: tuple[str, str], home: Path) -> None:
    app = visit("3_Causal_graph.py", audit=done[1])
    assert "found in subsamples" not in app.dataframe[0].value
    assert "Whether the graphs of subsamples, random halves of the rows, agree with it was not measured." in said(app)
    press(app, "Measure the uncertainty")
    with Store(home) as store:
        child = store.find(status="queued")[0]
    assert child.parent == done[1]
    assert child.config == QUICK.replace(subsamples=20)
    assert "not measured" in said(visit("6_Threshold.py", audit=done[1]))


def test_running_again_with_other_knowledge(done: tuple[str, str], home: Path) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    chosen(app, "Nothing in the table").set_value(["age"]).run()
    press(app, "Run again with this knowledge")
    with Store(home) as store:
        child = store.find(status="queued")[0]
    assert child.parent == done[0]
    assert child.config == FULL.replace(knowledge=child.config.knowledge)
    assert child.config.knowledge.roots == ("age",)


@pytest.mark.parametrize(("name", "content", "message"), REFUSED)
def test_knowledge_that_cannot_be_used_is_refused(
    done: tuple[str, str], name: str, content: str | bytes, message: str
) -> None:
    app = bring(visit("3_Causal_graph.py", audit=done[0]), name, content)
    assert message in app.error[0].value.replace("\\", "")
    assert "![x](http" not in said(app)
    assert button(app, "Run again with this knowledge").disabled


def test_running_again_with_a_ready_graph(done: tuple[str, str], home: Path) -> None:
    app = bring(visit("3_Causal_graph.py", audit=done[0]), "g.json", GRAPH)
    assert not app.error
    assert "a ready graph with 2 edges" in said(app)
    assert "does not name schooling, job, age" in app.warning[0].value.replace("\\", "")
    assert app.multiselect[0].value == ["group → income", "income → debt"]
    press(app, "Run again with this knowledge")
    with Store(home) as store:
        child = store.find(status="queued")[0]
    edges = (("group", "income"), ("income", "debt"))
    assert child.config == FULL.replace(knowledge=Knowledge(required=edges, complete=True))
    assert child.parent == done[0]


def test_a_ready_graph_can_be_added_to(done: tuple[str, str], home: Path) -> None:
    app = bring(visit("3_Causal_graph.py", audit=done[0]), "g.dot", "digraph { income -> debt; debt -> group }")
    assert "group affects nothing" in said(app)
    app.toggle[0].set_value(False).run()
    assert app.multiselect[1].value == ["income → debt", "debt → group"]  # it says that group has causes
    press(app, "Run again with this knowledge")
    with Store(home) as store:
        known = store.find(status="queued")[0].config.knowledge
    assert known == Knowledge(required=(("income", "debt"), ("debt", "group")), sensitive_is_root=False)


def test_uploaded_knowledge_comes_already_chosen(done: tuple[str, str], home: Path) -> None:
    forbidden = (("age", "income"), ("income", "group"))
    known = Knowledge(roots=("age",), forbidden=forbidden, tiers=(("schooling",), ("debt",)))
    app = bring(visit("3_Causal_graph.py", audit=done[0]), "k.json", knowledge_to_json(known))
    assert "1 column without causes, 2 tiers, 2 edges that cannot be" in said(app)
    assert [box.value for box in app.multiselect] == [["age → income"], [], ["age"], []]
    press(app, "Run again with this knowledge")
    with Store(home) as store:
        assert store.find(status="queued")[0].config.knowledge == known
