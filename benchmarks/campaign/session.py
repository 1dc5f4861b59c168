"""A visitor without a browser: Streamlit's websocket and its upload address, spoken as its frontend does."""

from __future__ import annotations

import http.client
import secrets
import time
from collections.abc import Iterator, Mapping
from typing import Any, Self
from urllib.parse import urlencode, urlsplit

from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ClientState_pb2 import ClientState
from streamlit.proto.Common_pb2 import FileURLs, UploadedFileInfo
from streamlit.proto.Element_pb2 import Element
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg
from streamlit.proto.WidgetStates_pb2 import WidgetState
from websockets.sync.client import connect
from websockets.typing import Subprotocol

_FINISHED = (ForwardMsg.FINISHED_SUCCESSFULLY, ForwardMsg.FINISHED_FRAGMENT_RUN_SUCCESSFULLY)
_COOKIE = "_streamlit_xsrf"
SECONDS = 60.0  # that a page may take


class HungError(Exception):
    """The server said nothing in time."""


class Session:
    """One visitor with one window.

    Attributes
    ----------
    elements : what the page shows, by place
    exceptions : of boxes with an exception, and of scripts that could not be read: what they say
    """

    def __init__(self, url: str, page: str = "", headers: Mapping[str, str] | None = None, **query: str) -> None:
        self._place = urlsplit(url)
        assert self._place.hostname is not None
        self._host, self._port = self._place.hostname, self._place.port or 80
        self.elements: dict[tuple[int, ...], Element] = {}
        self.exceptions: list[str] = []
        self._widgets: dict[str, WidgetState] = {}
        self._hash, self._page, self._query, self._session = "", page, dict(query), ""
        self._fragments: dict[str, str] = {}  # by widget, the part of the page that alone is run again
        self._fragment = ""  # the one that was run last
        self._token = self._xsrf()
        self._socket = connect(
            f"ws://{self._host}:{self._port}/_stcore/stream",
            subprotocols=[Subprotocol("streamlit"), Subprotocol(self._token)],
            additional_headers={"Cookie": f"{_COOKIE}={self._token}", "Origin": url, **(headers or {})},
            max_size=None,
            open_timeout=SECONDS,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._socket.close()

    def open(self, page: str | None = None, **query: str) -> None:
        """Show a page, in the same session."""
        if page is not None:
            self._page, self._hash, self._query = page, "", dict(query)
            self._widgets.clear()
        self._run(BackMsg(rerun_script=self._state()))

    def press(self, label: str) -> None:
        """Press the first button of that label."""
        widget = next(one for one in self.of("button") if one.label == label)
        state = self._state(WidgetState(id=widget.id, trigger_value=True), self._fragments.get(widget.id, ""))
        self._run(BackMsg(rerun_script=state))

    def choose(self, widget: Any, **value: Any) -> None:
        """Give a widget a value, by the name of its field in Streamlit's protocol: ``double_array_value``, say."""
        state = WidgetState(id=widget.id, **value)
        self._widgets[widget.id] = state
        self._run(BackMsg(rerun_script=self._state(fragment=self._fragments.get(widget.id, ""))))

    def upload(self, name: str, content: bytes, label: str = "") -> int:
        """Give a file to the first uploader whose label begins so; the status of the answer."""
        widget = next(one for one in self.of("file_uploader") if one.label.startswith(label))
        request = secrets.token_hex(8)
        message = BackMsg()
        message.file_urls_request.request_id = request
        message.file_urls_request.session_id = self._session
        message.file_urls_request.file_names.append(name)
        self._send(message)
        urls = next(
            one.file_urls_response.file_urls[0]
            for one in self._heard()
            if one.WhichOneof("type") == "file_urls_response" and one.file_urls_response.response_id == request
        )
        status = self._put(urls, name, content)
        if status == 204:
            info = UploadedFileInfo(file_id=urls.file_id, name=name, size=len(content), file_urls=urls)
            state = WidgetState(id=widget.id)
            state.file_uploader_state_value.uploaded_file_info.append(info)
            self._run(BackMsg(rerun_script=self._state(state)))  # the widget is a new one afterwards
        return status

    def of(self, kind: str) -> list[Any]:
        """What the page shows of a kind of element, from top to bottom."""
        found = [one for _, one in sorted(self.elements.items()) if one.WhichOneof("type") == kind]
        return [getattr(one, kind) for one in found]

    def said(self) -> str:
        """What the page says in words."""
        kinds = {"heading": "body", "markdown": "body", "alert": "body", "text": "body"}
        return "\n".join(str(getattr(one, field)) for kind, field in kinds.items() for one in self.of(kind))

    def errors(self) -> list[str]:
        """What red boxes say."""
        return [str(one.body) for one in self.of("alert") if one.format == one.ERROR]

    def get(self, path: str) -> tuple[int, bytes]:
        """What the server answers at an address."""
        connection = http.client.HTTPConnection(self._host, self._port, timeout=SECONDS)
        try:
            connection.request("GET", path, headers={"Cookie": f"{_COOKIE}={self._token}"})
            answer = connection.getresponse()
            return answer.status, answer.read()
        finally:
            connection.close()

    def _xsrf(self) -> str:
        connection = http.client.HTTPConnection(self._host, self._port, timeout=SECONDS)
        try:
            connection.request("GET", "/_stcore/health")
            answer = connection.getresponse()
            answer.read()
            cookies = answer.headers.get_all("Set-Cookie") or []
        finally:
            connection.close()
        return next((one.partition("=")[2].partition(";")[0] for one in cookies if one.startswith(_COOKIE)), "")

    def _state(self, changed: WidgetState | None = None, fragment: str = "") -> ClientState:
        self._fragment = fragment
        state = ClientState(query_string=urlencode(self._query), page_script_hash=self._hash, fragment_id=fragment)
        state.page_name = "" if self._hash else self._page
        state.context_info.timezone, state.context_info.url = "UTC", f"{self._place.geturl()}/{self._page}"
        state.widget_states.widgets.extend(self._widgets.values())
        if changed is not None:
            state.widget_states.widgets.append(changed)
        return state

    def _put(self, urls: FileURLs, name: str, content: bytes) -> int:
        mark = secrets.token_hex(16)
        shown = name.encode("utf-8", "replace").replace(b'"', b"%22").replace(b"\r", b"%0D").replace(b"\n", b"%0A")
        head = b'--%b\r\nContent-Disposition: form-data; name="file"; filename="%b"\r\n' % (mark.encode(), shown)
        body = head + b"Content-Type: application/octet-stream\r\n\r\n" + content + b"\r\n--%b--\r\n" % mark.encode()
        headers = {"Content-Type": f"multipart/form-data; boundary={mark}", "X-Xsrftoken": self._token}
        headers["Cookie"] = f"{_COOKIE}={self._token}"
        connection = http.client.HTTPConnection(self._host, self._port, timeout=SECONDS)
        try:
            connection.request("PUT", urls.upload_url, body, headers)
            answer = connection.getresponse()
            answer.read()
            return answer.status
        finally:
            connection.close()

    def _send(self, message: BackMsg) -> None:
        self._socket.send(message.SerializeToString())

    def _run(self, message: BackMsg, seconds: float = SECONDS) -> None:
        """Send it, and hear all that comes until the script has ended."""
        self._send(message)
        for one in self._heard(seconds):
            if one.WhichOneof("type") == "script_finished":
                if one.script_finished == ForwardMsg.FINISHED_WITH_COMPILE_ERROR:
                    self.exceptions.append("the script could not be read")
                    return
                if one.script_finished in _FINISHED:
                    return

    def _heard(self, seconds: float = SECONDS) -> Iterator[ForwardMsg]:
        until = time.monotonic() + seconds
        while True:
            try:
                data = self._socket.recv(timeout=max(0.0, until - time.monotonic()))
            except TimeoutError:
                raise HungError(f"the page {self._page!r} did not end within {seconds:g} seconds") from None
            message = ForwardMsg()
            message.ParseFromString(data.encode() if isinstance(data, str) else data)
            self._understand(message)
            yield message

    def _understand(self, message: ForwardMsg) -> None:
        kind = message.WhichOneof("type")
        if kind == "new_session":
            new = message.new_session
            if not self._fragment:
                self.elements.clear()
                self._fragments.clear()
            self._hash = new.page_script_hash
            self._session = new.initialize.session_id or self._session
        elif kind == "navigation":
            self._hash = message.navigation.page_script_hash
        elif kind == "page_info_changed":
            pairs = (pair.partition("=") for pair in message.page_info_changed.query_string.split("&"))
            self._query = {name: value for name, _, value in pairs if name}
        elif kind == "delta" and message.delta.WhichOneof("type") == "new_element":
            element = message.delta.new_element
            self.elements[tuple(message.metadata.delta_path)] = element
            shown = element.WhichOneof("type")
            self._fragments[getattr(getattr(element, shown), "id", "") if shown else ""] = message.delta.fragment_id
            if element.WhichOneof("type") == "exception":
                self.exceptions.append(f"{element.exception.type}: {element.exception.message}"[:500])
