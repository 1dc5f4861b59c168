"""An audit in five scenes, for a room: large type, a guess before the answer, and the arrow keys.

Groups of fewer than ten people are left out, as in everything that is shown to others.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import streamlit as st

from cfad_core.apps.dashboard import frame, site
from cfad_core.apps.dashboard.assets import ASSETS, HOW, HOW_WORDS
from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.demo import open_demo
from cfad_core.apps.dashboard.findings import Seen, other_detector
from cfad_core.apps.dashboard.markup import show_markup
from cfad_core.apps.dashboard.scripts import PRESENT, run_script
from cfad_core.apps.dashboard.truth import truth_check, truth_rows
from cfad_core.apps.dashboard.uncertainty import LONGEST, no_path
from cfad_core.apps.dashboard.views import looked_at, otherwise, reached, view_of
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import SMALLEST_GROUP, capital, listed, percent, percent_range, share_of_people
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import called
from cfad_core.evaluation.changes import changes_line, group_changes
from cfad_core.evaluation.group_lines import gap_line
from cfad_core.evaluation.verdict import reliability, verdict_sentences
from cfad_core.figures import changes_figure
from cfad_core.figures.people_sketch import MARKED, people_sketch
from cfad_core.figures.sketches import ratios_sketch
from cfad_core.figures.style import PALETTE
from cfad_core.report.pictures import graph_picture
from cfad_core.report.turning import carried_edges
from cfad_core.runs.model import AuditRecord, operating_threshold

SCENE = "scene"  # in the address
_TYPE = 20  # px, of the letters in a chart
_HEIGHT = 400  # px, of a chart at least
_MOST_NAMED = 5  # columns
_USUAL_GUESS = 20


@dataclass(frozen=True)
class Scene:
    """One thing to tell: what its link says, its heading, and what shows it."""

    name: str
    heading: str
    show: Callable[[Seen], None]


def presented_audit() -> tuple[AuditRecord, AuditResult]:
    """The audit to present: that of the address or the session, or else the recorded demo."""
    audit = frame.current_audit()
    if audit is None:
        audit = open_demo()
        frame.choose_audit(audit)
    record = frame.record_or_stop(audit)
    if record.status != "done":
        frame.show_state(record)
        st.stop()
    return frame.with_usable_threshold(record), frame.result_or_stop(record)


def seen_of(record: AuditRecord, whole: AuditResult) -> Seen:
    """What is presented: the detector of the saved threshold, or the user's own, or the plain one."""
    saved = None if record.threshold is None else record.threshold.method
    own = None if whole.asked is None else whole.asked.name
    method = next((name for name in (saved, own, "ae") if name in whole.scores), next(iter(whole.scores)))
    return Seen(record, whole, whole.seen(), method, *operating_threshold(record, whole, method))


def scene_number() -> int:
    """Which scene the address is about, from 1; a link within a page leaves the browser's address to the page."""
    asked = st.query_params.get(SCENE, "1")
    number = int(asked) if asked in {str(k) for k in range(1, len(SCENES) + 1)} else 1
    st.query_params[SCENE] = str(number)
    return number


def present(seen: Seen, number: int) -> None:
    """One scene, and the way to the others."""
    scene = SCENES[number - 1]
    with st.container(key="present"):
        st.caption(f"{as_text(seen.record.name)} · scene {number} of {len(SCENES)}")
        st.title(scene.heading, anchor=False)
        scene.show(seen)
    _ways(seen.record.id, number)
    st.html(ASSETS / "present.css")
    run_script(PRESENT)


def _ways(audit: str, number: int) -> None:
    """A link to every scene, back and on, and out."""

    def link(label: str, to: int, key: str, about: str) -> None:
        with st.container(key=f"present-{key}", width="content"):
            st.page_link(site.PRESENT, label=label, query_params={"audit": audit, SCENE: str(to)}, help=about)

    with st.container(key="present-ways", horizontal=True, horizontal_alignment="center"):
        if number > 1:
            link("← Back", number - 1, "back", "Left arrow, Page up")
        for k, scene in enumerate(SCENES, 1):
            link(f"{k} · {scene.name}", k, "now" if k == number else f"scene-{k}", scene.heading)
        if number < len(SCENES):
            link("Next →", number + 1, "next", "Right arrow, Page down")
        with st.container(key="present-leave", width="content"):
            st.page_link(site.FINDINGS, label="Leave", query_params={"audit": audit}, help="Escape; F fills the screen")


# The scenes


def _question(seen: Seen) -> None:
    groups = [f"{n:,} {as_text(name)}" for name, n in seen.result.group_sizes.items() if n >= SMALLEST_GROUP]
    attributes = [one for one in seen.record.roles.attributes if one.column in looked_at(seen.result)]
    sensitive = " and ".join(frame.attribute_words(one) for one in attributes)
    words, picture = st.columns([1, 1], gap="large", vertical_alignment="center")
    with words:
        st.markdown(
            f"**{as_text(capital(called(seen.method)))}** flags people. Here it judged "
            f"**{seen.result.judged_people:,} people** ({listed(groups, 6)})."
        )
        st.markdown(
            f"Each of them has a **twin**: the same person, {otherwise(seen.result)}. Everything that follows from "
            f"{sensitive} is different for the twin, everything else is the same."
        )
        st.markdown("**Is the twin's outcome the same?**")
    picture.image(HOW, width="stretch", alt=HOW_WORDS)


