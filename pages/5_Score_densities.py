"""Score densities: each group and its twins, method by method, and who is flagged on which side of the threshold."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.density_view import ask_drawing, shapes_of, show_distances, show_numbers, show_shapes
from cfad_core.apps.dashboard.views import choose_view

frame.open_page("Score densities")
record, whole = frame.finished_audit()
result = choose_view(record, whole)
wanted = ask_drawing(result)
if wanted is None:
    st.info("Choose a method: its scores are drawn here, those of each group beside those of its twins.")
    st.stop()
shapes = shapes_of(record, result, wanted)
show_shapes(result, wanted, shapes)
show_numbers(record, shapes)
show_distances(result, {method: result.report(method) for method in wanted.methods})
