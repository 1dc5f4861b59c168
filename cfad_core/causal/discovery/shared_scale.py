"""The graph of columns that share a scale: least squares with one function for all causes.

Where all columns are continuous and measured in one unit, noises of the same size distinguish causes from effects, and
where rows were chosen by their label, score matching sees which edges are real. Elsewhere ``order_search`` is the way.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from cfad_core.causal.additive import AdditiveModel
from cfad_core.causal.discovery.columns import Columns
from cfad_core.causal.discovery.moments import Sums
from cfad_core.causal.discovery.search import Search
from cfad_core.core.arrays import Floats, Rows
from cfad_core.core.config import DiscoveryConfig, Knowledge
from cfad_core.core.progress import Progress

_COMMON_SPREAD = 3.0  # root mean square of the standard deviations of the scaled columns
_NOISE_ALIKE = 1.5  # how many times larger or smaller than assumed a variable's noise may be, in one of many graphs


@dataclass(frozen=True)
class SharedScale:
    """What is settled once for all rows.

    Attributes
    ----------
    x : (n, d), the rows, all attributes divided by ``unit``
    nothing, total : sums of no rows, and of all
    start : where searches on a part of the rows begin
    """

    x: Floats
    unit: float
    search: Search
    nothing: Sums
    total: Sums
    start: Floats | None

    @staticmethod
    def prepare(
        x: Floats, columns: Columns, config: DiscoveryConfig, knowledge: Knowledge, progress: Progress
    ) -> SharedScale:
        factor = float(np.sqrt(np.mean(x[:, 1:].var(axis=0)))) / _COMMON_SPREAD or 1.0
        scaled = np.column_stack([x[:, :1], x[:, 1:] / factor])
        search = Search.prepare(scaled, replace(columns, comparable_units=True), config, knowledge)
        nothing = Sums.prepare(scaled, search.basis_size)
        total = nothing.add(scaled, config.batch_size, progress)
        start = search.starting_point(total.moments(), np.random.default_rng(0), progress)
        return SharedScale(scaled, factor, search, nothing, total, start)

    def learn(self, rows: Rows | None, seed: int, progress: Progress) -> AdditiveModel:
        """The model of all rows, or of some: those assume other noise, as they are one of many graphs."""
        rng = np.random.default_rng(seed)
        if rows is None:
            return self.search.learn(self.x, self.total.moments(), rng, progress)
        some = self.x[rows]
        sums = self.nothing.add(some, self.search.config.batch_size, progress)
        noise = np.exp(rng.uniform(-np.log(_NOISE_ALIKE), np.log(_NOISE_ALIKE), some.shape[1]))
        return self.search.learn(some, sums.moments(), rng, progress, self.start, 1.0 / noise**2)
