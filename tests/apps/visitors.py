"""People who sign in, as pages see them: a trusted proxy says who looks."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import pytest
from streamlit.runtime.context import ContextProxy, StreamlitHeaders
from streamlit.runtime.media_file_manager import MediaFileManager
from streamlit.testing.v1 import AppTest
from streamlit.testing.v1.element_tree import Block, Node

from cfad_core.apps.dashboard import visitor
from cfad_core.audit.statements import Statements
from cfad_core.data.tables import Tables
from cfad_core.runs.access import Role, Viewer
from cfad_core.runs.model import ChosenThreshold
from cfad_core.runs.store import Store
from tests.apps.pages import QUICK, ROLES, ROOT, finish, people

SETTINGS = {"CFAD_AUTH": "proxy", "CFAD_PROXY": "127.0.0.1", "CFAD_ADMINS": "root", "CFAD_AUDITORS": "ada, bob"}
ROLES_OF: Mapping[str, Role] = {"root": "admin", "ada": "auditor", "bob": "auditor", "vera": "viewer"}


@dataclass
class File:
    """A file that a page offers: its name, and what makes it."""

    name: str
    make: Callable[[], bytes]


@dataclass
class Team:
    """Who looks at pages, and which files these offer."""

    files: list[File] = field(default_factory=list)
    _headers: list[tuple[str, str]] = field(default_factory=list)

    def becomes(self, name: str, *groups: str) -> None:
        """From now on pages are seen by somebody of this name and these groups."""
        self._headers = [("X-Forwarded-User", name), ("X-Forwarded-Groups", ",".join(groups))]

    def headers(self) -> StreamlitHeaders:
        return StreamlitHeaders(self._headers)


@contextmanager
def signed_in(monkeypatch: pytest.MonkeyPatch) -> Iterator[Team]:
    """Pages of a server whose proxy says who looks: root, ada and bob, and vera, who only reads."""
    team = Team()
    offered = MediaFileManager.add_deferred

    def offer(manager: MediaFileManager, make: Any, mime: str | None, place: str, name: str = "", **more: Any) -> str:
        team.files.append(File(more.pop("file_name", name), make))
        return offered(manager, make, mime, place, name, **more)

    for name, value in SETTINGS.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(ContextProxy, "headers", property(lambda _: team.headers()))
    monkeypatch.setattr(MediaFileManager, "add_deferred", offer)
    visitor.guarded(is_guarded=True)
    try:
        yield team
    finally:
        visitor.guarded(is_guarded=False)


def seen_by(store: Store, name: str, *groups: str) -> Store:
    """The store as one of them sees it."""
    return store.seen_by(Viewer(name, frozenset(groups), ROLES_OF[name]))


def enter() -> AppTest:
    """Home, where everybody comes in."""
    app = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert not app.exception, app.exception
    return app


def turn_to(app: AppTest, page: str, **query: str) -> AppTest:
    """Another page, in the same session, by its address."""
    app.switch_page("app.py" if page == "app.py" else f"pages/{page}")
    for name in list(app.query_params):
        del app.query_params[name]
    for name, value in query.items():
        app.query_params[name] = value
    app.run()
    assert not app.exception, (page, app.exception)
    return app


def everything(app: AppTest) -> str:
    """All that the server sent for a page: words, tables, charts, pictures, and what widgets hold."""
    return "\n".join(_sent(app._tree))


def _sent(node: Node) -> Iterator[str]:
    yield str(getattr(node, "proto", ""))
    if isinstance(node, Block):
        for child in node.children.values():
            yield from _sent(child)


@dataclass(frozen=True)
class Planted:
    """What ada has, with ``planted`` in every name: audits that are done and in the queue, a draft; and bob's audit."""

    done: str
    queued: str
    draft: str
    bobs: str


def plant(store: Store) -> Planted:
    """Give ada and bob their audits."""
    table = people().rename(columns={"income": "planted income", "job": "planted job"})
    table["group"] = table["group"].map({"a": "planted a", "b": "planted b"})
    table["planted job"] = "planted " + table["planted job"]
    tables, roles = Tables.of(table), dataclasses.replace(ROLES, groups=("planted a", "planted b"))
    config = QUICK.replace(methods=("ae", "cfad"), subsamples=4)
    ada, bob = seen_by(store, "ada"), seen_by(store, "bob")
    done = finish(store, table, roles, config, "Planted audit", owner="ada")
    ada.annotate(done, "planted note")
    ada.state(done, Statements(purpose="planted purpose"))
    ada.choose_threshold(done, ChosenThreshold("cfad", "score", 1.5))
    ada.sign(done, lambda *_: {"report.json": b'"planted"'}, "Planted Signer")
    bobs = finish(store, people(), ROLES, QUICK.replace(methods=("ae",)), "Bob's own", owner="bob")
    of_the_same = ada.create(Tables.of(people()), ROLES, QUICK, name="Planted", source="planted")
    store.claim("test", of_the_same)
    store.stop(of_the_same, "failed", "planted error")
    queued = ada.create(tables, roles, config, name="Planted in the queue", source="planted.csv")
    bob.create(Tables.of(people()), ROLES, QUICK, name="Bob's in the queue")
    draft = ada.keep_draft(tables, {"source": "planted.csv", "roles": None, "known": {}, "origin": ""})
    assert draft is not None
    return Planted(done, queued, draft, bobs)
