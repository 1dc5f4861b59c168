"""Tables that several pages show."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Sequence
from datetime import datetime

import pandas as pd
import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.moments import moment_columns
from cfad_core.apps.dashboard.services import store
from cfad_core.audit.result import AuditResult
from cfad_core.core.formats import SMALLEST_GROUP, counted, percent, percent_range
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import METHODS, title_of
from cfad_core.evaluation.intervals import bounds_name
from cfad_core.evaluation.metrics import HEADLINE
from cfad_core.runs.model import AuditRecord

MITIGATED = ("cfad", "twin", "fairod", "fairad", "dcfod")  # made to treat people and their twins, or groups, alike
_LONGEST = 2000  # of a verdict, which names columns
_OLDER = "Made by an older version: run it again."


def audits_table(
    records: Sequence[AuditRecord], key: str = "audits", *, chosen: str | None = None
) -> AuditRecord | None:
    """Audits as rows, with their owners where people sign in; choosing one opens it.

    Parameters
    ----------
    chosen : the id of the one that is chosen at first
    """
    first = [place for place, record in enumerate(records) if record.id == chosen]
    selection = st.dataframe(
        pd.DataFrame(_rows(records)),
        hide_index=True,
        width="stretch",
        on_select="rerun",
        selection_mode="single-row",
        selection_default={"selection": {"rows": first}},
        key=f"{key}-{chosen}-{hash(tuple(record.id for record in records))}",  # another list, another selection
        column_config={
            **{name: st.column_config.TextColumn(help=text) for name, text in _CHANGES_HELP.items()},
            **moment_columns("created", "kept until"),
        },
    )
    if (days := store().keep_days) is not None:
        st.caption(
            f"Audits are deleted {counted(days, 'day')} after they have ended, with their signed reports, and tables "
            "that nothing else needs. Take along what has to last."
        )
    picked = selection["selection"]["rows"]
    if not picked or picked[0] >= len(records):
        return None
    record = records[picked[0]]
    st.markdown("\n".join(f"- {line}" for line in verdict_lines(record)))
    if st.button("Open the chosen audit", type="primary", key=f"{key}-open"):
        frame.choose_audit(record.id)
        st.switch_page(frame.FINDINGS if record.status == "done" else frame.TRAIN)
    return record


def _rows(records: Sequence[AuditRecord]) -> list[dict[str, object]]:
    """What the list says of each audit."""
    seen = store()
    with_owner, days = bool(seen.viewer.name), seen.keep_days
    return [
        {
            "name": record.name,
            **({"owner": record.owner or "this server"} if with_owner else {}),
            **_changes(record),
            "status": frame.STATUS_NAMES.get(record.status, record.status),
            "source": record.source,
            "created": datetime.fromtimestamp(record.created),
            **({} if days is None else {"kept until": _moment(seen.goes_at(record))}),
        }
        for record in records
    ]


def _moment(seconds: float | None) -> datetime | None:
    return None if seconds is None else datetime.fromtimestamp(seconds)


def plain_and_mitigated(methods: Collection[str]) -> list[str]:
    """The detectors that lists speak of: somebody's own, or else the plain one, and the first one made fairer."""
    first = next((name for name in methods if name not in METHODS), next(n for n in ("ae", *methods) if n in methods))
    other = next((name for name in MITIGATED if name in methods and name != first), None)
    return [first] if other is None else [first, other]


def verdict_lines(record: AuditRecord) -> list[str]:
    """What a finished audit found, as Markdown, whole: a line for the plain detector and one for a mitigated one.

    Of more than two groups, also between which most changes.
    """
    if not record.metrics:
        return []
    if record.is_of_older_engine:  # the numbers that were stored then are others than those its pages show now
        return [_OLDER]
    lines = []
    for method in plain_and_mitigated(record.metrics):
        found = record.metrics[method]
        said = " ".join([str(found.get("verdict", "")), *map(str, found.get("worst_pairs", {}).values())])
        lines.append(f"**{as_text(title_of(method))}:** {as_text(said, _LONGEST)}")
    return lines


_CHANGES_HELP = {
    "outcome changes": f"{HELP['changing ratio']} Of the plain detector, or of your own.",
    "when mitigated": "The same of a detector that was made to treat people and their twins, or the groups, alike: the "
    "tuned one (CFAD), if the audit has it.",
    "reliable": "Whether the causal model passed its tests. Choose the row to read the verdicts.",
}


