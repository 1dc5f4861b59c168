"""Slices that nobody asked for: planted ones are found, chance is not, and every number is that of a plain groupby."""

from __future__ import annotations

import json
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from scipy.stats import fisher_exact, ttest_ind

from cfad_core.core.errors import AuditCancelled
from cfad_core.core.progress import Progress
from cfad_core.evaluation import slice_search, slices
from cfad_core.evaluation.intervals import Interval
from cfad_core.evaluation.slice_columns import SliceColumn, level_column, number_column
from cfad_core.evaluation.slice_search import Cells, Sums, choose_slices, count_slices
from cfad_core.evaluation.slices import Slice, Slices, find_slices, slice_lines

REGIONS = ["north", "south", "west", "east"]


def draw_columns(rng: np.random.Generator, n: int, noise: int = 4) -> list[SliceColumn]:
    """Region, age, and columns that nothing depends on."""
    return [
        level_column("region", rng.integers(0, 4, n), REGIONS),
        number_column("age", rng.integers(20, 70, n).astype(np.float64)),
        *(number_column(f"noise {k}", rng.normal(size=n)) for k in range(noise)),
    ]


def planted(rng: np.random.Generator, columns: list[SliceColumn], cells: dict[str, int], rate: float) -> np.ndarray:
    """Flags: of 5 % of the people, but for a higher rate in one slice."""
    inside = np.all([column.cells == cells[column.name] for column in columns if column.name in cells], axis=0)
    return (rng.random(len(inside)) < np.where(inside, rate, 0.05)).astype(np.float64)


def texts(columns: list[SliceColumn], cells: dict[str, int]) -> tuple[str, ...]:
    return tuple(sorted(column.texts[cells[column.name]] for column in columns if column.name in cells))


PLANTS = [{"region": 1}, {"age": 2}, {"region": 1, "age": 2}, {"noise 0": 4, "noise 1": 0}]


@pytest.mark.parametrize("cells", PLANTS, ids=str)
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_a_planted_slice_is_found_and_confirmed(cells: dict[str, int], seed: int) -> None:
    rng = np.random.default_rng(seed)
    columns = draw_columns(rng, 6000)
    found = find_slices(planted(rng, columns, cells, 0.3), columns, seed)
    assert found.found[0].cells == texts(columns, cells)
    assert found.found[0].confirmed
    assert found.people == 6000
    # others that are confirmed have a part of the planted one: nobody else is flagged more often
    assert all(set(one.cells) & set(texts(columns, cells)) for one in found.confirmed)


@pytest.mark.parametrize("cells", PLANTS, ids=str)
def test_a_planted_slice_of_probabilities(cells: dict[str, int]) -> None:
    rng = np.random.default_rng(5)
    columns = draw_columns(rng, 6000)
    inside = np.all([column.cells == cells[column.name] for column in columns if column.name in cells], axis=0)
    values = rng.binomial(20, np.where(inside, 0.2, 0.05)) / 20.0
    found = find_slices(values, columns, 0, kind="changes")
    assert found.kind == "changes"
    assert found.confirmed[0].cells == texts(columns, cells)


def test_less_often_is_no_slice() -> None:
    rng = np.random.default_rng(0)
    columns = [level_column("region", rng.integers(0, 4, 6000), REGIONS)]
    values = planted(rng, columns, {"region": 1}, 0.0)
    assert not any("region: south" in one.cells for one in find_slices(values, columns, 0).found)


def test_numbers_are_those_of_a_groupby() -> None:
    """In the half that the slice was not found in."""
    rng = np.random.default_rng(8)
    columns = draw_columns(rng, 3000)
    values = planted(rng, columns, {"region": 1, "age": 2}, 0.5)
    values[::7] = np.nan
    found = find_slices(values, columns, 11)
    table = pd.DataFrame({c.name: np.array([*c.texts, "none"])[c.cells] for c in columns}).assign(value=values)
    known = table.dropna()
    first, second = slices._halves(values, 11)
    assert set(first) | set(second) == set(known.index)
    assert not set(first) & set(second)
    assert abs(len(first) - len(second)) <= 1
    half = table.loc[second]
    assert len(found.found) >= 3
    for one in found.found:
        names = [cell.partition(": ")[0] for cell in one.cells]
        members, rest = ((half[names] == list(one.cells)).all(axis=1) == side for side in (True, False))
        assert one.n == members.sum()
        assert one.people == (known[names] == list(one.cells)).all(axis=1).sum()
        assert one.rate == pytest.approx(half.groupby(names)["value"].mean().loc[one.cells], abs=1e-12)
        assert one.rest == pytest.approx(half.loc[rest, "value"].mean(), abs=1e-12)
        assert one.gap == pytest.approx(one.rate - one.rest, abs=1e-12)
        assert one.interval.low < one.gap < one.interval.high


