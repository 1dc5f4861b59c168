"""Real child processes."""

from __future__ import annotations

import io
import json
import queue
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import psutil
import pytest

from cfad_core.core.errors import AuditCancelled, CfadError, InvalidDataError, WorkerDied
from cfad_core.runs import child
from cfad_core.runs.child import run_in_child
from tests.conftest import Recorder, child_processes

ROOT = Path(__file__).resolve().parents[2]
CHILDREN = "tests.runs.children:"


def test_a_result_comes_back_and_reports_on_the_way() -> None:
    recorder = Recorder()
    found = run_in_child(f"{CHILDREN}add", {"first": 2, "second": 3}, recorder, threads=1)
    assert found == {"sum": 5, "threads": "1"}
    assert recorder.heard[0] == ("adding", 1, 3, {"loss": 1.0})
    assert recorder.heard[-1] == ("adding", 3, 3, {"loss": 1.0 / 3.0})


def test_reports_do_not_flood(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ten a second are sent, by a clock that goes on by a 64th of a second with each report; and the last one is."""
    ticks = iter(range(10_000))
    monkeypatch.setattr(child, "time", SimpleNamespace(monotonic=lambda: next(ticks) / 64.0))
    answers = io.StringIO()
    progress = child._ToParent(answers)
    for step in range(1, 101):
        progress.report("counting", step, 100, {})
    progress.report("next", 1, 100, {})
    sent = [json.loads(line) for line in answers.getvalue().splitlines()]
    steps = [*range(1, 101, 7), 100]  # seven of them are more than a tenth of a second
    assert [(line["stage"], line["step"]) for line in sent] == [*(("counting", step) for step in steps), ("next", 1)]


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        ("refuse", InvalidDataError, "First line.\nSecond line."),
        ("break_down", WorkerDied, "Something unexpected went wrong (ZeroDivisionError: nobody expected this)"),
        ("fill_disk", WorkerDied, "The disk is full. Make room, and start it again."),
        ("eat_memory", WorkerDied, "There was not enough memory."),
        ("be_killed", WorkerDied, "was killed, most likely because the machine ran out of memory, during 'dying'"),
        ("leave", WorkerDied, "ended unexpectedly (exit code 7), during 'start'"),
    ],
)
def test_whatever_goes_wrong_is_one_error(function: str, kind: type[CfadError], message: str) -> None:
    with pytest.raises(kind) as caught:
        run_in_child(f"{CHILDREN}{function}", {}, Recorder())
    assert message in str(caught.value)
    if function == "break_down":
        assert "in break_down" in caught.value.details


def test_a_child_with_a_folder_knows_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET", "of this process")
    found = run_in_child(f"{CHILDREN}look_around", {}, threads=1, folder=tmp_path)
    assert found == {"folder": str(tmp_path), "secret": None, "files": 0}


@pytest.mark.parametrize("line", ["nonsense", "[1]", "7", "{}", '{"stage": "a"}', '{"error": 1}', "[" * 100_000])
def test_an_answer_that_makes_no_sense(line: str) -> None:
    with pytest.raises(WorkerDied, match="gave an answer that makes no sense"):
        child._understand(line)


def test_a_child_that_talks_nonsense() -> None:
    with pytest.raises(WorkerDied, match="gave an answer that makes no sense"):
        run_in_child(f"{CHILDREN}talk_nonsense", {}, threads=1)


@pytest.mark.parametrize("kind", ["Unheard", "__name__", "annotations"])
def test_an_error_is_one_of_ours(kind: str) -> None:
    assert type(child._error({"error": kind, "message": "no"})) is CfadError


@pytest.mark.slow
def test_a_child_that_obeys_and_one_that_does_not() -> None:
    for function, stage in (("obey", "waiting"), ("ignore_everything", "deaf")):
        recorder = Recorder(stop_in=stage)
        with pytest.raises(AuditCancelled, match=f"cancelled during '{stage}'"):
            run_in_child(f"{CHILDREN}{function}", {}, recorder)
        assert not child_processes()


def test_listening_to_what_is_closed_ends() -> None:
    stream, lines = io.StringIO("one\n"), queue.SimpleQueue[str | None]()
    stream.close()
    child._read(stream, lines)
    assert lines.get_nowait() is None


@pytest.mark.slow
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
    assert not any(process.is_running() for process in born)
