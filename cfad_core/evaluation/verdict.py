"""The verdict: a few careful sentences from the numbers and nothing else, and the evidence that stands under it.

A model that fails its tests may not be confident: the first sentence says so.
"""

from __future__ import annotations

from collections.abc import Sequence

from cfad_core.core.formats import capital, listed, one_in, percent, rounded_percent
from cfad_core.evaluation.evidence import Evidence
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.twin_test import TwinTest

USELESS_AUC = 0.55
USELESS_FLAG_RATE = 0.005
_LOW = 0.05  # changing ratio up to which a useless detector looks fair
_ALL_OF_IT = 0.95  # share of the changing ratio that goes with an edge
_HARDLY = 0.001  # share of people that is not worth a number
_NOTHING = 0.0005  # a bound that would be printed as 0.0 %
_NARROW = 0.02  # width of an interval whose ends need a digit more
VAGUE = 0.6  # an AUC up to here is possible: the twin test says little
_SENTENCES = 4  # of a verdict


def verdict(found: Evidence) -> str:
    """What can be said, the most important first, in a few sentences."""
    return _text(verdict_sentences(found))


def verdict_sentences(found: Evidence) -> list[str]:
    """The same sentence by sentence, without their full stops.

    For how many people the outcome changes, and what that means for a person; whether the model failed its tests; what
    the number may be besides: model error, or a matter of assumptions or of the graph; and whether the detector is
    fair only because it is useless. Without a path from the sensitive attribute nothing is said about the detector.
    """
    doubts = failed_tests(found)
    if not found.sees_path and not found.known_truth:
        return [*_without_path(found, doubts), *_other_graphs(found), *_basis(found)]
    if found.ratio is None:
        return ["Nobody was judged"]
    reasons = [f"This number is a guess: {'; '.join(doubts)}"] if doubts else _better_fit(found)
    head, basis, useless = _how_many(found, doubts), _basis(found), _useless(found)
    clauses = [*_model_error(found), *_span(found), *_kept(found), *_paths(found), *([] if doubts else _carrier(found))]
    sentences = [head, *reasons, *([_joined(clauses)] if clauses else []), *useless, *basis]
    if len(sentences) > _SENTENCES and clauses:  # they are evidence lines as well
        sentences = [head, *reasons, *useless, *basis]
    return sentences


def is_doubted(found: Evidence) -> bool:
    """Whether the causal model failed a test, so that the verdict begins with "Not reliable"."""
    return bool(failed_tests(found))


def reliability(found: Evidence, *, was_tested: bool) -> tuple[str, str]:
    """Whether the number can be relied on, in a word or two, and why."""
    if found.known_truth:
        return "yes", "the true twins are known"
    if is_doubted(found):
        return "no", "the model failed a test"
    if not found.sees_path:
        return "unknown", "the graph has no path"
    if not was_tested:
        return "unknown", "the model was not tested"
    if found.selected_rows:
        return "unknown", "rows chosen by their label cannot be tested"
    if found.better_fit:
        return "perhaps", "another model fits a column better"
    return "as far as tested", "the model passed its tests"


def evidence_lines(found: Evidence) -> list[str]:
    """What supports the leading number, or speaks against it: short sentences, each of which can stand alone."""
    if found.known_truth:
        return ["The true twins are known: no causal model was needed."]
    lines = [*_halves_line(found), *_twin_line(found), *_bounds_line(found)]
    if found.selected_rows:
        lines.append(
            "The rows were chosen by their label: neither the twin test nor bounds from flag rates hold for them"
        )
    if found.span is not None:
        lines.append(f"Under other assumptions that data cannot decide, it would be {_ends(*found.span, exactly=True)}")
    if found.remaining is not None:
        lines.append(
            f"Even with the right causal model it would be {_ends(*found.remaining, exactly=True)}: which values a "
            "twin's categories and counts have is partly chance, and no method can know it"
        )
    if found.model_error is not None:
        lines.append(f"Errors of the causal model alone would change the outcome of {_amount(found.model_error)}")
    if found.kept:
        lines.append(
            f"{capital(_kept(found)[0])}. The twin test compares people whom these columns let expect in either group"
        )
    lines += _graphs_line(found)
    if found.unexplained and found.can_be_tested:
        lines.append(capital(_unexplained(found.unexplained)))
    lines += _better_fit(found)
    if found.additive:
        lines.append("Twins are the paper's additive ones, which need not be possible people")
    return [f"{line}." for line in lines]


# The first sentence


def _how_many(found: Evidence, doubts: Sequence[str]) -> str:
    ratio = found.ratio
    assert ratio is not None
    share = _share(ratio, found.interval)
    text = f"would have a different outcome with {found.method}, {found.otherwise}"
    if doubts:
        return f"Not reliable: perhaps {share.removeprefix('about ')} {text}"
    text = f"{share} {text}: {one_in(ratio)}"
    if found.known_truth:
        return f"By their true twins, {text}"
    if found.interval is None:
        return f"{capital(text)}; the uncertainty was not measured"
    return f"Perhaps {text.removeprefix('about ')}" if found.better_fit else capital(text)


