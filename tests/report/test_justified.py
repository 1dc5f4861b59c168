"""What a report says of justified paths: their reasons, and the ratio that remains without them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]

from cfad_core.audit.paths import measure_remaining
from cfad_core.audit.statements import JustifiedPath, Statements
from cfad_core.core.formats import percent
from cfad_core.report.html import html_report
from cfad_core.report.numbers import points, share
from tests.report.kinds import HOSTILE, Read, document, printed, result_of, subject, subject_of

SCHEMA = json.loads((Path(__file__).parents[2] / "docs" / "report.schema.json").read_text("utf-8"))
REASON = "Income is what the tariff is about."


def said(*paths: tuple[str, ...]) -> Statements:
    return Statements(justified_paths=tuple(JustifiedPath(path, REASON) for path in paths))


def cell(row: dict[str, Any], column: str) -> str:
    shown: str = row[column]["shown"]
    return shown


def test_what_remains_stands_in_the_report() -> None:
    """For every detector at its threshold, beside the whole ratio; and with the number of the report's own."""
    audit, path = subject_of("graph"), ("group", "income", "debt")
    made = document(audit, said(path))
    read, seen = Read.of(made), audit.result.seen()
    jsonschema.Draft202012Validator(SCHEMA).validate(read.whole)
    (one,) = read.table("graph", "justified")
    judges = audit.result.judges
    assert (one["path"], one["in_graph"], one["found"]) == (" → ".join(path), "yes", f"{judges} of {judges}")
    report = seen.report(audit.method)
    found = measure_remaining(seen, {audit.method: report.threshold}, [path])[audit.method]
    (row,) = read.table("graph", "remaining_group")
    assert row["method"] == f"{report.label} (this report)"
    assert cell(row, "whole").startswith(percent(report.metrics.changing_ratio))
    assert cell(row, "remaining") == share(found.remaining.value, found.remaining.interval).shown
    assert cell(row, "gone") == points(found.gone.value, found.gone.interval).shown
    assert read.field("counterfactual", "without_justified")["shown"] == cell(row, "remaining")
    low, high = row["remaining"]["low"], row["remaining"]["high"]
    assert printed(cell(row, "remaining")) == [row["remaining"]["value"], low, high]
    assert cell(row, "remaining") in html_report(made)
    texts = "\n".join(read.texts())
    assert "was not measured" not in texts[texts.index("Paths that are called justified") :][:1500]
    without = Read.of(document(audit))
    assert read.section("summary") == without.section("summary")  # the verdict counts every path all the same
    assert read.field("counterfactual", "changing_ratio") == without.field("counterfactual", "changing_ratio")
    assert "without_justified" not in without.keys("counterfactual")


def test_only_comparisons_that_a_path_begins_in() -> None:
    audit = subject_of("crossed")
    read = Read.of(document(audit, said(("region", "income"), ("income", "debt"))))
    tables = {block["key"] for block in read.section("graph")["content"] if block["type"] == "table"}
    assert {"remaining_region", "remaining_sex and region"} <= tables
    assert "remaining_sex" not in tables
    nothing = Read.of(document(audit, said(("income", "debt"))))
    assert nothing.items("graph", "What remains") == [
        "Not measured: none of these paths begins at a sensitive attribute."
    ]


def test_where_nothing_can_be_measured_the_report_says_why() -> None:
    read = Read.of(document(subject_of("known"), said(("group", "income"))))
    (reason,) = read.items("graph", "What remains")
    assert "its true twins are known" in reason
    assert read.table("graph", "justified")[0]["found"] == "not measured"


def test_a_detector_that_is_not_here_is_not_measured_but_others_are() -> None:
    read = Read.of(document(subject_of("asked"), said(("group", "income"))))
    rows = {row["method"]: row for row in read.table("graph", "remaining_group")}
    own = next(name for name in rows if name.endswith("(this report)"))
    assert cell(rows[own], "remaining") == "not measured"
    assert any(cell(row, "remaining") != "not measured" for row in rows.values())
    assert "without_justified" not in read.keys("counterfactual")


def test_hostile_paths_are_text_and_their_ratio_is_measured() -> None:
    audit = subject(result_of("hostile"), name="x")
    path = (HOSTILE["group"], HOSTILE["income"])
    made = document(audit, said(path))
    page = html_report(made)
    assert "<b>" not in Read.of(made).table("graph", "justified")[0]["in_graph"]
    assert page.count("<script") == html_report(document(audit)).count("<script")
    (block,) = [b for b in Read.of(made).section("graph")["content"] if b.get("key", "").startswith("remaining_")]
    assert block["rows"][0]["remaining"]["value"] is not None
