from __future__ import annotations

import json
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest

from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.errors import InvalidDataError
from cfad_core.data import kinds
from cfad_core.data.encoding import Encoding
from cfad_core.data.kinds import KINDS, Choices, NumberColumn, kind_of
from cfad_core.data.readable import refuse_unreadable, unreadable_columns
from cfad_core.data.scaling import Scale
from cfad_core.data.variables import Variable, fit_variable
from tests.data.worlds import ROLES, fit_to, mixed, table


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        ([1, 2], "number"),
        ([1.5, None], "number"),
        (["1", "2.5", None], "number"),
        ([True, False], "category"),
        ([True, None], "category"),
        (["2020-01-31", "2020-02-01"], "date"),
        (["2020-01-31 10:00", None], "date"),
        (["2020-01-31", "2020-02-31"], "category"),  # there is no such day
        (["2020-01-31", "soon"], "category"),
        (pd.to_datetime(["2020-01-31", "NaT"]), "date"),
        (["x", "1"], "category"),
        ([None, None], "category"),
        ([], "category"),
    ],
)
def test_each_kind_is_recognised(cells: Any, kind: str) -> None:
    assert kind_of(pd.Series(cells, dtype=None if len(cells) else object)) == kind


class Percentage(NumberColumn):
    """Texts such as '12 %'."""

    name: ClassVar[str] = "percentage"

    def recognises(self, cells: pd.Series[Any]) -> bool:
        return bool(cells.astype(str).str.fullmatch(r"\d+ %").all())

    def numbers(self, cells: pd.Series[Any]) -> Floats:
        return super().numbers(cells.str.removesuffix(" %"))

    def _write(self, variable: Variable, numbers: Floats, moved: Bools, cells: pd.Series[Any]) -> pd.Series[Any]:
        return cells.mask(moved, pd.Series([f"{number:.0f} %" for number in numbers], index=cells.index))


def test_a_new_kind_is_one_class_and_one_entry(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kinds, "KINDS", (Percentage(), *KINDS))
    frame = table().assign(share=["10 %", "20 %", "30 %", "70 %"])
    encoding = fit_to(frame, ROLES, "range")
    assert encoding.variables[-1].kind == "percentage"
    assert Encoding.from_dict(json.loads(json.dumps(encoding.to_dict()))) == encoding
    x = encoding.encode(frame)
    np.testing.assert_allclose(x[:, 3], [-3.0, -2.0, -1.0, 3.0])
    found = encoding.decode(x + np.array([0.0, 0.0, 0.0, 1.0]), x, frame)
    assert found.rows["share"].tolist() == ["20 %", "30 %", "40 %", "70 %"]
    assert found.clipped == {"share": 1}
    with pytest.raises(InvalidDataError, match="Expected percentages in 'share', found something else in 4 rows"):
        encoding.encode(frame.assign(share="much"))


def test_infinite_numbers_are_refused_and_infinite_categories_are_not() -> None:
    frame = pd.DataFrame({"pay": [1.0, np.inf, -np.inf]})
    with pytest.raises(InvalidDataError, match="Expected finite numbers in 'pay', found infinite ones in 2 rows."):
        refuse_unreadable(unreadable_columns(frame, {"pay": "number"}))
    refuse_unreadable(unreadable_columns(frame, {"pay": "category"}))


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin"])
def test_dates_come_back_as_dates(zone: str | None) -> None:
    frame = mixed()
    frame["since"] = frame["since"].dt.tz_localize(zone)
    encoding = fit_to(frame)
    x = encoding.encode(frame)
    moved = encoding.decode(x + 0.01 * (np.arange(x.shape[1]) == 7), x, frame).rows
    assert moved["since"].dtype == frame["since"].dtype
    assert (moved["since"] != frame["since"]).any()


def test_dates_as_text_stay_text() -> None:
    frame = mixed().assign(since=mixed()["since"].dt.strftime("%Y-%m-%d"))
    encoding = fit_to(frame)
    x = encoding.encode(frame)
    moved = encoding.decode(x + 0.1 * (np.arange(x.shape[1]) == 7), x, frame).rows
    assert moved["since"].str.fullmatch(r"\d{4}-\d{2}-\d{2}").all()
    assert (moved["since"] >= frame["since"]).all()
    assert (moved["since"] > frame["since"]).any()


