from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cfad_core.core.config import (
    DEFAULT_METHODS,
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    FairadConfig,
    FairodConfig,
)
from cfad_core.core.errors import AuditCancelled, InvalidConfigError
from cfad_core.detectors import dcfod
from cfad_core.detectors.protocol import AnyDetector, PeopleDetector, SavedDetector, score_people
from cfad_core.detectors.registry import (
    METHOD_NAME,
    METHODS,
    check_known,
    help_of,
    label_of,
    look_of,
    module_of,
    needed,
)
from tests.conftest import Recorder
from tests.detectors.promises import (
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    fitting,
    near_the_plane,
    training_rows,
)

TINY = AuditConfig(
    methods=tuple(METHODS),
    detector=DetectorConfig(width=8, epochs=1, fair_epochs=1, batch_size=64),
    baselines=BaselineConfig(
        iforest_trees=5,
        dcfod=DcfodConfig(clusters=2, widths=(8, 8), code_size=2, epochs=1, batch_size=64),
        fairod=FairodConfig(candidates=((0.5, 0.1),), steps=5, batch_size=64),
        fairad=FairadConfig(width=8, steps=5, batch_size=64),
    ),
)
FITTED = [method for method in METHODS if METHODS[method].stage is not None]
EVERY_FITTED = pytest.mark.parametrize("method", FITTED)


@pytest.fixture(scope="module", autouse=True)
def _few_steps() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(dcfod, "_FEWEST_STEPS", 1)
        yield


@pytest.fixture(scope="module")
def fitted() -> dict[str, AnyDetector]:
    found: dict[str, AnyDetector] = {}
    for method in needed(METHODS):
        found[method] = module_of(method).fit(fitting(training_rows(near_the_plane()), TINY, fitted=dict(found)))
    return found


def saved(fitted: dict[str, AnyDetector], method: str) -> SavedDetector:
    found = fitted[method]
    assert isinstance(found, SavedDetector)
    return found


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (("ae",), ["ae"]),
        (("cfad",), ["ae", "cfad"]),
        (("twin",), ["ae", "cfad", "twin"]),
        (("twin", "cfad", "ae"), ["ae", "cfad", "twin"]),
        (("iforest", "pca"), ["pca", "iforest"]),
        (("twin", "dcfod"), ["ae", "dcfod", "cfad", "twin"]),
        (tuple(METHODS), ["pca", "ocsvm", "iforest", "ae", "dcfod", "fairod", "fairad", "cfad", "twin"]),
    ],
)
def test_what_others_start_from_is_fitted_first(methods: tuple[str, ...], expected: list[str]) -> None:
    assert needed(methods) == expected


def test_unknown_methods_are_refused_and_the_known_ones_listed() -> None:
    message = r"^Unknown method: svm, x\. Known: pca, ocsvm, iforest, ae, dcfod, fairod, fairad, cfad, twin\.$"
    with pytest.raises(InvalidConfigError, match=message):
        check_known(["ae", "svm", "x"])
    with pytest.raises(InvalidConfigError, match=r"^Unknown method: svm\."):
        needed(("ae", "svm"))


def test_every_method_but_twin_scoring_learns_something() -> None:
    assert set(FITTED) == set(METHODS) - {"twin"}
    assert set(DEFAULT_METHODS) <= set(METHODS)


def test_what_a_method_starts_from_comes_before_it() -> None:
    order = list(METHODS)
    for name, method in METHODS.items():
        assert METHOD_NAME.fullmatch(name)
        if method.base is not None:
            assert order.index(method.base) < order.index(name)


def test_stages_have_names_of_their_own_and_take_time() -> None:
    assert len({METHODS[method].stage for method in FITTED}) == len(FITTED)
    for method in METHODS.values():
        assert (method.cost > 0.0, bool(method.doing)) == (method.stage is not None,) * 2


def test_labels_and_helps() -> None:
    assert [label_of(method) for method in METHODS] == [
        "PCA",
        "OC-SVM",
        "iForest",
        "AE",
        "DCFOD",
        "FairOD",
        "FairAD",
        "CFAD",
        "Twin",
    ]
    assert len({help_of(method) for method in METHODS}) == len(METHODS)
    assert all(help_of(method).endswith(".") for method in METHODS)


def test_another_librarys_detector_has_a_look_of_its_name_alone() -> None:
    assert label_of("lof") == "lof"
    assert help_of("lof") == "A detector of another library."
    assert look_of("lof") == look_of("lof")
    assert look_of("lof").color not in {method.look.color for method in METHODS.values()}
    assert look_of("\ud800").label == "\ud800"  # what is no text at all is a name, too


def test_only_twin_scoring_looks_at_whole_people(fitted: dict[str, AnyDetector]) -> None:
    assert {name for name, detector in fitted.items() if isinstance(detector, PeopleDetector)} == {"twin"}
    x = near_the_plane(20, seed=1)
    first, second = (np.column_stack([np.full(20, sign), x]) for sign in (-1.0, 1.0))
    for name in FITTED:  # nobody else sees the sensitive attribute
        assert np.array_equal(score_people(fitted[name], first), score_people(fitted[name], second))
    assert not np.array_equal(score_people(fitted["twin"], first), score_people(fitted["twin"], second))


@EVERY_FITTED
def test_rows_are_scored_alone(fitted: dict[str, AnyDetector], method: str) -> None:
    assert_rows_are_scored_alone(saved(fitted, method), near_the_plane(1500, seed=1), seed=0)


@EVERY_FITTED
def test_saving_keeps_every_bit(fitted: dict[str, AnyDetector], method: str) -> None:
    assert_saving_keeps_every_bit(saved(fitted, method), module_of(method), near_the_plane(seed=1))


@EVERY_FITTED
def test_fitting_reports_under_its_stage_to_the_end_and_changes_nothing(
    fitted: dict[str, AnyDetector], method: str
) -> None:
    rows, recorder = training_rows(near_the_plane()), Recorder()
    again = module_of(method).fit(fitting(rows, TINY, fitted=fitted, progress=recorder))
    assert isinstance(again, SavedDetector)
    assert recorder.stages() == [METHODS[method].stage]
    assert recorder.heard[-1][1] == recorder.heard[-1][2]
    assert np.array_equal(again.anomaly_score(rows.x), saved(fitted, method).anomaly_score(rows.x))
    assert np.array_equal(rows.x, near_the_plane())


@EVERY_FITTED
def test_fitting_can_be_cancelled(fitted: dict[str, AnyDetector], method: str) -> None:
    stage = METHODS[method].stage
    task = fitting(training_rows(near_the_plane()), TINY, fitted=fitted, progress=Recorder(stop_in=stage))
    with pytest.raises(AuditCancelled, match=f"cancelled during '{stage}'"):
        module_of(method).fit(task)
