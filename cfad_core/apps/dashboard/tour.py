"""The guided tour: by itself on the first visit of a browser, and again when it is asked for."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard.assets import ASSETS

_FOLDER = ASSETS / "tour"


def _text(*names: str) -> str:
    return "\n".join((_FOLDER / name).read_text("utf-8") for name in names)


_tour = st.components.v2.component(
    "cfad_tour",
    html='<button type="button" class="cfad-tour-button">Show me around</button>',
    css=_text("driver.css", "tour.css"),
    # driver.js puts itself into what ``this`` is, and a module has none
    js=f"const library = {{}};\n(function () {{\n{_text('driver.js')}\n}}).call(library);\n{_text('tour.js')}",
    isolate_styles=False,
)

STEPS = (  # what is pointed at, a heading and a sentence or two
    (
        ".st-key-miniature",
        "What an audit finds",
        "For how many of a hundred people the outcome would change, for each detector, and how certain that is.",
    ),
    (
        '.st-key-site a[href*="Data"]',
        "1. Data",
        "Bring a table, and say which column is the sensitive one. Problems are named, each with its remedy.",
    ),
    (
        '.st-key-site a[href*="Train"]',
        "2. Train",
        "Start, and watch. You may leave the page meanwhile: nothing is lost.",
    ),
    (
        '.st-key-site a[href*="Findings"]',
        "3. Findings",
        "The verdict in plain words, for whom something changes, and how far to trust it. Look closer from there.",
    ),
    (
        '.st-key-site a[href*="Threshold"]',
        "4. and 5. Threshold and Report",
        "Choose how many people are flagged, and write down what you hand on.",
    ),
    (
        ".st-key-door-0",
        "Begin here",
        "The demo is finished: look around in it, present it, or run it live.",
    ),
)


def offer_tour() -> None:
    """A button that starts the tour; on the first visit it starts by itself."""
    steps = [{"element": element, "title": title, "words": words} for element, title, words in STEPS]
    _tour(data={"steps": steps}, key="tour")
