"""Files that people take away stay until they are fetched, however many others look at pages meanwhile."""

from __future__ import annotations

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

SESSION = "somebody"


def test_a_file_stays_until_its_page_runs_again(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    storage = MemoryMediaFileStorage("/media")
    files, offered = MediaFileManager(storage), dict[str, Any]()
    monkeypatch.setattr(runtime, "exists", lambda: True)
    monkeypatch.setattr(runtime, "get_instance", lambda: SimpleNamespace(media_file_mgr=files))
    monkeypatch.setattr(taking, "get_script_run_ctx", lambda: SimpleNamespace(session_id=SESSION))
    monkeypatch.setattr(st, "download_button", lambda _, data, name, mime, **__: offered.update(of=(data, mime, name)))
    offer_file("Take it", lambda: b"content", "people.csv", "text/csv", audit=None, key="take")
    data, mime, name = offered["of"]
    address = files.execute_deferred(files.add_deferred(data, mime, "button", file_name=name))
    for _ in range(5):  # other people's pages run
        files.remove_orphaned_files()
    assert storage.get_file(Path(address).name).content == b"content"
    files.clear_session_refs(SESSION)  # the person's own page runs
    for _ in range(2):
        files.remove_orphaned_files()
    with pytest.raises(MediaFileStorageError):
        storage.get_file(Path(address).name)
