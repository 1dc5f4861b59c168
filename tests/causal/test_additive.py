from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.graph import descendants
from cfad_core.causal.spline import Spline, SplineBasis
from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from tests.conftest import identity_spline


def test_abduction_by_hand(linear_scm: AdditiveModel) -> None:
    # A = 2 S + 0.5 + u_A: 3 - (-2 + 0.5) = 4.5;  B = 3 A - S + u_B: 1 - (9 + 1) = -9;  C = 1 + u_C: 7 - 1 = 6
    noise = linear_scm.abduct(np.array([[-1.0, 3.0, 1.0, 7.0]]))
    np.testing.assert_allclose(noise, [[-1.0, 4.5, -9.0, 6.0]], atol=1e-12)


def test_counterfactual_by_hand(linear_scm: AdditiveModel) -> None:
    # S: -1 -> 1 moves A by 2 * 2 = 4, and B by 3 * 4 - 1 * 2 = 10; C stays
    twin = linear_scm.twins(np.array([[-1.0, 3.0, 1.0, 7.0]]))
    np.testing.assert_allclose(twin, [[1.0, 7.0, 11.0, 7.0]], atol=1e-12)


def test_who_is_moved_where_they_are_stays(linear_scm: AdditiveModel) -> None:
    people = np.array([[-1.0, 3.0, 1.0, 7.0], [1.0, 2.0, 0.5, 0.0]])
    for group in (0, 1):
        twins = linear_scm.twins(people, to=np.full(2, group))
        assert np.array_equal(twins[group], people[group])
        assert np.array_equal(twins[1 - group], linear_scm.twins(people)[1 - group])
        assert np.array_equal(linear_scm.possible_twins(people)(0, to=np.full(2, group)), twins)


def test_reconstruction_by_hand(linear_scm: AdditiveModel) -> None:
    expected = linear_scm.reconstruct(np.array([[1.0, 2.0, 0.0, 0.0]]))
    np.testing.assert_allclose(expected, [[0.0, 2.5, 5.0, 1.0]], atol=1e-12)


def test_linear_worlds_match_the_closed_form() -> None:
    # x = W^T x + u  =>  the flip moves x by (I - W^T)^-1 e_S * (s' - s)
    rng = np.random.default_rng(3)
    d = 6
    weights = np.triu(rng.normal(size=(d, d)), k=1)
    scm = AdditiveModel(tuple(f"V{k}" for k in range(d)), "V0", weights, rng.normal(size=d), identity_spline(-100, 100))
    x = rng.normal(size=(20, d))
    x[:, 0] = rng.choice([-1.0, 1.0], 20)
    total_effect = np.linalg.inv(np.eye(d) - weights.T)[:, 0]
    expected = x + np.outer(-2.0 * x[:, 0], total_effect)
    np.testing.assert_allclose(scm.twins(x), expected, atol=1e-9)


def test_a_sensitive_variable_with_causes_leaves_them_alone() -> None:
    weights = np.zeros((3, 3))
    weights[1, 0] = 0.7  # A -> S
    weights[0, 2] = 1.0  # S -> B
    scm = AdditiveModel(("S", "A", "B"), "S", weights, np.zeros(3), identity_spline())
    x = np.array([[1.0, 0.25, 4.0]])
    np.testing.assert_allclose(scm.twins(x), [[-1.0, 0.25, 2.0]], atol=1e-12)


@st.composite
def models_and_people(draw: st.DrawFn) -> tuple[AdditiveModel, np.ndarray]:
    d = draw(st.integers(2, 6))
    numbers = st.floats(-2.0, 2.0, allow_subnormal=False)
    upper = np.triu(draw(hnp.arrays(np.float64, (d, d), elements=numbers)), k=1)
    order = np.array(draw(st.permutations(range(d))))
    weights = np.zeros((d, d))
    weights[np.ix_(order, order)] = upper
    basis = SplineBasis(-4.0, 4.0, 7)
    f = Spline(basis, draw(hnp.arrays(np.float64, 7, elements=numbers)))
    intercept = draw(hnp.arrays(np.float64, d, elements=numbers))
    n = draw(st.integers(1, 5))
    x = draw(hnp.arrays(np.float64, (n, d), elements=st.floats(-8.0, 8.0, allow_subnormal=False)))
    x[:, 0] = np.where(x[:, 0] < 0, -1.0, 1.0)
    return AdditiveModel(tuple(f"V{k}" for k in range(d)), "V0", weights, intercept, f), x


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(models_and_people())
def test_counterfactuals_are_an_involution_and_spare_non_descendants(case: tuple[AdditiveModel, np.ndarray]) -> None:
    scm, x = case
    twin = scm.twins(x)
    scale = 1.0 + np.abs(twin).max()
    np.testing.assert_allclose(scm.twins(twin), x, atol=1e-9 * scale)
    reached = descendants(scm.weights != 0.0, 0)
    untouched = [k for k in range(1, x.shape[1]) if k not in reached]
    assert np.array_equal(twin[:, untouched], x[:, untouched])  # to the last bit
    assert np.array_equal(twin[:, 0], -x[:, 0])
    # the noise is what the two worlds share
    affected = list(range(1, x.shape[1]))
    np.testing.assert_allclose(scm.abduct(twin)[:, affected], scm.abduct(x)[:, affected], atol=1e-9 * scale)


