from __future__ import annotations

import json

import networkx as nx
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cfad_core.causal.exchange import (
    FORMATS,
    knowledge_from_json,
    knowledge_to_json,
    read_graph,
    write_graph,
)
from cfad_core.causal.graph import allowed_edges
from cfad_core.causal.ready_graph import ReadyGraph
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import InvalidConfigError

AWKWARD = st.sampled_from("\"'\\,;:=+-@{}[]<>&#/\n\r\t ")
CHARACTERS = st.characters(exclude_categories=["Cs"], exclude_characters="\0")
NODE_NAMES = st.lists(st.text(AWKWARD | CHARACTERS, min_size=1, max_size=6), max_size=5, unique=True)
STRENGTHS = st.floats(allow_nan=False, allow_infinity=False).filter(bool)
XMLNS = 'xmlns="http://graphml.graphdrawing.org/xmlns"'


def graphml(content: str, keys: str = "", direction: str = "directed") -> str:
    return f'<graphml {XMLNS}>{keys}<graph edgedefault="{direction}">{content}</graph></graphml>'


def read(text: str | bytes, filename: str) -> ReadyGraph:
    return read_graph(text.encode() if isinstance(text, str) else text, filename)


def fits_xml(name: str) -> bool:
    ranges = [("\t", "\n"), ("\r", "\r"), (" ", "\ud7ff"), ("\ue000", "\ufffd"), ("\U00010000", "\U0010ffff")]
    return all(any(first <= character <= last for first, last in ranges) for character in name)


@st.composite
def graphs(draw: st.DrawFn) -> tuple[list[str], dict[tuple[str, str], float]]:
    names = draw(NODE_NAMES)
    order = draw(st.permutations(names))
    pairs = [(cause, effect) for k, cause in enumerate(order) for effect in order[k + 1 :]]
    chosen = [pair for pair in pairs if draw(st.booleans())]
    return names, {pair: draw(STRENGTHS) for pair in chosen}


# Domain knowledge as JSON


@pytest.mark.parametrize(
    "knowledge",
    [
        Knowledge(),
        Knowledge(
            roots=("Größe",),
            from_sensitive=("d",),
            tiers=(("a", "b"), ("c",)),
            forbidden=(("a", "c"),),
            required=(("b", "c"), ("a", "b")),
            sensitive_is_root=False,
            complete=True,
        ),
    ],
)
def test_knowledge_survives_json(knowledge: Knowledge) -> None:
    text = knowledge_to_json(knowledge)
    assert knowledge_from_json(text) == knowledge
    assert knowledge_from_json(text.encode()) == knowledge
    assert knowledge_from_json(b"\xef\xbb\xbf" + text.encode()) == knowledge  # as some editors save it
    written = json.loads(text)
    assert (written["kind"], written["version"]) == ("cfad-knowledge", 1)


def test_files_of_earlier_versions_say_nothing_of_what_the_sensitive_column_causes() -> None:
    written = json.loads(knowledge_to_json(Knowledge(roots=("a",), tiers=(("a",), ("b",)))))
    del written["from_sensitive"]
    assert knowledge_from_json(json.dumps(written)) == Knowledge(roots=("a",), tiers=(("a",), ("b",)))


def test_tiers_and_what_the_sensitive_column_causes_hold_in_files() -> None:
    known = knowledge_from_json('{"tiers": [["a"], ["b", "S"], ["c"]], "from_sensitive": ["c"]}')
    allowed = allowed_edges(["S", "a", "b", "c"], "S", known)
    assert {("Sabc"[j], "Sabc"[i]) for j, i in np.argwhere(allowed)} == {("S", "b"), ("S", "c"), ("a", "b")}


