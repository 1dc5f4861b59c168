"""The methods: everything that each is known by. A new one is its module and an entry here.

A method's module has ``fit(task)`` and ``restore(arrays, known)``; it is imported when it is needed, so that this list
can be read at no cost.
"""

from __future__ import annotations

import importlib
import re
import zlib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol, cast

from cfad_core.core.cost import NOTHING, Cost
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.formats import capital
from cfad_core.core.looks import Look

if TYPE_CHECKING:
    from cfad_core.detectors.protocol import AnyDetector, Fitting, State, Surroundings


METHOD_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,39}")
_SPARE_COLORS = (9,)  # of other libraries' detectors
_RECONSTRUCTED = "how badly the detector reconstructs it"
RANK = "-rank"  # behind a method's name: its scores as ranks within the group


@dataclass(frozen=True)
class Method:
    """What a method is known by.

    Attributes
    ----------
    look : its label, and how it is drawn
    help : one sentence for people
    called : what it is called in a sentence
    module : the name of its module in this room
    stage : its name in reports of progress; None if nothing is fitted
    doing : what people read while it is fitted
    cost : how long fitting takes, by the rows that it learns from
    scoring : how long scoring takes, by the rows
    base : the method that must be fitted first
    needs_twins : whether it learns from, or scores with, people's twins
    scores_with_model : whether it needs the sensitive attribute and the causal model when it scores
    learns_both : whether it learns from people and from their twins, so that its threshold is taken from both
    remark : what to know before choosing it
    parts : what a column adds to the score, if it is a sum over columns
    is_rank : whether it is the rank of its base's scores within the group
    """

    look: Look
    help: str
    called: str
    module: str
    stage: str | None = None
    doing: str = ""
    cost: Cost = NOTHING
    scoring: Cost = NOTHING
    base: str | None = None
    needs_twins: bool = False
    scores_with_model: bool = False
    learns_both: bool = False
    remark: str = ""
    parts: str = ""
    is_rank: bool = False


# In the order in which they are fitted, and shown
METHODS: dict[str, Method] = {
    "pca": Method(
        Look("PCA", 3, "dot", "cross"),
        "Principal components; what they leave unexplained of a person is the score.",
        "principal components (PCA)",
        module="pca",
        stage="pca",
        doing="Fitting PCA",
        cost=Cost(0.02, fixed=0.02),
        scoring=Cost(0.001),
        parts="how much of it the principal components leave unexplained",
    ),
    "ocsvm": Method(
        Look("OC-SVM", 4, "longdash", "triangle-up"),
        "One-class SVM; the score is how far a person lies outside the region where normal people are.",
        "the one-class SVM",
        module="ocsvm",
        stage="ocsvm",
        doing="Fitting OC-SVM",
        cost=Cost(1.0, rows=1.2, columns=0.1),
        scoring=Cost(0.15, columns=0.1),
    ),
    "iforest": Method(
        Look("iForest", 5, "longdashdot", "triangle-down"),
        "Isolation forest; people whom random cuts set apart quickly score high.",
        "the isolation forest",
        module="iforest",
        stage="iforest",
        doing="Growing iForest",
        cost=Cost(0.09, rows=0.1, columns=0.1),
        scoring=Cost(0.13, columns=0.0),
    ),
    "ae": Method(
        Look("AE", 1, "dash", "square"),
        "A plain autoencoder trained on normal people; the worse it reconstructs a person, the higher the score.",
        "the plain detector (AE)",
        module="autoencoder",
        stage="autoencoder",
        doing="Training the plain detector",
        cost=Cost(0.4, rows=0.35),
        scoring=Cost(0.008, columns=0.7),
        parts=_RECONSTRUCTED,
    ),
    "dcfod": Method(
        Look("DCFOD", 6, "dot", "pentagon"),
        "Deep clustering, trained to hide the group; the score is the distance to the nearest cluster.",
        "deep clustering (DCFOD)",
        module="dcfod",
        stage="dcfod",
        doing="Training DCFOD",
        cost=Cost(20.0, columns=0.05, fixed=14.0),
        scoring=Cost(0.5, columns=0.0),
        remark="DCFOD has large networks: it takes longer than all others together.",
    ),
    "fairod": Method(
        Look("FairOD", 8, "dash", "hexagon"),
        "A small autoencoder, trained so that its scores do not follow the group, but keep each group's ranking.",
        "FairOD",
        module="fairod",
        stage="fairod",
        doing="Training FairOD",
        cost=Cost(7.6, rows=0.05, columns=0.0),
        scoring=Cost(0.002),
        parts=_RECONSTRUCTED,
    ),
    "fairad": Method(
        Look("FairAD", 10, "longdash", "star"),
        "Normal people of both groups are mapped to one compact cloud; the score is the distance from its centre.",
        "FairAD",
        module="fairad",
        stage="fairad",
        doing="Training FairAD",
        cost=Cost(3.6, rows=0.0, columns=0.1),
        scoring=Cost(0.006),
    ),
    "cfad": Method(
        Look("CFAD", 0, "solid", "circle"),
        "The autoencoder, tuned so that its code reveals as little as possible of whether it sees a person or their "
        "twin.",
        "the tuned detector (CFAD)",
        module="cfad",
        stage="fair fine-tuning",
        doing="Making people and their twins look alike",
        cost=Cost(0.68, rows=0.79, columns=0.6),
        scoring=Cost(0.008, columns=0.7),
        base="ae",
        needs_twins=True,
        learns_both=True,
        parts=_RECONSTRUCTED,
    ),
    "twin": Method(
        Look("Twin scoring", 2, "dashdot", "diamond"),
        "One score from CFAD's scores of a person and of their possible twins; it needs the sensitive attribute and "
        "the causal model when it scores.",
        "twin scoring",
        module="twin",
        base="cfad",
        scoring=Cost(0.03),
        needs_twins=True,
        scores_with_model=True,
        parts="how badly CFAD reconstructs it in a person and in their twin",
    ),
    "surprise": Method(
        Look("Surprise", 7, "longdash", "bowtie"),
        "How unusual every cell of a person is for somebody with the same causes; it needs the sensitive attribute and "
        "the causal model when it scores.",
        "surprise scoring",
        module="surprise",
        stage="surprise",
        doing="Measuring what is unusual about people",
        cost=Cost(0.01, columns=0.5, variables=0.7, fixed=0.01),
        scoring=Cost(0.01),
        needs_twins=True,
        scores_with_model=True,
        parts="how unusual it is for somebody with the same causes",
    ),
}


