from __future__ import annotations

import numpy as np
import pytest
import torch

from cfad_core.core.training import Passes, dense_network, network_from_state, network_state, steps_for, train
from tests.conftest import Recorder


def run(steps: int, batch_size: int, seed: int = 0, recorder: Recorder | None = None) -> list[list[int]]:
    seen: list[list[int]] = []

    def step(rows: torch.Tensor) -> dict[str, torch.Tensor]:
        seen.append(rows.tolist())
        return {"loss": torch.tensor(float(len(seen)))}

    train(
        step,
        Passes(
            n_rows=10,
            batch_size=batch_size,
            steps=steps,
            generator=torch.Generator().manual_seed(seed),
            stage="test",
        ),
        recorder or Recorder(),
    )
    return seen


def test_a_pass_sees_every_row_once() -> None:
    batches = run(steps=5, batch_size=2)
    assert sorted(row for batch in batches for row in batch) == list(range(10))
    assert run(steps=7, batch_size=3) == run(steps=7, batch_size=3)
    assert run(steps=7, batch_size=3, seed=1) != run(steps=7, batch_size=3)


def test_batches_larger_than_the_table_are_the_table() -> None:
    assert sorted(run(steps=1, batch_size=64)[0]) == list(range(10))
    assert steps_for(3, 10, 64) == 3
    assert steps_for(3, 10, 4) == 6


def test_reports_are_means_and_reach_the_end() -> None:
    recorder = Recorder()
    run(steps=240, batch_size=5, recorder=recorder)
    assert set(range(4, 241, 4)) <= {step for _, step, _, _ in recorder.heard}  # 60 of them, more if steps are slow
    assert recorder.heard[0][3]["loss"] == 2.5  # mean of 1, 2, 3, 4
    assert recorder.heard[-1][1:3] == (240, 240)


def test_networks_have_the_asked_widths() -> None:
    with torch.random.fork_rng(devices=[]):
        network = dense_network([3, 5, 2], torch.nn.ReLU)
    assert [tuple(p.shape) for p in network.parameters()] == [(5, 3), (5,), (2, 5), (2,)]


@pytest.mark.parametrize("widths", [[3, 2], [3, 5, 2], [2, 3, 4, 5, 6, 7, 8, 9]])
def test_networks_are_read_back_as_they_were(widths: list[int]) -> None:
    with torch.random.fork_rng(devices=[]):
        network, other = dense_network(widths, torch.nn.ReLU), dense_network([3, 4], torch.nn.ReLU)
    arrays = network_state(network, "encoder") | network_state(other, "encoders")  # a name that begins alike
    again = network_from_state(arrays, "encoder")
    assert str(again) == str(network)
    rows = torch.linspace(-1.0, 1.0, 5 * widths[0]).reshape(5, -1)
    assert torch.equal(again(rows), network(rows))


def test_a_network_that_was_read_back_keeps_its_own_weights() -> None:
    with torch.random.fork_rng(devices=[]):
        network = dense_network([3, 5, 2], torch.nn.ReLU)
    arrays = {name: array.copy() for name, array in network_state(network, "part").items()}
    again = network_from_state(arrays, "part")
    with torch.no_grad():
        for parameters in again.parameters():
            parameters.add_(1.0)
    assert all(np.array_equal(array, network_state(network, "part")[name]) for name, array in arrays.items())


def test_layers_are_in_the_order_of_their_numbers() -> None:
    """The tenth layer comes after the second."""
    with torch.random.fork_rng(devices=[]):
        network = dense_network([4] * 8, torch.nn.ReLU)
    backwards = dict(sorted(network_state(network, "deep").items(), reverse=True))
    rows = torch.linspace(-1.0, 1.0, 20).reshape(5, 4)
    assert torch.equal(network_from_state(backwards, "deep")(rows), network(rows))
