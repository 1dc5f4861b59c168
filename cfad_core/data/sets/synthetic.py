"""A world whose twins are known: the synthetic data set of the paper, in worlds that can be learnt.

Structural equations over ``S`` (a root), ``X1 .. Xm`` and a decision ``Y`` that nothing depends on::

    x_i = 3 * sum_j A[j, i] * cos(x_j + 1) + u_i,    u_i ~ N(0, 1),    S in {-1, +1}
    y   = sum_j A[j, Y] * x_j,                       A[S, Y] = 1.5

Rows are kept by where ``y`` falls in both worlds, so that half of the people keep their label when ``S``
is flipped and half change it. The true graph and the true twins are for judging only.

Choosing rows by ``y`` can hide the answer from everybody (see ``Worlds``); such graphs are
replaced by the next one of the seed's stream, as are those that cannot fill their cells.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.core.arrays import Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.core.progress import Progress

MAX_SELECTION_ERROR = 0.15
_WEIGHT_ON_S = 1.5  # of S in the decision Y
_CHUNK = 20_000  # rows drawn at a time: bounds the memory, and fits the cache
_PILOT = 40_000  # rows that set the quantiles of y, and rows after which the fill rates are first judged
_JUDGED_AT = {100_000: 2.0, 200_000: 1.5, 400_000: 1.2, 800_000: 1.1}  # with what margin: few rows say little
_MIN_DRAWS = 200_000  # enough to judge a graph by, even if its cells are small
_MAX_DRAWS = 4_000_000  # per graph; a graph that needs more is replaced
_MAX_GRAPHS = 500
_MIN_CAUSES = 3  # of Y among X; with fewer, "y is normal" pins a variable to a constant


@dataclass(frozen=True)
class Worlds:
    """Which worlds are drawn.

    Attributes
    ----------
    n_variables : profile attributes ``X1 .. Xm``
    expected_degree : of the Erdos-Renyi graph over ``S``, ``X`` and ``Y``
    max_selection_error : keeps worlds whose training rows hold the answer. Choosing rows by ``Y`` ties the noise of
        its causes to ``S``; in many graphs so much that an oracle that knows the graph and ``f`` still gets the
        counterfactuals wrong. A graph is replaced when that oracle's error exceeds this share of the error of merely
        flipping ``S``. ``math.inf`` keeps every graph that fills its cells.
    """

    n_variables: int = 19
    expected_degree: float = 5.0
    max_selection_error: float = MAX_SELECTION_ERROR

    def __post_init__(self) -> None:
        if self.n_variables < _MIN_CAUSES:
            raise InvalidDataError(f"n_variables must be at least {_MIN_CAUSES}; got {self.n_variables}.")
        if not 0 < self.expected_degree <= self.n_variables + 1:
            raise InvalidDataError(
                f"expected_degree must lie in (0, {self.n_variables + 1}]; got {self.expected_degree}."
            )


@dataclass(frozen=True)
class SyntheticData:
    """Tables with the columns ``S``, ``X1`` .. ``Xm`` and ``label`` (1 = anomaly).

    Attributes
    ----------
    train, test : DataFrame
        What a detector may see. ``train`` holds normal rows only.
    train_counterfactual, test_counterfactual : DataFrame
        The same people, in the same order, had ``S`` been the other value.
    adjacency : DataFrame of shape (d, d)
        True weights: row causes column.
    """

    train: pd.DataFrame
    test: pd.DataFrame
    train_counterfactual: pd.DataFrame
    test_counterfactual: pd.DataFrame
    adjacency: pd.DataFrame


class Graph(NamedTuple):
    """What causes what, and what decides."""

    weights: Floats  # (d, d), observed variables, S first
    decision: Floats  # (d,), weights of Y
    order: list[int]  # topological, S first


class _Cell(NamedTuple):
    label: int
    s: int
    changed: int


def generate_synthetic(
    seed: int,
    *,
    n_train: int = 12_000,
    n_test_normal: int = 4_000,
    n_test_anomaly: int = 400,
    worlds: Worlds | None = None,
    progress: Progress | None = None,
) -> SyntheticData:
    """Draw the synthetic data set.

    Parameters
    ----------
    seed : int
        The same seed gives the same tables.
    n_train, n_test_normal, n_test_anomaly : int
        Rows, each a multiple of 4: they are balanced over ``S`` and over changed or unchanged label.
    worlds : Worlds
        Which graphs are drawn, and which are replaced.

    Raises
    ------
    InvalidDataError
        If a size is unusable, or no graph of the seed's stream can fill the cells.
    """
    for name, rows in {"n_train": n_train, "n_test_normal": n_test_normal, "n_test_anomaly": n_test_anomaly}.items():
        if rows < 4 or rows % 4:
            raise InvalidDataError(
                f"{name} must be a positive multiple of 4 (two groups, label kept or not); got {rows}."
            )
    worlds = worlds or Worlds()
    need = {
        _Cell(label, s, changed): (n_test_anomaly if label else n_train + n_test_normal) // 4
        for label in (0, 1)
        for s in (-1, 1)
        for changed in (0, 1)
    }
    rng = np.random.default_rng(seed)
    for _ in range(_MAX_GRAPHS):
        graph = draw_graph(rng, worlds.n_variables + 1, worlds.expected_degree)
        if np.count_nonzero(graph.decision[1:]) < _MIN_CAUSES:
            continue
        cells = _fill_cells(rng, graph, need, worlds.max_selection_error, progress or Progress())
        if cells is not None:
            return _assemble(rng, graph, cells, n_train)
    raise InvalidDataError(
        f"None of the first {_MAX_GRAPHS} graphs of seed {seed} fills every cell within {_MAX_DRAWS:,} draws with "
        f"rows that hold the answer (selection error at most {worlds.max_selection_error:g}); "
        "use another seed, fewer rows or a larger max_selection_error."
    )


def draw_graph(rng: np.random.Generator, d: int, expected_degree: float) -> Graph:
    """Erdos-Renyi DAG on d observed variables and Y; S is first and Y last in the causal order."""
    order = np.concatenate([[0], 1 + rng.permutation(d - 1), [d]])
    edges = np.triu(rng.random((d + 1, d + 1)) < expected_degree / d, k=1)
    values = rng.uniform(0.5, 1.0, (d + 1, d + 1)) * rng.choice([-1.0, 1.0], (d + 1, d + 1))
    weights = np.zeros((d + 1, d + 1))
    weights[np.ix_(order, order)] = edges * values
    for i in range(3, d, 3):  # S reaches every third variable
        if weights[0, i] == 0.0:
            weights[0, i] = values[0, i]
    weights[0, d] = _WEIGHT_ON_S
    weights += 0.0  # no negative zeros
    return Graph(weights[:d, :d], weights[:d, d], [int(i) for i in order[:-1]])


def simulate(weights: Floats, order: list[int], s: Floats, noise: NDArray[np.floating]) -> NDArray[np.floating]:
    """Solve the structural equations for each person.

    Parameters
    ----------
    weights : array of shape (d, d)
    order : topological order, ``S`` (index 0) first
    s : array of shape (n,)
    noise : array of shape (d, n), in the precision to compute in; its first row is not used

    Returns
    -------
    array of shape (d, n)
    """
    x = noise.copy()
    x[0] = s
    messages = np.empty_like(x)
    for i in order:
        if i != 0:
            for j in np.flatnonzero(weights[:, i]):
                x[i] += x.dtype.type(3.0 * weights[j, i]) * messages[j]
        np.cos(x[i] + x.dtype.type(1.0), out=messages[i])
    return x


class _Twins(NamedTuple):
    """People in both worlds, each array (n, d): same noise, opposite S."""

    factual: Floats
    other: Floats

    @staticmethod
    def solve(graph: Graph, s: Floats, noise: NDArray[np.float32]) -> _Twins:
        exact = noise.astype(np.float64)
        worlds = (simulate(graph.weights, graph.order, sign * s, exact).T for sign in (1.0, -1.0))
        return _Twins(*(world.astype(np.float64, copy=False) for world in worlds))


def _draw(rng: np.random.Generator, graph: Graph) -> tuple[Floats, NDArray[np.float32], Floats, Floats]:
    """A chunk: S, the noise (d, n), and y in both worlds. Single precision is enough to choose rows by."""
    s = rng.choice([-1.0, 1.0], _CHUNK)
    noise = rng.standard_normal((len(graph.order), _CHUNK), dtype=np.float32)
    decision = graph.decision.astype(np.float32)
    y, y_other = (decision @ simulate(graph.weights, graph.order, sign * s, noise) for sign in (1.0, -1.0))
    return s, noise, y, y_other


def _fill_cells(
    rng: np.random.Generator,
    graph: Graph,
    need: dict[_Cell, int],
    max_selection_error: float,
    progress: Progress,
) -> dict[_Cell, _Twins] | None:
    """Draw until every cell is full; None as soon as this graph is clearly unfit."""
    levels = (0.01, 0.30, 0.40, 0.68, 0.70, 0.85, 0.90, 0.99)
    pilot = np.concatenate([y for _ in range(_PILOT // _CHUNK) for y in _draw(rng, graph)[2:]])
    q = dict(zip(levels, np.quantile(pilot, levels), strict=True))
    kept: dict[_Cell, list[_Twins]] = {cell: [] for cell in need}
    count = dict.fromkeys(need, 0)
    for draws in range(_CHUNK, _MAX_DRAWS + 1, _CHUNK):
        progress.check("drawing people")
        s, noise, y, y_other = _draw(rng, graph)
        # the label in this world, then what the other world must show: unchanged, changed
        here = ((y > q[0.30]) & (y < q[0.40]), (y < q[0.01]) | (y > q[0.99]))
        there = (
            ((y_other > q[0.30]) & (y_other < q[0.40]), (y_other > q[0.85]) & (y_other < q[0.90])),
            ((y_other < q[0.01]) | (y_other > q[0.99]), (y_other > q[0.68]) & (y_other < q[0.70])),
        )
        for cell in need:
            if count[cell] >= need[cell] and draws > _MIN_DRAWS:
                continue
            rows = (s == cell.s) & here[cell.label] & there[cell.label][cell.changed]
            kept[cell].append(_Twins.solve(graph, s[rows], noise[:, rows]))
            count[cell] += int(np.count_nonzero(rows))
        if draws >= _PILOT and any(_hopeless(count[cell], need[cell], draws) for cell in need):
            return None
        if draws in _JUDGED_AT and _selection_error(graph, kept) > _JUDGED_AT[draws] * max_selection_error:
            return None
        if draws >= _MIN_DRAWS and all(count[cell] >= need[cell] for cell in need):
            if _selection_error(graph, kept) > max_selection_error:
                return None
            return {cell: _join(parts, need[cell]) for cell, parts in kept.items()}
    return None


def _hopeless(count: int, need: int, draws: int) -> bool:
    """Would even a generous estimate of the rate (three standard deviations up) miss the budget?"""
    generous_rate = (count + 3.0 * np.sqrt(count) + 3.0) / draws
    return count < need and generous_rate * _MAX_DRAWS < need


def _selection_error(graph: Graph, cells: dict[_Cell, list[_Twins]]) -> float:
    """Counterfactual error, against merely flipping S, of an oracle that lacks nothing but the weights.

    It knows the graph and f = cos(x + 1), and fits the weights to the kept normal rows by least squares.
    What it gets wrong is lost by the selection of rows, not by anybody's method.
    """
    normal = [_join(parts) for cell, parts in cells.items() if cell.label == 0]
    rows = min(len(part.factual) for part in normal)
    factual, other = (np.concatenate([part[world][:rows] for part in normal]) for world in (0, 1))
    if len(factual) < 2 * len(graph.order):
        return float("inf")
    messages = np.cos(factual + 1.0)
    fitted = np.zeros_like(graph.weights)
    for i in range(len(graph.order)):
        parents = np.flatnonzero(graph.weights[:, i])
        centred = messages[:, parents] - messages[:, parents].mean(axis=0)
        fitted[parents, i] = np.linalg.lstsq(centred, factual[:, i] - factual[:, i].mean(), rcond=None)[0]
    guess = factual - messages @ fitted  # abduction
    guess[:, 0] = -factual[:, 0]  # action
    for i in graph.order:  # prediction
        guess[:, i] += messages @ fitted[:, i]
        messages[:, i] = np.cos(guess[:, i] + 1.0)
    flipped = factual * np.where(np.arange(factual.shape[1]) == 0, -1.0, 1.0)
    error, worst = (np.linalg.norm(rows - other, axis=1).mean() for rows in (guess, flipped))
    return float(error / worst)


def _join(parts: list[_Twins], rows: int | None = None) -> _Twins:
    return _Twins(*(np.concatenate(worlds)[:rows] for worlds in zip(*parts, strict=True)))


def _assemble(rng: np.random.Generator, graph: Graph, cells: dict[_Cell, _Twins], n_train: int) -> SyntheticData:
    names = ["S", *(f"X{i}" for i in range(1, len(graph.order)))]
    train: list[tuple[pd.DataFrame, pd.DataFrame]] = []
    test: list[tuple[pd.DataFrame, pd.DataFrame]] = []
    for cell, (factual, other) in cells.items():
        here = pd.DataFrame(factual, columns=names).assign(label=cell.label)
        there = pd.DataFrame(other, columns=names).assign(label=abs(cell.label - cell.changed))
        n_first = 0 if cell.label else n_train // 4
        train.append((here[:n_first], there[:n_first]))
        test.append((here[n_first:], there[n_first:]))

    def shuffled(pairs: list[tuple[pd.DataFrame, pd.DataFrame]]) -> tuple[pd.DataFrame, pd.DataFrame]:
        worlds = [pd.concat(frames, ignore_index=True) for frames in zip(*pairs, strict=True)]
        rows = rng.permutation(len(worlds[0]))
        first, second = (
            world.iloc[rows].reset_index(drop=True).astype({"S": "int64", "label": "int64"}) for world in worlds
        )
        return first, second

    (train_here, train_there), (test_here, test_there) = shuffled(train), shuffled(test)
    return SyntheticData(
        train=train_here,
        test=test_here,
        train_counterfactual=train_there,
        test_counterfactual=test_there,
        adjacency=pd.DataFrame(graph.weights, index=names, columns=names),
    )
