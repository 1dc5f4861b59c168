"""The causal graph to work with: what the component is given, and what follows from what a person does in it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.graph_details import column_lines, edge_lines
from cfad_core.audit.result import AuditResult
from cfad_core.core.config import Knowledge
from cfad_core.figures.graph_board import PAGE, Graph, board_of
from cfad_core.runs.store import Store
from tests.apps.pages import FULL, button, chosen, press, said, visit


def components(app: AppTest) -> dict[str, Any]:
    """The components of the page, by name."""
    found = {}
    waiting = [app._tree]
    while waiting:
        block = waiting.pop()
        for child in getattr(block, "children", {}).values():
            waiting.append(child)
            if getattr(child, "type", "") == "bidi_component":
                found[child.proto.component_name] = child.proto
    return found


def given(app: AppTest) -> dict[str, Any]:
    """What the graph's component is given."""
    proto = components(app)["cfad_graph"]
    data: dict[str, Any] = json.loads(proto.mixed.json or proto.json)
    return data


def tell(app: AppTest, event: str, value: object) -> AppTest:
    """What the component tells when somebody does something in it; AppTest itself knows no components."""
    states = app._tree.get_widget_states()
    state = states.widgets.add()
    state.id = f"$$STREAMLIT_INTERNAL_KEY_{components(app)['cfad_graph'].id}__events"
    state.json_trigger_value = json.dumps([{"event": event, "value": value}])
    app._run(states)
    assert not app.exception, app.exception
    return app


@pytest.fixture
def result(done: tuple[str, str], home: Path) -> AuditResult:
    with Store(home) as store:
        return store.result(done[0]).seen()


def drawn_edges(app: AppTest) -> set[tuple[str, str]]:
    data = given(app)
    names = {one["id"]: one["name"] for one in data["nodes"]}
    return {(names[str(one["cause"])], names[str(one["effect"])]) for one in data["edges"]}


@pytest.mark.slow
def test_only_paths_from_the_sensitive_attribute_at_first_and_the_rest_on_demand(
    done: tuple[str, str], result: AuditResult
) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    affected = {"group", *result.model.affected_names}
    assert {one["name"] for one in given(app)["nodes"]} == affected
    edges = result.model.edges()
    assert drawn_edges(app) == {edge for edge in edges if set(edge) <= affected}
    app.toggle(key=f"only-{done[0]}").set_value(False).run()
    assert {one["name"] for one in given(app)["nodes"]} == set(result.model.variables)
    assert drawn_edges(app) == set(edges)
    strengths = np.abs(list(edges.values()))
    app.slider(key=f"weakest-{done[0]}").set_value(0.5).run()
    assert len(given(app)["edges"]) == int((strengths >= 0.5).sum()) < len(edges)


def test_the_page_draws_the_layout_of_the_report(done: tuple[str, str], result: AuditResult) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    app.toggle(key=f"only-{done[0]}").set_value(False).run()
    variables, strengths = result.model.strengths()
    board = board_of(Graph.of(variables, strengths, ["group"], result.model.affected_names), PAGE)
    assert [(one["x"], one["y"]) for one in given(app)["nodes"]] == [
        tuple(p) for p in np.round(board.place, 1).tolist()
    ]
    app.toggle(key=f"plain-{done[0]}").set_value(True).run()
    assert "cfad_graph" not in components(app)
    assert not app.exception


def test_a_browser_that_cannot_draw_gets_the_plain_picture(done: tuple[str, str]) -> None:
    app = tell(visit("3_Causal_graph.py", audit=done[0]), "failed", True)
    assert "cfad_graph" not in components(app)
    assert "Your browser could not run the drawing." in said(app)


@pytest.mark.slow
def test_a_column_is_chosen_in_the_picture(done: tuple[str, str], result: AuditResult) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    income = result.model.variables.index("income")
    tell(app, "picked", str(income))
    assert app.selectbox(key=f"chosen-{done[0]}").value == str(income)
    assert given(app)["picked"] == str(income)
    text = said(app)
    assert "**income**: affected by the sensitive attribute" in text
    assert "How its values are spread in each group, among" in text
    lines = column_lines(result, "income")
    assert lines[0].startswith("What is expected of a person")
    assert all(line.split("(")[0].rstrip() in text.replace("\\", "") for line in lines)
    for name in ("job", "group"):  # a category, and the sensitive attribute itself
        tell(app, "picked", str(result.model.variables.index(name)))
        assert f"**{name}**" in said(app)
    tell(app, "picked", "77")  # no such column: nothing happens
    assert app.selectbox(key=f"chosen-{done[0]}").value == str(result.model.variables.index("group"))


def test_an_arrow_says_how_strong_and_how_certain_it_is(done: tuple[str, str], result: AuditResult) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    (cause, effect), strength = max(result.model.edges().items(), key=lambda item: abs(item[1]))
    j, i = (result.model.variables.index(name) for name in (cause, effect))
    app.selectbox(key=f"chosen-{done[0]}").set_value(f"{j}-{i}").run()
    lines = edge_lines(result, j, i)
    assert lines[0].startswith(f"Strength {strength:+.2f}, which is strong")
    stability = result.stability
    assert stability is not None
    times = round(4 * float(stability.edge_frequency[j, i]))
    assert lines[1].startswith(f"Found in {times} of 4 subsamples")
    assert all(line.rstrip(".") in said(app).replace("\\", "") for line in lines)
    cuts = stability.edge_cuts[0]
    carried = {method: cuts.carried(method) for method in cuts.whole}
    told = [line for line in lines if "without it" in line]
    if (cause, effect) in cuts.edges:
        assert len(told) == sum(one is not None for one in list(carried.values())[:3])


