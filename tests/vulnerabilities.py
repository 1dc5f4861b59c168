"""Known vulnerabilities of all that the program needs: ``python -m tests.vulnerabilities``, a part of ``make test``.

pip-audit asks the package index. An index that knows none of a package says "not found", which pip-audit counts as
nothing found; here it is said, and so is an index that does not answer. Only what was found ends in an error.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, requires, version
from pathlib import Path
from typing import Any

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[1]
PATIENCE = 120  # seconds for all packages; the answers are kept between runs


class NoAnswerError(Exception):
    """Nothing was found out."""


def needed(files: Iterable[Path]) -> dict[str, str]:
    """The installed versions of what files of requirements name, and of what that needs."""
    found: dict[str, str] = {}
    waiting = [Requirement(line) for file in files for line in file.read_text().splitlines() if line[:1].isalnum()]
    while waiting:
        one = waiting.pop()
        name = canonicalize_name(one.name)
        if name in found or (one.marker is not None and not one.marker.evaluate({"extra": ""})):
            continue
        try:
            found[name] = version(name).partition("+")[0]
        except PackageNotFoundError:  # an optional one
            continue
        waiting += [Requirement(text) for text in requires(name) or ()]
    return dict(sorted(found.items()))


def looked_up(pins: Mapping[str, str]) -> list[dict[str, Any]]:
    """What pip-audit says of each package.

    Raises
    ------
    NoAnswerError
        If it says nothing.
    """
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "pins.txt"
        file.write_text("".join(f"{name}=={number}\n" for name, number in pins.items()))
        command = [
            sys.executable,
            "-m",
            "pip_audit",
            "--requirement",
            str(file),
            "--no-deps",
            "--disable-pip",
            "--timeout",
            "10",
        ]
        command += ["--format", "json", "--progress-spinner", "off"]
        try:
            done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
        except subprocess.TimeoutExpired:
            raise NoAnswerError(f"no answer within {PATIENCE} seconds") from None
    try:
        found: list[dict[str, Any]] = json.loads(done.stdout)["dependencies"]
    except (ValueError, KeyError):
        raise NoAnswerError((done.stderr.strip().splitlines() or ["it said nothing"])[-1][:200]) from None
    return found


def judged(packages: Iterable[Mapping[str, Any]]) -> tuple[int, str]:
    """The exit code, and what there is to say."""
    known = [one for one in packages if "skip_reason" not in one]
    unknown = [one for one in packages if "skip_reason" in one]
    bad = [
        f"{one['name']} {one['version']}: {hole['id']}, mended in {', '.join(hole['fix_versions']) or 'no version yet'}"
        for one in known
        for hole in one["vulns"]
    ]
    if bad:
        return 1, "\n".join(["Known vulnerabilities of what the program needs:", *bad])
    if not known:
        return 0, "Known vulnerabilities were not looked up: the package index does not say any."
    names = ", ".join(one["name"] for one in unknown)
    rest = f"; {len(unknown)} could not be looked up: {names}" if unknown else ""
    return 0, f"No known vulnerability in {len(known)} packages{rest}."


def main() -> int:
    """Look up one package first: an index that does not answer is noticed at once."""
    pins = needed([ROOT / "requirements.txt"])
    try:
        first = looked_up({"streamlit": pins["streamlit"]})
        code, words = judged(first if "skip_reason" in first[0] else looked_up(pins))
    except NoAnswerError as error:
        code, words = 0, f"Known vulnerabilities were not looked up: {error}."
    sys.stdout.write(words + "\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
