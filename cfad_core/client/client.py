"""What a program does with the audits on a server."""

from __future__ import annotations

import dataclasses
import io
import json
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal
from urllib.parse import quote

from cfad_core.client.answers import Audit, GateResult, Headline, Me, MethodResult, Share, Token
from cfad_core.client.calls import Calls, ServerError, Table, to_send
from cfad_core.core.config import AskedDetector, Knowledge, PresetName

if TYPE_CHECKING:
    import httpx
    import pandas as pd

    from cfad_core.data.attributes import Attribute

Format = Literal["html", "pdf", "json", "model-card", "data-sheet"]
Meaning = Literal["anomalous", "normal"]
Audience = Literal["person", "group", "everybody"]

_ENDED_EARLY = ("failed", "cancelled", "interrupted")


class Client(Calls):
    """A server of a team, as somebody's token sees it.

    Parameters
    ----------
    address : of the server, such as ``https://audits.example``
    token : that somebody made on the page Account; by default that of ``CFAD_TOKEN``
    seconds : that an answer may take
    transport : how requests travel; by default over the network

    Raises
    ------
    ServerError
        From every method: if the server refuses, with its sentence, or does not answer.
    """

    def __init__(
        self,
        address: str,
        token: str | None = None,
        *,
        seconds: float = 300.0,
        transport: httpx.BaseTransport | None = None,
    ) -> None:
        super().__init__(address, token, seconds, transport)

    def me(self) -> Me:
        """For whom the token acts, and what it may."""
        return self._asked(Me, "GET", "/me")

    def create(  # noqa: PLR0913 - all but the first three by name
        self,
        table: Table,
        name: str,
        sensitive: str | Attribute | Sequence[str | Attribute],
        *,
        label: str | None = None,
        anomaly: str | None = None,
        ignore: Sequence[str] | None = None,
        score_column: str | None = None,
        methods: Sequence[str] | None = None,
        preset: PresetName = "fast",
        seed: int = 0,
        subsamples: int | None = None,
        quantile: float | None = None,
        categories: Literal["levels", "most-frequent"] = "levels",
        knowledge: Knowledge | None = None,
        detector: AskedDetector | None = None,
        expectation: str | None = None,
        planned_by: str = "",
        test: Table | None = None,
        test_counterfactual: Table | None = None,
        sheet: str | None = None,
        header: bool = True,
    ) -> Audit:
        """Put an audit of a table into the queue; its ``remarks`` say what to know about the table.

        Parameters
        ----------
        table : a data frame, or the path of a CSV, TSV, Parquet or Excel file
        sensitive, label, anomaly, ignore, score_column : as ``ColumnRoles``; without ``ignore``, the columns that had
            better be left out are
        methods, preset, seed, subsamples, quantile, categories, knowledge : as ``AuditConfig``
        detector : a detector of your own: the audit waits until ``send_scores``
        expectation : seal the audit before any result is seen; ``start`` runs it
        test, test_counterfactual : the people to judge, and their true twins where they are known
        sheet, header : how a file is read
        """
        asked: dict[str, Any] = {"name": name, "label": label, "anomaly": anomaly, "score_column": score_column}
        asked |= {"preset": preset, "seed": seed, "subsamples": subsamples, "quantile": quantile}
        asked |= {"categories": categories, "sheet": sheet, "header": header, "sensitive": _columns(sensitive)}
        asked |= {
            "ignore": None if ignore is None else list(ignore),
            "methods": None if methods is None else list(methods),
        }
        asked |= {"knowledge": knowledge and knowledge.to_dict(), "detector": detector and detector.to_dict()}
        asked |= {"plan": None if expectation is None else {"by": planned_by, "expectation": expectation}}
        tables = {"table": table, "test": test, "test_counterfactual": test_counterfactual}
        return self._brought("/audits", asked, {part: one for part, one in tables.items() if one is not None})

    def audits(
        self,
        *,
        status: str | None = None,
        owner: str | None = None,
        text: str = "",
        limit: int = 50,
        skip: int = 0,
    ) -> tuple[Audit, ...]:
        """The audits that you may see, the newest first; ``text`` is looked for in name, note and source."""
        asked = {"status": status, "owner": owner, "text": text, "limit": limit, "skip": skip}
        found = self._asked(_Audits, "GET", "/audits", params=_given(asked))
        return found.audits

    def audit(self, audit: str) -> Audit:
        """How far an audit has come, what it was made from, and what you may do with it."""
        return self._asked(Audit, "GET", _path(audit))

    def wait(
        self,
        audit: str,
        *,
        seconds: float = 3600.0,
        every: float = 2.0,
        progress: Callable[[Audit], None] | None = None,
    ) -> Audit:
        """Wait until an audit is done, or waits for scores.

        Parameters
        ----------
        seconds : after which it is not waited for any more; the audit goes on
        every : seconds between two questions
        progress : is called with the audit each time

        Raises
        ------
        ServerError
            If it ends in another way, or takes longer.
        """
        until = time.monotonic() + seconds
        while True:
            found = self.audit(audit)
            if progress is not None:
                progress(found)
            if found.status in ("done", "waiting"):
                return found
            if found.status in _ENDED_EARLY or found.status == "planned":
                raise ServerError(f"Audit '{audit}' is {found.status}. {found.error}".strip())
            if time.monotonic() > until:
                raise ServerError(f"Audit '{audit}' is {found.status} after {seconds:g} seconds; it goes on.")
            time.sleep(every)

    def change(self, audit: str, *, name: str | None = None, note: str | None = None) -> Audit:
        """Give an audit another name or note; what is not given stays."""
        return self._asked(Audit, "PATCH", _path(audit), json=_given({"name": name, "note": note}))

    def start(self, audit: str) -> Audit:
        """Put a planned audit into the queue."""
        return self._asked(Audit, "POST", _path(audit, "start"))

    def cancel(self, audit: str) -> Audit:
        """Take an audit from the queue, or ask it to stop."""
        return self._asked(Audit, "POST", _path(audit, "cancel"))

    def restart(self, audit: str) -> Audit:
        """Put an audit into the queue again that failed, was cancelled or interrupted."""
        return self._asked(Audit, "POST", _path(audit, "restart"))

    def delete(self, audit: str) -> None:
        """Delete an audit, and its tables unless another audit has them."""
        self._content("DELETE", _path(audit))

    def results(self, audit: str) -> dict[str, Headline]:
        """What a finished audit found, by detector."""
        return self._asked(_Results, "GET", _path(audit, "results")).methods

    def method(self, audit: str, method: str) -> MethodResult:
        """One detector: its verdict and evidence, intervals, and the numbers of each group, in every comparison."""
        return self._asked(MethodResult, "GET", _path(audit, "results", method))

    def audit_json(self, audit: str) -> dict[str, Any]:
        """All numbers of a finished audit, as docs/AUDIT_FORMAT.md describes them."""
        return self._asked(dict[str, Any], "GET", _path(audit, "audit.json"))

    def gate(
        self,
        audit: str,
        *,
        max_changing_ratio: float | None = None,
        max_flag_rate_gap: float | None = None,
        reliable: bool = False,
        upper: bool = False,
        method: str | None = None,
    ) -> GateResult:
        """Whether a finished audit stays within bounds, as the command ``gate``."""
        asked = {"max_changing_ratio": max_changing_ratio, "max_flag_rate_gap": max_flag_rate_gap, "method": method}
        flags = {"reliable": reliable, "upper": upper}
        return self._asked(GateResult, "GET", _path(audit, "gate"), params=_given(asked) | flags)

    def rows_to_score(self, audit: str) -> pd.DataFrame:
        """The rows that your detector has to score: people and twins, mixed; all at once."""
        import pandas as pd

        content = self._content("GET", _path(audit, "rows-to-score"), params={"format": "parquet"})
        return pd.read_parquet(io.BytesIO(content))

    def send_scores(
        self,
        audit: str,
        scores: Table,
        high_means: Meaning | None = None,
        *,
        threshold: float | None = None,
        column: str | None = None,
    ) -> Audit:
        """What your detector says of these rows: a table with row_id and score; the audit goes on.

        Parameters
        ----------
        high_means : what a high score means; not needed for flags 0 and 1
        threshold : the score strictly above which it flags
        column : that holds the scores, if there are several
        """
        asked = {"high_means": high_means, "threshold": threshold, "column": column}
        return self._brought(_path(audit, "scores"), asked, {"scores": scores})

    def report(self, audit: str, out: Path | str, *, format: Format = "html", method: str | None = None) -> Path:  # noqa: A002
        """Write the report of a finished audit to a file."""
        return self._written(_path(audit, "report"), Path(out), _given({"format": format, "method": method}))

    def export(self, audit: str, out: Path | str) -> Path:
        """Write a finished audit with its tables to a zip file, for ``audits import``."""
        return self._written(_path(audit, "export"), Path(out))

    def shares(self, audit: str) -> tuple[Share, ...]:
        """With whom an audit of yours is shared."""
        return self._asked(tuple[Share, ...], "GET", _path(audit, "shares"))

    def share(
        self, audit: str, audience: Audience, name: str = "", may: Literal["read", "tune"] = "read"
    ) -> tuple[Share, ...]:
        """Share an audit of yours with a person or group by name, or with everybody."""
        asked = {"audience": audience, "name": name, "may": may}
        return self._asked(tuple[Share, ...], "PUT", _path(audit, "shares"), json=asked)

    def unshare(self, audit: str, audience: Audience, name: str = "") -> tuple[Share, ...]:
        """Share it with them no more."""
        asked = {"audience": audience, "name": name}
        return self._asked(tuple[Share, ...], "DELETE", _path(audit, "shares"), params=asked)

    def tokens(self) -> tuple[Token, ...]:
        """Your own tokens, the latest first."""
        return self._asked(tuple[Token, ...], "GET", "/tokens")

    def revoke(self, token: str) -> None:
        """Make one of your own tokens worthless, by its id."""
        self._content("DELETE", f"/tokens/{quote(token, safe='')}")

    def _brought(self, path: str, asked: Mapping[str, Any], tables: Mapping[str, Table]) -> Audit:
        """Send tables, and what is said of them as JSON."""
        with ExitStack() as stack:
            files = {part: stack.enter_context(to_send(table)) for part, table in tables.items()}
            return self._asked(Audit, "POST", path, files=files, data={"request": json.dumps(_given(asked))})


@dataclasses.dataclass(frozen=True)
class _Audits:
    audits: tuple[Audit, ...]


@dataclasses.dataclass(frozen=True)
class _Results:
    methods: dict[str, Headline]


def _columns(sensitive: str | Attribute | Sequence[str | Attribute]) -> list[str | dict[str, Any]]:
    """The sensitive columns as the server reads them."""
    from cfad_core.data.attributes import Attribute

    columns = [sensitive] if isinstance(sensitive, str | Attribute) else sensitive
    return [column if isinstance(column, str) else dataclasses.asdict(column) for column in columns]


def _given(asked: Mapping[str, Any]) -> dict[str, Any]:
    """What was given; the server has defaults for the rest."""
    return {name: value for name, value in asked.items() if value is not None}


def _path(audit: str, *more: str) -> str:
    return "/".join(["/audits", *(quote(part, safe="") for part in (audit, *more))])
