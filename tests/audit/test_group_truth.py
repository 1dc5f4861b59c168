"""How audits of several groups are compared with the truth: what is counted, and how it is summed up."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from benchmarks.group_truth import Flags, compare, report, summarise
from benchmarks.worlds import SECOND, SENSITIVE, draw_world
from cfad_core.core.states import States
from cfad_core.evaluation.interaction import Interaction, Share
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.pair_table import AnyOther, Pair, PairTable

STATES = States((2, 3))


@pytest.fixture
def flags() -> Flags:
    rng = np.random.default_rng(0)
    return Flags(STATES, rng.integers(0, 6, 200), rng.random((6, 200)) < 0.2)


def brute(flags: Flags, person: int) -> dict[str, Any]:
    """What happens to one person, state by state."""
    first, second = divmod(int(flags.state[person]), 3)
    outcome = {(i, j): bool(flags.flagged[3 * i + j, person]) for i in range(2) for j in range(3)}
    changes = {state: value != outcome[first, second] for state, value in outcome.items()}
    any_first = changes[1 - first, second]
    any_second = any(changes[first, j] for j in range(3))
    only_both = [changes[1 - first, j] and not any_first and not changes[first, j] for j in range(3) if j != second]
    return {
        "own": (first, second),
        "to": [[changes[i, second] for i in range(2)], [changes[first, j] for j in range(3)]],
        "any": [any_first, any_second],
        "only_both": float(np.mean(only_both)),
    }


def test_changes_by_brute_force(flags: Flags) -> None:
    expected = [brute(flags, person) for person in range(200)]
    for k, size in enumerate(STATES.sizes):
        assert flags.changed_in_any(k).tolist() == [one["any"][k] for one in expected]
        for group in range(size):
            assert flags.in_group(k, group).tolist() == [one["own"][k] == group for one in expected]
            assert flags.changed_to(k, group).tolist() == [one["to"][k][group] for one in expected]
    assert flags.changed_only_by_both.tolist() == [one["only_both"] for one in expected]
    assert 0.0 < flags.changed_only_by_both.mean() < 0.5


def audit(pairs: dict[str, list[Pair]]) -> Any:
    """What an audit is asked for, with answers that are given."""
    nobody = AnyOther(0)
    world = draw_world(0, "mixed", (2, 3))
    tables = {
        one.name: PairTable(0.5, one.groups, (50,) * len(one.groups), tuple(pairs[one.name]), nobody, ())
        for one in world.sensitive
    }
    excess = Interaction(0.5, 200, Share(), Share(), Share(), only_both=Share(0.125), cancels=Share())
    report = SimpleNamespace(
        threshold=0.5,
        metrics=SimpleNamespace(changing_ratio=0.25),
        intervals=SimpleNamespace(changing_ratio=Interval(0.0, 0.5)),
    )
    return SimpleNamespace(
        report=lambda *_: report,
        group_report=lambda _, name: SimpleNamespace(
            pairs_at=lambda _: tables[name],
            interaction_at=lambda _: excess if name == f"{SENSITIVE} and {SECOND}" else None,
        ),
    )


def test_the_truth_stands_beside_what_an_audit_says(flags: Flags) -> None:
    said = Pair(source=2, target=0, n=70, ratio=0.2, simultaneous=Interval(0.1, 0.3))
    found = compare(audit({SENSITIVE: [], SECOND: [said]}), "ae", draw_world(0, "mixed", (2, 3)), flags)
    ((pair,),) = (table for table in found["pairs"].values() if table)
    expected = [brute(flags, person) for person in range(200)]
    changed = [one["to"][1][0] for one in expected if one["own"][1] == 2]
    assert pair["truth"] == pytest.approx(np.mean(changed))
    assert (pair["people"], pair["interval"], pair["simultaneous"]) == (len(changed), None, [0.1, 0.3])
    assert (pair["source"], pair["target"], pair["ratio"]) == ("hills", "coast", 0.2)
    assert found["any"][SECOND]["truth"] == pytest.approx(np.mean([one["any"][1] for one in expected]))
    assert found["any"][SENSITIVE]["interval"] == [0.0, 0.5]
    assert found["both"]["truth"] == pytest.approx(np.mean([one["only_both"] for one in expected]))
    assert (found["both"]["ratio"], found["both"]["interval"]) == (0.125, None)


def pair(truth: float, ratio: float, interval: list[float], simultaneous: list[float] | None) -> dict[str, Any]:
    return {"truth": truth, "ratio": ratio, "interval": interval, "simultaneous": simultaneous}


def test_summary_by_hand() -> None:
    worst = pair(0.3, 0.5, [0.4, 0.6], [0.3, 0.7])  # its own interval is too high
    low = pair(0.3, 0.1, [0.0, 0.2], [0.0, 0.25])  # both are too low
    fine = pair(0.1, 0.1, [0.0, 0.2], [0.0, 0.3])
    anywhere = {"truth": 0.2, "ratio": 0.3, "interval": [0.1, 0.4]}
    both = {"truth": 0.05, "ratio": 0.01, "interval": [0.0, 0.02]}
    ae = {"pairs": {"group": [low, worst], "region": [fine, fine]}, "any": {"group": anywhere}, "both": both}
    cfad = {"pairs": {"group": [fine | {"simultaneous": None}]}, "any": {}, "both": None}
    record = {"family": "mixed", "identified": True, "seconds": 4.0, "methods": {"ae": ae, "cfad": cfad}}
    refused = {"family": "messy", "identified": True, "error": "refused"}
    found = summarise([record, refused])
    assert list(found) == ["mixed", "all identified", "ae", "cfad"]
    mixed = found["mixed"]
    assert mixed == found["all identified"]
    counts = {name: (mixed[name]["covered"], mixed[name]["cases"]) for name in ("pairs", "worst", "all_pairs", "any")}
    assert counts == {"pairs": (3, 5), "worst": (2, 2), "all_pairs": (1, 2), "any": (1, 1)}
    assert (mixed["worst_pointwise"]["covered"], mixed["worst_pointwise"]["too_high"]) == (1, 1)
    assert (mixed["pairs"]["too_low"], mixed["pairs"]["too_high"]) == (1, 1)
    assert (mixed["both"]["covered"], mixed["both"]["too_low"]) == (0, 1)
    assert mixed["pairs"]["width"] == pytest.approx(0.2)
    assert mixed["errors"]["pairs"] == pytest.approx({"error": 0.4 / 5, "bias": 0.0})
    assert mixed["errors"]["both"] == pytest.approx({"error": 0.04, "bias": -0.04})
    assert found["cfad"]["worst"]["cases"] == 0
    text = report(found)
    assert "| mixed | 1 | 3 of 5, 60% | 2 of 2, 100% | 1 of 2, 50% | 1 of 2, 50% | 1 of 1, 100% | 0 of 1" in text
    assert "| cfad | 1 | 1 of 1, 100% | - | - | - | - | - | 4.0 |" in text
