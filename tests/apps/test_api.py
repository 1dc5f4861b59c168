"""What the API answers: audits in words and numbers, files, and one shape for whatever is wrong."""

from __future__ import annotations

import errno
import io
import json
import logging
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import sqlalchemy as sa
from starlette.testclient import TestClient
from starlette.types import Message

from cfad_core.apps.api import files
from cfad_core.core.errors import CfadError, InvalidArtifactError
from cfad_core.runs.allowance import Allowance
from cfad_core.runs.store import Store
from tests.apps.pages import people
from tests.apps.team import MOST_BYTES, SECRET, TEAM, World, answers, asking, served

NEW = {"name": "New", "sensitive": ["group"], "label": "fraud", "anomaly": "yes", "methods": ["pca"], "subsamples": 0}


@pytest.fixture
def owner(world: World, team_store: Store) -> TestClient:
    return asking(served(team_store), world.tokens["owner"])


def bring(client: TestClient, content: bytes | str, file: str = "people.csv", **changes: Any) -> Any:
    sent = {"table": (file, content)}
    return client.post("audits", files=sent, data={"request": json.dumps(NEW | changes)})


def deeds(store: Store, audit: str) -> list[tuple[str, str, str, str]]:
    return [(one.who, one.via, one.deed, one.about) for one in store.log(audit=audit)]


def test_an_audit_of_an_uploaded_table(owner: TestClient, team_store: Store) -> None:
    table = people().assign(number=range(1000, 1400))
    made = bring(owner, table.to_csv(index=False), "../../people .csv")
    assert made.status_code == 201
    found = made.json()
    assert (found["status"], found["owner"], found["source"], found["may"]) == ("queued", "anna", "people .csv", "own")
    assert found["queue"]["place"] == 1
    assert "info: Left out, as suggested ('ignore' says otherwise): number." in found["remarks"]
    assert any("Taken to have no causes in the table" in remark and "age" in remark for remark in found["remarks"])
    record = team_store.get(found["id"])
    assert record.roles.ignore == ("number",)
    assert record.config.knowledge.roots == ("age",)
    assert list((team_store.home / "uploads").glob("*/upload*")) == []
    assert deeds(team_store, found["id"]) == [("anna", "api", "made", "New")]
    assert owner.get(f"audits/{found['id']}").json() == {k: v for k, v in found.items() if k != "remarks"} | {
        "queue": owner.get(f"audits/{found['id']}").json()["queue"]
    }


@pytest.mark.slow
def test_people_to_judge_and_their_twins_come_along(owner: TestClient, team_store: Store) -> None:
    table, request = people().to_csv(index=False), json.dumps(NEW)
    alone = owner.post(
        "audits", files={"table": ("t.csv", table), "test_counterfactual": ("c.csv", table)}, data={"request": request}
    )
    assert (alone.status_code, alone.json()["message"]) == (
        422,
        "True twins are those of the people in 'test'; send both, or neither.",
    )
    both = {name: (f"{name}.csv", table) for name in ("table", "test", "test_counterfactual")}
    made = owner.post("audits", files=both, data={"request": request})
    assert made.status_code == 201
    assert set(team_store.get(made.json()["id"]).tables) == {"table", "test", "test_counterfactual"}


def test_a_first_line_that_looks_like_data_is_remarked(owner: TestClient) -> None:
    table = people()[["group", "income", "debt"]]
    plain: dict[str, Any] = {"label": None, "anomaly": None}
    text = table.to_csv(index=False, header=False)
    doubted = bring(owner, text, sensitive=[str(table["group"].iloc[0])], **plain).json()["remarks"]
    assert [remark for remark in doubted if remark.endswith("If it is, send it again with 'header' false.")]
    sure = bring(owner, text, sensitive=["column 1"], header=False, **plain).json()["remarks"]
    assert not [remark for remark in sure if "first line" in remark]


@pytest.mark.parametrize(
    ("content", "name", "changes", "status", "said"),
    [
        (b"", "people.csv", {}, 422, "is empty"),
        (b"\x00\xff" * 400, "people.parquet", {}, 422, "people.parquet"),
        (b"a,b\n1,2\n", "people.exe", {}, 422, "'people.exe' is no table by its name"),
        (None, "people.csv", {"sensitive": ["nowhere"]}, 422, "The sensitive column 'nowhere' is not in the table"),
        (None, "people.csv", {"methods": ["nothing"]}, 400, "nothing"),
        (None, "people.csv", {"knowledge": {"roots": ["nowhere"]}}, 400, "nowhere"),
        (None, "people.csv", {"subsamples": 3}, 400, "Subsamples come in pairs"),
        (None, "people.csv", {"seed": -1}, 422, "request.seed: Input should be greater than or equal to 0."),
        (None, "people.csv", {"unknown": 1}, 422, "request.unknown: Extra inputs are not permitted."),
        (None, "people.csv", {"name": " \n"}, 422, "An audit needs a name."),
    ],
)
def test_what_cannot_be_audited_is_said_in_a_sentence(
    owner: TestClient, content: bytes | None, name: str, changes: dict[str, Any], status: int, said: str
) -> None:
    answer = bring(owner, people().to_csv(index=False).encode() if content is None else content, name, **changes)
    assert (answer.status_code, list(answer.json())) == (status, ["code", "message", "request"])
    assert said in answer.json()["message"]
    assert answer.json()["request"] == answer.headers["x-request-id"]


