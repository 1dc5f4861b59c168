from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest

from cfad_core.core.arrays import Floats
from cfad_core.core.config import (
    DEFAULT_METHODS,
    AuditConfig,
    BaselineConfig,
    DcfodConfig,
    DetectorConfig,
    FairadConfig,
    FairodConfig,
)
from cfad_core.core.cost import NOTHING
from cfad_core.core.errors import AuditCancelled, InvalidConfigError
from cfad_core.core.looks import Look
from cfad_core.detectors import dcfod
from cfad_core.detectors.protocol import AnyDetector, PeopleDetector, SavedDetector, Surroundings, score_people
from cfad_core.detectors.rank import Ranking
from cfad_core.detectors.registry import (
    METHOD_NAME,
    METHODS,
    check_known,
    check_own_name,
    help_of,
    label_of,
    look_of,
    module_of,
    needed,
    plain_methods,
)
from tests.conftest import Recorder
from tests.detectors.promises import (
    MOVED,
    SavedRowDetector,
    assert_people_are_scored_alone,
    assert_rows_are_scored_alone,
    assert_saving_keeps_every_bit,
    fitting,
    near_the_plane,
    saved_and_read,
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
PLAIN = ["pca", "ocsvm", "iforest", "ae", "dcfod", "fairod", "fairad", "cfad", "twin", "surprise"]
RANKS = [f"{method}-rank" for method in PLAIN]
FITTED = [method for method in METHODS if METHODS[method].stage is not None]
OF_PEOPLE = ["twin", "surprise", *RANKS]  # they see the sensitive attribute when they score
EVERY_FITTED = pytest.mark.parametrize("method", FITTED)
EVERY_SAVED = pytest.mark.parametrize("method", [*FITTED, *RANKS])
EVERY_METHOD = pytest.mark.parametrize("method", [*PLAIN, *RANKS])


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


def some_people(n: int = 300, seed: int = 1) -> Floats:
    return np.column_stack([np.where(np.arange(n) % 3 == 0, 1.0, -1.0), near_the_plane(n, seed)])


@pytest.mark.parametrize(
    ("methods", "expected"),
    [
        (("ae",), ["ae"]),
        (("cfad",), ["ae", "cfad"]),
        (("twin",), ["ae", "cfad", "twin"]),
        (("twin", "cfad", "ae"), ["ae", "cfad", "twin"]),
        (("iforest", "pca"), ["pca", "iforest"]),
        (("twin", "dcfod"), ["ae", "dcfod", "cfad", "twin"]),
        (("cfad-rank",), ["ae", "cfad", "cfad-rank"]),
        (("twin-rank", "surprise"), ["ae", "cfad", "twin", "surprise", "twin-rank"]),
        (("surprise-rank", "pca-rank"), ["pca", "surprise", "pca-rank", "surprise-rank"]),
        (tuple(METHODS), [*PLAIN, *RANKS]),
    ],
)
def test_what_others_start_from_is_fitted_first(methods: tuple[str, ...], expected: list[str]) -> None:
    assert needed(methods) == expected


def test_unknown_methods_are_refused_and_the_known_ones_listed() -> None:
    known = ", ".join([*PLAIN, *RANKS])
    with pytest.raises(InvalidConfigError, match=rf"^Unknown method: svm, x\. Known: {known}\.$"):
        check_known(["ae", "svm", "x"])
    for rank in ("xyz-rank", "ae-rank-rank", "-rank"):
        with pytest.raises(InvalidConfigError, match=rf"^Unknown method: {rank}\. Known: {known}\.$"):
            needed(("ae", rank))
    with pytest.raises(InvalidConfigError, match=r"^Unknown method: svm\."):
        needed(("ae", "svm"))


def test_every_method_but_twin_scoring_and_ranks_has_a_stage() -> None:
    assert set(FITTED) == set(METHODS) - {"twin", *RANKS}
    assert set(DEFAULT_METHODS) <= set(PLAIN)


def test_every_plain_method_has_its_rank() -> None:
    assert list(METHODS) == [*PLAIN, *RANKS]
    assert list(plain_methods()) == PLAIN
    assert [method for method in METHODS if METHODS[method].is_rank] == RANKS
    for name in PLAIN:
        plain, rank = METHODS[name], METHODS[f"{name}-rank"]
        assert rank.base == name
        assert (rank.stage, rank.cost, rank.learns_both) == (None, NOTHING, False)
        assert rank.needs_twins == plain.needs_twins
        assert rank.look == Look(f"{plain.look.label} rank", plain.look.color, "dot", "x")
        assert module_of(f"{name}-rank") == Ranking(name)


def test_what_a_method_starts_from_comes_before_it() -> None:
    order = list(METHODS)
    for name, method in METHODS.items():
        assert METHOD_NAME.fullmatch(name)
        if method.base is not None:
            assert order.index(method.base) < order.index(name)


def test_stages_have_names_of_their_own_and_take_time() -> None:
    assert len({METHODS[method].stage for method in FITTED}) == len(FITTED)
    for method in METHODS.values():
        assert (method.cost != NOTHING, bool(method.doing)) == (method.stage is not None,) * 2


def test_labels_and_helps() -> None:
    assert [label_of(method) for method in PLAIN] == [
        "PCA",
        "OC-SVM",
        "iForest",
        "AE",
        "DCFOD",
        "FairOD",
        "FairAD",
        "CFAD",
        "Twin scoring",
        "Surprise",
    ]
    assert [label_of(method) for method in RANKS] == [f"{label_of(method)} rank" for method in PLAIN]
    assert len({help_of(method) for method in METHODS}) == len(METHODS)
    assert all(help_of(method).endswith(".") for method in METHODS)


def test_another_librarys_detector_has_a_look_of_its_name_alone() -> None:
    assert label_of("lof") == "lof"
    assert help_of("lof") == "A detector that is not part of this program."
    assert look_of("lof") == look_of("lof")
    assert look_of("lof").color not in {method.look.color for method in METHODS.values()}
    assert look_of("\ud800").label == "\ud800"  # what is no text at all is a name, too


def test_who_looks_at_whole_people(fitted: dict[str, AnyDetector]) -> None:
    assert {name for name, detector in fitted.items() if isinstance(detector, PeopleDetector)} == set(OF_PEOPLE)
    x = near_the_plane(20, seed=1)
    first, second = (np.column_stack([np.full(20, sign), x]) for sign in (-1.0, 1.0))
    for name, detector in fitted.items():  # nobody else sees the sensitive attribute
        same = np.array_equal(score_people(detector, first), score_people(detector, second))
        assert same == (name not in OF_PEOPLE), name


@EVERY_METHOD
def test_rows_are_scored_alone(fitted: dict[str, AnyDetector], method: str) -> None:
    detector = fitted[method]
    if isinstance(detector, PeopleDetector):
        assert_people_are_scored_alone(detector, some_people(1500), seed=0)
    else:
        assert_rows_are_scored_alone(detector, near_the_plane(1500, seed=1), seed=0)


@EVERY_SAVED
def test_saving_keeps_every_bit(fitted: dict[str, AnyDetector], method: str) -> None:
    before = fitted[method]
    assert isinstance(before, SavedDetector)
    state = saved_and_read(before)
    again = module_of(method).restore(state, Surroundings(TINY, fitted, MOVED))
    assert type(again) is type(before)
    assert isinstance(again, SavedDetector)
    assert np.array_equal(score_people(again, some_people()), score_people(before, some_people()))
    assert set(again.state()) == set(state)
    for name, array in again.state().items():
        assert np.array_equal(array, state[name])


def test_what_stands_on_its_own_state_needs_nothing_else(fitted: dict[str, AnyDetector]) -> None:
    for method, detector in fitted.items():
        assert isinstance(detector, SavedRowDetector) == (method not in OF_PEOPLE)
        if isinstance(detector, SavedRowDetector):
            assert_saving_keeps_every_bit(detector, module_of(method), near_the_plane(seed=1))


@EVERY_FITTED
def test_fitting_reports_under_its_stage_to_the_end_and_changes_nothing(
    fitted: dict[str, AnyDetector], method: str
) -> None:
    rows, recorder = training_rows(near_the_plane()), Recorder()
    again = module_of(method).fit(fitting(rows, TINY, fitted=fitted, progress=recorder))
    assert recorder.stages() == [METHODS[method].stage]
    assert recorder.heard[-1][1] == recorder.heard[-1][2]
    assert np.array_equal(score_people(again, some_people()), score_people(fitted[method], some_people()))
    assert np.array_equal(rows.x, near_the_plane())


@EVERY_FITTED
def test_fitting_can_be_cancelled(fitted: dict[str, AnyDetector], method: str) -> None:
    stage = METHODS[method].stage
    task = fitting(training_rows(near_the_plane()), TINY, fitted=fitted, progress=Recorder(stop_in=stage))
    with pytest.raises(AuditCancelled, match=f"cancelled during '{stage}'"):
        module_of(method).fit(task)


def test_no_detector_of_ones_own_is_called_like_a_stage() -> None:
    from cfad_core.audit.estimate import stages
    from cfad_core.core.config import preset

    for config in (preset("fast", methods=tuple(METHODS)), preset("paper", methods=tuple(METHODS))):
        for stage in stages(config, knows_truth=False):
            with pytest.raises(InvalidConfigError):
                check_own_name(stage)
