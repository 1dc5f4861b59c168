"""Every section of a report, on real small audits of every kind, against the library and against counting by hand."""

from __future__ import annotations

import dataclasses
import re
from typing import Any

import numpy as np
import pytest
from fairlearn.metrics import MetricFrame, false_negative_rate, false_positive_rate, selection_rate, true_positive_rate
from sklearn.metrics import f1_score, precision_score, roc_auc_score

from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import JustifiedPath, Statements
from cfad_core.core.formats import SMALLEST_GROUP
from cfad_core.report.document import NOT_STATED
from cfad_core.report.numbers import share
from cfad_core.report.sections import SECTIONS
from cfad_core.report.subject import Subject
from tests.report.kinds import (
    MAKERS,
    Read,
    document,
    document_of,
    flagged,
    members,
    printed,
    result_of,
    subject,
    subject_of,
)

pytestmark = pytest.mark.slow  # small audits of every kind are made

KINDS = [kind for kind in MAKERS if kind != "hostile"]  # whose names are changed in tables
SMALLEST_SHARE = 0.02


def read_of(kind: str) -> Read:
    return Read.of(document_of(kind))


def rounded(value: float) -> float:
    return float(f"{100.0 * value:.1f}")


# All of them


@pytest.mark.parametrize("kind", KINDS)
def test_every_section_is_there_and_speaks_plainly(kind: str) -> None:
    read = read_of(kind)
    assert [section["key"] for section in read.whole["sections"]] == list(SECTIONS)
    for section in read.whole["sections"]:
        assert section["plain"], section["key"]
        for sentence in section["plain"]:
            assert not sentence[0].islower() or sentence.split()[0] in _names(kind), sentence
            assert sentence.endswith((".", "?")), sentence
    for text in read.texts():
        assert not re.search(r"\bNone\b(?! (by|of|was))|\bnan\b|\binf\b|\b1 \w+s were\b|\{|\}", text), text
        assert not re.search(r"certified|is fair\b(?!, lawful)", text), text


def _names(kind: str) -> set[str]:
    result = result_of(kind)
    return {*result.scores, *result.model.attributes, *(name for one in result.plan.comparisons for name in one.groups)}


@pytest.mark.parametrize("kind", KINDS)
def test_shares_of_people_are_shares(kind: str) -> None:
    read = read_of(kind)
    for number in read.numbers():
        for name in ("value", "low", "high"):
            if number.get("unit") == "%" and number.get(name) is not None:
                assert number[name] <= 100.0, number
    for section in read.whole["sections"]:
        for text in (*section["plain"], *read.items(section["key"])):
            assert all(float(found) <= 100.0 for found in re.findall(r"([\d.]+) %", text)), text


# The groups, and who is flagged


@pytest.mark.parametrize("kind", KINDS)
def test_flag_rates_are_those_of_the_people(kind: str) -> None:
    audit, read = subject_of(kind), read_of(kind)
    above = audit.result.scores[audit.method].factual > np.median(audit.result.scores[audit.method].factual)
    for comparison in audit.comparisons:
        rows = {row["group"]: row for row in read.table("rates", f"rates_{comparison.name}")}
        assert list(rows) == list(comparison.groups)
        frame = MetricFrame(
            metrics=selection_rate,
            y_true=flagged(audit),
            y_pred=flagged(audit),
            sensitive_features=_group_names(audit, comparison.name),
        )
        for name, here in members(audit, comparison.name).items():
            row = rows[name]
            if 0 < here.sum() < SMALLEST_GROUP:
                assert (row["people"]["shown"], row["flag_rate"]["value"], row["compared"]) == (
                    "<10",
                    None,
                    "no: too few",
                )
                continue
            assert row["people"]["value"] == here.sum()
            assert row["flag_rate"]["value"] == rounded(frame.by_group[name])
            assert row["above_median"]["value"] == rounded(above[here].mean())
            assert row["flag_rate"]["low"] <= row["flag_rate"]["value"] <= row["flag_rate"]["high"]


