from __future__ import annotations

import pytest

from cfad_core.figures.svg import TITLE_LIMIT, Axis, fitting, legend, text, width_of, wrapped


def test_names_take_two_lines_and_keep_their_ends() -> None:
    assert wrapped("age", 10.0) == ("age",)
    assert wrapped("hours_per_week", 10.0) == ("hours_per_", "week")
    first = wrapped("a_very_long_name_of_a_column_1", 10.0)
    second = wrapped("a_very_long_name_of_a_column_2", 10.0)
    assert first[0] == second[0]
    assert (first[1][0], first[1][-1], second[1][-1]) == ("…", "1", "2")
    assert wrapped("", 10.0) == ("",)


def test_a_name_in_one_line_keeps_its_beginning_and_its_end() -> None:
    assert fitting("Female, north", 15.0) == "Female, north"
    names = [fitting(f"Female, a region with a long name {k}", 15.0) for k in range(3)]
    assert len(set(names)) == 3
    assert all(name.startswith("Female") and "…" in name for name in names)
    assert fitting("", 15.0) == ""


@pytest.mark.parametrize("letter", ["x", "W", "女", "i"])
def test_no_line_is_wider_than_its_room(letter: str) -> None:
    for line in (*wrapped(letter * 10_000, 12.0), fitting(letter * 10_000, 12.0)):
        assert 0.0 < width_of(line, 10.0) <= 1.1 * width_of("x" * 12, 10.0)
        assert len(line) <= TITLE_LIMIT


def test_legends_go_on_in_the_next_line() -> None:
    entries = [("<path/>", "word " * 8)] * 4
    parts, last = legend(entries, 10.0, 680.0)
    assert len(parts) == 8
    assert last > 10.0
    assert legend(entries[:1], 10.0, 680.0)[1] == 10.0
    assert legend([], 10.0, 680.0) == ([], 10.0)


def test_numbers_beyond_an_axis_are_drawn_at_its_end() -> None:
    axis = Axis(0.0, 2.0, 100.0, 0.0)
    assert [axis.at(value) for value in (-1.0, 0.0, 1.0, 2.0, 3.0)] == [100.0, 100.0, 50.0, 0.0, 0.0]
    assert axis.ticks() == [0.0, 0.5, 1.0, 1.5, 2.0]


def test_text_is_escaped_and_nothing_is_nothing() -> None:
    assert text(1.0, 2.0, "<b>") == '<text x="1.0" y="2.0" >&lt;b&gt;</text>'
    assert text(1.0, 2.0, "") == ""
