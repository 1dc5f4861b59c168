from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest
from sklearn.base import BaseEstimator
from sklearn.covariance import EllipticEnvelope
from sklearn.ensemble import IsolationForest
from sklearn.linear_model import SGDClassifier
from sklearn.mixture import GaussianMixture
from sklearn.neighbors import KernelDensity, LocalOutlierFactor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import OneClassSVM
from sklearn.utils.validation import check_is_fitted

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import AuditCancelled, InvalidConfigError, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.detectors.adapter import ForeignDetector, fit_foreign, scoring
from cfad_core.detectors.protocol import Detector, SavedDetector
from tests.conftest import Recorder
from tests.detectors.promises import training_rows, unseen_draws

CUBE = np.random.default_rng(0).uniform(-1.0, 1.0, size=(300, 3))
OUTLIER = np.full((1, 3), 5.0)
UNKNOWN_SIGN = (
    "Whether a high score of Centre means anomalous or normal is not known; say so: "
    "ForeignDetector(estimator, high_means='anomalous') or high_means='normal'."
)


def exactly(message: str) -> str:
    return f"^{re.escape(message)}$"


def fitted(detector: Any) -> ForeignDetector:
    with unseen_draws():  # scikit-learn's one-class SVM takes no seed
        return fit_foreign(detector, training_rows(CUBE), stage="theirs", seed=0, progress=Progress())


class Centre:
    """Somebody's detector, of no library: the distance from the mean."""

    def fit(self, x: Floats) -> Centre:
        self.mean = x.mean(axis=0)
        return self

    def decision_function(self, x: Floats) -> Floats:
        distance: Floats = np.linalg.norm(x - self.mean, axis=1)
        return distance


def of_library(module: str, **methods: Any) -> Any:
    """An unfitted ``Fake`` that says it comes from there."""
    return type("Fake", (Centre,), {"__module__": module, **methods})()


@pytest.mark.parametrize(
    "estimator",
    [
        IsolationForest(n_estimators=20, random_state=0),
        OneClassSVM(),
        LocalOutlierFactor(novelty=True),
        EllipticEnvelope(random_state=0),
        KernelDensity(),
        GaussianMixture(2, random_state=0),
        make_pipeline(StandardScaler(), IsolationForest(n_estimators=20, random_state=0)),
        of_library("pyod.models.fake"),
        ForeignDetector(Centre(), high_means="anomalous"),
    ],
    ids=lambda estimator: type(estimator).__name__,
)
def test_an_outlier_scores_highest(estimator: Any) -> None:
    x = np.concatenate([CUBE, OUTLIER])
    score = fitted(estimator).anomaly_score(x)
    assert score.dtype == np.float64
    assert int(np.argmax(score)) == len(x) - 1


def test_scikit_learn_is_turned_round() -> None:
    estimator, x = IsolationForest(n_estimators=20, random_state=0), CUBE
    expected = -IsolationForest(n_estimators=20, random_state=0).fit(x).score_samples(x)
    assert np.array_equal(fitted(estimator).anomaly_score(x), expected)


def test_pyod_is_not_turned_round() -> None:
    x = CUBE
    assert np.array_equal(fitted(of_library("pyod.models.fake")).anomaly_score(x), Centre().fit(x).decision_function(x))


def test_of_pyod_the_decisions_count() -> None:
    both = of_library("pyod.models.fake", score_samples=lambda self, x: np.zeros(len(x)))
    method, meaning = scoring(both)
    assert (method.__name__, meaning) == ("decision_function", "anomalous")


def test_a_library_is_told_by_its_whole_name() -> None:
    with pytest.raises(InvalidConfigError, match="Whether a high score of Fake means"):
        scoring(of_library("pyodide.models"))


def test_an_unknown_library_must_be_told() -> None:
    with pytest.raises(InvalidConfigError, match=exactly(UNKNOWN_SIGN)):
        fitted(Centre())
    with pytest.raises(InvalidConfigError, match="Whether a high score of Fake means"):
        fitted(of_library("elsewhere", score_samples=lambda self, x: np.zeros(len(x))))
    with pytest.raises(InvalidConfigError, match="Whether a high score of SGDClassifier means"):
        fitted(SGDClassifier())  # of scikit-learn, but no outlier detector


def test_what_is_said_counts_more_than_the_library() -> None:
    x = CUBE
    anomalous, normal = (
        fitted(ForeignDetector(Centre(), high_means=meaning)).anomaly_score(x) for meaning in ("anomalous", "normal")
    )
    assert np.array_equal(anomalous, -normal)
    told = ForeignDetector(of_library("pyod.models.fake"), high_means="normal")
    assert np.array_equal(fitted(told).anomaly_score(x), normal)
    forest = IsolationForest(n_estimators=5, random_state=0)
    told = ForeignDetector(forest, high_means="anomalous")
    assert np.array_equal(fitted(told).anomaly_score(x), -fitted(forest).anomaly_score(x))


