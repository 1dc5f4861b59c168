"""Requests to the server, and what becomes of its refusals."""

from __future__ import annotations

import io
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Self, TypeAlias, TypeVar

import httpx
import msgspec

from cfad_core.core.errors import CfadError, InvalidConfigError, InvalidDataError
from cfad_core.core.files import staged_file

if TYPE_CHECKING:
    import pandas as pd

Shape = TypeVar("Shape")
Table: TypeAlias = "pd.DataFrame | Path | str"

_PREFIX = "/api/v1"
_CONNECT = 10.0  # seconds until a server has to say that it is there
_NO_SENTENCE = "The server answered with status {status} and no sentence. Is {address} the address of a CFAD server?"


class ServerError(CfadError):
    """The server refused, in its own words.

    Attributes
    ----------
    status : of HTTP; 0 if no answer came
    code : what kind of problem it is, in words that stay the same
    request : the id of the request, as in the server's log
    """

    def __init__(self, message: str, status: int = 0, code: str = "", request: str = "") -> None:
        super().__init__(message)
        self.status, self.code, self.request = status, code, request


class Calls:
    """Sends requests that show a token, and understands the answers."""

    def __init__(self, address: str, token: str | None, seconds: float, transport: httpx.BaseTransport | None) -> None:
        shown = os.environ.get("CFAD_TOKEN", "") if token is None else token
        if not address.startswith(("http://", "https://")):
            raise InvalidConfigError(f"An address begins with http:// or https://; got '{address}'.")
        if not (shown.startswith("cfad_") and shown.isascii()):
            raise InvalidConfigError(
                "Expected a token that begins with cfad_, or one in CFAD_TOKEN. The page Account makes some."
            )
        self._address = address.rstrip("/")
        self._http = httpx.Client(
            base_url=self._address + _PREFIX,
            headers={"Authorization": f"Bearer {shown}"},
            timeout=httpx.Timeout(seconds, connect=_CONNECT),
            transport=transport,
        )

    def close(self) -> None:
        """End the connections to the server."""
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        """Without the token."""
        return f"<{type(self).__name__} of {self._address}>"

    def _asked(self, shape: type[Shape], method: str, path: str, **sent: Any) -> Shape:
        """The answer in this shape."""
        content = self._content(method, path, **sent)
        try:
            return msgspec.json.decode(content, type=shape)
        except (msgspec.DecodeError, msgspec.ValidationError) as error:
            raise ServerError(
                f"The server's answer cannot be understood ({error}). Use the client of its version."
            ) from error

    def _content(self, method: str, path: str, **sent: Any) -> bytes:
        with self._speaking():
            response = self._http.request(method, path, **sent)
        self._refuse(response)
        return response.content

    def _written(self, path: str, out: Path, params: Mapping[str, Any] | None = None) -> Path:
        """Write an answer to a file, whole or not at all, without holding it in memory."""
        with staged_file(out) as stage, self._speaking(), self._http.stream("GET", path, params=params) as response:
            if response.status_code >= httpx.codes.BAD_REQUEST:
                response.read()
                self._refuse(response)
            with stage.open("wb") as file:
                for piece in response.iter_bytes():
                    file.write(piece)
        return out

    @contextmanager
    def _speaking(self) -> Iterator[None]:
        try:
            yield
        except httpx.HTTPError as error:
            reason = str(error) or type(error).__name__
            raise ServerError(f"{self._address} could not be asked: {reason}. Is the server running?") from error

    def _refuse(self, response: httpx.Response) -> None:
        if response.is_success:
            return
        try:
            said = msgspec.json.decode(response.content, type=dict[str, str])
            message, code, request = said["message"], said["code"], said["request"]
        except (msgspec.DecodeError, msgspec.ValidationError, KeyError):
            words = _NO_SENTENCE.format(status=response.status_code, address=self._address)
            raise ServerError(words, response.status_code) from None
        raise ServerError(message, response.status_code, code, request)


@contextmanager
def to_send(table: Table) -> Iterator[tuple[str, IO[bytes]]]:
    """The name and content of a table as a file; a data frame goes as Parquet, which keeps the types of its columns."""
    if isinstance(table, str | Path):
        path = Path(table)
        if not path.is_file():
            raise InvalidDataError(f"There is no file '{path}'.")
        with path.open("rb") as file:
            yield path.name, file
        return
    import pyarrow.parquet as pq

    from cfad_core.data.tables import to_arrow

    content = io.BytesIO()
    pq.write_table(to_arrow(table), content)
    content.seek(0)
    yield "table.parquet", content
