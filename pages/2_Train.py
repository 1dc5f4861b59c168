"""Train: settings, then live progress; the audit's id is in the address."""

from __future__ import annotations

import streamlit as st

from cfad_core.config import METHOD_NAMES, METHODS, OURS, AuditConfig, Knowledge, Method, preset
from cfad_core.dashboard import frame, glossary
from cfad_core.dashboard.drafts import start
from cfad_core.dashboard.progress import finished_view, watch
from cfad_core.dashboard.state import Draft, draft
from cfad_core.dashboard.text import plain
from cfad_core.errors import CfadError


def settings(now: Draft) -> tuple[str, AuditConfig]:
    """Name and settings, as the person sets them."""
    left, right = st.columns([2, 1])
    name = left.text_input("Name of the audit", value=now.source, max_chars=200)
    kind = right.segmented_control(
        "Preset",
        ["fast", "paper"],
        default="fast",
        required=True,
        help="Paper: the graph autoencoder and the settings of its authors (DCFOD with one cluster, FairOD without its "
        "fairness losses); slower.",
    )
    base = preset(kind or "fast")
    methods = choose_methods()
    with st.expander("Settings that matter"):
        one, two, three, four = st.columns(4)
        quantile = one.slider(
            "Threshold: quantile of training scores",
            0.80,
            0.999,
            base.quantile,
            0.001,
            format="%.3f",
            help="It can be moved later.",
        )
        weight = two.number_input(
            "Fairness weight (lambda)",
            0.0,
            100.0,
            base.detector.fairness_weight,
            0.5,
            placeholder="automatic",
            help="How hard both worlds are made alike. Left empty, it follows the scale of the table's columns.",
        )
        rate = three.number_input(
            "Learning rate of the fine-tuning", 0.0, 0.1, base.detector.fair_learning_rate, 0.0001, format="%.4f"
        )
        seed = int(four.number_input("Seed", 0, 2**31 - 1, 0, 1, help="The same seed gives the same audit."))
        roots = ()
        if now.roles is not None:
            roots = st.multiselect(
                "Columns that nothing else in the table causes",
                now.roles.features(now.table),
                default=list(now.roots),
                help="Such as age: no arrow of the causal graph will lead into them.",
            )
    config = preset(
        kind or "fast",
        methods=methods,
        seed=seed,
        quantile=float(quantile),
        knowledge=Knowledge(roots=tuple(roots)),
    )
    lambda_ = None if weight is None else float(weight)
    return name, config.with_detector(fairness_weight=lambda_, fair_learning_rate=float(rate))


def choose_methods() -> tuple[Method, ...]:
    """A tick box for each method; CFAD's way comes ticked."""
    st.markdown("**Methods to audit**")
    ticked = [
        method
        for place, method in zip(st.columns(len(METHODS)), METHODS, strict=True)
        if place.checkbox(
            METHOD_NAMES[method], value=method in OURS, key=f"method-{method}", help=glossary.METHODS[method]
        )
    ]
    if not ticked:
        st.info("Tick at least one method to go on.")
        st.stop()
    if "dcfod" in ticked:
        st.caption("DCFOD has large networks: it takes longer than all others together.")
    return tuple(ticked)


frame.open_page("Train")
st.title("Train")
audit = frame.current_audit()
if audit is not None:
    record = frame.record_or_stop(audit)
    frame.heading(record)
    if record.status in ("queued", "running"):
        watch(record.id)
    elif record.status == "done":
        finished_view(record)
    else:
        frame.show_state(record)
    st.stop()

now = draft()
if now is None or now.roles is None:
    st.info("There is no table to train on yet: bring one, and say what its columns are for.")
    st.page_link(frame.DATA, label="Go to Data")
    st.stop()
st.caption(
    f"{plain(now.source)}: {len(now.table):,} rows · sensitive: {plain(now.roles.sensitive)} · "
    + (f"anomaly: {plain(now.roles.label)} is {plain(now.roles.anomaly)}" if now.roles.label else "no labels")
)
name, config = settings(now)
st.caption("Nothing is kept before the audit is started; from then on it is safe, whatever happens to this page.")
if st.button("Start the audit", type="primary"):
    try:
        frame.choose_audit(start(now, config, name))
    except CfadError as error:
        st.error(plain(error, 500))
        st.stop()
    st.rerun()
