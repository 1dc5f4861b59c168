"""An audit over time: the batches of new people that were measured with it, and a way to measure one more."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from datetime import time as clock
from functools import partial

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.downloads import csv_file
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.method_choice import choose_method
from cfad_core.apps.dashboard.rights import refusal
from cfad_core.apps.dashboard.services import store
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.apps.dashboard.uploads import read_upload
from cfad_core.audit.batch import Batch
from cfad_core.audit.batches import measure_batch
from cfad_core.audit.history import history_table, read_history
from cfad_core.audit.result import AuditResult
from cfad_core.core.errors import CfadError
from cfad_core.core.formats import HIDDEN_SIZE, SMALLEST_GROUP, percent, percent_range
from cfad_core.core.markdown import as_text
from cfad_core.data.readers import SUFFIXES
from cfad_core.figures import Moment, history_figure
from cfad_core.runs.model import AuditRecord

_LONGEST = 1_000  # of an alarm, which names columns
_MOST_ROWS = 20_000  # that a page measures while somebody waits
_PASS = {True: "yes", False: "no", None: "not tested"}


def show_history(record: AuditRecord, result: AuditResult) -> None:
    """All batches of an audit, and the form for the next one."""
    try:
        batches = read_history(store().folder(record.id))
    except CfadError as error:
        st.error(as_text(error, 500))
        return
    if (said := st.session_state.pop(f"batch-said-{record.id}", None)) is not None:
        st.success(said)
    if not batches:
        st.info(
            "No batch of new people was measured with this audit yet. Measure one here, or on the command line: "
            f"`python -m cfad_core score {record.id} TABLE --out FILE`"
        )
    else:
        _show_batches(record, result, batches)
    st.subheader("Measure a batch", help=HELP["batch"])
    if why := refusal(record, "tune"):
        st.caption(why)
    else:
        _ask_batch(record, result)


def _show_batches(record: AuditRecord, result: AuditResult, batches: Sequence[Batch]) -> None:
    comparison = _choose_comparison(record, result)
    method = choose_method(result, f"history-method-{record.id}")
    moments = [_own(record, result, comparison, method), *(_moment(one, comparison, method) for one in batches)]
    show_chart(history_figure(moments), "history", "The batches over time.")
    st.caption(
        "At the audit's own threshold, by the same causal models as in the audit; whiskers are the interval. "
        "A cross: the causal model does not fit the batch, and its number is not reliable."
    )
    for batch in batches:
        if batch.alarm is not None:
            st.warning(f"**{batch.date}**, {as_text(batch.source)}: {as_text(batch.alarm, _LONGEST)}")
    st.dataframe(batches_shown(batches, comparison, method), hide_index=True, width="stretch")
    remarks = dict.fromkeys(remark for batch in batches for remark in batch.remarks)
    for remark in remarks:
        st.caption(as_text(remark, _LONGEST))
    name = record.file("history.csv")
    make = partial(_history_file, batches)
    offer_file("Batches (CSV)", make, name, "text/csv", audit=record.id, key=f"history-{record.id}")


def _history_file(batches: Sequence[Batch]) -> bytes:
    return csv_file(history_table(batches))


def _choose_comparison(record: AuditRecord, result: AuditResult) -> str:
    names = [one.name for one in result.plan.comparisons]
    if len(names) == 1:
        return names[0]
    place = st.selectbox(
        "Compare by",
        range(len(names)),
        format_func=lambda k: names[k],
        key=f"history-comparison-{record.id}",
        help=HELP["comparison"],
    )
    return names[place]


def _own(record: AuditRecord, result: AuditResult, comparison: str, method: str) -> Moment:
    """The audit's own people."""
    report = result.report(method, comparison)
    rates = {name: group["flag_rate"] for name, group in report.metrics.groups.items()}
    shown = {name: rate for name, rate in rates.items() if report.basis.groups[name].sum() >= SMALLEST_GROUP}
    at = record.finished or record.created
    interval = report.changing_ratio_interval(report.threshold)
    return Moment(at, "the audit", report.metrics.changing_ratio, interval, shown, is_audit=True)


def _moment(batch: Batch, comparison: str, method: str) -> Moment:
    seen = batch.comparison(comparison)
    found = None if seen is None else seen.methods.get(method)
    has_alarm = batch.alarm is not None
    label = batch.source or "a table"
    if found is None:
        return Moment(batch.at, label, None, has_alarm=has_alarm)
    rates = {name: one.value for name, one in found.flag_rates.items()}
    return Moment(batch.at, label, found.changing_ratio, found.interval, rates, has_alarm=has_alarm)


def batches_shown(batches: Sequence[Batch], comparison: str, method: str) -> pd.DataFrame:
    """A row for each batch, as text."""
    rows = []
    for batch in batches:
        seen = batch.comparison(comparison)
        found = None if seen is None else seen.methods.get(method)
        ends = None if found is None else found.interval
        row = {
            "date": batch.date,
            "table": batch.source,
            "people": f"{batch.n:,}",
            "outcome changes": percent(None if found is None else found.changing_ratio),
            "interval": "not measured" if ends is None else percent_range(ends.low, ends.high),
            "flagged": percent(None if found is None else found.flag_rate.value),
        }
        for group, one in ({} if found is None else found.flag_rates).items():
            n = seen.groups.get(group) if seen is not None else 0
            row[f"flagged: {group}"] = f"{percent(one.value)} (n {HIDDEN_SIZE if n is None else f'= {n:,}'})"
        row |= {
            "twins pass": _PASS[None if seen is None else seen.twins_pass],
            "unknown values": percent(batch.unknown_rows),
            "alarm": "" if batch.alarm is None else "✕ does not fit",
        }
        rows.append(row)
    return pd.DataFrame(rows).fillna("")


def _ask_batch(record: AuditRecord, result: AuditResult) -> None:
    """A table and its date; it is measured when that is asked for."""
    left, right = st.columns([2, 1])
    key = f"batch-file-{record.id}"
    file = left.file_uploader(
        "Upload a table of new people",
        type=sorted({suffix.split(".")[-1] for suffix in SUFFIXES}),
        key=key,
        help="With the columns of the audited table; a label is not needed.",
    )
    day = right.date_input("Date of the batch", value="today", format="YYYY-MM-DD", key=f"batch-date-{record.id}")
    if not st.button("Measure this batch", disabled=file is None, key=f"batch-measure-{record.id}") or file is None:
        return
    at = datetime.combine(day, clock(), UTC).timestamp()
    try:
        with st.spinner("Measuring ..."):
            found = read_upload(file, key)
            if found.rows > _MOST_ROWS:
                st.error(
                    f"The table has {found.rows:,} rows; a page measures up to {_MOST_ROWS:,}. Use the command: "
                    f"`python -m cfad_core score {record.id} TABLE --out FILE`"
                )
                return
            batch = measure_batch(result, found.table, source=file.name, at=at)
            store().keep_batch(record.id, batch)
    except Exception as error:  # whatever a file may hold, the page says so
        other = "This file holds no table that can be read, whatever its name says. Save it again as CSV or Excel."
        st.error(as_text(error, 500) if isinstance(error, CfadError) else other)
        return
    st.session_state[f"batch-said-{record.id}"] = f"{batch.n:,} people of {as_text(file.name)} were measured."
    st.rerun()
