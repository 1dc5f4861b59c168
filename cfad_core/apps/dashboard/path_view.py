"""The paths of an audit: what each of them carries, which are called justified and why, and what remains without."""

from __future__ import annotations

import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.method_choice import choose_method
from cfad_core.apps.dashboard.rights import press, refusal
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.statements_form import paths_from_sensitive, with_readable_statements
from cfad_core.apps.dashboard.views import looked_at, view_of
from cfad_core.audit.paths import (
    expected_seconds,
    known_paths,
    known_remaining,
    measure_paths,
    measure_remaining,
    why_not,
)
from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import LONGEST, JustifiedPath, Statements
from cfad_core.core.errors import CfadError
from cfad_core.core.formats import counted, duration, percent
from cfad_core.core.markdown import as_text
from cfad_core.core.progress import Progress
from cfad_core.data.roles import joint_name
from cfad_core.detectors.registry import label_of
from cfad_core.evaluation.extremes import Estimate
from cfad_core.evaluation.intervals import bounds_name
from cfad_core.evaluation.path_shares import PathShares, RemainingRatio
from cfad_core.figures import MOST_BARS, path_shares_figure
from cfad_core.runs.model import AuditRecord, operating_threshold

_LONGEST_NAME = 120
_Found = TypeVar("_Found")


@st.fragment
def show_paths(record: AuditRecord, result: AuditResult) -> None:
    """All about paths; ``result`` is what is seen of the audit: one comparison as a whole."""
    record, can_be_read = with_readable_statements(frame.with_usable_threshold(frame.record_or_stop(record.id)))
    sensitive = as_text(joint_name(looked_at(result)), 60)
    st.markdown(
        f"A *path* is a chain of arrows that begins at {sensitive}. What if one path carried nothing? Along it, each "
        f"column is then worked out as if {sensitive} had not changed; along all other paths, the change goes on. "
        "Whatever follows from a path stops with it.",
        help=HELP["path"],
    )
    if refusal := why_not(result, next(iter(result.scores))):
        st.info(as_text(refusal, 400))
        return
    method = choose_method(result, f"paths-{record.id}")
    if refusal := why_not(result, method):
        st.info(as_text(refusal, 400))
        return
    threshold, how = operating_threshold(record, result, method)
    _show_shares(record, result, method, threshold, how)
    if can_be_read:
        _show_justified(record, result)


def _show_shares(record: AuditRecord, result: AuditResult, method: str, threshold: float, how: str) -> None:
    """What each path carries, once somebody asked for it."""
    found = known_paths(result, method, threshold)
    if found is None:
        seconds = expected_seconds(result, [method], remaining=False)
        label, key = f"Measure the paths of {label_of(method)}", f"measure-paths-{record.id}-{method}"
        found = _after_asking(label, key, seconds, lambda bar: measure_paths(result, method, threshold, bar))
    if found is None:
        return
    if not found.rows:
        st.info("In no graph does a path begin there: nothing changes, whatever carries it.")
        return
    if not found.says_enough:
        st.info(
            f"With {label_of(method)}, the outcomes of fewer than ten of {found.people:,} people change: too few to "
            "say which path carries that."
        )
        return
    st.markdown(in_words(found, method, how))
    show_chart(
        path_shares_figure(found.rows),
        "path-shares",
        "How much of the change each path from the sensitive attribute carries.",
    )
    listed = len(found.rows)
    st.caption(
        "How much of the change would be gone if one path carried nothing; thin lines are the "
        f"{bounds_name(found.models)} over {counted(found.models, 'causal model')}. Shares need not add up to 100 %: "
        "two paths may do the same to a score, or undo each other."
        + (f" Shown are the {MOST_BARS} that carry most; the table has all." if listed > MOST_BARS else "")
    )
    _show_table(found, record.statements)


