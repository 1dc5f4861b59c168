"""How long an audit takes, by what it is made of: the stages in their order, and the seconds of each.

The numbers were measured (``benchmarks/estimates.py``; docs/PERFORMANCE.md says how well they do): processor time of
one thread, on one machine. How much faster or slower another one is, the store learns from audits that are done.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import combinations
from math import ceil, prod
from typing import Any

import pandas as pd

from cfad_core.audit.checks import STAGE as CHECKS
from cfad_core.audit.fitting import known_methods
from cfad_core.audit.judging import STAGE as JUDGING
from cfad_core.audit.judging import draws_of, judged_at_most
from cfad_core.audit.learned_rows import MOST_LEARNED
from cfad_core.audit.measuring import STAGE as UNCERTAINTY
from cfad_core.audit.phase_one import JUDGE, LEAST_JUDGES
from cfad_core.causal.subsampling import STAGE as SUBSAMPLES
from cfad_core.core.config import AuditConfig
from cfad_core.core.cost import Cost
from cfad_core.data.attributes import Attribute
from cfad_core.data.kinds import MAX_LEVELS, kind_named, kind_of
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.tables import Tables
from cfad_core.detectors.registry import METHODS, needed
from cfad_core.evaluation.slice_search import STAGE as SLICES

PREPARATION = "preparation"
BEGINNING = 2.0  # seconds beside all stages: the process begins, and files are written
_LOOKED_AT = 5_000  # rows by which columns are judged
_LEAST_MISSING = 0.01  # share from which on missing numbers have a column of their own
_CUT_FOR = 2_000  # people that every edge is cut for
_CHECKED = 10_000  # people that the tests of the model take time for
_MOST_GROUPS = 10
_FEW = 60  # different values

_PREPARATION = Cost(0.0081, rows=1.08, columns=1.3, fixed=0.03)
_DISCOVERY = Cost(0.35, rows=0.3, columns=0.0, variables=2.2, fixed=0.1)
_MECHANISMS = Cost(0.1, rows=1.1, columns=0.0, variables=1.2, fixed=0.05)
_COUNT = Cost(0.25, rows=0.7, columns=0.0)  # more, for each number of few different values
_SUBSAMPLE = Cost(0.22, rows=0.35, columns=0.0, variables=1.9, fixed=0.06)
_JUDGING = Cost(0.062, rows=1.04, columns=0.83, fixed=0.05)
_EVALUATION = Cost(0.15, rows=0.8, columns=0.81)
_CHECKS = Cost(0.8, rows=0.67, columns=0.66, variables=0.9, fixed=0.3)
_UNCERTAINTY = Cost(1.7, rows=0.9, columns=0.45, variables=1.45, fixed=0.04)
_SLICES = Cost(0.01, rows=0.4, columns=0.0, variables=1.4)
_PAPER_DISCOVERY = Cost(19.0, rows=0.05, columns=0.95)
_PAPER_STEPS = 12 * 500  # in which it is measured
_PAPER_REFIT = Cost(2.9, rows=0.05, columns=0.95)
_FIXED_NETWORK = Cost(3.3, rows=1.1, columns=0.0)  # of 256 units, in 30 epochs


@dataclass(frozen=True)
class Size:
    """What an audit's time depends on, beside its settings.

    Attributes
    ----------
    rows : of all tables
    learned : rows that models learn from
    people : who are judged
    columns, variables : encoded columns, and what they belong to
    moves : twins of each person
    states : combinations of groups
    counts : variables that are numbers of few different values: their mechanisms take longer to learn
    """

    rows: int
    learned: int
    people: int
    columns: int
    variables: int
    moves: int = 1
    states: int = 2
    counts: int = 0


USUAL = Size(rows=4_000, learned=3_000, people=1_000, columns=20, variables=10)


def size_of(tables: Tables, roles: ColumnRoles, config: AuditConfig) -> Size:
    """The size of an audit, by the number of rows and what the first of them hold."""
    sample = tables.head(_LOOKED_AT)
    features = roles.features(sample)
    judged = None if tables.test is None else len(tables.test)
    people = round(config.test_share * tables.rows) if judged is None else judged
    learned = tables.rows - people if judged is None else tables.rows
    groups = [_groups(sample[one.column], one) for one in roles.attributes]
    return Size(
        rows=tables.rows + (judged or 0),
        learned=min(learned, MOST_LEARNED),
        people=people,
        columns=max(1, sum(_width(sample[name]) for name in features)),
        variables=max(1, len(features)),
        moves=sum(count - 1 for count in groups) + len(list(combinations(groups, 2))),
        states=prod(groups),
        counts=sum(_is_count(sample[name]) for name in features),
    )


def _width(cells: pd.Series[Any]) -> int:
    """Columns that a column is encoded in."""
    if kind_named(kind_of(cells)).holds == "number":
        return 2 if cells.isna().mean() >= _LEAST_MISSING else 1
    levels = min(int(cells.nunique(dropna=False)), MAX_LEVELS)
    return 1 if levels <= 2 else levels


def _is_count(cells: pd.Series[Any]) -> bool:
    return kind_named(kind_of(cells)).holds == "number" and 2 < cells.nunique() <= _FEW


def _groups(cells: pd.Series[Any], attribute: Attribute) -> int:
    if attribute.is_settled:
        return max(2, len(attribute.grouping.names))
    return attribute.bands or max(2, min(int(cells.nunique()), _MOST_GROUPS))


def stages(config: AuditConfig, *, knows_truth: bool, size: Size = USUAL) -> dict[str, float]:
    """The stages of an audit in their order, and the seconds that each is expected to take."""
    paper, shape = config.discovery.mode == "paper", (size.columns, size.variables)
    judges = 0 if paper else config.subsamples or (0 if knows_truth else LEAST_JUDGES)
    halves = judges * (_SUBSAMPLE.of(size.learned / 2, *shape) + size.counts * _COUNT.of(size.learned / 2, *shape))
    after = _after(config, size, judges or int(paper and not knows_truth))
    if paper:
        after.pop(CHECKS)
    if paper or not config.subsamples:
        after.pop(UNCERTAINTY)
    return {
        PREPARATION: _PREPARATION.of(size.rows, *shape),
        **(_paper_graph(config, size, knows_truth=knows_truth) if paper else _graph(size)),
        **_fits(config, size),
        **({SUBSAMPLES: halves} if judges else {}),
        **after,
    }


def expected_seconds(config: AuditConfig, size: Size, *, knows_truth: bool) -> float:
    """What a whole audit is expected to take."""
    return BEGINNING + sum(stages(config, knows_truth=knows_truth, size=size).values())


def _graph(size: Size) -> dict[str, float]:
    shape = (size.learned, size.columns, size.variables)
    return {"discovery": _DISCOVERY.of(*shape) + size.counts * _COUNT.of(*shape), "mechanisms": _MECHANISMS.of(*shape)}


def _paper_graph(config: AuditConfig, size: Size, *, knows_truth: bool) -> dict[str, float]:
    """Its time is that of so many steps, whatever the rows."""
    shape = (size.learned, size.columns, size.variables)
    steps = config.discovery.rounds * config.discovery.steps_per_round / _PAPER_STEPS
    first = {"discovery": _PAPER_DISCOVERY.of(*shape) * steps, "refit": _PAPER_REFIT.of(*shape)}
    return first if knows_truth else first | {f"{JUDGE}{stage}": seconds for stage, seconds in first.items()}


def _fits(config: AuditConfig, size: Size) -> dict[str, float]:
    """The stages in which detectors are fitted; before the first, a causal model that CFAD is tuned by is learned."""
    shape, names = (size.learned, size.columns, size.variables), needed(known_methods(config))
    found = {stage: METHODS[name].cost.of(*shape) for name in names if (stage := METHODS[name].stage) is not None}
    network = config.detector
    if network.width is not None and network.epochs is not None:
        fixed = _FIXED_NETWORK.of(*shape) * network.width / 256
        epochs = {"ae": network.epochs / 30, "cfad": network.fair_epochs / 12}
        found |= {str(METHODS[name].stage): fixed * share for name, share in epochs.items() if name in names}
    if "cfad" in names and network.closeness_weights:
        first = next(iter(found))
        found[first] += _SUBSAMPLE.of(size.learned / 2, size.columns, size.variables)
    return found


def _after(config: AuditConfig, size: Size, judges: int) -> dict[str, float]:
    """The stages after all is fitted."""
    shape = (size.columns, size.variables)
    judged = min(size.people, judged_at_most(size.moves, size.states)) * size.moves * judges * draws_of(judges)
    scored = size.learned * 1.3 + size.people * (1 + size.moves)

    def scoring(rows: float) -> float:
        names = needed(known_methods(config))
        return sum(METHODS[name].scoring.of(rows, *shape) for name in names)

    cut_for = min(size.people, _CUT_FOR)
    return {
        JUDGING: _JUDGING.of(judged, *shape) + scoring(judged),
        "evaluation": _EVALUATION.of(scored, *shape) + scoring(scored),
        CHECKS: _CHECKS.of(min(size.people, _CHECKED), *shape) * size.moves,
        UNCERTAINTY: _UNCERTAINTY.of(cut_for, *shape) + ceil(1.5 * size.variables) * scoring(cut_for),
        SLICES: _SLICES.of(size.people, *shape) * len(known_methods(config)),
    }
