"""The Python client, with the server in the same process."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import httpx
import pandas as pd
import pytest

from cfad_core.client import Client, ServerError, Share
from cfad_core.core.config import AskedDetector, Knowledge
from cfad_core.core.errors import CfadError, InvalidConfigError, InvalidDataError
from cfad_core.data.attributes import Attribute
from cfad_core.runs.archive import import_audit
from cfad_core.runs.store import Store
from tests.apps.pages import diverse_people, people
from tests.apps.team import SECRET, World, answers, served, work
from tests.client.transport import InProcess

ADDRESS = "http://server.example"
Known = Callable[[str], Client]


@pytest.fixture
def known(world: World, team_store: Store) -> Known:
    """The client of one of the team."""
    app = served(team_store)
    return lambda who: Client(ADDRESS, world.tokens[who], transport=InProcess(app))


def test_it_knows_for_whom_it_acts(known: Known) -> None:
    me = known("owner").me()
    assert (me.name, me.role, me.groups) == ("anna", "auditor", ())
    assert me.token == known("owner").tokens()[-1].id or me.token in [one.id for one in known("owner").tokens()]


def test_a_finished_audit_in_numbers(known: Known, world: World, team_store: Store) -> None:
    client, saved = known("reader"), team_store.result(world.done)
    headline = client.results(world.done)
    assert list(headline) == ["theirs", "pca"]
    assert headline["theirs"].changing_ratio == saved.report("theirs").metrics.changing_ratio
    assert headline["theirs"].verdict == saved.report("theirs").verdict
    found = client.method(world.done, "theirs")
    (comparison,) = found.comparisons
    between = saved.report("theirs").changing_ratio_interval(found.threshold)
    assert between is not None
    assert comparison.interval is not None
    assert (comparison.interval.low, comparison.interval.high) == (between.low, between.high)
    assert [group.name for group in comparison.groups] == ["a", "b"]
    assert comparison.evidence
    assert client.audit_json(world.done)["methods"].keys() == headline.keys()


@pytest.mark.slow
def test_an_audit_is_made_followed_changed_and_deleted(known: Known, team_store: Store) -> None:
    client = known("owner")
    made = client.create(
        people(),
        "From Python",
        Attribute("group", groups=("b", "a")),
        label="fraud",
        anomaly="yes",
        methods=["pca"],
        subsamples=0,
        seed=7,
        knowledge=Knowledge(roots=("age",)),
    )
    assert (made.status, made.may, made.queue.place if made.queue else 0) == ("queued", "own", 1)
    record = team_store.get(made.id)
    assert record.owner == "anna"
    assert (record.config.seed, record.config.methods, record.config.subsamples) == (7, ("pca",), 0)
    assert record.config.knowledge.roots == ("age",)
    assert record.roles.groups == ("b", "a")
    assert team_store.request(made.id).tables.table.dtypes["schooling"] == "float64"
    assert client.change(made.id, name="Renamed", note="A note").name == "Renamed"
    assert client.cancel(made.id).status == "cancelled"
    with pytest.raises(ServerError, match=f"Audit '{made.id}' is cancelled"):
        client.wait(made.id)
    assert client.restart(made.id).status == "queued"
    work(team_store, made.id)
    seen: list[str] = []
    assert client.wait(made.id, progress=lambda audit: seen.append(audit.status)).status == "done"
    assert seen == ["done"]
    assert [one.name for one in client.audits(text="rename")] == ["Renamed"]
    client.delete(made.id)
    assert client.audits(text="rename") == ()


def test_waiting_ends(known: Known) -> None:
    client = known("owner")
    made = client.create(people(), "Long", "group", methods=["pca"], subsamples=0, ignore=["fraud"])
    with pytest.raises(ServerError, match="is queued after 0 seconds; it goes on"):
        client.wait(made.id, seconds=0.0, every=0.0)


def test_several_attributes_and_a_file(known: Known, team_store: Store, tmp_path: Path) -> None:
    path = tmp_path / "people.csv"
    diverse_people().to_csv(path, index=False)
    region = Attribute("region", merged={"coast": ("south", "east")}, reference="north")
    made = known("owner").create(path, "Two", ["group", region], ignore=["fraud"], methods=["pca"], subsamples=0)
    record = team_store.get(made.id)
    assert (record.source, record.roles.sensitive_columns) == ("people.csv", ("group", "region"))
    assert record.roles.attributes[1].merged == {"coast": ("south", "east")}


@pytest.mark.slow
def test_a_detector_of_ones_own_is_asked(known: Known, team_store: Store) -> None:
    client = known("owner")
    made = client.create(
        people(), "Mine", "group", label="fraud", anomaly="yes", subsamples=0, methods=["pca"], detector=AskedDetector()
    )
    assert made.asks == "detector"
    work(team_store, made.id)
    assert client.wait(made.id).status == "waiting"
    rows = client.rows_to_score(made.id)
    pd.testing.assert_frame_equal(rows, team_store.questions(made.id).batch)
    scores = rows[["row_id"]].assign(score=rows["debt"].abs())
    with pytest.raises(ServerError, match="'high_means' is 'anomalous', or 'normal'"):
        client.send_scores(made.id, scores)
    assert client.send_scores(made.id, scores, "anomalous", threshold=3.0).status == "queued"
    work(team_store, made.id)
    assert client.results(made.id)["detector"].threshold == 3.0


def test_a_planned_audit_is_sealed_and_started(known: Known) -> None:
    client = known("owner")
    made = client.create(people(), "Sealed", "group", ignore=["fraud"], methods=["pca"], expectation="Below 0.05")
    assert made.status == "planned"
    with pytest.raises(ServerError, match="is planned"):
        client.wait(made.id)
    assert client.start(made.id).status == "queued"


@pytest.mark.slow
def test_files_are_written_whole(known: Known, world: World, tmp_path: Path) -> None:
    client = known("reader")
    report = client.report(world.done, tmp_path / "report.html", method="theirs")
    assert report.read_text("utf-8").startswith("<!DOCTYPE html>")
    archive = client.export(world.done, tmp_path / "audit.zip")
    with Store(tmp_path / "elsewhere") as other:
        assert other.get(import_audit(other, archive)).name == SECRET
    with pytest.raises(ServerError, match="There is no audit"):
        known("stranger").export(world.done, tmp_path / "none.zip")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["audit.zip", "elsewhere", "home", "report.html"]


def test_the_gate(known: Known, world: World) -> None:
    client = known("reader")
    passed = client.gate(world.done, max_changing_ratio=1.0)
    assert passed.passed
    assert passed.checks[0].limit == 1.0
    failed = client.gate(world.done, max_flag_rate_gap=0.0, upper=True)
    assert not failed.passed
    assert [check.line.partition(":")[0] for check in failed.checks] == ["failed"]
    with pytest.raises(ServerError, match="give it max_changing_ratio, max_flag_rate_gap or reliable"):
        client.gate(world.done)


def test_sharing(known: Known, world: World) -> None:
    client = known("owner")
    assert Share("person", "ben", "read") in client.shares(world.done)
    assert Share("group", "risk", "tune") in client.share(world.done, "group", "risk", "tune")
    assert Share("everybody", "", "read") in client.share(world.done, "everybody")
    assert Share("group", "risk", "tune") not in client.unshare(world.done, "group", "risk")
    assert [one.name for one in known("stranger").audits()] == [SECRET]


def test_a_token_is_revoked(known: Known, world: World) -> None:
    limited = world.tokens["limited"].split("_")[1]
    known("owner").revoke(limited)
    assert next(one.state for one in known("owner").tokens() if one.id == limited) == "revoked"
    with pytest.raises(ServerError, match="Show a token"):
        known("limited").me()


def test_a_refusal_is_the_servers_sentence(known: Known, world: World) -> None:
    with pytest.raises(CfadError) as raised:
        known("stranger").audit(world.done)
    error = raised.value
    assert isinstance(error, ServerError)
    assert (str(error), error.status, error.code) == (f"There is no audit '{world.done}'.", 404, "not-found")
    assert len(error.request) == 32


def test_what_is_no_server_is_said() -> None:
    page = httpx.MockTransport(lambda _: httpx.Response(502, text="<html>Bad gateway</html>"))
    with pytest.raises(ServerError, match="status 502 and no sentence. Is http://server.example the address of a CFAD"):
        Client(ADDRESS, "cfad_x", transport=page).me()
    other = httpx.MockTransport(lambda _: httpx.Response(200, json={"hello": 1}))
    with pytest.raises(ServerError, match="cannot be understood"):
        Client(ADDRESS, "cfad_x", transport=other).me()
    with pytest.raises(ServerError, match="http://localhost:1 could not be asked: .*Is the server running"):
        Client("http://localhost:1", "cfad_x").me()


def test_what_cannot_be_an_address_or_a_token_is_refused(monkeypatch: pytest.MonkeyPatch, world: World) -> None:
    monkeypatch.delenv("CFAD_TOKEN", raising=False)
    with pytest.raises(InvalidConfigError, match="begins with http:// or https://; got 'audits.example'"):
        Client("audits.example", "cfad_x")
    with pytest.raises(InvalidConfigError, match="Expected a token that begins with cfad_"):
        Client(ADDRESS)
    monkeypatch.setenv("CFAD_TOKEN", "cfad_secret")
    assert repr(Client(ADDRESS)) == "<Client of http://server.example>"
    with pytest.raises(InvalidDataError, match="There is no file"):
        Client(ADDRESS).create("nowhere.csv", "Name", "group")


def test_the_answers_of_the_owner_are_not_for_others(known: Known, world: World, team_store: Store) -> None:
    with pytest.raises(ServerError, match="You may read audit .* Ask anna"):
        known("reader").send_scores(world.done, answers(team_store, world.done), "anomalous")