def _group_names(audit: Subject, comparison: str) -> Any:
    names = np.empty(audit.people, dtype=object)
    for name, here in members(audit, comparison).items():
        names[here] = name
    return names


@pytest.mark.parametrize("kind", KINDS)
def test_the_impact_ratio_is_read_both_ways_over_groups_that_are_large_enough(kind: str) -> None:
    audit, read = subject_of(kind), read_of(kind)
    for comparison in audit.comparisons:
        title = f"Impact ratio by {comparison.name}"
        least = max(SMALLEST_GROUP, SMALLEST_SHARE * audit.people)
        rates = {
            name: flagged(audit)[here].mean()
            for name, here in members(audit, comparison.name).items()
            if here.sum() >= least
        }
        compared = {row["group"] for row in read.table("rates", f"rates_{comparison.name}") if row["compared"] == "yes"}
        assert compared == set(rates)
        if len(rates) < 2:
            assert read.field("rates", "impact_ratio", title) == "n/a: fewer than two groups are large enough"
            continue
        low, high = min(rates.values()), max(rates.values())
        harm, benefit = (read.field("rates", key, title) for key in ("as_harm", "as_benefit"))
        assert harm["value"] == (None if high == 0.0 else float(f"{low / high:.2f}"))
        assert benefit["value"] == float(f"{(1.0 - high) / (1.0 - low):.2f}")
        gap = read.field("rates", "flag_rate_gap", title)
        assert gap["value"] == pytest.approx(100.0 * (high - low), abs=0.0500001)
        assert f"{100.0 * high:.1f} %" in read.plain("rates")


def test_an_impact_ratio_that_is_undefined_says_why() -> None:
    audit = subject_of("two")
    scores = audit.result.scores[audit.method].factual
    nobody = Read.of(document(dataclasses.replace(audit, threshold=float(scores.max()))))
    assert nobody.field("rates", "as_harm")["shown"] == "n/a: nobody is flagged"
    assert nobody.field("rates", "as_benefit")["value"] == 1.0
    assert "flags 0 of 150 people" in nobody.plain("threshold")
    everybody = Read.of(document(dataclasses.replace(audit, threshold=float(scores.min()) - 1.0)))
    assert everybody.field("rates", "as_benefit")["shown"] == "n/a: everybody is flagged"
    assert everybody.field("rates", "as_harm")["value"] == 1.0
    assert everybody.field("summary", "flag_rate")["shown"] == "100.0 %"


def test_a_group_under_two_percent_is_shown_and_not_compared() -> None:
    audit, read = subject_of("rare"), read_of("rare")
    rows = {row["group"]: row for row in read.table("rates", "rates_group")}
    assert members(audit)["c"].sum() == rows["c"]["people"]["value"] == 11
    assert rows["c"]["flag_rate"]["value"] is not None
    assert rows["c"]["compared"] == "no: too few"
    assert "c (group): under 2 % of the people judged" in read.plain("groups")
    assert "c (" not in read.field("rates", "as_harm_groups")


def test_sizes_of_groups() -> None:
    for kind in ("two", "three", "crossed", "rare"):
        audit, read = subject_of(kind), read_of(kind)
        for comparison in (one for one in audit.comparisons if not one.is_joint):
            for row in read.table("groups", f"sizes_{comparison.name}"):
                n = int(members(audit, comparison.name)[row["group"]].sum())
                assert (row["people"]["value"], row["share"]["value"]) == (n, rounded(n / audit.people))


# What the labels say


