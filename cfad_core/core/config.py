"""Every setting of an audit: frozen, checked, with defaults, presets and a JSON round trip."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias, get_args

from msgspec import Meta, field

from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.settings import Settings

Mode: TypeAlias = Literal["joint", "paper"]
Scaling: TypeAlias = Literal["own", "auto", "raw", "range"]
Categories: TypeAlias = Literal["levels", "most-frequent"]
InputScale: TypeAlias = Literal["variance", "range"]
TwinRule: TypeAlias = Literal["mean", "max", "min"]
PresetName: TypeAlias = Literal["fast", "paper"]

Share: TypeAlias = Annotated[float, Meta(ge=0.0, le=1.0)]
Weight: TypeAlias = Annotated[float, Meta(ge=0.0, le=1e6)]
LearningRate: TypeAlias = Annotated[float, Meta(ge=1e-8, le=10.0)]
AnyLearningRate: TypeAlias = Annotated[float, Meta(ge=0.0, le=10.0)]  # 0: nothing is learned
Width: TypeAlias = Annotated[int, Meta(ge=1, le=65_536)]
Times: TypeAlias = Annotated[int, Meta(ge=1, le=10**6)]
BatchSize: TypeAlias = Annotated[int, Meta(ge=2, le=10**9)]

_FIXED_TRAINING: dict[str, Any] = {"width": 256, "epochs": 30, "batch_size": 256, "learning_rate": 1e-3}
DEFAULT_METHODS = ("ae", "cfad", "twin", "surprise")


class Knowledge(Settings, frozen=True):
    """What is known of the causal graph before looking at the data. All by column name.

    Attributes
    ----------
    roots : columns without causes in the table
    from_sensitive : columns that nothing but the sensitive column may cause
    tiers : ordered groups of columns; no arrow runs from a later to an earlier tier
    forbidden, required : edges ``(cause, effect)``
    sensitive_is_root : whether the sensitive column has no causes in the table
    complete : whether the required edges are all there are: a ready graph instead of discovery
    """

    section: ClassVar[str] = "knowledge"
    roots: tuple[str, ...] = ()
    from_sensitive: tuple[str, ...] = ()
    tiers: tuple[tuple[str, ...], ...] = ()
    forbidden: tuple[tuple[str, str], ...] = ()
    required: tuple[tuple[str, str], ...] = ()
    sensitive_is_root: bool = True
    complete: bool = False


class DiscoveryConfig(Settings, frozen=True):
    """Phase One. ``None`` means: chosen by the mode and the scaling of the data (see ``causal.discovery``).

    Attributes
    ----------
    mode : ``joint`` searches for a causal order by likelihood, and, where columns share a scale, by least squares with
        one function f for all edges A; ``paper`` is the graph autoencoder. All other settings are of the last two
    l1 : weight of ``||A||_1``
    prune : edges weaker than this share of the strongest (paper: of the d-th strongest) are dropped
    basis_size : B-splines that make up f (joint); ``None``: 24, or 10 for tables of more than 100 columns
    batch_size : rows a batch, of the sums (joint) and of the training (paper)
    rounds : of the augmented Lagrangian
    steps_per_round, decoder_steps, learning_rate, hidden : of the graph autoencoder (paper)
    """

    section: ClassVar[str] = "discovery"
    mode: Mode = "joint"
    l1: Weight | None = None
    prune: Share | None = None
    basis_size: Annotated[int, Meta(ge=5, le=200)] | None = None
    batch_size: Annotated[int, Meta(ge=1, le=10**9)] = 4096
    rounds: Annotated[int, Meta(ge=1, le=1000)] = 20
    steps_per_round: Times = 500
    decoder_steps: Times = 1500
    learning_rate: LearningRate = 1e-3
    hidden: Annotated[int, Meta(ge=1, le=4096)] = 32


class DetectorConfig(Settings, frozen=True):
    """Phase Two. ``None`` means: chosen by the data (``AuditResult.settings`` says how).

    Attributes
    ----------
    inputs : whether every variable has the same ``variance`` or the same ``range``; ``None``: the variance where all
        columns share a scale, else the range
    code_size : of the autoencoder; ``None``: as many as principal components hold 96 % of the variance
    width : of its two hidden layers on each side; ``None``: 6 for each column, from 64 to 192
    epochs : of the pre-training; ``None``: until people held out are reconstructed no better, at most 30
    batch_size : rows a step; ``None``: 256
    learning_rate : of the pre-training; ``None``: 0.001, for a width that was chosen by the columns 0.256 / width
    fair_epochs, fair_learning_rate : of the fine-tuning against the discriminator; the rate at a width of 256, and as
        many times larger as a width that was chosen by the columns is smaller
    discriminator_learning_rate : of the discriminator
    fairness_weight : lambda, weight of the discriminator's loss; ``None``: 1 for inputs of the same variance, 0.5 for
        inputs of the same range
    reconstruct_counterfactuals : whether fine-tuning also reconstructs the counterfactual rows
    closeness_weights : of the difference between a person's score and their twin's, in further steps of fine-tuning;
        which of them is the last is chosen on people who were held out. None: no such steps, as in the paper
    closeness_epochs : of each of these steps
    twins_learned : twins of everybody that fine-tuning draws from
    twin : how a person's and their twin's score become one; ``None``: ``mean``
    twin_draws : twins of everybody that scores are averaged over, where a person has several
    """

    section: ClassVar[str] = "detector"
    inputs: InputScale | None = None
    code_size: Width | None = None
    width: Width | None = None
    epochs: Times | None = None
    batch_size: BatchSize | None = None
    learning_rate: LearningRate | None = None
    fair_epochs: Annotated[int, Meta(ge=0, le=10**6)] = 12
    fair_learning_rate: AnyLearningRate = 3e-4
    discriminator_learning_rate: AnyLearningRate = 1e-3
    fairness_weight: Weight | None = None
    reconstruct_counterfactuals: bool = True
    closeness_weights: tuple[Weight, ...] = (5.0, 20.0, 50.0)
    closeness_epochs: Times = 2
    twins_learned: Annotated[int, Meta(ge=1, le=1000)] = 4
    twin: TwinRule | None = None
    twin_draws: Annotated[int, Meta(ge=1, le=1000)] = 4

    @classmethod
    def from_dict(cls, values: Any) -> DetectorConfig:
        """As ``Settings.from_dict``; settings from before there were several twins have one, and no closeness."""
        older = {"closeness_weights": [], "twins_learned": 1, "twin_draws": 1}
        return super().from_dict(older | dict(values) if isinstance(values, Mapping) else values)


class DcfodConfig(Settings, frozen=True):
    """DCFOD. The defaults are the original method's; ``preset("paper")`` has those of the CFAD authors.

    Attributes
    ----------
    clusters : K
    widths, code_size : of the encoder; the decoder mirrors it, the discriminator has the same widths
    learning_rate, centroid_learning_rate, epochs, batch_size : of the training; at least 300 steps
    """

    section: ClassVar[str] = "baselines.dcfod"
    clusters: Annotated[int, Meta(ge=1, le=10**4)] = 10
    widths: tuple[Width, ...] = (500, 500, 2000)
    code_size: Width = 64
    learning_rate: LearningRate = 1e-4
    centroid_learning_rate: AnyLearningRate = 1e-4
    epochs: Times = 10
    batch_size: BatchSize = 256


class FairodConfig(Settings, frozen=True):
    """FairOD. The defaults are the original method's; ``preset("paper")`` has what the CFAD authors' code comes to.

    Attributes
    ----------
    hidden : width of both hidden layers; ``None``: 2 for up to 100 columns, else 8
    candidates : pairs (alpha, gamma) to choose from; none: the base model alone
    steps, batch_size, learning_rate : of each training
    """

    section: ClassVar[str] = "baselines.fairod"
    hidden: Width | None = None
    candidates: tuple[tuple[Share, Weight], ...] = tuple((a, g) for a in (0.01, 0.5, 0.9) for g in (0.01, 0.1, 1.0))
    steps: Annotated[int, Meta(ge=1, le=10**7)] = 1000
    batch_size: BatchSize = 256
    learning_rate: LearningRate = 3e-3


class FairadConfig(Settings, frozen=True):
    """FairAD. The numbers were chosen here; docs/DETECTORS.md says what is known of the authors'.

    Attributes
    ----------
    code_size : of the codes; ``None``: as many as columns, 32 at most
    width : of the two hidden layers on each side
    reconstruction_weight : beta, of the mean reconstruction error beside the groups' divergences from the target
    steps, batch_size, learning_rate : of the training; half of a batch is of each group
    """

    section: ClassVar[str] = "baselines.fairad"
    code_size: Width | None = None
    width: Width = 128
    reconstruction_weight: Weight = 1.0
    steps: Annotated[int, Meta(ge=1, le=10**7)] = 1000
    batch_size: BatchSize = 256
    learning_rate: LearningRate = 1e-3


class BaselineConfig(Settings, frozen=True):
    """The methods that CFAD is compared with.

    Attributes
    ----------
    pca_variance : share of the variance that the principal components explain
    ocsvm_nu : largest share of training rows outside
    iforest_trees : of the isolation forest
    """

    section: ClassVar[str] = "baselines"
    pca_variance: Share = 0.95
    ocsvm_nu: Annotated[float, Meta(ge=1e-6, le=1.0)] = 0.5
    iforest_trees: Annotated[int, Meta(ge=1, le=10**5)] = 100
    dcfod: DcfodConfig = field(default_factory=DcfodConfig)
    fairod: FairodConfig = field(default_factory=FairodConfig)
    fairad: FairadConfig = field(default_factory=FairadConfig)


class AskedDetector(Settings, frozen=True):
    """A detector outside this program, which is asked to score people and twins.

    Attributes
    ----------
    name : what it is called, as a method
    carried : columns that the audit leaves out, but that the detector sees; twins have the person's
    people : whom it is asked about twins of, at most, by the causal models that judge
    """

    section: ClassVar[str] = "asked"
    name: str = "detector"
    carried: tuple[str, ...] = ()
    people: Annotated[int, Meta(ge=100, le=10**6)] = 10_000


class AuditConfig(Settings, frozen=True):
    """All settings of one audit.

    Attributes
    ----------
    methods : to audit, in the order in which they are shown
    seed : the same seed on the same machine gives the same result
    quantile : of the training scores, sets the threshold
    scaling : ``own`` keeps every number in its unit; ``raw`` divides all by one factor, ``range`` maps each column to
        [-3, 3], and ``auto`` chooses one of these two, as the paper's graph autoencoder needs them
    categories : ``levels`` distinguishes all values, ``most-frequent`` only the most frequent one from the others
    test_share : of the rows, held out when no test table is given
    subsamples : random halves of the rows that further causal models are learned from, to measure the uncertainty of
        the results; an even number, 0: it is not measured
    asked : a detector outside this program to audit as well, if there is one; there need not be methods then
    """

    preset: PresetName = "fast"
    methods: tuple[str, ...] = DEFAULT_METHODS
    seed: Annotated[int, Meta(ge=0, le=2**31 - 1)] = 0
    quantile: Share = 0.95
    scaling: Scaling = "own"
    categories: Categories = "levels"
    test_share: Annotated[float, Meta(ge=0.05, le=0.9)] = 0.25
    subsamples: Annotated[int, Meta(ge=0, le=200)] = field(default=20, name="bootstrap")  # its name in files
    knowledge: Knowledge = field(default_factory=Knowledge)
    discovery: DiscoveryConfig = field(default_factory=DiscoveryConfig)
    detector: DetectorConfig = field(default_factory=DetectorConfig)
    baselines: BaselineConfig = field(default_factory=BaselineConfig)
    asked: AskedDetector | None = None

    def __post_init__(self) -> None:
        Settings.__post_init__(self)
        if self.subsamples % 2 or self.subsamples == 2:
            raise InvalidConfigError(
                f"Subsamples come in pairs: their number must be 0, or even and at least 4; got {self.subsamples}."
            )
        nothing = not self.methods and self.asked is None
        if nothing or len(set(self.methods)) < len(self.methods):
            raise InvalidConfigError(f"'methods' must name at least one method, each once; got {self.methods}.")

    @classmethod
    def from_dict(cls, values: Any) -> AuditConfig:
        """As ``Settings.from_dict``; settings from before there were subsamples have none."""
        return super().from_dict({"bootstrap": 0} | dict(values) if isinstance(values, Mapping) else values)

    def with_detector(self, **changes: Any) -> AuditConfig:
        """The same with other settings of Phase Two."""
        return self.replace(detector=self.detector.replace(**changes))


def preset(name: PresetName, **changes: Any) -> AuditConfig:
    """The settings by name, with single ones changed.

    ``fast`` is the recommended way. ``paper`` follows the paper: the graph autoencoder on columns of a comparable
    size, networks of a fixed width that learn for a fixed number of epochs, fine-tuning that reconstructs factual rows
    only, DCFOD with one cluster, and FairOD without its fairness terms (in the authors' code they have no gradient, so
    that the base model is what is trained).
    """
    if name == "fast":
        return AuditConfig(**changes)
    if name == "paper":
        chosen: dict[str, Any] = {
            "preset": "paper",
            "scaling": "auto",
            "discovery": DiscoveryConfig(mode="paper", batch_size=512, rounds=12),
            "detector": DetectorConfig(
                **_FIXED_TRAINING,
                reconstruct_counterfactuals=False,
                closeness_weights=(),
                twins_learned=1,
                twin_draws=1,
            ),
            "baselines": BaselineConfig(
                dcfod=DcfodConfig(clusters=1, learning_rate=1e-5, epochs=90), fairod=FairodConfig(candidates=())
            ),
        }
        return AuditConfig(**(chosen | changes))
    raise InvalidConfigError(f"There is no preset '{name}'; choose one of: {', '.join(get_args(PresetName))}.")
