"""The front page: the ways in, and the latest audits with what they found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime

import streamlit as st

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.demo import open_demo, start_demo
from cfad_core.apps.dashboard.drafts import sample_draft
from cfad_core.apps.dashboard.rights import no_making, owner_words, refusals_in_words
from cfad_core.apps.dashboard.site import PRESENT
from cfad_core.apps.dashboard.state import keep
from cfad_core.apps.dashboard.tables import verdict_lines
from cfad_core.apps.dashboard.visitor import here
from cfad_core.core.formats import duration
from cfad_core.core.markdown import as_text
from cfad_core.runs.model import AuditRecord

_IN_A_ROW = 3


@dataclass(frozen=True)
class Door:
    """A way into the dashboard.

    Attributes
    ----------
    words : what is behind it; ``{here}`` stands for what the program runs on
    ways : what its buttons say, and what they do
    """

    title: str
    words: str
    ways: tuple[tuple[str, Callable[[], None]], ...]


def see_demo() -> None:
    frame.choose_audit(open_demo())
    st.switch_page(frame.FINDINGS)


def present_demo() -> None:
    frame.choose_audit(open_demo())
    st.switch_page(PRESENT)


def run_demo() -> None:
    frame.choose_audit(start_demo())
    st.switch_page(frame.TRAIN)


_FOR_READERS = (see_demo, present_demo)  # the ways that make no audit


def try_sample() -> None:
    keep(sample_draft())
    st.switch_page(frame.DATA)


def bring_table() -> None:
    st.switch_page(frame.DATA)


DOORS = (
    Door(
        "Look first.",
        "A finished audit of invented taxpayers, whose true twins are known: see whether it was right.",
        (("See the demo", see_demo), ("Present it", present_demo), ("Run it live", run_demo)),
    ),
    Door(
        "Try it.",
        "800 invented insurance claims, ready to train: every step of an audit.",
        (("Try the sample table", try_sample),),
    ),
    Door(
        "Audit your own.",
        "CSV, TSV, Parquet or Excel, or a detector that you have. Nothing leaves {here}.",
        (("Audit my own table", bring_table),),
    ),
)


def show_doors() -> None:
    """A card for each way in; the first is the one to take."""
    reads_only = bool(no_making())
    for k, door in enumerate(DOORS):
        ways = [one for one in door.ways if one[1] in _FOR_READERS or not reads_only]
        if not ways:
            continue
        with st.container(border=True, key=f"door-{k}", gap="xsmall"):
            st.markdown(f"**{door.title}** {door.words.format(here=here())}")
            with st.container(horizontal=True):
                pressed = [way for label, way in ways if _button(label, way)]
            with refusals_in_words():
                for way in pressed:
                    way()
    if reads_only:
        st.caption(no_making())


def _button(label: str, way: Callable[[], None]) -> bool:
    return st.button(label, type="primary" if way is see_demo else "secondary")


def show_latest(records: Sequence[AuditRecord]) -> None:
    """A card for each audit: its name, which opens it, and what it found."""
    for start in range(0, len(records), _IN_A_ROW):
        row = records[start : start + _IN_A_ROW]
        for place, record in zip(st.columns(_IN_A_ROW), row, strict=False):
            with place.container(border=True, height="stretch"):
                page = frame.FINDINGS if record.status == "done" else frame.TRAIN
                st.page_link(page, label=f"**{as_text(record.name, 60)}** →", query_params={"audit": record.id})
                for line in card_lines(record):
                    st.markdown(line)
                st.caption(_made(record))


def card_lines(record: AuditRecord) -> list[str]:
    """What an audit found, as Markdown; or what has become of it."""
    left = f" About {duration(record.seconds_left)} left." if record.seconds_left else ""
    return verdict_lines(record) or [f"It {frame.STATUS_WORDS[record.status]}.{left}"]


def _made(record: AuditRecord) -> str:
    parts = (as_text(record.source), f"{datetime.fromtimestamp(record.created):%d %b %Y, %H:%M}", owner_words(record))
    return " · ".join(part for part in parts if part)
