"""A detector as an ONNX file: which columns feed its inputs, and its scores of the rows that an audit asks about."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

import pandas as pd
import streamlit as st

from cfad_core.audit.questions import Questions
from cfad_core.core.errors import CfadError
from cfad_core.core.markdown import as_text
from cfad_core.runs.model import AuditRecord
from cfad_core.runs.onnx_model import read_form, score_with_model
from cfad_core.runs.onnx_use import ModelForm, OnnxUse, check_use, suggest_use


def score_with_upload(record: AuditRecord, questions: Questions) -> pd.DataFrame | None:
    """The ids and the scores that an uploaded model gave, once it has scored."""
    st.caption(
        "The file is run in a process of its own that can reach neither the network nor your files, with limits on "
        "memory and time. It is not kept."
    )
    file = st.file_uploader("An ONNX model", type=["onnx"], key=f"model-{record.id}")
    if file is None:
        return None
    content, rows = file.getvalue(), questions.batch.drop(columns=questions.id_column)
    mark = f"model-scores-{record.id}-{hashlib.sha256(content).hexdigest()}"
    try:
        with tempfile.TemporaryDirectory(prefix="cfad-") as folder:
            path = Path(folder) / "model.onnx"
            path.write_bytes(content)
            form = _form(mark, path)
            use = _choose_use(form, rows, mark)
            if not all(use.inputs.values()):
                st.info("Choose the columns that the model takes, in the order in which it was fitted to them.")
                return None
            check_use(form, use, rows)
            if st.button("Score the rows with this model", key=f"{mark}-run"):
                with st.spinner(f"Scoring {len(rows):,} rows ..."):
                    st.session_state[mark] = (use, score_with_model(path, use, rows))
    except CfadError as error:
        for line in str(error).splitlines():
            st.error(as_text(line, 500))
        return None
    used, scores = st.session_state.get(mark, (None, None))
    return None if used != use else questions.batch[[questions.id_column]].assign(score=scores)


@st.cache_data(show_spinner="Looking at the model ...", max_entries=8)
def _form(mark: str, _path: Path) -> ModelForm:  # noqa: ARG001 - the cache's key
    return read_form(_path)


def _choose_use(form: ModelForm, rows: pd.DataFrame, mark: str) -> OnnxUse:
    """Which columns feed which input, and which output is the score: as suggested, or as the person says."""
    suggested, columns = suggest_use(form, rows, list(rows.columns)), list(rows.columns)
    st.caption(f"Written by {as_text(form.producer or 'an unknown program', 60)}, opset {form.opset}.")
    inputs = {}
    for port in form.inputs:
        size = "" if port.width is None else f", {port.width} column{'s' if port.width > 1 else ''}"
        inputs[port.name] = tuple(
            st.multiselect(
                f"Columns of input {as_text(port.name, 60)} ({port.element}{size}), in the model's order",
                columns,
                default=list(suggested.inputs.get(port.name, ())),
                key=f"{mark}-{port.name}",
            )
        )
    names = [port.name for port in form.outputs]
    left, right = st.columns(2)
    index = names.index(suggested.output) if suggested.output in names else 0
    output = left.selectbox("Output that is the score", names, index=index, key=f"{mark}-output")
    width = next(port.width for port in form.outputs if port.name == output)
    usual = suggested.column if output == suggested.output else 0
    column = usual
    if width is None or width > 1:
        column = int(right.number_input("Its column, counted from 0", 0, (width or 1000) - 1, usual, key=f"{mark}-k"))
    return OnnxUse(inputs, output, column)
