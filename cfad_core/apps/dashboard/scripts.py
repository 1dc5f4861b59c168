"""The scripts inside pages, word for word: the policy that the server sends names each of them, and no other runs."""

from __future__ import annotations

import re
from pathlib import Path

import streamlit as st

from cfad_core.apps.dashboard.assets import ASSETS
from cfad_core.report.html import report_script

# A page that only changes what is behind the ``?`` of its address would take a press of Back for each such change
ONE_STEP_BACK = """
if (!window.history.oneStepBack) {
  const push = window.history.pushState.bind(window.history);
  window.history.pushState = (state, title, url) => {
    const samePage = new URL(url ?? "", window.location.href).pathname === window.location.pathname;
    return samePage ? window.history.replaceState(state, title, url) : push(state, title, url);
  };
  window.history.oneStepBack = true;
}
"""
PRESENT = (ASSETS / "present.js").read_text(encoding="utf-8")


def run_script(script: str) -> None:
    """Run one of the scripts above in the page."""
    st.html(f"<script>{script}</script>", unsafe_allow_javascript=True)


def inline_scripts() -> list[str]:
    """All scripts that pages have inside, Streamlit's own and the one of a report's preview among them."""
    frame = (Path(st.__file__).parent / "static" / "index.html").read_text(encoding="utf-8")
    return [ONE_STEP_BACK, PRESENT, report_script(), *re.findall(r"<script>(.*?)</script>", frame, re.DOTALL)]
