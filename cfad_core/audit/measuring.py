"""Measure how sure an audit is: more graphs, what they say of the same detectors, edges cut one by one, and twins."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from cfad_core.audit.stability import Uncertainty, Validity, WhatIf
from cfad_core.causal.discovery.search import Search
from cfad_core.causal.model import StructuralModel
from cfad_core.causal.subsampling import learn_from_halves
from cfad_core.causal.twins import TwinDraws
from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import Encoding
from cfad_core.data.split import stratified_split
from cfad_core.detectors.protocol import Inputs
from cfad_core.evaluation.plausibility import MAX_ROWS, USUAL, distance_to_real

Score = Callable[[Floats], dict[str, Floats]]

STAGE = "how sure"
_MOST_JUDGED = 10_000  # people that every graph judges: sampling noise is then below the graphs' own
_MOST_ASKED = 2_000  # people that every single edge is cut for
_MOST_CUT = 200  # edges, the strongest
_SLICE = 8_192  # people between two looks at whether to stop
_LEAST = 1e-6  # distance that is a distance


@dataclass(frozen=True)
class Measured:
    """What an audit has when it comes to ask how sure it is.

    Attributes
    ----------
    train : (n, d), all training rows, encoded
    own : the rows among them that the own causal model learned from
    factual, counterfactual : (n, d), the people, and their twins by the own model
    score : the scores of people (n, d) by method
    thresholds : by method
    inputs : the scaling in which all variables count alike
    """

    train: Floats
    own: Rows
    scm: StructuralModel
    encoding: Encoding
    factual: Floats
    counterfactual: Floats
    score: Score
    thresholds: dict[str, float]
    inputs: Inputs


def measure_uncertainty(audit: Measured, search: Search, graphs: int, seed: int, progress: Progress) -> Uncertainty:
    """Learn ``graphs`` models (an even number) that judge the detectors; look at the own model's edges and twins."""
    sensitive = audit.train[:, 0]
    splits = [stratified_split(sensitive, 0.5, np.random.default_rng([seed, 2, k])) for k in range(graphs // 2)]
    models = learn_from_halves(audit.train, search, splits, seed, progress)
    people = _sample(len(audit.factual), _MOST_JUDGED, np.random.default_rng([seed, 3]))
    judged = audit.factual[people]
    worlds: list[dict[str, Floats]] = []
    returned: list[dict[str, Floats]] = []
    steps = graphs + graphs // 2 + 2
    neighbour: TwinDraws | None = None
    for b, model in enumerate(models):
        rng = np.random.default_rng([seed, 4, b])
        draws = TwinDraws.fit(model, audit.train[splits[b // 2][b % 2]], rng)
        worlds.append(audit.score(draws.draw(judged, rng)))
        if neighbour is not None and b % 2:
            back = model.counterfactual(neighbour.scm.counterfactual(judged))
            returned.append(audit.score(draws.snapped(neighbour.snapped(back))))
        neighbour = draws
        progress.tick(STAGE, len(worlds) + len(returned), steps)
    validity = _validity(audit, np.random.default_rng([seed, 5]), progress)
    progress.tick(STAGE, steps - 1, steps)
    what_if = _what_if(audit, [seed, 6], progress)
    progress.tick(STAGE, steps, steps)
    variables, _ = audit.scm.strengths()
    return Uncertainty(
        variables=tuple(variables),
        sensitive=audit.scm.sensitive,
        graphs=np.stack([np.abs(model.strengths()[1]) for model in models]),
        people=people.astype(np.int64),
        worlds={method: np.stack([world[method] for world in worlds]) for method in audit.thresholds},
        returned={method: np.stack([world[method] for world in returned]) for method in audit.thresholds},
        validity=validity,
        what_if=what_if,
        seed=seed,
    )


def _what_if(audit: Measured, seed: list[int], progress: Progress) -> WhatIf:
    """Cut every edge on a path from the sensitive attribute, one by one; all else, chance included, stays the same."""
    scm = audit.scm
    judged = audit.factual[_sample(len(audit.factual), _MOST_ASKED, np.random.default_rng(seed))]
    draws = TwinDraws.fit(scm, audit.train[audit.own], np.random.default_rng(seed))
    here = {method: scores > audit.thresholds[method] for method, scores in audit.score(judged).items()}

    def ratio(cut: tuple[str, str] | None) -> dict[str, float]:
        there = audit.score(draws.draw(judged, np.random.default_rng(seed), cut))
        return {
            method: float(((there[method] > threshold) != here[method]).mean())
            for method, threshold in audit.thresholds.items()
        }

    starts = {scm.sensitive, *scm.affected_names}
    strengths = {edge: abs(strength) for edge, strength in scm.edges().items() if edge[0] in starts}
    edges = sorted(strengths, key=lambda edge: -strengths[edge])[:_MOST_CUT]
    found = []
    for edge in edges:
        found.append(ratio(edge))
        progress.check(STAGE)
    return WhatIf(
        people=len(judged),
        edges=tuple(edges),
        whole=ratio(None),
        without={method: np.array([one[method] for one in found]) for method in audit.thresholds},
    )


def _validity(audit: Measured, rng: np.random.Generator, progress: Progress) -> Validity:
    groups = audit.train[:, 0]
    kept = [_sample_of(np.flatnonzero(groups == sign), MAX_ROWS, rng) for sign in (-1.0, 1.0)]
    real = audit.train[np.concatenate(kept)]
    rows = audit.inputs(real[:, 1:])

    def distance(people: Floats) -> Floats:
        parts = []
        for start in range(0, len(people), _SLICE):
            some = people[start : start + _SLICE]
            parts.append(distance_to_real(audit.inputs(some[:, 1:]), some[:, 0], rows, real[:, 0], rng))
            progress.check(STAGE)
        return np.concatenate(parts)

    as_they_are = distance(audit.factual)
    usual = np.empty(len(as_they_are))
    for sign in (-1.0, 1.0):  # neighbours are further away in a small group
        own = audit.factual[:, 0] == sign
        usual[audit.counterfactual[:, 0] == sign] = np.quantile(as_they_are[own] if own.any() else as_they_are, USUAL)
    out_of_range, between_levels = _illegal(audit.encoding, audit.factual, audit.counterfactual)
    return Validity(
        out_of_range=out_of_range,
        between_levels=between_levels,
        distance=distance(audit.counterfactual),
        real_median=float(np.median(as_they_are)),
        usual=np.maximum(usual, _LEAST),
    )


def _illegal(encoding: Encoding, factual: Floats, twins: Floats) -> tuple[Bools, Bools]:
    """Whose twin has a number beyond what training saw, and whose has a category that is no level."""
    beyond, between = np.zeros(len(twins), dtype=np.bool_), np.zeros(len(twins), dtype=np.bool_)
    start = 1
    for variable in encoding.variables:
        columns = slice(start, start + len(variable.columns))
        differs = twins[:, columns] != factual[:, columns]
        between |= differs.any(axis=1) & variable.is_between_levels(twins[:, columns])
        if variable.kind != "category":
            beyond |= differs[:, 0] & variable.is_out_of_range(twins[:, columns])
        start = columns.stop
    return beyond, between


def _sample(n: int, most: int, rng: np.random.Generator) -> Rows:
    return _sample_of(np.arange(n), most, rng)


def _sample_of(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
