"""Which groups a page is about: chosen where an audit compares more than two, and kept from page to page."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import streamlit as st

from cfad_core.apps.dashboard.frame import VIEW
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.audit.comparisons import Comparison, Plan, View
from cfad_core.audit.result import AuditResult
from cfad_core.core.arrays import Floats
from cfad_core.core.markdown import as_text
from cfad_core.core.states import States
from cfad_core.runs.model import AuditRecord

ALL = "all groups"
_MARK = re.compile(r"(\d{1,3})(?:-(\d{1,3})-(\d{1,3}))?")


@dataclass(frozen=True)
class ChosenView:
    """What is looked at, by positions: names from a table may be anything.

    Attributes
    ----------
    comparison : among those of the audit
    pair : two groups of the comparison; None: all of them
    """

    comparison: int = 0
    pair: tuple[int, int] | None = None

    @property
    def mark(self) -> str:
        """For the address: ``1``, or ``1-0-2`` with two groups."""
        return "-".join(str(place) for place in (self.comparison, *(self.pair or ())))


def choose_view(record: AuditRecord, result: AuditResult, *, pairs: bool = True) -> AuditResult:
    """The audit as the page shows it: through one comparison, and two of its groups or all of them.

    Nothing is asked where there are two groups of one attribute.

    Parameters
    ----------
    pairs : whether the page may be about two groups of several
    """
    plan = result.plan
    if is_simple(plan):
        return result.seen()
    chosen = _remembered(record.id, plan)
    comparison = plan.comparisons[chosen.comparison]
    left, right, _ = st.columns([1, 1, 1])
    if len(plan.comparisons) > 1:
        with left:
            _ask_comparison(record.id, plan, chosen)
    if pairs and len(pairs_of(comparison)) > 1:
        with right if len(plan.comparisons) > 1 else left:
            _ask_pair(record.id, comparison, chosen)
    _keep(record.id, chosen)
    if chosen.pair is None or not pairs:
        return result.seen(comparison.name)
    first, second = chosen.pair
    return result.seen(comparison.name, (comparison.groups[first], comparison.groups[second]))


def choose_twin(
    record: AuditRecord, whole: AuditResult, seen: AuditResult, method: str, person: int
) -> tuple[AuditResult, int]:
    """Which of a person's twins to look at: the audit through the two groups, and the person's place in it.

    Nothing is asked where they have one; of several, it is at first the one whose score is furthest from theirs.

    Parameters
    ----------
    whole, seen : the audit, and the view of it in which the person has this place
    """
    view, row = view_of(seen), int(seen.people.row[person])
    if view.others == 1:
        return seen, person
    rows, scores = seen.people.encoded.some(np.array([person])), seen.scores[method]
    (own,), of_twins = groups_of(seen, rows.factual), groups_of(seen, rows.twins[:, 0])
    others = list(dict.fromkeys(of_twins))
    furthest = others.index(of_twins[int(np.abs(scores.twins[:, person] - scores.factual[person]).argmax())])
    other: int | None = furthest
    if len(others) > 1:
        other = st.segmented_control(
            "Twin, had they been",
            range(len(others)),
            default=furthest,
            format_func=lambda place: as_text(others[place], 60),
            required=True,
            key=f"twin-{record.id}-{method}-{view.comparison.name}-{row}",
            help=HELP["twin"],
        )
    pair = whole.seen(view.comparison.name, (own, others[furthest if other is None else other]))
    return pair, int(np.flatnonzero(pair.people.row == row)[0])


def is_simple(plan: Plan) -> bool:
    """Whether there is nothing to choose: two groups of one attribute."""
    return len(plan.comparisons) == 1 and len(plan.comparisons[0].groups) == 2


def pairs_of(comparison: Comparison) -> list[tuple[int, int]]:
    """The positions of groups that are compared with each other; none where two attributes change at once."""
    if comparison.is_joint:
        return []
    both = comparison.compared | comparison.compared.T
    return [(a, b) for a, b in combinations(range(len(comparison.groups)), 2) if both[a, b]]


def _ask_comparison(audit: str, plan: Plan, chosen: ChosenView) -> None:
    key = f"comparison-{audit}"
    st.session_state[key] = chosen.comparison
    st.selectbox(
        "Compare by",
        range(len(plan.comparisons)),
        format_func=lambda place: plan.comparisons[place].name,
        key=key,
        on_change=lambda: _keep(audit, ChosenView(st.session_state[key])),
        help=HELP["comparison"],
    )


def _ask_pair(audit: str, comparison: Comparison, chosen: ChosenView) -> None:
    key = f"pair-{audit}-{chosen.comparison}"
    options = [None, *pairs_of(comparison)]
    st.session_state[key] = options.index(chosen.pair)

    def name(place: int) -> str:
        pair = options[place]
        return ALL if pair is None else " and ".join(comparison.groups[group] for group in pair)

    st.selectbox(
        "Groups",
        range(len(options)),
        format_func=name,
        key=key,
        on_change=lambda: _keep(audit, ChosenView(chosen.comparison, options[st.session_state[key]])),
        help="All groups of the attribute, or two of them: the page is then about their people alone.",
    )


def _remembered(audit: str, plan: Plan) -> ChosenView:
    """As the address says, or else as it was chosen before; what fits no group of this audit is ignored."""
    for mark in (st.query_params.get(VIEW), st.session_state.get(_place(audit))):
        found = None if mark is None else read_mark(str(mark), plan)
        if found is not None:
            return found
    return ChosenView()


def read_mark(mark: str, plan: Plan) -> ChosenView | None:
    """What a mark in the address means; None if nothing in this audit."""
    parts = _MARK.fullmatch(mark)
    if parts is None or int(parts[1]) >= len(plan.comparisons):
        return None
    if parts[2] is None:
        return ChosenView(int(parts[1]))
    pair = int(parts[2]), int(parts[3])
    several = pairs_of(plan.comparisons[int(parts[1])])
    return ChosenView(int(parts[1]), pair) if len(several) > 1 and pair in several else None


def _keep(audit: str, chosen: ChosenView) -> None:
    """Remember it between pages, and put it into the address."""
    st.session_state[_place(audit)] = chosen.mark
    if chosen == ChosenView():
        st.query_params.pop(VIEW, None)
    elif st.query_params.get(VIEW) != chosen.mark:
        st.query_params[VIEW] = chosen.mark


def _place(audit: str) -> str:
    return f"view-{audit}"


# What a view is about, in words


def view_of(result: AuditResult) -> View:
    """What of the audit is seen."""
    assert result.view is not None
    return result.view


def groups_of(result: AuditResult, rows: Floats) -> list[str]:
    """The group that each encoded row (n, d) belongs to, of those that are compared."""
    comparison, states = view_of(result).comparison, result.plan.states
    levels = states.levels[states.of_codes(rows[:, 0])]
    own = States(tuple(states.sizes[s] for s in comparison.attributes))
    return [comparison.groups[k] for k in own.of_levels([levels[:, s] for s in comparison.attributes])]


def looked_at(result: AuditResult) -> tuple[str, ...]:
    """The sensitive attributes that are looked at; of an audit that is no view, all."""
    names = result.model.attributes
    return names if result.view is None else tuple(names[s] for s in result.view.comparison.attributes)


def reached(result: AuditResult) -> tuple[str, ...]:
    """The variables that these attributes reach in the audit's own graph."""
    return result.model.affected_by(looked_at(result))


def compared_by(result: AuditResult) -> str:
    """``, compared by sex``: which comparison leads, where there are several; for Markdown."""
    if len(result.plan.comparisons) == 1:
        return ""
    return f", compared by {as_text(result.plan.comparisons[0].name)}"


def otherwise(result: AuditResult) -> str:
    """``had they belonged to the other group``, for Markdown."""
    return as_text(view_of(result).otherwise, 400)


def if_otherwise(result: AuditResult) -> str:
    """The same as a condition: ``if they belonged to the other group``."""
    words = otherwise(result)
    return f"if {words.removeprefix('had ')}" if words.startswith("had they belonged") else words
