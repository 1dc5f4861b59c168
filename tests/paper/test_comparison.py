"""Who is better than whom, on curves made by hand."""

from __future__ import annotations

from typing import Any

import pytest

from cfad_core.evaluation.outcomes import PAPER_QUANTILES
from cfad_core.paper.comparison import (
    beating_paper,
    compared,
    dominating,
    dominating_all,
    dominating_best,
    domination_notes,
    ours,
    standing_along,
    standing_at_95,
)
from cfad_core.paper.judges import ADDITIVE, TRUTH, TWINS
from cfad_core.paper.plan import Reproduction
from cfad_core.paper.report import quantile_table

Point = tuple[float, float]  # Macro-F1, changing ratio by the judges


def record(points: dict[str, Point], at: dict[str, dict[float, Point]] | None = None) -> Reproduction:
    """One run on Adult: the same point at each quantile but for some. Ratios by additive twins are 0.05 higher."""

    def values(method: str, quantile: float) -> dict[str, Any]:
        quality, ratio = (at or {}).get(method, {}).get(quantile, points[method])
        return {"macro_f1": quality, TWINS: ratio, ADDITIVE: ratio + 0.05, TRUTH: None}

    rows = [
        {"dataset": "adult", "method": method, "seed": 0, "auc_pr": 0.3, "auc_roc": 0.7, **values(method, 0.95)}
        | {"curve": [{"quantile": quantile, **values(method, quantile)} for quantile in PAPER_QUANTILES]}
        for method in points
    ]
    return Reproduction(rows, [], [], [], {}, {}, {})


FOUND = record(
    {"pca": (0.6, 0.1), "ae": (0.7, 0.3), "cfad": (0.65, 0.2), "twin": (0.6, 0.02)},
    {"pca": {0.9: (0.66, 0.1), 0.95: (0.66, 0.02)}},
)


def test_a_baseline_dominates_if_it_is_nowhere_worse_and_somewhere_better() -> None:
    assert ours(FOUND, "adult") == ["cfad", "twin"]
    assert dominating(FOUND, "adult", "cfad") == [(0.9, "pca"), (0.95, "pca")]
    assert dominating(FOUND, "adult", "twin") == [(0.95, "pca")]  # as fair there, and more useful
    same = record({"pca": (0.6, 0.1), "cfad": (0.6, 0.1)})
    assert dominating(same, "adult", "cfad") == []


def test_domination_of_all_and_of_the_best_of_ours() -> None:
    assert dominating_all(FOUND, "adult") == [(0.95, "pca")]
    assert dominating_best(FOUND, "adult") == [(0.95, "pca")]  # twin: 0.58 against 0.45 of CFAD
    first = record({"pca": (0.6, 0.1), "cfad": (0.6, 0.2), "twin": (0.5, 0.05)})
    assert dominating_all(first, "adult") == []  # twin is fairer
    assert dominating_best(first, "adult") == []
    other = record({"pca": (0.7, 0.1), "cfad": (0.65, 0.1), "twin": (0.3, 0.05)})
    assert dominating_all(other, "adult") == []
    assert dominating_best(other, "adult") == [(quantile, "pca") for quantile in PAPER_QUANTILES]


def test_a_record_without_ours() -> None:
    nothing = record({"pca": (0.6, 0.1)})
    assert (ours(nothing, "adult"), dominating_all(nothing, "adult"), dominating_best(nothing, "adult")) == ([], [], [])


def test_domination_in_words() -> None:
    assert domination_notes(FOUND, "adult") == (
        "Baselines that dominate CFAD: PCA at 0.9 and 0.95. Baselines that dominate Twin scoring: PCA at 0.95. "
        "Baselines that dominate every one of ours: PCA at 0.95. "
        "Baselines that dominate the best of ours (most Macro-F1 less changing ratio): PCA at 0.95."
    )
    alone = record({"ae": (0.3, 0.5), "twin": (0.6, 0.02)})
    assert domination_notes(alone, "adult").count("none.") == 3


def test_ours_against_the_papers_cfad() -> None:
    """It has 0.576 / 0.057 on Adult."""
    found = record({"cfad": (0.6, 0.02), "twin": (0.6, 0.001)}, {"cfad": {0.9: (0.6, 0.0)}, "twin": {0.8: (0.5, 0.0)}})
    assert beating_paper(found, "adult", "cfad", TWINS) == PAPER_QUANTILES
    assert beating_paper(found, "adult", "cfad", ADDITIVE) == (0.9,)
    assert beating_paper(found, "adult", "twin", ADDITIVE) == PAPER_QUANTILES[1:]
    assert beating_paper(record({"twin": (0.576, 0.0)}), "adult", "twin", TWINS) == ()  # as good is not better
    assert standing_at_95(found, "adult") == (
        "At the 0.95 quantile, better in both than the paper's CFAD (0.576 / 0.057 at 0.95, by its own causal model): "
        "by additive twins CFAD no, Twin scoring yes; by the judges CFAD yes, Twin scoring yes."
    )
    assert standing_along(record({"cfad": (0.6, 0.02)}), "adult") == (
        "By additive twins, ours are better in both than the paper's CFAD: CFAD nowhere."
    )


def test_methods_made_of_additive_twins_stand_beside_the_papers_cfad_by_its_kind_of_judge() -> None:
    found = record({"pca": (0.6, 0.1), "twin": (0.6, 0.02), "cfad-additive": (0.6, 0.001), "twin-additive": (0.5, 0.0)})
    assert ours(found, "adult") == compared(found, "adult", TWINS) == ["twin"]
    assert compared(found, "adult", ADDITIVE) == ["twin", "cfad-additive", "twin-additive"]
    assert standing_at_95(found, "adult").endswith(
        ": by additive twins Twin scoring no, CFAD with additive twins yes, Twin scoring with additive twins no; "
        "by the judges Twin scoring yes."
    )
    assert "additive" not in domination_notes(found, "adult")  # neither one of ours, nor a baseline
    assert "| CFAD, additive twins | **0.600 / 0.001** |" in quantile_table(found, "adult")


@pytest.mark.parametrize("ratio", [0.05, 0.06])
def test_bold_is_by_the_leading_judge(ratio: float) -> None:
    table = quantile_table(record({"pca": (0.6, ratio), "twin": (0.5, 0.0)}), "adult")
    assert table.startswith("| Adult (judges) | 0.8 |")
    assert (f"**0.600 / {ratio:.3f}**" in table) == (ratio < 0.057)
    assert "Ratios and bold by the judges." in table
    assert "Baselines that dominate Twin scoring: none." in table
