"""Where the nodes of a drawn causal graph stand: one layout for the page, for reports and for plain pictures.

Layers from left to right, causes before effects; few crossings; short edges. Sugiyama's way: an edge that passes layers
gets a stop in each of them, the layers are ordered by the middles of what they are joined to, there and back, and then
heights are chosen that keep edges flat.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import networkx as nx
import numpy as np
from numpy.typing import NDArray

from cfad_core.core.arrays import Bools, Floats

_SWEEPS = 12  # over all layers, there and back; more of them change little
_PATIENCE = 4  # sweeps without fewer crossings, after which they end
_WIDEST_SWAPS = 60  # nodes and stops of a layer, up to which neighbours are also tried the other way round
_ALIGNMENTS = 6
_PASSES = 2  # over all nodes, when they are moved one by one
_MOST_EDGES = 160  # up to which nodes are: of more, nobody could follow one anyway
_OVER, _LONG = 1.0, 0.02  # what an edge over a node, and its length, count for beside a crossing
_REACH = 3.0  # steps from the middle of its neighbours that a node is tried at
_NEAR = 0.35  # of a step: an edge nearer to a node than that runs over it


def places(strengths: Floats, rows: int = 10) -> Floats:
    """Positions (v, 2) of the nodes; the same graph always has the same.

    Parameters
    ----------
    strengths : (v, v), acyclic; ``strengths[j, i] != 0`` means j causes i
    rows : so many nodes stand above each other at most

    Returns
    -------
    The columns and heights of the nodes: whole columns from 0, and whole steps of height around 0 of which larger ones
    are higher.
    """
    if not len(strengths):
        return np.zeros((0, 2))
    edges = [(int(j), int(i)) for j, i in np.argwhere(strengths != 0.0)]
    column = _columns(edges, len(strengths), rows)
    layers = _ordered(_with_stops(edges, column))
    place = np.stack([column.astype(np.float64), _heights(layers, len(strengths), rows)], axis=1)
    place = _improved(place, edges, rows)
    place[:, 1] -= (place[:, 1].min() + place[:, 1].max()) / 2.0
    return place


def crossings(place: Floats, edges: Sequence[tuple[int, int]]) -> int:
    """How many pairs of straight edges between these places (v, 2) cross; edges that share an end do not."""
    ends = np.array(edges, dtype=np.int64).reshape(-1, 2)
    return int(np.triu(_cross(place, ends, ends), 1).sum())


# Which column


def _columns(edges: Sequence[tuple[int, int]], count: int, rows: int) -> NDArray[np.int64]:
    """(v,), the column of each node: right of its causes, no column fuller than ``rows``, and edges short."""
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(count))
    graph.add_edges_from(edges)
    longest = np.zeros(count, dtype=np.int64)  # chain of effects behind a node
    order = list(nx.lexicographical_topological_sort(graph))
    for k in reversed(order):
        longest[k] = max((longest[i] + 1 for i in graph.succ[k]), default=0)
    column, used = np.zeros(count, dtype=np.int64), [0]
    ready = sorted((k for k in order if not graph.pred[k]), key=lambda k: (-longest[k], k))
    waits = {k: len(graph.pred[k]) for k in order}
    while ready:
        k = ready.pop(0)
        at = max((int(column[j]) + 1 for j in graph.pred[k]), default=0)
        while at < len(used) and used[at] >= rows:
            at += 1
        used += [0] * (at + 1 - len(used))
        column[k], used[at] = at, used[at] + 1
        for i in graph.succ[k]:
            waits[i] -= 1
            if not waits[i]:
                ready.append(i)
        ready.sort(key=lambda k: (-longest[k], k))
    for k in reversed(order):  # a node with more effects than causes moves next to the first of its effects
        if len(graph.succ[k]) > len(graph.pred[k]):
            last = min(int(column[i]) for i in graph.succ[k]) - 1
            at = next((c for c in range(last, int(column[k]), -1) if used[c] < rows), int(column[k]))
            used[column[k]], used[at] = used[column[k]] - 1, used[at] + 1
            column[k] = at
    taken = np.unique(column)
    return np.searchsorted(taken, column).astype(np.int64)


# In which order


@dataclass(frozen=True)
class _Layers:
    """Nodes, and stops of the edges that pass a layer, from the top to the bottom of each layer.

    Attributes
    ----------
    order : by layer, what stands in it; numbers from the count of nodes on are stops
    links : between a layer and the next, pairs of what is joined
    """

    order: list[list[int]]
    links: list[list[tuple[int, int]]]

    def crossings(self) -> int:
        return sum(
            _between(_spots(left), _spots(right), links)
            for (left, right), links in zip(pairwise(self.order), self.links, strict=True)
        )

    def neighbours(self, layer: int, *, before: bool) -> dict[int, list[int]]:
        """What each of a layer is joined to in the layer before it, or in the one behind it."""
        found: dict[int, list[int]] = {k: [] for k in self.order[layer]}
        for a, b in self.links[layer - 1 if before else layer]:
            found[b if before else a].append(a if before else b)
        return found


def _with_stops(edges: Sequence[tuple[int, int]], column: NDArray[np.int64]) -> _Layers:
    last = int(column.max())
    order = [[int(k) for k in np.flatnonzero(column == c)] for c in range(last + 1)]
    links: list[list[tuple[int, int]]] = [[] for _ in range(last)]
    stop = len(column)
    for j, i in edges:
        before = j
        for c in range(int(column[j]) + 1, int(column[i])):
            order[c].append(stop)
            links[c - 1].append((before, stop))
            before, stop = stop, stop + 1
        links[column[i] - 1].append((before, i))
    return _Layers(order, links)


def _spots(layer: Sequence[int]) -> dict[int, int]:
    return {k: spot for spot, k in enumerate(layer)}


def _between(left: dict[int, int], right: dict[int, int], links: Sequence[tuple[int, int]]) -> int:
    """How many of the links between two layers cross."""
    if len(links) < 2:
        return 0
    ends = np.array([(left[a], right[b]) for a, b in links])
    ends = ends[np.lexsort((ends[:, 1], ends[:, 0]))]
    a, b = ends[:, 0], ends[:, 1]
    return int(np.triu((a[:, None] < a[None, :]) & (b[:, None] > b[None, :]), 1).sum())


def _ordered(layers: _Layers) -> _Layers:
    """The order with the fewest crossings that sweeps find, from two beginnings."""
    best, fewest = layers, math.inf
    for begin in (layers.order, [layer[::-1] for layer in layers.order]):
        now, idle = _Layers([list(layer) for layer in begin], layers.links), 0
        for sweep in range(_SWEEPS):
            for layer, before in _way(len(now.order), forth=sweep % 2 == 0):
                _by_middles(now, layer, before=before)
            _swap(now)
            found = now.crossings()
            idle = 0 if found < fewest else idle + 1
            if found < fewest:
                best, fewest = _Layers([list(layer) for layer in now.order], layers.links), found
            if not fewest or idle >= _PATIENCE:
                break
    return best


def _way(count: int, *, forth: bool) -> Iterator[tuple[int, bool]]:
    """The layers in the order of a sweep, and whether they follow the layer before them."""
    return ((k, True) for k in range(1, count)) if forth else ((k, False) for k in range(count - 2, -1, -1))


def _by_middles(layers: _Layers, layer: int, *, before: bool) -> None:
    """Order a layer by the middles of what it is joined to; what is joined to nothing there stays where it is."""
    spots = _spots(layers.order[layer - 1 if before else layer + 1])
    own = layers.order[layer]
    middles = {
        k: float(np.mean([spots[j] for j in others]))
        for k, others in layers.neighbours(layer, before=before).items()
        if others
    }
    moving = iter(sorted(middles, key=lambda k: (middles[k], own.index(k))))
    layers.order[layer] = [next(moving) if k in middles else k for k in own]


def _swap(layers: _Layers) -> None:
    """Swap neighbours in a layer wherever fewer edges cross then."""
    for layer, own in enumerate(layers.order):
        if len(own) > _WIDEST_SWAPS:
            continue
        sides = []
        if layer:
            sides.append((_spots(layers.order[layer - 1]), layers.neighbours(layer, before=True)))
        if layer + 1 < len(layers.order):
            sides.append((_spots(layers.order[layer + 1]), layers.neighbours(layer, before=False)))
        ends = {k: [np.array([spots[j] for j in found[k]]) for spots, found in sides] for k in own}

        def gain(a: int, b: int, ends: dict[int, list[NDArray[np.int64]]] = ends) -> int:
            """How many crossings fewer, if a, which stands above b, stood below it."""
            found = 0
            for of_a, of_b in zip(ends[a], ends[b], strict=True):
                apart = np.sign(of_a[:, None] - of_b[None, :])
                found += int(apart.sum())
            return found

        for _ in range(len(own)):
            swapped = False
            for k in range(len(own) - 1):
                if gain(own[k], own[k + 1]) > 0:
                    own[k], own[k + 1], swapped = own[k + 1], own[k], True
            if not swapped:
                break


# At which height


def _heights(layers: _Layers, count: int, rows: int) -> Floats:
    """(v,), whole steps around 0: near the middles of what nodes are joined to, in the order of their layers."""
    fullest = max(sum(k < count for k in layer) for layer in layers.order)
    most = min(rows, fullest + 1) if any(k >= count for layer in layers.order for k in layer) else fullest
    room = np.array(
        [1.0 if k < count else 0.0 for k in range(1 + max(max(layer, default=0) for layer in layers.order))]
    )
    depth = np.zeros(len(room))  # downwards from 0 to most - 1
    for layer in layers.order:
        own = np.array(layer)
        depth[own] = np.cumsum(room[own]) - room[own] + (most - room[own].sum()) / 2.0
    for sweep in range(_ALIGNMENTS):
        for at, before in _way(len(layers.order), forth=sweep % 2 == 0):
            wanted = depth.copy()
            for k, others in layers.neighbours(at, before=before).items():
                if others:
                    wanted[k] = np.median(depth[others])
            own = np.array(layers.order[at])
            depth[own] = _apart(wanted[own], room[own], most)
    found = np.zeros(count)
    for whole_layer in layers.order:
        nodes = [k for k in whole_layer if k < count]
        # Whole steps that keep the order: what is rounded up pushes what is below it
        whole = np.floor(depth[nodes] + 0.5)
        for at in range(1, len(nodes)):
            whole[at] = max(whole[at], whole[at - 1] + 1.0)
        over = whole[::-1] - (most - 1.0 - np.arange(len(nodes)))
        whole -= np.maximum.accumulate(np.maximum(over, 0.0))[::-1]
        found[nodes] = whole
    return -found


def _apart(wanted: Floats, room: Floats, most: int) -> Floats:
    """The depths nearest to those wanted (n,) that keep the order, and the room of each: pooled neighbours."""
    shift = np.concatenate([[0.0], np.cumsum((room[:-1] + room[1:]) / 2.0)])
    pools: list[list[float]] = []  # sum and count of what stands together
    for value in wanted - shift:
        pools.append([float(value), 1.0])
        while len(pools) > 1 and pools[-2][0] / pools[-2][1] > pools[-1][0] / pools[-1][1]:
            total, size = pools.pop()
            pools[-1] = [pools[-1][0] + total, pools[-1][1] + size]
    flat = np.concatenate([np.full(int(size), total / size) for total, size in pools])
    found: Floats = np.clip(flat, 0.0, max(0.0, most - 1.0 - float(shift[-1]))) + shift
    return found


# One by one


def _cross(place: Floats, some: NDArray[np.int64], others: NDArray[np.int64]) -> Bools:
    """(a, b), which of some edges (a, 2) cross which of others (b, 2)."""
    apart = _side(place, some, others[:, 0]) * _side(place, some, others[:, 1]) < 0.0
    back = _side(place, others, some[:, 0]) * _side(place, others, some[:, 1]) < 0.0
    shared = (some[:, None, :, None] == others[None, :, None, :]).any(axis=(2, 3))
    found: Bools = apart & back.T & ~shared
    return found


def _side(place: Floats, edges: NDArray[np.int64], nodes: NDArray[np.int64]) -> Floats:
    """(e, n), on which side of edges (e, 2) nodes (n,) stand."""
    start = place[edges[:, 0]]
    along, towards = (place[edges[:, 1]] - start)[:, None], place[nodes][None, :] - start[:, None]
    found: Floats = np.sign(along[..., 0] * towards[..., 1] - along[..., 1] * towards[..., 0])
    return found


def _over(place: Floats, edges: NDArray[np.int64], nodes: NDArray[np.int64]) -> int:
    """How often edges (e, 2) run over nodes (n,) that they pass."""
    start, end, at = place[edges[:, 0]][:, None], place[edges[:, 1]][:, None], place[nodes][None]
    share = (at[..., 0] - start[..., 0]) / (end[..., 0] - start[..., 0])
    height = start[..., 1] + share * (end[..., 1] - start[..., 1])
    return int(((share > 0.0) & (share < 1.0) & (np.abs(height - at[..., 1]) < _NEAR)).sum())


def _improved(place: Floats, edges: Sequence[tuple[int, int]], rows: int) -> Floats:
    """Nodes moved to a free place, or swapped in their column, wherever fewer edges cross or run over nodes then."""
    if not 0 < len(edges) <= _MOST_EDGES:
        return place
    ends, everybody = np.array(edges, dtype=np.int64), np.arange(len(place))

    def harm(moved: Sequence[int]) -> float:
        """What is wrong with the edges of some nodes, and with what runs over these."""
        touched = np.isin(ends, moved).any(axis=1)
        own, cross = ends[touched], _cross(place, ends[touched], ends)
        twice = np.triu(cross[:, touched], 1).sum()  # each is counted from both of its edges
        length = float(np.abs(np.diff(place[own], axis=1)).sum())
        over = _over(place, own, everybody) + _over(place, ends[~touched], np.array(moved))
        return float(cross.sum() - twice) + _OVER * over + _LONG * length

    for _ in range(_PASSES):
        before = place.copy()
        for k in everybody.tolist():
            _move(place, ends, k, rows, harm)
        if np.array_equal(before, place):
            break
    return place


def _move(place: Floats, ends: NDArray[np.int64], k: int, rows: int, harm: Callable[[Sequence[int]], float]) -> None:
    """Set a node where it does least harm."""
    first = int(place[ends[ends[:, 1] == k, 0], 0].max(initial=-1.0)) + 1
    last = int(place[ends[ends[:, 0] == k, 1], 0].min(initial=place[:, 0].max() + 1.0)) - 1
    joined = np.concatenate([ends[ends[:, 1] == k, 0], ends[ends[:, 0] == k, 1]])
    if not len(joined):
        return
    wish, least = float(place[joined, 1].mean()), harm([k])
    low, high = max(float(place[:, 1].min()), wish - _REACH), min(float(place[:, 1].max()), wish + _REACH)
    heights = np.arange(math.ceil(low - 0.5), high + 0.5)
    for column in range(max(first, int(place[k, 0]) - 1), min(last, int(place[k, 0]) + 1) + 1):
        for height in heights.tolist():
            beside = place[:, 0] == column
            (others,) = np.nonzero(beside & (place[:, 1] == height))
            here, stays = place[k].copy(), place[k, 0] == column
            if k in others or (not stays and (len(others) or int(beside.sum()) >= rows)):
                continue
            moved = [k, *others.tolist()]
            before = harm(moved) if len(others) else least
            place[k], place[others] = (column, height), here
            after = harm(moved)
            if after < before - 1e-9:
                least = harm([k]) if len(others) else after
            else:
                place[k], place[others] = here, (column, height)
