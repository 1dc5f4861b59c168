"""The one training loop. What a step does is the model's business; the loop draws batches and notifies."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from cfad_core.core.progress import Progress
from cfad_core.core.threads import one_torch_thread

Step = Callable[[torch.Tensor], Mapping[str, torch.Tensor]]

_REPORTS = 60  # about how often a training reports at least
_PADDED = 16  # what widths are padded to when scoring
_LONGEST_EPOCH = 50  # batches that count as a pass over the rows
_SILENCE = 1.0  # seconds without a report, at most
_LOOKED = 20  # steps between two looks at rows that are held out
_PATIENCE = 3  # looks without a gain after which nothing more is expected of this learning rate
_GAIN = 0.01  # of the loss, that counts as one
_COOLING = 0.5  # steps of a falling learning rate, of those before


@dataclass(frozen=True)
class Passes:
    """How often a training looks at which rows, and under what name it reports.

    Attributes
    ----------
    n_rows, batch_size, steps : batches of so many of the rows, so many times
    generator : of the shuffling
    stage : its name in reports of progress
    done, total : where this run stands in its stage, if it is only a part of it
    """

    n_rows: int
    batch_size: int
    steps: int
    generator: torch.Generator
    stage: str
    done: int = 0
    total: int | None = None


class Pace:
    """The learning rate of a training that ends when it has learned, and the weights that are kept.

    The rate stays what it is while rows that are held out get a lower loss, by 1 % within three looks. Then, or once
    two thirds of the steps are used, it falls to 0 along half a cosine, for half as many steps as before. A falling
    rate gains what a constant one cannot, so the loss of a constant one says when to begin, not when to stop. Of all
    networks that were looked at, the one with the lowest loss is kept.

    Parameters
    ----------
    look : the loss of what was learned so far, on rows that are held out; None: nothing ends early
    most : steps, at most
    """

    def __init__(self, optimiser: torch.optim.Optimizer, look: Callable[[], float] | None, most: int) -> None:
        self.optimiser, self.look, self.most = optimiser, look, most
        self.rates = [float(group["lr"]) for group in optimiser.param_groups]
        self.begin, self.end = math.ceil(most / (1.0 + _COOLING)), most
        self.losses: list[float] = []
        self._goal, self._since = math.inf, 0
        self._best: tuple[float, list[torch.Tensor]] = (math.inf, [])

    def goes_on(self, k: int) -> bool:
        """After step k: look, if it is time, and set the rate of the next step; False once the last is done."""
        if self.look is not None and (k % _LOOKED == 0 or k == self.end):
            self._see(k, self.look())
        fallen = max(0, k - self.begin) / max(1, self.end - self.begin)
        for group, rate in zip(self.optimiser.param_groups, self.rates, strict=True):
            group["lr"] = rate * 0.5 * (1.0 + math.cos(math.pi * min(1.0, fallen)))
        if k < self.end:
            return True
        with torch.no_grad():
            for weights, kept in zip(self._weights(), self._best[1], strict=False):
                weights.copy_(kept)
        return False

    def _see(self, k: int, loss: float) -> None:
        self.losses.append(loss)
        if loss < self._best[0]:
            self._best = loss, [weights.detach().clone() for weights in self._weights()]
        gained = loss < self._goal * (1.0 - _GAIN)
        self._goal, self._since = min(loss, self._goal), 0 if gained else self._since + 1
        if k < self.begin and self._since >= _PATIENCE:
            self.begin, self.end = k, min(self.most, k + max(1, round(_COOLING * k)))

    def _weights(self) -> Iterator[torch.Tensor]:
        return (weights for group in self.optimiser.param_groups for weights in group["params"])


def adam(parameters: Iterable[torch.nn.Parameter], rate: float) -> torch.optim.Adam:
    """Adam as one operation for all weights: a seventh less time a step than its steps one by one."""
    return torch.optim.Adam(parameters, lr=rate, fused=True)


def train(
    step: Step,
    passes: Passes,
    progress: Progress,
    extra: Mapping[str, float] | None = None,
    pace: Pace | None = None,
) -> dict[str, float]:
    """Run steps on shuffled batches and report the mean of what they return.

    Parameters
    ----------
    step : called with the row indices of a batch; returns scalar losses by name
    extra : further values to report
    pace : may end the training before all its steps are done

    Returns
    -------
    The means of the last report.
    """
    steps, stage, done = passes.steps, passes.stage, passes.done
    total = steps if passes.total is None else passes.total
    every = max(1, total // _REPORTS)
    batches = _endless_batches(passes.n_rows, passes.batch_size, passes.generator)
    sums: dict[str, torch.Tensor] = {}
    means: dict[str, float] = {}
    since, reported = 0, time.monotonic()
    with one_torch_thread():
        for k in range(1, steps + 1):
            for name, value in step(next(batches)).items():
                sums[name] = sums.get(name, torch.zeros(())) + value.detach()
            since += 1
            over = k == steps if pace is None else not pace.goes_on(k)
            if k % every == 0 or over or time.monotonic() - reported > _SILENCE:
                means = {name: float(value) / since for name, value in sums.items()}
                sums, since, reported = {}, 0, time.monotonic()
                progress.tick(stage, total if over and k < steps else done + k, total, **means, **(extra or {}))
            else:
                progress.check(stage)
            if over:
                break
    return means


def steps_for(epochs: int, n_rows: int, batch_size: int) -> int:
    """Steps that pass ``epochs`` times over the rows; over large tables less often.

    A network has learned after a number of steps that hardly depends on how many rows there are to draw them from.
    """
    return epochs * min(_LONGEST_EPOCH, max(1, n_rows // min(batch_size, n_rows)))


def _endless_batches(n_rows: int, batch_size: int, generator: torch.Generator) -> Iterator[torch.Tensor]:
    """Shuffled passes over the rows; what does not fill a batch waits for another shuffle."""
    size = min(batch_size, n_rows)
    while True:
        order = torch.randperm(n_rows, generator=generator)
        for start in range(0, n_rows - size + 1, size):
            yield order[start : start + size]


def dense_network(widths: list[int], activation: type[torch.nn.Module]) -> torch.nn.Sequential:
    """Linear layers of the given widths with an activation between them."""
    layers: list[torch.nn.Module] = []
    for before, after in itertools.pairwise(widths):
        layers += [torch.nn.Linear(before, after), activation()]
    return torch.nn.Sequential(*layers[:-1])


def scoring_network(network: torch.nn.Sequential) -> Callable[[torch.Tensor], torch.Tensor]:
    """The same function for scoring, whose result for a row is the same to the last bit wherever the row stands.

    Matrix libraries treat odd widths by paths that depend on a row's place in memory. So every width is padded with
    zeros to a multiple of 16; the activation must leave zeros alone, as ReLU does.
    """
    layers: list[Callable[[torch.Tensor], torch.Tensor]] = []
    width = 0
    for layer in network:
        if isinstance(layer, torch.nn.Linear):
            width = layer.out_features
            rows, columns = (-width % _PADDED, -layer.in_features % _PADDED)
            weight = torch.nn.functional.pad(layer.weight.detach(), (0, columns, 0, rows))
            bias = torch.nn.functional.pad(layer.bias.detach(), (0, rows))
            layers.append(functools.partial(torch.nn.functional.linear, weight=weight, bias=bias))
        else:
            layers.append(layer)

    def run(rows: torch.Tensor) -> torch.Tensor:
        with one_torch_thread():
            values = torch.nn.functional.pad(rows, (0, -rows.shape[1] % _PADDED))
            for layer in layers:
                values = layer(values)
            return values[:, :width]

    return run


def network_state(network: torch.nn.Sequential, prefix: str) -> dict[str, NDArray[np.generic]]:
    """The weights of a network as arrays, by name."""
    return {f"{prefix}.{name}": tensor.numpy() for name, tensor in network.state_dict().items()}


def network_from_state(arrays: Mapping[str, NDArray[np.generic]], prefix: str) -> torch.nn.Sequential:
    """The dense network with ReLU whose ``network_state`` this is."""
    tensors = {
        name.removeprefix(f"{prefix}."): torch.from_numpy(array.copy())
        for name, array in arrays.items()
        if name.startswith(f"{prefix}.")
    }
    layers = sorted((int(name.split(".")[0]), name) for name in tensors if name.endswith("weight"))
    widths = [tensors[layers[0][1]].shape[1], *(tensors[name].shape[0] for _, name in layers)]
    with torch.random.fork_rng(devices=[]):  # the first weights are drawn, and replaced at once
        network = dense_network(widths, torch.nn.ReLU)
    network.load_state_dict(tensors)
    return network