def test_knowledge_may_be_written_by_hand() -> None:
    assert knowledge_from_json('{"required": [["age", "income"]]}') == Knowledge(required=(("age", "income"),))
    assert knowledge_from_json("{}") == Knowledge()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "Cannot read domain knowledge from k.json. It is not JSON: Expecting value"),
        ("[" * 100_000, "It is not JSON: nested too deeply"),
        ("{'roots': []}", "It is not JSON: Expecting property name"),
        ("[]", r"Domain knowledge is a JSON object; k.json holds \[\]"),
        ('{"kind": "graph"}', r"Expected domain knowledge \(kind 'cfad-knowledge'\); k.json is of kind 'graph'"),
        ('{"version": 2}', "The domain knowledge in k.json has version 2; this program reads 1"),
        (
            '{"nodes": []}',
            "Unknown setting of 'knowledge': nodes. Known: roots, from_sensitive, tiers, forbidden, required, "
            "sensitive_is_root, complete.",
        ),
        (
            '{"roots": "age"}',
            "Cannot read domain knowledge from k.json. 'knowledge.roots' must be a list, each entry a text; got 'age'.",
        ),
        ('{"roots": [1]}', r"'knowledge.roots' must be a list, each entry a text; got \[1\]."),
        (
            '{"required": [["a", "b", "c"]]}',
            r"'knowledge.required' must be a list, each entry a list of 2 \(a text, a text\); got "
            r"\[\['a', 'b', 'c'\]\].",
        ),
        ('{"complete": 1}', "'knowledge.complete' must be true or false; got 1."),
        ('{"roots": ["\\ud800"]}', "a lone half of a surrogate pair"),
        (b"\xff", r"not text in UTF-8 \(byte 0\); save it as UTF-8"),
        (b"{}\0", "holds NUL bytes, .* save it as UTF-8"),
        (b" " * 5_000_001, "has 5000001 bytes; 5000000 are read at most"),
    ],
)
def test_other_than_knowledge_is_refused(text: str | bytes, message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        knowledge_from_json(text, "k.json")


@pytest.mark.parametrize("depth", range(900, 1000, 3))
def test_deep_nesting_is_refused_wherever_it_is_noticed(depth: int) -> None:
    lists = "[" * depth + "]" * depth
    for text in (lists, f'{{"roots": {lists}}}', f'{{"kind": {lists}}}'):
        with pytest.raises(InvalidConfigError):
            knowledge_from_json(text)
        with pytest.raises(InvalidConfigError, match=r"Cannot read a graph from 'g\.json'"):
            read(text, "g.json")


def test_refusals_stay_short() -> None:
    with pytest.raises(InvalidConfigError) as refusal:
        knowledge_from_json(json.dumps({"roots": "x" * 100_000}))
    assert len(str(refusal.value)) < 600
    with pytest.raises(InvalidConfigError) as refusal:
        read(json.dumps({"nodes": [], "edges": [["x" * 100_000, "y"]]}), "g.json")
    assert len(str(refusal.value)) < 600


# Round trips


@settings(max_examples=100, deadline=None)
@given(graphs(), st.sampled_from([*FORMATS, ".gv"]))
def test_any_graph_survives_every_format(graph: tuple[list[str], dict[tuple[str, str], float]], suffix: str) -> None:
    names, edges = graph
    if suffix == ".graphml" and not all(map(fits_xml, names)):
        with pytest.raises(InvalidConfigError, match=r"GraphML cannot hold the character U\+"):
            write_graph(names, edges, f"graph{suffix}")
        return
    written = write_graph(names, edges, f"graph{suffix}")
    found = read_graph(written, f"graph{suffix}")
    assert found.nodes == tuple(names)
    assert set(found.edges) == set(edges)
    assert len(found.edges) == len(edges)


@pytest.mark.parametrize("suffix", FORMATS)
def test_strengths_are_written_as_weights(suffix: str) -> None:
    text = write_graph(["age", "pay"], {("age", "pay"): np.float64(-1.5e-7)}, f"g{suffix}").decode()
    assert "-1.5e-07" in text
    assert ("weight" in text) == (suffix != ".csv")


def test_networkx_reads_what_is_written() -> None:
    written = write_graph(["age", "my pay", "x"], {("age", "my pay"): 0.5}, "g.graphml").decode()
    graph = nx.parse_graphml(written)
    assert list(graph.nodes) == ["age", "my pay", "x"]
    assert dict(graph.edges) == {("age", "my pay"): {"weight": 0.5}}


def test_a_spreadsheet_takes_no_name_for_a_formula() -> None:
    text = write_graph(["=1+1", "'=x", "'tis"], {("=1+1", "'tis"): 2.0}, "g.csv").decode()
    assert text == ",'=1+1,''=x,'tis\r\n'=1+1,0,0,2.0\r\n''=x,0,0,0\r\n'tis,0,0,0\r\n"
    assert read(text, "g.csv").nodes == ("=1+1", "'=x", "'tis")
    assert read(",=a,b\n=a,0,1\nb,0,0\n", "g.csv").nodes == ("=a", "b")


@pytest.mark.parametrize(
    ("nodes", "edges", "filename", "message"),
    [
        (["a\x01"], {}, "g.graphml", r"GraphML cannot hold the character U\+0001 of 'a\\x01'; .* choose .json, .dot"),
        (["a\uffff"], {}, "g.graphml", r"GraphML cannot hold the character U\+FFFF"),
        (["a\ud800"], {}, "g.json", r"The name 'a\\ud800' holds what is no character"),
        (["a\0"], {}, "g.csv", "holds what is no character"),
        ([""], {}, "g.dot", "A node has no name"),
        (["a", "a"], {}, "g.dot", "Nodes must have different names; twice there is: a"),
        (["a"], {("a", "b"): 1.0}, "g.dot", "The edge a -> b names 'b', which is not among the nodes"),
        (["a", "b"], {("a", "b"): 1.0, ("b", "a"): 1.0}, "g.csv", "no cycles; this one has a -> b -> a. Remove one"),
        (["a", "b"], {("a", "b"): 0.0}, "g.csv", "must be a number other than 0; that of a -> b is 0.0"),
        (["a", "b"], {("a", "b"): np.nan}, "g.csv", "must be a number other than 0; that of a -> b is nan"),
        (["a"], {}, "g.txt", r"ends in .graphml, .dot, .json, .csv or .gv; got 'g.txt'"),
        (["a"], {}, "g", "got 'g'"),
    ],
)
def test_what_could_not_be_read_back_is_not_written(
    nodes: list[str], edges: dict[tuple[str, str], float], filename: str, message: str
) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        write_graph(nodes, edges, filename)


# What others write

ABC = ReadyGraph(("a", "b", "c"), (("a", "b"), ("b", "c")))


@pytest.mark.parametrize(
    ("filename", "text"),
    [
        ("g.dot", "digraph { a -> b -> c }"),
        ("G.GV", 'strict digraph "my graph" { a; b; c; "a" -> b [weight=2]; b -> "c"; a -> b }'),
        ("g.dot", "digraph { { a -> b } subgraph cluster_1 { label=x; b -> c [color=red; style=bold] } }"),
        ("g.dot", "digraph { a /* -> c */ -> b // -> c\n b:n -> c:port:sw # c -> a\n }"),
        ("g.dot", 'digraph { rankdir=LR; graph [size=1] node [shape=box, label="\\N"]; edge [dir=forward] a->b->c }'),
        ("g.dot", 'digraph { a [label=<<b>A</b> "c">]; a -> "" + "b" -> "c" [pos="1,2", arrowhead=vee] }'),
        ("g.dot", 'digraph { x [label="a"]; y [label="b"]; x -> y -> z; z [label="c"] }'),
        ("g.dot", "digraph { x [name=a]; y [name=b]; x -> y -> z; z [name=c, label=same]; x [label=same] }"),
        ("g.dot", "digraph { a -> b [dir=both, arrowtail=none, arrowhead=normal] b -> c }"),
        ("g.json", '{"nodes": ["a", "b", "c"], "edges": [["a", "b"], ["b", "c"], ["b", "c"]]}'),
        ("g.json", '{"edges": [["a", "b"], {"source": "b", "target": "c"}]}'),
        ("g.json", '{"variables": ["a", "b", "c"], "edges": [{"cause": "b", "effect": "c"}, ["a", "b"]]}'),
        ("g.json", '{"graph": {"variables": ["a", "b", "c"], "edges": [["a", "b"], ["b", "c"]]}, "seed": 0}'),
        ("g.json", json.dumps(nx.node_link_data(nx.DiGraph(ABC.edges), edges="links"))),
        ("g.json", json.dumps(nx.node_link_data(nx.MultiDiGraph([*ABC.edges, ("a", "b")]), edges="edges"))),
        ("g.csv", ",a,b,c\na,0,1,0\nb,0,0,1\nc,0,0,0\n"),
        ("g.csv", "\ufeff,a,b,c\r\nc,,,\r\nb, 0 ,,-0.5\r\na,,1e-3,\r\n,,,\r\n"),
        ("g.csv", ";a;b;c\na;0;0,5;0\nb;0;0;1\nc;0;0;0\n"),
        ("g.csv", '"","a","b","c"\n"a",0,1,0\n"b",0,0,1\n"c",0,0,0\n'),
        ("g.csv", "from\ta\tb\tc\na\t0\t1\t0\nb\t0\t0\t1\nc\t0\t0\t0\n"),
        (
            "g.graphml",
            graphml('<node id="a"/><node id="b"/><edge source="a" target="b"/><edge source="b" target="c"/>'),
        ),
        (
            "g.graphml",
            graphml(
                '<node id="1"><data key="k">a</data></node><node id="2"><data key="k">b</data></node>'
                '<node id="3"><data key="k">c</data></node><edge source="1" target="2"/><edge source="2" target="3"/>'
                '<edge source="2" target="3"/>',
                keys='<key id="k" for="node" attr.name="label"/>',
            ),
        ),
        (
            "g.graphml",
            "<graphml><graph edgedefault='directed'><edge source='a' target='b'/><edge source='b' target='c'/></graph>"
            "</graphml>",
        ),
    ],
)
def test_what_others_write_is_read(filename: str, text: str) -> None:
    assert read(text, filename) == ABC


def test_labels_count_only_if_no_two_nodes_share_one() -> None:
    for labels in (["age", "age"], ["age", ""], ["age", None]):
        nodes = [{"id": k} | ({} if label is None else {"label": label}) for k, label in zip("ab", labels, strict=True)]
        assert read(json.dumps({"nodes": nodes, "edges": [["a", "b"]]}), "g.json").nodes == ("a", "b")
    numbered = [{"id": 1, "name": "age"}, {"id": 2, "name": "pay"}]
    assert read(json.dumps({"nodes": numbered, "edges": [[1, 2]]}), "g.json").edges == (("age", "pay"),)


def test_the_order_of_edges_makes_no_difference() -> None:
    assert read("digraph { a; b; c; b -> c; a -> b }", "g.dot") == ABC


@pytest.mark.parametrize(
    ("filename", "text", "message"),
    [
        ("g.dot", "", "Line 1: Expected 'digraph'; got the end of the file"),
        ("g.dot", "graph { a -- b }", r"Line 1: The graph is undirected \('graph'\); write 'digraph'"),
        ("g.dot", "digraph {\n a -- b }", "Line 2: The edge '--' is undirected; write 'cause -> effect'"),
        ("g.dot", "digraph { a -> b -- c }", "The edge '--' is undirected"),
        ("g.dot", "digraph { a -> b [dir=none] }", r"a -> b is not drawn from cause to effect \(dir=none\)"),
        ("g.dot", "digraph { edge [dir=both]; a -> {b c} }", r"a -> b, c is not drawn .* \(dir=both\); direct it"),
        ("g.dot", "digraph { a -> b [arrowhead=odot] }", r"not drawn from cause to effect \(arrowhead=odot\)"),
        ("g.dot", "dag { a -> b }", r"This is DAGitty's form \('dag'\), which is not DOT; write 'digraph"),
        ("g.dot", "digraph { a -> b ", "Expected '}'; got the end of the file"),
        ("g.dot", "digraph { a -> }", "Expected a name; got '}'"),
        ("g.dot", "digraph a -> b", "Expected '{'; got '->'"),
        ("g.dot", "digraph { a } digraph { b }", "Expected the end of the file after its one graph; got 'digraph'"),
        ("g.dot", "digraph { native-country }", "Cannot read on from '-country }'; names .* need quotation marks"),
        ("g.dot", "digraph { x-1 -> y }", "Cannot read on from '-1 -> y }'"),
        ("g.dot", 'digraph { "a -> b }', "these must be closed"),
        ("g.dot", 'digraph { "a" + b }', r"Expected quoted text after '\+'; got 'b'"),
        ("g.dot", "digraph { a [label=<b<c>] }", "A '<' is never closed by '>'"),
        ("g.dot", "digraph { <b> -> a }", "A node has no name"),
        ("g.dot", "digraph" + "{" * 100_000, "more than 50 braces within braces"),
        ("g.dot", f"digraph {{ {{ {' '.join(f'a{k} b{k}' for k in range(300))} }} -> x -> y }}" * 2, "its one graph"),
        (
            "g.dot",
            "digraph { {" + " ".join(map(str, range(1000))) + "} -> {" + " ".join(map(str, range(1000))) + "} }",
            "The graph has more than 200000 edges",
        ),
        (
            "g.dot",
            "digraph { a -> b -> c -> a }",
            "no cycles; this one has a -> b -> c -> a. Remove one of these edges",
        ),
        ("g.dot", "digraph { a -> a }", "no cycles; this one has a -> a"),
        ("g.dot", f"digraph {{ {' '.join(f'a{k}' for k in range(2001))} }}", "2000 nodes at most; this one has 2001"),
        ("g.json", "[]", r"Expected an object with 'nodes' and 'edges'; got \[\]"),
        ("g.json", '{"nodes": ["a"]}', "Expected an object with 'nodes' and a list of 'edges'; got one with: nodes"),
        ("g.json", '{"nodes": {}, "edges": []}', "'nodes' must be a list; got {}"),
        ("g.json", '{"nodes": [["a"]], "edges": []}', r"name of a node must be text or a number; got \['a'\]"),
        ("g.json", '{"edges": [["a", null]]}', "name of a node must be text or a number; got None"),
        ("g.json", '{"edges": [["a", true]]}', "name of a node must be text or a number; got True"),
        ("g.json", '{"edges": [["", "b"]]}', "A node has no name"),
        ("g.json", '{"edges": [["\\u0000", "b"]]}', r"The name '\\x00' holds what is no character"),
        ("g.json", '{"edges": [["\\udfff", "b"]]}', "a lone half of a surrogate pair"),
        ("g.json", '{"edges": [["a", "b", "c"]]}', r"An edge is a pair \[cause, effect\], or an object .*; got \['a'"),
        ("g.json", '{"edges": [{"from": "a", "to": "b"}]}', "An edge is a pair .*; got {'from'"),
        ("g.json", '{"nodes": ["a"], "edges": [["a", "b"]]}', "names 'b', which is not among the nodes; add it"),
        ("g.json", '{"nodes": ["1", 1], "edges": []}', "Nodes must have different names; twice there is: 1"),
        ("g.json", '{"directed": false, "nodes": [], "edges": []}', 'The graph is undirected \\("directed": false\\)'),
        ("g.json", knowledge_to_json(Knowledge()), "It holds domain knowledge, not a graph"),
        ("g.json", "[" * 100_000, "It is not JSON: nested too deeply"),
        ("g.json", '{"edges": [[' + "1" * 5000 + ", 2]]}", "It is not JSON: Exceeds the limit"),
        ("g.csv", "", "the same names in its header and in its first column; there are none"),
        ("g.csv", "hello\n", "there are none"),
        ("g.csv", ",a,b\na,0,0\nc,0,0\n", "only in the header: b; only in the first column: c"),
        ("g.csv", ",a,b,\na,0,0\nb,0,0\n", r"only in the header: \(no name\)"),
        ("g.csv", ",a,b\na,0\nb,0,0\n", "The row of 'a' has 2 cells; expected 3"),
        ("g.csv", ",a,b\na,0,yes\nb,0,0\n", "are numbers, .* in the row of 'a' the one under 'b' is 'yes'"),
        ("g.csv", ",a,b\na,0,nan\nb,0,0\n", "in the row of 'a' the one under 'b' is 'nan'"),
        ("g.csv", ",a,a\na,0,0\na,0,0\n", "Nodes must have different names; twice there is: a"),
        ("g.csv", ',a,"b\na,0,0\n', "Cannot read a graph from 'g.csv': unexpected end of data"),
        ("g.csv", ",a,b\na,0,1\nb,1,0\n", "no cycles; this one has a -> b -> a"),
        ("g.graphml", "digraph {}", "Cannot read a graph from 'g.graphml': syntax error: line 1, column 0"),
        ("g.graphml", "<graphml/>", "not successfully read as graphml"),
        ("g.graphml", graphml('<node id="a"/>', direction="undirected"), "undirected; give it edgedefault=.directed"),
        ("g.graphml", graphml('<edge source="a" target="b" directed="false"/>'), "directed=false edge found"),
        ("g.graphml", graphml('<node id="a"/><graph/>'), "several graphs, or graphs within nodes; leave one"),
        ("g.graphml", graphml('<node id="a"><data key="x">1</data></node>'), "Bad GraphML data: no key x"),
        ("g.graphml", '<!DOCTYPE g [<!ENTITY a "aa">]>' + graphml(""), "declares a document type or entities"),
        ("g.graphml", "<a>" * 100_000, "no element found"),
        ("g.txt", "a", r"A graph is a file that ends in .graphml, .dot, .json, .csv or .gv; got 'g.txt'"),
    ],
)
def test_what_is_no_causal_graph_is_refused(filename: str, text: str, message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        read(text, filename)


@pytest.mark.parametrize("suffix", FORMATS)
@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\xff\xfea\0", "holds NUL bytes"),
        (b"a\xff", r"is not text in UTF-8 \(byte 1\); save it as UTF-8"),
        (b"a" * 5_000_001, "has 5000001 bytes; 5000000 are read at most"),
    ],
)
def test_other_than_text_is_refused(suffix: str, data: bytes, message: str) -> None:
    with pytest.raises(InvalidConfigError, match=rf"Cannot read a graph from 'g\{suffix}'. It {message}"):
        read_graph(data, f"folder/g{suffix}")


