"""What Prometheus reads, and the other addresses for those who watch over a server."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
import sqlalchemy as sa
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.testclient import TestClient

from cfad_core.apps.server.measures import Measures
from cfad_core.apps.server.routes import watching_routes
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.core.errors import CfadError
from cfad_core.data.tables import Tables
from cfad_core.runs.access import Viewer
from cfad_core.runs.store import Store
from tests.apps.pages import QUICK, ROLES, people

ANNA = Viewer("anna", role="admin")


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store(tmp_path / "home")


def _gone() -> Store:
    raise CfadError("The database 'postgresql://cfad@db/cfad' does not answer.")


def watched(store: Callable[[], Store], sign_in: SignIn) -> TestClient:
    return TestClient(Starlette(routes=[*watching_routes(store, Measures(store), sign_in)]))


def counts_in(text: str) -> dict[tuple[str, ...], float]:
    return {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_audits_and_the_queue_are_counted(store: Store) -> None:
    client = watched(lambda: store, SignIn())
    assert counts_in(client.get("/metrics").text)["cfad_queue_length",] == 0
    store.create(Tables.of(people()), ROLES, QUICK, name="secret name")
    text = client.get("/metrics").text
    found = counts_in(text)
    assert found["cfad_queue_length",] == found["cfad_audits", "queued"] == 1
    assert found["cfad_audits", "done"] == 0
    assert found["cfad_queue_oldest_seconds",] > 0
    assert found["cfad_store_up",] == 1
    assert "secret name" not in text


def test_a_page_that_broke_is_counted(store: Store) -> None:
    measures = Measures(lambda: store)
    measures.page_broke(ValueError("a cell"))
    found = counts_in(measures.text().decode())
    assert (found["cfad_errors_total", "page"], found["cfad_errors_total", "request"]) == (1, 0)


def test_a_store_that_does_not_answer_is_said_without_where_it_is() -> None:
    client = watched(_gone, SignIn())
    assert client.get("/healthz").text == "ok\n"
    ready = client.get("/readyz")
    assert (ready.status_code, ready.text) == (503, "The store does not answer.\n")
    metrics = client.get("/metrics").text
    assert counts_in(metrics)["cfad_store_up",] == 0
    assert "cfad_audits{" not in metrics


def test_a_database_that_is_broken_is_no_error_of_the_request(store: Store) -> None:
    store.arrive(ANNA)
    bearer = {"Authorization": f"Bearer {store.seen_by(ANNA).make_token('Prometheus', 'viewer', 30)}"}
    with store._engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE audits RENAME TO gone"))
    for sign_in in (SignIn(), SignIn("oidc")):
        client = watched(lambda: store, sign_in)
        assert client.get("/readyz").status_code == 503
        assert counts_in(client.get("/metrics", headers=bearer).text)["cfad_store_up",] == 0
    with store._engine.begin() as connection:
        connection.execute(sa.text("ALTER TABLE tokens RENAME TO gone_too"))
    answer = watched(lambda: store, SignIn("oidc")).get("/metrics", headers=bearer)
    assert (answer.status_code, answer.text) == (503, "The store does not answer.\n")


def test_the_store_answers(store: Store) -> None:
    client = watched(lambda: store, SignIn())
    assert (client.get("/readyz").status_code, client.get("/healthz").status_code) == (200, 200)


@pytest.mark.parametrize("shown", ["", "Bearer ", "Bearer cfad_1", "Basic YTpi"])
def test_where_people_sign_in_measures_need_a_token(store: Store, shown: str) -> None:
    client = watched(lambda: store, SignIn("oidc"))
    answer = client.get("/metrics", headers={"Authorization": shown} if shown else {})
    assert (answer.status_code, answer.headers["www-authenticate"]) == (401, "Bearer")
    assert "cfad_audits" not in answer.text


def test_any_good_token_will_do(store: Store) -> None:
    store.arrive(ANNA)
    token = store.seen_by(ANNA).make_token("Prometheus", "viewer", 30)
    client = watched(lambda: store, SignIn("oidc"))
    assert "cfad_audits" in client.get("/metrics", headers={"Authorization": f"Bearer {token}"}).text
