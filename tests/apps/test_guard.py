"""What every request passes through."""

from __future__ import annotations

import json
from ipaddress import ip_network
from pathlib import Path

import pytest
from prometheus_client.parser import text_string_to_metric_families
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route, WebSocketRoute
from starlette.testclient import TestClient
from starlette.websockets import WebSocket, WebSocketDisconnect

from cfad_core.apps.server.guard import Guard
from cfad_core.apps.server.measures import Measures
from cfad_core.apps.server.sign_in import SignIn
from cfad_core.runs.store import Store

ALONE, OIDC = SignIn(), SignIn("oidc")
PROXY = SignIn("proxy", proxies=(ip_network("10.0.0.5"),))
LIE = {"X-Forwarded-User": "root", "x-forwarded-groups": "leads", "X-Request-Id": "12345678"}


def _heard(request: Request) -> Response:
    answer = JSONResponse(dict(request.headers))
    answer.set_cookie("session", "s")
    answer.headers["x-frame-options"] = "ALLOWALL"
    return answer


def _broken(_: Request) -> Response:
    raise ValueError("a cell")


async def _listening(socket: WebSocket) -> None:
    await socket.accept()
    await socket.send_json(dict(socket.headers))
    await socket.close()


@pytest.fixture
def measures(tmp_path: Path) -> Measures:
    return Measures(lambda: Store(tmp_path / "home"))


def visit(sign_in: SignIn, measures: Measures, peer: str = "203.0.113.9", scheme: str = "http") -> TestClient:
    """Somebody at an address who asks a guarded program that says what it heard."""
    routes = [Route(path, _heard) for path in ("/", "/healthz", "/readyz", "/metrics", "/media/secret.csv")]
    app = Starlette(routes=[*routes, Route("/broken", _broken), WebSocketRoute("/stream", _listening)])
    guarded = Guard(app, sign_in, measures)
    return TestClient(guarded, f"{scheme}://server.example", raise_server_exceptions=False, client=(peer, 1))


@pytest.mark.parametrize("sign_in", [ALONE, OIDC], ids=lambda one: one.mode)
def test_nobody_says_themselves_who_they_are(sign_in: SignIn, measures: Measures) -> None:
    client = visit(sign_in, measures)
    heard = client.get("/", headers=LIE).json()
    with client.websocket_connect("/stream", headers=LIE) as socket:
        streamed = socket.receive_json()
    for one in (heard, streamed):
        assert {"x-forwarded-user", "x-forwarded-groups"} & set(one) == set()
        assert one["x-request-id"] != "12345678"


def test_the_proxy_says_who_somebody_is(measures: Measures) -> None:
    client = visit(PROXY, measures, "10.0.0.5")
    heard = client.get("/", headers=LIE).json()
    with client.websocket_connect("/stream", headers=LIE) as socket:
        assert socket.receive_json()["x-forwarded-user"] == "root"
    assert (heard["x-forwarded-user"], heard["x-forwarded-groups"]) == ("root", "leads")
    assert heard["x-request-id"] == "12345678"


@pytest.mark.parametrize("peer", ["10.0.0.6", "127.0.0.1", "testclient"])
def test_only_the_proxy_gets_in(peer: str, measures: Measures) -> None:
    client = visit(PROXY, measures, peer)
    lies = LIE | {"X-Forwarded-For": "10.0.0.5", "Forwarded": "for=10.0.0.5"}
    refused = client.get("/", headers=lies)
    assert (refused.status_code, refused.text) == (403, "This server is reached through its proxy only.\n")
    with pytest.raises(WebSocketDisconnect), client.websocket_connect("/stream", headers=lies):
        pass
    for path in ("/healthz", "/readyz", "/metrics"):
        heard = client.get(path, headers=lies)
        assert heard.status_code == 200
        assert "x-forwarded-user" not in heard.json()


