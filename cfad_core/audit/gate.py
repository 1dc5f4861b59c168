"""A gate for pipelines: whether an audit stays within the bounds that somebody set, a line of text for every check.

What the bounds are about, for every comparison of an audit:

- the changing ratio is the leading number, and that of every pair of groups: a small group whose outcomes change often
  hardly moves the leading number. The worst pair is reported. Two attributes at once have the leading number alone.
- the flag rate gap is the largest minus the smallest flag rate of the groups, as they are.

Groups of fewer than ten people are in no pair and in no gap: whether they stay within a bound would tell their rate to
whoever tries one bound after the other. The gate says whom it left out. What cannot be checked at all does not hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from cfad_core.audit.group_report import GroupReport
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.formats import SMALLEST_GROUP, counted, listed
from cfad_core.detectors.registry import METHODS
from cfad_core.evaluation.intervals import Interval, bounds_name
from cfad_core.evaluation.pair_table import Pair, PairTable
from cfad_core.evaluation.verdict import failed_tests

CHANGING_RATIO = "changing ratio"
WORST_PAIR = "changing ratio of the worst pair"
FLAG_RATE_GAP = "flag rate gap"
RELIABLE = "reliable"

_ROUNDING = 1e-12  # 0.8 - 0.7 is not above 0.1
_MOST_NAMES = 12  # of groups in a line
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+")  # names may hold them; a line is one line


@dataclass(frozen=True)
class Gate:
    """What an audit must hold to pass.

    Attributes
    ----------
    max_changing_ratio : largest share of people whose outcome may change; None: any
    max_flag_rate_gap : largest difference that the flag rates of groups may have; None: any
    reliable : whether the causal model must have been tested, and have failed no test
    upper : whether the upper ends of intervals are held against the bounds, rather than the numbers themselves

    Raises
    ------
    InvalidConfigError
        If a bound is no share, or nothing at all is asked.
    """

    max_changing_ratio: float | None = None
    max_flag_rate_gap: float | None = None
    reliable: bool = False
    upper: bool = False

    def __post_init__(self) -> None:
        bounds = {"changing ratio": self.max_changing_ratio, "flag rate gap": self.max_flag_rate_gap}
        for name, bound in bounds.items():
            if bound is not None and not 0.0 <= bound <= 1.0:
                raise InvalidConfigError(f"The largest {name} is a share from 0 to 1; got {bound:g}.")
        if not self.reliable and all(bound is None for bound in bounds.values()):
            raise InvalidConfigError(
                "A gate needs something to check; give it --max-changing-ratio, --max-flag-rate-gap or --reliable."
            )


@dataclass(frozen=True)
class Check:
    """One thing that was checked.

    Attributes
    ----------
    name : what was checked
    method, comparison : of which detector, between the groups of what
    limit : the bound; None where there is none
    value, interval : the number that was held against it; None where there is none
    holds : whether it stays within the bound; None if nothing was checked, and the line only informs
    line : all of it in a line, which begins with ``ok:``, ``failed:`` or ``info:``
    """

    name: str
    method: str
    comparison: str
    limit: float | None
    value: float | None
    interval: Interval | None
    holds: bool | None
    line: str


def check_gate(
    result: AuditResult, gate: Gate, method: str | None = None, *, threshold: float | None = None, how: str = "as given"
) -> tuple[Check, ...]:
    """Hold an audit against a gate; it passes unless some check ``holds`` is False.

    Parameters
    ----------
    method : the detector; by default as ``choose_method`` does
    threshold, how : where people are flagged, and what that threshold is; by default the audit's own

    Raises
    ------
    InvalidConfigError
        If it is not clear which method is meant, or upper ends are asked for where there are no intervals.
    """
    chosen = choose_method(result, method)
    if threshold is None:
        threshold = result.report(chosen).threshold
        how = result.how_flagged(chosen)
    found: list[Check] = []
    for comparison in result.plan.comparisons:
        look = _Look(gate, result.group_report(chosen, comparison.name), threshold, how)
        if gate.max_changing_ratio is not None:
            found += _changing_ratio(look, gate.max_changing_ratio)
        if gate.max_flag_rate_gap is not None:
            found += _flag_rate_gap(look, gate.max_flag_rate_gap)
        if gate.reliable:
            found.append(_reliable(look))
        if gate.max_changing_ratio is not None or gate.reliable:
            found.append(look.say("verdict", None, look.groups.report.verdict_at(threshold).removesuffix(".")))
    return tuple(found)


def choose_method(result: AuditResult, name: str | None = None) -> str:
    """The method of this name; by default the only one, or the only one that is not this project's own.

    Raises
    ------
    InvalidConfigError
        If there is none, or several may be meant.
    """
    methods = list(result.scores)
    known = ", ".join(methods)
    if name is not None:
        if name not in methods:
            raise InvalidConfigError(f"The audit has no method '{name}'; it has: {known}.")
        return name
    foreign = [method for method in methods if method not in METHODS]
    candidates = methods if len(methods) == 1 else foreign
    if len(candidates) != 1:
        raise InvalidConfigError(f"The audit has several methods; choose one with --method: {known}.")
    return candidates[0]


@dataclass(frozen=True)
class _Measured:
    """A number that is held against a bound.

    Attributes
    ----------
    limit : the bound
    kind, allowing : what its interval is, and what that allows for
    who : the groups that it is about
    """

    limit: float
    value: float
    interval: Interval | None
    kind: str = "90 % interval"
    allowing: str = ""
    who: str = ""

    def text(self, name: str, holds: bool, *, upper: bool) -> str:
        """``changing ratio 0.081 (90 % interval 0.050 to 0.120) is above 0.05``, with digits enough to see it."""
        decisive = self.interval.high if upper and self.interval is not None else self.value
        digits, between = _digits(decisive, self.limit), "its uncertainty was not measured"
        if self.interval is not None:
            ends = f"{self.interval.low:.{digits}f} to {self.interval.high:.{digits}f}"
            between = f"{self.kind} {ends}{self.allowing}"
        side = f"is {'at most' if holds else 'above'} {self.limit:g}"
        return f"{name} {self.value:.{digits}f} ({between}){': its upper end' if upper else ''} {side}{self.who}"


@dataclass(frozen=True)
class _Look:
    """One method and one comparison at a threshold, held against a gate."""

    gate: Gate
    groups: GroupReport
    threshold: float
    how: str

    def compare(self, name: str, found: _Measured) -> Check:
        """A number with its bound, by its upper end if that is asked for."""
        decisive = found.value
        if self.gate.upper:
            if found.interval is None:
                raise InvalidConfigError(
                    f"The {name} of '{self.groups.method}' has no interval, so there is no upper end; audit with "
                    "--subsamples 20, or check the number itself, without --upper."
                )
            decisive = found.interval.high
        holds = decisive <= found.limit + _ROUNDING
        check = self.say(name, holds, found.text(name, holds, upper=self.gate.upper))
        return replace(check, limit=found.limit, value=found.value, interval=found.interval)

    def say(self, name: str, holds: bool | None, text: str, limit: float | None = None) -> Check:
        """A check without a number."""
        method, comparison = self.groups.method, self.groups.comparison.name
        word = "info" if holds is None else "ok" if holds else "failed"
        line = f"{word}: {comparison}: {text}; {method} at threshold {self.threshold:.4g} ({self.how})"
        return Check(name, method, comparison, limit, None, None, holds, _CONTROL.sub(" ", line))

    def leave_out(self, name: str, groups: Sequence[str], of: str) -> Check:
        """Whom a bound says nothing about."""
        which, verb = ("group", "is") if len(groups) == 1 else ("groups", "are")
        names = listed([f"'{group}'" for group in groups], _MOST_NAMES)
        return self.say(name, None, f"{which} {names} of fewer than {SMALLEST_GROUP} people {verb} not in the {of}")


def _changing_ratio(look: _Look, limit: float) -> Iterator[Check]:
    """The leading number, and the worst pair."""
    report = look.groups.report
    ratio = report.metrics_at(look.threshold).changing_ratio
    if ratio is None:
        yield look.say(CHANGING_RATIO, False, f"{CHANGING_RATIO} cannot be checked, as nobody was judged", limit)
        return
    kind = bounds_name(0 if report.stability is None else len(report.stability.graphs))
    between = report.changing_ratio_interval(look.threshold)
    yield look.compare(CHANGING_RATIO, _Measured(limit, ratio, between, kind))
    yield from _worst_pair(look, limit)


def _worst_pair(look: _Look, limit: float) -> Iterator[Check]:
    """The pair of groups between which most outcomes change, or may change; nothing about small groups."""
    whole = look.groups.pairs_at(look.threshold)
    if whole is None:
        return
    table = whole.suppressed()
    worst = _worst(table, upper=look.gate.upper)
    if worst is not None and worst.ratio is not None:
        who = f", for people of '{table.names[worst.source]}', had they been '{table.names[worst.target]}'"
        allowing = f", allowing for looking at {counted(table.looked_at, 'pair')}" if table.looked_at > 1 else ""
        found = _Measured(limit, worst.ratio, worst.simultaneous, allowing=allowing, who=who)
        yield look.compare(WORST_PAIR, found)
    if small := [name for name, n in zip(table.names, table.n, strict=True) if not n]:
        yield look.leave_out(WORST_PAIR, small, "pairs that were checked")


def _worst(table: PairTable, *, upper: bool) -> Pair | None:
    """By its ratio; or by its upper end, which may be highest for a small group with a lower ratio."""
    known = [pair for pair in table.pairs if pair.simultaneous is not None]
    if not upper or not known:
        return table.worst
    return max(known, key=lambda pair: pair.simultaneous.high if pair.simultaneous is not None else 0.0)


def _flag_rate_gap(look: _Look, limit: float) -> Iterator[Check]:
    """Between the groups with the largest and the smallest flag rate, of those that are large enough."""
    table = look.groups.metrics_at(look.threshold).suppressed()
    found = table.between["flag_rate"]
    if found is None or found.difference.value is None:
        text = f"{FLAG_RATE_GAP} cannot be checked, as fewer than two groups have {SMALLEST_GROUP} people"
        yield look.say(FLAG_RATE_GAP, False, text, limit)
    else:
        who = f", between '{found.lowest}' (lowest) and '{found.highest}' (highest)"
        gap, between = found.difference.value, found.difference.interval
        yield look.compare(FLAG_RATE_GAP, _Measured(limit, gap, between, who=who))
    if small := [group.name for group in table.groups if group.n is None]:
        yield look.leave_out(FLAG_RATE_GAP, small, FLAG_RATE_GAP)


def _reliable(look: _Look) -> Check:
    """Whether the causal model was tested, and failed no test; else the verdict begins with 'Not reliable'."""
    report = look.groups.report
    evidence = report.evidence_at(look.threshold)
    if evidence.known_truth:
        return look.say(RELIABLE, True, "the true twins are known, so no causal model was needed")
    if report.basis.checks is None:
        return look.say(RELIABLE, False, "the causal model was not tested")
    if evidence.selected_rows:
        return look.say(RELIABLE, False, "the causal model could not be tested, as the rows were chosen by their label")
    if failed := failed_tests(evidence):
        return look.say(RELIABLE, False, f"the causal model failed its tests: {'; '.join(failed)}")
    untested = " (the twin test could not be run)" if evidence.twin_test is None else ""
    return look.say(RELIABLE, True, f"the causal model failed none of its tests{untested}")


def _digits(value: float, limit: float) -> int:
    """How many show on which side of the bound a number is, at least three."""
    above = value > limit + _ROUNDING
    return next((k for k in range(3, 13) if (round(value, k) > limit + _ROUNDING) == above), 13)
