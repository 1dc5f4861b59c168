"""Kill -9 of everything that an audit needs, at random moments: what became of the audits, and what was left.

One PostgreSQL database, one server with a worker of its own, and one program that works the same queue off on a Dask
cluster of two workers. In each round audits are put into the queue, one victim is killed some seconds later and, where
it does not come back by itself, started again, as a service manager would.
"""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import sqlalchemy as sa

from benchmarks.campaign.databases import Command, Postgres
from benchmarks.campaign.processes import Server, answer, free_port, role, started
from benchmarks.campaign.session import HungError, Session
from benchmarks.campaign.small import numbers, put
from cfad_core.core.errors import CfadError
from cfad_core.runs.model import ACTIVE, AUDITS, DRAFTS, ENDED_EARLY, AuditRecord
from cfad_core.runs.store import Store

SEED = 21_100  # chosen before anything was run
VICTIMS = ("scheduler", "PostgreSQL", "child", "worker", "server", "executor")
_SEEDS = (0, 1)  # of the audits: what each comes to is known from an undisturbed run
_AUDITS = 3  # in the queue in each round
_LONGEST = 14.0  # seconds from the beginning of a round until something is killed
_SETTLED = 240.0  # seconds after which an audit that neither ended nor runs is stuck
_QUIET = 20.0  # seconds that what lost its parent has to end


@dataclass
class House:
    """Everything that can be killed."""

    scratch: Path
    postgres: Postgres = field(init=False)
    server: Server = field(init=False)
    executor: Command = field(init=False)
    scheduler: Command = field(init=False)
    workers: list[Command] = field(init=False)
    victim: Command | Server | None = None  # what is started again by whoever killed it

    def __post_init__(self) -> None:
        home, temporary = self.scratch / "home", self.scratch / "tmp"
        temporary.mkdir(parents=True, exist_ok=True)
        self.postgres = Postgres(self.scratch / "postgres")
        shared = {"CFAD_DATABASE_URL": self.postgres.url, "CFAD_HOME": str(home), "TMPDIR": str(temporary)}
        self.server = Server(home, self.scratch / "server.log", {**shared, "CFAD_WORKERS": "1"})
        address = f"127.0.0.1:{free_port()}"
        host, _, port = address.partition(":")
        run = ("distributed.cli.dask_scheduler", "--host", host, "--port", port, "--no-dashboard")
        self.scheduler = Command(run, self.scratch / "scheduler.log", shared)
        worker = ("distributed.cli.dask_worker", address, "--nthreads", "1", "--no-dashboard", "--no-nanny")
        more = ("--local-directory", str(temporary), "--death-timeout", "600")
        self.workers = [Command((*worker, *more), self.scratch / f"worker{k}.log", shared) for k in range(2)]
        of_dask = {**shared, "CFAD_DASK_SCHEDULER": f"tcp://{address}"}
        self.executor = Command(("benchmarks.campaign.executor",), self.scratch / "executor.log", of_dask)

    def look_after(self, over: threading.Event) -> None:
        """Start again what ended by itself, as a service manager does: workers whose scheduler is another one, say."""
        while not over.wait(1.0):
            for one in (self.executor, self.scheduler, *self.workers):
                if one.process is not None and one.process.poll() is not None and one is not self.victim:
                    one.start()

    def open(self) -> Store:
        """Start everything; the store, as the campaign sees it."""
        self.postgres.make()
        self.scheduler.start()
        for worker in self.workers:
            worker.start()
        self.server.start()
        self.executor.start()
        return Store(self.server.home, self.postgres.url)

    def close(self) -> None:
        for one in (self.executor, *self.workers, self.scheduler):
            one.stop()
        self.server.stop()
        self.postgres.stop()

    def kill(self, victim: str, chance: random.Random) -> str:
        """Kill one; what that was, exactly. It is started again where nothing else does that."""
        if victim == "child":
            one = _computing(chance)
            if one is None:
                return "child: none computed"
            with suppress(psutil.Error):
                one.kill()
            return "child"
        if victim == "PostgreSQL":
            self.postgres.kill()
            time.sleep(chance.uniform(0.0, 5.0))
            self.postgres.start()
            return victim
        commands: dict[str, Command | Server] = {
            "executor": self.executor,
            "scheduler": self.scheduler,
            "server": self.server,
        }
        chosen = chance.choice(self.workers) if victim == "worker" else commands[victim]
        self.victim = chosen
        chosen.kill()
        time.sleep(chance.uniform(0.0, 3.0))
        if isinstance(chosen, Server):
            chosen.start(wait=False)
        else:
            chosen.start()
        self.victim = None
        return victim

    def mains(self) -> set[int]:
        """The processes that are meant to live."""
        own = [self.server.process, self.executor.process, self.scheduler.process]
        own += [worker.process for worker in self.workers]
        return {one.pid for one in own if one is not None} | {self.postgres.postmaster.pid}