def _guess(seen: Seen) -> None:
    found, key = seen.evidence, f"guess-{seen.record.id}"
    if found.ratio is None or not (found.sees_path or found.known_truth):
        st.markdown(f"{as_text('. '.join(verdict_sentences(found)), LONGEST)}.")
        return
    if not st.session_state.get(f"{key}-shown"):
        with st.container(horizontal=True, vertical_alignment="bottom", key="present-guess"):
            typed = st.number_input("Your guess, of 100 people", 0, 100, _USUAL_GUESS, key=f"{key}-typed")
            if st.button("Show the answer", type="primary", key="present-reveal"):
                st.session_state[f"{key}-shown"], st.session_state[key] = True, typed
                st.rerun()
        show_markup(people_sketch(typed / 100.0, "the guess", color=PALETTE[0]), f"{key}-people")
        return
    guessed = st.session_state[key]
    left, right = st.columns(2, gap="large")
    with left:
        st.markdown(f"You guessed **{guessed} of 100**")
        show_markup(people_sketch(guessed / 100.0, "the guess", color=PALETTE[0]), f"{key}-guessed")
    with right:
        st.markdown(f"The audit says **{share_of_people(found.ratio)}**{_likely(seen)}")
        show_markup(people_sketch(found.ratio, "their outcome changes", color=MARKED), f"{key}-found")
    check = truth_check(seen.record, seen.result, seen.report, seen.threshold)
    if check is not None:
        st.markdown(f"{check.line} The audit did not see it.")
    st.markdown(f"{as_text(verdict_sentences(found)[0], LONGEST)}.")
    if st.button("Guess again", key="present-again"):
        st.session_state[f"{key}-shown"] = False
        st.rerun()


def _likely(seen: Seen) -> str:
    ends = seen.evidence.interval
    return "" if ends is None else f" (likely {percent_range(ends.low, ends.high)})"


def _changes(seen: Seen) -> None:
    groups = [one for one in group_changes(seen.report.curves.groups, seen.threshold) if one.n >= SMALLEST_GROUP]
    if no_path(seen.result) or not groups:
        st.markdown("In the causal graph nothing follows from the sensitive attribute: nobody's outcome can change.")
        return
    figure = changes_figure(groups)
    figure.update_layout(font_size=_TYPE, legend_font_size=_TYPE, height=max(_HEIGHT, 150 + 80 * len(groups)))
    figure.update_traces(textfont_size=_TYPE)
    figure.update_yaxes(tickfont_size=_TYPE)
    figure.update_xaxes(tickfont_size=_TYPE, title_font_size=_TYPE)
    show_chart(
        figure, "present-changes", "Of each group, who is flagged either way, and who only as one.", toolbar=False
    )
    worst = max(groups, key=lambda one: one.only_person + one.only_twin)
    st.markdown(as_text(changes_line(worst, otherwise(seen.result)), LONGEST))
    st.markdown(as_text(gap_line(seen.group_table.suppressed()), LONGEST))


def _why(seen: Seen) -> None:
    words, picture = st.columns([1, 2], gap="large", vertical_alignment="center")
    with words:
        for line in path_lines(seen):
            st.markdown(line)
        st.markdown("Is that how it works here? Who knows the table can say which arrows are wrong, and run it again.")
    with picture:
        show_markup(graph_picture(seen.subject).svg, "present-graph")


def path_lines(seen: Seen) -> list[str]:
    """What the sensitive attribute acts on at once, what it reaches through that, and the arrow that carries most."""
    own, (names, strengths) = looked_at(seen.result), seen.whole.model.strengths()
    sources = [list(names).index(name) for name in own]
    direct = [name for i, name in enumerate(names) if strengths[sources, i].any() and name not in own]
    if not direct:
        return ["In the causal graph nothing follows from the sensitive attribute."]
    further = [name for name in reached(seen.result) if name not in direct and name not in own]
    lines = [f"**{as_text(listed(own))}** acts on **{as_text(listed(direct, _MOST_NAMED), LONGEST)}**."]
    if further:
        lines.append(f"Through these it reaches {as_text(listed(further, _MOST_NAMED), LONGEST)}.")
    edges = carried_edges(seen.subject, view_of(seen.result).comparison)
    carrier = next((one for one in edges if one.matters and one.carried is not None and one.carried > 0.0), None)
    if carrier is not None and carrier.carried is not None:
        share = percent(min(1.0, carrier.carried), 0)
        lines.append(f"Without the arrow **{as_text(carrier.name)}**, {share} of the change would be gone.")
    return lines


def _how_certain(seen: Seen) -> None:
    word, why = reliability(seen.evidence, was_tested=seen.report.basis.checks is not None)
    words, picture = st.columns([2, 3], gap="large", vertical_alignment="center")
    with words:
        for other in _others(seen):
            line = seen.result.improvement_line(other)
            if line is not None:
                st.markdown(as_text(line, LONGEST))
        st.markdown(f"**Can it be relied on?** {as_text(word).capitalize()}: {as_text(why)}.")
        st.markdown(
            "\n".join(f"- {as_text(line, LONGEST)}" for line in seen.report.evidence_lines_at(seen.threshold)[:2])
        )
    with picture:
        show_markup(ratios_sketch(truth_rows(seen.record, seen.result)), "present-ratios")


def _others(seen: Seen) -> list[str]:
    """The detectors that were made fairer, that are spoken of beside the one that is presented."""
    first = other_detector(seen.result, seen.method)
    return [name for name in dict.fromkeys((first, "twin")) if name in seen.result.scores and name != seen.method]


SCENES = (
    Scene(
        "The question",
        "Would the detector have flagged the same person, had they belonged to the other group?",
        _question,
    ),
    Scene("Your guess", "Of 100 people: for how many would the outcome change?", _guess),
    Scene("For whom", "What changes for whom", _changes),
    Scene("Why", "Which way it comes", _why),
    Scene("How certain", "What can be done, and how far to trust this", _how_certain),
)