def test_every_slice_is_counted() -> None:
    """All cells and all pairs of them, against a plain groupby of the first half."""
    rng = np.random.default_rng(3)
    columns = draw_columns(rng, 800, noise=2)
    values, half = rng.random(800) * (rng.random(800) < 0.5), 400
    cells = Cells(columns, np.arange(800))
    found = count_slices(cells, values, half, Progress())
    table = pd.DataFrame({c.name: np.array([*c.texts, "none"])[c.cells] for c in columns}).assign(value=values)
    expected: dict[tuple[str, ...], tuple[float, ...]] = {}
    for names in [[c.name] for c in columns] + [[a.name, b.name] for a, b in combinations(columns, 2)]:
        sizes = [part.groupby(names)["value"].count() for part in (table[:half], table[half:])]
        for key, group in table[:half].groupby(names)["value"]:
            here, there = (size.get(key if len(names) > 1 else key[0], 0) for size in sizes)
            enough = min(here, there) >= 25 and here + there >= 50 and 800 - here - there >= 50
            if enough and min(400 - here, 400 - there) >= 25 and "none" not in key:
                expected[tuple(sorted(map(str, key)))] = (len(group), group.sum(), (group**2).sum())
    counted = {
        tuple(sorted(cells.texts[k] for k in found.numbers(s))): (
            found.sums.n[s],
            found.sums.total[s],
            found.sums.squares[s],
        )
        for s in range(len(found))
    }
    assert counted.keys() == expected.keys()
    for key, sums in expected.items():
        assert counted[key] == pytest.approx(sums, abs=1e-9)
    assert found.everybody.n == 400


def null_tables(count: int) -> list[tuple[np.ndarray, list[SliceColumn]]]:
    """Values that have nothing to do with the columns; half of them flags, which are exact, half probabilities."""
    found = []
    for seed in range(count):
        rng = np.random.default_rng([2024, seed])
        columns = draw_columns(rng, 1500)
        values = (rng.random(1500) < 0.4).astype(np.float64) if seed % 2 else rng.beta(0.4, 0.6, 1500)
        found.append((values, columns))
    return found


def test_chance_is_seldom_confirmed() -> None:
    """In one table of twenty at most, of all its slices together; without the other half it would be most of them."""
    confirmed = same_half = 0
    for seed, (values, columns) in enumerate(null_tables(200)):
        confirmed += bool(find_slices(values, columns, seed).confirmed)
        if seed < 50:
            first, _ = slices._halves(values, seed)
            cells = Cells(columns, np.concatenate([first, first]))
            subgroups = count_slices(cells, np.tile(values[first], 2), len(first), Progress())
            tested = slices._tested(choose_slices(subgroups, cells), cells, values[first])
            same_half += any(one.confirmed for one in tested)
    assert confirmed <= 14
    assert same_half > 25


def test_intervals_hold_the_planted_gap() -> None:
    cells, held, width = {"region": 1}, 0, []
    for seed in range(60):
        rng = np.random.default_rng([5, seed])
        columns = draw_columns(rng, 2500, noise=1)
        found = find_slices(planted(rng, columns, cells, 0.2), columns, seed)
        one = next(one for one in found.found if one.cells == ("region: south",))
        held += one.interval.low <= 0.15 <= one.interval.high
        width.append(one.interval.high - one.interval.low)
    assert held >= 54
    assert np.mean(width) < 0.16