def test_a_cell_is_in_no_answer_that_refuses_a_form(owner: TestClient) -> None:
    answer = owner.post("audits", files={"table": ("t.csv", "x")}, data={"request": '{"name": ["PLANTED"]}'})
    assert answer.status_code == 422
    assert "PLANTED" not in answer.text


@pytest.mark.slow
def test_a_limit_is_said(owner: TestClient, team_store: Store) -> None:
    team_store.allowance = Allowance(queued=1)
    table = people().to_csv(index=False)
    assert bring(owner, table).status_code == 201
    answer = bring(owner, table)
    assert (answer.status_code, answer.json()["code"]) == (429, "limit-reached")
    assert answer.json()["message"].startswith("You have 1 audit in the queue")


def test_the_list_is_found_in_and_turned_over(owner: TestClient, world: World) -> None:
    for k in range(3):
        bring(owner, people().to_csv(index=False), name=f"New {k}")
    first = owner.get("audits", params={"limit": 2}).json()
    assert ([one["name"] for one in first["audits"]], first["more"]) == (["New 2", "New 1"], True)
    rest = owner.get("audits", params={"limit": 2, "skip": 2}).json()
    assert ([one["name"] for one in rest["audits"]], rest["more"]) == (["New 0", SECRET], False)
    assert [one["id"] for one in owner.get("audits", params={"status": "done"}).json()["audits"]] == [world.done]
    assert owner.get("audits", params={"owner": "ben"}).json()["audits"] == []
    assert owner.get("audits", params={"status": "nothing"}).status_code == 422


@pytest.mark.slow
def test_what_leaves_is_in_the_log(owner: TestClient, world: World, team_store: Store) -> None:
    for path in (
        "results",
        "results/theirs",
        "audit.json",
        "gate?max_changing_ratio=1",
        "rows-to-score?format=parquet",
    ):
        assert owner.get(f"audits/{world.done}/{path}").status_code == 200, path
    assert owner.get(f"audits/{world.done}/report", params={"format": "model-card"}).status_code == 200
    assert [
        (deed, about) for who, via, deed, about in deeds(team_store, world.done)[:6] if (who, via) == ("anna", "api")
    ] == [
        ("downloaded", "model_card.md"),
        ("downloaded", "rows-to-score.parquet"),
        ("opened", "gate"),
        ("downloaded", "audit.json"),
        ("opened", "results of a detector"),
        ("opened", "results"),
    ]


@pytest.mark.slow
def test_files_are_to_be_kept_and_not_opened_as_a_page(owner: TestClient, world: World) -> None:
    answer = owner.get(f"audits/{world.done}/report", params={"format": "html"})
    assert answer.headers["content-disposition"].startswith(
        "attachment; filename*=utf-8''planted-name-of-an-audit-report"
    )
    assert answer.headers["content-type"] == "text/html; charset=utf-8"
    assert (answer.headers["cache-control"], answer.headers["x-content-type-options"]) == ("no-store", "nosniff")
    rows = owner.get(f"audits/{world.done}/rows-to-score")
    assert "row_id" in pd.read_csv(io.BytesIO(rows.content)).columns


def test_an_export_leaves_nothing_behind(owner: TestClient, world: World, team_store: Store) -> None:
    assert owner.get(f"audits/{world.done}/export").headers["content-type"] == "application/zip"
    assert [path for path in (team_store.home / "uploads").iterdir() if path.is_dir()] == []


def test_an_audit_without_a_result_yet(owner: TestClient) -> None:
    audit = bring(owner, people().to_csv(index=False)).json()["id"]
    for path in ("results", "results/pca", "audit.json", "gate?reliable=true", "report", "export"):
        answer = owner.get(f"audits/{audit}/{path}")
        assert (answer.status_code, answer.json()["code"]) == (409, "conflict"), path
        assert answer.json()["message"] == f"Audit '{audit}' is queued; only an audit that is done has a result."
    rows = owner.get(f"audits/{audit}/rows-to-score")
    assert (rows.status_code, rows.json()["message"]) == (409, f"Audit '{audit}' is queued and has no rows to score.")
    assert owner.post(f"audits/{audit}/start").status_code == 409


