"""Every cell of a twin is one that exists, whatever the table holds."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given as for_all
from hypothesis import settings
from hypothesis import strategies as st

from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.layout import VariableKind
from cfad_core.core.arrays import Floats
from tests.causal.worlds import MIXED_VARIABLES, given, groups, learn, learn_mixed, mixed_rows

FORMS = ("normal", "lognormal", "count", "rounded", "atom", "bounded", "two", "category", "missing", "many", "constant")


def column_of(form: str, latent: Floats, rng: np.random.Generator) -> Floats:
    """A column (n,), or (n, k) of a variable with several, that is made of a latent number."""
    n = len(latent)
    if form == "lognormal":
        return np.exp(3.0 + latent)
    if form == "count":
        return rng.poisson(np.exp(np.clip(latent, -3.0, 3.0))).astype(np.float64)
    if form == "rounded":
        return np.round(1000.0 + 40.0 * latent, -1)
    if form == "atom":
        return np.maximum(0.0, latent)
    if form == "bounded":
        return np.clip(0.5 + 0.3 * latent, 0.0, 1.0)
    if form == "two":
        return np.where(latent > 0.3, 7.0, -2.0)
    if form == "category":
        level = (latent[:, None] > [-0.6, 0.4, 1.2]).sum(axis=1)
        return np.where(np.eye(4)[level] > 0.0, 1.0, -1.0)
    if form == "missing":
        gone = rng.random(n) < 0.2
        return np.column_stack([np.where(gone, 0.5, latent), np.where(gone, 3.0, -3.0)])
    if form == "many":
        return np.round(latent, 3)  # more values than are remembered one by one, on a grid
    if form == "constant":
        return np.where(np.arange(n) < 3, 5.0, np.where(np.arange(n) < 5, 6.0, 4.0))
    return latent


def table_of(forms: list[str], seed: int, n: int = 240) -> tuple[Floats, Columns, tuple[tuple[str, str], ...]]:
    """S causes about half of the variables, and each variable the next ones."""
    rng = np.random.default_rng(seed)
    s = groups(n, rng)
    s[:2] = [-1.0, 1.0]
    latents, columns, variables, edges = [s], [s[:, None]], ["S"], []
    kinds: dict[str, VariableKind] = {"S": "category"}
    marks = {}
    for k, form in enumerate(forms):
        name = f"{form} {k}"
        causes = [j for j in range(len(latents)) if rng.random() < 0.5] or [0]
        latent = sum(rng.normal() * latents[j] for j in causes) + rng.normal(size=n)
        found = column_of(form, latent, rng)
        found = found[:, None] if found.ndim == 1 else found
        latents.append(latent)
        columns.append(found)
        edges += [("S" if j == 0 else f"{forms[j - 1]} {j - 1}", name) for j in causes]
        variables += [name] * found.shape[1]
        kinds[name] = "category" if form == "category" else "number"
        if form == "missing":
            marks[name] = (0.5, 3.0)
    x = np.concatenate(columns, axis=1)
    names = tuple(f"{name} #{k}" if k else name for k, name in enumerate(variables))
    return x, Columns(names, "S", tuple(variables), kinds, marks, comparable_units=False), tuple(edges)


def assert_legal(form: str, seen: Floats, twins: Floats) -> None:
    if form in ("normal", "lognormal", "bounded", "atom"):
        assert seen.min() <= twins.min()
        assert twins.max() <= seen.max()
    elif form == "missing":
        gone = twins[:, 1] == 3.0
        assert set(np.unique(twins[:, 1])) <= {3.0, -3.0}
        assert (twins[gone, 0] == 0.5).all()
        known = seen[seen[:, 1] < 0.0, 0]
        assert twins[~gone, 0].size == 0 or known.min() <= twins[~gone, 0].min() <= twins[~gone, 0].max() <= known.max()
    elif form == "many":
        assert np.array_equal(np.round(twins, 3), twins)
        assert seen.min() <= twins.min()
        assert twins.max() <= seen.max()
    else:  # a value that training saw
        assert {tuple(row) for row in twins} <= {tuple(row) for row in seen}


@pytest.mark.slow
@settings(max_examples=40, deadline=None)
@for_all(st.lists(st.sampled_from(FORMS), min_size=1, max_size=5), st.integers(0, 10_000))
def test_every_cell_of_a_twin_exists(forms: list[str], seed: int) -> None:
    x, columns, edges = table_of(forms, seed)
    model = learn(x, columns, given(edges))
    for people, draw in ((x, 0), (x, 1), (table_of(forms, seed + 1)[0], 0)):
        strangers = people is not x
        twins = model.twins(people, draw)
        assert np.isfinite(twins).all()
        for k, form in enumerate(forms):
            name = f"{form} {k}"
            own = [c for c, variable in enumerate(columns.column_variables) if variable == name]
            moved = (twins[:, own] != people[:, own]).any(axis=1)
            if strangers or form in ("normal", "lognormal", "bounded", "atom", "missing", "many"):
                assert_legal(form, x[:, own], twins[moved][:, own] if moved.any() else x[:1, own])
            else:
                assert_legal(form, x[:, own], twins[:, own])


@pytest.mark.parametrize("draw", range(3))
def test_mixed_twins_are_people(draw: int) -> None:
    x, strangers = mixed_rows(1500), mixed_rows(800, seed=3)
    model = learn_mixed()
    for people in (x, strangers):
        twins = model.twins(people, draw)
        visits, gain = twins[:, 2], twins[:, 3]
        assert set(visits) <= set(x[:, 2]) | set(people[:, 2])
        assert np.array_equal(np.round(gain, 2), gain)
        assert gain.min() == 0.0
        assert (gain == 0.0).mean() > 0.2
        assert {tuple(row) for row in twins[:, 4:7]} <= {tuple(row) for row in x[:, 4:7]}
        assert 0.0 < twins[:, 8].min() < twins[:, 8].max() < 1.0
        assert {tuple(row) for row in twins[twins[:, 10] > 0.0][:, 9:11]} == {(0.25, 3.0)}
    assert len(MIXED_VARIABLES) == twins.shape[1]


def test_strange_people_still_get_legal_twins() -> None:
    """Numbers beyond all that training saw, levels between levels: twins are finite, and of what S reaches legal."""
    model, x = learn_mixed(), mixed_rows(50, seed=4)
    x[0, 1], x[1, 2], x[2, 3], x[3, 4:7], x[4, 8] = 1e21, -7.0, 0.333333, (0.1, 0.2, -0.3), 5.0
    twins = model.twins(x)
    assert np.isfinite(twins).all()
    seen = mixed_rows(1500)
    assert seen[:, 1].min() <= twins[0, 1] <= seen[:, 1].max()
    assert twins[1, 2] in set(seen[:, 2])
    assert seen[:, 8].min() <= twins[4, 8] <= seen[:, 8].max()
