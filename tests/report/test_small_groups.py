"""Nothing about fewer than ten people leaves the house: neither in tables nor in sentences nor in pictures."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from cfad_core.core.formats import SMALLEST_GROUP
from cfad_core.report.document import Picture
from cfad_core.report.subject import Subject
from tests.report.kinds import Read, document, document_of, members, subject_of

pytestmark = pytest.mark.slow  # small audits of every kind are made

KINDS = ["tiny", "few"]


def small(audit: Subject) -> set[str]:
    """The groups and combinations of groups that nobody may learn anything about."""
    return {
        name
        for comparison in audit.comparisons
        for name, here in members(audit, comparison.name).items()
        if 0 < here.sum() < SMALLEST_GROUP
    }


def rows_about(value: Any, names: set[str]) -> Iterator[dict[str, Any]]:
    """Rows of tables that have one of these names in a cell."""
    if isinstance(value, dict) and names & {cell for cell in value.values() if isinstance(cell, str)}:
        yield value
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from rows_about(one, names)


@pytest.mark.parametrize("kind", KINDS)
def test_no_row_about_a_small_group_holds_a_number(kind: str) -> None:
    audit, read = subject_of(kind), Read.of(document_of(kind))
    hidden, seen = small(audit), set()
    assert hidden
    for row in rows_about(read.whole, hidden):
        seen |= hidden & {cell for cell in row.values() if isinstance(cell, str)}
        for name, cell in row.items():
            if name == "people" and row.get("source", row.get("group")) not in hidden:
                continue  # how many people of a large group were moved to a small one
            if isinstance(cell, dict):
                assert cell in (
                    {"value": None, "shown": "<10"},
                    {"value": None, "shown": "n/a (n < 10)"},
                    {"value": None, "shown": "not shown"},
                ), row
    assert seen == hidden


def test_no_sentence_tells_a_number_of_a_small_group() -> None:
    read = Read.of(document_of("tiny"))
    about = [text for text in read.texts() if "tiny" in text and not text.startswith(("Audit", "python -m"))]
    assert len(about) >= 8
    for text in about:
        assert set(re.findall(r"\d+", text)) <= {"10"}, text
    assert "Of tiny (group), fewer than 10 people were judged." in read.plain("groups")
    assert "under 2 %" not in read.plain("groups")  # it is small, but no so small a share


@pytest.mark.parametrize("kind", KINDS)
def test_bounds_that_would_tell_their_flag_rate_are_left_out(kind: str) -> None:
    audit, read = subject_of(kind), Read.of(document_of(kind))
    assert "bounds" not in read.keys("counterfactual")
    for text in read.texts():
        assert "flag rates of the groups" not in text
    first = audit.comparisons[0]
    assert audit.evidence(first).bounds is None
    assert subject_of("three").evidence(subject_of("three").comparisons[0]).bounds is not None


@pytest.mark.parametrize("kind", KINDS)
def test_pictures_do_not_show_them(kind: str) -> None:
    audit, made = subject_of(kind), document_of(kind)
    hidden, drawn = small(audit), 0
    for section in made.sections:
        for block in section.blocks:
            if isinstance(block, Picture) and block.key.startswith(("rates", "densities", "summary")):
                assert not any(f'"{name}' in block.figure for name in hidden)
                drawn += "fewer than 10 people: not shown" in block.svg
    assert drawn


def test_drawn_rates_are_no_more_than_the_table_says() -> None:
    """Those of a group's anomalies would be of a few people."""
    (picture,) = (
        block
        for section in document_of("two").sections
        for block in section.blocks
        if isinstance(block, Picture) and block.key == "rates_group"
    )
    figure = json.dumps(json.loads(picture.figure), ensure_ascii=False)
    assert "twins flagged" in figure
    assert "anomalies flagged" not in figure
    assert "normal people flagged" not in figure


def test_small_groups_take_no_part_in_what_is_compared() -> None:
    audit, read = subject_of("tiny"), Read.of(document_of("tiny"))
    (comparison,) = audit.comparisons
    assert [group.name for group in audit.compared_groups(comparison).groups] == ["a", "b", "c"]
    assert {group.name for group in audit.groups(comparison).groups if group.n is None} == {"tiny"}
    assert "tiny" not in read.field("rates", "as_harm_groups") + read.field("rates", "as_benefit_groups")
    assert "tiny" not in read.plain("rates") + read.plain("summary")


def test_where_all_groups_are_small_nothing_is_compared() -> None:
    """Five people of each group: no gap, no impact ratio, no pairs, and no sentence that is wrong."""
    audit = subject_of("three")
    groups = members(audit)
    rows = sorted(row for here in groups.values() for row in here.nonzero()[0][:5].tolist())
    result = audit.result
    people = dataclasses.replace(
        result.people,
        row=result.people.row[rows],
        is_anomaly=None,
        codes=result.people.codes[rows],
        encoded=result.people.encoded.some(np.array(rows)),
        judged=result.people.judged[: len(rows)],
    )
    scores = {
        name: dataclasses.replace(
            one, factual=one.factual[rows], twins=one.twins[:, rows], judged=one.judged[:, :, rows]
        )
        for name, one in result.scores.items()
    }
    few = dataclasses.replace(result, people=people, scores=scores, stability=None, checks=(), slices={})
    made = document(dataclasses.replace(audit, result=few))
    read = Read.of(made)
    assert read.field("rates", "impact_ratio") == "n/a: fewer than two groups are large enough"
    assert "There are no two groups with people to compare." in read.plain("rates")
    assert "as_harm" not in read.keys("summary")
    assert not any("Nobody was judged" in text for text in read.texts())
    assert len(made.slides) == 5
