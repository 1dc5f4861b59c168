"""What is asserted of all pictures that are SVG text."""

from __future__ import annotations

import xml.etree.ElementTree as ET

from tests.figures.drawing import HOSTILE

NASTY = [*HOSTILE, "\u202emale", "line\nbreak\x00\x1b", "\ud800half", "أنثى", "女性" * 40, "\u2066\ufffe", ""]


def parsed(svg: str) -> ET.Element:
    """The picture as XML; it loads nothing, runs nothing, and says what it is."""
    root = ET.fromstring(svg)
    assert {node.tag for node in root.iter()} <= {"svg", "title", "desc", "g", "path", "rect", "circle", "text"}
    attributes = [one for node in root.iter() for one in node.attrib.items()]
    assert not {name for name, _ in attributes if name in ("src", "href", "id") or name.startswith("on")}
    assert not any("http" in value or "url(" in value for _, value in attributes)
    assert root.get("role") == "img"
    # Its height follows from its width on pages and in print
    assert root.get("height") is None
    assert "height" not in root.get("style", "")
    assert root.get("aria-label") == root.findtext("title")
    assert root.findtext("desc")
    return root


def texts(root: ET.Element) -> list[str]:
    return [node.text or "" for node in root.iter("text")]
