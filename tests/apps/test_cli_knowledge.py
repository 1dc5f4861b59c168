"""What is known of the causal graph, and the uncertainty of the audit, on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from cfad_core.apps import cli
from tests.conftest import make_people

pytestmark = pytest.mark.usefixtures("quick_presets")


@pytest.fixture
def table(tmp_path: Path) -> Path:
    path = tmp_path / "people.csv"
    make_people(400, seed=0).to_csv(path, index=False)
    return path


def audit(table: Path, *more: str | Path) -> int:
    labels = ["--label", "fraud", "--anomaly", "yes", "--methods", "ae"]
    out = ["--out", table.parent / "audit"]
    return cli.main([str(part) for part in ["audit", table, "--sensitive", "group", *labels, *out, *more]])


def found(table: Path) -> dict[str, Any]:
    text: dict[str, Any] = json.loads((table.parent / "audit" / "audit.json").read_text())
    return text


def test_a_ready_graph_is_used_as_it_is(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    graph = table.parent / "graph.dot"
    graph.write_text("digraph { group -> income; income -> debt }")
    assert audit(table, "--graph", graph, "--subsamples", "4") == 0
    text, printed = found(table), capsys.readouterr().out
    assert [(edge["cause"], edge["effect"]) for edge in text["graph"]["edges"]] == [
        ("group", "income"),
        ("income", "debt"),
    ]
    assert {edge["frequency"] for edge in text["uncertainty"]["edges"]} == {1.0}
    assert "warning: Not in the graph, so without causes and effects: schooling." in printed
    assert "The causal graph was given." in printed
    assert "lowest to highest" in printed
    assert f"ae: {text['methods']['ae']['verdict']}" in printed


def test_knowledge_from_a_file_and_roots_are_added_up(table: Path) -> None:
    known = table.parent / "known.json"
    known.write_text(json.dumps({"forbidden": [["income", "debt"]], "roots": ["schooling"]}))
    assert audit(table, "--knowledge", known, "--roots", "debt", "--subsamples", "0") == 0
    text = found(table)
    assert text["config"]["knowledge"]["roots"] == ["schooling", "debt"]
    assert not any(edge["effect"] in ("schooling", "debt") for edge in text["graph"]["edges"])
    assert text["uncertainty"] is None
    verdict = text["methods"]["ae"]["verdict"]  # nothing causes it, but it differs: twins keep it
    assert "debt, which" in verdict
    assert set(text["checks"]["kept"]) <= {"schooling", "debt"}
    assert text["checks"]["unexplained"] == []


def test_a_time_order_and_what_only_the_sensitive_column_causes(table: Path) -> None:
    order = ["--tier", "schooling", "--tier", "income", "debt", "--from-sensitive", "schooling"]
    assert audit(table, *order, "--subsamples", "0") == 0
    text = found(table)
    known = text["config"]["knowledge"]
    assert known["tiers"] == [["schooling"], ["income", "debt"]]
    assert known["from_sensitive"] == ["schooling"]
    causes = {edge["cause"] for edge in text["graph"]["edges"] if edge["effect"] == "schooling"}
    assert causes <= {"group"}


def test_a_column_named_like_a_root_may_be_caused_by_the_sensitive_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "people.csv"
    make_people(400, seed=0).rename(columns={"schooling": "age"}).to_csv(path, index=False)
    assert audit(path, "--from-sensitive", "age", "--subsamples", "0") == 0
    known = found(path)["config"]["knowledge"]
    assert (known["roots"], known["from_sensitive"]) == ([], ["age"])
    assert audit(path, "--from-sensitive", "age", "--roots", "age", "--subsamples", "0") == 2
    assert "both are said of: age" in capsys.readouterr().err


def test_tiers_are_given_once(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (table.parent / "known.json").write_text(json.dumps({"tiers": [["income"], ["debt"]]}))
    assert audit(table, "--knowledge", table.parent / "known.json", "--tier", "income") == 2
    assert "give them there or with --tier, not both" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("graph.csv", ",group,wage\ngroup,0,1\nwage,0,0\n", "names what is no variable of this audit: wage."),
        ("graph.dot", "digraph { income -> debt -> income }", "has no cycles; this one has income -> debt -> income"),
        ("graph.txt", "group -> income", ".graphml, .dot"),
    ],
)
def test_graphs_that_cannot_be(
    table: Path, capsys: pytest.CaptureFixture[str], name: str, content: str, message: str
) -> None:
    (table.parent / name).write_text(content)
    assert audit(table, "--graph", table.parent / name) == 2
    assert message in capsys.readouterr().err
    assert not (table.parent / "audit").exists()


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"roots": ["wage"]}, "names columns that are not in the graph: wage."),
        ({"required": [["income", "debt"], ["debt", "income"]]}, "form a cycle"),
        ({"required": [["income", "group"]]}, "forbidden by a root"),
        ({"rots": ["income"]}, "Unknown setting"),
    ],
)
def test_knowledge_that_cannot_be(
    table: Path, capsys: pytest.CaptureFixture[str], known: dict[str, list[str] | list[list[str]]], message: str
) -> None:
    (table.parent / "known.json").write_text(json.dumps(known))
    assert audit(table, "--knowledge", table.parent / "known.json") == 2
    assert message in capsys.readouterr().err
    assert not (table.parent / "audit").exists()


def test_a_missing_file_a_large_one_and_odd_numbers_of_graphs(table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert audit(table, "--graph", table.parent / "none.dot") == 2
    assert "Cannot read" in capsys.readouterr().err
    (table.parent / "large.json").write_bytes(b" " * 5_000_001)
    assert audit(table, "--knowledge", table.parent / "large.json") == 2
    assert "larger than 5 MB" in capsys.readouterr().err
    for count, message in (("3", "Subsamples come in pairs"), ("2", "come in pairs"), ("-4", "'subsamples' must be a")):
        assert audit(table, f"--subsamples={count}") == 2
        assert message in capsys.readouterr().err
    (table.parent / "graph.dot").write_text("digraph { group -> income }")
    assert audit(table, "--graph", table.parent / "graph.dot", "--roots", "income") == 2
    assert "not both" in capsys.readouterr().err
