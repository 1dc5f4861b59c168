"""Anybody's detector: whatever has ``fit`` and ``score_samples`` or ``decision_function``.

Libraries disagree on the sign. scikit-learn's outlier detectors and density models score normal rows high, PyOD's
score anomalies high. The adapter knows both and turns the scores once; of anything else the user must say it.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidConfigError, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.detectors.protocol import TrainingRows

Meaning = Literal["anomalous", "normal"]


@dataclass(frozen=True)
class ForeignDetector:
    """Scores with another library's detector.

    Attributes
    ----------
    estimator : has ``fit``, and ``score_samples`` or ``decision_function``
    high_means : what a high score means; None: recognised by the estimator's library
    """

    estimator: Any
    high_means: Meaning | None = None

    def anomaly_score(self, x: Floats) -> Floats:
        """Higher = more anomalous, whatever the library says."""
        score, meaning = scoring(self.estimator, self.high_means)
        found = np.asarray(score(x), dtype=np.float64)
        if found.shape != (len(x),) or not np.isfinite(found).all():
            raise InvalidDataError(
                f"{type(self.estimator).__name__} must give one finite score for each of the {len(x)} rows; got "
                f"an array of shape {found.shape}"
                + ("." if found.shape != (len(x),) else f" with {int((~np.isfinite(found)).sum())} infinite or nan.")
            )
        return found if meaning == "anomalous" else -found


def scoring(estimator: Any, high_means: Meaning | None = None) -> tuple[Any, Meaning]:
    """The estimator's method that scores, and what a high score of it means.

    Raises
    ------
    InvalidConfigError
        If it has none, or its sign is not known.
    """
    name = type(_last_step(estimator)).__name__
    if not callable(getattr(estimator, "fit", None)):
        raise InvalidConfigError(f"A detector needs a method 'fit'; {name} has none.")
    densities = getattr(estimator, "score_samples", None)
    decisions = getattr(estimator, "decision_function", None)
    if not callable(densities) and not callable(decisions):
        remedy = " Create it with novelty=True." if name == "LocalOutlierFactor" else ""
        raise InvalidConfigError(
            f"A detector needs a method 'score_samples' or 'decision_function'; {name} has neither.{remedy}"
        )
    libraries = {kind.__module__.partition(".")[0] for kind in type(_last_step(estimator)).__mro__}
    if "pyod" in libraries and callable(decisions):
        return decisions, high_means or "anomalous"
    score = densities if callable(densities) else decisions
    # scikit-learn's: log-likelihoods and outlier detectors; but somebody's own method may mean anything
    last = _last_step(estimator)
    its_own = getattr(last, "score_samples" if callable(densities) else "decision_function", score)
    written_by = str(getattr(its_own, "__module__", "")).partition(".")[0]
    is_known = written_by == "sklearn" and (callable(densities) or _is_sklearn_outlier_detector(last))
    if high_means is None and not is_known:
        raise _unknown_sign(name)
    return score, high_means or "normal"


def fit_foreign(detector: Any, rows: TrainingRows, *, stage: str, seed: int, progress: Progress) -> ForeignDetector:
    """Fit a copy of the detector, which is left as it is, on the normal rows; seeded, if it can be and was not."""
    given = detector if isinstance(detector, ForeignDetector) else ForeignDetector(detector)
    scoring(given.estimator, given.high_means)
    progress.check(stage)
    estimator = copy.deepcopy(given.estimator)
    if getattr(estimator, "random_state", seed) is None:
        estimator.random_state = seed
    estimator.fit(rows.x)
    progress.tick(stage, 1, 1)
    return ForeignDetector(estimator, given.high_means)


def scores_row_by_row(detector: ForeignDetector, x: Floats) -> bool:
    """Whether rows get the same scores in other company; some detectors rank the rows they are given."""
    few = x[: max(1, min(len(x) // 2, 20))]
    return bool(np.allclose(detector.anomaly_score(few), detector.anomaly_score(x[:200])[: len(few)], rtol=1e-6))


def _last_step(estimator: Any) -> Any:
    """What scores at the end of a pipeline."""
    steps = getattr(estimator, "steps", None)
    return _last_step(steps[-1][1]) if isinstance(steps, list) and steps else estimator


def _is_sklearn_outlier_detector(estimator: Any) -> bool:
    from sklearn.base import OutlierMixin

    return isinstance(estimator, OutlierMixin)


def _unknown_sign(name: str) -> InvalidConfigError:
    return InvalidConfigError(
        f"Whether a high score of {name} means anomalous or normal is not known; say so: "
        "ForeignDetector(estimator, high_means='anomalous') or high_means='normal'."
    )
