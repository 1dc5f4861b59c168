"""Measure what is uncertain about an audit: compare the graphs of subsamples, cut edges, look at the twins."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from cfad_core.audit.comparisons import Comparison, Plan, view_of
from cfad_core.audit.judging import Judgement, Score, sample_of
from cfad_core.audit.scoring import in_slices
from cfad_core.audit.stability import Stability
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.progress import Progress
from cfad_core.data.encoding import Encoding
from cfad_core.detectors.protocol import InputScaling
from cfad_core.evaluation.edge_cuts import CutScores
from cfad_core.evaluation.plausibility import MAX_ROWS, USUAL, Plausibility, distance_to_real

STAGE = "uncertainty"
_MOST_ASKED = 2_000  # people that every single edge is cut for
_MOST_CUT = 200  # edges, the strongest
_LEAST = 1e-6  # distance that is a distance
_NOBODY = 1e9  # distance to people of a combination of groups that nobody in the table has


@dataclass(frozen=True)
class Subject:
    """What an audit has when its uncertainty is measured.

    Attributes
    ----------
    train : (n, d), all training rows, encoded
    factual : (n, d), the people
    twins : (moves, n, d), their twins that are shown
    plan : what is compared
    score : by method, of people and their twins
    thresholds : by method
    inputs : the scaling in which all variables count alike
    """

    train: Floats
    model: CausalModel
    encoding: Encoding
    factual: Floats
    twins: Floats
    plan: Plan
    score: Score
    thresholds: dict[str, float]
    inputs: InputScaling


def measure_stability(
    audit: Subject, models: Sequence[CausalModel], judgement: Judgement, seed: int, progress: Progress
) -> Stability:
    """Compare the graphs of models learned from subsamples; look at the own edges and twins."""
    plausibility = _plausibility(audit, np.random.default_rng([seed, 5]), progress)
    progress.tick(STAGE, 1, 2)
    cuts = [cut_edges(audit, comparison, seed, progress) for comparison in audit.plan.comparisons]
    edge_cuts = tuple(one.at(audit.thresholds) for one in cuts)
    progress.tick(STAGE, 2, 2)
    variables, _ = audit.model.strengths()
    return Stability(
        variables=tuple(variables),
        sensitive=audit.model.attributes,
        graphs=np.stack([np.abs(model.strengths()[1]) for model in models]),
        went=judgement.went,
        returned=judgement.returned,
        returned_by_same=judgement.returned_by_same,
        plausibility=plausibility,
        edge_cuts=edge_cuts,
        seed=seed,
    )


def cut_edges(audit: Subject, comparison: Comparison, seed: int, progress: Progress) -> CutScores:
    """Cut every edge on a path from what is compared, one by one; all else, chance included, stays the same."""
    own, plan = audit.model, audit.plan
    seen = view_of(plan, plan.states.of_codes(audit.factual[:, 0]), comparison).rows
    people = sample_of(seen, _MOST_ASKED, np.random.default_rng([seed, 6]))
    judged = audit.factual[people]
    to = plan.in_turn(plan.states.of_codes(judged[:, 0]), comparison)
    compared = [own.attributes[s] for s in comparison.attributes]
    starts = {*compared, *own.affected_by(compared)}
    strengths = {edge: abs(strength) for edge, strength in own.edges().items() if edge[0] in starts}
    edges = sorted(strengths, key=lambda edge: -strengths[edge])[:_MOST_CUT]
    found = []
    for edge in edges:
        found.append(audit.score(own.twins(judged, to=to, cut=edge), people))
        progress.check(STAGE)
    here = audit.score(judged, people)
    nothing = np.zeros((0, len(people)))
    return CutScores(
        edges=tuple(edges),
        here=here,
        whole=audit.score(own.twins(judged, to=to), people),
        without={method: np.stack([one[method] for one in found]) if found else nothing for method in here},
    )


def _plausibility(audit: Subject, rng: np.random.Generator, progress: Progress) -> Plausibility:
    groups, codes = audit.train[:, 0], audit.plan.states.codes
    kept = [sample_of(np.flatnonzero(groups == code), MAX_ROWS, rng) for code in codes]
    real = audit.train[np.concatenate(kept)]
    rows = audit.inputs(real[:, 1:])

    def distance(people: Floats) -> Floats:
        return distance_to_real(audit.inputs(people[:, 1:]), people[:, 0], rows, real[:, 0], rng)

    as_they_are = in_slices(distance, audit.factual, progress, STAGE)
    known = np.isfinite(as_they_are)  # whose combination of groups training saw
    usual = np.full(audit.twins.shape[:2], np.nan)
    for code in codes:  # neighbours are further away in a small group
        own = (audit.factual[:, 0] == code) & known
        usual[audit.twins[:, :, 0] == code] = np.quantile(as_they_are[own if own.any() else known], USUAL)
    illegal = [_illegal(audit.encoding, audit.factual, twins) for twins in audit.twins]
    apart = [in_slices(distance, twins, progress, STAGE) for twins in audit.twins]
    return Plausibility(
        out_of_range=np.stack([beyond for beyond, _ in illegal]),
        between_levels=np.stack([between for _, between in illegal]),
        distance=np.where(np.isfinite(apart), apart, _NOBODY),
        real_median=float(np.median(as_they_are[known])),
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
        beyond |= differs[:, 0] & variable.is_out_of_range(twins[:, columns])
        start = columns.stop
    return beyond, between
