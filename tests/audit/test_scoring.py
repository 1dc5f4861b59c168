from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.audit.folder import load_audit, save_audit
from cfad_core.audit.result import AuditResult
from cfad_core.audit.run import run_audit
from cfad_core.audit.scoring import encode_people, score_rows, twin_rows
from cfad_core.core.errors import InvalidDataError
from cfad_core.detectors.protocol import PeopleDetector, score_people
from cfad_core.detectors.registry import METHODS
from tests.audit.worlds import EVERYTHING, ROLES
from tests.conftest import make_people


def test_counterfactuals_differ_and_the_twin_is_scored_alike(result: AuditResult) -> None:
    people = result.people
    assert (people.counterfactual[:, 0] == -people.factual[:, 0]).all()
    table = make_people(50, seed=3)
    found = twin_rows(result, table, clip=False)
    twins = found.rows
    assert found.clipped == {}
    moved = (twins["income"] - table["income"]) * np.where(table["group"] == "a", 1.0, -1.0)
    assert np.median(moved) == pytest.approx(3.0, abs=0.3)  # income = 1.5 S + ...: the flip moves it by 3
    assert (np.abs(moved - 3.0) < 0.6).mean() > 0.9  # but for people at the ends of what was seen
    twin = result.scores["twin"]
    alike = np.isclose(twin.factual, twin.counterfactual, rtol=1e-6)
    assert alike.mean() > 0.9  # the twin of a twin is the person, but for numbers that were clipped
    assert not np.isclose(twin.factual, twin.judged, rtol=1e-6).all(axis=1).any()


def test_the_sensitive_column_is_never_scored(result: AuditResult) -> None:
    """Flipping the group alone, with nothing else moved, changes no score of AE and CFAD."""
    table = make_people(50, seed=3)
    flipped = table.assign(group=np.where(table["group"] == "a", "b", "a"))
    first, second = score_rows(result, table), score_rows(result, flipped)
    for method in ("ae", "cfad"):
        assert first[f"{method}_score"].equals(second[f"{method}_score"])


def audited(table: pd.DataFrame, result: AuditResult) -> pd.DataFrame:
    """The rows of the people that an audit judged."""
    return table.iloc[result.people.row]


@pytest.mark.slow
def test_new_rows_are_scored_as_the_audited_people_were(everything: AuditResult, tmp_path: Path) -> None:
    """To the last bit, with every method, in any order and company, also once it was saved."""
    table = audited(make_people(500, seed=4), everything)
    save_audit(everything, tmp_path / "audit")
    order = np.random.default_rng(0).permutation(len(table))
    for result in (everything, load_audit(tmp_path / "audit")):
        scored, shuffled = score_rows(result, table), score_rows(result, table.iloc[order])
        for method, scores in everything.scores.items():
            flagged = scores.factual > everything.report(method).threshold
            twins = [result.model.twins(encode_people(result.encoding, table), draw) for draw in range(16)]
            threshold = everything.report(method).threshold
            there = [score_people(everything.detectors[method], some) > threshold for some in twins]
            assert np.array_equal(scored[f"{method}_score"], scores.factual)
            assert np.array_equal(scored[f"{method}_score_counterfactual"], scores.counterfactual)
            assert np.array_equal(scored[f"{method}_flag"], flagged)
            np.testing.assert_allclose(scored[f"{method}_change"], np.mean([flagged != one for one in there], axis=0))
            assert np.array_equal(shuffled[f"{method}_score"], scores.factual[order])
        assert scored["ae_change"].any()
        assert scored.index.equals(table.index)


