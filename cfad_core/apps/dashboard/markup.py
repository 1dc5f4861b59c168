"""HTML with pictures in it, which ``st.html`` would drop; its looks are in the dashboard's style sheet."""

from __future__ import annotations

import hashlib

import streamlit as st

from cfad_core.apps.dashboard.assets import ASSETS

_markup = st.components.v2.component(
    "cfad_markup",
    html='<div class="cf-markup"></div>',
    js=(ASSETS / "markup.js").read_text(encoding="utf-8"),
    isolate_styles=False,
)


def show_markup(html: str, key: str) -> None:
    """Show HTML of our own making; whatever it holds of a table must be escaped."""
    digest = hashlib.sha256(html.encode()).hexdigest()[:16]
    _markup(data={"html": html, "key": digest}, key=key)
