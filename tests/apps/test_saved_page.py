"""Saved audits: compared, and taken away as files."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from streamlit.testing.v1 import AppTest

from cfad_core.apps.dashboard.knowledge import graph_file
from cfad_core.causal.exchange import FORMATS, read_graph
from cfad_core.runs.model import ChosenThreshold
from cfad_core.runs.store import Store
from tests.apps.pages import (
    FULL,
    QUICK,
    RESULT_PAGES,
    ROLES,
    finish,
    people,
    said,
    visit,
)


@pytest.mark.slow
def test_audits_without_a_common_method_are_not_compared(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        config = QUICK.replace(methods=("pca",))
        for methods in (("pca",), ("iforest",)):
            config = FULL.replace(methods=methods)
            audit = finish(store, people(), ROLES, config, methods[0])
    app = visit("10_Saved_audits.py")
    assert not app.exception, app.exception
    assert "no method in common" in said(app)
    for page in RESULT_PAGES:  # and every page can do without AE, CFAD and twin scoring
        assert not (shown := visit(page, audit=audit)).exception, shown.exception


def test_the_files_to_take_away(done: tuple[str, str], home: Path) -> None:
    from cfad_core.apps.dashboard import downloads

    with Store(home) as store:
        store.choose_threshold(done[0], ChosenThreshold("cfad", "score", 1.5))
        record, result = store.get(done[0]), store.result(done[0])
    scored = downloads._scored(record, result)
    assert scored["row"].tolist() == (result.people.row + 1).tolist()
    assert (scored["cfad_flag"] == (scored["cfad_score"] > 1.5)).all()
    assert (scored["ae_threshold"] == result.report("ae").threshold).all()
    assert downloads.csv_file(scored).startswith(b"\xef\xbb\xbf")
    assert len(pd.read_parquet(io.BytesIO(downloads.parquet_file(scored)))) == 100
    twins = downloads._twins(record, result)
    assert (twins["group"] != downloads._judged(record, result)["group"]).all()
    variables, strengths = result.model.strengths()
    graphs = {read_graph(graph_file(result, suffix), f"g{suffix}") for suffix in FORMATS}
    assert len(graphs) == 1
    (graph,) = graphs
    assert set(graph.nodes) == {"group", "schooling", "income", "debt", "job", "age"}
    assert set(graph.edges) == {(variables[j], variables[i]) for j, i in np.argwhere(strengths)}
    assert json.loads(downloads._graph_json(result))["variables"] == list(variables)
    assert zipfile.is_zipfile(io.BytesIO(downloads._zip(record)))


def choose_row(app: AppTest, row: int) -> AppTest:
    """Choose a row of the first table, as a click does."""
    states = app._tree.get_widget_states()  # AppTest itself cannot choose rows
    state = states.widgets.add()
    state.id = app.dataframe[0].proto.id
    state.string_value = json.dumps({"selection": {"rows": [row], "columns": [], "cells": []}})
    app._run(states)
    assert not app.exception, app.exception
    return app


def test_before_deleting_it_is_said_what_goes_with_it(done: tuple[str, str], home: Path) -> None:
    with Store(home) as store:
        for _ in range(2):
            store.sign(done[0], lambda *_: {"report.json": b"{}"}, "Ada")
    app = choose_row(visit("10_Saved_audits.py"), 1)  # the older one
    assert "2 signed reports of it would be deleted, too." in said(app)
    assert "Its settings and verdict stay listed in reports of the same table." in said(app)
    assert "signed report" not in said(choose_row(app, 0))
