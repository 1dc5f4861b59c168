"""Surprise, on causal models by hand and on worlds whose noise is known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume
from hypothesis import given as examples
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from scipy.special import ndtri

from cfad_core.causal.mechanisms import Number
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.config import AuditConfig, DetectorConfig
from cfad_core.core.states import TWO_GROUPS, States
from cfad_core.detectors import surprise
from cfad_core.detectors.protocol import Causes, PeopleDetector, SavedDetector, Surroundings
from cfad_core.detectors.surprise import SurpriseDetector, standard_score
from tests.causal.worlds import groups, learn_given, learn_mixed, mixed_rows
from tests.detectors.promises import assert_people_are_scored_alone, fitting, saved_and_read, training_rows

SHARES = np.linspace(0.01, 0.99, 99)
NAMES = ("S", "A", "B", "C")
EDGES = (("S", "A"), ("A", "B"))


def fit(causes: Causes, people: Floats, draws: int = 4) -> SurpriseDetector:
    rows = training_rows(people[:, 1:], people[:, 0])
    return surprise.fit(fitting(rows, AuditConfig(detector=DetectorConfig(twin_draws=draws)), causes=causes))


@dataclass(frozen=True)
class Given:
    """Noise is what people have, unless it is 99; a level of the last column is four times as surprising in group 1."""

    draws: bool = True
    columns: int = 3

    @property
    def states(self) -> States:
        return TWO_GROUPS

    def twins(self, x: Floats, draw: int = 0, /) -> Floats:
        twins = x.copy()
        twins[:, 0] = -x[:, 0]
        twins[:, -1] = x[:, -1] + draw
        return twins

    @property
    def drawn_columns(self) -> Bools:
        last: Bools = np.arange(self.columns) == self.columns - 1
        return last

    def oddness(self, x: Floats, /, *, drawn: bool = False) -> tuple[Floats, Floats]:
        noise = np.where(x[:, 1:] == 99.0, np.nan, x[:, 1:])
        noise[:, -1] = np.nan
        levels = np.zeros_like(noise)
        levels[:, -1] = x[:, -1] * np.where(x[:, 0] > 0.0, 4.0, 1.0)
        return noise, levels


def numbers(n: int = 2000, seed: int = 0) -> Floats:
    """S -> A -> B, and C alone."""
    rng = np.random.default_rng(seed)
    s = groups(n, rng)
    a = s + rng.normal(size=n)
    return np.column_stack([s, a, 0.8 * a + rng.normal(size=n), rng.normal(size=n)])


@pytest.fixture(scope="module")
def model() -> StructuralModel:
    return learn_given(numbers(), NAMES, EDGES)


@pytest.fixture(scope="module")
def detector(model: StructuralModel) -> SurpriseDetector:
    return fit(model, numbers())


def inside(model: StructuralModel, people: Floats) -> Floats:
    """Those who are, as are their twins, within what was seen: others are clipped."""
    seen, twins = numbers(), model.twins(people)
    kept = np.ones(len(people), dtype=np.bool_)
    for some in (people, twins):
        kept &= ((some > seen.min(axis=0)) & (some < seen.max(axis=0)))[:, 1:].all(axis=1)
    assert kept.mean() > 0.97
    return people[kept]


def test_noise_at_the_knots_has_the_normal_quantiles() -> None:
    knots = np.sort(np.random.default_rng(0).standard_exponential(99))
    np.testing.assert_allclose(standard_score(knots, knots), ndtri(SHARES), rtol=0.0, atol=1e-12)


def test_beyond_the_knots_it_goes_straight_on_in_units_of_that_side() -> None:
    knots = np.concatenate([np.linspace(-2.0, 0.0, 50), np.linspace(0.0, 6.0, 50)[1:]])  # 0 is in the middle
    end = float(ndtri(0.99))
    away = np.array([0.5, 1.0, 10.0, 1e6])
    np.testing.assert_allclose(standard_score(6.0 + away, knots), end + away / (6.0 / end), rtol=1e-12)
    np.testing.assert_allclose(standard_score(-2.0 - away, knots), -end - away / (2.0 / end), rtol=1e-12)


@examples(
    hnp.arrays(np.float64, 40, elements=st.integers(-1000, 1000)),
    hnp.arrays(np.float64, 60, elements=st.floats(-2e3, 2e3, width=32)),
)
def test_the_standard_score_never_falls_and_never_jumps(noise: Floats, asked: Floats) -> None:
    knots = surprise._knots(noise)
    assume(noise.std() > 0.1)
    assert (np.diff(knots) >= 0.0).all()
    found = standard_score(np.sort(asked), knots)
    assert np.isfinite(found).all()
    assert (np.diff(found) >= 0.0).all()
    for end in (knots[0], knots[-1]):
        before, at, after = standard_score(
            np.array([np.nextafter(end, -np.inf), end, np.nextafter(end, np.inf)]), knots
        )
        assert before == pytest.approx(at, abs=1e-3)
        assert after == pytest.approx(at, abs=1e-3)


def test_normal_noise_is_its_own_standard_score() -> None:
    noise = np.random.default_rng(1).normal(3.0, 2.0, 200_000)
    asked = np.linspace(-12.0, 18.0, 61)
    np.testing.assert_allclose(standard_score(asked, surprise._knots(noise)), (asked - 3.0) / 2.0, atol=0.06, rtol=0.02)


def test_noise_that_repeats_is_in_the_middle_of_its_ranks() -> None:
    """Of a noise that 60 % of people have, the lowest there is: they are the 0.3 quantile, and nobody is odd."""
    noise = np.concatenate([np.zeros(6000), np.linspace(1.0, 2.0, 4000)])
    found = standard_score(np.array([0.0, 1.5]), surprise._knots(noise))
    np.testing.assert_allclose(found, ndtri([0.3, 0.8]), atol=0.02)


def test_nearly_constant_noise_does_not_drown_all_others() -> None:
    noise = np.zeros(1000)
    noise[:5] = 5.0
    found = standard_score(np.array([0.0, 5.0, -5.0]), surprise._knots(noise))
    assert found[0] == 0.0
    assert 10.0 < found[1] < 200.0
    assert -200.0 < found[2] < -10.0


def test_the_score_by_hand() -> None:
    """z^2 of each number, or 1 if it is none; 5 / 2 of the level here and there, over the draws of the twin."""
    rng = np.random.default_rng(2)
    training = np.column_stack([groups(400, rng), rng.normal(size=(400, 2)), np.ones(400)])
    detector = fit(Given(), training, draws=3)
    people = np.array([[-1.0, 0.5, -3.0, 1.0], [1.0, 99.0, 0.0, 1.0]])
    z = [[standard_score(np.array([people[i, k + 1]]), detector.knots[k])[0] ** 2 for k in (0, 1)] for i in (0, 1)]
    z[1][0] = 1.0  # as surprising as people are on average
    there = np.mean([[4.0 * (1.0 + draw), 1.0 + draw] for draw in range(3)], axis=0)
    levels = 0.5 * (np.array([1.0, 4.0]) + there)
    expected = np.column_stack([z, levels])
    np.testing.assert_allclose(detector.explain_people(people), expected, rtol=1e-12)
    np.testing.assert_allclose(detector.score_people(people), expected.sum(axis=1), rtol=1e-12)
    assert np.array_equal(detector.knots[2], np.zeros(99))


def test_the_score_is_the_sum_of_its_parts_and_asks_no_base(detector: SurpriseDetector) -> None:
    people = numbers(500, seed=1)
    assert isinstance(detector, PeopleDetector)
    assert detector.base is None
    assert detector.explain_people(people).shape == (500, 3)
    assert np.array_equal(detector.explain_people(people).sum(axis=1), detector.score_people(people))
    assert np.array_equal(detector.score_people(people, np.full(500, 7.0)), detector.score_people(people))


def test_every_column_of_normal_people_counts_alike(detector: SurpriseDetector) -> None:
    """z^2 has mean 1, so a score has the number of columns."""
    np.testing.assert_allclose(detector.explain_people(numbers()).mean(axis=0), 1.0, atol=0.03)


def test_a_person_and_their_twin_are_as_surprising(model: StructuralModel, detector: SurpriseDetector) -> None:
    people = inside(model, numbers(1000, seed=3))
    assert not model.draws
    twins = model.twins(people)
    assert not np.array_equal(people[:, 1:], twins[:, 1:])
    np.testing.assert_allclose(detector.explain_people(twins), detector.explain_people(people), atol=1e-7)


def test_so_they_are_where_the_groups_noises_differ_in_shape() -> None:
    """There a twin keeps the rank of its noise, not the noise."""
    rng = np.random.default_rng(4)
    s, own = groups(4000, rng), rng.standard_exponential(4000) - 1.0
    x = np.column_stack([s, 0.5 * s + np.where(s > 0.0, own, -own)])
    model = learn_given(x, ("S", "A"), (("S", "A"),))
    assert not model.draws
    twins = model.twins(x)
    number = model.mechanisms[1]
    assert isinstance(number, Number)
    assert number.latent.equation.by_group.size
    detector = fit(model, x)
    kept = (twins[:, 1] > x[:, 1].min()) & (twins[:, 1] < x[:, 1].max())
    assert kept.mean() > 0.97
    np.testing.assert_allclose(detector.score_people(twins)[kept], detector.score_people(x)[kept], atol=1e-7)


@pytest.mark.parametrize("column", [1, 2, 3])
def test_who_has_one_large_noise_comes_first_and_is_explained_by_it(detector: SurpriseDetector, column: int) -> None:
    people = numbers(300, seed=5)
    before = people.copy()
    noise = np.where(np.arange(1, 4) == column, 5.0, 0.1)
    people[17] = -1.0, noise[0] - 1.0, 0.8 * (noise[0] - 1.0) + noise[1], noise[2]
    score = detector.score_people(people)
    assert score.argmax() == 17
    parts = detector.explain_people(people)[17]
    assert parts.argmax() == column - 1
    assert parts[column - 1] > 0.8 * score[17]
    others = np.arange(300) != 17
    assert np.array_equal(score[others], detector.score_people(before)[others])


def test_constant_columns_surprise_nobody() -> None:
    people = np.column_stack([numbers(), np.full(2000, 4.0)])
    model = learn_given(people, (*NAMES, "D"), EDGES)
    detector = fit(model, people)
    assert np.array_equal(detector.explain_people(people)[:, 3], np.zeros(2000))
    other = people[:5].copy()
    other[:, 4] = 5.0
    assert np.isfinite(detector.score_people(other)).all()


def test_missing_cells_levels_and_counts_have_a_score() -> None:
    model, people = learn_mixed(), mixed_rows(1500)
    detector = fit(model, people)
    parts = detector.explain_people(people)
    assert model.draws
    assert np.isfinite(parts).all()
    assert (parts >= 0.0).all()
    for other in (4, 5, 9):  # further columns of the job, and the mark of what is missing
        assert not parts[:, other].any()
    gone = people[:, 10] == 3.0
    assert gone.any()
    noise, levels = model.oddness(people[gone])
    assert np.isnan(noise[:, 8]).all()
    assert (levels[:, 8] > 0.0).all()
    assert (parts[gone, 8] >= 0.5).all()  # no number: as surprising as the average, and that it is missing


def test_where_the_group_affects_nothing_twins_are_as_surprising_to_the_last_bit() -> None:
    rng = np.random.default_rng(6)
    people = np.column_stack([groups(800, rng), rng.normal(size=(800, 2))])
    model = learn_given(people, ("S", "A", "B"), (("A", "B"),))
    assert model.affected == ()
    detector = fit(model, people)
    assert np.array_equal(detector.score_people(model.twins(people)), detector.score_people(people))
    moved = people * np.array([1.0, 1.0, 0.0]) + np.array([0.0, 0.0, 8.0])
    assert (detector.explain_people(moved).argmax(axis=1) == 1).all()


def test_saving_keeps_every_bit(model: StructuralModel) -> None:
    detector = fit(model, numbers(), draws=3)
    assert isinstance(detector, SavedDetector)
    config = AuditConfig(detector=DetectorConfig(twin_draws=3))
    again = surprise.restore(saved_and_read(detector), Surroundings(config, {}, model))
    assert again.draws == 3
    people = numbers(200, seed=7)
    assert np.array_equal(again.score_people(people), detector.score_people(people))
    assert np.array_equal(again.knots, detector.knots)


def test_a_person_has_the_same_score_in_any_company(detector: SurpriseDetector) -> None:
    assert_people_are_scored_alone(detector, numbers(1500, seed=8), seed=0)
    mixed = fit(learn_mixed(), mixed_rows(1500))
    assert_people_are_scored_alone(mixed, mixed_rows(1100, seed=1), seed=0)
    assert detector.score_people(numbers()[:0]).shape == (0,)
