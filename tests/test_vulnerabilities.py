"""Known vulnerabilities are said, and so is that nobody knew."""

from __future__ import annotations

import subprocess
from unittest.mock import Mock

import pytest

from tests.vulnerabilities import ROOT, NoAnswerError, judged, looked_up, needed

FINE = {"name": "fine", "version": "1.0", "vulns": []}
BAD = {
    "name": "bad",
    "version": "2.0",
    "vulns": [{"id": "PYSEC-1", "fix_versions": ["2.1"]}, {"id": "X", "fix_versions": []}],
}
UNKNOWN = {"name": "odd", "skip_reason": "not found on PyPI"}


def test_what_is_needed_includes_what_that_needs() -> None:
    found = needed([ROOT / "requirements.txt"])
    assert {"streamlit", "starlette", "torch", "sympy"} <= set(found)
    assert found["torch"] == "2.13.0"  # without the word of its build, which no index knows
    assert "pytest" not in found


def test_what_was_found_is_an_error() -> None:
    code, words = judged([FINE, BAD, UNKNOWN])
    assert code == 1
    assert words.splitlines()[1:] == ["bad 2.0: PYSEC-1, mended in 2.1", "bad 2.0: X, mended in no version yet"]


def test_what_nobody_knew_is_said() -> None:
    assert judged([FINE, UNKNOWN]) == (0, "No known vulnerability in 1 packages; 1 could not be looked up: odd.")
    assert judged([UNKNOWN]) == (0, "Known vulnerabilities were not looked up: the package index does not say any.")


@pytest.mark.parametrize(
    ("answer", "words"),
    [
        (Mock(stdout="", stderr="WARNING:x\nERROR:Could not connect\n"), "ERROR:Could not connect"),
        (subprocess.TimeoutExpired("pip_audit", 1), "no answer within 120 seconds"),
    ],
)
def test_an_index_that_does_not_answer(monkeypatch: pytest.MonkeyPatch, answer: Mock, words: str) -> None:
    monkeypatch.setattr(subprocess, "run", Mock(side_effect=[answer]))
    with pytest.raises(NoAnswerError, match=words):
        looked_up({"fine": "1.0"})
