"""Who is better than whom in both Macro-F1 and changing ratio: baselines than ours, ours than the paper's CFAD."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from cfad_core.core.arrays import Bools
from cfad_core.evaluation.outcomes import PAPER_QUANTILES
from cfad_core.paper.judges import ADDITIVE, JUDGES, TRUTH
from cfad_core.paper.methods import ADDITIVE_METHODS, is_baseline, said_of
from cfad_core.paper.plan import Reproduction
from cfad_core.paper.problems import JUDGED
from cfad_core.paper.published import published

PAPERS_JUDGE = {dataset: TRUTH if judge == TRUTH else ADDITIVE for dataset, judge in JUDGED.items()}
"""What the paper's own changing ratios are judged by: the truth, or else its own additive causal model."""

_AT = 0.95  # the quantile of the paper's table

Places = list[tuple[float, str]]


def ours(found: Reproduction, dataset: str) -> list[str]:
    """The audit's methods that learn from twins, or score with them."""
    ran = found.methods_on(dataset)
    return [method for method in ran if not is_baseline(method) and method not in ADDITIVE_METHODS]


def compared(found: Reproduction, dataset: str, judge: str) -> list[str]:
    """Ours that stand beside the paper's CFAD: by additive twins and by the paper's judge, also those made of such."""
    additive = found.methods_on(dataset) if judge in (ADDITIVE, PAPERS_JUDGE[dataset]) else []
    return [*ours(found, dataset), *(method for method in additive if method in ADDITIVE_METHODS)]


def dominating(found: Reproduction, dataset: str, method: str) -> Places:
    """At which of the paper's quantiles which baseline is at least as good as a method in both, and better in one.

    By the leading judge. A baseline is any method that knows nothing of twins.
    """
    ratio, quality = found.mean_curve(dataset, method)
    better = []
    for baseline in filter(is_baseline, found.methods_on(dataset)):
        other_ratio, other_quality = found.mean_curve(dataset, baseline)
        at_least: Bools = (other_ratio <= ratio) & (other_quality >= quality)
        more: Bools = (other_ratio < ratio) | (other_quality > quality)
        better += [(PAPER_QUANTILES[k], baseline) for k in np.flatnonzero(at_least & more)]
    return sorted(better)


def dominating_all(found: Reproduction, dataset: str) -> Places:
    """At which quantiles which baseline dominates every one of ours."""
    each = [set(dominating(found, dataset, method)) for method in ours(found, dataset)]
    return sorted(set.intersection(*each)) if each else []


def dominating_best(found: Reproduction, dataset: str) -> Places:
    """At which quantiles which baseline dominates the best of ours there: with most Macro-F1 less changing ratio."""
    mine = ours(found, dataset)
    if not mine:
        return []
    curves = [found.mean_curve(dataset, method) for method in mine]
    best = np.argmax([quality - ratio for ratio, quality in curves], axis=0)
    by_method = {method: dominating(found, dataset, method) for method in mine}
    return sorted(
        place
        for quantile, k in zip(PAPER_QUANTILES, best, strict=True)
        for place in by_method[mine[k]]
        if place[0] == quantile
    )


def beating_paper(found: Reproduction, dataset: str, method: str, judge: str) -> tuple[float, ...]:
    """The quantiles at which a method has more Macro-F1 and a lower changing ratio than the paper's CFAD at 0.95."""
    paper = published(dataset, "cfad")
    if paper is None:
        return ()
    ratio, quality = found.mean_curve(dataset, method, judge)
    wins: Bools = (quality > paper["macro_f1"]) & (ratio < paper["changing_ratio"])
    return tuple(PAPER_QUANTILES[k] for k in np.flatnonzero(wins))


# In words


def domination_notes(found: Reproduction, dataset: str) -> str:
    """Which baselines dominate each of ours, all of them, and the best of them."""
    each = (
        f"Baselines that dominate {said_of(method)}: {places_text(dominating(found, dataset, method))}."
        for method in ours(found, dataset)
    )
    everyone, best = (places_text(rule(found, dataset)) for rule in (dominating_all, dominating_best))
    of_all = f"Baselines that dominate every one of ours: {everyone}."
    of_best = f"Baselines that dominate the best of ours (most Macro-F1 less changing ratio): {best}."
    return " ".join([*each, of_all, of_best])


def standing_at_95(found: Reproduction, dataset: str) -> str:
    """Which of ours are better than the paper's CFAD at 0.95, by additive twins and by the leading judge."""

    def says(method: str, judge: str) -> str:
        return f"{said_of(method)} {'yes' if _AT in beating_paper(found, dataset, method, judge) else 'no'}"

    parts = [
        f"by {called(judge)} {', '.join(says(method, judge) for method in compared(found, dataset, judge))}"
        for judge in (ADDITIVE, JUDGED[dataset])
    ]
    return f"At the 0.95 quantile, better in both than {paper_text(dataset)}: {'; '.join(parts)}."


def standing_along(found: Reproduction, dataset: str, judge: str = ADDITIVE) -> str:
    """At which quantiles ours are better than the paper's CFAD by a judge."""
    parts = [
        f"{said_of(method)} {quantiles_text(beating_paper(found, dataset, method, judge))}"
        for method in compared(found, dataset, judge)
    ]
    return f"By {called(judge)}, ours are better in both than the paper's CFAD: {'; '.join(parts)}."


def paper_text(dataset: str) -> str:
    """The paper's CFAD with its numbers."""
    paper = published(dataset, "cfad")
    assert paper is not None
    by = "the truth" if PAPERS_JUDGE[dataset] == TRUTH else "its own causal model"
    return f"the paper's CFAD ({paper['macro_f1']:.3f} / {paper['changing_ratio']:.3f} at 0.95, by {by})"


def called(judge: str) -> str:
    """A judge's name in a sentence."""
    return JUDGES[judge] if judge == ADDITIVE else f"the {JUDGES[judge]}"


def places_text(places: Places) -> str:
    """``PCA at 0.9 and 0.95, AE at 0.99``, or ``none``."""
    by_method: dict[str, list[float]] = {}
    for quantile, method in places:
        by_method.setdefault(method, []).append(quantile)
    return ", ".join(f"{said_of(method)} {quantiles_text(at)}" for method, at in by_method.items()) or "none"


def quantiles_text(quantiles: Sequence[float]) -> str:
    """``at 0.9 and 0.95``, or ``nowhere``."""
    if not quantiles:
        return "nowhere"
    *most, last = (f"{quantile:g}" for quantile in quantiles)
    return f"at {', '.join(most)} and {last}" if most else f"at {last}"
