"""Every setting of an audit: frozen, with defaults, presets and a JSON round trip."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args, get_origin

from cfad_core.errors import InvalidConfigError

Mode = Literal["joint", "paper"]
Scaling = Literal["auto", "raw", "range"]
Categories = Literal["levels", "most-frequent"]
TwinRule = Literal["mean", "max", "min"]
PresetName = Literal["fast", "paper"]
T = TypeVar("T")

PAPER_QUANTILES = (0.8, 0.85, 0.9, 0.95, 0.97, 0.98, 0.99, 0.995, 0.999)


@dataclass(frozen=True)
class Knowledge:
    """What is known of the causal graph before looking at the data. All by column name.

    Attributes
    ----------
    roots : columns without causes in the table
    tiers : ordered groups of columns; no arrow runs from a later to an earlier tier
    forbidden, required : edges ``(cause, effect)``
    sensitive_is_root : whether the sensitive column has no causes in the table
    """

    roots: tuple[str, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[tuple[str, str], ...] = ()
    required: tuple[tuple[str, str], ...] = ()
    sensitive_is_root: bool = True


@dataclass(frozen=True)
class DiscoveryConfig:
    """Phase One. ``None`` means: chosen by the mode and the scaling of the data (see ``causal.discovery``).

    Attributes
    ----------
    mode : ``joint`` learns f and A together in data space; ``paper`` is the graph autoencoder
    l1 : weight of ``||A||_1``
    prune : edges weaker than this share of the strongest (paper: of the d-th strongest) are dropped
    basis_size : B-splines that make up f (joint); ``None``: 24, or 10 for tables of more than 100 columns
    batch_size : rows a batch, of the sums (joint) and of the training (paper)
    rounds : of the augmented Lagrangian
    steps_per_round, decoder_steps, learning_rate, hidden : of the graph autoencoder (paper)
    """

    mode: Mode = "joint"
    l1: float | None = None
    prune: float | None = None
    basis_size: int | None = None
    batch_size: int = 4096
    rounds: int = 20
    steps_per_round: int = 500
    decoder_steps: int = 1500
    learning_rate: float = 1e-3
    hidden: int = 32


@dataclass(frozen=True)
class DetectorConfig:
    """Phase Two.

    Attributes
    ----------
    code_size : of the autoencoder; ``None``: three fewer than the attributes, but 2 to 32
    width : of its two hidden layers on each side
    epochs, batch_size, learning_rate : of the pre-training
    fair_epochs, fair_learning_rate : of the fine-tuning against the discriminator
    discriminator_learning_rate : of the discriminator
    fairness_weight : lambda, weight of the discriminator's loss
    reconstruct_counterfactuals : whether fine-tuning also reconstructs the counterfactual rows
    twin : how the scores of the two worlds become one
    """

    code_size: int | None = None
    width: int = 256
    epochs: int = 30
    batch_size: int = 256
    learning_rate: float = 1e-3
    fair_epochs: int = 20
    fair_learning_rate: float = 3e-4
    discriminator_learning_rate: float = 1e-3
    fairness_weight: float = 1.0
    reconstruct_counterfactuals: bool = True
    twin: TwinRule = "mean"


@dataclass(frozen=True)
class AuditConfig:
    """All settings of one audit.

    Attributes
    ----------
    seed : the same seed on the same machine gives the same result
    quantile : of the training scores, sets the threshold
    scaling : ``raw`` keeps the columns' units, ``range`` maps each column to [-3, 3], ``auto`` chooses
    categories : ``levels`` tells all values apart, ``most-frequent`` only the most frequent one from the others
    test_share : of the rows, held out when no test table is given
    """

    preset: PresetName = "fast"
    seed: int = 0
    quantile: float = 0.95
    scaling: Scaling = "auto"
    categories: Categories = "levels"
    test_share: float = 0.25
    knowledge: Knowledge = field(default_factory=Knowledge)
    discovery: DiscoveryConfig = field(default_factory=DiscoveryConfig)
    detector: DetectorConfig = field(default_factory=DetectorConfig)

    def __post_init__(self) -> None:
        _check_ranges(self)

    def with_detector(self, **changes: Any) -> AuditConfig:
        """The same with other settings of Phase Two."""
        return dataclasses.replace(self, detector=dataclasses.replace(self.detector, **changes))

    def to_dict(self) -> dict[str, Any]:
        """JSON-able; ``AuditConfig.from_dict`` gives the same settings back."""
        return dataclasses.asdict(self)

    @staticmethod
    def from_dict(values: Mapping[str, Any]) -> AuditConfig:
        """Read settings back.

        Raises
        ------
        InvalidConfigError
            If a setting is unknown or of the wrong type.
        """
        return from_plain(AuditConfig, values, "config")


def preset(name: PresetName, **changes: Any) -> AuditConfig:
    """The settings by name, with single ones changed.

    ``fast`` is the recommended way. ``paper`` follows the paper: the graph autoencoder, and fine-tuning
    that reconstructs factual rows only.
    """
    if name == "fast":
        return AuditConfig(**changes)
    if name == "paper":
        chosen: dict[str, Any] = {
            "preset": "paper",
            "discovery": DiscoveryConfig(mode="paper", batch_size=512, rounds=12),
            "detector": DetectorConfig(reconstruct_counterfactuals=False),
        }
        return AuditConfig(**(chosen | changes))
    raise InvalidConfigError(f"There is no preset '{name}'; choose one of: {', '.join(get_args(PresetName))}.")


def from_plain(kind: type[T], value: Any, where: str) -> T:
    """Rebuild a frozen dataclass from what JSON left of it."""
    return typing.cast(T, _build(kind, value, where))


def _build(kind: Any, value: Any, where: str) -> Any:
    if dataclasses.is_dataclass(kind):
        if not isinstance(value, Mapping):
            raise InvalidConfigError(f"'{where}' must be an object of settings; got {value!r}.")
        hints = typing.get_type_hints(kind)
        unknown = sorted(set(value) - set(hints))
        if unknown:
            raise InvalidConfigError(f"Unknown setting in '{where}': {', '.join(unknown)}. Known: {', '.join(hints)}.")
        built = {name: _build(hints[name], inner, f"{where}.{name}") for name, inner in value.items()}
        return kind(**built)  # type: ignore[operator]
    origin, args = get_origin(kind), get_args(kind)
    if origin is Literal:
        if value not in args:
            raise InvalidConfigError(f"'{where}' must be one of {', '.join(map(str, args))}; got {value!r}.")
        return value
    if origin is types.UnionType:
        return None if value is None else _build(next(a for a in args if a is not type(None)), value, where)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise InvalidConfigError(f"'{where}' must be a list; got {value!r}.")
        inner_kinds = [args[0]] * len(value) if args[-1] is Ellipsis else list(args)
        if len(inner_kinds) != len(value):
            raise InvalidConfigError(f"'{where}' must have {len(inner_kinds)} entries; got {value!r}.")
        return tuple(_build(k, v, where) for k, v in zip(inner_kinds, value, strict=True))
    accepted = (int, float) if kind is float else kind
    if not isinstance(value, accepted) or (kind is not bool and isinstance(value, bool)):
        raise InvalidConfigError(f"'{where}' must be of type {kind.__name__}; got {value!r}.")
    return float(value) if kind is float else value


def _check_ranges(config: AuditConfig) -> None:
    discovery, detector = config.discovery, config.detector
    choices: list[tuple[str, str, Any]] = [
        ("preset", config.preset, PresetName),
        ("scaling", config.scaling, Scaling),
        ("categories", config.categories, Categories),
        ("discovery.mode", discovery.mode, Mode),
        ("detector.twin", detector.twin, TwinRule),
    ]
    for name, choice, known in choices:
        if choice not in get_args(known):
            raise InvalidConfigError(f"'{name}' must be one of {', '.join(get_args(known))}; got {choice!r}.")
    within: list[tuple[str, float, float, float]] = [
        ("seed", config.seed, 0, 2**31 - 1),
        ("quantile", config.quantile, 0.0, 1.0),
        ("test_share", config.test_share, 0.05, 0.9),
        ("discovery.batch_size", discovery.batch_size, 1, 10**9),
        ("discovery.rounds", discovery.rounds, 1, 1000),
        ("discovery.steps_per_round", discovery.steps_per_round, 1, 10**6),
        ("discovery.decoder_steps", discovery.decoder_steps, 1, 10**6),
        ("discovery.hidden", discovery.hidden, 1, 4096),
        ("detector.width", detector.width, 1, 65536),
        ("detector.epochs", detector.epochs, 1, 10**6),
        ("detector.fair_epochs", detector.fair_epochs, 0, 10**6),
        ("detector.batch_size", detector.batch_size, 2, 10**9),
        ("detector.fairness_weight", detector.fairness_weight, 0.0, 1e6),
        ("discovery.learning_rate", discovery.learning_rate, 1e-8, 10.0),
        ("detector.learning_rate", detector.learning_rate, 1e-8, 10.0),
        ("detector.fair_learning_rate", detector.fair_learning_rate, 0.0, 10.0),
        ("detector.discriminator_learning_rate", detector.discriminator_learning_rate, 0.0, 10.0),
    ]
    if discovery.basis_size is not None:
        within.append(("discovery.basis_size", discovery.basis_size, 5, 200))
    if discovery.l1 is not None:
        within.append(("discovery.l1", discovery.l1, 0.0, 1e6))
    if discovery.prune is not None:
        within.append(("discovery.prune", discovery.prune, 0.0, 1.0))
    if detector.code_size is not None:
        within.append(("detector.code_size", detector.code_size, 1, 65536))
    for name, value, low, high in within:
        if not low <= value <= high:
            raise InvalidConfigError(f"'{name}' must lie between {low:g} and {high:g}; got {value}.")
