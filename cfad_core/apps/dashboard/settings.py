"""The settings of an audit, before it is started."""

from __future__ import annotations

import streamlit as st

from cfad_core.apps.dashboard.asked_settings import choose_asked
from cfad_core.apps.dashboard.causes import choose_for
from cfad_core.apps.dashboard.knowledge import upload_knowledge
from cfad_core.apps.dashboard.method_choice import choose_ranks, in_order, tick_methods
from cfad_core.apps.dashboard.state import Draft, at_first, keep
from cfad_core.causal.graph import allowed_edges
from cfad_core.core.config import DEFAULT_METHODS, AuditConfig, Knowledge, PresetName, preset
from cfad_core.core.errors import InvalidConfigError
from cfad_core.core.markdown import as_text
from cfad_core.detectors.registry import METHODS, plain_methods

_PRESETS: dict[PresetName, str] = {"fast": "Recommended", "paper": "As in the paper (slow)"}


def settings(now: Draft) -> tuple[str, AuditConfig | None]:
    """Name and settings, as the person sets them; None while something prevents the audit."""
    left, right = st.columns([2, 1])
    name = left.text_input("Name of the audit", value=now.source, max_chars=200)
    kind = right.segmented_control(
        "Way",
        list(_PRESETS),
        default="fast",
        required=True,
        format_func=lambda one: _PRESETS[one],
        help="*Recommended* is what this program does best. *As in the paper* repeats how the authors of CFAD did it, "
        "with their way to learn the causal graph; it takes much longer, and says nothing about uncertainty.",
    )
    asked = choose_asked(now)
    if asked is not None and kind == "paper":
        st.error(
            "Your detector can only score people who could be real; the paper's twins need not be. Choose "
            f"*{_PRESETS['fast']}*."
        )
        return name, None
    base = preset(kind).replace(methods=_choose_methods(needed=asked is None), asked=asked)
    with st.expander("What you know of causes and effects", expanded=True):
        knowledge = _choose_knowledge(now)
    with st.expander("Settings that matter less: they can stay as they are"):
        subsamples = _choose_subsamples(base.subsamples)
        config = _choose_training(base)
    if subsamples is None or knowledge is None:
        return name, None
    return name, config.replace(subsamples=subsamples, knowledge=knowledge)


def _choose_training(base: AuditConfig) -> AuditConfig:
    """Threshold, fairness weight, learning rate and seed."""
    one, two = st.columns(2)
    flagged = one.slider(
        "People to flag, of those learned from (%)",
        0.1,
        20.0,
        round(100.0 * (1.0 - base.quantile), 1),
        0.1,
        format="%.1f",
        help="Who scores higher than all but this share of the people that the detector learned from is flagged: the "
        "threshold. It can be moved later, without training again.",
    )
    weight = two.number_input(
        "How strongly to make people and their twins alike (lambda)",
        0.0,
        100.0,
        base.detector.fairness_weight,
        0.5,
        placeholder="automatic",
        help="For CFAD: 0 is a plain detector; a large number hides the group better and finds fewer anomalies. Left "
        "empty, it is chosen for this table.",
    )
    three, four = st.columns(2)
    rate = three.number_input(
        "Size of the steps in which that is learned (learning rate)",
        0.0,
        0.1,
        base.detector.fair_learning_rate,
        0.0001,
        format="%.4f",
        help="Too small and little is learned, too large and what was learned before is lost.",
    )
    said = "The same number gives the same audit. Other numbers show how much of it is chance."
    seed = int(four.number_input("Number that starts all chance (seed)", 0, 2**31 - 1, 0, 1, help=said))
    config = base.replace(seed=seed, quantile=round(1.0 - flagged / 100.0, 6))
    lambda_ = None if weight is None else float(weight)
    return config.with_detector(fairness_weight=lambda_, fair_learning_rate=float(rate))


def _choose_subsamples(usual: int) -> int | None:
    """How many subsamples measure the uncertainty; None while it is a number that cannot be."""
    subsamples = int(
        st.number_input(
            "Subsamples to measure the uncertainty",
            0,
            100,
            usual,
            2,
            help="From so many random halves of the rows a causal model is learned again, to see how much of the "
            "result is chance. 20 take up to as long as all the rest; 0: it is not measured.",
        )
    )
    if subsamples % 2 or subsamples == 2:
        st.error("Subsamples come in pairs, and two are too few: choose 0, or an even number from 4 on.")
        return None
    return subsamples


def _choose_knowledge(now: Draft) -> Knowledge | None:
    """What is known of the causal graph; None while it contradicts itself, or a file is refused."""
    assert now.roles is not None
    sensitive, key = now.roles.sensitive_columns, f"knowledge-{now.key}"
    variables = [*sensitive, *now.roles.features(now.first)]
    begin = at_first(key, now.known, arrived=key not in st.session_state)
    choices = st.container()
    upload = upload_knowledge(variables, sensitive, key)
    with choices:
        said, chosen = choose_for(now, begin, key, disabled=upload.knowledge is not None)
    keep(said)
    if upload.knowledge is not None:
        st.info("The uploaded file is used. What is chosen here is not, unless the file says it as well.")
        return upload.knowledge
    try:
        allowed_edges(variables, sensitive, chosen)
    except InvalidConfigError as error:
        st.error(as_text(error, 500))
        return None
    return None if upload.refused else chosen


def _choose_methods(*, needed: bool) -> tuple[str, ...]:
    """A tick box for each method; CFAD's way comes ticked. None need be where another detector is audited."""
    st.markdown("**Methods to audit**" if needed else "**Methods to compare it with**")
    ticked = tick_methods(plain_methods(), DEFAULT_METHODS, lambda name: f"method-{name}")
    ticked += choose_ranks((), "method-ranks")
    if not ticked and needed:
        st.info("Tick at least one method to go on.")
        st.stop()
    for name in ticked:
        if METHODS[name].remark:
            st.caption(METHODS[name].remark)
    return in_order(ticked)