def in_words(found: PathShares, method: str, how: str) -> str:
    """What the picture says."""
    lines = [
        f"With {label_of(method)} ({as_text(how)}), the outcome changes for **{_ratio(found.whole)}** of "
        f"{found.people:,} people."
    ]
    most = next((row for row in found.rows if row.path), None)
    if most is not None and (most.gone.value or 0.0) > 0.0:
        lines.append(
            f"Most goes with **{as_text(most.name, _LONGEST_NAME)}**: without that path and what follows from it, "
            f"{_ratio(most.remaining)} remain."
        )
    lines.append(
        f"If no column passed anything on to another, and each changed by its own arrow alone, it would be "
        f"{_ratio(found.direct)} (*direct*); if only what is passed on were seen, {_ratio(found.passed_on)} "
        "(*indirect*). The two need not add up."
    )
    if found.told is not None:
        lines.append(
            f"{label_of(method)} is given the group itself: if no column changed at all, it would still be "
            f"{_ratio(found.told)}."
        )
    whole = found.whole.value or 0.0
    if any(
        (one.value or 0.0) > 1.1 * whole for one in (found.direct, found.passed_on, *(r.remaining for r in found.rows))
    ):
        lines.append(
            "A number above the whole is no mistake: values that belong together then come apart (a husband who was "
            "never married), and a detector flags people for that."
        )
    return "\n\n".join(lines)


def _ratio(found: Estimate) -> str:
    ends = found.interval
    return percent(found.value) + (f" ({percent(ends.low)} to {percent(ends.high)})" if ends is not None else "")


def _show_table(found: PathShares, said: Statements) -> None:
    reasons = {one.path: one.reason for one in said.justified_paths}
    rows = [
        {
            "path": row.name,
            "remains without it": _ratio(row.remaining),
            "gone": None if row.gone.value is None else 100.0 * row.gone.value,
            "by itself": _ratio(row.alone),
            "found in": f"{row.graphs} of {found.models}" if row.path else "",
            "justified because": reasons.get(row.path, ""),
        }
        for row in found.rows
    ]
    config = {
        "path": st.column_config.TextColumn(width="large"),
        "remains without it": st.column_config.TextColumn(
            help="Share of people whose outcome still changes if this path, and what follows from it, carries nothing."
        ),
        "gone": st.column_config.NumberColumn("share that goes", format="%.0f %%", help="Of all that changes."),
        "by itself": st.column_config.TextColumn(
            help="Share of people whose outcome changes if only this path, and what follows from it, carries anything."
        ),
        "found in": st.column_config.TextColumn(
            "in graphs",
            help="In how many of the causal models' graphs this path is. Where it is not, it carries nothing.",
        ),
    }
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch", column_config=config)


def _show_justified(record: AuditRecord, result: AuditResult) -> None:
    """The paths that are called justified, a form for one more, and what remains without them."""
    said, why = record.statements, refusal(record, "tune")
    st.markdown("**Justified paths**", help=HELP["justified path"])
    for place, one in enumerate(said.justified_paths):
        words, action = st.columns([5, 1], vertical_alignment="center")
        words.markdown(f"{as_text(one.text, 400)}: {as_text(one.reason, 1000)}")
        with action:
            is_wanted = press("Remove", why, key=f"unjustify-{record.id}-{place}", width="stretch")
        if is_wanted:
            kept = tuple(other for other in said.justified_paths if other != one)
            _state(record, said, kept)
    if why:
        st.caption(why)
    else:
        _ask_for_one_more(record, result, said)
    if said.justified_paths:
        _show_remaining(record, result, [one.path for one in said.justified_paths])


def _ask_for_one_more(record: AuditRecord, result: AuditResult, said: Statements) -> None:
    choices = {" → ".join(path): path for path in _choices(record, result)}
    for one in said.justified_paths:
        choices.pop(one.text, None)
    if not choices:
        st.caption("There is no further path that could be called justified.")
        return
    with st.form(f"justify-{record.id}", clear_on_submit=True):
        left, right = st.columns(2)
        chosen = left.selectbox("Path", list(choices), index=None, placeholder="Choose a path")
        reason = right.text_input("Why it is justified", max_chars=LONGEST, placeholder="A law, or what the job needs")
        if st.form_submit_button("Mark as justified"):
            if chosen is None or not reason.strip():
                st.error("Choose a path, and write down why it is justified: a path without a reason is not accepted.")
                return
            _state(record, said, (*said.justified_paths, JustifiedPath(choices[chosen], reason.strip())))


def _choices(record: AuditRecord, result: AuditResult) -> list[tuple[str, ...]]:
    """Paths that were measured, those that carry most first; then those of the audit's own graph."""
    measured = [
        row.path
        for method in result.scores
        if (found := known_paths(result, method, operating_threshold(record, result, method)[0])) is not None
        for row in found.rows
        if row.path
    ]
    return list(dict.fromkeys([*measured, *paths_from_sensitive(result)]))