@pytest.mark.parametrize("kind", ["two", "three", "asked", "rare"])
def test_rates_by_label_are_those_of_fairlearn(kind: str) -> None:
    audit, read = subject_of(kind), read_of(kind)
    label = audit.result.people.is_anomaly
    assert label is not None
    kinds = {
        "precision": lambda y, p: precision_score(y, p, zero_division=0.0),
        "true_positive_rate": true_positive_rate,
        "false_positive_rate": false_positive_rate,
        "false_negative_rate": false_negative_rate,
    }
    frame = MetricFrame(
        metrics=kinds, y_true=label, y_pred=flagged(audit), sensitive_features=_group_names(audit, "group")
    )
    checked = 0
    for row in read.table("labels", "labels_group"):
        here = members(audit)[row["group"]]
        among = {
            "precision": (flagged(audit) & here).sum(),
            "true_positive_rate": (label & here).sum(),
            "false_negative_rate": (label & here).sum(),
            "false_positive_rate": (~label & here).sum(),
        }
        for name, n in among.items():
            if n < SMALLEST_GROUP:
                assert row[name] == {"value": None, "shown": "n/a (n < 10)"}
            else:
                assert row[name]["value"] == rounded(frame.by_group[name][row["group"]])
                checked += 1
        assert row["anomalies"]["value"] in (None, (label & here).sum())
    assert checked >= 2
    assert read.field("labels", "auc_roc")["value"] == float(
        f"{audit.report(audit.comparisons[0]).metrics.auc_roc:.3f}"
    )


def test_differences_by_label_name_the_right_groups() -> None:
    """Everybody of b is flagged, of a only the anomalies: a flag means less about people of b."""
    audit = subject_of("two")
    anomaly = audit.result.people.is_anomaly
    assert anomaly is not None
    groups, label = members(audit), anomaly | (np.arange(audit.people) % 4 == 0)
    score = np.where(groups["b"] | label, 2.0, 0.0)
    people = dataclasses.replace(audit.result.people, is_anomaly=label)
    made = subject(with_scores(dataclasses.replace(audit.result, people=people), score), "pca")
    made = dataclasses.replace(made, threshold=1.0)
    plain = Read.of(document(made)).plain("labels")
    assert "Normal people of b are flagged more often than those of a: 100.0 points" in plain
    assert "A flag means less about people of b than about those of a: its hit rate is" in plain
    assert "Anomalies of" not in plain


def with_scores(result: AuditResult, score: Any) -> AuditResult:
    """PCA with other scores of the people, alone."""
    scores = {"pca": dataclasses.replace(result.scores["pca"], factual=score)}
    return dataclasses.replace(result, scores=scores)


@pytest.mark.parametrize("kind", ["unlabelled", "crossed"])
def test_without_labels_it_is_said_what_cannot_be_measured(kind: str) -> None:
    read = read_of(kind)
    assert "the table has no labels" in read.plain("labels")
    assert read.section("labels")["content"] == []
    assert "nothing: there are no labels" in read.field("data", "label")
    assert "Whether flags are right: there are no labels." in read.items("counterfactual", "What could not be measured")
    assert "macro_f1" not in read.table("threshold", "thresholds")[0]
    assert not any("The labels are right" in text for text in read.items("limits"))


# What would change


@pytest.mark.parametrize("kind", KINDS)
def test_the_changing_ratio_is_that_of_the_library(kind: str) -> None:
    audit, read = subject_of(kind), read_of(kind)
    for comparison in audit.comparisons:
        title = f"The number by {comparison.name}" if len(audit.comparisons) > 1 else "The number"
        report = audit.result.report(audit.method, comparison.name)
        metrics, found = report.metrics_at(audit.threshold), read.field("counterfactual", "changing_ratio", title)
        assert found == share(metrics.changing_ratio, report.changing_ratio_interval(audit.threshold)).to_dict()
        for key in ("newly_flagged", "newly_cleared"):
            assert read.field("counterfactual", key, title)["value"] == rounded(getattr(metrics, key))
        changed = np.nanmean(report.change_probability(audit.threshold))
        assert found["value"] == pytest.approx(100.0 * changed, abs=0.0500001)
        for row in read.table("counterfactual", f"changes_{comparison.name}"):
            group = metrics.groups.get(row["group"])
            if group is not None and (group["n"] or 0) >= SMALLEST_GROUP:
                assert row["changes"]["value"] == rounded(group["changing_ratio"] or 0.0)
                assert row["twins"]["value"] == rounded(group["flag_rate_counterfactual"] or 0.0)
        assert audit.verdict(comparison) in read.plain("counterfactual").replace("\n", " ")


