"""The summary: what is on the one page, and on the five pages for a projector."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from cfad_core.audit.statements import Statements
from cfad_core.core.formats import percent
from cfad_core.evaluation.verdict import verdict_sentences
from cfad_core.report.document import Picture
from cfad_core.report.sections.decisions import NO_CERTIFICATE
from cfad_core.report.sections.summary import slides, widest
from cfad_core.report.subject import Subject
from tests.report.kinds import MAKERS, Read, document, document_of, flagged, members, subject, subject_of

pytestmark = pytest.mark.slow  # small audits of every kind are made


@pytest.mark.parametrize("kind", MAKERS)
def test_the_one_page(kind: str) -> None:
    audit, read = subject_of(kind), Read.of(document_of(kind))
    first, *others = audit.comparisons
    plain = read.section("summary")["plain"]
    assert audit.verdict(first) in plain[0]
    for comparison, sentence in zip(others, plain[1:], strict=False):
        assert sentence == f"By {comparison.name}: {verdict_sentences(audit.evidence(comparison))[0]}."
    assert plain[-1] == NO_CERTIFICATE
    assert read.field("summary", "flag_rate")["value"] == float(f"{100.0 * flagged(audit).mean():.1f}")
    assert f"{audit.people:,}, compared by" in read.field("summary", "who")
    points = read.items("summary", "What would turn the verdict")
    assert 1 <= len(points) <= 3
    whole = read.items("turning")
    assert all(any(line.startswith(point.removesuffix("…")) for line in whole) for point in points)


@pytest.mark.parametrize("kind", MAKERS)
def test_five_slides_of_every_kind_of_audit(kind: str) -> None:
    audit, made = subject_of(kind), document_of(kind)
    first, leading, who, trust, follows = made.slides
    assert first.title.startswith(f"Would {audit.label} have flagged the same person, had ")
    assert f"Flagged: {percent(flagged(audit).mean())} of them." in first.sentences
    found = audit.evidence(audit.comparisons[0])
    if found.sees_path or found.known_truth:
        assert leading.large == (percent(found.ratio) if (found.ratio or 0.0) >= 0.001 else leading.large)
        assert leading.title in ("For so many the outcome changes", "Not reliable: a guess")
    else:
        assert leading.large == "?"
    assert who.svg.startswith("<svg")
    assert trust.large == f"Reliable: {audit.reliability(audit.comparisons[0])[0]}"
    assert follows.sentences[-1] == NO_CERTIFICATE
    for slide in made.slides:
        assert slide.title
        assert slide.sentences
        assert all(not sentence[0].islower() or sentence.startswith("theirs") for sentence in slide.sentences)


def test_statements_lead_the_slides() -> None:
    said = Statements(system="Sonar", threshold_decision="Ten a week.")
    first, *_, last = slides(subject_of("known"), said)
    assert first.title.startswith("Would Sonar have flagged")
    assert last.sentences[0] == "Ten a week."


def test_the_attribute_with_the_widest_gap_is_drawn() -> None:
    audit = subject_of("crossed")
    for column in ("sex", "region"):
        groups = members(audit, column)
        score = np.where(groups[next(iter(groups))], 2.0, 0.0)
        scores = {"pca": dataclasses.replace(audit.result.scores["pca"], factual=score)}
        made = dataclasses.replace(subject(dataclasses.replace(audit.result, scores=scores)), threshold=1.0)
        assert widest(made).name == column
        whole = document(made)
        (picture,) = (block for block in whole.sections[0].blocks if isinstance(block, Picture))
        assert picture.title == f"Who is flagged by PCA, by {column}"
        assert all(f">{name}<" in whole.slides[2].svg for name in groups)
        assert f"Flagged most often: {next(iter(groups))}, 100.0 %" in whole.slides[2].sentences[0]
        assert Read.of(whole).field("summary", "as_harm")["value"] == 0.0


def with_changes(audit: Subject, changing: dict[str, float]) -> Subject:
    """Of true twins: by method, the share of people whose outcome changes."""
    scores = {}
    people = len(audit.result.people.row)
    for name, share in changing.items():
        truth = np.where(np.arange(people) < share * people, 2.0, 0.0)
        base = audit.result.scores["pca"]
        scores[name] = dataclasses.replace(base, factual=np.zeros(people), truth=truth, threshold=1.0)
    return subject(dataclasses.replace(audit.result, scores=scores, slices={}))


@pytest.mark.parametrize(
    ("changing", "expected"),
    [
        ({"pca": 0.2, "ae": 0.1}, "1 other detector was tried: AE changes fewest outcomes, 10.0 % instead of 20.0 %."),
        (
            {"pca": 0.2, "ae": 0.0, "cfad": 0.1},
            "2 other detectors were tried: AE changes fewest outcomes, 0.0 % instead of 20.0 %.",
        ),
        ({"pca": 0.1, "ae": 0.2}, "1 other detector was tried: none changes fewer outcomes."),
        ({"pca": 0.0, "ae": 0.0}, "1 other detector was tried: none changes fewer outcomes."),
    ],
)
def test_the_detector_that_changes_fewest_outcomes(changing: dict[str, float], expected: str) -> None:
    """Nothing is fewer than a little."""
    audit = with_changes(subject_of("known"), changing)
    assert slides(audit, Statements())[-1].sentences[1] == expected


def test_a_detector_alone_is_compared_with_none() -> None:
    assert len(document_of("three").slides[-1].sentences) == 2
