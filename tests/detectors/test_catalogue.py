from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cfad_core.core.config import (
    METHODS,
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    FairodConfig,
    Method,
)
from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.detectors import dcfod
from cfad_core.detectors.protocol import SavedDetector
from cfad_core.detectors.registry import CATALOGUE, needed
from tests.conftest import Recorder
from tests.detectors.promises import (
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    near_the_plane,
    training_rows,
)

TINY = AuditConfig(
    methods=METHODS,
    detector=DetectorConfig(width=8, epochs=1, fair_epochs=1, batch_size=64),
    baselines=BaselineConfig(
        iforest_trees=5,
        dcfod=DcfodConfig(clusters=2, widths=(8, 8), code_size=2, epochs=1, batch_size=64),
        fairod=FairodConfig(candidates=((0.5, 0.1),), steps=5, batch_size=64),
    ),
)
EVERY_ENTRY = pytest.mark.parametrize("method", list(CATALOGUE))


@pytest.fixture(scope="module", autouse=True)
def _few_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dcfod, "_FEWEST_STEPS", 1)
        yield


@pytest.fixture(scope="module")
def fitted() -> dict[str, SavedDetector]:
    found: dict[str, SavedDetector] = {}
    for method in needed(METHODS):
        found[method] = CATALOGUE[method].fit(training_rows(near_the_plane()), TINY, found, Progress())
    return found


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (("ae",), ["ae"]),
        (("cfad",), ["ae", "cfad"]),
        (("twin",), ["ae", "cfad"]),
        (("twin", "cfad", "ae"), ["ae", "cfad"]),
        (("iforest", "pca"), ["pca", "iforest"]),
        (("twin", "dcfod"), ["ae", "dcfod", "cfad"]),
        (METHODS, ["pca", "ocsvm", "iforest", "ae", "dcfod", "fairod", "cfad"]),
    ],
)
def test_what_others_start_from_is_fitted_first(methods: tuple[Method, ...], expected: list[Method]) -> None:
    assert needed(methods) == expected


def test_every_method_but_twin_scoring_fits_a_detector() -> None:
    assert set(CATALOGUE) == set(METHODS) - {"twin"}


def test_stages_have_names_of_their_own_and_take_time() -> None:
    assert len({entry.stage for entry in CATALOGUE.values()}) == len(CATALOGUE)
    assert all(entry.share > 0.0 for entry in CATALOGUE.values())


@EVERY_ENTRY
def test_rows_are_scored_alone(fitted: dict[str, SavedDetector], method: Method) -> None:
    assert isinstance(fitted[method], SavedDetector)
    assert_rows_are_scored_alone(fitted[method], near_the_plane(1500, seed=1), seed=0)


@EVERY_ENTRY
def test_saving_keeps_every_bit(fitted: dict[str, SavedDetector], method: Method) -> None:
    assert_saving_keeps_every_bit(fitted[method], CATALOGUE[method].from_state, near_the_plane(seed=1))


@EVERY_ENTRY
def test_fitting_reports_under_its_stage_to_the_end_and_changes_nothing(
    fitted: dict[str, SavedDetector], method: Method
) -> None:
    rows, recorder, entry = training_rows(near_the_plane()), Recorder(), CATALOGUE[method]
    again = entry.fit(rows, TINY, fitted, recorder)
    assert recorder.stages() == [entry.stage]
    assert recorder.heard[-1][1] == recorder.heard[-1][2]
    assert np.array_equal(again.anomaly_score(rows.x), fitted[method].anomaly_score(rows.x))
    assert np.array_equal(rows.x, near_the_plane())


@EVERY_ENTRY
def test_fitting_can_be_cancelled(fitted: dict[str, SavedDetector], method: Method) -> None:
    stage = CATALOGUE[method].stage
    with pytest.raises(AuditCancelled, match=f"cancelled during '{stage}'"):
        CATALOGUE[method].fit(training_rows(near_the_plane()), TINY, fitted, Recorder(stop_in=stage))
