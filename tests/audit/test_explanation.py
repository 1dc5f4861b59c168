"""Why scores are high: parts with known answers, and the same ones wherever they are asked for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit import explanation
from cfad_core.audit.explanation import Explanation, explain, normal_people, perturbed_parts, typical_values
from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.scoring import explain_rows, score_rows
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.states import TWO_GROUPS
from cfad_core.detectors.protocol import AnyDetector, PeopleDetector, score_people
from cfad_core.detectors.twin import TwinDetector
from tests.audit.worlds import make_jobs
from tests.conftest import make_people, with_rows

SUMS = {f"{name}{rank}" for name in ("pca", "ae", "fairod", "cfad", "twin", "surprise") for rank in ("", "-rank")}


class Stretched:
    """A causal model by which twins are in the other group, and have three times as much of everything."""

    draws = False
    states = TWO_GROUPS

    def twins(self, x: Floats, draw: int = 0, /) -> Floats:
        twins: Floats = x * np.array([-1.0, *(3.0 for _ in range(x.shape[1] - 1))])
        return twins

    @property
    def drawn_columns(self) -> Bools:
        return np.zeros(0, dtype=np.bool_)

    def oddness(self, x: Floats, /, *, drawn: bool = False) -> tuple[Floats, Floats]:
        raise AssertionError("twin scoring does not ask for it")


@dataclass(frozen=True)
class Weighted:
    """Scores a weighted sum of the columns, and does not say that it is one; refuses rows that no person can have.

    Attributes
    ----------
    weights : (m,)
    levels : (k,), the columns of a category
    """

    weights: Floats
    levels: tuple[int, ...] = ()

    def anomaly_score(self, x: Floats) -> Floats:
        if self.levels:
            assert ((x[:, self.levels] == 3.0).sum(axis=1) == 1).all(), "a person has one level of a category"
        score: Floats = x @ self.weights
        return score


@dataclass(frozen=True)
class Ranked:
    """Scores ranks of another detector's scores, which say nothing of how far somebody is out."""

    explained_by: AnyDetector

    def anomaly_score(self, x: Floats) -> Floats:
        return np.ones(len(x))


def scored_by(result: AuditResult, detector: AnyDetector) -> AuditResult:
    """The audit, with another detector in the place of PCA."""
    return replace(result, detectors={"pca": detector})


def columns_of(result: AuditResult, variable: str) -> list[int]:
    """Positions of a variable's columns among the attributes."""
    return [k for k, name in enumerate(result.encoding.column_variables[1:]) if name == variable]


def weights_on(result: AuditResult, weights: dict[str, float]) -> Floats:
    """The same weight for all columns of a variable but the first level of a category, which has none."""
    found = np.zeros(len(result.encoding.column_variables) - 1)
    for variable, weight in weights.items():
        columns = columns_of(result, variable)
        found[columns[1:] if len(columns) > 1 else columns] = weight
    return found


def explained(result: AuditResult, method: str, people: Floats | None = None) -> Explanation:
    found = explain(result, method, result.people.factual if people is None else people)
    assert found is not None
    return found


def test_only_the_variables_that_count_have_a_part(mixed: AuditResult) -> None:
    weights = weights_on(mixed, {"income": 2.0, "job": 0.5})
    levels = tuple(columns_of(mixed, "job"))
    assert len(levels) == 3
    found = explained(scored_by(mixed, Weighted(weights, levels)), "pca")
    parts = dict(zip(found.variables, found.parts.T, strict=True))
    assert found.kind == "perturbation"
    assert not found.is_shared
    assert set(parts) == {"schooling", "income", "debt", "job"}
    assert not parts["schooling"].any()
    assert not parts["debt"].any()
    x = mixed.people.factual[:, 1:]
    normal = normal_people(mixed.people)[:, 1:]
    (income,) = columns_of(mixed, "income")
    places = [int((k + 0.5) * len(normal) / 4) for k in range(4)]
    typical = np.sort(normal[:, income])[places].mean()
    np.testing.assert_allclose(parts["income"], 2.0 * (x[:, income] - typical), rtol=1e-9, atol=1e-9)
    levels_in_order = x[:, levels] @ weights[list(levels)]  # linear, so that means of values are means of scores
    expected = np.array(sorted(map(tuple, normal[:, levels])))[places] @ weights[list(levels)]
    np.testing.assert_allclose(parts["job"], levels_in_order - expected.mean(), rtol=1e-9, atol=1e-9)
    assert parts["job"].min() < 0.0 < parts["job"].max()