def test_scores_that_do_not_fit_are_refused(owner: TestClient, world: World, team_store: Store) -> None:
    def sent(table: pd.DataFrame, **request: Any) -> Any:
        data = {"request": json.dumps(request)}
        return owner.post(
            f"audits/{world.done}/scores", files={"scores": ("s.csv", table.to_csv(index=False))}, data=data
        )

    given = answers(team_store, world.done)
    assert sent(given.head(5), high_means="normal").status_code == 422
    assert sent(given).json()["message"] == "Say what a high score means: 'high_means' is 'anomalous', or 'normal'."
    assert sent(given, high_means="odd").status_code == 422
    flags = given.assign(score=(given["score"] > 1.0).astype(int))
    assert sent(flags).json()["status"] == "queued"
    busy = sent(flags)
    assert (busy.status_code, busy.json()["message"]) == (
        409,
        f"Audit '{world.done}' is queued; wait until it is done.",
    )


def test_no_place_on_the_server_is_told(
    owner: TestClient, world: World, team_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    (team_store.folder(world.done) / "audit.json").write_text("{", "utf-8")
    for path in ("results/theirs", "report", "export", "gate?reliable=true"):
        answer = owner.get(f"audits/{world.done}/{path}")
        assert answer.status_code == 404, path
        assert str(world.home) not in answer.text, path
        assert str(Path.cwd()) not in answer.text, path
    for error, status in ((CfadError(f"'{world.home}/x' is full"), 500), (InvalidArtifactError("A sentence."), 404)):
        monkeypatch.setattr(files, "export_audit", _raising(error))
        answer = owner.get(f"audits/{world.done}/export")
        assert (answer.status_code, str(world.home) in answer.text) == (status, False)


def _raising(error: Exception) -> Any:
    def raises(*_: object, **__: object) -> None:
        raise error

    return raises


def test_what_nobody_foresaw_says_no_more_than_its_id(
    owner: TestClient, world: World, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(files, "export_audit", _raising(ValueError("a cell: PLANTED")))
    with caplog.at_level(logging.INFO):
        answer = owner.get(f"audits/{world.done}/export")
    assert (answer.status_code, answer.json()["code"]) == (500, "broken")
    assert answer.json()["request"] == answer.headers["x-request-id"]
    assert "PLANTED" not in answer.text
    assert "PLANTED" not in caplog.text


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (sa.exc.OperationalError("select PLANTED", {}, Exception("PLANTED")), "The database of the audits does not"),
        (OSError(errno.ENOSPC, "PLANTED"), "The server's disk is full."),
    ],
)
@pytest.mark.parametrize("where", [(files, "export_audit"), (Store, "viewer_of")])
def test_an_outage_is_no_fault_of_the_request(
    error: Exception,
    words: str,
    where: tuple[Any, str],
    owner: TestClient,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(*where, _raising(error))
    answer = owner.get(f"audits/{world.done}/export")
    assert (answer.status_code, answer.json()["code"]) == (503, "not-now")
    assert int(answer.headers["retry-after"]) > 0
    assert answer.json()["message"].startswith(words)
    assert "PLANTED" not in answer.text


def test_unknown_addresses_and_methods_answer_in_the_same_shape(owner: TestClient) -> None:
    missing, wrong = owner.get("nothing"), owner.put("audits")
    assert (missing.status_code, missing.json()["code"]) == (404, "not-found")
    assert (wrong.status_code, wrong.json()) == (
        405,
        {"code": "no-such-method", "message": "PUT is not for this.", "request": wrong.headers["x-request-id"]},
    )
    assert wrong.headers["allow"] == "GET, POST"


def test_a_slip_of_the_pen_in_a_bound_is_no_gate_that_passes(owner: TestClient, world: World) -> None:
    answer = owner.get(f"audits/{world.done}/gate", params={"max_flag_rate_gap": 1, "max_changing_ration": 0})
    assert (answer.status_code, answer.json()["message"]) == (
        422,
        "This address knows no parameter 'max_changing_ration'; it knows: max_changing_ratio, max_flag_rate_gap, "
        "reliable, upper, method.",
    )
    assert owner.get("me", params={"x": 1}).json()["message"].endswith("it knows none.")
    assert owner.get(f"audits/{world.done}/results/%0Atheirs").json()["code"] == "invalid-setting"


def test_what_is_announced_too_large_is_refused_before_it_is_read(owner: TestClient, world: World) -> None:
    answer = owner.patch(f"audits/{world.done}", content=b"x", headers={"Content-Length": "1048577"})
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
    assert bring(owner, b"x" * (MOST_BYTES + 2**20)).status_code == 413


def test_what_comes_without_a_length_is_counted(owner: TestClient, world: World) -> None:
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        yield b'--b\r\nContent-Disposition: form-data; name="table"; filename="t.csv"\r\n\r\n'
        for _ in range(100):
            sent += 1
            yield b"x" * 10**6

    answer = owner.post("audits", content=pieces(), headers={"Content-Type": "multipart/form-data; boundary=b"})
    assert (answer.status_code, answer.json()["code"]) == (413, "too-large")
    text = owner.patch(f"audits/{world.done}", content=(b"x" * 10**5 for _ in range(100)))
    assert text.status_code == 413


@pytest.mark.anyio
async def test_nothing_of_a_stranger_is_read(team_store: Store) -> None:
    """Who shows no token is refused before the server has taken a byte of what they send."""
    answered: list[Message] = []

    async def receive() -> Message:
        raise AssertionError("read")

    async def send(message: Message) -> None:
        answered.append(message)

    headers = [(b"content-type", b"multipart/form-data; boundary=b"), (b"content-length", b"100")]
    scope = {"type": "http", "method": "POST", "path": "/api/v1/audits", "query_string": b"", "headers": headers}
    await served(team_store)(scope | {"client": ("10.0.0.1", 1), "server": ("s", 80), "scheme": "http"}, receive, send)
    assert answered[0]["status"] == 401


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.mark.slow
def test_long_requests_let_others_through(world: World, team_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """However many files are being written, who asks whether the server lives has an answer at once."""
    begun, end = threading.Semaphore(0), threading.Event()

    def slow(*_: object) -> None:
        begun.release()
        assert end.wait(30)
        raise InvalidArtifactError("It ended.")

    monkeypatch.setattr(files, "export_audit", slow)
    app, statuses = served(team_store), list[int]()
    with TestClient(app, "http://server.example") as client:  # one loop for all, as a server has
        shown = {"Authorization": f"Bearer {world.tokens['owner']}"}

        def ask() -> None:
            statuses.append(client.get(f"/api/v1/audits/{world.done}/export", headers=shown).status_code)

        threads = [threading.Thread(target=ask) for _ in range(60)]  # more than there are threads for routes
        for thread in threads:
            thread.start()
        for _ in range(4):
            assert begun.acquire(timeout=30)
        try:
            assert client.get("/healthz").text == "ok\n"
            assert client.get("/api/v1/me", headers=shown).json()["name"] == "anna"
            assert statuses == []
        finally:
            end.set()
        for thread in threads:
            thread.join(30)
    assert statuses == [404] * 60


def test_the_document_describes_what_is_sent(owner: TestClient) -> None:
    document = asking_nobody(owner).get("openapi.json").json()
    assert document["servers"] == [{"url": "/api/v1"}]
    assert set(document["components"]["schemas"]) >= {"NewAudit", "Answers", "SensitiveColumn", "Problem"}
    field = document["components"]["schemas"]["Body_make_audits_post"]["properties"]["request"]
    assert field["contentSchema"] == {"$ref": "#/components/schemas/NewAudit"}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            assert operation["security"], (path, method)
            assert operation["description"], (path, method)
            assert operation["responses"]["401"]["content"]["application/json"]["schema"]["$ref"].endswith("/Problem")
    assert "cdn" not in json.dumps(document)


def asking_nobody(client: TestClient) -> TestClient:
    return TestClient(client.app, str(client.base_url))


@pytest.mark.parametrize("path", ["docs", "redoc", "docs/oauth2-redirect"])
def test_no_page_of_scripts_from_elsewhere(owner: TestClient, path: str) -> None:
    assert owner.get(path).status_code == 404


@pytest.mark.slow
def test_my_tokens_are_mine(world: World, team_store: Store) -> None:
    for who in ("admin", "owner"):
        found = asking(served(team_store), world.tokens[who]).get("tokens").json()
        labels = {one["label"]: one["state"] for one in found}
        assert labels == (
            {"admin": "good"}
            if who == "admin"
            else {"limited": "good", "owner": "good", "revoked": "revoked", "expired": "expired"}
        )
        assert not any("digest" in one or "secret" in one for one in found)
    mine = asking(served(team_store), world.tokens["admin"])
    other = world.tokens["reader"].split("_")[1]
    assert mine.delete(f"tokens/{other}").json()["message"] == f"You have no token '{other}'."
    limited = asking(served(team_store), world.tokens["limited"])
    assert limited.delete(f"tokens/{world.tokens['limited'].split('_')[1]}").status_code == 204


def test_who_asks_is_written_down_with_the_request(owner: TestClient, world: World, team_store: Store) -> None:
    answer = owner.get(f"audits/{world.done}/results")
    entry = next(team_store.log(audit=world.done))
    assert (entry.who, entry.via, entry.request) == (TEAM["owner"].name, "api", answer.headers["x-request-id"])
