"""The examples of docs/API.md do what the document says."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pandas as pd
import pytest

from cfad_core import Client
from cfad_core.apps.api import asked
from cfad_core.runs.store import Store
from tests.apps.pages import QUICK, ROOT
from tests.apps.team import World, answers, asking, served, work
from tests.client.transport import InProcess

DOCUMENT = (ROOT / "docs" / "API.md").read_text(encoding="utf-8")
WITH_VALUE = {"-H": "headers", "-F": "form", "-X": "method", "-d": "body", "-o": "out"}


def commands() -> list[list[str]]:
    """Every curl command of the document, as a shell would split it."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```$", DOCUMENT, flags=re.DOTALL | re.MULTILINE)
    lines = re.sub(r"\\\n\s*", " ", "\n".join(text for language, text in blocks if not language))
    words = [shlex.split(line) for line in re.split(r"\n(?=curl |export )", lines)]
    return [command for command in words if command[0] == "curl"]


def request_of(command: list[str], variables: dict[str, str], folder: Path) -> dict[str, Any]:
    """What curl would send."""
    found: dict[str, Any] = {"headers": {}, "files": {}, "data": {}}
    rest = iter(command[1:])
    for word in rest:
        for name, value in variables.items():
            word = word.replace(f"${name}", value)  # longest names first
        if word == "--fail-with-body":
            continue
        if word not in WITH_VALUE:
            found["url"] = word
            continue
        value = next(rest)
        for name, said in variables.items():
            value = value.replace(f"${name}", said)
        if word == "-H":
            name, _, said = value.partition(": ")
            found["headers"][name] = said
        elif word == "-F":
            name, _, said = value.partition("=")
            part = {name: (Path(said[1:]).name, (folder / said[1:]).read_bytes())} if said.startswith("@") else None
            found["files"].update(part or {})
            found["data"].update({} if part else {name: said})
        else:
            found[WITH_VALUE[word]] = value
    return found


@pytest.mark.slow
def test_every_command_is_answered(world: World, team_store: Store, tmp_path: Path) -> None:
    """In the order of the document; the audit is one that asked ``theirs``, and is done again after its scores."""
    (tmp_path / "assets").symlink_to(ROOT / "assets")
    answers(team_store, world.done).to_csv(tmp_path / "scores.csv", index=False)
    variables = {"CFAD_TOKEN": world.tokens["owner"], "CFAD": "http://x/api/v1", "AUDIT": world.done}
    client, seen = asking(served(team_store), ""), []
    for command in commands():
        sent = request_of(command, variables, tmp_path)
        address = urlsplit(sent["url"])
        way = sent.get("method") or ("POST" if sent["files"] else "GET")
        path = address.path.removeprefix("/api/v1/") + (f"?{address.query}" if address.query else "")
        body = {"content": sent["body"]} if "body" in sent else {}
        given = {"files": sent["files"], "data": sent["data"]} if sent["files"] else body
        answer = client.request(way, path, headers=sent["headers"], **given)
        assert answer.status_code in (200, 201, 204), (command, answer.text)
        if path.endswith("/scores"):
            work(team_store, world.done)
        seen.append((way, address.path))
    assert len(seen) >= 16
    documented = {(method.upper(), path) for path, methods in _paths(client).items() for method in methods}
    used = {
        (way, path.removeprefix("/api/v1").replace(world.done, "{audit}").replace("theirs", "{method}"))
        for way, path in seen
    }
    assert used <= documented


def test_the_table_of_addresses_is_whole(team_store: Store) -> None:
    document = _paths(asking(served(team_store), ""))
    table = DOCUMENT.partition("## Addresses")[2].partition("## What is wrong")[0]
    told = {
        path for path in re.findall(r"`(?:[A-Z]+ )?(/[^`]+)`", table) if path not in ("/start", "/cancel", "/restart")
    }
    short = {f"/audits/{{audit}}{path}" for path in ("/cancel", "/restart")}
    assert told | short == set(document)


def test_statuses_and_fields_are_those_of_the_api(team_store: Store) -> None:
    document = asking(served(team_store), "").get("openapi.json").json()
    documented = {status for path in document["paths"].values() for one in path.values() for status in one["responses"]}
    table = DOCUMENT.partition("## What is wrong")[2].partition("## Limits")[0]
    assert set(re.findall(r"^\| (\d+) ", table, flags=re.MULTILINE)) - {"405"} == documented - {"200", "201", "204"}
    fields = document["components"]["schemas"]["NewAudit"]["properties"]
    told = DOCUMENT.partition("`request` of `POST /audits` has")[2].partition("\n\n")[0]
    assert [name for name in fields if f"`{name}`" not in told] == []


@pytest.mark.slow
def test_the_example_in_python_runs(
    world: World,
    team_store: Store,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """As it stands, but that jobs are done while it waits."""
    monkeypatch.chdir(tmp_path)
    app = served(team_store)

    class Here(Client):
        def __init__(self, address: str, token: str) -> None:
            super().__init__(address, token, transport=InProcess(app))

        def wait(self, audit: str, **_: Any) -> Any:
            work(team_store, audit)
            return super().wait(audit)

    (code,) = re.findall(r"```python\n(.*?)```", DOCUMENT, flags=re.DOTALL)
    assert "from cfad_core import AskedDetector, Attribute, Client\n" in code
    monkeypatch.setattr("cfad_core.client.Client", Here)
    monkeypatch.setattr(asked, "preset", lambda _, **changes: QUICK.replace(**changes))
    table = pd.read_csv(ROOT / "assets" / "sample.csv").head(300)  # few: it is the example that is tested
    number = next(name for name in table.columns if pd.api.types.is_float_dtype(table[name]))
    names = {"token": world.tokens["owner"], "table": table, "my_detector": lambda rows: rows[number].abs().fillna(0.0)}
    exec(code, names)
    printed = capsys.readouterr().out
    assert "theirs at threshold" in printed
    assert (tmp_path / "report.html").is_file()


def _paths(client: Any) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = json.loads(client.get("openapi.json").text)["paths"]
    return found