def test_pairs_of_groups_are_those_of_the_library() -> None:
    audit, read = subject_of("three"), read_of("three")
    table = audit.result.group_report(audit.method, "group").pairs_at(audit.threshold)
    assert table is not None
    rows = read.table("counterfactual", "pairs_group")
    assert len(rows) == 6
    for row in rows:
        pair = table.pair(table.names.index(row["source"]), table.names.index(row["target"]))
        assert pair.ratio is not None
        assert row["changes"]["value"] == rounded(pair.ratio)
        assert row["newly_flagged"]["value"] == rounded(pair.newly_flagged or 0.0)
        assert row["people"]["value"] == pair.n
    ratios = [row["changes"]["value"] for row in rows]
    assert ratios == sorted(ratios, reverse=True)
    assert "Between groups of group" in [block["title"] for block in read.section("counterfactual")["content"]]


def test_two_attributes_at_once() -> None:
    read = read_of("crossed")
    assert [len(read.table("rates", f"rates_{name}")) for name in ("sex", "region", "sex and region")] == [2, 3, 6]
    lines = read.items("counterfactual", "Both at once")
    both = subject_of("crossed").result.group_report("pca", "sex and region")
    found = both.interaction_at(subject_of("crossed").threshold)
    assert found is not None
    assert printed(lines[0])[0] == rounded(found.only_both.value or 0.0)
    assert len(read.section("summary")["plain"]) == 3 + 2 + 1
    assert read.section("rates")["plain"][1].startswith("By sex: Flagged most often")
    without = {key for key in read.keys("graph") if key.startswith("without_path")}
    assert without == {"without_path_sex", "without_path_region"}


def test_people_who_are_moved_to_no_group_are_flagged_all_the_same() -> None:
    """With --compare a, people of b and c are moved to a, and people of a to none."""
    audit, read = subject_of("towards"), read_of("towards")
    assert set(audit.report(audit.comparisons[0]).basis.groups) == {"b", "c"}
    assert read.field("threshold", "flag_rate")["value"] == rounded(flagged(audit).mean())
    assert f"of {audit.people} people at this threshold" in read.plain("threshold")
    assert read.field("summary", "flag_rate")["value"] == rounded(flagged(audit).mean())
    rows = {row["group"]: row for row in read.table("counterfactual", "changes_group")}
    here = members(audit)["a"]
    assert rows["a"]["people"]["value"] == here.sum()
    assert rows["a"]["flag"]["value"] == rounded(flagged(audit)[here].mean())
    assert rows["a"]["changes"] == rows["a"]["twins"] == {"value": None, "shown": "not moved"}
    assert "Only people of b and c are counted: nobody of a is moved to another group." in read.plain("counterfactual")
    assert "had they belonged to another group of group" in read.plain("summary")
    label = audit.result.people.is_anomaly
    assert label is not None
    score = audit.result.scores["pca"].factual
    assert read.field("labels", "auc_roc")["value"] == float(f"{roc_auc_score(label, score):.3f}")
    assert read.field("labels", "macro_f1")["value"] == float(f"{f1_score(label, flagged(audit), average='macro'):.3f}")
    (row,) = read.table("mitigation", "methods_group")
    assert row["flag_rate"]["value"] == rounded(flagged(audit).mean())
    for row in read.table("threshold", "thresholds"):
        assert row["flag_rate"]["value"] == pytest.approx(100.0 * (score > row["threshold"]["value"]).mean(), abs=0.9)


