"""Graphs in Graphviz's DOT language: the nodes, their attributes and the edges.

One pass over the text, whatever it holds (pydot takes twice as long for each brace within braces, and is for one thread
alone). Layout is read over; HTML-like text stands for nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from itertools import pairwise, product
from typing import NoReturn

from cfad_core.core.errors import InvalidConfigError

Edge = tuple[str, str]

_DEEPEST = 50  # braces within braces
_MOST_EDGES = 200_000  # a -> {b c} is two; without a limit a short text could spell out billions
_TOKEN = re.compile(
    r"""(?P<space>(?:\s+|//[^\n]*|\#[^\n]*|/\*.*?\*/)+)
      | (?P<quoted>"[^"\\]*(?:\\.[^"\\]*)*")
      | (?P<sign>->|--|[{}\[\]=;,:+])
      | (?P<word>(?<![\w."])-(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?![\w.])|[^\s\x00-\x2d/:-@\[-^`{-\x7f]+)
      | (?P<html><)""",
    re.DOTALL | re.VERBOSE,
)
_DRAWN = ("dir", "arrowhead", "arrowtail")
_ANGLE = re.compile("[<>]")
_ESCAPE = re.compile(r"\\(\r?\n|.)", re.DOTALL)


def parse_dot(text: str) -> tuple[dict[str, dict[str, str]], list[Edge]]:
    """The attributes of each node by its id, and the edges; both in the order of the text.

    Raises
    ------
    InvalidConfigError
        If this is not one directed graph in the DOT language. The message names the line.
    """
    reader = _Reader(text)
    reader.graph()
    return reader.nodes, list(reader.edges)


def write_dot(nodes: Iterable[str], weights: Mapping[Edge, float]) -> str:
    """A directed graph as DOT. The names are the ids, unless one has a backslash, which no id can hold for certain."""
    ids = {name: _quoted(name) for name in nodes}
    labels = dict.fromkeys(ids, "")
    if any("\\" in name for name in ids):
        ids = {name: f"n{k}" for k, name in enumerate(ids)}
        labels = {name: " [label=" + _quoted(name.replace("\\", "\\\\")) + "]" for name in ids}
    lines = [f"  {ids[name]}{labels[name]};\n" for name in ids]
    lines += [
        f'  {ids[cause]} -> {ids[effect]} [weight="{weight!r}"];\n' for (cause, effect), weight in weights.items()
    ]
    return "digraph {\n" + "".join(lines) + "}\n"


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '\\"') + '"'


def _unquoted(text: str) -> str:
    """In an id a backslash stands for itself, unless before a quotation mark or a line's end."""

    def meant(match: re.Match[str]) -> str:
        if match[1] == '"':
            return '"'
        return "" if match[1].endswith("\n") else match[0]

    return _ESCAPE.sub(meant, text[1:-1])


def _label(text: str, node: str) -> str:
    """In a label other characters after a backslash mean something too."""
    meant = {"N": node, "n": "\n", "l": "\n", "r": "\n"}
    return _ESCAPE.sub(lambda match: meant.get(match[1], match[1]), text)


class _Reader:
    """Stands before a token, its ``kind`` and ``value``, and goes on from there. At the end the kind is empty."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.start = self.end = 0
        self.kind = self.value = ""
        self.nodes: dict[str, dict[str, str]] = {}
        self.edges: dict[Edge, None] = {}
        self.spelled_out = 0
        self.advance()

    def graph(self) -> None:
        self.takes_word("strict")
        if self.takes_word("graph"):
            self.fail("The graph is undirected ('graph'); write 'digraph', and 'cause -> effect' for each edge.")
        if self.kind == "word" and self.value.lower() in ("dag", "pdag", "mag", "pag"):
            self.fail(
                f"This is DAGitty's form ('{self.value}'), which is not DOT; write 'digraph {{ ... }}' with "
                "'cause -> effect' for each edge."
            )
        if not self.takes_word("digraph"):
            self.unexpected("'digraph'")
        if self.kind in ("word", "quoted", "html"):
            self.text_value()
        self.statements(1, {})
        if self.kind:
            self.unexpected("the end of the file after its one graph")
        for node, attributes in self.nodes.items():
            if "label" in attributes:
                attributes["label"] = _label(attributes["label"], node)

    def statements(self, depth: int, edge_defaults: dict[str, str]) -> dict[str, None]:
        """What stands in braces; returns the nodes that were mentioned."""
        if depth > _DEEPEST:
            self.fail(f"There are more than {_DEEPEST} braces within braces.")
        if not self.takes("{"):
            self.unexpected("'{'")
        mentioned: dict[str, None] = {}
        while not self.takes("}"):
            if not self.kind:
                self.unexpected("'}'")
            if self.takes(";"):
                continue
            if self.takes_word("graph") or self.takes_word("node"):
                self.attributes()
            elif self.takes_word("edge"):
                edge_defaults = edge_defaults | self.attributes()
            else:
                mentioned |= self.nodes_or_edges(depth, edge_defaults)
        return mentioned

    def nodes_or_edges(self, depth: int, edge_defaults: dict[str, str]) -> dict[str, None]:
        is_group, first = self.end_of_edge(depth, edge_defaults)
        if not is_group and self.takes("="):
            self.text_value()
            return {}
        ends = [first]
        while self.takes("->"):
            ends.append(self.end_of_edge(depth, edge_defaults)[1])
        if self.stands_before("--"):
            self.fail("The edge '--' is undirected; write 'cause -> effect'.")
        attributes = self.attributes()
        if len(ends) == 1 and not is_group:
            (node,) = first
            self.nodes[node] |= attributes
        for causes, effects in pairwise(ends):
            self.join(causes, effects, edge_defaults | attributes)
        return {node: None for end in ends for node in end}

    def join(self, causes: Mapping[str, None], effects: Mapping[str, None], attributes: Mapping[str, str]) -> None:
        self.spelled_out += len(causes) * len(effects)
        if self.spelled_out > _MOST_EDGES:
            self.fail(f"The graph has more than {_MOST_EDGES} edges.")
        if not _leads_forward(attributes):
            drawn = ", ".join(f"{name}={attributes[name]}" for name in _DRAWN if name in attributes)
            self.fail(
                f"The edge {', '.join(causes)} -> {', '.join(effects)} is not drawn from cause to effect ({drawn}); "
                "direct it, or leave it out."
            )
        self.edges |= dict.fromkeys(product(causes, effects))

    def end_of_edge(self, depth: int, edge_defaults: dict[str, str]) -> tuple[bool, dict[str, None]]:
        """Whether it is a group in braces, and the nodes."""
        if self.takes_word("subgraph"):
            if self.kind in ("word", "quoted", "html"):
                self.text_value()
            return True, self.statements(depth + 1, edge_defaults)
        if self.stands_before("{"):
            return True, self.statements(depth + 1, edge_defaults)
        node = self.text_value()
        for _ in range(2):  # where at the node the edge begins
            if self.takes(":"):
                self.text_value()
        if not self.stands_before("="):  # else it is a setting
            self.nodes.setdefault(node, {})
        return False, {node: None}

    def attributes(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self.takes("["):
            while not self.takes("]"):
                name = self.text_value()
                found[name] = self.text_value() if self.takes("=") else "true"
                if not self.takes(","):
                    self.takes(";")
        return found

    def text_value(self) -> str:
        """A word, a number or quoted text, whose parts may be joined by +."""
        if self.kind == "quoted":
            parts = [_unquoted(self.value)]
            self.advance()
            while self.takes("+"):
                if self.kind != "quoted":
                    self.unexpected("quoted text after '+'")
                parts.append(_unquoted(self.value))
                self.advance()
            return "".join(parts)
        if self.kind not in ("word", "html"):
            self.unexpected("a name")
        value = "" if self.kind == "html" else self.value
        self.advance()
        return value

    def stands_before(self, sign: str) -> bool:
        return self.kind == "sign" and self.value == sign

    def takes(self, sign: str) -> bool:
        if not self.stands_before(sign):
            return False
        self.advance()
        return True

    def takes_word(self, word: str) -> bool:
        if self.kind != "word" or self.value.lower() != word:
            return False
        self.advance()
        return True

    def advance(self) -> None:
        self.kind, self.value = "space", ""
        while self.kind == "space":
            self.start = self.end
            if self.start == len(self.text):
                self.kind = ""
                return
            match = _TOKEN.match(self.text, self.start)
            if match is None:
                self.fail(
                    f"Cannot read on from {self.text[self.start : self.start + 20]!r}; names of other characters than "
                    "letters, digits and _ need quotation marks, and these must be closed, as comments must."
                )
            self.kind, self.value, self.end = str(match.lastgroup), match[0], match.end()
        if self.kind == "html":
            self.skip_html()

    def skip_html(self) -> None:
        is_open = 1
        while is_open:
            match = _ANGLE.search(self.text, self.end)
            if match is None:
                self.fail("A '<' is never closed by '>'.")
            is_open += 1 if match[0] == "<" else -1
            self.end = match.end()

    def unexpected(self, expected: str) -> NoReturn:
        self.fail(f"Expected {expected}; got {repr(self.value[:40]) if self.kind else 'the end of the file'}.")

    def fail(self, message: str) -> NoReturn:
        line = self.text.count("\n", 0, self.start) + 1
        raise InvalidConfigError(f"Line {line}: {message}")


def _leads_forward(attributes: Mapping[str, str]) -> bool:
    """Whether an edge is drawn with an arrow at its effect, and none at its cause."""
    direction, head = attributes.get("dir", "forward"), attributes.get("arrowhead", "normal")
    if direction == "both":
        return attributes.get("arrowtail") == "none" and head not in ("none", "odot")
    return direction == "forward" and head not in ("none", "odot")
