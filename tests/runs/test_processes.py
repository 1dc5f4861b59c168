"""Real child processes."""

from __future__ import annotations

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from cfad_core.core.errors import AuditCancelled, CfadError, InvalidDataError, WorkerDied
from cfad_core.runs.child import run_in_child
from tests.conftest import Recorder
from tests.runs.children import (
    add,
    be_killed,
    break_down,
    eat_memory,
    fill_disk,
    ignore_everything,
    leave,
    many_reports,
    obey,
    refuse,
)

ROOT = Path(__file__).resolve().parents[2]


def name(function: object) -> str:
    return f"tests.runs.children:{function.__name__}"


def test_a_result_comes_back_and_reports_on_the_way() -> None:
    recorder = Recorder()
    assert run_in_child(name(add), {"first": 2, "second": 3}, recorder, threads=1) == {"sum": 5, "threads": "1"}
    assert recorder.heard[0] == ("adding", 1, 3, {"loss": 1.0})
    assert recorder.heard[-1] == ("adding", 3, 3, {"loss": 1.0 / 3.0})


def test_reports_do_not_flood() -> None:
    recorder = Recorder()
    run_in_child(name(many_reports), {}, recorder)
    assert 1 <= len(recorder.heard) < 200


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        (refuse, InvalidDataError, "First line.\nSecond line."),
        (break_down, WorkerDied, "Something unexpected went wrong (ZeroDivisionError: nobody expected this)"),
        (fill_disk, WorkerDied, "The disk is full. Make room, and start it again."),
        (eat_memory, WorkerDied, "There was not enough memory."),
        (be_killed, WorkerDied, "was killed, most likely because the machine ran out of memory, during 'dying'"),
        (leave, WorkerDied, "ended unexpectedly (exit code 7), during 'start'"),
    ],
)
def test_whatever_goes_wrong_is_one_error(function, kind: type[CfadError], message: str) -> None:
    with pytest.raises(kind) as caught:
        run_in_child(name(function), {}, Recorder())
    assert message in str(caught.value)
    if function is break_down:
        assert "in break_down" in caught.value.details


def test_a_child_that_obeys_and_one_that_does_not() -> None:
    for function, stage in ((obey, "waiting"), (ignore_everything, "deaf")):
        recorder = Recorder(stop_in=stage)
        with pytest.raises(AuditCancelled, match=f"cancelled during '{stage}'"):
            run_in_child(name(function), {}, recorder)
        assert not children()


def children() -> list[psutil.Process]:
    return [child for child in psutil.Process().children() if "cfad_core.runs.child" in child.cmdline()]


def test_a_child_does_not_outlive_its_parent() -> None:
    code = "from tests.runs.children import orphan_maker; orphan_maker()"
    parent = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT)
    deadline = time.monotonic() + 20.0
    while not (born := psutil.Process(parent.pid).children()):
        assert time.monotonic() < deadline
        time.sleep(0.05)
    parent.kill()
    parent.wait()
    psutil.wait_procs(born, timeout=20.0)
    assert not any(child.is_running() for child in born)