def test_without_subsamples_the_uncertainty_is_not_pretended() -> None:
    read = read_of("unlabelled")
    assert read.section("summary")["content"][0]["title"] == "In numbers"
    assert "low" not in read.field("counterfactual", "changing_ratio")
    missing = read.items("counterfactual", "What could not be measured")
    assert "How uncertain the number is: the audit was made without subsamples." in missing
    assert "the uncertainty was not measured" in read.plain("counterfactual")
    assert all(row["found"] == "not measured" for row in read.table("graph", "edges"))
    assert "interval" not in "".join(row for row in read.table("mitigation", "methods_group")[0])
    assert "2 causal models, each learned from a random half of the rows" in read.plain("counterfactual")


def test_true_twins_need_no_model() -> None:
    read = read_of("known")
    assert "the true twins are known" in read.plain("counterfactual").lower()
    assert "as the causal models make them" not in read.plain("counterfactual")
    assert read.items("counterfactual", "What could not be measured") == []
    assert "rests on no causal model" in read.plain("turning")
    assert read.field("counterfactual", "reliable") == "yes: the true twins are known"
    assert "The true twins are known: no causal model was needed for the numbers." in read.items("limits")
    assert not any("missing from the table" in text for text in read.items("limits"))
    audit = subject_of("known")
    truth = audit.result.scores["pca"].truth
    assert truth is not None
    changed = (truth > audit.threshold) != flagged(audit)
    assert read.field("counterfactual", "changing_ratio")["value"] == rounded(changed.mean())


def test_a_ready_graph_is_not_called_learned() -> None:
    read = read_of("graph")
    assert "was given, not learned" in read.plain("graph")
    assert "Arrows that were given: group → income, schooling → income and income → debt." in read.items("graph")
    assert all(row["found"] == "not measured" for row in read.table("graph", "edges"))
    assert all(row["direction"] == "not examined" for row in read.table("graph", "edges"))
    assert not any("No single edge" in text or "learned from" in text for text in read.items("turning"))
    assert any("each fitted to a random half" in text for text in read.items("turning"))


def test_without_a_path_nothing_is_said_about_the_detector() -> None:
    read, made = read_of("no path"), document_of("no path")
    assert "in the given graph group affects nothing" in read.plain("summary")
    assert "reaches no column: by it, nobody's outcome can change" in read.plain("graph")
    assert read.field("counterfactual", "reliable").startswith("no: ")
    assert (made.slides[1].title, made.slides[1].large) == ("Not known: the graph has no path", "?")
    assert not any("in 1,000" in text for text in made.slides[1].sentences)
    assert not any(key.startswith("carried") for key in _table_keys(read, "graph"))


def _table_keys(read: Read, section: str) -> list[str]:
    return [block["key"] for block in read.section(section)["content"] if block["type"] == "table"]


def test_a_twin_test_of_few_people_is_not_called_passed() -> None:
    found = {kind: read_of(kind) for kind in ("flags", "no path", "two")}
    passes = {kind: read.field("counterfactual", "twin_test_passes") for kind, read in found.items()}
    assert passes == {"flags": "cannot be said", "no path": "no", "two": "yes"}
    lines = found["flags"].items("counterfactual", "What supports it")
    assert any("it cannot be said whether twins pass" in line for line in lines)


# The system, the threshold, and what was tried


def test_a_detector_that_was_asked_has_its_owners_threshold() -> None:
    asked = subject(result_of("asked"), "theirs")
    read = Read.of(document(asked))
    assert asked.threshold == read.field("threshold", "value")["value"] == 3.0
    assert read.field("threshold", "rule") == "as its owner set it"
    answered = asked.result.asked
    assert answered is not None
    assert f"asked for its scores of {answered.rows:,} rows" in read.plain("system")
    ours = Read.of(document(subject(result_of("asked"), "pca")))
    assert "one of the detectors that this program fitted to the table" in ours.plain("system")


