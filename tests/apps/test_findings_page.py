"""Findings: the verdict first, for whom it matters, where to look next, and how far to trust it."""

from __future__ import annotations

from pathlib import Path

import pytest

from cfad_core.apps.dashboard import site
from cfad_core.apps.dashboard.findings import Seen, looks, notices_by_subject, other_detector
from cfad_core.audit.notices import OLDER_ENGINE
from cfad_core.core.markdown import as_text
from cfad_core.data.findings import Finding
from cfad_core.evaluation.verdict import verdict_sentences
from cfad_core.runs.model import ChosenThreshold, operating_threshold
from cfad_core.runs.store import Store
from tests.apps.pages import button, said, visit

PAGE = "Findings.py"


def seen_in(home: Path, audit: str, method: str) -> Seen:
    with Store(home) as store:
        record, whole = store.get(audit), store.result(audit)
    return Seen(record, whole, whole.seen(), method, *operating_threshold(record, whole, method))


def test_the_verdict_comes_first_and_whole(done: tuple[str, str], home: Path) -> None:
    app = visit(PAGE, audit=done[0])
    assert not app.exception, app.exception
    evidence = seen_in(home, done[0], "ae").evidence
    for sentence in verdict_sentences(evidence):
        assert as_text(sentence, 2000) in said(app)
    assert app.metric[0].label == "people whose outcome changes"
    assert "Tuned detector" in said(app)  # beside the plain one
    for title in ("What changes for whom", "How often each group is flagged", "Look at next", "How far to trust it"):
        assert title in said(app)


def test_everything_is_said_once(done: tuple[str, str]) -> None:
    for audit in done:
        app = visit(PAGE, audit=audit)
        lines = [line for line in said(app).splitlines() if len(line) > 40]
        assert len(lines) == len(set(lines))
        assert not app.warning


def test_a_saved_threshold_is_the_one_it_speaks_of(done: tuple[str, str], home: Path) -> None:
    high = 1e9
    with Store(home) as store:
        store.choose_threshold(done[0], ChosenThreshold("cfad", "score", high))
    app = visit(PAGE, audit=done[0])
    assert "as saved, score 1e" in said(app)
    assert seen_in(home, done[0], "cfad").evidence.flag_rate == 0.0
    assert app.metric[0].value == "0.0 %"


def test_where_to_look_next(done: tuple[str, str], home: Path) -> None:
    full, plain = (seen_in(home, audit, "ae") for audit in done)
    assert {look.page for look in looks(full)} <= {*site.CLOSER, site.THRESHOLD}
    assert len(looks(full)) == len({look.label for look in looks(full)}) <= 4
    first = looks(plain)[0]
    assert (first.page, first.label) == (site.GRAPH, "Measure the uncertainty")  # it was not measured
    app = visit(PAGE, audit=done[1])
    assert button(app, "Measure the uncertainty")


def test_each_detector_is_set_beside_another(done: tuple[str, str], home: Path) -> None:
    result = seen_in(home, done[0], "ae").result
    assert other_detector(result, "ae") == "cfad"
    assert other_detector(result, "cfad") == "ae"
    assert other_detector(result, "pca") == "cfad"


def test_notices_are_grouped_ranked_and_said_once() -> None:
    said_elsewhere = Finding(OLDER_ENGINE, "warning", "Old.")
    about_model, about_table = Finding("scaling", "info", "Model."), Finding("constant", "info", "Plain.")
    warning = Finding("duplicates", "warning", "Twice.")
    found = notices_by_subject([said_elsewhere, about_model, about_table, warning, about_table])
    assert found["The table"][0].startswith("Twice")  # warnings first
    assert found["The causal model"] == [as_text("Model.")]
    assert sum(len(lines) for lines in found.values()) == 3


@pytest.mark.slow
def test_an_audit_of_several_groups(several: tuple[str, str]) -> None:
    for audit in several:
        app = visit(PAGE, audit=audit)
        assert not app.exception, app.exception
        assert "Compare by" in [box.label for box in app.selectbox] or "Groups" in [box.label for box in app.selectbox]


def test_a_chosen_method_outlives_a_reload_and_goes_along(done: tuple[str, str]) -> None:
    app = visit(PAGE, audit=done[0])
    chooser = next(box for box in app.button_group if box.label == "Method")
    chooser.set_value("twin").run()
    assert app.query_params["method"] == "twin"
    app.switch_page("pages/7_Groups.py").run()  # in the same browser
    assert app.query_params["method"] == "twin"
    reloaded = visit(PAGE, audit=done[0], method="twin")  # another session, with the address alone
    assert next(box for box in reloaded.button_group if box.label == "Method").value == "twin"
    elsewhere = visit(PAGE, audit=done[0], method="nonsense<b>")
    assert not elsewhere.exception
    assert next(box for box in elsewhere.button_group if box.label == "Method").value == "ae"