@pytest.mark.slow
def test_an_arrow_is_forbidden_taken_back_and_run_with(done: tuple[str, str], home: Path, result: AuditResult) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    variables = result.model.variables
    j, i = (variables.index(name) for name in ("income", "debt"))
    tell(app, "picked", f"{j}-{i}" if result.model.graph.edges[j, i] else f"{i}-{j}")  # type: ignore[union-attr]
    cause, effect = (j, i) if result.model.graph.edges[j, i] else (i, j)  # type: ignore[union-attr]
    pair = f"{variables[cause]} → {variables[effect]}"
    press(app, "Cannot be")
    (marked,) = (one for one in given(app)["edges"] if one["mark"])
    assert (marked["cause"], marked["effect"], marked["mark"]) == (cause, effect, "forbidden")
    assert chosen(app, "Edges that cannot be").value == [pair]  # one truth: the table says the same
    assert f"Changed: {pair} cannot be." in said(app)
    press(app, "Undo")
    assert chosen(app, "Edges that cannot be").value == []
    assert not any(one["mark"] for one in given(app)["edges"])
    press(app, "Redo")
    press(app, "Turn round")
    assert chosen(app, "Edges that must be").value == [f"{variables[effect]} → {variables[cause]}"]
    press(app, "Undo")
    press(app, "Run again with these")
    with Store(home) as store:
        child = store.find(status="queued")[0]
    assert child.parent == done[0]
    assert child.config == FULL.replace(knowledge=Knowledge(forbidden=((variables[cause], variables[effect]),)))


def test_what_the_table_says_is_in_the_picture_and_can_be_taken_back(done: tuple[str, str]) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    chosen(app, "Edges that must be").set_value(["schooling → job"]).run()
    (marked,) = (one for one in given(app)["edges"] if one["mark"])
    assert marked["mark"] == "required"
    assert {"schooling", "job"} <= {one["name"] for one in given(app)["nodes"]}  # though no path leads there
    press(app, "Undo")
    assert chosen(app, "Edges that must be").value == []


@pytest.mark.slow
def test_arrows_are_drawn_and_a_circle_is_refused_with_a_sentence(done: tuple[str, str], result: AuditResult) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    a, b = (result.model.variables.index(name) for name in ("age", "job"))
    tell(app, "edit", {"what": "require", "cause": a, "effect": b})
    assert chosen(app, "Edges that must be").value == ["age → job"]
    c = result.model.variables.index("debt")
    tell(app, "edit", {"what": "require", "cause": b, "effect": c})
    tell(app, "edit", {"what": "require", "cause": c, "effect": a})
    assert "The required edges form a cycle" in app.warning[0].value
    assert chosen(app, "Edges that must be").value == ["age → job", "job → debt"]
    tell(app, "edit", {"what": "require", "cause": a, "effect": 0})
    assert "age -> group is required, but forbidden by a root" in app.warning[0].value.replace("\\", "")
    for nonsense in ({"what": "require", "cause": a, "effect": 99}, "require"):
        tell(app, "edit", nonsense)
    assert chosen(app, "Edges that must be").value == ["age → job", "job → debt"]
    press(app, "Undo")
    assert not app.warning
    assert chosen(app, "Edges that must be").value == ["age → job"]


@pytest.mark.slow
def test_columns_are_dragged_into_a_time_order(done: tuple[str, str], home: Path, result: AuditResult) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    schooling, debt = (result.model.variables.index(name) for name in ("schooling", "debt"))
    order = given(app)["order"]
    assert [band["at"] for band in order["bands"]] == [None, 0.5]
    assert {one["name"] for one in order["nodes"]} == set(result.model.variables) - {"group"}
    tell(app, "edit", {"what": "place", "column": debt, "at": 0.5})
    tell(app, "edit", {"what": "place", "column": schooling, "at": 0.5})
    assert [band["label"] for band in given(app)["order"]["bands"]][2:4] == ["Step 1", "Step 2"]
    bands = {one["name"]: one["band"] for one in given(app)["order"]["nodes"]}
    assert (bands["schooling"], bands["debt"], bands["age"]) == (1, 2, 0)
    assert next(box for box in app.toggle if box.label == "Use this time order").value
    press(app, "Run again with these")
    with Store(home) as store:
        assert store.find(status="queued")[0].config.knowledge.tiers == (("schooling",), ("debt",))


def test_without_changes_there_is_nothing_to_run(done: tuple[str, str]) -> None:
    app = visit("3_Causal_graph.py", audit=done[1])
    assert button(app, "Undo").disabled
    assert "Run again with these" not in [one.label for one in app.button]
    assert "Nothing is changed." in said(app)


def test_two_graphs_are_compared_in_one_picture(done: tuple[str, str], home: Path) -> None:
    app = visit("3_Causal_graph.py", audit=done[0])
    app.selectbox(key=f"compare-{done[0]}").set_value(done[1]).run()
    assert not app.exception, app.exception
    with Store(home) as store:
        here, there = (store.result(audit).model.edges() for audit in done)
    table = next(table.value for table in app.dataframe if "arrow" in table.value)
    kinds = dict(zip(zip(table["cause"], table["effect"], strict=True), table["arrow"], strict=True))
    assert {pair for pair, kind in kinds.items() if kind == "in both"} == set(here) & set(there)
    assert {pair for pair, kind in kinds.items() if kind == "turned round"} == {
        (a, b) for a, b in here if (b, a) in there
    }
    assert set(kinds) >= set(here)
    alike = set(here) == set(there)
    assert ("The two graphs have the same" in said(app)) == alike
