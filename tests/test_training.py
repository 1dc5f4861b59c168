from __future__ import annotations

import torch

from cfad_core.training import dense_network, steps_for, train
from tests.conftest import Recorder


def run(steps: int, batch_size: int, seed: int = 0, recorder: Recorder | None = None) -> list[list[int]]:
    seen: list[list[int]] = []

    def step(rows: torch.Tensor) -> dict[str, torch.Tensor]:
        seen.append(rows.tolist())
        return {"loss": torch.tensor(float(len(seen)))}

    train(
        step,
        n_rows=10,
        batch_size=batch_size,
        steps=steps,
        generator=torch.Generator().manual_seed(seed),
        stage="test",
        progress=recorder or Recorder(),
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
    assert 50 <= len(recorder.heard) <= 70
    assert recorder.heard[0][3]["loss"] == 2.5  # mean of 1, 2, 3, 4
    assert recorder.heard[-1][1:3] == (240, 240)


def test_networks_have_the_asked_widths() -> None:
    with torch.random.fork_rng(devices=[]):
        network = dense_network([3, 5, 2], torch.nn.ReLU)
    assert [tuple(p.shape) for p in network.parameters()] == [(5, 3), (5,), (2, 5), (2,)]
