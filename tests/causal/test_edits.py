"""Edits of what is known of a graph: steps on and back, and edits that cannot be."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given as examples
from hypothesis import settings
from hypothesis import strategies as st

from cfad_core.causal.edits import History, edited, says_the_same
from cfad_core.causal.graph import allowed_edges
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import InvalidConfigError

NAMES = ["s", "a", "b", "c"]
S, A, B, C = range(4)


def edge(what: str, cause: int, effect: int) -> dict[str, Any]:
    return {"what": what, "cause": cause, "effect": effect}


def after(known: Knowledge, *edits: dict[str, Any]) -> Knowledge:
    for one in edits:
        known = edited(known, one, NAMES, "s")
    return known


def test_edges_are_required_forbidden_turned_and_freed() -> None:
    known = after(Knowledge(), edge("require", A, B))
    assert known == Knowledge(required=(("a", "b"),))
    assert after(known, edge("forbid", A, B)) == Knowledge(forbidden=(("a", "b"),))
    assert after(known, edge("turn", A, B)) == Knowledge(required=(("b", "a"),))
    assert after(known, edge("free", A, B)) == Knowledge()
    assert after(Knowledge(forbidden=(("b", "a"),)), edge("turn", A, B)) == Knowledge(required=(("b", "a"),))
    assert after(known, edge("require", A, B)) == known


def test_a_ready_graph_loses_what_cannot_be() -> None:
    ready = Knowledge(required=(("s", "a"), ("a", "b")), complete=True)
    assert after(ready, edge("forbid", A, B)) == ready.replace(required=(("s", "a"),))


@pytest.mark.parametrize(
    ("edits", "message"),
    [
        ([edge("require", A, B), edge("require", B, C), edge("require", C, A)], r"form a cycle \(.*\); remove one"),
        ([edge("require", A, S)], "The edge a -> s is required, but forbidden by a root"),
        ([edge("require", A, A)], "a cannot cause itself"),
        ([edge("require", A, 4)], "one of 4 columns; got 4"),
        ([edge("require", A, True)], "got True"),
        ([edge("forbid", -1, A)], "got -1"),
        ([edge("paint", A, B)], r"Expected an edit of the graph .*; got 'paint'"),
        ([{"what": "place", "column": A, "at": 2}], "has 0 steps; got 2"),
        ([{"what": "place", "column": A, "at": 0.7}], "got 0.7"),
        ([{"what": "place", "column": A, "at": "1"}], "got '1'"),
        ([{"what": "place", "column": None, "at": 0.5}], "got None"),
        ([{}], "got None"),
    ],
)
def test_what_cannot_be_is_refused_with_a_sentence(edits: list[dict[str, Any]], message: str) -> None:
    known = after(Knowledge(), *edits[:-1])
    with pytest.raises(InvalidConfigError, match=message):
        edited(known, edits[-1], NAMES, "s")


def test_columns_are_placed_in_time() -> None:
    def place(column: int, at: float | None) -> dict[str, Any]:
        return {"what": "place", "column": column, "at": at}

    known = after(Knowledge(), place(A, 0.5))
    assert known.tiers == (("a",),)
    known = after(known, place(B, 1.5), place(C, 1))
    assert known.tiers == (("a", "c"), ("b",))
    assert after(known, place(C, 0.5)).tiers == (("c",), ("a",), ("b",))
    assert after(known, place(B, None)).tiers == (("a", "c"),)
    assert after(known, place(B, 1)).tiers == (("a", "c", "b"),)  # a step without columns is none
    with pytest.raises(InvalidConfigError, match="b -> a is required, but forbidden by a root, a tier"):
        edited(known, edge("require", B, A), NAMES, "s")


def test_steps_are_taken_back_and_again() -> None:
    one, two = Knowledge(roots=("a",)), Knowledge(roots=("b",))
    history = History(Knowledge()).changed(one).changed(two)
    assert history.undone().now == one
    assert history.undone().undone().undone().now == Knowledge()
    assert history.undone().redone() == history
    assert history.redone() == history
    assert history.undone().changed(Knowledge(roots=("c",))).future == ()
    assert history.changed(two) is history


def test_the_order_in_which_something_is_said_is_no_step() -> None:
    one = Knowledge(forbidden=(("a", "b"), ("b", "c")), tiers=(("a", "b"), ("c",)))
    assert says_the_same(one, one.replace(forbidden=(("b", "c"), ("a", "b")), tiers=(("b", "a"), ("c",))))
    assert not says_the_same(one, one.replace(tiers=(("c",), ("a", "b"))))
    assert not says_the_same(one, one.replace(complete=True))


EDITS = st.one_of(
    st.builds(edge, st.sampled_from(["require", "forbid", "turn", "free"]), st.integers(0, 3), st.integers(0, 3)),
    st.builds(
        lambda column, at: {"what": "place", "column": column, "at": at},
        st.integers(0, 3),
        st.sampled_from([None, 0.5, 1, 1.5, 2]),
    ),
)


@settings(deadline=None, max_examples=60)
@examples(st.lists(EDITS, max_size=12))
def test_whatever_is_edited_can_be_learned_with_and_taken_back(edits: list[dict[str, Any]]) -> None:
    history, steps = History(Knowledge()), 0
    for one in edits:
        try:
            history = history.changed(edited(history.now, one, NAMES, "s"))
        except InvalidConfigError:
            continue
        allowed_edges(NAMES, "s", history.now)  # contradicts itself nowhere
        steps = len(history.past)
    for _ in range(steps):
        history = history.undone()
    assert history.now == Knowledge()
    assert len(history.future) == steps
