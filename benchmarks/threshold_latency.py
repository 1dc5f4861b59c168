"""From a key press on the threshold's slider to the new numbers on the page, with many scored rows, in a real browser.

python benchmarks/threshold_latency.py [ROWS | HOME AUDIT]

By default of an audit that is made up; else of one that a store has already.
"""

from __future__ import annotations

import dataclasses
import statistics
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # the tests' browser is used

from cfad_core.audit.basis import MethodScores  # noqa: E402
from cfad_core.audit.encoded import EncodedRows  # noqa: E402
from cfad_core.audit.folder import save_audit  # noqa: E402
from cfad_core.audit.judging import MOST_JUDGED  # noqa: E402
from cfad_core.audit.result import AuditResult, People  # noqa: E402
from cfad_core.audit.run import run_audit  # noqa: E402
from cfad_core.core.config import AuditConfig, DetectorConfig  # noqa: E402
from cfad_core.data.roles import ColumnRoles  # noqa: E402
from cfad_core.data.tables import Tables  # noqa: E402
from cfad_core.runs.model import headline  # noqa: E402
from cfad_core.runs.store import Store  # noqa: E402
from tests.apps.browser import Visitor, app, browser  # noqa: E402
from tests.conftest import make_people  # noqa: E402

MOVES = 100


def main() -> None:
    """Print the median and the worst of 100 moves."""
    with tempfile.TemporaryDirectory() as folder:
        if len(sys.argv) > 2:
            home, audit = Path(sys.argv[1]), sys.argv[2]
        else:
            home = Path(folder) / "home"
            audit = scored_audit(home, int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000)
        with (
            app(home, environment={"CFAD_WORKERS": "0"}) as url,
            browser() as chromium,
            Visitor(chromium, url) as someone,
        ):
            start = time.perf_counter()
            someone.open(f"Threshold?audit={audit}")
            someone.wait_text("Group by group", timeout=120)
            someone.wait_idle()
            someone.page.get_by_text("Share", exact=True).click()
            someone.wait_idle()
            print(f"the page is there after {time.perf_counter() - start:.1f} s")
            times = [move(someone) for _ in range(MOVES)]
    median, worst = statistics.median(times), max(times)
    print(f"a move of the slider takes {median:.0f} ms (median of {MOVES}), {worst:.0f} ms at worst")


def scored_audit(home: Path, rows: int) -> str:
    """A finished audit with many people: those of a small one, drawn again and again, with a little noise."""
    roles = ColumnRoles("group", groups=("a", "b"), label="fraud", anomaly="yes")
    config = AuditConfig(subsamples=0, detector=DetectorConfig(width=16, epochs=3, fair_epochs=2, batch_size=64))
    table = make_people(600, seed=0)
    small = run_audit(table, roles, config)
    rng = np.random.default_rng(0)
    pick = rng.integers(0, len(small.people.row), rows)
    noise = np.exp(rng.normal(0.0, 0.1, rows))
    judged = np.sort(rng.choice(rows, min(rows, MOST_JUDGED), replace=False))
    whose = pick[judged]
    people = People(
        row=pick.astype(np.int64),
        is_anomaly=None if small.people.is_anomaly is None else small.people.is_anomaly[pick],
        codes=small.people.codes[pick],
        encoded=EncodedRows(small.people.factual[pick], small.people.twins[:, pick], None),
        judged=judged.astype(np.int64),
    )
    scores = {
        method: MethodScores(
            train=s.train,
            factual=s.factual[pick] * noise,
            twins=s.twins[:, pick] * noise,
            truth=None,
            judged=s.judged[:, :, whose] * noise[judged],
        )
        for method, s in small.scores.items()
    }
    result: AuditResult = dataclasses.replace(small, people=people, scores=scores)
    with Store(home) as store:
        audit = store.create(Tables.of(pd.DataFrame(table)), roles, config, name="Many people", source="benchmark")
        store.claim("benchmark", audit)
        save_audit(result, store.folder(audit))
        store.finish(audit, headline(result))
    return audit


def move(someone: Visitor) -> float:
    """Milliseconds from a key press to a new threshold in its tile."""
    slider = someone.page.get_by_role("slider").first
    slider.focus()
    code = """() => [...document.querySelectorAll('[data-testid=stMetric]')].map(e => e.innerText).join('|')"""
    before = someone.page.evaluate(code)
    start = time.perf_counter()
    slider.press("ArrowRight")
    someone.page.wait_for_function(f"before => ({code})() !== before", arg=before, polling=5, timeout=10_000)
    taken = 1000.0 * (time.perf_counter() - start)
    someone.wait_idle()
    return taken


if __name__ == "__main__":
    main()