def messy_people(n: int, seed: int) -> pd.DataFrame:
    """Missing cells, a rare level, whole numbers, dates, yes/no, and a number that is mostly 0."""
    table = make_people(n, seed)
    rng = np.random.default_rng(seed)
    sign = np.where(table["group"] == "b", 1.0, -1.0)
    job = np.where(sign + rng.normal(size=n) > 0.5, "clerk", rng.choice(["nurse", "smith"], n))
    since = pd.to_datetime("2020-01-01") + pd.to_timedelta(
        np.round(400 + 60 * sign + 90 * rng.normal(size=n)), unit="D"
    )
    table = table.assign(
        job=np.where(np.arange(n) % 97 == 5, "diver", job),
        since=since,
        owner=rng.random(n) < np.where(sign > 0.0, 0.7, 0.3),
        visits=rng.poisson(np.exp(0.7 + 0.4 * sign)),
        gain=np.round(np.maximum(0.0, 100.0 * (sign + rng.normal(size=n) - 0.5))),
    )
    table.loc[rng.random(n) < np.where(sign > 0.0, 0.25, 0.1), "schooling"] = np.nan
    return table


@pytest.fixture(scope="module")
def messy() -> AuditResult:
    return run_audit(messy_people(600, seed=7), ROLES, EVERYTHING)


@pytest.mark.slow
def test_the_row_shown_is_the_row_scored(messy: AuditResult, tmp_path: Path) -> None:
    """The twin's row as a table, scored like any other row, has the score that is called counterfactual."""
    save_audit(messy, tmp_path)
    assert {"job", "visits", "owner"} <= set(messy.model.affected_names)
    for found in (messy, load_audit(tmp_path)):
        for table in (messy_people(600, seed=7), messy_people(150, seed=8)):
            scored, shown = score_rows(found, table), twin_rows(found, table)
            assert shown.clipped == {}
            twins = shown.rows
            assert (twins["group"] != table["group"]).all()
            again = score_rows(found, twins)
            for method in METHODS:
                np.testing.assert_allclose(
                    again[f"{method}_score"], scored[f"{method}_score_counterfactual"], rtol=1e-9, atol=1e-9
                )
            assert twins["visits"].isin(messy_people(600, seed=7)["visits"]).all()
            assert set(twins["job"]) <= {"clerk", "nurse", "smith", "diver"}
            assert twins.dtypes.drop("group").equals(table.dtypes.drop("group"))
            assert twins["schooling"].isna().any()


def test_the_twins_that_are_shown_are_those_of_the_audit(messy: AuditResult) -> None:
    table = messy_people(600, seed=7).iloc[messy.people.row]
    scored = score_rows(messy, table)
    for method, scores in messy.scores.items():
        assert np.array_equal(scored[f"{method}_score_counterfactual"], scores.counterfactual)
    assert np.array_equal(messy.model.twins(encode_people(messy.encoding, table)), messy.people.counterfactual)


@pytest.mark.slow
def test_a_person_scored_alone_is_scored_the_same(messy: AuditResult) -> None:
    table = messy_people(150, seed=8)
    together = score_rows(messy, table)
    for k in (0, 17, 101):
        pd.testing.assert_frame_equal(score_rows(messy, table.iloc[[k]]), together.iloc[[k]])


def test_twin_scoring_gives_a_person_and_their_twin_the_same_score(result: AuditResult) -> None:
    """Where twins of twins are the people again: numbers, but for those at the ends of what was seen."""
    detector, table = result.detectors["twin"], make_people(200, seed=11)
    assert isinstance(detector, PeopleDetector)
    scored = score_rows(result, table)
    people = encode_people(result.encoding, table)
    twins = result.model.twins(people)
    back = np.isclose(result.model.twins(twins), people, rtol=1e-9, atol=1e-9).all(axis=1)
    assert back.mean() > 0.9
    np.testing.assert_allclose(score_people(detector, twins)[back], scored["twin_score"].to_numpy()[back], rtol=1e-6)
    assert not np.allclose(
        score_people(result.detectors["cfad"], twins), score_people(result.detectors["cfad"], people)
    )


def test_rows_of_other_groups_are_refused(result: AuditResult) -> None:
    table = make_people(20, seed=1)
    table.loc[[3, 5], "group"] = "c"
    message = r"^2 of 20 rows have a 'group' that is neither 'a' nor 'b'; remove these rows first\.$"
    for use in (score_rows, twin_rows):
        with pytest.raises(InvalidDataError, match=message):
            use(result, table)
