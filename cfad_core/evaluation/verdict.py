"""The verdict: one careful sentence or two, from the numbers and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from cfad_core.core.formats import percent, rounded_percent
from cfad_core.evaluation.intervals import Interval

USELESS_AUC = 0.55
USELESS_FLAG_RATE = 0.005
_LOW = 0.05  # changing ratio up to which a useless detector looks fair
_ALL_OF_IT = 0.95  # share of the changing ratio that goes with an edge
_MANY = 0.2  # share of implausible twins that is worth a word
_HARDLY = 0.005  # share of people below which a bound is not named


@dataclass(frozen=True)
class Evidence:
    """What the verdict on one method is made of; None is what was not measured, or is undefined.

    Attributes
    ----------
    method, sensitive : what people call them
    has_path : whether the sensitive attribute affects anything in the audit's own graph
    changing_ratio, changing_ratio_independent : by the own causal model, and by the judge
    interval : of the changing ratio, by the models of all subsamples
    model_error : share whose outcome model error alone changes
    graphs, graphs_without_path : of the subsamples, and in how many the sensitive attribute affects nothing
    carrier : the edge that carries the changing ratio, and its share of it
    implausible : share of twins that are far from any real person
    was_given : whether the graph was given rather than learned
    """

    method: str
    sensitive: str
    has_path: bool
    changing_ratio: float | None
    changing_ratio_independent: float | None
    flag_rate: float | None
    auc_roc: float | None
    interval: Interval | None = None
    model_error: float | None = None
    graphs: int = 0
    graphs_without_path: int = 0
    carrier: tuple[tuple[str, str], float] | None = None
    implausible: float | None = None
    was_given: bool = False


def verdict(found: Evidence) -> str:
    """What can be said.

    Without a path from the sensitive attribute nothing is said about the detector. Else: for how many people the
    outcome changes; whether model error could explain it; which edge carries it; how many graphs see no path; and
    whether the detector is fair only because it is useless, or many twins are implausible.
    """
    if not found.has_path:
        return _without_path(found)
    clauses = [_how_many(found), *_model_error(found), *_carrier(found)]
    if found.graphs_without_path:
        few = found.graphs_without_path
        clauses.append(f"{few} of {found.graphs} graphs {'sees' if few == 1 else 'see'} no path from {found.sensitive}")
    sentences = ["; ".join(clauses), *_useless(found)]
    if found.implausible is not None and found.implausible > _MANY:
        share = rounded_percent(found.implausible)
        sentences.append(f"{share} of the twins are implausible, far from any real person: read this with care")
    return ". ".join(sentences) + "."


def _without_path(found: Evidence) -> str:
    graph = "given" if found.was_given else "learned"
    text = (
        f"No path from {found.sensitive}: in the {graph} graph it affects nothing, so nobody's outcome can change. "
        f"That says something about the graph, nothing about {found.method}."
    )
    if not found.graphs:
        return text
    others = found.graphs - found.graphs_without_path
    if not others:
        return f"{text} None of {found.graphs} other graphs sees a path either."
    text = f"{text} {others} of {found.graphs} other graphs {'does' if others == 1 else 'do'} see a path"
    return (
        f"{text}; over all of them, {_range(found.interval)} would have a different outcome."
        if found.interval
        else f"{text}."
    )


def _how_many(found: Evidence) -> str:
    changes = f"would have a different outcome with {found.method}"
    if found.interval is not None:
        amount = _range(found.interval)
        return f"{amount[0].upper()}{amount[1:]} {changes}, had they belonged to the other group"
    if found.changing_ratio is None:
        return "Nobody was judged"
    text = f"By the one graph of the audit, {_amount(found.changing_ratio)} of people {changes}"
    if found.changing_ratio_independent is not None:
        text += f" ({_amount(found.changing_ratio_independent)} by its judge)"
    return f"{text}; the uncertainty was not measured"


def _range(interval: Interval | None) -> str:
    """``between 3 % and 9 % of people``, with as few digits as distinguish the two."""
    assert interval is not None
    low, high = interval.low, interval.high
    if high < _HARDLY / 5.0:
        return "under 0.1 % of people"
    if low < _HARDLY:
        return f"up to {rounded_percent(high)} of people"
    first, second = rounded_percent(low), rounded_percent(high)
    if percent(low, 0) == percent(high, 0):
        first, second = percent(low, 1), percent(high, 1)
    return f"about {second} of people" if first == second else f"between {first} and {second} of people"


def _model_error(found: Evidence) -> list[str]:
    if found.model_error is None or found.interval is None or found.model_error < _HARDLY / 5.0:
        return []
    if found.interval.low <= found.model_error:
        return [
            f"model error alone changes the outcome of {_amount(found.model_error)}, so this may be no more than that"
        ]
    return [f"model error alone changes the outcome of {_amount(found.model_error)}"]


def _carrier(found: Evidence) -> list[str]:
    if found.carrier is None:
        return []
    (cause, effect), share = found.carrier
    return [f"the edge {cause} → {effect} carries {'all' if share >= _ALL_OF_IT else 'most'} of it"]


def _useless(found: Evidence) -> list[str]:
    ratio = found.interval.high if found.interval is not None else found.changing_ratio
    if found.flag_rate is not None and found.flag_rate < USELESS_FLAG_RATE and (ratio is None or ratio <= _LOW):
        return [
            f"Fair because useless: it flags {_amount(found.flag_rate)} of people, so hardly any outcome can change"
        ]
    if found.auc_roc is None or found.auc_roc >= USELESS_AUC:
        return []
    ranks = f"it ranks anomalies hardly better than chance (AUC-ROC {found.auc_roc:.2f})"
    return [f"Fair because useless: {ranks}" if ratio is not None and ratio <= _LOW else f"Useless as well: {ranks}"]


def _amount(share: float) -> str:
    return "under 0.1 %" if share < 0.001 else percent(share, 0 if share >= 0.1 else 1)
