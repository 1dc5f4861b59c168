"""The site: its pages in the order of a person's way, the sidebar that leads through them, the head of each page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import streamlit as st

from cfad_core.apps.dashboard.assets import ASSETS
from cfad_core.apps.dashboard.entrance import enter, show_who
from cfad_core.apps.dashboard.rights import is_team
from cfad_core.apps.dashboard.scripts import ONE_STEP_BACK, run_script
from cfad_core.apps.dashboard.services import store

HOME, DATA, TRAIN, FINDINGS = "app.py", "pages/1_Data.py", "pages/2_Train.py", "pages/Findings.py"
GRAPH, PEOPLE, DENSITIES = "pages/3_Causal_graph.py", "pages/4_Counterfactuals.py", "pages/5_Score_densities.py"
THRESHOLD, GROUPS = "pages/6_Threshold.py", "pages/7_Groups.py"
METHODS_PAGE, REPORT, SAVED = "pages/8_Methods.py", "pages/9_Report.py", "pages/10_Saved_audits.py"
PRESENT, ACCOUNT, LOG = "pages/Present.py", "pages/Account.py", "pages/Log.py"


@dataclass(frozen=True)
class Place:
    """A page, as the site knows it.

    Attributes
    ----------
    title : its heading, and its name in the sidebar
    about : what a person finds there, in a few words
    following : the page that its one clear button leads to, and what that says; None where the page has its own
    alone : its title where nobody signs in, if that is another
    """

    title: str
    about: str
    following: tuple[str, str] | None = None
    alone: str = ""


_BACK = (FINDINGS, "Back to the findings")
PLACES: Mapping[str, Place] = {
    HOME: Place("Home", "What an audit answers, and the latest ones"),
    DATA: Place("Data", "Bring a table, and say what its columns are for"),
    TRAIN: Place("Train", "Choose settings, start, and watch"),
    FINDINGS: Place("Findings", "What the audit found, and how far to trust it", (THRESHOLD, "Next: the threshold")),
    THRESHOLD: Place("Threshold", "How many to flag, and what that costs whom", (REPORT, "Next: the report")),
    REPORT: Place("Report", "What you hand on"),
    GRAPH: Place("Causal graph", "What causes what in this table", _BACK),
    PEOPLE: Place("Counterfactuals", "One person, and the same person in the other group", _BACK),
    DENSITIES: Place("Score densities", "How scores are spread, of people and of their twins", _BACK),
    GROUPS: Place("Groups", "How differently the groups are treated", _BACK),
    METHODS_PAGE: Place("Methods", "Other detectors on the same table", _BACK),
    PRESENT: Place("Present", "This audit in five scenes, for a room"),
    SAVED: Place("Saved audits", "Find, compare, download, share and delete"),
    ACCOUNT: Place("Account", "Who you are, what you may take, and tokens for programs", alone="Tokens"),
    LOG: Place("Log", "Who did what with which audit"),
}
_PAGE = "page"  # in the session: the page that is shown
STEPS = (DATA, TRAIN, FINDINGS, THRESHOLD, REPORT)
CLOSER = (GRAPH, PEOPLE, DENSITIES, GROUPS, METHODS_PAGE, PRESENT)
MAKING = (DATA, TRAIN)  # steps of those who may make audits
SERVER = (ACCOUNT, LOG)

# A page that comes to show something else stays where it was scrolled to
_FROM_THE_TOP = """<script>
if (window.cfadShown !== "{shown}") {{
  window.cfadShown = "{shown}";
  document.querySelector("[data-testid=stMain]")?.scrollTo(0, 0);
}}
</script>"""


def open_page(title: str) -> None:
    """First call of every page: everything that is around it, and its heading."""
    file = next(file for file, place in PLACES.items() if place.title == title)
    st.set_page_config(page_title=f"{title_of(file)} · CFAD", page_icon=str(ASSETS / "icon.png"), layout="wide")
    st.logo(str(ASSETS / "logo.svg"), size="large")
    st.html(ASSETS / "style.css")
    run_script(ONE_STEP_BACK)
    enter()
    _sidebar()
    st.session_state[_PAGE] = file
    _head(file)


def title_of(file: str) -> str:
    """The heading of a page, and its name in the sidebar."""
    place = PLACES[file]
    return place.alone if place.alone and not is_team() else place.title


def steps() -> tuple[str, ...]:
    """The pages step by step; without those that make an audit for people who may make none."""
    return STEPS if store().viewer.may_make else tuple(file for file in STEPS if file not in MAKING)


def current_page() -> str:
    """The page that is shown."""
    return str(st.session_state[_PAGE])


def address() -> dict[str, str]:
    """What links to other pages carry: the audit that this one is about."""
    audit = st.query_params.get("audit") or st.session_state.get("audit")
    return {"audit": audit} if audit else {}


def begin_at_top(shown: str) -> None:
    """Scroll up, once, as the page shows something else now: the audit of that id that was just started on it."""
    st.html(_FROM_THE_TOP.format(shown=shown), unsafe_allow_javascript=True)


def _sidebar() -> None:
    """The way through an audit, step by step, then what can be looked at closer."""

    def link(file: str, step: int | None = None) -> None:
        title = title_of(file)
        label = title if step is None else f"{step} · {title}"
        st.page_link(file, label=label, query_params=address() or None, help=PLACES[file].about)

    with st.sidebar.container(key="site"):
        link(HOME)
        st.caption("Step by step")
        for step, file in enumerate(steps(), 1):
            link(file, step)
        st.caption("Look closer")
        for file in CLOSER:
            link(file)
        st.caption("All audits")
        link(SAVED)
        st.caption("This server" if is_team() else "For programs")
        for file in SERVER:
            if file != LOG or store().viewer.role == "admin":
                link(file)
        show_who()


def _head(file: str) -> None:
    """The page's heading, and its one clear button."""
    if file in (HOME, PRESENT):  # they have their own
        return
    place = PLACES[file]
    if place.following is None or not (address() or store().find(status="done", limit=1)):  # nothing leads on yet
        st.title(title_of(file), anchor=False)
        return
    with st.container(horizontal=True, vertical_alignment="center", horizontal_alignment="distribute"):
        st.title(place.title, anchor=False, width="content")
        target, label = place.following
        if st.button(label, type="primary" if target != FINDINGS else "secondary", key=f"following-{file}"):
            go(target)


def go(file: str) -> None:
    """Open another page, about the same audit."""
    st.switch_page(file, query_params=address() or None)