def _share(ratio: float, interval: Interval | None) -> str:
    """``about 5 % of people (4 % to 7 %)``, with as many digits as distinguish the ends."""
    if interval is None:
        return f"{_about(rounded_percent(ratio), ratio)} of people"
    if interval.high < _HARDLY:
        return "under 0.1 % of people"
    low, high = interval.low, interval.high
    looks_like_an_end = any(rounded_percent(end) == rounded_percent(ratio) and end != ratio for end in (low, high))
    exactly = high - low < _NARROW or looks_like_an_end
    text, ends = percent(ratio, 1) if exactly else rounded_percent(ratio), _ends(low, high, exactly=exactly)
    return f"{_about(text, ratio)} of people ({'by all models' if ends == text else ends})"


def _about(text: str, ratio: float) -> str:
    return "under 0.1 %" if ratio < _HARDLY else f"about {text}"


def _ends(low: float, high: float, *, exactly: bool = False) -> str:
    """``4 % to 7 %``, or ``4.0 % to 7.0 %``; both ends are always there."""
    write = percent if exactly or high - low < _NARROW else rounded_percent
    if high < _HARDLY:
        return "under 0.1 %"
    if low < _NOTHING:
        return f"0 % to {write(high)}"
    return write(high) if write(low) == write(high) else f"{write(low)} to {write(high)}"


# Why the number may be wrong


def failed_tests(found: Evidence) -> list[str]:
    """The tests that the model failed, each as a clause; a verdict with any begins with *Not reliable*."""
    if not found.can_be_tested:
        return []
    doubts = []
    if found.twin_test is not None and not found.twin_test.passes():
        doubts.append(_distinguished(found.twin_test, f"in {in_pairs(found.twin_test.auc)}; guessing would be 50"))
    if found.bounds is not None and _outside(found, *found.bounds):
        doubts.append(f"the flag rates of the groups alone allow {_only(*found.bounds)}")
    if found.unexplained:
        doubts.append(_unexplained(found.unexplained))
    return doubts


def _distinguished(test: TwinTest, numbers: str) -> str:
    by = f", mostly by {listed([name for name, _ in test.columns])}" if test.columns else ""
    return f"twins can be distinguished from real people of the other group ({numbers}){by}"


def _unexplained(columns: Sequence[str]) -> str:
    verb = "differs" if len(columns) == 1 else "differ"
    return f"the graph has no path to {listed(columns)}, which {verb} between the groups"


def _outside(found: Evidence, low: float, high: float) -> bool:
    if found.interval is not None:
        return found.interval.high < low or found.interval.low > high
    ratio = found.ratio if found.sees_path else 0.0
    return ratio is not None and not low <= ratio <= high


def _only(low: float, high: float) -> str:
    return f"no more than {percent(high)}" if low < _NOTHING else f"only {_ends(low, high)}"


def _better_fit(found: Evidence) -> list[str]:
    if not found.better_fit or found.known_truth:
        return []
    them = "it" if len(found.better_fit) == 1 else "them"
    return [
        f"A more flexible model predicts {listed(found.better_fit)} clearly better, so twins may be wrong in {them}"
    ]


# What else the number may be


def _model_error(found: Evidence) -> list[str]:
    """Only where it could explain the number; else it is a line of evidence."""
    if found.known_truth:
        return []
    least = found.interval.low if found.interval is not None else found.ratio
    if found.model_error is None or found.model_error < _HARDLY or least is None or least > found.model_error:
        return []
    amount = _amount(found.model_error)
    return [f"errors of the causal model alone would change the outcome of {amount}, so this may be no more than that"]


def _span(found: Evidence) -> list[str]:
    """Only where assumptions matter more than chance does: it is wider than the interval, or lies elsewhere."""
    if found.span is None or found.known_truth:
        return []
    low, high = found.span
    if found.interval is None:
        matters = high - low > _HARDLY
    else:
        elsewhere = low > found.interval.high or high < found.interval.low
        matters = elsewhere or high - low > found.interval.high - found.interval.low
    if not matters:
        return []
    return [f"under other assumptions that data cannot decide, it would be {_ends(*found.span)}"]


def _paths(found: Evidence) -> list[str]:
    if found.known_truth:
        return []
    few, graphs = found.graphs_without_path, found.graphs
    if not found.has_path:
        others = graphs - few
        return [
            f"the audit's own graph has no path from {found.sensitive}, but {others} of {graphs} others {_do(others)}"
        ]
    return [f"{few} of {graphs} causal graphs {_have(few)} no path from {found.sensitive}"] if few else []


def _kept(found: Evidence) -> list[str]:
    if not found.kept or found.known_truth:
        return []
    differ = "differs" if len(found.kept) == 1 else "differ"
    return [
        f"twins keep {listed(found.kept)}, which {differ} between the groups: what comes through that is not counted"
    ]