@settings(max_examples=50, deadline=None)
@given(models_and_people())
def test_a_person_does_not_depend_on_their_neighbours(case: tuple[AdditiveModel, np.ndarray]) -> None:
    scm, x = case
    together = scm.twins(x)
    for k in range(len(x)):
        assert np.array_equal(scm.twins(x[k : k + 1])[0], together[k])


@settings(max_examples=30, deadline=None)
@given(models_and_people())
def test_save_and_load_keep_every_bit(
    tmp_path_factory: pytest.TempPathFactory, case: tuple[AdditiveModel, np.ndarray]
) -> None:
    scm, x = case
    stem = tmp_path_factory.mktemp("scm") / "scm"
    scm.save(stem)
    again = AdditiveModel.load(stem)
    assert again.names == scm.names
    assert np.array_equal(again.weights, scm.weights)
    assert np.array_equal(again.twins(x), scm.twins(x))


def test_a_cyclic_graph_is_refused() -> None:
    weights = np.array([[0.0, 1.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    with pytest.raises(InvalidDataError, match="without cycles; this one has A -> B -> A"):
        AdditiveModel(("S", "A", "B"), "S", weights, np.zeros(3), identity_spline())


def test_rows_of_another_width_are_refused(linear_scm: AdditiveModel) -> None:
    with pytest.raises(InvalidDataError, match=r"Expected rows of 4 variables; got an array of shape \(2, 3\)"):
        linear_scm.twins(np.zeros((2, 3)))


def test_damaged_files_are_one_clear_error(tmp_path: Path, linear_scm: AdditiveModel) -> None:
    with pytest.raises(InvalidArtifactError, match="Cannot read the causal model"):
        AdditiveModel.load(tmp_path / "nothing")
    linear_scm.save(tmp_path / "scm")
    text = json.loads((tmp_path / "scm.json").read_text())
    (tmp_path / "scm.json").write_text(json.dumps(text | {"version": 99}))
    with pytest.raises(InvalidArtifactError, match="has version 99; this program reads 2"):
        AdditiveModel.load(tmp_path / "scm")
    linear_scm.save(tmp_path / "scm")
    (tmp_path / "scm.safetensors").write_bytes(b"garbage")
    with pytest.raises(InvalidArtifactError, match="Cannot read the causal model"):
        AdditiveModel.load(tmp_path / "scm")


@pytest.mark.parametrize(
    ("cut", "moves"),  # of A = 2 S + u, B = 3 A - S + u
    [
        (None, (4.0, 10.0)),
        (("S", "A"), (0.0, -2.0)),
        (("A", "B"), (4.0, -2.0)),
        (("S", "B"), (4.0, 12.0)),
        (("B", "A"), (4.0, 10.0)),
        (("S", "C"), (4.0, 10.0)),
    ],
)
def test_an_edge_that_carries_nothing(
    linear_scm: AdditiveModel, cut: tuple[str, str] | None, moves: tuple[float, float]
) -> None:
    x = np.array([[-1.0, 3.0, 1.0, 7.0], [-1.0, 0.0, 0.0, 0.0]])
    twins = linear_scm.twins(x, cut=cut)
    np.testing.assert_allclose(twins - x, [[2.0, *moves, 0.0]] * 2, atol=1e-12)
    assert np.array_equal(linear_scm.twins(x, 5, cut=cut), twins)  # there is nothing to draw


def test_a_cut_from_a_category_is_one_of_all_its_columns() -> None:
    weights = np.zeros((5, 5))
    weights[0, 1:4], weights[1:4, 4] = 1.0, (1.0, 2.0, 4.0)
    slope = np.array([1.0, 0.5, 0.5, 0.5, 0.0])
    names, variables = ("S", "C = x", "C = y", "C = z", "B"), ("S", "C", "C", "C", "B")
    model = AdditiveModel(names, "S", weights, np.zeros(5), identity_spline(), slope, variables)
    x = np.array([[1.0, 3.0, -3.0, -3.0, 0.5]])
    np.testing.assert_allclose(model.twins(x, cut=("C", "B")), [[-1.0, 1.0, -5.0, -5.0, 0.5]], atol=1e-12)
    np.testing.assert_allclose(model.twins(x, cut=("S", "C"))[:, 1:], x[:, 1:], atol=1e-12)