def test_an_encoding_cannot_hide_entities() -> None:
    """The text that is searched for them is the text that is parsed, whatever it declares."""
    hidden = '<?xml version="1.0" encoding="utf-7"?>+ADwAIQ-DOCTYPE g+AD4-' + graphml("")
    with pytest.raises(InvalidConfigError, match="Cannot read a graph from 'g.graphml'"):
        read(hidden, "g.graphml")


@settings(max_examples=150, deadline=None)
@given(st.binary(max_size=60) | st.text('digraph{}[]"->;=\\a <>/*#\n,0', max_size=60).map(str.encode), st.data())
def test_whatever_comes_is_read_or_refused(data: bytes, more: st.DataObject) -> None:
    suffix = more.draw(st.sampled_from(FORMATS))
    prefix = {".dot": b"digraph {", ".json": b'{"edges": ', ".csv": b",a\n", ".graphml": b"<graphml>"}[suffix]
    refusals = []
    for content in (data, prefix + data):
        try:
            found = read_graph(content, f"g{suffix}")
        except InvalidConfigError as error:
            refusals.append(str(error))
        else:
            assert {name for edge in found.edges for name in edge} <= set(found.nodes)
    assert all(refusal.startswith(f"Cannot read a graph from 'g{suffix}'") for refusal in refusals)