def _carrier(found: Evidence) -> list[str]:
    if found.carrier is None:
        return []
    (cause, effect), share = found.carrier
    return [f"{'all' if share >= _ALL_OF_IT else 'most'} of it comes through {cause} → {effect}"]


def _basis(found: Evidence) -> list[str]:
    """What the numbers rest on, if that is not what people expect."""
    clauses = []
    if found.additive and not found.known_truth:
        clauses.append("the twins are the paper's additive ones, which need not be possible people")
    if found.selected_rows and not found.known_truth:
        clauses.append("the rows were chosen by their label, so the twins could not be tested")
    return [_joined(clauses)] if clauses else []


def _useless(found: Evidence) -> list[str]:
    ratio = found.interval.high if found.interval is not None else found.ratio
    low = ratio is None or ratio <= _LOW
    if found.flag_rate is not None and found.flag_rate < USELESS_FLAG_RATE and low:
        return [
            f"Fair because useless: it flags {_amount(found.flag_rate)} of people, so hardly any outcome can change"
        ]
    if found.auc_roc is None or found.auc_roc >= USELESS_AUC:
        return []
    ranks = f"it ranks an anomaly above a normal person in {in_pairs(found.auc_roc)}, where guessing would be 50"
    return [f"Fair because useless: {ranks}" if ratio is not None and low else f"Useless as well: {ranks}"]


# Without a path


def _without_path(found: Evidence, doubts: Sequence[str]) -> list[str]:
    graph = f"in the {'given' if found.was_given else 'learned'} graph"
    if doubts:
        return [
            f"Not reliable: {graph} {found.sensitive} affects nothing, so that nobody's outcome could change with "
            f"{found.method}",
            f"That contradicts the table: {'; '.join(doubts)}",
        ]
    return [
        f"No path from {found.sensitive}: {graph} it affects nothing, so nobody's outcome can change",
        f"That says something about the graph, nothing about {found.method}",
    ]


def _other_graphs(found: Evidence) -> list[str]:
    if not found.graphs:
        return []
    others = found.graphs - found.graphs_without_path
    if not others:
        return [f"None of {found.graphs} other graphs has a path either"]
    text = f"{others} of {found.graphs} other graphs {_do(others)} have a path"
    if found.interval is None or found.ratio is None:
        return [text]
    share = _share(found.ratio, found.interval)
    return [f"{text}; over all of them, {share} would have a different outcome"]


# Lines of evidence


def _halves_line(found: Evidence) -> list[str]:
    if found.halves_differ is None:
        return []
    points = 100.0 * found.halves_differ
    size = f"by {points:.1f} points" if points >= 0.05 else "by less than 0.1 points"
    return [f"Two causal models from separate halves of the rows typically differ {size}"]


def _twin_line(found: Evidence) -> list[str]:
    test = found.twin_test
    if test is None or not found.can_be_tested:
        return []
    if not test.passes():
        return [capital(_distinguished(test, f"in {_pairs_of(test)}; guessing would be 50"))]
    if test.high > VAGUE:
        return [
            f"With {test.people:,} people, it cannot be said whether twins pass for real people of the other group (a "
            f"classifier distinguishes them in {_pairs_of(test)}; guessing would be 50)"
        ]
    often = "little more often than chance" if test.low > 0.5 else "no more often than chance"
    return [
        f"Twins pass for real people of the other group: a classifier distinguishes them {often} (in "
        f"{_pairs_of(test)}; guessing would be 50)"
    ]


def _bounds_line(found: Evidence) -> list[str]:
    if found.bounds is None or not found.can_be_tested:
        return []
    low, high = found.bounds
    least = "0 %" if low < _NOTHING else percent(low)
    return [f"Without any causal model, the flag rates of the groups alone allow {least} to {percent(high)}"]


def _graphs_line(found: Evidence) -> list[str]:
    if not found.graphs:
        return []
    few, graphs, source = found.graphs_without_path, found.graphs, found.sensitive
    each = f"causal graphs, each {'fitted to' if found.was_given else 'learned from'} a random half of the rows,"
    if not few:
        return [f"All {graphs} {each} have a path from {source}"]
    if few == graphs:
        return [f"None of {graphs} {each} has a path from {source}"]
    return [f"{few} of {graphs} {each} {_have(few)} no path from {source}"]


# Words


def _amount(share: float) -> str:
    return "under 0.1 %" if share < _HARDLY else percent(share, 0 if share >= 0.1 else 1)


def _do(count: int) -> str:
    return "does" if count == 1 else "do"


def _have(count: int) -> str:
    return "has" if count == 1 else "have"


def in_pairs(auc: float) -> str:
    """An area under the ROC curve in words: of an anomaly and a normal person, how often the right one is higher."""
    return f"{100.0 * auc:.0f} of 100 pairs"


def _pairs_of(test: TwinTest) -> str:
    return f"{in_pairs(test.auc)}, {100.0 * test.low:.0f} to {100.0 * test.high:.0f}"


def _joined(clauses: Sequence[str]) -> str:
    return capital("; ".join(clauses))


def _text(sentences: Sequence[str]) -> str:
    return ". ".join(sentences) + "."
