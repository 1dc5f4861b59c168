"""Tables and records agree, and what was chosen for an audit is kept as it was."""

from __future__ import annotations

import dataclasses
import json
from typing import Any

import numpy as np
import pytest
import sqlalchemy as sa

from cfad_core.audit.result import AuditResult
from cfad_core.audit.statements import JustifiedPath, Statements
from cfad_core.core.errors import InvalidArtifactError
from cfad_core.evaluation.pair_table import worst_line
from cfad_core.runs.forecast import time_left
from cfad_core.runs.model import AS_STORED, AUDITS, REPORTS, AuditRecord, ChosenThreshold, Report, headline
from cfad_core.runs.store import Store
from tests.conftest import with_rows
from tests.runs.conftest import finish, put


def test_records_have_the_columns_of_their_tables() -> None:
    columns = [AS_STORED.get(column.name, column.name) for column in AUDITS.columns]
    assert [field.name for field in dataclasses.fields(AuditRecord)] == columns
    assert all(hasattr(AuditRecord, name) for name in AS_STORED)
    assert {field.name for field in dataclasses.fields(Report)} == {column.name for column in REPORTS.columns}


def test_a_record_is_plain(store: Store) -> None:
    record = store.get(put(store))
    json.dumps(dataclasses.asdict(record), allow_nan=False)


STORED: list[dict[str, Any]] = [
    {"method": "cfad", "by": "quantile", "value": 1.25, "quantile": 0.9, "how": "quantile 0.9"},
    {"method": "twin", "by": "score", "value": 0.123456, "how": "score 0.1235"},
    {"method": "ae", "by": "investigations", "value": 2.0, "count": 12, "how": "12 investigations"},
    {
        **{"method": "ae", "by": "investigations", "value": 2.0, "count": 50, "of": 1000, "period": "a week"},
        "how": "50 investigations of 1,000 people a week",
    },
    {"method": "ae", "by": "share", "value": 2.0, "share": 0.041, "how": "4.1 % of people flagged"},
    {
        **{"method": "ae", "by": "cost", "value": 2.0, "cost": 10.0},
        "how": "lowest cost, a missed anomaly counted as 10 needless checks",
    },
]


@pytest.mark.parametrize("stored", STORED, ids=lambda stored: str(stored["how"]))
def test_a_threshold_is_stored_as_it_always_was(store: Store, stored: dict[str, Any]) -> None:
    chosen = ChosenThreshold.from_dict(stored)
    assert chosen.to_dict() == stored
    audit = put(store)
    assert store.get(audit).threshold is None
    store.choose_threshold(audit, chosen)
    record = store.get(audit)
    assert (record.threshold, record.threshold_entry) == (chosen, stored)


DAMAGED: list[Any] = [
    [],
    "quantile 0.9",
    {},
    {"method": "cfad"},
    {"value": 1.0},
    {"method": ["cfad"], "by": "score", "value": 1.0},
    {"method": "cfad", "by": "guess", "value": 1.0},
    {"method": "cfad", "by": ["score"], "value": 1.0},
    {"method": "cfad", "by": "score", "value": "1.0"},
    {"method": "cfad", "by": "score", "value": True},
    {"method": "cfad", "by": "score", "value": float("nan")},
    {"method": "cfad", "by": "score", "value": 1.0, "quantile": 0.5},
    {"method": "cfad", "by": "score", "value": 1.0, "evil": 1},
    {"method": "cfad", "by": "score", "value": 1.0, 5: 1},
    {"method": "cfad", "by": "quantile", "value": 1.0},
    {"method": "cfad", "by": "quantile", "value": 1.0, "quantile": 1.5},
    {"method": "cfad", "by": "investigations", "value": 1.0, "count": 2.5},
    {"method": "cfad", "by": "investigations", "value": 1.0, "count": -1},
    {"method": "cfad", "by": "investigations", "value": 1.0, "count": 5, "of": -1},
    {"method": "cfad", "by": "investigations", "value": 1.0, "count": 5, "of": 9, "period": "<script>"},
    {"method": "cfad", "by": "share", "value": 1.0},
    {"method": "cfad", "by": "share", "value": 1.0, "share": 1.5},
    {"method": "cfad", "by": "share", "value": 1.0, "share": 0.5, "period": "a week"},
    {"method": "cfad", "by": "cost", "value": 1.0, "cost": 0.0},
    {"method": "cfad", "by": "score", "value": 1.0, "cost": 2.0},
]


