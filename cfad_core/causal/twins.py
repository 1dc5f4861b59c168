"""Twins that are legal people: in the other group, with categories that exist.

``StructuralModel.counterfactual`` adds noise to what is expected, so the counterfactual of a category, or of any column
with two values, lies between its levels, where no person is. Here each variable's mechanisms say what twins have,
causes before effects.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from cfad_core.causal.graph import topological_order
from cfad_core.causal.mechanisms import fit_mechanisms
from cfad_core.causal.mechanisms.protocol import Mechanism
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats
from cfad_core.core.threads import one_thread

_MAX_ROWS = 3_000  # to fit mechanisms to


@dataclass(frozen=True)
class TwinDraws:
    """A causal model, and the mechanisms of every variable that the sensitive attribute reaches."""

    model: StructuralModel
    mechanisms: dict[str, tuple[Mechanism, ...]]  # by variable

    @staticmethod
    @one_thread()
    def fit(model: StructuralModel, x: Floats, rng: np.random.Generator) -> TwinDraws:
        """Fit the mechanisms to the rows x (n, d) that the model was learned from, or to some of them."""
        sample = x if len(x) <= _MAX_ROWS else x[np.sort(rng.choice(len(x), _MAX_ROWS, replace=False))]
        return TwinDraws(
            model, {variable: fit_mechanisms(model, variable, x, sample) for variable in model.affected_names}
        )

    def draw(self, x: Floats, rng: np.random.Generator, cut: tuple[str, str] | None = None) -> Floats:
        """Each person had ``S`` been the other value, shape (n, d), every category at one of its levels.

        Parameters
        ----------
        cut : an edge (cause, effect) that carries nothing: the twin's effect hears the person's cause
        """
        model = self.model
        before = model.messages(x)
        after = dict(before)
        result = x.copy()
        result[:, model.sensitive_index] = -x[:, model.sensitive_index]
        self._send(after, result, model.sensitive)
        for variable in self._order():
            heard = after
            if cut is not None and cut[1] == variable:
                kept = {j: before[j] for j in before if model.column_variables[j] == cut[0]}
                heard = after | kept
            for mechanism in self.mechanisms[variable]:
                result[:, list(mechanism.columns)] = mechanism.twins(x, before, heard, rng)
            self._send(after, result, variable)
        return result

    def snapped(self, x: Floats) -> Floats:
        """People with every category at its nearest level."""
        result = x.copy()
        for mechanism in (mechanism for found in self.mechanisms.values() for mechanism in found):
            result[:, list(mechanism.columns)] = mechanism.snapped(x)
        return result

    def _order(self) -> list[str]:
        """The variables that are affected, causes before effects; all columns of one are drawn together."""
        variables, strengths = self.model.strengths()
        reached = set(self.model.affected_names)
        order = topological_order(strengths != 0.0)
        return [variables[k] for k in order if variables[k] in reached]

    def _send(self, messages: dict[int, Floats], x: Floats, variable: str) -> None:
        for j in messages:
            if self.model.column_variables[j] == variable:
                messages[j] = self.model.message(j, x)
