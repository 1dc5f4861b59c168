"""Tables so small, or so mixed, that the answer is known."""

from __future__ import annotations

import numpy as np
import pandas as pd

from cfad_core.core.config import Scaling
from cfad_core.data.encoding import Encoding, fit_encoding
from cfad_core.data.roles import ColumnRoles, resolve_roles


def table() -> pd.DataFrame:
    """Four people."""
    return pd.DataFrame(
        {
            "sex": ["f", "m", "f", "m"],
            "age": [20, 30, 40, 60],
            "pay": [1.5, 2.5, 3.5, 9.5],
            "id": ["a", "b", "c", "d"],
            "bad": [0, 0, 1, 0],
        }
    )


ROLES = ColumnRoles("sex", label="bad", anomaly="1", ignore=("id",))


def mixed(n: int = 60) -> pd.DataFrame:
    """Numbers, categories, booleans and dates, some of them missing."""
    rng = np.random.default_rng(0)
    return pd.DataFrame(
        {
            "sex": rng.choice(["f", "m"], n),
            "age": rng.integers(18, 80, n),
            "job": rng.choice(np.array(["clerk", "nurse", "smith", None], dtype=object), n),
            "owner": rng.choice([True, False], n),
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, n), unit="D"),
            "pay": np.where(rng.random(n) < 0.2, np.nan, rng.normal(10.0, 3.0, n)),
        }
    )


def fit_to(frame: pd.DataFrame, roles: ColumnRoles | None = None, scaling: Scaling = "auto") -> Encoding:
    """The encoding of a table whose sensitive column is 'sex' unless said otherwise."""
    return fit_encoding(frame, resolve_roles(frame, roles or ColumnRoles("sex")), scaling)


def arrests(n: int = 1200) -> pd.DataFrame:
    """People who were arrested, with few different values in each column; most were released."""
    rng = np.random.default_rng(0)
    colour = rng.choice(["Black", "White"], n, p=[0.25, 0.75])
    employed, citizen = (np.where(rng.random(n) < share, "Yes", "No") for share in (0.78, 0.85))
    checks = rng.choice(7, n, p=[0.35, 0.16, 0.15, 0.18, 0.12, 0.03, 0.01])
    odds = 1.9 - 0.4 * checks + 0.7 * (employed == "Yes") - 0.5 * (colour == "Black")
    return pd.DataFrame(
        {
            "released": np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-odds)), "Yes", "No"),
            "colour": colour,
            "year": rng.choice(np.arange(1997, 2003), n),
            "age": np.clip(12 + rng.gamma(3.0, 5.0, n).astype(np.intp), 12, 66),
            "sex": rng.choice(["Female", "Male"], n, p=[0.08, 0.92]),
            "employed": employed,
            "citizen": citizen,
            "checks": checks,
        }
    )


def applications(n: int = 1200, more: int = 0) -> pd.DataFrame:
    """Applications for mortgages, with columns that give their outcome away or repeat others, and ``more`` that do not.

    Of the outcome, ``action_taken``, 3 is a denial.
    """
    rng = np.random.default_rng(0)
    race = rng.choice(["Asian", "Black", "White"], n, p=[0.12, 0.18, 0.7])
    sex = rng.choice(["Female", "Male"], n)
    loan, value = np.exp(rng.normal(12.3, 0.6, n)).round(-3), np.exp(rng.normal(12.8, 0.5, n)).round(-3)
    denied = rng.random(n) < np.where(race == "Black", 0.25, 0.15)
    points, fees = rng.uniform(0.0, 2000.0, n).round(2), rng.uniform(100.0, 900.0, n).round(2)
    age = rng.choice(["<25", "25-34", "35-44", "45-54", "55-64", "65-74", ">74"], n)
    columns = {
        "derived_race": race,
        "derived_sex": sex,
        "action_taken": np.where(denied, 3, rng.choice([1, 2], n, p=[0.93, 0.07])),
        "loan_amount": loan,
        "property_value": value,
        "loan_to_value_ratio": (100.0 * loan / value).round(3),
        "income": np.where(rng.random(n) < 0.04, np.nan, np.exp(rng.normal(4.4, 0.5, n)).round()),
        "log_loan_amount": np.log(loan).round(6),
        "interest_rate": np.where(denied, np.nan, rng.normal(3.1, 0.5, n).round(3)),
        "rate_spread": np.where(denied, np.nan, rng.normal(0.3, 0.6, n).round(3)),
        "origination_charges": np.where(denied, 0.0, rng.uniform(500.0, 5000.0, n).round(2)),
        "denial_reason_1": np.where(denied, rng.choice([1, 3, 4, 6], n), 10),
        "points": points,
        "fees": fees,
        "total_fees": (points + fees).round(2),
        "applicant_age": age,
        "applicant_over_62": np.isin(age, ["65-74", ">74"]),
        "applicant_race_1": pd.Series(race).map({"White": 5, "Black": 3, "Asian": 2}),
        "applicant_sex": np.where(sex == "Male", 1, 2),
    }
    for k in range(more):
        columns[f"tract_{k}"] = rng.choice([1, 2, 3], n) if k % 3 else rng.normal(0.0, 1.0, n).round(3)
    return pd.DataFrame(columns)
