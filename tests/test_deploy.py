"""The container, the compose file and the unit say what the program understands, and give away nothing."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]
SETTING = re.compile(r"\bCFAD_[A-Z_]+\b(?! =)")
MENTIONED = {"CFAD_DATA_DIR", "CFAD_ADDITIVE"}  # of data sets that are fetched, and no setting


@pytest.fixture(scope="module")
def compose() -> dict[str, Any]:
    read: dict[str, Any] = yaml.safe_load((ROOT / "deploy" / "compose.yaml").read_text("utf-8"))
    return read


def settings_in(*paths: Path) -> set[str]:
    return {name for path in paths for name in SETTING.findall(path.read_text("utf-8"))}


def understood() -> set[str]:
    """The settings that the program asks the environment for, or names to a person."""
    found = settings_in(*(ROOT / "cfad_core").rglob("*.py")) - MENTIONED
    whole = {f"CFAD_{who}" for who in ("ADMINS", "AUDITORS", "VIEWERS")}  # put together in one place
    return {name for name in found if not name.endswith("_")} | whole


def test_every_setting_of_a_server_is_explained() -> None:
    assert understood() - settings_in(ROOT / "docs" / "SERVER.md") == set()


@pytest.mark.parametrize("file", ["Dockerfile", "deploy/compose.yaml", "deploy/cfad.service", "docs/SERVER.md"])
def test_no_setting_is_named_that_nobody_understands(file: str) -> None:
    assert settings_in(ROOT / file) - understood() == set()


def test_the_image_gets_all_that_the_package_is_made_of() -> None:
    lines = (ROOT / ".dockerignore").read_text("utf-8").splitlines()
    let_in = {line.removeprefix("!").partition("/")[0] for line in lines if line.startswith("!")}
    made_of = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))
    wheel = made_of["tool"]["hatch"]["build"]["targets"]["wheel"]
    needed = {*wheel["only-include"], *wheel["force-include"], made_of["project"]["readme"], "requirements.txt"}
    assert {Path(name).parts[0] for name in needed} | {"LICENSE", "pyproject.toml"} == let_in
    assert "**/secrets.toml" in lines


def test_only_the_server_is_reachable_and_from_this_computer_alone(compose: dict[str, Any]) -> None:
    services = compose["services"]
    assert {name: one["ports"] for name, one in services.items() if "ports" in one} == {
        "server": ["127.0.0.1:8501:8501"]
    }
    assert compose["networks"]["inside"]["internal"] is True
    assert [name for name, one in services.items() if "outside" in one["networks"]] == ["server"]
    assert {name for name, one in services.items() if "healthcheck" not in one} == {"server"}  # the image has its own


def test_secrets_come_as_files_and_images_have_versions(compose: dict[str, Any]) -> None:
    services = compose["services"]
    used = {secret for one in services.values() for secret in one.get("secrets", ())}
    assert used == set(compose["secrets"])
    values = [str(value) for one in services.values() for value in one.get("environment", {}).values()]
    assert not [value for value in values if "://" in value and "@" in value]
    assert {one["image"] for one in services.values()} == {"cfad:latest", services["database"]["image"]}
    assert re.fullmatch(r"postgres:\d+\.\d+-\w+", services["database"]["image"])


def test_the_image_runs_without_rights_what_is_pinned() -> None:
    lines = (ROOT / "Dockerfile").read_text("utf-8").splitlines()
    assert [line for line in lines if line.startswith("USER")] == ["USER 10001:10001"]
    assert [line for line in lines if line.startswith("ARG PYTHON")] == ["ARG PYTHON=3.11.14-slim-bookworm"]
    assert any("/healthz" in line for line in lines)