def test_local_outlier_factor_gets_its_remedy() -> None:
    message = (
        "A detector needs a method 'score_samples' or 'decision_function'; LocalOutlierFactor has neither. "
        "Create it with novelty=True."
    )
    with pytest.raises(InvalidConfigError, match=exactly(message)):
        fitted(LocalOutlierFactor())


def test_a_detector_must_fit_and_score() -> None:
    with pytest.raises(InvalidConfigError, match=exactly("A detector needs a method 'fit'; str has none.")):
        fitted("IsolationForest")
    message = "A detector needs a method 'score_samples' or 'decision_function'; StandardScaler has neither."
    with pytest.raises(InvalidConfigError, match=exactly(message)):
        fitted(StandardScaler())


@pytest.mark.parametrize(
    ("scores", "message"),
    [
        (lambda x: np.zeros((len(x), 1)), "got an array of shape (300, 1)."),
        (lambda x: np.zeros(len(x) - 1), "got an array of shape (299,)."),
        (lambda x: 0.0, "got an array of shape ()."),
        (
            lambda x: np.where(np.arange(len(x)) < 2, np.nan, 0.0),
            "got an array of shape (300,) with 2 infinite or nan.",
        ),
        (lambda x: np.full(len(x), -np.inf), "got an array of shape (300,) with 300 infinite or nan."),
    ],
)
def test_scores_must_be_one_finite_number_for_each_row(scores: Any, message: str) -> None:
    detector = fitted(of_library("pyod.models.fake", decision_function=lambda self, x: scores(x)))
    expected = f"Fake must give one finite score for each of the 300 rows; {message}"
    with pytest.raises(InvalidDataError, match=exactly(expected)):
        detector.anomaly_score(CUBE)


def test_the_given_estimator_is_left_unfitted() -> None:
    forest, centre = IsolationForest(n_estimators=5, random_state=0), ForeignDetector(Centre(), "anomalous")
    check_is_fitted(fitted(forest).estimator)
    with pytest.raises(Exception, match="not fitted yet"):
        check_is_fitted(forest)
    assert fitted(centre).estimator is not centre.estimator
    assert not vars(centre.estimator)


def test_it_is_fitted_on_the_rows_as_they_are() -> None:
    np.testing.assert_array_equal(fitted(ForeignDetector(Centre(), "anomalous")).estimator.mean, CUBE.mean(axis=0))


def test_it_is_a_detector_that_is_not_saved() -> None:
    detector = fitted(of_library("pyod.models.fake"))
    assert isinstance(detector, Detector)
    assert not isinstance(detector, SavedDetector)


def test_training_can_be_cancelled_and_reports_under_its_name() -> None:
    recorder, rows = Recorder(), training_rows(CUBE)
    fit_foreign(of_library("pyod.models.fake"), rows, stage="theirs", seed=0, progress=recorder)
    assert recorder.heard == [("theirs", 1, 1, {})]
    recorder.stop_in = "theirs"
    never = of_library("pyod.models.fake", fit=lambda self, x: pytest.fail("fitted after the end was asked for"))
    with pytest.raises(AuditCancelled, match="theirs"):
        fit_foreign(never, rows, stage="theirs", seed=0, progress=recorder)


class CentreForPipelines(Centre, BaseEstimator):  # type: ignore[misc]
    """Somebody's detector that only borrows scikit-learn's settings."""


def test_borrowing_from_scikit_learn_does_not_tell_the_sign() -> None:
    with pytest.raises(InvalidConfigError, match="Whether a high score of CentreForPipelines means"):
        scoring(CentreForPipelines())


def test_a_pipeline_is_judged_by_its_last_step() -> None:
    theirs = make_pipeline(StandardScaler(), IsolationForest(random_state=0))
    assert scoring(theirs)[1] == "normal"

    class Mine(IsolationForest):  # type: ignore[misc]
        def score_samples(self, X: Floats) -> Floats:
            turned: Floats = -super().score_samples(X)
            return turned

    with pytest.raises(InvalidConfigError, match="Whether a high score of Mine means"):
        scoring(make_pipeline(StandardScaler(), Mine()))
    assert scoring(make_pipeline(StandardScaler(), Mine()), "anomalous")[1] == "anomalous"


def test_an_unseeded_detector_is_seeded() -> None:
    rows = training_rows(CUBE)
    first, second = (
        fit_foreign(IsolationForest(n_estimators=5), rows, stage="theirs", seed=3, progress=Progress())
        for _ in range(2)
    )
    assert np.array_equal(first.anomaly_score(CUBE), second.anomaly_score(CUBE))
