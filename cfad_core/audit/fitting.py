"""Phase Two: the detectors that an audit fits, and the settings that were left to the data."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cfad_core.audit.clock import Clock
from cfad_core.audit.prepare import AuditRows
from cfad_core.core.arrays import Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.errors import InvalidConfigError
from cfad_core.detectors.adapter import ForeignDetector, fit_foreign, scoring
from cfad_core.detectors.autoencoder import Autoencoder, settled
from cfad_core.detectors.protocol import AnyDetector, Fitting, TrainingRows, alike_by_range, alike_by_variance
from cfad_core.detectors.rank import fit_rank
from cfad_core.detectors.registry import METHODS, RANK, check_known, check_own_name, module_of, needed

_FAIRNESS_WEIGHT = {"variance": 1.0, "range": 0.5}  # lambda by the scale of the inputs


def settle(config: AuditConfig, data: AuditRows) -> AuditConfig:
    """The settings with what was left to the data filled in."""
    detector = config.detector
    inputs = detector.inputs or ("variance" if data.comparable_units else "range")
    weight = _FAIRNESS_WEIGHT[inputs] if detector.fairness_weight is None else detector.fairness_weight
    trained = settled(detector, data.train.shape[1] - 1)
    return config.replace(detector=trained.replace(inputs=inputs, fairness_weight=weight, twin=detector.twin or "mean"))


def used_settings(settings: DetectorConfig, fitted: Mapping[str, AnyDetector]) -> DetectorConfig:
    """The settings with the code size that the autoencoder chose, and the epochs that it learned for."""
    plain = fitted.get("ae")
    if not isinstance(plain, Autoencoder):
        return settings
    return settings.replace(code_size=plain.code_size, epochs=plain.epochs or settings.epochs)


def training_rows(data: AuditRows, twins: Floats, config: AuditConfig) -> TrainingRows:
    alike = alike_by_variance if config.detector.inputs == "variance" else alike_by_range
    normal = data.normal
    inputs = alike(normal[:, 1:], data.encoding.column_variables[1:])
    return TrainingRows(normal[:, 1:], twins, normal[:, 0], inputs)


def fit_detectors(task: Fitting, foreign: Mapping[str, Any], clock: Clock) -> dict[str, AnyDetector]:
    """The detectors of the configured methods, and the foreign ones with the ranks of theirs that were asked for."""
    fitted: dict[str, AnyDetector] = {}
    for name in needed(known_methods(task.config)):
        with clock.timing(METHODS[name].stage):
            fitted[name] = module_of(name).fit(task.after(fitted))
    for name, detector in foreign.items():
        with clock.timing(name):
            seed = task.config.seed
            fitted[name] = fit_foreign(detector, task.rows, stage=name, seed=seed, progress=task.progress)
        if f"{name}{RANK}" in task.config.methods:
            fitted[f"{name}{RANK}"] = fit_rank(fitted[name], task)
    return fitted


def known_methods(config: AuditConfig) -> list[str]:
    """The configured methods that are ours; the others rank another library's scores."""
    return [method for method in config.methods if method in METHODS]


def check_methods(config: AuditConfig, foreign: Mapping[str, Any]) -> None:
    """Refuse unknown methods, and detectors that cannot be audited, before anything long begins."""
    ranks = {f"{name}{RANK}" for name in foreign}
    check_known(method for method in config.methods if method not in ranks)
    names = [*foreign, *(() if config.asked is None else (config.asked.name,))]
    for name in names:
        check_own_name(name)
    if len(set(names)) < len(names):
        raise InvalidConfigError(f"Every detector needs a name of its own; '{names[-1]}' is there twice.")
    for detector in foreign.values():
        given = detector if isinstance(detector, ForeignDetector) else ForeignDetector(detector)
        scoring(given.estimator, given.high_means)