def test_a_detector_of_another_library_is_called_so() -> None:
    result = result_of("two")
    renamed = dataclasses.replace(result, scores={"lof": result.scores["pca"]}, stability=None, slices={})
    read = Read.of(document(subject(renamed)))
    assert "a detector of another library" in read.plain("system")


def test_another_threshold_than_the_audits_own() -> None:
    audit = subject_of("two")
    own = audit.threshold
    moved = dataclasses.replace(audit, threshold=own * 0.6, how="as saved, score")
    read = Read.of(document(moved))
    report = audit.result.report("ae")
    assert read.field("threshold", "flagged")["value"] == int(flagged(moved).sum())
    assert read.field("counterfactual", "changing_ratio")["value"] == rounded(
        report.metrics_at(moved.threshold).changing_ratio or 0.0
    )
    missing = " ".join(read.items("counterfactual", "What could not be measured"))
    assert f"they were measured at the audit's own ({own:.4g})" in missing
    assert f"Flagged is who scores above {moved.threshold:.4g} (as saved, score)." in read.plain("rates")
    rows = {row["method"]: row for row in read.table("mitigation", "methods_group")}
    assert rows["AE (this report)"]["flag_rate"]["value"] == rounded(flagged(moved).mean())
    own_rate = audit.result.report("pca").metrics.flag_rate
    assert rows["PCA"]["flag_rate"]["value"] == rounded(own_rate or 0.0)
    titles = [block.get("title") for block in read.section("mitigation")["content"]]
    assert "Compared with AE, each at the audit's own threshold" in titles
    without = dataclasses.replace(subject_of("unlabelled"), threshold=0.0)
    assert not any("they were measured" in text for text in Read.of(document(without)).items("counterfactual"))


def test_few_people_who_are_flagged_are_not_counted() -> None:
    audit = subject_of("two")
    seventh = float(np.sort(audit.result.scores["ae"].factual)[-8])
    read = Read.of(document(dataclasses.replace(audit, threshold=seventh)))
    assert read.field("threshold", "flagged") == {"value": None, "shown": "<10"}
    assert "AE flags fewer than 10 of 150 people" in read.plain("threshold")


def test_other_thresholds_are_those_of_the_quantiles() -> None:
    read, report = read_of("two"), result_of("two").report("ae")
    for row, point in zip(read.table("threshold", "thresholds"), report.quantile_curve, strict=True):
        assert row["quantile"]["value"] == point["quantile"]
        assert row["changes"]["value"] == rounded(point["changing_ratio"] or 0.0)
        assert row["flag_rate"]["value"] == rounded(point["flag_rate"] or 0.0)
        assert row["macro_f1"]["value"] == float(f"{point['macro_f1']:.3f}")


def test_methods_beside_each_other() -> None:
    read, result = read_of("two"), result_of("two")
    rows = {row["method"]: row for row in read.table("mitigation", "methods_group")}
    assert list(rows) == ["AE (this report)", "PCA", "PCA rank"]
    for row, report in zip(rows.values(), result.reports.values(), strict=True):
        metrics = report.metrics
        assert (
            row["changes"] == share(metrics.changing_ratio, report.changing_ratio_interval(report.threshold)).to_dict()
        )
        for name in ("auc_roc", "auc_pr", "macro_f1"):
            assert row[name]["value"] == float(f"{getattr(metrics, name):.3f}")
    assert "2 other detectors were audited" in read.plain("mitigation")
    assert "1 other detector was audited" in read_of("known").plain("mitigation")
    assert "No other detector was tried" in read_of("three").plain("mitigation")


# What a person says


