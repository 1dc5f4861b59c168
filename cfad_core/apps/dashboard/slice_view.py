"""Slices: which subgroups are flagged more often, or have outcomes that change more often."""

from __future__ import annotations

from functools import partial

import pandas as pd
import streamlit as st

from cfad_core.apps.dashboard.downloads import csv_file
from cfad_core.apps.dashboard.glossary import HELP
from cfad_core.apps.dashboard.taking import offer_file
from cfad_core.audit.slicing import MethodSlices
from cfad_core.core.formats import SMALLEST_GROUP, percent
from cfad_core.core.markdown import as_text
from cfad_core.evaluation.slices import Slice, Slices, slice_lines
from cfad_core.runs.model import AuditRecord

_LONGEST = 1000  # of a sentence, which names columns
_KINDS = {"flagged": "flagged", "changes": "outcome changes"}


def show_slices(
    record: AuditRecord, found: MethodSlices | None, comparison: str, name: str, *, is_own_threshold: bool
) -> None:
    """What was found among the columns that are not sensitive.

    Parameters
    ----------
    found : of one method; None if an audit has none
    comparison : whose changes of outcomes are shown
    name : of the file to take away, without that of the audit
    is_own_threshold : whether the page is at the audit's own threshold, where slices were searched
    """
    st.subheader("Subgroups that nobody asked about", help=HELP["slice"])
    if found is None:
        st.caption("This audit has none: they are searched by newer versions. Run it again to have them.")
        return
    both = [some for some in (found.flagged, found.changes.get(comparison)) if some is not None]
    for some in both:
        first, *others = (as_text(line, _LONGEST) for line in slice_lines(some))
        st.markdown("\n".join([first, "", *(f"- {line}" for line in others)]))
    where = "" if is_own_threshold else " At the audit's own threshold, not at the saved one."
    st.caption(f"Subgroups are people who are alike in one or two columns, sensitive ones left out.{where}")
    table = slices_shown(both)
    if len(table):
        with st.expander("All slices that were tested"):
            st.dataframe(table, hide_index=True, width="stretch")
            make = partial(_file, both)
            offer_file(
                "Slices (CSV)", make, record.file(name), "text/csv", audit=record.id, key=f"slices-{record.id}-{name}"
            )


def _file(found: list[Slices]) -> bytes:
    return csv_file(slices_to_take(found))


def slices_shown(found: list[Slices]) -> pd.DataFrame:
    """A row for each slice that was tested, as text."""
    rows = [
        {
            "people with": " and ".join(one.cells),
            "what": _KINDS[some.kind],
            "people": f"{one.people:,}",
            "tested on": f"{one.n:,}",
            "share": percent(one.rate),
            "others": percent(one.rest),
            "difference": f"{100.0 * one.gap:.1f} points ({100.0 * one.interval.low:.1f} to "
            f"{100.0 * one.interval.high:.1f})",
            "p-value": f"{one.p_value:.2g}",
            "confirmed": one.confirmed,
        }
        for some, one in _tested(found)
    ]
    return pd.DataFrame(rows)


def slices_to_take(found: list[Slices]) -> pd.DataFrame:
    """The same as numbers, without slices of fewer than ten people."""
    rows = [
        {
            "slice": " and ".join(one.cells),
            "kind": some.kind,
            "people": one.people,
            "n": one.n,
            "rate": one.rate,
            "rest": one.rest,
            "gap": one.gap,
            "gap_low": one.interval.low,
            "gap_high": one.interval.high,
            "p_value": one.p_value,
            "confirmed": one.confirmed,
        }
        for some, one in _tested(found)
        if one.n >= SMALLEST_GROUP
    ]
    return pd.DataFrame(rows)


def _tested(found: list[Slices]) -> list[tuple[Slices, Slice]]:
    return [(some, one) for some in found for one in some.found]
