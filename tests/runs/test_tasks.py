"""Many independent tasks, on this machine and on a real Dask cluster."""

from __future__ import annotations

import time

import psutil
import pytest

from cfad_core.core.errors import AuditCancelled, InvalidConfigError, InvalidDataError
from cfad_core.core.progress import Progress
from cfad_core.runs.tasks import Task, run_many
from tests.conftest import Recorder
from tests.runs.conftest import computing

pytestmark = pytest.mark.slow


def square(progress: Progress, number: int) -> dict[str, int]:
    progress.tick("squaring", 1, 1)
    if number < 0:
        raise InvalidDataError(f"{number} is negative.")
    return {"square": number * number}


def forever(progress: Progress) -> None:
    while True:
        progress.tick("waiting", 0, 1)
        time.sleep(0.05)


def squares(*numbers: int) -> list[Task]:
    return [Task("tests.runs.test_tasks:square", {"number": number}) for number in numbers]


def test_many_runs_here_and_on_a_cluster(cluster: str) -> None:
    expected = [{"square": 9}, {"square": 4}, {"square": 1}]
    recorder = Recorder()
    assert run_many(squares(3, 2, 1), workers=2, progress=recorder) == expected
    assert recorder.heard[-1][:3] == ("runs", 3, 3)
    assert run_many(squares(3, 2, 1), scheduler=cluster) == expected
    assert run_many([]) == []
    with pytest.raises(InvalidConfigError, match="At least one worker is needed; got 0"):
        run_many(squares(1), workers=0)


def test_results_are_kept_as_they_come() -> None:
    kept = {}
    run_many(squares(3, 2), keep=lambda place, result: kept.update({place: result["square"]}))
    assert kept == {0: 9, 1: 4}


def test_one_failure_ends_all_runs(cluster: str) -> None:
    tasks = [*squares(-5), Task("tests.runs.test_tasks:forever", {})]
    with pytest.raises(InvalidDataError, match="-5 is negative"):
        run_many(tasks, workers=2)
    with pytest.raises(InvalidDataError, match="-5 is negative"):
        run_many(squares(-5), scheduler=cluster)
    assert not [child for child in computing() if child.parent() == psutil.Process()]


def test_many_runs_can_be_cancelled() -> None:
    with pytest.raises(AuditCancelled):
        run_many([Task("tests.runs.test_tasks:forever", {})], progress=Recorder(stop_in="runs"))
    assert not [child for child in computing() if child.parent() == psutil.Process()]