@pytest.mark.parametrize("variable", ["schooling", "income", "debt", "job"])
def test_one_variable_is_the_only_reason(mixed: AuditResult, variable: str) -> None:
    found = explained(scored_by(mixed, Weighted(weights_on(mixed, {variable: 1.0}))), "pca")
    assert set(found.reasons()) == {f"{variable} 100 %", ""}


def test_parts_that_are_a_sum_add_up_to_the_score(everything: AuditResult) -> None:
    kinds = {method: explained(everything, method).kind for method in everything.scores}
    assert {method for method, kind in kinds.items() if kind == "sum"} == SUMS
    for method in SUMS:
        found, whose = explained(everything, method), method.removesuffix("-rank")  # a rank is explained as its base is
        assert found.is_shared == (whose != method)
        np.testing.assert_allclose(found.parts.sum(axis=1), everything.scores[whose].factual, rtol=1e-9)


@pytest.mark.slow
def test_the_explanation_outlives_the_audit(everything: AuditResult, mixed: AuditResult, tmp_path: Path) -> None:
    for k, (result, table) in enumerate(((everything, make_people(40, seed=9)), (mixed, make_jobs(40, seed=9)))):
        save_audit(result, tmp_path / str(k))
        again = load_audit(tmp_path / str(k))
        for method in result.scores:
            here, there = explained(result, method), explained(again, method)
            assert np.array_equal(here.parts, there.parts)
            assert (here.variables, here.kind) == (there.variables, there.kind)
            pd.testing.assert_frame_equal(explain_rows(result, table, method), explain_rows(again, table, method))
        pd.testing.assert_frame_equal(score_rows(result, table), score_rows(again, table))


