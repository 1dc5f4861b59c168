"""Charts say in words what they show."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

from tests.apps.pages import ROOT, visit

SOURCES = [*(ROOT / "pages").glob("*.py"), ROOT / "app.py", *(ROOT / "cfad_core" / "apps" / "dashboard").glob("*.py")]


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_every_chart_has_words(path: Path) -> None:
    """By ``show_chart``, or by ``alt``."""
    calls = [node for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(node, ast.Call)]
    charts = [call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "plotly_chart"]
    assert [call.lineno for call in charts if "alt" not in {word.arg for word in call.keywords}] == []


def test_the_words_are_about_the_numbers(done: tuple[str, str]) -> None:
    app = visit("Findings.py", audit=done[0])
    assert not app.exception, app.exception
    charts = app.get("plotly_chart")
    assert charts
    for chart in charts:
        assert "%" in chart.proto.alt
        assert "<br>" not in chart.proto.alt
