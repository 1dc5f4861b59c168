"""Put this process under limits, for good: what it reads next was written by a stranger.

On Linux a process can hand the kernel a filter (seccomp) through which all its later system calls go, of every
thread; it can never be taken off. Ours is a list of the few calls that computing needs: memory, threads, clocks, and
reading and writing what is open already. All others are refused: the network, opening any file, starting a program or
a process, looking at other processes. How much memory and time there is are resource limits. No call that could
change those is on the list.
"""

from __future__ import annotations

import ctypes
import errno
import math
import os
import platform
import socket
import struct
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from cfad_core.core.errors import InvalidConfigError

OTHER_WAY = "You can use two files instead: download the rows, score them yourself, upload the scores."
_OPEN_FILES = 64

# Calls that are always allowed, by their numbers on (x86_64, aarch64)
_CALLS = {
    "read": (0, 63),
    "write": (1, 64),
    "close": (3, 57),
    "fstat": (5, 80),
    "lseek": (8, 62),
    "munmap": (11, 215),
    "brk": (12, 214),
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "sched_yield": (24, 124),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "nanosleep": (35, 101),
    "getpid": (39, 172),
    "exit": (60, 93),
    "uname": (63, 160),
    "gettimeofday": (96, 169),
    "getrusage": (98, 165),
    "sysinfo": (99, 179),
    "times": (100, 153),
    "sigaltstack": (131, 132),
    "gettid": (186, 178),
    "futex": (202, 98),
    "sched_getaffinity": (204, 123),
    "restart_syscall": (219, 128),
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "exit_group": (231, 94),
    "set_robust_list": (273, 99),
    "getcpu": (309, 168),
    "getrandom": (318, 278),
    "membarrier": (324, 283),
    "rseq": (334, 293),
}
# Calls that depend on their arguments, or are refused in a way of their own
_CLONE, _CLONE3, _MMAP, _MPROTECT = (56, 220), (435, 435), (9, 222), (10, 226)
_PRLIMIT, _PRCTL, _TGKILL = (302, 261), (157, 167), (234, 131)
_SECCOMP = (317, 277)
_CLONE_THREAD, _PROT_EXEC, _PR_SET_NAME, _PR_SET_NO_NEW_PRIVS = 0x10000, 4, 15, 38
_FILTER_ALL_THREADS = (1, 1)  # SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC

# The filter's own language (classic BPF): load a word, jump on it, return
_LOAD, _EQUAL, _ANY_BIT, _RETURN = 0x20, 0x15, 0x45, 0x06
_ALLOW, _REFUSE, _KILL = 0x7FFF0000, 0x00050000 | errno.EPERM, 0x80000000
_UNKNOWN = 0x00050000 | errno.ENOSYS  # glibc then uses the older call
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # where they are in what the filter sees

Instruction = tuple[int, int, int, int]


@dataclass(frozen=True)
class _Machine:
    """A kind of processor: its column in the tables, and what the kernel calls it."""

    column: int
    audit: int


_MACHINES = {"x86_64": _Machine(0, 0xC000003E), "aarch64": _Machine(1, 0xC00000B7)}


def limit_process(*, seconds: float, megabytes: int) -> None:
    """Take from this process all but computing: no network, no opening of files, no other process or program.

    Import and open whatever is needed before. What is open stays so, and pipes can be written to.

    Parameters
    ----------
    seconds : of processor time from now on; then the process is killed (SIGXCPU)
    megabytes : of address space in all; what needs more fails for want of memory

    Raises
    ------
    InvalidConfigError
        If this system cannot set the limits, or they do not hold. The process must not go on then.
    """
    machine = _machine()
    _limit_resources(seconds, megabytes)
    _install(_program(machine), machine)
    _check()


def _machine() -> _Machine:
    """The machine this is, if limits can be set on it."""
    name = platform.machine()
    if sys.platform != "linux" or name not in _MACHINES:
        raise InvalidConfigError(
            f"A stranger's model is only run under limits that exist on Linux (x86_64, aarch64); this is "
            f"{platform.system()} on {name}. {OTHER_WAY}"
        )
    return _MACHINES[name]


def limit_memory_and_time(*, seconds: float, megabytes: int) -> None:
    """Let this process use so much and no more; it can still do everything. A system without such limits sets none.

    Parameters
    ----------
    seconds : as in ``limit_process``
    megabytes : of memory of its own (files that it maps do not count), and of each file that it writes
    """
    try:
        import resource
    except ImportError:  # Windows
        return
    most = megabytes * 2**20
    wanted = {resource.RLIMIT_DATA: (most, most), resource.RLIMIT_FSIZE: (most, most)}
    with suppress(OSError, ValueError):
        _set(wanted | _time(seconds))


def _limit_resources(seconds: float, megabytes: int) -> None:
    import resource

    most = megabytes * 2**20
    wanted = {
        resource.RLIMIT_AS: (most, most),
        resource.RLIMIT_FSIZE: (0, 0),
        resource.RLIMIT_NOFILE: (_OPEN_FILES, _OPEN_FILES),
    }
    try:
        _set(wanted | _time(seconds))
    except (OSError, ValueError) as error:
        raise InvalidConfigError(f"This system does not let a process limit itself ({error}). {OTHER_WAY}") from error