def test_found_slices_look_worse_where_they_were_found() -> None:
    """What is reported is unbiased; the mean gap of the first half is not."""
    reported, searched = [], []
    for seed, (values, columns) in enumerate(null_tables(30)):
        first, _ = slices._halves(values, seed)
        for one in find_slices(values, columns, seed).found:
            reported.append(one.gap)
            numbers = Cells(columns, first)
            inside = numbers.members([numbers.texts.index(cell) for cell in one.cells])
            searched.append(values[first][inside].mean() - values[first][~inside].mean())
    assert np.mean(searched) > 0.08
    assert abs(np.mean(reported)) < 3.0 * np.std(reported) / np.sqrt(len(reported))


def test_two_cells_must_add_to_each() -> None:
    """Within a planted cell every second cell is above all others, but none says more than the planted one."""
    for seed in range(10):
        rng = np.random.default_rng([9, seed])
        columns = draw_columns(rng, 4000)
        found = find_slices(planted(rng, columns, {"region": 1}, 0.4), columns, seed)
        assert [one.cells for one in found.confirmed] == [("region: south",)]


def test_slices_of_the_same_people_are_one() -> None:
    rng = np.random.default_rng(6)
    columns = draw_columns(rng, 4000, noise=0)
    copy = SliceColumn("a copy", columns[0].labels, columns[0].cells)
    values = planted(rng, columns, {"region": 1}, 0.3)
    found = find_slices(values, [*columns, copy], 0).confirmed
    assert [one.cells for one in found] == [("a copy: south",)]  # of equal ones the first by name


def test_a_small_slice_does_not_win_by_chance() -> None:
    """30 people, of whom 8 are flagged, are above others by more than 1,500 people are, but that may be chance."""
    small, large = np.full(20_000, 0), np.full(20_000, 0)
    half = np.arange(20_000) % 10_000  # all is the same in both halves
    small[half < 30], large[(half >= 30) & (half < 1530)] = 1, 1
    flagged = (half < 8) | ((half >= 30) & (half < 255)) | (half >= 9550)
    columns = [SliceColumn(name, ("no", "yes"), cells) for name, cells in (("small", small), ("large", large))]
    cells = Cells(columns, np.arange(20_000))
    chosen = choose_slices(count_slices(cells, flagged.astype(np.float64), 10_000, Progress()), cells)
    assert [tuple(cells.texts[k] for k in numbers) for numbers in chosen] == [("large: yes",), ("small: yes",)]


def test_two_unknown_people_more() -> None:
    values = np.random.default_rng(0).random(30)
    with_unknown = np.concatenate([values, [0.0, 1.0]])
    found = Sums.of(values)
    assert found.mean == pytest.approx(values.mean(), abs=1e-12)
    assert found.mean_with_unknown == pytest.approx(with_unknown.mean(), abs=1e-12)
    assert found.variance == pytest.approx(with_unknown.var() / 32.0, abs=1e-12)


@pytest.mark.parametrize(("people", "is_found"), [(49, False), (70, True)])
def test_few_people_are_not_reported(people: int, is_found: bool) -> None:
    cells = np.where(np.arange(2000) < people, 0, 1)
    column = SliceColumn("region", ("north", "south"), cells.astype(np.intp))  # cut elsewhere, without our limit
    values = np.where(cells == 0, 1.0, 0.0)
    found = [find_slices(values, [column], seed).found for seed in range(20)]
    assert any(one for some in found for one in some) == is_found
    for some in found:
        assert all(one.people >= 50 and one.n >= 25 for one in some)


def test_few_others_are_not_compared() -> None:
    cells = np.where(np.arange(2000) < 1960, 0, 1)
    column = SliceColumn("region", ("north", "south"), cells.astype(np.intp))
    assert find_slices(np.where(cells == 0, 1.0, 0.0), [column], 0) == Slices("flagged", 2000, 0)


def test_unknown_values_are_left_out() -> None:
    rng = np.random.default_rng(1)
    columns = draw_columns(rng, 4000)
    values = planted(rng, columns, {"region": 1}, 0.3)
    known = rng.random(4000) < 0.6
    hidden = np.where(known, values, np.nan)
    found = find_slices(hidden, columns, 3)
    only = [SliceColumn(column.name, column.labels, column.cells[known]) for column in columns]
    assert found == find_slices(values[known], only, 3)
    assert found.people == known.sum()
    assert found.confirmed


