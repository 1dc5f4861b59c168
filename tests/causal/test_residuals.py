"""What causes do not explain: on average nothing, as long as the mechanism holds."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.causal.density import fit_density
from cfad_core.causal.mechanisms.shared import Additive
from cfad_core.causal.model import StructuralModel
from tests.causal.worlds import learn_mixed, mixed_rows


@pytest.fixture(scope="module")
def mixed() -> StructuralModel:
    return learn_mixed(6_000)


def test_residuals_of_new_people_are_nothing_on_average(mixed: StructuralModel) -> None:
    """0 within four standard errors, in each group; the spread roughly."""
    people = mixed_rows(4_000, seed=1)
    found = mixed.residuals(people)
    assert set(found) == set(mixed.affected_names)
    for name, columns in found.items():
        assert columns
        for what, values in columns.items():
            assert values.shape == (4_000,)
            for group in (-1.0, 1.0):
                own = values[people[:, 0] == group]
                error = max(own.std() / np.sqrt(len(own)), 1e-9)
                limit = 0.25 if what == "spread" else 4.0 * error + 0.05 * own.std()
                assert abs(own.mean()) < limit, (name, what, group)


def test_they_hold_each_cause_and_every_level(mixed: StructuralModel) -> None:
    found = mixed.residuals(mixed_rows(200, seed=2))
    for i in mixed.affected:
        name, mechanism = mixed.variables[i], mixed.mechanisms[i]
        causes = {f"of {mixed.variables[j]}" for j in mechanism.causes if j > 0}
        assert causes == {what for what in found[name] if what.startswith("of ")}
        levels = [what for what in found[name] if what.startswith("level ")]
        if len(levels) > 1:
            assert np.abs(sum(found[name][what] for what in levels)).max() < 1e-9


def test_of_a_shared_scale_it_is_the_noise() -> None:
    noise = np.random.default_rng(0).normal(2.0, 3.0, 5_000)
    mechanism = Additive((), np.zeros(1), 1.0, fit_density(noise))
    found = mechanism.residuals(noise, {})
    assert abs(found["average"].mean()) < 0.1
    assert found["average"].std() == pytest.approx(1.0, abs=0.35)
