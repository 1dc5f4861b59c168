from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from cfad_core.data.first_lines import doubt_about_names, title_lines
from cfad_core.data.readers import first_lines, read_table
from tests.conftest import make_people
from tests.data.worlds import mixed

SAMPLE = Path(__file__).resolve().parents[2] / "assets" / "sample.csv"


def ordinary_tables(n: int = 120) -> dict[str, pd.DataFrame]:
    """Tables whose first line holds names, some of which look like numbers."""
    rng = np.random.default_rng(0)
    numbers = pd.DataFrame(rng.normal(0.0, 2.0, (n, 5)))
    answers = rng.choice(["agree", "disagree", "neither"], (n, 4))
    words = pd.DataFrame(answers, columns=["I sleep well", "I eat well", "I work", "I rest"])
    return {
        "people": make_people(n, seed=0),
        "mixed": mixed(n),
        "years": pd.DataFrame(rng.integers(1500, 2600, (n, 4)), columns=["2017", "2018", "2019", "2020"]),
        "two years": pd.DataFrame(rng.normal(0.0, 3000.0, (n, 2)).round(), columns=["2010", "2020"]),
        "counted": numbers,
        "from 1": numbers.set_axis([1, 2, 3, 4, 5], axis=1),
        "by ten": numbers.set_axis([10, 20, 30, 40, 50], axis=1),
        "one column": pd.DataFrame({"wage": rng.normal(10.0, 1.0, n)}),
        "one text column": pd.DataFrame({"job": rng.choice(["clerk", "nurse"], n)}),
        "answers": words,
        "names and towns": pd.DataFrame({"name": [f"p{k}" for k in range(n)], "town": [f"t{k}" for k in range(n)]}),
        "codes": pd.DataFrame(rng.integers(0, 2, (n, 3)), columns=["1001", "1003", "1010"]),
        "an index": make_people(n, seed=1).reset_index(),
        "no name": make_people(n, seed=1).rename(columns={"group": ""}),
        "dates": pd.DataFrame({"born": pd.date_range("1980-01-01", periods=n), "x": range(n)}),
        "mostly empty": pd.DataFrame({"a": [np.nan] * (n - 3) + [1, 2, 3], "b": range(n)}),
    }


@pytest.mark.parametrize("name", ordinary_tables())
def test_names_are_not_doubted_and_a_table_without_them_is(name: str) -> None:
    table = ordinary_tables()[name]
    with_names = first_lines(table.to_csv(index=False).encode(), name="t.csv")
    assert (with_names.doubt, with_names.titles) == ("", ())
    if name != "names and towns":  # a name of a person is like any other text
        assert first_lines(table.to_csv(index=False, header=False).encode(), name="t.csv").doubt
    semicolons = table.to_csv(index=False, sep=";", decimal=",").encode()
    assert first_lines(semicolons, name="t.csv").doubt == ""


@pytest.mark.parametrize("start", range(0, 700, 50))
def test_any_person_of_the_sample_can_come_first(start: int) -> None:
    table = read_table(SAMPLE).iloc[start:]
    stream = io.StringIO()
    table.to_csv(stream, index=False, header=False)
    assert first_lines(stream.getvalue().encode(), name="t.csv").doubt
    assert first_lines(table.to_csv(index=False).encode(), name="t.csv").doubt == ""


def test_what_is_said() -> None:
    below = [["50", "x"], ["30", "y"], ["40", "x"], ["35", "y"], ["60", "x"]]
    assert doubt_about_names(["39", "x"], below) == "all its 2 cells look like those below them, such as '39', 'x'"
    assert doubt_about_names(["39"], [line[:1] for line in below]) == "its cell, '39', looks like those below it"
    assert doubt_about_names(["age", "x"], below) == ""
    assert doubt_about_names(["39", "x"], below[:4]) == ""  # too few to compare with


@pytest.mark.parametrize(
    ("lines", "titles"),
    [
        ([["Wages"], ["a", "b", "c"], ["1", "2", "3"], ["1", "2", "3"]], 1),
        ([["Wages", "", ""], ["", "", ""], ["a", "b", "c"], ["1", "2", "3"], ["1", "2", "3"]], 2),
        ([["", "b"], ["1", "2"], ["1", "2"]], 0),  # of two columns one may have no name
        ([["a", "", "", ""], ["1", "", "", ""], ["2", "", "", ""]], 0),  # empty columns
        ([["a", "b", "c"], ["1", "", ""], ["2", "", ""]], 0),  # most cells are missing
        ([], 0),
    ],
)
def test_title_lines(lines: list[list[str]], titles: int) -> None:
    assert title_lines(lines) == titles