def test_the_seed_and_nothing_else_decides() -> None:
    rng = np.random.default_rng(2)
    columns = draw_columns(rng, 3000)
    values = planted(rng, columns, {"region": 1, "age": 2}, 0.3)
    found = find_slices(values, columns, 4)
    assert found == find_slices(values, columns, 4)
    for _ in range(3):
        assert found == find_slices(values, [columns[k] for k in rng.permutation(len(columns))], 4)
    assert found != find_slices(values, columns, 5)


def test_the_order_of_columns_does_not_matter_for_probabilities() -> None:
    rng = np.random.default_rng(7)
    columns = draw_columns(rng, 3000)
    values = rng.random(3000) * np.where(columns[0].cells == 1, 0.9, 0.6)
    assert find_slices(values, columns, 4) == find_slices(values, columns[::-1], 4)


def test_inputs_stay_as_they_are() -> None:
    rng = np.random.default_rng(2)
    columns = draw_columns(rng, 1000)
    values = planted(rng, columns, {"region": 1}, 0.3)
    before = [values.copy(), *(column.cells.copy() for column in columns)]
    find_slices(values, columns, 4)
    for now, then in zip([values, *(column.cells for column in columns)], before, strict=True):
        np.testing.assert_array_equal(now, then)


@pytest.mark.parametrize(
    ("values", "columns"),
    [
        (np.ones(500), []),
        (np.arange(500) % 2.0, [number_column("x", np.zeros(500))]),
        (np.arange(500) % 2.0, [number_column("x", np.full(500, np.nan))]),
        (np.arange(500) % 2.0, [SliceColumn("x", (), np.full(500, -1))]),
        (np.full(500, np.nan), [number_column("x", np.arange(500.0))]),
        (np.array([]), [number_column("x", np.array([]))]),
        ((np.arange(99) < 50) * 1.0, [level_column("x", (np.arange(99) < 50).astype(int), ["a", "b"])]),
    ],
    ids=["no columns", "one cell", "all missing", "no cell", "unknown values", "nobody", "99 people"],
)
def test_nothing_to_look_at(values: np.ndarray, columns: list[SliceColumn]) -> None:
    found = find_slices(values, columns, 0)
    assert found == Slices("flagged", int((~np.isnan(values)).sum()), 0)
    assert slice_lines(found) == ["No subgroup of at least 50 people could be looked at."]


@pytest.mark.parametrize("value", [0.0, 0.3, 1.0])
def test_constant_values(value: float) -> None:
    columns = draw_columns(np.random.default_rng(0), 1000)
    found = find_slices(np.full(1000, value), columns, 0)
    assert found.looked_at == 63
    assert found.found == ()


def test_flags_are_tested_by_fisher() -> None:
    inside, outside = (np.repeat([1.0, 0.0], counts) for counts in ([7, 30], [20, 400]))
    expected = fisher_exact([[7, 30], [20, 400]], alternative="greater").pvalue
    assert slices._exact(Sums.of(inside), Sums.of(outside)) == pytest.approx(expected, rel=1e-9)


def test_probabilities_are_tested_by_welch() -> None:
    """With a 0 and a 1 more on either side, which count for the error alone."""
    rng = np.random.default_rng(0)
    inside, outside = rng.beta(2.0, 5.0, 3000), rng.beta(2.0, 5.2, 40_000)
    part, rest = Sums.of(inside), Sums.of(outside)
    expected = ttest_ind(inside, outside, equal_var=False, alternative="greater")
    assert slices._welch(part, rest) == pytest.approx(expected.pvalue, rel=0.05)
    ends = ttest_ind(inside, outside, equal_var=False).confidence_interval(0.98)
    found = slices._interval(part, rest, 5)  # five at 98 % each are 90 % together
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=2e-4)
    few = Sums.of(np.full(30, 0.06))  # all of them agree: that is no certainty
    assert slices._welch(few, Sums.of(np.tile([0.0, 0.1], 500))) > 0.2


def test_holm_by_hand() -> None:
    assert slices._holm(np.array([0.04, 0.001, 0.02])) == pytest.approx([0.04, 0.003, 0.04])
    assert slices._holm(np.array([0.6, 0.5])) == pytest.approx([1.0, 1.0])


