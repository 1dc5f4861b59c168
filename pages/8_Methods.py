"""Methods: all detectors on this table, over time, seeds and settings, and the paper's experiments."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.charts import show_chart
from cfad_core.apps.dashboard.comparison import (
    any_waits,
    missing,
    run_variants,
    same_but_seed,
    spread,
    variant_lines,
    variants,
)
from cfad_core.apps.dashboard.drafts import again
from cfad_core.apps.dashboard.history_view import show_history
from cfad_core.apps.dashboard.method_choice import choose_ranks, explain_methods, in_order, tick_methods, unranked
from cfad_core.apps.dashboard.paper_results import show_paper_results
from cfad_core.apps.dashboard.progress import run_with_seeds
from cfad_core.apps.dashboard.rights import no_making, press, refusals_in_words
from cfad_core.apps.dashboard.ticked_methods import ticked_methods
from cfad_core.apps.dashboard.views import choose_view, compared_by
from cfad_core.audit.result import AuditResult
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import METHODS, plain_methods
from cfad_core.figures import comparison_figure, sensitivity_figure
from cfad_core.paper.report import SETTING_NAMES
from cfad_core.runs.model import AuditRecord


def this_audit(record: AuditRecord, result: AuditResult) -> None:
    """The ticked methods on this table; others can be added."""
    st.caption("Methods to show. Those that this audit did not run can be added below.")
    ticked_methods(record, result, choose_view(record, result))
    more_methods(record, result)


def more_methods(record: AuditRecord, result: AuditResult) -> None:
    """Run the audit once more, with methods that it does not have."""
    absent = [method for method in plain_methods() if method not in result.scores]
    if not absent and not unranked(result.scores):
        return
    st.subheader("More methods")
    chosen = tick_methods(absent, (), lambda method: f"add-{record.id}-{method}")
    chosen += choose_ranks(result.scores, f"add-ranks-{record.id}")
    if press("Run the audit with these, too", no_making(), disabled=not chosen, key=f"run-methods-{record.id}"):
        wanted = in_order({*record.config.methods, *chosen})
        config = record.config.replace(methods=wanted)
        with refusals_in_words():
            frame.choose_audit(again(record.id, config, f"{record.name} ({len(wanted)} methods)"))
            st.switch_page(frame.TRAIN)
    asked = None if result.asked is None else result.asked.name
    foreign = [method for method in result.scores if method not in (*METHODS, asked)]
    st.caption(
        "The same table, roles, settings and seed: a new audit, with the same results for what is here already"
        + (f"; without {', '.join(foreign)}, which only a program can add." if foreign else ".")
        + (f" It will wait for scores of {as_text(asked)} again." if asked is not None else "")
    )


def over_seeds(record: AuditRecord, result: AuditResult) -> None:
    """How much of it is chance."""
    siblings = same_but_seed(record)
    if len(siblings) > 1:
        show_chart(comparison_figure(spread(siblings)), "spread", "Each method over the audits with other seeds.")
        st.caption(
            f"{len(siblings)} audits of this table that differ by their seed alone, the number that starts all "
            f"that is random{compared_by(result)}. Bars are one standard deviation: two of three audits lie within."
        )
    else:
        st.caption("Run this audit with other seeds as well, and their mean and spread will appear here.")
    run_with_seeds(record)


def sensitivity(audit: str, *, polling: bool) -> None:
    """How much hangs on a setting of the fine-tuning."""
    record = frame.record_or_stop(audit)
    if polling and not any_waits(record):
        st.rerun()  # the whole page, which then stops looking every few seconds
    setting = st.segmented_control(
        "Setting",
        list(SETTING_NAMES),
        default="fairness_weight",
        format_func=lambda name: SETTING_NAMES[name],
        required=True,
        key=f"setting-{audit}",
    )
    found = variants(record, setting := setting or "fairness_weight")
    done = {value: other for value, other in found.items() if other.status == "done"}
    if len(done) > 1:
        values, lines = variant_lines(done)
        show_chart(sensitivity_figure(SETTING_NAMES[setting], values, lines), "sensitivity", "Metrics by the setting.")
        st.caption(
            "The tuned detector (CFAD), one audit for each value of the setting, all else the same. Flagged is whoever "
            f"has a higher score than {100.0 * record.config.quantile:.4g} % of the people learned from."
        )
    if len(found) > len(done):
        st.caption(f"{len(done)} of {len(found)} audits are done; the others are in the queue or running.")
    elif missing(found, setting):
        if press("Run the sensitivity analysis", no_making(), key=f"run-{setting}-{audit}"):
            with refusals_in_words():
                run_variants(record, setting)
                st.rerun()
        st.caption(
            f"It runs the audit once for each of {len(missing(found, setting))} more values of the setting; the "
            "picture grows as they finish."
        )


frame.open_page("Methods")
record, result = frame.finished_audit()
here, over_time, seeds, settings, paper = st.tabs(
    ["This audit", "Over time", "How much is chance", "How much are settings", "The paper's experiments"]
)
with here:
    this_audit(record, result)
with over_time:
    show_history(record, result)
with seeds:
    over_seeds(record, result)
with settings:
    if "cfad" in result.scores:
        polling = any_waits(record)
        st.fragment(sensitivity, run_every=3.0 if polling else None)(record.id, polling=polling)
    else:
        st.info("Settings of the tuned detector (CFAD), which this audit does not have; add it under *This audit*.")
with paper:
    show_paper_results(record.source)
with st.expander("What the methods are"):
    explain_methods()
