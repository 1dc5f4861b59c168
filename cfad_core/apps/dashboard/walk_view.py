"""The walk from a person to their twin: a small component with play, pause and single steps."""

from __future__ import annotations

from typing import Any

import streamlit as st

from cfad_core.apps.dashboard.assets import ASSETS
from cfad_core.audit.walk import Walk
from cfad_core.core.formats import number
from cfad_core.core.markdown import as_text
from cfad_core.figures.score_scale import axis_ticks
from cfad_core.figures.svg import Axis, one_line, short

_LONGEST = 500  # letters of a sentence
_NAME = 60

_walk = st.components.v2.component(
    "cfad_walk",
    html='<div class="walk" role="group" aria-label="Step by step from the person to the twin"></div>',
    css=(ASSETS / "walk.css").read_text(encoding="utf-8"),
    js=(ASSETS / "walk.js").read_text(encoding="utf-8"),
)


def show_walk(way: Walk, label: str, axis: Axis, key: str) -> None:
    """The steps with their scores; if those are not known, the steps alone."""
    if way.is_scored:
        _walk(data=walk_data(way, axis), key=key)
    else:
        st.info(
            f"{as_text(label)} is not saved with this audit, or scores elsewhere: it has scored the person and the "
            "twin, but cannot be asked about the steps between them. This is what changes, in its order."
        )
    with st.expander("All steps as a list", expanded=not way.is_scored):
        st.markdown("\n".join(f"{k}. {as_text(sentence, _LONGEST)}" for k, sentence in enumerate(way.sentences, 1)))
        st.caption(
            "First the group changes, then each column that follows from it takes the twin's value, causes before "
            "effects. The rows on the way are nobody: they show what carries the change."
        )


def walk_data(way: Walk, axis: Axis) -> dict[str, Any]:
    """What the component draws."""
    start = f"As they are, {way.group}: the score is {number(way.score)}, {_side(way.score, way.threshold)}."
    steps = [_step(f"as {way.group}", start, way.score, way, axis)]
    for step, sentence in zip(way.steps, way.sentences, strict=True):
        assert step.score is not None
        steps.append(_step(step.name, sentence, step.score, way, axis))
    for k in way.turns:
        steps[k + 1]["turns"] = True
    threshold = {"place": axis.at(way.threshold), "words": f"threshold {number(way.threshold)}"}
    return {"steps": steps, "threshold": threshold, "ticks": [list(tick) for tick in axis_ticks(axis)]}


def _step(name: str, sentence: str, score: float, way: Walk, axis: Axis) -> dict[str, Any]:
    return {
        "name": short(one_line(name), _NAME),
        "sentence": short(one_line(sentence), _LONGEST),
        "score": number(score),
        "place": axis.at(score),
        "above": score > way.threshold,
        "turns": False,
    }


def _side(score: float, threshold: float) -> str:
    return "above the threshold, so they are flagged" if score > threshold else "not above the threshold"
