from __future__ import annotations

import dataclasses
import json

import pytest

from cfad_core.core.config import (
    METHODS,
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    DiscoveryConfig,
    FairodConfig,
    Knowledge,
    preset,
)
from cfad_core.core.errors import AuditCancelled, InvalidConfigError
from cfad_core.core.progress import Progress
from tests.conftest import Recorder


@pytest.mark.parametrize(
    "config",
    [
        preset("fast"),
        preset("paper", seed=3),
        AuditConfig(
            knowledge=Knowledge(roots=("a",), tiers=(("a", "b"), ("c",)), forbidden=(("a", "c"),)),
            discovery=DiscoveryConfig(l1=0.5),
            detector=DetectorConfig(code_size=3, twin="max"),
        ),
        AuditConfig(
            methods=METHODS,
            baselines=BaselineConfig(
                iforest_trees=7,
                dcfod=DcfodConfig(widths=(4, 5)),
                fairod=FairodConfig(hidden=3, candidates=((0.1, 0.2), (0.3, 0.4))),
            ),
        ),
    ],
)
def test_settings_survive_json(config: AuditConfig) -> None:
    assert AuditConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_presets() -> None:
    assert preset("fast") == AuditConfig()
    assert preset("paper").discovery.mode == "paper"
    assert preset("paper").baselines.dcfod.clusters == 1
    assert preset("paper").baselines.fairod.candidates == ()
    assert preset("paper", seed=7, quantile=0.9).quantile == 0.9
    with pytest.raises(InvalidConfigError, match="no preset 'best'; choose one of: fast, paper"):
        preset("best")  # type: ignore[arg-type]


def test_settings_cannot_be_changed() -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        AuditConfig().seed = 3  # type: ignore[misc]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"speed": 1}, "Unknown setting in 'config': speed. Known: preset, methods, seed"),
        ({"seed": "1"}, "'config.seed' must be of type int; got '1'"),
        ({"seed": True}, "'config.seed' must be of type int; got True"),
        ({"seed": -1}, "'seed' must lie between 0 and .*; got -1"),
        ({"quantile": 1.5}, "'quantile' must lie between 0 and 1; got 1.5"),
        ({"scaling": "log"}, "'config.scaling' must be one of auto, raw, range; got 'log'"),
        ({"discovery": {"prune": 2.0}}, "'discovery.prune' must lie between 0 and 1"),
        ({"detector": 5}, "'config.detector' must be an object of settings; got 5"),
        ({"detector": {"twin": "median"}}, "twin' must be one of mean, max, min; got 'median'"),
        ({"methods": ["ae", "svm"]}, "'config.methods' must be one of pca, ocsvm, .*, twin; got 'svm'"),
        ({"methods": []}, r"'methods' must name each method once, and one at least; got \(\)"),
        ({"methods": ["ae", "ae"]}, r"'methods' must name each method once, and one at least; got \('ae', 'ae'\)"),
        ({"baselines": {"pca_variance": 1.5}}, "'baselines.pca_variance' must lie between 0 and 1; got 1.5"),
        ({"baselines": {"ocsvm_nu": 0.0}}, "'baselines.ocsvm_nu' must lie between 1e-06 and 1; got 0.0"),
        ({"baselines": {"iforest_trees": 0}}, "'baselines.iforest_trees' must lie between 1 and 100000; got 0"),
        ({"baselines": {"trees": 5}}, "Unknown setting in 'config.baselines': trees. Known: pca_variance, ocsvm_nu"),
        ({"baselines": {"dcfod": {"clusters": 0}}}, "'baselines.dcfod.clusters' must lie between 1 and 10000; got 0"),
        ({"baselines": {"dcfod": {"widths": [8, 0]}}}, "'baselines.dcfod.widths' must lie between 1 and 65536; got 0"),
        ({"baselines": {"dcfod": {"epochs": 0}}}, "'baselines.dcfod.epochs' must lie between 1 and .*; got 0"),
        (
            {"baselines": {"fairod": {"batch_size": 1}}},
            "'baselines.fairod.batch_size' must lie between 2 and .*; got 1",
        ),
        ({"baselines": {"fairod": {"learning_rate": 0.0}}}, "'baselines.fairod.learning_rate' must lie between 1e-08"),
        (
            {"baselines": {"fairod": {"candidates": [[0.5]]}}},
            "'config.baselines.fairod.candidates' must have 2 entries",
        ),
        ({"baselines": {"fairod": {"candidates": [[-1, 0]]}}}, "'baselines.fairod.candidates' must lie between 0 and"),
        ({"knowledge": {"roots": "age"}}, "'config.knowledge.roots' must be a list; got 'age'"),
        ({"knowledge": {"required": [["a", "b", "c"]]}}, "must have 2 entries"),
    ],
)
def test_bad_settings_are_refused(values: dict, message: str) -> None:
    with pytest.raises(InvalidConfigError, match=message):
        AuditConfig.from_dict(values)


def test_choices_are_checked_however_settings_are_made() -> None:
    with pytest.raises(InvalidConfigError, match="'discovery.mode' must be one of joint, paper; got 'papr'"):
        AuditConfig(discovery=DiscoveryConfig(mode="papr"))  # type: ignore[arg-type]


def test_progress_hears_and_stops() -> None:
    Progress().tick("stage", 1, 2, loss=0.5)
    recorder = Recorder()
    recorder.tick("stage", 1, 2, loss=0.5)
    assert recorder.heard == [("stage", 1, 2, {"loss": 0.5})]
    with pytest.raises(AuditCancelled, match="cancelled during 'stage'"):
        Recorder(stop_in="stage").tick("stage", 1, 2)