def test_a_person_is_explained_alone_as_in_company(
    everything: AuditResult, mixed: AuditResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    for result in (everything, mixed):
        for method in result.scores:
            together = explained(result, method)
            for person in (0, 17):
                alone = explained(result, method, result.people.factual[[person]])
                assert np.array_equal(alone.parts, together.parts[[person]])
    together = explained(everything, "iforest")
    monkeypatch.setattr(explanation, "_ROWS", 30)
    assert np.array_equal(explained(everything, "iforest").parts, together.parts)
    nobody = explained(everything, "iforest", np.zeros((0, 4)))
    assert nobody.parts.shape == (0, 3)
    assert nobody.reasons() == []


def test_if_all_people_are_alike_nothing_raised_their_scores(everything: AuditResult) -> None:
    people = everything.people
    alike = np.repeat(people.factual[:1], len(people.row), axis=0)
    same = replace(everything, people=with_rows(people, alike))
    for method in ("iforest", "ocsvm", "dcfod"):
        found = explained(same, method)
        assert not found.parts.any()
        assert set(found.reasons()) == {""}
        assert not found.noticeable.any()
        odd = explained(same, method, people.factual[people.factual[:, 3].argmax()][None])
        assert odd.parts.any()


def test_typical_is_what_normal_people_have(mixed: AuditResult) -> None:
    normal = normal_people(mixed.people)
    for variable in typical_values(mixed):
        assert variable.weights.sum() == pytest.approx(1.0)
        rows = {tuple(row) for row in normal[:, variable.columns]}
        assert {tuple(row) for row in variable.cells} <= rows
    ways = np.where(np.arange(len(mixed.people.row)) % 2, 10.0, -10.0)  # nobody is in the middle
    two = replace(mixed, people=with_rows(mixed.people, np.column_stack([ways] * mixed.people.factual.shape[1])))
    assert set(np.concatenate([variable.cells.ravel() for variable in typical_values(two)])) == {-10.0, 10.0}


def test_who_is_normal(mixed: AuditResult) -> None:
    people = mixed.people
    assert people.is_anomaly is not None
    assert 0 < len(normal_people(people)) == int((~people.is_anomaly).sum()) < len(people.row)
    for labels in (None, np.ones(len(people.row), dtype=np.bool_)):
        assert normal_people(replace(people, is_anomaly=labels)) is people.factual


def test_twin_scoring_by_a_detector_that_is_no_sum(mixed: AuditResult) -> None:
    """The person is changed, and with them their twin."""
    base = Weighted(weights_on(mixed, {"income": 1.0}))
    twin = TwinDetector(base, Stretched(), "mean")
    assert isinstance(twin, PeopleDetector)
    parts = explained(scored_by(mixed, twin), "pca").parts
    np.testing.assert_allclose(parts, 2.0 * explained(scored_by(mixed, base), "pca").parts, rtol=1e-9, atol=1e-9)


def test_a_detector_may_share_the_explanation_of_another(mixed: AuditResult) -> None:
    exact = mixed.detectors["pca"]
    for base, kind in ((exact, "sum"), (Weighted(weights_on(mixed, {"debt": 1.0})), "perturbation")):
        found = explained(scored_by(mixed, Ranked(Ranked(base))), "pca")
        assert (found.kind, found.is_shared) == (kind, True)
        assert np.array_equal(found.parts, explained(scored_by(mixed, base), "pca").parts)


def test_detectors_of_other_libraries_are_explained_while_they_are_here(measured: AuditResult, tmp_path: Path) -> None:
    found = explained(measured, "lof")
    assert found.kind == "perturbation"
    normal = typical_values(measured)
    by_hand = perturbed_parts(
        lambda rows: score_people(measured.detectors["lof"], rows), measured.people.factual, normal
    )
    assert np.array_equal(found.parts, by_hand)
    table = make_people(20, seed=1)
    assert score_rows(measured, table)["lof_reasons"].str.contains(" %").any()
    save_audit(measured, tmp_path)
    again = load_audit(tmp_path)
    assert explain(again, "lof", again.people.factual) is None
    assert "lof_reasons" not in score_rows(again, table)
    with pytest.raises(InvalidConfigError, match="^The detector of 'lof' is not saved with the audit"):
        explain_rows(again, table, "lof")
    with pytest.raises(
        InvalidConfigError, match="^The audit has no method 'none'; it has: ae, cfad, twin, surprise, lof"
    ):
        explain_rows(again, table, "none")


def test_rows_are_explained_by_column(everything: AuditResult) -> None:
    table = make_people(30, seed=2).set_index(pd.Index([f"p{k}" for k in range(30)]))
    found = explain_rows(everything, table, "ae")
    assert list(found.columns) == ["schooling", "income", "debt"]
    assert found.index.equals(table.index)
    scored = score_rows(everything, table)
    np.testing.assert_allclose(found.sum(axis=1), scored["ae_score"], rtol=1e-9)
    for method in everything.scores:
        parts = explain_rows(everything, table, method)
        raised = (parts.max(axis=1) > 0.0).to_numpy()
        named = zip(parts.idxmax(axis=1)[raised], scored[f"{method}_reasons"][raised], strict=True)
        assert all(reasons.startswith(f"{column} ") for column, reasons in named)
        assert (scored[f"{method}_reasons"][~raised] == "").all()
    plain = score_rows(everything, table, reasons=False)
    assert plain.equals(scored.drop(columns=[f"{method}_reasons" for method in everything.scores]))


def test_reasons_in_words() -> None:
    names = ("=income", "a, b", "zip\ncode", "age", "rest")
    parts = np.array(
        [
            [6.2, 2.1, 0.9, 0.5, 0.3],  # three at most
            [0.96, 0.04, 0.0, 0.0, 0.0],  # none under 5 %
            [-9.0, 0.0, 0.0, 1.0, 1.0],  # shares of what raised it, in the order of the table
            [-1.0, 0.0, 0.0, 0.0, 0.0],
            [0.0, 0.0, 0.0, 0.0, 0.0],
        ]
    )
    found = Explanation(names, parts, "perturbation")
    assert found.reasons() == ["=income 62 %, a, b 21 %, zip\ncode 9 %", "=income 96 %", "age 50 %, rest 50 %", "", ""]
    assert found.noticeable.tolist()[1:] == [
        [True, False, False, False, False],
        [True, False, False, True, True],
        [True, False, False, False, False],
        [False] * 5,
    ]
    spread = Explanation(tuple(f"v{k}" for k in range(30)), np.ones((1, 30)), "sum")
    assert spread.reasons() == [""]
