from __future__ import annotations

import json
import re
from typing import Any

import pytest

from cfad_core.core.config import (
    DEFAULT_METHODS,
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    DiscoveryConfig,
    FairadConfig,
    FairodConfig,
    Knowledge,
    preset,
)
from cfad_core.core.errors import InvalidConfigError

EVERY_METHOD = ("pca", "ocsvm", "iforest", "ae", "dcfod", "fairod", "fairad", "cfad", "twin")


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


@pytest.mark.parametrize(
    "config",
    [
        preset("fast"),
        preset("paper", seed=3),
        AuditConfig(
            knowledge=Knowledge(roots=("a",), tiers=(("a", "b"), ("c",)), forbidden=(("a", "c"),)),
            discovery=DiscoveryConfig(l1=0.5),
            detector=DetectorConfig(
                code_size=3, twin="max", closeness_weights=(0.0, 3.5), twins_learned=2, twin_draws=9
            ),
        ),
        AuditConfig(
            methods=EVERY_METHOD,
            baselines=BaselineConfig(
                iforest_trees=7,
                dcfod=DcfodConfig(widths=(4, 5)),
                fairod=FairodConfig(hidden=3, candidates=((0.1, 0.2), (0.3, 0.4))),
                fairad=FairadConfig(code_size=3, reconstruction_weight=0.5),
            ),
        ),
    ],
)
def test_settings_survive_json(config: AuditConfig) -> None:
    assert AuditConfig.from_dict(json.loads(json.dumps(config.to_dict()))) == config


def test_presets() -> None:
    assert preset("fast") == AuditConfig()
    assert AuditConfig().methods == DEFAULT_METHODS
    assert AuditConfig().scaling == "own"
    assert preset("paper").scaling == "auto"
    assert preset("paper").discovery.mode == "paper"
    paper = preset("paper").detector
    assert (paper.closeness_weights, paper.twins_learned, paper.twin_draws) == ((), 1, 1)
    assert preset("paper").baselines.dcfod.clusters == 1
    assert preset("paper").baselines.fairod.candidates == ()
    assert preset("paper", seed=7, quantile=0.9).quantile == 0.9
    with pytest.raises(InvalidConfigError, match="no preset 'best'; choose one of: fast, paper"):
        preset("best")  # type: ignore[arg-type]


def test_settings_of_earlier_audits_keep_their_scaling() -> None:
    plain = AuditConfig(scaling="auto").to_dict()
    assert plain["scaling"] == "auto"
    assert AuditConfig.from_dict(plain).scaling == "auto"


def test_settings_of_audits_with_one_twin_keep_it_and_have_no_closeness() -> None:
    new = {"closeness_weights", "twins_learned", "twin_draws"}
    plain = AuditConfig(detector=DetectorConfig(width=8)).to_dict()
    assert new <= set(plain["detector"])
    older = {name: value for name, value in plain["detector"].items() if name not in new}
    for found in (DetectorConfig.from_dict(older), AuditConfig.from_dict(plain | {"detector": older}).detector):
        assert (found.closeness_weights, found.twins_learned, found.twin_draws, found.width) == ((), 1, 1, 8)
    assert DetectorConfig.from_dict({**older, "twin_draws": 3}).twin_draws == 3
    assert DetectorConfig.from_dict(plain["detector"]) == DetectorConfig(width=8)
    assert DetectorConfig().closeness_weights == (5.0, 20.0, 50.0)
    with pytest.raises(InvalidConfigError, match=exactly("Expected an object of settings for 'detector'; got 5.")):
        DetectorConfig.from_dict(5)


def test_settings_cannot_be_changed() -> None:
    config = AuditConfig()
    with pytest.raises(AttributeError, match="immutable"):
        config.seed = 3  # type: ignore[misc]
    assert config.seed == 0


def test_other_settings_leave_these_alone() -> None:
    config = AuditConfig()
    other = config.with_detector(width=8).replace(seed=3)
    assert (other.detector.width, other.seed) == (8, 3)
    assert other.detector.replace(width=None) == config.detector
    assert (config.detector.width, config.seed) == (None, 0)


