from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from cfad_core.core.threads import LARGE, torch_threads


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_small_networks_have_one_thread_and_large_ones_what_the_process_has() -> None:
    with torch_threads():
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2
    with torch_threads(LARGE - 1):
        assert torch.get_num_threads() == 1
        with torch_threads(LARGE):  # never more than there were
            assert torch.get_num_threads() == 1
    with torch_threads(LARGE):
        assert torch.get_num_threads() == 2


def test_an_error_gives_the_threads_back() -> None:
    with pytest.raises(ZeroDivisionError), torch_threads():
        _ = 1 / 0
    assert torch.get_num_threads() == 2
