"""Names and values that say what a column is about, in the languages in which tables are often written."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Mapping
from typing import Any

import pandas as pd

# What laws protect, in order of preference: what it is called here, and whole words of a name without accents
_PROTECTED = (
    ("sex", "sex gender female male woman geslacht geschlecht sexe sexo sesso genre genero kjonn"),
    (
        "race or ethnicity",
        "race racial ethnicity ethnic ethnie ethnicite etnia etniciteit ethnizitat colour color skin raza raca razza "
        "hautfarbe huidskleur minority black white asian african hispanic latino latina latinx indigenous aboriginal "
        "native roma nonwhite",
    ),
    (
        "religion",
        "religion religious faith muslim islam jewish christian godsdienst geloof glaube confession religione",
    ),
    (
        "nationality",
        "nationality citizenship citizen foreign foreigner migrant immigrant immigration migration refugee origin "
        "nationaliteit herkomst nationalitat staatsangehorigkeit herkunft nationalite nacionalidad nacionalidade "
        "nazionalita birthplace",
    ),
    (
        "disability",
        "disability disabled handicap handicapped impairment beperking behinderung discapacidad invalide handicape",
    ),
    ("sexual orientation", "orientation lgbt gay homosexual transgender"),
    ("pregnancy", "pregnant pregnancy maternity"),
    ("age", "age leeftijd alter edad eta idade"),
    ("a protected group", "group protected sensitive"),
)
# Whose colour or age it is: with one of these words it is not a person's
_OF_THINGS = (
    "account building bus car child children claim collar company days deposit device firm hair hat house item loan "
    "marriage months oldest orders policy product property retirement ship stock vehicle wine work"
)
# Words of values: of sexes, and of what is called race
_VALUES = (
    "m f male female man woman men women mannlich weiblich homme femme hombre mujer vrouw masculino femenino",
    "white black asian hispanic latino caucasian indigenous african amer indian eskimo islander",
)
_FEWEST_NAMED = 2

_ANOMALIES = "anomaly anomalous outlier fraud fraudulent fraude betrug abuse"
_DECISIONS = "action decision verdict disposition"  # of which there may be several kinds
# What is decided about people, or becomes of them, after words that name a label itself
_OUTCOMES = (
    _ANOMALIES,
    "label target class y",
    "denied deny denial rejected reject rejection refused refusal declined arrested arrest detained convicted "
    "suspended expelled dismissed fired evicted audited stopped searched released release approved approve approval "
    "accepted accept acceptance granted grant admitted admit admission hired hire selected promoted awarded paroled "
    "passed afgewezen goedgekeurd abgelehnt bewilligt genehmigt refuse accorde rechazado aprobado",
    _DECISIONS,
    "default defaulted recid recidivism recidivist churn outcome risk income delinquent bankrupt complaint dropout "
    "readmitted reoffended violation",
)
_MOST_DECISIONS = 10
# Words of values that read like what an audit looks for
_SPEAKING = f"{_ANOMALIES} bad denied denial rejected refused declined afgewezen abgelehnt rechazado default defaulted"
_YES = ("1", "true", "yes", "y", "t", "1.0")
_MORTGAGE_DENIED = "3"  # of 'action_taken' in the files of the Home Mortgage Disclosure Act


def words_of(name: str) -> set[str]:
    """The words of a column name without accents: 'isFraud_2' has is and fraud, 'Âge' has age."""
    plain = "".join(c for c in unicodedata.normalize("NFKD", name) if not unicodedata.combining(c))
    spaced = re.sub(r"([a-z])([A-Z])", r"\1 \2", plain)
    return {word for word in re.split(r"[^a-z]+", spaced.lower()) if word}


def _has(words: set[str], known: str) -> bool:
    """Whether one of the words is among those that are known."""
    return not words.isdisjoint(known.split())


def protected_by_name(name: str) -> tuple[int, str] | None:
    """Which protected property a column is named like: its place among them, and what it is; None if none."""
    words = words_of(name)
    if _has(words, _OF_THINGS):
        return None
    for place, (topic, known) in enumerate(_PROTECTED):
        if _has(words, known):
            return place, f"is named like {topic}"
    return None


def protected_by_values(column: pd.Series[Any]) -> tuple[int, str] | None:
    """The same by what its cells hold, such as 'male' and 'female'."""
    values = [str(value).strip() for value in column.dropna().unique()]
    if _has(words_of(str(column.name)), _OF_THINGS):
        return None
    for place, known in enumerate(_VALUES):
        named = [value for value in values if _has(words_of(value), known)]
        if len(named) >= max(_FEWEST_NAMED, len(values) / 2):
            return place, f"holds '{named[0][:30]}' and '{named[1][:30]}'"
    return None


def outcome_by_name(name: str, distinct: int) -> int | None:
    """How well a column with so many values is named for a label, 0 best; None if it is not."""
    words = words_of(name)
    most = _MOST_DECISIONS if _has(words, _DECISIONS) else 2
    if not 2 <= distinct <= most:
        return None
    return next((place for place, known in enumerate(_OUTCOMES) if _has(words, known)), None)


def anomaly_among(name: str, rows: Mapping[str, int]) -> str | None:
    """The value of a label that means anomaly: one that reads like it, else the rarer one.

    Parameters
    ----------
    name : of the label column
    rows : how many have each value, as text
    """
    speaking = [value for value in rows if _has(words_of(value), _SPEAKING)]
    if len(speaking) == 1:
        return speaking[0]
    words = words_of(name)
    if _has(words, _ANOMALIES) and (yes := [value for value in rows if value.strip().casefold() in _YES]):
        return yes[0] if not (yes[0] == "1" and "2" in rows) else _rarest(rows)  # 1 and 2 are two names
    if {"action", "taken"} <= words and _MORTGAGE_DENIED in rows:
        return _MORTGAGE_DENIED
    return _rarest(rows)


def _rarest(rows: Mapping[str, int]) -> str | None:
    """The rarest value; the last of those that are equally rare."""
    order = list(rows)
    return min(reversed(order), key=lambda value: rows[value], default=None)


def first_named(found: Iterable[tuple[str, int | None]]) -> str | None:
    """The name with the best place, the first of equal ones."""
    placed = [(place, name) for name, place in found if place is not None]
    return min(placed, key=lambda entry: entry[0])[1] if placed else None