def test_settings_of_older_versions_train_as_they_did() -> None:
    older: dict[str, Any] = {"width": 256, "epochs": 30, "batch_size": 256, "learning_rate": 1e-3}
    found = DetectorConfig.from_dict(DetectorConfig().to_dict() | older)
    assert found == DetectorConfig(**older)
    fixed = preset("paper").detector
    assert {name: getattr(fixed, name) for name in older} == older


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ({"seed": "1"}, "'seed' must be a whole number from 0 to 2147483647; got '1'."),
        ({"seed": True}, "'seed' must be a whole number from 0 to 2147483647; got True."),
        ({"seed": -1}, "'seed' must be a whole number from 0 to 2147483647; got -1."),
        ({"quantile": 1.5}, "'quantile' must be a number from 0 to 1; got 1.5."),
        ({"scaling": "log"}, "'scaling' must be one of auto, own, range, raw; got 'log'."),
        ({"discovery": {"prune": 2.0}}, "'discovery.prune' must be a number from 0 to 1 or null; got 2.0."),
        ({"detector": 5}, "Expected an object of settings for 'detector'; got 5."),
        ({"detector": {"twin": "median"}}, "'detector.twin' must be one of max, mean, min or null; got 'median'."),
        ({"detector": {"width": 0}}, "'detector.width' must be a whole number from 1 to 65536 or null; got 0."),
        ({"methods": []}, "'methods' must name at least one method, each once; got ()."),
        ({"methods": ["ae", "ae"]}, "'methods' must name at least one method, each once; got ('ae', 'ae')."),
        ({"methods": [1]}, "'methods' must be a list, each entry a text; got [1]."),
        ({"baselines": {"pca_variance": 1.5}}, "'baselines.pca_variance' must be a number from 0 to 1; got 1.5."),
        ({"baselines": {"ocsvm_nu": 0.0}}, "'baselines.ocsvm_nu' must be a number from 1e-06 to 1; got 0.0."),
        (
            {"baselines": {"iforest_trees": 0}},
            "'baselines.iforest_trees' must be a whole number from 1 to 100000; got 0.",
        ),
        (
            {"baselines": {"trees": 5}},
            "Unknown setting of 'baselines': trees. Known: pca_variance, ocsvm_nu, iforest_trees, dcfod, fairod, "
            "fairad.",
        ),
        (
            {"baselines": {"dcfod": {"clusters": 0}}},
            "'baselines.dcfod.clusters' must be a whole number from 1 to 10000; got 0.",
        ),
        (
            {"baselines": {"dcfod": {"widths": [8, 0]}}},
            "'baselines.dcfod.widths' must be a list, each entry a whole number from 1 to 65536; got [8, 0].",
        ),
        (
            {"baselines": {"dcfod": {"epochs": 0}}},
            "'baselines.dcfod.epochs' must be a whole number from 1 to 1000000; got 0.",
        ),
        (
            {"baselines": {"fairod": {"batch_size": 1}}},
            "'baselines.fairod.batch_size' must be a whole number from 2 to 1000000000; got 1.",
        ),
        (
            {"baselines": {"fairod": {"learning_rate": 0.0}}},
            "'baselines.fairod.learning_rate' must be a number from 1e-08 to 10; got 0.0.",
        ),
        (
            {"baselines": {"fairod": {"candidates": [[0.5]]}}},
            "'baselines.fairod.candidates' must be a list, each entry a list of 2 (a number from 0 to 1, a number "
            "from 0 to 1e+06); got [[0.5]].",
        ),
        (
            {"baselines": {"fairod": {"candidates": [[-1, 0]]}}},
            "'baselines.fairod.candidates' must be a list, each entry a list of 2 (a number from 0 to 1, a number "
            "from 0 to 1e+06); got [[-1, 0]].",
        ),
        ({"knowledge": {"roots": "age"}}, "'knowledge.roots' must be a list, each entry a text; got 'age'."),
        (
            {"knowledge": {"required": [["a", "b", "c"]]}},
            "'knowledge.required' must be a list, each entry a list of 2 (a text, a text); got [['a', 'b', 'c']].",
        ),
        ({"knowledge": {"complete": 1}}, "'knowledge.complete' must be true or false; got 1."),
    ],
)
def test_bad_settings_are_refused(values: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidConfigError, match=exactly(message)):
        AuditConfig.from_dict(values)


def test_unknown_settings_are_refused_and_the_known_ones_listed() -> None:
    message = (
        "Unknown setting of the audit: speed. Known: preset, methods, seed, quantile, scaling, categories, "
        "test_share, bootstrap, knowledge, discovery, detector, baselines, asked."
    )
    with pytest.raises(InvalidConfigError, match=exactly(message)):
        AuditConfig.from_dict({"speed": 1})


def test_choices_are_checked_however_settings_are_made() -> None:
    message = "'discovery.mode' must be one of joint, paper; got 'papr'."
    with pytest.raises(InvalidConfigError, match=exactly(message)):
        AuditConfig(discovery=DiscoveryConfig(mode="papr"))  # type: ignore[arg-type]
    with pytest.raises(InvalidConfigError, match=exactly(message)):
        DiscoveryConfig().replace(mode="papr")
    with pytest.raises(InvalidConfigError, match=exactly("'detector' must be settings; got 5.")):
        AuditConfig(detector=5)  # type: ignore[arg-type]


PAIRS = "Subsamples come in pairs: their number must be 0, or even and at least 4; got {}."
BOUNDS = "'subsamples' must be a whole number from 0 to 200; got {}."


@pytest.mark.parametrize(
    ("subsamples", "message"), [(1, PAIRS), (2, PAIRS), (7, PAIRS), (-4, BOUNDS), (-3, BOUNDS), (1002, BOUNDS)]
)
def test_numbers_of_subsamples_that_are_refused(subsamples: int, message: str) -> None:
    with pytest.raises(InvalidConfigError, match=exactly(message.format(subsamples))):
        AuditConfig().replace(subsamples=subsamples)


def test_settings_from_before_ask_for_no_subsamples() -> None:
    values = AuditConfig().to_dict()
    assert values["bootstrap"] == 20  # its name in files
    assert AuditConfig.from_dict(values).subsamples == 20
    del values["bootstrap"]
    assert AuditConfig.from_dict(values).subsamples == 0
    with pytest.raises(InvalidConfigError, match=exactly("'bootstrap' must be a whole number from 0 to 200; got 4.5.")):
        AuditConfig.from_dict(values | {"bootstrap": 4.5})
