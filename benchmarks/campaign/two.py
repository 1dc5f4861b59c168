"""Two servers, as on two machines, on one PostgreSQL database and a shared folder.

The second one runs under another name of the machine, so neither can ask whether the other's processes live: all that
they know of each other is in the database. People sign in through a proxy, which this program plays.
"""

from __future__ import annotations

import random
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from benchmarks.campaign.databases import Postgres
from benchmarks.campaign.kills import SEED
from benchmarks.campaign.processes import Server
from benchmarks.campaign.session import Session
from benchmarks.campaign.small import numbers, put
from cfad_core.core.errors import CfadError
from cfad_core.runs.access import Viewer
from cfad_core.runs.model import ACTIVE, AuditRecord
from cfad_core.runs.store import Store

_OTHER = ("unshare", "--uts", "sh", "-c", 'hostname the-other-machine && exec "$@"', "sh")
_USER = {"X-Forwarded-User": "ada@example.org"}
_RECOVERED = 180.0  # seconds: a minute of silence, a look every 15 s, and the audit itself
_AUDITS = 6


def run(scratch: Path, size: int = 3, seed: int = SEED) -> dict[str, Any]:
    """Do all of it ``size`` times, each with a new database."""
    rounds = []
    for number in range(size):
        rounds.append(_round(scratch / f"round{number}", random.Random(seed + number)))
        print(rounds[-1], flush=True)
    return {"part": "two", "seed": seed, "rounds": rounds}


def _round(scratch: Path, chance: random.Random) -> dict[str, Any]:
    scratch.mkdir(parents=True)
    postgres, home = Postgres(scratch / "postgres"), scratch / "home"
    settings = {"CFAD_DATABASE_URL": postgres.url, "CFAD_WORKERS": "1", "CFAD_AUTH": "proxy", "CFAD_PROXY": "127.0.0.1"}
    settings |= {"CFAD_ADMINS": "ada@example.org"}
    one = Server(home, scratch / "one.log", settings)
    other = Server(home, scratch / "other.log", settings, prefix=_OTHER)
    servers = (one, other)
    found: dict[str, Any] = {}
    try:
        postgres.make()
        for server in servers:
            server.start(wait=False)
        for server in servers:
            server.wait_until_ready()
        found["both migrated at once"] = "both are ready"
        with Store(home, postgres.url) as store:
            found |= _queue(store)
            found |= _one_killed(store, other, chance)
            other.start()
            found |= _thresholds(store, servers)
            found |= _tokens(store, servers)
        found["errors of the servers"] = [fault for server in servers for fault in server.faults()][:20]
    finally:
        for server in servers:
            server.stop()
        postgres.stop()
    return found


class _Runs:
    """Looks who works on which audit."""

    def __init__(self, store: Store) -> None:
        self.workers: dict[str, list[str]] = {}
        self._store, self._over = store, threading.Event()
        self._thread = threading.Thread(target=self._look, daemon=True)
        self._thread.start()

    def end(self) -> None:
        self._over.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._over.wait(0.05):
            with suppress(sa.exc.SQLAlchemyError, CfadError):
                for record in self._store.find(status="running"):
                    runs = self.workers.setdefault(record.id, [])
                    if record.worker and record.worker not in runs:
                        runs.append(record.worker)


def _queue(store: Store) -> dict[str, Any]:
    """Both work the queue off, and no audit runs twice."""
    runs = _Runs(store)
    audits = [put(store, f"Queue {k}", 0) for k in range(_AUDITS)]
    records = [_settled(store, audit) for audit in audits]
    runs.end()
    hosts = [runs.workers[audit][0].split(":")[0] for audit in audits if runs.workers.get(audit)]
    return {
        "queue": [record.status for record in records],
        "taken by": {host: hosts.count(host) for host in sorted(set(hosts))},
        "ran twice": [audit for audit, workers in runs.workers.items() if len(workers) > 1],
        "different numbers": len({numbers(record.metrics) for record in records}),
    }


def _settled(store: Store, audit: str, seconds: float = 240.0) -> AuditRecord:
    until = time.monotonic() + seconds
    while (record := store.get(audit)).status in ACTIVE and time.monotonic() < until:
        time.sleep(0.2)
    return record


def _one_killed(store: Store, victim: Server, chance: random.Random) -> dict[str, Any]:
    """What the killed one had is settled by the other, which cannot see that it died."""
    audits = [put(store, f"Killed {k}", 0) for k in range(4)]
    until, mine = time.monotonic() + 120.0, list[str]()
    while not mine and time.monotonic() < until:
        mine = [one.id for one in store.find(status="running") if str(one.worker).startswith("the-other")]
        time.sleep(0.1)
    time.sleep(chance.uniform(0.0, 3.0))
    mine = [one.id for one in store.find(status="running") if str(one.worker).startswith("the-other")]
    victim.kill()
    began = time.monotonic()
    records = {audit: _settled(store, audit, _RECOVERED) for audit in audits}
    became = {}
    for audit, record in records.items():
        said = record.status + (f" ({record.error})" if record.error else "")
        if record.status == "interrupted":
            store.requeue(audit)
            again = _settled(store, audit)
            said += f", {again.status} when started again"
        became[audit] = said
    return {
        "of the one that was killed": [became[audit] for audit in mine],
        "of others meanwhile": [said for audit, said in became.items() if audit not in mine],
        "settled after, s": round(time.monotonic() - began),
    }


def _thresholds(store: Store, servers: tuple[Server, Server]) -> dict[str, str]:
    """What is saved on one server is there on the other, on a page that is open already."""
    audit = store.find(status="done", limit=1)[0].id
    one, other = (Session(server.url, "Threshold", _USER, audit=audit) for server in servers)
    with one, other:
        for visitor in (one, other):
            visitor.open()
        before = "Not saved yet" in other.said()
        one.press("Save this threshold")
        other.open()
        after = "Saved with this audit" in other.said()
        wrong = [*one.exceptions, *other.exceptions]
    return {"threshold": "appears on the other" if before and after and not wrong else f"{before}, {after}, {wrong}"}


def _tokens(store: Store, servers: tuple[Server, Server]) -> dict[str, str]:
    """A token that is made counts on both; revoked, on none."""
    ada = store.seen_by(Viewer("ada@example.org", role="admin"))
    secret = ada.make_token("campaign", "viewer", 1)
    good = [_measured(server, secret) for server in servers]
    ada.revoke(ada.tokens()[0].id)
    bad = [_measured(server, secret) for server in servers]
    return {"token": f"made: {good}; revoked: {bad}"}


def _measured(server: Server, token: str) -> int:
    request = urllib.request.Request(f"{server.url}/metrics", headers={"Authorization": f"Bearer {token}", **_USER})
    try:
        with urllib.request.build_opener(urllib.request.ProxyHandler({})).open(request, timeout=10) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        return error.code
