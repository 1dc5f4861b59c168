"""Mechanisms in words: the causes and the kind of their influence that the model has, and no others."""

from __future__ import annotations

import numpy as np
import pytest

from cfad_core.causal.mechanisms import Category, Number
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.telling import mechanism_lines
from tests.causal.worlds import learn_given, learn_mixed


@pytest.fixture(scope="module")
def mixed() -> StructuralModel:
    return learn_mixed(1500)


def test_every_mechanism_is_told_with_its_causes(mixed: StructuralModel) -> None:
    for i, mechanism in mixed.mechanisms.items():
        lines = mechanism_lines(mixed, mixed.variables[i])
        text = " ".join(lines)
        assert all(line.endswith(".") for line in lines)
        for j, name in enumerate(mixed.variables):
            if isinstance(mechanism, Category):
                assert (name in text.split("follows from")[-1]) == (j in mechanism.causes), (text, name)
        if isinstance(mechanism, Number):
            assert ("missing" in text) == (mechanism.missing is not None)
            assert ("one and the same value" in text) == (mechanism.at_atom is not None)
        assert "S" in text or 0 not in mechanism.causes


def test_a_straight_line_a_curve_and_what_differs_between_groups_have_their_own_words() -> None:
    rng = np.random.default_rng(0)
    s = rng.choice([-1.0, 1.0], 4000)
    age = rng.uniform(-2.0, 2.0, 4000)
    line = 1.5 * age + 0.3 * s + rng.normal(0.0, 0.5, 4000)
    bent = np.cos(2.0 * age) + rng.normal(0.0, 0.2, 4000) + s
    apart = age * (2.0 + 1.5 * s) + rng.normal(0.0, 0.3, 4000)
    x = np.column_stack([s, age, line, bent, apart])
    edges = tuple((cause, effect) for effect in ("line", "bent", "apart") for cause in ("S", "age"))
    model = learn_given(x, ("S", "age", "line", "bent", "apart"), edges)
    assert mechanism_lines(model, "line")[0] == (
        "What is expected of a person follows from S (by group) and age (in a straight line)."
    )
    assert "age (in a curve)" in mechanism_lines(model, "bent")[0]
    assert "differently in each group" in mechanism_lines(model, "apart")[0]
    assert mechanism_lines(model, "line")[-1].startswith("The twin keeps what is the person's own")


def test_what_nothing_causes_says_so(mixed: StructuralModel) -> None:
    assert mechanism_lines(mixed, "S") == ["Nothing in the table causes it."]
