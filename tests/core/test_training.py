from __future__ import annotations

import numpy as np
import pytest
import torch

from cfad_core.core.training import (
    Pace,
    Passes,
    adam,
    dense_network,
    network_from_state,
    network_state,
    steps_for,
    train,
)
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


def paced(losses: list[float] | None, most: int, recorder: Recorder | None = None) -> tuple[Pace, list[float], float]:
    """A training of one weight, which is the number of steps done, with these losses when it is looked at."""
    weight = torch.nn.Parameter(torch.zeros(()))
    optimiser, rates = adam([weight], 0.5), []
    heard = iter(losses or [])
    pace = Pace(optimiser, None if losses is None else lambda: next(heard), most)

    def step(_: torch.Tensor) -> dict[str, torch.Tensor]:
        rates.append(optimiser.param_groups[0]["lr"])
        with torch.no_grad():
            weight.add_(1.0)
        return {"loss": torch.zeros(())}

    passes = Passes(10, 5, most, torch.Generator().manual_seed(0), "test")
    train(step, passes, recorder or Recorder(), pace=pace)
    return pace, rates, weight.item()


def test_a_training_without_rows_held_out_takes_all_its_steps() -> None:
    pace, rates, weight = paced(None, 90)
    assert (len(rates), weight, pace.losses) == (90, 90.0, [])
    assert rates[:60] == [0.5] * 60
    assert rates[60:] == sorted(rates[60:], reverse=True)
    assert rates[-1] < 0.01


def test_the_rate_falls_once_nothing_is_gained_and_the_training_ends_early() -> None:
    recorder = Recorder()
    losses = [9.0, 5.0, 4.0, 3.97, 3.99, 3.98, 3.0, 2.0, 1.0]  # after 20, 40, ... steps; then the rate falls
    pace, rates, weight = paced(losses, 1000, recorder)
    assert (pace.begin, pace.end, len(rates), weight) == (120, 180, 180, 180.0)
    assert pace.losses == losses
    assert rates[119] == 0.5 > rates[121]
    assert recorder.heard[-1][1:3] == (1000, 1000)  # what is left is not to be waited for


def test_a_slow_gain_is_a_gain_and_the_steps_are_bounded() -> None:
    pace, rates, _ = paced([0.98**k for k in range(100)], 300)
    assert (pace.begin, pace.end, len(rates)) == (200, 300, 300)


def test_the_network_with_the_lowest_loss_is_kept() -> None:
    *_, weight = paced([3.0, 1.0, 2.0, 2.0, 2.0, 4.0, 4.0, 5.0], 1000)
    assert weight == 40.0


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
