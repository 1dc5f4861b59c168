from __future__ import annotations

import pytest

from cfad_core.causal.exchange import read_graph, write_graph
from cfad_core.causal.ready_graph import ReadyGraph


def read(text: str, filename: str) -> ReadyGraph:
    return read_graph(text.encode(), filename)


def test_names_that_dot_cannot_hold_as_ids_become_labels() -> None:
    text = write_graph(["C:\\", 'a "b"'], {('a "b"', "C:\\"): 1.0}, "g.dot").decode()
    assert text == ('digraph {\n  n0 [label="C:\\\\"];\n  n1 [label="a \\"b\\""];\n  n1 -> n0 [weight="1.0"];\n}\n')
    assert write_graph(['a "b"', "node"], {}, "g.dot").decode() == 'digraph {\n  "a \\"b\\"";\n  "node";\n}\n'


@pytest.mark.parametrize(
    ("text", "edges"),
    [
        ("digraph { a -> {b c} }", "ab ac"),
        ("digraph { {a b} -> {c d} -> e }", "ac ad bc bd ce de"),
        ("digraph { a -> subgraph x { b -> c } -> { d { e } } }", "ab ac bc bd be cd ce"),
        ("digraph { subgraph x { edge [dir=none] } a -> b }", "ab"),
        ("digraph { {} -> a; a -> {} }", ""),
    ],
)
def test_dot_joins_groups(text: str, edges: str) -> None:
    assert {cause + effect for cause, effect in read(text, "g.dot").edges} == set(edges.split())


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("Größe", "Größe"),
        ("marital.status", "marital.status"),
        ("-1.5", "-1.5"),
        ('"native-country"', "native-country"),
        (r'"say \"hi\""', 'say "hi"'),
        (r'"C:\\x\n"', r"C:\\x\n"),  # in an id a backslash stands for itself
        ('"a \\\nb"', "a b"),
        ('"->"', "->"),
        ("年齢", "年齢"),
        (r'x [label="C:\\x \N"]', r"C:\x x"),
    ],
)
def test_names_in_dot(written: str, name: str) -> None:
    assert read(f"digraph {{ {written} }}", "g.dot").nodes == (name,)
