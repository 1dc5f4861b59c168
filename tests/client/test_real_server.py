"""The client and a real server: over the network, with files read by a process of its own and jobs that run."""

from __future__ import annotations

import json
import os
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import httpx
import pandas as pd
import pytest

from cfad_core.client import Client, ServerError
from cfad_core.runs.store import Store
from tests.apps.browser import free_port, served
from tests.apps.pages import people

pytestmark = pytest.mark.slow
PLANTED = "PLANTED-4711"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str, IO[bytes]]]:
    """Its address, a token, and what it writes about itself."""
    home = tmp_path_factory.mktemp("real") / "home"
    with Store(home) as store:
        token = store.make_token("the tests", "admin", 1)
    with tempfile.TemporaryFile() as log, served(home, log, port=free_port()) as address:
        yield address, token, log


def written(log: IO[bytes]) -> str:
    """What the server wrote, without moving the place where it writes on."""
    return os.pread(log.fileno(), 2**24, 0).decode()


def test_from_a_table_to_a_report(server: tuple[str, str, IO[bytes]], tmp_path: Path) -> None:
    address, token, log = server
    table = people(300).assign(job=lambda known: known["job"].where(known.index > 0, PLANTED))
    with Client(address, token) as client, httpx.Client(base_url=address, trust_env=False) as lives:
        made = client.create(
            table, "Over the network", "group", label="fraud", anomaly="yes", methods=["pca"], subsamples=0
        )
        seen: set[str] = set()
        found = client.wait(made.id, every=0.2, progress=lambda audit: seen.add(audit.stage))
        assert (found.status, found.progress) == ("done", 1.0)
        assert client.results(made.id)["pca"].n == 75
        finished = threading.Event()

        def write() -> None:
            try:
                client.report(made.id, tmp_path / "report.pdf", format="pdf")
            finally:
                finished.set()

        writing = threading.Thread(target=write)
        writing.start()
        answers = 0
        while not finished.is_set():  # a PDF takes a while; whoever watches is answered meanwhile
            assert lives.get("/healthz", timeout=10).text == "ok\n"
            answers += 1
        writing.join()
        assert answers > 1
        assert (tmp_path / "report.pdf").read_bytes().startswith(b"%PDF")
        with pytest.raises(ServerError, match="holds no table that can be read|people.parquet"):
            (tmp_path / "people.parquet").write_bytes(b"PAR1" + PLANTED.encode() * 99)
            client.create(tmp_path / "people.parquet", "Hostile", "group")
        with pytest.raises(ServerError, match="There is no audit 'zzz'"):
            client.audit("zzz")
        client.delete(made.id)
    until = time.monotonic() + 30.0
    while '"status": 204' not in (lines := written(log)):  # a line is written once its answer is on its way
        assert time.monotonic() < until
        time.sleep(0.05)
    assert PLANTED not in lines
    assert token not in lines
    said = [json.loads(line) for line in lines.splitlines() if line.startswith("{")]
    asked = [line for line in said if line["message"] == "answered" and line["path"].startswith("/api/v1/audits")]
    assert {201, 200, 204, 404, 422} <= {line["status"] for line in asked}
    assert all(len(line["request"]) == 32 for line in asked)


def test_csv_by_the_wire_keeps_its_columns(server: tuple[str, str, IO[bytes]], tmp_path: Path) -> None:
    address, token, _ = server
    people(300).to_csv(tmp_path / "people.csv", index=False)
    with Client(address, token) as client:
        made = client.create(
            tmp_path / "people.csv", "From a file", "group", methods=["pca"], subsamples=0, expectation=""
        )
        assert (made.status, made.source) == ("planned", "people.csv")
        assert made.roles["ignore"] == []
        assert set(pd.read_csv(tmp_path / "people.csv").columns) >= {made.roles["sensitive"]}
