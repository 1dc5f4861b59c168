"""Groups: between which of them outcomes change, and how they are treated as they are."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.groups import show_groups_page
from cfad_core.apps.dashboard.method_choice import choose_page_method
from cfad_core.apps.dashboard.views import choose_view, view_of
from cfad_core.core.formats import number
from cfad_core.runs.model import operating_threshold

frame.open_page("Groups")
record, whole = frame.finished_audit()
result = choose_view(record, whole, pairs=False)
method = choose_page_method(record, result)
threshold, how = operating_threshold(record, whole, method)
st.caption(
    f"Threshold {number(threshold)} ({how}), {whole.judged_people:,} people. Choose another one on the Threshold "
    "page, and save it there.",
    help=HELP["threshold"],
)
show_groups_page(record, result, whole.group_report(method, view_of(result).comparison.name), threshold)
