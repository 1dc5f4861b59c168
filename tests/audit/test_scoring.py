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
from tests.audit.worlds import JOBS, ROLES, make_jobs
from tests.conftest import make_people


def test_counterfactuals_differ_and_the_twin_is_scored_alike(result: AuditResult) -> None:
    people = result.people
    assert (people.counterfactual[:, 0] == -people.factual[:, 0]).all()
    table = make_people(50, seed=3)
    found = twin_rows(result, table, clip=False)
    twins = found.rows
    assert found.clipped == {}
    moved = (twins["income"] - table["income"]) * np.where(table["group"] == "a", 1.0, -1.0)
    np.testing.assert_allclose(moved, 3.0, atol=0.5)  # income = 1.5 S + ...: the flip moves it by 3
    twin = result.scores["twin"]
    assert np.array_equal(twin.factual, twin.counterfactual)
    assert result.report("twin").metrics.changing_ratio == 0.0
    assert not np.array_equal(twin.factual, twin.independent)


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


def test_new_rows_are_scored_as_the_audited_people_were(everything: AuditResult, tmp_path: Path) -> None:
    """To the last bit, with every method, in any order and company, also once it was saved."""
    table = audited(make_people(500, seed=4), everything)
    save_audit(everything, tmp_path / "audit")
    order = np.random.default_rng(0).permutation(len(table))
    for result in (everything, load_audit(tmp_path / "audit")):
        scored, shuffled = score_rows(result, table), score_rows(result, table.iloc[order])
        for method, scores in everything.scores.items():
            flagged = scores.factual > everything.report(method).threshold
            twin_flagged = scores.counterfactual > everything.report(method).threshold
            assert np.array_equal(scored[f"{method}_score"], scores.factual)
            assert np.array_equal(scored[f"{method}_score_counterfactual"], scores.counterfactual)
            assert np.array_equal(scored[f"{method}_flag"], flagged)
            assert np.array_equal(scored[f"{method}_flip"], flagged != twin_flagged)
            assert np.array_equal(shuffled[f"{method}_score"], scores.factual[order])
        assert scored["ae_flip"].any()
        assert scored.index.equals(table.index)


@pytest.mark.parametrize("which", ["result", "mixed twins"])
def test_twin_scoring_gives_a_person_and_their_twin_the_same_score(which: str, request: pytest.FixtureRequest) -> None:
    if which == "result":
        found, table = request.getfixturevalue("result"), make_people(200, seed=11)
    else:
        config = JOBS.replace(methods=("twin",), subsamples=0)
        found, table = run_audit(make_jobs(500, seed=3), ROLES, config), make_jobs(200, seed=11)
        assert found.draws_categories
    detector = found.detectors["twin"]
    assert isinstance(detector, PeopleDetector)
    assert detector.same_for_twins
    twin = found.scores["twin"]
    assert np.array_equal(twin.factual, twin.counterfactual)
    scored = score_rows(found, table)
    assert np.array_equal(scored["twin_score"], scored["twin_score_counterfactual"])
    assert not scored["twin_flip"].any()
    # not by decree: scoring the twins themselves comes to the same, up to the rounding of the way there and back
    people = encode_people(found.encoding, table)
    twins = found.model.counterfactual(people)
    assert (twins[:, 0] == -people[:, 0]).all()
    np.testing.assert_allclose(score_people(detector, twins), scored["twin_score"], rtol=1e-3, atol=1e-4)
    assert not np.allclose(score_people(found.detectors["cfad"], twins), score_people(found.detectors["cfad"], people))


def test_rows_of_other_groups_are_refused(result: AuditResult) -> None:
    table = make_people(20, seed=1)
    table.loc[[3, 5], "group"] = "c"
    message = r"^2 of 20 rows have a 'group' that is neither 'a' nor 'b'; remove these rows first\.$"
    for use in (score_rows, twin_rows):
        with pytest.raises(InvalidDataError, match=message):
            use(result, table)
