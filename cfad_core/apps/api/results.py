"""Routes: what an audit found, and whether it stays within bounds."""

from __future__ import annotations

import re
from typing import Annotated, Any

from fastapi import APIRouter, Query, Response
from pydantic import BaseModel, Field

from cfad_core.apps.api.audits import Id, finished
from cfad_core.apps.api.problems import documented
from cfad_core.apps.api.services import InTurn, Seen
from cfad_core.audit.comparisons import Comparison
from cfad_core.audit.gate import Check, Gate, check_gate, choose_method
from cfad_core.core.errors import InvalidConfigError
from cfad_core.evaluation.group_metrics import Group
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.verdict import evidence_lines
from cfad_core.report.subject import Subject, subject_of_saved
from cfad_core.runs.model import AuditRecord, operating_threshold

ROUTES = APIRouter(tags=["results"])
Method = Annotated[
    str | None, Query(max_length=200, description="the detector; by default your own, else the only one")
]
Bound = Annotated[float | None, Query(ge=0.0, le=1.0, allow_inf_nan=False)]

_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


class Range(BaseModel):
    """A 90 % interval."""

    low: float | None
    high: float | None


class Headline(BaseModel):
    """A detector in a few numbers, at the audit's own threshold; null where a number is not known."""

    n: int = Field(description="people that were judged")
    flag_rate: float | None
    auc_pr: float | None
    auc_roc: float | None
    macro_f1: float | None
    changing_ratio: float | None = Field(description="share of people whose outcome would change")
    interval: Range | None = Field(description="of the changing ratio")
    threshold: float | None
    reliable: str = Field(description="whether the changing ratio can be relied on, in a few words")
    verdict: str


class Results(BaseModel):
    """What an audit found, by detector."""

    audit: str
    name: str
    methods: dict[str, Headline]


class GroupNumbers(BaseModel):
    """A group as it is, without any twin; null where a number would be of fewer than ten people."""

    name: str
    n: int | None
    n_anomaly: int | None
    metrics: dict[str, float | None]
    intervals: dict[str, Range | None]


class ComparisonResult(BaseModel):
    """A detector between the groups of one attribute, or of two at once."""

    name: str
    groups: list[GroupNumbers]
    n: int
    changing_ratio: float | None
    interval: Range | None
    verdict: str
    reliable: str
    why: str = Field(description="why it is reliable, or not")
    evidence: list[str]


class MethodResult(BaseModel):
    """A detector at the threshold that was saved for it, else at the audit's own."""

    audit: str
    method: str
    threshold: float
    how: str = Field(description="what that threshold is")
    comparisons: list[ComparisonResult]


class GateCheck(BaseModel):
    """One thing that was checked."""

    name: str
    method: str
    comparison: str
    limit: float | None
    value: float | None
    interval: Range | None
    holds: bool | None = Field(description="null: nothing was checked, and the line only informs")
    line: str


class GateResult(BaseModel):
    """Whether an audit stays within bounds."""

    passed: bool
    checks: list[GateCheck]


@ROUTES.get("/audits/{audit}/results", responses=documented(404, 409, 422))
def results(store: Seen, audit: Id) -> Results:
    """The headline of every detector."""
    record = finished(store, audit)
    store.note("opened", audit, "results")
    return Results(audit=audit, name=record.name, methods=_headlines(record))


@ROUTES.get("/audits/{audit}/results/{method}", responses=documented(400, 404, 409, 422), dependencies=[InTurn])
def method_results(store: Seen, audit: Id, method: str) -> MethodResult:
    """One detector: its verdict and evidence, intervals, and the numbers of each group, in every comparison."""
    finished(store, audit)
    subject, _ = subject_of_saved(store, audit, method)
    store.note("opened", audit, "results of a detector")
    compared = [_compared(subject, comparison) for comparison in subject.comparisons]
    return MethodResult(
        audit=audit, method=subject.method, threshold=subject.threshold, how=subject.how, comparisons=compared
    )


@ROUTES.get(
    "/audits/{audit}/audit.json",
    responses=documented(404, 409, 422) | {200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
    response_class=Response,
)
def audit_json(store: Seen, audit: Id) -> Response:
    """All numbers of an audit, as docs/AUDIT_FORMAT.md describes them."""
    finished(store, audit)
    content = (store.finished_folder(audit) / "audit.json").read_bytes()
    store.note("downloaded", audit, "audit.json")
    return Response(content, media_type="application/json")


@ROUTES.get("/audits/{audit}/gate", responses=documented(400, 404, 409, 422), dependencies=[InTurn])
def gate(
    store: Seen,
    audit: Id,
    max_changing_ratio: Bound = None,
    max_flag_rate_gap: Bound = None,
    reliable: Annotated[bool, Query(description="the causal model must have passed its tests")] = False,
    upper: Annotated[bool, Query(description="hold the upper ends of intervals against the bounds")] = False,
    method: Method = None,
) -> GateResult:
    """Whether a finished audit stays within bounds, with a line for each check."""
    record = finished(store, audit)
    try:
        asked = Gate(max_changing_ratio, max_flag_rate_gap, reliable, upper)
        result = store.result(audit)
        chosen = choose_method(result, method)
        threshold, how = operating_threshold(record, result, chosen)
        checks = check_gate(result, asked, chosen, threshold=threshold, how=how)
    except InvalidConfigError as error:  # which names options as they are typed
        named = _OPTION.sub(lambda found: found[1].replace("-", "_"), str(error))
        raise InvalidConfigError(named) from error
    store.note("opened", audit, "gate")
    return GateResult(passed=all(check.holds is not False for check in checks), checks=[_check(one) for one in checks])


def _headlines(record: AuditRecord) -> dict[str, Headline]:
    return {method: _headline(found) for method, found in (record.metrics or {}).items()}


def _headline(found: dict[str, Any]) -> Headline:
    between = found.get("interval")
    interval = None if between is None else Range(low=between[0], high=between[1])
    names = ("n", "flag_rate", "auc_pr", "auc_roc", "macro_f1", "changing_ratio", "threshold")
    numbers: dict[str, Any] = {name: found.get(name) for name in names}
    return Headline(**numbers, interval=interval, reliable=found.get("reliable", ""), verdict=found.get("verdict", ""))


def _compared(subject: Subject, comparison: Comparison) -> ComparisonResult:
    report, evidence = subject.report(comparison), subject.evidence(comparison)
    reliable, why = subject.reliability(comparison)
    metrics = report.metrics_at(subject.threshold)
    return ComparisonResult(
        name=comparison.name,
        groups=[_group(group) for group in subject.groups(comparison).groups],
        n=metrics.n,
        changing_ratio=metrics.changing_ratio,
        interval=_range(report.changing_ratio_interval(subject.threshold)),
        verdict=subject.verdict(comparison),
        reliable=reliable,
        why=why,
        evidence=evidence_lines(evidence),
    )


def _group(group: Group) -> GroupNumbers:
    return GroupNumbers(
        name=group.name,
        n=group.n,
        n_anomaly=group.n_anomaly,
        metrics={name: found.value for name, found in group.metrics.items()},
        intervals={name: _range(found.interval) for name, found in group.metrics.items()},
    )


def _check(check: Check) -> GateCheck:
    names = ("name", "method", "comparison", "limit", "value", "holds", "line")
    return GateCheck(**{name: getattr(check, name) for name in names}, interval=_range(check.interval))


def _range(found: Interval | None) -> Range | None:
    return None if found is None else Range(low=found.low, high=found.high)