def test_booleans_with_gaps_stay_booleans() -> None:
    cells = pd.Series([True, True, False, None, True], dtype=object, name="owner")
    owner = fit_variable(cells, "category", Choices(Scale("range")))
    assert owner.levels[0] == "True"
    assert set(owner.levels[1:]) == {"False", "(missing)"}
    x = owner.encode(cells)
    other = owner.encode(pd.Series([False, True, True, True, None], dtype=object, name="owner"))
    back, clipped = owner.decode(other, x, cells, clip=True)
    assert back.tolist()[:4] == [False, True, True, True]
    assert {type(cell) for cell in back[:4]} == {bool}
    assert pd.isna(back[4])
    assert clipped == 0


def test_summer_and_winter_time() -> None:
    times = ["2020-01-05T00:00:00+01:00", "2020-07-05T00:00:00+02:00"] * 30
    frame = mixed().assign(since=times)
    encoding = fit_to(frame)
    assert encoding.variables[3].kind == "date"
    x = encoding.encode(frame)
    pd.testing.assert_frame_equal(encoding.decode(x, x, frame).rows, frame)
    moved = encoding.decode(x + (x[:, [7]] < 0) * (np.arange(x.shape[1]) == 7), x, frame).rows["since"]
    days = pd.to_datetime(frame["since"], utc=True).dt.as_unit("s").astype("int64") / 86_400
    sixth = (days[1] - days[0]) / 6.0
    expected = pd.Timestamp((days[0] + sixth) * 86_400, unit="s").round("s")
    assert moved[0] == expected.strftime("%Y-%m-%d %H:%M:%S")  # winter moves by a sixth of the range
    assert moved[1] == times[1]


def test_dates_after_nanoseconds_end() -> None:
    cells = pd.Series(["2020-01-01", "9999-12-31", "2020-01-02"], name="until")
    until = fit_variable(cells, "date", Choices(Scale("range")))
    x = until.encode(cells)
    back, clipped = until.decode(x + np.array([[9.0], [0.0], [-1e-9]]), x, cells, clip=True)
    assert back.tolist() == ["9999-12-31", "9999-12-31", "2020-01-02"]
    assert clipped == 1


def test_many_categories_are_merged() -> None:
    frame = mixed(400).assign(town=[f"town {k % 50}" for k in range(400)])
    encoding = fit_to(frame)
    town = encoding.variables[-1]
    assert len(town.levels) == 30
    assert town.levels[-1] == "(other)"
    assert np.isfinite(encoding.encode(frame)).all()


def test_booleans_may_be_spelled_as_numbers() -> None:
    encoding = fit_to(mixed())
    numbers = mixed().assign(owner=mixed()["owner"].astype(int))
    assert np.array_equal(encoding.encode(numbers), encoding.encode(mixed()))
    assert encoding.unknown(numbers) == {}


def test_whole_numbers_in_new_rows_do_not_make_a_column_whole() -> None:
    encoding = fit_to(table(), ROLES, "range")
    whole = table().assign(pay=[2, 3, 4, 5])
    x = encoding.encode(whole)
    moved = encoding.decode(x + 0.1 * (np.arange(3) == 2), x, whole).rows["pay"]
    np.testing.assert_allclose(moved, np.array([2, 3, 4, 5]) + 0.1 * 8.0 / 6.0)


def test_dates_that_cannot_be_read_are_refused() -> None:
    with pytest.raises(InvalidDataError, match="Expected dates in 'since', found something else in 60 rows"):
        fit_to(mixed()).encode(mixed().assign(since="gestern"))


def test_text_where_numbers_were_is_refused() -> None:
    with pytest.raises(
        InvalidDataError, match="Expected numbers in 'age', found something else in 60 rows, such as 'old'"
    ):
        fit_to(mixed()).encode(mixed().assign(age="old"))


def test_unknown_categories_are_the_most_frequent_one() -> None:
    encoding = fit_to(mixed())
    strange = mixed().assign(job="astronaut")
    assert np.array_equal(
        encoding.encode(strange)[:, 2:6], encoding.encode(mixed().assign(job=encoding.variables[1].levels[0]))[:, 2:6]
    )
