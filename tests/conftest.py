"""Tiny worlds with known answers."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import psutil
import pytest
import torch

from cfad_core.audit.encoded import EncodedRows
from cfad_core.audit.result import People
from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.spline import Spline, SplineBasis
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.progress import Progress
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.public import data_folder, fetch

torch.set_num_threads(1)  # the networks here are tiny: threads would only wait for each other


@pytest.fixture(autouse=True)
def _leave_global_random_state_alone() -> Iterator[None]:
    """Library code never seeds or draws from the global generators."""
    before_torch, before_numpy = torch.get_rng_state(), _numpy_state()
    yield
    assert torch.equal(before_torch, torch.get_rng_state())
    assert before_numpy == _numpy_state()


def _numpy_state() -> tuple[bytes, int]:
    state = np.random.get_state(legacy=False)["state"]  # noqa: NPY002
    return state["key"].tobytes(), int(state["pos"])


def identity_spline(low: float = -10.0, high: float = 10.0) -> Spline:
    """f(x) = x, exactly representable by cubic splines."""
    basis = SplineBasis(low, high, 8)
    points = np.linspace(low, high, 50)
    return Spline.interpolating(basis, points, points)


@pytest.fixture
def linear_scm() -> AdditiveModel:
    """A = 2 S + u,  B = 3 A - S + u,  C = u,  with f the identity."""
    names = ("S", "A", "B", "C")
    weights = np.zeros((4, 4))
    weights[0, 1], weights[1, 2], weights[0, 2] = 2.0, 3.0, -1.0
    return AdditiveModel(names, "S", weights, np.array([0.0, 0.5, 0.0, 1.0]), identity_spline())


@pytest.fixture
def people() -> pd.DataFrame:
    """600 people: income depends on group and schooling; anomalies have an income out of line."""
    return make_people(600, seed=0)


def make_people(n: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    group = rng.choice(["a", "b"], n)
    sign = np.where(group == "b", 1.0, -1.0)
    schooling = rng.normal(0.0, 1.0, n)
    income = 1.5 * sign + schooling + rng.normal(0.0, 0.5, n)
    debt = -income + rng.normal(0.0, 0.5, n)
    odd = rng.random(n) < 0.05
    debt = np.where(odd, debt + rng.choice([-6.0, 6.0], n), debt)
    frame = {"group": group, "schooling": schooling, "income": income, "debt": debt}
    return pd.DataFrame(frame).assign(fraud=np.where(odd, "yes", "no"))


def with_rows(people: People, factual: Floats) -> People:
    """The same people, as if these were their rows."""
    return dataclasses.replace(
        people, codes=factual[:, 0], encoded=EncodedRows(factual, people.encoded.twins, people.encoded.truth)
    )


def child_processes() -> list[psutil.Process]:
    """Those that this process started to run something in; not what libraries keep for themselves."""
    found = []
    for process in psutil.Process().children():
        with suppress(psutil.Error):  # it has just ended
            found += [process] if "cfad_core.runs.child" in process.cmdline() else []
    return found


@pytest.fixture
def roles() -> ColumnRoles:
    return ColumnRoles("group", label="fraud", anomaly="yes")


@pytest.fixture
def quick() -> AuditConfig:
    """Settings for tests that need an audit, not a good one."""
    return AuditConfig(subsamples=0, detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64))


class Recorder(Progress):
    """Remembers what it heard; asks to stop when ``stop_in`` is reported."""

    def __init__(self, stop_in: str | None = None) -> None:
        self.heard: list[tuple[str, int, int, dict[str, float]]] = []
        self.stop_in = stop_in

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:
        self.heard.append((stage, step, total, dict(values)))

    def stop_requested(self) -> bool:
        return bool(self.heard) and self.heard[-1][0] == self.stop_in

    def stages(self) -> list[str]:
        return list(dict.fromkeys(stage for stage, *_ in self.heard))


@pytest.fixture(scope="session")
def cache() -> Path:
    """The folder with the real data sets, fetched once."""
    fetch()
    return data_folder()
