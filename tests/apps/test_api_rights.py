"""Everybody at every address of the API: what they may not see is not there, what they may not do is refused."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any, Literal

import pytest
from httpx2 import Response
from starlette.testclient import TestClient

from cfad_core.apps.server.sign_in import SignIn
from cfad_core.runs.store import Store
from tests.apps.pages import people
from tests.apps.team import SECRET, TEAM, World, answers, asking, served

Needs = Literal["nothing", "read", "tune", "own", "maker", "writing token"]


@dataclass(frozen=True)
class Walk:
    """One request, and what it needs."""

    method: str
    path: str
    needs: Needs
    sent: dict[str, Any] = field(default_factory=dict)

    def go(self, client: TestClient, world: World, token: str) -> Response:
        path = self.path.format(audit=world.done, method="theirs", token=token.split("_")[1])
        return client.request(self.method, path.removeprefix("/"), **self.sent)


def _walks(store: Store, world: World) -> list[Walk]:
    """What changes least comes first, the end of the audit last."""
    table = people().to_csv(index=False).encode()
    new = json.dumps({"name": "New", "sensitive": ["group"], "label": "fraud", "anomaly": "yes"})
    scores = answers(store, world.done).to_csv(index=False).encode()
    making = {"files": {"table": ("people.csv", table)}, "data": {"request": new}}
    answering = {"files": {"scores": ("scores.csv", scores)}, "data": {"request": '{"high_means": "anomalous"}'}}
    ben = {"audience": "person", "name": "ben"}
    one = "/audits/{audit}"
    return [
        Walk("GET", "/me", "nothing"),
        Walk("GET", "/tokens", "nothing"),
        Walk("GET", "/audits", "nothing"),
        Walk("POST", "/audits", "maker", making),
        Walk("GET", one, "read"),
        Walk("GET", f"{one}/results", "read"),
        Walk("GET", f"{one}/results/{{method}}", "read"),
        Walk("GET", f"{one}/audit.json", "read"),
        Walk("GET", f"{one}/gate", "read", {"params": {"max_changing_ratio": 0.5}}),
        Walk("GET", f"{one}/report", "read", {"params": {"format": "json"}}),
        Walk("GET", f"{one}/export", "read"),
        Walk("GET", f"{one}/rows-to-score", "read"),
        Walk("PATCH", one, "tune", {"json": {"note": "seen"}}),
        Walk("PATCH", one, "own", {"json": {"name": f"{SECRET} II"}}),
        Walk("GET", f"{one}/shares", "own"),
        Walk("PUT", f"{one}/shares", "own", {"json": {**ben, "may": "read"}}),
        Walk("DELETE", f"{one}/shares", "own", {"params": {"audience": "group", "name": "nobody"}}),
        Walk("POST", f"{one}/start", "own"),
        Walk("POST", f"{one}/restart", "own"),
        Walk("POST", f"{one}/scores", "tune", answering),
        Walk("POST", f"{one}/cancel", "own"),
        Walk("DELETE", one, "own"),
        Walk("DELETE", "/tokens/{token}", "writing token"),
    ]


MAY: dict[str, set[Needs]] = {
    "stranger": {"nothing", "maker", "writing token"},
    "viewer": {"nothing", "read"},  # shared for tuning, which a viewer cannot do
    "limited": {"nothing", "read"},
    "reader": {"nothing", "maker", "read", "writing token"},
    "tuner": {"nothing", "maker", "read", "tune", "writing token"},
    "owner": {"nothing", "maker", "read", "tune", "own", "writing token"},
    "admin": {"nothing", "maker", "read", "tune", "own", "writing token"},
}


def test_the_walk_knows_every_address(world: World, team_store: Store) -> None:
    document = asking(served(team_store), "").get("openapi.json").json()
    routes = {(method.upper(), path) for path, found in document["paths"].items() for method in found}
    assert {(walk.method, walk.path) for walk in _walks(team_store, world)} == routes


@pytest.mark.slow
@pytest.mark.parametrize("who", MAY)
def test_everybody_may_what_they_may(who: str, world: World, team_store: Store) -> None:
    client = asking(served(team_store), world.tokens[who])
    owner = TEAM["owner" if who == "limited" else who]
    other = team_store.seen_by(owner).make_token("another", "viewer", 1)
    for walk in _walks(team_store, world):
        answer = walk.go(client, world, other)
        said = f"{who}: {walk.method} {walk.path}: {answer.status_code} {answer.text[:300]}"
        if walk.needs in MAY[who]:
            assert answer.status_code in (200, 201, 204, 409), said  # 409: not in this state
            if "{audit}" not in walk.path and who == "stranger":
                assert SECRET not in answer.text, said
        elif "{audit}" in walk.path and who == "stranger":
            assert answer.status_code == 404, said
            assert answer.json()["message"] == f"There is no audit '{world.done}'.", said
        else:
            assert answer.status_code == 403, said


@pytest.mark.parametrize("why", ["revoked", "expired", "of nobody", "unknown", "garbage", "none"])
def test_nobody_gets_in_without_a_good_token(why: str, world: World, team_store: Store) -> None:
    client = asking(served(team_store), world.bad[why])
    for walk in _walks(team_store, world):
        answer = walk.go(client, world, world.tokens["owner"])
        assert (answer.status_code, answer.json()["code"]) == (401, "no-token"), walk
        assert answer.headers["www-authenticate"] == "Bearer"
        assert SECRET not in answer.text
    assert team_store.get(world.done).status == "done"


def test_a_token_revoked_a_moment_ago_is_good_for_nothing(world: World, team_store: Store) -> None:
    client = asking(served(team_store), world.tokens["owner"])
    token = client.get("me").json()["token"]
    assert client.delete(f"tokens/{token}").status_code == 204
    assert client.get("me").status_code == 401


def test_a_token_in_an_address_or_a_cookie_is_none(world: World, team_store: Store) -> None:
    token, client = world.tokens["owner"], asking(served(team_store), "")
    assert client.get("me", params={"token": token, "access_token": token}).status_code == 401
    assert client.get("me", headers={"Cookie": f"token={token}; Authorization=Bearer {token}"}).status_code == 401
    assert client.get("me", headers={"Authorization": f"Basic {token}"}).status_code == 401


def test_where_nobody_signs_in_a_token_is_needed_all_the_same(world: World, team_store: Store) -> None:
    alone = served(team_store, SignIn())
    assert asking(alone, "").get("audits").status_code == 401
    me = asking(alone, world.bad["of nobody"]).get("me").json()
    assert (me["name"], me["role"]) == ("", "admin")


def test_a_viewer_that_lost_the_share_sees_nothing_any_more(world: World, team_store: Store) -> None:
    app = served(team_store)
    reader, owner = asking(app, world.tokens["reader"]), asking(app, world.tokens["owner"])
    assert [one["name"] for one in reader.get("audits").json()["audits"]] == [SECRET]
    owner.delete(f"audits/{world.done}/shares", params={"audience": "person", "name": "ben"})
    assert reader.get("audits").json() == {"audits": [], "more": False}
    assert reader.get(f"audits/{world.done}").status_code == 404
