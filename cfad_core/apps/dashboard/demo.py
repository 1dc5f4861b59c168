"""The recorded demo: opened without a wait, and shown in small where there is no audit yet."""

from __future__ import annotations

from typing import Any

import streamlit as st

from cfad_core.apps.dashboard.assets import ASSETS
from cfad_core.apps.dashboard.drafts import demo_draft, start
from cfad_core.apps.dashboard.markup import show_markup
from cfad_core.apps.dashboard.services import program_store, store
from cfad_core.core.config import preset
from cfad_core.core.formats import one_in, percent, percent_range
from cfad_core.detectors.registry import METHODS, look_of
from cfad_core.evaluation.intervals import Interval
from cfad_core.figures.people_sketch import people_sketch
from cfad_core.figures.sketches import RatioRow, ratios_sketch
from cfad_core.runs.access import Share
from cfad_core.runs.recording import NAME, open_recording, recorded_numbers

RECORDING = ASSETS / "demo.zip"
_ALL = Share("everybody", "", "read")
PLAIN, FAIRER = "ae", "twin"  # the detectors of the small picture


def open_demo() -> str:
    """The id of the recorded demo, in the store of this dashboard; where people sign in, all may read it."""
    program = program_store()
    audit = open_recording(program, RECORDING)
    if store().viewer.name and _ALL not in program.shares(audit):
        program.share(audit, _ALL)
    return audit


def start_demo() -> str:
    """Run the demo anew; its id."""
    return start(demo_draft(), preset("fast"), f"{NAME}, run here")


@st.cache_data(show_spinner=False)
def _numbers() -> dict[str, Any]:
    return recorded_numbers(RECORDING)


def show_miniature() -> None:
    """What the recorded demo found, small: a hundred people, the interval of every detector, and both in words."""
    comparison = _numbers()["comparisons"][0]
    found, people = comparison["methods"], _numbers()["n_test"]
    plain, fairer = (found[name]["changing_ratio"] for name in (PLAIN, FAIRER))
    groups = " or ".join(comparison["groups"])
    st.markdown(f"**The demo:** {people:,} invented taxpayers, born in the {groups}")
    show_markup(people_sketch(plain, "would have a different outcome, had they been born elsewhere"), "mini-people")
    st.markdown(
        f"**{one_in(plain).capitalize()}** would have a different outcome with {METHODS[PLAIN].called}, had they been "
        f"born elsewhere ({_ends(found[PLAIN])}). With {METHODS[FAIRER].called} it is {one_in(fairer)} "
        f"({_ends(found[FAIRER])})."
    )
    rows = [RatioRow(look_of(name), one["changing_ratio"], _interval(one)) for name, one in found.items()]
    show_markup(ratios_sketch(rows), "mini-ratios")


def _interval(found: dict[str, Any]) -> Interval | None:
    ends = found["interval"]
    return None if ends is None else Interval(ends["low"], ends["high"])


def _ends(found: dict[str, Any]) -> str:
    ends = _interval(found)
    words = percent(found["changing_ratio"]) if ends is None else percent_range(ends.low, ends.high)
    return words.replace(" %", "\u00a0%")