@pytest.mark.parametrize("damaged", DAMAGED, ids=str)
def test_a_damaged_threshold_is_refused(damaged: Any) -> None:
    with pytest.raises(InvalidArtifactError, match="The saved threshold is damaged"):
        ChosenThreshold.from_dict(damaged)


@pytest.mark.parametrize("older", [{}, {"by": "investigations"}, {"how": "12 investigations"}], ids=str)
def test_a_threshold_of_the_first_versions_is_a_score(older: dict[str, Any]) -> None:
    assert ChosenThreshold.from_dict({"method": "cfad", "value": 1.5} | older) == ChosenThreshold("cfad", "score", 1.5)


def test_what_a_threshold_says_of_itself_is_not_believed() -> None:
    assert ChosenThreshold.from_dict(STORED[0] | {"how": "<script>"}).how == "quantile 0.9"


def test_one_damaged_threshold_does_not_spoil_the_list(store: Store) -> None:
    audits = {put(store), put(store)}
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == min(audits)).values(threshold={"method": "cfad"}))
    assert {record.id for record in store.find()} == audits
    with pytest.raises(InvalidArtifactError, match="The saved threshold is damaged"):
        _ = store.get(min(audits)).threshold


def test_statements_are_kept(store: Store) -> None:
    first, second = put(store), put(store)
    said = Statements(system="Claims", justified_paths=(JustifiedPath(("group", "income"), "By law."),))
    assert store.get(first).statements == Statements()
    assert store.get(first).statements_entry is None
    store.state(first, said)
    store.state(second, Statements(system="Another"))
    assert store.get(first).statements == said
    with store._engine.begin() as connection:
        connection.execute(sa.update(AUDITS).where(AUDITS.c.id == first).values(statements={"system": 5}))
    assert {record.id for record in store.find()} == {first, second}  # one damaged row does not spoil the list
    with pytest.raises(InvalidArtifactError, match="The saved statements are damaged: 'statements.system' cannot be"):
        _ = store.get(first).statements
    with pytest.raises(InvalidArtifactError, match="There is no audit 'nothing'"):
        store.state("nothing", said)


def test_the_time_that_is_left(store: Store) -> None:
    audit = put(store)
    assert time_left(store.get(audit)) == ""
    store.claim("me")
    assert time_left(store.get(audit)) == ""  # nothing is heard of it yet
    store.report(audit, Report("discovery", 1, 2), 0.5, seconds_left=130.0)
    assert time_left(store.get(audit)) == "about 2 minutes left"
    store.report(audit, Report("discovery", 2, 2), 0.6, seconds_left=21.0, is_late=True)
    assert time_left(store.get(audit)) == "a little longer than expected, at least 20 seconds left"
    store.stop(audit, "cancelled")
    record = store.get(audit)
    assert (record.seconds_left, record.is_late, time_left(record)) == (None, None, "")


def test_the_headline_of_several_groups_names_the_worst_pairs(result: AuditResult, crossed: AuditResult) -> None:
    """As JSON of the column that there is; of two groups it is what it always was."""
    assert {"n", "changing_ratio", "threshold", "verdict"} <= set(headline(result)["ae"])
    assert "worst_pairs" not in headline(result)["ae"]
    found = json.loads(json.dumps(headline(crossed), allow_nan=False))
    lines = found["pca"]["worst_pairs"]
    assert set(lines) == {"sex", "region"}  # each attribute; two at once have no pairs
    for name, line in lines.items():
        pairs = crossed.group_report("pca", name).pairs_at(found["pca"]["threshold"])
        assert pairs is not None
        assert line == worst_line(pairs, name)
        assert name in line


def test_the_headline_says_nothing_about_few_people(crossed: AuditResult) -> None:
    states = crossed.plan.states
    factual = crossed.people.factual.copy()
    women = np.flatnonzero(states.levels[states.of_codes(factual[:, 0]), 0] == 0)[9:]
    factual[women, 0] = states.codes[states.moved(states.of_codes(factual[women, 0]), {0: 1})]
    few = dataclasses.replace(crossed, people=with_rows(crossed.people, factual))
    assert set(headline(few)["pca"]["worst_pairs"]) == {"region"}


def test_a_finished_audit_keeps_its_headline(store: Store, crossed: AuditResult) -> None:
    record = store.get(finish(store, crossed))
    assert record.metrics == json.loads(json.dumps(headline(crossed)))
    assert record.roles == crossed.roles
    assert (record.schema_version, record.is_of_older_engine) == (6, False)
