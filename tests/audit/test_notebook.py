from __future__ import annotations

import re
import subprocess
import sys
import xml.etree.ElementTree as ET
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.notebook import leading_method
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.core.formats import percent, percent_range
from cfad_core.data.findings import Finding
from cfad_core.data.roles import ColumnRoles
from tests.audit.worlds import AUDITED, PCA
from tests.conftest import make_people

VOID = {"br", "hr", "img", "input", "meta", "link", "circle", "path", "rect"}
NASTY = ["<img src=x onerror=alert(1)>", "</style><script>alert(1)</script>", "\u202emale\nline", "x" * 5000]


class Page(HTMLParser):
    """What a browser would see: elements that are closed, and text."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.text = ""
        self.feed(html)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes |= {name for name, _ in attrs}
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if "style" not in self.open:
            self.text += data


def shown(result: AuditResult) -> Page:
    """The page, which must be offline, well-formed and small."""
    html = result._repr_html_()
    assert len(html.encode()) < 150_000
    page = Page(html)
    assert not page.tags & {"script", "img", "iframe", "link", "a", "object"}
    assert not {name for name in page.attributes if name.startswith("on")} | page.attributes & {"src", "href"}
    pictures = re.findall(r"<svg.*?</svg>", html)
    assert len(pictures) in (0, 2, 3)
    assert {ET.fromstring(svg).get("role") for svg in pictures} <= {"img"}
    return page


def test_numbers_are_those_of_the_reports(measured: AuditResult) -> None:
    page, html = shown(measured), measured._repr_html_()
    assert not {"<script", "http", "src="} & set(re.findall("<script|http|src=", html))
    assert "100 people judged" in page.text
    assert leading_method(measured) == "lof"
    assert page.text.index("lof") < page.text.index("CFAD")
    for method in AUDITED:
        report = measured.report(method)
        found, bounds = report.changing_ratio_interval(report.threshold), report.evidence_at(report.threshold).bounds
        assert found is not None
        assert bounds is not None
        assert report.metrics.auc_roc is not None
        assert report.verdict in page.text
        assert f"lowest to highest {percent(found.low)} to {percent(found.high)}" in page.text
        flagged = int((report.scores.factual > report.threshold).sum())
        for words in (f"{flagged} of 100", percent(report.metrics.changing_ratio), percent_range(*bounds)):
            assert words in page.text
        assert f"{report.metrics.auc_roc:.2f}" in page.text
    for group in measured.report("lof").metrics.groups.values():
        assert percent(group["flag_rate"]) in page.text
        assert percent(group["flag_rate_counterfactual"]) in page.text


def test_what_was_not_measured_is_not_shown(result: AuditResult) -> None:
    page = shown(result)
    assert "uncertainty not measured" in page.text
    assert "interval" not in page.text
    assert leading_method(result) == next(iter(result.scores))


def test_every_method_and_a_saved_audit_have_a_page(everything: AuditResult, tmp_path: Path) -> None:
    page = shown(everything)
    assert "14 more methods" in page.text
    assert all(report.label in page.text for report in everything.reports.values())
    save_audit(everything, tmp_path / "audit")
    assert load_audit(tmp_path / "audit")._repr_html_() == everything._repr_html_()


def test_without_labels_there_is_no_auc_and_every_comparison_has_a_row(crossed: AuditResult) -> None:
    page, html = shown(crossed), crossed._repr_html_()
    assert "AUC" not in page.text
    assert html.count("<tr>") == 1 + len(crossed.plan.comparisons)
    for comparison in crossed.plan.comparisons:
        for method in crossed.scores:
            assert percent(crossed.report(method, comparison.name).metrics.changing_ratio) in page.text
        assert f"Audit by {comparison.name}" in shown(crossed.seen(comparison.name)).text
    assert "result.seen('region')" in page.text
    pair = shown(crossed.seen("region", ("north", "west")))
    assert "the other of the groups north and west" in pair.text
    assert "<table" not in crossed.seen("region")._repr_html_()


def test_of_more_groups_the_pair_with_most_changes_is_named(three: AuditResult) -> None:
    page = shown(three)
    report = three.group_report(leading_method(three))
    table = report.pairs_at(report.report.threshold)
    assert table is not None
    worst = table.worst
    assert worst is not None
    words = f"{table.names[worst.source]}, had they been {table.names[worst.target]}: {percent(worst.ratio)}"
    assert words in page.text


def test_reliable_is_what_the_verdict_says(measured: AuditResult) -> None:
    for report in measured.reports.values():
        assert report.verdict.startswith("Not reliable") == ("the model failed a test" in shown(measured).text)
    untested = replace(measured, checks=())
    assert "the model was not tested" in shown(untested).text
    doubted = replace(measured, checks=(replace(measured.checks[0], unexplained=("debt",)),))
    assert "Not reliable" in shown(doubted).text
    assert "the model failed a test" in shown(doubted).text


def test_true_twins_are_named(known: AuditResult) -> None:
    page = shown(known)
    assert "the true twins are known" in page.text
    assert "by true twins" in page.text
    assert "flag rates alone allow" not in page.text


def test_nothing_is_said_about_a_group_of_fewer_than_ten(result: AuditResult) -> None:
    rows = result.groups["a"]
    few = np.flatnonzero(rows)[:7]
    kept = np.sort(np.concatenate([few, np.flatnonzero(~rows)]))
    people, scores = result.people, result.scores
    place = np.full(len(rows), -1)
    place[kept] = np.arange(len(kept))
    judged = np.isin(people.judged, kept)
    assert people.is_anomaly is not None
    small = replace(
        result,
        people=replace(
            people,
            row=people.row[kept],
            is_anomaly=people.is_anomaly[kept],
            codes=people.codes[kept],
            encoded=people.encoded.some(kept),
            judged=place[people.judged[judged]],
        ),
        scores={
            method: replace(one, factual=one.factual[kept], twins=one.twins[:, kept], judged=one.judged[:, :, judged])
            for method, one in scores.items()
        },
    )
    page = shown(small)
    assert "a (<10)" in page.text
    assert "fewer than 10 people: not shown" in page.text
    assert "flag rates alone allow" not in page.text


def test_an_audit_that_saw_nobody_says_so(crossed: AuditResult) -> None:
    nobody = np.zeros(0, dtype=np.intp)
    view = crossed.seen("region", ("north", "west")).view
    assert view is not None
    gone = replace(view, rows=nobody, group=nobody, columns=view.columns[:0])
    seen = replace(crossed, people=crossed.people.seen(gone), view=gone)
    assert "Nobody was judged." in shown(seen).text


@pytest.mark.slow
@pytest.mark.parametrize("name", NASTY)
def test_names_from_the_table_are_text(name: str) -> None:
    table = make_people(300, seed=0).rename(columns={"income": f"{name} income", "group": f"{name} group"})
    table[f"{name} group"] = table[f"{name} group"].map({"a": f"{name} a", "b": "b"})
    roles = ColumnRoles(f"{name} group", label="fraud", anomaly="yes")
    found = run_audit(table, roles, PCA)
    page = shown(found)
    assert not {"\u202e", "\x00"} & set(page.text)
    assert (name.split("\n")[0].strip("\u202e")[:10]) in page.text
    shown(found.seen())
    person = Page(found.explain(int(found.people.row[0]))._repr_html_())
    assert not person.tags & {"script", "img"}


def test_five_warnings_are_listed_and_the_others_counted(result: AuditResult) -> None:
    warnings = tuple(Finding("x", "warning", f"beware {k}") for k in range(7))
    page = shown(replace(result, notices=(Finding("y", "info", "by the way"), *warnings)))
    assert "beware 4" in page.text
    assert "beware 5" not in page.text
    assert "by the way" not in page.text
    several = sum(finding.severity == "warning" for finding in result.findings if finding not in result.notices)
    assert f"and {2 + several} more" in page.text


def test_its_short_text_is_short(everything: AuditResult) -> None:
    assert repr(everything).startswith("<AuditResult by group: 125 people judged, methods pca, ")
    assert len(repr(everything)) < 400


@pytest.mark.slow
def test_pictures_are_loaded_only_when_they_are_drawn() -> None:
    code = "import sys, cfad_core.audit.result; print('plotly' in sys.modules)"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "False"
