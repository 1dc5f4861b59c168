"""The causal graph: its uncertainty, and running again with other knowledge."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import numpy as np
import pytest

from cfad_core.audit.directions import open_directions
from cfad_core.audit.folder import save_audit
from cfad_core.causal.exchange import knowledge_to_json
from cfad_core.causal.model import StructuralModel
from cfad_core.core.config import (
    Knowledge,
)
from cfad_core.core.formats import percent
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
    assert [tab.label for tab in app.tabs] == ["Graph", "Paths", "Edges", "How certain", "Compare"]
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
        ratio = percent(result.report(method).metrics.changing_ratio)
        assert f"With {label_of(method)}, the outcome changes for {ratio} of people." in said(app)
        carried = stability.edge_cuts[0].carried(method)
        if carried is None:  # among these few people
            assert "nobody's does, so there is nothing that an edge could carry" in said(app)
            continue
        assert "on one twin each of 100 people, at the audit's own threshold (quantile 0.95)" in said(app)
        table = next(table.value for table in app.dataframe if "share of the change" in table.value)
        assert list(table["share of the change"]) == pytest.approx(sorted(100 * carried, reverse=True))
        assert {tuple(pair) for pair in table[["cause", "effect"]].to_numpy()} == set(stability.edge_cuts[0].edges)
        carrier = stability.edge_cuts[0].carrier(method)
        assert ("alone carries" in said(app)) == (carrier is not None)


@pytest.mark.slow
def test_open_directions_are_shown_and_asked_for(done: tuple[str, str], home: Path) -> None:
    """Schooling and income, income and debt: straight lines with normal noise look the same from either end."""
    with Store(home) as store:
        result = store.result(done[0])
        model = result.model
        assert isinstance(model, StructuralModel)
        unsure = model.graph.edges.copy()
        unsure[0] = False  # what the sensitive attribute causes is clear
        graph = dataclasses.replace(model.graph, direction=np.where(unsure, 0.5, model.graph.direction))
        changed = dataclasses.replace(result, model=dataclasses.replace(model, graph=graph))
        save_audit(changed, store.folder(done[0]))
    variables = model.variables
    pairs = [(variables[j], variables[i]) for j, i in np.argwhere(unsure)]
    assert pairs
    app = visit("3_Causal_graph.py", audit=done[0])
    assert not app.exception, app.exception
    edges = next(table.value for table in app.dataframe if "strength" in table.value)
    assert {(row.cause, row.effect) for row in edges.itertuples() if row.direction == "open"} == set(pairs)
    (asked,) = (box.value for box in app.info if "leave open which is the cause" in box.value)
    assert f"in {len(pairs)} pair" in asked
    assert all(f"{a} and {b}" in asked for a, b in pairs)
    assert "A question mark: the data leave the direction open" in said(app)
    drawn = open_directions(changed)
    assert drawn is not None
    assert np.array_equal(drawn, unsure)
    clear = visit("3_Causal_graph.py", audit=done[1])
    clearly = next(table.value for table in clear.dataframe if "strength" in table.value)
    assert ("leave open" in said(clear)) == ("open" in set(clearly["direction"]))


def test_edges_are_hidden_by_their_strength(done: tuple[str, str], home: Path) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    slider = app.slider(key=f"weakest-{done[0]}")
    assert (slider.min, slider.max, slider.value) == (0.0, 1.0, 0.0)
    slider.set_value(0.9).run()
    assert not app.exception, app.exception


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_a_ready_graph_can_be_added_to(done: tuple[str, str], home: Path) -> None:
    app = bring(visit("3_Causal_graph.py", audit=done[0]), "g.dot", "digraph { income -> debt; debt -> group }")
    assert "group affects nothing" in said(app)
    next(box for box in app.toggle if box.label.startswith("These are all")).set_value(False).run()
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
