"""Data walks one way: a room may use the rooms above it, never those below or beside it."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import networkx as nx
import pytest

import cfad_core

ROOT = Path(__file__).resolve().parent.parent

# By room, the rooms that it may use besides itself
DATA = {"core", "data"}
AUDIT = {*DATA, "causal", "detectors", "evaluation", "audit"}
ROOMS: dict[str, set[str]] = {
    "core": set(),
    "data": {"core"},
    "causal": {"core"},
    "detectors": {"core"},
    "evaluation": {"core"},
    "audit": {*AUDIT, "figures"},  # an audit shows itself in a notebook
    "figures": {"core", "evaluation"},
    "runs": AUDIT,
    "paper": {*AUDIT, "runs", "figures"},
    "report": {*AUDIT, "runs", "figures"},
    "apps": {*AUDIT, "runs", "figures", "paper", "report"},
    "client": DATA,  # of a server elsewhere: it computes nothing
}
# By library, the only places that may import it
HOMES = {
    **{"streamlit": "apps/dashboard", "plotly": "figures", "kaleido": "figures", "sqlalchemy": "runs"},
    **{"fastapi": "apps/api", "pydantic": "apps/api", "httpx": "client"},
    **{"onnx": "runs", "onnxruntime": "runs", "weasyprint": "report", "jinja2": "report"},
}
HEAVY = {
    *{"torch", "pandas", "scipy", "sklearn", "pyarrow", "plotly", "kaleido", "streamlit", "networkx"},
    *{"fastapi", "pydantic", "httpx", "uvicorn"},
    *{"dask", "distributed", "sqlalchemy", "alembic", "fairlearn", "onnx", "onnxruntime", "weasyprint"},
}
LONGEST_FUNCTION, LONGEST_MODULE, LONGEST_PAGE = 40, 400, 150  # lines; of a function without its docstring
SOURCES = sorted(
    path for path in (ROOT / "cfad_core").rglob("*.py") if "versions" not in path.parts
)  # migrations are data
PAGES = [ROOT / "app.py", *sorted((ROOT / "pages").glob("*.py"))]


def place_of(path: Path) -> str:
    """Where a module is in the house: ``causal/discovery/joint``."""
    return path.relative_to(ROOT / "cfad_core").with_suffix("").as_posix()


def imports(path: Path, *, for_types: bool = True) -> set[str]:
    """The modules that a module imports, by default also those for types alone."""
    found: set[str] = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in ast.walk(tree) if for_types else _at_run_time(tree):
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}: import by full name"
            found.add(str(node.module))
            if node.module == "cfad_core":  # names of the package itself stand for modules
                found.update(cfad_core._HOMES.get(alias.name, f"cfad_core.{alias.name}") for alias in node.names)
    return found


def _at_run_time(node: ast.AST) -> Iterator[ast.AST]:
    """The node and all below it, but for what stands under ``if TYPE_CHECKING``."""
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from _at_run_time(child)


def complaints(place: str, path: Path) -> list[str]:
    """What a module at a place of the house imports and must not."""
    found, room = [], place.partition("/")[0]
    for name in imports(path):
        top, *rest = name.split(".")
        if top == "cfad_core" and rest and rest[0] in ROOMS and rest[0] not in {room, *ROOMS[room]}:
            found.append(f"{place} must not use {name}")
        if top in HOMES and not place.startswith(HOMES[top]):
            found.append(f"{place} must not use {top}")
    return found


@pytest.mark.parametrize("path", SOURCES, ids=place_of)
def test_imports_point_upwards(path: Path) -> None:
    place = place_of(path)
    if place not in ("__init__", "__main__"):
        assert place.partition("/")[0] in ROOMS, f"{place} belongs to no room"
        assert complaints(place, path) == []


def test_every_room_is_there() -> None:
    folders = {path.name for path in (ROOT / "cfad_core").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(ROOMS)


def test_tests_mirror_the_rooms() -> None:
    folders = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir() and path.name != "__pycache__"}
    assert folders == set(ROOMS)


@pytest.mark.slow
def test_no_module_needs_itself() -> None:
    """No cycles of imports, also of those inside functions; those for types alone do not count."""
    modules = {f"cfad_core.{place_of(path)}".replace("/", ".").removesuffix(".__init__"): path for path in SOURCES}
    graph: nx.DiGraph[str] = nx.DiGraph()
    for name, path in modules.items():
        if name != "cfad_core":  # it names all, and loads what is asked for
            graph.add_edges_from((name, other) for other in imports(path, for_types=False) & set(modules) - {name})
    assert [sorted(cycle) for cycle in nx.simple_cycles(graph)] == []


@pytest.mark.parametrize(
    "line",
    [
        "from cfad_core.audit.run import run_audit",
        "from cfad_core import run_audit",
        "from cfad_core import audit",
        "import cfad_core.audit.run",
        "import streamlit",
        "    from plotly import graph_objects",
    ],
)
def test_the_rule_can_fail(tmp_path: Path, line: str) -> None:
    bad = tmp_path / "bad.py"
    bad.write_text(f"def f():\n    {line.strip()}\n")
    assert len(complaints("data/bad", bad)) == 1


def test_importing_the_package_loads_nothing_heavy() -> None:
    code = "import sys, cfad_core, cfad_core.apps.cli; print(*sys.modules)"
    loaded = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT).stdout
    assert not HEAVY & set(loaded.split())


def test_every_public_name_can_be_imported() -> None:
    for name in cfad_core.__all__:
        assert getattr(cfad_core, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = cfad_core.nothing


def _lines(node: ast.stmt) -> int:
    assert node.end_lineno is not None
    return node.end_lineno - node.lineno + 1


def functions(path: Path) -> list[tuple[str, int]]:
    """The functions of a module, and how many lines each has without its docstring."""
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.FunctionDef):
            first = node.body[0]
            text = _lines(first) if ast.get_docstring(node) is not None else 0
            found.append((node.name, _lines(node) - text))
    return found


@pytest.mark.parametrize("path", [*SOURCES, *PAGES], ids=lambda path: path.relative_to(ROOT).as_posix())
def test_functions_and_modules_are_short(path: Path) -> None:
    most = LONGEST_PAGE if path in PAGES else LONGEST_MODULE
    assert len(path.read_text(encoding="utf-8").splitlines()) <= most
    assert [(name, lines) for name, lines in functions(path) if lines > LONGEST_FUNCTION] == []


def test_every_file_is_taken_away_through_the_log() -> None:
    """Who offers one by Streamlit's own button would keep it from the log, and from being asked for again."""
    users = {
        path.name
        for path in [*SOURCES, *PAGES]
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Attribute) and node.attr in ("download_button", "link_button")
    }
    assert users == {"taking.py"}