def test_statements_are_in_their_sections_and_their_absence_is_said() -> None:
    silent = read_of("known")
    assert "6 of 6 statements about it were not made." in silent.plain("system")
    assert silent.field("system", "purpose") == NOT_STATED
    said = Statements(
        system="Sonar",
        version="2.1",
        purpose="To find fraud.",
        owner="Claims",
        consequence="A letter",
        auditor="A. Uditor",
        next_audit="2027-01-01",
        threshold_decision="Ten a week.",
        threshold_decided_by="The board",
        accepted_by="The head of claims",
        misuse="To punish",
        justified_paths=(JustifiedPath(("group", "income"), "pay"), JustifiedPath(("income", "group"), "no")),
    )
    read = Read.of(document(subject_of("known"), said))
    assert read.whole["title"] == "Audit report: Sonar"
    assert "1 of 6 statements about it was not made." in read.plain("system")
    assert "This report is about Sonar: PCA" in read.plain("system")
    assert "A. Uditor made this audit." in read.plain("auditor")
    assert "The next audit is due: 2027-01-01." in read.plain("auditor")
    assert "The board decides on it." in read.plain("threshold")
    assert "What is left is accepted by The head of claims." in read.plain("mitigation")
    assert read.field("limits", "misuse") == "To punish"
    assert [row["in_graph"] for row in read.table("graph", "justified")] == [
        "yes",
        "no: there is no arrow income → group",
    ]
    assert "Sonar 2.1" in read.field("summary", "detector")
    assert "Ten a week." in read.field("summary", "threshold")


# The graph, the limits, and how to repeat it


def test_arrows_and_what_they_carry() -> None:
    read, result = read_of("two"), result_of("two")
    assert result.stability is not None
    rows = read.table("graph", "edges")
    assert {(row["cause"], row["effect"]) for row in rows} == set(result.model.edges())
    on_path = [row["on_path"] for row in rows]
    assert on_path == sorted(on_path, reverse=True)
    cuts = result.stability.edge_cuts[0]
    carried = cuts.carried("ae")
    assert carried is not None
    assert cuts.whole["ae"] * cuts.people >= SMALLEST_GROUP
    shown = {row["edge"]: row["carried"]["value"] for row in read.table("graph", "carried_group")}
    assert shown == {
        f"{a} → {b}": round(100.0 * x) for (a, b), x in zip(cuts.edges, carried, strict=True) if round(100 * x)
    }
    assert "group reaches 2 of 3 columns: income and debt." in read.plain("graph")


def test_what_edges_carry_is_not_told_of_a_few_people() -> None:
    result = result_of("tiny")
    assert result.stability is not None
    cuts = result.stability.edge_cuts[0]
    assert 0.0 < cuts.whole["pca"] * cuts.people < SMALLEST_GROUP
    read = read_of("tiny")
    assert read.items("graph", "Which paths carry it") == ["Too few outcomes change to say."]
    assert not any("The edge" in text or "No single edge" in text for text in read.items("turning"))


def test_all_settings_are_listed_whole() -> None:
    audit = subject_of("known")
    known = audit.result.config.knowledge.replace(forbidden=tuple((f"cause {k}", f"effect {k}") for k in range(200)))
    config = audit.result.config.replace(knowledge=known)
    read = Read.of(document(dataclasses.replace(audit, result=dataclasses.replace(audit.result, config=config))))
    values = {row["setting"]: row["value"] for row in read.table("repeat", "settings")}
    assert "effect 199" in values["knowledge.forbidden"]
    assert values["seed"] == "0"
    assert values["asked"] == "none"
    assert values["detector.inputs"] == "chosen by the data"
    versions = {row["package"]: row["version"] for row in read.table("repeat", "versions")}
    assert versions == audit.result.provenance.versions
    assert read.field("repeat", "data_digest") == audit.result.provenance.data_digest


def test_what_the_audit_noted_is_among_the_limits() -> None:
    for kind in ("known", "no path", "asked"):
        read = read_of(kind)
        noted = read.items("limits", "What the audit noted")
        assert len(noted) == len(result_of(kind).findings)
        assert all(text.startswith(("Info: ", "Warning: ")) for text in noted)
        assert any(text.startswith("To call a system fair") for text in read.items("limits"))
        assert "no certificate" in read.plain("limits")
