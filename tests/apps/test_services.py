"""What the server's sessions share, and how it is let go of."""

from __future__ import annotations

from pathlib import Path
from unittest.mock import Mock

import pytest
import streamlit as st
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.runtime.forward_msg_cache import populate_hash_if_needed

from cfad_core.apps.dashboard import services
from cfad_core.runs.executor import Executor
from cfad_core.runs.store import Store


@pytest.mark.parametrize("workers", ["0", "1"])
def test_the_store_is_closed_after_whoever_works_for_it(
    home: Path, workers: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ended: list[str] = []
    monkeypatch.setenv("CFAD_WORKERS", workers)
    monkeypatch.setattr(
        services, "start_executor", Mock(return_value=Mock(Executor, close=lambda: ended.append("work")))
    )
    monkeypatch.setattr(Store, "close", lambda _: ended.append("store"))
    services.store()
    st.cache_resource.clear()
    assert ended == (["work", "store"] if workers == "1" else ["store"])


def test_no_browser_is_expected_to_remember_a_message() -> None:
    """Browsers forget them when pages change quickly, and then show a connection error."""
    message = ForwardMsg()
    message.delta.new_element.markdown.body = "x" * 1_000_000
    populate_hash_if_needed(message)
    assert message.hash
    assert not message.metadata.cacheable
