"""A small table of invented people for a first upload: insurance claims, some of them fraudulent.

What causes what, so that a first audit has something to find:

    gender -> working hours -> monthly income -> insured value -> claim amount <- region
    gender -> occupation -> monthly income,   age -> monthly income,   age -> years as a customer

Fraudulent claims are out of line with the insured value, or come again and again soon after the contract began.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

SAMPLE_ROWS = 800

_OCCUPATIONS = ("care", "crafts", "office", "sales", "transport")
_FOR_WOMEN = np.array([0.32, 0.08, 0.32, 0.22, 0.06])
_FOR_MEN = np.array([0.10, 0.30, 0.24, 0.14, 0.22])
_PAY = {"care": 2500.0, "crafts": 2900.0, "office": 3300.0, "sales": 2600.0, "transport": 2800.0}
_REGIONS = ("north", "south", "east", "west")
_REMARKS = ("called twice", "sent photographs", "wants a quick answer", "asked for a surveyor", "no remark", "by post")


def generate_sample(seed: int = 0, rows: int = SAMPLE_ROWS) -> pd.DataFrame:
    """Draw the people; the same seed gives the same table."""
    rng = np.random.default_rng(seed)
    people = _draw_people(rng, rows)
    claims = _draw_claims(rng, people)
    table = pd.DataFrame(
        {
            "claim_id": [f"C-{k:05d}" for k in rng.permutation(rows) + 10_000],
            **people[["gender", "age", "region", "occupation", "working_hours", "monthly_income"]],
            "homeowner": rng.random(rows) < np.clip((people["age"] - 20) / 60.0, 0.05, 0.8),
            **claims[["customer_years", "claims_last_year"]],
            "insured_value": people["insured_value"],
            **claims[["claim_amount", "reported_on"]],
            "remark": [f"{rng.choice(_REMARKS)}, file {number}" for number in rng.integers(1000, 9999, rows)],
            "fraud": claims["fraud"],
        }
    )
    table.loc[rng.random(rows) < 0.04, "monthly_income"] = np.nan  # some do not say
    table.loc[rng.random(rows) < 0.02, "occupation"] = None
    table.loc[rng.random(rows) < 0.01, "gender"] = "not stated"
    return table


def _draw_people(rng: np.random.Generator, rows: int) -> pd.DataFrame:
    """Who they are, what they earn and what they insured."""
    woman = rng.random(rows) < 0.5
    age = np.clip(rng.normal(44.0, 13.0, rows), 18, 85).round().astype(np.int64)
    occupation = np.where(
        woman, rng.choice(_OCCUPATIONS, rows, p=_FOR_WOMEN), rng.choice(_OCCUPATIONS, rows, p=_FOR_MEN)
    )
    hours = np.clip(np.where(woman, 32.0, 39.0) + rng.normal(0.0, 4.0, rows), 10.0, 60.0).round()
    full_time = np.array([_PAY[job] for job in occupation]) + 18.0 * (age - 44.0)
    income = (full_time * hours / 39.0 * np.exp(rng.normal(0.0, 0.12, rows))).round(-1)
    region = rng.choice(_REGIONS, rows, p=[0.3, 0.3, 0.2, 0.2])
    return pd.DataFrame(
        {
            "gender": np.where(woman, "female", "male"),
            "age": age,
            "region": region,
            "occupation": occupation,
            "working_hours": hours.astype(np.int64),
            "monthly_income": income,
            "customer_years": np.clip((age - 18) * rng.random(rows) * 0.5, 0.0, None).round(1),
            "insured_value": (8.0 * income * np.exp(rng.normal(0.0, 0.2, rows))).round(-2),
        }
    )


def _draw_claims(rng: np.random.Generator, people: pd.DataFrame) -> pd.DataFrame:
    """What they claim: fraudulent claims are inflated, or one of many soon after the contract began."""
    rows, insured, years = len(people), people["insured_value"].to_numpy(), people["customer_years"].to_numpy()
    fraud = rng.random(rows) < 0.08
    share = np.clip(rng.normal(0.12, 0.04, rows) + np.where(people["region"] == "north", 0.03, 0.0), 0.01, None)
    inflated = fraud & (rng.random(rows) < 0.7)
    amount = (insured * np.where(inflated, share + rng.uniform(0.25, 0.6, rows), share)).round(2)
    claims = rng.poisson(0.8, rows) + np.where(fraud & ~inflated, rng.integers(4, 8, rows), 0)
    years = np.where(fraud & ~inflated, np.minimum(years, rng.uniform(0.1, 1.5, rows).round(1)), years)
    reported = pd.Timestamp("2025-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), unit="D")
    return pd.DataFrame(
        {
            "customer_years": years,
            "claims_last_year": claims,
            "claim_amount": amount,
            "reported_on": reported.strftime("%Y-%m-%d"),
            "fraud": np.where(fraud, "yes", "no"),
        }
    )