def _time(seconds: float) -> dict[int, tuple[int, int]]:
    """The limit of processor time from now on, and none of what a crash leaves behind."""
    import resource

    cpu = math.ceil(sum(resource.getrusage(resource.RUSAGE_SELF)[:2]) + seconds)
    return {resource.RLIMIT_CPU: (cpu, cpu + 1), resource.RLIMIT_CORE: (0, 0)}  # a signal with a name of its own first


def _set(wanted: Mapping[int, tuple[int, int]]) -> None:
    import resource

    for kind, (soft, hard) in wanted.items():
        most = resource.getrlimit(kind)[1]
        if most != resource.RLIM_INFINITY:
            soft, hard = min(soft, most), min(hard, most)
        resource.setrlimit(kind, (soft, hard))


def _program(machine: _Machine) -> list[Instruction]:
    """The filter: which calls are allowed, with which arguments."""
    here = machine.column
    program: list[Instruction] = [
        (_LOAD, 0, 0, _ARCHITECTURE),
        (_EQUAL, 1, 0, machine.audit),
        (_RETURN, 0, 0, _KILL),  # calls by another table of numbers
        (_LOAD, 0, 0, _NUMBER),
    ]
    for numbers in _CALLS.values():
        program += _rule(numbers[here], [(_RETURN, 0, 0, _ALLOW)])
    program += _rule(_CLONE[here], _if_any_bit(0, _CLONE_THREAD, _ALLOW, _REFUSE))  # threads, no processes
    program += _rule(_CLONE3[here], [(_RETURN, 0, 0, _UNKNOWN)])  # its flags are behind a pointer
    program += _rule(_MMAP[here], _if_any_bit(2, _PROT_EXEC, _REFUSE, _ALLOW))  # no new code
    program += _rule(_MPROTECT[here], _if_any_bit(2, _PROT_EXEC, _REFUSE, _ALLOW))
    program += _rule(_PRLIMIT[here], _if_equal(2, 0))  # look at limits, never set them
    program += _rule(_PRCTL[here], _if_equal(0, _PR_SET_NAME))
    program += _rule(_TGKILL[here], _if_equal(0, os.getpid()))  # how a process ends itself
    return [*program, (_RETURN, 0, 0, _REFUSE)]


def _rule(number: int, then: Sequence[Instruction]) -> list[Instruction]:
    """What happens to the call with this number; others go on to the next rule."""
    return [(_EQUAL, 0, len(then), number), *then]


def _if_any_bit(argument: int, bits: int, yes: int, no: int) -> list[Instruction]:
    load = (_LOAD, 0, 0, _ARGUMENTS + 8 * argument)  # the lower half, where the bits are
    return [load, (_ANY_BIT, 0, 1, bits), (_RETURN, 0, 0, yes), (_RETURN, 0, 0, no)]


def _if_equal(argument: int, value: int) -> list[Instruction]:
    """Allow the call if its argument, all 64 bits of it, has this value."""
    low = _ARGUMENTS + 8 * argument
    return [
        (_LOAD, 0, 0, low),
        (_EQUAL, 0, 3, value),
        (_LOAD, 0, 0, low + 4),
        (_EQUAL, 0, 1, 0),
        (_RETURN, 0, 0, _ALLOW),
        (_RETURN, 0, 0, _REFUSE),
    ]


class _Program(ctypes.Structure):
    """``struct sock_fprog``."""

    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _install(program: Sequence[Instruction], machine: _Machine) -> None:
    """Hand the filter to the kernel, for all threads at once."""
    code = b"".join(struct.pack("HBBI", *instruction) for instruction in program)
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long
    handed = _Program(len(program), code)
    zero, number = ctypes.c_ulong(0), ctypes.c_long(_SECCOMP[machine.column])
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, ctypes.c_ulong(1), zero, zero, zero) != 0:
        raise _refused("PR_SET_NO_NEW_PRIVS", ctypes.get_errno())
    mode, flags = _FILTER_ALL_THREADS
    if libc.syscall(number, ctypes.c_ulong(mode), ctypes.c_ulong(flags), ctypes.byref(handed)) != 0:
        raise _refused("seccomp", ctypes.get_errno())


def _refused(what: str, code: int) -> InvalidConfigError:
    reason = os.strerror(code) if code else "not all threads could be limited"
    return InvalidConfigError(
        f"A stranger's model is only run under limits, and this system refused them ({what}: {reason}). {OTHER_WAY}"
    )


def _check() -> None:
    """The limits hold, or this process must not go on."""
    attempts: dict[str, Callable[[], object]] = {
        "open a connection": lambda: socket.socket().close(),
        "open a file": lambda: os.close(os.open("/", os.O_RDONLY)),
    }
    for name, attempt in attempts.items():
        try:
            attempt()
        except PermissionError:
            continue
        except OSError as error:
            raise _refused(f"an attempt to {name} ended in", error.errno or 0) from error
        raise InvalidConfigError(f"The limits do not hold here: a limited process could {name}. {OTHER_WAY}")
