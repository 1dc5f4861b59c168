"""Every setting of an audit: frozen, with defaults, presets and a JSON round trip."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar, get_args, get_origin

from cfad_core.core.errors import InvalidConfigError

Mode = Literal["joint", "paper"]
Scaling = Literal["auto", "raw", "range"]
Categories = Literal["levels", "most-frequent"]
Method = Literal["pca", "ocsvm", "iforest", "ae", "dcfod", "fairod", "cfad", "twin"]
InputScale = Literal["variance", "range"]
TwinRule = Literal["mean", "max", "min"]
PresetName = Literal["fast", "paper"]
T = TypeVar("T")

METHODS: tuple[Method, ...] = get_args(Method)
METHOD_NAMES: dict[str, str] = {
    "pca": "PCA",
    "ocsvm": "OC-SVM",
    "iforest": "iForest",
    "ae": "AE",
    "dcfod": "DCFOD",
    "fairod": "FairOD",
    "cfad": "CFAD",
    "twin": "Twin",
}
OURS: tuple[Method, ...] = ("ae", "cfad", "twin")
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
    complete : whether the required edges are all there are: a ready graph instead of discovery
    """

    roots: tuple[str, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[tuple[str, str], ...] = ()
    required: tuple[tuple[str, str], ...] = ()
    sensitive_is_root: bool = True
    complete: bool = False


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
    """Phase Two. ``None`` means: chosen by the data (``AuditResult.detector`` says how).

    Attributes
    ----------
    inputs : whether every variable has the same ``variance`` or the same ``range``; ``None``: the variance where all
        columns share a scale, else the range
    code_size : of the autoencoder; ``None``: as many as principal components hold 96 % of the variance
    width : of its two hidden layers on each side
    epochs, batch_size, learning_rate : of the pre-training
    fair_epochs, fair_learning_rate : of the fine-tuning against the discriminator
    discriminator_learning_rate : of the discriminator
    fairness_weight : lambda, weight of the discriminator's loss; ``None``: 1 for inputs of the same variance, 0.5 for
        inputs of the same range
    reconstruct_counterfactuals : whether fine-tuning also reconstructs the counterfactual rows
    twin : how the scores of the two worlds become one; ``None``: ``min`` if the sensitive attribute affects a category,
        else ``mean``
    """

    inputs: InputScale | None = None
    code_size: int | None = None
    width: int = 256
    epochs: int = 30
    batch_size: int = 256
    learning_rate: float = 1e-3
    fair_epochs: int = 12
    fair_learning_rate: float = 3e-4
    discriminator_learning_rate: float = 1e-3
    fairness_weight: float | None = None
    reconstruct_counterfactuals: bool = True
    twin: TwinRule | None = None


@dataclass(frozen=True)
class DcfodConfig:
    """DCFOD. The defaults are the original method's; ``preset("paper")`` has those of the CFAD authors.

    Attributes
    ----------
    clusters : K
    widths, code_size : of the encoder; the decoder mirrors it, the discriminator has the same widths
    learning_rate, centroid_learning_rate, epochs, batch_size : of the training; at least 300 steps
    """

    clusters: int = 10
    widths: tuple[int, ...] = (500, 500, 2000)
    code_size: int = 64
    learning_rate: float = 1e-4
    centroid_learning_rate: float = 1e-4
    epochs: int = 10
    batch_size: int = 256


@dataclass(frozen=True)
class FairodConfig:
    """FairOD. The defaults are the original method's; ``preset("paper")`` has what the CFAD authors' code comes to.

    Attributes
    ----------
    hidden : width of both hidden layers; ``None``: 2 for up to 100 columns, else 8
    candidates : pairs (alpha, gamma) to choose from; none: the base model alone
    steps, batch_size, learning_rate : of each training
    """

    hidden: int | None = None
    candidates: tuple[tuple[float, float], ...] = tuple((a, g) for a in (0.01, 0.5, 0.9) for g in (0.01, 0.1, 1.0))
    steps: int = 1000
    batch_size: int = 256
    learning_rate: float = 3e-3


@dataclass(frozen=True)
class BaselineConfig:
    """The methods that CFAD is compared with.

    Attributes
    ----------
    pca_variance : share of the variance that the principal components explain
    ocsvm_nu : largest share of training rows outside
    iforest_trees : of the isolation forest
    """

    pca_variance: float = 0.95
    ocsvm_nu: float = 0.5
    iforest_trees: int = 100
    dcfod: DcfodConfig = field(default_factory=DcfodConfig)
    fairod: FairodConfig = field(default_factory=FairodConfig)


@dataclass(frozen=True)
class AuditConfig:
    """All settings of one audit.

    Attributes
    ----------
    methods : to audit, in the order in which they are shown
    seed : the same seed on the same machine gives the same result
    quantile : of the training scores, sets the threshold
    scaling : ``raw`` keeps the columns' units, ``range`` maps each column to [-3, 3], ``auto`` chooses
    categories : ``levels`` tells all values apart, ``most-frequent`` only the most frequent one from the others
    test_share : of the rows, held out when no test table is given
    bootstrap : graphs learned beside the audit's own, to tell how sure it is; an even number, 0: it is not told
    """

    preset: PresetName = "fast"
    methods: tuple[Method, ...] = OURS
    seed: int = 0
    quantile: float = 0.95
    scaling: Scaling = "auto"
    categories: Categories = "levels"
    test_share: float = 0.25
    bootstrap: int = 20
    knowledge: Knowledge = field(default_factory=Knowledge)
    discovery: DiscoveryConfig = field(default_factory=DiscoveryConfig)
    detector: DetectorConfig = field(default_factory=DetectorConfig)
    baselines: BaselineConfig = field(default_factory=BaselineConfig)

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
        if isinstance(values, Mapping):  # settings from before there was a bootstrap
            values = {"bootstrap": 0} | dict(values)
        return from_plain(AuditConfig, values, "config")


def preset(name: PresetName, **changes: Any) -> AuditConfig:
    """The settings by name, with single ones changed.

    ``fast`` is the recommended way. ``paper`` follows the paper: the graph autoencoder, fine-tuning that reconstructs
    factual rows only, DCFOD with one cluster, and FairOD without its fairness terms (in the authors' code they have no
    gradient, so that the base model is what is trained).
    """
    if name == "fast":
        return AuditConfig(**changes)
    if name == "paper":
        chosen: dict[str, Any] = {
            "preset": "paper",
            "discovery": DiscoveryConfig(mode="paper", batch_size=512, rounds=12),
            "detector": DetectorConfig(reconstruct_counterfactuals=False),
            "baselines": BaselineConfig(
                dcfod=DcfodConfig(clusters=1, learning_rate=1e-5, epochs=90), fairod=FairodConfig(candidates=())
            ),
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
    if origin in (types.UnionType, typing.Union):  # of a Literal it is the second
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
    discovery, detector, baselines = config.discovery, config.detector, config.baselines
    choices: list[tuple[str, str, Any]] = [
        ("preset", config.preset, PresetName),
        ("scaling", config.scaling, Scaling),
        ("categories", config.categories, Categories),
        ("discovery.mode", discovery.mode, Mode),
        *(("methods", method, Method) for method in config.methods),
    ]
    if detector.inputs is not None:
        choices.append(("detector.inputs", detector.inputs, InputScale))
    if detector.twin is not None:
        choices.append(("detector.twin", detector.twin, TwinRule))
    for name, choice, known in choices:
        if choice not in get_args(known):
            raise InvalidConfigError(f"'{name}' must be one of {', '.join(get_args(known))}; got {choice!r}.")
    within: list[tuple[str, float, float, float]] = [
        ("seed", config.seed, 0, 2**31 - 1),
        ("quantile", config.quantile, 0.0, 1.0),
        ("test_share", config.test_share, 0.05, 0.9),
        ("bootstrap", config.bootstrap, 0, 200),
        ("discovery.batch_size", discovery.batch_size, 1, 10**9),
        ("discovery.rounds", discovery.rounds, 1, 1000),
        ("discovery.steps_per_round", discovery.steps_per_round, 1, 10**6),
        ("discovery.decoder_steps", discovery.decoder_steps, 1, 10**6),
        ("discovery.hidden", discovery.hidden, 1, 4096),
        ("detector.width", detector.width, 1, 65536),
        ("detector.epochs", detector.epochs, 1, 10**6),
        ("detector.fair_epochs", detector.fair_epochs, 0, 10**6),
        ("detector.batch_size", detector.batch_size, 2, 10**9),
        ("discovery.learning_rate", discovery.learning_rate, 1e-8, 10.0),
        ("detector.learning_rate", detector.learning_rate, 1e-8, 10.0),
        ("detector.fair_learning_rate", detector.fair_learning_rate, 0.0, 10.0),
        ("detector.discriminator_learning_rate", detector.discriminator_learning_rate, 0.0, 10.0),
        ("baselines.pca_variance", baselines.pca_variance, 0.0, 1.0),
        ("baselines.ocsvm_nu", baselines.ocsvm_nu, 1e-6, 1.0),
        ("baselines.iforest_trees", baselines.iforest_trees, 1, 10**5),
        ("baselines.dcfod.clusters", baselines.dcfod.clusters, 1, 10**4),
        ("baselines.dcfod.code_size", baselines.dcfod.code_size, 1, 65536),
        *(("baselines.dcfod.widths", width, 1, 65536) for width in baselines.dcfod.widths),
        *(("baselines.fairod.candidates", alpha, 0.0, 1.0) for alpha, _ in baselines.fairod.candidates),
        *(("baselines.fairod.candidates", gamma, 0.0, 1e6) for _, gamma in baselines.fairod.candidates),
        ("baselines.dcfod.centroid_learning_rate", baselines.dcfod.centroid_learning_rate, 0.0, 10.0),
    ]
    within += [
        ("baselines.dcfod.epochs", baselines.dcfod.epochs, 1, 10**6),
        ("baselines.fairod.steps", baselines.fairod.steps, 1, 10**7),
    ]
    for name, training in (("dcfod", baselines.dcfod), ("fairod", baselines.fairod)):
        within += [
            (f"baselines.{name}.batch_size", training.batch_size, 2, 10**9),
            (f"baselines.{name}.learning_rate", training.learning_rate, 1e-8, 10.0),
        ]
    if config.bootstrap % 2 or config.bootstrap == 2:
        raise InvalidConfigError(
            f"'bootstrap' must be 0 or an even number from 4 on (graphs come in pairs); got {config.bootstrap}."
        )
    if not config.methods or len(set(config.methods)) < len(config.methods):
        raise InvalidConfigError(f"'methods' must name each method once, and one at least; got {config.methods}.")
    if discovery.basis_size is not None:
        within.append(("discovery.basis_size", discovery.basis_size, 5, 200))
    if discovery.l1 is not None:
        within.append(("discovery.l1", discovery.l1, 0.0, 1e6))
    if discovery.prune is not None:
        within.append(("discovery.prune", discovery.prune, 0.0, 1.0))
    if detector.fairness_weight is not None:
        within.append(("detector.fairness_weight", detector.fairness_weight, 0.0, 1e6))
    if baselines.fairod.hidden is not None:
        within.append(("baselines.fairod.hidden", baselines.fairod.hidden, 1, 65536))
    if detector.code_size is not None:
        within.append(("detector.code_size", detector.code_size, 1, 65536))
    for name, value, low, high in within:
        if not low <= value <= high:
            raise InvalidConfigError(f"'{name}' must lie between {low:g} and {high:g}; got {value}.")
