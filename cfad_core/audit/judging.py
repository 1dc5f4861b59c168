"""What other causal models say: their twins of the audited people, scored by every method.

A detector knows the audit's own causal model; the number that leads comes from models that it does not know, each
learned from a random half of the rows. Everybody gets several twins, so an outcome changes with a probability.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from cfad_core.audit.comparisons import Plan
from cfad_core.audit.stability import evenly
from cfad_core.causal.learning import CausalModel
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.progress import Progress
from cfad_core.evaluation.draws import draws_needed

Score = Callable[[Floats, Rows], dict[str, Floats]]
"""By method, the scores (n,) of rows (n, d), each a version of the person at this position (n,) among all people."""

STAGE = "judging"
MOST_JUDGED = 10_000  # people: sampling noise is then below the models' own
_LEAST_JUDGED = 2_500  # of them, however many groups there are
_MOST_WORLDS = 20  # moves of each person times groups that each twin is scored in; beyond, fewer people are judged
_MOST_RETURNED = 2_500  # of them, who go there and back
UNSEEN = 1_000_000  # of a person's possible twins, the first that no detector scores with
_PERSONS_ERROR = 0.125  # standard error, by drawing alone, that one person's probability may have at worst


@dataclass(frozen=True)
class Judgement:
    """Scores of the judged people's twins.

    Attributes
    ----------
    people : (m,), positions among the audit's people
    twin_scores : by method, (R, moves, m): R = models x twins by each model, those of one model next to each other
    went : (r,), positions among the judged of those who go there and back, at even distances
    returned : by method, (models / 2, comparisons, r): of the twins' twins of these; the second twin is by a model that
        shares no row with the first
    returned_by_same : the same, both by the first: what is drawn by chance alone
    """

    people: NDArray[np.int64]
    twin_scores: dict[str, Floats]
    went: NDArray[np.int64]
    returned: dict[str, Floats]
    returned_by_same: dict[str, Floats]

    def by(self, methods: Collection[str]) -> Judgement:
        """What some of the methods say."""

        def some(scores: Mapping[str, Floats]) -> dict[str, Floats]:
            return {method: found for method, found in scores.items() if method in methods}

        return replace(
            self,
            twin_scores=some(self.twin_scores),
            returned=some(self.returned),
            returned_by_same=some(self.returned_by_same),
        )


def judge_people(
    models: Sequence[CausalModel],
    factual: Floats,
    plan: Plan,
    score: Score,
    seed: int,
    progress: Progress,
    *,
    most: int = MOST_JUDGED,
) -> Judgement:
    """Twins of people (n, d) by every model for every move, and there and back by each pair of neighbours.

    Parameters
    ----------
    most : people who are judged at most
    """
    some = min(most, most_judged(plan))
    people = sample_of(np.arange(len(factual)), some, np.random.default_rng([seed, 3]))
    judged, went = factual[people], evenly(len(people), _MOST_RETURNED)
    state, draws, moves = plan.states.of_codes(judged[:, 0]), draws_of(len(models)), range(len(plan.moves))
    found: list[dict[str, Floats]] = []
    returned: list[dict[str, Floats]] = []
    by_same: list[dict[str, Floats]] = []
    for twins in twins_by_all(models, judged, plan, draws):
        found.append(score(twins, np.tile(people, len(moves))))
        progress.tick(STAGE, len(found), len(models) * draws)
    for turn, (model, other) in enumerate(zip(models[0::2], models[1::2], strict=False)):
        for twins in _some_twins(model, judged[went], plan, turn):
            back = state[went]
            returned.append(score(other.twins(twins, to=back), people[went]))
            by_same.append(score(model.twins(twins, to=back), people[went]))
            progress.check(STAGE)
    return Judgement(
        people=people.astype(np.int64),
        twin_scores=by_method(found, len(moves), len(judged)),
        went=went.astype(np.int64),
        returned=by_method(returned, len(plan.comparisons), len(went)),
        returned_by_same=by_method(by_same, len(plan.comparisons), len(went)),
    )


def twins_by_all(
    models: Sequence[CausalModel], people: Floats, plan: Plan, draws: int, first: int = 0
) -> Iterator[Floats]:
    """Twins (moves * m, d) of people (m, d), draw by draw and model by model, those of every move below each other.

    All moves at once, as detectors score blocks of rows.

    Parameters
    ----------
    first : of a person's possible twins, by each model
    """
    state = plan.states.of_codes(people[:, 0])
    for b, model in enumerate(models):
        twins_of = model.possible_twins(people)
        for draw in range(draws):
            to = [plan.targets(state, move, b * draws + draw) for move in range(len(plan.moves))]
            yield np.concatenate([twins_of(first + draw, to=target) for target in to])


def _some_twins(model: CausalModel, people: Floats, plan: Plan, turn: int) -> Iterator[Floats]:
    """Of people (n, d), one twin each by every comparison."""
    state, twins_of = plan.states.of_codes(people[:, 0]), model.possible_twins(people)
    for comparison in plan.comparisons:
        yield twins_of(0, to=plan.in_turn(state, comparison, turn))


def by_method(found: Sequence[dict[str, Floats]], parts: int, people: int) -> dict[str, Floats]:
    """Scores (k, parts, people) of each method, which are given one part after the other, in pieces of any size."""
    return {
        method: np.concatenate([one[method] for one in found]).reshape(-1, parts, people)
        for method in (found[0] if found else {})
    }


def most_judged(plan: Plan) -> int:
    """How many people are judged at most.

    Everybody has a twin for every move, and a detector that scores with the causal model makes twins of it in every
    other state.
    """
    return judged_at_most(len(plan.moves), plan.states.count)


def judged_at_most(moves: int, states: int) -> int:
    """The same, by the number of moves and of combinations of groups."""
    worlds = moves * states
    some = MOST_JUDGED * _MOST_WORLDS // max(_MOST_WORLDS, worlds)
    return min(MOST_JUDGED, max(_LEAST_JUDGED, some))


def draws_of(models: int) -> int:
    """How many twins of each person every one of so many models makes."""
    return max(1, -(-draws_needed(_PERSONS_ERROR, people=1) // max(1, models)))


def sample_of(rows: Rows, most: int, rng: np.random.Generator) -> Rows:
    """All of the rows, or a random part of them."""
    return rows if len(rows) <= most else np.sort(rng.choice(rows, most, replace=False))
