"""Whatever the OpenAPI document allows, and much that it does not: no answer breaks, and all are as it says."""

from __future__ import annotations

import json
import os
from contextlib import suppress
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from hypothesis.errors import Unsatisfiable
from schemathesis import Case, GenerationMode
from schemathesis.core.result import Ok
from schemathesis.specs.openapi.checks import positive_data_acceptance

from cfad_core.runs.allowance import Allowance
from cfad_core.runs.store import Store
from tests.apps.pages import people
from tests.apps.team import World, asking, served

# A larger run by hand: CFAD_EXAMPLES=300 python -m pytest tests/apps/test_api_schema.py
EXAMPLES = int(os.environ.get("CFAD_EXAMPLES", "4"))
PATIENCE = 300.0  # seconds that an answer may take: a PDF is among them
SETTINGS = settings(
    derandomize=True, database=None, deadline=None, phases=[Phase.generate], suppress_health_check=list(HealthCheck)
)
COLUMNS = st.sampled_from([*people().columns, "nowhere", "", "Gruppe\n", "\x00"])
SOME = st.lists(COLUMNS, max_size=3)
WORDS = st.sampled_from(["a", "b", "yes", "no", "", "\x00", "nurse", "18"])
GROUPS = st.fixed_dictionaries(
    {"column": COLUMNS},
    optional={
        "groups": st.lists(WORDS, max_size=3),
        "merged": st.dictionaries(WORDS, st.lists(WORDS, max_size=2), max_size=2),
        "others": WORDS,
        "cuts": st.lists(st.floats(allow_nan=False, allow_infinity=False), max_size=3),
        "bands": st.integers(1, 7),
        "reference": WORDS,
        "compare": st.lists(WORDS, max_size=2),
    },
)
KNOWN = st.fixed_dictionaries(
    {},
    optional={
        "roots": SOME,
        "tiers": st.lists(SOME, max_size=2),
        "required": st.lists(st.lists(COLUMNS, min_size=2, max_size=2), max_size=2),
        "complete": st.booleans(),
        "unknown": st.none(),
    },
)
USUAL = st.sampled_from(
    [["group"], ["group", "job"], [{"column": "age", "bands": 3}], [{"column": "age", "cuts": [40]}]]
)
OPTIONS: dict[str, st.SearchStrategy[Any]] = {
    "name": st.sampled_from(["New", " ", "\x01"]),
    "sensitive": st.lists(COLUMNS | GROUPS, min_size=1, max_size=4),
    "label": COLUMNS,
    "anomaly": WORDS,
    "ignore": SOME,
    "score_column": COLUMNS,
    "methods": st.lists(st.sampled_from(["ae", "pca", "pca-rank", "nothing", ""]), max_size=3),
    "preset": st.sampled_from(["fast", "paper"]),
    "subsamples": st.integers(-1, 6),
    "quantile": st.floats(-0.1, 1.1),
    "knowledge": KNOWN,
    "detector": st.fixed_dictionaries({"name": st.sampled_from(["theirs", "ae", ""]), "carried": SOME}),
    "plan": st.fixed_dictionaries({"by": WORDS}),
    "header": st.booleans(),
}
PLAIN: dict[str, Any] = {"name": "New", "sensitive": ["group"], "label": "fraud", "anomaly": "yes"}


@st.composite
def new_audits(draw: st.DrawFn) -> dict[str, Any]:
    """One that could be made, with at most two things about it that are anything."""
    odd = draw(st.lists(st.sampled_from(sorted(OPTIONS)), max_size=2, unique=True))
    return {**PLAIN, "sensitive": draw(USUAL), **{name: draw(OPTIONS[name]) for name in odd}}


def tried(world: World, store: Store, mode: GenerationMode) -> dict[str, int]:
    """Ask every address in ways that the document allows, or does not; how often each status came."""
    app = served(store)
    schema = schemathesis.openapi.from_asgi("/api/v1/openapi.json", app)
    shown, counts = {"Authorization": f"Bearer {world.tokens['owner']}"}, dict[str, int]()
    operations = [found.ok() for found in schema.get_all_operations() if isinstance(found, Ok)]
    for operation in sorted(operations, key=lambda one: (one.method == "delete", one.method != "get")):
        for known in ({}, {"audit": world.done, "method": "theirs"}):

            @settings(SETTINGS, max_examples=EXAMPLES)
            @given(case=operation.as_strategy(generation_mode=mode, path_parameters=known, headers=shown))
            def ask(case: Case[Any]) -> None:
                response = case.call(headers=shown, timeout=PATIENCE)
                case.validate_response(response, headers=shown, excluded_checks=[positive_data_acceptance])
                counts[str(response.status_code)] = counts.get(str(response.status_code), 0) + 1

            with suppress(Unsatisfiable):  # nothing can be sent to this address that it does not allow
                ask()
    return counts


def made(world: World, store: Store, examples: int) -> dict[str, int]:
    """Ask for audits of a table in whatever roles and settings; how often each status came."""
    store.allowance = Allowance(queued=10**6)
    client, counts = asking(served(store), world.tokens["owner"]), dict[str, int]()
    table = people(200).to_csv(index=False).encode()

    @settings(SETTINGS, max_examples=examples)
    @given(new=new_audits())
    def ask(new: dict[str, object]) -> None:
        sent = {"table": ("people.csv", table)}
        response = client.post("audits", files=sent, data={"request": json.dumps(new)})
        counts[str(response.status_code)] = counts.get(str(response.status_code), 0) + 1
        assert response.status_code in (201, 400, 422), (new, response.text)
        if response.status_code != 201:
            assert response.json()["message"].strip()
            assert str(world.home) not in response.text

    ask()
    return counts


@pytest.mark.slow
@pytest.mark.parametrize("mode", [GenerationMode.POSITIVE, GenerationMode.NEGATIVE], ids=lambda mode: mode.value)
def test_answers_are_as_the_document_says(mode: GenerationMode, world: World, team_store: Store) -> None:
    counts = tried(world, team_store, mode)
    assert {"404", "200" if mode is GenerationMode.POSITIVE else "422"} <= set(counts)
    assert [status for status in counts if status.startswith("5")] == []


@pytest.mark.slow
def test_whatever_is_asked_about_a_table_is_answered(world: World, team_store: Store) -> None:
    counts = made(world, team_store, 10 * EXAMPLES)
    assert {"201", "422"} <= set(counts)
