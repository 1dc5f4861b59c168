"""One mechanism for each part of a variable: how it comes from its causes, and what twins have.

A kind of variable is one class with the methods of ``Mechanism`` and one entry in ``MECHANISMS``. Each is asked in turn
which of a variable's columns it answers for; what it leaves goes to the next.
"""

from __future__ import annotations

from cfad_core.causal.mechanisms.category import Category
from cfad_core.causal.mechanisms.number import Number
from cfad_core.causal.mechanisms.protocol import Mechanism
from cfad_core.causal.model import StructuralModel
from cfad_core.core.arrays import Floats

MECHANISMS: tuple[type[Mechanism], ...] = (Category, Number)


def fit_mechanisms(model: StructuralModel, variable: str, everybody: Floats, sample: Floats) -> tuple[Mechanism, ...]:
    """The mechanisms of one variable that the sensitive attribute reaches.

    Parameters
    ----------
    everybody : (n, d), the rows that the model was learned from
    sample : (m, d), those among them to fit to, where fitting to all takes long
    """
    found: list[Mechanism] = []
    left = tuple(i for i, name in enumerate(model.column_variables) if name == variable)
    for kind in MECHANISMS:
        for columns in kind.claims(model, everybody, left):
            found.append(kind.fit(model, columns, everybody, sample))
            left = tuple(i for i in left if i not in columns)
    return tuple(found)
