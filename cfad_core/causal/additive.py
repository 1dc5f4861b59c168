"""The paper's structural causal model, with additive noise: abduct, act, predict.

    x_i = sum_j A[j, i] f(x_j) + b_i + u_i

It serves the paper's way of discovery, the search on a shared scale, and audits that were made before every variable
had a mechanism of its own. Its twins need not be legal people: a category lies between its levels.

A column with two values acts linearly, by ``slope[j] x_j`` instead of ``f(x_j)``. The noise is additive, so flipping
``S`` twice gives the person back. All arithmetic goes column by column, element by element: a row's result never
depends on the rows beside it, to the last bit.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from safetensors.numpy import load_file, save_file

from cfad_core.causal.graph import descendants, find_cycle, membership, strength_between, topological_order
from cfad_core.causal.spline import Spline, SplineBasis
from cfad_core.core.arrays import Bools, Floats
from cfad_core.core.errors import InvalidArtifactError, InvalidDataError
from cfad_core.core.states import TWO_GROUPS, Codes, States

_VERSION = 2


@dataclass(frozen=True)
class AdditiveModel:
    """A learned causal model.

    Attributes
    ----------
    names : of the d variables
    sensitive : name of ``S``, stored as -1 / +1
    weights : A, shape (d, d); row causes column; acyclic
    intercept : b, shape (d,)
    f : the function that causes pass through
    slope : (d,), where it is not 0 the column acts linearly; by default all act through f
    variables : the variable that each column belongs to, where a variable has several; by default its own name
    """

    names: tuple[str, ...]
    sensitive: str
    weights: Floats
    intercept: Floats
    f: Spline
    slope: Floats | None = None
    variables: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        cycle = find_cycle(self.weights != 0.0)
        if cycle:
            path = " -> ".join(self.names[j] for j, _ in [*cycle, cycle[0]])
            raise InvalidDataError(f"A structural causal model needs a graph without cycles; this one has {path}.")

    @cached_property
    def order(self) -> list[int]:
        """Causes before effects."""
        return topological_order(self.weights != 0.0)

    @cached_property
    def sensitive_index(self) -> int:
        return self.names.index(self.sensitive)

    @cached_property
    def affected(self) -> tuple[int, ...]:
        """The variables that ``S`` reaches, causes before effects."""
        reached = descendants(self.weights != 0.0, self.sensitive_index)
        return tuple(i for i in self.order if i in reached)

    @property
    def affected_names(self) -> tuple[str, ...]:
        return tuple(dict.fromkeys(self.column_variables[i] for i in self.affected))

    @property
    def column_variables(self) -> tuple[str, ...]:
        """The variable of each column."""
        return self.variables or self.names

    @property
    def attributes(self) -> tuple[str, ...]:
        """The sensitive attributes: there is one."""
        return (self.sensitive,)

    @property
    def states(self) -> States:
        """The two groups."""
        return TWO_GROUPS

    def affected_by(self, attributes: Sequence[str]) -> tuple[str, ...]:  # noqa: ARG002 - there is one
        """The names of the variables that the sensitive attribute reaches."""
        return self.affected_names

    def strengths(self) -> tuple[list[str], Floats]:
        """The variables, and how strongly each acts on each other.

        Between two variables of one column each that is the weight; else the norm of the weights between them.
        """
        variables, belongs = membership(self.column_variables)
        if len(variables) == len(self.names):
            return variables, self.weights
        return variables, strength_between(self.weights, belongs)

    def edges(self) -> dict[tuple[str, str], float]:
        """How strongly each cause acts on each of its effects, by the names of the two variables."""
        variables, strengths = self.strengths()
        return {(variables[j], variables[i]): float(strengths[j, i]) for j, i in np.argwhere(strengths != 0.0)}

    def reconstruct(self, x: Floats) -> Floats:
        """What the structural equations expect of each variable, ``A^T f(x) + b``, shape (n, d)."""
        x = self._checked(x)
        messages = self.messages(x)
        return np.stack([self.expected(messages, i, len(x)) for i in range(len(self.names))], axis=1)

    def abduct(self, x: Floats) -> Floats:
        """Abduction: the noise ``u = x - A^T f(x) - b`` of each person, shape (n, d)."""
        return x - self.reconstruct(x)

    def twins(
        self,
        x: Floats,
        draw: int = 0,  # noqa: ARG002 - there is nothing to draw
        *,
        to: Codes | None = None,
        cut: tuple[str, str] | None = None,
        coupling: object = None,  # noqa: ARG002 - levels are not coupled
    ) -> Floats:
        """Each person had ``S`` been the other value, shape (n, d). Non-descendants keep every bit.

        Parameters
        ----------
        to : (n,), the group that each is moved to, from 0; who belongs to it stays. By default the other one
        cut : an edge (cause, effect) between variables that carries nothing
        """
        x = self._checked(x)
        messages = self.messages(x)
        before = dict(messages)
        noise = {i: x[:, i] - self.expected(messages, i, len(x)) for i in self.affected}  # Abduction
        result = x.copy()
        result[:, self.sensitive_index] = -x[:, self.sensitive_index]  # Action
        messages[self.sensitive_index] = self.message(self.sensitive_index, result)
        for i in self.affected:  # Prediction
            heard = messages
            if cut is not None and self.column_variables[i] == cut[1]:
                heard = messages | {j: before[j] for j in before if self.column_variables[j] == cut[0]}
            result[:, i] = noise[i] + self.expected(heard, i, len(x))
            messages[i] = self.message(i, result)
        if to is not None:
            stays = self.states.of_codes(x[:, self.sensitive_index]) == to
            result[stays] = x[stays]
        return result

    def possible_twins(self, x: Floats) -> Callable[..., Floats]:
        """All possible twins of people x (n, d), which are one."""
        return partial(self.twins, x)

    def oddness(self, x: Floats, *, drawn: bool = False) -> tuple[Floats, Floats]:  # noqa: ARG002 - nothing is drawn
        """What is unusual about people x (n, d) with their causes: noise, and nothing of levels; both (n, d - 1)."""
        others = np.arange(len(self.names)) != self.sensitive_index
        noise = self.abduct(x)[:, others]
        return noise, np.zeros_like(noise)

    @property
    def drawn_columns(self) -> Bools:
        """(d - 1,), where chance has a part in what twins have: nowhere."""
        return np.zeros(len(self.names) - 1, dtype=np.bool_)

    @property
    def draws(self) -> bool:
        """Whether a person has several possible twins."""
        return False

    def messages(self, x: Floats) -> dict[int, Floats]:
        """What each column that causes anything sends, by its position."""
        causes = np.flatnonzero((self.weights != 0.0).any(axis=1))
        return {int(j): self.message(int(j), x) for j in causes}

    def message(self, j: int, x: Floats) -> Floats:
        """What j sends to its effects, shape (n,)."""
        if self.slope is None or self.slope[j] == 0.0:
            return self.f(x[:, j])
        linear: Floats = self.slope[j] * x[:, j]
        return linear

    def expected(self, messages: Mapping[int, Floats], i: int, n: int) -> Floats:
        """What the structural equation of i makes of the messages to n people, shape (n,)."""
        total = np.full(n, self.intercept[i])
        for j in np.flatnonzero(self.weights[:, i]):
            total += self.weights[j, i] * messages[int(j)]
        return total

    def _checked(self, x: Floats) -> Floats:
        if x.ndim != 2 or x.shape[1] != len(self.names):
            raise InvalidDataError(f"Expected rows of {len(self.names)} variables; got an array of shape {x.shape}.")
        return np.asarray(x, dtype=np.float64)

    def save(self, stem: Path) -> None:
        """Write ``stem.json`` and ``stem.safetensors``."""
        arrays = {"weights": self.weights, "intercept": self.intercept, "coefficients": self.f.coefficients}
        if self.slope is not None:
            arrays["slope"] = self.slope
        save_file(
            {name: np.ascontiguousarray(array) for name, array in arrays.items()}, stem.with_suffix(".safetensors")
        )
        basis = self.f.basis
        text = {
            "version": _VERSION,
            "names": list(self.names),
            "variables": list(self.variables),
            "sensitive": self.sensitive,
            "basis": {"low": basis.low.hex(), "high": basis.high.hex(), "size": basis.size},
        }
        stem.with_suffix(".json").write_text(json.dumps(text, indent=2) + "\n", encoding="utf-8")

    @staticmethod
    def load(stem: Path) -> AdditiveModel:
        """Read what ``save`` wrote; the model is the same to the last bit.

        Raises
        ------
        InvalidArtifactError
            If the files are missing, damaged or of another version.
        """
        try:
            text = json.loads(stem.with_suffix(".json").read_text(encoding="utf-8"))
            arrays = load_file(stem.with_suffix(".safetensors"))
            if text["version"] != _VERSION:
                raise InvalidArtifactError(
                    f"{stem.with_suffix('.json')} has version {text['version']}; this program reads {_VERSION}."
                )
            basis = SplineBasis(
                float.fromhex(text["basis"]["low"]), float.fromhex(text["basis"]["high"]), text["basis"]["size"]
            )
            return AdditiveModel(
                names=tuple(text["names"]),
                sensitive=text["sensitive"],
                weights=arrays["weights"],
                intercept=arrays["intercept"],
                f=Spline(basis, arrays["coefficients"]),
                slope=arrays.get("slope"),
                variables=tuple(text["variables"]),
            )
        except InvalidArtifactError:
            raise
        except Exception as error:  # whatever is wrong with the files, it is one thing to the reader
            raise InvalidArtifactError(f"Cannot read the causal model at {stem}: {error}") from error
