"""Limits hold: what a limited process tries fails, and where they cannot be set nothing goes on."""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from cfad_core.core.errors import InvalidConfigError, WorkerDied
from cfad_core.runs import limits
from cfad_core.runs.child import run_in_child

CHILDREN = "tests.runs.children:"
needs_limits = pytest.mark.skipif(
    sys.platform != "linux" or platform.machine() not in limits._MACHINES, reason="limits exist on Linux alone"
)
DATA_OF_CALL = 16


def judge(program: list[limits.Instruction], audit: int, number: int, *arguments: int) -> int:
    """What the kernel would answer to a system call."""
    words = {limits._NUMBER: number, limits._ARCHITECTURE: audit}
    for place in range(6):
        value = (arguments[place] if place < len(arguments) else 0) & (2**64 - 1)
        words[DATA_OF_CALL + 8 * place], words[DATA_OF_CALL + 8 * place + 4] = value & 0xFFFFFFFF, value >> 32
    at = word = 0
    while True:
        code, yes, no, value = program[at]
        at += 1
        if code == limits._LOAD:
            word = words[value]
        elif code == limits._RETURN:
            return value
        else:
            at += yes if (word == value if code == limits._EQUAL else word & value) else no


@pytest.mark.parametrize("name", ["x86_64", "aarch64"])
def test_the_filter_of_each_machine(name: str) -> None:
    machine = limits._MACHINES[name]
    program, here = limits._program(machine), machine.column

    def verdict(number: int, *arguments: int) -> int:
        return judge(program, machine.audit, number, *arguments)

    for numbers in limits._CALLS.values():
        assert verdict(numbers[here]) == limits._ALLOW
    allowed = {numbers[here] for numbers in limits._CALLS.values()}
    special = {
        limits._CLONE3: limits._UNKNOWN,
        limits._MMAP: limits._ALLOW,  # of no rights at all
        limits._MPROTECT: limits._ALLOW,
        limits._PRLIMIT: limits._ALLOW,  # that sets nothing
    }
    by_number = {numbers[here]: answer for numbers, answer in special.items()}
    for number in set(range(500)) - allowed:  # with zeros for arguments
        assert verdict(number) == by_number.get(number, limits._REFUSE), number
    assert verdict(limits._CALLS["read"][here] | 0x40000000) == limits._REFUSE  # x32
    assert judge(program, 0x40000003, limits._CALLS["read"][here]) == limits._KILL  # of 32 bits


@pytest.mark.parametrize("name", ["x86_64", "aarch64"])
def test_calls_that_depend_on_their_arguments(name: str) -> None:
    machine = limits._MACHINES[name]
    program, here = limits._program(machine), machine.column

    def is_allowed(numbers: tuple[int, int], *arguments: int) -> bool:
        return judge(program, machine.audit, numbers[here], *arguments) == limits._ALLOW

    assert is_allowed(limits._CLONE, 0x3D0F00)  # as pthread_create does
    assert not is_allowed(limits._CLONE, 0x01200011)  # as fork does
    assert is_allowed(limits._MMAP, 0, 4096, 3)
    assert not is_allowed(limits._MMAP, 0, 4096, 5)
    assert not is_allowed(limits._MPROTECT, 0, 4096, 7)
    assert is_allowed(limits._PRLIMIT, 0, 9, 0, 2**40)
    assert not is_allowed(limits._PRLIMIT, 0, 9, 2**40)
    assert is_allowed(limits._PRCTL, 15)
    assert not is_allowed(limits._PRCTL, 24)
    assert is_allowed(limits._TGKILL, os.getpid(), 1, 6)
    assert not is_allowed(limits._TGKILL, 1, 1, 6)
    assert not is_allowed(limits._TGKILL, os.getpid() + 2**32, 1, 6)


@needs_limits
def test_a_limited_process_can_compute_and_nothing_else(tmp_path: Path) -> None:
    (tmp_path / "there").write_text("kept")
    found = run_in_child(f"{CHILDREN}try_everything", {"folder": str(tmp_path)}, threads=1)
    others = {"too much memory": "MemoryError", "a thread": "done", "enough memory": "done"}
    assert {name: how for name, how in found.items() if how != "PermissionError"} == others
    assert len(found) == 23
    assert [path.name for path in tmp_path.iterdir()] == ["there"]
    assert (tmp_path / "there").read_text() == "kept"


@needs_limits
def test_threads_that_were_there_before_are_limited() -> None:
    assert run_in_child(f"{CHILDREN}try_in_another_thread", {}, threads=1) == "PermissionError"


@needs_limits
def test_open_files_do_not_grow() -> None:
    assert run_in_child(f"{CHILDREN}write_log", {}, threads=1) == "OSError"


@needs_limits
@pytest.mark.slow
def test_computing_for_ever_ends() -> None:
    with pytest.raises(WorkerDied) as caught:
        run_in_child(f"{CHILDREN}compute_for_ever", {}, threads=1)
    assert caught.value.code == -signal.SIGXCPU


@pytest.mark.parametrize(("system", "machine"), [("darwin", "arm64"), ("win32", "AMD64"), ("linux", "riscv64")])
def test_other_systems_are_refused(monkeypatch: pytest.MonkeyPatch, system: str, machine: str) -> None:
    monkeypatch.setattr(limits, "sys", SimpleNamespace(platform=system))
    monkeypatch.setattr(limits, "platform", SimpleNamespace(machine=lambda: machine, system=lambda: "Another"))
    with pytest.raises(InvalidConfigError) as caught:
        limits.limit_process(seconds=1.0, megabytes=100)
    assert str(caught.value) == (
        "A stranger's model is only run under limits that exist on Linux (x86_64, aarch64); this is Another on "
        f"{machine}. You can use two files instead: download the rows, score them yourself, upload the scores."
    )


class _Kernel:
    """Refuses one of the two calls."""

    def __init__(self, prctl: int, seccomp: int) -> None:
        self._prctl, self.syscall = prctl, lambda *_: seccomp

    def prctl(self, *_: object) -> int:
        return self._prctl


@pytest.mark.parametrize(
    ("kernel", "code", "message"),
    [
        (_Kernel(-1, 0), errno.EINVAL, "(PR_SET_NO_NEW_PRIVS: Invalid argument)"),
        (_Kernel(0, -1), errno.ENOSYS, "(seccomp: Function not implemented)"),
        (_Kernel(0, 4711), 0, "(seccomp: not all threads could be limited)"),
    ],
)
def test_a_system_that_refuses_is_no_place(
    monkeypatch: pytest.MonkeyPatch, kernel: _Kernel, code: int, message: str
) -> None:
    def load(*_: object, **__: object) -> _Kernel:
        return kernel

    monkeypatch.setattr(ctypes, "CDLL", load)
    monkeypatch.setattr(ctypes, "get_errno", lambda: code)
    with pytest.raises(InvalidConfigError) as caught:
        limits._install([], limits._MACHINES["x86_64"])
    assert message in str(caught.value)
    assert "download the rows" in str(caught.value)


def test_limits_that_do_not_hold_are_noticed() -> None:
    """Here none are set."""
    with pytest.raises(
        InvalidConfigError, match="The limits do not hold here: a limited process could open a connection"
    ):
        limits._check()
