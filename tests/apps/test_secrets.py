"""Secrets and cells that were planted, looked for in all that a server writes and shows."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import httpx
import psutil
import pytest
import sqlalchemy as sa

from cfad_core.data.tables import Tables
from cfad_core.runs.access import Viewer
from cfad_core.runs.executor import wait_for
from cfad_core.runs.store import Store
from tests.apps.browser import Visitor, browser, free_port, served
from tests.apps.pages import QUICK, ROLES
from tests.apps.provider import SECRET, provider, secrets_of
from tests.conftest import make_people
from tests.runs import postgres

pytestmark = pytest.mark.slow

ANNA = Viewer("anna@example.org", role="admin")
PASSWORD, COOKIE, CELL = "PLANTED-password-1", "planted-cookie-secret", "PLANTED-cell-4711"


@pytest.fixture(scope="module")
def database() -> Iterator[str]:
    folder = postgres.binaries()
    if folder is None:
        pytest.skip(postgres.MISSING)
    with postgres.server(folder) as url:
        yield url.replace("cfad@", f"cfad:{PASSWORD}@")


def make_audits(store: Store) -> tuple[str, str]:
    """The ids of an audit that will be done, and of one that will fail."""
    table = Tables.of(make_people(300, seed=0).assign(remark=CELL))
    other = Tables.of(make_people(301, seed=0).assign(remark=CELL))
    roles = dataclasses.replace(ROLES, ignore=("remark",))
    good, bad = (store.create(one, roles, QUICK, name="planted") for one in (table, other))
    store.table_path(other.digests["table"]).write_text(CELL)
    return good, bad


def look_around(visitor: Visitor, good: str, folder: Path) -> Iterator[str]:
    """What the pages show when somebody signs in, brings tables and opens an audit."""
    visitor.open()
    visitor.click("Sign in")
    visitor.page.get_by_role("link", name="Anna", exact=True).click()
    visitor.wait_text("Signed in as anna")
    visitor.wait_idle()
    visitor.go("Data")
    (folder / "broken.xlsx").write_text(CELL)
    visitor.upload(folder / "broken.xlsx")
    visitor.wait_text("This file holds no table that can be read")
    visitor.wait_idle()
    yield visitor.page.content()
    make_people(200, seed=1).assign(remark=CELL).to_csv(folder / "people.csv", index=False)
    visitor.upload(folder / "people.csv")
    visitor.wait_text("What the columns are for")
    yield visitor.page.content()
    visitor.open(f"Threshold?audit={good}")
    visitor.wait_text("sensitive: group")
    yield visitor.page.content()


def break_database(url: str) -> None:
    engine = sa.create_engine(url)
    with engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE audits RENAME TO gone"))
    engine.dispose()


def commands() -> str:
    """The command lines of all processes that were started here."""
    found = []
    for process in psutil.Process().children(recursive=True):
        with suppress(psutil.Error):  # it has just ended
            found += process.cmdline()
    return "\n".join(found)


def test_nothing_says_a_secret_and_no_log_a_cell(database: str, tmp_path: Path) -> None:
    home, port = tmp_path / "home", free_port()
    environment = {"CFAD_AUTH": "oidc", "CFAD_ADMINS": ANNA.name, "CFAD_DATABASE_URL": database, "CFAD_WORKERS": "1"}
    with Store(home, database) as store:
        store.arrive(ANNA)
        token = store.seen_by(ANNA).make_token("planted", "admin", 1)
        good, bad = make_audits(store.seen_by(ANNA))
        with provider({"Anna": {"email": ANNA.name}}) as found, (tmp_path / "log").open("w+b") as log:
            (tmp_path / "secrets.toml").write_text(secrets_of(found, f"http://localhost:{port}"))
            environment["CFAD_SECRETS"] = str(tmp_path / "secrets.toml")
            with served(home, log, port=port, environment=environment) as url, browser() as chromium:
                ended = {audit: wait_for(store, audit, 120.0) for audit in (good, bad)}
                with Visitor(chromium, url) as visitor:
                    shown = [*look_around(visitor, good, tmp_path), commands()]
                    break_database(database)
                    for page in ("", "Saved_audits", f"Threshold?audit={good}"):
                        visitor.open(page)
                        shown.append(visitor.page.content())
                shown.append(httpx.get(f"{url}/readyz").text)
                metrics = httpx.get(f"{url}/metrics", headers={"Authorization": f"Bearer {token}"}).text
    assert (ended[good].status, ended[bad].status) == ("done", "failed")
    assert "cfad_store_up 0" in metrics
    written, audit = (tmp_path / "log").read_text(), (home / "audits" / good / "audit.json").read_text()
    shown += [metrics, written, audit, repr(ended)]
    for secret in (SECRET, COOKIE, PASSWORD, token.rpartition("_")[2]):
        assert not [text for text in shown if secret in text]
    assert re.search(r'"error": "(ProgrammingError|UndefinedTable)"', written)  # what it says is not written down
    assert not [text for text in (CELL, ANNA.name, "does not exist") if text in written]
    assert CELL not in metrics + audit
