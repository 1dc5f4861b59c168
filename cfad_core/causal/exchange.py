"""Domain knowledge and ready graphs as files: what people draw elsewhere, and what an audit found."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import networkx as nx

from cfad_core.causal.dot import parse_dot, write_dot
from cfad_core.causal.ready_graph import Edge, ReadyGraph, listed, named_graph, ordered_graph, shortened
from cfad_core.core.config import Knowledge
from cfad_core.core.errors import InvalidConfigError

FORMATS: tuple[str, ...] = (".graphml", ".dot", ".json", ".csv")
MOST_BYTES = 5_000_000

_KIND, _VERSION = "cfad-knowledge", 1
_ENDS = (("cause", "effect"), ("source", "target"))  # what JSON calls the two of an edge
_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")  # with the apostrophes that keep a spreadsheet from computing it
_NOT_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def knowledge_to_json(knowledge: Knowledge) -> str:
    """Domain knowledge as text; ``knowledge_from_json`` gives it back."""
    values = {"kind": _KIND, "version": _VERSION} | knowledge.to_dict()
    return json.dumps(values, indent=2, ensure_ascii=False) + "\n"


def knowledge_from_json(text: str | bytes, name: str = "the file") -> Knowledge:
    """Domain knowledge from a JSON object with the fields of ``Knowledge``; what is not there has its default.

    Parameters
    ----------
    name : what messages call the text

    Raises
    ------
    InvalidConfigError
        If it is something else, of another version, or has unknown fields.
    """
    try:
        values = _json(_decoded(text))
    except InvalidConfigError as error:
        raise InvalidConfigError(f"Cannot read domain knowledge from {name}. {error}") from error
    if not isinstance(values, dict):
        raise InvalidConfigError(f"Domain knowledge is a JSON object; {name} holds {shortened(repr(values))}.")
    kind, version = values.pop("kind", _KIND), values.pop("version", _VERSION)
    if kind != _KIND:
        raise InvalidConfigError(
            f"Expected domain knowledge (kind '{_KIND}'); {name} is of kind {shortened(repr(kind))}."
        )
    if version != _VERSION:
        raise InvalidConfigError(
            f"The domain knowledge in {name} has version {shortened(repr(version))}; this program reads {_VERSION}."
        )
    try:
        return Knowledge.from_dict(values)
    except (InvalidConfigError, RecursionError) as error:
        raise InvalidConfigError(f"Cannot read domain knowledge from {name}. {shortened(str(error), 500)}") from error


def read_graph(data: bytes, filename: str) -> ReadyGraph:
    """The graph in a file, whose suffix names the format: one of ``FORMATS``, or ``.gv``.

    A node is called by its label, or else its name, if all have one and no two the same; else by its id.
    JSON holds ``nodes`` and ``edges`` (pairs, or objects with cause and effect or source and target), as networkx
    writes it too, or is an ``audit.json``. CSV is an adjacency matrix: what is not 0 means that row causes column.

    Raises
    ------
    InvalidConfigError
        If the file cannot be read, or holds no directed graph without cycles.
    """
    shown = shortened(Path(filename).name)
    read = _READERS[_format(filename)]
    try:
        return read(_decoded(data))
    except InvalidConfigError as error:
        raise InvalidConfigError(f"Cannot read a graph from '{shown}'. {shortened(str(error), 1000)}") from error
    except Exception as error:  # whatever is wrong with the file, it is one thing to the reader
        reason = shortened(str(error) or type(error).__name__)
        raise InvalidConfigError(f"Cannot read a graph from '{shown}': {reason}") from error


def write_graph(nodes: Sequence[str], edges_with_strength: Mapping[Edge, float], filename: str) -> bytes:
    """The content of a file that ``read_graph`` reads back; the suffix names the format, strengths are weights.

    Raises
    ------
    InvalidConfigError
        If it is no graph without cycles, or the format cannot hold its names.
    """
    write = _WRITERS[_format(filename)]
    graph = ordered_graph(nodes, edges_with_strength)
    weights = {edge: float(edges_with_strength[edge]) for edge in graph.edges}
    for (cause, effect), weight in weights.items():
        if weight == 0.0 or not math.isfinite(weight):
            raise InvalidConfigError(
                f"The strength of an edge must be a number other than 0; that of {cause} -> {effect} is {weight}."
            )
    return write(graph.nodes, weights).encode("utf-8")


def _format(filename: str) -> str:
    suffix = Path(filename).suffix.lower()
    suffix = ".dot" if suffix == ".gv" else suffix
    if suffix not in FORMATS:
        raise InvalidConfigError(
            f"A graph is a file that ends in {', '.join(FORMATS)} or .gv; got '{shortened(Path(filename).name)}'."
        )
    return suffix


def _read_graphml(text: str) -> ReadyGraph:
    if re.search(r"<!\s*(?:DOCTYPE|ENTITY)", text, re.IGNORECASE):
        raise InvalidConfigError("It declares a document type or entities, which no graph needs; remove them.")
    if len(re.findall(r"<(?:[\w.-]+:)?graph[\s>/]", text)) > 1:
        raise InvalidConfigError("It holds several graphs, or graphs within nodes; leave one.")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about layout
        graph = nx.parse_graphml(text)
    if not graph.is_directed():
        raise InvalidConfigError('The graph is undirected; give it edgedefault="directed".')
    return named_graph(dict(graph.nodes(data=True)), graph.edges())


def _read_dot(text: str) -> ReadyGraph:
    return named_graph(*parse_dot(text))


def _read_json(text: str) -> ReadyGraph:
    values = _json(text)
    known = {"nodes", "variables", "edges", "links"}
    if isinstance(values, dict) and not known & set(values) and isinstance(values.get("graph"), dict):
        values = values["graph"]  # a whole audit.json
    if not isinstance(values, dict):
        raise InvalidConfigError(f"Expected an object with 'nodes' and 'edges'; got {shortened(repr(values))}.")
    if values.get("kind") == _KIND:
        raise InvalidConfigError("It holds domain knowledge, not a graph; read it as such.")
    edges = values.get("edges", values.get("links"))
    if not isinstance(edges, list):
        raise InvalidConfigError(
            f"Expected an object with 'nodes' and a list of 'edges'; got one with: {listed(list(values))}."
        )
    if values.get("directed") is False:
        raise InvalidConfigError('The graph is undirected ("directed": false); a causal graph has directed edges.')
    pairs = [_pair(edge) for edge in edges]
    entries = values.get("nodes", values.get("variables", list(dict.fromkeys(name for pair in pairs for name in pair))))
    if not isinstance(entries, list):
        raise InvalidConfigError(f"'nodes' must be a list; got {shortened(repr(entries))}.")
    described = [entry if isinstance(entry, dict) else {"id": entry} for entry in entries]
    names = [_name(entry.get("id", entry.get("name", entry.get("label")))) for entry in described]
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise InvalidConfigError(f"Nodes must have different names; twice there is: {listed(twice)}.")
    return named_graph(dict(zip(names, described, strict=True)), pairs)


def _pair(edge: object) -> Edge:
    if isinstance(edge, list) and len(edge) == 2:
        return _name(edge[0]), _name(edge[1])
    if isinstance(edge, dict):
        for cause, effect in _ENDS:
            if cause in edge and effect in edge:
                return _name(edge[cause]), _name(edge[effect])
    raise InvalidConfigError(
        'An edge is a pair [cause, effect], or an object with "cause" and "effect" or "source" and "target"; '
        f"got {shortened(repr(edge))}."
    )


def _name(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, (str, int, float)):
        raise InvalidConfigError(f"The name of a node must be text or a number; got {shortened(repr(value))}.")
    return str(value)


def _read_csv(text: str) -> ReadyGraph:
    header_line = text.partition("\n")[0]
    delimiter = text[:1] if text[:1] in (",", ";", "\t") else max(",;\t", key=header_line.count)
    table = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter, strict=True)
    header, *rows = [cells for cells in table if cells] or [[]]
    rows = [cells for cells in rows if any(cells)]
    columns = [_without_apostrophe(cell) for cell in header[1:]]
    causes = [_without_apostrophe(cells[0]) for cells in rows]
    if Counter(columns) != Counter(causes) or not (columns or header == [""]):
        beyond = Counter(columns) - Counter(causes), Counter(causes) - Counter(columns)
        differ = "; ".join(
            f"only in the {where}: {listed(list(names))}"
            for where, names in zip(("header", "first column"), beyond, strict=True)
            if names
        )
        raise InvalidConfigError(
            "An adjacency matrix has the same names in its header and in its first column; "
            + (f"{differ}." if differ else "there are none.")
        )
    edges = []
    for cause, cells in zip(causes, rows, strict=True):
        if len(cells) != len(header):
            raise InvalidConfigError(f"The row of '{shortened(cause)}' has {len(cells)} cells; expected {len(header)}.")
        edges += [
            (cause, effect) for effect, cell in zip(columns, cells[1:], strict=True) if _joins(cell, cause, effect)
        ]
    return ordered_graph(columns, edges)


def _joins(cell: str, cause: str, effect: str) -> bool:
    try:
        weight = float(cell.replace(",", ".") if cell.strip() else "0")
    except ValueError:
        weight = math.nan
    if not math.isfinite(weight):
        raise InvalidConfigError(
            "The cells of an adjacency matrix are numbers, 0 or empty for no edge; in the row of "
            f"'{shortened(cause)}' the one under '{shortened(effect)}' is {shortened(repr(cell))}."
        )
    return weight != 0.0


def _without_apostrophe(cell: str) -> str:
    return cell[1:] if cell.startswith("'") and _FORMULA.match(cell) else cell


def _write_graphml(nodes: Sequence[str], weights: Mapping[Edge, float]) -> str:
    for name in nodes:
        if found := _NOT_XML.search(name):
            raise InvalidConfigError(
                f"GraphML cannot hold the character U+{ord(found[0]):04X} of {shortened(repr(name))}; "
                "rename the column, or choose .json, .dot or .csv."
            )
    graph: nx.DiGraph[str] = nx.DiGraph()
    graph.add_nodes_from(nodes)
    graph.add_edges_from((cause, effect, {"weight": weight}) for (cause, effect), weight in weights.items())
    buffer = io.BytesIO()
    nx.write_graphml_xml(graph, buffer)
    return buffer.getvalue().decode("utf-8")


def _write_json(nodes: Sequence[str], weights: Mapping[Edge, float]) -> str:
    edges = [{"cause": cause, "effect": effect, "weight": weight} for (cause, effect), weight in weights.items()]
    return json.dumps({"nodes": list(nodes), "edges": edges}, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _write_csv(nodes: Sequence[str], weights: Mapping[Edge, float]) -> str:
    cells = {name: f"'{name}" if _FORMULA.match(name) else name for name in nodes}
    buffer = io.StringIO(newline="")
    table = csv.writer(buffer)
    table.writerow(["", *cells.values()])
    table.writerows([cells[cause], *(weights.get((cause, effect), 0) for effect in nodes)] for cause in nodes)
    return buffer.getvalue()


_READERS: dict[str, Callable[[str], ReadyGraph]] = {
    ".graphml": _read_graphml,
    ".dot": _read_dot,
    ".json": _read_json,
    ".csv": _read_csv,
}
_WRITERS: dict[str, Callable[[Sequence[str], Mapping[Edge, float]], str]] = {
    ".graphml": _write_graphml,
    ".dot": write_dot,
    ".json": _write_json,
    ".csv": _write_csv,
}


def _decoded(data: str | bytes) -> str:
    if len(data) > MOST_BYTES:
        raise InvalidConfigError(f"It has {len(data)} bytes; {MOST_BYTES} are read at most.")
    if isinstance(data, str):
        return data
    if b"\0" in data:
        raise InvalidConfigError("It holds NUL bytes, as text in UTF-8 does not; save it as UTF-8.")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidConfigError(f"It is not text in UTF-8 (byte {error.start}); save it as UTF-8.") from error


def _json(text: str) -> Any:
    try:
        values = json.loads(text)
        json.dumps(values, ensure_ascii=False).encode("utf-8")  # an escape may spell half a character
    except UnicodeEncodeError as error:
        raise InvalidConfigError("It holds a lone half of a surrogate pair, which is no character.") from error
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else shortened(str(error))
        raise InvalidConfigError(f"It is not JSON: {reason}.") from error
    return values
