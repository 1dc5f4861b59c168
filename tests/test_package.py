"""What ``pip install .`` installs: all that commands and pages need, wherever they are used."""

from __future__ import annotations

import email
import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from hatchling.builders.wheel import WheelBuilder

import cfad_core
from cfad_core.core.site import ENTRY

ROOT = Path(__file__).resolve().parent.parent
SITE = "cfad_core/site"
USE = """
from streamlit import config
from streamlit.testing.v1 import AppTest
from cfad_core.apps import cli
from cfad_core.apps.dashboard.assets import ASSETS

assert cli.main(["inspect", str(ASSETS / "sample.csv")]) == 0
config.set_option("server.address", "localhost")  # as the commands that serve pages do; else nobody is let in
app = AppTest.from_file(str(ASSETS.parent / "app.py"), default_timeout=60).run()
assert not app.exception, app.exception
print(app.title[0].value)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    (built,) = WheelBuilder(str(ROOT)).build(directory=str(tmp_path_factory.mktemp("wheel")))
    return Path(built)


def test_it_holds_the_package_the_pages_and_what_they_need(wheel: Path) -> None:
    homes = {"cfad_core": "cfad_core", **{name: f"{SITE}/{name}" for name in ("pages", "assets", ".streamlit")}}
    needed = {f"{SITE}/app.py", f"{SITE}/docs/GLOSSARY.md"}
    for folder, home in homes.items():
        paths = (path for path in (ROOT / folder).rglob("*") if path.is_file() and path.suffix != ".pyc")
        needed |= {f"{home}/{path.relative_to(ROOT / folder).as_posix()}" for path in paths}
    names = set(zipfile.ZipFile(wheel).namelist())
    assert {name for name in names if ".dist-info/" not in name} == needed


def test_it_asks_for_the_versions_that_are_tested_and_gives_the_command(wheel: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        folder = f"cfad-{cfad_core.__version__}.dist-info"
        metadata = email.message_from_bytes(files.read(f"{folder}/METADATA"))
        commands = files.read(f"{folder}/entry_points.txt").decode()
    pinned = (ROOT / "requirements.txt").read_text(encoding="utf-8").lower().split()
    assert sorted(metadata.get_all("Requires-Dist", [])) == sorted(pinned)
    assert commands.split() == ["[console_scripts]", "cfad", "=", "cfad_core.apps.cli:main"]


def test_a_clone_has_its_pages_beside_the_package() -> None:
    assert ENTRY == ROOT / "app.py"


@pytest.mark.slow
def test_its_commands_and_pages_work_in_another_folder(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as files:
        files.extractall(tmp_path / "installed")
    (tmp_path / "elsewhere").mkdir()
    environment = {**os.environ, "PYTHONPATH": str(tmp_path / "installed"), "CFAD_HOME": str(tmp_path / "home")}
    command = [sys.executable, "-P", "-c", USE]
    done = subprocess.run(
        command, cwd=tmp_path / "elsewhere", env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "800 rows, 15 columns."
    assert lines[-1].startswith("Would the detector have flagged")
