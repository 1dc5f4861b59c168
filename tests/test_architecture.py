"""Data walks one way: a room may use the rooms above it, never those below."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# From top to bottom. A module may import modules of its own room and of the rooms above it.
ROOMS = [
    ["errors"],
    ["config", "progress", "files"],
    ["training"],
    ["data"],
    ["causal", "detectors", "evaluation"],
    ["result"],
    ["audit"],
    ["benchmark"],
    ["store"],
    ["jobs"],
    ["figures"],
    ["report"],
    ["cli", "dashboard"],
    ["__main__"],
]
FLOOR = {name: level for level, room in enumerate(ROOMS) for name in room}
# Detectors get counterfactual arrays: they do not know the SCM. Evaluation sees scores only.
STRANGERS = {"causal": {"detectors", "evaluation", "data"}, "detectors": {"causal", "evaluation", "data"}}
STRANGERS["evaluation"] = {"causal", "detectors", "data"}
HOMES = {"streamlit": {"dashboard"}, "plotly": {"figures", "report"}}
HEAVY = {"torch", "pandas", "scipy", "sklearn", "pyarrow", "plotly", "streamlit", "dask", "networkx"}


def modules() -> list[Path]:
    return sorted((ROOT / "cfad_core").rglob("*.py"))


def room_of(path: Path) -> str:
    parts = path.relative_to(ROOT / "cfad_core").with_suffix("").parts
    return parts[0]


def imports(path: Path) -> set[str]:
    found: set[str] = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            found.add(str(node.module))
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards(path: Path) -> None:
    room = room_of(path)
    if room == "__init__":
        return
    assert room in FLOOR, f"{path} belongs to no room; give it one in ROOMS"
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "cfad_core" and rest and rest[0] in FLOOR:
            assert FLOOR[rest[0]] <= FLOOR[room], f"{path} looks down at {name}"
            assert rest[0] not in STRANGERS.get(room, set()), f"{path} must not know {name}"
        if top in HOMES:
            assert room in HOMES[top], f"{path} must not use {top}"


def test_the_rule_can_fail(tmp_path: Path) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text("from cfad_core.audit import run_audit\nimport streamlit\n")
    assert imports(bad) == {"cfad_core.audit", "streamlit"}
    assert FLOOR["audit"] > FLOOR["data"]


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, cfad_core, cfad_core.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not HEAVY & set(loaded.split())


def test_every_public_name_can_be_imported() -> None:
    import cfad_core

    for name in cfad_core.__all__:
        assert getattr(cfad_core, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cfad_core.nothing
