"""Stores with and without audits for pages, and quick audits for commands."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import streamlit as st

from cfad_core.apps import cli
from cfad_core.apps.cli import table_settings
from cfad_core.core.config import AuditConfig, DiscoveryConfig
from cfad_core.data.roles import ColumnRoles
from cfad_core.runs.store import Store
from tests.apps.pages import (
    FULL,
    MIXED_ROLES,
    QUICK,
    ROLES,
    THREE_ROLES,
    TWO_ROLES,
    diverse_people,
    finish,
    mixed_people,
    people,
)
from tests.apps.team import World, make_world
from tests.apps.visitors import Planted, Team, plant, signed_in
from tests.conftest import make_people


@pytest.fixture(scope="session")
def finished_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with two finished audits: all methods, labels and uncertainty; three methods and neither."""
    home = tmp_path_factory.mktemp("finished") / "home"
    unlabelled = people().drop(columns="fraud")
    with Store(home) as store:
        full = finish(store, people(), ROLES, FULL, "With labels")
        plain = finish(store, unlabelled, ColumnRoles("group", groups=("a", "b")), QUICK, "Without labels")
    return home, full, plain


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """An empty store that nobody works for."""
    monkeypatch.setenv("CFAD_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("CFAD_WORKERS", "0")
    st.cache_resource.clear()
    st.cache_data.clear()
    yield tmp_path / "home"
    st.cache_resource.clear()


@pytest.fixture
def done(home: Path, finished_home: tuple[Path, str, str]) -> tuple[str, str]:
    """The ids of the two finished audits, in a store of this test's own."""
    folder, *audits = finished_home
    shutil.copytree(folder, home)
    return audits[0], audits[1]


@pytest.fixture(scope="session")
def mixed_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A store with an audit of people with all kinds of columns, missing cells and rare levels."""
    home = tmp_path_factory.mktemp("mixed") / "home"
    with Store(home) as store:
        audit = finish(store, mixed_people(), MIXED_ROLES, QUICK.replace(subsamples=4), "Mixed")
    return home, audit


@pytest.fixture
def mixed(home: Path, mixed_home: tuple[Path, str]) -> str:
    """The id of that audit, in a store of this test's own."""
    shutil.copytree(mixed_home[0], home)
    return mixed_home[1]


@pytest.fixture(scope="session")
def groups_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str, str]:
    """A store with an audit of three groups, with labels, and one of two attributes, without."""
    home = tmp_path_factory.mktemp("groups") / "home"
    config = QUICK.replace(subsamples=4, methods=("ae", "cfad"))
    with Store(home) as store:
        three = finish(store, diverse_people(), THREE_ROLES, config, "Three groups")
        two = finish(store, diverse_people(), TWO_ROLES, config, "Two attributes")
    return home, three, two


@pytest.fixture
def several(home: Path, groups_home: tuple[Path, str, str]) -> tuple[str, str]:
    """The ids of these two audits, in a store of this test's own."""
    folder, *audits = groups_home
    shutil.copytree(folder, home)
    return audits[0], audits[1]


@pytest.fixture(scope="session")
def team_home(tmp_path_factory: pytest.TempPathFactory) -> World:
    """A team with an audit of one of them."""
    return make_world(tmp_path_factory.mktemp("team") / "home")


@pytest.fixture
def world(tmp_path: Path, team_home: World) -> World:
    """The same in a store of this test's own."""
    shutil.copytree(team_home.home, tmp_path / "home")
    return team_home.at(tmp_path / "home")


@pytest.fixture
def team_store(world: World) -> Iterator[Store]:
    with Store(world.home) as store:
        yield store


@pytest.fixture(scope="session")
def planted_home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Planted]:
    """A store with audits of ada and bob; see ``Planted``."""
    home = tmp_path_factory.mktemp("planted") / "home"
    with Store(home) as store:
        return home, plant(store)


@pytest.fixture
def planted(home: Path, planted_home: tuple[Path, Planted]) -> Planted:
    """The ids of what they have, in a store of this test's own."""
    shutil.copytree(planted_home[0], home)
    return planted_home[1]


@pytest.fixture
def team(home: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    """Who looks at the pages of a server where people sign in."""
    with signed_in(monkeypatch) as team:
        yield team


@pytest.fixture
def quick_presets(monkeypatch: pytest.MonkeyPatch, quick: AuditConfig) -> None:
    """Commands train for a moment; without --subsamples, only ``audit`` measures the uncertainty."""

    def quick_preset(_: str, **changes: Any) -> AuditConfig:
        return quick.replace(discovery=DiscoveryConfig(rounds=2, basis_size=6), **changes)

    for module in (table_settings, cli.benchmark, cli.demo):
        monkeypatch.setattr(module, "preset", quick_preset)


@pytest.fixture
def table(tmp_path: Path) -> Path:
    """500 people with a number each, as a file."""
    path = tmp_path / "people.csv"
    make_people(500, seed=0).assign(id=range(500)).to_csv(path, index=False)
    return path
