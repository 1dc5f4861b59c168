"""Data walks one way: a room may use the rooms above it, never those below."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import cfad_core

ROOT = Path(__file__).resolve().parent.parent

# From top to bottom. A module may import modules of its own room and of the rooms above it.
ROOMS = [
    ["errors"],
    ["config", "progress", "files"],
    ["published"],
    ["training", "processes", "threads"],
    ["data"],
    ["causal", "detectors", "evaluation"],
    ["uncertainty", "verdict"],
    ["measuring"],
    ["result"],
    ["notices"],
    ["audit"],
    ["benchmark"],
    ["experiments"],
    ["database", "migrations"],
    ["store"],
    ["archive"],
    ["jobs"],
    ["reproduction"],
    ["figures"],
    ["report"],
    ["reproduction_report"],
    ["cli", "dashboard"],
    ["__main__"],
]
FLOOR = {name: level for level, room in enumerate(ROOMS) for name in room}
# Detectors get counterfactual arrays: they do not know the SCM. Evaluation sees scores only.
STRANGERS = {"causal": {"detectors", "evaluation", "data"}, "detectors": {"causal", "evaluation", "data"}}
STRANGERS["evaluation"] = {"causal", "detectors", "data"}
HOMES = {"streamlit": {"dashboard"}, "plotly": {"figures", "report"}, "kaleido": {"figures"}}
HEAVY = {
    "torch",
    "pandas",
    "scipy",
    "sklearn",
    "pyarrow",
    "plotly",
    "kaleido",
    "streamlit",
    "dask",
    "networkx",
    "sqlalchemy",
    "alembic",
    "distributed",
}


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
            if node.module == "cfad_core":  # names of the package itself are modules, or stand for them
                found.update(cfad_core._HOMES.get(alias.name, f"cfad_core.{alias.name}") for alias in node.names)
    return found


def complaints(room: str, path: Path) -> list[str]:
    found = []
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "cfad_core" and rest and rest[0] in FLOOR:
            if FLOOR[rest[0]] > FLOOR[room]:
                found.append(f"{path} looks down at {name}")
            if rest[0] in STRANGERS.get(room, set()):
                found.append(f"{path} must not know {name}")
        if top in HOMES and room not in HOMES[top]:
            found.append(f"{path} must not use {top}")
    return found


@pytest.mark.parametrize("path", modules(), ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_point_upwards(path: Path) -> None:
    room = room_of(path)
    if room != "__init__":
        assert room in FLOOR, f"{path} belongs to no room; give it one in ROOMS"
        assert complaints(room, path) == []


@pytest.mark.parametrize(
    "line",
    [
        "from cfad_core.audit import run_audit",
        "from cfad_core import run_audit",
        "from cfad_core import audit",
        "import cfad_core.audit",
        "import streamlit",
        "    from plotly import graph_objects",
    ],
)
def test_the_rule_can_fail(tmp_path: Path, line: str) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(f"def f():\n    {line.strip()}\n")
    assert len(complaints("data", bad)) == 1


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, cfad_core, cfad_core.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not HEAVY & set(loaded.split())


def test_every_public_name_can_be_imported() -> None:
    for name in cfad_core.__all__:
        assert getattr(cfad_core, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cfad_core.nothing
