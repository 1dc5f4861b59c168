from __future__ import annotations

import numpy as np

from cfad_core.figures import levels_figure, numbers_figure


def test_numbers_of_each_group_add_up_to_everybody_known() -> None:
    some = {"a": np.array([1.0, 2.0, 2.0, np.nan]), "b": np.array([3.0, 3.0])}
    first, second = numbers_figure(some).data
    assert first.x.tolist() == [1.0, 2.0, 3.0]  # few different numbers have a bin each
    assert first.y.tolist() == [1 / 3, 2 / 3, 0.0]
    assert second.y.tolist() == [0.0, 0.0, 1.0]
    assert first.line.dash != second.line.dash  # not by colour alone


def test_a_few_extreme_numbers_do_not_flatten_the_picture() -> None:
    values = np.append(np.linspace(0.0, 1.0, 5000), 1e9)
    (line,) = numbers_figure({"a": values}).data
    assert line.x.max() < 2.0
    assert np.isclose(line.y.sum(), 1.0)  # they are counted at the end


def test_groups_without_numbers_are_drawn() -> None:
    empty, one = numbers_figure({"a": np.array([np.nan]), "b": np.array([4.0, 4.0])}).data
    assert empty.y.sum() == 0.0
    assert one.y.sum() == 1.0


def test_levels_of_each_group() -> None:
    first, second = levels_figure({"a": {"x": 0.25, "y": 0.75}, "b": {"y": 1.0}}).data
    assert first.y.tolist() == [0.25, 0.75]
    assert second.y.tolist() == [0.0, 1.0]
