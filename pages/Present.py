"""Present: an audit in five scenes, for a room."""

from __future__ import annotations

from cfad_core.apps.dashboard import frame
from cfad_core.apps.dashboard.presenting import present, presented_audit, scene_number, seen_of

frame.open_page("Present")
present(seen_of(*presented_audit()), scene_number())