def _computing(chance: random.Random) -> psutil.Process | None:
    """A process that computes an audit, as soon as there is one."""
    until = time.monotonic() + 60.0
    while time.monotonic() < until:
        children = [one for one in started() if role(one) == "child" and _is_busy(one)]
        if children:
            return chance.choice(sorted(children, key=lambda process: process.pid))
        time.sleep(0.2)
    return None


def _is_busy(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return process.cpu_times().user > 4.0  # its imports are done
    return False


class Watch:
    """Looks at everything that is said to be done, at once: half of an audit must never be shown."""

    def __init__(self, house: House) -> None:
        self.half: list[str] = []
        self._house, self._over, self._seen = house, threading.Event(), set[tuple[str, float | None]]()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join(timeout=30)

    def _look(self) -> None:
        with Store(self._house.server.home, self._house.postgres.url) as store:
            while not self._over.wait(0.1):
                with suppress(sa.exc.SQLAlchemyError, CfadError):
                    for record in store.find(status="done"):
                        if (record.id, record.finished) not in self._seen:
                            self._seen.add((record.id, record.finished))
                            self._check(store, record)

    def _check(self, store: Store, record: AuditRecord) -> None:
        try:
            store.result(record.id)
        except CfadError as error:
            if store.get(record.id).status == "done":
                self.half.append(f"{record.id}: {error}")


def run(scratch: Path, size: int = 50, seed: int = SEED) -> dict[str, Any]:
    """Kill ``size`` times, victims in turn."""
    house, chance, rounds = House(scratch), random.Random(seed), list[dict[str, Any]]()
    over = threading.Event()
    manager = threading.Thread(target=house.look_after, args=(over,), daemon=True)
    try:
        store = house.open()
        manager.start()
        expected = {number: _undisturbed(store, number) for number in _SEEDS}
        watch = Watch(house)
        for number in range(size):
            victim = VICTIMS[number % len(VICTIMS)]
            found = _round(house, store, victim, chance, expected)
            rounds.append({"kill": number + 1, **found})
            print(rounds[-1], flush=True)
        watch.end()
        stray = _stray(house, store)
        store.close()
    finally:
        over.set()
        house.close()
    count = sum(len(one["audits"]) for one in rounds)
    return {
        "part": "kills",
        "seed": seed,
        "kills": len(rounds),
        "audits": count,
        "rounds": rounds,
        "lost": [one for of in rounds for one in of["audits"] if one.endswith("lost")],
        "stuck": [one for of in rounds for one in of["audits"] if "stuck" in one],
        "other numbers": [one for of in rounds for one in of["audits"] if "other numbers" in one],
        "half shown": watch.half,
        "orphans": [one for of in rounds for one in of["orphans"]],
        "stray files": stray,
        "pages with an exception": [one for of in rounds for one in of["pages"]],
        "the server's own errors": house.server.faults()[:30],
    }


def _undisturbed(store: Store, seed: int) -> str:
    """What the audit comes to where nothing is killed."""
    record = _settled(store, put(store, f"Undisturbed {seed}", seed))
    if record is None or record.status != "done":
        raise RuntimeError(f"An undisturbed audit is {record and record.status}: {record and record.error}")
    return numbers(record.metrics)


def _round(house: House, store: Store, victim: str, chance: random.Random, expected: dict[int, str]) -> dict[str, Any]:
    audits = {put(store, f"Round {k}", _SEEDS[k % 2]): _SEEDS[k % 2] for k in range(_AUDITS)}
    wait = chance.uniform(0.0, _LONGEST)
    time.sleep(wait)
    killed = house.kill(victim, chance)
    became = [_fate(store, audit, expected[seed]) for audit, seed in audits.items()]
    pages = _look_at(house, next(iter(audits)))
    orphans = _orphans(house)
    return {"victim": killed, "after, s": round(wait, 1), "audits": became, "pages": pages, "orphans": orphans}


def _insist(ask: Callable[[], AuditRecord]) -> AuditRecord:
    """The store may be away for a moment."""
    until = time.monotonic() + 60.0
    while True:
        try:
            return ask()
        except sa.exc.SQLAlchemyError:
            if time.monotonic() > until:
                raise
            time.sleep(0.5)
        except CfadError as error:
            if "database" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.5)


