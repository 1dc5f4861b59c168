"""Lines that the server writes about itself."""

from __future__ import annotations

import json
import subprocess
import sys

from tests.apps.browser import PROJECT

PLANTED = "CELL-4711"
PROGRAM = f"""
import logging, threading, warnings
from streamlit.logger import get_logger
early = get_logger("streamlit.early")
from cfad_core.apps.server.logs import REQUEST, event, write_json_lines
write_json_lines()
from streamlit.web import bootstrap
bootstrap.load_config_options({{"logger_messageFormat": "%(message)s"}})

def broken(cell):
    raise ValueError(f"could not convert {{cell}}")

REQUEST.set("r1")
event("answered", status=200)
for logger in (early, get_logger("streamlit.late"), logging.getLogger("cfad_core.runs"), logging.getLogger("pandas")):
    try:
        broken("{PLANTED}")
    except ValueError as error:
        logger.error("Uncaught app execution", exc_info=error)
thread = threading.Thread(target=broken, args=("{PLANTED}",))
thread.start()
thread.join()
logging.getLogger("asyncio").error("Task exception was never retrieved\\nfuture: ValueError('{PLANTED}')")
early.warning("could not read %s", "{PLANTED}")
logging.getLogger("uvicorn.error").warning("Started on %s", "port 1")
warnings.warn("the value {PLANTED} is odd")
"""


def test_lines_are_json_and_hold_no_cell() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=True, cwd=PROJECT)
    assert PLANTED not in done.stderr + done.stdout
    lines = [json.loads(line) for line in done.stderr.splitlines()]
    assert lines[0]["message"] == "answered"
    assert (lines[0]["status"], lines[0]["request"]) == (200, "r1")
    errors = [line for line in lines if "error" in line]
    assert [line["logger"] for line in errors] == [
        *("streamlit.early", "streamlit.late", "cfad_core.runs", "pandas"),
        "cfad_core.server",
    ]
    for line in errors:
        assert line["error"] == "ValueError"
        assert line["where"][-1].endswith("in broken")
    said = {line["message"] for line in lines}
    assert {
        "Task exception was never retrieved",
        "could not read %s",
        "Started on port 1",
        "Uncaught app execution",
    } < said
    without = [line["message"] for line in lines if not {"at", "level", "logger", "message", "request"} <= set(line)]
    assert without == ["a thread ended by an error"]  # which belongs to no request
