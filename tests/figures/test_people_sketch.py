"""A hundred people, some of them marked."""

from __future__ import annotations

import pytest

from cfad_core.figures.people_sketch import MARKED, hundredths, people_sketch


@pytest.mark.parametrize(("share", "count"), [(0.0, 0), (0.004, 0), (0.069, 7), (0.5, 50), (1.0, 100), (1.3, 100)])
def test_one_person_for_each_percent(share: float, count: int) -> None:
    drawn = people_sketch(share, "changes")
    assert hundredths(share) == count
    assert drawn.count(f'fill="{MARKED}"') == count
    assert drawn.count("<circle") == 100
    assert f"{count} of 100 people" in drawn


def test_it_says_in_words_what_it_shows() -> None:
    drawn = people_sketch(0.011, 'a <b> & "c"')
    assert "1 of 100 people is marked: a &lt;b&gt; &amp; &quot;c&quot; (1.1 %)." in drawn