@pytest.mark.parametrize(
    ("origin", "gets_in"),
    [
        ("http://server.example", True),
        ("", True),  # a program, which brings no cookies of anybody
        ("http://server.example:8501", False),
        ("http://localhost", False),
        ("http://server.example.evil.example", False),
        ("null", False),
    ],
)
def test_pages_of_other_sites_get_no_stream(origin: str, gets_in: bool, measures: Measures) -> None:
    client, headers = visit(OIDC, measures), {"Origin": origin} if origin else {}
    place = "ws://server.example/stream"
    if gets_in:
        with client.websocket_connect(place, headers=headers) as socket:
            assert socket.receive_json()["host"] == "server.example"
    else:
        with pytest.raises(WebSocketDisconnect), client.websocket_connect(place, headers=headers):
            pass


def test_every_request_has_an_id_of_its_own(measures: Measures) -> None:
    client = visit(ALONE, measures)
    answers = [client.get("/") for _ in range(3)]
    ids = [answer.headers["x-request-id"] for answer in answers]
    assert len(set(ids)) == 3
    assert [answer.json()["x-request-id"] for answer in answers] == ids


@pytest.mark.parametrize("given", ["short", "a" * 65, "12345678\t", 'x","level":"'])
def test_an_id_that_would_spoil_the_log_is_replaced(given: str, measures: Measures) -> None:
    heard = visit(PROXY, measures, "10.0.0.5").get("/", headers={"X-Request-Id": given}).json()
    assert len(heard["x-request-id"]) == 32


def test_answers_carry_safety_headers_once(measures: Measures) -> None:
    for path in ("/", "/nowhere", "/broken"):
        headers = visit(ALONE, measures).get(path).headers
        assert headers.get_list("x-frame-options") == ["SAMEORIGIN"]
        assert headers["x-content-type-options"] == "nosniff"
        policy = dict(part.split(" ", 1) for part in headers["content-security-policy"].split("; "))
        assert policy["default-src"] == "'self'"
        assert policy["script-src"] == "'self' blob:"
        assert not [rule for rule in policy.values() if "http" in rule or "*" in rule]
        assert "strict-transport-security" not in headers


def test_scripts_inside_pages_run_only_if_they_are_named(measures: Measures) -> None:
    guarded = Guard(Starlette(), ALONE, measures, scripts=["window.got = 1"])
    policy = TestClient(guarded).get("/").headers["content-security-policy"]
    assert policy.endswith("; script-src 'self' blob: 'sha256-vBDwem8uRtZbYyhYJg0QV+b3fxOpEsC1lCk4+20Ocws='")


def test_what_came_encrypted_stays_so(measures: Measures) -> None:
    assert "Secure" not in visit(ALONE, measures).get("/").headers["set-cookie"]
    assert "Secure" not in visit(ALONE, measures).get("/", headers={"X-Forwarded-Proto": "https"}).headers["set-cookie"]
    direct = visit(ALONE, measures, scheme="https").get("/")
    proxied = visit(PROXY, measures, "10.0.0.5").get("/", headers={"X-Forwarded-Proto": "https"})
    for answer in (direct, proxied):
        assert answer.headers["set-cookie"].endswith("; Secure")
        assert "strict-transport-security" in answer.headers


def test_requests_are_counted_and_written_down(measures: Measures, caplog: pytest.LogCaptureFixture) -> None:
    client = visit(ALONE, measures)
    caplog.set_level("INFO", "cfad_core.server")
    caplog.handler.setFormatter(None)
    for path in ("/?cell=4711", "/healthz", "/media/secret.csv", "/broken"):
        client.get(path)
    written = [vars(record)["fields"] for record in caplog.records if record.name == "cfad_core.server"]
    assert [(one["path"], one["status"]) for one in written] == [("/", 200), ("/media/...", 200), ("/broken", 500)]
    assert "4711" not in json.dumps(written)
    counts = {
        (sample.name, *sample.labels.values()): sample.value
        for family in text_string_to_metric_families(measures.text().decode())
        for sample in family.samples
    }
    assert counts["cfad_requests_total", "2xx"] == 3
    assert counts["cfad_requests_total", "5xx"] == 1
    assert counts["cfad_errors_total", "request"] == 1
