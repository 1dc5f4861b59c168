"""Files that people take away."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import streamlit as st
from streamlit import runtime
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.runtime.media_file_storage import MediaFileStorageError
from streamlit.runtime.memory_media_file_storage import MemoryMediaFileStorage

from cfad_core.apps.dashboard import taking
from cfad_core.apps.dashboard.taking import offer_file


def test_a_file_stays_until_it_is_fetched_and_no_longer(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryMediaFileStorage("/media")
    files, offered = MediaFileManager(storage), dict[str, Any]()
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(media_file_mgr=files))
    monkeypatch.setattr(taking, "get_script_run_ctx", lambda: SimpleNamespace(session_id="somebody"))
    monkeypatch.setattr(taking, "_KEPT", 0.5)
    monkeypatch.setattr(st, "download_button", lambda _, data, name, mime, **__: offered.update(of=(data, mime, name)))
    offer_file("Take it", lambda: b"content", "people.csv", "text/csv", audit=None, key="take")
    data, mime, name = offered["of"]
    address = files.execute_deferred(files.add_deferred(data, mime, "button", file_name=name))
    files.clear_session_refs("somebody")  # the person goes on
    for _ in range(5):  # and so do others
        files.remove_orphaned_files()
    assert storage.get_file(Path(address).name).content == b"content"
    with pytest.raises(MediaFileStorageError):
        for _ in range(100):
            time.sleep(0.1)
            storage.get_file(Path(address).name)
