"""The methods by name: what each is, how it is fitted, and how it is read back."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from cfad_core.core.config import AuditConfig, Method
from cfad_core.core.progress import Progress
from cfad_core.detectors.autoencoder import Autoencoder, fine_tune, train_autoencoder
from cfad_core.detectors.classical import (
    Forest,
    KernelMachine,
    PrincipalComponents,
    fit_iforest,
    fit_ocsvm,
    fit_pca,
)
from cfad_core.detectors.dcfod import ClusterDistance, fit_dcfod
from cfad_core.detectors.fairod import Reconstruction, fit_fairod
from cfad_core.detectors.protocol import SavedDetector, State, TrainingRows

Fitted = Mapping[str, SavedDetector]
Fit = Callable[[TrainingRows, AuditConfig, Fitted, Progress], SavedDetector]


@dataclass(frozen=True)
class Entry:
    """A method that fits a detector.

    Attributes
    ----------
    stage : its name in reports of progress
    share : of the time that an audit usually takes, beside those of the other stages
    fit : from the rows, the settings and the detectors that were fitted before it
    from_state : reads what the detector's ``state`` wrote
    base : the method that must be fitted first
    """

    stage: str
    share: float
    fit: Fit
    from_state: Callable[[State], SavedDetector]
    base: Method | None = None


def _autoencoder(rows: TrainingRows, config: AuditConfig, _: Fitted, progress: Progress) -> Autoencoder:
    return train_autoencoder(rows, config.detector, seed=config.seed, progress=progress)


def _cfad(rows: TrainingRows, config: AuditConfig, fitted: Fitted, progress: Progress) -> Autoencoder:
    plain = fitted["ae"]
    assert isinstance(plain, Autoencoder)
    return fine_tune(plain, rows.x, rows.counterfactual, config.detector, seed=config.seed, progress=progress)


def _baseline(fit: Callable[..., SavedDetector], settings: Callable[[AuditConfig], Any]) -> Fit:
    def run(rows: TrainingRows, config: AuditConfig, _: Fitted, progress: Progress) -> SavedDetector:
        return fit(rows, settings(config), seed=config.seed, progress=progress)

    return run


# In the order in which they are fitted. Twin scoring fits nothing: it scores with CFAD in both worlds.
CATALOGUE: dict[Method, Entry] = {
    "pca": Entry("pca", 0.5, _baseline(fit_pca, lambda c: c.baselines), PrincipalComponents.from_state),
    "ocsvm": Entry("ocsvm", 20.0, _baseline(fit_ocsvm, lambda c: c.baselines), KernelMachine.from_state),
    "iforest": Entry("iforest", 3.0, _baseline(fit_iforest, lambda c: c.baselines), Forest.from_state),
    "ae": Entry("autoencoder", 25.0, _autoencoder, Autoencoder.from_state),
    "dcfod": Entry("dcfod", 150.0, _baseline(fit_dcfod, lambda c: c.baselines.dcfod), ClusterDistance.from_state),
    "fairod": Entry("fairod", 50.0, _baseline(fit_fairod, lambda c: c.baselines.fairod), Reconstruction.from_state),
    "cfad": Entry("fair fine-tuning", 27.0, _cfad, Autoencoder.from_state, base="ae"),
}


def needed(methods: tuple[Method, ...]) -> list[Method]:
    """The detectors to fit for these methods, in order: those that others start from come first."""
    wanted: set[Method] = {"cfad" if method == "twin" else method for method in methods}
    wanted |= {base for method in wanted if (base := CATALOGUE[method].base) is not None}
    return [method for method in CATALOGUE if method in wanted]