def ranked(name: str, of: Method) -> Method:
    """The ranks of a method's scores within the group."""
    label = of.look.label
    return Method(
        Look(f"{label} rank", of.look.color, "dot", "x"),
        f"The rank of {label}'s score within a person's own group: both groups have the same flag rate, but a person "
        "and their twin may have different ranks. It needs the sensitive attribute when it scores.",
        f"{of.called} as ranks within each group",
        module="rank",
        base=name,
        needs_twins=of.needs_twins,
        is_rank=True,
    )


METHODS |= {f"{name}{RANK}": ranked(name, one) for name, one in METHODS.items()}


# Names of an audit's other stages that a method could have, too
_STAGES = {
    "preparation",
    "discovery",
    "refit",
    "mechanisms",
    "judging",
    "evaluation",
    "checks",
    "uncertainty",
    "slices",
}
_STAGES |= {one.stage for one in METHODS.values() if one.stage is not None}


def plain_methods() -> list[str]:
    """Those that have scores of their own; every one of them can be ranked within the groups, too."""
    return [name for name, method in METHODS.items() if not method.is_rank]


class DetectorModule(Protocol):
    """What a method's module has."""

    def fit(self, task: Fitting) -> AnyDetector:
        """Fit the detector."""

    def restore(self, arrays: State, known: Surroundings) -> AnyDetector:
        """Read back what the detector's ``state`` wrote."""


def module_of(method: str) -> DetectorModule:
    """The module that fits and restores a method's detector."""
    entry = METHODS[method]
    module = importlib.import_module(f"cfad_core.detectors.{entry.module}")
    return cast(DetectorModule, module.Ranking(entry.base) if entry.is_rank else module)


def check_known(methods: Iterable[str]) -> None:
    """Refuse methods that do not exist.

    Raises
    ------
    InvalidConfigError
    """
    unknown = [method for method in methods if method not in METHODS]
    if unknown:
        raise InvalidConfigError(f"Unknown method: {', '.join(unknown)}. Known: {', '.join(METHODS)}.")


def check_own_name(name: str) -> None:
    """Refuse a name that a detector of somebody's own cannot have: a method's, or that of a stage of an audit.

    Raises
    ------
    InvalidConfigError
    """
    if {name.casefold(), name.casefold().replace("-", "")} & {*METHODS, *_STAGES} or not METHOD_NAME.fullmatch(name):
        raise InvalidConfigError(
            "A detector of your own needs a name of letters, digits, '_' and '-' that the audit does not use "
            f"itself ({', '.join(METHODS)}, or a stage's); got '{name}'."
        )


def needed(methods: Iterable[str]) -> list[str]:
    """These methods and those that they start from, in the order in which they are fitted."""
    wanted = set(methods)
    check_known(wanted)
    while bases := {base for method in wanted if (base := METHODS[method].base) is not None} - wanted:
        wanted |= bases
    return [method for method in METHODS if method in wanted]


def look_of(method: str) -> Look:
    """How a method is called and drawn; another library's detector gets a look that depends on its name alone."""
    if method in METHODS:
        return METHODS[method].look
    color = _SPARE_COLORS[zlib.crc32(method.encode("utf-8", "replace")) % len(_SPARE_COLORS)]
    return Look(method, color, "longdashdot", "x")


def label_of(method: str) -> str:
    """What people call a method."""
    return look_of(method).label


def called(method: str) -> str:
    """What a method is called in a sentence: ``the plain detector (AE)``."""
    return METHODS[method].called if method in METHODS else method


def title_of(method: str) -> str:
    """The same where it stands alone, as in a list to choose from: ``Plain detector (AE)``."""
    if method not in METHODS:
        return method
    return capital(METHODS[method].called.removeprefix("the "))


def help_of(method: str) -> str:
    """What a method does, in a sentence."""
    return METHODS[method].help if method in METHODS else "A detector that is not part of this program."
