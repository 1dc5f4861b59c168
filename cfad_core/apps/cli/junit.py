"""Checks as JUnit XML, which pipelines show next to their tests."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING
from xml.etree import ElementTree as ET

if TYPE_CHECKING:
    from cfad_core.audit.gate import Check

_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")  # not even if escaped


def junit_file(audit: str, checks: Sequence[Check]) -> bytes:
    """A suite with a case for everything that was checked; what only informs is in its output, with all lines."""
    decided = [check for check in checks if check.holds is not None]
    failures = sum(not check.holds for check in decided)
    counts = {"tests": str(len(decided)), "failures": str(failures), "errors": "0", "skipped": "0"}
    suites = ET.Element("testsuites", counts)
    suite = ET.SubElement(suites, "testsuite", {"name": _legal(audit), **counts})
    for check in decided:
        named = {"name": _legal(f"{check.name}: {check.comparison}"), "classname": _legal(check.method), "time": "0"}
        case = ET.SubElement(suite, "testcase", named)
        if not check.holds:
            line = _legal(check.line)
            ET.SubElement(case, "failure", {"message": line, "type": check.name}).text = line
    ET.SubElement(suite, "system-out").text = _legal("\n".join(check.line for check in checks))
    ET.indent(suites)
    content: bytes = ET.tostring(suites, encoding="utf-8", xml_declaration=True)
    return content + b"\n"


def _legal(text: str) -> str:
    return _NOT_XML.sub("\ufffd", text)
