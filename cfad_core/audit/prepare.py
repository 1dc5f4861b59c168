"""From tables and roles to encoded rows to learn from and to judge."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from cfad_core.audit.notices import data_notices, overlap_notices
from cfad_core.core.arrays import Bools, Floats, Rows
from cfad_core.core.config import AuditConfig
from cfad_core.core.errors import InvalidDataError
from cfad_core.data.encoding import Encoding, fit_encoding
from cfad_core.data.findings import Finding
from cfad_core.data.groups import OUTSIDE, matches
from cfad_core.data.kinds import kind_named
from cfad_core.data.roles import ColumnRoles, state_codes
from cfad_core.data.scaling import choose_scaling
from cfad_core.data.split import stratified_split
from cfad_core.data.tables import Tables
from cfad_core.data.validation import MIN_GROUP_ROWS, MIN_TRAINING_ROWS, validate

MIN_NORMAL_ROWS = 50


@dataclass(frozen=True)
class AuditRows:
    """Encoded rows.

    Attributes
    ----------
    roles : with the groups settled
    train, train_rows : (n, d), the rows to learn from, and their positions in the table
    train_is_normal : (n,)
    rows_were_selected : whether all training rows are normal by their label
    comparable_units : whether all attributes are continuous numbers that share a scale
    test, test_rows : (n, d), the people to judge, and their positions in their table
    test_is_anomaly : None without labels
    truth : (n, d), the true twins of the people; None where they are unknown
    notices : what the reader must know about the rows
    """

    roles: ColumnRoles
    encoding: Encoding
    train: Floats
    train_rows: Rows
    train_is_normal: Bools
    rows_were_selected: bool
    comparable_units: bool
    test: Floats
    test_rows: NDArray[np.int64]
    test_is_anomaly: Bools | None
    truth: Floats | None
    notices: tuple[Finding, ...]
    digest: str

    @property
    def normal(self) -> Floats:
        """The rows that detectors learn from."""
        return self.train[self.train_is_normal]


def prepare(given: Tables, roles: ColumnRoles, config: AuditConfig) -> AuditRows:
    """Check, split and encode.

    Raises
    ------
    InvalidDataError
        With every error that was found, one a line.
    """
    if given.test_counterfactual is not None and given.test is None:
        raise InvalidDataError("True twins need the test table that they belong to.")
    table = given.table.reset_index(drop=True).rename(columns=str)
    test = None if given.test is None else given.test.reset_index(drop=True).rename(columns=str)
    validation = validate(table, roles, test)
    roles = validation.usable_roles()
    train_rows, test_rows = _split(table, test, roles, config)
    training, testing = table.iloc[train_rows], (table if test is None else test).iloc[test_rows]
    encoding = fit_encoding(training, roles, config.scaling, config.categories)
    train, people = encoding.encode(training), encoding.encode(testing)
    _check_sizes(train, people, encoding)
    train_is_anomaly = _labels(training, roles)
    selected = train_is_anomaly is not None and not train_is_anomaly.any()
    return AuditRows(
        roles=roles,
        encoding=encoding,
        train=train,
        train_rows=train_rows,
        train_is_normal=_normal_rows(train, train_is_anomaly, roles),
        rows_were_selected=selected,
        comparable_units=_share_a_scale(training, encoding),
        test=people,
        test_rows=test_rows.astype(np.int64),
        test_is_anomaly=_labels(testing, roles),
        truth=_truth(given, encoding, people, test_rows),
        notices=(
            *validation.findings,
            *_unknown_categories(encoding, testing),
            *data_notices(encoding, train_is_anomaly, selected),
            *overlap_notices(encoding, train),
        ),
        digest=given.digest,
    )


def _share_a_scale(training: pd.DataFrame, encoding: Encoding) -> bool:
    numbers = [kind_named(variable.kind).numbers(training[variable.name]) for variable in encoding.variables]
    known = [values for values in numbers if values is not None and not np.isnan(values).any()]
    return len(known) == len(numbers) and choose_scaling(np.column_stack(known)) == "raw"


def _split(
    table: pd.DataFrame, test: pd.DataFrame | None, roles: ColumnRoles, config: AuditConfig
) -> tuple[Rows, Rows]:
    """Positions of the rows to learn from, and of those to judge in their own table."""
    pool = _rows_in_groups(table, roles)
    if test is not None:
        return pool, _rows_in_groups(test, roles)
    strata = state_codes(table, roles.groupings)[pool]
    if roles.label is not None:
        strata = 2 * strata + matches(table[roles.label], str(roles.anomaly))[pool]
    kept, held_out = stratified_split(strata, config.test_share, np.random.default_rng(config.seed))
    return pool[kept], pool[held_out]


def _truth(given: Tables, encoding: Encoding, people: Floats, test_rows: Rows) -> Floats | None:
    if given.test is None or given.test_counterfactual is None:
        return None
    if len(given.test_counterfactual) != len(given.test):
        raise InvalidDataError(
            f"The true twins must match the test table row by row; they have {len(given.test_counterfactual)} "
            f"rows, the test table {len(given.test)}."
        )
    if encoding.states.count > 2:
        raise InvalidDataError(
            "True twins can be given where two groups of one sensitive attribute are compared; here there are "
            f"{encoding.states.count} groups or combinations of them."
        )
    truth = encoding.encode(given.test_counterfactual.reset_index(drop=True).iloc[test_rows])
    if (truth[:, 0] != -people[:, 0]).any():
        raise InvalidDataError("Every true twin must belong to the other group.")
    return truth


def _normal_rows(train: Floats, is_anomaly: Bools | None, roles: ColumnRoles) -> Bools:
    is_normal = np.ones(len(train), dtype=np.bool_) if is_anomaly is None else ~is_anomaly
    if is_normal.sum() < MIN_NORMAL_ROWS:
        raise InvalidDataError(
            f"The detector learns from normal rows; only {int(is_normal.sum())} of the {len(train)} training rows are "
            f"(label '{roles.label}' other than '{roles.anomaly}'), and {MIN_NORMAL_ROWS} are needed."
        )
    return is_normal


def _unknown_categories(encoding: Encoding, testing: pd.DataFrame) -> list[Finding]:
    return [
        Finding(
            "unknown-categories",
            "warning",
            f"{count} test rows have a '{name}' that training rows do not; it is treated as the most frequent value.",
        )
        for name, count in encoding.unknown(testing).items()
    ]


def _rows_in_groups(table: pd.DataFrame, roles: ColumnRoles) -> Rows:
    return np.flatnonzero(state_codes(table, roles.groupings) != OUTSIDE)


def _labels(table: pd.DataFrame, roles: ColumnRoles) -> Bools | None:
    return None if roles.label is None else matches(table[roles.label], str(roles.anomaly))


def _check_sizes(train: Floats, test: Floats, encoding: Encoding) -> None:
    """What is left after rows were held out."""
    if len(test) == 0:
        raise InvalidDataError("No test row is left to judge.")
    levels = encoding.states.levels[encoding.states.of_codes(train[:, 0])]
    for s, groups in enumerate(encoding.attributes):
        for k, group in enumerate(groups.names):
            rows = int((levels[:, s] == k).sum())
            if rows < MIN_GROUP_ROWS:
                raise InvalidDataError(
                    f"Group '{group}' has {rows} training rows; at least {MIN_GROUP_ROWS} are needed. "
                    "Add more rows, or compare larger groups."
                )
    if len(train) < MIN_TRAINING_ROWS:
        raise InvalidDataError(f"There are {len(train)} training rows; at least {MIN_TRAINING_ROWS} are needed.")