def _changes(record: AuditRecord) -> dict[str, str]:
    """What a finished audit found, short enough for the columns of a table; empty for others."""
    cells = dict.fromkeys(_CHANGES_HELP, "")
    if not record.metrics or record.is_of_older_engine:
        return cells | ({"reliable": "older version"} if record.metrics else {})
    methods = plain_and_mitigated(record.metrics)
    found = [record.metrics[method] for method in methods]
    reliable = [str(one.get("reliable", "")) for one in found]
    names = list(_CHANGES_HELP)
    for name, one in zip(names, found, strict=False):
        ratio, ends = one.get("changing_ratio"), one.get("interval")
        cells[name] = ("n/a" if ratio is None else percent(ratio)) + (f" ({percent_range(*ends)})" if ends else "")
    cells["reliable"] = reliable[0] if len(set(reliable)) == 1 else " / ".join(reliable)
    return cells


def metrics_table(result: AuditResult, methods: Sequence[str] | None = None) -> pd.DataFrame:
    """A row for each method, or for some of them."""
    rows = {}
    for method in result.scores if methods is None else methods:
        report = result.report(method)
        rows[report.label] = {metric.label: getattr(report.metrics, name) for name, metric in HEADLINE.items()}
    return pd.DataFrame(rows).T.dropna(axis=1, how="all").astype(float)  # without labels there is no F1 or AUC


_METRICS_IN_WORDS = (
    "AUC-PR and AUC-ROC: how well anomalies are ranked before normal people, wherever the threshold is; 1 is perfect,"
    " and 0.5 of AUC-ROC is guessing. Macro-F1: how well those flagged are the anomalies, from 0 to 1."
)


def intervals_of(result: AuditResult, methods: Sequence[str] | None = None) -> dict[str, str]:
    """By the label of each method, the interval of how often the outcome changes; empty if it was not measured."""
    found = {}
    for method in result.scores if methods is None else methods:
        report = result.report(method)
        if report.intervals is not None:
            span = report.intervals.changing_ratio
            found[report.label] = "n/a" if span is None else f"{span.low:.3f} to {span.high:.3f}"
    return found


def improvement_lines(result: AuditResult, methods: Sequence[str]) -> list[str]:
    """How each of the methods compares with AE, a sentence each."""
    return [line for method in methods if (line := result.improvement_line(method)) is not None]


def show_metrics(result: AuditResult, methods: Sequence[str] | None = None) -> None:
    """Metrics with three digits, the best of each column in bold, and what each of them is; the interval last."""
    table, spans = metrics_table(result, methods), intervals_of(result, methods)
    shown = [metric for metric in HEADLINE.values() if metric.label in table]
    high: list[Hashable] = [metric.label for metric in shown if metric.good == "high"]
    low: list[Hashable] = [metric.label for metric in shown if metric.good == "low"]
    numbers: list[Hashable] = list(table)
    config = {metric.label: st.column_config.Column(help=HELP[metric.term]) for metric in shown}
    if spans:
        name = interval_kind(result)
        table[name] = [spans[label] for label in table.index]
        config[name] = st.column_config.Column(help=HELP["interval"])
    styled = table.style.format("{:.3f}", subset=numbers, na_rep="n/a")
    styled = styled.highlight_max(subset=high, props="font-weight: bold")
    styled = styled.highlight_min(subset=low, props="font-weight: bold")
    st.dataframe(styled, width="stretch", column_config=config)
    if "auc_pr" in {name for name, metric in HEADLINE.items() if metric.label in table}:
        st.caption(_METRICS_IN_WORDS)


def interval_kind(result: AuditResult) -> str:
    """What the bounds are: few subsamples have no 90 % interval."""
    count = 0 if result.stability is None else len(result.stability.graphs)
    return bounds_name(count)


def kept_here(name: str, result: AuditResult) -> DeltaGenerator:
    """A place for a table or a chart about groups: without a download button if one of them is too small for that."""
    small = any(0 < size < SMALLEST_GROUP for size in result.group_sizes.values())
    return st.container(key=f"kept-here-{name}") if small else st.container()