def _state(record: AuditRecord, said: Statements, paths: tuple[JustifiedPath, ...]) -> None:
    """Keep the justified paths with the audit, unless somebody else changed what is said meanwhile."""
    try:
        if store().get(record.id).statements != said:
            st.error("Somebody changed these statements at the same moment. Look at theirs first, then try again.")
            return
        store().state(record.id, dataclasses.replace(said, justified_paths=paths))
    except CfadError as error:
        st.error(as_text(error, 400))
        return
    st.rerun()


def _show_remaining(record: AuditRecord, result: AuditResult, paths: Sequence[tuple[str, ...]]) -> None:
    """The ratio of every method with all paths, and without those that are called justified."""
    thresholds = {
        method: operating_threshold(record, result, method)[0]
        for method in result.scores
        if not why_not(result, method)
    }
    known = {method: known_remaining(result, method, limit, paths) for method, limit in thresholds.items()}
    found: dict[str, RemainingRatio] | None = {method: one for method, one in known.items() if one is not None}
    if len(found or {}) < len(known):
        label, key = "Measure what remains without them", f"measure-remaining-{record.id}"
        seconds = expected_seconds(result, list(thresholds), remaining=True)
        found = _after_asking(label, key, seconds, lambda bar: measure_remaining(result, thresholds, paths, bar))
    if not found:
        return
    rows = [
        {
            "method": label_of(method),
            "all paths": _ratio(one.whole),
            "without the justified ones": _ratio(one.remaining),
            "goes with them": _points(one.gone),
        }
        for method, one in found.items()
    ]
    st.dataframe(pd.DataFrame(rows), hide_index=True, width="stretch")
    one = next(iter(found.values()))
    st.caption(
        f"Share of {one.people:,} people whose outcome changes {as_text(view_of(result).otherwise, 200)}, by "
        f"{counted(one.models, 'causal model')}, each at its operating threshold; in brackets the "
        f"{bounds_name(one.models)}. The verdict counts every path all the same."
    )
    _warn_of_absent(paths, one.graphs, one.models, looked_at(result))


def _warn_of_absent(
    paths: Sequence[tuple[str, ...]], graphs: Sequence[int], models: int, compared: Sequence[str]
) -> None:
    """Paths that some of the graphs do not have: there, they could not be taken away."""
    rare = [
        f"{as_text(' → '.join(path), _LONGEST_NAME)} is in {times} of {models} graphs"
        for path, times in zip(paths, graphs, strict=True)
        if times < models and path[0] in compared
    ]
    if rare:
        st.caption(
            f"{'; '.join(rare)}. Where a graph does not have a path, it carries nothing there, and taking it away "
            "changes nothing."
        )


def _points(found: Estimate) -> str:
    if found.value is None:
        return "n/a"
    ends = found.interval
    span = "" if ends is None else f" ({100.0 * ends.low:z.1f} to {100.0 * ends.high:z.1f})"
    return f"{100.0 * found.value:z.1f} points{span}"


def _after_asking(label: str, key: str, seconds: float, work: Callable[[Progress], _Found]) -> _Found | None:
    """What takes a while, once a button with how long was pressed; None until then."""
    place = st.empty()
    with place.container():
        words, action = st.columns([3, 2], vertical_alignment="center")
        words.caption(f"This takes about {duration(seconds)}; the answer is kept while the dashboard runs.")
        if not action.button(label, key=key, type="primary", width="stretch"):
            return None
    bar = _Bar(seconds, place)
    try:
        return work(bar)
    except CfadError as error:  # the models that judged are read only now
        st.error(as_text(error, 400))
        return None
    finally:
        place.empty()


class _Bar(Progress):
    """A bar that fills as the time passes that was expected; it never says that it is done before it is."""

    def __init__(self, seconds: float, place: DeltaGenerator) -> None:
        self._begin, self._seconds = time.monotonic(), max(1.0, seconds)
        self._bar = place.progress(0.0, "Making twins ...")

    def report(self, stage: str, step: int, total: int, values: Mapping[str, float]) -> None:  # noqa: ARG002
        spent = time.monotonic() - self._begin
        left = self._seconds - spent
        words = f"about {duration(left)} left" if left > 0.0 else "longer than expected; still at work"
        self._bar.progress(min(0.98, spent / self._seconds), f"Making twins and asking about them: {words}")