def _settled(store: Store, audit: str) -> AuditRecord | None:
    """The audit once it has ended; None if it does not."""
    until = time.monotonic() + _SETTLED
    while (record := _insist(lambda: store.get(audit))).status in ACTIVE:
        if time.monotonic() > until:
            return None
        time.sleep(0.3)
    return record


def _fate(store: Store, audit: str, expected: str) -> str:
    """What became of an audit, and of it once it was started again."""
    try:
        record = _settled(store, audit)
    except CfadError:
        return f"{audit} lost"
    if record is None:
        return f"{audit} stuck ({store.get(audit).status}, worker {store.get(audit).worker})"
    said: str = record.status
    if record.status in ENDED_EARLY:
        if not record.error or "Traceback" in record.error:
            return f"{audit} {record.status} without a sentence: {record.error!r}"
        said += f" ({record.error[:80]})"
        store.requeue(audit)
        record = _settled(store, audit)
        if record is None or record.status != "done":
            return f"{audit} {said}, stuck or {record and record.status} when started again: {record and record.error}"
        said += ", done when started again"
    if numbers(record.metrics) != expected:
        return f"{audit} {said} with other numbers"
    store.result(audit)
    return said


def _look_at(house: House, audit: str) -> list[str]:
    """Exceptions on the pages of an audit that was there when something was killed."""
    house.server.wait_until_ready()
    found = []
    for page in ("Train", "Findings"):
        try:
            with Session(house.server.url, page, audit=audit) as visitor:
                visitor.open()
                found += [f"{page}: {one}" for one in visitor.exceptions]
        except HungError as error:
            found.append(str(error))
    return found


def _orphans(house: House) -> list[str]:
    """Processes whose parents are gone."""
    until = time.monotonic() + _QUIET
    while True:
        house_pids, found = house.mains(), []
        for process in started():
            with suppress(psutil.Error):
                if process.pid not in house_pids and not house_pids & {one.pid for one in process.parents()}:
                    found.append(f"{role(process)} {process.pid}")
        if not found or time.monotonic() > until:
            return found
        time.sleep(1.0)


def _stray(house: House, store: Store) -> list[str]:
    """Files that belong to nothing, once everybody had the time to clear away."""
    assert answer(f"{house.server.url}/readyz") == 200
    until = time.monotonic() + 180.0  # sessions end two minutes after their visitors left
    while (found := _files(house, store)) and time.monotonic() < until:
        time.sleep(2.0)
    return found


def _files(house: House, store: Store) -> list[str]:
    home, found = house.server.home, list[Path]()
    with store._engine.connect() as connection:
        audits = set(connection.execute(sa.select(AUDITS.c.id)).scalars())
        tables = [connection.execute(sa.select(one.c.tables)).scalars().all() for one in (AUDITS, DRAFTS)]
    used = {name for of_one in tables for some in of_one for name in some.values()}
    found += [path for path in (home / "audits").iterdir() if path.name not in audits]
    found += [path for path in (home / "tables").iterdir() if path.stem not in used]
    found += list(home.rglob(".staged-*")) + list((home / "tables").glob(".*-*"))
    found += [path for path in (home / "uploads").rglob("*") if path.is_file() and path.name[0] != "."]
    temporary = house.scratch / "tmp"
    found += [path for path in temporary.iterdir() if not path.name.startswith("dask-")]
    return [os.path.relpath(path, house.scratch) for path in found]
