from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from cfad_core.core.threads import one_torch_thread


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


def test_networks_have_one_thread_and_give_the_others_back() -> None:
    with one_torch_thread():
        assert torch.get_num_threads() == 1
        with one_torch_thread():
            assert torch.get_num_threads() == 1
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == 2


def test_an_error_gives_the_threads_back() -> None:
    with pytest.raises(ZeroDivisionError), one_torch_thread():
        _ = 1 / 0
    assert torch.get_num_threads() == 2
