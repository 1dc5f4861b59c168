"""Whether a detector that exists already is audited, before the audit is started."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.state import Draft
from cfad_core.core.config import AskedDetector
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import check_own_name


def choose_asked(now: Draft) -> AskedDetector | None:
    """The detector that will be asked for its scores, if there is one."""
    assert now.roles is not None
    wanted = st.checkbox(
        "Audit a detector that I already have",
        value=now.roles.score is not None,
        key=f"asked-{now.key}",
        help=HELP["detector of your own"],
    )
    if not wanted:
        if now.roles.score is not None:
            st.caption(f"The column {as_text(now.roles.score)} is left out: it is what a detector says of people.")
        return None
    name_place, carried_place = st.columns([1, 2])
    usual = AskedDetector()
    name = name_place.text_input("What to call it", usual.name, max_chars=40, key=f"asked-name-{now.key}").strip()
    carried = carried_place.multiselect(
        "Ignored columns that it needs to see",
        list(now.roles.ignore),
        key=f"asked-carried-{now.key}",
        placeholder="None",
        help="The audit does not look at them; a twin has the same as the person.",
    )
    st.caption(
        "The audit first learns the causal model. Then it gives you a table of rows to score, people and twins mixed, "
        "and waits until you upload what your detector says of them, or the detector itself as an ONNX file. No model "
        "need leave your house."
    )
    try:
        check_own_name(name)
    except InvalidConfigError as error:
        st.error(as_text(error, 500))
        st.stop()
    return usual.replace(name=name, carried=tuple(carried))