def test_a_confirmed_slice_is_above_all_it_may_be() -> None:
    """No sentence says that a slice is flagged more often, by perhaps less than nothing."""
    for seed in range(30):
        rng = np.random.default_rng([3, seed])
        columns = draw_columns(rng, 2000)
        for one in find_slices(planted(rng, columns, {"region": 1, "age": 2}, 0.25), columns, seed).found:
            assert one.confirmed == (one.p_value < 0.05 and one.interval.low > 0.0)


def test_no_more_than_ten_are_tested() -> None:
    rng = np.random.default_rng(0)
    columns = [level_column(f"x{k:02d}", (rng.random(5000) < 0.5).astype(np.intp), ["no", "yes"]) for k in range(14)]
    share = np.mean([column.cells for column in columns], axis=0)
    found = find_slices((rng.random(5000) < share**3).astype(np.float64), columns, 0)
    assert len(found.found) == 10
    assert len(found.confirmed) > 3


def test_of_more_people_some_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(slices, "MOST", 1000)
    rng = np.random.default_rng(0)
    columns = draw_columns(rng, 3000)
    found = find_slices(planted(rng, columns, {"region": 1}, 0.5), columns, 0)
    assert found.people == 1000
    assert found.confirmed[0].cells == ("region: south",)


def test_it_can_be_cancelled() -> None:
    class Impatient(Progress):
        def __init__(self) -> None:
            self.asked = 0

        def stop_requested(self) -> bool:
            self.asked += 1
            return self.asked > 5

    columns = draw_columns(np.random.default_rng(0), 1000)
    with pytest.raises(AuditCancelled, match=f"during '{slice_search.STAGE}'"):
        find_slices(np.zeros(1000), columns, 0, progress=Impatient())


def test_wrong_inputs() -> None:
    column = number_column("age", np.arange(200.0))
    with pytest.raises(ValueError, match="Expected values from 0 to 1, or nan; got -1 to 2. Give flags or probabi"):
        find_slices(np.tile([-1.0, 2.0], 100), [column], 0)
    with pytest.raises(ValueError, match=r"Expected the cells of 'age' for all 100 people; got shape \(200,\)."):
        find_slices(np.zeros(100), [column], 0)
    with pytest.raises(ValueError, match="Expected columns of different names; got age, age."):
        find_slices(np.zeros(200), [column, column], 0)


def one_slice(confirmed: bool = True, cells: tuple[str, ...] = ("age: 25 to 39", "region: north")) -> Slice:
    return Slice(cells, 1631, 1312, 0.1418, 0.0512, 0.0906, Interval(0.04, 0.1421), 0.003, confirmed)


def test_sentences() -> None:
    cells = one_slice(cells=("region: north",))
    assert slice_lines(Slices("flagged", 9000, 1214, (one_slice(), one_slice(False), cells))) == [
        "2 of 1,214 subgroups are flagged clearly more often than others: they were found in one half of the people, "
        "and confirmed and counted in the other.",
        "age: 25 to 39 and region: north: 14.2 % of 1,312 people, others 5.1 % (difference 9.1 points, 4.0 to 14.2)",
        "region: north: 14.2 % of 1,312 people, others 5.1 % (difference 9.1 points, 4.0 to 14.2)",
    ]
    assert slice_lines(Slices("changes", 9000, 214, (cells,)))[0] == (
        "1 of 214 subgroups has outcomes that change clearly more often than others: it was found in one half of the "
        "people, and confirmed and counted in the other."
    )


def test_sentences_if_nothing_is_confirmed() -> None:
    assert slice_lines(Slices("flagged", 9000, 214, (one_slice(False),))) == [
        "Of 214 subgroups none is flagged clearly more often than the others, once looked at in people it was not "
        "found in."
    ]
    assert slice_lines(Slices("changes", 9000, 214)) == [
        "Of 214 subgroups there is none whose outcomes change clearly more often than those of the others, once looked "
        "at in people it was not found in."
    ]


def test_through_json() -> None:
    rng = np.random.default_rng(0)
    columns = draw_columns(rng, 3000)
    found = find_slices(planted(rng, columns, {"region": 1, "age": 2}, 0.3), columns, 0)
    assert found.found
    assert Slices.from_dict(json.loads(json.dumps(found.to_dict()))) == found
    empty = Slices("changes", 12, 0)
    assert Slices.from_dict(json.loads(json.dumps(empty.to_dict()))) == empty
