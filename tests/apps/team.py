"""A team with an audit of one of them, and the API that serves them, without a network."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd
import sqlalchemy as sa
from starlette.applications import Starlette
from starlette.testclient import TestClient
from starlette.types import ASGIApp

from cfad_core.apps.api.app import PREFIX, mounted
from cfad_core.apps.api.services import Services
from cfad_core.apps.server.guard import Guard
from cfad_core.apps.server.measures import Measures
from cfad_core.apps.server.routes import watching_routes
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.audit.pending_files import AnswerForm
from cfad_core.core.config import AskedDetector
from cfad_core.core.errors import CfadError
from cfad_core.core.progress import Progress
from cfad_core.data.readers import first_lines, read_table
from cfad_core.data.tables import MappedTable, Tables, write_mapped
from cfad_core.runs.access import Share, Viewer
from cfad_core.runs.executor import perform
from cfad_core.runs.reading import FileRead, Reader
from cfad_core.runs.store import Store
from cfad_core.runs.team_tables import TOKENS
from tests.apps.pages import QUICK, ROLES, people

TEAM = {
    "owner": Viewer("anna"),
    "reader": Viewer("ben"),
    "tuner": Viewer("cleo"),
    "stranger": Viewer("dora"),
    "viewer": Viewer("vera", role="viewer"),
    "admin": Viewer("adam", role="admin"),
}
SECRET = "Planted name of an audit"
ASKS = QUICK.replace(methods=("pca",), subsamples=4, asked=AskedDetector(name="theirs"))
MOST_BYTES = 2_000_000


@dataclass(frozen=True)
class World:
    """A store of a team.

    Attributes
    ----------
    done : an audit of ``owner`` that asked their detector and has its answers, shared with reader, viewer and tuner
    tokens : by who it is; ``limited`` is the owner's that may only read
    bad : tokens that are good for nothing, by why
    """

    home: Path
    done: str
    tokens: Mapping[str, str]
    bad: Mapping[str, str]

    def at(self, home: Path) -> World:
        """The same in a copy of its folder."""
        return dataclasses.replace(self, home=home)


def make_world(home: Path) -> World:
    with Store(home) as store:
        for viewer in TEAM.values():
            store.arrive(viewer)
        owner = store.seen_by(TEAM["owner"])
        done = owner.create(Tables.of(people()), ROLES, ASKS, name=SECRET, source="planted.csv")
        work(store, done)
        owner.answer(done, answers(store, done), AnswerForm("anomalous"))
        work(store, done)
        for who, may in (("reader", "read"), ("viewer", "tune"), ("tuner", "tune")):
            owner.share(done, Share("person", TEAM[who].name, "tune" if may == "tune" else "read"))
        tokens = {who: store.seen_by(viewer).make_token(who, viewer.role, 30) for who, viewer in TEAM.items()}
        tokens["limited"] = owner.make_token("limited", "viewer", 30)
        bad = {why: owner.make_token(why, "auditor", 30) for why in ("revoked", "expired")}
        bad["of nobody"] = store.make_token("of nobody", "admin", 30)  # made where nobody signed in
        owner.revoke(bad["revoked"].split("_")[1])
        with store._engine.begin() as connection:
            expired = TOKENS.c.id == bad["expired"].split("_")[1]
            connection.execute(sa.update(TOKENS).where(expired).values(expires=1.0))
    return World(home, done, tokens, {**bad, "unknown": f"cfad_{'0' * 16}_{'0' * 64}", "garbage": "x y", "none": ""})


def work(store: Store, audit: str) -> None:
    """As a job does."""
    record = store.claim("me", audit)
    assert record is not None
    metrics = perform(Progress(), str(store.home), store.url, audit)
    if metrics is None:
        store.wait(audit)
    else:
        store.finish(audit, metrics)


def answers(store: Store, audit: str) -> pd.DataFrame:
    """What a detector says of the rows it was asked about."""
    batch = store.questions(audit).batch
    return pd.DataFrame({"row_id": batch["row_id"], "score": batch["debt"].abs()})


class ReaderHere(Reader):
    """Reads files in this process: the tests of ``runs`` try the one that does not."""

    def read(self, path: Path, name: str, sheet: str | None = None, *, header: bool = True, **_: Any) -> FileRead:
        try:
            write_mapped(read_table(path, name=name, sheet=sheet, header=header), path.with_suffix(".arrow"))
            return FileRead(MappedTable(path.with_suffix(".arrow")), begins=first_lines(path, name=name))
        except CfadError as error:
            return FileRead(None, problem=str(error))


def served(store: Store, sign_in: SignIn | None = None, reader: Reader | None = None) -> ASGIApp:
    """All that is beside the pages, behind the guard."""
    sign_in, uploads = SignIn("oidc") if sign_in is None else sign_in, store.home / "uploads"
    reads = ReaderHere(uploads, ahead=False) if reader is None else reader
    measures = Measures(lambda: store)
    services = Services(lambda: store, lambda: reads, lambda: uploads, lambda: 2, sign_in.is_team, MOST_BYTES)
    routes = [*watching_routes(lambda: store, measures, sign_in), mounted(services)]
    return Guard(Starlette(routes=routes), sign_in, measures)


def asking(app: ASGIApp, token: str) -> TestClient:
    """A program that shows this token; addresses are those below ``PREFIX``."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    return TestClient(app, f"http://server.example{PREFIX}", headers=headers, raise_server_exceptions=False)
